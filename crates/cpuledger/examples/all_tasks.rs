//! Lists what a source sees, and what it costs: `cargo run --release --example all_tasks -- walk 3`.

use std::io::{self, Write};
use std::time::Instant;

use cpuledger::source::walk::Walk;
use cpuledger::source::{self, SourceKind};
use cpuledger::{FieldSet, Request, Scope, Snapshot, Source};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let kind: SourceKind = arguments.next().as_deref().unwrap_or("walk").parse()?;
    let repetitions: u32 = arguments.next().as_deref().unwrap_or("1").parse()?;
    let mut source: Box<dyn Source> = match kind {
        SourceKind::Walk => Box::new(Walk::open()?),
        _ => source::open(kind)?,
    };
    let mut snapshot = Snapshot::default();
    let request = Request::new(Scope::Tasks, FieldSet::ALL);
    let mut output = io::BufWriter::new(io::stdout().lock());
    for _ in 0..repetitions {
        let begin = Instant::now();
        source.snapshot(&request, &mut snapshot)?;
        let elapsed = begin.elapsed();
        writeln!(
            output,
            "{} tasks, {} processes, {elapsed:?}",
            snapshot.tasks.len(),
            snapshot.processes.len()
        )?;
    }
    for task in &snapshot.tasks {
        writeln!(output, "{:>7} {:>7} {:>15} ns {:?}", task.pid, task.tid, task.runtime_ns, task.comm)?;
    }
    Ok(output.flush()?)
}
