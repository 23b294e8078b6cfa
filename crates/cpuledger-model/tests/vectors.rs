//! The frames of `tests/vectors/frames`, which decoders in other languages share: bytes, and what they decode to as JSON.
//! `CPULEDGER_WRITE_FIXTURE=1` writes both, but for the frames of a real service, which are taken as they are.

mod by_hand;
mod example;
#[allow(dead_code)] // its events are chosen here
mod machine;
mod printed;
mod vector_file;

use std::fs;
use std::path::{Path, PathBuf};

use by_hand::{Field, Layout, NEXT_VERSION};
use cpuledger_model::disk::{Disk, DiskTotals, DiskUse, Disks, MOST_DISKS, Requests};
use cpuledger_model::frame::{Column, ErrorKind, Frame, Section};
use cpuledger_model::framing::{self, Circumstances};
use cpuledger_model::interval::{Blocked, Exited, Interval, Renumbered, Row, Usage};
use cpuledger_model::pairs::{MOST_CGROUPS, Party, WaitPair, WaitPairs};
use cpuledger_model::task::{Comm, Pid, State, Task, TaskId, Tid};
use cpuledger_model::wire::{MOST_WIRE_CGROUPS, Wire, WireCgroup, WireUse};
use cpuledger_model::{Boottime, Field as TaskField, FieldSet, Lived, OffTasks, SourceKind, States, make};
use machine::{Event, intervals};
use printed::{json_of, string};
use vector_file::compare;

/// Frames of a machine whose tasks fork and die, and how many of them are vectors.
const MACHINE: [&str; 8] =
    ["machine-0", "machine-1", "machine-2", "machine-3", "machine-4", "machine-5", "machine-6", "machine-7"];

/// Names of those that a service has published, to a user that sees only itself.
const REAL: [&str; 2] = ["real-interval", "real-listing"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors/frames")
}

fn encoded(frame: &Frame) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame.encode(&mut bytes).expect("it is short");
    bytes
}

fn id(tid: i32, start_ns: u64) -> TaskId {
    TaskId { tid: Tid(tid), start_time_ns: Boottime::from_ns(start_ns) }
}

fn states(elapsed_ns: u64) -> States {
    make!(States { elapsed_ns, sleep_ns: elapsed_ns / 2 })
}

/// A process that has ended, and its heir.
fn dead() -> Exited {
    let mut dead = make!(Exited { cpu_ns: 4, states: Some(states(9)), lived: Some(Lived::default()) });
    (dead.exit.task, dead.exit.process) = (id(70, 5), id(70, 5));
    (dead.exit.comm, dead.ends_process) = (Comm::new(b"cc1"), Some(true));
    (dead.accounting_parent, dead.accounting_start) = (Some(Pid(60)), Some(Boottime::from_ns(60)));
    dead
}

