//! Tasks that are decoded part by part are those that are decoded at once.

use cpuledger_model::frame::{Column, Frame, Section, Wanted};

/// Tasks of two processes, some with values that differ from these by little, some without.
fn listing(tasks: usize) -> Vec<u8> {
    let mut frame = Frame::new();
    let texts: Vec<u64> = (0..5u8).map(|number| frame.intern(&[b'a' + number])).collect();
    let pid = |row: usize| if row < tasks / 3 { 100 } else { 200_000 };
    let processes = frame.table_mut(Section::Processes);
    processes.reset(2);
    processes.fill_signed(Column::PID, [Some(100), Some(200_000)]);
    processes.fill(Column::START_TIME_NS, [Some(1 << 40), Some(1 << 41)]);
    let table = frame.table_mut(Section::Tasks);
    table.reset(tasks);
    table.fill_signed(Column::PID, (0..tasks).map(|row| Some(pid(row))));
    table.fill_signed(Column::TID, (0..tasks).map(|row| Some(pid(row) + row as i64)));
    table.fill(Column::START_TIME_NS, (0..tasks).map(|row| Some((1 << 40) + row as u64 * 7)));
    table
        .fill(Column::RUNTIME_NS, (0..tasks).map(|row| Some(row as u64 * 1_000_003).filter(|_| row % 3 > 0)));
    table.fill(Column::COMM, (0..tasks).map(|row| Some(texts[row % texts.len()])));
    let mut bytes = Vec::new();
    frame.encode(&mut bytes).expect("it is short");
    bytes
}

#[test]
fn parts_of_the_tasks_are_the_tasks() {
    for tasks in [0, 1, 2, 99, 1000] {
        let bytes = listing(tasks);
        let whole = Frame::decode(&bytes).expect("a frame");
        assert_eq!(Frame::count_rows(&bytes, Section::Tasks).expect("a frame"), tasks);
        let mut part = Frame::new();
        part.decode_wanted_from(&bytes, &Wanted::all_but(Section::Tasks)).expect("a frame");
        assert!(part.table(Section::Tasks).is_empty());
        for size in [1, 7, 1000] {
            for begin in (0..tasks).step_by(size) {
                let end = tasks.min(begin + size);
                part.decode_tasks_from(&bytes, begin..end).expect("these rows are there");
                assert_eq!(part.table(Section::Tasks).len(), end - begin);
                for row in begin..end {
                    let (of_part, of_whole) = (part.table(Section::Tasks), whole.table(Section::Tasks));
                    for column in [Column::PID, Column::TID] {
                        assert_eq!(of_part.get_signed(column, row - begin), of_whole.get_signed(column, row));
                    }
                    for column in [Column::START_TIME_NS, Column::RUNTIME_NS] {
                        assert_eq!(of_part.get(column, row - begin), of_whole.get(column, row));
                    }
                    let name = whole.text_of(Section::Tasks, Column::COMM, row);
                    assert_eq!(part.text_of(Section::Tasks, Column::COMM, row - begin), name);
                }
            }
        }
    }
}

#[test]
fn rows_that_are_not_there_are_an_error() {
    let bytes = listing(10);
    let mut part = Frame::decode(&bytes).expect("a frame");
    #[expect(clippy::reversed_empty_ranges, reason = "it is what is refused")]
    let reversed = 5..4;
    for rows in [10..11, 0..usize::MAX, reversed] {
        assert!(part.decode_tasks_from(&bytes, rows).is_err());
        assert!(part.table(Section::Tasks).is_empty());
    }
    part.decode_tasks_from(&bytes, 10..10).expect("no rows");
    assert!(part.decode_tasks_from(&bytes[..bytes.len() - 1], 0..1).is_err());
}

#[test]
fn damaged_bytes_are_tasks_or_an_error() {
    let bytes = listing(40);
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0xff;
        let mut part = Frame::new();
        let is_whole = Frame::decode(&damaged).is_ok();
        if part.decode_wanted_from(&damaged, &Wanted::all_but(Section::Tasks)).is_err() {
            assert!(!is_whole, "byte {at}");
            continue;
        }
        let tasks = Frame::count_rows(&damaged, Section::Tasks).expect("it was decoded");
        let rows = (0..tasks).step_by(16).map(|begin| begin..tasks.min(begin + 16));
        let are_parts = rows.into_iter().all(|rows| part.decode_tasks_from(&damaged, rows).is_ok());
        assert!(are_parts || !is_whole, "byte {at}");
    }
}
