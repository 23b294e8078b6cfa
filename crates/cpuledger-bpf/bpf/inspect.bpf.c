// SPDX-License-Identifier: GPL-2.0-only
/* The inspection with every field. */
#include "inspect.bpf.h"
