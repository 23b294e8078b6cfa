//! The processes that are remembered, each with a number. What is followed from one to the next is 12 bytes, and these stand side by side in
//! the order in which the processes were met.

use cpuledger_model::buffer::room;
use cpuledger_model::task::TaskId;
use hashbrown::HashTable;
use serde::{Deserialize, Serialize};

use super::near::Near;

/// No member has this number.
pub(super) const NOBODY: u32 = u32::MAX;

/// A process that lives, or from which a living one descends, as far as ways lead over it.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Link {
    /// The number of its accounting parent. `NOBODY`: nothing is known of it but that it is the accounting parent of another.
    pub(super) parent: u32,
    /// Members whose accounting parent it is.
    pub(super) children: u32,
    /// Whether that is the parent at the fork, and not only the first that was reported. Where the chain was shortened: whether this
    /// holds for each of its links.
    pub(super) is_from_fork: bool,
    pub(super) is_dead: bool,
    /// Whether the grace period is over in which a child that has not run may still appear.
    pub(super) is_grace_over: bool,
    pub(super) has_name: bool,
}

// A storm of forks makes very many of them.
const _: () = assert!(size_of::<Link>() == 12);

impl Link {
    const NEW: Link = Link {
        parent: NOBODY,
        children: 0,
        is_from_fork: false,
        is_dead: false,
        is_grace_over: false,
        has_name: false,
    };
}

/// What is seldom asked for.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Identity {
    id: TaskId,
    /// When it died, CLOCK_MONOTONIC; 0: it lives.
    died_ns: u64,
}

/// Where a number is free.
const NONE: Identity = Identity { id: TaskId::new(0, 0), died_ns: u64::MAX };

/// All of them.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Members {
    links: Vec<Link>,
    identities: Vec<Identity>,
    #[serde(skip)]
    numbers: HashTable<u32>,
    #[serde(skip)]
    near: Near,
    /// A number that is free, whose link has the next one for its parent.
    #[serde(skip)]
    first_free: u32,
    #[serde(skip)]
    free: usize,
}

impl Default for Members {
    fn default() -> Members {
        Members {
            links: Vec::new(),
            identities: Vec::new(),
            numbers: HashTable::new(),
            near: Near::default(),
            first_free: NOBODY,
            free: 0,
        }
    }
}

impl Members {
    pub(super) fn len(&self) -> usize {
        self.links.len() - self.free
    }

    pub(super) fn find(&self, id: TaskId) -> Option<u32> {
        let is_it = |number: &u32| self.identities[*number as usize].id == id;
        self.numbers.find(self.near.hash_of(id), is_it).copied()
    }

    /// Its number, if need be a new one.
    pub(super) fn find_or_add(&mut self, id: TaskId) -> u32 {
        if let Some(number) = self.find(id) {
            return number;
        }
        let identity = Identity { id, died_ns: 0 };
        let number = self.first_free;
        let number = if number == NOBODY {
            self.links.push(Link::NEW);
            self.identities.push(identity);
            (self.links.len() - 1) as u32
        } else {
            self.free -= 1;
            self.first_free = self.links[number as usize].parent;
            self.links[number as usize] = Link::NEW;
            self.identities[number as usize] = identity;
            number
        };
        debug_assert!(number < NOBODY, "memory ends before numbers do");
        self.add_number(number);
        number
    }

    /// Its number is free from now on.
    pub(super) fn remove(&mut self, number: u32) {
        let at = number as usize;
        let hash = self.near.hash_of(self.identities[at].id);
        if let Ok(found) = self.numbers.find_entry(hash, |found| *found == number) {
            found.remove();
        }
        self.identities[at] = NONE;
        self.add_free(number);
    }

    fn add_free(&mut self, number: u32) {
        self.links[number as usize] = Link { parent: self.first_free, ..Link::NEW };
        self.first_free = number;
        self.free += 1;
    }

    pub(super) fn link(&self, number: u32) -> Link {
        self.links[number as usize]
    }

    pub(super) fn link_mut(&mut self, number: u32) -> &mut Link {
        &mut self.links[number as usize]
    }

    pub(super) fn id(&self, number: u32) -> TaskId {
        self.identities[number as usize].id
    }

    pub(super) fn died_ns(&self, number: u32) -> u64 {
        self.identities[number as usize].died_ns
    }

    pub(super) fn set_died_ns(&mut self, number: u32, died_ns: u64) {
        self.identities[number as usize].died_ns = died_ns;
    }

    /// The numbers of all, in the order in which they were met as far as numbers were not free again.
    pub(super) fn numbers(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.links.len() as u32).filter(|number| self.has_number(*number))
    }

    /// Gives back the room that is more than they need. Returns the new number of each, where they have others from now on.
    pub(super) fn trim(&mut self) -> Option<Vec<u32>> {
        let room = room::<Identity>(self.len(), self.identities.capacity())?;
        let mut moved = vec![NOBODY; self.links.len()];
        let numbers: Vec<u32> = self.numbers().collect();
        for (to, from) in numbers.iter().enumerate() {
            moved[*from as usize] = to as u32;
        }
        let (mut links, mut identities) = (Vec::with_capacity(room), Vec::with_capacity(room));
        for number in numbers {
            let link = self.link(number);
            let parent = moved.get(link.parent as usize).copied().unwrap_or(NOBODY);
            links.push(Link { parent, ..link });
            identities.push(self.identities[number as usize]);
        }
        (self.links, self.identities, self.first_free, self.free) = (links, identities, NOBODY, 0);
        self.number_all();
        Some(moved)
    }

    /// Makes those complete that were read: who is free, and how many children each has, follows from the rest. Returns whether each parent is one
    /// of them.
    pub(super) fn complete(&mut self) -> bool {
        let is_parent = |number: u32| number == NOBODY || self.has_number(number);
        let is_whole = self.links.len() == self.identities.len()
            && self.numbers().all(|number| is_parent(self.link(number).parent));
        if !is_whole {
            return false;
        }
        (self.first_free, self.free) = (NOBODY, 0);
        self.links.iter_mut().for_each(|link| link.children = 0);
        for number in 0..self.links.len() as u32 {
            let parent = self.link(number).parent;
            if !self.has_number(number) {
                self.add_free(number);
            } else if let Some(parent) = self.links.get_mut(parent as usize) {
                parent.children += 1;
            }
        }
        self.number_all();
        true
    }

    /// Whether it is the number of one of them.
    pub(super) fn has_number(&self, number: u32) -> bool {
        self.identities.get(number as usize).is_some_and(|identity| identity.died_ns != NONE.died_ns)
    }

    fn number_all(&mut self) {
        self.numbers = HashTable::with_capacity(self.len());
        for number in 0..self.links.len() as u32 {
            if self.has_number(number) {
                self.add_number(number);
            }
        }
    }

    /// Lets one be found.
    fn add_number(&mut self, number: u32) {
        let hash_of = |number: &u32| self.near.hash_of(self.identities[*number as usize].id);
        self.numbers.insert_unique(hash_of(&number), number, hash_of);
    }
}
