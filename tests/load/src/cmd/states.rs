//! `states`: one workload for each thing that a task can do while it is on no CPU.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rustix::fs::{Advice, fadvise};
use rustix::process::{
    Pid, Signal, WaitOptions, getpid, kill_process, set_parent_process_death_signal, waitpid,
};
use rustix::thread::{CpuSet, futex, sched_setaffinity};

use super::kin::make::vfork;
use super::kin::member::{say, status_of, wait_for_byte};
use super::sys;
use super::watch::{Did, Watch, monotonic_ns};

/// Tasks that do one thing while they are on no CPU, and say how long, by clocks of their own
///
/// Prints `ready pid=…`. At a byte on stdin each task wakes, so that a ledger has seen it. At the next one they work for the stated
/// time. Then each task prints, in one write, `did tid=…
/// begin_ns=… end_ns=… off_ns=… least_ns=… most_ns=… run_delay_ns=… block_ticks=… switches=…`. They live until stdin is closed.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// What they do
    #[arg(long, value_name = "KIND")]
    kind: Kind,
    /// For how long, in milliseconds
    #[arg(long, value_name = "N", default_value_t = 2000)]
    ms: u64,
    /// How many processes, where the kind has many
    #[arg(long, value_name = "N", default_value_t = 1)]
    processes: usize,
    /// The CPU they are bound to
    #[arg(long, value_name = "N")]
    cpu: Option<usize>,
    /// The file to read or write; one to read must be on a disk, and `disk` needs O_DIRECT
    #[arg(long, value_name = "PATH")]
    file: Option<PathBuf>,
}

/// What tasks do.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    /// Use the CPU
    Spin,
    /// Sleep for 1 ms, again and again
    Usleep,
    /// Wait for a byte from a pipe, again and again
    Pipe,
    /// Wait for a thread at a futex, which waits for this one
    Futex,
    /// Two threads, the leader and another, fight for a mutex, and work with and without it
    Mutex,
    /// Are stopped by SIGSTOP, and continued, again and again
    Stop,
    /// Wait for a child that borrows their memory
    Vfork,
    /// Wait all the time for one child that borrows their memory, beside a thread that sleeps for 1 ms, again and again
    Hung,
    /// Read a file past the page cache
    Disk,
    /// Read a file through the page cache, from which its pages are dropped each time
    Cold,
    /// Write to a file and have it written to the disk, without end
    Sync,
}

/// How long each sleep is, where it is short.
const NAP: Duration = Duration::from_millis(1);
/// How long each wait is.
const TURN: Duration = Duration::from_millis(10);
const BLOCK_BYTES: usize = 1024 * 1024;
/// Waiters at a futex; the kernel takes the number as signed.
const ALL: u32 = i32::MAX as u32;
const PAGE_BYTES: usize = 4096;

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let length_ns = arguments.ms * 1_000_000;
    if let Some(cpu) = arguments.cpu {
        let mut only = CpuSet::new();
        only.set(cpu);
        sched_setaffinity(None, &only).context("bind to a CPU")?;
    }
    let file = || arguments.file.as_deref().context("--file is missing");
    match arguments.kind {
        Kind::Spin => spin(arguments.processes, length_ns)?,
        Kind::Usleep => alone(|watch| usleep(watch, length_ns))?,
        Kind::Pipe => pipe(length_ns)?,
        Kind::Futex => futexes(length_ns)?,
        Kind::Mutex => fight(length_ns)?,
        Kind::Stop => stop(length_ns)?,
        Kind::Vfork => alone(|watch| vforks(watch, length_ns, 5 * TURN))?,
        Kind::Hung => {
            thread::spawn(|| {
                loop {
                    thread::sleep(NAP);
                }
            });
            alone(|watch| vforks(watch, length_ns, Duration::from_nanos(length_ns)))?;
        }
        Kind::Disk => {
            let file = DirectFile::open(file()?)?;
            alone(|watch| file.read_until(watch, length_ns))?;
        }
        Kind::Cold => {
            let file = File::open(file()?).context("open the file to read")?;
            alone(|watch| read_cold(&file, watch, length_ns))?;
        }
        Kind::Sync => {
            let file = file()?;
            alone(|_| sync(file, length_ns))?;
        }
    }
    std::io::stdin().read_to_end(&mut Vec::new()).context("wait for the end")?;
    Ok(())
}

