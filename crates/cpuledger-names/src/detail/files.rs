//! What only the files of a task tell, and few columns show: each read once, and only if it is wanted.

use std::fs;
use std::io::{self, Read};

use cpuledger_model::task::Task;
use cpuledger_proc::number::alone;
use cpuledger_proc::task::attr_current::label;
use cpuledger_proc::task::autogroup::parse_autogroup;
use cpuledger_proc::task::io::parse_io;
use cpuledger_proc::task::smaps_rollup::parse_shares;
use cpuledger_proc::task::stat::parse_addresses;
use cpuledger_proc::task::status::parse_detail;
use rustix::fs::stat;

use crate::lookups::Lookups;

pub use cpuledger_proc::task::io::Io;
pub use cpuledger_proc::task::smaps_rollup::Shares;
pub use cpuledger_proc::task::stat::Addresses;
pub use cpuledger_proc::task::status::Detail as Status;

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

/// A namespace that a task is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // named like the files
#[non_exhaustive]
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
    /// Reads what is wanted and was not asked for yet. With `is_task` it is of this task alone, not of its process. `root` is the
    /// directory that holds `proc`, or empty for that of this machine.
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
            self.label = label(&read(&process, "attr/current").unwrap_or_default()).to_vec();
        }
    }

    fn read_texts(&mut self, directory: &str, wanted: Lookups) {
        let text = |lookup, name| wanted.wants(lookup).then(|| read(directory, name)).flatten();
        if let Some(text) = text(Lookups::STATUS, "status") {
            self.status = Some(Box::new(parse_detail(&text)));
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
            self.oom_score = alone(&text);
        }
        if let Some(text) = text(Lookups::OOM, "oom_score_adj") {
            self.oom_adjustment = alone(&text);
        }
        if let Some(text) = text(Lookups::LOGIN, "loginuid") {
            self.login_uid = alone(&text).filter(|&uid| uid != NO_LOGIN);
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
const NO_LOGIN: u32 = u32::MAX;

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

#[cfg(test)]
mod tests {
    use super::*;
    use cpuledger_model::make;
    use cpuledger_model::task::{Pid, Tid};

    #[test]
    fn only_what_is_wanted_is_read_and_only_once() {
        let pid = std::process::id() as i32;
        let row = make!(Task { pid: Pid(pid), tid: Tid(pid) });
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
