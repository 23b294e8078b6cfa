use super::*;
use cpuledger_model::make;
use cpuledger_model::task::{Comm, Pid, State};

fn task() -> Task {
    make!(Task { known: FieldSet::ALL, state: State(b'S'), comm: Comm::new(b"worker") })
}

/// The header and the line of `task` with these columns, each `name` or `name:width`.
fn lines(task: &Task, columns: &[&str], screen_width: Option<usize>) -> [String; 2] {
    let choose = |spec: &&str| {
        let name = spec.split(':').next().expect("split gives one");
        let mut chosen = Chosen::by_name(name).unwrap_or_else(|| panic!("no column {name}"));
        if let Some((_, width)) = spec.split_once(':') {
            chosen.width = width.parse().expect("a width");
        }
        chosen
    };
    let mut layout = Layout::new(columns.iter().map(choose).collect(), screen_width);
    let around = Surroundings::now();
    let (mut header, mut line) = (Vec::new(), Vec::new());
    layout.write_header(&mut header);
    layout.write_line(&Line::from(Row::new(task, &around)), &mut line);
    [header, line].map(|text| String::from_utf8(text).expect("escaped"))
}

#[test]
fn cuts_fall_between_characters_and_count_places() {
    let name = |text: &str| make!(Task { comm: Comm::new(text.as_bytes()), ..task() });
    assert_eq!(lines(&name("日本語"), &["comm:5", "s"], None)[1], "日本  S\n");
    assert_eq!(lines(&name("größer"), &["comm:4", "s"], None)[1], "größ S\n");
}

#[test]
fn every_name_is_a_column_and_none_means_two() {
    let mut seen = std::collections::BTreeSet::new();
    for name in names() {
        assert!(seen.insert(name), "{name} stands twice in the table");
        let chosen = Chosen::by_name(name).expect("a name of the table");
        assert!(!chosen.header.is_empty() && chosen.width > 0, "{name}");
    }
    assert!(seen.contains("runqueue_wait_ns") && seen.contains("pid"));
}

#[test]
fn signals_have_all_digits_where_there_is_room_and_tell_what_they_hide() {
    let shorten = |digits: &str| {
        let mut cell = digits.as_bytes().to_vec();
        shorten_signals(&mut cell);
        String::from_utf8(cell).expect("ASCII")
    };
    assert_eq!(shorten("0000000000001000"), "00001000");
    assert_eq!(shorten("0000008000001000"), "<00001000");
    assert_eq!(shorten("-"), "-");
    // Without their files nothing is known; the headers stand at the right edge all the same.
    assert_eq!(lines(&task(), &["blocked", "s"], None), ["         BLOCKED S\n", "               - S\n"]);
    assert_eq!(lines(&task(), &["blocked", "s"], Some(17)), ["  BLOCKED S\n", "        - S\n"]);
    assert_eq!(lines(&task(), &["blocked", "s"], Some(18))[0], "         BLOCKED S\n");
}

fn by(name: &str, descending: bool) -> Criterion {
    Criterion { by: Chosen::by_name(name).expect("a column"), descending }
}

#[test]
fn rows_are_sorted_by_one_criterion_after_the_other() {
    let task = |pid, comm: &str| {
        make!(Task { known: FieldSet::ALL, pid: Pid(pid), comm: Comm::new(comm.as_bytes()) })
    };
    let tasks = [task(3, "b"), task(1, "a"), task(2, "b")];
    let mut rows: Vec<&Task> = tasks.iter().collect();
    let around = Surroundings::now();
    sort(&mut rows, &[by("comm", true), by("pid", false)], &around);
    assert_eq!(rows.iter().map(|row| row.pid.0).collect::<Vec<_>>(), [2, 3, 1]);
}

#[test]
fn unknown_comes_before_zero() {
    let zero = make!(Task { known: FieldSet::ALL });
    let unknown = Task::default();
    let mut rows = [&zero, &unknown];
    sort(&mut rows, &[by("runqueue_wait_ns", false)], &Surroundings::now());
    assert_eq!(rows[0].known, FieldSet::EMPTY);
}
