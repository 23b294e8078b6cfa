//! The source procfs beside procps: whole programs, and the snapshots in them.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::Context;
use cpuledger::source::procfs::Procfs;
use cpuledger::{Field, FieldSet, Request, Scope, Snapshot, Source};
use cpuledger_load::Sleepers;

use crate::measure::{Subject, alternate, median};
use crate::results::{Results, Row};

/// Options of `procfs`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Counted runs of each subject
    #[arg(long, default_value_t = 15)]
    rounds: usize,
    /// Sleeping processes beside what the machine runs anyway
    #[arg(long, value_delimiter = ',', default_value = "0,1000,5000")]
    processes: Vec<usize>,
}

/// What `ps -e` shows.
const LISTING: FieldSet =
    FieldSet::of(&[Field::Pid, Field::TtyDevice, Field::User, Field::System, Field::Comm]);

/// What `ps aux` and `top` show.
const USAGE: FieldSet = FieldSet::of(&[
    Field::Pid,
    Field::Euid,
    Field::Vsize,
    Field::Rss,
    Field::State,
    Field::Runtime,
    Field::StartTime,
    Field::Comm,
]);

/// Measures and prints.
///
/// # Errors
/// When a subject fails; `cargo build --release --examples` makes the one that is not procps.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let example = std::env::current_exe()?.with_file_name("examples").join("procfs");
    let example = example.to_str().context("the path of the example is not UTF-8")?;
    let mut results = Results::create("procfs", &["ps", "top"])?;
    println!("{:>9}  {:<32} {:>13} {:>9} {:>9}", "processes", "subject", "median", "vs ps -e", "vs top");
    for &processes in &arguments.processes {
        let _sleepers = (processes > 0).then(|| Sleepers::start(processes, processes)).transpose()?;
        let source = Rc::new(RefCell::new((Procfs::open()?, Snapshot::default())));
        let mut subjects = [
            Subject::command("ps -e", "ps", &["-e"]),
            Subject::command("top -b -n1", "top", &["-b", "-n1"]),
            Subject::command("ps aux", "ps", &["aux"]),
            Subject::command("program procfs: fields of ps -e", example, &["1"]),
            snapshot("snapshot: fields of ps -e", &source, Scope::Processes, LISTING),
            snapshot("snapshot: fields of ps aux", &source, Scope::Processes, USAGE),
            snapshot("snapshot: all fields", &source, Scope::Processes, FieldSet::ALL),
        ];
        let durations = alternate(&mut subjects, arguments.rounds)?;
        let (ps, top) = (median(&durations[0]), median(&durations[1]));
        for (subject, durations) in subjects.iter().zip(&durations) {
            let median = median(durations);
            let ratio = |reference: Duration| reference.as_secs_f64() / median.as_secs_f64();
            println!(
                "{processes:>9}  {:<32} {:>10.3} ms {:>8.1}x {:>8.1}x",
                subject.name,
                median.as_secs_f64() * 1e3,
                ratio(ps),
                ratio(top)
            );
            results.add(&Row::new(&subject.name, processes, durations))?;
        }
    }
    println!("raw results: {}", results.path().display());
    Ok(())
}

/// A warm snapshot; those of one population share the source.
fn snapshot(
    name: &str,
    source: &Rc<RefCell<(Procfs, Snapshot)>>,
    scope: Scope,
    fields: FieldSet,
) -> Subject<'static> {
    let source = Rc::clone(source);
    let run = move || {
        let (source, snapshot) = &mut *source.borrow_mut();
        let begin = Instant::now();
        source.snapshot(&Request { scope, fields }, snapshot)?;
        Ok(begin.elapsed())
    };
    Subject { name: name.to_owned(), run: Box::new(run) }
}
