//! Walks once and prints what it costs: `cargo run --release --example walk`.
use cpuledger_bpf::{Mechanism, Request, Walker, abi};
use std::time::Instant;
fn main() {
    let t = Instant::now();
    let mut w = match std::env::args().nth(1).as_deref() {
        Some("iter") => Walker::load_mechanism(Mechanism::Iterator),
        Some("one") => Walker::load_mechanism(Mechanism::OneCall),
        _ => Walker::load(),
    }
    .unwrap_or_else(|e| {
        eprintln!("{e}\n{}", e.log().join("\n"));
        std::process::exit(1)
    });
    println!("load {:?} {:?}", t.elapsed(), w.mechanism());
    for scope in [abi::CPULEDGER_WALK_LEADERS, abi::CPULEDGER_WALK_PROCESSES, abi::CPULEDGER_WALK_TASKS] {
        for groups in [0u32, 1, 2, 4, 7] {
            let mut best = u128::MAX;
            let mut n = (0, 0);
            for _ in 0..10 {
                let t = Instant::now();
                let r = w.walk(&Request { scope, groups, only_pid: None }).unwrap();
                n = (r.tasks.len(), r.processes.len());
                best = best.min(t.elapsed().as_nanos());
            }
            println!(
                "scope {scope} groups {groups} tasks {n:?} {} us, {} ns/task",
                best / 1000,
                best / n.0 as u128
            );
        }
    }
    for p in [1, std::process::id() as i32, 9999999] {
        let r = w.walk(&Request { scope: 2, groups: 7, only_pid: Some(p) }).unwrap();
        println!("only {p}: {:?}", r.tasks.iter().map(|t| t.tid).collect::<Vec<_>>());
    }
    let r = w.walk(&Request { scope: 2, groups: 7, only_pid: None }).unwrap();
    println!("lacks {} ", r.lacks);
    for t in r.tasks.iter().take(3).chain(r.tasks.iter().rev().take(3)) {
        println!("{t:?} {:?}", r.processes[t.process_index as usize]);
    }
}
