//! Lists what the walk sees, and what it costs: `cargo run --release --example all_tasks`.

use std::time::Instant;

use cpuledger::source::walk::Walk;
use cpuledger::{FieldSet, Request, Scope, Snapshot, Source};

fn main() -> Result<(), cpuledger::Error> {
    let mut source = Walk::open()?;
    let mut snapshot = Snapshot::default();
    let request = Request { scope: Scope::Tasks, fields: FieldSet::ALL };
    for _ in 0..3 {
        let begin = Instant::now();
        source.snapshot(&request, &mut snapshot)?;
        println!("{} tasks of {} processes in {:?}", snapshot.tasks.len(), snapshot.processes.len(), begin.elapsed());
    }
    for task in snapshot.tasks.iter().take(20) {
        println!("{:>7} {:>7} {:?} {} ns", task.pid.0, task.tid.0, task.comm, task.runtime_ns);
    }
    Ok(())
}
