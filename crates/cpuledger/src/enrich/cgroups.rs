//! Paths of cgroups by their numbers, for rows in groups. A row has the numbers, and the file of a living process has the paths.
//!
//! If the cpu controller has a hierarchy of its own (cgroups 1), CPU time is divided by that one; the unified one of such a machine
//! mostly has all processes in `/`. Numbers may be reused (those of cgroups 1), a directory may be renamed, and a pid may belong to
//! another process in another cgroup. So a path counts only if it was read from the process of the row, and is read again later.

use std::fs;
use std::sync::Arc;

use cpuledger_proc::task::cgroup::path_of_cpu_time;
use rustc_hash::FxHashMap;

use crate::enrich::identity::has_started;
use crate::field::Field;
use crate::frames::CgroupIds;
use crate::task::Task;

/// The numbers of the cgroups of a task: in the unified hierarchy and in that of the cpu controller, as far as they are known.
pub type Key = CgroupIds;

/// Paths by the numbers of their cgroups.
pub type Paths = FxHashMap<Key, String>;

/// Cgroups whose paths are remembered; beyond that those that no row had last time are forgotten, and then all.
const MOST: usize = 16_384;

/// Number of frames after which a path is read again.
const GOOD_FOR_FRAMES: u64 = 64;

/// Number of frames after which a failed read is tried again.
const RETRY_AFTER_FRAMES: u64 = 8;

/// The numbers of a row; `None`: its source knows none.
pub fn key(row: &Task) -> Option<Key> {
    let known = |field, number| row.known.contains(field).then_some(number);
    let key = (known(Field::CgroupId, row.cgroup_id), known(Field::CgroupV1CpuId, row.cgroup_v1_cpu_id));
    (key != (None, None)).then_some(key)
}

/// When a cgroup was read, and when a row had it.
#[derive(Debug, Clone, Copy)]
struct Known {
    read: u64,
    seen: u64,
    has_path: bool,
}

/// The paths.
#[derive(Debug, Default)]
pub struct Cgroups {
    frame: u64,
    known: FxHashMap<Key, Known>,
    paths: Arc<Paths>,
}

impl Cgroups {
    /// The next frame begins.
    pub fn begin(&mut self) {
        self.frame += 1;
    }

    /// The paths by now, to be kept beside a frame.
    pub fn paths(&self) -> Arc<Paths> {
        Arc::clone(&self.paths)
    }

    /// Takes paths that were recorded, in the place of all others: numbers may be of another boot.
    pub fn take_recorded(&mut self, paths: &[(CgroupIds, Vec<u8>)]) {
        self.known.clear();
        let text = |path: &Vec<u8>| String::from_utf8(path.clone()).ok();
        self.paths = Arc::new(paths.iter().filter_map(|(ids, path)| Some((*ids, text(path)?))).collect());
    }

    /// Reads the path of the cgroup of a row, unless it is known.
    pub fn learn(&mut self, row: &Task) {
        self.learn_by(row, |row| {
            let directory = format!("/proc/{}/task/{}", row.pid, row.tid);
            let text = fs::read(format!("{directory}/cgroup")).ok()?;
            // Read after that file: the process that has the number now had it then, or none had.
            let stat = fs::read(format!("{directory}/stat")).ok()?;
            let path = str::from_utf8(path_of_cpu_time(&text)?).ok()?;
            has_started(row.start_time_ns, &stat).then(|| path.to_owned())
        });
    }

    fn learn_by(&mut self, row: &Task, read: impl FnOnce(&Task) -> Option<String>) {
        let Some(key) = key(row) else { return };
        let frame = self.frame;
        if let Some(known) = self.known.get_mut(&key) {
            known.seen = frame;
            let good_for = if known.has_path { GOOD_FOR_FRAMES } else { RETRY_AFTER_FRAMES };
            if frame - known.read < good_for {
                return;
            }
        } else if self.known.len() >= MOST {
            self.make_room();
        }
        let path = read(row);
        // A path that is known does not become unknown because one process is gone.
        let has_path = path.is_some() || self.paths.contains_key(&key);
        if let Some(path) = path
            && self.paths.get(&key) != Some(&path)
        {
            Arc::make_mut(&mut self.paths).insert(key, path);
        }
        self.known.insert(key, Known { read: frame, seen: frame, has_path });
    }

