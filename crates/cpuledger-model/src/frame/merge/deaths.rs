//! What died in the later frame.

use std::collections::HashMap;

use super::rows::{Id, Index, ids};
use crate::frame::column::Column;
use crate::frame::error::{Error, ErrorKind};
use crate::frame::sections::{Frame, Section};
use crate::frame::table::ABSENT;

/// The deaths of a frame.
pub(super) struct Deaths {
    /// Records of dead tasks.
    tasks: Index,
    /// The heir of each dead process; `None`: it is not known.
    heirs: HashMap<Id, Option<Id>>,
    /// Dead processes by pid.
    by_pid: HashMap<u64, Id>,
}

impl Deaths {
    pub(super) fn of(frame: &Frame) -> Result<Deaths, Error> {
        let table = frame.table(Section::Exited);
        let tasks = Index::new(&ids(frame, Section::Exited)?);
        let (mut heirs, mut by_pid) = (HashMap::new(), HashMap::new());
        for row in 0..table.len() {
            let raw = |column| table.raw(column, row);
            let process = (raw(Column::PID), raw(Column::PROCESS_START_NS));
            let ends_process = raw(Column::ENDS_PROCESS);
            if process.0 == ABSENT || process.1 == ABSENT || ends_process == ABSENT {
                return Err(Error::of(
                    ErrorKind::NotMerged,
                    "the source did not tell which deaths ended a process, so its frames cannot be merged",
                ));
            }
            if ends_process != 0 {
                let heir = (raw(Column::ACCOUNTING_PPID), raw(Column::ACCOUNTING_START_NS));
                heirs.insert(process, Some(heir).filter(|heir| heir.0 != ABSENT && heir.1 != ABSENT));
                by_pid.entry(process.0).or_insert(process);
            }
        }
        Ok(Deaths { tasks, heirs, by_pid })
    }

    /// The first record of this task that has not been taken.
    pub(super) fn take(&mut self, task: Id) -> Option<usize> {
        self.tasks.take(task)
    }

    /// Whether the process died.
    pub(super) fn has_process(&self, process: Id) -> bool {
        self.heirs.contains_key(&process)
    }

    /// Whether the process died that had this pid when the frame began: it is the first that died under it.
    pub(super) fn has_pid(&self, pid: u64) -> bool {
        self.by_pid.contains_key(&pid)
    }

    /// The heir of a dead process, which lives, or is that process itself where no other is known.
    pub(super) fn heir(&self, process: Id) -> Option<Id> {
        let mut heir = process;
        // As many steps as there are dead would be a circle.
        for _ in 0..=self.heirs.len() {
            match self.heirs.get(&heir) {
                Some(Some(next)) if *next == heir => break,
                Some(Some(next)) => heir = *next,
                Some(None) => return None,
                None => break,
            }
        }
        Some(heir)
    }

    /// The heir of one whose heir this was; `None`: that lives. `start` may be absent.
    pub(super) fn heir_after(&self, pid: u64, start: u64) -> Option<Id> {
        let former = if start == ABSENT { *self.by_pid.get(&pid)? } else { (pid, start) };
        self.heirs.get(&former)?;
        self.heir(former)
    }
}
