//! One task or one process as a source saw it at one instant: plain integers, no allocation.

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::boottime::Boottime;
use crate::field_set::FieldSet;
use crate::field_table;

/// Number of a task in the initial PID namespace, or in ours where only procfs can be read. It is reused after the
/// task is gone: to recognise a task again use [`TaskId`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Tid(pub i32);

/// Number of a process: the tid of its leader, the kernel's tgid. Reused like [`Tid`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Pid(pub i32);

impl Pid {
    /// No process has it: the row of all that its reader is not shown does.
    pub const REMAINDER: Pid = Pid(0);
}

impl fmt::Display for Tid {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl fmt::Display for Pid {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// Identity of a task that survives the reuse of its tid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct TaskId {
    /// Its tid.
    pub tid: Tid,
    /// Its start, as exact as the source knows it.
    pub start_time_ns: Boottime,
}

impl TaskId {
    /// Of numbers as the kernel has them: a tid, or a pid for a process, and `start_boottime`.
    pub const fn new(tid: i32, start_boottime_ns: u64) -> TaskId {
        TaskId { tid: Tid(tid), start_time_ns: Boottime::from_ns(start_boottime_ns) }
    }
}

/// The name of a task: any bytes, not necessarily UTF-8, at most 63 as in /proc/PID/comm.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Comm {
    length: u8,
    bytes: [u8; Comm::MAX_BYTES],
}

impl Comm {
    /// The longest name the kernel shows, that of a kernel thread (`proc_task_name` in fs/proc/array.c).
    pub const MAX_BYTES: usize = 63;

    /// The first [`Comm::MAX_BYTES`] of `name`.
    pub fn new(name: &[u8]) -> Comm {
        let length = name.len().min(Comm::MAX_BYTES);
        let mut bytes = [0; Comm::MAX_BYTES];
        bytes[..length].copy_from_slice(&name[..length]);
        Comm { length: length as u8, bytes }
    }

    /// The bytes up to the first NUL, as the kernel keeps a name.
    pub fn from_c_bytes(bytes: &[u8]) -> Comm {
        let length = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
        Comm::new(&bytes[..length])
    }

    /// The raw name; escape it before it reaches a terminal.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

impl Default for Comm {
    fn default() -> Comm {
        Comm::new(b"")
    }
}

impl fmt::Debug for Comm {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "\"{}\"", self.as_bytes().escape_ascii())
    }
}

impl Serialize for Comm {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.as_bytes().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Comm {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Comm, D::Error> {
        let bytes = Vec::deserialize(deserializer)?;
        if bytes.len() > Comm::MAX_BYTES {
            return Err(D::Error::invalid_length(bytes.len(), &"the bytes of a name"));
        }
        Ok(Comm::new(&bytes))
    }
}

/// State as the letter /proc/PID/stat shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct State(pub u8);

/// `PF_*` of include/linux/sched.h that are shown or decided upon.
pub mod flags {
    /// Is being ended, or was.
    pub const EXITING: u32 = 0x4;
    /// A worker of a workqueue.
    pub const WORKQUEUE_WORKER: u32 = 0x20;
    /// A kernel thread.
    pub const KTHREAD: u32 = 0x0020_0000;
}

/// Whether the kernel lets a process of a task's own user trace it, as far as that does not depend on the numbers of users and groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Guard {
    /// The source does not tell.
    #[default]
    Unknown,
    /// It does.
    Open,
    /// It does not: the task is not dumpable, has capabilities, or is in a user namespace that its user has not made.
    Guarded,
}

macro_rules! task {
    (
        $(
            $(#[$cumulative:ident])?
            $field:ident $id:literal $column:ident $member:ident: $type:ident, $unit:ident $group:ident $guard:ident $help:literal;
        )*
    ) => {
        /// One task, or one process with its totals, at one instant. A member is meaningful only where `known` holds its
        /// field; the units, sources and documentation of each are in [`crate::field::FIELDS`].
        #[derive(Debug, Clone, Copy, Default)]
        #[non_exhaustive]
        pub struct Task {
            /// The fields that the source could give for this task.
            pub known: FieldSet,
            /// Told with the field `suid` where records of the kernel half have it. It is no field: no output shows it.
            pub guard: Guard,
            $(#[doc = $help] pub $member: $type,)*
        }
    };
}
field_table!(task!);

impl AsRef<Task> for Task {
    fn as_ref(&self) -> &Task {
        self
    }
}

impl Task {
    /// What lists of tasks are sorted by: each process by its pid, and of its tasks the leader first.
    pub fn place_key(&self) -> (Pid, bool, Tid) {
        (self.pid, !self.is_leader(), self.tid)
    }

    /// Identity that survives the reuse of the tid.
    pub fn id(&self) -> TaskId {
        TaskId { tid: self.tid, start_time_ns: self.start_time_ns }
    }

    /// Whether this is the leader of its process, or a process.
    pub fn is_leader(&self) -> bool {
        self.tid.0 == self.pid.0
    }

    /// Whether this is a kernel thread; `false` where the source does not know flags.
    pub fn is_kernel_thread(&self) -> bool {
        self.flags & flags::KTHREAD != 0
    }
}
