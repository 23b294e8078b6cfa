//! What a line of the table is, and what it shows.

use cpuledger::{Comm, Pid, TaskId};
use cpuledger_view::group::{Name, Sum};

use crate::tui::frame::{Kind, RowRef};

/// What a line shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item {
    /// A process or task.
    Row(RowRef),
    /// The sum of a group: an index of [`Listing::sums`].
    Group(u32),
    /// The dead of one name: likewise.
    ExitedName(u32),
    /// One that died: an index of `Frame::exited`.
    Exited(u32),
    /// Processes that are alike: an index of [`Listing::sums`].
    Alike(u32),
}

/// One line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// What it shows.
    pub item: Item,
    /// How many are above it.
    pub depth: u16,
    /// One bit for each generation: whether others of it follow.
    pub follows: u64,
    /// CPU time of its subtree, where there is one.
    pub subtree_ns: Option<u64>,
    /// Whether something is below it, and whether that is hidden.
    pub fold: Option<bool>,
    /// Its CPU time is part of that of a line above it: the dead below who inherits their time.
    pub is_part: bool,
}

impl Entry {
    /// One that is below nothing.
    pub(super) fn flat(item: Item) -> Entry {
        Entry { item, depth: 0, follows: 0, subtree_ns: None, fold: None, is_part: false }
    }
}

/// The lines.
#[derive(Debug, Default)]
pub struct Listing {
    /// From the first to the last.
    pub entries: Vec<Entry>,
    /// Groups, names of the dead, and processes that are alike.
    pub sums: Vec<Sum>,
    /// Below which process the dead of a sum are, by index of the sum.
    pub heirs: Vec<Heir>,
    /// Who is in the sums of other names of the dead, by index of the sum.
    pub others: Vec<Others>,
    /// Which processes share a line, by index of the sum.
    pub alike: Vec<Alike>,
    /// What those of the listing before had in common.
    pub alike_before: Vec<Likeness>,
    /// Processes whose arguments say whether they are alike, and are not known yet.
    pub unread: Vec<RowRef>,
    /// The CPU time of the line with the most.
    pub most_ns: u64,
    /// How many rows ran and match, but have nothing of what the view is about, so they have no line.
    pub quiet: usize,
    /// What died and matches: indexes of `Frame::exited`.
    pub exited: Vec<u32>,
}

impl Listing {
    /// Below which process the dead of a sum are.
    pub fn heir(&self, sum: u32) -> Option<&Heir> {
        let place = self.heirs.binary_search_by_key(&sum, |heir| heir.sum);
        place.ok().map(|place| &self.heirs[place])
    }

    /// Which processes are in a sum of those that are alike.
    pub fn alike(&self, sum: u32) -> Option<&Alike> {
        let place = self.alike.binary_search_by_key(&sum, |alike| alike.sum);
        place.ok().map(|place| &self.alike[place])
    }

    /// Who is in a sum of other names of the dead.
    pub fn others(&self, sum: u32) -> Option<&Others> {
        let place = self.others.binary_search_by_key(&sum, |others| others.sum);
        place.ok().map(|place| &self.others[place])
    }
}

/// Processes that share a line, as they are alike.
#[derive(Debug)]
pub struct Alike {
    /// Their sum: an index of [`Listing::sums`].
    pub sum: u32,
    /// What they have in common.
    pub of: Likeness,
    /// The first of them, below whose line their dead are while it is folded.
    pub first: Pid,
    /// All of them, by their numbers.
    pub rows: Vec<RowRef>,
    /// They are not listed below it.
    pub is_folded: bool,
}

/// What processes have in common that are alike.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Likeness {
    /// Their name.
    pub comm: Comm,
    /// Their user.
    pub euid: u32,
    /// Their parent, or the first of those that share a line and are their parents.
    pub parent: Pid,
    /// Their cgroup: in the unified hierarchy, and in that of the cpu controller.
    pub cgroup: [Option<u64>; 2],
    /// Their arguments, separated by NUL; `None`: they cannot be known.
    pub arguments: Option<Box<[u8]>>,
}

/// Whose line has the time of the dead of a sum.
#[derive(Debug, Clone, Copy)]
pub struct Heir {
    /// Their sum: an index of [`Listing::sums`].
    pub sum: u32,
    /// The process of that line.
    pub pid: Pid,
    /// What its column `X` has of their time: that of its own threads. The rest is in `C`.
    pub threads_ns: u64,
}

/// The dead of those names that have no line of their own.
#[derive(Debug, Default)]
pub struct Others {
    /// Their sum: an index of [`Listing::sums`].
    pub sum: u32,
    /// Who they are: indexes of `Frame::exited`.
    pub members: Vec<usize>,
    /// Their names, escaped, that with the most CPU time first, and how many have each.
    pub names: Vec<(String, usize)>,
    /// How many more names there are.
    pub more: usize,
}

/// What stays recognisable from one frame to the next.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Id {
    /// A process or task.
    Row(Kind, TaskId),
    /// A group by its name.
    Group(Name),
    /// The dead of one name, below the process that inherits their time.
    ExitedName(Option<Pid>, Name),
    /// One that died.
    Exited(TaskId),
    /// Processes that are alike.
    Alike(Likeness),
}

/// What the cursor stays with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Followed {
    /// Which line.
    pub id: Id,
    /// How it is named, such as `71 (make)`.
    pub name: String,
}
