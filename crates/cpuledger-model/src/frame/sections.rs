//! A frame in memory.

use std::fmt;

use crate::disk::Disks;
use crate::frame::column::{Column, Kind};
use crate::frame::disks;
use crate::frame::layout::MOST_RECORDS;
use crate::frame::names::Names;
use crate::frame::pairs;
use crate::frame::table::{ABSENT, Table};
use crate::frame::wire;
use crate::kinds;
use crate::pairs::{MOST_PAIRS, WaitPairs};
use crate::wire::{MOST_WIRE_CGROUPS, Wire};

kinds! {
    /// What a table of a frame has a row for. The number is that of the bytes, and never changes.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    #[repr(u16)]
    #[non_exhaustive]
    pub enum Section {
        /// The interval: one row.
        Interval = 1,
        /// A CPU.
        Cpus = 2,
        /// A process with time in the interval, or another one that was wanted.
        Processes = 3,
        /// A task that lives and ran in the interval, or another one that was wanted.
        Tasks = 4,
        /// A task that died in the interval, in the order of the deaths.
        Exited = 5,
        /// A task that was blocked all the time, for longest first.
        Blocked = 6,
        /// A row of processes or tasks that was told by /proc.
        FromProcfs = 7,
        /// A task that goes on under another tid since an exec: no row of tasks is of it any more.
        Renumbered = 8,
        /// A cgroup of a row of processes, with its path at the end of the interval.
        Cgroups = 9,
        /// A living process without a row of its own from which one with a row descends.
        Ancestors = 10,
        /// How long one cgroup, or a cause that is none, made another one wait for a CPU.
        Pairs = 11,
        /// What a disk did.
        Disks = 12,
        /// What a cgroup sent and received on the wire.
        Wire = 13,
    }
}

impl Section {
    /// Its number in the bytes.
    #[inline]
    pub fn id(self) -> u16 {
        self as u16
    }

    pub(crate) fn by_id(id: u16) -> Option<Section> {
        Section::ALL.into_iter().find(|section| section.id() == id)
    }

    /// Maximum number of its records: a reader refuses more.
    pub(crate) const fn most_records(self) -> u32 {
        match self {
            Section::Pairs => MOST_PAIRS as u32,
            Section::Disks => disks::MOST_ROWS as u32,
            // All other cgroups have a row.
            Section::Wire => MOST_WIRE_CGROUPS as u32 + 1,
            _ => MOST_RECORDS,
        }
    }

    #[inline]
    pub(crate) fn place(self) -> usize {
        usize::from(self.id()) - 1
    }
}

/// One closed interval: a table for each section. Its memory is reused.
#[derive(Clone)]
pub struct Frame {
    tables: [Table; Section::ALL.len()],
    pub(crate) names: Names,
}

impl Default for Frame {
    fn default() -> Frame {
        Frame::new()
    }
}

impl Frame {
    /// An interval of which nothing is known, without rows.
    pub fn new() -> Frame {
        let mut frame = Frame { tables: Default::default(), names: Names::default() };
        frame.clear();
        frame
    }

    /// Makes it as new, and keeps its memory.
    pub fn clear(&mut self) {
        self.tables.iter_mut().for_each(|table| table.reset(0));
        self.table_mut(Section::Interval).reset(1);
        self.names.clear();
    }

    /// Gives back memory that is much more than what it holds needs: that of a longer one before.
    pub fn trim(&mut self) {
        self.tables.iter_mut().for_each(Table::trim);
        self.names.trim();
    }

    /// The rows of a section.
    #[inline]
    pub fn table(&self, section: Section) -> &Table {
        &self.tables[section.place()]
    }

    /// The rows of a section.
    pub fn table_mut(&mut self, section: Section) -> &mut Table {
        &mut self.tables[section.place()]
    }

    /// A figure of the interval.
    ///
    /// # Panics
    /// If the column has signed numbers.
    pub fn figure(&self, column: Column) -> Option<u64> {
        self.table(Section::Interval).get(column, 0)
    }

