//! The screen over many sleeping threads: CPU time in steady state, and the time from a key to the frame that answers it, beside
//! htop. Each program has a pseudo-terminal of its own, which is read as fast as it writes.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command};
use std::sync::mpsc::{self, Receiver};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use anyhow::Context;
use cpuledger::machine::come_in_real_time;
use cpuledger_load::{RaisedLimits, Sleepers};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use serde::Serialize;

use crate::measure::{cpu_ns, median};
use crate::results::Results;

/// Options of `screen`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Seconds of steady state
    #[arg(long, default_value_t = 20)]
    seconds: u64,
    /// Seconds after the start that do not count
    #[arg(long, default_value_t = 5)]
    settle: u64,
    /// Keys that are pressed
    #[arg(long, default_value_t = 51)]
    keys: usize,
    /// Threads that sleep in one process
    #[arg(long, value_delimiter = ',', default_value = "1000,100000")]
    threads: Vec<usize>,
    /// Only programs whose name contains this
    #[arg(long, default_value = "")]
    only: String,
}

/// What one program took.
#[derive(Debug, Serialize)]
struct Taken<'a> {
    program: &'a str,
    sleeping_threads: usize,
    seconds: u64,
    cpu_ns: u64,
    keys_ns: Vec<u128>,
}

/// Size of the terminal.
const SIZE: Winsize = Winsize { ws_row: 50, ws_col: 160, ws_xpixel: 0, ws_ypixel: 0 };

/// Longer than any answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long to wait for a program to end.
const LONGEST_END: Duration = Duration::from_secs(5);

/// Between two keys, so that each finds the program at rest.
const REST: Duration = Duration::from_millis(70);

/// Measures and prints.
///
/// # Errors
/// Without root, or when a program cannot be run.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let most = arguments.threads.iter().copied().max().unwrap_or(0);
    let _limits = RaisedLimits::for_threads(most).context("cannot raise the limits; run as root")?;
    let mut results = Results::create("screen", &["htop"])?;
    println!(
        "{:>8}  {:<44} {:>10} {:>12} {:>12}",
        "threads", "program", "% of a CPU", "key, median", "key, worst"
    );
    let binary = std::env::current_exe()?.with_file_name("cpuledger");
    let binary = binary.to_str().context("the path of the binary is not UTF-8")?.to_owned();
    for &threads in &arguments.threads {
        let _sleepers = Sleepers::start(threads.max(1), 1)?;
        for (name, line) in [
            ("ptop -H -d 1 --source ledger", format!("{binary} top -H -d 1 --source ledger")),
            ("ptop -H -d 1 --source ledger --all", format!("{binary} top -H -d 1 --source ledger --all")),
            ("htop -d 10", "htop -d 10".to_owned()),
        ] {
            if !name.contains(&arguments.only) {
                continue;
            }
            let mut program = Program::start(&line)?;
            let cpu_ns = program.steady(arguments)?;
            let keys = program.keys(arguments.keys)?;
            program.end()?;
            println!(
                "{threads:>8}  {name:<44} {:>10.3} {:>9.2} ms {:>9.2} ms",
                cpu_ns as f64 / 1e7 / arguments.seconds as f64,
                median(&keys).as_secs_f64() * 1e3,
                keys.iter().max().map_or(0.0, Duration::as_secs_f64) * 1e3
            );
            let keys_ns = keys.iter().map(Duration::as_nanos).collect();
            results.add_any(&Taken {
                program: name,
                sleeping_threads: threads,
                seconds: arguments.seconds,
                cpu_ns,
                keys_ns,
            })?;
        }
    }
    println!("raw results: {}", results.path().display());
    Ok(())
}

/// A program in a terminal.
pub(crate) struct Program {
    child: Child,
    terminal: File,
    written: Receiver<(Instant, Vec<u8>)>,
    /// When the program was started.
    pub(crate) started: Instant,
}

impl Program {
    pub(crate) fn start(line: &str) -> anyhow::Result<Program> {
        let mut words = line.split(' ');
        let program = Program::spawn(Command::new(words.next().unwrap_or_default()).args(words))?;
        program.written.recv_timeout(PATIENCE).context("it shows nothing")?;
        Ok(program)
    }

