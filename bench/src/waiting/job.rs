//! One tool at work: what it prints, what the kernel counts for the load meanwhile, and the CPU time that it takes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use libbpf_rs::query::ProgInfoIter;

use super::load::{Counts, Load};
use crate::measure::children_cpu_ns;

/// What came of it.
pub struct Done {
    /// The standard output of the last command.
    pub output: String,
    /// Of the kernel, when the interval began and when the first command had ended.
    pub counts: [Counts; 2],
    /// From the start of the first command to the end of the last.
    pub elapsed: Duration,
    /// User and system time of all commands, from their start to their end.
    pub cpu_ns: [u64; 2],
    /// What its BPF programs took of the tasks that ran them, if it has any.
    pub bpf_ns: Option<u64>,
}

const POLL: Duration = Duration::from_millis(50);
/// Of what a tool says when it fails.
const WORDS_CHARS: usize = 240;

/// Runs the commands one after the other. The interval begins with the first, or with the first output of it that has the mark.
///
/// # Errors
/// When one cannot be run or fails, in its own words.
pub fn run(commands: &[Vec<String>], mark: Option<&str>, load: &Load) -> anyhow::Result<Done> {
    let (start, before_ns) = (Instant::now(), children_cpu_ns()?);
    let mut begin = load.counts()?;
    let (first, others) = commands.split_first().context("a tool has a command")?;
    let (mut output, bpf_ns) = command(first, |text| {
        if mark.is_some_and(|mark| text.contains(mark)) {
            begin = load.counts()?;
            return Ok(true);
        }
        Ok(false)
    })?;
    let end = load.counts()?;
    for other in others {
        output = command(other, |_| Ok(true))?.0;
    }
    let after_ns = children_cpu_ns()?;
    let cpu_ns = [after_ns[0] - before_ns[0], after_ns[1] - before_ns[1]];
    Ok(Done { output, counts: [begin, end], elapsed: start.elapsed(), cpu_ns, bpf_ns })
}

/// Runs one: its output, and what its BPF programs took. `look` gets all output up to now, until it says that it has seen enough.
///
/// # Errors
/// As [`run`].
pub fn command(
    words: &[String],
    mut look: impl FnMut(&str) -> anyhow::Result<bool>,
) -> anyhow::Result<(String, Option<u64>)> {
    let (program, arguments) = words.split_first().context("a command has a name")?;
    let mut child = Command::new(program)
        .args(arguments)
        .envs([("LC_ALL", "C"), ("S_COLORS", "never"), ("BPFTRACE_MAP_KEYS_MAX", "65536")])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| {
            format!("{program} cannot be run (scripts/install-packages bench installs peers)")
        })?;
    let pid = child.id();
    let (mut stdout, mut stderr) =
        (child.stdout.take().context("a pipe")?, child.stderr.take().context("a pipe")?);
    let is_over = AtomicBool::new(false);
    let (output, errors, bpf_ns) = thread::scope(|scope| {
        let programs = scope.spawn(|| programs_ns(pid, &is_over));
        let errors = scope.spawn(move || {
            let mut bytes = Vec::new();
            let _ = stderr.read_to_end(&mut bytes);
            String::from_utf8_lossy(&bytes).into_owned()
        });
        let output = read(&mut stdout, &mut look);
        if output.is_err() {
            // It may wait until what it prints is read.
            let _ = child.kill();
        }
        is_over.store(true, Ordering::Relaxed);
        (output, errors.join().unwrap_or_default(), programs.join().unwrap_or_default())
    });
    let status = child.wait()?;
    let output = output?;
    if !status.success() {
        bail!("{status}: {}", last_words(&[&errors, &output]));
    }
    Ok((output, bpf_ns))
}

fn read(
    stdout: &mut impl Read,
    look: &mut impl FnMut(&str) -> anyhow::Result<bool>,
) -> anyhow::Result<String> {
    let (mut bytes, mut room) = (Vec::new(), vec![0; 64 * 1024]);
    let mut has_seen = false;
    loop {
        let length = stdout.read(&mut room)?;
        if length == 0 {
            return Ok(String::from_utf8_lossy(&bytes).into_owned());
        }
        bytes.extend_from_slice(&room[..length]);
        has_seen = has_seen || look(&String::from_utf8_lossy(&bytes))?;
    }
}

/// The last line of each, as far as it fits.
fn last_words(texts: &[&str]) -> String {
    let lines = texts.iter().filter_map(|text| text.lines().rev().find(|line| !line.trim().is_empty()));
    lines.collect::<Vec<_>>().join("; ").chars().take(WORDS_CHARS).collect()
}

/// Until it is over: the run time of the programs that the process holds, as kernel.bpf_stats_enabled has it counted. Its last
/// milliseconds are missed.
fn programs_ns(pid: u32, is_over: &AtomicBool) -> Option<u64> {
    let mut programs = BTreeMap::new();
    while !is_over.load(Ordering::Relaxed) {
        programs.extend(self::programs(pid));
        thread::sleep(POLL);
    }
    (!programs.is_empty()).then(|| programs.values().map(|[run_ns, _]| run_ns).sum())
}

/// The programs that the process holds, itself or by a link, by their numbers: how long they have run and how often, as kernel.bpf_stats_enabled has it
/// counted.
pub fn programs(pid: u32) -> BTreeMap<u64, [u64; 2]> {
    let entries = fs::read_dir(format!("/proc/{pid}/fdinfo")).into_iter().flatten().flatten();
    let held: BTreeSet<u64> = entries
        .filter_map(|entry| number(&fs::read_to_string(entry.path()).unwrap_or_default(), "prog_id:"))
        .collect();
    let all = ProgInfoIter::default().map(|info| (u64::from(info.id), [info.run_time_ns, info.run_cnt]));
    all.filter(|(id, _)| held.contains(id)).collect()
}

fn number(text: &str, key: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(key)?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_that_fails_is_quoted() {
        let words =
            ["sh", "-c", "echo one; echo no headers; echo cannot compile >&2; exit 1"].map(str::to_owned);
        let error = command(&words, |_| Ok(true)).expect_err("it fails").to_string();
        assert!(error.ends_with("exit status: 1: cannot compile; no headers"), "{error}");
        let error =
            command(&["cpuledger-no-such-tool".to_owned()], |_| Ok(true)).expect_err("it is not there");
        assert!(format!("{error:#}").contains("install-packages bench"), "{error:#}");
    }

    #[test]
    fn the_program_of_a_link_is_in_fdinfo() {
        assert_eq!(number("pos:\t0\nlink_type:\ttracing\nprog_id:\t451\n", "prog_id:"), Some(451));
        assert_eq!(number("pos:\t0\n", "prog_id:"), None);
    }
}
