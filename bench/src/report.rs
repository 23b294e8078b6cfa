//! Reports over days of seconds, and their export.

use std::path::PathBuf;

use cpuledger_model::frame::{Frame, Section};
use cpuledger_recording::Recording;

use crate::measure::{Subject, alternate, median};
use crate::recording_day::{self, Day};
use crate::results::{Results, Row};
use crate::table::{Table, digits};

/// Options of `report`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// A recording whose intervals make a day; each that is named makes one
    #[arg(long, required = true)]
    from: Vec<PathBuf>,
    /// Where the days are, or are made, in the order of `--from`; temporary directories if none is named
    #[arg(long)]
    day: Vec<PathBuf>,
    /// Counted runs of each
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// The program
    #[arg(long, default_value = "target/release/cpuledger")]
    program: String,
}

/// How much of a day is exported, in seconds.
const EXPORTED_S: u64 = 4 * 3600;

/// What is asked of a day.
const QUESTIONS: [&[&str]; 6] = [
    &["--by", "command"],
    &["--by", "user"],
    &["--by", "process"],
    &["--by", "ancestor"],
    &["--by", "command", "--format", "html"],
    &["--by", "command", "--since", "2026-03-01T03:00:00Z", "--until", "2026-03-01T04:00:00Z"],
];

/// Measures and prints.
///
/// # Errors
/// When a recording cannot be read, or a report fails.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let mut results = Results::create("report", &[])?;
    let mut columns = Vec::new();
    for (number, from) in arguments.from.iter().enumerate() {
        let day = recording_day::Arguments { from: from.clone(), day: arguments.day.get(number).cloned() };
        columns.push(of_day(&day, arguments, &mut results)?);
    }
    let header = columns.iter().map(|(name, _)| name.clone());
    let mut table = Table::new(
        "report",
        "A day of 86,400 intervals: reports, and its export to Parquet",
        std::iter::once("question".to_owned()).chain(header),
    );
    let names = QUESTIONS.iter().map(|question| format!("`report {}`", question.join(" ")));
    for (row, name) in names.chain(["`export` of its first four hours".to_owned()]).enumerate() {
        table.row(std::iter::once(name).chain(columns.iter().map(|(_, cells)| cells[row].clone())));
    }
    table.keep(&results)?;
    println!("raw results: {}", results.path().display());
    Ok(())
}

/// What the intervals of a day have, and how long each question took.
fn of_day(
    day: &recording_day::Arguments,
    arguments: &Arguments,
    results: &mut Results,
) -> anyhow::Result<(String, Vec<String>)> {
    let frames = recording_day::real_frames(day)?;
    let day = Day::of(&frames, day)?;
    let rows = of_an_interval(&frames, Section::Processes);
    let dead = of_an_interval(&frames, Section::Exited);
    let intervals = Recording::open(day.path())?.len();
    let header = format!("{rows} processes, {dead} deaths a second");
    eprintln!("{intervals} intervals of {header}");
    let name = day.path().display().to_string();
    let output = std::env::temp_dir().join(format!("cpuledger-export-{}", std::process::id()));
    let output_name = output.display().to_string();
    let mut lines: Vec<Vec<&str>> =
        QUESTIONS.iter().map(|question| [&["report", name.as_str()], *question].concat()).collect();
    // Each run has to write all files anew.
    let export = format!(
        "rm -rf {output_name}; {} export {name} --output {output_name} --until @{}",
        arguments.program,
        recording_day::BEGIN_NS / 1_000_000_000 + EXPORTED_S
    );
    lines.push(vec!["-c", &export]);
    let questions: Vec<String> = QUESTIONS.iter().map(|question| question.join(" ")).collect();
    let names = questions.iter().map(String::as_str).chain(["export"]);
    let mut subjects: Vec<Subject<'_>> = lines
        .iter()
        .zip(names)
        .map(|(line, name)| {
            Subject::command(name, if name == "export" { "sh" } else { &arguments.program }, line)
        })
        .collect();
    let durations = alternate(&mut subjects, arguments.rounds);
    let _ = std::fs::remove_dir_all(&output);
    let mut cells = Vec::new();
    for (subject, durations) in subjects.iter().zip(&durations?) {
        let ms = median(durations).as_secs_f64() * 1e3;
        let cell = if subject.name == "export" {
            let millions = EXPORTED_S as f64 * (rows + dead + 1) as f64 / 1e6;
            format!("{} ms: {} M rows/s", digits(ms), digits(millions / ms * 1e3))
        } else {
            format!("{} ms", digits(ms))
        };
        eprintln!("{cell:>24}  {}", subject.name);
        cells.push(cell);
        results.add(&Row::new(&format!("{header}: {}", subject.name), 0, durations))?;
    }
    Ok((header, cells))
}

/// Rows of an interval, on the average.
fn of_an_interval(frames: &[Frame], section: Section) -> usize {
    frames.iter().map(|frame| frame.table(section).len()).sum::<usize>() / frames.len()
}
