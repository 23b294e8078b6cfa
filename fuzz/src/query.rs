//! Filters of any text on tasks of any bytes, and what must be true of every filter.

use cpuledger::counters::Counters;
use cpuledger::fuzzing::snapshot_of;
use cpuledger::interval::{Row, Usage};
use cpuledger::{FieldSet, Task};
use cpuledger_model::make;
use cpuledger_names::names::Names;
use cpuledger_view::query::{MOST_BYTES, Query, QueryError, Subject};

thread_local! {
    /// With the one user that every machine has.
    static USERS: Names = {
        let mut users = Names::of_users();
        users.learn(0);
        users
    };
}

/// A filter up to the first NUL; behind it, what [`snapshot_of`] takes: the tasks it is asked about, besides one that is not known
/// and one that is zeros.
///
/// # Panics
/// If it breaks a law of logic, or what it says of itself.
pub fn query(bytes: &[u8]) {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    let Ok(text) = str::from_utf8(&bytes[..end]) else { return };
    let query = match Query::parse(text) {
        Ok(query) => query,
        Err(error) => return assert_is_a_sentence(text, &error),
    };
    assert_eq!(query.text(), text);
    let blank = Task::default();
    let zeros = make!(Task { known: FieldSet::ALL });
    let snapshot = snapshot_of(bytes.get(end + 1..).unwrap_or_default());
    let rows: Vec<&Task> =
        [&blank, &zeros].into_iter().chain(&snapshot.processes).chain(&snapshot.tasks).collect();
    let truth: Vec<bool> = rows.iter().map(|row| holds(&query, row)).collect();
    assert_looks_at_its_fields_only(&query, &rows, &truth);
    if query.is_empty() {
        return assert!(truth.iter().all(|holds| *holds), "nothing is asked, and not all match");
    }
    assert_says(&format!("( {text} )"), &query, &rows, |index| truth[index]);
    assert_says(&format!(" {text}\t"), &query, &rows, |index| truth[index]);
    assert_says(&format!("!({text} )"), &query, &rows, |index| !truth[index]);
    assert_says(&format!("not not ({text} ) and ({text} )"), &query, &rows, |index| truth[index]);
    assert_says(&format!("({text} )|not({text} )"), &query, &rows, |_| true);
    assert_says(&format!("({text} ) not({text} )"), &query, &rows, |_| false);
}

/// It is shown in a line of the screen, with the place that is meant.
fn assert_is_a_sentence(text: &str, error: &QueryError) {
    let sentence = &error.sentence;
    assert!(!sentence.is_empty() && !sentence.contains(char::is_control), "{text:?}: {sentence:?}");
    assert!(error.at <= text.chars().count(), "{text:?}: {error:?}");
}

/// What it does not ask for need not be read.
fn assert_looks_at_its_fields_only(query: &Query, rows: &[&Task], truth: &[bool]) {
    for (row, truth) in rows.iter().zip(truth) {
        let known = row.known.intersection(query.fields());
        assert_eq!(
            holds(query, &make!(Task { known, ..**row })),
            *truth,
            "{:?} of {:?}",
            query,
            query.fields()
        );
    }
}

/// The filter made of this one is one, unless it is too long or too deep, looks at the same fields, and holds where it must.
fn assert_says(text: &str, of: &Query, rows: &[&Task], expected: impl Fn(usize) -> bool) {
    let made = match Query::parse(text) {
        Ok(made) => made,
        Err(_) if text.len() > MOST_BYTES => return,
        Err(error) => return assert!(error.sentence.starts_with("more than"), "{text:?}: {error}"),
    };
    assert_eq!(made.fields(), of.fields(), "{text:?}");
    for (index, row) in rows.iter().enumerate() {
        assert_eq!(holds(&made, row), expected(index), "{text:?} of {row:?}");
    }
}

fn holds(query: &Query, row: &Task) -> bool {
    let usage = make!(Usage {
        cpu_ns: row.runtime_ns,
        self_ns: row.user_ns,
        exited_children_ns: Some(row.system_ns),
        stolen_ns: (row.nice >= 0).then_some(row.block_io_delay_ns),
        growth: Counters::of(row),
    });
    USERS.with(|users| {
        query.matches(&Subject {
            row: &Row::new(*row, usage),
            length_ns: row.start_time_ns.ns(),
            users,
            named: None,
            memory_total_bytes: Some(row.vsize_bytes),
            arguments: (row.pid.0 % 2 == 0).then_some(b"java -X ".as_slice()),
        })
    })
}
