//! What only the files of a task tell, and few columns show: each read once, and only if it is wanted.

use std::fs;
use std::io::{self, Read};

use rustix::fs::stat;

use crate::enrich::lookups::Lookups;
use crate::source::procfs::counts::parse_io;
use crate::task::Task;

pub use crate::source::procfs::counts::Io;

/// The lookups that are answered here.
pub const FILES: Lookups = Lookups::STATUS
    .union(Lookups::ADDRESSES)
    .union(Lookups::IO)
    .union(Lookups::SHARES)
    .union(Lookups::OOM)
    .union(Lookups::AUTOGROUP)
    .union(Lookups::LOGIN)
    .union(Lookups::NAMESPACES)
    .union(Lookups::OPEN_FILES)
    .union(Lookups::LABEL)
    .union(Lookups::ENVIRONMENT);

/// Of `status`.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Signals that wait for this task alone, as a set of bits; likewise below.
    pub pending: Option<u64>,
    /// Signals that wait for any task of the process.
    pub shared_pending: Option<u64>,
    /// Signals that are blocked.
    pub blocked: Option<u64>,
    /// Signals that are ignored.
    pub ignored: Option<u64>,
    /// Signals that have a handler.
    pub caught: Option<u64>,
    /// Capabilities that may be used.
    pub permitted: Option<u64>,
    /// Supplementary groups.
    pub groups: Vec<u32>,
    /// Private writable memory without stacks; `None`: it has no memory.
    pub data_kib: Option<u64>,
    /// Memory of the main stack, likewise.
    pub stack_kib: Option<u64>,
}

/// Of `stat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Addresses {
    /// Limit of resident memory, `u64::MAX` for none.
    pub resident_limit_bytes: u64,
    /// Begin of the code.
    pub code_begin: u64,
    /// End of the code.
    pub code_end: u64,
    /// Begin of the main stack.
    pub stack_begin: u64,
    /// Stack pointer.
    pub stack_pointer: u64,
    /// Instruction pointer.
    pub instruction_pointer: u64,
}

/// Of `smaps_rollup`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Shares {
    /// Resident memory, each page divided by those that map it.
    pub proportional_kib: u64,
    /// Resident memory that nobody else maps.
    pub unique_kib: u64,
    /// Pages of hugetlbfs that nobody else maps.
    pub huge_private_kib: u64,
    /// Those that others map too.
    pub huge_shared_kib: u64,
}

/// A namespace that a task is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // named like the files
pub enum Namespace {
    Cgroup,
    Ipc,
    Mnt,
    Net,
    Pid,
    Time,
    User,
    Uts,
}

/// Its files, in the order of [`Namespace`].
const NAMESPACES: [&str; 8] = ["cgroup", "ipc", "mnt", "net", "pid", "time", "user", "uts"];

/// What was read of one task. A member is `None` where it was not asked for, or could not be read.
#[derive(Debug, Default)]
pub struct Files {
    /// What was asked for.
    asked: Lookups,
    /// `status`.
    pub status: Option<Box<Status>>,
    /// `stat`.
    pub addresses: Option<Box<Addresses>>,
    /// `io`.
    pub io: Option<Box<Io>>,
    /// `smaps_rollup`.
    pub shares: Option<Box<Shares>>,
    /// `oom_score`.
    pub oom_score: Option<i32>,
    /// `oom_score_adj`.
    pub oom_adjustment: Option<i32>,
    /// `autogroup`: its number and its nice value.
    pub autogroup: Option<(u32, i32)>,
    /// `loginuid`.
    pub login_uid: Option<u32>,
    /// Inode numbers of `ns`.
    namespaces: Option<Box<[Option<u64>; NAMESPACES.len()]>>,
    /// Entries of `fd`.
    pub open_files: Option<u64>,
    /// `attr/current`; empty: none.
    pub label: Vec<u8>,
    /// `environ`: separated by NUL.
    pub environment: Option<Vec<u8>>,
}

impl Files {
    /// Reads what is wanted and was not asked for yet. `is_task`: of this task alone, not of its process.
    /// `root`: the directory that holds `proc`; empty: that of this machine.
    pub fn learn(&mut self, root: &str, row: &Task, is_task: bool, wanted: Lookups) {
        let missing = wanted.intersection(FILES).without(self.asked);
        if missing == Lookups::NONE {
            return;
        }
        self.asked = self.asked.union(missing);
        let process = format!("{root}/proc/{}", row.pid);
        let directory = if is_task { format!("{process}/task/{}", row.tid) } else { process.clone() };
        self.read_texts(&directory, missing);
        if missing.wants(Lookups::NAMESPACES) {
            let inode = |name| Some(stat(format!("{directory}/ns/{name}")).ok()?.st_ino);
            self.namespaces = Some(Box::new(NAMESPACES.map(inode)));
        }
        if missing.wants(Lookups::OPEN_FILES) {
            self.open_files = count_entries(&format!("{directory}/fd"));
        }
        // These are of the process, and tasks have no such files or the same.
        if missing.wants(Lookups::AUTOGROUP) {
            self.autogroup = parse_autogroup(&read(&process, "autogroup").unwrap_or_default());
        }
        if missing.wants(Lookups::LABEL) {
            let label = read(&process, "attr/current").unwrap_or_default();
            let end = label.iter().position(|byte| !(b' '..=b'~').contains(byte)).unwrap_or(label.len());
            self.label = label[..end].to_vec();
        }
    }

