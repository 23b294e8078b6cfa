//! What each process of an interval used itself, the dead by their own names: user and system time, and what else other exporters count.
//!
//! A frame has the time of the dead with their heirs. Their records tell how much each used, but not in which mode. So the modes of what an heir
//! has of its dead are divided among them by their CPU time. The sum is exact.

use std::collections::HashMap;

use cpuledger_model::frame::{Column, Frame, Section, Table};
use cpuledger_model::framing::CgroupIds;

use crate::modes::{Modes, sum};
use crate::totals::Sums;

/// What is needed of a frame beside [`crate::modes::COLUMNS`].
pub const COLUMNS: [Column; 12] = [
    Column::TID,
    Column::PPID,
    Column::EUID,
    Column::COMM,
    Column::START_TIME_NS,
    Column::HIDES_START,
    Column::PROCESS_START_NS,
    Column::EXITED_CHILDREN_NS,
    Column::ACCOUNTING_PPID,
    Column::ENDS_PROCESS,
    Column::CGROUP_ID,
    Column::CGROUP_V1_CPU_ID,
];

/// The counters that others keep, too: of the living, and of the bytes also of children that a process has waited for.
pub const COUNTS: [Column; 6] = [
    Column::VOLUNTARY_SWITCHES,
    Column::INVOLUNTARY_SWITCHES,
    Column::MINOR_FAULTS,
    Column::MAJOR_FAULTS,
    Column::READ_BYTES,
    Column::WRITE_BYTES,
];

/// The place of one of them.
pub fn place_of(count: Column) -> Option<usize> {
    COUNTS.iter().position(|own| *own == count)
}

/// What was used in an interval; of the counters, `None`: it is not told.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Used {
    /// CPU time.
    pub modes: Modes,
    /// By [`COUNTS`].
    pub counts: [Option<u64>; COUNTS.len()],
}

/// What a series has added up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// CPU time.
    pub modes: Modes,
    counts: [u128; COUNTS.len()],
}

impl Usage {
    /// One of the counters.
    pub fn count(&self, count: Column) -> u128 {
        place_of(count).map_or(0, |place| self.counts[place])
    }
}

impl Sums for Usage {
    type Amounts = Used;

    fn add(&mut self, used: &Used) {
        self.modes.add_all(&used.modes);
        for (own, more) in self.counts.iter_mut().zip(used.counts) {
            *own += u128::from(more.unwrap_or_default());
        }
    }

    fn cpu_ns(&self) -> u128 {
        self.modes.executed_ns()
    }

    fn used_ns(used: &Used) -> u128 {
        used.modes.executed_ns()
    }
}

/// A process of an interval, dead or alive.
#[derive(Debug)]
pub struct Subject<'a> {
    /// Its pid.
    pub pid: i64,
    /// Its start, CLOCK_BOOTTIME in nanoseconds.
    pub start_ns: u64,
    /// Its name.
    pub comm: &'a [u8],
    /// Pid of its parent; 0: it is not known.
    pub ppid: i64,
    /// Pid of the one that inherits from it; 0: it lives, or that is not known.
    pub heir: i64,
    /// Its effective user.
    pub euid: Option<u64>,
    /// Its cgroup; of the dead, that of its heir where its own is not told.
    pub cgroup: CgroupIds,
    /// What it used.
    pub used: Used,
    /// Whether it was there at the end.
    pub lives: bool,
}

/// What an heir has of its dead, as long as it is not divided.
#[derive(Debug, Clone, Copy)]
struct Inherited {
    cpu_ns: u64,
    user_ns: Option<u64>,
    stolen_ns: Option<u64>,
}

impl Inherited {
    fn of(table: &Table, row: usize) -> Inherited {
        Inherited {
            cpu_ns: table.get(Column::EXITED_CHILDREN_NS, row).unwrap_or_default(),
            user_ns: table.get(Column::EXITED_CHILDREN_USER_NS, row),
            stolen_ns: table.get(Column::EXITED_CHILDREN_STOLEN_NS, row),
        }
    }

