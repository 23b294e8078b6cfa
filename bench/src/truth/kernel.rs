//! What the kernel counts itself, read at an instant.

use std::collections::HashMap;
use std::fs;
use std::process::Command;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{sleep, spawn};
use std::time::Duration;

use anyhow::{Context, ensure};
use cpuledger::TaskId;
use cpuledger::machine::monotonic_ns;
use cpuledger_load::Cgroup;
use cpuledger_proc::machine::stat;
use cpuledger_proc::task::schedstat::parse_schedstat;
use cpuledger_proc::task::stat::parse_stat;

/// What the clock thread wakes before the instant, and then waits for without sleeping.
const AHEAD_NS: u64 = 100_000;
/// A tick of /proc.
const TICK_NS: u64 = 10_000_000;
/// What the kernel tells of its own types.
const BTF: &str = "/sys/kernel/btf/vmlinux";

/// Counters of a cgroup and of the machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct Kernel {
    /// When they were read.
    pub at_ns: u64,
    pub usage_ns: u64,
    /// What the hypervisor took, in ticks.
    pub steal_ns: u64,
    /// What interrupts and soft interrupts took, in ticks.
    pub interrupts_ns: u64,
    pub switches: u64,
}

impl Kernel {
    /// Reads them.
    ///
    /// # Errors
    /// Without /proc, or the cgroup.
    pub fn read(cgroup: &Cgroup) -> anyhow::Result<Kernel> {
        let at_ns = monotonic_ns();
        let usage_ns = cgroup.usage_ns()?;
        let stat = fs::read_to_string("/proc/stat").context("read /proc/stat")?;
        let counts = machine(&stat).context("/proc/stat is not as it should be")?;
        Ok(Kernel { at_ns, usage_ns, ..counts })
    }
}

/// What is counted of the whole machine.
fn machine(text: &str) -> Option<Kernel> {
    let (_, all) = stat::cpus(text).into_iter().find(|(cpu, _)| cpu.is_none())?;
    let (steal_ns, interrupts_ns) = (all.steal * TICK_NS, (all.irq + all.softirq) * TICK_NS);
    Some(Kernel { steal_ns, interrupts_ns, switches: stat::switches(text)?, ..Kernel::default() })
}

/// What the clock leaves out by which the kernel charges tasks. /proc/stat counts interrupts on every kernel. One that is built without
/// `IRQ_TIME_ACCOUNTING` charges them to the task that they interrupt, as most do: there they are no stolen time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeftOut {
    steal: bool,
    interrupts: bool,
}

impl LeftOut {
    /// Asks the kernel.
    ///
    /// # Errors
    /// Without BTF.
    pub fn by_this_kernel() -> anyhow::Result<LeftOut> {
        Ok(LeftOut::by(&fs::read(BTF).with_context(|| format!("read {BTF}"))?))
    }

    /// A run queue has these members only where the kernel is built so.
    fn by(btf: &[u8]) -> LeftOut {
        let has = |name: &[u8]| btf.windows(name.len()).any(|part| part == name);
        LeftOut { steal: has(b"\0prev_steal_time_rq\0"), interrupts: has(b"\0prev_irq_time\0") }
    }

    /// How much it has left out of the time of tasks.
    pub fn of(self, kernel: &Kernel) -> u64 {
        let counts = [(self.steal, kernel.steal_ns), (self.interrupts, kernel.interrupts_ns)];
        counts.iter().filter(|(is_left_out, _)| *is_left_out).map(|(_, ns)| ns).sum()
    }
}

/// A thread that no load holds up, and that reads the counters at the instants that it is asked for.
pub struct Clock {
    ask: Sender<(Arc<Cgroup>, u64)>,
    answers: Receiver<anyhow::Result<Kernel>>,
}

