//! A machine whose books are random and balance, as a recording, and what its frames add up to.

#![allow(dead_code)] // Not every test needs all of it.

use std::collections::BTreeMap;
use std::path::Path;

use cpuledger_model::frame::{Column, Frame, Section};
use cpuledger_model::framing::{CgroupNames, Nameless, write_cgroups};
use cpuledger_model::make;
use cpuledger_proc::escape::escaped;
use cpuledger_recording::{Options, Recording, Step, Writer};

/// Length of an interval.
pub const SECOND_NS: u64 = 1_000_000_000;
/// CLOCK_REALTIME at the begin: half a minute before midnight, UTC, and some microseconds.
pub const BEGIN_NS: u64 = 1_700_006_370 * SECOND_NS + 123_456_000;

/// Names as the kernel may have them.
const NAMES: [&[u8]; 7] =
    [b"make", b"cc1", b"a,\"b\"\n\xff", b"=1+1", "\u{202e}evil".as_bytes(), b"<script>", b"(idle)"];

/// The cgroups of rows, their numbers being 1, 2 and so on: a service, a pod, a container without a name, a path that is in no unit, and
/// a pod of that name in another namespace.
fn cgroups() -> [CgroupNames; 5] {
    let text = |text: &str| text.as_bytes().to_vec();
    let service = CgroupNames::of_path(b"/system.slice/a.service");
    let pod = make!(CgroupNames {
        container: text("web"),
        container_id: text("6e14"),
        image: text("nginx"),
        pod: text("shop's \"one\""),
        namespace: text("prod"),
        ..CgroupNames::of_path(b"/kubepods.slice/6e14")
    });
    let nameless = make!(CgroupNames {
        container_id: text("dd2a"),
        nameless: Some(Nameless::Denied),
        ..CgroupNames::of_path(b"/machine.slice/x.scope")
    });
    let other = make!(CgroupNames {
        container_id: text("553b"),
        namespace: text("test"),
        path: text("/kubepods.slice/553b"),
        ..pod.clone()
    });
    [service, pod, nameless, CgroupNames::of_path(b"/elsewhere"), other]
}

/// Unit and pod of each of these, and of what is in none that is known.
const UNITS_AND_PODS: [(&str, &str); 6] = [
    ("(unknown)", "(unknown)"),
    ("a.service", "(none)"),
    ("kubepods.slice", "prod/shop's \"one\""),
    ("x.scope", "(unknown)"),
    ("-.slice", "(none)"),
    ("kubepods.slice", "test/shop's \"one\""),
];

/// The cgroup of the row of this number.
fn cgroup(row: u64) -> Option<u64> {
    Some(row % 6).filter(|number| *number > 0)
}

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) % limit.max(1)
    }
}

fn names(frame: &mut Frame, section: Section, picked: &[u64]) {
    let numbers: Vec<u64> = picked.iter().map(|nth| frame.intern(NAMES[*nth as usize])).collect();
    frame.table_mut(section).fill(Column::COMM, numbers.into_iter().map(Some));
}

/// An interval of that number.
fn frame(random: &mut Random, nth: u64) -> Frame {
    let mut frame = Frame::new();
    let (processes, deaths) = (1 + random.below(20), random.below(12));
    let picked: Vec<u64> = (0..processes).map(|_| random.below(NAMES.len() as u64)).collect();
    let dead: Vec<u64> = (0..deaths).map(|_| random.below(NAMES.len() as u64)).collect();
    let own: Vec<u64> = (0..processes).map(|_| random.below(1 << 24)).collect();
    let died: Vec<u64> = (0..deaths).map(|_| random.below(1 << 22)).collect();
    // What the dead used is with the first process, and some more whose identity was lost.
    let lost = random.below(1 << 16);
    let inherited = died.iter().sum::<u64>() + lost;
    let attributed = own.iter().sum::<u64>() + inherited;
    let table = frame.table_mut(Section::Processes);
    table.reset(processes as usize);
    let first = |value| (0..processes).map(move |place| Some(if place == 0 { value } else { 0 }));
    table.fill_signed(Column::PID, (0..processes).map(|place| Some(100 + place as i64)));
    table.fill(Column::SELF_NS, own.iter().map(|ns| Some(*ns)));
    table.fill(Column::EXITED_THREADS_NS, first(lost));
    table.fill(Column::EXITED_CHILDREN_NS, first(inherited - lost));
    table.fill(
        Column::CPU_NS,
        own.iter().zip(first(inherited)).map(|(own, more)| Some(own + more.unwrap_or(0))),
    );
    table.fill(Column::EUID, (0..processes).map(|place| (place % 7 != 6).then_some(1000 + place % 3)));
    table.fill(Column::CGROUP_ID, (0..processes).map(|place| cgroup(nth + place)));
    names(&mut frame, Section::Processes, &picked);
    let table = frame.table_mut(Section::Exited);
    table.reset(deaths as usize);
    table.fill(Column::CPU_NS, died.iter().map(|ns| Some(*ns)));
    table.fill(Column::EUID, (0..deaths).map(|place| Some(1000 + place % 2)));
    table.fill(Column::ENDS_PROCESS, (0..deaths).map(|place| Some(place % 2)));
    table.fill(Column::CGROUP_ID, (0..deaths).map(|place| cgroup(nth + place)));
    names(&mut frame, Section::Exited, &dead);
    let cgroups = cgroups();
    let numbered: Vec<_> = (1..).map(|number| (Some(number), None)).zip(&cgroups).collect();
    write_cgroups(&mut frame, &numbered);
    let source = frame.intern(b"ledger");
    let boot = frame.intern(b"0b7f5f6e-7c0a-4d1e-9d8f-000000000001");
    let capacity = 2 * SECOND_NS;
    for (column, value) in [
        (Column::SOURCE, source),
        (Column::BOOT_ID, boot),
        (Column::START_NS, nth * SECOND_NS),
        (Column::END_NS, (nth + 1) * SECOND_NS),
        (Column::END_REALTIME_NS, BEGIN_NS + (nth + 1) * SECOND_NS),
        (Column::KNOWS_EXITS, 1),
        (Column::CAPACITY_NS, capacity),
        (Column::ATTRIBUTED_NS, attributed),
        (Column::UNATTRIBUTED_NS, nth),
        (Column::IDLE_NS, capacity - attributed - nth),
    ] {
        frame.set_figure(column, Some(value));
    }
    frame
}

