//! A fleet for measurements and tests: the exports of many machines, each with one day, whose sums are known. `fleet/generate` runs it.
//!
//! Figures, names of commands, users, lives and deaths are those of a real recording, interval by interval. Machine, boot and clock are made up; so are
//! units and pods, so that there are many. Twenty machines differ, and the files of each stand for those of others. The sums are added up of the frames, and not of what was exported.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{fs, thread};

use anyhow::{Context, bail};
use clap::Parser;
use cpuledger_export::{Format, Options, Progress, export};
use cpuledger_model::frame::{Column, Frame, Kind, Section};
use cpuledger_model::framing::{CgroupNames, write_cgroups};
use cpuledger_model::make;
use cpuledger_proc::escape::escaped;
use cpuledger_recording::{Options as HowToRecord, Recording, Step, Writer};

const SECOND_NS: u64 = 1_000_000_000;
const DAY_NS: u64 = 86_400 * SECOND_NS;

/// Services of each machine, and pods that it has besides.
const SERVICES: u64 = 8;
const PODS: u64 = 8;

/// Machines that have the same pods.
const SAME_PODS: u64 = 20;

/// Of this number of machines, one has no books for an interval.
const GAP_OF: u64 = 10;

/// Makes the exports of a fleet of one day, and prints their sums as JSON.
#[derive(Parser)]
#[command(name = "generate")]
struct Arguments {
    /// A recording whose frames are taken, again and again
    #[arg(long, value_name = "DIR")]
    from: PathBuf,
    /// The directory of the tables
    #[arg(long, value_name = "DIR")]
    output: PathBuf,
    /// How many machines
    #[arg(long, value_name = "N")]
    hosts: u64,
    /// The day, UTC
    #[arg(long, value_name = "DATE", default_value = "2026-11-26")]
    day: jiff::civil::Date,
    /// Of a frame, more ends of tasks are left out: most machines of a fleet do not build all day. Their time is `(unidentified)` then
    #[arg(long, value_name = "N", default_value_t = 50)]
    most_exits: usize,
    /// So many frames that follow each other become one
    #[arg(long, value_name = "N", default_value_t = 1)]
    merge: usize,
    /// So many machines differ; the files of each are those of others, too, by hard links
    #[arg(long, value_name = "N", default_value_t = 20)]
    distinct: u64,
    /// Machines that are made at a time
    #[arg(long, value_name = "N", default_value_t = 2)]
    threads: usize,
}

/// What the exports add up to.
#[derive(Debug, Default)]
struct Sums {
    intervals: u64,
    rows: u64,
    gaps: u64,
    capacity_ns: i128,
    idle_ns: i128,
    unattributed_ns: i128,
    unidentified_ns: i128,
    commands: BTreeMap<String, i128>,
    units: BTreeMap<String, i128>,
    pods: BTreeMap<String, i128>,
}

impl Sums {
    fn add(&mut self, frame: &Frame, host: u64) {
        let figure = |column| i128::from(frame.figure(column).unwrap_or(0));
        self.intervals += 1;
        self.capacity_ns += figure(Column::CAPACITY_NS);
        self.idle_ns += figure(Column::IDLE_NS);
        self.unattributed_ns += figure(Column::UNATTRIBUTED_NS);
        let mut known = 0;
        for (section, column) in [(Section::Processes, Column::SELF_NS), (Section::Exited, Column::CPU_NS)] {
            let table = frame.table(section);
            self.rows += table.len() as u64;
            for row in 0..table.len() {
                let ns = i128::from(table.get(column, row).unwrap_or(0));
                known += ns;
                let comm = escaped(frame.text_of(section, Column::COMM, row).unwrap_or_default());
                let (unit, pod) = names(host, table.get(Column::CGROUP_ID, row).unwrap_or(0));
                *self.commands.entry(comm).or_default() += ns;
                *self.units.entry(unit).or_default() += ns;
                *self.pods.entry(pod).or_default() += ns;
            }
        }
        self.unidentified_ns += figure(Column::ATTRIBUTED_NS) - known;
    }

    /// Adds those of other machines, of which there are so many.
    fn add_machines(&mut self, other: Sums, machines: u64) {
        self.intervals += other.intervals * machines;
        self.rows += other.rows * machines;
        self.gaps += other.gaps * machines;
        let times = i128::from(machines);
        self.capacity_ns += other.capacity_ns * times;
        self.idle_ns += other.idle_ns * times;
        self.unattributed_ns += other.unattributed_ns * times;
        self.unidentified_ns += other.unidentified_ns * times;
        for (own, other) in [
            (&mut self.commands, other.commands),
            (&mut self.units, other.units),
            (&mut self.pods, other.pods),
        ] {
            for (name, ns) in other {
                *own.entry(name).or_default() += ns * times;
            }
        }
    }

