//! Arguments of processes, as far as they are known.

use cpuledger::{Boottime, Comm, Pid, Task, TaskId};
use rustc_hash::FxHashMap;

use crate::cmd::filter::text_of;
use crate::tui::frame::Frame;

/// Arguments that have been read, by process.
#[derive(Debug, Default)]
pub struct Arguments {
    known: FxHashMap<Pid, Known>,
    /// Those that could not be read for the last frame.
    failed: Vec<Pid>,
    /// Together.
    bytes: usize,
    /// There is room for no more.
    is_full: bool,
}

/// Arguments of one process.
#[derive(Debug)]
struct Known {
    start: Boottime,
    /// With another program it has another name.
    comm: Comm,
    read: Boottime,
    cmdline: Box<[u8]>,
}

/// The most that is remembered.
const MOST_ARGUMENTS: usize = 65_536;
const MOST_BYTES: usize = 32 << 20;

impl Arguments {
    /// A further frame begins: what could not be read is tried again. If there is no room left, those of processes that are not in it
    /// are forgotten.
    pub fn begin(&mut self, frame: &Frame) {
        for pid in std::mem::take(&mut self.failed) {
            self.forget(pid);
        }
        if self.is_full {
            let gone: Vec<Pid> =
                self.known.keys().copied().filter(|&pid| frame.process(pid).is_none()).collect();
            gone.into_iter().for_each(|pid| self.forget(pid));
            self.is_full = self.known.len() >= MOST_ARGUMENTS || self.bytes >= MOST_BYTES;
        }
    }

    fn forget(&mut self, pid: Pid) {
        if let Some(known) = self.known.remove(&pid) {
            self.bytes -= known.cmdline.len();
        }
    }

    /// Remembers those of a process that has this name, separated by NUL; `None`: they could not be read.
    pub fn learn(&mut self, process: TaskId, comm: Comm, read: Boottime, cmdline: Option<Box<[u8]>>) {
        let pid = Pid(process.tid.0);
        if cmdline.is_none() {
            self.failed.push(pid);
        }
        let cmdline = cmdline.unwrap_or_default();
        self.forget(pid);
        self.is_full |= self.known.len() >= MOST_ARGUMENTS || self.bytes + cmdline.len() > MOST_BYTES;
        if !self.is_full {
            self.bytes += cmdline.len();
            self.known.insert(pid, Known { start: process.start_time_ns, comm, read, cmdline });
        }
    }

    /// Whether no more can be remembered, so that none need be read.
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// Whether the row has arguments that are not known yet.
    pub fn is_wanted(&self, row: &Task) -> bool {
        !row.is_kernel_thread() && self.of(row).is_none()
    }

    /// Those of the process of a row with blanks between them, as they are shown; `None`: not known, or there are none.
    pub fn text_of(&self, row: &Task) -> Option<Vec<u8>> {
        self.of(row).and_then(text_of)
    }

    /// Those of the process of a row, separated by NUL; `None`: not known. A thread that is younger than what was read may be of
    /// another process with this number.
    pub fn of(&self, row: &Task) -> Option<&[u8]> {
        let known = self.known.get(&row.pid)?;
        let is_same = if row.is_leader() {
            row.start_time_ns == known.start && row.comm == known.comm
        } else {
            row.start_time_ns <= known.read
        };
        is_same.then_some(&known.cmdline)
    }
}

#[cfg(test)]
mod tests {
    use cpuledger::Tid;
    use cpuledger_model::make;

    use super::*;
    use crate::tui::fixture;

    fn row(tid: i32, start_ns: u64) -> Task {
        make!(Task { pid: Pid(7), tid: Tid(tid), start_time_ns: Boottime::from_ns(start_ns) })
    }

    fn known(arguments: Option<&[u8]>) -> Arguments {
        let mut known = Arguments::default();
        let leader = row(7, 100);
        known.learn(leader.id(), leader.comm, Boottime::from_ns(200), arguments.map(Into::into));
        known
    }

    #[test]
    fn who_has_the_pid_later_has_other_arguments() {
        let arguments = known(Some(b"a"));
        assert_eq!(
            (arguments.of(&row(7, 100)), arguments.of(&row(8, 150))),
            (Some(&b"a"[..]), Some(&b"a"[..]))
        );
        assert_eq!(arguments.of(&row(7, 300)), None, "another leader");
        assert_eq!(arguments.of(&row(8, 300)), None, "a thread of another process, perhaps");
        let other_program = make!(Task { comm: Comm::new(b"b"), ..row(7, 100) });
        assert_eq!(arguments.of(&other_program), None);
    }

    #[test]
    fn a_failed_read_is_tried_again_with_the_next_frame() {
        let mut arguments = known(None);
        assert_eq!(arguments.of(&row(7, 100)), Some(&b""[..]), "it is not asked for again at once");
        let frame = fixture::empty();
        arguments.begin(&frame);
        assert_eq!(arguments.of(&row(7, 100)), None);
        let mut arguments = known(Some(b"a"));
        arguments.begin(&frame);
        assert_eq!(arguments.of(&row(7, 100)), Some(&b"a"[..]));
    }

    #[test]
    fn what_is_remembered_has_a_limit() {
        let mut arguments = Arguments::default();
        let leader = |pid: i32| make!(Task { pid: Pid(pid), tid: Tid(pid), ..row(7, 100) });
        let learn = |arguments: &mut Arguments, pid: i32, length: usize| {
            let id = leader(pid).id();
            let read = vec![b'a'; length].into_boxed_slice();
            arguments.learn(id, leader(pid).comm, Boottime::from_ns(200), Some(read));
        };
        // 1 is in the frame that follows, 7 is not.
        for pid in [1, 7] {
            learn(&mut arguments, pid, MOST_BYTES / 2);
        }
        assert!(!arguments.is_full());
        learn(&mut arguments, 8, 1);
        assert!(arguments.is_full() && arguments.of(&leader(8)).is_none(), "not one byte more");
        assert!(arguments.of(&leader(1)).is_some(), "what is known stays");
        arguments.begin(&fixture::frame());
        assert!(!arguments.is_full() && arguments.of(&leader(7)).is_none(), "the dead are forgotten");
        assert_eq!(arguments.bytes, MOST_BYTES / 2);
    }

    #[test]
    fn arguments_are_searched_as_they_are_shown() {
        let text = |arguments: &[u8]| known(Some(arguments)).text_of(&row(7, 100));
        assert_eq!(text(b"a\0b c\0\0").as_deref(), Some(&b"a b c"[..]));
        assert_eq!((text(b""), text(b"\0")), (None, None));
    }
}
