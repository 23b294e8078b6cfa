//! Recordings of intervals that are made by hand.

use std::path::Path;

use cpuledger_model::frame::{Column, Frame, Section};
use cpuledger_model::make;
use cpuledger_recording::{Options, Writer};

pub const SECOND_NS: u64 = 1_000_000_000;

/// 2026-03-01 00:00:00 UTC.
pub const BEGIN_NS: u64 = 1_772_323_200 * SECOND_NS;

/// A process of an interval: pid, name, user, what it used itself, and what it inherited.
pub type Used<'a> = (i64, &'a [u8], u64, u64, u64);

/// An interval of one second on two CPUs: these live, and these died and left their time to the heir of this pid.
pub fn frame(second: u64, living: &[Used<'_>], dead: &[Used<'_>], heir: i64) -> Frame {
    let mut frame = Frame::new();
    let source = frame.intern(b"ledger");
    let comms: Vec<u64> = living.iter().chain(dead).map(|(_, comm, ..)| frame.intern(comm)).collect();
    let attributed_ns: u64 = living.iter().map(|(_, _, _, own, inherited)| own + inherited).sum();
    for (column, value) in [
        (Column::SOURCE, source),
        (Column::START_NS, (second + 1000) * SECOND_NS),
        (Column::END_NS, (second + 1001) * SECOND_NS),
        (Column::END_BOOTTIME_NS, (second + 1001) * SECOND_NS),
        (Column::END_REALTIME_NS, BEGIN_NS + (second + 1) * SECOND_NS),
        (Column::ONLINE_CPUS, 2),
        (Column::CAPACITY_NS, 2 * SECOND_NS),
        (Column::ATTRIBUTED_NS, attributed_ns),
        (Column::IDLE_NS, 2 * SECOND_NS - attributed_ns),
        (Column::UNATTRIBUTED_NS, 0),
        (Column::KNOWS_EXITS, 1),
    ] {
        frame.set_figure(column, Some(value));
    }
    let (first, second) = comms.split_at(living.len());
    tell(frame.table_mut(Section::Processes), living, first);
    tell(frame.table_mut(Section::Exited), dead, second);
    let table = frame.table_mut(Section::Exited);
    for row in 0..dead.len() {
        table.set(Column::ENDS_PROCESS, row, Some(1));
        table.set_signed(Column::ACCOUNTING_PPID, row, Some(heir));
        table.set(Column::ACCOUNTING_START_NS, row, Some(heir as u64));
    }
    frame
}

fn tell(table: &mut cpuledger_model::frame::Table, rows: &[Used<'_>], comms: &[u64]) {
    table.reset(rows.len());
    for (row, ((pid, _, euid, own_ns, inherited_ns), comm)) in rows.iter().zip(comms).enumerate() {
        table.set_signed(Column::TID, row, Some(*pid));
        table.set_signed(Column::PID, row, Some(*pid));
        table.set(Column::START_TIME_NS, row, Some(*pid as u64));
        table.set(Column::PROCESS_START_NS, row, Some(*pid as u64));
        table.set(Column::COMM, row, Some(*comm));
        table.set(Column::EUID, row, Some(*euid));
        table.set(Column::CPU_NS, row, Some(own_ns + inherited_ns));
        table.set(Column::SELF_NS, row, Some(*own_ns));
        table.set(Column::EXITED_THREADS_NS, row, Some(0));
        table.set(Column::EXITED_CHILDREN_NS, row, Some(*inherited_ns));
    }
}

/// Writes the intervals to a directory.
pub fn record(path: &Path, frames: impl IntoIterator<Item = Frame>) {
    let options = make!(Options { host: Some("test-host".into()) });
    let mut writer = Writer::open(path, options).expect("a directory");
    for frame in frames {
        writer.append(&frame).expect("room");
    }
    writer.close().expect("room");
}
