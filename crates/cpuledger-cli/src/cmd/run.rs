//! `cpuledger run`: what a command and everything that descends from it used.
//!
//! `cmd/run/launch` starts this program once more as a launcher, before privileges are given up. It waits on a socket until the ledger stands, and becomes the
//! command. `descent` of `cpuledger-client` finds in each interval what descends from this process: heirs lead there, whatever has died in between. CPU
//! time is that of the rows of the tree, and what this process itself inherited. The dead have their names from `exited`, and what
//! remains is unidentified. A process is forgotten when it has died, so memory follows what lives. Units and containers are those of
//! the cgroup that a process was in last.

mod counted;
pub mod launch;
mod print;
mod repeated;

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use anyhow::Context;
use cpuledger::intervals::Wanted;
use cpuledger::source::choose::LEAVE_OUT;
use cpuledger::source::service::{listens, name_socket};
use cpuledger::{Error, Pid, SourceKind, clock, machine};
use cpuledger_client::descent::{Descent, Places, Subject};
use cpuledger_client::measure::{MOST_LATE, is_alive};
use cpuledger_model::make;
use cpuledger_names::named::{Grouped, NameKey, Named, Namer};
use cpuledger_proc::escape::escaped;
use cpuledger_program::exit::Failure;
use cpuledger_program::output;
use cpuledger_view::group::exited_row;
use nix::sys::resource::UsageWho;
use rustix::process::{Signal, pidfd_send_signal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::{flag, low_level};

use super::top::collect::{Collector, Taker};
use crate::privileges;
use crate::stop::Waker;
use counted::Counted;
use launch::Launched;
use print::{Account, Missing};

/// What follows the options in the help.
pub const AFTER_HELP: &str = "\
The account is complete whatever the descendants do: children that are not waited for, that leave their session, or whose parent \
dies first are in it. What still runs at the end is listed with its time so far. After the ledger is attached, the command starts as the \
calling user, with the caller's environment. Signals of the terminal reach it as they would without cpuledger.

Examples:
  sudo cpuledger run make -j4                          the account on standard error
  sudo cpuledger run --repeat 10 ./bench.sh            median and spread of ten runs
  cpuledger run --format json --output build.json -- ./build.sh      through the service, without privilege

Exit codes: that of the command; 128+N if signal N ended it; 127 it was not found, 126 it cannot be executed; 1 if it succeeded but its account ended early. \
If cpuledger cannot run the command: 1 failure, 2 wrong option, 3 neither the service nor the ledger can be used. docs/run.md says more.";

/// Runs at most: each waits from the beginning on.
const MOST_RUNS: i64 = 200;

/// By what the launcher may grow between its report and its exec; the kernel counts memory by CPU, and is not exact.
const LAUNCHER_GROWS_BYTES: u64 = 4 << 20;

/// The options of `run`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Format of the account
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Write the account to this file [default: standard error]
    #[arg(short = 'o', long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Where the numbers come from: service, ledger, or auto, which takes the service where it runs
    #[arg(long, value_enum, default_value_t = Source::Auto)]
    source: Source,
    /// The socket of the service; otherwise $CPULEDGER_SOCKET or /run/cpuledger/io.cpuledger.Ledger
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Run it N times, one after another, and report median and spread; a run that fails is the last
    #[arg(long, value_name = "N", default_value_t = 1, hide_default_value = true, value_parser = clap::value_parser!(u16).range(1..=MOST_RUNS))]
    repeat: u16,
    /// The command and its arguments
    #[arg(
        value_name = "COMMAND",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_hint = clap::ValueHint::CommandWithArguments
    )]
    command: Vec<OsString>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For people
    Text,
    /// One object, schema cpuledger.run/1
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Source {
    /// The service where it runs, else the ledger
    Auto,
    /// The books of `cpuledger serve`
    Service,
    /// A ledger of its own: root, or CAP_BPF and CAP_PERFMON
    Ledger,
}

