//! Two neighbouring intervals as one: what an interval over both would have told.
//!
//! Sums add up, of gauges and names the later counts. What died in the later interval has left rows in the earlier one: a task's time there
//! goes to *exited threads* of its process, a process's to *exited children* of its heir, and what was stolen of it likewise.

mod deaths;
mod rows;
mod states;

use std::collections::{HashMap, HashSet};

use crate::disk::MOST_DISKS;
use crate::frame::column::Column;
use crate::frame::error::{Error, ErrorKind};
use crate::frame::sections::{Frame, Section};
use crate::frame::table::{ABSENT, Table};

use deaths::Deaths;
use rows::{BOOKED, Id, Index, OF_DEAD_CHILDREN, PARTS, Pair, Texts, ids, merge_columns, sum};
use states::{Times, grow_by_wait, merge_states};

impl Frame {
    /// This interval and the next as one. Merging is associative, and exact: the result is what one interval would have told.
    ///
    /// What a process or a task did off the CPU is absent where it has a row in one of both only, and the frames do not tell how it rested.
    ///
    /// # Errors
    /// When `later` does not begin where this one ends, is of another boot or source, when a frame lacks what the merge needs, or when
    /// sums are [too large](Frame::check_figures).
    pub fn merge(&self, later: &Frame) -> Result<Frame, Error> {
        let times = times(self, later)?;
        let mut merge = Merge {
            frames: [self, later],
            times,
            texts: Texts::new([self, later]),
            deaths: Deaths::of(later)?,
            out: Frame::new(),
        };
        merge.whole()?;
        merge.out.names = std::mem::take(&mut merge.texts.to);
        merge.disks();
        merge.wire();
        merge.out.check_figures()?;
        Ok(merge.out)
    }
}

/// The times, if the two are neighbours.
fn times(earlier: &Frame, later: &Frame) -> Result<Times, Error> {
    let [boots, sources] = [Column::BOOT_ID, Column::SOURCE]
        .map(|column| [earlier, later].map(|frame| frame.text_of(Section::Interval, column, 0)));
    if boots[0] != boots[1] {
        return Err(Error::of(ErrorKind::NotMerged, "the intervals are not of the same boot"));
    }
    if sources[0] != sources[1] {
        return Err(Error::of(ErrorKind::NotMerged, "the intervals are not of the same source"));
    }
    let lengths = earlier.length_ns().zip(later.length_ns());
    let (earlier_ns, later_ns) =
        lengths.ok_or(Error::of(ErrorKind::NotMerged, "an interval has no start or no end"))?;
    if earlier.figure(Column::END_NS) != later.figure(Column::START_NS) {
        return Err(Error::of(
            ErrorKind::NotMerged,
            "the later interval does not begin where the earlier one ends",
        ));
    }
    let between_ns = earlier.figure(Column::END_BOOTTIME_NS).unwrap_or(ABSENT);
    Ok(Times { earlier_ns, later_ns, between_ns })
}

struct Merge<'a> {
    frames: [&'a Frame; 2],
    times: Times,
    texts: Texts<'a>,
    deaths: Deaths,
    out: Frame,
}

/// What the tasks of the earlier frame that died in the later one leave behind.
#[derive(Default)]
struct Left {
    /// The row in the earlier frame of each dead task, by its record in the later one.
    rows: HashMap<usize, usize>,
    /// What they used, by process.
    threads: HashMap<Id, Used>,
}

/// What rows of the earlier frame used whose tasks or processes died in the later one.
#[derive(Default)]
struct Used {
    cpu_ns: u64,
    /// The part of that in which they did not execute, and that in user mode; `ABSENT`: not known.
    stolen_ns: u64,
    user_ns: u64,
    /// What accounts have booked to them, by [`BOOKED`]; empty: nothing.
    booked: Vec<u64>,
}

