//! From links to frames, or to a sentence that says why they are none.
//!
//! Rows that are as predicted take no bytes, and what is compressed takes few. So a link says what it weighs, and the caller how much it may.

use std::ops::Range;

use crate::frame::column::{COLUMNS, Column, Kind};
use crate::frame::decode::Wanted;
use crate::frame::error::Error;
use crate::frame::layout::{MOST_RECORDS, MOST_SECTIONS};
use crate::frame::names::Names;
use crate::frame::sections::{Frame, Section};
use crate::frame::table::ABSENT;

use super::bits;
use super::link::{NEW, PLACES, take_id, take_number};
use super::memory::{Memory, NONE};
use super::needs::{Needs, Step};
use super::predict::{Rows, View};
use super::rules::remembered;
use super::whole::CodedColumn;

/// Reads links, one behind the other.
#[derive(Debug)]
pub struct ChainReader {
    wanted: Wanted,
    /// Of each section: the columns that are wanted, and those that they need.
    steps: [Vec<Step>; Section::ALL.len()],
    memories: [Memory; Section::ALL.len()],
    names: Names,
    rows: Rows,
    listed: Vec<Listed>,
    /// Where the columns of the section that is read are in `listed`.
    places: Places,
    /// The number in the frame of each text of the chain.
    numbers: Vec<u32>,
}

/// A column of a section that is not all as predicted.
#[derive(Debug, Clone, Copy)]
struct Listed {
    column: u16,
    rows: usize,
    /// Where its bytes begin, and its bits.
    codes: usize,
    bits: u64,
}

/// A section of a link.
#[derive(Debug, Clone)]
struct Entry {
    id: u8,
    rows: usize,
    /// Its columns that are listed.
    listed: Range<usize>,
}

/// Where the columns of a section are listed.
#[derive(Debug)]
struct Places {
    /// Of the places of the rows.
    rows: u32,
    columns: [u32; COLUMNS],
}

impl Default for Places {
    fn default() -> Places {
        Places { rows: NONE, columns: [NONE; COLUMNS] }
    }
}

impl Places {
    /// Notes where a column is listed, unless this version does not know it.
    fn set(&mut self, id: u16, place: u32) {
        if id == PLACES {
            self.rows = place;
        } else if let Some(column) = Column::by_id(id) {
            self.columns[column.index()] = place;
        }
    }
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

fn no_values(section: Section, column: Column) -> Error {
    Error::with(format_args!("section {} has no {}", section.id(), column.name()))
}

impl ChainReader {
    /// For a chain of which that much is wanted.
    pub fn new(wanted: &Wanted) -> ChainReader {
        ChainReader {
            wanted: wanted.clone(),
            steps: Needs::of(wanted).steps(wanted),
            memories: Default::default(),
            names: Names::default(),
            rows: Rows::default(),
            listed: Vec::new(),
            places: Places::default(),
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

    /// The frame of the next link, which weighs at most that much. After an error the frame is as [`Frame::new`], and the chain is to be
    /// read from its begin.
    ///
    /// # Errors
    /// When the bytes are no link behind the one before, or weigh more.
    pub fn read(
        &mut self,
        plain: &[u8],
        dense: &[u8],
        most_weight: u64,
        frame: &mut Frame,
    ) -> Result<(), Error> {
        frame.clear();
        let read = self.read_all(plain, dense, most_weight, frame);
        if read.is_err() {
            frame.clear();
        }
        read
    }

    fn read_all(
        &mut self,
        plain: &[u8],
        dense: &[u8],
        most_weight: u64,
        frame: &mut Frame,
    ) -> Result<(), Error> {
        let parts = self.take_apart(plain, dense, most_weight)?;
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
            if !self.steps[section.place()].is_empty() {
                self.list(&entry.listed);
                let read = self.read_section(frame, section, entry.rows, &parts);
                self.unlist(&entry.listed);
                read?;
            }
        }
        if !has_interval {
            return Err(Error::new("the interval has not one record"));
        }
        self.keep_wanted(frame)
    }

    fn take_apart<'a>(
        &mut self,
        plain: &'a [u8],
        dense: &'a [u8],
        most_weight: u64,
    ) -> Result<Parts<'a>, Error> {
        let mut rest = plain;
        let head = take_number(&mut rest).ok_or_else(short)?;
        let head = usize::try_from(head).ok().and_then(|head| rest.split_at_checked(head));
        let (mut head, codes) = head.ok_or_else(short)?;
        let sections = take_number(&mut head).filter(|sections| *sections <= MOST_SECTIONS.into());
        let mut entries = Vec::new();
        self.listed.clear();
        let (mut code, mut bit, mut weight) = (0, 0, 0);
        for _ in 0..sections.ok_or_else(short)? {
            let (id, behind) = head.split_first().ok_or_else(short)?;
            head = behind;
            let most = Section::by_id((*id).into()).map_or(MOST_RECORDS, Section::most_records);
            let rows = take_number(&mut head).ok_or_else(short)?;
            if rows > most.into() {
                return Err(Error::with(format_args!("section {id} has more than {most} rows")));
            }
            let rows = rows as usize;
            let (columns, behind) = head.split_first().ok_or_else(short)?;
            head = behind;
            let first = self.listed.len();
            weight += rows as u64;
            for _ in 0..*columns {
                let column = take_id(&mut head).ok_or_else(short)?;
                let own = codes.get(code..code + rows).ok_or_else(short)?;
                self.listed.push(Listed { column, rows, codes: code, bits: bit });
                if column == PLACES {
                    let new = own.iter().filter(|code| **code == bits::NOTHING).count();
                    weight += (NEW - 1) * new as u64;
                }
                bit += bits::all_behind(own);
                code += rows;
            }
            entries.push(Entry { id: *id, rows, listed: first..self.listed.len() });
        }
        if bit.div_ceil(8) > dense.len() as u64 {
            return Err(short());
        }
        let texts = take_number(&mut head).ok_or_else(short)?;
        if weight.saturating_add(NEW.saturating_mul(texts)) > most_weight {
            return Err(Error::new("the link tells of more rows and texts than its length allows"));
        }
        for _ in 0..texts {
            let (length, behind) = head.split_first().ok_or_else(short)?;
            let (text, behind) = behind.split_at_checked((*length).into()).ok_or_else(short)?;
            self.names.push(text);
            head = behind;
        }
        Ok(Parts { entries, codes, dense })
    }

