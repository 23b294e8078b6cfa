//! Tasks that are woken at once, of which most do not get a CPU for whole intervals: none of them is told to be asleep. Needs root.

mod books;
mod loops;

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

use books::is_full;
use cpuledger::clock::monotonic_ns;
use cpuledger::interval::Usage;
use cpuledger::source::ledger::{Ledger, Options, Wanted};
use cpuledger::{FieldSet, Interval};
use cpuledger_load::scene::{scene_of_times, were_missed};
use cpuledger_model::make;
use loops::Loops;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Pid, Signal, kill_process};

const INTERVAL_NS: u64 = 150_000_000;
/// Between the wake-up of a task and what the clock of its run queue says of it.
const WAKE_UP_NS: u64 = 5_000_000;
/// Intervals that are looked at after the wake-up.
const INTERVALS: usize = 4;

/// Many busy loops, each of which sleeps until a signal before it begins: it reads from a pipe that nobody writes to. A signal takes it out of
/// there without a lock: a writer would make most of them wait for each other, blocked by the lock of the pipe.
struct Sleepers {
    loops: Loops,
    pipe: PathBuf,
}

impl Sleepers {
    fn start(count: usize) -> Sleepers {
        let pipe = std::env::temp_dir().join(format!("cpuledger-woken-{}", std::process::id()));
        let _ = fs::remove_file(&pipe);
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe");
        let before = "trap : USR1; read _ <>\"$0\";";
        let loops = Loops::start(count, &[], before, pipe.to_str().expect("a path"));
        let sleepers = Sleepers { loops, pipe };
        while sleepers.asleep() < count {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        sleepers
    }

    /// How many wait for the pipe.
    fn asleep(&self) -> usize {
        let sleeps = |pid: &i32| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('S'))
        };
        self.loops.pids().iter().filter(|pid| sleeps(pid)).count()
    }

    /// Wakes all of them.
    fn wake(&self) {
        for pid in self.loops.pids() {
            kill_process(Pid::from_raw(pid).expect("a process"), Signal::USR1).expect("it lives");
        }
    }
}

impl Drop for Sleepers {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.pipe);
    }
}

/// What was told of those that had no CPU in an interval.
#[derive(Debug, Default)]
struct Told {
    waiting: usize,
    asleep: usize,
}

/// `woken_ns`: when all of them were awake; it may be within the interval.
fn look(pids: &[i32], interval: &Interval, woken_ns: u64, told: &mut Told) {
    let processes: HashMap<i32, &Usage> =
        interval.processes.iter().map(|row| (row.task.pid.0, &row.usage)).collect();
    let tasks: HashMap<i32, &Usage> = interval.tasks.iter().map(|row| (row.task.tid.0, &row.usage)).collect();
    for pid in pids {
        for rows in [&processes, &tasks] {
            let usage = rows.get(pid).unwrap_or_else(|| panic!("{pid} has no row"));
            let states = usage.states.expect("the ledger knows it");
            assert_eq!(usage.state_imbalance_ns(), Some(0), "{usage:?}");
            if usage.cpu_ns > 0 {
                continue;
            }
            told.asleep += usize::from(states.sleep_ns == states.elapsed_ns);
            told.waiting += 1;
            let least_ns = interval.end_ns - woken_ns.max(interval.start_ns);
            let slack_ns = if woken_ns > interval.start_ns { WAKE_UP_NS } else { 0 };
            assert!(states.runqueue_wait_ns + slack_ns >= least_ns, "{pid}, {least_ns} ns: {usage:?}");
            assert_eq!(states.runqueue_wait_ns + states.sleep_ns, states.elapsed_ns, "{usage:?}");
            assert_eq!(usage.off_at_end.expect("likewise").waiting, 1, "{usage:?}");
        }
    }
}

#[test]
fn a_task_that_is_woken_waits_for_a_cpu_from_then_on_root() {
    let count = if is_full() { 2_500 } else { 300 };
    scene_of_times(|| {
        let mut ledger = Ledger::open(Options::default()).expect("the ledger attaches; it needs root");
        let mut interval = Interval::default();
        let sleepers = Sleepers::start(count);
        let pids = sleepers.loops.pids();
        assert_eq!(pids.len(), count);
        let mut close = |number: usize| {
            let wanted = make!(Wanted { fields: FieldSet::ALL, pids: &[], all: number % 2 == 1 });
            let cut_ns = ledger.start_ns() + INTERVAL_NS;
            ledger.close(cut_ns, &wanted, &mut interval).expect("an interval closes");
            were_missed(interval.missed_switches.expect("the ledger counts them"));
            std::mem::take(&mut interval)
        };
        close(0);
        close(0);
        // They are told apart from what has just ended: here they sleep, and do not run.
        let interval = close(0);
        assert!(!interval.processes.iter().any(|row| pids.contains(&row.task.pid.0)), "they sleep");
        sleepers.wake();
        let woken_ns = monotonic_ns();
        let mut told = Told::default();
        for number in 0..INTERVALS {
            let interval = close(number);
            look(&pids, &interval, woken_ns, &mut told);
        }
        println!("{count} tasks: {} rows had no CPU and waited, {} slept", told.waiting, told.asleep);
        assert_eq!(told.asleep, 0);
        assert!(told.waiting > count, "{told:?}");
    });
}