impl Used {
    fn add(&mut self, table: &Table, row: usize, [stolen, user]: [&[Column]; 2]) {
        self.cpu_ns = sum(self.cpu_ns, known(table.raw(Column::CPU_NS, row)));
        for (whole, columns) in [(&mut self.stolen_ns, stolen), (&mut self.user_ns, user)] {
            *whole = columns.iter().fold(*whole, |whole, column| sum(whole, table.raw(*column, row)));
        }
    }

    /// Of a process: what is booked to threads stays with theirs.
    fn add_booked(&mut self, table: &Table, row: usize) {
        if BOOKED.iter().all(|column| table.values(*column).is_absent()) {
            return;
        }
        self.booked.resize(BOOKED.len(), 0);
        for (whole, column) in self.booked.iter_mut().zip(BOOKED.iter()) {
            *whole = sum(*whole, known(table.raw(*column, row)));
        }
    }
}

/// Columns of what was stolen, and of user time: of a task, and of all of a process.
const OF_TASK: [&[Column]; 2] = [&[Column::STOLEN_NS], &[Column::SELF_USER_NS]];
const OF_PROCESS: [&[Column]; 2] = [
    &[Column::STOLEN_NS, Column::EXITED_CHILDREN_STOLEN_NS],
    &[Column::SELF_USER_NS, Column::EXITED_THREADS_USER_NS, Column::EXITED_CHILDREN_USER_NS],
];

impl<'a> Merge<'a> {
    fn tables(&self, section: Section) -> [&'a Table; 2] {
        self.frames.map(|frame| frame.table(section))
    }

    fn whole(&mut self) -> Result<(), Error> {
        let left = self.merge_tasks()?;
        self.merge_processes(&left)?;
        self.merge_exited(&left);
        self.merge_named(Section::Cpus, [Column::CPU, Column::CPU]);
        self.merge_named(Section::Cgroups, [Column::CGROUP_ID, Column::CGROUP_V1_CPU_ID]);
        self.merge_named(Section::Ancestors, [Column::TID, Column::START_TIME_NS]);
        self.merge_lists(Section::Renumbered, |_, _| true);
        self.merge_from_procfs();
        self.merge_interval();
        self.merge_pairs();
        Ok(())
    }

    fn merge_tasks(&mut self) -> Result<Left, Error> {
        let tables = self.tables(Section::Tasks);
        let exited = self.frames[1].table(Section::Exited);
        let [earlier, later] = [ids(self.frames[0], Section::Tasks)?, ids(self.frames[1], Section::Tasks)?];
        let renumbered: HashSet<Id> = ids(self.frames[1], Section::Renumbered)?.into_iter().collect();
        let mut index = Index::new(&later);
        let (mut pairs, mut left) = (Vec::new(), Left::default());
        let mut is_paired = vec![false; later.len()];
        for (row, id) in earlier.into_iter().enumerate() {
            if let Some(record) = self.deaths.take(id) {
                left.rows.insert(record, row);
                let raw = |column| exited.raw(column, record);
                let process = (raw(Column::PID), raw(Column::PROCESS_START_NS));
                left.threads.entry(process).or_default().add(tables[0], row, OF_TASK);
                continue;
            }
            if renumbered.contains(&id) || self.deaths.has_pid(tables[0].raw(Column::PID, row)) {
                continue;
            }
            let later = index.take(id);
            if let Some(later) = later {
                is_paired[later] = true;
            }
            pairs.push(Pair { earlier: Some(row), later, ..Pair::default() });
        }
        pairs.extend(unpaired(&is_paired));
        sort(&mut pairs, tables);
        let out = self.out.table_mut(Section::Tasks);
        merge_columns(out, tables, &pairs, &mut self.texts);
        finish_rows(out, tables, &pairs, &self.times);
        Ok(left)
    }

