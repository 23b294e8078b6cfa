//! The dead of a frame under their own names: the frame has their time with their heirs.

use std::hash::{BuildHasher, RandomState};

use cpuledger_model::frame::{Column, Frame, Section};
use rustc_hash::FxHashMap;

use crate::amounts::{Booked, UsedByDead, add_booked, sum};

/// A process: its pid and its start.
pub(crate) type Id = (i64, u64);

/// A process that inherits: its pid, and its start where that is told.
pub(crate) type HeirId = (i64, Option<u64>);

/// A process of which a thread has died at least.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dead {
    /// Which.
    pub(crate) id: Id,
    /// What it used.
    pub(crate) used: UsedByDead,
    /// The kernel's parent; 0: it is not told.
    ppid: i64,
    /// Its place in `found`.
    place: u32,
    /// A record of it in the section of the dead, that of its leader if there is one.
    pub(crate) record: u32,
    /// The place of its heir in `heirs`.
    heir: u32,
    /// Whether all of it died.
    ends: bool,
}

impl Dead {
    /// 1 if it was born in the interval that began then.
    #[inline]
    pub(crate) fn births(&self, began_ns: Option<u64>) -> u64 {
        u64::from(began_ns.is_some_and(|began_ns| self.id.1 >= began_ns))
    }
}

/// What inherits from some of the dead.
#[derive(Debug, Clone, Copy, Default)]
struct Heir {
    /// As the records tell it.
    told: Option<HeirId>,
    /// The first above that lives, once `is_found`.
    living: Option<HeirId>,
    is_found: bool,
    /// The row of that.
    row: Option<usize>,
}

/// The place of the heir of those that have none.
const NO_HEIR: u32 = 0;

/// The dead of a frame, in the order of their ends, and what is left of what their heirs have inherited. Its memory is reused.
#[derive(Debug, Clone, Default)]
pub(crate) struct Deaths {
    /// For each row of processes: what it inherits from the dead that have no record.
    pub(crate) unidentified_ns: Vec<u64>,
    /// For each row of processes: what it inherits from the others.
    pub(crate) inherited_ns: Vec<u64>,
    /// For each row of processes: what they have sent and received, which it has too.
    pub(crate) inherited_booked: Vec<Booked>,
    rows: Rows,
    found: Vec<Dead>,
    /// What accounts have booked to each of `found`; empty where none has booked anything to the dead of the frame.
    booked: Vec<Booked>,
    /// The places in `found` of those that died, in the order of their ends.
    ends: Vec<u32>,
    heirs: Vec<Heir>,
    /// The places in `heirs` of those that were told last, by the lowest bits of their pids.
    last_heirs: Vec<u32>,
    index: Index,
    seen: Seen,
    /// The pids of threads whose processes live on.
    threads: Vec<i64>,
    /// The place in `ends` of the last of each pid, where that is asked for.
    by_pid: FxHashMap<i64, u32>,
    /// For each of the dead, if that is wanted: the kernel's parent of it, which died behind it in the same interval.
    parents: Vec<Option<u32>>,
}

/// A power of two.
const LAST_HEIRS: usize = 64;

/// Heirs that are looked for among all of the dead, because their lowest bits are those of one.
const MOST_DOUBTED: usize = 8;

impl Deaths {
    /// Those of this frame. Parents are found if they are wanted.
    pub(crate) fn read(&mut self, frame: &Frame, wants_parents: bool) {
        let processes = frame.table(Section::Processes);
        self.begin();
        self.booked.clear();
        self.parents.clear();
        self.unidentified_ns.clear();
        self.unidentified_ns.extend(processes.all(Column::EXITED_CHILDREN_NS).map(Option::unwrap_or_default));
        self.inherited_ns.clear();
        self.inherited_ns.resize(processes.len(), 0);
        self.inherited_booked.clear();
        self.inherited_booked.resize(processes.len(), Booked::default());
        if frame.table(Section::Exited).is_empty() {
            return;
        }
        self.rows.read(frame);
        if wants_parents || !self.find_whole(frame) {
            self.find(frame);
        }
        let has_no_start = |heir: &Heir| heir.told.is_some_and(|(_, start)| start.is_none());
        self.by_pid.clear();
        if wants_parents || self.heirs.iter().any(has_no_start) {
            let pid = |place: &u32| self.found[*place as usize].id.0;
            self.by_pid.extend((0..).zip(&self.ends).map(|(place, own)| (pid(own), place)));
        }
        if wants_parents {
            self.find_parents();
        }
        for place in 0..self.heirs.len() {
            let living = self.find_living(place);
            self.heirs[place].row = living.and_then(|(pid, start)| self.rows.row(pid, start));
        }
        for place in &self.ends {
            let dead = &mut self.found[*place as usize];
            // What the heir does not have of it is not in the sum of the frame.
            let Some(row) = self.heirs[dead.heir as usize].row else {
                dead.used.cpu_ns = 0;
                if let Some(booked) = self.booked.get_mut(dead.place as usize) {
                    *booked = Booked::default();
                }
                continue;
            };
            let left_ns = &mut self.unidentified_ns[row];
            dead.used.cpu_ns = dead.used.cpu_ns.min(*left_ns);
            *left_ns -= dead.used.cpu_ns;
            self.inherited_ns[row] = self.inherited_ns[row].saturating_add(dead.used.cpu_ns);
            if let Some(booked) = self.booked.get(dead.place as usize) {
                add_booked(&mut self.inherited_booked[row], booked);
            }
        }
    }

