//! The tasks that did not run. The ledger tells which tasks ran, and that keeps a list of all up to date. There is a walk at the
//! beginning and once a minute. Between walks the work depends only on what ran or died.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cpuledger::interval::Interval;
use cpuledger::source::Source;
use cpuledger::source::choose::open_for_listing;
use cpuledger::{FieldSet, Request, Scope, Snapshot, Task};
use rustc_hash::FxHashMap;

use super::frame::{Asleep, Kind};

/// How long the figures of a sleeping task may be old: it may be given another nice value or other memory.
const LONGEST_WITHOUT_WALK: Duration = Duration::from_secs(60);

/// Maximum number of tasks, beyond an eighth of all, that may have run since the walk; each of them is in every frame twice.
const MOST_LATE: usize = 4096;

/// The list of all, and what has changed since it was made.
pub struct IdleTaskCache {
    source: Box<dyn Source>,
    fields: FieldSet,
    walked: Arc<Snapshot>,
    walked_at: Instant,
    walk: u64,
    is_stale: bool,
    processes: Since,
    tasks: Since,
}

/// What has changed of one kind, by pid or tid.
#[derive(Default)]
struct Since {
    places: FxHashMap<i32, u32>,
    gone: Vec<bool>,
    late: FxHashMap<i32, (u64, Task)>,
    interval: u64,
}

impl Since {
    fn begin(&mut self, numbers: impl ExactSizeIterator<Item = i32>) {
        self.gone.clear();
        self.gone.resize(numbers.len(), false);
        self.late.clear();
        self.places.clear();
        self.places.extend(numbers.zip(0..));
    }

    fn leave(&mut self, number: i32) {
        if let Some(&place) = self.places.get(&number) {
            self.gone[place as usize] = true;
        }
        self.late.remove(&number);
    }

    fn run(&mut self, number: i32, row: &Task) {
        self.leave(number);
        self.late.insert(number, (self.interval, *row));
    }

    /// Those that ran before this interval and not in it, by number.
    fn late(&self) -> Vec<Task> {
        let rows = self.late.values().filter(|(interval, _)| *interval != self.interval);
        let mut rows: Vec<Task> = rows.map(|(_, row)| *row).collect();
        rows.sort_unstable_by_key(|row| (row.pid, row.tid));
        rows
    }
}

impl IdleTaskCache {
    /// Opens what can list all.
    ///
    /// # Errors
    /// When nothing can.
    pub fn open(fields: FieldSet) -> Result<IdleTaskCache, cpuledger::Error> {
        let request = Request::new(Scope::Tasks, FieldSet::ALL);
        Ok(IdleTaskCache::of(open_for_listing(None, &request)?, fields))
    }

    fn of(source: Box<dyn Source>, fields: FieldSet) -> IdleTaskCache {
        IdleTaskCache {
            source,
            fields,
            walked: Arc::default(),
            walked_at: Instant::now(),
            walk: 0,
            is_stale: true,
            processes: Since::default(),
            tasks: Since::default(),
        }
    }

    /// Other fields are wanted.
    pub fn set_fields(&mut self, fields: FieldSet) {
        self.is_stale |= fields.without(self.fields) != FieldSet::EMPTY;
        self.fields = fields;
    }

    /// The number of the last walk.
    pub fn walk(&self) -> u64 {
        self.walk
    }

    /// Takes what an interval tells.
    ///
    /// # Errors
    /// When the source fails.
    pub fn follow(&mut self, interval: &Interval) -> Result<(), cpuledger::Error> {
        self.processes.interval += 1;
        self.tasks.interval += 1;
        for exited in interval.exited.iter().flatten() {
            let exit = &exited.exit;
            self.tasks.leave(exit.task.tid.0);
            if exit.task == exit.process {
                self.processes.leave(exit.process.tid.0);
            }
        }
        self.run(interval);
        let is_told_all = interval.unidentified_exits.unwrap_or(0) == 0 && interval.missed_exits == 0;
        let most_late = MOST_LATE + self.walked.tasks.len() / 8;
        let is_due = !is_told_all
            || self.is_stale
            || self.tasks.late.len() > most_late
            || self.walked_at.elapsed() > LONGEST_WITHOUT_WALK;
        if is_due { self.look(interval) } else { Ok(()) }
    }

    fn run(&mut self, interval: &Interval) {
        interval.processes.iter().for_each(|row| self.processes.run(row.task.pid.0, &row.task));
        interval.tasks.iter().for_each(|row| self.tasks.run(row.task.tid.0, &row.task));
    }