    /// Puts a figure of the interval.
    ///
    /// # Panics
    /// If the column has signed numbers.
    pub fn set_figure(&mut self, column: Column, value: Option<u64>) {
        self.table_mut(Section::Interval).set(column, 0, value);
    }

    /// The number of a text, which is added if it is new. What is longer than [`MOST_TEXT_BYTES`](crate::frame::MOST_TEXT_BYTES) is cut.
    pub fn intern(&mut self, text: &[u8]) -> u64 {
        self.names.intern(&text[..text.len().min(crate::frame::MOST_TEXT_BYTES as usize)]).into()
    }

    /// The text of this number.
    pub fn text(&self, number: u64) -> Option<&[u8]> {
        self.names.get(number)
    }

    /// The text of a row.
    ///
    /// # Panics
    /// If there is no such row, or the column has no texts.
    pub fn text_of(&self, section: Section, column: Column, row: usize) -> Option<&[u8]> {
        assert!(column.kind() == Kind::Text, "{column:?} has no texts");
        self.text(self.table(section).get(column, row)?)
    }

    /// What [`Frame::pairs`] are made of, and [`Column::KNOWS_PAIRS`] of the interval.
    pub const PAIR_COLUMNS: [Column; 7] = pairs::COLUMNS;

    /// Which cgroup made which wait, as its rows tell.
    pub fn pairs(&self) -> WaitPairs {
        pairs::read(self.table(Section::Pairs))
    }

    /// Puts which cgroup made which wait in the place of these rows.
    pub fn set_pairs(&mut self, pairs: &WaitPairs) {
        pairs::write(self.table_mut(Section::Pairs), pairs);
    }

    /// What the rows of [`Frame::disks`] are made of, beside [`Column::KNOWS_DISKS`] of the interval.
    pub const DISK_COLUMNS: &'static [Column] = &disks::COLUMNS;

    /// What each disk did, as its rows tell: without how many requests took how long.
    pub fn disks(&self) -> Disks {
        disks::read(self.table(Section::Disks), &self.names)
    }

    /// Puts what each disk did in the place of these rows.
    pub fn set_disks(&mut self, disks: &Disks) {
        disks::write(&mut self.tables[Section::Disks.place()], &mut self.names, disks);
    }

    /// What each cgroup sent and received on the wire, as its rows tell.
    pub fn wire(&self) -> Wire {
        wire::read(self.table(Section::Wire), &self.names)
    }

    /// Puts what each cgroup sent and received on the wire in the place of these rows.
    pub fn set_wire(&mut self, wire: &Wire) {
        wire::write(&mut self.tables[Section::Wire.place()], &mut self.names, wire);
    }

    /// The length of the interval by CLOCK_MONOTONIC, where both ends are known.
    pub fn length_ns(&self) -> Option<u64> {
        self.figure(Column::END_NS)?.checked_sub(self.figure(Column::START_NS)?)
    }
}

impl fmt::Debug for Frame {
    /// Its sections that have rows.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sections = Section::ALL.into_iter().filter(|section| !self.table(*section).is_empty());
        formatter.debug_map().entries(sections.map(|section| (section, self.table(section)))).finish()
    }
}

impl PartialEq for Frame {
    /// Whether both tell the same: the numbers of texts do not count.
    fn eq(&self, other: &Frame) -> bool {
        Section::ALL.into_iter().all(|section| {
            let (own, others) = (self.table(section), other.table(section));
            own.len() == others.len()
                && Column::known().all(|column| {
                    (own.values(column).is_absent() && others.values(column).is_absent())
                        || (0..own.len()).all(|row| {
                            let (own, others) = (own.raw(column, row), others.raw(column, row));
                            if column.kind() == Kind::Text && own != ABSENT && others != ABSENT {
                                self.text(own) == other.text(others)
                            } else {
                                own == others
                            }
                        })
                })
        })
    }
}
