//! What it costs to look at a list of tasks: those of the machine, over and over or cut to the number that is asked for.
//!
//! `cargo run --release -p cpuledger-bpf --example inspect_cost [tasks [repetitions]]`, as root.

use std::time::Instant;

use cpuledger_bpf::{Error, Inspector, Request, Walker, abi};

const GROUPS: u32 = abi::CPULEDGER_READ_DETAIL
    | abi::CPULEDGER_READ_MEMORY
    | abi::CPULEDGER_READ_RSS
    | abi::CPULEDGER_READ_CGROUP;

fn main() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1).map_while(|text| text.parse().ok());
    let count: usize = arguments.next().unwrap_or(60);
    let repetitions: usize = arguments.next().unwrap_or(1000).max(1);
    let mut walker = Walker::load()?;
    let request = Request { scope: abi::CPULEDGER_WALK_TASKS, groups: 0, only_pid: None };
    let walked = walker.walk(&request)?;
    let wanted: Vec<_> = walked
        .tasks
        .iter()
        .map(|task| cpuledger_bpf::Wanted { tid: task.tid, opens_process: task.tid == task.pid })
        .cycle()
        .take(count)
        .collect();

    let begin = Instant::now();
    let mut inspector = Inspector::load(count as u32, 1)?;
    let load_ms = begin.elapsed().as_secs_f64() * 1e3;
    let mut call_ns = Vec::with_capacity(repetitions);
    let mut kernel_ns = Vec::with_capacity(repetitions);
    // Between the two lines of output there is nothing but the inspections.
    println!("loaded in {load_ms:.1} ms");
    let mut seen = 0;
    for _ in 0..repetitions {
        let begin = Instant::now();
        let walked = inspector.inspect(&wanted, GROUPS)?;
        call_ns.push(begin.elapsed().as_nanos());
        kernel_ns.push(walked.end_ns - walked.begin_ns);
        seen = walked.tasks.len();
    }
    call_ns.sort_unstable();
    kernel_ns.sort_unstable();
    let (call_ns, kernel_ns) = (call_ns[repetitions / 2], kernel_ns[repetitions / 2]);
    println!("{seen} of {count} tasks in {call_ns} ns, {kernel_ns} of them in the kernel");
    Ok(())
}
