//! Whether a file of /proc is of the task that is meant: a number alone may be another's by now.

use cpuledger_proc::task::stat::parse_stat;

use cpuledger_model::boottime::{Boottime, TICK_NS};

/// Whether this is the `stat` of a task that started then. Each source tells a start to the tick or better: where it can only
/// estimate one, of a task that is gone, nothing acts on it.
pub fn has_started(start: Boottime, stat: &[u8]) -> bool {
    parse_stat(stat).is_some_and(|stat| stat.start_ticks == start.ticks(TICK_NS))
}