/// An interval with rows of each kind, and with figures that are not known.
fn interval() -> Vec<u8> {
    let known = [TaskField::Tid, TaskField::Pid, TaskField::Ppid, TaskField::StartTime, TaskField::Comm];
    let task = |tid, pid, ppid, comm: &[u8]| {
        make!(Task {
            known: FieldSet::of(&known).union(FieldSet::of(&[
                TaskField::State,
                TaskField::Nice,
                TaskField::Rss
            ])),
            tid: Tid(tid),
            pid: Pid(pid),
            ppid: Pid(ppid),
            start_time_ns: Boottime::from_ns(1_000_000_007 + tid.unsigned_abs() as u64),
            comm: Comm::new(comm),
            state: State(b'S'),
            nice: -5,
            rss_bytes: 4096 * tid.unsigned_abs() as u64,
        })
    };
    let usage = |cpu_ns: u64| {
        make!(Usage {
            cpu_ns,
            self_ns: cpu_ns - 7,
            exited_threads_ns: Some(3),
            exited_children_ns: Some(4),
            stolen_ns: Some(1),
            states: Some(states(2 * cpu_ns)),
            off_at_end: Some(make!(OffTasks { sleeping: 2 })),
            accounting_parent: Some(Pid(1)),
        })
    };
    let hidden = make!(Usage { is_unseen: true, exited_children_ns: Some(0) });
    let bare = make!(Task { known: FieldSet::of(&known[..4]), ..task(4_000_000, 4_000_000, -1, b"") });
    let blocked =
        make!(Blocked { task: id(80, 8), process: id(80, 8), blocked_for_ns: 1 << 40, for_io: Some(false) });
    let interval = make!(Interval {
        source: SourceKind::Ledger,
        start_ns: 7_000_000_000,
        end_ns: 8_000_000_123,
        online_cpus: 2,
        capacity_ns: 2_000_000_246,
        attributed_ns: 1_500_000_000,
        idle_ns: Some(500_000_240),
        unattributed_ns: Some(6),
        processes: vec![
            Row::new(task(60, 60, 1, b"make"), usage(1_000_000_000)),
            Row::new(task(90, 90, 60, b"a\xff\n"), usage(500_000_000)),
            Row::new(bare, hidden),
        ],
        tasks: vec![
            Row::new(task(60, 60, 1, b"make"), usage(999_999_993)),
            Row::new(task(61, 60, 1, b"job"), usage(8)),
            Row::new(task(90, 90, 60, b"a\xff\n"), usage(500_000_000)),
        ],
        exited: Some(vec![dead()]),
        blocked: Some(vec![blocked]),
        renumbered: vec![make!(Renumbered { task: id(81, 8), owner: None })],
        from_procfs: vec![Tid(4_000_000)],
    });
    let mut frame = Frame::new();
    let of = make!(Circumstances { sequence: Some(3), end_realtime_ns: Some(1_700_000_000 << 30) });
    framing::write(&interval, &of, &mut frame);
    encoded(&frame)
}

/// What accounts say of cgroups and of disks: parties of each kind, a disk with a part that is in no row, one without a name, all others.
fn accounts() -> Frame {
    let cgroup = |id| Party::Cgroup((Some(id), Some(0)));
    let parties =
        [cgroup(7), cgroup(9), Party::Other, Party::Idle, Party::Quota, Party::Interrupts, Party::Stolen];
    let pairs = (1..).zip(parties).map(|(ns, by)| WaitPair::new(by, cgroup(7), ns));
    let pairs = pairs.chain([WaitPair::new(cgroup(7), Party::Other, 40)]);
    let busy = make!(Disk {
        numbers: Some((259, 1)),
        name: b"nvme0n1".to_vec(),
        all: make!(DiskUse { discards: requests(2), blocked_ns: 280_000_000, ..used(1000, 200) }),
        unattributed: used(0, 5),
        queue_ns: 250_000,
        device_ns: 300_000_000,
    });
    let nameless = make!(Disk { numbers: Some((8, 0)), all: used(3, 0) });
    let others = make!(Disk { all: used(1, 1), device_ns: 9 });
    let wire = Wire::of([
        on_wire(None, "", [64, 1, 0, 0]),
        on_wire(Some(1), "/", [128, 1, 128, 1]),
        on_wire(Some(70), &format!("/{}", "long".repeat(100)), [2_000_000, 1_500, 80_000, 1_200]),
        on_wire(Some(90), "", [0, 0, 1, 1]),
    ]);
    of_accounts(7, WaitPairs::of(pairs), Disks::of([busy, nameless, others], used(1, 0)), wire)
}

