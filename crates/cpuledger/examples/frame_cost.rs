//! What a frame of 60 active processes has in bytes, and what it costs: `cargo run --release --example frame_cost` as root.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use cpuledger::framing::{self, Circumstances};
use cpuledger::source::ledger::{Ledger, Options, Wanted};
use cpuledger::{FieldSet, Interval};
use cpuledger_model::frame::{Frame, Section};

const PROCESSES: usize = 60;
const ROUNDS: u32 = 2000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    if std::env::args().nth(1).as_deref() == Some("child") {
        loop {
            let begin = Instant::now();
            while begin.elapsed() < Duration::from_micros(50) {}
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    let own = std::env::current_exe()?;
    let start = |_| Command::new(&own).arg("child").stdin(Stdio::null()).spawn();
    let mut children = (0..PROCESSES).map(start).collect::<Result<Vec<Child>, _>>()?;
    let measured = measure();
    for child in &mut children {
        child.kill()?;
        child.wait()?;
    }
    measured
}

fn measure() -> Result<(), Box<dyn std::error::Error>> {
    let mut ledger = Ledger::open(Options::default())?;
    let mut interval = Interval::default();
    for _ in 0..2 {
        let wanted = Wanted { fields: FieldSet::ALL, pids: &[], all: false };
        ledger.close(ledger.start_ns() + 1_000_000_000, &wanted, &mut interval)?;
    }
    drop(ledger);
    let (mut frame, mut decoded, mut bytes) = (Frame::new(), Frame::new(), Vec::new());
    let of = Circumstances { boot_id: Some("00000000-0000-0000-0000-000000000000"), ..Default::default() };
    let write_us = median(|| framing::write(&interval, &of, &mut frame));
    let encode_us = median(|| frame.encode(&mut bytes).expect("it is short"));
    let decode_us = median(|| decoded.decode_from(&bytes).expect("it is a frame"));
    let mut later = frame.clone();
    later.set_figure(cpuledger_model::frame::Column::START_NS, Some(interval.end_ns));
    later.set_figure(cpuledger_model::frame::Column::END_NS, Some(2 * interval.end_ns));
    let merge_us = median(|| drop(frame.merge(&later)));
    for section in [Section::Processes, Section::Tasks, Section::Exited] {
        println!("{section:?}: {} rows", frame.table(section).len());
    }
    println!("{} bytes", bytes.len());
    println!(
        "interval to frame {write_us:.1} µs, encode {encode_us:.1} µs, decode {decode_us:.1} µs, merge {merge_us:.1} µs (medians)"
    );
    if let Some(path) = std::env::args().nth(1) {
        std::fs::write(path, &bytes)?;
    }
    Ok(())
}

/// In microseconds.
fn median(mut act: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let begin = Instant::now();
            act();
            begin.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
