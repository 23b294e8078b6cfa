// SPDX-License-Identifier: GPL-2.0-only
/*
 * The account of the network: what each task sends and receives by sockets. An object of its own, loaded while somebody wants it. It shares
 * the slots and CPUs of a ledger.
 *
 * The kernel runs these hooks at the end of a call, in the context of the task that has made it: both functions may sleep, so they are never
 * called in an interrupt. That task has the CPU. So its slot is the current one of this CPU, and the end of its run segment lists it.
 *
 * A call belongs to the interval that its CPU is in. That changes when the CPU is closed, by its next switch after the cut or by the reader. A hook says that
 * it has begun before it looks at `run`; the reader closes the CPU, and then waits for the hooks that have begun. So either the hook sees
 * that the CPU is closed, or the reader waits until it has booked.
 */
#include "account.bpf.h"
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

/* User space sets the number of entries of both before it loads them. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, CPULEDGER_DEFAULT_SLOTS);
	__type(key, u32);
	__type(value, struct cpuledger_slot_network);
} slot_networks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct cpuledger_cpu_network);
} cpu_networks SEC(".maps");

static __always_inline u32 kind_of(struct sock *sk)
{
	u16 family = sk->__sk_common.skc_family, protocol = sk->sk_protocol;

	if (family == AF_UNIX)
		return CPULEDGER_SOCKET_UNIX;
	if (family != AF_INET && family != AF_INET6)
		return CPULEDGER_SOCKET_OTHER;
	if (protocol == IPPROTO_TCP || protocol == IPPROTO_MPTCP)
		return CPULEDGER_SOCKET_TCP;
	if (protocol == IPPROTO_UDP || protocol == IPPROTO_UDPLITE)
		return CPULEDGER_SOCKET_UDP;
	return CPULEDGER_SOCKET_OTHER;
}

/* Makes the accumulators of a slot those of its task. What another one has left, which was folded, is no task's any more. */
static __noinline int take_over(struct cpuledger_slot_network *of_slot, struct cpuledger_cpu_network *own, u64 owner, u64 parity)
{
	u64 *from = (u64 *)&of_slot->used[parity & 1], *to = (u64 *)&own->unattributed[parity & 1];

	for (u32 i = 0; i < sizeof(struct cpuledger_network) / sizeof(u64); i++)
		if (from[i])
			__sync_fetch_and_add(&to[i], __sync_lock_test_and_set(&from[i], 0));
	of_slot->owner[parity & 1] = owner;
	return 0;
}

static __always_inline void add(struct cpuledger_traffic *traffic, u64 bytes)
{
	__sync_fetch_and_add(&traffic->bytes, bytes);
	__sync_fetch_and_add(&traffic->calls, 1);
}

static __always_inline void book(struct cpuledger_cpu *cpu, struct cpuledger_cpu_network *own, u32 kind, u32 direction, u64 bytes)
{
	u64 run = *(volatile u64 *)&cpu->run, parity = interval_of(run) & 1;
	u32 number = slot_of_current(cpu, run);
	struct cpuledger_slot_network *of_slot = bpf_map_lookup_elem(&slot_networks, &number);
	struct cpuledger_slot *slot = slot_at(number);

	/* No other CPU writes it, and the hook is not interrupted by itself. */
	own->all[parity].by[kind][direction].bytes += bytes;
	own->all[parity].by[kind][direction].calls++;
	if (number < CPULEDGER_SLOT_FIRST || !slot || !of_slot) {
		add(&own->unattributed[parity].by[kind][direction], bytes);
		return;
	}
	if (of_slot->owner[parity] != slot->start_time_ns)
		take_over(of_slot, own, slot->start_time_ns, parity);
	add(&of_slot->used[parity].by[kind][direction], bytes);
}

/* `result` is what the call has returned: bytes, or an error. What is only looked at stays in the socket; the queue of errors has what was sent before. */
static __always_inline int on_call(struct sock *sk, int result, int flags, u32 direction)
{
	u32 key = bpf_get_smp_processor_id();
	struct cpuledger_cpu_network *own;
	struct cpuledger_cpu *cpu;

	if (result < 0 || flags & (MSG_PEEK | MSG_ERRQUEUE))
		return 0;
	own = bpf_map_lookup_elem(&cpu_networks, &key);
	cpu = bpf_map_lookup_elem(&cpus, &key);
	if (!own || !cpu)
		return 0;
	count_in_order(&own->entered);
	book(cpu, own, kind_of(sk) & (CPULEDGER_SOCKETS - 1), direction, result);
	count_in_order(&own->left);
	return 0;
}

/* 6.3, 6e6eda44b939; so is the other one. */
SEC("tp_btf/sock_send_length")
int BPF_PROG(on_send, struct sock *sk, int result, int flags)
{
	return on_call(sk, result, 0, CPULEDGER_SENT);
}

SEC("tp_btf/sock_recv_length")
int BPF_PROG(on_receive, struct sock *sk, int result, int flags)
{
	return on_call(sk, result, flags, CPULEDGER_RECEIVED);
}