/// The interval behind it: of as many cgroups and disks as there may be, another disk has the numbers of one above.
fn next_accounts() -> Frame {
    let cgroup = |id| Party::Cgroup((Some(id), None));
    let most = MOST_CGROUPS as u64;
    let pairs = (0..most).map(|id| WaitPair::new(cgroup(id), cgroup(id / 2), 100 + id));
    let disks = (0..MOST_DISKS as u32).map(|minor| {
        let (numbers, name) = (Some((8, minor)), format!("sd{minor}").into_bytes());
        make!(Disk { numbers, name, all: used(minor.into(), 1), queue_ns: 1 })
    });
    let wire = (1..=MOST_WIRE_CGROUPS as u64)
        .map(|id| on_wire(Some(id), if id == 70 { "/renamed" } else { "" }, [id, 1, 2, 1]));
    let wire = wire.chain([on_wire(Some(5_000), "/few", [0, 0, 1, 1])]);
    of_accounts(8, WaitPairs::of(pairs), Disks::of(disks, DiskUse::default()), Wire::of(wire))
}

fn on_wire(id: Option<u64>, path: &str, figures: [u64; 4]) -> WireCgroup {
    make!(WireCgroup { id, path: path.as_bytes().to_vec(), used: WireUse::of(figures) })
}

fn requests(count: u64) -> Requests {
    make!(Requests { count, bytes: count << 12, ns: 250_000 * count })
}

fn used(reads: u64, writes: u64) -> DiskUse {
    make!(DiskUse { reads: requests(reads), writes: requests(writes) })
}

fn of_accounts(start_ns: u64, pairs: WaitPairs, disks: Disks, wire: Wire) -> Frame {
    let interval = make!(Interval {
        source: SourceKind::Ledger,
        start_ns,
        end_ns: start_ns + 1,
        pairs: Some(pairs),
        disk_totals: DiskTotals::of(&disks),
        disks: Some(disks),
        wire: Some(wire),
    });
    let mut frame = Frame::new();
    framing::write(&interval, &Circumstances::default(), &mut frame);
    frame
}

#[test]
fn accounts_are_merged_as_they_were() {
    let merged = accounts().merge(&next_accounts()).expect("they are neighbours");
    assert_eq!(merged.disks().devices.len(), MOST_DISKS + 1);
    let reads = [accounts(), next_accounts()].map(|frame| frame.disks().all().reads.count);
    assert_eq!(merged.figure(Column::ENDED_READS), Some(reads.into_iter().sum()));
    assert_eq!(merged.disks().all().reads.count, reads.into_iter().sum::<u64>());
    let sums = [accounts(), next_accounts()].map(|frame| frame.wire().sum().sent_bytes);
    assert_eq!(merged.wire().sum().sent_bytes, sums.into_iter().sum::<u64>());
    assert_eq!(merged.wire().iter().len(), MOST_WIRE_CGROUPS + 1);
    compare(&folder().join("../merged/accounts.json"), json_of(&merged).as_bytes());
}

/// Texts at the limits: none, all bytes, and the longest.
fn texts() -> Vec<u8> {
    let mut frame = Frame::new();
    let all: Vec<u8> = (0..=254).collect();
    let numbers: Vec<u64> = [&b""[..], &all, &[b'x'; 255], "\u{e4}\u{1f600}\"\\".as_bytes()]
        .iter()
        .map(|text| frame.intern(text))
        .collect();
    let table = frame.table_mut(Section::Cgroups);
    table.reset(5);
    table.fill(Column::PATH, numbers.into_iter().map(Some));
    table.fill(Column::CGROUP_ID, [Some(u64::MAX - 1), Some(0), None, Some(1 << 63), Some(7)]);
    encoded(&frame)
}

