//! What the dead of a frame add up to, by group: so that a table is looked at once a group, not once a process.

use std::hash::Hash;

use cpuledger_model::frame::{Column, Frame, Section};
use cpuledger_model::framing::CgroupIds;
use rustc_hash::FxHashMap;

use crate::amounts::{Amounts, Booked, SumOfDead, add_booked};
use crate::deaths::{Dead, Deaths};

/// Sums by the numbers of groups, and what is needed to give groups numbers. Its memory is reused.
#[derive(Debug, Clone, Default)]
pub(crate) struct Groups {
    sums: Vec<SumOfDead>,
    /// What accounts have booked to each of `sums`; empty where none has booked anything.
    booked: Vec<Booked>,
    users: Numbered<Option<u64>>,
    places: Numbered<Place>,
}

/// Groups that are no numbers, and their numbers, in the order in which they came.
#[derive(Debug, Clone)]
struct Numbered<K> {
    keys: Vec<K>,
    numbers: FxHashMap<K, usize>,
    /// What follows each other often is of one group.
    last: usize,
}

impl<K> Default for Numbered<K> {
    fn default() -> Numbered<K> {
        Numbered { keys: Vec::new(), numbers: FxHashMap::default(), last: 0 }
    }
}

impl<K: Copy + Eq + Hash> Numbered<K> {
    fn clear(&mut self) {
        self.keys.clear();
        self.numbers.clear();
        self.last = 0;
    }

    fn number(&mut self, key: K) -> usize {
        if self.keys.get(self.last) != Some(&key) {
            self.last = *self.numbers.entry(key).or_insert_with(|| {
                self.keys.push(key);
                self.keys.len() - 1
            });
        }
        self.last
    }
}

/// Where one of the dead was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    /// In a cgroup with these numbers.
    Cgroup(CgroupIds),
    /// Where its heir is: the row of that.
    Heir(Option<usize>),
}

impl Groups {
    /// By the name of the process: the number of a text of the frame, and the sum of it.
    pub(crate) fn by_name(
        &mut self,
        frame: &Frame,
        deaths: &Deaths,
        began_ns: Option<u64>,
    ) -> impl Iterator<Item = (Option<u64>, Amounts)> {
        let comms = frame.table(Section::Exited).cells(Column::COMM);
        // A number without a text is as none.
        let group = |dead: &Dead, groups: usize| match comms.get(dead.record as usize) {
            Some(number) if (number as usize) < groups - 1 || frame.text(number).is_some() => {
                number as usize + 1
            }
            _ => 0,
        };
        self.add_up(deaths, began_ns, group);
        self.sums().map(|(group, sum)| ((group as u64).checked_sub(1), sum))
    }

    /// By the cgroup that they died in or, where their records do not tell it, by the row of the heir, which mostly is of the same.
    pub(crate) fn by_cgroup(
        &mut self,
        frame: &Frame,
        (deaths, tells_cgroups): (&Deaths, bool),
        began_ns: Option<u64>,
    ) -> impl Iterator<Item = (Place, Amounts)> {
        let table = frame.table(Section::Exited);
        let (unified, of_cpu) = (table.cells(Column::CGROUP_ID), table.cells(Column::CGROUP_V1_CPU_ID));
        let mut places = std::mem::take(&mut self.places);
        places.clear();
        self.add_up(deaths, began_ns, |dead, _| {
            let ids = (unified.get(dead.record as usize), of_cpu.get(dead.record as usize));
            places.number(match ids {
                ids if tells_cgroups && ids != (None, None) => Place::Cgroup(ids),
                _ => Place::Heir(deaths.heir_row(dead)),
            })
        });
        self.places = places;
        self.sums().map(|(group, sum)| (self.places.keys[group], sum))
    }

    /// By the effective user.
    pub(crate) fn by_user(
        &mut self,
        frame: &Frame,
        deaths: &Deaths,
        began_ns: Option<u64>,
    ) -> impl Iterator<Item = (Option<u64>, Amounts)> {
        let euids = frame.table(Section::Exited).cells(Column::EUID);
        let mut users = std::mem::take(&mut self.users);
        users.clear();
        self.add_up(deaths, began_ns, |dead, _| users.number(euids.get(dead.record as usize)));
        self.users = users;
        self.sums().map(|(group, sum)| (self.users.keys[group], sum))
    }

    /// `group` is told how many groups there are.
    fn add_up(
        &mut self,
        deaths: &Deaths,
        began_ns: Option<u64>,
        mut group: impl FnMut(&Dead, usize) -> usize,
    ) {
        self.sums.clear();
        self.sums.push(SumOfDead::default());
        self.booked.clear();
        for dead in deaths.iter() {
            let group = group(dead, self.sums.len());
            if group >= self.sums.len() {
                self.sums.resize(group + 1, SumOfDead::default());
            }
            self.sums[group].merge(&SumOfDead::of(dead.used, dead.births(began_ns)));
            if let Some(booked) = deaths.booked(dead) {
                self.booked.resize(self.sums.len(), Booked::default());
                add_booked(&mut self.booked[group], booked);
            }
        }
    }

    fn sums(&self) -> impl Iterator<Item = (usize, Amounts)> {
        let sums = self.sums.iter().enumerate().filter(|(_, sum)| sum.deaths > 0);
        sums.map(|(group, sum)| (group, sum.amounts(self.booked.get(group))))
    }
}
