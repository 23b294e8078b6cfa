//! From frames to links.

use std::collections::HashMap;

use crate::frame::bounds::check_rows;
use crate::frame::column::{Column, Kind};
use crate::frame::error::Error;
use crate::frame::names::Names;
use crate::frame::sections::{Frame, Section};
use crate::frame::table::{ABSENT, Values};

use super::bits;
use super::link::{IDS, Link, NEW, PLACES, put_id, put_number};
use super::memory::{Memory, NONE};
use super::predict::{Rows, Texts, View};
use super::rules::{remembered, rules};

/// Makes links of frames, one after the other.
#[derive(Debug, Default)]
pub struct ChainWriter {
    memories: [Memory; Section::ALL.len()],
    /// The places of the rows in memory, by tid and start.
    places: [HashMap<(u64, u64), u32>; Section::ALL.len()],
    names: Names,
    rows: Rows,
    /// Whether the dead have the places of their processes, as earlier writers gave them.
    #[cfg(test)]
    places_dead: bool,
}

/// What is written of a frame, in parts.
#[derive(Default)]
struct Parts {
    head: Vec<u8>,
    codes: Vec<u8>,
    bits: bits::Writer,
    weight: u64,
}

impl ChainWriter {
    /// The next link stands alone.
    pub fn restart(&mut self) {
        self.memories.iter_mut().for_each(Memory::clear);
        self.places.iter_mut().for_each(HashMap::clear);
        self.names.clear();
    }

    /// Adds a frame to the chain.
    ///
    /// # Errors
    /// When a section has more rows than it may. Then the chain is to be started anew.
    pub fn write(&mut self, frame: &Frame, link: &mut Link) -> Result<(), Error> {
        link.plain.clear();
        link.dense.clear();
        let mut parts = Parts::default();
        let known = self.names.len();
        let texts = self.texts(frame);
        let sections = Section::ALL.into_iter().filter(|section| !frame.table(*section).is_empty());
        put_number(&mut parts.head, sections.clone().count() as u64);
        for section in sections {
            check_rows(section, frame.table(section))?;
            self.write_section(frame, section, &texts, &mut parts, &mut link.dense);
        }
        parts.bits.end(&mut link.dense);
        let texts = (self.names.len() - known) as u64;
        put_number(&mut parts.head, texts);
        link.weight = parts.weight + NEW * texts;
        for number in known..self.names.len() {
            let text = self.names.get(number as u64).unwrap_or_default();
            parts.head.push(text.len() as u8);
            parts.head.extend_from_slice(text);
        }
        put_number(&mut link.plain, parts.head.len() as u64);
        link.plain.append(&mut parts.head);
        link.plain.append(&mut parts.codes);
        Ok(())
    }

    /// The columns of texts, by the numbers of the chain.
    fn texts(&mut self, frame: &Frame) -> Texts {
        Section::ALL.map(|section| {
            let table = frame.table(section);
            if table.is_empty() {
                return Vec::new();
            }
            let columns = Column::known().filter(|column| column.kind() == Kind::Text && table.has(*column));
            let mut number = |row, column| match frame.text_of(section, column, row) {
                Some(text) => self.names.intern(text).into(),
                None => ABSENT,
            };
            columns
                .map(|column| (column, (0..table.len()).map(|row| number(row, column)).collect()))
                .collect()
        })
    }

    fn write_section(
        &mut self,
        frame: &Frame,
        section: Section,
        texts: &Texts,
        parts: &mut Parts,
        dense: &mut Vec<u8>,
    ) {
        let memory = remembered(section).place();
        let count = frame.table(section).len();
        let mut rows = std::mem::take(&mut self.rows);
        rows.memory.clear();
        let places = Some(&self.places[memory]).filter(|_| self.has_places(section));
        let place = |row| places?.get(&key(frame, section, row)).copied();
        rows.memory.extend((0..count).map(|row| place(row).unwrap_or(NONE)));
        rows.begin();
        parts.head.push(section.id() as u8);
        put_number(&mut parts.head, count as u64);
        let new = rows.memory.iter().filter(|place| **place == NONE).count();
        parts.weight += count as u64 + (NEW - 1) * new as u64;
        let mut listed = write_places(&rows, parts, dense);
        let mut count_listed = listed.len();
        for (number, rule) in rules(section).iter().enumerate() {
            if number == IDS {
                rows.classify(frame, section);
            }
            let memory = &self.memories[memory];
            let view = View { frame, section, memory, rows: &rows, texts: Some(texts) };
            if view.is_nothing(rule) {
                continue;
            }
            let mut predictions = view.predictions(rule);
            let values = view.values(rule.column);
            let value = |row: usize| values.map_or_else(|constant| constant, |each| each[row]);
            let before = |row: usize| row.checked_sub(1).map_or(ABSENT, value);
            if (0..count).all(|row| predictions.of(row, before(row)) == value(row)) {
                continue;
            }
            put_id(&mut listed, rule.column.id());
            count_listed += 1;
            predictions.zero = predictions.base;
            for row in 0..count {
                let predicted = predictions.of(row, before(row));
                parts.put(value(row), predicted, predictions.base, dense);
            }
        }
        parts.head.push(count_listed as u8);
        parts.head.append(&mut listed);
        if section != Section::Exited {
            self.learn(frame, section, texts, &mut rows);
        }
        self.rows = rows;
    }

    /// Whether rows of the section go on with earlier ones. A row of the dead is written as new: it has a fifth of the columns that its
    /// process had, and would have to deny each of the others.
    fn has_places(&self, section: Section) -> bool {
        #[cfg(test)]
        if self.places_dead {
            return true;
        }
        section != Section::Exited
    }

