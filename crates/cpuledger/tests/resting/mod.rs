//! What the ledger says of tasks that did not run in an interval: they were blocked since before it was attached, or no CPU was to be
//! had.

use std::collections::HashSet;
use std::fs;
use std::process::Command;
use std::time::Duration;

use cpuledger::interval::Usage;
use cpuledger::source::ledger::{Ledger, Options, Wanted};
use cpuledger::{FieldSet, Interval, TaskId};
use cpuledger_load::scene::{scene_of_times, were_missed};
use cpuledger_load::{Cgroup, StatesPlan, not_run};
use cpuledger_model::make;

use super::Killed;

const INTERVAL_NS: u64 = 100_000_000;

/// A ledger, and what it told last.
struct Books {
    ledger: Ledger,
    interval: Interval,
}

impl Books {
    fn open() -> Books {
        let ledger = Ledger::open(Options::default()).expect("the ledger attaches; it needs root");
        Books { ledger, interval: Interval::default() }
    }

    fn close(&mut self, all: bool) {
        let wanted = make!(Wanted { fields: FieldSet::ALL, pids: &[], all });
        let cut_ns = self.ledger.start_ns() + INTERVAL_NS;
        self.ledger.close(cut_ns, &wanted, &mut self.interval).expect("an interval closes");
        were_missed(self.interval.missed_switches.expect("the ledger counts them"));
        for rows in [&self.interval.processes, &self.interval.tasks] {
            let ids: HashSet<TaskId> = rows.iter().map(|row| row.task.id()).collect();
            assert_eq!(ids.len(), rows.len(), "each has one row");
            let wrong = rows.iter().find(|row| row.usage.state_imbalance_ns().is_some_and(|ns| ns != 0));
            assert!(wrong.is_none(), "{wrong:?}");
        }
        let sum: u64 = self.interval.processes.iter().map(|row| row.usage.cpu_ns).sum();
        assert_eq!(sum, self.interval.attributed_ns);
    }

    fn process(&self, pid: i32) -> Option<&Usage> {
        let row = self.interval.processes.iter().find(|row| row.task.pid.0 == pid)?;
        Some(&row.usage)
    }
}

#[test]
fn a_thread_that_is_blocked_since_before_is_so_in_the_states_of_its_process_root() {
    scene_of_times(|| {
        let plan = StatesPlan { kind: "hung", ms: 3_600_000, ..StatesPlan::default() };
        let mut load = cpuledger_load::States::start(&plan).expect("a task that is to be blocked");
        load.be_seen().and_then(|()| load.begin()).expect("it begins");
        let pid = load.pid();
        let is_blocked = || {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("it lives");
            stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('D'))
        };
        while !is_blocked() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let mut books = Books::open();
        books.ledger.find_blocked().expect("a walk");
        for all in [false, false, true] {
            books.close(all);
            let length_ns = books.interval.length_ns();
            let states = books.process(pid).expect("its other thread runs").states.expect("they are known");
            assert_eq!((states.blocked_ns, states.elapsed_ns), (length_ns, 2 * length_ns), "{states:?}");
            assert!(books.interval.blocked.iter().flatten().any(|blocked| blocked.task.tid.0 == pid));
        }
    });
}

/// The kernel gives it 1 ms of each second: it waits through whole intervals.
#[test]
fn a_task_that_waits_for_a_cpu_all_the_time_has_a_row_root() {
    scene_of_times(|| {
        let group = match Cgroup::new("cpu") {
            Ok(group) => group,
            Err(reason) => return not_run(&format!("it limits the CPU time of a cgroup: {reason}")),
        };
        let spinner = Command::new("sh").args(["-c", "while :; do :; done"]).spawn();
        let spinner = Killed(spinner.expect("a shell"));
        let pid = spinner.0.id().cast_signed();
        let mut books = Books::open();
        books.close(false);
        group.write("cgroup.procs", &pid.to_string()).expect("it moves");
        group.limit_cpu(1_000, 1_000_000).expect("the kernel limits CPU time of cgroups");
        let mut starved = 0;
        for number in 0..24 {
            books.close(number % 4 == 3);
            let length_ns = books.interval.length_ns();
            let usage = *books.process(pid).expect("it ran, or waited for a CPU");
            let states = usage.states.expect("they are known");
            assert_eq!(states.elapsed_ns, length_ns, "{usage:?}");
            assert!(usage.ran_or_waited() && usage.growth.runqueue_wait_ns == states.runqueue_wait_ns);
            let task =
                books.interval.tasks.iter().find(|row| row.task.tid.0 == pid).expect("so did the task");
            assert_eq!(task.usage.states, usage.states, "it has one thread");
            if usage.cpu_ns == 0 {
                assert_eq!(states.runqueue_wait_ns, length_ns, "{usage:?}");
                assert_eq!(task.task.comm.as_bytes(), b"sh");
                starved += 1;
            }
        }
        println!("  starved in {starved} of 24 intervals");
        assert!(starved > 8, "{starved}");
        // Else it could not die.
        group.limit_cpu(100_000, 100_000).expect("likewise");
        drop(spinner);
    });
}
