//! What a tool says of each name, from its output.

use std::collections::BTreeMap;

use anyhow::{Context, ensure};

/// What a tool says of each name: bytes, or nanoseconds.
pub type Told = BTreeMap<String, f64>;

/// Adds to what is told of a name.
fn add(told: &mut Told, name: &str, amount: f64) {
    *told.entry(name.to_owned()).or_default() += amount;
}

/// The JSON of `cpuledger top`: `key` of the rows of processes and of those that died.
///
/// # Errors
/// When the output is not that. So with all of them.
fn cpuledger(text: &str, key: &str) -> anyhow::Result<Told> {
    let mut told = Told::new();
    for line in text.lines() {
        let interval: serde_json::Value = serde_json::from_str(line)?;
        let mut rows = |list: &str| -> anyhow::Result<()> {
            for row in interval[list].as_array().context("rows")? {
                let (Some(name), Some(amount)) = (row["comm"].as_str(), row[key].as_u64()) else { continue };
                add(&mut told, name, amount as f64);
            }
            Ok(())
        };
        rows("processes")?;
        rows("exited")?;
    }
    ensure!(!told.is_empty(), "no row has {key}");
    Ok(told)
}

pub fn disk(text: &str) -> anyhow::Result<Told> {
    cpuledger(text, "disk_read_bytes")
}

pub fn sent(text: &str) -> anyhow::Result<Told> {
    cpuledger(text, "network_sent_bytes")
}

/// The victim by what it has suffered, the others by what they have caused.
pub fn blame(text: &str) -> anyhow::Result<Told> {
    let mut told = cpuledger(text, "wait_caused_ns")?;
    let suffered = cpuledger(text, "wait_suffered_ns")?;
    told.extend(suffered.into_iter().filter(|(name, _)| name == "victim"));
    Ok(told)
}

/// `iotop-c -b -k -d 1`: after the pid, the priority and the user, KiB a second in the fourth column; the command's first word is last but for its arguments.
pub fn iotop(text: &str) -> anyhow::Result<Told> {
    let mut told = Told::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some(kib) = words.get(3).and_then(|word| word.parse::<f64>().ok()) else { continue };
        for name in ["long_reader", "short_reader"] {
            if words.iter().any(|word| word.ends_with(name)) {
                add(&mut told, name, kib * 1024.0);
            }
        }
    }
    ensure!(text.contains("DISK READ"), "iotop-c has no header");
    Ok(told)
}

/// `pidstat -d 1`: KiB a second that were read are in the fifth column, the command is the last.
pub fn pidstat(text: &str) -> anyhow::Result<Told> {
    let mut told = Told::new();
    for line in text.lines().filter(|line| !line.starts_with("Average:")) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (Some(name), Some(Ok(kib))) = (words.last(), words.get(3).map(|word| word.parse::<f64>())) else {
            continue;
        };
        add(&mut told, name, kib * 1024.0);
    }
    ensure!(text.contains("kB_rd/s"), "pidstat has no header");
    Ok(told)
}

/// Of tools that show requests of no process.
pub fn nothing(_: &str) -> anyhow::Result<Told> {
    Ok(Told::new())
}

/// `biosnoop`: the command, the pid, the disk, the direction, the sector, the bytes.
pub fn biosnoop(text: &str) -> anyhow::Result<Told> {
    let mut told = Told::new();
    for line in text.lines().skip(1) {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let (Some(name), Some("R"), Some(Ok(bytes))) =
            (words.get(1), words.get(4).map(|word| &word[..1]), words.get(6).map(|word| word.parse::<f64>()))
        {
            add(&mut told, name, bytes);
        }
    }
    Ok(told)
}

/// `nethogs -t -v 2`: sums of bytes of each connection's process, as `PATH/PID/USER`, at each refresh. The path is that of the program behind a link, and so is
/// the command line's first word.
pub fn nethogs(text: &str) -> anyhow::Result<Told> {
    ensure!(text.contains("Refreshing:"), "nethogs does not refresh");
    let mut most: Told = Told::new();
    for line in text.lines() {
        let mut words = line.split('\t');
        let (Some(process), Some(Ok(bytes))) = (words.next(), words.next().map(|word| word.parse::<f64>()))
        else {
            continue;
        };
        let known = most.entry(process.to_owned()).or_default();
        *known = known.max(bytes);
    }
    let mut told = Told::new();
    for (process, bytes) in most {
        for name in ["long_sender", "short_sender"] {
            if process.contains(name) {
                add(&mut told, name, bytes);
            }
        }
    }
    Ok(told)
}

/// `runqslower -P 1`: the time, the name, the tid, µs, the name of the task before, and its tid.
pub fn runqslower(text: &str) -> anyhow::Result<Told> {
    let mut told = Told::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, name, _, us, before, _] = words[..] else { continue };
        let Ok(us) = us.parse::<f64>() else { continue };
        if name == "victim" {
            add(&mut told, name, us * 1e3);
        }
        if before != "victim" {
            add(&mut told, before, us * 1e3);
        }
    }
    ensure!(!told.is_empty(), "runqslower has seen nobody wait");
    Ok(told)
}

/// The summary of `perf sched timehist -s --state`: ms of sleep, of I/O, preempted and delayed are last.
pub fn timehist(text: &str) -> anyhow::Result<Told> {
    let (_, summary) = text.split_once("Wait-time summary").context("perf prints a summary")?;
    let mut told = Told::new();
    for line in summary.lines() {
        let Some((name, rest)) = line.split_once('[') else { continue };
        let last: Vec<f64> =
            rest.split_whitespace().rev().take(2).filter_map(|word| word.parse().ok()).collect();
        if let ("victim", [delay_ms, preempt_ms]) = (name.trim(), &last[..]) {
            add(&mut told, "victim", (preempt_ms + delay_ms) * 1e6);
        }
    }
    Ok(told)
}
