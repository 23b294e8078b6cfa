//! Records what the ledger tells of this machine: `cargo run --release -p cpuledger --example record_live -- DIR SECONDS`, as root.

use std::path::Path;
use std::time::{Duration, Instant};

use cpuledger::frames::{self, Circumstances};
use cpuledger::source::ledger::{Ledger, Options, Wanted};
use cpuledger::{FieldSet, Interval, Snapshot};
use cpuledger_frame::Frame;
use cpuledger_recording::Writer;

const SECOND_NS: u64 = 1_000_000_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (path, seconds) = (arguments.next().ok_or("where?")?, arguments.next().ok_or("for how long?")?);
    let boot_id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    let of = Circumstances { boot_id: Some(boot_id.trim()), ..Default::default() };
    let mut ledger = Ledger::open(Options::default())?;
    let (mut snapshot, mut interval) = (Snapshot::default(), Interval::default());
    let mut frame = Frame::new();
    let mut writer = Writer::open(Path::new(&path), cpuledger_recording::Options::default())?;
    let mut times = Vec::new();
    for _ in 0..seconds.parse()? {
        let wanted = Wanted { fields: FieldSet::ALL, pids: &[], all: false };
        ledger.close(ledger.start_ns() + SECOND_NS, &wanted, &mut snapshot, &mut interval)?;
        frames::write(&snapshot, &interval, &of, &mut frame);
        let begin = Instant::now();
        writer.append(&frame)?;
        times.push(begin.elapsed());
    }
    times.sort_unstable();
    let records = times.len().max(1) as u64;
    let median: Duration = times.get(times.len() / 2).copied().unwrap_or_default();
    println!(
        "{records} intervals, {} bytes each, {} µs to add one (median)",
        writer.bytes() / records,
        median.as_micros()
    );
    Ok(writer.close()?)
}
