//! What the kernel says: the files of /proc, read plainly.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// A clock tick, in which /proc/PID/stat counts CPU time.
pub const TICK_US: u64 = 10_000;

/// A field of /proc/PID/stat by its number in proc(5), from 3 on.
pub fn stat_field(task: &str, number: usize) -> String {
    let stat = read(&format!("/proc/{task}/stat"));
    let name_end = stat.iter().rposition(|&byte| byte == b')').expect("a name in parentheses");
    let rest = String::from_utf8_lossy(&stat[name_end + 1..]).into_owned();
    rest.split_ascii_whitespace().nth(number - 3).expect("enough fields").to_string()
}

/// The same as a number.
pub fn stat_number(task: &str, number: usize) -> i64 {
    stat_field(task, number).parse().expect("a number")
}

/// CPU time of waited-for children, in microseconds, cut to ticks twice.
pub fn children_cpu_us(pid: i32) -> u64 {
    let ticks = stat_number(&pid.to_string(), 16) + stat_number(&pid.to_string(), 17);
    ticks.cast_unsigned() * TICK_US
}

/// The words after a key of /proc/PID/status.
pub fn status(pid: i32, key: &str) -> Vec<String> {
    let text = String::from_utf8_lossy(&read(&format!("/proc/{pid}/status"))).into_owned();
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
    line.unwrap_or_else(|| panic!("{key} in the status"))
        .split_ascii_whitespace()
        .map(str::to_string)
        .collect()
}

/// The numbers after a key of /proc/PID/status.
pub fn status_numbers(pid: i32, key: &str) -> Vec<u64> {
    status(pid, key).iter().map(|word| word.parse().expect("a number")).collect()
}

/// The amount after a key of /proc/PID/status that is followed by kB.
pub fn status_bytes(pid: i32, key: &str) -> u64 {
    status(pid, key)[0].parse::<u64>().expect("a number") * 1024
}

/// The CPU time of one task, in nanoseconds.
pub fn task_cpu_ns(pid: i32, tid: i32) -> u64 {
    let text = String::from_utf8_lossy(&read(&format!("/proc/{pid}/task/{tid}/schedstat"))).into_owned();
    text.split(' ').next().and_then(|word| word.parse().ok()).expect("a number")
}

/// How many threads a process has.
pub fn threads(pid: i32) -> usize {
    status(pid, "Threads")[0].parse().expect("a number")
}

/// The tids of a process, ascending.
pub fn tids(pid: i32) -> Vec<i32> {
    let entries = fs::read_dir(format!("/proc/{pid}/task")).expect("a living process");
    let mut tids: Vec<i32> = entries
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().parse().expect("a tid"))
        .collect();
    tids.sort_unstable();
    tids
}

/// The name of a task, or its arguments, or any other file, as bytes.
pub fn read(path: &str) -> Vec<u8> {
    fs::read(path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Whether there is a process, be it a zombie.
pub fn exists(pid: i32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

/// Waits until `what` is so.
pub fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while !is_so() {
        assert!(Instant::now() < deadline, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Whether a process is gone, or a zombie that only waits for a parent that is not ours.
pub fn is_dead(pid: i32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .map_or(true, |stat| stat.rsplit(')').next().is_some_and(|rest| rest.starts_with(" Z")))
}

/// Fails, and says so, if the test is not run by root.
pub fn need_root() {
    let effective_uid = status_numbers(std::process::id().cast_signed(), "Uid")[1];
    assert!(effective_uid == 0, "this test needs root");
}

/// The pids of a process's children: all processes are asked for their parent.
pub fn children(pid: i32) -> Vec<i32> {
    let all = fs::read_dir("/proc").expect("/proc").flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_string_lossy().parse::<i32>().ok());
    let is_child = |child: &i32| {
        let stat = fs::read(format!("/proc/{child}/stat")).unwrap_or_default();
        let rest = stat.rsplit(|&byte| byte == b')').next().map(String::from_utf8_lossy);
        rest.is_some_and(|rest| rest.split_ascii_whitespace().nth(1) == Some(pid.to_string().as_str()))
    };
    pids.filter(is_child).collect()
}
