//! Programs of others, each in a cgroup of its own: what the ledger says of them, beside what the kernel counts itself.

mod kernel;
pub mod workloads;

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use cpuledger::interval::{Row, Usage};
use cpuledger::machine::monotonic_ns;
use cpuledger::source::ledger::{Ledger, Options, Wanted};
use cpuledger::{FieldSet, Interval};
use cpuledger_load::Cgroup;
use cpuledger_model::make;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::Serialize;

use crate::results::Results;
use crate::table::{Table, thousands};
use kernel::{Clock, Kernel, LeftOut, Which, are_at_rest, be_urgent, waits, which};
use workloads::{WORKLOADS, Workload};

/// Options of `truth`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Seconds for which each workload is looked at
    #[arg(long, default_value_t = 4)]
    seconds: u64,
    /// Only workloads whose name contains this, or another one that is given likewise
    #[arg(long)]
    only: Vec<String>,
    /// Five workloads that need no package but those of the tests
    #[arg(long)]
    short: bool,
    /// Print each workload's figures as a line of JSON; keep no results
    #[arg(long)]
    json: bool,
}

/// The interval of the ledger.
const INTERVAL_NS: u64 = 1_000_000_000;
/// What is at work uses more.
const LEAST_CPU_NS: u64 = 10_000_000;
/// How long a workload has to end by itself.
const GRACE: Duration = Duration::from_secs(2);
/// How long it may take until it is at work.
const AT_WORK_WITHIN: Duration = Duration::from_secs(30);
/// How long it may take to stop it.
const STOPPED_WITHIN: Duration = Duration::from_secs(10);
/// How long the ledger has to close an interval that begins now.
const SOON_NS: u64 = INTERVAL_NS / 10;
/// How long it may take to kill it.
const KILLED_WITHIN: Duration = Duration::from_secs(30);

/// What both say of a workload.
#[derive(Debug, Default, Serialize)]
struct Truth {
    workload: &'static str,
    seconds: f64,
    /// CPU time less what was stolen of it, of its processes and of their dead.
    ledger_cpu_ns: u64,
    kernel_cpu_ns: u64,
    /// The part of the ledger's time of which it does not know what was stolen.
    unknown_stolen_ns: u64,
    /// Of the machine.
    switches: u64,
    missed_switches: u64,
    hidden_cpu_ns: u64,
    idle_ns: u64,
    /// Of the machine: what was stolen of all rows; what the kernel's clock of tasks leaves out; steal, and interrupts, in ticks of 10 ms.
    ledger_stolen_ns: u64,
    kernel_stolen_ns: u64,
    kernel_steal_ns: u64,
    kernel_interrupts_ns: u64,
    /// Waits for a CPU of tasks that were alive at the end, and the kernel's count.
    ledger_wait_ns: u64,
    kernel_wait_ns: u64,
    /// Whether the kernel's wait is what its tasks did not execute.
    always_runnable: bool,
    deaths: u64,
    /// Rows whose parts are not their whole.
    wrong_rows: u64,
    imbalance_ns: i64,
}

/// Measures and prints.
///
/// # Errors
/// Without root, and when a workload does not run.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let is_wanted = |workload: &&Workload| {
        (!arguments.short || workload.is_short)
            && (arguments.only.is_empty() || arguments.only.iter().any(|part| workload.name.contains(part)))
    };
    be_urgent(10)?;
    let (mut all, mut missing, mut failed) = (Vec::new(), Vec::new(), Vec::new());
    for workload in WORKLOADS.iter().filter(is_wanted) {
        if let Some((program, package)) = workload.needs.iter().find(|(program, _)| !is_here(program)) {
            let sentence = format!("{} HAS NOT RUN: {program} is missing; install {package}", workload.name);
            eprintln!("{sentence}");
            missing.push(sentence);
            continue;
        }
        match measure(workload, arguments.seconds) {
            Ok(truth) => {
                eprintln!("{}", truth.line());
                if arguments.json {
                    println!("{}", serde_json::to_string(&truth)?);
                }
                all.push(truth);
            }
            Err(error) => failed.push(format!("{}: {error:#}", workload.name)),
        }
    }
    missing.iter().for_each(|sentence| println!("{sentence}"));
    ensure!(failed.is_empty(), "{}", failed.join("\n"));
    ensure!(!all.is_empty(), "no workload has run");
    if arguments.json {
        return Ok(());
    }
    keep(&all)
}

