//! Whose block I/O the caller may see: what /proc/PID/io guards stays guarded, whatever the source can read.

use std::fs::File;
use std::io::Read;

use cpuledger_model::field::{Field, GUARDED};
use cpuledger_model::task::Task;

use crate::caller::{Caller, caller};

/// What the kernel would show to which user.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IoAccess {
    sees_all: bool,
    uid: u32,
}

impl IoAccess {
    /// Everything, for records without an owner.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) const ALL: IoAccess = IoAccess { sees_all: true, uid: 0 };

    /// The caller's.
    pub(crate) fn of_caller() -> IoAccess {
        let Caller { uid, sees_all_io, .. } = caller();
        IoAccess { sees_all: sees_all_io, uid }
    }

    /// Whether nothing is held back.
    pub(crate) fn is_unlimited(self) -> bool {
        self.sees_all
    }

    /// Whether the task is of the caller's own user; what is not known does not speak against it.
    pub(crate) fn is_own(self, row: &Task) -> bool {
        let is_own = |field, uid| !row.known.contains(field) || uid == self.uid;
        self.sees_all || is_own(Field::Uid, row.uid) && is_own(Field::Euid, row.euid)
    }

    /// Whether the caller may see the I/O of this process: of others' the kernel need not be asked.
    pub(crate) fn permits(self, process: &Task) -> bool {
        let may_read = || {
            let file = File::open(format!("/proc/{}/io", process.pid));
            file.and_then(|mut file| file.read(&mut [0; 8])).is_ok_and(|length| length > 0)
        };
        self.sees_all || self.is_own(process) && may_read()
    }

    /// Makes unknown in a process and its tasks what the caller may not see.
    pub(crate) fn hold_back(self, processes: &mut [Task], tasks: &mut [Task]) {
        if self.sees_all {
            return;
        }
        let mut permitted = rustc_hash::FxHashSet::default();
        for row in processes.iter_mut().filter(|row| row.known.intersects(GUARDED)) {
            if self.permits(row) {
                permitted.insert(row.pid);
            } else {
                row.known = row.known.without(GUARDED);
            }
        }
        for row in tasks.iter_mut().filter(|row| !(permitted.contains(&row.pid) && self.is_own(row))) {
            row.known = row.known.without(GUARDED);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cpuledger_model::field::FieldSet;
    use cpuledger_model::make;
    use cpuledger_model::task::{Pid, Tid};

    fn row(pid: u32, tid: u32, uid: u32) -> Task {
        let (pid, tid) = (Pid(pid.cast_signed()), Tid(tid.cast_signed()));
        make!(Task { known: FieldSet::ALL, pid, tid, uid, euid: uid })
    }

    #[test]
    fn io_of_others_is_held_back_and_ones_own_is_not() {
        let (myself, uid) = (std::process::id(), rustix::process::getuid().as_raw());
        let access = IoAccess { sees_all: false, uid };
        let mut processes =
            [row(myself, myself, uid), row(myself, myself, uid + 1), row(i32::MAX as u32, 1, uid)];
        let mut tasks = [row(myself, myself, uid), row(myself, 1, uid + 1)];
        access.hold_back(&mut processes, &mut tasks);
        assert_eq!(processes.map(|row| row.known.contains(Field::WriteBytes)), [true, false, false]);
        assert_eq!(tasks.map(|row| row.known.contains(Field::WriteBytes)), [true, false]);
        assert_eq!(processes[1].known, FieldSet::ALL.without(GUARDED));
        let mut other = [row(myself, myself, uid + 1)];
        IoAccess::ALL.hold_back(&mut other, &mut []);
        assert_eq!(other[0].known, FieldSet::ALL);
    }
}
