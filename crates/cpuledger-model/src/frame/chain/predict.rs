//! What is predicted, by the rules, of the rows of a section.

use crate::frame::column::{Column, Kind};
use crate::frame::owners::Owners;
use crate::frame::sections::{Frame, Section};
use crate::frame::table::{ABSENT, raw_of_signed};

use super::memory::{Memory, NONE};
use super::rules::{CLASSES, Class, MOST_TERMS, Part, Rule, Term};

/// Values of text columns by the numbers of the chain, where the frame has others.
pub(super) type Texts = [Vec<(Column, Vec<u64>)>; Section::ALL.len()];

/// The rows of a section: where each is in memory, what is its process, and what it is.
#[derive(Debug, Default)]
pub(super) struct Rows {
    pub(super) memory: Vec<u32>,
    pub(super) owners: Vec<u32>,
    pub(super) classes: Vec<u8>,
    /// Rows behind each other that have the same class.
    pub(super) runs: Vec<Run>,
}

/// Rows of one class, up to that one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run {
    pub(super) class: u8,
    pub(super) end: u32,
}

impl Rows {
    /// As far as the places in memory tell.
    pub(super) fn begin(&mut self) {
        self.owners.clear();
        self.classes.clear();
        let class = |place: &u32| if *place == NONE { Class::New } else { Class::Known } as u8;
        self.classes.extend(self.memory.iter().map(class));
        self.find_runs();
    }

    fn find_runs(&mut self) {
        let (runs, mut end) = (&mut self.runs, 0);
        runs.clear();
        // Mostly there is one.
        if let [class, others @ ..] = &*self.classes
            && *others == self.classes[..others.len()]
        {
            runs.push(Run { class: *class, end: self.classes.len() as u32 });
            return;
        }
        for same in self.classes.chunk_by(|one, other| one == other) {
            end += same.len() as u32;
            runs.push(Run { class: same[0], end });
        }
    }

    /// When the ids of the rows are known.
    pub(super) fn classify(&mut self, frame: &Frame, section: Section) {
        let table = frame.table(section);
        let [pids, tids] = [Column::PID, Column::TID].map(|column| table.values(column));
        let is_leader = |row| pids.raw(row) == tids.raw(row);
        match section {
            Section::Tasks => {
                let Some(owners) = Owners::of(frame) else { return };
                self.owners.extend(owners.rows().map(|owner| owner.map_or(NONE, |owner| owner as u32)));
                let processes = frame.table(Section::Processes);
                for (row, owner) in self.owners.iter().enumerate() {
                    if *owner != NONE
                        && is_leader(row)
                        && processes.raw(Column::THREADS, *owner as usize) == 1
                    {
                        self.classes[row] = Class::Sole as u8;
                    }
                }
            }
            // All are leaders.
            Section::Exited if pids.constant == tids.constant && pids.each == tids.each => return,
            Section::Exited => {
                for (row, class) in self.classes.iter_mut().enumerate() {
                    if *class == Class::New as u8 && !is_leader(row) {
                        *class = Class::Thread as u8;
                    }
                }
            }
            _ => return,
        }
        self.find_runs();
    }
}

