//! What a walk over all tasks costs, once it is loaded: a line for the tables of the kernel series, whose guest runs it.
//!
//! `cargo run -p cpuledger-bpf --example walk_cost processes|tasks column row`, as root. Prints `table snapshot`, the column, the row and
//! nanoseconds, the least of five walks. It reads numbers, names, users, starts and CPU times.

use std::time::Instant;

use cpuledger_bpf::{Request, Walker, abi};

const ATTEMPTS: u32 = 5;
/// Room for other tasks than those of the row.
const OTHERS: u32 = 1_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [scope, column, row] = arguments.as_slice() else {
        return Err("usage: walk_cost processes|tasks column row".into());
    };
    let tasks: u32 = row.parse()?;
    let scope = match scope.as_str() {
        "processes" => abi::CPULEDGER_WALK_PROCESSES,
        "tasks" => abi::CPULEDGER_WALK_TASKS,
        other => return Err(format!("'{other}' is no scope").into()),
    };
    let groups = abi::CPULEDGER_READ_DETAIL;
    let mut walker = Walker::load_for(tasks + OTHERS, tasks + OTHERS, groups)?;
    let request = Request { scope, groups, only_pid: None };
    let mut least_ns = u128::MAX;
    for _ in 0..ATTEMPTS {
        let begin = Instant::now();
        let walked = walker.walk(&request)?;
        least_ns = least_ns.min(begin.elapsed().as_nanos());
        let seen =
            if scope == abi::CPULEDGER_WALK_TASKS { walked.tasks.len() } else { walked.processes.len() };
        if seen == 0 {
            return Err("the walk has seen nothing".into());
        }
    }
    println!("table snapshot {column} {row} {least_ns}");
    Ok(())
}
