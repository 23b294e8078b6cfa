//! What a cell is written from: one task, and what was looked up around it.

use cpuledger_model::boottime::TICK_NS;
use cpuledger_model::field::Field;
use cpuledger_model::task::Task;

use crate::detail::Details;
use crate::detail::files::Files;
use crate::lookups::Lookups;
use crate::machine::Machine;
use crate::manner::Manner;
use crate::names::Names;
use crate::terminal::Terminals;

const TICKS_PER_SECOND: u64 = 1_000_000_000 / TICK_NS;

/// What is known besides the snapshot. It is filled before rendering, which does no I/O.
#[derive(Debug)]
pub struct Surroundings {
    /// The machine and its clocks.
    pub machine: Machine,
    /// Names of users.
    pub users: Names,
    /// Names of groups.
    pub groups: Names,
    /// Names of terminals.
    pub terminals: Terminals,
    /// Arguments and the like of the rows that are shown.
    pub details: Details,
    /// Whether rows are of tasks, the leader's too, and not of processes: some files tell the sum of a process.
    pub rows_are_tasks: bool,
    /// How the start is written in full, as strftime(3) has it; `None`: as usual.
    pub date_format: Option<String>,
}

impl Surroundings {
    /// The clocks as they are now, and nothing looked up yet.
    pub fn now() -> Surroundings {
        Surroundings {
            machine: Machine::now(),
            users: Names::of_users(),
            groups: Names::of_groups(),
            terminals: Terminals::default(),
            details: Details::default(),
            rows_are_tasks: false,
            date_format: None,
        }
    }

    /// The same clocks for another thread, and nothing looked up yet.
    pub fn fork(&self) -> Surroundings {
        Surroundings {
            machine: self.machine.fork(),
            details: Details::new(self.details.manner),
            rows_are_tasks: self.rows_are_tasks,
            date_format: self.date_format.clone(),
            ..Surroundings::now()
        }
    }

    /// A further listing of that number of rows begins: what could not be looked up for the last is tried again.
    pub fn begin(&mut self, rows: usize) {
        self.users.begin();
        self.groups.begin();
        self.details.begin(rows);
    }

    /// Looks up what these rows will show.
    pub fn look_up(&mut self, rows: &[&Task], wanted: Lookups) {
        self.machine.look_up(wanted);
        for row in rows {
            if wanted.wants(Lookups::USERS) {
                [row.euid, row.uid, row.suid, row.fsuid].into_iter().for_each(|id| self.users.learn(id));
            }
            if wanted.wants(Lookups::GROUPS) {
                [row.egid, row.gid, row.sgid, row.fsgid].into_iter().for_each(|id| self.groups.learn(id));
            }
            if wanted.wants(Lookups::TERMINALS) {
                self.terminals.learn(row.tty_device);
            }
            let is_task = self.is_task(row);
            self.details.learn(row, is_task, wanted);
            if wanted.wants(Lookups::SUPPLEMENTARY) {
                let status = self.details.files(row, is_task).and_then(|files| files.status.as_ref());
                let groups = status.map_or(&[][..], |status| &status.groups);
                groups.iter().for_each(|&gid| self.groups.learn(gid));
            }
            if wanted.wants(Lookups::NODES) {
                self.machine.learn_node(row.processor);
            }
        }
    }

    fn is_task(&self, row: &Task) -> bool {
        self.rows_are_tasks || !row.is_leader()
    }
}

/// One line of a listing.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Row<'a> {
    /// The task or process.
    pub task: &'a Task,
    /// What was looked up.
    pub around: &'a Surroundings,
}

impl<'a> Row<'a> {
    /// This task, and what was looked up.
    pub fn new(task: &'a Task, around: &'a Surroundings) -> Row<'a> {
        Row { task, around }
    }

    /// How names and unknown figures are written.
    pub fn manner(&self) -> Manner {
        self.around.details.manner
    }

    /// Whether it is known to be dead, and not yet waited for or waiting for its other threads.
    pub fn is_defunct(&self) -> bool {
        self.task.known.contains(Field::State) && matches!(self.task.state.0, b'Z' | b'X')
    }

    /// The raw name.
    pub fn comm(&self) -> &'a [u8] {
        self.task.comm.as_bytes()
    }

    /// The raw arguments separated by NUL, or the name where there are none.
    pub fn cmdline_or_comm(&self) -> &'a [u8] {
        match self.around.details.cmdline(self.task) {
            None | Some(b"") => self.comm(),
            Some(cmdline) => cmdline,
        }
    }

    /// The name of a user; empty where there is none.
    pub fn user(&self, uid: u32) -> &'a [u8] {
        self.around.users.name(uid)
    }

    /// The name of a group; empty where there is none.
    pub fn group(&self, gid: u32) -> &'a [u8] {
        self.around.groups.name(gid)
    }

    /// What its files say; `None`: they were not asked for.
    pub fn files(&self) -> Option<&'a Files> {
        self.around.details.files(self.task, self.is_task())
    }

    /// Whether it is of a task alone, not of its process.
    pub fn is_task(&self) -> bool {
        self.around.is_task(self.task)
    }

    /// Whole ticks, in which /proc/PID/stat counts.
    pub fn ticks(&self, nanoseconds: u64) -> u64 {
        nanoseconds / TICK_NS
    }

    /// CPU time in ticks, each part rounded down as in /proc/PID/stat.
    pub fn cpu_ticks(&self) -> u64 {
        self.task.user_ns / TICK_NS + self.task.system_ns / TICK_NS
    }

    /// The same with waited-for children.
    pub fn cpu_ticks_with_children(&self) -> u64 {
        self.cpu_ticks() + self.task.children_user_ns / TICK_NS + self.task.children_system_ns / TICK_NS
    }

    /// Whole seconds of CPU time.
    pub fn cpu_seconds(&self) -> u64 {
        self.cpu_ticks() / TICKS_PER_SECOND
    }

    /// The start in ticks, as /proc/PID/stat has it.
    pub fn start_ticks(&self) -> u64 {
        self.task.start_time_ns.ticks(TICK_NS)
    }

    /// Ticks since the start.
    pub fn elapsed_ticks(&self) -> u64 {
        self.around.machine.uptime.ticks(TICK_NS).saturating_sub(self.start_ticks())
    }

    /// Whole seconds since the start.
    pub fn elapsed_seconds(&self) -> u64 {
        self.elapsed_ticks() / TICKS_PER_SECOND
    }

    /// CPU time in thousandths of the time since the start.
    pub fn cpu_per_mille(&self) -> u64 {
        (self.cpu_ticks() * 1000).checked_div(self.elapsed_ticks()).unwrap_or(0)
    }

    /// CPU time in parts of the time since the start, as finely as rows are sorted by it.
    pub fn cpu_share(&self) -> i128 {
        self.share(self.cpu_ticks())
    }

    /// The same with waited-for children.
    pub fn cpu_share_with_children(&self) -> i128 {
        self.share(self.cpu_ticks_with_children())
    }

    fn share(&self, ticks: u64) -> i128 {
        const PARTS: i128 = 1_000_000_000_000;
        (i128::from(ticks) * PARTS).checked_div(i128::from(self.elapsed_ticks())).unwrap_or(0)
    }

    /// When it was started, in seconds since 1970.
    pub fn started_at(&self) -> i64 {
        self.around.machine.boot_time_seconds + self.task.start_time_ns.ticks(1_000_000_000) as i64
    }
}
