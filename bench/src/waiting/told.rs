//! What a tool tells of each task, read from its output: percent of the interval.

use std::collections::BTreeMap;

use anyhow::Context;
use serde::Serialize;

/// What is told of a task, or of the tasks of a kind, in percent of their time. `None`: the tool has no such figure.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Shares {
    /// It could run and had no CPU.
    pub wait: Option<f64>,
    /// It waited for the disk.
    pub blocked: Option<f64>,
    /// It waited for something else: here, for the lock.
    pub sleep: Option<f64>,
    /// All of that, not told apart.
    pub off: Option<f64>,
    /// Its state at one instant.
    pub letter: Option<char>,
}

/// By tid.
pub type Told = BTreeMap<i32, Shares>;

/// How the output of a tool for an interval of that many seconds is read.
pub type Read = fn(&str, f64) -> anyhow::Result<Told>;

/// Rows of threads in the JSON of `cpuledger top`.
///
/// # Errors
/// When the output is not that. So with all of them.
pub fn cpuledger(text: &str, _: f64) -> anyhow::Result<Told> {
    let interval: serde_json::Value = serde_json::from_str(text.lines().last().context("an interval")?)?;
    let number = |value: &serde_json::Value| value.as_u64().map(|number| number as f64);
    let length = |key: &str| number(&interval[key]).context("an interval has a length");
    let elapsed_ns = length("end_ns")? - length("start_ns")?;
    let mut told = Told::new();
    for task in interval["tasks"].as_array().context("rows of threads")? {
        let share = |key: &str| number(&task[key]).map(|ns| ns * 100.0 / elapsed_ns);
        let shares = Shares {
            wait: share("runqueue_wait_ns"),
            blocked: share("io_wait_ns").or_else(|| share("block_io_delay_ns")),
            sleep: share("sleep_ns"),
            ..Shares::default()
        };
        told.insert(task["tid"].as_i64().context("a tid")?.try_into()?, shares);
    }
    Ok(told)
}

/// The last iteration of `top -H -b`: the tid is first, the state is the eighth field.
pub fn top(text: &str, _: f64) -> anyhow::Result<Told> {
    let (_, table) = text.rsplit_once("PID USER").context("top prints a header")?;
    let mut told = Told::new();
    for line in table.lines().skip(1).filter(|line| !line.trim().is_empty()) {
        let mut words = line.split_whitespace();
        let tid = words.next().context("a short line")?.parse().with_context(|| line.to_owned())?;
        let letter = words.nth(6).and_then(|word| word.chars().next());
        told.insert(tid, Shares { letter, ..Shares::default() });
    }
    Ok(told)
}

/// `PRC` of the second sample. After the name: state, ticks a second, …, the process, whether the row is that of a process, run-queue
/// delay in ns, the wait channel, block I/O delay in ticks. A process with threads has a row of its own before theirs.
pub fn atop(text: &str, seconds: f64) -> anyhow::Result<Told> {
    let (_, sample) = text.trim_end().trim_end_matches("SEP").rsplit_once("SEP\n").context("two samples")?;
    let mut told = Told::new();
    for line in sample.lines().filter(|line| line.starts_with("PRC ")) {
        let (head, rest) = line.split_once(" (").context("a name")?;
        let tid =
            head.rsplit_once(' ').context("a short line")?.1.parse().with_context(|| line.to_owned())?;
        let (_, rest) = rest.split_once(") ").context("the end of a name")?;
        let words: Vec<&str> = rest.split(' ').collect();
        let number = |index: usize| -> anyhow::Result<f64> {
            words.get(index).and_then(|word| word.parse().ok()).with_context(|| line.to_owned())
        };
        let shares = Shares {
            wait: Some(number(12)? / 1e7 / seconds),
            blocked: Some(number(14)? * 100.0 / number(1)? / seconds),
            ..Shares::default()
        };
        told.insert(tid, shares);
    }
    Ok(told)
}