/// Waits for the word to be seen.
fn wait_for_look() -> Result<()> {
    say(&format!("ready pid={}\n", getpid().as_raw_pid()))?;
    wait_for_byte()
}

/// The leader does it itself.
fn alone(work: impl FnOnce(&mut Watch) -> Result<Did>) -> Result<()> {
    wait_for_look()?;
    let mut watch = Watch::new()?;
    wait_for_byte()?;
    watch.begin();
    let did = work(&mut watch)?;
    watch.end(did)
}

/// Processes that wait for the byte of their start, and then for the end of their parent.
fn children(count: usize, work: impl Fn(&mut Watch) -> Result<Did>) -> Result<()> {
    let (mut hear, mut tell) = std::io::pipe().context("make a pipe")?;
    let (mut hear_look, mut tell_look) = std::io::pipe().context("make a pipe")?;
    for _ in 0..count {
        let mut life = || {
            hear_look.read_exact(&mut [0]).context("wait to be seen")?;
            let mut watch = Watch::new()?;
            hear.read_exact(&mut [0]).context("wait for the start")?;
            watch.begin();
            let did = work(&mut watch)?;
            watch.end(did)
        };
        sys::fork(move || match life() {
            Ok(()) => sys::sleep_for_ever(),
            failed => status_of(failed),
        })
        .context("make a child")?;
    }
    wait_for_look()?;
    tell_look.write_all(&vec![0; count]).context("wake them")?;
    wait_for_byte()?;
    tell.write_all(&vec![0; count]).context("begin")
}

fn spin(processes: usize, length_ns: u64) -> Result<()> {
    children(processes, |watch| {
        while watch.elapsed_ns() < length_ns {
            (0..2_000_u32).for_each(|number| {
                std::hint::black_box(number);
            });
        }
        Ok(Did::Off)
    })
}

fn usleep(watch: &Watch, length_ns: u64) -> Result<Did> {
    let (mut least_ns, mut most_ns) = (0, 0);
    while watch.elapsed_ns() < length_ns {
        let begin_ns = monotonic_ns();
        thread::sleep(NAP);
        most_ns += monotonic_ns() - begin_ns;
        least_ns += NAP.as_nanos() as u64;
    }
    Ok(Did::Between(least_ns, most_ns))
}

/// A child sleeps and tells it, and this one waits for that.
fn pipe(length_ns: u64) -> Result<()> {
    let (mut hear, mut tell) = std::io::pipe().context("make a pipe")?;
    let (mut hear_go, mut tell_go) = std::io::pipe().context("make a pipe")?;
    let mut speak = || -> Result<()> {
        loop {
            hear_go.read_exact(&mut [0])?;
            thread::sleep(TURN);
            tell.write_all(b"+")?;
        }
    };
    sys::fork(|| status_of(speak())).context("make a child")?;
    alone(|watch| {
        let mut least_ns = 0;
        while watch.elapsed_ns() < length_ns {
            tell_go.write_all(b"+").context("tell")?;
            hear.read_exact(&mut [0]).context("hear")?;
            least_ns += TURN.as_nanos() as u64;
        }
        Ok(Did::AtLeast(least_ns))
    })
}

/// Two threads, each of which sleeps while the other waits for it.
fn futexes(length_ns: u64) -> Result<()> {
    const LOOK: u32 = u32::MAX - 1;
    /// One has ended: none waits any more.
    const END: u32 = 1 << 30;
    let turn = Arc::new(AtomicU32::new(u32::MAX));
    let set = |to| {
        turn.store(to, Ordering::SeqCst);
        futex::wake(&turn, futex::Flags::PRIVATE, ALL).context("wake the threads")
    };
    let begin = |own: u32, turn: Arc<AtomicU32>| {
        thread::spawn(move || -> Result<()> {
            await_turn(&turn, |turn| turn <= LOOK)?;
            let mut watch = Watch::new()?;
            await_turn(&turn, |turn| turn < LOOK)?;
            watch.begin();
            let mut slept_ns = 0;
            while watch.elapsed_ns() < length_ns {
                await_turn(&turn, |turn| turn >= END || turn % 2 == own)?;
                thread::sleep(TURN);
                slept_ns += TURN.as_nanos() as u64;
                turn.fetch_add(1, Ordering::SeqCst);
                futex::wake(&turn, futex::Flags::PRIVATE, ALL)?;
            }
            turn.store(END, Ordering::SeqCst);
            futex::wake(&turn, futex::Flags::PRIVATE, ALL)?;
            // While the other slept, this one waited; it may have begun or ended by that.
            let waited_ns = slept_ns.saturating_sub(2 * TURN.as_nanos() as u64);
            watch.end(Did::AtLeast(slept_ns + waited_ns))?;
            sys::sleep_for_ever()
        })
    };
    (0..2).for_each(|own| drop(begin(own, Arc::clone(&turn))));
    wait_for_look()?;
    set(LOOK)?;
    wait_for_byte()?;
    set(0)?;
    Ok(())
}

