/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Programs that do nothing, on the hooks of the accounts: what the kernel takes to call a program there. Each has the name of its hook.
 */
#define DOES_NOTHING(hook) __attribute__((section("tp_btf/" #hook), used)) int hook(void *context) { return 0; }

DOES_NOTHING(sched_wakeup)
DOES_NOTHING(sched_wakeup_new)
DOES_NOTHING(sched_migrate_task)
DOES_NOTHING(sock_send_length)
DOES_NOTHING(sock_recv_length)
DOES_NOTHING(block_io_start)
DOES_NOTHING(block_rq_issue)
DOES_NOTHING(block_rq_complete)
DOES_NOTHING(block_io_done)
