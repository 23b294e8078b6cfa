//! S2: the text of /proc/PID/task/TID/{status,stat,statm} of every task: rendered from one walk beside the kernel's own files.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use cpuledger::source::kernel_text::{Form, Whole, Written};
use cpuledger::source::status::StatusWalk;
use cpuledger_load::{RaisedLimits, Sleepers};

use crate::measure::{Subject, alternate, median, time_command};
use crate::results::{Results, Row};
use crate::table::{Table, digits, thousands};

/// Options of `status`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Counted runs of each subject
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// Sleeping threads, all in one process
    #[arg(long, value_delimiter = ',', default_value = "1000,10000,100000")]
    threads: Vec<usize>,
    /// As many processes of one thread each, too
    #[arg(long, default_value_t = 5_000)]
    processes: usize,
}

/// Bytes of text after which a consumer would take them.
pub const CHUNK_BYTES: usize = 256 * 1024;

/// Measures and prints.
///
/// # Errors
/// Without root, or when a subject fails.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let _limits = RaisedLimits::for_threads(arguments.threads.iter().copied().max().unwrap_or(0))
        .context("cannot raise the limits; run as root")?;
    let binary = std::env::current_exe()?.with_file_name("cpuledger");
    let binary = binary.to_str().context("the path of the binary is not UTF-8")?;
    let mut results = Results::create("status", &[])?;
    let caption = "The text of /proc/PID/task/TID/{status,stat,statm}: open, read and close of the kernel's file, and one walk with the \
                   text of every task, in ns a task";
    let mut table =
        Table::new("status", caption, ["sleeping", "form", "file", "walk and text", "times as fast"]);
    for &threads in &arguments.threads {
        let sleepers = Sleepers::start(threads, 1)?;
        let name = format!("{} threads", thousands(threads));
        population(arguments, &sleepers, &name, binary, &mut table, &mut results)?;
    }
    if arguments.processes > 0 {
        let sleepers = Sleepers::start(arguments.processes, arguments.processes)?;
        let name = format!("{} processes", thousands(arguments.processes));
        population(arguments, &sleepers, &name, binary, &mut table, &mut results)?;
    }
    table.keep(&results)?;
    println!("raw results: {}", results.path().display());
    Ok(())
}

fn population(
    arguments: &Arguments,
    sleepers: &Sleepers,
    name: &str,
    binary: &str,
    table: &mut Table,
    results: &mut Results,
) -> anyhow::Result<()> {
    let tasks = tasks_of_machine()?;
    let walk = Rc::new(RefCell::new(StatusWalk::open()?));
    for form in Form::ALL {
        let paths = paths(sleepers, form)?;
        let same = same_texts(form, &paths, &mut walk.borrow_mut())?;
        eprintln!("{name:>16}  {form}: {same} of {} texts are those of the files", paths.len());
        ensure!(same == paths.len(), "a text is not that of the file");
        let is_status = form == Form::Status;
        let mut subjects = vec![kernel(form, &paths), rendered(form, &walk)];
        if is_status {
            subjects.push(walked(&walk));
            let arguments = ["status", "--all", "-H", "--source", "walk"];
            subjects.push(Subject {
                name: "the whole command, into a pipe".to_owned(),
                run: Box::new(move || time_command(binary, &arguments)),
            });
        }
        let durations = alternate(&mut subjects, arguments.rounds)?;
        // The files are those of the sleepers; the walk has all tasks of the machine.
        let a_task = |index: usize, durations: &[Duration]| {
            let tasks = if index == 0 { paths.len() } else { tasks };
            median(durations).as_secs_f64() * 1e9 / tasks as f64
        };
        let reference = a_task(0, &durations[0]);
        let ours = a_task(1, &durations[1]);
        table.row([
            name.to_owned(),
            form.to_string(),
            digits(reference),
            digits(ours),
            digits(reference / ours),
        ]);
        for (index, (subject, durations)) in subjects.iter().zip(&durations).enumerate() {
            eprintln!(
                "{name:>16}  {:<46} {:>9.3} ms {:>9.0} ns {:>7.1}x",
                subject.name,
                median(durations).as_secs_f64() * 1e3,
                a_task(index, durations),
                reference / a_task(index, durations)
            );
            results.add(&Row::new(&subject.name, sleepers.threads(), durations))?;
        }
    }
    Ok(())
}