fn await_turn(turn: &AtomicU32, is_it: impl Fn(u32) -> bool) -> Result<()> {
    loop {
        let seen = turn.load(Ordering::SeqCst);
        if is_it(seen) {
            return Ok(());
        }
        match futex::wait(turn, futex::Flags::PRIVATE, seen, None) {
            Ok(()) | Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno).context("wait at a futex"),
        }
    }
}

/// A mutex that two threads want again and again. The one that finds it locked waits at its futex.
#[derive(Default)]
struct Fight {
    mutex: Mutex<()>,
    /// How often each has found it locked: the leader, and the other.
    found_locked: [AtomicU32; 2],
}

impl Fight {
    /// On a busy machine one of them may run alone for the whole length. So both go on until each has waited this often.
    const LEAST_WAITS: u32 = 5;

    fn is_over(&self) -> bool {
        self.found_locked.iter().all(|count| count.load(Ordering::SeqCst) >= Fight::LEAST_WAITS)
    }

    /// The part of the leader, 0, or of the other, 1.
    fn fight(&self, own: usize, watch: &Watch, length_ns: u64) -> Did {
        const WITH_NS: u64 = 400_000;
        const WITHOUT_NS: u64 = 100_000;
        let work = |cpu_ns: u64| {
            let begin_ns = sys::thread_cpu_ns();
            while sys::thread_cpu_ns() - begin_ns < cpu_ns {
                std::hint::spin_loop();
            }
        };
        while watch.elapsed_ns() < length_ns || !self.is_over() {
            // A thread that panics with it leaves nothing behind that the other could find broken.
            let held = match self.mutex.try_lock() {
                Ok(held) => held,
                Err(_) => {
                    self.found_locked[own].fetch_add(1, Ordering::SeqCst);
                    self.mutex.lock().unwrap_or_else(PoisonError::into_inner)
                }
            };
            work(WITH_NS);
            drop(held);
            work(WITHOUT_NS);
        }
        Did::AtLeast(0)
    }
}

/// The leader and a thread want the same mutex.
fn fight(length_ns: u64) -> Result<()> {
    let (shared, start) = (Arc::new(Fight::default()), Arc::new(Barrier::new(2)));
    let theirs = (Arc::clone(&shared), Arc::clone(&start));
    thread::spawn(move || -> Result<()> {
        let mut watch = Watch::new()?;
        theirs.1.wait();
        watch.begin();
        watch.end(theirs.0.fight(1, &watch, length_ns))?;
        sys::sleep_for_ever()
    });
    alone(|watch| {
        start.wait();
        Ok(shared.fight(0, watch, length_ns))
    })
}

/// Stops a child that waits for a pipe, and continues it. How long, the child hears at the end.
fn stop(length_ns: u64) -> Result<()> {
    let (mut hear, mut tell) = std::io::pipe().context("make a pipe")?;
    let mut life = || -> Result<()> {
        hear.read_exact(&mut [0])?;
        let mut watch = Watch::new()?;
        hear.read_exact(&mut [0])?;
        watch.begin();
        let mut bounds = [0; 16];
        hear.read_exact(&mut bounds).context("hear for how long it was stopped")?;
        let (least, most) = bounds.split_at(8);
        let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
        watch.end(Did::Between(number(least), number(most)))
    };
    let child = sys::fork(|| match life() {
        Ok(()) => sys::sleep_for_ever(),
        failed => status_of(failed),
    })
    .context("make a child")?;
    wait_for_look()?;
    tell.write_all(b"+").context("wake the child")?;
    wait_for_byte()?;
    tell.write_all(b"+").context("begin")?;
    let begin_ns = monotonic_ns();
    let (mut least_ns, mut most_ns) = (0, 0);
    while monotonic_ns() - begin_ns < length_ns {
        thread::sleep(TURN);
        let (least, most) = stop_once(child)?;
        least_ns += least;
        most_ns += most;
    }
    tell.write_all(&[least_ns.to_le_bytes(), most_ns.to_le_bytes()].concat()).context("tell the child")
}

