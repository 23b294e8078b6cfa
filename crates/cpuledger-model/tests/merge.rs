//! A merge tells what one interval over both would have told, in any grouping.

use cpuledger_model::disk::{Disk, DiskUse, Disks, MOST_DISKS, Requests};
use cpuledger_model::frame::{ChainReader, ChainWriter, Column, Frame, Link, Section, Wanted};
use cpuledger_model::make;
use cpuledger_model::pairs::{Party, WaitPair, WaitPairs};
use proptest::prelude::*;

mod machine;

use machine::{Machine, events, intervals};

/// The first difference, for a failure that can be read.
fn difference(found: &Frame, expected: &Frame) -> Option<String> {
    if found == expected {
        return None;
    }
    for section in Section::ALL {
        let (found, expected) = (found.table(section), expected.table(section));
        if found.len() != expected.len() {
            return Some(format!("{section:?} has {} rows, not {}", found.len(), expected.len()));
        }
        for column in Column::known().filter(|column| column.kind() == cpuledger_model::frame::Kind::Unsigned)
        {
            for row in 0..found.len() {
                let (found, expected) = (found.get(column, row), expected.get(column, row));
                if found != expected {
                    return Some(format!("{section:?} {row} {column:?}: {found:?}, not {expected:?}"));
                }
            }
        }
    }
    Some("a number, a text or an identifier differs".into())
}

/// What is decoded, where only this is wanted, is that of the frame, and all else is absent.
fn first_difference_of_wanted(bytes: &[u8], frame: &Frame) -> Option<String> {
    let columns = [Column::PID, Column::CPU_NS, Column::WAITING_NS, Column::IDLE_NS];
    let mut some = Frame::new();
    for sections in [&[Section::Processes][..], &[Section::Exited], &[Section::Tasks], &[]] {
        some.decode_wanted_from(bytes, &Wanted::of(sections, &columns)).expect("it is a frame");
        for section in Section::ALL {
            let (found, expected) = (some.table(section), frame.table(section));
            let is_wanted = sections.contains(&section) || section == Section::Interval;
            if found.len() != if is_wanted { expected.len() } else { 0 } && section != Section::Processes {
                return Some(format!("{section:?} has {} rows", found.len()));
            }
            for row in 0..found.len() {
                let pids = [found, expected].map(|table| table.get_signed(Column::PID, row));
                let figures =
                    columns[1..].iter().any(|column| found.get(*column, row) != expected.get(*column, row));
                if pids[0] != pids[1] || figures || found.get(Column::SELF_NS, row).is_some() {
                    return Some(format!("{section:?} {row}"));
                }
            }
        }
    }
    None
}

/// A chain of these frames is read as they are, and what is wanted of it as of their bytes.
fn first_difference_of_chain(frames: &[Frame]) -> Option<String> {
    let columns =
        [Column::PID, Column::CPU_NS, Column::START_TIME_NS, Column::COMM, Column::SLEEP_NS, Column::IDLE_NS];
    let mut wanted = vec![Wanted::ALL];
    for sections in [&[Section::Processes][..], &[Section::Exited], &[Section::Tasks], &[]] {
        wanted.push(Wanted::of(sections, &columns));
    }
    let mut readers: Vec<ChainReader> = wanted.iter().map(ChainReader::new).collect();
    let (mut writer, mut link) = (ChainWriter::default(), Link::default());
    let (mut bytes, mut found, mut expected) = (Vec::new(), Frame::new(), Frame::new());
    for (number, frame) in frames.iter().enumerate() {
        writer.write(frame, &mut link).expect("it is short");
        frame.encode(&mut bytes).expect("it is short");
        for (reader, wanted) in readers.iter_mut().zip(&wanted) {
            reader.read(&link.plain, &link.dense, link.weight, &mut found).expect("it is a link");
            expected.decode_wanted_from(&bytes, wanted).expect("it is a frame");
            if found != expected {
                return Some(format!("frame {number}, {wanted:?}: {:?}", difference(&found, &expected)));
            }
            // What is one number is copied as one.
            for section in Section::ALL {
                let [own, other] = [&found, &expected].map(|frame| frame.table(section));
                let differs = |column: &Column| own.is_uniform(*column) != other.is_uniform(*column);
                if let Some(column) = Column::known().filter(|_| !own.is_empty()).find(differs) {
                    return Some(format!(
                        "frame {number}, {wanted:?}: {section:?} has one {column:?}, or not"
                    ));
                }
            }
        }
    }
    None
}