/// Files of the kernel that are as large as they can be: of each task of the sleepers.
fn paths(sleepers: &Sleepers, form: Form) -> anyhow::Result<Vec<String>> {
    let mut paths = Vec::with_capacity(sleepers.threads());
    for process in sleepers.processes() {
        for entry in std::fs::read_dir(format!("/proc/{}/task", process.pid))? {
            let tid = entry?.file_name().into_string().unwrap_or_default();
            paths.push(format!("/proc/{}/task/{tid}/{form}", process.pid));
        }
    }
    ensure!(paths.len() == sleepers.threads(), "{} of {} threads", paths.len(), sleepers.threads());
    Ok(paths)
}

/// How many texts of sleepers are, letter by letter, those of their files: in one of some attempts, as what their user has
/// queued is the doing of others.
fn same_texts(form: Form, paths: &[String], walk: &mut StatusWalk) -> anyhow::Result<usize> {
    const ATTEMPTS: usize = 5;
    let tid = |path: &String| path.rsplit('/').nth(1).and_then(|tid| tid.parse::<i32>().ok());
    let mut waiting: HashMap<i32, &String> =
        paths.iter().filter_map(|path| Some((tid(path)?, path))).collect();
    let (mut text, mut file) = (Vec::new(), Vec::new());
    for _ in 0..ATTEMPTS {
        let (records, mut texts) = walk.snapshot(form, Whole::Task)?;
        for (index, task) in records.tasks.iter().enumerate() {
            let Some(path) = waiting.get(&task.tid) else { continue };
            text.clear();
            file.clear();
            File::open(path)?.read_to_end(&mut file)?;
            if texts.write(index, form, Whole::Task, &mut text) == Written::Done && text == file {
                waiting.remove(&task.tid);
            }
        }
    }
    Ok(paths.len() - waiting.len())
}

/// How many tasks there are.
///
/// # Errors
/// When the kernel does not tell.
pub fn tasks_of_machine() -> anyhow::Result<usize> {
    Ok(cpuledger::machine::tasks().context("nothing tells how many tasks there are")? as usize)
}

/// Open, one read, close: each file of the kernel.
fn kernel(form: Form, paths: &[String]) -> Subject<'_> {
    let mut room = vec![0u8; 16 * 1024];
    let run = move || {
        let begin = Instant::now();
        for path in paths {
            let length = File::open(path)?.read(&mut room)?;
            ensure!(length > 0, "{path} is empty");
        }
        Ok(begin.elapsed())
    };
    Subject { name: format!("open, read, close of task/TID/{form}"), run: Box::new(run) }
}

/// One walk and the text of every task, through a buffer of one chunk.
fn rendered(form: Form, walk: &Rc<RefCell<StatusWalk>>) -> Subject<'static> {
    let walk = Rc::clone(walk);
    let mut out = Vec::with_capacity(CHUNK_BYTES * 2);
    let run = move || {
        let begin = Instant::now();
        let mut walk = walk.borrow_mut();
        let (records, mut texts) = walk.snapshot(form, Whole::Task)?;
        for task in 0..records.tasks.len() {
            ensure!(texts.write(task, form, Whole::Task, &mut out) == Written::Done, "a task has no text");
            if out.len() >= CHUNK_BYTES {
                std::hint::black_box(&out);
                out.clear();
            }
        }
        Ok(begin.elapsed())
    };
    Subject { name: format!("one walk and the text of every task: {form}"), run: Box::new(run) }
}

/// The walk alone.
fn walked(walk: &Rc<RefCell<StatusWalk>>) -> Subject<'static> {
    let walk = Rc::clone(walk);
    let run = move || {
        let begin = Instant::now();
        walk.borrow_mut().snapshot(Form::Status, Whole::Task)?;
        Ok(begin.elapsed())
    };
    Subject { name: "the walk alone".to_owned(), run: Box::new(run) }
}
