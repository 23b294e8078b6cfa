//! Of random machines: the rows of a report and what has no row add up to the capacity, two halves to the whole, and merged intervals
//! say what the short ones say.

use std::collections::BTreeMap;

use cpuledger_model::counters::Counters;
use cpuledger_model::frame::{Column, Frame, Section};
use cpuledger_model::framing::{self, Circumstances};
use cpuledger_model::interval::{Exited, Interval, Row, Usage};
use cpuledger_model::last_booked::LastBooked;
use cpuledger_model::{Boottime, Comm, Field, FieldSet, Pid, Task, Tid, make};
use cpuledger_report::{Accumulator, Amounts, Dimension, Instants, Name, Report, Sums};
use proptest::prelude::*;

#[path = "../../cpuledger-model/tests/machine/mod.rs"]
mod machine;

use machine::{Event, events, intervals};

const ALL: [Dimension; 6] = [
    Dimension::Command,
    Dimension::User,
    Dimension::Cgroup,
    Dimension::Unit,
    Dimension::Process,
    Dimension::Ancestor,
];

/// Gives each process a name, a user and a cgroup by its pid.
fn name(frame: &mut Frame) {
    let comms: Vec<u64> = (0..4).map(|number| frame.intern(format!("c{number}").as_bytes())).collect();
    frame.set_figure(Column::UNATTRIBUTED_NS, Some(0));
    for section in [Section::Processes, Section::Exited] {
        let table = frame.table_mut(section);
        for row in 0..table.len() {
            let pid = table.get_signed(Column::PID, row).expect("a pid") as u64;
            table.set(Column::COMM, row, Some(comms[(pid % 4) as usize]));
            table.set(Column::EUID, row, Some(pid % 3));
            if section == Section::Processes {
                table.set(Column::CGROUP_ID, row, Some(pid % 2));
            }
        }
    }
}

fn frames(events: Vec<(Event, u8)>, lag: u64) -> Vec<Frame> {
    let (_, mut frames) = intervals(events, lag);
    frames.iter_mut().for_each(name);
    frames
}

fn accumulated(frames: &[Frame]) -> Accumulator {
    added(Accumulator::new(&ALL).with_time_line(0, 10_000, 7), frames)
}

fn added(mut accumulator: Accumulator, frames: &[Frame]) -> Accumulator {
    frames.iter().for_each(|frame| accumulator.add(frame, when(frame)));
    accumulator
}

fn when(frame: &Frame) -> Instants {
    let at = |column| frame.figure(column).expect("it is told");
    Instants { start_realtime_ns: at(Column::START_NS), end_realtime_ns: at(Column::END_NS) }
}

fn by_name(report: &Report) -> BTreeMap<Name, Amounts> {
    report.rows.iter().map(|row| (row.name.clone(), row.amounts)).collect()
}

fn self_ns(report: &Report) -> BTreeMap<Name, u64> {
    let used = |(name, amounts): (Name, Amounts)| (amounts.self_ns > 0).then_some((name, amounts.self_ns));
    by_name(report).into_iter().filter_map(used).collect()
}

