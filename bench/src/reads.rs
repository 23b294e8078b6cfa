//! S2 as its mail measures it: one million times open, read and close of /proc/self/status, beside one million records of the same text from one
//! walk after another; and listings that are short enough to copy the files. As in the mail, it is CPU time that is measured.

use std::cell::RefCell;
use std::fs::File;
use std::io::Read;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::time::Duration;

use anyhow::{Context, ensure};
use cpuledger::SourceKind;
use cpuledger::source::kernel_text::{Form, Whole, Written};
use cpuledger::source::status::{StatusTexts, StatusWalk, Wanted};
use cpuledger_load::{RaisedLimits, Sleepers};
use cpuledger_model::make;

use crate::measure::{Subject, alternate, cpu_of_command, median, thread_cpu};
use crate::results::{Results, Row};
use crate::status::{CHUNK_BYTES, tasks_of_machine};
use crate::table::{Table, digits, thousands};

/// Options of `reads`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Reads, and records, of each subject in all
    #[arg(long, default_value_t = 1_000_000)]
    records: usize,
    /// Parts of these, which alternate with those of the other subjects
    #[arg(long, default_value_t = 10)]
    parts: usize,
    /// Sleeping threads, all in one process
    #[arg(long, default_value_t = 100_000)]
    threads: usize,
    /// Sleeping processes of one thread each
    #[arg(long, default_value_t = 5_000)]
    processes: usize,
    /// Sleeping processes beside which the files are copied
    #[arg(long, value_delimiter = ',', default_value = "1,100,500,1000,1500")]
    few: Vec<usize>,
    /// Counted runs beside each of these
    #[arg(long, default_value_t = 51)]
    rounds_of_few: usize,
}

/// Measures and prints.
///
/// # Errors
/// Without root, or when a subject fails.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let _limits = RaisedLimits::for_threads(arguments.threads.max(arguments.processes))
        .context("cannot raise the limits; run as root")?;
    let binary = std::env::current_exe()?.with_file_name("cpuledger");
    let binary = binary.to_str().context("the path of the binary is not UTF-8")?;
    let mut results = Results::create("reads", &["cat"])?;
    many(arguments, binary, &mut results)?;
    few(arguments, binary, &mut results)?;
    println!("raw results: {}", results.path().display());
    Ok(())
}

/// A million of each.
fn many(arguments: &Arguments, binary: &str, results: &mut Results) -> anyhow::Result<()> {
    let part = arguments.records / arguments.parts;
    let records = part * arguments.parts;
    let caption = format!(
        "{} times the text of /proc/PID/status: open, read and close of one file, and as many records of all tasks of the machine, from one \
         walk after another, in CPU time. The commands write into a pipe, and each loads BPF anew",
        thousands(records)
    );
    let mut table = Table::new("reads", &caption, ["what", "CPU seconds", "ns each", "times as fast"]);
    let mut has_reference = false;
    for (tasks, processes, of) in [
        (arguments.threads, 1, format!("{} threads of one process", thousands(arguments.threads))),
        (arguments.processes, arguments.processes, format!("{} processes", thousands(arguments.processes))),
    ] {
        let _sleepers = Sleepers::start(tasks, processes)?;
        let walk = Rc::new(RefCell::new(StatusWalk::open()?));
        let mut subjects = [
            read_self(part),
            rendered(format!("records of {of}, in one program"), part, &walk),
            commands(format!("records of {of}, by `cpuledger status --all -H`"), part, binary)?,
        ];
        let durations = alternate(&mut subjects, arguments.parts)?;
        let sums: Vec<f64> =
            durations.iter().map(|parts| parts.iter().sum::<Duration>().as_secs_f64()).collect();
        for (index, (subject, durations)) in subjects.iter().zip(&durations).enumerate() {
            let (seconds, times) = (sums[index], digits(sums[0] / sums[index]));
            eprintln!("{:<76} {seconds:>7.3} s {times:>6}x", subject.name);
            results.add(&Row::new(&subject.name, tasks, durations))?;
            // The file does not depend on the population: one row of it will do.
            if index > 0 || !std::mem::replace(&mut has_reference, true) {
                let each = digits(seconds * 1e9 / records as f64);
                table.row([subject.name.clone(), digits(seconds), each, times]);
            }
        }
    }
    table.keep(results)
}

fn read_self(records: usize) -> Subject<'static> {
    let mut room = vec![0_u8; 16 * 1024];
    let run = move || {
        let begin = thread_cpu();
        for _ in 0..records {
            let length = File::open("/proc/self/status")?.read(&mut room)?;
            ensure!(length > 0, "it is empty");
        }
        Ok(thread_cpu() - begin)
    };
    Subject { name: "open, read and close of /proc/self/status".to_owned(), run: Box::new(run) }
}

