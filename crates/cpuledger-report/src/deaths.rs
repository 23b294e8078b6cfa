//! The dead of a frame under their own names: the frame has their time with their heirs.

use cpuledger_frame::{Column, Frame, Section};
use rustc_hash::FxHashMap;

/// A process: its pid and its start.
pub(crate) type Id = (i64, u64);

/// A process that died in the interval.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dead {
    /// Which.
    pub(crate) id: Id,
    /// A record of it in the section of the dead, that of its leader if there is one.
    pub(crate) record: usize,
    /// The process that inherits its time, and lives.
    pub(crate) heir: Option<(i64, Option<u64>)>,
    /// The row of that.
    pub(crate) heir_row: Option<usize>,
    /// The kernel's parent of it, which died behind it in the same interval.
    pub(crate) parent: Option<usize>,
    /// CPU time that its heir has of it.
    pub(crate) cpu_ns: u64,
    /// What it waited for a CPU.
    pub(crate) waiting_ns: Option<u64>,
}

impl Dead {
    fn of(id: Id, record: usize) -> Dead {
        Dead { id, record, heir: None, heir_row: None, parent: None, cpu_ns: 0, waiting_ns: None }
    }
}

/// The dead of a frame, in the order of their ends, and what is left of what their heirs have inherited. Its memory is reused.
#[derive(Debug, Clone, Default)]
pub(crate) struct Deaths {
    pub(crate) dead: Vec<Dead>,
    /// For each row of processes: what it inherits from the dead that have no record.
    pub(crate) unidentified_ns: Vec<u64>,
    rows: Rows,
    found: Vec<Found>,
    /// Where each is in `found`.
    by_id: FxHashMap<Id, u32>,
    /// The places in `found` of those that died, in the order of their ends.
    ends: Vec<u32>,
    /// The place in `ends` of the last of each pid, where that is asked for.
    by_pid: FxHashMap<i64, u32>,
}

/// A process of which a thread has died at least.
#[derive(Debug, Clone, Copy)]
struct Found {
    dead: Dead,
    ppid: Option<i64>,
    ends: bool,
}

impl Deaths {
    /// Those of this frame. Parents are found if they are wanted.
    pub(crate) fn read(&mut self, frame: &Frame, wants_parents: bool) {
        let processes = frame.table(Section::Processes);
        self.dead.clear();
        self.unidentified_ns.clear();
        self.unidentified_ns.extend(processes.all(Column::EXITED_CHILDREN_NS).map(Option::unwrap_or_default));
        if frame.table(Section::Exited).is_empty() {
            return;
        }
        self.rows.read(frame);
        self.find(frame);
        let has_no_start = |dead: &Dead| dead.heir.is_some_and(|(_, start)| start.is_none());
        self.by_pid.clear();
        if wants_parents || self.dead.iter().any(has_no_start) {
            self.by_pid.extend((0..).zip(&self.dead).map(|(place, dead)| (dead.id.0, place)));
        }
        if wants_parents {
            self.find_parents();
        }
        // Those that follow each other often have the same heir.
        let mut last = (None, None, None);
        for place in 0..self.dead.len() {
            let Dead { heir: told, cpu_ns, .. } = self.dead[place];
            if told != last.0 {
                let living = self.living_heir(told);
                last = (told, living, living.and_then(|(pid, start)| self.rows.row(pid, start)));
            }
            let (_, heir, heir_row) = last;
            // What the heir does not have of it is not in the sum of the frame.
            let left_ns = heir_row.map_or(0, |row| self.unidentified_ns[row]);
            let cpu_ns = cpu_ns.min(left_ns);
            if let Some(row) = heir_row {
                self.unidentified_ns[row] -= cpu_ns;
            }
            self.dead[place] = Dead { heir, heir_row, cpu_ns, ..self.dead[place] };
        }
    }

