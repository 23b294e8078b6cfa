//! A clock that jumps. The calendar is only shown; intervals and ages go by clocks that nobody can set. Needs root, and sets the clock of
//! the machine: only where `CPULEDGER_TEST_MAY_SET_CLOCK` allows it, as in the guests of `make vm`, whose clock is their own.

use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, Timespec, clock_gettime, clock_settime};
use serde_json::Value;

const DAY_S: i64 = 86_400;
/// Forth and back, by leaps that a calendar can have.
const JUMPS_S: [i64; 4] = [DAY_S, -DAY_S, 3600, -3600];
/// The clock is wrong for so long at once.
const WRONG_FOR: Duration = Duration::from_millis(150);
const INTERVALS: usize = 12;

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

fn text_of(output: &Output) -> &str {
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    str::from_utf8(&output.stdout).expect("UTF-8")
}

/// Runs while the clock jumps, and once in each wrong hour asks how old the process is.
fn run_while_it_jumps(line: &str) -> Output {
    let top = cpuledger(line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
    let age = format!("ps -o etimes= -p {}", top.id());
    for off_s in JUMPS_S {
        sleep(WRONG_FOR);
        let calendar = Calendar::take();
        calendar.set(off_s);
        assert!((now_ns() - calendar.right_ns()).abs() > 3_000_000_000_000, "the clock has not jumped");
        sleep(WRONG_FOR);
        let old = cpuledger(&age).output().expect("it runs");
        drop(calendar);
        let seconds: u64 = text_of(&old).trim().parse().expect("seconds");
        assert!(seconds < 60, "{seconds} s old");
    }
    top.wait_with_output().expect("it ends")
}

#[test]
fn a_clock_that_jumps_root() {
    if std::env::var_os("CPULEDGER_TEST_MAY_SET_CLOCK").is_none() {
        eprintln!(
            "left out: it sets the clock of the machine for a moment; CPULEDGER_TEST_MAY_SET_CLOCK=1 allows it"
        );
        return;
    }
    for source in ["ledger", "walk", "procfs"] {
        let begin = Instant::now();
        let line = format!("top --batch -n {INTERVALS} -d 0.1 --format json --source {source}");
        let output = run_while_it_jumps(&line);
        let passed_ns = begin.elapsed().as_nanos() as u64;
        let intervals: Vec<Value> =
            text_of(&output).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!(intervals.len(), INTERVALS);
        let at = |interval: &Value, key: &str| interval[key].as_u64().expect("a time");
        for pair in intervals.windows(2) {
            assert_eq!(at(&pair[0], "end_ns"), at(&pair[1], "start_ns"), "{source}: a gap");
        }
        let told_ns = at(&intervals[INTERVALS - 1], "end_ns") - at(&intervals[0], "start_ns");
        // The first interval of some sources begins with the one before it.
        assert!(told_ns >= 100_000_000 * (INTERVALS as u64 - 1), "{source}: {told_ns} ns");
        assert!(told_ns <= passed_ns, "{source}: {told_ns} ns told, {passed_ns} ns passed");
    }
}
