//! A recording for tests of the screen: a minute and a half on a day of 2023.

use std::path::Path;

use cpuledger::framing::{self, Circumstances};
use cpuledger::interval::{Interval, Row, Usage};
use cpuledger::{Boottime, Comm, FieldSet, Pid, SourceKind, Task, Tid};
use cpuledger_model::frame::Frame;
use cpuledger_model::make;
use cpuledger_recording::{Options, Writer};

use super::tmux::Terminal;

const SECOND: u64 = 1_000_000_000;
/// 2023-11-14 22:14:00 UTC, when CLOCK_MONOTONIC is 0.
const EPOCH: u64 = 1_700_000_040 * SECOND;

fn row(pid: i32, comm: &str, cpu_ms: u64) -> Row {
    let task = make!(Task {
        known: FieldSet::ALL,
        tid: Tid(pid),
        pid: Pid(pid),
        comm: Comm::new(comm.as_bytes()),
        start_time_ns: Boottime::from_ns(1),
        threads: 1,
    });
    let cpu_ns = cpu_ms * 1_000_000;
    Row::new(task, make!(Usage { cpu_ns, self_ns: cpu_ns }))
}

/// A second in which `worker` used ten times as many milliseconds as the second has in its name; a compiler runs in two of them.
pub fn frame(second: u64) -> Frame {
    let mut rows = vec![row(7, "worker", second * 10)];
    match second {
        20 => rows.push(row(8, "cc1", 300)),
        42 => rows.push(row(8, "cc1", 700)),
        _ => {}
    }
    let attributed_ns = rows.iter().map(|row| row.usage.cpu_ns).sum();
    let interval = make!(Interval {
        source: SourceKind::Ledger,
        start_ns: second * SECOND,
        end_ns: (second + 1) * SECOND,
        online_cpus: 2,
        capacity_ns: 2 * SECOND,
        attributed_ns,
        idle_ns: Some(2 * SECOND - attributed_ns),
        unattributed_ns: Some(0),
        processes: rows,
        exited: Some(Vec::new()),
    });
    let of = make!(Circumstances {
        boot_id: Some("one boot"),
        end: Some(Boottime::from_ns((second + 1) * SECOND)),
        end_realtime_ns: Some(EPOCH + (second + 1) * SECOND),
    });
    let mut frame = Frame::new();
    framing::write(&interval, &of, &mut frame);
    frame
}

/// 100 seconds with 10 missing, from the 60th on.
pub fn record(folder: &Path) {
    std::fs::create_dir_all(folder).expect("a folder");
    let mut writer = Writer::open(folder, Options::default()).expect("a folder");
    for second in (0..60).chain(70..100) {
        writer.append(&frame(second)).expect("room");
    }
    writer.close().expect("room");
}

/// Waits until the interval that ends at this time is shown, and all of the time line.
pub fn at(terminal: &Terminal, time: &str) -> String {
    let words = format!("2023-11-14 {time}");
    terminal.wait(|text| text.lines().take(4).any(|line| line.contains(&words)))
}