/// The averages of `pidstat -t -u -d -w`: a table for each option. Rows of processes have no tid.
pub fn pidstat(text: &str, seconds: f64) -> anyhow::Result<Told> {
    let mut told = Told::new();
    let mut header: Vec<&str> = Vec::new();
    for line in text.lines().filter(|line| line.starts_with("Average:")) {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.contains(&"UID") {
            header = words;
            continue;
        }
        let cell = |name: &str| words.get(header.iter().position(|cell| *cell == name)?);
        let number = |name: &str| cell(name).and_then(|word| word.parse::<f64>().ok());
        let Some(Ok(tid)) = cell("TID").map(|word| word.parse()) else { continue };
        let shares: &mut Shares = told.entry(tid).or_default();
        shares.wait = shares.wait.or(number("%wait"));
        // Of the whole interval, in hundredths of a second.
        shares.blocked = shares.blocked.or(number("iodelay").map(|ticks| ticks / seconds));
    }
    anyhow::ensure!(!told.is_empty(), "pidstat has no averages of threads");
    // Threads that did no I/O are not in the table of I/O.
    told.values_mut().for_each(|shares| shares.blocked = shares.blocked.or(Some(0.0)));
    Ok(told)
}

/// The summary of `perf sched timehist -s --state`. In ms, at the end of a line: run time, sleep, iowait, preempt, delay.
pub fn timehist(text: &str, seconds: f64) -> anyhow::Result<Told> {
    let (_, summary) = text.split_once("Wait-time summary").context("perf prints a summary")?;
    let mut told = Told::new();
    for line in summary.lines() {
        let Some(tid) = tid_in_brackets(line) else { continue };
        let last: Vec<f64> =
            line.split_whitespace().rev().take(4).filter_map(number).map(|ms| ms / 10.0 / seconds).collect();
        let [delay, preempt, iowait, sleep] = last[..] else { continue };
        let shares = Shares {
            wait: Some(preempt + delay),
            blocked: Some(iowait),
            sleep: Some(sleep),
            ..Shares::default()
        };
        told.insert(tid, shares);
    }
    anyhow::ensure!(!told.is_empty(), "perf has seen no task");
    Ok(told)
}

fn number(word: &str) -> Option<f64> {
    word.parse().ok()
}

/// Of `comm[tid]` or `comm[tid/pid]`.
fn tid_in_brackets(line: &str) -> Option<i32> {
    let (name, _) = line.rsplit_once(']')?;
    name.rsplit_once('[')?.1.split('/').next()?.parse().ok()
}

/// The sums of `offcputime` of libbpf-tools: below each stack a line with the name and the tid, and one with µs.
fn offcputime(text: &str, seconds: f64) -> BTreeMap<i32, f64> {
    // It tells of the idle task, too, but in no state: so that there is a figure where there is no task.
    let mut sums = BTreeMap::from([(0, 0.0)]);
    for (line, next) in text.lines().zip(text.lines().skip(1)) {
        let tid = line.trim().strip_prefix("- ").and_then(|name| name.strip_suffix(')')?.rsplit_once('('));
        let (Some((_, tid)), Some(us)) = (tid, number(next.trim())) else { continue };
        if let Ok(tid) = tid.parse() {
            *sums.entry(tid).or_default() += us / 1e4 / seconds;
        }
    }
    sums
}

/// Without a state: all time off the CPU.
pub fn offcputime_all(text: &str, seconds: f64) -> anyhow::Result<Told> {
    let shares = |off| Shares { off: Some(off), ..Shares::default() };
    Ok(offcputime(text, seconds).into_iter().map(|(tid, off)| (tid, shares(off))).collect())
}

/// In state 0: tasks that were preempted.
pub fn offcputime_runnable(text: &str, seconds: f64) -> anyhow::Result<Told> {
    let shares = |wait| Shares { wait: Some(wait), ..Shares::default() };
    Ok(offcputime(text, seconds).into_iter().map(|(tid, wait)| (tid, shares(wait))).collect())
}

/// In one of the states in which a task cannot be interrupted.
pub fn offcputime_blocked(text: &str, seconds: f64) -> anyhow::Result<Told> {
    let shares = |blocked| Shares { blocked: Some(blocked), ..Shares::default() };
    Ok(offcputime(text, seconds).into_iter().map(|(tid, blocked)| (tid, shares(blocked))).collect())
}

