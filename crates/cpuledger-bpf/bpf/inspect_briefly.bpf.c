// SPDX-License-Identifier: GPL-2.0-only
/*
 * The inspection without cgroups, sessions and namespaces: there is less to relocate and to verify.
 */
#define CPULEDGER_WITHOUT_CGROUPS
#define CPULEDGER_WITHOUT_NAMESPACES
#define CPULEDGER_WITHOUT_SESSIONS
#include "inspect.bpf.h"