    /// The processes that died.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Dead> {
        self.ends.iter().map(|place| &self.found[*place as usize])
    }

    /// What accounts have booked to it; `None`: nothing, to none of the dead.
    #[inline]
    pub(crate) fn booked(&self, dead: &Dead) -> Option<&Booked> {
        self.booked.get(dead.place as usize)
    }

    /// The process that inherits from it, and lives.
    pub(crate) fn heir(&self, dead: &Dead) -> Option<HeirId> {
        self.heirs[dead.heir as usize].living
    }

    /// The row of that.
    pub(crate) fn heir_row(&self, dead: &Dead) -> Option<usize> {
        self.heirs[dead.heir as usize].row
    }

    /// The kernel's parent of the one at this place of [`Deaths::iter`], which died behind it in the same interval.
    pub(crate) fn parent(&self, place: usize) -> Option<&Dead> {
        let parent = (*self.parents.get(place)?)?;
        Some(&self.found[self.ends[parent as usize] as usize])
    }

    fn begin(&mut self) {
        self.found.clear();
        self.ends.clear();
        self.heirs.clear();
        self.heirs.push(Heir::default());
        self.last_heirs.clear();
        self.last_heirs.resize(LAST_HEIRS, NO_HEIR);
    }

    /// As [`Deaths::find`], where each process that died has one record, and what inherits lives, as in most storms: none has to be looked for among
    /// the others. Returns whether it is so.
    fn find_whole(&mut self, frame: &Frame) -> bool {
        self.begin();
        let table = frame.table(Section::Exited);
        if Column::BOOKED_OF_DEAD.iter().any(|column| table.has(*column)) {
            return false;
        }
        let (pids, heirs) = (table.signed_cells(Column::PID), table.signed_cells(Column::ACCOUNTING_PPID));
        let (starts, heir_starts) =
            (table.cells(Column::PROCESS_START_NS), table.cells(Column::ACCOUNTING_START_NS));
        let (used, waited) = (table.cells(Column::CPU_NS), table.cells(Column::WAITING_NS));
        let ended = table.cells(Column::ENDS_PROCESS);
        self.seen.clear();
        self.threads.clear();
        for record in 0..table.len() {
            let (Some(pid), Some(ends)) = (pids.get(record), ended.get(record)) else { return false };
            if ends == 0 {
                self.threads.push(pid);
                continue;
            }
            if self.seen.put(pid) {
                return false;
            }
            let heir = heirs.get(record);
            let heir = heir.map_or(NO_HEIR, |heir| self.heir_place((heir, heir_starts.get(record))));
            let used = UsedByDead {
                cpu_ns: used.get(record).unwrap_or_default(),
                runqueue_wait_ns: waited.get(record),
            };
            let (id, place) = ((pid, starts.get(record).unwrap_or_default()), self.found.len() as u32);
            self.found.push(Dead { id, used, ppid: 0, place, record: record as u32, heir, ends: true });
        }
        self.ends.extend(0..self.found.len() as u32);
        // Nobody is found by it.
        self.index.clear(1);
        let told = self.heirs.iter().filter_map(|heir| heir.told);
        let mut doubted = told.filter(|(pid, _)| self.seen.may_have(*pid));
        let is_dead = |(heir, _): HeirId| self.found.iter().any(|dead| dead.id.0 == heir);
        !self.threads.iter().any(|pid| self.seen.may_have(*pid))
            && !doubted.by_ref().take(MOST_DOUBTED).any(is_dead)
            && doubted.next().is_none()
    }

    /// The processes that died, by the ends of the last of their threads, with the heirs that their records tell.
    fn find(&mut self, frame: &Frame) {
        self.begin();
        let table = frame.table(Section::Exited);
        self.index.clear(table.len());
        let (pids, tids) = (table.signed_cells(Column::PID), table.signed_cells(Column::TID));
        let (ppids, heirs) = (table.signed_cells(Column::PPID), table.signed_cells(Column::ACCOUNTING_PPID));
        let (starts, heir_starts) =
            (table.cells(Column::PROCESS_START_NS), table.cells(Column::ACCOUNTING_START_NS));
        let (used, waited) = (table.cells(Column::CPU_NS), table.cells(Column::WAITING_NS));
        let ended = table.cells(Column::ENDS_PROCESS);
        let tells_parents = table.has(Column::PPID);
        let has_booked = Column::BOOKED_OF_DEAD.iter().any(|column| table.has(*column));
        let booked = Column::BOOKED_OF_DEAD.map(|column| table.cells(column));
        for record in 0..table.len() {
            let Some(pid) = pids.get(record) else { continue };
            let start = starts.get(record);
            let more = UsedByDead {
                cpu_ns: used.get(record).unwrap_or_default(),
                runqueue_wait_ns: waited.get(record),
            };
            let is_end = match ended.get(record) {
                Some(ends) => ends != 0,
                // Where the source does not tell it, a process without a row has died.
                None => self.rows.row(pid, start).is_none(),
            };
            let heir = match heirs.get(record) {
                Some(heir) if is_end => self.heir_place((heir, heir_starts.get(record))),
                _ => NO_HEIR,
            };
            let id = (pid, start.unwrap_or_default());
            let (place, is_first_end) = match self.index.find(&self.found, id) {
                Ok(place) => {
                    let own = &mut self.found[place as usize];
                    own.used.cpu_ns = own.used.cpu_ns.saturating_add(more.cpu_ns);
                    own.used.runqueue_wait_ns = sum(own.used.runqueue_wait_ns, more.runqueue_wait_ns);
                    if tids.get(record) == Some(pid) {
                        own.record = record as u32;
                    }
                    if is_end {
                        own.heir = heir;
                    }
                    (place, is_end && !std::mem::replace(&mut own.ends, true))
                }
                // It is new.
                Err(slot) => {
                    let place = self.found.len() as u32;
                    self.index.slots[slot] = place + 1;
                    let record = record as u32;
                    self.found.push(Dead { id, used: more, ppid: 0, place, record, heir, ends: is_end });
                    (place, is_end)
                }
            };
            if is_first_end {
                self.ends.push(place);
            }
            if is_end && tells_parents {
                self.found[place as usize].ppid =
                    ppids.get(record).filter(|ppid| *ppid > 0 && *ppid != pid).unwrap_or_default();
            }
            if has_booked {
                self.booked.resize(self.found.len(), Booked::default());
                add_booked(&mut self.booked[place as usize], &booked.map(|cells| cells.get(record)));
            }
        }
    }

    /// The place in `heirs` of one that is told. Those of one pid that come between others may have several.
    fn heir_place(&mut self, told: HeirId) -> u32 {
        let last = &mut self.last_heirs[told.0 as usize % LAST_HEIRS];
        if self.heirs[*last as usize].told != Some(told) {
            *last = self.heirs.len() as u32;
            self.heirs.push(Heir { told: Some(told), ..Heir::default() });
        }
        *last
    }

    /// The kernel's parents of those that died before these in the same interval.
    fn find_parents(&mut self) {
        self.parents.extend((0_u32..).zip(&self.ends).map(|(place, own)| {
            let parent = self.by_pid.get(&self.found[*own as usize].ppid);
            parent.copied().filter(|parent| *parent > place)
        }));
    }

    /// The first above that lives, of one in `heirs`. Each on the way there has the same, so that none is passed twice.
    fn find_living(&mut self, first: usize) -> Option<HeirId> {
        let (mut place, mut way) = (first, Vec::new());
        let living = loop {
            let Heir { told, living, is_found, .. } = self.heirs[place];
            // As many steps as there are heirs would be a circle.
            if is_found || way.len() > self.heirs.len() {
                break living;
            }
            way.push(place);
            match told.and_then(|told| self.dead(told)) {
                Some(dead) => place = dead.heir as usize,
                None => break told,
            }
        };
        for place in way {
            (self.heirs[place].living, self.heirs[place].is_found) = (living, true);
        }
        living
    }

    /// One of the processes that died.
    fn dead(&self, (pid, start): HeirId) -> Option<&Dead> {
        let place = match start {
            Some(start) => self.index.find(&self.found, (pid, start)).ok(),
            None => self.by_pid.get(&pid).map(|place| self.ends[*place as usize]),
        };
        Some(&self.found[place? as usize]).filter(|dead| dead.ends)
    }
}