    /// The processes that died, by the ends of the last of their threads, with the heirs that their records tell.
    fn find(&mut self, frame: &Frame) {
        let table = frame.table(Section::Exited);
        self.found.clear();
        self.by_id.clear();
        self.by_id.reserve(table.len());
        self.ends.clear();
        let signed = |column| table.all_signed(column);
        let (mut tids, mut ppids, mut heirs) =
            (signed(Column::TID), signed(Column::PPID), signed(Column::ACCOUNTING_PPID));
        let mut starts = table.all(Column::PROCESS_START_NS);
        let (mut used, mut waited) = (table.all(Column::CPU_NS), table.all(Column::WAITING_NS));
        let (mut ended, mut heir_starts) =
            (table.all(Column::ENDS_PROCESS), table.all(Column::ACCOUNTING_START_NS));
        for (record, pid) in signed(Column::PID).enumerate() {
            let (tid, ppid, heir) = (tids.next().flatten(), ppids.next().flatten(), heirs.next().flatten());
            let (start, cpu_ns, waiting_ns) =
                (starts.next().flatten(), used.next().flatten(), waited.next().flatten());
            let (end, heir_start) = (ended.next().flatten(), heir_starts.next().flatten());
            let Some(pid) = pid else { continue };
            let id = (pid, start.unwrap_or_default());
            let place = *self.by_id.entry(id).or_insert(self.found.len() as u32) as usize;
            if place == self.found.len() {
                self.found.push(Found { dead: Dead::of(id, record), ppid: None, ends: false });
            }
            let own = &mut self.found[place];
            own.dead.cpu_ns = own.dead.cpu_ns.saturating_add(cpu_ns.unwrap_or_default());
            own.dead.waiting_ns = match (own.dead.waiting_ns, waiting_ns) {
                (Some(one), Some(other)) => Some(one.saturating_add(other)),
                (one, other) => one.or(other),
            };
            if tid == Some(pid) {
                own.dead.record = record;
            }
            let is_end = match end {
                Some(ends) => ends != 0,
                // Where the source does not tell it, a process without a row has died.
                None => self.rows.row(pid, start).is_none(),
            };
            if is_end {
                own.dead.heir = heir.map(|heir| (heir, heir_start));
                own.ppid = ppid.filter(|ppid| *ppid > 0 && *ppid != pid);
                if !std::mem::replace(&mut own.ends, true) {
                    self.ends.push(place as u32);
                }
            }
        }
        self.dead.extend(self.ends.iter().map(|place| self.found[*place as usize].dead));
    }

    /// The kernel's parents of those that died before these in the same interval.
    fn find_parents(&mut self) {
        for (place, own) in self.ends.iter().enumerate() {
            let parent = self.found[*own as usize].ppid.and_then(|ppid| self.by_pid.get(&ppid));
            self.dead[place].parent = parent.map(|parent| *parent as usize).filter(|parent| *parent > place);
        }
    }

    /// The first above that lives.
    fn living_heir(&self, heir: Option<(i64, Option<u64>)>) -> Option<(i64, Option<u64>)> {
        let mut heir = heir?;
        // As many steps as there are dead would be a circle.
        for _ in 0..=self.ends.len() {
            let (pid, start) = heir;
            let place = match start {
                Some(start) => self.by_id.get(&(pid, start)),
                None => self.by_pid.get(&pid).map(|place| &self.ends[*place as usize]),
            };
            match place.map(|place| &self.found[*place as usize]).filter(|found| found.ends) {
                None => return Some(heir),
                Some(found) => heir = found.dead.heir?,
            }
        }
        None
    }
}

/// The rows of processes by pid.
#[derive(Debug, Clone, Default)]
struct Rows {
    by_pid: FxHashMap<i64, (usize, Option<u64>)>,
}

impl Rows {
    fn read(&mut self, frame: &Frame) {
        let table = frame.table(Section::Processes);
        let one = |row| {
            let pid = table.get_signed(Column::PID, row).or_else(|| table.get_signed(Column::TID, row))?;
            Some((pid, (row, table.get(Column::START_TIME_NS, row))))
        };
        self.by_pid.clear();
        self.by_pid.extend((0..table.len()).filter_map(one));
    }

    fn row(&self, pid: i64, start: Option<u64>) -> Option<usize> {
        let (row, own) = self.by_pid.get(&pid)?;
        (start.is_none() || own.is_none() || start == *own).then_some(*row)
    }
}