/// Runs the command, as often as is asked for, until it fails.
///
/// # Errors
/// No source, nowhere to write, and the exit code of the command where it is not 0.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    arguments.socket.as_deref().into_iter().for_each(name_socket);
    refuse_option(&arguments.command)?;
    // Before privileges are given up: it runs as the caller, and is no business of ours otherwise. All wait until it is their turn.
    let launched: Vec<Launched> =
        (0..arguments.repeat).map(|_| Launched::start(&arguments.command)).collect::<Result<_, _>>()?;
    privileges::watch_names();
    let mut opened = Opened::of(arguments)?;
    let mut namer = Namer::watched();
    // Without the last interval there is no account.
    opened.collector.intervals.set_timeout(MOST_LATE);
    let mut file = match &arguments.output {
        Some(path) => {
            let failed = || format!("the account cannot be written to {}", path.display());
            Some(File::create(path).with_context(failed)?)
        }
        None => None,
    };
    let command: Vec<String> =
        arguments.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let signals = Signals::watch().context("cannot handle signals")?;
    let mut accounts = Vec::new();
    let mut has_begun = false;
    for launched in launched {
        signals.pass_on_to(&launched.pidfd).context("cannot handle signals")?;
        let account;
        (account, has_begun) = run_once(launched, &mut opened, &mut namer, &command)?;
        // Without books, further runs would count nothing.
        let has_failed = account.exit_code != 0 || account.missing.ended.is_some();
        accounts.push(account);
        if has_failed || signals.have_come.load(Ordering::Relaxed) {
            break;
        }
    }
    let code = accounts.last().map_or(0, code_with);
    let is_json = arguments.format == Format::Json;
    let text = match &*accounts {
        [account] if arguments.repeat == 1 && is_json => account.json(),
        [account] if arguments.repeat == 1 => account.text(),
        accounts if is_json => repeated::json(accounts),
        accounts => repeated::text(accounts, arguments.repeat),
    };
    let written = match &mut file {
        Some(file) => file.write_all(text.as_bytes()),
        // A command that could not be executed has used nothing: the launcher has said why.
        None if !has_begun && arguments.format == Format::Text => Ok(()),
        None => std::io::stderr().write_all(text.as_bytes()),
    };
    end_as(code, written.context("the account cannot be written"))
}

/// Lets a command begin, and takes its account. Returns whether it could be executed, too.
fn run_once<'a>(
    mut launched: Launched,
    opened: &mut Opened,
    namer: &mut Namer,
    command: &'a [String],
) -> anyhow::Result<(Account<'a>, bool)> {
    let of_launcher = launched.used;
    let before = Counted::of(UsageWho::RUSAGE_CHILDREN).context("getrusage")?;
    let begin_ns = machine::monotonic_ns();
    launched.go().context("the command did not begin")?;
    let ended = wait_for(launched, opened.waker.clone())?;
    let mut descent = Descent::of(Pid(std::process::id().cast_signed()));
    let (end, missing) = collect(&mut opened.collector, (&mut descent, namer), begin_ns, &ended)?;
    let End { status, end_ns, has_begun } = end;
    let real_ns = end_ns.saturating_sub(begin_ns);
    let tree = descent.finish(clock::boottime(), real_ns, is_alive);
    let counted = Counted::of(UsageWho::RUSAGE_CHILDREN).context("getrusage")?;
    let mut counted = counted.since(&before.and(&of_launcher));
    // Of what was waited for before, and of the launcher, there is a size too.
    let least_bytes = before.max_rss_bytes.max(of_launcher.max_rss_bytes + LAUNCHER_GROWS_BYTES);
    let max_rss_bytes = Some(counted.max_rss_bytes).filter(|bytes| *bytes > least_bytes);
    for member in &tree.running {
        counted.user_ns += member.split_ns[0];
        counted.system_ns += member.split_ns[1];
    }
    let split = [counted.user_ns, counted.system_ns];
    [counted.user_ns, counted.system_ns] = within(split, tree.booked_ns - tree.stolen_ns);
    let (exit_code, source) = (launch::code_of(status), opened.source);
    let account = Account { command, exit_code, source, real_ns, counted, max_rss_bytes, tree, missing };
    Ok((account, has_begun))
}

/// That of the command; of one that has succeeded, that of a failure, if its account ends before it.
fn code_with(account: &Account<'_>) -> u8 {
    if account.exit_code == 0 && account.missing.ended.is_some() { 1 } else { account.exit_code }
}

/// The exit code of the command counts. Only one that has succeeded leaves room for what went wrong here.
fn end_as(code: u8, written: anyhow::Result<()>) -> anyhow::Result<()> {
    if code == 0 {
        return written;
    }
    if let Err(error) = written {
        output::warn(&format!("{error:#}"));
    }
    Err(Failure::OfCommand(code).into())
}

