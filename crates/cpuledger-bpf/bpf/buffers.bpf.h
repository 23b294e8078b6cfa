/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A buffer of records: an array that user space maps, makes as large as it has to be, and hands to the programs before it
 * loads them. A full one is replaced by loading them anew. An array of maps would avoid that. But each exchange in it waits for
 * all readers of the kernel, 10 ms and more, and each look into it is a call instead of two instructions.
 */
#ifndef CPULEDGER_BUFFERS_BPF_H
#define CPULEDGER_BUFFERS_BPF_H

#include "kernel.h"
#include <bpf/bpf_helpers.h>

#define RECORDS(name, record)                                                                                          \
	struct {                                                                                                       \
		__uint(type, BPF_MAP_TYPE_ARRAY);                                                                      \
		__uint(map_flags, BPF_F_MMAPABLE);                                                                     \
		__uint(max_entries, 1);                                                                                \
		__type(key, u32);                                                                                      \
		__type(value, struct record);                                                                          \
	} name SEC(".maps")

#endif
