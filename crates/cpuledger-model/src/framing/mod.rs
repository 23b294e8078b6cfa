//! Intervals and listings as frames, and back.

mod beside;
mod cgroup;
mod error;
mod figure;
mod listing;
mod members;
mod off_tasks;
mod rows;

use std::sync::Arc;

use crate::frame::{Column, Frame, Section};

use crate::boottime::Boottime;
use crate::disk::DiskTotals;
use crate::field::{Field, FieldSet};
use crate::interval::{Blocked, Exited, Interval, MOST_BLOCKED, Renumbered, Row, Usage};
use crate::snapshot::Snapshot;
use crate::source_kind::SourceKind;
use crate::states::{Lived, States};
use crate::task::{Task, Tid};

pub use beside::{
    Ancestor, CgroupIds, NAME_COLUMNS, RowUnit, ancestors, cgroups, units, write_ancestors, write_cgroups,
};
pub use cgroup::{CgroupNames, Nameless};
pub use error::FrameError;
use figure::Figure;
pub use listing::{ListingColumns, write_listing};
pub use members::column_shown;
use members::{KnownFields, Members, column_of};
pub use rows::Rows;

/// What a frame says of its interval that the interval does not know itself.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct Circumstances<'a> {
    /// Identifier of the boot.
    pub boot_id: Option<&'a str>,
    /// Number of the interval.
    pub sequence: Option<u64>,
    /// The later cut by the clock of starts. Without it, a merge does not tell what tasks did off the CPU that ran in one interval only.
    pub end: Option<Boottime>,
    /// The later cut, CLOCK_REALTIME.
    pub end_realtime_ns: Option<u64>,
    /// For how long the machine was suspended in the interval.
    pub suspended_ns: Option<u64>,
}

impl Circumstances<'_> {
    /// Those that a frame tells, but for the boot.
    pub fn of_frame(frame: &Frame) -> Circumstances<'static> {
        Circumstances {
            boot_id: None,
            sequence: frame.figure(Column::SEQUENCE),
            end: frame.figure(Column::END_BOOTTIME_NS).map(Boottime::from_ns),
            end_realtime_ns: frame.figure(Column::END_REALTIME_NS),
            suspended_ns: frame.figure(Column::SUSPENDED_NS),
        }
    }
}

/// Makes `frame` that of an interval. Its memory is reused.
pub fn write(interval: &Interval, of: &Circumstances<'_>, frame: &mut Frame) {
    frame.clear();
    write_all(interval, of, frame);
    frame.trim();
}

/// The frame of an interval, for several readers: in the memory of `spare`, if nobody else has that.
pub fn write_shared(interval: &Interval, of: &Circumstances<'_>, spare: Arc<Frame>) -> Arc<Frame> {
    let mut frame = Arc::try_unwrap(spare).unwrap_or_default();
    write(interval, of, &mut frame);
    Arc::new(frame)
}

/// As [`write`], where texts of rows are in the frame already.
fn write_all(interval: &Interval, of: &Circumstances<'_>, frame: &mut Frame) {
    let one = Section::Interval;
    Interval::write(frame, one, [Some(interval)].into_iter());
    let boot_id = of.boot_id.map(|id| frame.intern(id.as_bytes()));
    for (column, value) in [
        (Column::BOOT_ID, boot_id),
        (Column::SEQUENCE, of.sequence),
        (Column::INTERVALS, Some(1)),
        (Column::END_BOOTTIME_NS, of.end.map(Boottime::ns)),
        (Column::END_REALTIME_NS, of.end_realtime_ns),
        (Column::SUSPENDED_NS, of.suspended_ns),
        (Column::KNOWS_EXITS, Some(interval.exited.is_some().into())),
        (Column::KNOWS_BLOCKED, Some(interval.blocked.is_some().into())),
        (Column::KNOWS_PAIRS, interval.pairs.as_ref().map(|_| 1)),
        (Column::KNOWS_DISKS, interval.disks.as_ref().map(|_| 1)),
        (Column::KNOWS_WIRE, interval.wire.as_ref().map(|_| 1)),
    ] {
        frame.set_figure(column, value);
    }
    DiskTotals::write(frame, one, [Some(&interval.disk_totals)].into_iter());
    write_rows(frame, Section::Processes, &interval.processes);
    write_rows(frame, Section::Tasks, &interval.tasks);
    let exited = interval.exited.as_deref().unwrap_or_default();
    frame.table_mut(Section::Exited).reset(exited.len());
    Exited::write(frame, Section::Exited, exited.iter().map(Some));
    States::write(frame, Section::Exited, exited.iter().map(|exited| exited.states.as_ref()));
    let at_start = exited.iter().map(|exited| exited.off_at_start);
    off_tasks::write(frame, Section::Exited, Column::OFF_AT_START, at_start);
    Lived::write(frame, Section::Exited, exited.iter().map(|exited| exited.lived.as_ref()));
    let blocked = interval.blocked.as_deref().unwrap_or_default();
    let blocked = &blocked[..blocked.len().min(MOST_BLOCKED)];
    frame.table_mut(Section::Blocked).reset(blocked.len());
    Blocked::write(frame, Section::Blocked, blocked.iter().map(Some));
    frame.table_mut(Section::Renumbered).reset(interval.renumbered.len());
    Renumbered::write(frame, Section::Renumbered, interval.renumbered.iter().map(Some));
    frame.table_mut(Section::FromProcfs).reset(interval.from_procfs.len());
    Tid::fill(frame, Section::FromProcfs, Column::TID, interval.from_procfs.iter().copied().map(Some));
    if let Some(pairs) = &interval.pairs {
        frame.set_pairs(pairs);
    }
    if let Some(disks) = &interval.disks {
        frame.set_disks(disks);
    }
    if let Some(wire) = &interval.wire {
        frame.set_wire(wire);
    }
}

