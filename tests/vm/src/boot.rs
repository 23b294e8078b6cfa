//! Booting one kernel, listening to the guest, and judging what it said.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use std::{fs, thread};

use anyhow::Context;
use cpuledger_vm::extent::{self, Chosen};
use cpuledger_vm::machine::PARAMETER;
use cpuledger_vm::protocol::{Event, Outcome};
use cpuledger_vm::{Architecture, Feature, Machine, Series};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use crate::again;
use crate::emulator::Emulator;
use crate::kernels::Kernel;

/// What all machines have in common. `/dev/kvm` is not used, because it may be there and not work. The CPU is an old model, and the
/// kernel skips what only costs an emulator time: saving wide registers at each switch, copying strings byte by byte, and protection
/// from its own user. `no_timer_check` and `tsc=reliable` are for a busy host: the kernel may find that there is no tick, or that
/// its clock is wrong. `jent_mod_init` would test random numbers for half a second, which no test needs. Every process has its
/// code at the same addresses: at others QEMU would translate it anew, which was a quarter of all it did. What the kernel checks or counts at
/// each system call and switch and no test looks at (AppArmor, audit, pressure, copies, stacks) took a seventh of the rest.
const COMMON: &[&str] = &["-nodefaults", "-display", "none", "-no-reboot", "-serial", "stdio"];
const PARAMETERS: &str = "quiet panic=-1 mitigations=off init_on_alloc=0 cryptomgr.notests initcall_blacklist=jent_mod_init norandmaps \
                          apparmor=0 audit=0 psi=0 nowatchdog hardened_usercopy=off randomize_kstack_offset=off \
                          kfence.sample_interval=0";

/// Likewise of one architecture: board and CPU, and what the kernel is told of them. The Arm has the atomic instructions of all that
/// are sold for servers, and signs no pointers, which would take an emulator longer than the rest.
fn board(architecture: Architecture) -> ([&'static str; 4], &'static str) {
    match architecture {
        Architecture::Amd64 => {
            (["-M", "q35", "-cpu", "Nehalem"], "console=ttyS0 no_timer_check tsc=reliable")
        }
        Architecture::Arm64 => (["-M", "virt", "-cpu", "neoverse-n1"], "console=ttyAMA0"),
    }
}

/// The options of the emulator that make a machine. Where one of its threads runs all CPUs in turn, any version will do: with a thread
/// a CPU, 7.2 fails now and then on Linux 6.18 and later.
fn options(machine: Machine, suites: Chosen) -> Vec<String> {
    let accelerator = match machine {
        Machine::Concurrent => "tcg,thread=multi",
        _ => "tcg,thread=single",
    };
    let memory = match machine {
        Machine::ManyCpus => "2G",
        _ => "1G",
    };
    let (board, of_board) = board(machine.architecture());
    let parameters = format!(
        "{of_board} {PARAMETERS} {PARAMETER}{machine} {}{suites} {}",
        extent::PARAMETER,
        machine.parameters()
    );
    let cpus = machine.cpus().to_string();
    let own = ["-accel", accelerator, "-smp", &cpus, "-m", memory, "-append", parameters.trim_end()];
    board.into_iter().chain(COMMON.iter().copied()).chain(own).map(str::to_owned).collect()
}

/// The dates of the boots after the first: the next years, then long ago.
const WRONG_DATES: [&str; 2] = ["base=2031-06-01T12:00:00", "base=2019-06-01T12:00:00"];
/// Maximum number of attempts to boot a kernel with a correct clock.
const BOOTS: u32 = 4;
/// Number of console lines kept in case the guest dies.
const LAST_LINES: usize = 30;

/// A kernel on a machine.
#[derive(Debug, Clone)]
pub struct Guest<'a> {
    pub kernel: &'a Kernel,
    pub machine: Machine,
    pub emulator: &'a Emulator,
    /// All that it has besides the kernel.
    pub initramfs: &'a Path,
    /// What is run in it.
    pub suites: Chosen,
}