    fn learn(&mut self, frame: &Frame, section: Section, texts: &Texts, rows: &mut Rows) {
        let memory = &mut self.memories[section.place()];
        let mut next = memory.rows as u32;
        for (row, place) in rows.memory.iter().enumerate() {
            if *place == NONE {
                self.places[section.place()].insert(key(frame, section, row), next);
                next += 1;
            }
        }
        memory.extend(&mut rows.memory);
        for rule in rules(section).iter().filter(|rule| rule.is_remembered) {
            let own = texts[section.place()].iter().find(|(column, _)| *column == rule.column);
            match own {
                Some((_, each)) => {
                    let values = Values { constant: ABSENT, each: each.clone() };
                    memory.learn(rule.column, &rows.memory, &values);
                }
                None => {
                    memory.learn(rule.column, &rows.memory, frame.table(section).values(rule.column));
                }
            }
        }
    }
}

impl Parts {
    fn put(&mut self, value: u64, predicted: u64, base: u64, dense: &mut Vec<u8>) {
        if value == predicted {
            self.codes.push(bits::EQUAL);
        } else if value == ABSENT {
            self.codes.push(bits::NOTHING);
        } else {
            let from = if predicted == ABSENT { base } else { predicted };
            let (code, rest, count) = bits::coded(value.wrapping_sub(from));
            self.codes.push(code);
            self.bits.put(dense, rest, count);
        }
    }
}

/// Where the rows are in memory: behind each other, unless it is listed.
fn write_places(rows: &Rows, parts: &mut Parts, dense: &mut Vec<u8>) -> Vec<u8> {
    let mut next = 0;
    if rows.memory.iter().zip(0..).all(|(place, row)| *place == row) {
        return Vec::new();
    }
    for place in &rows.memory {
        let value = if *place == NONE { ABSENT } else { u64::from(*place) };
        parts.put(value, next, 0, dense);
        if *place != NONE {
            next = value + 1;
        }
    }
    vec![PLACES as u8]
}

/// What says which task, cgroup or disk a row is of; of others, the number of the row.
fn key(frame: &Frame, section: Section, row: usize) -> (u64, u64) {
    let table = frame.table(section);
    if matches!(section, Section::Cgroups | Section::Wire) {
        return (table.raw(Column::CGROUP_ID, row), table.raw(Column::CGROUP_V1_CPU_ID, row));
    }
    if section == Section::Disks {
        let [major, minor, part] =
            [Column::DISK_MAJOR, Column::DISK_MINOR, Column::DISK_PART].map(|column| table.raw(column, row));
        return (major.rotate_left(32) ^ minor, part);
    }
    match table.raw(Column::TID, row) {
        ABSENT => (row as u64, ABSENT),
        tid => (tid, table.raw(Column::START_TIME_NS, row)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::chain::read::ChainReader;
    use crate::frame::decode::Wanted;

    /// A process and two threads of another, which die in the next interval together with what began in it.
    fn frames() -> [Frame; 2] {
        let [mut before, mut after] = [Frame::new(), Frame::new()];
        for (frame, section, tids) in [
            (&mut before, Section::Processes, &[10_u64, 20, 30][..]),
            (&mut after, Section::Exited, &[10, 40, 41, 21, 20, 42]),
        ] {
            let comm = frame.intern(b"make");
            let table = frame.table_mut(section);
            table.reset(tids.len());
            for (row, &tid) in tids.iter().enumerate() {
                let pid = if tid == 21 { 20 } else { tid };
                table.set_signed(Column::TID, row, Some(tid.cast_signed()));
                table.set_signed(Column::PID, row, Some(pid.cast_signed()));
                table.set(Column::COMM, row, Some(comm));
                for (column, value) in [
                    (Column::START_TIME_NS, pid * 100),
                    (Column::CPU_NS, 7 * tid % 50),
                    (Column::WAITING_NS, tid % 3),
                    (Column::STOPPED_NS, 0),
                ] {
                    table.set(column, row, Some(value));
                }
                if section == Section::Processes {
                    table.set(Column::THREADS, row, Some(tid / 10));
                    for column in
                        [Column::RSS_BYTES, Column::VSIZE_BYTES, Column::SHARED_BYTES, Column::SWAP_BYTES]
                    {
                        table.set(column, row, Some(tid << 20));
                    }
                } else {
                    table.set(Column::LIFETIME_NS, row, Some(9_000 - pid * 100));
                    table.set(Column::ENDS_PROCESS, row, Some(u64::from(tid != 21)));
                }
            }
        }
        [before, after]
    }

    /// Links of this chain, each read as it was written.
    fn read(places_dead: bool) -> [Link; 2] {
        let (mut writer, mut reader) =
            (ChainWriter { places_dead, ..ChainWriter::default() }, ChainReader::new(&Wanted::ALL));
        frames().map(|frame| {
            let (mut link, mut into) = (Link::default(), Frame::new());
            writer.write(&frame, &mut link).expect("it is short");
            reader.read(&link.plain, &link.dense, link.weight, &mut into).expect("it is a link");
            assert!(into == frame, "{into:?}");
            link
        })
    }

    #[test]
    fn the_dead_are_read_with_places_and_without() {
        let [placed, new] = [true, false].map(|places_dead| read(places_dead)[1].clone());
        assert_ne!(placed, new, "a row of each kind");
        assert!(new.plain.len() < placed.plain.len(), "{} and {}", new.plain.len(), placed.plain.len());
    }
}