    fn read_texts(&mut self, directory: &str, wanted: Lookups) {
        let text = |lookup, name| wanted.wants(lookup).then(|| read(directory, name)).flatten();
        if let Some(text) = text(Lookups::STATUS, "status") {
            self.status = Some(Box::new(parse_status(&text)));
        }
        if let Some(text) = text(Lookups::ADDRESSES, "stat") {
            self.addresses = parse_addresses(&text).map(Box::new);
        }
        if let Some(text) = text(Lookups::IO, "io") {
            self.io = parse_io(&text).map(Box::new);
        }
        if let Some(text) = text(Lookups::SHARES, "smaps_rollup") {
            self.shares = parse_shares(&text).map(Box::new);
        }
        if let Some(text) = text(Lookups::OOM, "oom_score") {
            self.oom_score = number(&text);
        }
        if let Some(text) = text(Lookups::OOM, "oom_score_adj") {
            self.oom_adjustment = number(&text);
        }
        if let Some(text) = text(Lookups::LOGIN, "loginuid") {
            self.login_uid = number(&text).filter(|&uid| uid != NOBODY_LOGGED_IN);
        }
        if wanted.wants(Lookups::ENVIRONMENT) {
            self.environment = read(directory, "environ").filter(|text| !text.is_empty());
        }
    }

    /// The inode number of a namespace; `None`: not known.
    pub fn namespace(&self, namespace: Namespace) -> Option<u64> {
        self.namespaces.as_ref()?[namespace as usize]
    }
}

/// What `loginuid` says of a process that belongs to no login.
const NOBODY_LOGGED_IN: u32 = u32::MAX;

fn read(directory: &str, name: &str) -> Option<Vec<u8>> {
    read_bounded(&format!("{directory}/{name}")).ok()
}

/// Maximum number of bytes read from a file: arguments can have any length.
const MOST_BYTES: u64 = 128 * 1024;

/// The file, or its beginning.
pub(super) fn read_bounded(path: &str) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    fs::File::open(path)?.take(MOST_BYTES).read_to_end(&mut text)?;
    Ok(text)
}

/// Since Linux 6.2 the size of the directory is the number of its entries.
fn count_entries(directory: &str) -> Option<u64> {
    match stat(directory).ok()?.st_size {
        size if size > 0 => u64::try_from(size).ok(),
        _ => Some(fs::read_dir(directory).ok()?.count() as u64),
    }
}

fn number<T: std::str::FromStr>(text: &[u8]) -> Option<T> {
    str::from_utf8(text.trim_ascii()).ok()?.parse().ok()
}

/// The first word of the text, which may be followed by a unit.
fn first_number(text: &[u8]) -> Option<u64> {
    number(text.trim_ascii().split(|byte| byte.is_ascii_whitespace()).next()?)
}

/// Names before a colon, and what comes after it.
fn lines(text: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    text.split(|&byte| byte == b'\n').filter_map(|line| {
        let colon = line.iter().position(|&byte| byte == b':')?;
        Some((&line[..colon], line[colon + 1..].trim_ascii()))
    })
}

pub(crate) fn parse_status(text: &[u8]) -> Status {
    let mut status = Status::default();
    let bits = |value: &[u8]| u64::from_str_radix(str::from_utf8(value).ok()?, 16).ok();
    for (name, value) in lines(text) {
        match name {
            b"SigPnd" => status.pending = bits(value),
            b"ShdPnd" => status.shared_pending = bits(value),
            b"SigBlk" => status.blocked = bits(value),
            b"SigIgn" => status.ignored = bits(value),
            b"SigCgt" => status.caught = bits(value),
            b"CapPrm" => status.permitted = bits(value),
            b"Groups" => {
                let words = value.split(|byte| byte.is_ascii_whitespace());
                status.groups = words.filter_map(number).collect();
            }
            b"VmData" => status.data_kib = first_number(value),
            b"VmStk" => status.stack_kib = first_number(value),
            _ => {}
        }
    }
    status
}