/// What each name used by the truth: of processes alone, without heirs.
fn naive(frames: &[Frame]) -> BTreeMap<Name, u64> {
    let mut used: BTreeMap<Name, u64> = BTreeMap::new();
    for frame in frames {
        let ended: Vec<i64> = {
            let table = frame.table(Section::Exited);
            let ended = (0..table.len()).filter(|row| table.get(Column::ENDS_PROCESS, *row) == Some(1));
            ended.filter_map(|row| table.get_signed(Column::PID, row)).collect()
        };
        for (section, columns) in [
            (Section::Processes, &[Column::SELF_NS, Column::EXITED_THREADS_NS][..]),
            (Section::Exited, &[Column::CPU_NS][..]),
        ] {
            let table = frame.table(section);
            for row in 0..table.len() {
                let pid = table.get_signed(Column::PID, row).expect("a pid");
                // The time of a dead thread is in the row of its process, if that lives.
                if section == Section::Processes || ended.contains(&pid) {
                    let comm = frame.text_of(section, Column::COMM, row).expect("a name");
                    let ns: u64 = columns.iter().filter_map(|column| table.get(*column, row)).sum();
                    *used.entry(Name::Text(comm.to_vec())).or_default() += ns;
                }
            }
        }
    }
    used.retain(|_, ns| *ns > 0);
    used
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn sums_say_what_their_intervals_say(events in events(), lag in 0u64..50, half in 0usize..100) {
        let frames = frames(events, lag);
        let (earlier, later) = frames.split_at(half * (frames.len() + 1) / 100);
        let mut sums = Sums::default();
        earlier.iter().for_each(|frame| sums.add(frame, when(frame)));
        let bytes = sums.bytes().expect("there are few names");
        for by in Dimension::OF_SERIES {
            let plain = Accumulator::new(&[by]);
            let all = plain.clone().with_states().with_counters().with_devices();
            for empty in [plain, all] {
                let mut of_sums = empty.clone();
                prop_assert!(of_sums.add_sums(&bytes, earlier.len()));
                let of_sums = added(of_sums, later).report(by, usize::MAX);
                prop_assert_eq!(of_sums, added(empty, &frames).report(by, usize::MAX));
            }
        }
    }

    #[test]
    fn rows_add_up(
        events in events(),
        lag in 0u64..50,
        half in 0usize..100,
        top in 0usize..6,
    ) {
        let frames = frames(events, lag);
        let whole = accumulated(&frames);
        let half = half * (frames.len() + 1) / 100;
        let mut halves = accumulated(&frames[..half]);
        let later = accumulated(&frames[half..]);
        let parts = [halves.clone(), later.clone()];
        halves.merge(later);
        let capacity_ns: u64 = frames.iter().filter_map(|frame| frame.figure(Column::CAPACITY_NS)).sum();
        for by in ALL {
            for report in [whole.report(by, top), whole.report(by, usize::MAX), halves.report(by, top)] {
                let balance = report.balance;
                prop_assert_eq!(balance.imbalance_ns(), 0);
                prop_assert_eq!(balance.capacity_ns, capacity_ns);
                prop_assert_eq!(report.total().self_ns, balance.attributed_ns, "by {:?}", by);
                prop_assert_eq!(report.total().unidentified_ns, 0);
                prop_assert!(report.rows.len() <= top || report.other.self_ns == 0);
            }
            let all = |accumulator: &Accumulator| by_name(&accumulator.report(by, usize::MAX));
            if by != Dimension::Ancestor {
                prop_assert_eq!(all(&halves), all(&whole), "by {:?}", by);
                let mut sum: BTreeMap<Name, Amounts> = BTreeMap::new();
                for (name, amounts) in parts.iter().flat_map(all) {
                    sum.entry(name).or_default().add(&amounts);
                }
                prop_assert_eq!(sum, all(&whole), "by {:?}", by);
            }
        }
        prop_assert_eq!(self_ns(&whole.report(Dimension::Command, usize::MAX)), naive(&frames));
        for row in whole.report(Dimension::Command, usize::MAX).rows {
            prop_assert_eq!(row.points.iter().map(|(_, ns)| *ns).sum::<u64>(), row.amounts.self_ns);
        }
    }

    #[test]
    fn no_more_than_what_is_wanted_has_to_be_read(events in events(), lag in 0u64..50) {
        let frames = frames(events, lag);
        for by in ALL {
            let mut of_all = Accumulator::new(&[by]);
            let mut of_wanted = of_all.clone();
            let wanted = of_wanted.wanted();
            let (mut bytes, mut part) = (Vec::new(), Frame::new());
            for frame in &frames {
                bytes.clear();
                frame.encode(&mut bytes).expect("a frame");
                part.decode_wanted_from(&bytes, &wanted).expect("a frame");
                let when = Instants { start_realtime_ns: 0, end_realtime_ns: 1 };
                of_all.add(frame, when);
                of_wanted.add(&part, when);
            }
            let reports = [of_all, of_wanted].map(|accumulator| accumulator.report(by, usize::MAX));
            prop_assert_eq!(&reports[0], &reports[1], "by {:?}", by);
        }
    }

    #[test]
    fn pids_that_share_their_lowest_bits_are_told_apart(events in events(), lag in 0u64..50) {
        let frames = frames(events, lag);
        let apart = |pid: i64| if pid > 1 { pid / 2 + 65_536 * (pid % 2) + 1 } else { pid };
        let mut others = frames.clone();
        for frame in &mut others {
            for section in [Section::Processes, Section::Tasks, Section::Exited, Section::Ancestors] {
                let table = frame.table_mut(section);
                for column in [Column::PID, Column::TID, Column::PPID, Column::ACCOUNTING_PPID] {
                    for row in 0..table.len() {
                        let pid = table.get_signed(column, row);
                        table.set_signed(column, row, pid.map(apart));
                    }
                }
            }
        }
        let (all, of_others) = (accumulated(&frames), accumulated(&others));
        for by in [Dimension::Command, Dimension::User, Dimension::Cgroup] {
            let reports = [&all, &of_others].map(|accumulator| by_name(&accumulator.report(by, usize::MAX)));
            prop_assert_eq!(&reports[0], &reports[1], "by {:?}", by);
        }
    }

    /// The parts of a name by another dimension are what the name has, and no part is in two names.
    #[test]
    fn rows_within_names_add_up_to_the_names(events in events(), lag in 0u64..50) {
        let frames = frames(events, lag);
        let whole = accumulated(&frames);
        for of in [Dimension::Command, Dimension::Unit, Dimension::Process] {
            for by in [Dimension::User, Dimension::Cgroup] {
                let mut sums: BTreeMap<Name, u64> = BTreeMap::new();
                for row in &whole.report(of, usize::MAX).rows {
                    let id = row.name.clone().id();
                    let within = added(Accumulator::new(&[by]).within(vec![(of, id)]), &frames).report(by, usize::MAX);
                    let inside_ns: u64 = within.rows.iter().map(|row| row.amounts.self_ns).sum();
                    prop_assert_eq!(inside_ns, row.amounts.self_ns);
                    prop_assert_eq!(inside_ns + within.outside_ns + within.other.self_ns, within.balance.attributed_ns);
                    for (name, ns) in self_ns(&within) {
                        *sums.entry(name).or_default() += ns;
                    }
                }
                prop_assert_eq!(sums, self_ns(&whole.report(by, usize::MAX)));
            }
        }
    }

    /// What begins again knows who descends from whom, and nothing else of what was before.
    #[test]
    fn a_span_that_begins_again_is_one_of_its_own(events in events(), lag in 0u64..50) {
        let frames = frames(events, lag);
        let (before, after) = frames.split_at(frames.len() / 2);
        let mut again = accumulated(before);
        again.begin_again();
        let (again, fresh) = (added(again, after), accumulated(after));
        for by in ALL.into_iter().filter(|by| *by != Dimension::Ancestor) {
            prop_assert_eq!(again.report(by, usize::MAX), fresh.report(by, usize::MAX));
        }
        let used = |accumulator: &Accumulator| accumulator.report(Dimension::Ancestor, usize::MAX).total().self_ns;
        prop_assert_eq!(used(&again), used(&fresh));
    }

    #[test]
    fn one_dimension_says_what_it_says_among_all(events in events(), lag in 0u64..50) {
        let frames = frames(events, lag);
        let all = accumulated(&frames);
        for by in ALL {
            let mut alone = Accumulator::new(&[by]).with_time_line(0, 10_000, 7);
            for frame in &frames {
                let at = |column| frame.figure(column).expect("it is told");
                let (start, end) = (at(Column::START_NS), at(Column::END_NS));
                alone.add(frame, Instants { start_realtime_ns: start, end_realtime_ns: end });
            }
            prop_assert_eq!(alone.report(by, 5), all.report(by, 5), "by {:?}", by);
        }
    }

    #[test]
    fn merged_intervals_say_what_the_short_ones_say(
        events in events(),
        lag in 0u64..50,
        size in 2usize..9,
    ) {
        let frames = frames(events, lag);
        let merge = |frames: &[Frame]| {
            frames[1..].iter().fold(frames[0].clone(), |all, next| all.merge(next).expect("neighbours"))
        };
        let merged: Vec<Frame> = frames.chunks(size).map(merge).collect();
        let (short, long) = (accumulated(&frames), accumulated(&merged));
        for by in [Dimension::Command, Dimension::User, Dimension::Process] {
            let reports = [&short, &long].map(|accumulator| accumulator.report(by, usize::MAX));
            prop_assert_eq!(self_ns(&reports[0]), self_ns(&reports[1]), "by {:?}", by);
            let rest = |report: &Report| {
                let total = report.total();
                (total.self_ns, total.deaths, total.unidentified_ns, report.balance.capacity_ns, report.balance.idle_ns)
            };
            prop_assert_eq!(rest(&reports[0]), rest(&reports[1]));
        }
    }
}

