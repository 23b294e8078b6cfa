//! From links to frames, or to a sentence that says why they are none.
//!
//! A row is told by a byte at least, or is one of an earlier link. So memory is at most a fixed multiple of the bytes of a chain.

use crate::column::{Column, Kind};
use crate::decode::Wanted;
use crate::error::Error;
use crate::frame::{Frame, Section};
use crate::layout::{MOST_RECORDS, MOST_SECTIONS};
use crate::names::Names;
use crate::table::ABSENT;

use super::bits;
use super::link::{IDS, PLACES, take_number};
use super::memory::{Memory, NONE};
use super::needs::Needs;
use super::predict::{Predictions, Rows, View};
use super::rules::{Rule, remembered, rules};

/// Reads links, one behind the other.
#[derive(Debug)]
pub struct ChainReader {
    wanted: Wanted,
    needs: Needs,
    memories: [Memory; Section::ALL.len()],
    names: Names,
    rows: Rows,
    listed: Vec<Listed>,
    /// The number in the frame of each text of the chain.
    numbers: Vec<u32>,
}

/// A column of a section that is not all as predicted.
#[derive(Debug, Clone, Copy)]
struct Listed {
    section: u8,
    column: u8,
    rows: usize,
    /// Where its bytes begin, and its bits.
    codes: usize,
    bits: u64,
}

/// A section of a link.
#[derive(Debug, Clone, Copy)]
struct Entry {
    id: u8,
    rows: usize,
}

/// A link, taken apart.
struct Parts<'a> {
    entries: Vec<Entry>,
    codes: &'a [u8],
    dense: &'a [u8],
}

fn short() -> Error {
    Error::new("the link ends before its end")
}

impl ChainReader {
    /// For a chain of which that much is wanted.
    pub fn new(wanted: &Wanted) -> ChainReader {
        ChainReader {
            wanted: wanted.clone(),
            needs: Needs::of(wanted),
            memories: Default::default(),
            names: Names::default(),
            rows: Rows::default(),
            listed: Vec::new(),
            numbers: Vec::new(),
        }
    }

    /// What is wanted.
    pub fn wanted(&self) -> &Wanted {
        &self.wanted
    }

    /// The next link is one that stands alone.
    pub fn restart(&mut self) {
        self.memories.iter_mut().for_each(Memory::clear);
        self.names.clear();
    }

    /// The frame of the next link. After an error the frame is as [`Frame::new`], and the chain is to be read from its begin.
    ///
    /// # Errors
    /// When the bytes are no link behind the one before.
    pub fn read(&mut self, plain: &[u8], dense: &[u8], frame: &mut Frame) -> Result<(), Error> {
        frame.clear();
        let read = self.read_all(plain, dense, frame);
        if read.is_err() {
            frame.clear();
        }
        read
    }

    fn read_all(&mut self, plain: &[u8], dense: &[u8], frame: &mut Frame) -> Result<(), Error> {
        let parts = self.take_apart(plain, dense)?;
        // A section is told by those before it.
        let order = parts.entries.iter().map(|entry| entry.id);
        if !order.is_sorted_by(|earlier, later| earlier < later) {
            return Err(Error::new("the sections are not in their order"));
        }
        let mut has_interval = false;
        for entry in &parts.entries {
            let Some(section) = Section::by_id(entry.id.into()) else { continue };
            has_interval |= section == Section::Interval && entry.rows == 1;
            if !has_interval {
                return Err(Error::new("the interval has not one record"));
            }
            if self.needs.has_section(section) {
                self.read_section(frame, section, *entry, &parts)?;
            }
        }
        if !has_interval {
            return Err(Error::new("the interval has not one record"));
        }
        self.keep_wanted(frame)
    }

    fn take_apart<'a>(&mut self, plain: &'a [u8], dense: &'a [u8]) -> Result<Parts<'a>, Error> {
        let mut rest = plain;
        let head = take_number(&mut rest).ok_or_else(short)?;
        let head = usize::try_from(head).ok().and_then(|head| rest.split_at_checked(head));
        let (mut head, codes) = head.ok_or_else(short)?;
        let sections = take_number(&mut head).filter(|sections| *sections <= MOST_SECTIONS.into());
        let mut entries = Vec::new();
        self.listed.clear();
        let (mut code, mut bit) = (0, 0);
        for _ in 0..sections.ok_or_else(short)? {
            let (id, behind) = head.split_first().ok_or_else(short)?;
            head = behind;
            let rows = take_number(&mut head).filter(|rows| *rows <= MOST_RECORDS.into());
            let rows = rows.ok_or_else(short)? as usize;
            let (columns, behind) = head.split_first().ok_or_else(short)?;
            let (columns, behind) = behind.split_at_checked((*columns).into()).ok_or_else(short)?;
            head = behind;
            for column in columns {
                let own = codes.get(code..code + rows).ok_or_else(short)?;
                self.listed.push(Listed { section: *id, column: *column, rows, codes: code, bits: bit });
                bit += u64::from(own.iter().map(|code| bits::behind(*code)).sum::<u32>());
                code += rows;
            }
            entries.push(Entry { id: *id, rows });
        }
        if bit.div_ceil(8) > dense.len() as u64 {
            return Err(short());
        }
        for _ in 0..take_number(&mut head).ok_or_else(short)? {
            let (length, behind) = head.split_first().ok_or_else(short)?;
            let (text, behind) = behind.split_at_checked((*length).into()).ok_or_else(short)?;
            self.names.push(text);
            head = behind;
        }
        Ok(Parts { entries, codes, dense })
    }