/// The lowest bits of pids.
#[derive(Debug, Clone, Default)]
struct Seen(Vec<u64>);

impl Seen {
    /// Of the bits. A power of two.
    const WORDS: usize = 1 << 10;

    fn clear(&mut self) {
        self.0.clear();
        self.0.resize(Seen::WORDS, 0);
    }

    fn place(pid: i64) -> (usize, u64) {
        (pid as usize / 64 % Seen::WORDS, 1 << (pid as usize % 64))
    }

    /// Puts those of this one. Returns whether they were there.
    #[inline]
    fn put(&mut self, pid: i64) -> bool {
        let (word, bit) = Seen::place(pid);
        let word = &mut self.0[word];
        let had = *word & bit != 0;
        *word |= bit;
        had
    }

    /// Whether it may have been put: it or another one of the same bits.
    fn may_have(&self, pid: i64) -> bool {
        let (word, bit) = Seen::place(pid);
        self.0[word] & bit != 0
    }
}

/// Where each process is in a list of the dead, by open addressing: at most half of the slots are taken.
#[derive(Debug, Clone, Default)]
struct Index {
    /// The place and one more; 0: the slot is free.
    slots: Vec<u32>,
    /// Nobody who writes a recording knows the slots that it gives.
    hash: RandomState,
}

