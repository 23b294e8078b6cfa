//! Whether an interval has what is looked for.

use cpuledger::interval::{Interval, Usage};
use cpuledger::names::Names;
use cpuledger::{Snapshot, Task};
use cpuledger_view::group::exited_row;
use cpuledger_view::query::{Query, Subject};

/// Whether a row of an interval matches, of those that live or of those that died.
pub fn matches(query: &Query, interval: &Interval, snapshot: &Snapshot, users: &Names) -> bool {
    let is_match = |row: &Task, usage: &Usage| {
        query.matches(&Subject {
            row,
            usage,
            length_ns: interval.length_ns(),
            users,
            memory_total_bytes: None,
            arguments: None,
        })
    };
    let living = snapshot.processes.iter().zip(&interval.processes);
    let mut living = living.chain(snapshot.tasks.iter().zip(&interval.tasks));
    living.any(|(whole, usage)| is_match(&interval.row(usage, whole), usage))
        || interval.exited.iter().flatten().any(|exited| {
            let (row, usage) = exited_row(exited);
            is_match(&row, &usage)
        })
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::*;

    #[test]
    fn the_living_and_the_dead_are_found() {
        let frame = fixture::frame();
        let found = |text: &str| {
            let query = Query::parse(text).expect("it is right");
            matches(&query, &frame.interval, &frame.snapshot, &frame.users)
        };
        for (text, is_there) in [
            ("comm=make", true),
            ("cpu>50 comm=make", true),
            ("cpu>50 comm=sh", false),
            ("comm=worker", true),
            ("comm=cc1plus", true),
            ("comm=cc1plus cpu>50", false),
            ("comm=nothing", false),
        ] {
            assert_eq!(found(text), is_there, "{text}");
        }
    }
}
