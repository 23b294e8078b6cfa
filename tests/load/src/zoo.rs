//! One process of each odd kind, with the truth about it.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Error;
use crate::running::Running;

const MEMBER_LIMIT: Duration = Duration::from_secs(120);

/// The members, alive (or dead in the way they should be) until this is dropped.
#[derive(Debug)]
pub struct Zoo {
    running: Running,
    members: Vec<Member>,
}

/// One process of the zoo.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// What it is an example of, such as `zombie`; `cpuledger-load zoo --help` lists them.
    pub kind: String,
    /// Its pid, as the starter of the zoo sees it.
    pub pid: i32,
    /// The tids of its tasks, the leader's first.
    pub tids: Vec<i32>,
    /// What is so about it.
    pub truth: Truth,
}

/// What is so about a [`Member`]. Only what belongs to its kind is stated, beside comm and state. A
/// member does nothing after its statement, so that every figure named "at least" is close, but reaching its
/// resting state takes a little CPU time, and the C library some memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Truth {
    /// The leader's name, exactly.
    pub comm: Bytes,
    /// The leader's state as `/proc` writes it.
    pub state: String,
    /// The bytes of `/proc/PID/cmdline`, exactly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cmdline: Option<Bytes>,
    /// The threads, the leader first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<ThreadTruth>,
    /// The status that a zombie's parent would get from wait(2).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_status: Option<i32>,
    /// Nice value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nice: Option<i32>,
    /// Scheduling policy: the kernel's number, and `SCHED_RESET_ON_FORK` is not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<i32>,
    /// Real-time priority.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rt_priority: Option<i32>,
    /// Its pid in each PID namespace, the starter's first, its own last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub namespace_pids: Vec<i32>,
    /// Virtual size, at least.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub virtual_bytes: Option<u64>,
    /// Resident anonymous memory, at least.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resident_anon_bytes: Option<u64>,
    /// Resident file memory, at least.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resident_file_bytes: Option<u64>,
    /// Resident shared memory, at least.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resident_shmem_bytes: Option<u64>,
    /// Locked memory, exactly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locked_bytes: Option<u64>,
    /// User ids: real, effective, saved, filesystem.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uids: Option<[u32; 4]>,
    /// Group ids: real, effective, saved, filesystem.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gids: Option<[u32; 4]>,
    /// Supplementary groups, in ascending order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups: Option<Vec<u32>>,
    /// Process group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process_group: Option<i32>,
    /// Session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<i32>,
    /// Path of the controlling terminal; empty if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminal: Option<String>,
    /// Device number of the controlling terminal as `/proc/PID/stat` encodes it; 0 if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminal_number: Option<u64>,
    /// Foreground process group of the controlling terminal; -1 if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub foreground_group: Option<i32>,
    /// Bytes asked for by read(2), at least.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_chars: Option<u64>,
    /// Bytes given to write(2), at least.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_chars: Option<u64>,
    /// Bytes fetched from storage, at least; not stated where the filesystem does not count them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_bytes: Option<u64>,
    /// Bytes sent to storage, at least; not stated where the filesystem does not count them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_bytes: Option<u64>,
    /// CPU time of the leader, at least.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_ns: Option<u64>,
    /// CPU time of waited-for children as `RUSAGE_CHILDREN` says it, in whole microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub children_cpu_us: Option<u64>,
    /// Minor faults of waited-for children, exactly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub children_minor_faults: Option<u64>,
}

/// What is so about one thread of a [`Member`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadTruth {
    /// Its tid.
    pub tid: i32,
    /// Its name, exactly.
    pub comm: Bytes,
    /// Its state as `/proc` writes it.
    pub state: String,
    /// Its CPU time, at least.
    pub cpu_ns: u64,
}

/// Bytes that are mostly text. In JSON, a string in which each character stands for the byte of that number.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Bytes(pub Vec<u8>);

impl From<&[u8]> for Bytes {
    fn from(bytes: &[u8]) -> Bytes {
        Bytes(bytes.to_vec())
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b\"{}\"", self.0.escape_ascii())
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0.iter().copied().map(char::from).collect::<String>())
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Bytes, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = text.chars().map(u8::try_from).collect::<Result<_, _>>();
        bytes.map(Bytes).map_err(|_| serde::de::Error::custom("a character beyond U+00FF is not a byte"))
    }
}

impl Zoo {
    /// Starts one member of each kind. Needs root.
    ///
    /// # Errors
    /// [`Error::GaveUp`] if one of them cannot be made here, with the kind and the reason.
    pub fn start() -> Result<Zoo, Error> {
        Zoo::start_only(&[])
    }

    /// Starts members of the kinds named; root is needed only if one of them needs it. No kinds means all.
    ///
    /// # Errors
    /// [`Error::GaveUp`] if one of them cannot be made here, with the kind and the reason.
    pub fn start_only(kinds: &[&str]) -> Result<Zoo, Error> {
        let arguments = kinds.iter().flat_map(|kind| ["--only", kind]);
        let mut running = Running::start(["zoo"].into_iter().chain(arguments))?;
        let mut members = Vec::new();
        loop {
            let line = running.expect_line(MEMBER_LIMIT)?;
            if line == "ready" {
                return Ok(Zoo { running, members });
            }
            members.push(serde_json::from_str(&line).map_err(|_| running.unexpected(&line))?);
        }
    }

    /// The pid of the members' parent (but some have others, such as the one in a namespace of a namespace).
    pub fn pid(&self) -> i32 {
        self.running.pid()
    }

    /// All members.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// The member of that kind, if there is one.
    pub fn member(&self, kind: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.kind == kind)
    }

    /// Ends all members and waits until they are gone, as drop does, but tells if they did not end well.
    ///
    /// # Errors
    /// [`Error::GaveUp`] or [`Error::System`].
    pub fn stop(mut self) -> Result<(), Error> {
        self.running.release();
        self.running.end(MEMBER_LIMIT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_survives_json() {
        let bytes = Bytes((0..=255).collect());
        let json = serde_json::to_string(&bytes).expect("bytes have a JSON form");
        assert_eq!(serde_json::from_str::<Bytes>(&json).expect("which can be read"), bytes);
        assert!(serde_json::from_str::<Bytes>("\"\u{100}\"").is_err());
    }

    #[test]
    fn what_is_not_stated_is_not_written() {
        let truth = Truth { comm: Bytes::from(&b"a b"[..]), state: "S".into(), ..Truth::default() };
        let json = serde_json::to_string(&truth).expect("a truth has a JSON form");
        assert_eq!(json, r#"{"comm":"a b","state":"S"}"#);
        assert_eq!(serde_json::from_str::<Truth>(&json).expect("which can be read"), truth);
    }
}
