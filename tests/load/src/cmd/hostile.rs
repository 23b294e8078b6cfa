//! `hostile`: a user that tries to harm the service, by calls that it writes itself.

use std::collections::VecDeque;
use std::io::{IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use anyhow::{Context, Result};
use clap::ValueEnum;
use cpuledger_load::become_user;
use rustix::fs::fstat;
use rustix::mm::{MapFlags, ProtFlags, mmap};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use rustix::process::{Resource, Rlimit, Signal, getpid, getrlimit, kill_process, setrlimit};

use super::release::Release;

/// What is kept at a time, below the limits that systems have on mappings and, for users, on open files.
const MOST_KEPT: usize = 50_000;
/// Connections that are kept at a time: the service has 1,024 of a user.
const MOST_CONNECTIONS: usize = 1_000;
/// Connections that each ask for short intervals.
const SUBSCRIPTIONS: usize = 64;
/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_secs(2);
/// Between calls that make something new, and after one that was refused.
const PAUSE: Duration = Duration::from_millis(5);

/// Fields whose columns are long.
const FIELDS: [&str; 12] = [
    "comm",
    "ppid",
    "uid",
    "state",
    "runtime_ns",
    "user_ns",
    "system_ns",
    "rss_bytes",
    "vsize_bytes",
    "minor_faults",
    "voluntary_switches",
    "processor",
];

/// A user that asks the service for more than it needs, and keeps it
///
/// Prints `ready` when it has begun, and goes on until stdin is closed or SIGTERM comes. Then it prints `done calls=… kept=…`. It needs
/// root, to become that user.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The socket of the service
    #[arg(long, value_name = "PATH")]
    socket: PathBuf,
    /// The user that it becomes
    #[arg(long, value_name = "N")]
    uid: u32,
    /// What it does
    #[arg(long, value_enum)]
    act: Act,
}

/// What a hostile user does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Act {
    /// Lists tasks, and keeps what comes: descriptors, or connections that it does not read
    Listings,
    /// Subscribes, and keeps the ring, mapped
    Rings,
    /// Sends no calls, halves of calls, and calls whose answers it does not read
    Garbage,
    /// Asks for the shortest intervals, by many connections, and for shorter ones
    Intervals,
    /// Subscribes, and stops
    Stopped,
}

/// What it has done.
#[derive(Default)]
struct Count {
    calls: AtomicU64,
    kept: AtomicU64,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let most = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: most, maximum: most })
        .context("raise the limit of open files")?;
    // All threads that follow are of that user.
    become_user(arguments.uid)?;
    let release = Release::new()?;
    let count: &'static Count = Box::leak(Box::default());
    let (socket, act) = (arguments.socket.clone(), arguments.act);
    std::thread::spawn(move || match act {
        Act::Listings => keep_listings(&socket, count),
        Act::Rings => keep_rings(&socket, count),
        Act::Garbage => send_garbage(&socket, count),
        Act::Intervals => ask_for_intervals(&socket, count),
        Act::Stopped => stop(&socket, count),
    });
    println!("ready");
    release.wait(None)?;
    println!("done calls={} kept={}", count.calls.load(Relaxed), count.kept.load(Relaxed));
    Ok(())
}

/// A call with its NUL.
fn call(method: &str, more: &str, parameters: &str) -> String {
    format!("{{\"method\":\"io.cpuledger.Ledger.{method}\"{more},\"parameters\":{{{parameters}}}}}\0")
}

fn subscribe(parameters: &str) -> String {
    call("Subscribe", "", parameters)
}

/// Connects, and sends these bytes. `None`: the service does not take it.
fn send(socket: &Path, bytes: &str, count: &Count) -> Option<UnixStream> {
    let mut stream = UnixStream::connect(socket).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    stream.set_write_timeout(Some(PATIENCE)).ok()?;
    stream.write_all(bytes.as_bytes()).ok()?;
    count.calls.fetch_add(1, Relaxed);
    Some(stream)
}

/// The beginning of an answer, and the descriptors beside it.
fn answer(stream: &UnixStream) -> (Vec<u8>, Vec<OwnedFd>) {
    let (mut bytes, mut descriptors) = (vec![0; 65_536], Vec::new());
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let room = &mut [IoSliceMut::new(&mut bytes)];
    let Ok(received) = recvmsg(stream, room, &mut control, RecvFlags::CMSG_CLOEXEC) else {
        return (Vec::new(), descriptors);
    };
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            descriptors.extend(rights);
        }
    }
    bytes.truncate(received.bytes);
    (bytes, descriptors)
}