    /// Takes so much CPU time of it, and as much of each mode as there is in that.
    fn take(&mut self, cpu_ns: u64) -> Modes {
        let (all_ns, cpu_ns) = (self.cpu_ns, cpu_ns.min(self.cpu_ns));
        let share = |left: &mut Option<u64>| {
            let left = left.as_mut()?;
            // It is no more than what is left, as `cpu_ns` is no more than `all_ns`.
            let own = u128::from(*left) * u128::from(cpu_ns) / u128::from(all_ns.max(1));
            let own = u64::try_from(own).unwrap_or(*left).min(*left);
            *left -= own;
            Some(own)
        };
        let (user_ns, stolen_ns) = (share(&mut self.user_ns), share(&mut self.stolen_ns));
        self.cpu_ns -= cpu_ns;
        let mut modes = Modes::default();
        modes.add(cpu_ns, user_ns, stolen_ns);
        modes
    }
}

/// A process that died.
#[derive(Debug, Default)]
struct Dead {
    cpu_ns: u64,
    /// A record of it, that of its leader if there is one.
    record: usize,
    heir: i64,
    ends: bool,
}

/// The processes of an interval. What this user is not shown is none of them.
pub fn of(frame: &Frame) -> Vec<Subject<'_>> {
    let table = frame.table(Section::Processes);
    let mut inherited: Vec<Inherited> = (0..table.len()).map(|row| Inherited::of(table, row)).collect();
    let mut subjects = dead_of(frame, &mut inherited);
    for (row, left) in inherited.into_iter().enumerate() {
        let Some(pid) = table.get_signed(Column::PID, row).filter(|pid| *pid > 0) else { continue };
        let of_children_ns = table.get(Column::EXITED_CHILDREN_NS, row).unwrap_or_default();
        let cpu_ns = table.get(Column::CPU_NS, row).unwrap_or_default().saturating_sub(of_children_ns);
        let user_ns = sum(table, row, &[Column::SELF_USER_NS, Column::EXITED_THREADS_USER_NS]);
        let mut modes = Modes::default();
        modes.add(cpu_ns, user_ns, table.get(Column::STOLEN_NS, row));
        // The dead without a record count for their heir.
        modes.add(left.cpu_ns, left.user_ns, left.stolen_ns);
        let counts = COUNTS.map(|count| count.growth().and_then(|growth| table.get(growth, row)));
        subjects.push(Subject {
            pid,
            start_ns: table.get(Column::START_TIME_NS, row).unwrap_or_default(),
            comm: frame.text_of(Section::Processes, Column::COMM, row).unwrap_or_default(),
            ppid: table.get_signed(Column::PPID, row).unwrap_or_default(),
            heir: 0,
            euid: table.get(Column::EUID, row),
            cgroup: cgroup_of(table, row),
            used: Used { modes, counts },
            lives: true,
        });
    }
    subjects
}

/// Those that died, whose time is taken of what their heirs have.
fn dead_of<'a>(frame: &'a Frame, inherited: &mut [Inherited]) -> Vec<Subject<'a>> {
    let (living, table) = (frame.table(Section::Processes), frame.table(Section::Exited));
    if table.is_empty() {
        return Vec::new();
    }
    let pid = |row| Some((living.get_signed(Column::PID, row)?, row));
    let rows: HashMap<i64, usize> = (0..living.len()).filter_map(pid).collect();
    let mut found: Vec<Dead> = Vec::new();
    let mut places: HashMap<(i64, Option<u64>), usize> = HashMap::new();
    for record in 0..table.len() {
        let Some(pid) = table.get_signed(Column::PID, record) else { continue };
        let start = table.get(Column::PROCESS_START_NS, record);
        let place = *places.entry((pid, start)).or_insert_with(|| {
            found.push(Dead { record, ..Dead::default() });
            found.len() - 1
        });
        let own = &mut found[place];
        own.cpu_ns = own.cpu_ns.saturating_add(table.get(Column::CPU_NS, record).unwrap_or_default());
        if table.get_signed(Column::TID, record) == Some(pid) {
            own.record = record;
        }
        let lives = || rows.get(&pid).is_some_and(|row| living.get(Column::START_TIME_NS, *row) == start);
        // Where the source does not tell it, a process without a row has died.
        if table.get(Column::ENDS_PROCESS, record).map_or_else(|| !lives(), |ends| ends == 1) {
            own.ends = true;
            own.heir = table.get_signed(Column::ACCOUNTING_PPID, record).unwrap_or_default();
        }
    }
    let of_one = |dead: &Dead| {
        let Dead { record, heir, cpu_ns, .. } = *dead;
        let row = rows.get(&heir).copied();
        // What no heir has is not in the sum of the frame.
        let modes = row.map_or_else(Modes::default, |row| inherited[row].take(cpu_ns));
        let cgroup = match cgroup_of(table, record) {
            (None, None) => row.map_or((None, None), |row| cgroup_of(living, row)),
            own => own,
        };
        Subject {
            pid: table.get_signed(Column::PID, record).unwrap_or_default(),
            start_ns: table.get(Column::PROCESS_START_NS, record).unwrap_or_default(),
            comm: frame.text_of(Section::Exited, Column::COMM, record).unwrap_or_default(),
            ppid: table.get_signed(Column::PPID, record).unwrap_or_default(),
            heir,
            euid: table.get(Column::EUID, record),
            cgroup,
            used: Used { modes, ..Used::default() },
            lives: false,
        }
    };
    found.iter().filter(|dead| dead.ends).map(of_one).collect()
}