    fn merge_processes(&mut self, left: &Left) -> Result<(), Error> {
        let tables = self.tables(Section::Processes);
        let [earlier, later] = self.frames.map(|frame| ids(frame, Section::Processes));
        let (earlier, later) = (earlier?, later?);
        let is_bare = |side: usize, row: usize| tables[side].get(Column::IS_BARE, row) == Some(1);
        let mut index = Index::new(&later);
        let (mut pairs, mut inherited) = (Vec::new(), HashMap::<Id, Used>::new());
        let mut is_paired = vec![false; later.len()];
        for (row, id) in earlier.iter().enumerate() {
            if self.deaths.has_process(*id)
                && let Some(heir) = self.deaths.heir(*id)
            {
                let used = inherited.entry(heir).or_default();
                used.add(tables[0], row, OF_PROCESS);
                used.add_booked(tables[0], row);
                continue;
            }
            let later = index.take(*id);
            if let Some(later) = later {
                is_paired[later] = true;
            }
            let is_bare = [is_bare(0, row), later.is_some_and(|row| is_bare(1, row))];
            pairs.push(Pair { earlier: Some(row), later, is_bare });
        }
        pairs.extend(unpaired(&is_paired).map(|pair| {
            let is_bare = [false, pair.later.is_some_and(|row| is_bare(1, row))];
            Pair { is_bare, ..pair }
        }));
        sort(&mut pairs, tables);
        let id_of = |pair: &Pair| match (pair.earlier, pair.later) {
            (_, Some(row)) => later[row],
            (Some(row), None) => earlier[row],
            (None, None) => (ABSENT, ABSENT),
        };
        let mut all: Vec<(Id, Pair)> = pairs.iter().map(|pair| (id_of(pair), *pair)).collect();
        add_heirs(&mut all, &inherited);
        let pairs: Vec<Pair> = all.iter().map(|(_, pair)| *pair).collect();
        let out = self.out.table_mut(Section::Processes);
        merge_columns(out, tables, &pairs, &mut self.texts);
        for (row, (id, pair)) in all.iter().enumerate() {
            if pair.earlier.is_none() && pair.later.is_none() {
                let booked = inherited.get(id).filter(|inherited| !inherited.booked.is_empty());
                let booked = booked.map_or(&[][..], |_| BOOKED.as_slice());
                OF_DEAD_CHILDREN.iter().chain(booked).for_each(|column| out.set_raw(*column, row, 0));
            }
            settle_parts(out, row, left.threads.get(id), inherited.get(id));
            if pair.details() == [None, None] {
                tell_bare(out, row, *id);
            }
        }
        finish_rows(out, tables, &pairs, &self.times);
        replace_heirs(out, &self.deaths, |row| all[row].1.details()[1].is_none(), |row| Some(all[row].0));
        Ok(())
    }

    fn merge_exited(&mut self, left: &Left) {
        let tables = self.tables(Section::Exited);
        let pairs = one_after_the_other(tables);
        let out = self.out.table_mut(Section::Exited);
        merge_columns(out, tables, &pairs, &mut self.texts);
        let tasks = self.frames[0].table(Section::Tasks);
        for (row, pair) in pairs.iter().enumerate() {
            let Some(record) = pair.later else {
                // It was dead when the later interval began.
                let still = Times { later_ns: 0, ..self.times };
                merge_states(out, row, pair.earlier.map(|row| (tables[0], row)), None, &still);
                continue;
            };
            let before = left.rows.get(&record).map(|&task| (tasks, task));
            merge_states(out, row, before, Some((tables[1], record)), &self.times);
            if let Some((tasks, task)) = before {
                let whole = sum(out.raw(Column::CPU_NS, row), known(tasks.raw(Column::CPU_NS, task)));
                out.set_raw(Column::CPU_NS, row, whole);
                for column in Column::BOOKED_OF_DEAD {
                    let grown = column.growth().map_or(ABSENT, |growth| tasks.raw(growth, task));
                    out.set_raw(column, row, sum(out.raw(column, row), grown));
                }
                copy_rests_at_start(out, row, tasks, task);
            }
        }
        replace_heirs(out, &self.deaths, |row| pairs[row].later.is_none(), |_| None);
    }