impl Clock {
    /// Starts it, before any load: what makes it urgent is not. It ends when this is dropped.
    ///
    /// # Errors
    /// Without chrt, or root.
    pub fn start() -> anyhow::Result<Clock> {
        let (ask, asked) = channel::<(Arc<Cgroup>, u64)>();
        let (answer, answers) = channel();
        spawn(move || {
            let urgent = be_urgent(20);
            if answer.send(urgent.map(|()| Kernel::default())).is_err() {
                return;
            }
            for (cgroup, at_ns) in asked {
                sleep(Duration::from_nanos(at_ns.saturating_sub(monotonic_ns() + AHEAD_NS)));
                while monotonic_ns() < at_ns {
                    std::hint::spin_loop();
                }
                if answer.send(Kernel::read(&cgroup)).is_err() {
                    return;
                }
            }
        });
        let clock = Clock { ask, answers };
        clock.answer()?;
        Ok(clock)
    }

    /// Asks for the counters of a cgroup, and of the machine, at an instant to come.
    ///
    /// # Errors
    /// When the thread has ended.
    pub fn ask(&self, cgroup: &Arc<Cgroup>, at_ns: u64) -> anyhow::Result<()> {
        self.ask.send((Arc::clone(cgroup), at_ns)).context("the clock has ended")
    }

    /// What it has read.
    ///
    /// # Errors
    /// When that failed.
    pub fn answer(&self) -> anyhow::Result<Kernel> {
        self.answers.recv().context("the clock has ended")?
    }
}

/// Makes this thread one that is not held up by a load; what it starts is as usual.
///
/// # Errors
/// Without chrt, or root.
pub fn be_urgent(priority: u32) -> anyhow::Result<()> {
    let own = rustix::thread::gettid().as_raw_nonzero().to_string();
    let mut command = Command::new("chrt");
    let status = command.args(["--reset-on-fork", "--fifo", "--pid", &priority.to_string(), &own]).status();
    ensure!(status.context("cannot run chrt; install util-linux")?.success(), "chrt fails; run as root");
    Ok(())
}

/// A task, whatever has its number later: its tid, and the tick of its start.
pub type Which = (i32, u64);

/// Which task this is.
pub fn which(task: TaskId) -> Which {
    (task.tid.0, task.start_time_ns.ticks(TICK_NS))
}

/// What each task of the cgroup has waited for a CPU, in waits that are over.
///
/// # Errors
/// Without the cgroup.
pub fn waits(cgroup: &Cgroup) -> anyhow::Result<HashMap<Which, u64>> {
    Ok(tids(cgroup)?.into_iter().filter_map(wait).collect())
}

fn tids(cgroup: &Cgroup) -> anyhow::Result<Vec<i32>> {
    let tids = cgroup.read(if cgroup.is_v1() { "tasks" } else { "cgroup.threads" })?;
    Ok(tids.lines().filter_map(|tid| tid.parse().ok()).collect())
}

fn wait(tid: i32) -> Option<(Which, u64)> {
    let wait_ns = parse_schedstat(&read(tid, "schedstat")?)?.wait_ns;
    Some(((tid, parse_stat(&read(tid, "stat")?)?.start_ticks), wait_ns))
}

/// A file of a task; one that has just ended has none.
fn read(tid: i32, name: &str) -> Option<Vec<u8>> {
    fs::read(format!("/proc/{tid}/{name}")).ok()
}

/// Whether none of the cgroup's tasks has a CPU or waits for one.
///
/// # Errors
/// Without the cgroup.
pub fn are_at_rest(cgroup: &Cgroup) -> anyhow::Result<bool> {
    let wants_cpu = |tid: i32| Some(parse_stat(&read(tid, "stat")?)?.state == b'R');
    Ok(!tids(cgroup)?.into_iter().any(|tid| wants_cpu(tid) == Some(true)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tasks_do_not_execute_is_steal_and_on_some_kernels_interrupts() {
        let stat = "cpu  1 2 3 4 5 6 7 8 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\nintr 9\nctxt 1234\n";
        let kernel = machine(stat).expect("it is whole");
        assert_eq!(kernel.switches, 1234);
        let ticks = |btf: &[u8]| LeftOut::by(btf).of(&kernel) / TICK_NS;
        assert_eq!(ticks(b"\0rq\0prev_steal_time_rq\0"), 8);
        assert_eq!(ticks(b"\0prev_irq_time\0prev_steal_time_rq\0"), 21);
        assert_eq!(ticks(b"\0rq\0prev_steal_time\0"), 0);
        assert!(machine("cpu 1 2").is_none());
    }
}
