// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every BPF program in the kernel, with the user that loaded it: bpf(2) lists them to CAP_SYS_ADMIN only.
 */
#include "compat.bpf.h"
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

SEC("iter/bpf_prog")
int list_programs(struct bpf_iter__bpf_prog *context)
{
	struct bpf_prog *program = context->prog;
	struct cpuledger_program record = {};

	if (!program)
		return 0;
	record.id = program->aux->id;
	record.uid = program->aux->user->uid.val;
	bpf_probe_read_kernel(record.name, sizeof(record.name), program->aux->name);
	bpf_seq_write(context->meta->seq, &record, sizeof(record));
	return 0;
}
