//! How long `ptop` takes to show an interval, with the service and without.

use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::{Duration, Instant};

use super::daemon::{Daemon, STRANGER};
use crate::measure::median;
use crate::results::{Results, Row};
use crate::screen::Program;
use crate::table::{Table, digits};

/// What the screen says of an exact interval, and of nothing else.
const SHOWN: &str = "stolen ";

/// Runs it this often: with the service as another user, without it as root, with a ledger of its own.
///
/// # Errors
/// When it shows nothing.
pub fn measure(rounds: usize, results: &mut Results, table: &mut Table) -> anyhow::Result<()> {
    let daemon = Daemon::start(1.0)?;
    std::thread::sleep(Duration::from_secs(2));
    let with = || {
        let mut command = Command::new(daemon.binary());
        command.arg("top").env("CPULEDGER_SOCKET", daemon.socket()).uid(STRANGER).gid(STRANGER);
        command
    };
    let without = || {
        let mut command = Command::new(daemon.binary());
        command.args(["top", "--source", "ledger", "-d", "1"]);
        command
    };
    let made: [(&str, &dyn Fn() -> Command, usize); 2] = [
        ("`ptop` as another user, until an interval is on its screen", &with, rounds),
        ("the same with its own ledger, as root, with `-d 1`", &without, rounds.div_ceil(8)),
    ];
    for (name, command, rounds) in made {
        let mut durations = Vec::new();
        for _ in 0..rounds {
            let begin = Instant::now();
            let mut program = Program::spawn(&mut command())?;
            durations.push(program.shows(SHOWN)? - begin);
            program.end()?;
        }
        let most = durations.iter().max().copied().unwrap_or_default();
        let ms = |time: Duration| digits(time.as_secs_f64() * 1e3);
        table.row([
            name.to_owned(),
            format!("{} ms, at most {} ms of {rounds} runs", ms(median(&durations)), ms(most)),
        ]);
        results.add(&Row::new(name, 0, &durations))?;
    }
    Ok(())
}
