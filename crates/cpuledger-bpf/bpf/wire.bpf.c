// SPDX-License-Identifier: GPL-2.0-only
/*
 * The wire: packets of each cgroup, and their bytes from the IP header on. An object of its own, loaded while somebody wants the account of
 * the network. It shares nothing with the ledger.
 *
 * The kernel runs these hooks for each packet that a socket sends or gets, in the context of whatever it interrupts. Which cgroup that is says the
 * socket. They let every packet pass.
 *
 * A cgroup has a number, as in pairs.bpf.h: the first packet of one takes a number that is free, and the reader takes back those without packets
 * for a while. Where none is free, the number is OTHER. Counters never decrease and are never reset, so whatever becomes of a number, no byte is lost.
 */
#include "numbers.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* include/uapi/linux/bpf.h. The kernel translates accesses to it. `gso_size`: 5.7, cf62089b0edd. */
struct __sk_buff {
	u32 len;
	u32 others[43];
	u32 gso_size;
};
_Static_assert(__builtin_offsetof(struct __sk_buff, gso_size) == 176, "as in the kernel");

enum { FROM_IP_HEADER = 1, IP_PROTOCOL_AT = 9, IPV6_NEXT_HEADER_AT = 6, IPV6_HEADER_BYTES = 40, TCP_LENGTH_AT = 12, UDP_HEADER_BYTES = 8 };

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, CPULEDGER_WIRE_CGROUPS);
	__type(key, u32);
	__type(value, struct cpuledger_wire_cgroup);
} wire_cgroups SEC(".maps");

/* CPULEDGER_WIRE_CGROUPS of each CPU: user space sets the number of entries before it loads it. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, CPULEDGER_WIRE_CGROUPS);
	__type(key, u32);
	__type(value, struct cpuledger_wire_use);
} wire_uses SEC(".maps");

static __always_inline u32 number_at(u64 id, u32 probe)
{
	return ((id * CPULEDGER_CLASS_HASH >> CPULEDGER_WIRE_HASH_SHIFT) + probe) & (CPULEDGER_WIRE_CGROUPS - 1);
}

static __always_inline struct cpuledger_wire_cgroup *cgroup_at(u32 number)
{
	return number == CPULEDGER_WIRE_OTHER ? NULL : bpf_map_lookup_elem(&wire_cgroups, &number);
}

/* Takes a number for a cgroup, if one is free. Two CPUs may take one each for the same: the reader adds them up. */
static __noinline u32 take_number(u64 id)
{
	for (u32 i = 0; i < CPULEDGER_WIRE_PROBES; i++) {
		u32 number = number_at(id, i);
		struct cpuledger_wire_cgroup *cgroup = cgroup_at(number);

		if (!cgroup || !claim(&cgroup->state))
			continue;
		cgroup->cgroup_id = id;
		__sync_lock_test_and_set(&cgroup->state, CPULEDGER_CLASS_USED);
		return number;
	}
	return CPULEDGER_WIRE_OTHER;
}

static __noinline u32 find_number(u64 id)
{
	for (u32 i = 0; i < CPULEDGER_WIRE_PROBES; i++) {
		u32 number = number_at(id, i);
		struct cpuledger_wire_cgroup *cgroup = cgroup_at(number);

		if (cgroup && *(volatile u64 *)&cgroup->state == CPULEDGER_CLASS_USED && cgroup->cgroup_id == id)
			return number;
	}
	return take_number(id);
}

static __always_inline u32 byte_at(struct __sk_buff *skb, u32 offset)
{
	u8 byte = 0;

	return bpf_skb_load_bytes_relative(skb, offset, &byte, 1, FROM_IP_HEADER) ? 0 : byte;
}

/* Bytes of the headers of IP and of TCP or UDP, which each packet has that is cut out of this one; 0: not known. */
static __noinline u32 headers_of(struct __sk_buff *skb)
{
	u32 first = byte_at(skb, 0), is_ipv6 = first >> 4 == 6;
	u32 protocol = byte_at(skb, is_ipv6 ? IPV6_NEXT_HEADER_AT : IP_PROTOCOL_AT);
	u32 ip_bytes = is_ipv6 ? IPV6_HEADER_BYTES : (first & 0xf) * 4;

	if (protocol == IPPROTO_TCP)
		return ip_bytes + (byte_at(skb, ip_bytes + TCP_LENGTH_AT) >> 4) * 4;
	return protocol == IPPROTO_UDP ? ip_bytes + UDP_HEADER_BYTES : 0;
}

static __always_inline int on_packet(struct __sk_buff *skb, u32 direction)
{
	u32 key = bpf_get_smp_processor_id() * CPULEDGER_WIRE_CGROUPS + find_number(bpf_skb_cgroup_id(skb));
	struct cpuledger_wire_use *use = bpf_map_lookup_elem(&wire_uses, &key);
	u32 size = skb->gso_size, headers = size ? headers_of(skb) : 0;
	u64 bytes = skb->len, packets = 1;

	if (!use)
		return 1;
	/* The device cuts it, or has put it together: each packet has the headers. */
	if (headers && bytes > headers) {
		packets = (bytes - headers + size - 1) / size;
		bytes += (packets - 1) * headers;
	}
	/* A packet may be sent by an interrupt in the middle of this. */
	__sync_fetch_and_add(&use->bytes[direction], bytes);
	__sync_fetch_and_add(&use->packets[direction], packets);
	return 1;
}

SEC("cgroup_skb/egress")
int on_egress(struct __sk_buff *skb)
{
	return on_packet(skb, CPULEDGER_SENT);
}

SEC("cgroup_skb/ingress")
int on_ingress(struct __sk_buff *skb)
{
	return on_packet(skb, CPULEDGER_RECEIVED);
}