/// What the value of a part is read from.
#[derive(Debug, Clone, Copy)]
pub(super) enum Operand<'a> {
    Constant(u64),
    Rows(&'a [u64]),
    /// The row before in another column.
    Before(&'a [u64]),
    /// The row before in this column.
    Last,
    Memory(&'a [u64]),
    Owner(&'a [u64]),
    Lengths(&'a [u64]),
}

#[derive(Debug, Clone, Copy)]
struct Sum<'a> {
    terms: [(bool, Operand<'a>); MOST_TERMS],
    length: usize,
}

/// The predictions of one column.
pub(super) struct Predictions<'a> {
    sums: [Sum<'a>; CLASSES],
    rows: &'a Rows,
    length_ns: u64,
    /// What a sum without terms is.
    pub(super) zero: u64,
    /// What a difference from nothing is told from.
    pub(super) base: u64,
}

/// What predictions are made of.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) frame: &'a Frame,
    pub(super) section: Section,
    pub(super) memory: &'a Memory,
    pub(super) rows: &'a Rows,
    pub(super) texts: Option<&'a Texts>,
}

impl<'a> View<'a> {
    /// The values of a column: one for each row, or that of all.
    fn values_of(&self, section: Section, column: Column) -> Result<&'a [u64], u64> {
        if let Some(texts) = self.texts
            && column.kind() == Kind::Text
            && let Some((_, each)) = texts[section.place()].iter().find(|(own, _)| *own == column)
        {
            return Ok(each);
        }
        let values = self.frame.table(section).values(column);
        if values.each.is_empty() { Err(values.constant) } else { Ok(&values.each) }
    }

    /// The values of a column of the section, by the numbers of the chain: one for each row, or that of all.
    pub(super) fn values(&self, column: Column) -> Result<&'a [u64], u64> {
        self.values_of(self.section, column)
    }

    /// Whether no row has a value, and none is predicted. Most columns of a frame are like this, so it is known without predictions.
    pub(super) fn is_nothing(&self, rule: &Rule) -> bool {
        let is_absent = |term: &Term| {
            matches!(self.operand(term.part, rule.column), Operand::Constant(ABSENT) | Operand::Last)
        };
        self.values(rule.column) == Err(ABSENT)
            && rule.sums.iter().all(|terms| terms.first().is_none_or(is_absent))
    }

    pub(super) fn operand(&self, part: Part, of: Column) -> Operand<'a> {
        let own = |column, made: fn(&'a [u64]) -> Operand<'a>| match self.values_of(self.section, column) {
            Ok(each) => made(each),
            Err(constant) => Operand::Constant(constant),
        };
        match part {
            Part::Memory(column) => match self.memory.column(column) {
                [] => Operand::Constant(ABSENT),
                each => Operand::Memory(each),
            },
            Part::Before(column) if column == of => Operand::Last,
            Part::Before(column) => own(column, Operand::Before),
            Part::Own(column) => own(column, Operand::Rows),
            Part::Owner(column) => match self.values_of(Section::Processes, column) {
                Ok(each) => Operand::Owner(each),
                Err(constant) => Operand::Constant(constant),
            },
            Part::Figure(column) => match self.values_of(Section::Interval, column) {
                Ok(each) => Operand::Constant(each.first().copied().unwrap_or(ABSENT)),
                Err(constant) => Operand::Constant(constant),
            },
            Part::Length => Operand::Constant(self.length_ns()),
            Part::Lengths(column) => match own(column, Operand::Lengths) {
                Operand::Constant(ABSENT) => Operand::Constant(self.length_ns()),
                Operand::Constant(times) => Operand::Constant(self.length_ns().wrapping_mul(times)),
                each => each,
            },
        }
    }

    pub(super) fn length_ns(&self) -> u64 {
        let [start, end] = [Column::START_NS, Column::END_NS].map(|column| {
            match self.values_of(Section::Interval, column) {
                Ok(each) => each.first().copied().unwrap_or(ABSENT),
                Err(constant) => constant,
            }
        });
        if start == ABSENT || end == ABSENT { ABSENT } else { end.wrapping_sub(start) }
    }

    pub(super) fn predictions(&self, rule: &Rule) -> Predictions<'a> {
        let nothing = Sum { terms: [(false, Operand::Constant(ABSENT)); MOST_TERMS], length: 0 };
        let mut sums = [nothing; CLASSES];
        for (class, terms) in rule.sums.iter().enumerate() {
            // Only tasks are told by their process.
            if class == Class::Sole as usize && self.rows.owners.is_empty() {
                continue;
            }
            sums[class].length = terms.len().min(MOST_TERMS);
            for (term, place) in terms.iter().zip(&mut sums[class].terms) {
                *place = (term.is_minus, self.operand(term.part, rule.column));
            }
        }
        let base = if rule.column.kind() == Kind::Signed { raw_of_signed(0) } else { 0 };
        Predictions { sums, rows: self.rows, length_ns: self.length_ns(), zero: ABSENT, base }
    }
}

impl Predictions<'_> {
    /// Of a row, if the one before has the value `last`.
    pub(super) fn of(&self, row: usize, last: u64) -> u64 {
        let sum = &self.sums[usize::from(self.rows.classes[row])];
        let mut total = 0_u64;
        for (number, (is_minus, operand)) in sum.terms[..sum.length].iter().enumerate() {
            let value = match operand {
                Operand::Constant(value) => *value,
                Operand::Rows(each) => each[row],
                Operand::Before(each) => row.checked_sub(1).map_or(ABSENT, |before| each[before]),
                Operand::Last => last,
                Operand::Memory(each) => at(each, self.rows.memory[row]),
                Operand::Owner(each) => at(each, self.rows.owners.get(row).copied().unwrap_or(NONE)),
                Operand::Lengths(each) => match each[row] {
                    ABSENT => self.length_ns,
                    times => self.length_ns.wrapping_mul(times),
                },
            };
            if value == ABSENT {
                if number == 0 {
                    return ABSENT;
                }
                continue;
            }
            total = if *is_minus { total.wrapping_sub(value) } else { total.wrapping_add(value) };
        }
        if sum.length == 0 { self.zero } else { total }
    }
}

pub(super) fn at(each: &[u64], place: u32) -> u64 {
    each.get(place as usize).copied().unwrap_or(ABSENT)
}
