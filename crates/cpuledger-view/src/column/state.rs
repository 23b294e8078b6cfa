//! What a task is doing, and how it is scheduled.

use crate::cell;
use crate::figure::Key as Figure;
use crate::sort::Key;
use cpuledger_model::field::{Field, FieldSet};
use cpuledger_names::lookups::Lookups;

use super::entry::{Align, Column, InTable, Lines, Listed, Overflow, TableCell, Text, total};

columns! {
    // What it is doing.
    "stat" "STAT"; 4 Left Push Task; [State Nice Sid Threads Pgid TtyPgid] [] optional [Locked];
        (cell::stat, |r| Key::from(r.task.state.0));
        "State; < N nice, L locked memory, s session leader, l threads, + foreground."
    "s" "S", "state" "S"; 1 Left Push Task; [State] [];
        (|r, c| c.push(r.task.state.0), |r| Key::from(r.task.state.0));
        "State letter." => State {
            in_table: in_table!(7 "S" left 1 rank 3 Value; "State letter."),
            procps: &[total(27, "S", Field::State)],
        }
    "f" "F", "flag" "F", "flags" "F"; 1 Right Push Both; [Flags] [];
        (|r, c| cell::unsigned(c, r.task.flags >> 6 & 7), by_number!(flags));
        "1: forked without exec, 4: used the privileges of root." => Flags {
            procps: &[total(29, "Flags", Field::Flags)],
            order_letter: Some('f'),
        }
    "wchan" "WCHAN", "wname" "WCHAN"; 6 Left Cut Task; [] [WCHAN] as Function;
        detail!(wchan); "Where it waits in the kernel."
    "nlwp" "NLWP"; 4 Right Push Process; [Threads] [];
        number!(threads); "Threads of the process." => Threads {
            in_table: in_table!(15 "TH" right 4 rank 9 Value; "Threads of the process."),
            orders: &["nTH"],
            procps: &[total(15, "nTH", Field::Threads)],
        }
    "thcount" "THCNT"; 5 Right Push Process; [Threads] [];
        number!(threads); "Threads of the process."

    // How it is scheduled.
    "ni" "NI", "nice" "NI"; 3 Right Push Task; [Nice Policy] [];
        (cell::nice, by_number!(nice));
        "Nice value; - where the policy has none." => Nice {
            in_table: in_table!(3 "NI" right 3 rank 10 Value; "Nice value."),
            procps: &[total(14, "NI", Field::Nice)],
            aix: Some(('n', "nice")),
        }
    "pri" "PRI"; 3 Right Push Task; [Priority] [];
        (|r, c| cell::signed(c, i32::saturating_sub(39, r.task.priority)), by_number!(priority));
        "Priority; higher is more urgent. Sorting by it sorts by `priority`."
    "priority" "PRI"; 3 Right Push Task; [Priority] [];
        number!(priority); "Priority as in /proc/PID/stat." => Priority {
            in_table: in_table!(2 "PR" right 3 rank 11 Priority; "Priority; rt: real-time."),
            procps: &[total(13, "PR", Field::Priority)],
            order_letter: Some('y'),
        }
    "opri" "PRI", "intpri" "PRI"; 3 Right Push Task; [Priority] [];
        (|r, c| cell::signed(c, r.task.priority.saturating_add(60)), by_number!(priority));
        "Priority as -l shows it; lower is more urgent."
    "pri_foo" "FOO"; 3 Right Push Task; [Priority] [];
        (|r, c| cell::signed(c, r.task.priority.saturating_sub(20)), by_number!(priority));
        "Priority minus 20; for an ordinary task, this is its nice value."
    "pri_bar" "BAR"; 3 Right Push Task; [Priority] [];
        (|r, c| cell::signed(c, r.task.priority.saturating_add(1)), by_number!(priority));
        "Priority, real-time below 0."
    "pri_baz" "BAZ"; 3 Right Push Task; [Priority] [];
        (|r, c| cell::signed(c, r.task.priority.saturating_add(100)), by_number!(priority));
        "Priority on the kernel's own scale."
    "pri_api" "API"; 3 Right Push Task; [Priority] [];
        (|r, c| cell::signed(c, i32::saturating_sub(-1, r.task.priority)), by_number!(priority));
        "Real-time priority, as sched_setscheduler(2) takes it; below 0 for other tasks."
    "rtprio" "RTPRIO"; 6 Right Push Task; [Policy RtPriority] [];
        (cell::real_time_priority, by_number!(rt_priority));
        "Real-time priority."
    "sched" "SCH"; 3 Right Push Task; [Policy] [];
        number!(policy); "Number of the scheduling policy."
    "cls" "CLS"; 3 Right Push Task; [Policy] [];
        (cell::class, |_| Key::AsShown);
        "Scheduling policy: TS FF RR B IDL DLN."
    "class" "CLS", "policy" "POL"; 3 Left Push Task; [Policy] [] as Policy;
        (cell::class, |_| Key::AsShown);
        "Scheduling policy, left-aligned."
    "psr" "PSR", "lastcpu" "C", "cpu" "CPU"; 3 Right Push Task; [Processor] [];
        number!(processor); "CPU it ran on last." => Processor {
            in_table: in_table!(16 "P" right 3 rank 9 Value; "CPU it ran on last."),
            procps: &[total(16, "P", Field::Processor)],
        }
    "cpuid" "CPUID"; 5 Right Push Task; [Processor] [];
        number!(processor); "CPU it ran on last."
    "sgi_p" "P"; 1 Right Push Task; [State Processor] [];
        (cell::running_on, |r| Key::from(r.task.state.0));
        "CPU it runs on; * where it does not."
}