/// A field of each width, with and without absent values, and the numbers at the limits.
fn widths() -> Vec<u8> {
    let mut frame = Frame::new();
    frame.set_figure(Column::START_NS, Some((1 << 62) - 1));
    frame.set_figure(Column::END_NS, Some((1 << 62) - 1));
    let table = frame.table_mut(Section::Processes);
    table.reset(3);
    let columns = [
        Column::RSS_BYTES,
        Column::VSIZE_BYTES,
        Column::SHARED_BYTES,
        Column::SWAP_BYTES,
        Column::LOCKED_BYTES,
        Column::MINOR_FAULTS,
        Column::MAJOR_FAULTS,
        Column::READ_BYTES,
    ];
    for (bits, column) in (0..).step_by(8).zip(columns) {
        let high = (1_u64 << bits).min((1 << 62) - 18);
        table.fill(column, [Some(17), Some(17 + high), if bits % 16 == 0 { None } else { Some(17) }]);
    }
    let signed = [Some(i64::MIN), Some(-1), Some(i64::MAX - 1)];
    table.fill_signed(Column::TTY_PGID, signed);
    table.fill_signed(Column::NICE, [Some(-20), None, Some(19)]);
    table.fill_signed(Column::PRIORITY, [Some(-100); 3]);
    encoded(&frame)
}

/// The section of the interval, and the fields of two processes: pid 10 with cpu 5 and ppid -3, and pid 20 that tells less.
fn with_processes() -> Layout {
    let pids = Field::new(2, 1).base(10).width(1).stored(&[0, 10]);
    let cpu = Field::new(64, 0).nullable().base(5).width(1).stored(&[0, 255]);
    let ppid = Field::new(3, 1).nullable().base((-3_i64).cast_unsigned()).width(1).stored(&[0, 255]);
    minimal().section(3, 2, &[pids, cpu, ppid])
}

fn minimal() -> Layout {
    Layout::default().section(1, 1, &[Field::new(115, 0).base(100), Field::new(116, 0).base(300)])
}

/// Tasks of a process with all, of one without, of none; differences in both directions, and absent ones. What a process does not tell counts as
/// 0, which of a signed number is the least.
fn relative() -> Layout {
    let pids = Field::new(2, 1).base(10).width(1).stored(&[0, 0, 10, 20]);
    let cpu = Field::new(64, 0)
        .nullable()
        .relative()
        .base((-2_i64).cast_unsigned())
        .width(1)
        .stored(&[0, 255, 9, 12]);
    // Differences of 2 and -1 from -3; and 5 and -7 from the least number.
    let stored = [(1 << 63) + 2, (1 << 63) - 1, 5, 7_u64.wrapping_neg()];
    let ppid = Field::new(3, 1).relative().base(i64::MIN.cast_unsigned()).width(8).stored(&stored);
    let elapsed = Field::new(69, 0).relative().base(4);
    with_processes().section(4, 4, &[pids, cpu, ppid, elapsed])
}

fn figures(section: u16, rows: u32, fields: &[Field]) -> Vec<u8> {
    minimal().section(section, rows, fields).bytes()
}

fn changed(bytes: &[u8], at: usize, value: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at..at + value.len()].copy_from_slice(value);
    bytes
}

/// Neighbours: processes, threads and their deaths.
fn machine() -> Vec<Frame> {
    let mut seed = 1_u64;
    let mut next = |most: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % most
    };
    let events: Vec<(Event, u8)> = (0..400)
        .map(|_| {
            let (kind, task, ns) = (next(16), next(64) as usize, 1 + next(1000));
            let event = match kind {
                0..6 => Event::Run(task, ns, next(256) as u8),
                6..10 => Event::Fork(task, ns, next(2) == 0),
                10..13 => Event::Exit(task, ns),
                13 => Event::ExitProcess(task, ns),
                _ => Event::Idle(ns),
            };
            (event, next(40) as u8)
        })
        .collect();
    let (_, mut frames) = intervals(events, 100);
    assert!(frames.len() >= MACHINE.len(), "{} frames", frames.len());
    frames.truncate(MACHINE.len());
    frames
}

