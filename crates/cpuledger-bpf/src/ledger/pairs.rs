//! Which cgroup has made which wait for a CPU: the reader's half. `bpf/pairs.bpf.h` has the other half, and says how it is booked.
//!
//! The pairs of an interval are cells of a table: a row for each class and cause, a column for each class. Its sums are those of blame.

use std::mem::offset_of;
use std::sync::atomic::Ordering;

use cpuledger_model::pairs::{Party, WaitPair, WaitPairs};

use crate::abi;
use crate::error::Error;

use super::parts::{self, Parts};
use super::shared::{Shared, of_parity, take_word};

/// What a ledger that keeps this has besides those of blame.
pub(super) const MAPS: [&str; 3] = ["cpu_pairs", "pair_rows", "classes"];

const CLASSES: usize = abi::CPULEDGER_CLASSES as usize;
const ROWS: usize = abi::CPULEDGER_ROWS as usize;
const OTHER: u32 = abi::CPULEDGER_CLASS_OTHER;
const IDLE: u32 = abi::CPULEDGER_ROW_IDLE;
const QUOTA: u32 = abi::CPULEDGER_ROW_QUOTA;
const INTERRUPTS: u32 = abi::CPULEDGER_ROW_INTERRUPTS;
const STOLEN: u32 = abi::CPULEDGER_ROW_STOLEN;

const FREE: u64 = abi::CPULEDGER_CLASS_FREE as u64;
const USED: u64 = abi::CPULEDGER_CLASS_USED as u64;
const RETIRED: u64 = abi::CPULEDGER_CLASS_RETIRED as u64;

/// Classes that may be idle before the reader takes their numbers back: a new cgroup finds one that is free nearly always.
const MOST_IDLE: usize = CLASSES / 2;

/// Kernel memory that the records lock, in bytes.
pub(super) const fn locked_bytes(cpu_ids: u32) -> u64 {
    let of_cpu = size_of::<abi::cpuledger_cpu_pairs>() + ROWS * size_of::<abi::cpuledger_pair_row>();
    cpu_ids as u64 * of_cpu as u64 + CLASSES as u64 * size_of::<abi::cpuledger_class>() as u64
}

/// The numbers of entries of the maps.
pub(super) const fn entries(cpu_ids: u32) -> [(&'static str, u32); 3] {
    [("cpu_pairs", cpu_ids), ("pair_rows", cpu_ids * ROWS as u32), ("classes", CLASSES as u32)]
}

/// The classes of a set, each a bit.
fn members(mut set: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let first = (set != 0).then(|| set.trailing_zeros())?;
        set &= set - 1;
        Some(first)
    })
}

/// The class that waits at a place.
pub(super) fn class_at(place: u32) -> u32 {
    place >> abi::CPULEDGER_PLACE_CLASS_SHIFT & (abi::CPULEDGER_CLASSES - 1)
}

/// Of a CPU at a cut: the row of the task that had it, and what each class has waited because of that and was not booked.
#[derive(Debug, Clone, Default)]
pub(super) struct PairsAtCut {
    pub(super) row: u32,
    caused: Vec<(u32, u64)>,
}

/// What all rows of blame add up to.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Margins {
    /// What tasks have caused, with a row or without one.
    pub(super) tasks_ns: u64,
    pub(super) idle_ns: u64,
    pub(super) quota_ns: u64,
    pub(super) interrupts_ns: u64,
    pub(super) stolen_ns: u64,
}

/// The table of an interval.
#[derive(Debug)]
struct Cells(Box<[i64]>);

impl Cells {
    fn new() -> Cells {
        Cells(vec![0; ROWS * CLASSES].into())
    }

    fn at(&mut self, row: u32, class: u32) -> &mut i64 {
        &mut self.0[row as usize * CLASSES + class as usize]
    }

    fn add(&mut self, row: u32, class: u32, ns: i64) {
        let cell = self.at(row, class);
        *cell = cell.wrapping_add(ns);
    }

    fn row_ns(&self, row: u32) -> i64 {
        let first = row as usize * CLASSES;
        self.0[first..first + CLASSES].iter().fold(0, |sum, ns| sum.wrapping_add(*ns))
    }

    fn is_used(&self, class: u32) -> bool {
        let of_class = (0..ROWS).any(|row| self.0[row * CLASSES + class as usize] != 0);
        of_class || self.0[class as usize * CLASSES..][..CLASSES].iter().any(|ns| *ns != 0)
    }