    /// As [`Program::start`], of a command as it is; it need not have shown anything yet.
    pub(crate) fn spawn(command: &mut Command) -> anyhow::Result<Program> {
        let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
        grantpt(&controller)?;
        unlockpt(&controller)?;
        let path = ptsname(&controller, Vec::new())?.into_string()?;
        let user = File::options().read(true).write(true).open(path)?;
        tcsetwinsize(&user, SIZE)?;
        let terminal = File::from(controller);
        let mut reader = terminal.try_clone()?;
        let (tell, written) = mpsc::channel();
        let (begin, begun) = mpsc::channel();
        thread::spawn(move || {
            // On a busy machine, too, it is told when something was written, and not when this thread had a CPU.
            let _ = come_in_real_time(false);
            let _ = begin.send(());
            let mut room = [0; 65_536];
            while let Ok(length) = reader.read(&mut room)
                && length > 0
                && tell.send((Instant::now(), room[..length].to_vec())).is_ok()
            {}
        });
        begun.recv().context("the thread that reads has ended")?;
        command
            .env("TERM", "xterm-256color")
            // No settings but the usual ones.
            .env("XDG_CONFIG_HOME", "/nonexistent")
            // htop writes it at its end.
            .env("HTOPRC", "/dev/null")
            .stdin(user.try_clone()?)
            .stdout(user.try_clone()?)
            .stderr(user);
        let started = Instant::now();
        let child = command.spawn().with_context(|| format!("cannot run {command:?}"))?;
        Ok(Program { child, terminal, written, started })
    }

    /// When this text is on its screen, in one piece.
    pub(crate) fn shows(&mut self, text: &str) -> anyhow::Result<Instant> {
        self.shows_any(&[text])
    }

    /// When one of these is on its screen.
    pub(crate) fn shows_any(&mut self, texts: &[&str]) -> anyhow::Result<Instant> {
        let (begin, mut screen) = (Instant::now(), vt100::Parser::new(SIZE.ws_row, SIZE.ws_col, 0));
        while begin.elapsed() < PATIENCE {
            let (at, bytes) = self.written.recv_timeout(PATIENCE).context("it does not show that")?;
            screen.process(&bytes);
            let contents = screen.screen().contents();
            if texts.iter().any(|text| contents.contains(text)) {
                return Ok(at);
            }
        }
        anyhow::bail!("its screen does not show `{}`", texts.join("` or `"))
    }

    /// A terminal that has shown nothing yet.
    pub(crate) fn screen() -> vt100::Parser {
        vt100::Parser::new(SIZE.ws_row, SIZE.ws_col, 0)
    }

    /// From keys to this text on the screen, to which everything was written before.
    pub(crate) fn answer(
        &mut self,
        screen: &mut vt100::Parser,
        keys: &[u8],
        text: &str,
    ) -> anyhow::Result<Duration> {
        sleep(REST);
        while let Ok((_, bytes)) = self.written.try_recv() {
            screen.process(&bytes);
        }
        let begin = Instant::now();
        self.terminal.write_all(keys)?;
        while begin.elapsed() < PATIENCE {
            if screen.screen().contents().contains(text) && keys.is_empty() {
                return Ok(begin.elapsed());
            }
            let (at, bytes) = self.written.recv_timeout(PATIENCE).context("it does not show that")?;
            screen.process(&bytes);
            if screen.screen().contents().contains(text) {
                return Ok(at.saturating_duration_since(begin));
            }
        }
        anyhow::bail!("its screen does not show `{text}`")
    }

    /// CPU time of the steady state.
    fn steady(&mut self, arguments: &Arguments) -> anyhow::Result<u64> {
        sleep(Duration::from_secs(arguments.settle));
        let before = self.cpu_ns()?;
        sleep(Duration::from_secs(arguments.seconds));
        Ok(self.cpu_ns()? - before)
    }

    /// Of all threads; none of them ends.
    pub(crate) fn cpu_ns(&self) -> anyhow::Result<u64> {
        cpu_ns(self.child.id())
    }

    /// From a key to what is written next: down and up, so that each changes the screen.
    pub(crate) fn keys(&mut self, count: usize) -> anyhow::Result<Vec<Duration>> {
        let mut answers = Vec::with_capacity(count);
        for index in 0..count {
            sleep(REST);
            while self.written.try_recv().is_ok() {}
            let begin = Instant::now();
            self.terminal.write_all(if index % 2 == 0 { b"\x1b[B" } else { b"\x1b[A" })?;
            let answer = loop {
                let (at, _) = self.written.recv_timeout(PATIENCE).context("a key has no answer")?;
                if at >= begin {
                    break at;
                }
            };
            answers.push(answer - begin);
        }
        Ok(answers)
    }

    /// As a user does it; a peer that does not is killed.
    pub(crate) fn end(mut self) -> anyhow::Result<()> {
        self.terminal.write_all(b"q")?;
        let begin = Instant::now();
        while self.child.try_wait()?.is_none() && begin.elapsed() < LONGEST_END {
            sleep(Duration::from_millis(10));
        }
        Ok(())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It has ended, or something went wrong.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