/// Whether a program can be found, or a path is there.
pub fn is_here(program: &str) -> bool {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    Path::new(program).is_absolute() && Path::new(program).exists()
        || std::env::split_paths(&paths).any(|folder| folder.join(program).is_file())
}

/// A workload that runs in a cgroup and a folder of its own. All of it ends with it.
pub struct Running {
    /// It stays in the cgroup to the end, and so inherits from all that dies.
    holder: Child,
    cgroup: Arc<Cgroup>,
    folder: PathBuf,
}

impl Running {
    /// Starts it, and waits until it is at work.
    ///
    /// # Errors
    /// Without root, or when it cannot be prepared.
    pub fn start(workload: &Workload) -> anyhow::Result<Running> {
        let folder = std::env::temp_dir().join(format!("cpuledger-truth-{}", std::process::id()));
        fs::create_dir(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        // Servers that leave root behind reach it.
        fs::set_permissions(&folder, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        let log = File::create(folder.join("log"))?;
        let mut prepare = Command::new("sh");
        prepare.args(["-c", workload.prepare]).current_dir(&folder).stdin(Stdio::null());
        let prepared = prepare.stdout(log.try_clone()?).stderr(log.try_clone()?).status();
        let prepared = prepared.context("cannot run sh")?;
        let cgroup = Arc::new(Cgroup::new("cpuacct").context("a cgroup; run as root")?);
        let script = "echo $$ >\"$0/cgroup.procs\" && { sh -c \"$1\" & wait; sleep 10000; }";
        let holder = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "sh", "-c", script])
            .arg(cgroup.path())
            .arg(workload.run)
            .current_dir(&folder)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .context("cannot run setpriv; install util-linux")?;
        let running = Running { holder, cgroup, folder };
        ensure!(prepared.success(), "it cannot be prepared: {}", running.said());
        if let Some(tasks) = workload.always_runnable {
            running.wait_for(tasks)?;
        }
        std::thread::sleep(Duration::from_millis(workload.settles_ms));
        Ok(running)
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What the kernel has charged its cgroup.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn usage_ns(&self) -> anyhow::Result<u64> {
        Ok(self.cgroup.usage_ns()?)
    }

    /// The end of what it has printed.
    fn said(&self) -> String {
        let text = fs::read(self.folder.join("log")).unwrap_or_default();
        String::from_utf8_lossy(&text[text.len().saturating_sub(500)..]).into_owned()
    }

    /// Waits until all of these tasks want a CPU.
    fn wait_for(&self, tasks: u64) -> anyhow::Result<()> {
        let begin = Instant::now();
        while !self.folder.join("at_work").exists() {
            ensure!(begin.elapsed() < AT_WORK_WITHIN, "it is not at work in time: {}", self.said());
            std::thread::sleep(Duration::from_millis(50));
        }
        let members = self.members().len();
        ensure!(members as u64 >= tasks, "it has {members} processes instead of {tasks}: {}", self.said());
        Ok(())
    }

    /// Stops all of it: then each wait is over, and all of its time is charged.
    fn stop(&self) -> anyhow::Result<()> {
        let begin = Instant::now();
        // It may fork meanwhile.
        let mut rounds_at_rest = 0;
        while rounds_at_rest < 2 {
            ensure!(begin.elapsed() < STOPPED_WITHIN, "it cannot be stopped: {}", self.said());
            self.send(Signal::SIGSTOP);
            std::thread::sleep(Duration::from_millis(5));
            rounds_at_rest = if are_at_rest(&self.cgroup)? { rounds_at_rest + 1 } else { 0 };
        }
        Ok(())
    }

    fn send(&self, signal: Signal) {
        self.members().iter().for_each(|pid| {
            let _ = kill(Pid::from_raw(*pid), signal);
        });
    }

    fn members(&self) -> Vec<i32> {
        let pids = self.cgroup.read("cgroup.procs").unwrap_or_default();
        pids.lines().filter_map(|pid| pid.parse().ok()).collect()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // None is another's: they are in our cgroup. New ones may be made meanwhile.
        let begin = Instant::now();
        let mut signal = Signal::SIGTERM;
        loop {
            let members = self.members();
            if members.is_empty() || begin.elapsed() > KILLED_WITHIN {
                break;
            }
            if begin.elapsed() > GRACE {
                signal = Signal::SIGKILL;
            }
            self.send(signal);
            self.send(Signal::SIGCONT);
            let _ = self.holder.try_wait();
            std::thread::sleep(Duration::from_millis(50));
        }
        let _ = self.holder.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// What the ledger has told of the cgroup's tasks.
#[derive(Default)]
struct Told {
    /// Processes that were members.
    pids: HashSet<i32>,
    /// What each task waited for a CPU.
    waits: HashMap<Which, u64>,
    /// Tids with the time of two tasks: a thread that calls exec(2) gets that of its leader, and takes the kernel's counts along.
    shared_tids: HashSet<i32>,
}

impl Told {
    /// From here on.
    fn begin(&mut self) {
        self.waits.clear();
        self.shared_tids.clear();
    }

    fn take(&mut self, interval: &Interval, cgroup: (u64, bool), truth: &mut Truth) {
        for Row { task: row, usage, .. } in &interval.processes {
            let children_stolen_ns = usage.exited_children_stolen_ns.unwrap_or(0);
            let stolen_ns = usage.stolen_ns.unwrap_or(0) + children_stolen_ns;
            truth.ledger_stolen_ns += stolen_ns;
            let parts_ns =
                usage.self_ns + usage.exited_threads_ns.unwrap_or(0) + usage.exited_children_ns.unwrap_or(0);
            let is_whole = parts_ns == usage.cpu_ns
                && stolen_ns <= usage.cpu_ns
                && children_stolen_ns <= usage.exited_children_ns.unwrap_or(0)
                && usage.state_imbalance_ns().is_none_or(|ns| ns == 0);
            truth.wrong_rows += u64::from(!is_whole);
            let own = if cgroup.1 { row.cgroup_v1_cpu_id } else { row.cgroup_id };
            // One that died before it was asked has no cgroup, but a parent.
            let is_heir = usage.accounting_parent.is_some_and(|parent| self.pids.contains(&parent.0));
            if own == cgroup.0 || own == 0 && is_heir {
                self.pids.insert(row.pid.0);
                truth.ledger_cpu_ns += usage.cpu_ns.saturating_sub(stolen_ns);
                truth.unknown_stolen_ns += unknown_stolen_ns(usage);
            }
        }
        for Row { task: row, usage, .. } in &interval.tasks {
            if let Some(states) = usage.states.filter(|_| self.pids.contains(&row.pid.0)) {
                *self.waits.entry(which(row.id())).or_default() += states.runqueue_wait_ns;
            }
        }
        for renumbered in &interval.renumbered {
            let process = renumbered.owner.map(|owner| owner.process.tid.0);
            self.shared_tids.extend([Some(renumbered.task.tid.0), process].into_iter().flatten());
        }
        truth.idle_ns += interval.idle_ns.unwrap_or(0);
        truth.hidden_cpu_ns += interval.hidden_cpu_ns.unwrap_or(0);
        truth.missed_switches += interval.missed_switches.unwrap_or(0);
        truth.deaths += interval.exited.as_ref().map_or(0, Vec::len) as u64;
        truth.imbalance_ns += interval.imbalance_ns().unwrap_or(0);
    }
}

/// How much of its time is of tasks of which it is not known what was stolen.
fn unknown_stolen_ns(usage: &Usage) -> u64 {
    let own_ns = usage.self_ns + usage.exited_threads_ns.unwrap_or(0);
    let children_ns = usage.exited_children_ns.unwrap_or(0);
    let parts = [(usage.stolen_ns, own_ns), (usage.exited_children_stolen_ns, children_ns)];
    parts.iter().filter(|(stolen_ns, _)| stolen_ns.is_none()).map(|(_, ns)| ns).sum()
}

fn measure(workload: &Workload, seconds: u64) -> anyhow::Result<Truth> {
    let left_out = LeftOut::by_this_kernel()?;
    let mut ledger = Ledger::open(Options::default()).context("cannot attach the ledger; run as root")?;
    let clock = Clock::start()?;
    let running = Running::start(workload)?;
    let cgroup = (running.cgroup.id()?, running.cgroup.is_v1());
    let wanted = make!(Wanted { fields: FieldSet::ALL, pids: &[], all: false });
    let mut interval = Interval::default();
    let mut close = |at_ns: u64| -> anyhow::Result<(Kernel, Interval)> {
        clock.ask(&running.cgroup, at_ns)?;
        ledger.close(at_ns, &wanted, &mut interval).context("close an interval")?;
        let kernel = clock.answer()?;
        Ok((kernel, std::mem::take(&mut interval)))
    };
    // Those that always want a CPU would take long to stop. What they wait is known.
    let stops = workload.always_runnable.is_none();
    if stops {
        running.stop()?;
    }
    // The first interval has all that was before.
    let mut at_ns = monotonic_ns() + SOON_NS;
    let (first, interval) = close(at_ns)?;
    let before = waits(&running.cgroup)?;
    let (mut told, mut truth) = (Told::default(), Truth::default());
    told.take(&interval, cgroup, &mut truth);
    told.begin();
    truth = Truth { workload: workload.name, ..Truth::default() };
    running.send(Signal::SIGCONT);
    let mut last = first;
    for _ in 0..(seconds * 1_000_000_000).div_ceil(INTERVAL_NS) {
        at_ns += INTERVAL_NS;
        let (kernel, interval) = close(at_ns)?;
        told.take(&interval, cgroup, &mut truth);
        (last, at_ns) = (kernel, interval.end_ns);
    }
    if stops {
        running.stop()?;
        let (kernel, interval) = close(monotonic_ns() + SOON_NS)?;
        told.take(&interval, cgroup, &mut truth);
        last = kernel;
    }
    let after = waits(&running.cgroup)?;
    ensure!(running.members().len() > 1, "it has ended by itself: {}", running.said());
    ensure!(last.usage_ns - first.usage_ns > LEAST_CPU_NS, "it does nothing: {}", running.said());
    truth.seconds = (last.at_ns - first.at_ns) as f64 / 1e9;
    truth.kernel_cpu_ns = last.usage_ns - first.usage_ns;
    truth.kernel_stolen_ns = left_out.of(&last) - left_out.of(&first);
    truth.kernel_steal_ns = last.steal_ns - first.steal_ns;
    truth.kernel_interrupts_ns = last.interrupts_ns - first.interrupts_ns;
    truth.switches = last.switches - first.switches;
    for (task, wait_ns) in after.into_iter().filter(|((tid, _), _)| !told.shared_tids.contains(tid)) {
        let kernel_ns = wait_ns.saturating_sub(before.get(&task).copied().unwrap_or(0));
        let ledger_ns = told.waits.get(&task).copied().unwrap_or(0);
        truth.kernel_wait_ns += kernel_ns;
        truth.ledger_wait_ns += ledger_ns;
    }
    truth.always_runnable = workload.always_runnable.is_some();
    if let Some(tasks) = workload.always_runnable {
        truth.kernel_wait_ns = tasks * (last.at_ns - first.at_ns) - truth.kernel_cpu_ns;
    }
    Ok(truth)
}

/// By how much the first is more than the second, in parts of that.
fn off(ledger: u64, kernel: u64) -> f64 {
    (ledger as f64 - kernel as f64) / kernel.max(1) as f64
}

impl Truth {
    /// By how much CPU times differ, in nanoseconds a switch.
    fn a_switch_ns(&self) -> f64 {
        (self.ledger_cpu_ns as f64 - self.kernel_cpu_ns as f64) / self.switches.max(1) as f64
    }

    /// Whether waits can be compared: of few, a process that the kernel hides may have been most.
    fn has_waits(&self) -> bool {
        self.kernel_wait_ns > 10 * self.hidden_cpu_ns
    }

    fn line(&self) -> String {
        format!(
            "{:<36} {:>8.3} s of {:>8.3} s: {:+.2} %, {:+.0} ns a switch of {}; stolen {:.0} of {:.0} ms, unknown of \
             {:.0} ms, interrupts {:.0} ms; waits {:.3} of {:.3} s; {} deaths, {} wrong rows, {} switches missed, hidden {:.0} ms",
            self.workload,
            self.ledger_cpu_ns as f64 / 1e9,
            self.kernel_cpu_ns as f64 / 1e9,
            100.0 * off(self.ledger_cpu_ns, self.kernel_cpu_ns),
            self.a_switch_ns(),
            self.switches,
            self.ledger_stolen_ns as f64 / 1e6,
            self.kernel_stolen_ns as f64 / 1e6,
            self.unknown_stolen_ns as f64 / 1e6,
            self.kernel_interrupts_ns as f64 / 1e6,
            self.ledger_wait_ns as f64 / 1e9,
            self.kernel_wait_ns as f64 / 1e9,
            self.deaths,
            self.wrong_rows,
            self.missed_switches,
            self.hidden_cpu_ns as f64 / 1e6,
        )
    }
}

fn keep(all: &[Truth]) -> anyhow::Result<()> {
    let mut results = Results::create("truth", &[])?;
    let caption = "What the ledger says of programs in a cgroup of their own, beside the kernel's count. They are stopped at both ends. CPU: \
                   without what was stolen, and its difference from the cgroup's usage. Stolen: of all rows of the machine, beside what the \
                   kernel's clock of tasks leaves out by /proc/stat (steal, and interrupts where it is built so), and the time of hidden \
                   processes. Waits for a CPU: of the tasks that were alive at the end, and their schedstat; -: hidden processes had a CPU for \
                   more than a tenth of that";
    let header = [
        "program",
        "CPU",
        "beside cgroup",
        "switches a second",
        "ns a switch",
        "stolen",
        "left out",
        "hidden",
        "waits",
        "beside schedstat",
    ];
    let mut table = Table::new("truth", caption, header);
    for truth in all {
        results.add_any(truth)?;
        let milliseconds = |ns: u64| format!("{:.0} ms", ns as f64 / 1e6);
        let waits = match truth.has_waits() {
            true => format!("{:+.2} %", 100.0 * off(truth.ledger_wait_ns, truth.kernel_wait_ns)),
            false => "-".to_owned(),
        };
        table.row([
            truth.workload.to_owned(),
            format!("{:.3} s", truth.ledger_cpu_ns as f64 / 1e9),
            format!("{:+.2} %", 100.0 * off(truth.ledger_cpu_ns, truth.kernel_cpu_ns)),
            thousands((truth.switches as f64 / truth.seconds) as usize),
            format!("{:+.0}", truth.a_switch_ns()),
            milliseconds(truth.ledger_stolen_ns),
            milliseconds(truth.kernel_stolen_ns),
            milliseconds(truth.hidden_cpu_ns),
            milliseconds(truth.ledger_wait_ns),
            waits,
        ]);
    }
    table.keep(&results)?;
    println!(
        "{} rows whose parts are not their whole",
        all.iter().map(|truth| truth.wrong_rows).sum::<u64>()
    );
    println!("raw results: {}", results.path().display());
    Ok(())
}
