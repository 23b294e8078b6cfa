//! A tree of names: what the processes of a name used, and those below them.

use std::collections::BTreeMap;

use crate::amounts::Amounts;
use crate::names::Comm;

/// Names above one another; what is deeper counts for the last of them.
pub(crate) const MOST_DEPTH: usize = 48;

/// Processes of one name below the same ancestors.
#[derive(Debug, Clone, Default)]
pub(crate) struct Branch {
    pub(crate) amounts: Amounts,
    pub(crate) below: BTreeMap<Comm, Branch>,
}

impl Branch {
    /// Adds all that another has. Returns how many names came to be.
    pub(crate) fn merge(&mut self, other: Branch, depth: usize) -> usize {
        self.amounts.add(&other.amounts);
        let mut new = 0;
        for (comm, branch) in other.below {
            if depth >= MOST_DEPTH {
                self.amounts.add(&branch.total());
                continue;
            }
            new += usize::from(!self.below.contains_key(&comm));
            new += self.below.entry(comm).or_default().merge(branch, depth + 1);
        }
        new
    }

    /// How many names are below.
    pub(crate) fn names(&self) -> usize {
        self.below.values().map(|below| 1 + below.names()).sum()
    }

    /// The sum of it all.
    pub(crate) fn total(&self) -> Amounts {
        let mut total = self.amounts;
        self.below.values().for_each(|branch| total.add(&branch.total()));
        total
    }
}
