#![allow(dead_code)] // each test has its own part of it
//! Loads that end with a test, and sums over the intervals that `top --format json` prints.

use std::process::{Child, Command};

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

/// The sum of one key over the rows of a pid in all intervals.
pub fn sum_of(intervals: &[Value], rows: &str, pid: u32, key: &str) -> u64 {
    let rows = intervals.iter().flat_map(|interval| list(&interval[rows]));
    rows.filter(|row| row["pid"] == pid).map(|row| number(&row[key])).sum()
}
