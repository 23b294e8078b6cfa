//! What is done to tasks: signals, priorities, CPUs. A number is never enough: another task may have it by now.

use std::{fs, io};

use anyhow::{Context, anyhow, ensure};
use cpuledger::machine::{IoPriority, set_io_priority as set_priority};
use cpuledger::support::facts;
use cpuledger_proc::cpu_list;
use rustix::io::Errno;
use rustix::process::{PidfdFlags, Signal, pidfd_open, pidfd_send_signal, setpriority_process};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::victim::Victim;

impl Victim {
    fn raw(&self) -> anyhow::Result<rustix::process::Pid> {
        rustix::process::Pid::from_raw(self.id.tid.0).context("0 is not a process id")
    }

    /// Rows and starts have the numbers of /proc, what is done goes by those of our PID namespace: nothing may be done where
    /// these are not the same. Then its start says whether it is still the same task.
    fn check(&self) -> anyhow::Result<()> {
        ensure!(
            facts::procfs_has_our_numbers(),
            "{} ({}) was left alone: /proc is not that of this PID namespace, where another task may have this number; \
             start cpuledger in the namespace of /proc, or with a procfs of its own",
            self.id.tid,
            self.name
        );
        let path = format!("/proc/{}/task/{}/stat", self.pid, self.id.tid);
        let stat = match fs::read(path) {
            Ok(stat) => stat,
            Err(error) if is_gone(&error) => return Err(self.gone()),
            Err(error) => {
                let context = format!("cannot check that {} is still {}", self.id.tid, self.name);
                return Err(anyhow::Error::new(error).context(context));
            }
        };
        ensure!(
            self.id.start_time_ns.is_start_in(&stat),
            "{} is another task now, and was left alone",
            self.id.tid
        );
        Ok(())
    }

    fn gone(&self) -> anyhow::Error {
        anyhow!("{} ({}) is gone", self.id.tid, self.name)
    }
}

/// What /proc says of a task that is not there, or no longer.
fn is_gone(error: &io::Error) -> bool {
    matches!(error.raw_os_error().map(Errno::from_raw_os_error), Some(Errno::NOENT | Errno::SRCH))
}

/// Sends a signal to the process, through a descriptor that is of this process alone. A process that reuses its
/// number is out of reach.
///
/// # Errors
/// When it is gone, is another by now, or may not be signalled.
pub fn signal(victim: &Victim, number: u32) -> anyhow::Result<String> {
    let name = cpuledger_proc::signal::name(number).context("unknown signal")?;
    let signal = Signal::from_named_raw(number.cast_signed()).context("unknown signal")?;
    let pid = rustix::process::Pid::from_raw(victim.pid.0).context("0 is not a process id")?;
    victim.check()?;
    let descriptor = match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(descriptor) => descriptor,
        Err(Errno::SRCH) => return Err(victim.gone()),
        Err(errno) => return Err(errno).with_context(|| format!("cannot open process {}", victim.pid)),
    };
    // The process that has the number now had it when the descriptor was made, or else the descriptor is of a dead one.
    victim.check()?;
    match pidfd_send_signal(&descriptor, signal) {
        Ok(()) => Ok(format!("SIG{name} sent to {} ({})", victim.pid, victim.name)),
        Err(Errno::SRCH) => Err(victim.gone()),
        Err(errno) => Err(errno).with_context(|| format!("cannot signal {} ({})", victim.pid, victim.name)),
    }
}

/// Gives it another nice value.
///
/// # Errors
/// When it is gone or another, or that is not allowed.
pub fn renice(victim: &Victim, nice: i32) -> anyhow::Result<String> {
    victim.check()?;
    let nice = nice.clamp(-20, 19);
    setpriority_process(Some(victim.raw()?), nice)
        .with_context(|| format!("cannot change the nice value of {} ({})", victim.id.tid, victim.name))?;
    Ok(format!("{} ({}) has nice value {nice}", victim.id.tid, victim.name))
}