/// Records that number of intervals, in segments of sixty.
pub fn record(path: &Path, intervals: u64) {
    record_span(path, 0..intervals);
}

/// Likewise, in one segment.
pub fn record_at_once(path: &Path, intervals: u64) {
    record_in_segments(path, 0..intervals, intervals);
}

/// Likewise, of these numbers: another recording may have those before them.
pub fn record_span(path: &Path, intervals: std::ops::Range<u64>) {
    record_in_segments(path, intervals, 10);
}

fn record_in_segments(path: &Path, intervals: std::ops::Range<u64>, length_s: u64) {
    let options = make!(Options {
        segment_length: std::time::Duration::from_secs(length_s),
        host: Some("web/1".into()),
    });
    let mut writer = Writer::open(path, options).expect("a directory");
    let mut random = Random(20_260_301);
    for nth in intervals {
        writer.append(&frame(&mut random, nth)).expect("room");
    }
    writer.close().expect("room");
}

/// What a recording adds up to.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// CPU time of each command, its name escaped as in all outputs: its living processes, and its dead.
    pub by_command: BTreeMap<String, i128>,
    /// Of each effective user; -1: it is not known.
    pub by_user: BTreeMap<String, i128>,
    /// Of each interval, by its number.
    pub by_interval: BTreeMap<String, i128>,
    /// Attributed, idle and unattributed time.
    pub parts: i128,
    /// Capacity of all.
    pub capacity: i128,
    /// Begin of the first, in microseconds.
    pub first_us: i128,
}

/// Every frame.
pub fn frames(path: &Path) -> Vec<(u64, Frame)> {
    let mut recording = Recording::open(path).expect("a recording");
    let (mut all, mut next) = (Vec::new(), recording.first());
    while let Some(place) = next {
        next = match recording.step(place).expect("it can be read") {
            Step::Record(record, next) => {
                all.push((record.entry.sequence, record.frame));
                next
            }
            Step::Loss(_, next) => next,
        };
    }
    all
}

/// The sums of the frames, without what is to be tested.
pub fn sums(path: &Path) -> Sums {
    let mut sums = Sums::default();
    for (sequence, frame) in frames(path) {
        let mut known = 0;
        for (section, column) in [(Section::Processes, Column::SELF_NS), (Section::Exited, Column::CPU_NS)] {
            let table = frame.table(section);
            for row in 0..table.len() {
                let ns = i128::from(table.get(column, row).unwrap_or(0));
                known += ns;
                let comm = frame.text_of(section, Column::COMM, row).unwrap_or_default();
                *sums.by_command.entry(escaped(comm)).or_default() += ns;
                let user = table.get(Column::EUID, row).map_or(-1, u64::cast_signed);
                *sums.by_user.entry(user.to_string()).or_default() += ns;
            }
        }
        let figure = |column| i128::from(frame.figure(column).expect("it is there"));
        let attributed = figure(Column::ATTRIBUTED_NS);
        *sums.by_command.entry("(unidentified)".into()).or_default() += attributed - known;
        *sums.by_user.entry("-1".into()).or_default() += attributed - known;
        sums.by_interval.insert(sequence.to_string(), attributed);
        sums.parts += attributed + figure(Column::IDLE_NS) + figure(Column::UNATTRIBUTED_NS);
        sums.capacity += figure(Column::CAPACITY_NS);
        let begin = figure(Column::END_REALTIME_NS) - figure(Column::END_NS) + figure(Column::START_NS);
        sums.first_us = if sums.first_us == 0 { begin / 1000 } else { sums.first_us.min(begin / 1000) };
    }
    sums
}

/// CPU time of each unit and of each pod, with their shares of what is in none.
pub fn sums_of_units_and_pods(path: &Path) -> [BTreeMap<String, i128>; 2] {
    let mut sums = [BTreeMap::new(), BTreeMap::new()];
    for (_, frame) in frames(path) {
        for (section, column) in [(Section::Processes, Column::SELF_NS), (Section::Exited, Column::CPU_NS)] {
            let table = frame.table(section);
            for row in 0..table.len() {
                let cgroup = table.get(Column::CGROUP_ID, row).unwrap_or(0);
                let (unit, pod) = UNITS_AND_PODS[cgroup as usize];
                for (sums, name) in sums.iter_mut().zip([unit, pod]) {
                    *sums.entry(name.to_owned()).or_default() +=
                        i128::from(table.get(column, row).unwrap_or(0));
                }
            }
        }
    }
    sums
}

/// Records that number of intervals, merged to tiers of that length.
pub fn record_tier(path: &Path, intervals: u64, length_s: u64) {
    let tier = cpuledger_recording::Tier::new(std::time::Duration::from_secs(length_s), None);
    let mut writer = Writer::open(path, make!(Options { tiers: vec![tier], host: Some("web/1".into()) }))
        .expect("a directory");
    let mut random = Random(20_260_301);
    for nth in 0..intervals {
        writer.append(&frame(&mut random, nth)).expect("room");
    }
    writer.close().expect("room");
}