    /// Walks. What ran in the interval has its row there.
    fn look(&mut self, interval: &Interval) -> Result<(), cpuledger::Error> {
        let mut walked = std::mem::take(&mut self.walked);
        // The view may still show the last one.
        let fresh = fresh(&mut walked);
        self.source.snapshot(&Request::new(Scope::Tasks, self.fields), fresh)?;
        fresh.processes.sort_unstable_by_key(|row| row.pid);
        fresh.tasks.sort_unstable_by_key(Task::place_key);
        self.processes.begin(fresh.processes.iter().map(|row| row.pid.0));
        self.tasks.begin(fresh.tasks.iter().map(|row| row.tid.0));
        self.run(interval);
        self.walked = walked;
        self.walked_at = Instant::now();
        self.walk += 1;
        self.is_stale = false;
        Ok(())
    }

    /// What did not run in the interval that was followed last.
    pub fn asleep(&self) -> Asleep {
        let mut asleep = Asleep { walked: Arc::clone(&self.walked), walk: self.walk, ..Asleep::default() };
        for (kind, since) in [(Kind::Process, &self.processes), (Kind::Task, &self.tasks)] {
            asleep.gone[kind as usize].clone_from(&since.gone);
            asleep.late[kind as usize] = since.late();
        }
        asleep
    }
}

/// What is in it, if it is not shared, else a new one.
fn fresh(shared: &mut Arc<Snapshot>) -> &mut Snapshot {
    if Arc::get_mut(shared).is_none() {
        *shared = Arc::default();
    }
    Arc::get_mut(shared).expect("a new one is not shared")
}

#[cfg(test)]
mod tests {
    use cpuledger::interval::{Row, Usage};
    use cpuledger::source::{Exits, SourceKind};
    use cpuledger::{Error, Pid, Tid};
    use cpuledger_model::make;

    use super::*;

    /// Tells of the same tasks at every walk.
    struct Fixed(Vec<i32>);

    fn row(number: i32) -> Task {
        make!(Task { known: FieldSet::ALL, pid: Pid(number), tid: Tid(number) })
    }

    impl Source for Fixed {
        fn kind(&self) -> SourceKind {
            SourceKind::Walk
        }
        fn fields(&self) -> FieldSet {
            FieldSet::ALL
        }
        fn snapshot(&mut self, _: &Request, into: &mut Snapshot) -> Result<(), Error> {
            into.clear();
            into.processes.extend(self.0.iter().map(|&number| row(number)));
            into.tasks.extend(self.0.iter().map(|&number| row(number)));
            Ok(())
        }
        fn exits(&mut self, _: &mut Exits) -> Result<(), Error> {
            Ok(())
        }
    }

    fn listed(asleep: &Asleep) -> Vec<i32> {
        let walked = asleep.walked.tasks.iter().zip(&asleep.gone[1]);
        let walked = walked.filter(|(_, gone)| !**gone).map(|(row, _)| row.tid.0);
        let mut all: Vec<i32> = walked.chain(asleep.late[1].iter().map(|row| row.tid.0)).collect();
        all.sort_unstable();
        all
    }

    #[test]
    fn what_ran_or_died_is_not_asleep_and_what_ran_before_is() {
        let mut cache = IdleTaskCache::of(Box::new(Fixed(vec![1, 2, 3])), FieldSet::ALL);
        let ran = |numbers: &[i32]| -> Vec<Row> {
            numbers.iter().map(|&number| Row::new(row(number), Usage::default())).collect()
        };
        let died = |numbers: &[i32]| {
            let exited = numbers.iter().map(|&number| super::super::fixture::exited(number, "x", 1));
            make!(Interval { exited: Some(exited.collect()) })
        };
        let mut follow = |numbers: &[i32], interval: &Interval| {
            let interval =
                make!(Interval { processes: ran(numbers), tasks: ran(numbers), ..interval.clone() });
            cache.follow(&interval).expect("it is fixed");
            listed(&cache.asleep())
        };
        assert_eq!(follow(&[2], &died(&[])), [1, 3]);
        assert_eq!(follow(&[7], &died(&[])), [1, 2, 3], "2 sleeps again, and 7 is new");
        assert_eq!(follow(&[], &died(&[3])), [1, 2, 7]);
        assert_eq!(follow(&[1], &died(&[7])), [2]);
        let lost = make!(Interval { unidentified_exits: Some(1), exited: Some(Vec::new()) });
        assert_eq!(follow(&[1], &lost), [2, 3], "a walk says which tasks live");
    }
}