/// The figures of an interval that [`disk_totals`] are made of.
pub const DISK_TOTALS: &[Column] = DiskTotals::COLUMNS;

/// What all disks did, as a frame tells it.
pub fn disk_totals(frame: &Frame) -> DiskTotals {
    let mut totals = DiskTotals::default();
    // Any number is one of these.
    _ = totals.read(frame, Section::Interval, 0);
    totals
}

/// Puts what a frame says beside rows, for a listing: an interval of no length.
fn write_instant(snapshot: &Snapshot, frame: &mut Frame) {
    let nothing = Interval {
        source: SourceKind::Walk,
        start_ns: snapshot.begin_ns,
        end_ns: snapshot.begin_ns,
        read_begin_ns: snapshot.begin_ns,
        read_begin: snapshot.begin,
        read_end_ns: snapshot.end_ns,
        ..Interval::default()
    };
    let of = Circumstances { end: Some(snapshot.begin), ..Circumstances::default() };
    write_all(&nothing, &of, frame);
}

/// Makes the snapshot that of a frame, and leaves out what the tasks have used.
///
/// # Errors
/// As [`read`].
pub fn read_listing(frame: &Frame, snapshot: &mut Snapshot) -> Result<(), FrameError> {
    snapshot.clear();
    snapshot.begin_ns = frame.figure(Column::READ_BEGIN_NS).unwrap_or_default();
    snapshot.begin =
        frame.figure(Column::READ_BEGIN_BOOTTIME_NS).map_or_else(Boottime::default, Boottime::from_ns);
    snapshot.end_ns = frame.figure(Column::READ_END_NS).unwrap_or_default();
    for (section, rows) in
        [(Section::Processes, &mut snapshot.processes), (Section::Tasks, &mut snapshot.tasks)]
    {
        let told = KnownFields::of(frame, section);
        rows.reserve(frame.table(section).len());
        for row in 0..frame.table(section).len() {
            let mut task = Task::default();
            read_task(&mut task, frame, section, row, &told)?;
            rows.push(task);
        }
    }
    for row in 0..frame.table(Section::FromProcfs).len() {
        snapshot.from_procfs.extend(Tid::get(frame, Section::FromProcfs, Column::TID, row)?);
    }
    Ok(())
}

fn write_rows(frame: &mut Frame, section: Section, rows: &[Row]) {
    frame.table_mut(section).reset(rows.len());
    let tasks = rows.iter().map(|row| &row.task);
    Task::write(frame, section, tasks.clone().map(Some));
    write_identities(frame, section, tasks);
    let usages = rows.iter().map(|row| &row.usage);
    Usage::write(frame, section, usages.clone().map(Some));
    States::write(frame, section, usages.clone().map(|usage| usage.states.as_ref()));
    off_tasks::write(frame, section, Column::OFF_AT_START, usages.clone().map(|usage| usage.off_at_start));
    off_tasks::write(frame, section, Column::OFF_AT_END, usages.clone().map(|usage| usage.off_at_end));
    Members::write(frame, section, usages.map(|usage| Some(&usage.growth)));
}

/// Which task it is, a row always tells.
fn write_identities<'a>(frame: &mut Frame, section: Section, tasks: impl Iterator<Item = &'a Task> + Clone) {
    Tid::fill(frame, section, Column::TID, tasks.clone().map(|task| Some(task.tid)));
    Figure::fill(frame, section, Column::PID, tasks.clone().map(|task| Some(task.pid)));
    Boottime::fill(frame, section, Column::START_TIME_NS, tasks.clone().map(|task| Some(task.start_time_ns)));
    let hides_start = |task: &Task| !task.known.contains(Field::StartTime);
    bool::fill(frame, section, Column::HIDES_START, tasks.map(|task| Some(hides_start(task))));
}

/// Makes the interval that of a frame. Its memory is reused.
///
/// # Errors
/// When the frame has what no interval can have, or is of a source that is not known here.
pub fn read(frame: &Frame, interval: &mut Interval) -> Result<(), FrameError> {
    read_totals(frame, interval)?;
    read_lists(frame, interval)
}

