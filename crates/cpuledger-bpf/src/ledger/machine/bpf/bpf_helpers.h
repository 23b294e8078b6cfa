/* SPDX-License-Identifier: GPL-2.0-only */
/* What the hooks of the ledger need of libbpf, for a build that runs them in user space: see ../machine.c. */
#ifndef MACHINE_BPF_HELPERS_H
#define MACHINE_BPF_HELPERS_H

#define SEC(name) __attribute__((section(name), used))
#define __uint(name, value) int(*name)[value]
#define __type(name, value) __typeof__(value) *name
#define __noinline __attribute__((noinline))
#define __always_inline inline __attribute__((always_inline))
#define __weak __attribute__((weak))
#define __ksym
#define barrier_var(variable) __asm__ volatile("" : "+r"(variable))

void *bpf_map_lookup_elem(void *map, const void *key);
u32 bpf_get_smp_processor_id(void);
u64 bpf_ktime_get_ns(void);
u64 bpf_get_current_task(void);
struct task_struct *bpf_get_current_task_btf(void);
#define bpf_probe_read_kernel(to, size, from) (*(to) = *(__typeof__(*(to)) *)(from))
long bpf_probe_read_kernel_str(void *to, u32 size, const void *from);

#endif
