// SPDX-License-Identifier: GPL-2.0-only
/*
 * The inspection without cgroups, sessions and namespaces: libbpf then has half as many kernel types to find, and each takes it
 * nearly 1 ms.
 */
#define CPULEDGER_BRIEFLY
#include "inspect.bpf.h"