    /// The bytes and bits of a column; `None`: it is as predicted.
    fn find(&self, section: Section, column: u8) -> Option<Listed> {
        let is_it = |listed: &&Listed| u16::from(listed.section) == section.id() && listed.column == column;
        self.listed.iter().find(is_it).copied()
    }

    fn read_section(
        &mut self,
        frame: &mut Frame,
        section: Section,
        entry: Entry,
        parts: &Parts<'_>,
    ) -> Result<(), Error> {
        let mut rows = std::mem::take(&mut self.rows);
        self.read_places(section, entry.rows, parts, &mut rows.memory)?;
        rows.begin();
        frame.table_mut(section).reset(entry.rows);
        for (number, rule) in rules(section).iter().enumerate() {
            if number == IDS {
                rows.classify(frame, section);
            }
            if !self.needs.has(section, rule.column) {
                continue;
            }
            let each = std::mem::take(&mut frame.table_mut(section).values_mut(rule.column).each);
            let each = self.read_column(frame, section, rule, &rows, parts, each)?;
            frame.table_mut(section).values_mut(rule.column).each = each;
        }
        if section != Section::Exited {
            let memory = &mut self.memories[section.place()];
            memory.extend(&mut rows.memory);
            for rule in rules(section).iter().filter(|rule| rule.is_remembered) {
                if self.needs.has(section, rule.column) {
                    memory.learn(rule.column, &rows.memory, frame.table(section).values(rule.column));
                }
            }
        }
        self.rows = rows;
        Ok(())
    }

    fn read_places(
        &self,
        section: Section,
        count: usize,
        parts: &Parts<'_>,
        places: &mut Vec<u32>,
    ) -> Result<(), Error> {
        let known = self.memories[remembered(section).place()].rows;
        places.clear();
        let outside = || Error::with(format_args!("section {} has a row of no earlier link", section.id()));
        let Some(listed) = self.find(section, PLACES) else {
            places.extend(0..count as u32);
            return if count <= known { Ok(()) } else { Err(outside()) };
        };
        let mut reader = bits::Reader::new(parts.dense, listed.bits);
        let mut next = 0_u64;
        for code in &parts.codes[listed.codes..listed.codes + listed.rows] {
            let place = match *code {
                bits::EQUAL => next,
                bits::NOTHING => {
                    places.push(NONE);
                    continue;
                }
                code => next.wrapping_add(reader.difference(code).ok_or_else(short)?),
            };
            if place >= known as u64 {
                return Err(outside());
            }
            places.push(place as u32);
            next = place + 1;
        }
        Ok(())
    }

    /// The values, or none where all are absent.
    fn read_column(
        &self,
        frame: &Frame,
        section: Section,
        rule: &Rule,
        rows: &Rows,
        parts: &Parts<'_>,
        mut each: Vec<u64>,
    ) -> Result<Vec<u64>, Error> {
        let memory = &self.memories[remembered(section).place()];
        let mut predictions = View { frame, section, memory, rows, texts: None }.predictions(rule);
        each.clear();
        let count = rows.memory.len();
        let is_told = match self.find(section, rule.column.id() as u8) {
            None if predictions.are_absent() => true,
            None => {
                let mut last = ABSENT;
                each.extend((0..count).map(|row| {
                    last = predictions.of(row, last);
                    last
                }));
                true
            }
            Some(listed) => {
                predictions.zero = predictions.base;
                let codes = &parts.codes[listed.codes..listed.codes + listed.rows];
                read_values(&predictions, codes, bits::Reader::new(parts.dense, listed.bits), &mut each)
            }
        };
        let is_text = |value: &u64| *value == ABSENT || *value < self.names.len() as u64;
        if is_told && (rule.column.kind() != Kind::Text || each.iter().all(is_text)) {
            Ok(each)
        } else {
            Err(Error::with(format_args!("section {} has no {}", section.id(), rule.column.name())))
        }
    }

    /// Leaves out what was needed only for the rest, and gives texts the numbers of the frame.
    fn keep_wanted(&mut self, frame: &mut Frame) -> Result<(), Error> {
        self.numbers.clear();
        self.numbers.resize(self.names.len(), NONE);
        for section in Section::ALL {
            if !self.wanted.has_section(section) {
                frame.table_mut(section).reset(0);
                continue;
            }
            for column in Column::known().filter(|column| self.needs.has(section, *column)) {
                let mut each = std::mem::take(&mut frame.table_mut(section).values_mut(column).each);
                if !self.wanted.has(section, column) {
                    each.clear();
                } else if column.kind() == Kind::Text {
                    for value in each.iter_mut().filter(|value| **value != ABSENT) {
                        let own = &mut self.numbers[*value as usize];
                        if *own == NONE {
                            *own = frame.names.push(self.names.get(*value).ok_or_else(short)?);
                        }
                        *value = u64::from(*own);
                    }
                }
                frame.table_mut(section).values_mut(column).each = each;
            }
        }
        Ok(())
    }
}

/// Whether all are values.
fn read_values(
    predictions: &Predictions<'_>,
    codes: &[u8],
    mut reader: bits::Reader<'_>,
    each: &mut Vec<u64>,
) -> bool {
    let constant = predictions.constant();
    let mut last = ABSENT;
    for (row, code) in codes.iter().enumerate() {
        last = match *code {
            bits::NOTHING => ABSENT,
            code => {
                let predicted = constant.unwrap_or_else(|| predictions.of(row, last));
                if code == bits::EQUAL {
                    predicted
                } else {
                    let from = if predicted == ABSENT { predictions.base } else { predicted };
                    let Some(difference) = reader.difference(code) else { return false };
                    let value = from.wrapping_add(difference);
                    if value == ABSENT {
                        return false;
                    }
                    value
                }
            }
        };
        each.push(last);
    }
    true
}
