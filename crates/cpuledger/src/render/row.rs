//! What a cell is written from: one task, and what was looked up around it.

use crate::detail::Details;
use crate::machine::Machine;
use crate::names::Names;
use crate::render::column::Lookups;
use crate::task::Task;
use crate::terminal::Terminals;

/// `USER_HZ`: the ticks in which procfs, and so ps, counts CPU time.
const TICK_NS: u64 = 10_000_000;
const TICKS_PER_SECOND: u64 = 100;

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
        }
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
            self.details.learn(row, wanted);
        }
    }
}

/// One line of a listing.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    /// The task or process.
    pub task: &'a Task,
    /// What was looked up.
    pub around: &'a Surroundings,
}

impl<'a> Row<'a> {
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

    /// Ticks since the start.
    pub fn elapsed_ticks(&self) -> u64 {
        (self.around.machine.uptime_ns / TICK_NS).saturating_sub(self.task.start_time_ns / TICK_NS)
    }

    /// Whole seconds since the start.
    pub fn elapsed_seconds(&self) -> u64 {
        self.elapsed_ticks() / TICKS_PER_SECOND
    }

    /// CPU time in thousandths of the time since the start.
    pub fn cpu_per_mille(&self) -> u64 {
        (self.cpu_ticks() * 1000).checked_div(self.elapsed_ticks()).unwrap_or(0)
    }

    /// When it was started, in seconds since 1970.
    pub fn started_at(&self) -> i64 {
        self.around.machine.boot_time_seconds + (self.task.start_time_ns / 1_000_000_000) as i64
    }
}
