//! The guard that raises limits and restores them, for any number of holders.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::process::geteuid;

use super::{Limits, PID_MAX, PID_MAX_LIMIT, THREADS_MAX, read_number, room_for};
use crate::Error;

/// Higher kernel.pid_max and kernel.threads-max for as long as it lives.
///
/// Several guards may live at once, in one process or many: the last one restores, also what a killed holder
/// left. A value that another process has set meanwhile stays. Two files of at most a few bytes remain in /run.
///
/// Must be dropped after the tasks that need it; a limit lowered under living tasks harms none of them, but
/// may keep all from forking.
#[derive(Debug)]
pub struct RaisedLimits {
    _held: Option<Held>,
}

impl RaisedLimits {
    /// Makes room for `threads` more threads; without privilege, only checks that there is room.
    ///
    /// # Errors [`Error::NoRoom`] with the limit that is in the way: one of the two, without privilege, or
    /// another one.
    pub fn for_threads(threads: usize) -> Result<RaisedLimits, Error> {
        let needed = Limits::read()?.needed(threads as u64);
        let held = match geteuid().is_root() {
            true => Some(Held::take(state_folder(), kernel_knobs(), needed)?),
            false => None,
        };
        let guard = RaisedLimits { _held: held };
        room_for(threads)?;
        Ok(guard)
    }
}

/// Emptied when the machine starts, on most machines; if not, stale values are known by the limit being
/// another.
fn state_folder() -> PathBuf {
    let run = PathBuf::from("/run");
    if run.is_dir() { run } else { std::env::temp_dir() }
}

/// threads-max has no limit that a test could reach.
fn kernel_knobs() -> [Knob; 2] {
    let knob = |path: &str, most| Knob { path: PathBuf::from(path), most };
    [knob(PID_MAX, PID_MAX_LIMIT), knob(THREADS_MAX, u64::from(u32::MAX >> 2))]
}

/// A file with a limit in it.
#[derive(Debug)]
struct Knob {
    path: PathBuf,
    most: u64,
}

/// What was done to a knob: valid as long as it still has the raised value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Change {
    old: u64,
    raised: u64,
}

/// A share (a shared lock) of the file that keeps the changes. Holders take turns in changing anything.
#[derive(Debug)]
struct Held {
    changes: File,
    folder: PathBuf,
    knobs: [Knob; 2],
}

impl Held {
    fn take(folder: PathBuf, knobs: [Knob; 2], needed: u64) -> Result<Held, Error> {
        let turn = take_turn(&folder)?;
        let changes = open(&folder.join("cpuledger-load.limits"))?;
        flock(&changes, FlockOperation::LockShared).map_err(Error::system("hold the limits"))?;
        let mut held = Held { changes, folder, knobs };
        let raised = held.raise(needed);
        // Dropping `held` needs the turn.
        drop(turn);
        raised.map(|()| held)
    }

    fn raise(&mut self, needed: u64) -> Result<(), Error> {
        let mut changes = self.read_changes()?;
        for (knob, change) in self.knobs.iter().zip(&mut changes) {
            let now = read_number(&knob.path)?;
            let valid = change.filter(|change| change.raised == now);
            *change = match now < needed {
                // Twice as many, so that pids are not searched for long.
                true => Some(Change {
                    old: valid.map_or(now, |change| change.old),
                    raised: knob.most.min(2 * needed),
                }),
                false => valid,
            };
        }
        // First written down, then done: a change that was not done is not valid.
        self.write_changes(changes)?;
        for (knob, change) in self.knobs.iter().zip(changes) {
            if let Some(change) = change {
                write_number(&knob.path, change.raised)?;
            }
        }
        Ok(())
    }

    fn restore_if_last(&mut self) -> Result<(), Error> {
        let _turn = take_turn(&self.folder)?;
        if flock(&self.changes, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Ok(()); // There is another holder, which will.
        }
        let changes = self.read_changes()?;
        for (knob, change) in self.knobs.iter().zip(changes) {
            match change {
                Some(change) if read_number(&knob.path)? == change.raised => {
                    write_number(&knob.path, change.old)?
                }
                _ => {}
            }
        }
        self.write_changes([None; 2])
    }

