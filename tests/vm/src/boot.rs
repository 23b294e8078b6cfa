//! Booting one kernel, listening to the guest, and judging what it said.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use cpuledger_vm::protocol::{Event, Outcome};
use cpuledger_vm::{Feature, Series};

use crate::Impossible;
use crate::kernels::Kernel;

/// The emulator.
const EMULATOR: &str = "qemu-system-x86_64";
/// The machine: `/dev/kvm` is not asked for, for it may be there and not work. Two CPUs by one thread: with a thread each, QEMU 7.2
/// fails now and then on Linux 6.18 and later. An old model of CPU, and a kernel that leaves alone what only costs an emulator time:
/// wide registers to be saved at each switch, strings copied byte by byte, protection from the own user. `no_timer_check` and
/// `tsc=reliable`: while the host is busy, a kernel may find that there is no tick, or that its clock is wrong. The random numbers that
/// `jent_mod_init` would try out for half a second nobody asks for. And every process has its code at the same addresses: at others QEMU
/// would translate it anew, which was a quarter of all it did.
const MACHINE: &[&str] = &[
    "-M",
    "q35",
    "-accel",
    "tcg,thread=single",
    "-cpu",
    "Nehalem",
    "-smp",
    "2",
    "-m",
    "1G",
    "-nodefaults",
    "-display",
    "none",
    "-no-reboot",
    "-serial",
    "stdio",
    "-append",
    "console=ttyS0 quiet panic=-1 no_timer_check tsc=reliable mitigations=off init_on_alloc=0 cryptomgr.notests \
     initcall_blacklist=jent_mod_init norandmaps",
];
/// So often a kernel is booted until its clock is right.
const BOOTS: u32 = 4;
/// So many of the last lines of the console are kept for the case that the guest dies.
const LAST_LINES: usize = 30;

/// One kernel that was booted, and what it said.
#[derive(Debug)]
pub struct Booted {
    pub series: Series,
    pub events: Vec<Event>,
    /// What was on the console beside events, its end.
    pub last_lines: VecDeque<String>,
    pub took: Duration,
    /// It was up for longer than it can have been, and was ended for that.
    pub has_wrong_clock: bool,
}

impl Booted {
    /// As uname(2) said it.
    pub fn release(&self) -> &str {
        let release = self.events.iter().find_map(|event| match event {
            Event::Kernel(release) => Some(release.as_str()),
            _ => None,
        });
        release.unwrap_or("?")
    }

    /// Suite, name and outcome of each test.
    pub fn tests(&self) -> impl Iterator<Item = (&str, &str, Outcome)> {
        self.events.iter().filter_map(|event| match event {
            Event::Test { suite, name, outcome, .. } => Some((suite.as_str(), name.as_str(), *outcome)),
            _ => None,
        })
    }

    /// Whether the guest has found this feature.
    pub fn has(&self, feature: Feature) -> Option<bool> {
        self.events.iter().find_map(|event| match event {
            Event::Feature(found, holds) if *found == feature => Some(*holds),
            _ => None,
        })
    }

    /// Whether a guest has begun at all.
    fn has_begun(&self) -> bool {
        self.events.iter().any(|event| matches!(event, Event::Kernel(_)))
    }

    /// All that is not as it should be, one sentence each.
    pub fn problems(&self, is_whole: bool) -> Vec<String> {
        let series = self.series;
        let mut problems = Vec::new();
        if self.events.last() != Some(&Event::Done) {
            let during = self.events.iter().rev().find_map(|event| match event {
                Event::Begins(test) => Some(test.as_str()),
                _ => None,
            });
            let lines: Vec<&str> = self.last_lines.iter().map(String::as_str).collect();
            problems.push(format!(
                "{series}: the guest has not come to its end; it was at `{}`, and its console ends so:\n{}",
                during.unwrap_or("booting"),
                lines.join("\n")
            ));
        }
        if !self.has_begun() {
            return problems;
        }
        if !self.release().starts_with(&format!("{series}.")) {
            problems.push(format!("{series}: the guest says that it is {}", self.release()));
        }
        for feature in Feature::ALL {
            let should = series >= feature.since();
            match self.has(feature) {
                Some(has) if has == should => {}
                Some(true) => problems.push(format!(
                    "{series} has {}, which is said to have come with {}: correct tests/vm/src/feature.rs",
                    feature.name(),
                    feature.since()
                )),
                Some(false) => problems.push(format!(
                    "{series} lacks {}, which came with {}: what needs it was not tested",
                    feature.name(),
                    feature.since()
                )),
                None => problems.push(format!("{series}: nobody has looked for {}", feature.name())),
            }
        }
        for (suite, name, outcome) in self.tests() {
            match outcome {
                Outcome::Passed | Outcome::Lacks(_) => {}
                Outcome::Failed => problems.push(format!("{series}: {suite}: {name} failed")),
                Outcome::Late => problems.push(format!("{series}: {suite}: {name} did not end in time")),
            }
        }
        let silent = cpuledger_vm::suite::SUITES.iter().map(|suite| suite.name());
        for suite in silent.filter(|suite| is_whole && !self.tests().any(|test| test.0 == suite)) {
            problems.push(format!("{series}: of {suite} no test was run"));
        }
        problems
    }
}

/// Whether guests can be started here at all.
pub fn find_emulator() -> Result<(), Impossible> {
    let output = Command::new(EMULATOR).arg("--version").output();
    match output {
        Ok(output) if output.status.success() => Ok(()),
        _ => Err(Impossible(format!("{EMULATOR} cannot be run: scripts/install-packages vm installs it"))),
    }
}

