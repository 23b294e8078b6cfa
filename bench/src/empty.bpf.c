/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Programs that do nothing, on the hooks of the accounts: what the kernel takes to call a program there. Each has the name of its hook.
 * And programs that do the least that blame needs at a wake-up: they read the clock once and add the time since the last event to one number.
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

static unsigned long long (*const clock_ns)(void) = (void *)5; /* bpf_ktime_get_ns */

unsigned long long last_ns, sum_ns;

#define DOES_THE_LEAST(hook)                                                                                                                         \
	__attribute__((section("tp_btf/" #hook), used)) int least_##hook(void *context)                                                              \
	{                                                                                                                                            \
		unsigned long long now_ns = clock_ns();                                                                                              \
		sum_ns += now_ns - last_ns;                                                                                                          \
		last_ns = now_ns;                                                                                                                    \
		return 0;                                                                                                                            \
	}

DOES_THE_LEAST(sched_wakeup)
DOES_THE_LEAST(sched_wakeup_new)
DOES_THE_LEAST(sched_migrate_task)