    /// One line for each knob: the old and the raised value, or nothing.
    fn read_changes(&mut self) -> Result<[Option<Change>; 2], Error> {
        let mut text = String::new();
        let read = self.changes.rewind().and_then(|()| self.changes.read_to_string(&mut text));
        read.map_err(Error::system("read the old limits"))?;
        let mut lines = text.lines().map(|line| {
            let (old, raised) = line.split_once(' ')?;
            Some(Change { old: old.parse().ok()?, raised: raised.parse().ok()? })
        });
        Ok(std::array::from_fn(|_| lines.next().flatten()))
    }

    fn write_changes(&mut self, changes: [Option<Change>; 2]) -> Result<(), Error> {
        let line =
            |change: Option<Change>| change.map_or(String::new(), |c| format!("{} {}", c.old, c.raised));
        let text = changes.map(|change| line(change) + "\n").concat();
        let file = &mut self.changes;
        let written =
            file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(text.as_bytes()));
        written.map_err(Error::system("write down the old limits"))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Err(error) = self.restore_if_last() {
            eprintln!("kernel.pid_max and kernel.threads-max stay raised: {error}");
        }
    }
}

/// The right to look at and change the limits, until dropped.
fn take_turn(folder: &Path) -> Result<File, Error> {
    let turn = open(&folder.join("cpuledger-load.turn"))?;
    flock(&turn, FlockOperation::LockExclusive).map_err(Error::system("take turns with other workloads"))?;
    Ok(turn)
}

fn open(path: &Path) -> Result<File, Error> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    options.custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
    options.open(path).map_err(Error::system(format!("open {}", path.display())))
}

fn write_number(path: &Path, number: u64) -> Result<(), Error> {
    fs::write(path, format!("{number}\n"))
        .map_err(Error::system(format!("write {number} to {}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files in place of the kernel's, with 32,768 and 50,000 in them, in a folder of their own.
    struct Machine(PathBuf);

    impl Machine {
        fn new(name: &str) -> Machine {
            let folder = std::env::temp_dir().join(format!("cpuledger-load.{name}.{}", std::process::id()));
            fs::create_dir(&folder).expect("a new folder");
            let machine = Machine(folder);
            machine.set([32_768, 50_000]);
            machine
        }

        fn paths(&self) -> [PathBuf; 2] {
            [self.0.join("pid_max"), self.0.join("threads-max")]
        }

        fn set(&self, values: [u64; 2]) {
            for (path, value) in self.paths().iter().zip(values) {
                write_number(path, value).expect("a writable file");
            }
        }

        fn values(&self) -> [u64; 2] {
            self.paths().map(|path| read_number(&path).expect("a number"))
        }

        fn hold(&self, needed: u64) -> Held {
            let knobs = self.paths().map(|path| Knob { path, most: PID_MAX_LIMIT });
            Held::take(self.0.clone(), knobs, needed).expect("limits that can be raised")
        }
    }

    impl Drop for Machine {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).expect("a folder that can be removed");
        }
    }

    #[test]
    fn only_what_is_too_low_is_raised_and_restored() {
        let machine = Machine::new("raised");
        let held = machine.hold(40_000);
        assert_eq!(machine.values(), [80_000, 50_000]);
        drop(held);
        assert_eq!(machine.values(), [32_768, 50_000]);
    }

    #[test]
    fn the_last_holder_restores_what_the_first_one_found() {
        let machine = Machine::new("holders");
        let first = machine.hold(40_000);
        let second = machine.hold(100_000);
        assert_eq!(machine.values(), [200_000, 200_000]);
        drop(first);
        assert_eq!(machine.values(), [200_000, 200_000]);
        drop(second);
        assert_eq!(machine.values(), [32_768, 50_000]);
    }

    #[test]
    fn what_others_set_meanwhile_stays() {
        let machine = Machine::new("meanwhile");
        let held = machine.hold(100_000);
        machine.set([PID_MAX_LIMIT, 200_000]);
        drop(held);
        assert_eq!(machine.values(), [PID_MAX_LIMIT, 50_000]);
    }

    #[test]
    fn what_a_killed_holder_left_is_restored_by_the_next() {
        let machine = Machine::new("killed");
        let killed = machine.hold(100_000);
        flock(&killed.changes, FlockOperation::Unlock).expect("a lock that can be given up");
        std::mem::forget(killed);
        drop(machine.hold(10));
        assert_eq!(machine.values(), [32_768, 50_000]);
    }

    #[test]
    fn the_kernel_s_own_limit_is_kept() {
        let machine = Machine::new("most");
        let _held = machine.hold(4_000_000);
        assert_eq!(machine.values(), [PID_MAX_LIMIT, PID_MAX_LIMIT]);
    }
}