    /// Rows of both, one for all that these columns name alike.
    fn merge_named(&mut self, section: Section, names: [Column; 2]) {
        let tables = self.tables(section);
        let name = |table: &Table, row: usize| -> Id { names.map(|column| table.raw(column, row)).into() };
        let named = tables.map(|table| (0..table.len()).map(|row| name(table, row)).collect::<Vec<Id>>());
        let mut index = Index::new(&named[1]);
        let mut is_paired = vec![false; named[1].len()];
        let mut pairs = Vec::new();
        for (row, own) in named[0].iter().enumerate() {
            let later = index.take(*own);
            if let Some(later) = later {
                is_paired[later] = true;
            }
            pairs.push(Pair { earlier: Some(row), later, ..Pair::default() });
        }
        pairs.extend(unpaired(&is_paired));
        let key = |pair: &Pair| match (pair.earlier, pair.later) {
            (Some(row), _) => named[0][row],
            (None, Some(row)) => named[1][row],
            (None, None) => (ABSENT, 0),
        };
        pairs.sort_by_key(key);
        merge_columns(self.out.table_mut(section), tables, &pairs, &mut self.texts);
    }

    /// Of the rows of a section, those of the earlier that `is_kept` says, and all of the later.
    fn merge_lists(&mut self, section: Section, is_kept: impl Fn(&Table, usize) -> bool) {
        let tables = self.tables(section);
        let mut pairs = one_after_the_other(tables);
        pairs.retain(|pair| pair.earlier.is_none_or(|row| is_kept(tables[0], row)));
        merge_columns(self.out.table_mut(section), tables, &pairs, &mut self.texts);
    }

    /// Those of the later, and those of the earlier whose rows are of that alone.
    fn merge_from_procfs(&mut self) {
        let tids = |frame: &Frame| {
            let mut tids = HashSet::new();
            for table in [Section::Processes, Section::Tasks].map(|section| frame.table(section)) {
                tids.extend((0..table.len()).map(|row| table.raw(Column::TID, row)));
            }
            tids
        };
        let (later, whole) = (tids(self.frames[1]), tids(&self.out));
        let told = self.frames[1].table(Section::FromProcfs);
        let told: HashSet<u64> = (0..told.len()).map(|row| told.raw(Column::TID, row)).collect();
        self.merge_lists(Section::FromProcfs, |table, row| {
            let tid = table.raw(Column::TID, row);
            whole.contains(&tid) && !later.contains(&tid) && !told.contains(&tid)
        });
        let out = self.out.table_mut(Section::FromProcfs);
        let mut tids: Vec<u64> = (0..out.len()).map(|row| out.raw(Column::TID, row)).collect();
        tids.sort_unstable();
        out.fill_raw(Column::TID, tids.into_iter());
    }

    /// The sum of both, if both know it. That of too many cgroups is that of the others.
    fn merge_pairs(&mut self) {
        if self.out.figure(Column::KNOWS_PAIRS) == Some(1) {
            let [earlier, later] = self.frames.map(Frame::pairs);
            self.out.set_pairs(&earlier.and(&later));
        }
    }

    /// The sum of both, if both know it, with texts of its own.
    fn disks(&mut self) {
        if self.out.figure(Column::KNOWS_DISKS) == Some(1) {
            let [mut both, later] = self.frames.map(Frame::disks);
            both.add(&later, MOST_DISKS);
            self.out.set_disks(&both);
        }
    }

    /// Likewise.
    fn wire(&mut self) {
        if self.out.figure(Column::KNOWS_WIRE) == Some(1) {
            let [earlier, later] = self.frames.map(Frame::wire);
            self.out.set_wire(&earlier.and(&later));
        }
    }

