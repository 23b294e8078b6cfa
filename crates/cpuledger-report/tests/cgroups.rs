//! Which cgroup and which unit the time of a process goes to.

use std::collections::BTreeMap;

use cpuledger_model::frame::{Column, Frame, Section};
use cpuledger_report::{Accumulator, Dimension, Instants, Name, Sums};

/// A process: its numbers in the unified hierarchy and of the cpu controller, and its unit as it was recorded.
type Process = (Option<u64>, Option<u64>, Option<&'static str>);

fn frame(processes: &[Process], paths: &[(Option<u64>, Option<u64>, &str)]) -> Frame {
    let mut frame = Frame::new();
    frame.set_figure(Column::START_NS, Some(0));
    frame.set_figure(Column::END_NS, Some(1000));
    frame.table_mut(Section::Processes).reset(processes.len());
    for (row, (unified, of_cpu, unit)) in processes.iter().enumerate() {
        let unit = unit.map(|unit| frame.intern(unit.as_bytes()));
        let table = frame.table_mut(Section::Processes);
        for column in [Column::TID, Column::PID] {
            table.set_signed(column, row, Some(row as i64 + 10));
        }
        table.set(Column::START_TIME_NS, row, Some(1));
        table.set(Column::CPU_NS, row, Some(1 << row));
        table.set(Column::CGROUP_ID, row, *unified);
        table.set(Column::CGROUP_V1_CPU_ID, row, *of_cpu);
        table.set(Column::UNIT, row, unit);
    }
    frame.table_mut(Section::Cgroups).reset(paths.len());
    for (row, (unified, of_cpu, path)) in paths.iter().enumerate() {
        let path = frame.intern(path.as_bytes());
        let table = frame.table_mut(Section::Cgroups);
        table.set(Column::CGROUP_ID, row, *unified);
        table.set(Column::CGROUP_V1_CPU_ID, row, *of_cpu);
        table.set(Column::PATH, row, Some(path));
    }
    frame
}

fn sums(frame: &Frame, by: Dimension) -> BTreeMap<String, u64> {
    let when = Instants { start_realtime_ns: 0, end_realtime_ns: 1000 };
    let mut accumulator = Accumulator::new(&[by]);
    accumulator.add(frame, when);
    let mut sums = Sums::default();
    sums.add(frame, when);
    let mut of_sums = Accumulator::new(&[by]);
    assert!(of_sums.add_sums(&sums.bytes().expect("few names"), 1));
    assert_eq!(of_sums.report(by, 10), accumulator.report(by, 10));
    let name = |name: &Name| match name {
        Name::Text(text) => String::from_utf8_lossy(text).into_owned(),
        Name::Cgroup(id) => format!("#{id}"),
        Name::Unknown => "?".into(),
        other => panic!("{other:?}"),
    };
    accumulator.report(by, 10).rows.iter().map(|row| (name(&row.name), row.amounts.self_ns)).collect()
}

fn expected(rows: &[(&str, u64)]) -> BTreeMap<String, u64> {
    rows.iter().map(|(name, ns)| ((*name).to_owned(), *ns)).collect()
}

/// In version 2, the cpu controller is seldom turned on down to the cgroup of each service: all of these are in the same of that.
#[test]
fn cgroups_below_one_of_the_cpu_controller_are_told_apart() {
    let rows = [(Some(7), Some(1), None), (Some(8), Some(1), None), (Some(9), Some(1), None)];
    let paths = [(Some(7), Some(1), "/a.service"), (Some(8), Some(1), "/b.service")];
    let all = expected(&[("/a.service", 1), ("/b.service", 2), ("#1", 4)]);
    for by in [Dimension::Cgroup, Dimension::Unit] {
        assert_eq!(sums(&frame(&rows, &paths), by), all);
    }
}

/// On a machine with both versions, time is divided by the cpu controller of version 1, and systemd has its units in the unified hierarchy.
#[test]
fn a_unit_that_was_recorded_counts() {
    let rows = [
        (Some(7), Some(1), Some("a.service")),
        (Some(8), Some(1), Some("b.service")),
        (Some(9), Some(1), Some("")),
        (Some(7), Some(2), Some("a.service")),
    ];
    let paths =
        [(Some(7), Some(1), "/"), (Some(8), Some(1), "/"), (Some(9), Some(1), "/"), (Some(7), Some(2), "/x")];
    let frame = frame(&rows, &paths);
    assert_eq!(sums(&frame, Dimension::Cgroup), expected(&[("/", 7), ("/x", 8)]));
    assert_eq!(sums(&frame, Dimension::Unit), expected(&[("a.service", 9), ("b.service", 2), ("?", 4)]));
}
