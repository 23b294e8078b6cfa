//! Which columns are to be read, so that what is wanted can be predicted.

use crate::frame::column::{COLUMNS, Column};
use crate::frame::decode::Wanted;
use crate::frame::sections::Section;

use super::link::IDS;
use super::rules::{Part, Rule, remembered, rule_of, rules};

/// By section and column.
#[derive(Debug, Clone)]
pub(super) struct Needs([[bool; COLUMNS]; Section::ALL.len()]);

impl Needs {
    /// What is wanted, and what that needs.
    pub(super) fn of(wanted: &Wanted) -> Needs {
        let mut needs = Needs([[false; COLUMNS]; Section::ALL.len()]);
        for section in Section::ALL.into_iter().filter(|section| wanted.has_section(*section)) {
            for column in Column::known().filter(|column| wanted.has(section, *column)) {
                needs.add(section, column);
            }
            // They say what a row is predicted by.
            needs.add(section, Column::PID);
            needs.add(section, Column::TID);
        }
        if wanted.has_section(Section::Tasks) {
            needs.add(Section::Processes, Column::PID);
            needs.add(Section::Processes, Column::THREADS);
        }
        needs
    }

    fn add(&mut self, section: Section, column: Column) {
        if std::mem::replace(&mut self.0[section.place()][column.index()], true) {
            return;
        }
        for term in rule_of(section, column).sums.iter().flatten() {
            match term.part {
                Part::Memory(column) => self.add(remembered(section), column),
                Part::Before(column) | Part::Own(column) => self.add(section, column),
                Part::Owner(column) => self.add(Section::Processes, column),
                Part::Figure(column) => self.add(Section::Interval, column),
                Part::Lengths(column) => {
                    self.add(section, column);
                    self.add_length();
                }
                Part::Length => self.add_length(),
            }
        }
    }

    fn add_length(&mut self) {
        self.add(Section::Interval, Column::START_NS);
        self.add(Section::Interval, Column::END_NS);
    }

    /// The columns to be read of each section, in the order of their rules.
    pub(super) fn steps(&self, wanted: &Wanted) -> [Vec<Step>; Section::ALL.len()] {
        Section::ALL.map(|section| {
            let needed = rules(section)
                .iter()
                .enumerate()
                .filter(|(_, rule)| self.0[section.place()][rule.column.index()]);
            let step = |(number, rule): (usize, &'static Rule)| Step {
                rule,
                is_id: number < IDS,
                is_wanted: wanted.has(section, rule.column),
            };
            needed.map(step).collect()
        })
    }
}

/// A column that is read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    pub(super) rule: &'static Rule,
    /// Whether it says which task a row is of.
    pub(super) is_id: bool,
    /// Whether it is wanted itself, and not only for others.
    pub(super) is_wanted: bool,
}