    /// Brings the rows to the sums of blame. Returns by how much they were off, of which nothing but hidden events can be the cause: what follows from those
    /// is in no class.
    fn keep_margins(&mut self, margins: Margins) -> u64 {
        let Margins { tasks_ns, idle_ns, quota_ns, interrupts_ns, stolen_ns } = margins;
        let causes = [(IDLE, idle_ns), (QUOTA, quota_ns), (INTERRUPTS, interrupts_ns), (STOLEN, stolen_ns)];
        let of_tasks = (0..CLASSES as u32).fold(0_i64, |sum, row| sum.wrapping_add(self.row_ns(row)));
        let rows = causes.map(|(row, ns)| (row, ns, self.row_ns(row)));
        let mut off_ns: u64 = 0;
        for (row, ns, told_ns) in rows.into_iter().chain([(OTHER, tasks_ns, of_tasks)]) {
            let more_ns = ns.cast_signed().wrapping_sub(told_ns);
            self.add(row, OTHER, more_ns);
            off_ns = off_ns.saturating_add(more_ns.unsigned_abs());
        }
        off_ns
    }

    /// The largest of some cells that is above zero.
    fn largest(&self, places: impl Iterator<Item = usize>) -> Option<usize> {
        places.filter(|place| self.0[*place] > 0).max_by_key(|place| self.0[*place])
    }

    /// Leaves no cell below zero. Each takes from the largest cell of its row and from that of its column, and what these lose comes to the cell
    /// that has the row of the one and the column of the other: the sums of rows and columns stay. Where one of both is missing, the other gives; where both are, the largest
    /// cell of all.
    fn settle(&mut self) {
        for place in 0..self.0.len() {
            let (row, class) = (place / CLASSES, place % CLASSES);
            while self.0[place] < 0 {
                let of_row = self.largest(row * CLASSES..(row + 1) * CLASSES);
                let of_column = self.largest((0..ROWS).map(|row| row * CLASSES + class));
                let missing_ns = -self.0[place];
                if let Some((one, other)) = of_row.zip(of_column) {
                    let ns = missing_ns.min(self.0[one]).min(self.0[other]);
                    self.0[place] += ns;
                    self.0[one] -= ns;
                    self.0[other] -= ns;
                    self.0[other / CLASSES * CLASSES + one % CLASSES] += ns;
                } else {
                    let largest = || self.largest(0..self.0.len());
                    let Some(giver) = of_row.or(of_column).or_else(largest) else { return };
                    let ns = missing_ns.min(self.0[giver]);
                    self.0[place] += ns;
                    self.0[giver] -= ns;
                }
            }
        }
    }
}

/// The shared records, and what the reader has found.
pub(super) struct PairBooks {
    cpus: Shared<abi::cpuledger_cpu_pairs>,
    rows: Shared<abi::cpuledger_pair_row>,
    classes: Shared<abi::cpuledger_class>,
    cells: Cells,
    /// Classes that tasks have which wait at the cut, or have a CPU then: a bit each.
    held: u64,
    /// Those of the interval that was closed last.
    pub(super) pairs: WaitPairs,
    /// By how much the books of pairs differed from those of blame then.
    pub(super) off_ns: u64,
}

impl PairBooks {
    /// The records of a ledger on so many CPUs, among its parts.
    ///
    /// # Errors
    /// When one is missing, or the kernel refuses to map it.
    pub(super) fn of(parts: &Parts, cpus: u32) -> Result<PairBooks, Error> {
        let [of_cpus, rows, classes] = MAPS.map(|name| parts::find(parts, name));
        let [(_, cpus), (_, row_count), (_, class_count)] = entries(cpus);
        Ok(PairBooks::new(
            Shared::new(of_cpus?, cpus)?,
            Shared::new(rows?, row_count)?,
            Shared::new(classes?, class_count)?,
        ))
    }

    pub(super) fn new(
        cpus: Shared<abi::cpuledger_cpu_pairs>,
        rows: Shared<abi::cpuledger_pair_row>,
        classes: Shared<abi::cpuledger_class>,
    ) -> PairBooks {
        let (cells, pairs) = (Cells::new(), WaitPairs::default());
        PairBooks { cpus, rows, classes, cells, held: 0, pairs, off_ns: 0 }
    }

    fn word(&self, cpu: u32, offset: usize) -> u64 {
        self.cpus.word(cpu, offset).load(Ordering::Relaxed)
    }