fn is_refused(answer: &[u8]) -> bool {
    answer.is_empty() || answer.windows(8).any(|window| window == b"\"error\":")
}

/// Keeps something, and drops the oldest where there is too much.
fn keep<T>(kept: &mut VecDeque<T>, one: T, most: usize, count: &Count) {
    if kept.len() >= most {
        kept.pop_front();
    }
    kept.push_back(one);
    count.kept.store(kept.len() as u64, Relaxed);
}

fn keep_listings(socket: &Path, count: &Count) {
    let (mut descriptors, mut unread) = (VecDeque::new(), VecDeque::new());
    for round in 0.. {
        // Other fields are another frame.
        let fields: Vec<String> =
            (0..FIELDS.len() - round % 3).map(|at| format!("\"{}\"", FIELDS[at])).collect();
        let parameters = format!("\"scope\":\"tasks\",\"fields\":[{}]", fields.join(","));
        let Some(mut stream) = send(socket, &call("List", ",\"upgrade\":true", &parameters), count) else {
            std::thread::sleep(PAUSE);
            continue;
        };
        if round % 4 == 3 {
            keep(&mut unread, stream, MOST_CONNECTIONS / 2, count);
            continue;
        }
        let (begin, rights) = answer(&stream);
        if is_refused(&begin) {
            std::thread::sleep(PAUSE);
        } else if rights.is_empty() {
            // What follows is read for a while, and not to its end.
            let _ = stream.read_exact(&mut vec![0; 100_000]);
        }
        rights.into_iter().for_each(|fd| keep(&mut descriptors, fd, MOST_KEPT, count));
    }
}

fn keep_rings(socket: &Path, count: &Count) {
    let mut kept = VecDeque::new();
    for round in 0.. {
        let audience = ["proc", "self"][round % 2];
        let stream = send(socket, &subscribe(&format!("\"audience\":\"{audience}\"")), count);
        if let Some(stream) = stream {
            for ring in answer(&stream).1 {
                map(&ring);
                keep(&mut kept, ring, MOST_KEPT, count);
            }
        }
        std::thread::sleep(PAUSE);
    }
}

/// Maps a file for as long as this process lives, and touches each page.
fn map(file: impl AsFd) {
    let length = fstat(&file).map_or(0, |stat| stat.st_size.unsigned_abs() as usize);
    // SAFETY: a new mapping, which is never unmapped.
    let Ok(address) =
        (unsafe { mmap(std::ptr::null_mut(), length, ProtFlags::READ, MapFlags::SHARED, &file, 0) })
    else {
        return;
    };
    for place in (0..length).step_by(4096) {
        // SAFETY: it is within the mapping, and a byte may hold anything.
        let _ = unsafe { address.cast::<u8>().add(place).read_volatile() };
    }
}

fn send_garbage(socket: &Path, count: &Count) {
    let describe = call("Describe", "", "");
    let long = "x".repeat(40_000);
    let kinds = [
        "{".to_owned(),
        "\0".to_owned(),
        format!("{{\"method\":\"{long}"),
        describe[..describe.len() / 2].to_owned(),
        // Answers that are not read, of a connection that the service then closes.
        format!("{describe}\0"),
        describe.repeat(20),
    ];
    let mut kept = VecDeque::new();
    for round in 0.. {
        match send(socket, &kinds[round % kinds.len()], count) {
            Some(stream) => keep(&mut kept, stream, MOST_KEPT, count),
            None => std::thread::sleep(PAUSE),
        }
        if round % 64 == 0 {
            std::thread::sleep(PAUSE);
        }
    }
}

fn ask_for_intervals(socket: &Path, count: &Count) {
    let mut kept = VecDeque::new();
    for round in 0.. {
        let both = subscribe("\"interval_ns\":100000000") + &subscribe("\"interval_ns\":1");
        if let Some(stream) = send(socket, &both, count) {
            let _ = answer(&stream);
            keep(&mut kept, stream, SUBSCRIPTIONS, count);
        }
        // When all are there, one after the other is replaced.
        std::thread::sleep(if round < SUBSCRIPTIONS { PAUSE } else { 40 * PAUSE });
    }
}

fn stop(socket: &Path, count: &Count) {
    let mut kept = VecDeque::new();
    for _ in 0..SUBSCRIPTIONS {
        if let Some(stream) = send(socket, &subscribe(""), count) {
            answer(&stream).1.iter().for_each(map);
            keep(&mut kept, stream, SUBSCRIPTIONS, count);
        }
    }
    let _ = kill_process(getpid(), Signal::STOP);
    // It was continued, to end.
    drop(kept);
}
