//! The sum over the members of a cgroup is what the kernel charges to it. Needs root, and a mounted cgroup v2 or the v1
//! controller cpuacct.
//!
//! A cgroup is charged with what its tasks executed, so it is runtime that is compared, not time on a CPU. A record of a
//! death has no cgroup: the dead are told by their accounting parents, as all members descend from one.

mod books;

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use books::Books;
use cpuledger::TaskId;
use cpuledger::interval::Row;
use cpuledger_load::scene::scene;
use cpuledger_load::{Cgroup, is_emulated};

const SECONDS: &str = "10";

/// A storm of processes that enters the cgroup before it begins.
struct Storm {
    child: Child,
    /// What its first process has executed before.
    before_ns: u64,
}

impl Storm {
    fn start(cgroup: &Path) -> Storm {
        let script = "echo $$ > \"$1\"/cgroup.procs && read -r line < /proc/$$/schedstat && echo \"$line\" && \
                      exec \"$2\" storm --workers 2 --seconds \"$3\" >/dev/null";
        let storm = Command::new("/bin/sh")
            .args(["-c", script, "sh"])
            .arg(cgroup)
            .arg(cpuledger_load::program().expect("the load program"))
            .arg(SECONDS)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn();
        let mut child = storm.expect("a shell");
        let mut line = String::new();
        let stdout = child.stdout.as_mut().expect("a pipe");
        BufReader::new(stdout).read_line(&mut line).expect("it enters the cgroup");
        let runtime = line.split(' ').next().and_then(|runtime| runtime.parse().ok());
        Storm { child, before_ns: runtime.expect("what the scheduler counts") }
    }

    fn is_over(&mut self) -> bool {
        self.child.try_wait().expect("it is our child").is_some()
    }
}

impl Drop for Storm {
    fn drop(&mut self) {
        // The kernel kills its workers with it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What members of the cgroup executed.
#[derive(Default)]
struct Members {
    id: u64,
    is_v1: bool,
    /// Pids of those seen alive: their dead children are members.
    pids: HashSet<i32>,
    /// Of each task that lives, as its rows told.
    runtimes: HashMap<TaskId, u64>,
    runtime_ns: u64,
    deaths: u64,
}

impl Members {
    fn take(&mut self, books: &Books, first: i32) {
        self.pids.insert(first);
        for Row { task: row, usage, .. } in &books.interval.tasks {
            if (if self.is_v1 { row.cgroup_v1_cpu_id } else { row.cgroup_id }) == self.id {
                self.pids.insert(row.pid.0);
                *self.runtimes.entry(row.id()).or_default() += usage.growth.runtime_ns;
                self.runtime_ns += usage.growth.runtime_ns;
            }
        }
        for exited in books.interval.exited.iter().flatten() {
            let pids = [
                exited.exit.process.tid.0,
                exited.accounting_parent.map_or(0, |pid| pid.0),
                exited.exit.ppid.0,
            ];
            if pids.iter().any(|pid| self.pids.contains(pid)) {
                let before = self.runtimes.remove(&exited.exit.task).unwrap_or(0);
                self.runtime_ns += exited.exit.runtime_ns - before;
                self.deaths += 1;
            }
        }
    }
}

#[test]
fn a_fork_storm_in_a_cgroup_adds_up_to_what_it_is_charged_root() {
    scene(|| {
        let cgroup = Cgroup::new("cpuacct").expect("a cgroup is made; it needs root");
        let mut books = Books::open();
        let mut storm = Storm::start(cgroup.path());
        let first = storm.child.id() as i32;
        let mut members =
            Members { id: cgroup.id().expect("it is there"), is_v1: cgroup.is_v1(), ..Members::default() };
        let mut is_over = false;
        while !is_over {
            is_over = storm.is_over() && cgroup.is_empty().expect("it is there");
            books.close(250_000_000);
            members.take(&books, first);
            books.forget();
        }
        let (told, truth) = (members.runtime_ns - storm.before_ns, cgroup.usage_ns().expect("it is charged"));
        println!(
            "{} intervals, {} deaths, {told} ns told, {truth} ns charged, {:+.4} %",
            books.intervals,
            members.deaths,
            (told as f64 - truth as f64) * 100.0 / truth as f64
        );
        assert!(members.deaths > if is_emulated() { 10 } else { 100 }, "a storm makes tasks that die");
        // A virtual CPU may lose its time while the storm enters.
        let parts = if is_emulated() { 100 } else { 200 };
        assert!(told.abs_diff(truth) * parts <= truth, "{told} ns told, {truth} ns charged");
    });
}
