//! `cpuledger serve`: one ledger, any number of readers.
//!
//! Two threads: one closes the intervals and publishes them, the other serves the control socket. A listing keeps the second busy, so that
//! no cut waits for it. Neither waits for a disk, the journal or the service manager: what it records, its lines for the journal, and a new
//! look at the configuration have threads of their own.
//!
//! # How it works
//!
//! `crates/cpuledger-service` is what a service with one ledger and its readers share. A frame is bytes to it.
//!
//! - **Rings** (`ring`): frames in a memfd, which readers map for reading only. Each entry of the directory has a sequence lock. A reader looks at it
//!   before and after it copies, and believes no word that it has read. In `ring/interleavings.rs`, loom runs the protocol through its interleavings. Each
//!   fence or look that is left out must show a torn frame.
//! - **Wakes are passed on.** Waking 1,000 readers took the owner 1.2 ms a frame. Now it wakes two, and each reader wakes two others at its own
//!   expense. The owner looks again after a tenth of the interval. By then even 1,000 readers have woken each other, and it finds nothing to
//!   do. `Ring::wake_rest` wakes those that a hostile reader has left asleep, 64 at a time. They are at the other one of two futexes than those that
//!   wait for the next frame.
//! - **Audiences** (`cpuledger_model::audience`): which rows and figures a user is shown. For each task, the kernel half reports what decides, beside users and
//!   groups, whether the kernel would let it be traced (`trace` of `cpuledger_task_rest`, without a branch). `audience/rules.rs` takes an
//!   interval apart, member by member, and puts together what a user gets: a member without a rule does not compile. What is not shown is taken out
//!   before a frame is encoded. The peer's user, groups and user namespace are the kernel's (`server/peer.rs`): the service asks no name service.
//! - **Without readers** no frame is encoded and no reader is woken: a ring gets the last interval when a reader subscribes. The cut is chosen when its interval
//!   begins, so the service wakes once an interval. With readers it wakes before the cut, too, since one that subscribes may shorten the interval.
//! - **Listings** hold the wanted fields alone, without usages. They are written row by row, and the rows are copied only for a user that is
//!   shown less than all. Threads of processes that have not run since the last listing are not visited again (`source/totals.rs`): what they have
//!   used is kept. The total is that, plus what the dead have left and what the leader has used, which each walk over the leaders reads. The slots
//!   and CPUs of the ledger tell which processes have run (`ledger/watch.rs`). A thread that has died changes what the dead have left, or the
//!   number of those alive. All that are shown everything share one frame. A reader decodes a row when it makes its line, in several
//!   threads. After a long listing for several callers, calls gather for five times as long, so that one walk answers them (`Handler::end_turn`).
//! - **Listings of threads** keep the records of threads whose process has not run (`source/totals.rs`). The machine has to have at least 2,000
//!   threads, and the fields have to be those that a thread changes only by running. A nice value is changed from outside. What the threads share, such as the parent or
//!   the terminal, is read each time. A thread that is woken is runnable before it runs: if /proc/loadavg counts more runnable tasks than the
//!   listing, all threads are visited. A process of which one thread runs is visited as a whole.
//! - **A new owner** makes a successor of each ring, with the old frames and numbers.
//! - **A ring that has ended** is no memory of the service, whatever readers keep of it. All locks are closed, then a hole is punched over the file; a reader takes
//!   the zeros for the end (`Retired::free`). For that, the ring has no seal against writing, which would forbid the hole.
//! - **How large rings are** (`cmd/serve/room.rs`): four of the longest frames, two if these are longer than 1 MiB. When frames need less than a quarter for 60 intervals,
//!   a smaller ring follows. The rings of users have 64 MiB together; a frame for which there is no room is missing in its ring, and its number says so.
//! - **A restart** (`cmd/serve/handover.rs`). The service manager keeps descriptors by name: maps and links (`ledger-…`), rings (`ring-…`) and `memory`,
//!   which is sealed. The reader remembers little of the protocol: the number of the interval, its start, its end if that is chosen, and the word that it wrote last of each CPU
//!   (`crates/cpuledger-bpf/src/ledger/kept.rs`). The rest is in the maps. What `source/ledger` remembers of tasks is written by serde and postcard (`kept.rs`
//!   there): 10 to 20 KB on a small machine. At its beginning is what both processes must have in common: the
//!   boot, the programs and maps (by a hash of the object), the table of fields, and a format. A test compares the format with what is written.
//! - **Nothing is kept of a service that was killed.** It may have been in the middle of a cut, where the accumulators are half taken. So all is handed
//!   over at a clean end, and none before.
//! - **Nothing waits for others.** The two threads write to no pipe, disk or socket that can be full. Lines for the journal queue for a thread, as
//!   intervals for a recording do (`cmd/serve/log.rs`). A message to the service manager for which its socket has no room is lost, and the next
//!   one says the same (`manager.rs`). Descriptors to keep must arrive, and have 5 s in all. A thread of its own reads the configuration
//!   again (`reload.rs`), because its file, or the names of users in it, may come from a network.
//! - **Control** (`varlink`, `client`, `server`): JSON over a Unix socket, the descriptors of rings by SCM_RIGHTS. All calls of a turn are read before the first is
//!   answered, so they may share a walk. The reference implementation in Python and varlinkctl call it in tests.
//! - **Whose memory an answer is.** The kernel charges pages of a memfd to the process that touches them first, so a listing in a memfd that a client keeps
//!   would be the service's memory for ever. A listing is sent by the socket instead, into memory of the client. It takes the service less CPU time
//!   than a memfd. What was sent and not read is the service's memory, too, even when it has closed the connection. So little is sent
//!   ahead, and a connection counts for its user until its peer has read what was sent (`server/connection.rs`, `server/unread.rs`). The alternative,
//!   a memfd of the client, would have the service take descriptors from any user. Closing one of those may take hours.

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
mod reload;
mod requests;
mod room;
mod signals;

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use clap::Args;
use cpuledger::SourceKind;
use cpuledger_model::make;
use cpuledger_program::output;
use cpuledger_service::client::socket_path;
use cpuledger_service::inherited;
use cpuledger_service::server::{Ended, Limits, Server, SocketFile, listen};

