//! Living processes by their pids, for the ancestors of rows: most of them sleep, and have no row.

use std::fs;

use cpuledger_model::framing::Ancestor;
use cpuledger_model::make;
use cpuledger_model::task::Pid;
use cpuledger_proc::task::stat::parse_stat;
use rustc_hash::FxHashMap;

use cpuledger_model::boottime::{Boottime, TICK_NS};

/// Number of frames after which a process is read again: its pid may be another's, and its parent may have died.
const GOOD_FOR_FRAMES: u64 = 16;

/// Processes that are remembered; beyond that those are forgotten that were not asked for last time, and then all.
const MOST: usize = 16_384;

#[derive(Debug)]
struct Known {
    read: u64,
    seen: u64,
    of: Option<Ancestor>,
}

/// What is known of processes.
#[derive(Debug, Default)]
pub struct Ancestors {
    frame: u64,
    known: FxHashMap<Pid, Known>,
}

impl Ancestors {
    /// The next frame begins.
    pub fn begin(&mut self) {
        self.frame += 1;
        if self.known.len() >= MOST {
            let frame = self.frame;
            self.known.retain(|_, known| known.seen + 1 >= frame);
            if self.known.len() >= MOST {
                self.known.clear();
            }
        }
    }

    /// The process of this pid, if it lives.
    pub fn find(&mut self, pid: Pid) -> Option<&Ancestor> {
        let frame = self.frame;
        let is_old = |known: &Known| frame - known.read >= GOOD_FOR_FRAMES;
        if self.known.get(&pid).is_none_or(is_old) {
            self.known.insert(pid, Known { read: frame, seen: frame, of: read(pid) });
        }
        let known = self.known.get_mut(&pid)?;
        known.seen = frame;
        known.of.as_ref()
    }
}

fn read(pid: Pid) -> Option<Ancestor> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = parse_stat(&stat)?;
    let start = Boottime::from_ns(stat.start_ticks.saturating_mul(TICK_NS));
    Some(make!(Ancestor { pid, start, ppid: Pid(stat.ppid), comm: stat.comm.to_vec() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_and_its_parent_are_found_and_no_other() {
        let mut ancestors = Ancestors::default();
        ancestors.begin();
        let own = Pid(std::process::id().cast_signed());
        let found = ancestors.find(own).expect("it lives").clone();
        assert_eq!(found.ppid, Pid(std::os::unix::process::parent_id().cast_signed()));
        assert!(found.start > Boottime::from_ns(0) && !found.comm.is_empty());
        assert!(ancestors.find(found.ppid).is_some());
        assert_eq!(ancestors.find(Pid(0)), None);
        assert_eq!(ancestors.find(Pid(i32::MAX)), None);
    }
}