/// Frames, each with its name.
fn good() -> Vec<(&'static str, Vec<u8>)> {
    let unknown_kind = Field::new(6001, 77).width(8).stored(&[u64::MAX]);
    vec![
        ("document", example::example()),
        ("interval", interval()),
        ("accounts", encoded(&accounts())),
        ("accounts-next", encoded(&next_accounts())),
        ("empty", encoded(&Frame::new())),
        ("texts", texts()),
        ("widths", widths()),
        ("relative", relative().bytes()),
        ("next-version", NEXT_VERSION.bytes()),
        ("unknown-only", minimal().section(50, 1, &[unknown_kind]).bytes()),
        ("all-absent", figures(3, 2, &[Field::new(1, 1).nullable(), Field::new(64, 0).nullable().base(9)])),
        ("largest-sum", figures(3, 2, &[Field::new(64, 0).base((1 << 59) - 1)])),
    ]
}

/// Bytes that are no frames, or none that this version understands.
fn bad() -> Vec<(&'static str, Vec<u8>)> {
    let document = example::example();
    let mut bad = vec![
        ("no-bytes", Vec::new()),
        ("truncated-header", document[..39].to_vec()),
        ("truncated", document[..document.len() - 1].to_vec()),
        ("too-long", [&document[..], &[0]].concat()),
        ("other-magic", changed(&document, 0, b"C")),
        ("no-version", changed(&document, 8, &[0, 0])),
        ("too-new", changed(&document, 10, &[2, 0])),
        ("header-too-short", changed(&document, 12, &[32, 0])),
        ("header-misaligned", changed(&document, 12, &[44, 0])),
        ("entries-too-short", changed(&document, 16, &[16, 0])),
        ("too-many-sections", changed(&document, 14, &[65, 0])),
        ("directory-behind-end", changed(&document, 14, &[60, 0])),
        ("own-limit-of-bytes", changed(&document, 24, &[0, 1, 0, 0])),
        ("own-limit-of-records", changed(&document, 28, &[1, 0, 0, 0])),
        ("own-limit-of-fields", changed(&document, 32, &[2, 0])),
        ("own-limit-of-text", changed(&document, 34, &[3, 0])),
        ("records-misaligned", changed(&document, 0x38, &[0xfc])),
        ("records-behind-end", changed(&document, 0x38, &[0x58, 1])),
    ];
    bad.extend(bad_sections());
    bad
}

