/* SPDX-License-Identifier: GPL-2.0-only */
/* The hooks themselves. The compiler puts a call before each of their accesses to memory (-fsanitize=thread): see machine.c. */
#include "abi.h"

/* A page of its own, which machine.c replaces by shared memory. */
extern struct cpuledger_control control __attribute__((aligned(65536)));

#define CPULEDGER_WANTS_BLAME 1
#define CPULEDGER_WANTS_PAIRS 1
#include "ledger.bpf.c"

char behind_control[65536] __attribute__((section(".data.control"), aligned(65536), used)) = { 1 };

enum machine_map { MAP_CPUS, MAP_SLOTS, MAP_RESTS, MAP_LISTED, MAP_INDEX, MAP_OFFS, MAP_BLAMES, MAP_CPU_BLAMES, MAP_WAITERS,
		   MAP_CPU_PAIRS, MAP_PAIR_ROWS, MAP_CLASSES, MAP_NONE };

/* Which of the maps this is. */
int machine_map_of(const void *map)
{
	return map == &cpus ? MAP_CPUS : map == &slots ? MAP_SLOTS : map == &slot_rests ? MAP_RESTS : map == &listed ? MAP_LISTED :
	       map == &tid_index ? MAP_INDEX : map == &slot_offs ? MAP_OFFS : map == &slot_blames ? MAP_BLAMES : map == &cpu_blames ? MAP_CPU_BLAMES :
	       map == &waiters ? MAP_WAITERS : map == &cpu_pairs ? MAP_CPU_PAIRS : map == &pair_rows ? MAP_PAIR_ROWS :
	       map == &classes ? MAP_CLASSES : MAP_NONE;
}