/// Puts neighbours together in an order that `choices` say.
fn merged(mut frames: Vec<Frame>, choices: &[usize]) -> Frame {
    let mut choices = choices.iter().cycle();
    while frames.len() > 1 {
        let place = choices.next().expect("there are some") % (frames.len() - 1);
        let later = frames.remove(place + 1);
        frames[place] = frames[place].merge(&later).expect("they are neighbours");
    }
    frames.remove(0)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn a_merge_is_one_interval_over_both(
        events in events(),
        choices in prop::collection::vec(0usize..64, 8),
        lag in 0u64..50,
    ) {
        let (machine, frames) = intervals(events, lag);
        for frame in &frames {
            let mut bytes = Vec::new();
            frame.encode(&mut bytes).expect("it is short");
            prop_assert!(Frame::decode(&bytes).is_ok_and(|decoded| decoded == *frame));
            prop_assert_eq!(first_difference_of_wanted(&bytes, frame), None);
        }
        prop_assert_eq!(first_difference_of_chain(&frames), None);
        let whole = machine.frame(Machine::BEGIN_NS, machine.now_ns);
        let found = merged(frames, &choices);
        prop_assert_eq!(difference(&found, &whole), None);
    }
}

fn interval(start_ns: u64, end_ns: u64) -> Frame {
    let mut frame = Frame::new();
    frame.set_figure(Column::START_NS, Some(start_ns));
    frame.set_figure(Column::END_NS, Some(end_ns));
    frame
}

fn sentence(earlier: &Frame, later: &Frame) -> String {
    earlier.merge(later).expect_err("they cannot be merged").to_string()
}

#[test]
fn only_neighbours_of_a_boot_and_a_source_are_merged() {
    let (one, mut two) = (interval(10, 20), interval(20, 30));
    assert!(one.merge(&two).is_ok());
    assert!(sentence(&one, &interval(21, 30)).contains("does not begin where"));
    assert!(sentence(&two, &one).contains("does not begin where"));
    assert!(sentence(&one, &Frame::new()).contains("no start"));
    let boot = two.intern(b"another");
    two.set_figure(Column::BOOT_ID, Some(boot));
    assert!(sentence(&one, &two).contains("boot"));
    let mut two = interval(20, 30);
    let source = two.intern(b"walk");
    two.set_figure(Column::SOURCE, Some(source));
    assert!(sentence(&one, &two).contains("source"));
    let mut two = interval(20, 30);
    let dead = two.table_mut(Section::Exited);
    dead.reset(1);
    dead.set_signed(Column::TID, 0, Some(7));
    assert!(sentence(&one, &two).contains("without a tid or a start"));
    two.table_mut(Section::Exited).set(Column::START_TIME_NS, 0, Some(7));
    assert!(sentence(&one, &two).contains("ended a process"));
}

fn task(frame: &mut Frame, section: Section, (tid, pid): (i64, i64), cpu_ns: u64) {
    let table = frame.table_mut(section);
    table.reset(1);
    table.set_signed(Column::TID, 0, Some(tid));
    table.set_signed(Column::PID, 0, Some(pid));
    table.set(Column::START_TIME_NS, 0, Some(5));
    table.set(Column::CPU_NS, 0, Some(cpu_ns));
}

#[test]
fn states_that_are_not_known_are_absent_and_time_is_not() {
    let (mut one, two) = (interval(10, 20), interval(20, 30));
    task(&mut one, Section::Tasks, (7, 7), 3);
    one.table_mut(Section::Tasks).set(Column::SLEEP_NS, 0, Some(7));
    let merged = one.merge(&two).expect("neighbours");
    let tasks = merged.table(Section::Tasks);
    assert_eq!((tasks.get(Column::CPU_NS, 0), tasks.get(Column::SLEEP_NS, 0)), (Some(3), None));
}

#[test]
fn a_task_that_an_exec_has_given_another_tid_has_no_row() {
    let (mut one, mut two) = (interval(10, 20), interval(20, 30));
    task(&mut one, Section::Tasks, (8, 7), 3);
    task(&mut one, Section::Processes, (7, 7), 3);
    task(&mut two, Section::Tasks, (7, 7), 2);
    task(&mut two, Section::Processes, (7, 7), 2);
    let renumbered = two.table_mut(Section::Renumbered);
    renumbered.reset(1);
    renumbered.set_signed(Column::TID, 0, Some(8));
    renumbered.set(Column::START_TIME_NS, 0, Some(5));
    let merged = one.merge(&two).expect("neighbours");
    assert_eq!(merged.table(Section::Tasks).len(), 1);
    assert_eq!(merged.table(Section::Tasks).get(Column::CPU_NS, 0), Some(2));
    assert_eq!(merged.table(Section::Processes).get(Column::CPU_NS, 0), Some(5));
}

