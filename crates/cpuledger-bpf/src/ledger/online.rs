//! Which CPUs are online, and a visit to each of them.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::thread;

use rustix::thread::{CpuSet, sched_setaffinity};

use crate::threads::spawn_scoped;

/// A list like `0-3,8`; longer ones than this are not of this world.
const LIST_BYTES: usize = 4096;

/// The kernel's list of online CPUs, read when it may have changed.
pub(super) struct Online {
    /// None: /sys is not mounted, and all CPUs are taken to be online.
    list: Option<File>,
    /// The hook's count of changes before the list was read last; None: it has not been read.
    read_at: Option<u64>,
}

impl Online {
    pub(super) fn open() -> Online {
        Online { list: File::open("/sys/devices/system/cpu/online").ok(), read_at: None }
    }

    /// Sets `online[cpu]` for each CPU that `online` has room for, unless it is as it was left. `changes` is what the hook has
    /// counted so far; None: there is no such hook, and the list is read each time.
    pub(super) fn read(&mut self, online: &mut [bool], changes: Option<u64>) {
        if changes.is_some() && changes == self.read_at {
            return;
        }
        self.read_at = changes;
        let mut bytes = [0; LIST_BYTES];
        let length = self.list.as_ref().and_then(|list| list.read_at(&mut bytes, 0).ok()).unwrap_or(0);
        let text = String::from_utf8_lossy(&bytes[..length]);
        online.fill(length == 0);
        for (first, last) in ranges(&text) {
            online.iter_mut().take(last + 1).skip(first).for_each(|cpu| *cpu = true);
        }
    }
}

fn ranges(list: &str) -> impl Iterator<Item = (usize, usize)> {
    list.trim().split(',').filter_map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some((first.parse().ok()?, last.parse().ok()?))
    })
}

/// Makes each of these CPUs switch, by running a thread there for a moment. A CPU where that is not allowed comes into the
/// books at its own next switch.
pub(super) fn visit(online: &[bool]) {
    let cpus = online.iter().enumerate().filter(|(_, online)| **online).map(|(cpu, _)| cpu);
    thread::scope(|scope| {
        // Where no thread can be had, each CPU comes into the books at its own next switch.
        let _ = spawn_scoped(scope, || {
            for cpu in cpus.take_while(|cpu| *cpu < CpuSet::MAX_CPU) {
                let mut only = CpuSet::new();
                only.set(cpu);
                let _ = sched_setaffinity(None, &only);
            }
        });
    });
}

#[cfg(test)]
mod tests {
    use super::{Online, ranges};

    #[test]
    fn lists_of_cpus() {
        assert_eq!(ranges("0-3,8,10-11\n").collect::<Vec<_>>(), [(0, 3), (8, 8), (10, 11)]);
        assert_eq!(ranges("0\n").collect::<Vec<_>>(), [(0, 0)]);
        assert_eq!(ranges("").count(), 0);
    }

    #[test]
    fn the_list_is_read_only_when_it_may_have_changed() {
        let mut online = Online::open();
        let mut list = |changes| {
            let mut cpus = [false; 4096];
            online.read(&mut cpus, changes);
            cpus.contains(&true)
        };
        assert!(list(Some(0)), "the first time");
        assert!(!list(Some(0)));
        assert!(list(Some(1)));
        assert!(!list(Some(1)));
        // Without the hook.
        assert!(list(None) && list(None));
    }
}
