#![allow(dead_code)] // each test has its own part of it
//! Loads that end with a test, and sums over the intervals that `top --format json` prints.

use std::process::{Child, Command};

use nix::sys::resource::{UsageWho, getrusage};
use serde_json::Value;

/// A command that is killed at the end.
pub struct Killed(pub Child);

impl Killed {
    pub fn shell(script: &str) -> Killed {
        Killed(Command::new("sh").args(["-c", script]).spawn().expect("a shell"))
    }
}

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is a count"))
}

pub fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("{value} is a list"))
}

/// User and system time of the children that this process has waited for, as the kernel counts it: their ends are included.
pub fn children_times_ns() -> [u64; 2] {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).expect("a valid argument");
    [usage.user_time(), usage.system_time()]
        .map(|time| (time.tv_sec() * 1_000_000 + time.tv_usec()) as u64 * 1000)
}

/// CPU time of the same children.
pub fn children_ns() -> u64 {
    children_times_ns().iter().sum()
}

/// The sum of one key over the rows of a pid in all intervals.
pub fn sum_of(intervals: &[Value], rows: &str, pid: u32, key: &str) -> u64 {
    let rows = intervals.iter().flat_map(|interval| list(&interval[rows]));
    rows.filter(|row| row["pid"] == pid).map(|row| number(&row[key])).sum()
}
