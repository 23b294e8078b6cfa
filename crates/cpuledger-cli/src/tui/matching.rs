//! Whether an interval has what is looked for.

use cpuledger::interval::{Interval, Row};
use cpuledger_names::named::Named;
use cpuledger_names::names::Names;
use cpuledger_view::group::exited_row;
use cpuledger_view::query::{Query, Subject};

use super::listing::Arguments;

/// Whether a row of an interval matches, of those that live or of those that died. Arguments are those that the screen has read.
pub fn matches(
    query: &Query,
    interval: &Interval,
    (users, named): (&Names, &Named),
    arguments: &Arguments,
) -> bool {
    let is_match = |row: &Row| {
        let arguments = if query.needs_arguments() { arguments.text_of(&row.task) } else { None };
        query.matches(&Subject {
            row,
            length_ns: interval.length_ns(),
            users,
            memory_total_bytes: None,
            arguments: arguments.as_deref(),
            named: Some(named),
        })
    };
    interval.processes.iter().chain(&interval.tasks).any(is_match)
        || interval.exited.iter().flatten().any(|exited| is_match(&exited_row(exited)))
}

#[cfg(test)]
mod tests {
    use cpuledger::Boottime;

    use super::super::fixture;
    use super::*;

    #[test]
    fn the_living_and_the_dead_are_found() {
        let frame = fixture::frame();
        let mut known = Arguments::default();
        let make = &frame.interval.processes[2].task;
        let read = Boottime::from_ns(u64::MAX);
        known.learn(make.id(), make.comm, read, Some(b"make\0-j4\0".as_slice().into()));
        let found = |text: &str| {
            let query = Query::parse(text).expect("it is right");
            matches(&query, &frame.interval, (&frame.users, &frame.around.named), &known)
        };
        for (text, is_there) in [
            ("comm=make", true),
            ("cpu>50 comm=make", true),
            ("cpu>50 comm=sh", false),
            ("comm=worker", true),
            ("comm=cc1plus", true),
            ("comm=cc1plus cpu>50", false),
            ("comm=nothing", false),
            ("args~-j4$", true),
            ("args~-j5", false),
        ] {
            assert_eq!(found(text), is_there, "{text}");
        }
    }
}
