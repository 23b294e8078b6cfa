//! A tree of names: what the processes of a name used, and those below them.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use crate::amounts::{Amounts, Tally};
use crate::names::{Comm, Used};

/// Names above one another; what is deeper counts for the last of them.
pub(crate) const MOST_DEPTH: usize = 48;

/// Processes of one name below the same ancestors.
#[derive(Debug, Clone, Default)]
pub(crate) struct Branch {
    pub(crate) tally: Tally,
    pub(crate) below: BTreeMap<Comm, Branch>,
    /// How many names are below, in all. Only [`Branch::merge`] counts.
    names: usize,
    /// How many are above one another there.
    height: usize,
}

impl Branch {
    /// These amounts of a name, and what another branch has below that.
    pub(crate) fn of(tally: Tally, other: Branch) -> Branch {
        Branch { tally, ..other }
    }

    /// A branch that has this one below a name.
    pub(crate) fn below(self, comm: Comm) -> Branch {
        let (names, height) = (self.names + 1, self.height + 1);
        Branch { tally: Tally::default(), below: [(comm, self)].into(), names, height }
    }

    /// Adds all that another has. Returns how many names came to be. A name that is new takes along all that is below it, unless that
    /// becomes too deep: no branch is visited name by name each time that a process above it dies.
    pub(crate) fn merge(&mut self, other: Branch, depth: usize) -> usize {
        self.tally.merge(&other.tally);
        let mut new = 0;
        for (comm, branch) in other.below {
            if depth >= MOST_DEPTH {
                self.tally.add(&branch.total());
                continue;
            }
            let (height, of_name) = match self.below.entry(comm) {
                Entry::Vacant(vacant) if depth + 1 + branch.height <= MOST_DEPTH => {
                    let own = vacant.insert(branch);
                    (own.height, 1 + own.names)
                }
                entry => {
                    let is_new = matches!(entry, Entry::Vacant(_));
                    let own = entry.or_default();
                    let of_own = own.merge(branch, depth + 1);
                    (own.height, usize::from(is_new) + of_own)
                }
            };
            self.height = self.height.max(height + 1);
            new += of_name;
        }
        self.names += new;
        new
    }

    /// The same with other names, as different as these.
    pub(crate) fn renamed(self, rename: &impl Fn(Comm) -> Comm) -> Branch {
        let below = self.below.into_iter().map(|(comm, below)| (rename(comm), below.renamed(rename)));
        Branch { below: below.collect(), ..self }
    }

    /// Those below.
    pub(crate) fn add_used(&self, used: &mut Used) {
        for (comm, branch) in &self.below {
            used.add(*comm);
            branch.add_used(used);
        }
    }

    /// How many names are below.
    pub(crate) fn names(&self) -> usize {
        self.names
    }

    /// The sum of it all.
    pub(crate) fn total(&self) -> Amounts {
        let mut total = self.tally.amounts();
        self.below.values().for_each(|branch| total.add(&branch.total()));
        total
    }
}
