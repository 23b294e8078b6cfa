//! A day of recorded seconds on the screen: how soon its first interval is shown, and how long a jump takes.

use std::process::Command;
use std::time::{Duration, Instant};

use jiff::Timestamp;

use crate::measure::median;
use crate::recording_day::{self, BEGIN_NS, DAY, Day};
use crate::results::{Results, Row};
use crate::screen::Program;
use crate::table::{Table, digits};

/// Options of `replay`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    day: recording_day::Arguments,
    /// Starts, and jumps
    #[arg(long, default_value_t = 51)]
    rounds: u64,
}

/// When the day begins, in seconds since 1970.
const BEGIN_S: u64 = BEGIN_NS / 1_000_000_000;

/// Seconds between the instants that are looked at: they are in each place of a group of records.
const STRIDE_S: u64 = 30_011;

/// Measures and prints.
///
/// # Errors
/// When the recording cannot be read, or the screen does not show what it should.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let day = Day::of(&recording_day::real_frames(&arguments.day)?, &arguments.day)?;
    let mut results = Results::create("replay", &[])?;
    let binary = std::env::current_exe()?.with_file_name("cpuledger");
    let start = |second: u64| {
        let mut command = Command::new(&binary);
        command.arg("top").arg("--replay").arg(day.path()).env("TZ", "UTC");
        command.arg("--at").arg(format!("@{}", BEGIN_S + second));
        command
    };
    let seconds = |round: u64| round * STRIDE_S % DAY;
    let mut starts = Vec::new();
    for second in (0..arguments.rounds).map(seconds) {
        let begin = Instant::now();
        let mut program = Program::spawn(&mut start(second))?;
        starts.push(program.shows(&shown(second)?)? - begin);
        program.end()?;
    }
    let mut program = Program::spawn(&mut start(0))?;
    let mut screen = Program::screen();
    program.answer(&mut screen, b"", &shown(0)?)?;
    let mut jumps = Vec::new();
    for second in (1..=arguments.rounds).map(seconds) {
        let line = format!(":@{}", BEGIN_S + second);
        program.answer(&mut screen, line.as_bytes(), &line[1..])?;
        jumps.push(program.answer(&mut screen, b"\r", &shown(second)?)?);
    }
    program.end()?;
    let mut table = Table::new(
        "replay",
        &format!("`ptop --replay` of a day of seconds; {} of each", arguments.rounds),
        ["", "median", "most"],
    );
    for (name, times) in [
        ("from the start to an interval on the screen", &starts),
        ("a jump, from Enter to its interval on the screen", &jumps),
    ] {
        let ms = |time: Duration| format!("{} ms", digits(time.as_secs_f64() * 1e3));
        table.row([name.to_owned(), ms(median(times)), ms(times.iter().max().copied().unwrap_or_default())]);
        results.add(&Row::new(name, 0, times))?;
    }
    table.keep(&results)?;
    Ok(())
}

/// What the time line says of the interval that has this second of the day.
fn shown(second: u64) -> anyhow::Result<String> {
    let end = Timestamp::from_second(i64::try_from(BEGIN_S + second + 1)?)?;
    Ok(end.strftime("%Y-%m-%d %H:%M:%S").to_string())
}
