//! What the hooks of the ledger cost: the same work with the ledger attached and detached, in turns.
//!
//! `cargo run --release -p cpuledger-bpf --example ledger_cost [rounds]`, as root. Medians in ns and their ratio.

use std::io::{Read, Write};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use cpuledger_bpf::ledger::{Ledger, Options};
use rustix::thread::{CpuSet, sched_setaffinity};

const ROUND: Duration = Duration::from_millis(200);

/// Runs `work` for one round; ns for each time.
fn round(work: &mut dyn FnMut()) -> f64 {
    let begin = Instant::now();
    let mut times = 0u32;
    while begin.elapsed() < ROUND {
        work();
        times += 1;
    }
    begin.elapsed().as_nanos() as f64 / f64::from(times)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn compare(name: &str, rounds: usize, work: &mut dyn FnMut()) {
    let (mut attached, mut detached, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    round(work);
    for _ in 0..rounds {
        let ledger = Ledger::attach(Options::default()).expect("the ledger attaches; it needs root");
        let with = round(work);
        drop(ledger);
        let without = round(work);
        attached.push(with);
        detached.push(without);
        ratios.push(with / without);
    }
    let (attached, detached) = (median(&mut attached), median(&mut detached));
    let ratio = median(&mut ratios);
    println!("{name}: {attached:.0} ns attached, {detached:.0} ns detached, ratio {ratio:.3}");
}

fn main() {
    let rounds = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(11);
    let mut only = CpuSet::new();
    only.set(0);
    sched_setaffinity(None, &only).expect("CPU 0 is online");

    let (mut from_us, mut to_other) = std::io::pipe().expect("pipes are made");
    let (mut from_other, mut to_us) = std::io::pipe().expect("pipes are made");
    thread::spawn(move || {
        let mut byte = [0];
        while from_us.read_exact(&mut byte).and_then(|()| to_us.write_all(&byte)).is_ok() {}
    });
    let mut byte = [0];
    compare("pipe round trip, two switches", rounds, &mut || {
        to_other.write_all(&byte).and_then(|()| from_other.read_exact(&mut byte)).expect("the other answers");
    });
    compare("thread create and join", rounds, &mut || {
        thread::spawn(|| ()).join().expect("the thread ends");
    });
    compare("process spawn and wait", rounds, &mut || {
        Command::new("/bin/true").status().expect("/bin/true runs");
    });
}