/// What was stolen of a process that died in the later interval is with its heir, as its time is; what is not known stays so.
#[test]
fn what_was_stolen_of_the_dead_is_their_heirs() {
    let stolen = |frame: &mut Frame, own_ns, children_ns| {
        let table = frame.table_mut(Section::Processes);
        table.set(Column::STOLEN_NS, 0, own_ns);
        table.set(Column::EXITED_CHILDREN_STOLEN_NS, 0, children_ns);
    };
    let merged = |own_ns, children_ns, heirs_ns| {
        let (mut one, mut two) = (interval(10, 20), interval(20, 30));
        task(&mut one, Section::Processes, (8, 8), 6);
        stolen(&mut one, own_ns, children_ns);
        task(&mut two, Section::Processes, (7, 7), 2);
        stolen(&mut two, Some(1), heirs_ns);
        let dead = two.table_mut(Section::Exited);
        dead.reset(1);
        for (column, value) in [(Column::TID, 8), (Column::PID, 8), (Column::ACCOUNTING_PPID, 7)] {
            dead.set_signed(column, 0, Some(value));
        }
        for column in [Column::START_TIME_NS, Column::PROCESS_START_NS, Column::ACCOUNTING_START_NS] {
            dead.set(column, 0, Some(5));
        }
        dead.set(Column::ENDS_PROCESS, 0, Some(1));
        let merged = one.merge(&two).expect("neighbours");
        let processes = merged.table(Section::Processes);
        assert_eq!((processes.len(), processes.get(Column::CPU_NS, 0)), (1, Some(8)));
        [Column::STOLEN_NS, Column::EXITED_CHILDREN_STOLEN_NS].map(|column| processes.get(column, 0))
    };
    assert_eq!(merged(Some(3), Some(2), Some(4)), [Some(1), Some(9)]);
    assert_eq!(merged(None, Some(2), Some(4)), [Some(1), None]);
    assert_eq!(merged(Some(3), Some(2), None), [Some(1), None]);
}

#[test]
fn paths_of_cgroups_and_ancestors_are_those_of_both_and_the_later_counts() {
    let beside = |start_ns: u64, end_ns: u64, cgroups: &[(u64, &str)], ancestors: &[(i64, &str)]| {
        let mut frame = interval(start_ns, end_ns);
        for (section, len) in [(Section::Cgroups, cgroups.len()), (Section::Ancestors, ancestors.len())] {
            frame.table_mut(section).reset(len);
        }
        for (row, (number, path)) in cgroups.iter().enumerate() {
            let path = frame.intern(path.as_bytes());
            let table = frame.table_mut(Section::Cgroups);
            table.set(Column::CGROUP_ID, row, Some(*number));
            table.set(Column::PATH, row, Some(path));
        }
        for (row, (pid, comm)) in ancestors.iter().enumerate() {
            let comm = frame.intern(comm.as_bytes());
            let table = frame.table_mut(Section::Ancestors);
            table.set_signed(Column::TID, row, Some(*pid));
            table.set(Column::START_TIME_NS, row, Some(1));
            table.set(Column::COMM, row, Some(comm));
        }
        frame
    };
    let one = beside(10, 20, &[(3, "/old"), (5, "/five")], &[(1, "init"), (7, "sh")]);
    let two = beside(20, 30, &[(3, "/new"), (4, "/four")], &[(7, "exec"), (9, "cron")]);
    let merged = one.merge(&two).expect("neighbours");
    let texts = |section, column| {
        let row =
            |row| String::from_utf8_lossy(merged.text_of(section, column, row).expect("a text")).into_owned();
        (0..merged.table(section).len()).map(row).collect::<Vec<_>>()
    };
    assert_eq!(texts(Section::Cgroups, Column::PATH), ["/new", "/four", "/five"]);
    assert_eq!(texts(Section::Ancestors, Column::COMM), ["init", "exec", "cron"]);
}

#[test]
fn blocked_are_those_that_were_so_all_the_time() {
    let blocked = |start_ns, end_ns, lengths: &[u64], count| {
        let mut frame = interval(start_ns, end_ns);
        frame.set_figure(Column::KNOWS_BLOCKED, Some(1));
        frame.set_figure(Column::BLOCKED_TASKS, Some(count));
        let table = frame.table_mut(Section::Blocked);
        table.reset(lengths.len());
        table.fill(Column::BLOCKED_FOR_NS, lengths.iter().map(|ns| Some(*ns)));
        frame
    };
    let counted = |one: &Frame, two: &Frame| {
        let merged = one.merge(two).expect("neighbours");
        (merged.table(Section::Blocked).len(), merged.figure(Column::BLOCKED_TASKS))
    };
    let one = blocked(10, 20, &[15, 10], 2);
    assert_eq!(counted(&one, &blocked(20, 30, &[25, 20, 19], 3)), (2, Some(2)));
    // A list that is not whole, with and without those that drop out.
    assert_eq!(counted(&one, &blocked(20, 30, &[25, 19], 9)), (1, Some(1)));
    assert_eq!(counted(&one, &blocked(20, 30, &[25, 20], 9)), (2, Some(2)));
    let mut two = blocked(20, 30, &[25], 1);
    two.set_figure(Column::KNOWS_BLOCKED, Some(0));
    assert_eq!(counted(&one, &two), (0, Some(0)));
}