impl Index {
    /// Starts anew, for at most this number of processes.
    fn clear(&mut self, processes: usize) {
        self.slots.clear();
        self.slots.resize((2 * processes).next_power_of_two(), 0);
    }

    /// The place of a process, or the free slot that it may take. Pids are given one after the other, so most have a slot of their own by
    /// their lowest bits. The others go on where their hash is, so that many processes of few pids are not in each other's way, and then by steps
    /// that grow, which leave a run of taken slots soon and still come to each slot.
    fn find(&self, found: &[Dead], id: Id) -> Result<u32, usize> {
        let mask = self.slots.len() - 1;
        let mut slot = id.0 as usize & mask;
        let mut step = 0;
        while let Some(place) = self.slots[slot].checked_sub(1) {
            if found[place as usize].id == id {
                return Ok(place);
            }
            let next = if step == 0 { self.hash.hash_one(id) as usize } else { slot + step };
            (slot, step) = (next & mask, step + 1);
        }
        Err(slot)
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

#[cfg(test)]
mod tests {
    use super::*;

    const DEAD: i64 = 100_000;

    /// Where each has one record, the dead are the same as if each had been looked for.
    #[test]
    fn whole_processes_are_found_as_all_others_are() {
        const BITS: i64 = 64 * Seen::WORDS as i64;
        let one = |pid: i64| ((pid, pid.unsigned_abs()), (pid % 3 + 1, 1));
        let tasks: Vec<_> = (BITS - 500..BITS + 100).map(one).collect();
        // One with the lowest bits of another, one of the same pid, and an heir that has died, or has the bits of one that has.
        for (more, is_whole) in [
            (None, true),
            (Some(one(2 * BITS)), false),
            (Some(((BITS, 9), (1, 1))), false),
            (Some(((2, 2), (1, 1))), false),
            (Some(((5_000, 1), (3 * BITS + 7, 1))), true),
        ] {
            let tasks: Vec<_> = tasks.iter().copied().chain(more).collect();
            let frame = frame_of(&tasks);
            let (mut deaths, mut slowly) = (Deaths::default(), Deaths::default());
            deaths.read(&frame, false);
            slowly.read(&frame, true);
            assert_eq!(deaths.index.slots.len() == 2, is_whole, "{more:?}");
            let told = |own: &Deaths| {
                let of = |dead: &Dead| (dead.id, dead.used.cpu_ns, own.heir(dead), own.heir_row(dead));
                own.iter().map(of).collect::<Vec<_>>()
            };
            assert_eq!(told(&deaths), told(&slowly));
            assert_eq!(deaths.inherited_ns, slowly.inherited_ns);
        }
    }

    /// A thread that ends before its process is no process, and counts for the one that ends with it.
    #[test]
    fn threads_are_no_processes() {
        for (thread, waited, processes) in [(100, None, 1), (7, Some(2), 1)] {
            let mut frame = frame_of(&[((thread, 1), (1, 1)), ((7, 1), (1, 1))]);
            let dead = frame.table_mut(Section::Exited);
            dead.set(Column::ENDS_PROCESS, 0, Some(0));
            waited.into_iter().for_each(|waited| dead.set(Column::WAITING_NS, 0, Some(waited)));
            let mut deaths = Deaths::default();
            deaths.read(&frame, false);
            assert_eq!(deaths.iter().count(), processes);
            assert!(deaths.iter().all(|dead| dead.id == (7, 1) && dead.used.runqueue_wait_ns == waited));
        }
    }

    /// One process lives, and has the time of these, each of which has used 1: of a dead task pid, start, and those of the heir.
    fn frame_of(tasks: &[(Id, Id)]) -> Frame {
        let mut frame = Frame::new();
        let living = frame.table_mut(Section::Processes);
        living.reset(1);
        living.set_signed(Column::PID, 0, Some(1));
        living.set(Column::START_TIME_NS, 0, Some(1));
        living.set(Column::EXITED_CHILDREN_NS, 0, Some(tasks.len() as u64));
        let dead = frame.table_mut(Section::Exited);
        dead.reset(tasks.len());
        for (row, ((pid, start), (heir, heir_start))) in tasks.iter().copied().enumerate() {
            for (column, value) in [(Column::PID, pid), (Column::TID, pid), (Column::ACCOUNTING_PPID, heir)] {
                dead.set_signed(column, row, Some(value));
            }
            for (column, value) in [
                (Column::PROCESS_START_NS, start),
                (Column::ACCOUNTING_START_NS, heir_start),
                (Column::CPU_NS, 1),
                (Column::ENDS_PROCESS, 1),
            ] {
                dead.set(column, row, Some(value));
            }
        }
        frame
    }

    /// In a merged frame, the heir of an interval may have died in the next one. A chain of 100,000 took 5,000,000,000 steps.
    #[test]
    fn a_chain_of_heirs_is_passed_once() {
        let id = |pid: i64| (pid, pid.unsigned_abs());
        let chain: Vec<_> = (2..DEAD + 2).rev().map(|pid| (id(pid), id(pid - 1))).collect();
        let mut deaths = Deaths::default();
        deaths.read(&frame_of(&chain), false);
        assert_eq!(deaths.iter().count(), DEAD as usize);
        assert!(deaths.iter().all(|dead| deaths.heir(dead) == Some((1, Some(1)))));
        assert_eq!((deaths.unidentified_ns[0], deaths.inherited_ns[0]), (0, DEAD.unsigned_abs()));
    }

    /// In a merged frame, a pid may have had many processes. Each of these has two threads.
    #[test]
    fn processes_of_one_pid_are_told_apart() {
        let one = |start: u64| ((7, start), (1, 1));
        let starts = 0..DEAD.unsigned_abs();
        let tasks: Vec<_> = starts.clone().map(one).chain(starts.map(one)).collect();
        let mut deaths = Deaths::default();
        deaths.read(&frame_of(&tasks), false);
        assert_eq!(deaths.iter().count(), DEAD as usize);
        assert!(deaths.iter().zip(0..).all(|(dead, start)| (dead.id, dead.used.cpu_ns) == ((7, start), 2)));
    }

    /// In a merged frame, all pids may have been given more than once: the first processes take slots that follow each other. Passing these one by one took
    /// 500,000,000 steps.
    #[test]
    fn pids_that_were_given_twice_are_told_apart() {
        let ids = || (1..=2).flat_map(|start| (0..DEAD / 2).map(move |pid| (pid, start)));
        let tasks: Vec<_> = ids().map(|id| (id, (1, 1))).collect();
        let mut deaths = Deaths::default();
        deaths.read(&frame_of(&tasks), false);
        assert!(deaths.iter().map(|dead| dead.id).eq(ids()));
    }
}
