//! Reports over a day of seconds.

use cpuledger_frame::Section;
use cpuledger_recording::Recording;

use crate::measure::{Subject, alternate, median};
use crate::recording_day::{self, Day};
use crate::results::{Results, Row};
use crate::table::{Table, digits};

/// Options of `report`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    day: recording_day::Arguments,
    /// Counted runs of each
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// The program
    #[arg(long, default_value = "target/release/cpuledger")]
    program: String,
}

/// What is asked of the day.
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
/// When the recording cannot be read, or a report fails.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let frames = recording_day::real_frames(&arguments.day)?;
    let day = Day::of(&frames, &arguments.day)?;
    let rows: usize = frames.iter().map(|frame| frame.table(Section::Processes).len()).sum();
    let dead: usize = frames.iter().map(|frame| frame.table(Section::Exited).len()).sum();
    let intervals = Recording::open(day.path())?.len();
    eprintln!("{intervals} intervals of {} rows and {} deaths", rows / frames.len(), dead / frames.len());
    let mut results = Results::create("report", &[])?;
    let mut table = Table::new("report", "A report over a day of seconds, in ms", ["question", "time"]);
    let name = day.path().display().to_string();
    let lines: Vec<Vec<&str>> =
        QUESTIONS.iter().map(|question| [&["report", name.as_str()], *question].concat()).collect();
    let mut subjects: Vec<Subject<'_>> = lines
        .iter()
        .zip(QUESTIONS)
        .map(|(line, question)| Subject::command(&question.join(" "), &arguments.program, line))
        .collect();
    let durations = alternate(&mut subjects, arguments.rounds)?;
    for (subject, durations) in subjects.iter().zip(&durations) {
        let median_ms = median(durations).as_secs_f64() * 1e3;
        eprintln!("{median_ms:>9.1} ms  {}", subject.name);
        table.row([subject.name.clone(), digits(median_ms)]);
        results.add(&Row::new(&subject.name, 0, durations))?;
    }
    table.keep(&results)?;
    println!("raw results: {}", results.path().display());
    Ok(())
}