    /// JSON, whose integers may have more than 64 bits.
    fn text(&self) -> String {
        let numbers = [
            ("intervals", i128::from(self.intervals)),
            ("rows", i128::from(self.rows)),
            ("gaps", i128::from(self.gaps)),
            ("capacity_ns", self.capacity_ns),
            ("idle_ns", self.idle_ns),
            ("unattributed_ns", self.unattributed_ns),
            ("unidentified_ns", self.unidentified_ns),
        ];
        let mut members: Vec<String> =
            numbers.iter().map(|(name, number)| format!("\"{name}\": {number}")).collect();
        for (name, sums) in [("commands", &self.commands), ("units", &self.units), ("pods", &self.pods)] {
            let member =
                |(name, ns): (&String, &i128)| format!("{}: {ns}", serde_json::Value::from(name.as_str()));
            let sums: Vec<String> = sums.iter().map(member).collect();
            members.push(format!("\"{name}\": {{{}}}", sums.join(", ")));
        }
        format!("{{{}}}", members.join(", "))
    }
}

/// Unit and pod of a cgroup, as queries have them.
fn names(host: u64, cgroup: u64) -> (String, String) {
    match cgroup.checked_sub(SERVICES) {
        None => (format!("service-{cgroup}.service"), "(none)".to_owned()),
        Some(pod) => ("kubepods.slice".to_owned(), format!("app-{pod}-{}", host % SAME_PODS)),
    }
}

fn cgroups(host: u64) -> Vec<CgroupNames> {
    let one = |cgroup| {
        let (unit, pod) = names(host, cgroup);
        if cgroup < SERVICES {
            return CgroupNames::of_path(format!("/system.slice/{unit}").as_bytes());
        }
        make!(CgroupNames {
            container: b"main".to_vec(),
            container_id: format!("{host:032x}{cgroup:032x}").into_bytes(),
            image: format!("registry/app-{}", cgroup - SERVICES).into_bytes(),
            pod: pod.into_bytes(),
            namespace: b"shop".to_vec(),
            ..CgroupNames::of_path(format!("/kubepods.slice/{cgroup}").as_bytes())
        })
    };
    (0..SERVICES + PODS).map(one).collect()
}

/// The frames of a recording, merged, without the ends of tasks that are too many.
fn frames(arguments: &Arguments) -> anyhow::Result<Vec<Frame>> {
    let mut recording = Recording::open(&arguments.from)?;
    let (mut all, mut merged, mut parts) = (Vec::new(), None::<Frame>, 0);
    let mut next = recording.first();
    while let Some(place) = next {
        next = match recording.step(place)? {
            Step::Record(record, next) => {
                merged = Some(match merged {
                    Some(before) => before.merge(&record.frame)?,
                    None => record.frame,
                });
                parts += 1;
                if parts == arguments.merge.max(1) {
                    all.extend(merged.take());
                    parts = 0;
                }
                next
            }
            Step::Loss(_, next) => next,
        };
    }
    all.retain(|frame| frame.figure(Column::IDLE_NS).is_some());
    if all.is_empty() {
        let path = arguments.from.display();
        bail!(
            "{path}: there are not enough frames with idle time: record for longer, with the source ledger"
        );
    }
    all.iter_mut().for_each(|frame| shorten(frame, arguments.most_exits));
    Ok(all)
}

/// Leaves out the ends of tasks behind this number. What these used is still in the rows of their heirs.
fn shorten(frame: &mut Frame, most: usize) {
    let table = frame.table_mut(Section::Exited);
    if table.len() <= most {
        return;
    }
    let columns: Vec<Column> = Column::known().filter(|column| table.has(*column)).collect();
    let is_signed = |column: Column| column.kind() == Kind::Signed;
    let unsigned: Vec<(Column, Vec<Option<u64>>)> = columns
        .iter()
        .filter(|column| !is_signed(**column))
        .map(|column| (*column, table.all(*column).take(most).collect()))
        .collect();
    let signed: Vec<(Column, Vec<Option<i64>>)> = columns
        .iter()
        .filter(|column| is_signed(**column))
        .map(|column| (*column, table.all_signed(*column).take(most).collect()))
        .collect();
    table.reset(most);
    unsigned.into_iter().for_each(|(column, values)| table.fill(column, values));
    signed.into_iter().for_each(|(column, values)| table.fill_signed(column, values));
}

/// Moves a frame to a machine and a time, and its rows into the cgroups of that machine. Returns its length.
fn move_to(frame: &mut Frame, host: u64, start_ns: u64, begin_realtime_ns: u64) -> u64 {
    let length_ns = frame.figure(Column::END_NS).unwrap_or(0) - frame.figure(Column::START_NS).unwrap_or(0);
    let boot = frame.intern(format!("0b7f5f6e-7c0a-4d1e-9d8f-{host:012}").as_bytes());
    for (column, value) in [
        (Column::BOOT_ID, boot),
        (Column::START_NS, start_ns),
        (Column::END_NS, start_ns + length_ns),
        (Column::END_REALTIME_NS, begin_realtime_ns + length_ns),
    ] {
        frame.set_figure(column, Some(value));
    }
    for section in [Section::Processes, Section::Exited] {
        let table = frame.table_mut(section);
        let rows = table.len();
        let pid = |row| table.get_signed(Column::PID, row).unwrap_or(0).unsigned_abs();
        let cgroups: Vec<u64> = (0..rows).map(|row| (pid(row) ^ host) % (SERVICES + PODS)).collect();
        table.fill(Column::CGROUP_ID, cgroups.into_iter().map(Some));
        table.fill(Column::CGROUP_V1_CPU_ID, (0..rows).map(|_| None));
        table.fill(Column::UNIT, (0..rows).map(|_| None));
    }
    length_ns
}

