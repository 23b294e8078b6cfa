//! What intervals add up to, as bytes: a report of a long span takes them, and reads none of the intervals.

use cpuledger_model::frame::{Frame, Section};
use serde::{Deserialize, Serialize};

use crate::amounts::{Amounts, Counted, Off};
use crate::balance::Balance;
use crate::dimension::Dimension;
use crate::disks::{DeviceSums, MOST_DISKS};
use crate::instants::Instants;
use crate::key::Key;

use super::Accumulator;

/// The names of one dimension beyond which there are no sums: each user can make many, and a writer keeps all.
const MOST_NAMES: usize = 4096;

/// What names may take, likewise.
const MOST_NAME_BYTES: usize = 1 << 20;

/// Adds up intervals for any report that [takes sums](Accumulator::takes_sums).
#[derive(Debug)]
pub struct Sums(Option<Accumulator>);

/// What is written, in this order.
#[derive(Serialize, Deserialize)]
struct Written {
    /// Those of the keys.
    texts: Vec<Vec<u8>>,
    /// By [`Dimension::OF_SERIES`].
    tables: Vec<Vec<(Key, Amounts)>>,
    balance: Balance,
    devices: DeviceSums,
    extent: Option<Instants>,
}

impl Written {
    /// Whether a writer may have written it of so many intervals.
    fn may_be_of(&self, intervals: usize) -> bool {
        let mut tables = Dimension::OF_SERIES.into_iter().zip(&self.tables);
        self.balance.intervals == intervals as u64
            && self.tables.len() == Dimension::OF_SERIES.len()
            && self.devices.disks.devices.len() <= MOST_DISKS + 1
            && tables.all(|(dimension, rows)| {
                rows.len() <= MOST_NAMES && rows.iter().all(|(key, _)| key.is_by(dimension))
            })
    }
}

impl Default for Sums {
    fn default() -> Sums {
        let all = Accumulator::new(&Dimension::OF_SERIES);
        Sums(Some(all.with_states().with_counters().with_devices()))
    }
}

impl Sums {
    /// The form and the meaning of the bytes: others have another number.
    pub const VERSION: u32 = 1;

    /// Adds an interval. Where there are too many names, all is forgotten.
    pub fn add(&mut self, frame: &Frame, when: Instants) {
        let Some(own) = &mut self.0 else { return };
        own.add(frame, when);
        if own.names.bytes() > MOST_NAME_BYTES
            || own.tables.iter().any(|(_, table)| table.lines.len() > MOST_NAMES)
        {
            self.0 = None;
        } else if frame.table(Section::Exited).len() > MOST_NAMES {
            // After a storm its memory is given back: a segment goes on for an hour.
            (own.deaths, own.groups) = Default::default();
        }
    }

    /// What [`Accumulator::add_sums`] adds; `None`: there were too many names.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        let own = self.0.as_ref()?;
        let tables = own
            .tables
            .iter()
            .map(|(_, table)| table.lines.iter().map(|(key, line)| (*key, line.tally.amounts())).collect());
        let written = Written {
            texts: own.names.texts().map(<[u8]>::to_vec).collect(),
            tables: tables.collect(),
            balance: own.balance,
            devices: own.devices.clone().unwrap_or_default(),
            extent: own.extent,
        };
        postcard::to_stdvec(&written).ok()
    }
}

impl Accumulator {
    /// Whether sums of intervals say what is asked: not if each process counts, or when it was, or a condition.
    pub fn takes_sums(&self) -> bool {
        self.lineage.is_none()
            && self.time_line.is_none()
            && !self.within.is_narrow()
            && self.tables.iter().all(|(dimension, _)| Dimension::OF_SERIES.contains(dimension))
    }

    /// Adds what [`Sums::bytes`] of so many intervals are, as if each interval were added. Returns whether it did: not if these bytes are none, or it
    /// [takes no sums](Accumulator::takes_sums).
    pub fn add_sums(&mut self, bytes: &[u8], intervals: usize) -> bool {
        if !self.takes_sums() {
            return false;
        }
        let sums = postcard::from_bytes::<Written>(bytes).ok().filter(|sums| sums.may_be_of(intervals));
        let Some(sums) = sums else { return false };
        let comms = self.names.intern_all(&sums.texts);
        for (dimension, rows) in Dimension::OF_SERIES.into_iter().zip(sums.tables) {
            let Some((_, table)) = self.tables.iter_mut().find(|(own, _)| *own == dimension) else {
                continue;
            };
            for (key, mut amounts) in rows {
                if !self.tells_off {
                    amounts.off = Off::default();
                }
                if !self.tells_counted {
                    amounts.counted = Counted::default();
                }
                table.add(key.renumbered(&comms), &amounts, None);
            }
        }
        self.balance.add(&sums.balance);
        self.devices.iter_mut().for_each(|own| own.add(&sums.devices));
        sums.extent.into_iter().for_each(|extent| self.extend(extent));
        self.forget_names(self.names.most_bytes());
        true
    }
}