/// Boots a kernel and listens until the guest ends, or `limit` has passed. A kernel finds out at its boot how fast its clock counts, and
/// where the host is too busy then, it finds something else: what its tests say of time is nothing, and it is booted again.
pub fn boot(kernel: &Kernel, initramfs: &Path, limit: Duration) -> anyhow::Result<Booted> {
    for _ in 1..BOOTS {
        let booted = boot_once(kernel, initramfs, limit)?;
        if !booted.has_wrong_clock {
            return Ok(booted);
        }
        println!(
            "{}: its clock runs ahead of the host's, which was busy while it booted: again",
            kernel.series
        );
    }
    boot_once(kernel, initramfs, limit)
}

fn boot_once(kernel: &Kernel, initramfs: &Path, limit: Duration) -> anyhow::Result<Booted> {
    let begin = Instant::now();
    // An emulator that nobody listens to any more is of no use, however we end.
    let mut machine = Command::new("setpriv")
        .args(["--pdeathsig", "KILL", EMULATOR])
        .args(MACHINE)
        .arg("-kernel")
        .arg(&kernel.path)
        .arg("-initrd")
        .arg(initramfs)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .context("setpriv cannot be run: run scripts/install-packages vm")?;
    let console = machine.stdout.take().context("a pipe was asked for")?;
    let (sender, lines) = channel();
    let listening = thread::spawn(move || {
        // It ends with the machine; a line may be of any bytes.
        for line in BufReader::new(console).split(b'\n').map_while(Result::ok) {
            if sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                return;
            }
        }
    });
    let mut booted = Booted {
        series: kernel.series,
        events: Vec::new(),
        last_lines: VecDeque::new(),
        took: Duration::ZERO,
        has_wrong_clock: false,
    };
    loop {
        match lines.recv_timeout(limit.saturating_sub(begin.elapsed())) {
            Ok(line) => match Event::parse(&line) {
                Some(Event::Uptime(milliseconds)) if is_ahead(milliseconds, begin.elapsed()) => {
                    booted.has_wrong_clock = true;
                    machine.kill().context("the emulator cannot be ended")?;
                    break;
                }
                Some(event) => {
                    tell(kernel.series, &event);
                    booted.events.push(event);
                }
                None => {
                    booted.last_lines.push_back(line.trim_end().to_owned());
                    if booted.last_lines.len() > LAST_LINES {
                        booted.last_lines.pop_front();
                    }
                }
            },
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                booted.last_lines.push_back(format!("(not ended after {} s, and killed)", limit.as_secs()));
                machine.kill().context("the emulator cannot be ended")?;
                break;
            }
        }
    }
    machine.wait().context("the emulator cannot be waited for")?;
    drop(lines);
    let _ = listening.join();
    booted.took = begin.elapsed();
    Ok(booted)
}

/// Whether a guest that was started so long ago cannot have been up for so many milliseconds.
fn is_ahead(milliseconds: u64, started: Duration) -> bool {
    Duration::from_millis(milliseconds) > started + started / 10
}

/// Says at once what does not wait for the tables: under emulation a run takes minutes.
fn tell(series: Series, event: &Event) {
    if let Event::Test { suite, name, outcome, milliseconds, output } = event {
        let what = match outcome {
            Outcome::Lacks(_) => return,
            Outcome::Passed => "ok",
            Outcome::Failed => "FAILED",
            Outcome::Late => "LATE",
        };
        println!("{series:<5} {milliseconds:>6} ms {what:<6} {suite}: {name}");
        print!("{output}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(events: impl IntoIterator<Item = Event>) -> Booted {
        let series = Series(6, 1);
        let features = Feature::ALL.map(|feature| Event::Feature(feature, series >= feature.since()));
        let events =
            [Event::Kernel("6.1.0-1".to_owned())].into_iter().chain(features).chain(events).collect();
        Booted { series, events, last_lines: VecDeque::new(), took: Duration::ZERO, has_wrong_clock: false }
    }

    fn test(outcome: Outcome) -> Event {
        Event::Test { suite: "s".into(), name: "t".into(), outcome, milliseconds: 5, output: "why".into() }
    }

    #[test]
    fn nobody_is_up_for_longer_than_since_the_start() {
        assert!(!is_ahead(4900, Duration::from_secs(5)) && is_ahead(60_000, Duration::from_secs(5)));
    }

    #[test]
    fn nothing_counts_without_the_last_line() {
        assert_eq!(said([test(Outcome::Passed), Event::Done]).problems(false), Vec::<String>::new());
        let problems = said([Event::Begins("s: t".into())]).problems(false);
        assert!(problems.len() == 1 && problems[0].contains("it was at `s: t`"), "{problems:?}");
        assert!(!said([Event::Done]).problems(true).is_empty(), "no suite has said anything");
    }

    #[test]
    fn a_test_that_failed_or_was_late_is_told() {
        for outcome in [Outcome::Failed, Outcome::Late] {
            let problems = said([test(outcome), Event::Done]).problems(false);
            assert!(problems.len() == 1 && problems[0].contains("6.1: s: t "), "{problems:?}");
        }
    }

    #[test]
    fn a_kernel_has_what_its_series_should_have_and_nothing_else() {
        let mut booted = said([test(Outcome::Lacks(Feature::OpenCodedIterator)), Event::Done]);
        assert_eq!(booted.problems(false), Vec::<String>::new());
        booted
            .events
            .retain(|event| !matches!(event, Event::Feature(Feature::Atomics | Feature::TaskByTid, _)));
        booted.events.insert(0, Event::Feature(Feature::Atomics, false));
        booted.events.insert(0, Event::Feature(Feature::TaskByTid, true));
        let problems = booted.problems(false);
        assert!(problems.len() == 2, "{problems:?}");
        assert!(
            problems[0].contains("lacks BPF atomics") && problems[1].contains("feature.rs"),
            "{problems:?}"
        );
    }
}
