/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The records of what cgroups send and receive on the wire. Included by abi.h.
 */
#ifndef CPULEDGER_ABI_WIRE_H
#define CPULEDGER_ABI_WIRE_H

enum cpuledger_wire_numbers {
	CPULEDGER_WIRE_OTHER = 0, /* all cgroups that have no number of their own */
	CPULEDGER_WIRE_CGROUPS = 1024,
	CPULEDGER_WIRE_PROBES = 16, /* numbers that one cgroup may have: one after the other, from its hash on */
	CPULEDGER_WIRE_HASH_SHIFT = 54,
};

/* What a number stands for. */
struct cpuledger_wire_cgroup {
	u64 state;	/* enum cpuledger_class_state */
	u64 cgroup_id;	/* unified hierarchy */
};

/* What one of them has sent (CPULEDGER_SENT) and received on a CPU since the hooks were attached. The reader changes nothing of it. */
struct cpuledger_wire_use {
	u64 bytes[2];
	u64 packets[2];
};

_Static_assert(sizeof(struct cpuledger_wire_cgroup) == 16, "cpuledger_wire_cgroup has changed its size");
_Static_assert(sizeof(struct cpuledger_wire_use) == 32, "cpuledger_wire_use has changed its size");
_Static_assert(CPULEDGER_WIRE_CGROUPS == 1 << (64 - CPULEDGER_WIRE_HASH_SHIFT), "a hash is a number");

#endif