/// Gives it another priority for I/O.
///
/// # Errors
/// As [`renice`].
pub fn set_io_priority(victim: &Victim, priority: &str) -> anyhow::Result<String> {
    victim.check()?;
    let level = priority.rsplit(' ').next().and_then(|level| level.parse().ok());
    let value = match (priority.split(' ').next(), level) {
        (Some("idle"), _) => IoPriority::Idle,
        (Some("best"), Some(level)) => IoPriority::BestEffort(level),
        (Some("real"), Some(level)) => IoPriority::RealTime(level),
        _ => IoPriority::ByNice,
    };
    set_priority(victim.id.tid.0, value)
        .with_context(|| format!("cannot change the I/O priority of {} ({})", victim.id.tid, victim.name))?;
    Ok(format!("{} ({}) has I/O priority {priority}", victim.id.tid, victim.name))
}

/// The CPUs it may run on, as a list such as `0-3,5`.
///
/// # Errors
/// When it is gone or another.
pub fn affinity(victim: &Victim) -> anyhow::Result<String> {
    victim.check()?;
    let set = sched_getaffinity(Some(victim.raw()?));
    set.map(|set| written(&set))
        .with_context(|| format!("cannot read the CPUs of {} ({})", victim.id.tid, victim.name))
}

fn written(set: &CpuSet) -> String {
    cpu_list::written((0..CpuSet::MAX_CPU as u32).filter(|&cpu| set.is_set(cpu as usize)))
}

/// Lets it run on these CPUs only.
///
/// # Errors
/// As [`renice`].
pub fn set_affinity(victim: &Victim, cpus: &[usize]) -> anyhow::Result<String> {
    victim.check()?;
    let mut set = CpuSet::new();
    cpus.iter().for_each(|&cpu| set.set(cpu));
    sched_setaffinity(Some(victim.raw()?), &set)
        .with_context(|| format!("cannot change the CPUs of {} ({})", victim.id.tid, victim.name))?;
    Ok(format!("{} ({}) may run on {}", victim.id.tid, victim.name, written(&set)))
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use cpuledger::TICK_NS;
    use cpuledger::{Boottime, Pid, TaskId, Tid};
    use cpuledger_proc::task::stat::parse_stat;

    use super::*;
    use crate::tui::choices::parse_cpus;

    fn sleeper() -> (Child, Victim) {
        let child = Command::new("sleep").arg("100").spawn().expect("sleep");
        let pid = child.id() as i32;
        let stat = fs::read(format!("/proc/{pid}/stat")).expect("it lives");
        let start_ns = parse_stat(&stat).expect("a stat").start_ticks * TICK_NS + 1;
        let id = TaskId { tid: Tid(pid), start_time_ns: Boottime::from_ns(start_ns) };
        (child, Victim { pid: Pid(pid), id, name: "sleep".to_owned() })
    }

    #[test]
    fn another_with_the_same_number_is_left_alone() {
        let (mut child, victim) = sleeper();
        let mut earlier = victim.clone();
        earlier.id.start_time_ns = Boottime::from_ns(victim.id.start_time_ns.ns() - TICK_NS);
        for attempt in [signal(&earlier, 9), renice(&earlier, 5), set_affinity(&earlier, &[0])] {
            let error = attempt.expect_err("it is another").to_string();
            assert!(error.contains("another task"), "{error}");
        }
        assert!(child.try_wait().expect("it is ours").is_none(), "it lives");
        assert!(signal(&victim, 9).expect("it is ours").contains("SIGKILL"));
        assert!(!child.wait().expect("it is ours").success());
        assert!(signal(&victim, 9).expect_err("it is gone").to_string().contains("gone"));
    }

    #[test]
    fn priorities_and_cpus_are_changed() {
        let (mut child, victim) = sleeper();
        let done = renice(&victim, 7).and_then(|_| set_io_priority(&victim, "idle"));
        let cpus = parse_cpus(&affinity(&victim).expect("it lives")).expect("a list");
        let done = done.and_then(|_| set_affinity(&victim, &cpus[..1]));
        let is_nice =
            fs::read_to_string(format!("/proc/{}/stat", victim.pid)).map(|stat| stat.contains(" 27 7 "));
        let left = affinity(&victim).expect("it lives");
        child.kill().and_then(|()| child.wait().map(drop)).expect("it is ours");
        done.expect("it is ours");
        assert!(is_nice.expect("it lived"));
        assert_eq!(left, cpus[0].to_string());
    }

    #[test]
    fn a_set_of_cpus_is_written_as_a_list() {
        let mut set = CpuSet::new();
        [0, 1, 2, 5, 7, 8].into_iter().for_each(|cpu| set.set(cpu));
        assert_eq!(written(&set), "0-2,5,7-8");
    }
}