    /// The figures of the interval, and what was blocked in all of it.
    fn merge_interval(&mut self) {
        let one = [Pair { earlier: Some(0), later: Some(0), ..Pair::default() }];
        let tables = self.tables(Section::Interval);
        merge_columns(self.out.table_mut(Section::Interval), tables, &one, &mut self.texts);
        let blocked = self.tables(Section::Blocked);
        let length_ns = self.times.earlier_ns.saturating_add(self.times.later_ns);
        let is_kept = |row: &usize| {
            blocked[1].get(Column::BLOCKED_FOR_NS, *row).is_some_and(|blocked_ns| blocked_ns >= length_ns)
        };
        let knows = self.out.figure(Column::KNOWS_BLOCKED) == Some(1);
        let listed = if knows { blocked[1].len() } else { 0 };
        let rows: Vec<usize> = (0..listed).filter(is_kept).collect();
        let pair = |&row: &usize| Pair { later: Some(row), ..Pair::default() };
        let pairs: Vec<Pair> = rows.iter().map(pair).collect();
        merge_columns(self.out.table_mut(Section::Blocked), blocked, &pairs, &mut self.texts);
        let counts = self.frames.map(|frame| frame.figure(Column::BLOCKED_TASKS));
        let is_whole = counts[1].is_some_and(|count| count <= blocked[1].len() as u64);
        let count = match counts {
            _ if !knows => counts[1].map(|_| 0),
            // The list has those for longest, so that what it does not have is shorter blocked than what was dropped.
            _ if is_whole || rows.len() < listed => Some(rows.len() as u64),
            // At most.
            [Some(earlier), Some(later)] => Some(earlier.min(later)),
            _ => None,
        };
        self.out.set_figure(Column::BLOCKED_TASKS, count);
    }
}

/// 0 where a time is absent: it counts as none in sums.
fn known(raw: u64) -> u64 {
    if raw == ABSENT { 0 } else { raw }
}

/// A pair for each row of the later table that has none.
fn unpaired(is_paired: &[bool]) -> impl Iterator<Item = Pair> {
    let rows = is_paired.iter().enumerate().filter(|(_, is_paired)| !**is_paired);
    rows.map(|(row, _)| Pair { later: Some(row), ..Pair::default() })
}

/// All rows of the earlier, then all of the later.
fn one_after_the_other(tables: [&Table; 2]) -> Vec<Pair> {
    let earlier = (0..tables[0].len()).map(|row| Pair { earlier: Some(row), ..Pair::default() });
    let later = (0..tables[1].len()).map(|row| Pair { later: Some(row), ..Pair::default() });
    earlier.chain(later).collect()
}

/// The leader of each process before its other threads.
fn order(pid: u64, (tid, start): Id) -> (u64, bool, u64, u64) {
    (pid, tid != pid, tid, start)
}

fn sort(pairs: &mut [Pair], tables: [&Table; 2]) {
    pairs.sort_by_key(|pair| {
        let (table, row) = match (pair.earlier, pair.later) {
            (_, Some(row)) => (tables[1], row),
            (Some(row), None) => (tables[0], row),
            (None, None) => return order(ABSENT, (ABSENT, ABSENT)),
        };
        let raw = |column| table.raw(column, row);
        order(raw(Column::PID), (raw(Column::TID), raw(Column::START_TIME_NS)))
    });
}

/// Adds heirs of which neither frame has a row.
fn add_heirs(all: &mut Vec<(Id, Pair)>, inherited: &HashMap<Id, Used>) {
    let listed: HashSet<Id> = all.iter().map(|(id, _)| *id).collect();
    let missing = inherited.iter().filter(|(heir, left)| left.cpu_ns > 0 && !listed.contains(*heir));
    all.extend(missing.map(|(heir, _)| (*heir, Pair::default())));
    all.sort_by_key(|(id, _)| order(id.0, *id));
}