/// One kernel that was booted, and what it said.
#[derive(Debug)]
pub struct Booted {
    pub series: Series,
    pub machine: Machine,
    /// What it should have run.
    pub suites: Chosen,
    pub events: Vec<Event>,
    /// What was on the console beside events, its end.
    pub last_lines: VecDeque<String>,
    pub took: Duration,
    /// Of the emulator.
    pub cpu: Duration,
    /// It was up for longer than it can have been, and was ended for that.
    pub has_wrong_clock: bool,
}

impl Booted {
    /// What the guest is called: its series, and what its machine is.
    pub fn name(&self) -> String {
        format!("{}{}", self.series, self.machine.label())
    }

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

    /// Adds another boot of the same guest: what was not as it should be in that, and its end.
    fn go_on(&mut self, again: Booted) {
        let has_ended = |events: &[Event]| events.last() == Some(&Event::Done);
        let is_whole = has_ended(&self.events) && has_ended(&again.events);
        self.events.retain(|event| *event != Event::Done);
        self.events.extend(again.events.into_iter().filter(|event| match event {
            Event::Test { outcome, .. } => *outcome != Outcome::Passed,
            Event::Begins(_) | Event::Carried(..) => true,
            _ => false,
        }));
        self.events.extend(is_whole.then_some(Event::Done));
        self.last_lines.extend(again.last_lines);
        self.took += again.took;
        self.cpu += again.cpu;
    }

    /// All that is not as it should be, one sentence each.
    pub fn problems(&self, is_complete: bool) -> Vec<String> {
        let (series, guest) = (self.series, self.name());
        let mut problems = Vec::new();
        if self.events.last() != Some(&Event::Done) {
            let during = self.events.iter().rev().find_map(|event| match event {
                Event::Begins(test) => Some(test.as_str()),
                _ => None,
            });
            let lines: Vec<&str> = self.last_lines.iter().map(String::as_str).collect();
            problems.push(format!(
                "{guest}: the guest has not come to its end; it was at `{}`, and its console ends so:\n{}",
                during.unwrap_or("booting"),
                lines.join("\n")
            ));
        }
        if !self.has_begun() {
            return problems;
        }
        if !self.release().starts_with(&format!("{series}.")) {
            problems.push(format!("{guest}: the guest says that it is {}", self.release()));
        }
        for feature in Feature::ALL {
            let should = series >= feature.since();
            match self.has(feature) {
                Some(has) if has == should => {}
                Some(true) => problems.push(format!(
                    "{guest} has {}, which is said to have come with {}: correct tests/vm/src/feature.rs",
                    feature.name(),
                    feature.since()
                )),
                Some(false) => problems.push(format!(
                    "{guest} lacks {}, which came with {}: what needs it was not tested",
                    feature.name(),
                    feature.since()
                )),
                None => problems.push(format!("{guest}: no check has looked for {}", feature.name())),
            }
        }
        for (suite, name, outcome) in self.tests() {
            match outcome {
                Outcome::Passed | Outcome::Lacks(_) | Outcome::NotRun => {}
                Outcome::Failed => problems.push(format!("{guest}: {suite}: {name} failed")),
                Outcome::Late => problems.push(format!("{guest}: {suite}: {name} did not end in time")),
            }
        }
        let suites = self.suites.suites().filter(|suite| suite.runs("", self.machine));
        let silent = suites.map(|suite| suite.name());
        for suite in silent.filter(|suite| is_complete && !self.tests().any(|test| test.0 == suite)) {
            problems.push(format!("{guest}: of {suite} no test was run"));
        }
        problems
    }
}

/// Boots a kernel and listens until the guest ends, or `limit` has passed. As long as a suite carries files over, that suite is run once
/// more, in another boot that has them, and whose date is wrong.
pub fn boot(guest: &Guest<'_>, limit: Duration) -> anyhow::Result<Booted> {
    let mut booted = boot_with_right_clock(guest, limit, None)?;
    for date in WRONG_DATES {
        let Some((suites, archive)) = again::carried(&mut booted.events)? else { break };
        let (initramfs, _open) = again::with(guest.initramfs, &archive)?;
        let guest = Guest { initramfs: &initramfs, suites, ..guest.clone() };
        booted.go_on(boot_with_right_clock(&guest, limit, Some(date))?);
    }
    Ok(booted)
}

