// SPDX-License-Identifier: GPL-2.0-only
/*
 * The inspection without cgroups, sessions and namespaces: libbpf then has half as many kernel types to find, and each takes it
 * nearly 1 ms.
 */
#define CPULEDGER_WITHOUT_CGROUPS
#define CPULEDGER_WITHOUT_NAMESPACES
#define CPULEDGER_WITHOUT_SESSIONS
#include "inspect.bpf.h"