fn rendered(name: String, records: usize, walk: &Rc<RefCell<StatusWalk>>) -> Subject<'static> {
    let walk = Rc::clone(walk);
    let mut out = Vec::with_capacity(CHUNK_BYTES * 2);
    let run = move || {
        let begin = thread_cpu();
        let mut walk = walk.borrow_mut();
        let mut left = records;
        while left > 0 {
            let (listed, mut texts) = walk.snapshot(Form::Status, Whole::Task)?;
            let count = listed.tasks.len().min(left);
            for task in 0..count {
                let written = texts.write(task, Form::Status, Whole::Task, &mut out);
                ensure!(written == Written::Done, "a task has no text");
                if out.len() >= CHUNK_BYTES {
                    std::hint::black_box(&out);
                    out.clear();
                }
            }
            left -= count;
        }
        Ok(thread_cpu() - begin)
    };
    Subject { name, run: Box::new(run) }
}

/// As many commands as it takes for so many records; what the last one has too many is left out by proportion.
fn commands(name: String, records: usize, binary: &str) -> anyhow::Result<Subject<'_>> {
    let tasks = tasks_of_machine()?;
    let count = records.div_ceil(tasks);
    let run = move || {
        let mut sum = Duration::ZERO;
        for _ in 0..count {
            sum += cpu_of_command(binary, &["status", "--all", "-H", "--source", "walk"])?;
        }
        Ok(sum.mul_f64(records as f64 / (count * tasks) as f64))
    };
    Ok(Subject { name, run: Box::new(run) })
}

/// Listings of so few that the files are copied.
fn few(arguments: &Arguments, binary: &str, results: &mut Results) -> anyhow::Result<()> {
    let caption = "The text of /proc/PID/status of all processes where `status --all` takes it from the files, in ms of CPU time: list, open, read and \
                   close by a loop of this program beside `StatusTexts`, and cat beside the command, both into a pipe; by the number of \
                   sleeping processes";
    let header = ["what".to_owned()].into_iter().chain(arguments.few.iter().map(|&few| thousands(few)));
    let mut table = Table::new("status-few", caption, header);
    let mut rows = [vec!["loop / library".to_owned()], vec!["cat / command".to_owned()]];
    for &processes in &arguments.few {
        let _sleepers = Sleepers::start(processes, processes)?;
        let wanted =
            make!(Wanted { form: Form::Status, whole: Whole::Process, pids: None, is_numbered: false });
        ensure!(
            StatusTexts::open(None, &wanted)?.kind() == SourceKind::Procfs,
            "beside {processes} processes it takes the walk: give fewer to --few"
        );
        let mut subjects = [
            Subject { name: "list, open, read, close".to_owned(), run: Box::new(copy_files) },
            Subject { name: "StatusTexts".to_owned(), run: Box::new(move || library(&wanted)) },
            Subject { name: "cat".to_owned(), run: Box::new(cat) },
            Subject::command_by_cpu_time("cpuledger status --all", binary, &["status", "--all"]),
        ];
        let durations = alternate(&mut subjects, arguments.rounds_of_few)?;
        for (subject, durations) in subjects.iter().zip(&durations) {
            results.add(&Row::new(&subject.name, processes, durations))?;
        }
        for (pair, row) in durations.chunks_exact(2).zip(&mut rows) {
            let [theirs, ours] = [median(&pair[0]), median(&pair[1])].map(|time| time.as_secs_f64() * 1e3);
            let cell = format!("{} / {} = {}", digits(theirs), digits(ours), digits(theirs / ours));
            eprintln!("{processes:>6}  {:<16} {cell}", row[0]);
            row.push(cell);
        }
    }
    rows.into_iter().for_each(|row| table.row(row));
    table.keep(results)
}

/// It fails where a process ends while it runs.
fn cat() -> anyhow::Result<Duration> {
    const ATTEMPTS: usize = 50;
    let run = || cpu_of_command("sh", &["-c", "exec cat /proc/[0-9]*/status 2>/dev/null"]);
    (1..ATTEMPTS).find_map(|_| run().ok()).map_or_else(run, Ok)
}

/// What a program does without the library: it keeps the texts of a chunk.
fn copy_files() -> anyhow::Result<Duration> {
    let begin = thread_cpu();
    let (mut room, mut out) = (vec![0_u8; 16 * 1024], Vec::with_capacity(CHUNK_BYTES * 2));
    for entry in std::fs::read_dir("/proc")? {
        let name = entry?.file_name().into_string().unwrap_or_default();
        if !name.starts_with(|first: char| first.is_ascii_digit()) {
            continue;
        }
        // It may have ended.
        let Ok(mut file) = File::open(format!("/proc/{name}/status")) else { continue };
        let Ok(length) = file.read(&mut room) else { continue };
        out.extend_from_slice(&room[..length]);
        if out.len() >= CHUNK_BYTES {
            std::hint::black_box(&out);
            out.clear();
        }
    }
    Ok(thread_cpu() - begin)
}

fn library(wanted: &Wanted<'_>) -> anyhow::Result<Duration> {
    let begin = thread_cpu();
    let mut out = Vec::with_capacity(CHUNK_BYTES * 2);
    StatusTexts::open(None, wanted)?.write(wanted, &mut out, &mut |out| {
        if out.len() >= CHUNK_BYTES {
            std::hint::black_box(&*out);
            out.clear();
        }
        ControlFlow::Continue(())
    })?;
    Ok(thread_cpu() - begin)
}