/// Moves the time of threads that died, and adds what the process inherits.
fn settle_parts(out: &mut Table, row: usize, threads: Option<&Used>, inherited: Option<&Used>) {
    let [cpu_ns, self_ns, of_threads, of_children] = PARTS.map(|column| out.raw(column, row));
    let moved_ns = threads.map_or(0, |threads| threads.cpu_ns.min(known(self_ns)));
    let inherited_ns = inherited.map_or(0, |inherited| inherited.cpu_ns);
    let add = |part: u64, ns: u64| if ns == 0 { part } else { sum(known(part), ns) };
    let parts = [
        add(cpu_ns, inherited_ns),
        if moved_ns == 0 { self_ns } else { self_ns - moved_ns },
        add(of_threads, moved_ns),
        add(of_children, inherited_ns),
    ];
    for (column, part) in PARTS.into_iter().zip(parts) {
        out.set_raw(column, row, part);
    }
    let mut add = |column, ns| out.set_raw(column, row, sum(out.raw(column, row), ns));
    if let Some(inherited) = inherited {
        add(Column::EXITED_CHILDREN_STOLEN_NS, inherited.stolen_ns);
        add(Column::EXITED_CHILDREN_USER_NS, inherited.user_ns);
        for (column, booked) in BOOKED.iter().zip(&inherited.booked) {
            add(*column, *booked);
        }
    }
    if let Some(threads) = threads {
        add(Column::EXITED_THREADS_STOLEN_NS, threads.stolen_ns);
        add(Column::EXITED_THREADS_USER_NS, threads.user_ns);
        let own = out.raw(Column::SELF_USER_NS, row);
        let is_known = own != ABSENT && threads.user_ns != ABSENT;
        let own = if is_known { own.saturating_sub(threads.user_ns) } else { ABSENT };
        out.set_raw(Column::SELF_USER_NS, row, own);
    }
}

/// Which process a row is of that tells nothing else but CPU time.
fn tell_bare(out: &mut Table, row: usize, id: Id) {
    out.set_raw(Column::TID, row, id.0);
    out.set_raw(Column::PID, row, id.0);
    out.set_raw(Column::START_TIME_NS, row, id.1);
    out.set_raw(Column::IS_BARE, row, 1);
    for part in PARTS {
        out.set_raw(part, row, known(out.raw(part, row)));
    }
}

/// The states of rows of processes or tasks, and what follows from them.
fn finish_rows(out: &mut Table, tables: [&Table; 2], pairs: &[Pair], times: &Times) {
    for (row, pair) in pairs.iter().enumerate() {
        let [earlier, later] = pair.details();
        let (earlier, later) = (earlier.map(|row| (tables[0], row)), later.map(|row| (tables[1], row)));
        merge_states(out, row, earlier, later, times);
    }
    grow_by_wait(out);
}

/// How a dead task rested when the earlier interval began.
fn copy_rests_at_start(out: &mut Table, row: usize, tasks: &Table, task: usize) {
    for column in Column::OFF_AT_START {
        out.set_raw(column, row, tasks.raw(column, task));
    }
}

/// Heirs that died in the later interval, in the rows that are older: each has its own heir.
fn replace_heirs(
    out: &mut Table,
    deaths: &Deaths,
    is_older: impl Fn(usize) -> bool,
    id_of: impl Fn(usize) -> Option<Id>,
) {
    for row in (0..out.len()).filter(|row| is_older(*row)) {
        let pid = out.raw(Column::ACCOUNTING_PPID, row);
        if pid == ABSENT {
            continue;
        }
        let Some(heir) = deaths.heir_after(pid, out.raw(Column::ACCOUNTING_START_NS, row)) else { continue };
        let heir = if Some(heir) == id_of(row) { (ABSENT, ABSENT) } else { heir };
        out.set_raw(Column::ACCOUNTING_PPID, row, heir.0);
        out.set_raw(Column::ACCOUNTING_START_NS, row, heir.1);
    }
}