#[cfg(test)]
mod tests {
    use cpuledger_model::frame::{Column, Kind};

    use crate::Condition;

    use super::*;

    const WHEN: Instants = Instants { start_realtime_ns: 1, end_realtime_ns: 2 };

    fn frame(nth: u64) -> Frame {
        let mut frame = Frame::new();
        let comm = frame.intern(format!("c{nth}").as_bytes());
        let table = frame.table_mut(Section::Processes);
        table.reset(1);
        table.set_signed(Column::PID, 0, Some(1));
        table.set(Column::COMM, 0, Some(comm));
        table.set(Column::CPU_NS, 0, Some(3));
        frame
    }

    #[test]
    fn what_needs_the_intervals_takes_no_sums() {
        let mut sums = Sums::default();
        sums.add(&frame(0), WHEN);
        let bytes = sums.bytes().expect("one name");
        let by = |dimension| Accumulator::new(&[Dimension::Command, dimension]);
        let condition: Condition = (Dimension::User, "0".to_owned());
        for mut other in [
            by(Dimension::Process),
            by(Dimension::Ancestor),
            by(Dimension::User).within(vec![condition]),
            by(Dimension::User).with_time_line(0, 9, 3),
        ] {
            assert!(!other.takes_sums() && !other.add_sums(&bytes, 1) && other.intervals() == 0);
        }
        let mut own = by(Dimension::User);
        assert!(!own.add_sums(&bytes, 2));
        assert!(own.takes_sums() && own.add_sums(&bytes, 1) && own.add_sums(&bytes, 1));
        assert_eq!((own.intervals(), own.report(Dimension::Command, 1).total().self_ns), (2, 6));
    }

    #[test]
    fn a_user_with_many_names_makes_reports_slow_and_no_writer_large() {
        let mut sums = Sums::default();
        for nth in 0..2 * MOST_NAMES as u64 {
            sums.add(&frame(nth), WHEN);
        }
        assert!(sums.0.is_none() && sums.bytes().is_none());
    }

    /// An interval in which each figure of a section is another one.
    fn full() -> Frame {
        let mut frame = Frame::new();
        for section in [Section::Interval, Section::Processes, Section::Cgroups] {
            frame.table_mut(section).reset(1);
            for (number, column) in (1_u64..).zip(Column::known()) {
                let number = number + 1_000 * u64::from(section.id());
                let value = match column.kind() {
                    Kind::Text => frame.intern(format!("text {number}").as_bytes()),
                    _ => number,
                };
                match column.kind() {
                    Kind::Signed => {
                        frame.table_mut(section).set_signed(column, 0, Some(number.cast_signed()))
                    }
                    _ => frame.table_mut(section).set(column, 0, Some(value)),
                }
            }
        }
        for column in [Column::CGROUP_ID, Column::CGROUP_V1_CPU_ID] {
            let of_process = frame.table(Section::Processes).get(column, 0);
            frame.table_mut(Section::Cgroups).set(column, 0, of_process);
        }
        frame
    }

    /// Another form, or the same with another meaning, has another number: [`Sums::VERSION`].
    #[test]
    fn the_form_is_that_of_its_version() {
        let mut sums = Sums::default();
        sums.add(&full(), WHEN);
        let bytes = sums.bytes().expect("few names");
        let checksum = bytes.iter().fold(0_u32, |sum, byte| sum.rotate_left(5) ^ u32::from(*byte));
        assert_eq!((Sums::VERSION, bytes.len(), checksum), (1, 812, 1_629_337_665));
    }

    #[test]
    fn any_bytes_are_sums_or_are_none() {
        let mut sums = Sums::default();
        sums.add(&frame(0), WHEN);
        let bytes = sums.bytes().expect("one name");
        for length in 0..bytes.len() {
            assert!(!Accumulator::new(&Dimension::OF_SERIES).add_sums(&bytes[..length], 1), "{length}");
        }
        for (place, value) in
            (0..bytes.len()).flat_map(|place| [0, 1, 3, 127, 255].map(|value| (place, value)))
        {
            let mut other = bytes.clone();
            other[place] = value;
            let mut accumulator = Accumulator::new(&Dimension::OF_SERIES);
            if accumulator.add_sums(&other, 1) {
                assert!(accumulator.report(Dimension::Command, 3).rows.len() <= 3);
            }
        }
    }
}