    fn make_room(&mut self) {
        let frame = self.frame;
        self.known.retain(|_, known| known.seen + 1 >= frame);
        if self.known.len() >= MOST {
            self.known.clear();
        }
        let known = &self.known;
        Arc::make_mut(&mut self.paths).retain(|key, _| known.contains_key(key));
    }
}

#[cfg(test)]
mod tests {
    use cpuledger_proc::task::stat::parse_stat;

    use super::*;
    use crate::clock::{Boottime, TICK_NS};
    use crate::field::FieldSet;
    use crate::task::{Pid, Tid};

    const BOTH: FieldSet = FieldSet::of(&[Field::CgroupId, Field::CgroupV1CpuId]);

    fn row(number: u64) -> Task {
        Task { known: BOTH, cgroup_id: 1, cgroup_v1_cpu_id: number, ..Task::default() }
    }

    #[test]
    fn rows_are_told_apart_by_both_numbers() {
        assert_ne!(key(&row(5)), key(&row(6)));
        assert_eq!(key(&Task { known: FieldSet::EMPTY, ..row(5) }), None);
        let of_v1 = Task { known: FieldSet::of(&[Field::CgroupV1CpuId]), ..row(5) };
        assert_eq!(key(&of_v1), Some((None, Some(5))));
    }

    #[test]
    fn a_failed_read_is_tried_again_and_a_path_that_is_old_read_anew() {
        let mut cgroups = Cgroups::default();
        let mut reads = 0;
        let mut learn = |cgroups: &mut Cgroups, path: Option<&str>| {
            cgroups.begin();
            cgroups.learn_by(&row(5), |_| {
                reads += 1;
                path.map(str::to_owned)
            });
            (reads, cgroups.paths.get(&(Some(1), Some(5))).cloned())
        };
        assert_eq!(learn(&mut cgroups, None), (1, None));
        for _ in 1..RETRY_AFTER_FRAMES {
            assert_eq!(learn(&mut cgroups, Some("/a")), (1, None));
        }
        for _ in 0..GOOD_FOR_FRAMES {
            assert_eq!(learn(&mut cgroups, Some("/a")), (2, Some("/a".to_owned())));
        }
        assert_eq!(learn(&mut cgroups, None), (3, Some("/a".to_owned())), "one process that is gone");
        for _ in 1..GOOD_FOR_FRAMES {
            learn(&mut cgroups, Some("/b"));
        }
        assert_eq!(learn(&mut cgroups, Some("/b")), (4, Some("/b".to_owned())), "it was renamed");
    }

    #[test]
    fn a_reused_pid_does_not_answer_for_the_row() {
        let mut cgroups = Cgroups::default();
        let myself = std::process::id() as i32;
        let mut row = Task { pid: Pid(myself), tid: Tid(myself), ..row(5) };
        cgroups.learn(&row);
        assert!(cgroups.paths().is_empty(), "it began with the machine, and we did not");
        let stat = fs::read(format!("/proc/{myself}/stat")).expect("we live");
        row.start_time_ns = Boottime::from_ns(parse_stat(&stat).expect("a stat").start_ticks * TICK_NS + 7);
        row.cgroup_v1_cpu_id = 6;
        cgroups.learn(&row);
        let text = fs::read("/proc/self/cgroup").expect("we live");
        let paths = cgroups.paths();
        let path = paths.get(&(Some(1), Some(6))).map(|path| path.as_bytes());
        assert_eq!(path, path_of_cpu_time(&text));
    }

    #[test]
    fn no_more_are_remembered_than_there_is_room_for() {
        let mut cgroups = Cgroups::default();
        for number in 0..3 * MOST as u64 {
            cgroups.begin();
            cgroups.learn_by(&row(number), |_| Some(number.to_string()));
            assert!(cgroups.known.len() <= MOST && cgroups.paths.len() <= MOST);
        }
        assert!(cgroups.paths.contains_key(&(Some(1), Some(3 * MOST as u64 - 1))));
        cgroups.begin();
        for number in 0..2 * MOST as u64 {
            cgroups.learn_by(&row(number), |_| Some(number.to_string()));
        }
        assert!(cgroups.known.len() <= MOST, "of one frame");
    }
}