/// Likewise, in a section.
fn bad_sections() -> Vec<(&'static str, Vec<u8>)> {
    let one = |id: u16| Field::new(id, 0).width(8).stored(&[7]);
    let text = |lengths: Field, bytes: u32| {
        let name = Field::new(17, 2);
        minimal()
            .section(3, 1, &[name])
            .sized_section(32, 1, 1, &[lengths])
            .sized_section(33, bytes, 1, &[])
            .bytes()
    };
    let of_two = |field: Field| with_processes().section(4, 1, &[Field::new(2, 1).base(10), field]).bytes();
    vec![
        ("no-interval", Layout::default().section(3, 1, &[one(64)]).bytes()),
        ("two-intervals", Layout::default().section(1, 2, &[]).bytes()),
        ("too-many-pairs", figures(11, 4_353, &[Field::new(184, 0)])),
        ("too-many-disks", figures(12, 516, &[Field::new(164, 0)])),
        ("too-many-on-the-wire", figures(13, 1_025, &[Field::new(197, 0)])),
        ("section-twice", minimal().section(3, 1, &[one(64)]).section(3, 1, &[one(65)]).bytes()),
        ("field-twice", figures(3, 1, &[one(64), one(64)])),
        ("fields-overlap", minimal().sized_section(3, 1, 8, &[one(64).at(0), one(65).at(0)]).bytes()),
        (
            "field-behind-record",
            minimal().sized_section(3, 1, 8, &[Field::new(64, 0).width(8).at(1)]).bytes(),
        ),
        ("field-too-wide", figures(3, 1, &[Field::new(64, 0).width(9)])),
        ("record-too-short", minimal().sized_section(3, 1, 7, &[]).bytes()),
        ("other-kind", figures(3, 1, &[one(64).kind(1)])),
        ("value-too-large", figures(3, 1, &[one(33).base(u64::MAX - 7)])),
        ("signed-too-large", figures(3, 1, &[one(21).kind(1).base((i64::MAX - 7).cast_unsigned())])),
        ("constant-too-large", figures(3, 1, &[Field::new(33, 0).base(u64::MAX)])),
        ("figure-too-large", figures(3, 1, &[Field::new(29, 0).base(1 << 62)])),
        ("sum-too-large", figures(3, 2, &[Field::new(64, 0).base(1 << 59)])),
        (
            "states-too-large",
            figures(3, 2, &[Field::new(73, 0).width(8).base(1).stored(&[1 << 59, 1 << 59])]),
        ),
        ("ends-before-begin", Layout::default().section(1, 1, &[Field::new(115, 0).base(1)]).bytes()),
        ("blocked-too-long", minimal_with(Field::new(133, 0).base(1 << 53))),
        ("relative-process", figures(3, 1, &[one(64).relative()])),
        ("relative-pid", with_processes().section(4, 1, &[Field::new(2, 1).relative()]).bytes()),
        ("relative-too-large", of_two(Field::new(64, 0).relative().base((-6_i64).cast_unsigned()))),
        (
            "relative-difference-too-large",
            of_two(Field::new(64, 0).relative().base(i64::MAX.cast_unsigned())),
        ),
        ("relative-unsorted", relative_unsorted()),
        ("text-of-no-number", figures(3, 1, &[Field::new(17, 2)])),
        (
            "texts-without-lengths",
            minimal().sized_section(32, 1, 1, &[]).sized_section(33, 1, 1, &[]).bytes(),
        ),
        ("texts-too-short", text(Field::new(1, 0).base(2), 1)),
        ("texts-too-long", text(Field::new(1, 0).base(2), 3)),
        ("text-lengths-nullable", text(Field::new(1, 0).nullable().base(1), 1)),
        ("more-texts-than-bytes", minimal().sized_section(32, 1 << 20, 0, &[Field::new(1, 0)]).bytes()),
    ]
}

fn minimal_with(field: Field) -> Vec<u8> {
    let fields = [Field::new(115, 0).base(100), Field::new(116, 0).base(300), field];
    Layout::default().section(1, 1, &fields).bytes()
}

fn relative_unsorted() -> Vec<u8> {
    let pids = Field::new(2, 1).base(10).width(1).stored(&[10, 0]);
    let cpu = Field::new(64, 0).relative();
    minimal().section(3, 2, &[pids]).section(4, 1, &[Field::new(2, 1).base(10), cpu]).bytes()
}

/// What the bytes are, as JSON.
fn json(bytes: &[u8]) -> String {
    let checked = Frame::decode(bytes).and_then(|frame| frame.check_figures().map(|()| frame));
    match checked {
        Ok(frame) => json_of(&frame),
        Err(error) => {
            let kind = if error.kind() == ErrorKind::TooNew { "too new" } else { "damaged" };
            format!(
                "{{\n  \"error\": \"{kind}\",\n  \"because\": {}\n}}\n",
                string(error.to_string().as_bytes())
            )
        }
    }
}

/// Each two neighbours of the machine as one, and all of them.
#[test]
fn neighbours_are_merged_as_they_were() {
    let frames = machine();
    let deaths: usize = frames.iter().map(|frame| frame.table(Section::Exited).len()).sum();
    let inherits = |frame: &Frame| {
        let processes = frame.table(Section::Processes);
        processes.all(Column::EXITED_CHILDREN_NS).any(|ns| ns.unwrap_or(0) > 0)
    };
    assert!(deaths > 8 && frames.iter().any(inherits), "{deaths} deaths");
    let merge = |one: &Frame, other: &Frame| one.merge(other).expect("they are neighbours");
    let all = frames[1..].iter().fold(frames[0].clone(), |all, next| merge(&all, next));
    let merged = frames.windows(2).map(|pair| merge(&pair[0], &pair[1])).chain([all]);
    let merged: Vec<String> = merged.map(|frame| json_of(&frame).trim_end().to_owned()).collect();
    compare(&folder().join("../merged/machine.json"), format!("[\n{}\n]\n", merged.join(",\n")).as_bytes());
}