/// What `offcpu.bt` prints: `@wait[tid]: ns`, and likewise the others.
pub fn bpftrace(text: &str, seconds: f64) -> anyhow::Result<Told> {
    let mut told = Told::new();
    for line in text.lines() {
        let entry = || -> Option<(&str, i32, f64)> {
            let (key, ns) = line.strip_prefix('@')?.split_once("]: ")?;
            let (map, tid) = key.split_once('[')?;
            Some((map, tid.parse().ok()?, number(ns)? / 1e7 / seconds))
        };
        let Some((map, tid, share)) = entry() else { continue };
        let none = Some(0.0);
        let shares =
            told.entry(tid).or_insert(Shares { wait: none, blocked: none, sleep: none, ..Shares::default() });
        match map {
            "wait" => shares.wait = Some(share),
            "blocked" => shares.blocked = Some(share),
            "sleep" => shares.sleep = Some(share),
            _ => {}
        }
    }
    anyhow::ensure!(!told.is_empty(), "bpftrace has seen no task");
    Ok(told)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounded, as `[wait, blocked, sleep, off]`; -1 where nothing is told.
    fn shares(told: &Told, tid: i32) -> [i64; 4] {
        let Shares { wait, blocked, sleep, off, .. } = told[&tid];
        [wait, blocked, sleep, off].map(|share| share.map_or(-1, |share| share.round() as i64))
    }

    #[test]
    fn rows_of_cpuledger() {
        let text = r#"{"start_ns":1000,"end_ns":3000,"tasks":[
            {"tid":7,"runqueue_wait_ns":1000,"io_wait_ns":500,"sleep_ns":20,"block_io_delay_ns":null},
            {"tid":8,"runqueue_wait_ns":0,"io_wait_ns":null,"sleep_ns":null,"block_io_delay_ns":200},
            {"tid":9,"runqueue_wait_ns":0,"io_wait_ns":null,"sleep_ns":null,"block_io_delay_ns":null}]}"#;
        let told = cpuledger(&text.replace('\n', ""), 2.0).expect("it is JSON");
        assert_eq!(shares(&told, 7), [50, 25, 1, -1]);
        assert_eq!(shares(&told, 8), [0, 10, -1, -1]);
        assert_eq!(shares(&told, 9), [0, -1, -1, -1]);
    }

    #[test]
    fn states_of_top() {
        let text = "\
  PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND
21868 root      20   0    4268   3220   2992 R   0.0   0.0   0:00.00 cpuledger-load
top - 06:13:41 up 31 min,  0 user,  load average: 1.90, 6.95, 4.90

  PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND
21874 root      20   0   71868   3316   3072 R  10.3   0.0   0:00.22 cpuledger-load
21868 root      20   0    4268   3220   2992 D   0.0   0.0   0:00.00 cpuledger-load
";
        let told = top(text, 2.0).expect("it is a table");
        assert_eq!((told[&21874].letter, told[&21868].letter), (Some('R'), Some('D')));
        assert_eq!(shares(&told, 21868), [-1; 4]);
    }

    #[test]
    fn threads_of_atop() {
        let text = "\
RESET
PRC vm 1795414419 2026/11/23 06:13:39 1902 21870 (cpuledger-load) R 100 4 7 0 120 0 0 1 0 21870 y 1585306855 () 90 -3 -3
SEP
PRC vm 1795414421 2026/11/23 06:13:41 2 21870 (cpuledger-load) R 100 0 15 0 120 0 0 0 0 21870 y 1575326897 () 50 -3 -3
PRC vm 1795414421 2026/11/23 06:13:41 2 21874 (cpuledger-load) R 100 4 18 0 120 0 0 0 0 21874 y 2499889432 () 0 -3 -3
PRC vm 1795414421 2026/11/23 06:13:41 2 21874 (cpuledger-load) R 100 2 8 0 120 0 0 0 0 21874 n 1226308594 () 0 -3 -3
PRC vm 1795414421 2026/11/23 06:13:41 2 21880 (cpuledger-load) S 100 2 9 0 120 0 0 0 0 21874 n 1273580838 () 0 -3 -3
SEP
";
        let told = atop(text, 2.0).expect("it is a sample");
        assert_eq!(shares(&told, 21870), [79, 25, -1, -1]);
        assert_eq!((shares(&told, 21874)[0], shares(&told, 21880)[0]), (61, 64));
    }

    #[test]
    fn averages_of_pidstat() {
        let text = "\
06:13:45        0         -     21870    9.00    6.33    0.00   12.35    6.33     1  |__cpuledger-load
Average:      UID      TGID       TID    %usr %system  %guest   %wait    %CPU   CPU  Command
Average:        0     21870         -    0.00    6.33    0.00   82.35    6.33     -  cpuledger-load
Average:        0         -     21870    0.00    6.33    0.00   82.35    6.33     -  |__cpuledger-load
Average:        0         -     21880    0.45    4.07    0.00   66.97    4.52     -  |__cpuledger-load
Average:      UID      TGID       TID   kB_rd/s   kB_wr/s kB_ccwr/s iodelay  Command
Average:        0     21870         - 264108.60      0.00      0.00      24  cpuledger-load
Average:        0         -     21870 264108.60      0.00      0.00      24  |__cpuledger-load
Average:      UID      TGID       TID   cswch/s nvcswch/s  Command
Average:        0         -     21870     18.55     25.34  |__cpuledger-load
";
        let told = pidstat(text, 2.0).expect("they are tables");
        assert_eq!((shares(&told, 21870), shares(&told, 21880)), ([82, 12, -1, -1], [67, 0, -1, -1]));
        assert_eq!(told.len(), 2);
        assert!(pidstat("Linux 6.18\n", 2.0).is_err());
    }

    #[test]
    fn summary_of_timehist() {
        let text = "\
Wait-time summary
                          comm  parent   sched-in     run-time      sleep      iowait     preempt       delay
                                          (count)       (msec)     (msec)      (msec)       (msec)       (msec)
---------------------------------------------------------------------------------------------------------------------
           kworker/0:0H-kb[10]       2          6        0.194   1797.882       0.000       0.000       1.827
         cpuledger-load[21870]   21746         66      141.058      5.181     774.977    1135.991     480.538
   cpuledger-load[21880/21874]   21874        142      110.977    802.915       0.000    1150.031     278.684
  lto 2hcvpk4i2f2[22834/21727]   21936         40      105.709      0.000       0.000     242.297       2.663

Idle stats:
    CPU  0 idle entire time window
";
        let told = timehist(text, 2.0).expect("a summary");
        assert_eq!((shares(&told, 21870), shares(&told, 21880)), ([81, 39, 0, -1], [71, 0, 40, -1]));
        assert_eq!((shares(&told, 22834), told.len()), ([12, 0, 0, -1], 4));
        assert!(timehist("Wait-time summary\n", 2.0).is_err());
    }

    #[test]
    fn sums_of_offcputime() {
        let text = "\
    __schedule
    schedule
    -                cpuledger-load (21881)
        616361

    schedule
    -                a (b) (21881)
        383639

    [Missed User Stack]
    -                swapper/0 (0)
        20
";
        assert_eq!(shares(&offcputime_all(text, 2.0).expect("sums"), 21881), [-1, -1, -1, 50]);
        assert_eq!(shares(&offcputime_runnable(text, 2.0).expect("sums"), 21881), [50, -1, -1, -1]);
        assert_eq!(shares(&offcputime_blocked(text, 2.0).expect("sums"), 21881), [-1, 50, -1, -1]);
        assert_eq!(shares(&offcputime_blocked("", 2.0).expect("nothing"), 0), [-1, 0, -1, -1]);
    }

    #[test]
    fn maps_of_bpftrace() {
        let text = "\
Attaching 5 probes...
begin


@blocked[31971]: 500000000
@sleep[31965]: 0
@wait[31971]: 1000000000
@wait[31965]: 20000000
";
        let told = bpftrace(text, 2.0).expect("maps");
        assert_eq!((shares(&told, 31971), shares(&told, 31965)), ([50, 25, 0, -1], [1, 0, 0, -1]));
        assert!(bpftrace("Attaching 5 probes...\n", 2.0).is_err());
    }
}