/// As [`read`], but without rows: those lists are empty that the source knows. The rows are checked, so [`read`] takes this frame.
///
/// # Errors
/// As [`read`].
pub fn read_without_rows(frame: &Frame, interval: &mut Interval) -> Result<(), FrameError> {
    read_totals(frame, interval)?;
    for section in [Section::Processes, Section::Tasks] {
        Rows::of(frame, section)?;
        Usage::check(frame, section)?;
    }
    if interval.exited.is_some() {
        Exited::check(frame, Section::Exited)?;
    }
    if interval.blocked.is_some() {
        Blocked::check(frame, Section::Blocked)?;
    }
    Renumbered::check(frame, Section::Renumbered)?;
    Tid::check(frame, Section::FromProcfs, Column::TID)
}

fn read_totals(frame: &Frame, interval: &mut Interval) -> Result<(), FrameError> {
    frame.check_figures().map_err(|_| FrameError::TooLarge)?;
    let is_true = |column| frame.figure(column) == Some(1);
    interval.renew(Interval {
        exited: is_true(Column::KNOWS_EXITS).then(Vec::new),
        blocked: is_true(Column::KNOWS_BLOCKED).then(Vec::new),
        pairs: is_true(Column::KNOWS_PAIRS).then(|| frame.pairs()),
        disk_totals: disk_totals(frame),
        disks: is_true(Column::KNOWS_DISKS).then(|| frame.disks()),
        wire: is_true(Column::KNOWS_WIRE).then(|| frame.wire()),
        ..Interval::default()
    });
    for needed in [Column::SOURCE, Column::START_NS, Column::END_NS] {
        frame.figure(needed).ok_or(FrameError::Missing { column: needed.name() })?;
    }
    interval.read(frame, Section::Interval, 0).map(drop)
}

fn read_lists(frame: &Frame, interval: &mut Interval) -> Result<(), FrameError> {
    read_rows(frame, Section::Processes, &mut interval.processes)?;
    read_rows(frame, Section::Tasks, &mut interval.tasks)?;
    if let Some(exited) = &mut interval.exited {
        for row in 0..frame.table(Section::Exited).len() {
            let mut dead = Exited::default();
            dead.read(frame, Section::Exited, row)?;
            dead.states = read_whole(frame, Section::Exited, row)?;
            dead.off_at_start = off_tasks::read(frame, Section::Exited, Column::OFF_AT_START, row)?;
            dead.lived = read_whole(frame, Section::Exited, row)?;
            exited.push(dead);
        }
    }
    if let Some(blocked) = &mut interval.blocked {
        for row in 0..frame.table(Section::Blocked).len() {
            let mut one = Blocked::default();
            one.read(frame, Section::Blocked, row)?;
            blocked.push(one);
        }
    }
    for row in 0..frame.table(Section::Renumbered).len() {
        let mut renumbered = Renumbered::default();
        renumbered.read(frame, Section::Renumbered, row)?;
        interval.renumbered.push(renumbered);
    }
    for row in 0..frame.table(Section::FromProcfs).len() {
        interval.from_procfs.extend(Tid::get(frame, Section::FromProcfs, Column::TID, row)?);
    }
    Ok(())
}

fn read_rows(frame: &Frame, section: Section, rows: &mut Vec<Row>) -> Result<(), FrameError> {
    let told = KnownFields::of(frame, section);
    for row in 0..frame.table(section).len() {
        rows.push(Row::default());
        let Some(Row { task, usage }) = rows.last_mut() else { continue };
        read_task(task, frame, section, row, &told)?;
        usage.read(frame, section, row)?;
        usage.states = read_whole(frame, section, row)?;
        usage.off_at_start = off_tasks::read(frame, section, Column::OFF_AT_START, row)?;
        usage.off_at_end = off_tasks::read(frame, section, Column::OFF_AT_END, row)?;
        usage.growth.read(frame, section, row)?;
    }
    Ok(())
}

/// Makes `task`, a fresh one or the last row of this section that was read into it, that row.
fn read_task(
    task: &mut Task,
    frame: &Frame,
    section: Section,
    row: usize,
    told: &KnownFields,
) -> Result<(), FrameError> {
    // What all rows have in common is not read again.
    let uniform = match task.known.contains(Field::Tid) {
        true => told.uniform,
        false => members::read_fields(task, frame, section, row, told.uniform)?,
    };
    task.known = uniform.union(members::read_fields(task, frame, section, row, told.varying)?);
    for needed in [Field::Tid, Field::Pid, Field::StartTime] {
        if !task.known.contains(needed) {
            return Err(FrameError::Missing { column: column_of(needed).name() });
        }
    }
    if frame.table(section).get(Column::HIDES_START, row) == Some(1) {
        task.known = task.known.without(FieldSet::of(&[Field::StartTime]));
    }
    Ok(())
}

/// What is known as a whole or not at all.
fn read_whole<T: Members + Default>(
    frame: &Frame,
    section: Section,
    row: usize,
) -> Result<Option<T>, FrameError> {
    let mut whole = T::default();
    Ok(whole.read(frame, section, row)?.then_some(whole))
}
