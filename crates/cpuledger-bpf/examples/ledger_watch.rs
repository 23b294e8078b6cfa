//! The busiest tasks of each interval, and the balance of its books.
//!
//! `cargo run -p cpuledger-bpf --example ledger_watch [seconds [intervals]]`, as root.

use cpuledger_bpf::ledger::{Ledger, Options};

const NS_PER_S: f64 = 1e9;

fn main() -> Result<(), cpuledger_bpf::Error> {
    let mut arguments = std::env::args().skip(1).map_while(|text| text.parse::<f64>().ok());
    let seconds = arguments.next().unwrap_or(1.0);
    let intervals = arguments.next().unwrap_or(5.0) as u64;
    let mut ledger = Ledger::attach(Options::default())?;
    for _ in 0..intervals {
        let cut_ns = ledger.start_ns() + (seconds * NS_PER_S) as u64;
        let interval = ledger.close_interval(cut_ns)?;
        println!(
            "{} ns capacity, {} attributed to {} tasks, {} idle, {} unattributed, {} missing",
            interval.capacity_ns(),
            interval.attributed_ns(),
            interval.tasks.len(),
            interval.idle_ns(),
            interval.unattributed_ns(),
            interval.imbalance_ns()
        );
        let mut tasks: Vec<_> = interval.tasks.iter().collect();
        tasks.sort_by_key(|task| std::cmp::Reverse(task.total_ns()));
        for task in tasks.iter().take(5) {
            let comm: Vec<u8> = task.slot.comm.iter().copied().take_while(|byte| *byte != 0).collect();
            let end = if task.is_last { "ended" } else { "" };
            let name = String::from_utf8_lossy(&comm).escape_debug().to_string();
            println!("{:>12} {:>8} {:>8} {name} {end}", task.total_ns(), task.slot.pid, task.slot.tid);
        }
    }
    Ok(())
}
