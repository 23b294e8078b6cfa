//! CPU time, and when a task was started.

use crate::cell;
use crate::figure::Key as Figure;
use crate::sort::Key;
use cpuledger_model::field::{Field, FieldSet};
use cpuledger_names::lookups::Lookups;

use super::entry::{Align, By, Column, InTable, Lines, Listed, Overflow, TableCell, Text, TopField, total};

columns! {
    // CPU time.
    "time" "TIME", "atime" "TIME", "cputime" "TIME"; 8 Right Push Both; [User System] [];
        (cell::time, |r| Key::from(r.cpu_ticks()));
        "CPU time, [days-]hh:mm:ss." => {
            in_table: in_table!(10 "TIME+" right 9 rank 6 Time sums; "CPU time since the start: minutes, seconds, hundredths."),
            orders: &["TIME"],
            procps: &[TopField { place: 18, name: "TIME", by: By::Time }, TopField { place: 19, name: "TIME+", by: By::Time }],
            aix: Some(('x', "time")),
        }
    "times" "TIME", "cputimes" "TIME"; 8 Right Push Both; [User System] [];
        (|r, c| cell::unsigned(c, r.cpu_seconds()), |r| Key::from(r.cpu_ticks()));
        "CPU time in seconds."
    "bsdtime" "TIME"; 6 Right Push Both; [User System] [];
        (cell::bsd_time, |r| Key::from(r.cpu_ticks()));
        "CPU time, minutes:seconds."
    "%cpu" "%CPU", "pcpu" "%CPU"; 4 Right Push Both; [User System StartTime] [];
        (cell::cpu_percent, |r| Key::Number(r.cpu_share()));
        "CPU time in percent of the time since the start." => {
            order_letter: Some('C'),
            aix: Some(('C', "pcpu")),
        }
    "c" "C", "util" "C"; 2 Right Push Both; [User System StartTime] [];
        (cell::cpu_whole_percent, |r| Key::Number(r.cpu_share()));
        "%CPU as a whole number, at most 99."
    "cp" "CP"; 3 Right Push Both; [User System StartTime] [];
        (cell::cpu_per_mille, |r| Key::Number(r.cpu_share()));
        "%CPU in tenths of a percent, at most 999."
    "cuu" "%CUU"; 6 Right Push Both; [User System StartTime] [];
        (|r, c| cell::utilization(r, c, r.cpu_ticks()), |r| Key::Number(r.cpu_share()));
        "%CPU with three decimals, below 100."
    "cuc" "%CUC"; 7 Right Push Both; [User System ChildrenUser ChildrenSystem StartTime] [];
        (|r, c| cell::utilization(r, c, r.cpu_ticks_with_children()), |r| Key::Number(r.cpu_share_with_children()));
        "%CPU with three decimals, including children that were waited for."

    // When it was started.
    "lstart" "STARTED"; 24 Right Push Both; [StartTime] [CALENDAR];
        (cell::long_start, |r| Key::from(r.start_ticks()));
        "When it was started, in full." => StartTime {
            procps: &[total(36, "STARTED", Field::StartTime)],
        }
    "start" "STARTED"; 8 Right Push Both; [StartTime] [CALENDAR];
        (cell::start, |r| Key::from(r.start_ticks()));
        "When it was started: hh:mm:ss, or month and day."
    "stime" "STIME", "start_time" "START"; 5 Right Push Both; [StartTime] [CALENDAR];
        (cell::start_day_or_time, |r| Key::from(r.start_ticks()));
        "When it was started: hh:mm, month and day, or year." => {
            order_letter: Some('T'),
        }
    "bsdstart" "START"; 6 Right Push Both; [StartTime] [CALENDAR];
        (cell::bsd_start, |r| Key::from(r.start_ticks()));
        "When it was started: hh:mm, or month and day."
    "etime" "ELAPSED"; 11 Right Push Both; [StartTime] [];
        (cell::elapsed, |r| Key::from(r.elapsed_ticks()));
        "Time since the start, [[days-]hh:]mm:ss." => {
            procps: &[TopField { place: 37, name: "ELAPSED", by: By::Age }],
            aix: Some(('t', "etime")),
        }
    "etimes" "ELAPSED"; 7 Right Push Both; [StartTime] [];
        (|r, c| cell::unsigned(c, r.elapsed_seconds()), |r| Key::from(r.elapsed_ticks()));
        "Time since the start in seconds."
}