    /// The columns of a section can be found. Of one that is listed twice it is the first.
    fn list(&mut self, own: &Range<usize>) {
        for (place, listed) in own.clone().zip(&self.listed[own.clone()]).rev() {
            self.places.set(listed.column, place as u32);
        }
    }

    fn unlist(&mut self, own: &Range<usize>) {
        self.listed[own.clone()].iter().for_each(|listed| self.places.set(listed.column, NONE));
    }

    /// The bytes and bits of a column; `None`: it is as predicted.
    fn coded<'a>(&self, place: u32, parts: &Parts<'a>) -> Option<CodedColumn<'a>> {
        let listed = self.listed.get(place as usize)?;
        let codes = &parts.codes[listed.codes..listed.codes + listed.rows];
        Some(CodedColumn { codes, bits: bits::Reader::new(parts.dense, listed.bits) })
    }

    fn read_section(
        &mut self,
        frame: &mut Frame,
        section: Section,
        count: usize,
        parts: &Parts<'_>,
    ) -> Result<(), Error> {
        let mut rows = std::mem::take(&mut self.rows);
        self.read_places(section, count, parts, &mut rows.memory)?;
        rows.begin();
        frame.table_mut(section).reset(count);
        let mut is_classified = false;
        for Step { rule, is_id, .. } in &self.steps[section.place()] {
            if !is_id && !std::mem::replace(&mut is_classified, true) {
                rows.classify(frame, section);
            }
            let mut values = std::mem::take(frame.table_mut(section).values_mut(rule.column));
            let memory = &self.memories[remembered(section).place()];
            let view = View { frame, section, memory, rows: &rows, texts: None };
            let coded = self.coded(self.places.columns[rule.column.index()], parts);
            if view.read_column(rule, coded, &mut values).is_none() {
                return Err(no_values(section, rule.column));
            }
            *frame.table_mut(section).values_mut(rule.column) = values;
        }
        if section != Section::Exited {
            let memory = &mut self.memories[section.place()];
            memory.extend(&mut rows.memory);
            for Step { rule, .. } in self.steps[section.place()].iter().filter(|step| step.rule.is_remembered)
            {
                memory.learn(rule.column, &rows.memory, frame.table(section).values(rule.column));
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
        let Some(CodedColumn { codes, bits: mut reader }) = self.coded(self.places.rows, parts) else {
            places.extend(0..count as u32);
            return if count <= known { Ok(()) } else { Err(outside()) };
        };
        // As this version writes the dead.
        if codes.iter().fold(true, |all, code| all & (*code == bits::NOTHING)) {
            places.resize(count, NONE);
            return Ok(());
        }
        let mut next = 0_u64;
        for code in codes {
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

    /// Leaves out what was needed only for the rest, and gives texts the numbers of the frame.
    fn keep_wanted(&mut self, frame: &mut Frame) -> Result<(), Error> {
        self.numbers.clear();
        self.numbers.resize(self.names.len(), NONE);
        for section in Section::ALL {
            let table = frame.table_mut(section);
            if !self.wanted.has_section(section) {
                table.reset(0);
                continue;
            }
            if table.is_empty() {
                continue;
            }
            for Step { rule, is_wanted, .. } in &self.steps[section.place()] {
                let column = rule.column;
                if !is_wanted {
                    frame.table_mut(section).values_mut(column).clear();
                } else if column.kind() == Kind::Text {
                    let mut each = std::mem::take(&mut frame.table_mut(section).values_mut(column).each);
                    // Rows that follow each other often have the same text.
                    let (mut last, mut number) = (ABSENT, ABSENT);
                    for value in &mut each {
                        if *value != last {
                            last = *value;
                            number = if last == ABSENT {
                                ABSENT
                            } else {
                                let at = usize::try_from(last).unwrap_or(usize::MAX);
                                let own = self.numbers.get_mut(at);
                                let own = own.ok_or_else(|| no_values(section, column))?;
                                if *own == NONE {
                                    *own = frame.names.push(self.names.get(last).ok_or_else(short)?);
                                }
                                u64::from(*own)
                            };
                        }
                        *value = number;
                    }
                    frame.table_mut(section).values_mut(column).each = each;
                }
                // As of a frame that stands alone.
                frame.table_mut(section).values_mut(column).merge_equal();
            }
        }
        Ok(())
    }
}
