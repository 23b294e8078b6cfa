//! The load: 6 busy loops, 2 readers of files that the cache has dropped, 2 threads that fight for a mutex. And what the kernel itself
//! counts for them.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use cpuledger_load::{FileOnDisk, States, StatesPlan};

use super::told::Shares;

/// What the tasks of the load do, in the order of the kinds.
pub const KINDS: [&str; 3] = ["busy loops", "readers", "lock fighters"];
const TASKS: [usize; KINDS.len()] = [6, 2, 2];

/// Read through the page cache, which drops it first.
const FILE_BYTES: usize = 128 << 20;
/// Longer than any measurement; it ends when it is dropped.
const LENGTH_MS: u64 = 24 * 60 * 60 * 1000;
const SETTLING: Duration = Duration::from_secs(1);

/// The load at work. Dropping it ends it.
pub struct Load {
    _running: Vec<States>,
    /// By kind: a task and its process.
    pub tasks: [Vec<Task>; KINDS.len()],
}

/// A task of the load.
#[derive(Debug, Clone, Copy)]
pub struct Task {
    /// The task.
    pub tid: i32,
    /// Its process.
    pub pid: i32,
}

impl Load {
    /// Starts it.
    ///
    /// # Errors
    /// When a workload cannot be started, or no folder is on a disk.
    pub fn start() -> anyhow::Result<Load> {
        let begin = |kind, processes, file: Option<&FileOnDisk>| -> anyhow::Result<States> {
            let file = file.map(|file| file.path().to_owned());
            let mut states = States::start(&StatesPlan { kind, ms: LENGTH_MS, processes, cpu: None, file })?;
            states.be_seen()?;
            states.begin()?;
            Ok(states)
        };
        let busy = begin("spin", TASKS[0], None)?;
        let mut running = Vec::new();
        for _ in 0..TASKS[1] {
            let file = FileOnDisk::new(FILE_BYTES)?;
            // Its reader has it open, and so the file needs no name any more.
            running.push(begin("cold", 1, Some(&file.context("no folder for a file is on a disk")?))?);
        }
        running.push(begin("mutex", 1, None)?);
        std::thread::sleep(SETTLING);
        let alone = |pid| Task { tid: pid, pid };
        let fighters = running[TASKS[1]].pid();
        let tasks = [
            children(busy.pid())?.into_iter().map(alone).collect(),
            running[..TASKS[1]].iter().map(|reader| alone(reader.pid())).collect(),
            threads(fighters)?.into_iter().map(|tid| Task { tid, pid: fighters }).collect(),
        ];
        running.push(busy);
        let counts = [&tasks[0], &tasks[1], &tasks[2]].map(Vec::len);
        ensure!(counts == TASKS, "the load has {counts:?} tasks, not {TASKS:?}");
        Ok(Load { _running: running, tasks })
    }

    /// What the kernel has counted up to now.
    ///
    /// # Errors
    /// When a task is gone.
    pub fn counts(&self) -> anyhow::Result<Counts> {
        let at = Instant::now();
        let of_kind = |tasks: &Vec<Task>| -> anyhow::Result<Sums> {
            tasks.iter().try_fold(Sums::default(), |sums, task| Ok(sums.plus(&Sums::of(*task)?)))
        };
        let [busy, readers, fighters] = &self.tasks;
        Ok(Counts { at, sums: [of_kind(busy)?, of_kind(readers)?, of_kind(fighters)?] })
    }
}

/// The kernel's counts of all tasks of each kind, at one instant.
pub struct Counts {
    at: Instant,
    sums: [Sums; KINDS.len()],
}

#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    cpu_ns: u64,
    run_delay_ns: u64,
    blkio_ticks: u64,
}

/// Of a second (`USER_HZ`).
const TICK_NS: u64 = 10_000_000;

impl Sums {
    fn of(Task { tid, pid }: Task) -> anyhow::Result<Sums> {
        let read = |name: &str| {
            let path = format!("/proc/{pid}/task/{tid}/{name}");
            fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))
        };
        let (schedstat, stat) = (read("schedstat")?, read("stat")?);
        let mut words = schedstat.split_whitespace();
        let mut next = || -> anyhow::Result<u64> { Ok(words.next().context("a short schedstat")?.parse()?) };
        let (cpu_ns, run_delay_ns) = (next()?, next()?);
        let blkio = after_comm(&stat)?.nth(42 - 3).context("a short stat")?;
        Ok(Sums { cpu_ns, run_delay_ns, blkio_ticks: blkio.parse()? })
    }

    fn plus(&self, other: &Sums) -> Sums {
        Sums {
            cpu_ns: self.cpu_ns + other.cpu_ns,
            run_delay_ns: self.run_delay_ns + other.run_delay_ns,
            blkio_ticks: self.blkio_ticks + other.blkio_ticks,
        }
    }
}

/// What a kind waits for but a CPU, and nothing else.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WaitsFor {
    Nothing,
    Disk,
    Lock,
}

const WAITS_FOR: [WaitsFor; KINDS.len()] = [WaitsFor::Nothing, WaitsFor::Disk, WaitsFor::Lock];

impl Counts {
    /// By kind: percent of the time of its tasks since `before`. Time off the CPU that is no wait for one is what the kind waits for;
    /// beside it what delay accounting has counted as waiting for the disk.
    pub fn since(&self, before: &Counts) -> [(Shares, f64); KINDS.len()] {
        let elapsed_ns = (self.at - before.at).as_nanos() as f64;
        std::array::from_fn(|kind| {
            let (now, then) = (&self.sums[kind], &before.sums[kind]);
            let percent = |ns: u64| ns as f64 * 100.0 / (elapsed_ns * TASKS[kind] as f64);
            let off = 100.0 - percent(now.cpu_ns - then.cpu_ns);
            let wait = percent(now.run_delay_ns - then.run_delay_ns);
            let of = |what| if WAITS_FOR[kind] == what { (off - wait).max(0.0) } else { 0.0 };
            let (blocked, sleep) = (of(WaitsFor::Disk), of(WaitsFor::Lock));
            let shares = Shares {
                wait: Some(wait),
                blocked: Some(blocked),
                sleep: Some(sleep),
                off: Some(off),
                letter: None,
            };
            (shares, percent((now.blkio_ticks - then.blkio_ticks) * TICK_NS))
        })
    }
}

/// The fields of a `stat` from the third on.
fn after_comm(stat: &str) -> anyhow::Result<impl Iterator<Item = &str>> {
    Ok(stat.rsplit_once(')').context("a stat has a name")?.1.split_whitespace())
}

fn children(parent: i32) -> anyhow::Result<Vec<i32>> {
    let is_child = |pid: &i32| -> Option<()> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        (after_comm(&stat).ok()?.nth(1)?.parse() == Ok(parent)).then_some(())
    };
    Ok(numbers("/proc")?.into_iter().filter(|pid| is_child(pid).is_some()).collect())
}

fn threads(pid: i32) -> anyhow::Result<Vec<i32>> {
    numbers(&format!("/proc/{pid}/task"))
}

fn numbers(folder: &str) -> anyhow::Result<Vec<i32>> {
    let names = fs::read_dir(folder)?.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    Ok(names.collect())
}