/// A kernel measures at its boot how fast its clock counts, and a busy host falsifies that. Then its tests say nothing of time, and it is
/// booted again.
fn boot_with_right_clock(guest: &Guest<'_>, limit: Duration, date: Option<&str>) -> anyhow::Result<Booted> {
    for _ in 1..BOOTS {
        let booted = boot_once(guest, limit, date)?;
        if !booted.has_wrong_clock {
            return Ok(booted);
        }
        println!(
            "{}: its clock runs ahead of the host's, which was busy while it booted: again",
            booted.name()
        );
    }
    boot_once(guest, limit, date)
}

fn boot_once(guest: &Guest<'_>, limit: Duration, date: Option<&str>) -> anyhow::Result<Booted> {
    let begin = Instant::now();
    // However we end, no emulator outlives us: nothing would read its output.
    let mut machine = Command::new("setpriv")
        .args(["--pdeathsig", "KILL"])
        .args(guest.emulator.words())
        .args(options(guest.machine, guest.suites))
        .args(date.into_iter().flat_map(|date| ["-rtc", date]))
        .arg("-kernel")
        .arg(&guest.kernel.path)
        .arg("-initrd")
        .arg(guest.initramfs)
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
        series: guest.kernel.series,
        machine: guest.machine,
        suites: guest.suites,
        events: Vec::new(),
        last_lines: VecDeque::new(),
        took: Duration::ZERO,
        cpu: Duration::ZERO,
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
                    tell(&booted.name(), &event);
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
    let pid = Pid::from_child(&machine);
    // Until it is waited for, its file is there.
    waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)?;
    booted.cpu = cpu_time(&format!("/proc/{}/stat", machine.id()), 11);
    machine.wait().context("the emulator cannot be waited for")?;
    drop(lines);
    let _ = listening.join();
    booted.took = begin.elapsed();
    Ok(booted)
}

/// The sum of two neighbours among the fields of a `stat` file, counted from behind the name, which are in hundredths of a second.
pub fn cpu_time(path: &str, first: usize) -> Duration {
    let stat = fs::read_to_string(path).unwrap_or_default();
    let fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields);
    let ticks = fields.split(' ').skip(first).take(2).filter_map(|field| field.parse::<u64>().ok());
    Duration::from_millis(10 * ticks.sum::<u64>())
}

/// Whether a guest says that it has been up for longer than since it was started.
fn is_ahead(milliseconds: u64, started: Duration) -> bool {
    Duration::from_millis(milliseconds) > started + started / 10
}

/// Says at once what does not wait for the tables: under emulation a run takes minutes.
fn tell(guest: &str, event: &Event) {
    if let Event::Test { suite, name, outcome, milliseconds, output } = event {
        let what = match outcome {
            Outcome::Lacks(_) => return,
            Outcome::Passed => "ok",
            Outcome::NotRun => "not run",
            Outcome::Failed => "FAILED",
            Outcome::Late => "LATE",
        };
        println!("{guest:<22} {milliseconds:>6} ms {what:<7} {suite}: {name}");
        print!("{output}");
        if *outcome == Outcome::NotRun {
            println!();
        }
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
        Booted {
            series,
            machine: Machine::TwoCpus,
            suites: Chosen::of(|_| true),
            events,
            last_lines: VecDeque::new(),
            took: Duration::ZERO,
            cpu: Duration::ZERO,
            has_wrong_clock: false,
        }
    }

    fn test(outcome: Outcome) -> Event {
        Event::Test { suite: "s".into(), name: "t".into(), outcome, milliseconds: 5, output: "why".into() }
    }

    #[test]
    fn no_guest_is_up_for_longer_than_since_its_start() {
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