/// One machine: its recording, and the export of that.
fn make(host: u64, frames: &[Frame], arguments: &Arguments) -> anyhow::Result<Sums> {
    let folder = tempfile::tempdir()?;
    let recording = folder.path().join("recording");
    let options = make!(HowToRecord {
        segment_length: std::time::Duration::from_secs(86_400),
        segment_bytes: u64::MAX,
        host: Some(name_of(host)),
    });
    let midnight = arguments.day.to_zoned(jiff::tz::TimeZone::UTC)?.timestamp();
    let begin_ns = u64::try_from(midnight.as_nanosecond()).context("--day is before 1970")?;
    let cgroups = cgroups(host);
    let numbered: Vec<_> = (0..).map(|number| (Some(number), None)).zip(&cgroups).collect();
    let mut writer = Writer::open(&recording, options)?;
    let (mut sums, mut elapsed_ns) = (Sums::default(), 0);
    // Each machine begins with another frame.
    for nth in (host as usize * 7).. {
        let mut frame = frames[nth % frames.len()].clone();
        let length_ns = move_to(&mut frame, host, SECOND_NS + elapsed_ns, begin_ns + elapsed_ns);
        if elapsed_ns + length_ns > DAY_NS {
            break;
        }
        elapsed_ns += length_ns;
        if host % GAP_OF == GAP_OF - 1 && sums.intervals == 3 && sums.gaps == 0 {
            sums.gaps = 1;
            continue;
        }
        write_cgroups(&mut frame, &numbered);
        sums.add(&frame, host);
        writer.append(&frame)?;
    }
    writer.close()?;
    let summary =
        export(&recording, &arguments.output, &Options::all(Format::Parquet), &Progress::default())?;
    if summary.intervals != sums.intervals || summary.unbalanced > 0 {
        let (of, unbalanced) = (sums.intervals, summary.unbalanced);
        bail!("host {host}: {} of {of} intervals exported, {unbalanced} out of balance", summary.intervals);
    }
    Ok(sums)
}

/// Each thread exports to a folder of its own, as a directory takes one export at a time, and moves the files then.
fn make_all(frames: &[Frame], arguments: &Arguments) -> anyhow::Result<Sums> {
    let (next, all) = (AtomicU64::new(0), Mutex::new(Ok(Sums::default())));
    let folder = |thread: usize| arguments.output.join(format!(".thread-{thread}"));
    let work = |thread: usize| -> anyhow::Result<Sums> {
        let own = Arguments { output: folder(thread), from: arguments.from.clone(), ..*arguments };
        let mut sums = Sums::default();
        loop {
            let host = next.fetch_add(1, Ordering::Relaxed);
            if host >= arguments.hosts.min(arguments.distinct.max(1)) {
                return Ok(sums);
            }
            let of_one = make(host, frames, &own)?;
            move_all(&own.output, &arguments.output)?;
            let others: Vec<u64> =
                (host..arguments.hosts).step_by(arguments.distinct.max(1) as usize).skip(1).collect();
            for table in ["intervals", "usage", "exited"] {
                let day = arguments.output.join(table).join(format!("date={}", arguments.day));
                others.iter().try_for_each(|other| link(&day, host, *other))?;
            }
            sums.add_machines(of_one, 1 + others.len() as u64);
        }
    };
    let threads = arguments.threads.max(1);
    thread::scope(|scope| {
        for thread in 0..threads {
            let (work, all) = (&work, &all);
            scope.spawn(move || {
                let done = work(thread);
                let mut all = all.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                match (done, &mut *all) {
                    (Ok(sums), Ok(all)) => all.add_machines(sums, 1),
                    (Err(error), Ok(_)) => *all = Err(error),
                    (_, Err(_)) => {}
                }
            });
        }
    });
    (0..threads).for_each(|thread| drop(fs::remove_dir_all(folder(thread))));
    all.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Gives the files of a machine to another one.
fn link(day: &Path, from: u64, to: u64) -> anyhow::Result<()> {
    let folder = |host: u64| day.join(format!("host={}", name_of(host)));
    fs::create_dir_all(folder(to))?;
    for entry in fs::read_dir(folder(from))? {
        let entry = entry?;
        fs::hard_link(entry.path(), folder(to).join(entry.file_name()))?;
    }
    Ok(())
}

fn name_of(host: u64) -> String {
    format!("host-{host:05}")
}

/// Moves the files below a folder to the same place below another.
fn move_all(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let own = entry?.path();
        let there = to.join(own.file_name().context("it has no name")?);
        if own.is_dir() {
            move_all(&own, &there)?;
        } else {
            fs::rename(&own, &there)?;
        }
    }
    Ok(())
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    fs::create_dir_all(&arguments.output)?;
    let frames = frames(&arguments)?;
    println!("{}", make_all(&frames, &arguments)?.text());
    Ok(())
}
