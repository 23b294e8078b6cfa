//! Counts the processes of /proc as often as it is told, and keeps to three system calls for each:
//! `cargo run --release --example procfs -- 3`. With `tasks` as second argument it counts tasks too.

use std::io::{self, Write};

use cpuledger::source::procfs::Procfs;
use cpuledger::{Field, FieldSet, Request, Scope, Snapshot, Source};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let repetitions: u32 = arguments.next().as_deref().unwrap_or("1").parse()?;
    let scope = if arguments.next().as_deref() == Some("tasks") { Scope::Tasks } else { Scope::Processes };
    let fields = FieldSet::of(&[Field::Pid, Field::TtyDevice, Field::User, Field::System, Field::Comm]);
    let mut source = Procfs::open()?;
    let mut snapshot = Snapshot::default();
    for _ in 0..repetitions {
        source.snapshot(&Request::new(scope, fields), &mut snapshot)?;
    }
    writeln!(io::stdout(), "{} {}", snapshot.processes.len(), snapshot.tasks.len())?;
    Ok(())
}
