//! Frames of a machine that goes on: neighbours with the same processes, whose figures are random.

#![allow(dead_code)] // Not every test needs all of it.

use cpuledger_model::frame::{Column, Frame, Section};
use cpuledger_recording::{Place, Record, Recording, Step};

/// Length of an interval.
pub const SECOND: u64 = 1_000_000_000;
/// CLOCK_REALTIME when CLOCK_MONOTONIC is 0: the begin of a minute.
pub const EPOCH: u64 = 1_700_000_040 * SECOND;

/// Makes one frame after the other.
#[derive(Debug, Clone)]
pub struct Machine {
    state: u64,
    pub now_ns: u64,
    pub boot_id: String,
    processes: usize,
}

impl Machine {
    pub fn new(seed: u64, processes: usize) -> Machine {
        Machine { state: seed | 1, now_ns: 0, boot_id: "one boot".into(), processes }
    }

    /// A number below the limit.
    pub fn below(&mut self, limit: u64) -> u64 {
        // xorshift64*
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        self.state.wrapping_mul(0x2545_f491_4f6c_dd1d) % limit.max(1)
    }

    /// The next interval.
    pub fn second(&mut self) -> Frame {
        self.interval(SECOND)
    }

    pub fn interval(&mut self, length_ns: u64) -> Frame {
        let mut frame = Frame::new();
        let end_ns = self.now_ns + length_ns;
        let boot = frame.intern(self.boot_id.as_bytes());
        frame.set_figure(Column::BOOT_ID, Some(boot));
        for (column, value) in [
            (Column::START_NS, self.now_ns),
            (Column::END_NS, end_ns),
            (Column::END_BOOTTIME_NS, end_ns),
            (Column::END_REALTIME_NS, EPOCH + end_ns),
            (Column::CAPACITY_NS, length_ns),
            (Column::KNOWS_EXITS, 1),
        ] {
            frame.set_figure(column, Some(value));
        }
        let names: Vec<u64> =
            (0..self.processes).map(|nth| frame.intern(format!("process {nth}").as_bytes())).collect();
        let active: Vec<usize> = (0..self.processes).filter(|_| self.below(3) > 0).collect();
        let used: Vec<u64> = active.iter().map(|_| self.below(1 << 20)).collect();
        for section in [Section::Processes, Section::Tasks] {
            let table = frame.table_mut(section);
            table.reset(active.len());
            let tids = || active.iter().map(|nth| Some(100 + 7 * *nth as i64));
            table.fill_signed(Column::TID, tids());
            table.fill_signed(Column::PID, tids());
            table.fill(Column::START_TIME_NS, active.iter().map(|nth| Some(10 + *nth as u64)));
            table.fill(Column::CPU_NS, used.iter().map(|used| Some(*used)));
            table.fill(Column::COMM, active.iter().map(|nth| Some(names[*nth])));
        }
        let own = used.iter().map(|used| Some(*used));
        frame.table_mut(Section::Processes).fill(Column::SELF_NS, own);
        self.now_ns = end_ns;
        frame
    }

    pub fn seconds(&mut self, count: usize) -> Vec<Frame> {
        (0..count).map(|_| self.second()).collect()
    }
}

/// What one pass over a recording meets.
#[derive(Debug, Default)]
pub struct Met {
    pub records: Vec<Record>,
    pub lost_in_place: u64,
}

/// Steps through all of it.
pub fn walk(recording: &mut Recording) -> Met {
    let mut met = Met::default();
    let mut next: Option<Place> = recording.first();
    while let Some(place) = next {
        next = match recording.step(place).expect("it can be read") {
            Step::Record(record, next) => {
                met.records.push(*record);
                next
            }
            Step::Loss(loss, next) => {
                assert!(!loss.to_string().is_empty() && loss.intervals > 0);
                met.lost_in_place += loss.intervals;
                next
            }
        };
    }
    met
}

/// The frames in the order of the recording.
pub fn frames_of(recording: &mut Recording) -> Vec<Frame> {
    walk(recording).records.into_iter().map(|record| record.frame).collect()
}
