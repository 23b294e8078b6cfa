//! A clock that jumps. The calendar is only shown; intervals and ages go by clocks that cannot be set. Needs root, and sets the clock of
//! the machine: only where `CPULEDGER_TEST_MAY_SET_CLOCK` allows it, as in the guests of `make vm`, whose clock is their own.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

use cpuledger_load::is_emulated;
use rustix::process::{Pid, Signal, kill_process};
use rustix::time::{ClockId, Timespec, clock_gettime, clock_settime};
use serde_json::Value;

const DAY_S: i64 = 86_400;
/// Forth and back, by leaps that a calendar can have.
const JUMPS_S: [i64; 4] = [DAY_S, -DAY_S, 3600, -3600];
const DELAY_NS: u64 = 300_000_000;
/// How long the clock is right before it is wrong for longer: each jump is in an interval of each source.
const BETWEEN: Duration = Duration::from_millis(150);
/// Minimum number of intervals of each source.
const INTERVALS: usize = 6;

/// The clock of the machine, right again when dropped: what was before, and what has passed by the clock that cannot be set.
struct Calendar {
    real_ns: i128,
    begin: Instant,
}

impl Calendar {
    fn take() -> Calendar {
        Calendar { real_ns: now_ns(), begin: Instant::now() }
    }

    fn right_ns(&self) -> i128 {
        self.real_ns + self.begin.elapsed().as_nanos() as i128
    }

    fn set(&self, off_s: i64) {
        let ns = self.right_ns() + i128::from(off_s) * 1_000_000_000;
        let time = Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 };
        clock_settime(ClockId::Realtime, time).expect("the clock is set; it needs root");
    }
}

impl Drop for Calendar {
    fn drop(&mut self) {
        self.set(0);
        println!("the clock is right again, to {} ns", (now_ns() - self.right_ns()).abs());
    }
}

fn now_ns() -> i128 {
    let now = clock_gettime(ClockId::Realtime);
    i128::from(now.tv_sec) * 1_000_000_000 + i128::from(now.tv_nsec)
}

fn cpuledger(line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cpuledger"));
    command.args(line.split(' ')).stdin(Stdio::null());
    command
}

/// A `top` that goes on until it is told to end.
struct Top {
    source: &'static str,
    child: Child,
    begin: Instant,
    coming: Receiver<Value>,
    intervals: Vec<Value>,
}

impl Top {
    fn start(source: &'static str) -> Top {
        let line = format!("top --batch -n 100000 -d 0.3 --format json --source {source}");
        let begin = Instant::now();
        let mut child = cpuledger(&line).stdout(Stdio::piped()).spawn().expect("it runs");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let (sender, coming) = channel();
        spawn(move || {
            // The last one may be cut off, which `end` judges; if the receiver is gone, the test has failed.
            let lines = output.lines().map_while(|line| serde_json::from_str(&line.ok()?).ok());
            lines.map_while(|interval| sender.send(interval).ok()).count()
        });
        Top { source, child, begin, coming, intervals: Vec::new() }
    }

    /// Waits until it has reported this number of intervals.
    fn wait_for(&mut self, count: usize) {
        while self.intervals.len() < count {
            self.intervals.push(self.coming.recv().unwrap_or_else(|_| panic!("{} has ended", self.source)));
        }
    }

    /// Ends it, which was at work for longer than `jumped` after its first interval, and looks at the intervals.
    fn end(mut self, jumped: Duration) {
        let source = self.source;
        kill_process(Pid::from_child(&self.child), Signal::TERM).expect("it runs");
        self.intervals.extend(self.coming.iter());
        let is_whole = self.child.wait().expect("it is ours").success();
        // The last interval is written within a second of the signal, or cut off: an emulated machine with many CPUs may take longer.
        assert!(is_whole || is_emulated(), "{source}");
        let passed_ns = self.begin.elapsed().as_nanos() as u64;
        let at = |interval: &Value, key: &str| interval[key].as_u64().expect("a time");
        for pair in self.intervals.windows(2) {
            assert_eq!(at(&pair[0], "end_ns"), at(&pair[1], "start_ns"), "{source}: a gap");
        }
        let (first, last) = (&self.intervals[0], &self.intervals[self.intervals.len() - 1]);
        let told_ns = at(last, "end_ns") - at(first, "start_ns");
        // The first interval of some sources begins with the one before it.
        let least_ns = DELAY_NS * (self.intervals.len() as u64 - 1);
        assert!(told_ns >= least_ns, "{source}: {told_ns} ns in {} intervals", self.intervals.len());
        assert!(told_ns <= passed_ns, "{source}: {told_ns} ns told, {passed_ns} ns passed");
        let through_ns = at(last, "end_ns") - at(first, "end_ns");
        assert!(
            !is_whole || u128::from(through_ns) >= jumped.as_nanos(),
            "{source}: {through_ns} ns of {jumped:?}"
        );
    }
}

impl Drop for Top {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Lets the clock jump, and in each wrong hour asks how old these processes are.
fn jump(pids: &str, count: usize) {
    // On an emulated CPU a day forth and back.
    for off_s in JUMPS_S.into_iter().take(if is_emulated() { 2 } else { JUMPS_S.len() }) {
        sleep(BETWEEN);
        let calendar = Calendar::take();
        calendar.set(off_s);
        assert!((now_ns() - calendar.right_ns()).abs() > 3_000_000_000_000, "the clock has not jumped");
        sleep(BETWEEN);
        let output = cpuledger(&format!("ps -o etimes= -p {pids}")).output().expect("it runs");
        drop(calendar);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        let ages = String::from_utf8(output.stdout).expect("digits");
        let ages: Vec<u64> = ages.lines().map(|age| age.trim().parse().expect("seconds")).collect();
        // The jumps are of an hour and more; where the machine is busy the test takes minutes.
        assert!(ages.len() == count && ages.iter().all(|seconds| *seconds < 1800), "{ages:?} s old");
    }
}

#[test]
fn a_clock_that_jumps_root() {
    if std::env::var_os("CPULEDGER_TEST_MAY_SET_CLOCK").is_none() {
        return cpuledger_load::not_run(
            "it sets the clock of the machine for a moment: CPULEDGER_TEST_MAY_SET_CLOCK=1 allows it",
        );
    }
    let mut tops = ["ledger", "walk", "procfs"].map(Top::start);
    tops.iter_mut().for_each(|top| top.wait_for(1));
    let begin = Instant::now();
    let pids: Vec<String> = tops.iter().map(|top| top.child.id().to_string()).collect();
    jump(&pids.join(","), pids.len());
    let jumped = begin.elapsed();
    tops.iter_mut().for_each(|top| top.wait_for(if is_emulated() { INTERVALS / 2 } else { INTERVALS }));
    tops.into_iter().for_each(|top| top.end(jumped));
}