/// For how long a child was stopped, at least and at most: until it runs again it waits for a CPU.
fn stop_once(child: Pid) -> Result<(u64, u64)> {
    let asked_ns = monotonic_ns();
    kill_process(child, Signal::STOP).context("stop a child")?;
    waitpid(Some(child), WaitOptions::UNTRACED).context("wait until it is stopped")?;
    let stopped_ns = monotonic_ns();
    thread::sleep(3 * TURN);
    let end_ns = monotonic_ns();
    kill_process(child, Signal::CONT).context("continue a child")?;
    let continued_ns = monotonic_ns();
    waitpid(Some(child), WaitOptions::CONTINUED).context("wait until it goes on")?;
    Ok((end_ns - stopped_ns, continued_ns - asked_ns))
}

fn vforks(watch: &Watch, length_ns: u64, turn: Duration) -> Result<Did> {
    let inner_ns = AtomicU64::new(0);
    while watch.elapsed_ns() < length_ns {
        let life = || {
            let begin_ns = monotonic_ns();
            // Nothing is left behind if the parent, which waits, is killed.
            let _ = set_parent_process_death_signal(Some(Signal::KILL));
            thread::sleep(turn);
            inner_ns.fetch_add(monotonic_ns() - begin_ns, Ordering::Relaxed);
            0
        };
        let child = vfork(life).context("make a child that borrows the memory")?;
        waitpid(Some(child), WaitOptions::empty()).context("wait for it")?;
    }
    Ok(Did::AtLeast(inner_ns.load(Ordering::Relaxed)))
}

/// A file that is read past the page cache, and a place for what is read.
struct DirectFile {
    file: File,
    blocks: u64,
}

impl DirectFile {
    fn open(path: &Path) -> Result<DirectFile> {
        let file = OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(path);
        let file = file.with_context(|| format!("open {} past the page cache", path.display()))?;
        let blocks = file.metadata().context("look at it")?.len() / BLOCK_BYTES as u64;
        ensure!(blocks > 0, "{} is too short", path.display());
        // Nothing of it shall be in the cache: what is, is written first.
        fadvise(&file, 0, None, Advice::DontNeed).context("empty the cache of it")?;
        Ok(DirectFile { file, blocks })
    }

    fn read_until(&self, watch: &Watch, length_ns: u64) -> Result<Did> {
        let mut place = vec![0; BLOCK_BYTES + PAGE_BYTES];
        let start = place.as_ptr().align_offset(PAGE_BYTES);
        let place = &mut place[start..start + BLOCK_BYTES];
        let mut number = 0;
        while watch.elapsed_ns() < length_ns {
            let offset = number % self.blocks * BLOCK_BYTES as u64;
            self.file.read_exact_at(place, offset).context("read past the page cache")?;
            number += 7;
        }
        Ok(Did::Off)
    }
}

/// From its beginning to its end, again and again, after the cache has dropped what it had of it.
fn read_cold(file: &File, watch: &Watch, length_ns: u64) -> Result<Did> {
    let length = file.metadata().context("look at it")?.len();
    ensure!(length > 0, "the file to read is empty");
    let mut place = vec![0; BLOCK_BYTES];
    let mut offset = length;
    while watch.elapsed_ns() < length_ns {
        if offset >= length {
            fadvise(file, 0, None, Advice::DontNeed).context("drop it from the cache")?;
            offset = 0;
        }
        offset += file.read_at(&mut place, offset).context("read what the cache has dropped")? as u64;
    }
    Ok(Did::Off)
}

fn sync(path: &Path, length_ns: u64) -> Result<Did> {
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(path);
    let file = file.with_context(|| format!("open {}", path.display()))?;
    let begin_ns = monotonic_ns();
    while monotonic_ns() - begin_ns < length_ns {
        file.write_all_at(&begin_ns.to_le_bytes(), 0).context("write")?;
        file.sync_all().context("have it written to the disk")?;
    }
    Ok(Did::Off)
}