use self::audiences::Audiences;
use self::books::{Books, Seat};
use self::config::Config;
use self::control::Control;
use self::handover::Left;
use self::log::{Journal, log};
use self::recording::Recording;
use self::reload::Reload;
use self::signals::{Asked, Signals};
use crate::cmd::top::options::parse_length;
use crate::privileges;

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
/// After that time it repeats what the manager had no room for.
const SAY_AGAIN: Duration = Duration::from_secs(1);
/// Files that the service has open itself, at most, beside rings: 70 with the ledger, 20 for a walk, and 70 more while a larger ledger
/// begins.
const OWN_FILES: usize = 192;
/// One that can be written, and one for readers.
const FILES_OF_RING: usize = 2;
/// A connection is a file, and another one goes with a reply.
const FILES_OF_CONNECTION: usize = 2;
/// With fewer connections it would be of no use.
const LEAST_CONNECTIONS: usize = 16;

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
    let (config, origin) = Config::read(arguments.config.as_deref(), None)?;
    let config = config.with_interval(arguments.interval);
    if arguments.check_config {
        return output::write(config.to_string().as_bytes());
    }
    let journal = Journal;
    let files = privileges::raise_open_files();
    let most_connections = connections_of(files, config.limits.rings)?;
    let mut left = Left::of(inherited()?);
    let (listener, _socket) = listener(arguments, std::mem::take(&mut left.sockets))?;
    let (keeping, rings) = left.take_up()?;
    let seat = Seat::take()?;
    // Its thread looks at all cgroups that are there, before the first interval.
    privileges::watch_names_as_service();
    privileges::give_up_as_service(SourceKind::Ledger)?;
    journal.start().context("cannot begin a thread")?;
    let signals = Signals::watch().context("cannot wait for signals")?;
    let audiences = Arc::new(Audiences::new(rings)?);
    let attached_ns = keeping.course.attached_ns;
    let recording = Arc::new(Recording::default());
    recording.configure(config.recording());
    let of_books = (Arc::clone(&audiences), Arc::clone(&recording));
    let books =
        Books::start(seat, keeping, (config.bounds(), config.accounts.own), of_books, signals.waker()?)?;
    let limits = make!(Limits {
        connections: config.limits.connections.min(most_connections),
        connections_of_user: config.limits.connections_per_user,
    });
    if limits.connections < config.limits.connections {
        log(&format!("serves {} connections at most, as it may have {files} files open", limits.connections));
    }
    let mut server = Server::new(listener, env!("CARGO_PKG_VERSION"), limits)?;
    server.watch(&signals)?;
    let mut control = Control::new(config, Arc::clone(&audiences), books.clone(), attached_ns);
    control.prepare_listings();
    let asked = (arguments.config.clone(), arguments.interval);
    let mut reload = Reload::new(asked, origin, Arc::clone(&recording), signals.waker()?);
    let served = serve(&mut server, &mut control, &mut reload, &books, &signals);
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

/// How many connections there may be where the process may have that many files open, some of them rings.
fn connections_of(files: usize, rings: usize) -> anyhow::Result<usize> {
    let own = OWN_FILES.saturating_add(rings.saturating_mul(FILES_OF_RING));
    let least = own.saturating_add(FILES_OF_CONNECTION * LEAST_CONNECTIONS);
    ensure!(
        files >= least,
        "the service needs {least} open files, and its limit is {files}: raise it (ulimit -n, or LimitNOFILE= of the unit)"
    );
    Ok((files - own) / FILES_OF_CONNECTION)
}

/// The loop of the control socket.
fn serve(
    server: &mut Server,
    control: &mut Control,
    reload: &mut Reload,
    books: &Books,
    signals: &Signals,
) -> anyhow::Result<()> {
    let turn = sd_notify::watchdog_enabled().map_or(LONGEST_TURN, |time| (time / 3).min(LONGEST_TURN));
    loop {
        let is_heard = !books.is_alive() || manager::alive(server.connections(), !reload.is_running());
        let turn = if is_heard { turn } else { turn.min(SAY_AGAIN) };
        let ended = server.serve_until(Instant::now() + turn, control)?;
        if ended == Ended::Deadline {
            continue;
        }
        match signals.take() {
            Asked::End => {
                log("ends, as a signal asks for it");
                return Ok(());
            }
            Asked::Reload => reload.ask(),
            Asked::Nothing => {}
        }
        if let Some(config) = reload.take() {
            control.configure(config);
        }
        if let Some(error) = books.failure() {
            return Err(error.context("the ledger has failed"));
        }
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
    let (listener, file) = listen(&path)?;
    log(&format!("listens at {}", path.display()));
    Ok((listener, Some(file)))
}
