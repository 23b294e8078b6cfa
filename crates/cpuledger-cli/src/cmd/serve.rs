//! `cpuledger serve`: one ledger, any number of readers.
//!
//! Two threads: one closes the intervals and publishes them, the other serves the control socket. A listing keeps the second busy, so that
//! no cut waits for it. Where it records, a third one writes.

mod audiences;
mod books;
mod budget;
mod config;
mod control;
mod handover;
mod listing;
mod log;
mod manager;
mod recording;
mod room;
mod signals;

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use clap::Args;
use cpuledger::SourceKind;
use cpuledger_service::client::socket_path;
use cpuledger_service::inherited;
use cpuledger_service::server::{Ended, Limits, Server, listen};

use self::audiences::Audiences;
use self::books::Books;
use self::config::Config;
use self::control::Control;
use self::handover::Left;
use self::log::log;
use self::recording::Recording;
use self::signals::{Asked, Signals};
use crate::privileges;
use crate::{cmd::top::options::parse_length, output};

/// What follows the options in the help.
pub const AFTER_HELP: &str = "\
Examples:
  sudo cpuledger serve                        readers may subscribe at /run/cpuledger/io.cpuledger.Ledger
  cpuledger serve --check-config              explains the configuration

A service manager may give it the socket: packaging/systemd has units. docs/service.md says which user is shown what.

SIGHUP reads the configuration again; SIGTERM ends it. Exit codes: 0 ended; 1 the service failed; 2 wrong option or configuration;
3 the ledger cannot be attached.";

/// How often the service tells its manager of its readers, if the manager does not ask for signs of life more often.
const LONGEST_TURN: Duration = Duration::from_secs(60);

/// The options of `serve`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The configuration; otherwise /etc/cpuledger/config.toml, if it is there
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The socket that readers connect to; otherwise $CPULEDGER_SOCKET or /run/cpuledger/io.cpuledger.Ledger
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Length of an interval in seconds, whatever the configuration says
    #[arg(long, value_name = "SECONDS", value_parser = |text: &str| parse_length("--interval", text))]
    interval: Option<u64>,
    /// Check the configuration, explain it, and end
    #[arg(long)]
    check_config: bool,
}

/// Serves until a signal asks for the end.
///
/// # Errors
/// When the configuration is wrong, there is no socket to serve, or the ledger cannot be attached or fails.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    privileges::refuse_setuid()?;
    let config = read(arguments)?;
    if arguments.check_config {
        return output::write(config.to_string().as_bytes());
    }
    privileges::raise_open_files();
    let mut left = Left::of(inherited()?);
    let (listener, _socket) = listener(arguments, std::mem::take(&mut left.sockets))?;
    let (keeping, rings) = left.take_up()?;
    privileges::give_up_as_service(SourceKind::Ledger)?;
    let signals = Signals::watch().context("cannot wait for signals")?;
    let audiences = Arc::new(Audiences::new(rings)?);
    let attached_ns = keeping.course.attached_ns;
    let recording = Arc::new(Recording::default());
    recording.configure(config.recording());
    let of_books = (Arc::clone(&audiences), Arc::clone(&recording));
    let books = Books::start(keeping, config.interval_ns, of_books, signals.waker()?)?;
    let limits = Limits {
        connections: config.limits.connections,
        connections_of_user: config.limits.connections_per_user,
        ..Limits::default()
    };
    let mut server = Server::new(listener, env!("CARGO_PKG_VERSION"), limits)?;
    server.watch(&signals)?;
    let mut control = Control::new(config, Arc::clone(&audiences), books.clone(), attached_ns);
    manager::ready();
    let served = serve(arguments, &mut server, (&mut control, &recording), &books, &signals);
    manager::stopping();
    let keeping = books.stop();
    served?;
    if let Some(keeping) = keeping.filter(|_| manager::may_keep())
        && let Err(error) = handover::leave(keeping, &audiences)
    {
        log(&format!("cannot leave the ledger with the service manager: {error:#}"));
    }
    recording.end();
    Ok(())
}

/// The loop of the control socket.
fn serve(
    arguments: &Arguments,
    server: &mut Server,
    (control, recording): (&mut Control, &Recording),
    books: &Books,
    signals: &Signals,
) -> anyhow::Result<()> {
    let turn = manager::watchdog().map_or(LONGEST_TURN, |time| (time / 3).min(LONGEST_TURN));
    loop {
        let ended = server.serve_until(Instant::now() + turn, control)?;
        if books.is_alive() {
            manager::alive(server.connections());
        }
        if ended == Ended::Deadline {
            continue;
        }
        match signals.take() {
            Asked::End => {
                log("ends, as a signal asks for it");
                return Ok(());
            }
            Asked::Reload => reload(arguments, control, recording),
            Asked::Nothing => {}
        }
        if let Some(error) = books.failure() {
            return Err(error.context("the ledger has failed"));
        }
    }
}

/// Takes the configuration as it is now. If it is wrong, the old one goes on.
fn reload(arguments: &Arguments, control: &mut Control, recording: &Recording) {
    manager::reloading();
    match read(arguments) {
        Ok(config) => {
            let place = config.recording();
            control.configure(config);
            recording.configure(place);
            log("has read its configuration again");
        }
        Err(error) => log(&format!("goes on with its old configuration: {error:#}")),
    }
    manager::ready();
}

fn read(arguments: &Arguments) -> anyhow::Result<Config> {
    let config = Config::read(arguments.config.as_deref())?;
    Ok(match arguments.interval {
        Some(interval_ns) => config.with_interval(interval_ns),
        None => config,
    })
}

/// A socket file that this service has made, and removes.
struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The socket of the service manager, else one of its own.
fn listener(arguments: &Arguments, sockets: Vec<OwnedFd>) -> anyhow::Result<(OwnedFd, Option<SocketFile>)> {
    ensure!(sockets.len() <= 1, "the service manager has handed over more than one socket; hand over one");
    if let Some(listener) = sockets.into_iter().next() {
        return Ok((listener, None));
    }
    let path = arguments.socket.clone().unwrap_or_else(socket_path);
    if let Some(folder) = path.parent() {
        // If it cannot be made, the socket says why.
        let _ = std::fs::create_dir_all(folder);
    }
    let listener = listen(&path)?;
    log(&format!("listens at {}", path.display()));
    Ok((listener, Some(SocketFile(path))))
}