    /// A word of a class on a CPU.
    fn of_class(&self, cpu: u32, class: u32, offset: usize) -> u64 {
        let of = offset_of!(abi::cpuledger_cpu_pairs, of);
        self.word(cpu, of + class as usize * size_of::<abi::cpuledger_class_waits>() + offset)
    }

    /// The words `gone` of all classes on a CPU that have any: enum cpuledger_gone.
    pub(super) fn gone(&self, cpu: u32) -> impl Iterator<Item = (u32, u64)> {
        let set = self.word(cpu, offset_of!(abi::cpuledger_cpu_pairs, gone));
        members(set).map(move |class| {
            (class, self.of_class(cpu, class, offset_of!(abi::cpuledger_class_waits, gone)))
        })
    }

    /// A CPU that is beyond the cut: as the first event after that has left it.
    pub(super) fn left_at_cut(&self, cpu: u32) -> PairsAtCut {
        let row = self.cpus.half(cpu, offset_of!(abi::cpuledger_cpu_pairs, cut_row)).load(Ordering::Relaxed);
        let set = self.word(cpu, offset_of!(abi::cpuledger_cpu_pairs, cut_waiting));
        let caused = offset_of!(abi::cpuledger_class_waits, cut_caused_ns);
        PairsAtCut {
            row,
            caused: members(set).map(|class| (class, self.of_class(cpu, class, caused))).collect(),
        }
    }

    /// A CPU without an event since the cut. `start_ns`: none in the whole interval, which began then. `gone` says how many tasks of a class are gone, and the
    /// sum of the instants.
    pub(super) fn found_at_cut(
        &self,
        cpu: u32,
        cut_ns: u64,
        start_ns: Option<u64>,
        gone: impl Fn(u64) -> (u64, u64),
    ) -> PairsAtCut {
        let row = self.cpus.half(cpu, offset_of!(abi::cpuledger_cpu_pairs, row)).load(Ordering::Relaxed);
        let set = self.word(cpu, offset_of!(abi::cpuledger_cpu_pairs, waiting))
            | self.word(cpu, offset_of!(abi::cpuledger_cpu_pairs, gone));
        let caused = |class| {
            let word = |offset| self.of_class(cpu, class, offset);
            let (count, sum_ns) = gone(word(offset_of!(abi::cpuledger_class_waits, gone)));
            let waiters = word(offset_of!(abi::cpuledger_class_waits, waiters)).wrapping_sub(count);
            let area = word(offset_of!(abi::cpuledger_class_waits, area)).wrapping_add(sum_ns);
            let at = |ns: u64| area.wrapping_add(waiters.wrapping_mul(ns));
            let told = start_ns.map_or_else(|| word(offset_of!(abi::cpuledger_class_waits, told)), at);
            (class, at(cut_ns).wrapping_sub(told))
        };
        PairsAtCut { row, caused: members(set).map(caused).collect() }
    }