/// A shell and its `dd`, of which it is the heir: what accounts have booked to `dd` is under that name alone. Only the columns that the report wants are read.
#[test]
fn what_was_booked_to_the_dead_is_under_their_names() {
    let task = |pid: i32, comm: &str| {
        make!(Task {
            known: FieldSet::of(&[Field::Tid, Field::Pid, Field::Comm, Field::StartTime]),
            tid: Tid(pid),
            pid: Pid(pid),
            comm: Comm::new(comm.as_bytes()),
            start_time_ns: Boottime::from_ns(pid as u64),
        })
    };
    let mut growth = Counters::ZERO;
    let booked = make!(LastBooked {
        wait_suffered_ns: Some(1),
        wait_caused_ns: Some(2),
        network_sent_bytes: Some(3),
        network_received_bytes: Some(4),
        unix_sent_bytes: Some(5),
        unix_received_bytes: Some(6),
        disk_read_bytes: Some(7),
        disk_written_bytes: Some(8),
    });
    booked.store_into(&mut growth);
    // The shell itself had as much, and its heritage.
    let twice = growth;
    growth.add(&twice);
    let (shell, dd) = (task(1, "sh"), task(2, "dd"));
    let usage = make!(Usage { cpu_ns: 20, self_ns: 10, exited_children_ns: Some(10), growth });
    let mut exited = make!(Exited { cpu_ns: 10, booked, ends_process: Some(true) });
    exited.exit.task = dd.id();
    exited.exit.process = dd.id();
    exited.exit.comm = dd.comm;
    exited.accounting_parent = Some(shell.pid);
    exited.accounting_start = Some(shell.start_time_ns);
    let interval = make!(Interval {
        end_ns: 20,
        capacity_ns: 20,
        attributed_ns: 20,
        processes: vec![Row::new(shell, usage)],
        exited: Some(vec![exited]),
    });
    let (mut frame, mut bytes) = (Frame::new(), Vec::new());
    framing::write(&interval, &Circumstances::default(), &mut frame);
    frame.encode(&mut bytes).expect("it is a frame");
    let mut accumulator = Accumulator::new(&[Dimension::Command]);
    let mut read = Frame::new();
    read.decode_wanted_from(&bytes, &accumulator.wanted()).expect("it is whole");
    accumulator.add(&read, Instants { start_realtime_ns: 0, end_realtime_ns: 20 });
    let amounts = by_name(&accumulator.report(Dimension::Command, usize::MAX));
    let expected = [1, 2, 3, 4, 5, 6, 7, 8].map(Some);
    for comm in ["sh", "dd"] {
        let amounts = amounts[&Name::Text(comm.as_bytes().to_vec())];
        assert_eq!((amounts.self_ns, amounts.booked), (10, expected), "{comm}");
    }
}
