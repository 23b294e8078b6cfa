use super::*;
use crate::tree::Drawing;
use cpuledger::enrich::row::Surroundings;
use cpuledger::task::{Comm, Pid, State, Task, Tid};

fn task() -> Task {
    Task {
        known: FieldSet::ALL,
        tid: Tid(42),
        pid: Pid(7),
        state: State(b'S'),
        comm: Comm::new(b"worker"),
        user_ns: 59_999_999_999 + 60_000_000_000 * 61,
        ..Task::default()
    }
}

/// The header and the line of `task` with these columns, each `name`, `name:width` or `name=header`.
fn lines(task: &Task, columns: &[&str], screen_width: Option<usize>) -> [String; 2] {
    lines_behind(b"", task, columns, screen_width)
}

/// The same, with branches of a tree in front of its command.
fn lines_behind(prefix: &[u8], task: &Task, columns: &[&str], screen_width: Option<usize>) -> [String; 2] {
    let choose = |spec: &&str| {
        let name = spec.split([':', '=']).next().expect("split gives one");
        let mut chosen = Chosen::by_name(name).unwrap_or_else(|| panic!("no column {name}"));
        if matches!(name, "pid" | "tid") {
            chosen.width = 7; // whatever this machine's pid_max is
        }
        if let Some((_, width)) = spec.split_once(':') {
            chosen.width = width.parse().expect("a width");
        }
        if let Some((_, header)) = spec.split_once('=') {
            chosen.header = header.to_owned();
        }
        chosen
    };
    let mut layout = Layout::new(columns.iter().map(choose).collect(), screen_width);
    let around = Surroundings::now();
    let (mut header, mut line) = (Vec::new(), Vec::new());
    layout.write_header(&mut header);
    let row = Row { task, around: &around };
    let written = Line { prefix, generation: Drawing::Branches.generation(), ..row.into() };
    layout.write_line(&written, &mut line);
    [header, line].map(|text| String::from_utf8(text).expect("escaped"))
}

#[test]
fn cells_stand_where_procps_puts_them() {
    let lines = lines(&task(), &["pid", "tid", "tname", "time", "ucmd"], None);
    assert_eq!(lines[0], "    PID     TID TTY          TIME CMD\n");
    assert_eq!(lines[1], "      7      42 ?        01:01:59 worker\n");
}

#[test]
fn a_wide_cell_pushes_and_the_line_recovers() {
    let wide = Task { euid: 12_345_678, ..task() };
    let lines = lines(&wide, &["uid", "pid", "s", "comm"], None);
    assert_eq!(lines[0], "  UID     PID S COMMAND\n");
    assert_eq!(lines[1], "12345678    7 S worker\n");
}

#[test]
fn the_last_column_ends_with_the_line_and_the_others_with_their_width() {
    let long = Task { comm: Comm::new(b"a very long name of a thread"), ..task() };
    assert_eq!(lines(&long, &["comm:4", "pid"], None)[1], "a ve       7\n");
    assert_eq!(lines(&long, &["pid", "comm"], Some(20))[1], "      7 a very long \n");
    assert_eq!(lines(&long, &["pid", "comm"], Some(5))[1], "      7 a very \n");
    assert_eq!(lines(&long, &["pid", "comm"], None)[1], "      7 a very long name of a thread\n");
}

#[test]
fn a_narrow_column_shows_whole_generations_of_a_tree() {
    let drawn = |columns: &[&str], screen_width| {
        let branches = br" |   \_ ";
        let named = Task { comm: Comm::new(b"sleep-more"), ..task() };
        lines_behind(branches, &named, columns, screen_width)[1].trim_end().to_owned()
    };
    assert_eq!(drawn(&["comm"], Some(20)), r" |   \_ sleep-more");
    assert_eq!(drawn(&["comm"], Some(9)), r" |   \_ s");
    assert_eq!(drawn(&["comm"], Some(7)), " |  sle");
    assert_eq!(drawn(&["comm"], Some(3)), "sle");
    assert_eq!(drawn(&["comm:5", "s"], None), " |  s S");
    // Of its first 8 characters, as many as there is room for.
    assert_eq!(drawn(&["fname"], None), r" |   \_ sleep-mo");
    assert_eq!(drawn(&["fname:10", "s"], None), r" |   \_ sl S");
    assert_eq!(lines(&task(), &["fname:3", "s"], None)[1], "wor S\n");
}

#[test]
fn cuts_fall_between_characters_and_count_places() {
    let name = |text: &str| Task { comm: Comm::new(text.as_bytes()), ..task() };
    assert_eq!(lines(&name("日本語"), &["comm:5", "s"], None)[1], "日本  S\n");
    assert_eq!(lines(&name("größer"), &["comm:4", "s"], None)[1], "größ S\n");
}

#[test]
fn users_that_do_not_fit_end_in_a_plus() {
    assert_eq!(lines(&Task { euid: 4_000_000_001, ..task() }, &["user", "s"], None)[1], "4000000+ S\n");
}

#[test]
fn headers_may_be_empty_or_widen_the_column() {
    assert_eq!(lines(&task(), &["pid=", "comm="], None), ["", "      7 worker\n"]);
    assert_eq!(lines(&task(), &["pid=", "comm"], None)[0], "        COMMAND\n");
    assert_eq!(lines(&task(), &["comm:3", "s"], None)[0], "COMMAND S\n");
}

#[test]
fn names_are_escaped_and_the_unknown_is_a_dash() {
    let odd = Task { comm: Comm::new(b"a\n\x1b("), ..task() };
    assert_eq!(lines(&odd, &["comm", "pid"], None)[1], "a\\n\\x1b(              7\n");
    let unknown = Task { known: FieldSet::of(&[Field::Pid]), ..task() };
    assert_eq!(lines(&unknown, &["pid", "time", "rss_bytes"], None)[1], "      7        -            -\n");
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