/// Words of `stat` after the name, which may hold anything.
pub(crate) fn parse_addresses(text: &[u8]) -> Option<Addresses> {
    /// proc(5) counts from 1, and two words are before these.
    const RESIDENT_LIMIT: usize = 25 - 3;
    let after_name = &text[text.iter().rposition(|&byte| byte == b')')? + 1..];
    let mut words = after_name.trim_ascii().split(|&byte| byte == b' ').skip(RESIDENT_LIMIT).map(number);
    let mut next = || words.next().flatten();
    Some(Addresses {
        resident_limit_bytes: next()?,
        code_begin: next()?,
        code_end: next()?,
        stack_begin: next()?,
        stack_pointer: next()?,
        instruction_pointer: next()?,
    })
}

pub(crate) fn parse_shares(text: &[u8]) -> Option<Shares> {
    let value = |wanted: &[u8]| first_number(lines(text).find(|(name, _)| *name == wanted)?.1);
    Some(Shares {
        proportional_kib: value(b"Pss")?,
        unique_kib: value(b"Private_Clean")?.saturating_add(value(b"Private_Dirty")?),
        huge_private_kib: value(b"Private_Hugetlb")?,
        huge_shared_kib: value(b"Shared_Hugetlb")?,
    })
}

/// `/autogroup-25 nice 0`.
pub(crate) fn parse_autogroup(text: &[u8]) -> Option<(u32, i32)> {
    let text = str::from_utf8(text).ok()?.trim().strip_prefix("/autogroup-")?;
    let (group, nice) = text.split_once(" nice ")?;
    Some((group.parse().ok()?, nice.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::{Pid, Tid};

    #[test]
    fn status_tells_signals_groups_and_memory() {
        let text = b"Name:\ta:b\nGroups:\t4 24 65534 \nVmData:\t     408 kB\nVmStk:\t     132 kB\nSigPnd:\t0000000000000001\n\
                     ShdPnd:\t0000008000000200\nSigBlk:\t0000000000010000\nSigIgn:\t0000000000001000\nSigCgt:\tffffffffffffffff\n\
                     CapPrm:\t000001ffffffffff\n";
        let expected = Status {
            pending: Some(1),
            shared_pending: Some(0x80_0000_0200),
            blocked: Some(0x1_0000),
            ignored: Some(0x1000),
            caught: Some(u64::MAX),
            permitted: Some(0x1ff_ffff_ffff),
            groups: vec![4, 24, 65534],
            data_kib: Some(408),
            stack_kib: Some(132),
        };
        assert_eq!(parse_status(text), expected);
        assert_eq!(parse_status(b"Groups:\t \nSigPnd:\tx\n"), Status::default());
    }

    #[test]
    fn addresses_follow_the_limit_of_resident_memory_whatever_the_name() {
        let words: Vec<String> = (4..=52).map(|number| number.to_string()).collect();
        let text = format!("7 (a) b) S {}\n", words.join(" "));
        let expected = Addresses {
            resident_limit_bytes: 25,
            code_begin: 26,
            code_end: 27,
            stack_begin: 28,
            stack_pointer: 29,
            instruction_pointer: 30,
        };
        assert_eq!(parse_addresses(text.as_bytes()), Some(expected));
        for length in 0..text.find(" 30 ").expect("the last word") {
            assert_eq!(parse_addresses(&text.as_bytes()[..length]), None, "{length} bytes");
        }
    }

    #[test]
    fn shares_are_found_by_name() {
        let shares = b"55d0-7ffd ---p 00000000 00:00 0    [rollup]\nRss:  9 kB\nPss:  8 kB\nPss_Anon:  7 kB\nPrivate_Clean:  1 kB\n\
                       Private_Dirty:  2 kB\nShared_Hugetlb:  2048 kB\nPrivate_Hugetlb:  4096 kB\n";
        let expected =
            Shares { proportional_kib: 8, unique_kib: 3, huge_private_kib: 4096, huge_shared_kib: 2048 };
        assert_eq!(parse_shares(shares), Some(expected));
        assert_eq!(parse_shares(b""), None);
    }

    #[test]
    fn autogroups_have_a_number_and_a_nice_value() {
        assert_eq!(parse_autogroup(b"/autogroup-25 nice -3\n"), Some((25, -3)));
        assert_eq!(parse_autogroup(b""), None);
        assert_eq!(parse_autogroup(b"/autogroup-25\n"), None);
    }

    #[test]
    fn only_what_is_wanted_is_read_and_only_once() {
        let pid = std::process::id() as i32;
        let row = Task { pid: Pid(pid), tid: Tid(pid), ..Task::default() };
        let mut files = Files::default();
        files.learn("", &row, false, Lookups::STATUS.union(Lookups::NAMESPACES));
        assert!(files.status.is_some() && files.namespace(Namespace::Uts).is_some());
        assert!(files.io.is_none() && files.environment.is_none() && files.oom_score.is_none());
        files.status = None;
        files.learn("", &row, false, Lookups::STATUS.union(Lookups::OPEN_FILES));
        assert!(files.status.is_none(), "it was not read again");
        assert!(files.open_files.is_some_and(|count| count >= 3));
    }
}