    /// Begins to close an interval: takes what the hooks have booked in it, and what each CPU had not.
    pub(super) fn begin<'c>(&mut self, interval: u64, cpus: impl Iterator<Item = (u32, &'c PairsAtCut)>) {
        self.cells.0.fill(0);
        self.held = 0;
        for (cpu, at_cut) in cpus {
            for row in 0..ROWS as u32 {
                let record = cpu * ROWS as u32 + row;
                let touched = of_parity(offset_of!(abi::cpuledger_pair_row, touched), interval);
                let first = offset_of!(abi::cpuledger_pair_row, ns) + (interval & 1) as usize * 8 * CLASSES;
                for class in members(take_word(self.rows.word(record, touched))) {
                    let ns = take_word(self.rows.word(record, first + 8 * class as usize));
                    self.cells.add(row, class, ns.cast_signed());
                }
            }
            for (class, ns) in &at_cut.caused {
                self.cells.add(at_cut.row.min(STOLEN), *class, ns.cast_signed());
            }
            self.held |= 1_u64.checked_shl(at_cut.row).unwrap_or(0);
        }
    }

    /// A task of this class waits at the cut, and has waited for so long because of a row, where that is not in the books of a CPU.
    pub(super) fn add_waiting(&mut self, class: u32, by: Option<u32>, suffered_ns: u64) {
        self.held |= 1 << class;
        if let Some(row) = by {
            self.cells.add(row.min(STOLEN), class, suffered_ns.cast_signed());
        }
    }

    /// A task of this class is said to have caused nothing where that was below zero. Somebody is said to have waited for so long.
    pub(super) fn add_taken(&mut self, class: u32, taken_ns: u64) {
        self.cells.add(class, OTHER, taken_ns.cast_signed());
    }

    /// Ends the interval: the pairs of it, with these sums.
    pub(super) fn end(&mut self, margins: Margins) {
        self.off_ns = self.cells.keep_margins(margins);
        let used = (0..CLASSES as u32)
            .filter(|class| self.cells.is_used(*class))
            .fold(0, |set, class| set | 1 << class);
        self.cells.settle();
        let party = |row: u32| match row {
            OTHER => Party::Other,
            IDLE => Party::Idle,
            QUOTA => Party::Quota,
            INTERRUPTS => Party::Interrupts,
            row if (row as usize) < CLASSES => {
                let id = |offset| Some(self.classes.word(row, offset).load(Ordering::Acquire));
                Party::Cgroup((
                    id(offset_of!(abi::cpuledger_class, cgroup_id)),
                    id(offset_of!(abi::cpuledger_class, cgroup_v1_cpu_id)),
                ))
            }
            _ => Party::Stolen,
        };
        let cells = (0..).zip(&self.cells.0).filter(|(_, ns)| **ns > 0);
        let pair = |(place, ns): (usize, &i64)| {
            WaitPair::new(party((place / CLASSES) as u32), party((place % CLASSES) as u32), ns.unsigned_abs())
        };
        self.pairs = WaitPairs::of(cells.map(pair));
        self.take_back(used | self.held);
    }

    /// Where few numbers are left, those that nobody has used are not given any more. One that nobody has at the cut after that is free again.
    fn take_back(&self, used: u64) {
        let state = |class| self.classes.word(class, offset_of!(abi::cpuledger_class, state));
        let is = |class: &u32, which| state(*class).load(Ordering::Acquire) == which;
        let idle = || (1..CLASSES as u32).filter(|class| used & 1 << class == 0);
        for class in idle().filter(|class| is(class, RETIRED)) {
            state(class).store(FREE, Ordering::Release);
        }
        let taken = (1..CLASSES as u32).filter(|class| !is(class, FREE)).count();
        for class in idle().filter(|class| is(class, USED)).take(taken.saturating_sub(MOST_IDLE)) {
            state(class).store(RETIRED, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sums of rows and columns.
    fn margins(cells: &Cells) -> (Vec<i64>, Vec<i64>) {
        let column = |class| (0..ROWS).map(|row| cells.0[row * CLASSES + class]).sum();
        ((0..ROWS as u32).map(|row| cells.row_ns(row)).collect(), (0..CLASSES).map(column).collect())
    }

    #[test]
    fn what_is_below_zero_is_taken_from_others_and_both_sums_stay() {
        let mut cells = Cells::new();
        for (row, class, ns) in [
            (1, 1, -30),
            (1, 2, 20),
            (1, 3, 15),
            (2, 1, 12),
            (IDLE, 1, 40),
            (2, 2, 5),
            (3, 3, -1),
            (3, 4, 1),
            (4, 3, 1),
        ] {
            cells.add(row, class, ns);
        }
        let before = margins(&cells);
        cells.settle();
        assert_eq!(margins(&cells), before);
        assert!(cells.0.iter().all(|ns| *ns >= 0), "{cells:?}");
        assert_eq!(*cells.at(1, 1), 0);
    }

    #[test]
    fn what_no_exchange_can_settle_leaves_the_sum() {
        let mut cells = Cells::new();
        cells.add(1, 1, -30);
        cells.add(2, 2, 50);
        cells.settle();
        assert_eq!((*cells.at(1, 1), *cells.at(2, 2)), (0, 20));
        let mut cells = Cells::new();
        cells.add(1, 1, -30);
        cells.settle();
        assert_eq!(cells.row_ns(1), -30);
    }

    #[test]
    fn rows_are_what_blame_says() {
        let mut cells = Cells::new();
        cells.add(1, 2, 100);
        cells.add(IDLE, 1, -7);
        let off_ns = cells.keep_margins(Margins { tasks_ns: 103, quota_ns: 4, ..Margins::default() });
        assert_eq!(off_ns, 3 + 7 + 4);
        cells.settle();
        assert_eq!((cells.row_ns(IDLE), cells.row_ns(QUOTA), cells.row_ns(OTHER)), (0, 4, 3));
        assert_eq!(margins(&cells).1.iter().sum::<i64>(), 107);
    }

    #[test]
    fn a_set_has_its_members() {
        assert_eq!(members(1 | 1 << 5 | 1 << 63).collect::<Vec<_>>(), [0, 5, 63]);
        assert_eq!(members(0).count(), 0);
    }
}
