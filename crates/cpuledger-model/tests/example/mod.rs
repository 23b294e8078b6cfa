//! The frame of the example in `docs/format/frames.md`.

use cpuledger_model::frame::{Column, Frame, Section};

/// An interval of 1 s on two CPUs, with two processes, of which one has no name.
pub fn example() -> Vec<u8> {
    let mut frame = Frame::new();
    for (column, value) in [
        (Column::START_NS, 5_000_000_000),
        (Column::END_NS, 6_000_000_000),
        (Column::ONLINE_CPUS, 2),
        (Column::CAPACITY_NS, 2_000_000_000),
        (Column::ATTRIBUTED_NS, 1_000_000_000),
        (Column::IDLE_NS, 1_000_000_000),
        (Column::UNATTRIBUTED_NS, 0),
    ] {
        frame.set_figure(column, Some(value));
    }
    let comm = frame.intern(b"make");
    let processes = frame.table_mut(Section::Processes);
    processes.reset(2);
    processes.fill_signed(Column::TID, [Some(100), Some(120)]);
    processes.fill(Column::COMM, [Some(comm), None]);
    processes.fill(Column::CPU_NS, [Some(300_000_000), Some(700_000_000)]);
    let mut bytes = Vec::new();
    frame.encode(&mut bytes).expect("it is short");
    bytes
}