/// User and system time as parts of the whole: they are divided by ticks, and by another clock than the books.
fn within([user_ns, system_ns]: [u64; 2], whole_ns: u64) -> [u64; 2] {
    let told_ns = u128::from(user_ns) + u128::from(system_ns);
    if told_ns <= whole_ns.into() {
        return [user_ns, system_ns];
    }
    let user_ns = u128::from(user_ns) * u128::from(whole_ns) / told_ns;
    let user_ns = u64::try_from(user_ns).unwrap_or(whole_ns);
    [user_ns, whole_ns - user_ns]
}

/// The books that are read.
struct Opened {
    collector: Collector,
    /// Ends its running interval.
    waker: Waker,
    source: &'static str,
}

impl Opened {
    /// Those that are asked for: without `--source` and `--socket` those of the service, if it can be used.
    fn of(arguments: &Arguments) -> anyhow::Result<Opened> {
        match arguments.source {
            Source::Ledger => Opened::as_source(SourceKind::Ledger),
            Source::Service => Opened::as_source(SourceKind::Service),
            // A socket that was named is to be used, or else it is said why it cannot be.
            Source::Auto if arguments.socket.is_some() => Opened::as_source(SourceKind::Service),
            Source::Auto if listens() => Opened::as_source(SourceKind::Service)
                .or_else(|of_service| Opened::as_source(SourceKind::Ledger).map_err(|_| of_service)),
            Source::Auto => Opened::as_source(SourceKind::Ledger).map_err(without_service),
        }
    }

    fn as_source(source: SourceKind) -> anyhow::Result<Opened> {
        let wanted = make!(Wanted { source: Some(source) });
        let collector = Collector::open(wanted, Taker::Text)?;
        let waker = collector.intervals.waker();
        Ok(Opened { collector, waker, source: source.name() })
    }
}

/// What is advised where neither the service runs nor the ledger can be used.
fn without_service(error: anyhow::Error) -> anyhow::Error {
    match error.downcast::<Error>() {
        Ok(Error::Client(cpuledger_client::Error::Unusable { source_kind, reason })) => {
            let advice = "start the service, `cpuledger serve`, for all users of this machine";
            Error::unusable(source_kind, reason.replace(LEAVE_OUT, advice)).into()
        }
        Ok(error) => error.into(),
        Err(error) => error,
    }
}

/// A word that looks like an option is none of a command, unless `--` says so.
fn refuse_option(command: &[OsString]) -> Result<(), Failure> {
    let Some(word) = command.first().map(|word| word.to_string_lossy()).filter(|word| word.starts_with('-'))
    else {
        return Ok(());
    };
    let mut words = std::env::args_os().skip_while(|own| *own != "--").skip(1);
    if words.next().as_ref() == command.first() {
        return Ok(());
    }
    Err(Failure::Usage(format!("run has no option `{word}`; a command that begins with - comes after --")))
}

/// Signals to this process. What the terminal sends reaches the command by itself; what is sent to this process is passed on.
#[derive(Default)]
struct Signals {
    /// The command that runs.
    pidfd: Arc<Mutex<Option<OwnedFd>>>,
    /// After the first of them no other run begins.
    have_come: Arc<AtomicBool>,
}

impl Signals {
    /// From now on they do not end this process.
    fn watch() -> anyhow::Result<Signals> {
        let own = Signals::default();
        for signal in [SIGINT, SIGQUIT, SIGTERM, SIGHUP] {
            flag::register(signal, Arc::clone(&own.have_come))?;
        }
        for (number, signal) in [(SIGTERM, Signal::TERM), (SIGHUP, Signal::HUP)] {
            let (mut reader, writer) = std::io::pipe()?;
            let pidfd = Arc::clone(&own.pidfd);
            thread::Builder::new().name("signals".into()).spawn(move || {
                while reader.read(&mut [0]).is_ok_and(|count| count > 0) {
                    if let Some(pidfd) = &*pidfd.lock().unwrap_or_else(PoisonError::into_inner) {
                        // It may have ended.
                        let _ = pidfd_send_signal(pidfd.as_fd(), signal);
                    }
                }
            })?;
            low_level::pipe::register(number, writer)?;
        }
        Ok(own)
    }