fn cgroup_of(table: &Table, row: usize) -> CgroupIds {
    (table.get(Column::CGROUP_ID, row), table.get(Column::CGROUP_V1_CPU_ID, row))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_dead_used_is_divided_to_the_last_nanosecond() {
        let whole = Inherited { cpu_ns: 1001, user_ns: Some(333), stolen_ns: Some(7) };
        let mut left = whole;
        let mut all = Modes::default();
        for cpu_ns in [1, 2, 500, 0, 100, u64::MAX, 5] {
            all.add_all(&left.take(cpu_ns));
        }
        assert_eq!((all.user_ns, all.stolen_ns, all.system_ns, all.unknown_ns), (333, 7, 661, 0));
        assert_eq!((left.cpu_ns, left.user_ns, left.stolen_ns), (0, Some(0), Some(0)));
        let mut untold = Inherited { user_ns: None, ..whole };
        assert_eq!(untold.take(1001), Modes { unknown_ns: 1001, ..Modes::default() });
    }

    /// A shell (10) of which two died: one with a record, and one whose identity was lost.
    #[test]
    fn the_dead_have_their_own_time_and_their_heir_the_rest() {
        let mut frame = Frame::new();
        let living = frame.table_mut(Section::Processes);
        living.reset(1);
        living.set_signed(Column::PID, 0, Some(10));
        for (column, value) in [
            (Column::START_TIME_NS, 5),
            (Column::CPU_NS, 160),
            (Column::EXITED_CHILDREN_NS, 100),
            (Column::SELF_USER_NS, 20),
            (Column::EXITED_THREADS_USER_NS, 0),
            (Column::STOLEN_NS, 10),
            (Column::EXITED_CHILDREN_USER_NS, 50),
            (Column::EXITED_CHILDREN_STOLEN_NS, 0),
        ] {
            living.set(column, 0, Some(value));
        }
        let dead = frame.table_mut(Section::Exited);
        dead.reset(2);
        for (record, tid, ends) in [(0, 12, 0), (1, 11, 1)] {
            dead.set_signed(Column::PID, record, Some(11));
            dead.set_signed(Column::TID, record, Some(tid));
            dead.set_signed(Column::ACCOUNTING_PPID, record, Some(10));
            for (column, value) in
                [(Column::PROCESS_START_NS, 7), (Column::CPU_NS, 30), (Column::ENDS_PROCESS, ends)]
            {
                dead.set(column, record, Some(value));
            }
        }
        let subjects = of(&frame);
        let told = |pid| {
            let subject = subjects.iter().find(|subject| subject.pid == pid).expect("it is there");
            let Modes { user_ns, system_ns, stolen_ns, unknown_ns } = subject.used.modes;
            (subject.lives, user_ns, system_ns, stolen_ns, unknown_ns)
        };
        assert_eq!(told(11), (false, 30, 30, 0, 0));
        assert_eq!(told(10), (true, 20 + 20, 30 + 20, 10, 0));
    }
}