#[test]
fn pairs_add_up_by_who_and_whom_where_both_know_them() {
    let cgroup = |id| Party::Cgroup((Some(id), Some(0)));
    let frame = |times: [u64; 2], pairs: &[(Party, Party, u64)]| {
        let mut frame = interval(times[0], times[1]);
        frame.set_figure(Column::KNOWS_PAIRS, Some(1));
        frame.set_pairs(&WaitPairs::of(pairs.iter().map(|&(by, of, ns)| WaitPair::new(by, of, ns))));
        frame
    };
    let one = frame([10, 20], &[(cgroup(1), cgroup(2), 3), (Party::Quota, cgroup(2), 4)]);
    let two = frame([20, 30], &[(cgroup(1), cgroup(2), 5), (cgroup(2), Party::Other, 6)]);
    let three = frame([30, 40], &[]);
    let both = one.merge(&two).expect("neighbours");
    let expected = [(cgroup(1), cgroup(2), 8), (cgroup(2), Party::Other, 6), (Party::Quota, cgroup(2), 4)];
    assert_eq!(both.pairs(), frame([10, 30], &expected).pairs());
    let all = both.merge(&three).expect("neighbours");
    assert_eq!(all, one.merge(&two.merge(&three).expect("neighbours")).expect("neighbours"));
    assert_eq!((all.pairs(), all.figure(Column::KNOWS_PAIRS)), (both.pairs(), Some(1)));
    let unknown = both.merge(&interval(30, 40)).expect("neighbours");
    assert_eq!((unknown.figure(Column::KNOWS_PAIRS), unknown.table(Section::Pairs).len()), (None, 0));
    assert_eq!(first_difference_of_chain(&[one, two, three, all]), None, "recordings keep them");
}

#[test]
fn disks_add_up_by_number_and_name_where_both_know_them() {
    let disk = |minor: u32, name: &str, count: u64| {
        let requests = make!(Requests { count, bytes: count << 9, ns: 10 * count });
        let all = make!(DiskUse { reads: requests, discards: requests });
        let unattributed = make!(DiskUse { reads: make!(Requests { count: 1, bytes: 512, ns: 10 }) });
        let numbers = Some((8, minor));
        make!(Disk {
            numbers,
            name: name.as_bytes().to_vec(),
            all,
            unattributed,
            queue_ns: 3 * count,
            device_ns: count
        })
    };
    let forgotten = make!(DiskUse { writes: make!(Requests { count: 1, bytes: 512, ns: 1 }) });
    let frame = |times: [u64; 2], disks: &Disks| {
        let mut frame = interval(times[0], times[1]);
        frame.set_figure(Column::KNOWS_DISKS, Some(1));
        frame.set_figure(Column::ENDED_READS, Some(disks.all().reads.count));
        frame.set_disks(disks);
        frame
    };
    let of = |disks: &[Disk]| Disks::of(disks.iter().cloned(), forgotten);
    let one = frame([10, 20], &of(&[disk(0, "sda", 3), disk(16, "sdb", 5)]));
    let two = frame([20, 30], &of(&[disk(16, "sdb", 7), disk(16, "sdc", 1), disk(32, "", 2)]));
    let three = frame([30, 40], &Disks::default());
    let both = one.merge(&two).expect("neighbours");
    let mut expected = one.disks();
    expected.add(&two.disks(), MOST_DISKS);
    assert_eq!((both.disks(), both.disks().devices.len()), (expected, 4));
    assert_eq!(both.figure(Column::ENDED_READS), Some(both.disks().all().reads.count));
    let counts: Vec<u64> = both.disks().devices.iter().map(|disk| disk.all.discards.count).collect();
    assert_eq!((counts, both.disks().forgotten.writes.count), (vec![3, 12, 1, 2], 2));
    let all = both.merge(&three).expect("neighbours");
    assert_eq!(all, one.merge(&two.merge(&three).expect("neighbours")).expect("neighbours"));
    assert_eq!((all.disks(), all.figure(Column::KNOWS_DISKS)), (both.disks(), Some(1)));
    let unknown = both.merge(&interval(30, 40)).expect("neighbours");
    assert_eq!((unknown.figure(Column::KNOWS_DISKS), unknown.table(Section::Disks).len()), (None, 0));
    assert_eq!(first_difference_of_chain(&[one, two, three, all]), None, "recordings keep them");
}
