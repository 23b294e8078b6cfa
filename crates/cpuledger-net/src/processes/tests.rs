use super::*;

struct Row {
    pid: i64,
    start: u64,
    comm: &'static str,
    ns: u64,
}

fn row(pid: i64, start: u64, comm: &'static str, ns: u64) -> Row {
    Row { pid, start, comm, ns }
}

/// The interval of that number, of a second, with these rows of living processes and these records of ended ones.
fn frame(number: u64, living: &[Row], ended: &[Row]) -> Frame {
    let mut frame = Frame::new();
    let second = 1_000_000_000;
    for (column, value) in [
        (Column::START_NS, number * second),
        (Column::END_NS, (number + 1) * second),
        (Column::END_BOOTTIME_NS, (number + 1) * second),
        (Column::END_REALTIME_NS, (number + 1001) * second),
    ] {
        frame.set_figure(column, Some(value));
    }
    let table = frame.table_mut(Section::Processes);
    table.reset(living.len());
    for (place, row) in living.iter().enumerate() {
        table.set_signed(Column::PID, place, Some(row.pid));
        for (column, value) in [
            (Column::START_TIME_NS, row.start),
            (Column::CPU_NS, row.ns),
            (Column::SELF_NS, row.ns),
            (Column::EXITED_THREADS_NS, 0),
            (Column::SELF_USER_NS, row.ns / 2),
            (Column::EXITED_THREADS_USER_NS, 0),
            (Column::STOLEN_NS, row.ns / 4),
        ] {
            table.set(column, place, Some(value));
        }
        table.set(Column::MINOR_FAULTS.growth().expect("a counter"), place, Some(7));
    }
    for (place, row) in living.iter().enumerate() {
        let comm = frame.intern(row.comm.as_bytes());
        frame.table_mut(Section::Processes).set(Column::COMM, place, Some(comm));
    }
    let table = frame.table_mut(Section::Exited);
    table.reset(ended.len());
    for (place, row) in ended.iter().enumerate() {
        table.set_signed(Column::PID, place, Some(row.pid));
        for (column, value) in
            [(Column::PROCESS_START_NS, row.start), (Column::CPU_NS, row.ns), (Column::ENDS_PROCESS, 1)]
        {
            table.set(column, place, Some(value));
        }
    }
    frame
}

fn shown(processes: &Processes) -> Vec<(i64, String, u128)> {
    let ns = |process: &&Process| process.modes.named().into_iter().map(|(_, ns)| ns).sum();
    processes.shown(&[]).iter().map(|process| (process.pid, process.name.clone(), ns(process))).collect()
}

#[test]
fn a_process_counts_from_its_choice_to_its_end_and_is_shown_once_more() {
    let mut processes = Processes::new(2);
    let second = Duration::from_secs(1);
    processes.add(&frame(0, &[row(10, 5, "a", 100), row(11, 6, "b", 50), row(12, 7, "c", 10)], &[]));
    processes.rank(second, 1001);
    assert_eq!(shown(&processes), [(10, "a".to_owned(), 0), (11, "b".to_owned(), 0)]);
    processes.were_shown(1);
    // Another process has the pid of one of them, and one ends.
    processes.add(&frame(
        1,
        &[row(10, 5, "a", 40), row(11, 99, "z", 1)],
        &[row(11, 6, "b", 8), row(12, 7, "c", 9)],
    ));
    processes.rank(second, 1002);
    let found = shown(&processes);
    assert!(
        found.contains(&(10, "a".to_owned(), 40)) && found.contains(&(11, "b".to_owned(), 8)),
        "{found:?}"
    );
    let a = processes.shown(&[]).into_iter().find(|process| process.pid == 10).expect("it is there").clone();
    assert_eq!((a.modes.user_ns, a.modes.stolen_ns, a.modes.system_ns, a.modes.unknown_ns), (20, 10, 10, 0));
    assert_eq!(a.counts, [None, None, Some(7), None]);
    assert_eq!(a.creation_ns, 1_000_000_000_005);
    processes.were_shown(2);
    let found = shown(&processes);
    assert!(!found.iter().any(|(_, name, _)| name == "b"), "{found:?}");
}

#[test]
fn after_an_exec_the_new_name_begins_at_0_and_no_time_counts_twice() {
    let mut processes = Processes::new(4);
    processes.add(&frame(0, &[row(10, 5, "sh", 100)], &[]));
    processes.rank(Duration::from_secs(1), 1_001_000_000_000);
    processes.add(&frame(1, &[row(10, 5, "sh", 30)], &[]));
    processes.add(&frame(2, &[row(10, 5, "make", 4)], &[]));
    assert_eq!(shown(&processes), [(10, "sh".to_owned(), 30), (10, "make".to_owned(), 4)]);
    let since: Vec<u64> =
        processes.shown(&[]).iter().map(|process| process.since_ns / 1_000_000_000).collect();
    assert_eq!(since, [1001, 1002]);
}

#[test]
fn one_that_uses_far_more_replaces_one_and_memory_is_bounded() {
    let mut processes = Processes::new(4);
    for number in 0..60 {
        let rows: Vec<Row> =
            (0..1000).map(|pid| row(number * 1000 + pid + 1, number as u64, "x", 1)).collect();
        processes.add(&frame(number as u64, &rows, &[]));
        processes.rank(Duration::from_secs(1), 1);
        assert!(processes.chosen.len() <= 4 && processes.candidates.len() <= 4 * CANDIDATES);
        processes.were_shown(number as u64);
    }
    processes.add(&frame(60, &[row(7, 7, "busy", 1_000_000)], &[]));
    for _ in 0..2 {
        processes.rank(Duration::from_secs(1), 2);
        processes.add(&frame(61, &[row(7, 7, "busy", 1_000_000)], &[]));
    }
    assert!(shown(&processes).iter().any(|(pid, ..)| *pid == 7));
    assert_eq!(processes.chosen.len(), 4);
}

#[test]
fn one_that_has_ended_is_shown_again_if_its_last_look_was_lost() {
    let mut processes = Processes::new(2);
    processes.add(&frame(0, &[row(10, 5, "a", 100)], &[]));
    processes.rank(Duration::from_secs(1), 1001);
    processes.were_shown(1);
    processes.add(&frame(1, &[], &[row(10, 5, "a", 8)]));
    let of = |processes: &Processes, again: &[u64]| -> Vec<u128> {
        processes.shown(again).iter().map(|process| process.modes.unknown_ns).collect()
    };
    assert_eq!(of(&processes, &[]), [8]);
    processes.were_shown(2);
    assert!(of(&processes, &[]).is_empty() && of(&processes, &[1, 3]).is_empty());
    assert_eq!(of(&processes, &[1, 2]), [8]);
    for number in 0..1000_u64 {
        let pid = i64::try_from(number).expect("few") + 11;
        processes.add(&frame(2 * number, &[row(pid, number, "b", 100)], &[]));
        processes.rank(Duration::from_secs(1), 1);
        processes.add(&frame(2 * number + 1, &[], &[row(pid, number, "b", 1)]));
        processes.were_shown(number + 3);
        assert!(processes.last_looks.len() <= 2 * CANDIDATES);
    }
    assert_eq!(of(&processes, &[2, 1002]), [1], "the oldest are forgotten");
}