#[test]
fn frames_decode_as_they_did() {
    let folder = folder();
    fs::create_dir_all(&folder).expect("a folder");
    for (name, bytes) in good() {
        assert!(!json(&bytes).contains("\"error\""), "{name}: {}", json(&bytes));
        compare(&folder.join(format!("{name}.frame")), &bytes);
    }
    for (name, frame) in MACHINE.iter().zip(machine()) {
        compare(&folder.join(format!("{name}.frame")), &encoded(&frame));
    }
    for (name, bytes) in bad() {
        assert!(json(&bytes).contains("\"error\""), "{name}: {}", json(&bytes));
        compare(&folder.join(format!("{name}.frame")), &bytes);
    }
    let mut names: Vec<String> = fs::read_dir(&folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"))
        .filter_map(|name| name.strip_suffix(".frame").map(str::to_owned))
        .collect();
    names.sort_unstable();
    for name in &names {
        let bytes = fs::read(folder.join(format!("{name}.frame"))).expect("the bytes");
        compare(&folder.join(format!("{name}.json")), json(&bytes).as_bytes());
    }
    let made = good().len() + MACHINE.len() + bad().len() + REAL.len();
    assert_eq!(names.len(), made, "a file that no list has: remove it");
}

/// What is read without rows has rows that can be read, whatever the bytes are.
#[test]
fn rows_that_are_read_later_are_checked_before() {
    let mut files: Vec<Vec<u8>> = good().into_iter().chain(bad()).map(|(_, bytes)| bytes).collect();
    files.extend(REAL.map(|name| fs::read(folder().join(format!("{name}.frame"))).expect("the bytes")));
    let (mut taken, mut refused) = (0, 0);
    for bytes in files {
        let step = bytes.len().div_ceil(4_000).max(1);
        for at in (0..bytes.len()).step_by(step) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << (at % 8);
            let Ok(frame) = Frame::decode(&damaged) else { continue };
            let (mut whole, mut totals) = (Interval::default(), Interval::default());
            let with = framing::read(&frame, &mut whole);
            let without = framing::read_without_rows(&frame, &mut totals);
            assert_eq!(with.is_ok(), without.is_ok(), "byte {at}: {with:?}, {without:?}");
            if with.is_err() {
                refused += 1;
                continue;
            }
            taken += 1;
            assert_eq!(whole.attributed_ns, totals.attributed_ns);
            assert_eq!(
                (whole.exited.is_some(), whole.blocked.is_some()),
                (totals.exited.is_some(), totals.blocked.is_some())
            );
            assert!(totals.processes.is_empty() && totals.tasks.is_empty());
        }
    }
    assert!(taken > 100 && refused > 100, "{taken} taken, {refused} refused");
}

/// Those of a service are whole: their books balance, and names and numbers are of one user.
#[test]
fn the_real_ones_balance() {
    for name in REAL {
        let bytes = fs::read(folder().join(format!("{name}.frame"))).expect("the bytes");
        let frame = Frame::decode(&bytes).expect("a frame");
        let figure = |column| frame.figure(column).unwrap_or(0);
        let booked =
            figure(Column::ATTRIBUTED_NS) + figure(Column::IDLE_NS) + figure(Column::UNATTRIBUTED_NS);
        assert_eq!(booked, figure(Column::CAPACITY_NS), "{name}");
        let cpu: u64 = frame.table(Section::Processes).all(Column::CPU_NS).map(|cpu| cpu.unwrap_or(0)).sum();
        assert_eq!(cpu, figure(Column::ATTRIBUTED_NS), "{name}");
        assert!(!frame.table(Section::Processes).is_empty(), "{name}");
    }
}