    /// From now on this command gets them.
    fn pass_on_to(&self, pidfd: &OwnedFd) -> std::io::Result<()> {
        *self.pidfd.lock().unwrap_or_else(PoisonError::into_inner) = Some(pidfd.try_clone()?);
        Ok(())
    }
}

/// The end of the command.
#[derive(Debug, Clone, Copy)]
struct End {
    status: ExitStatus,
    /// CLOCK_MONOTONIC.
    end_ns: u64,
    /// Whether it could be executed.
    has_begun: bool,
}

/// Waits for the command on a thread of its own.
fn wait_for(launched: Launched, waker: Waker) -> anyhow::Result<Receiver<std::io::Result<End>>> {
    let (told, ended) = mpsc::channel();
    let wait = move || {
        let ended = launched.wait().map(|(status, has_begun)| End {
            status,
            end_ns: machine::monotonic_ns(),
            has_begun,
        });
        let _ = told.send(ended);
        waker.wake();
    };
    thread::Builder::new().name("wait".into()).spawn(wait).context("cannot start a thread")?;
    Ok(ended)
}

/// Unit and container of a process, as far as its cgroup says.
fn learn(named: &Named, subject: Subject<'_>, places: &mut Places) {
    let dead;
    let task = match subject {
        Subject::Living(task) => task,
        Subject::Dead(exited) => {
            dead = exited_row(exited);
            &dead.task
        }
    };
    for (own, key) in [(&mut places.unit, NameKey::Unit), (&mut places.container, NameKey::Container)] {
        match named.group(task, key) {
            Grouped::Name(name) => *own = Some(escaped(&name)),
            Grouped::None => *own = None,
            // What was known of it is not unknown because it is gone.
            Grouped::Unknown => {}
        }
    }
}

/// Takes intervals until one ends after the command. If the source fails, the command is waited for all the same.
fn collect(
    collector: &mut Collector,
    (descent, namer): (&mut Descent, &mut Namer),
    begin_ns: u64,
    ended: &Receiver<std::io::Result<End>>,
) -> anyhow::Result<(End, Missing)> {
    let mut end: Option<End> = None;
    let (mut missing, mut booked_until_ns) = (Missing::default(), begin_ns);
    loop {
        if let Err(error) = collector.close() {
            let why = format!("{error:#}");
            output::warn(&format!("the account ends before the command: {why}"));
            let end = match end {
                Some(end) => end,
                None => ended.recv().context("the command cannot be waited for")??,
            };
            missing.without_books_ns += end.end_ns.saturating_sub(booked_until_ns);
            missing.ended = Some(why);
            return Ok((end, missing));
        }
        let interval = &collector.intervals.interval;
        namer.begin();
        namer.learn_interval(interval);
        let named = namer.named();
        descent.add(interval, &|subject, places| learn(&named, subject, places));
        missing.add(interval, begin_ns);
        booked_until_ns = booked_until_ns.max(interval.end_ns);
        if end.is_none()
            && let Ok(told) = ended.try_recv()
        {
            end = Some(told.context("the command cannot be waited for")?);
        }
        if let Some(end) = end.filter(|end| interval.end_ns > end.end_ns) {
            return Ok((end, missing));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_are_never_more_than_the_whole() {
        assert_eq!(within([300, 100], 1000), [300, 100]);
        assert_eq!(within([300, 100], 400), [300, 100]);
        assert_eq!(within([300, 101], 400), [299, 101]);
        assert_eq!(within([1, 1], 0), [0, 0]);
        assert_eq!(within([u64::MAX, u64::MAX], u64::MAX).iter().sum::<u64>(), u64::MAX);
    }

    #[test]
    fn an_account_that_is_lost_fails_a_command_that_has_not() {
        let lost = || Err(anyhow::anyhow!("no space left"));
        let code = |ended: anyhow::Result<()>| match ended.map_err(|error| error.downcast::<Failure>()) {
            Ok(()) => Some(0),
            Err(Ok(Failure::OfCommand(code))) => Some(code),
            Err(_) => None,
        };
        assert_eq!(
            [end_as(0, Ok(())), end_as(7, Ok(())), end_as(7, lost())].map(code),
            [Some(0), Some(7), Some(7)]
        );
        assert_eq!(code(end_as(0, lost())), None, "another failure");
    }
}
