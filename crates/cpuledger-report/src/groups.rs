//! What the dead of a frame add up to, by group: so that a table is looked at once a group, not once a process.

use cpuledger_model::frame::{Column, Frame, Section};
use cpuledger_model::framing::CgroupIds;
use rustc_hash::FxHashMap;

use crate::amounts::Amounts;
use crate::deaths::{Dead, Deaths};

/// Sums by the numbers of groups, and what is needed to give groups numbers. Its memory is reused.
#[derive(Debug, Clone, Default)]
pub(crate) struct Groups {
    sums: Vec<Amounts>,
    users: Vec<Option<u64>>,
    of_users: FxHashMap<Option<u64>, usize>,
    places: Vec<Place>,
    of_places: FxHashMap<Place, usize>,
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
    ) -> impl Iterator<Item = (Option<u64>, &Amounts)> {
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
    ) -> impl Iterator<Item = (Place, &Amounts)> {
        let table = frame.table(Section::Exited);
        let (unified, of_cpu) = (table.cells(Column::CGROUP_ID), table.cells(Column::CGROUP_V1_CPU_ID));
        let (mut places, mut of_places) =
            (std::mem::take(&mut self.places), std::mem::take(&mut self.of_places));
        places.clear();
        of_places.clear();
        let mut last = 0;
        self.add_up(deaths, began_ns, |dead, _| {
            let ids = (unified.get(dead.record as usize), of_cpu.get(dead.record as usize));
            let place = match ids {
                ids if tells_cgroups && ids != (None, None) => Place::Cgroup(ids),
                _ => Place::Heir(deaths.heir_row(dead)),
            };
            if places.get(last) != Some(&place) {
                last = *of_places.entry(place).or_insert_with(|| {
                    places.push(place);
                    places.len() - 1
                });
            }
            last
        });
        (self.places, self.of_places) = (places, of_places);
        let places = &self.places;
        let sums = self.sums.iter().enumerate().filter(|(_, sum)| sum.deaths > 0);
        sums.map(|(group, sum)| (places[group], sum))
    }

    /// By the effective user.
    pub(crate) fn by_user(
        &mut self,
        frame: &Frame,
        deaths: &Deaths,
        began_ns: Option<u64>,
    ) -> impl Iterator<Item = (Option<u64>, &Amounts)> {
        let euids = frame.table(Section::Exited).cells(Column::EUID);
        let (mut users, mut of_users) = (std::mem::take(&mut self.users), std::mem::take(&mut self.of_users));
        users.clear();
        of_users.clear();
        let mut last = 0;
        self.add_up(deaths, began_ns, |dead, _| {
            let euid = euids.get(dead.record as usize);
            if users.get(last) != Some(&euid) {
                last = *of_users.entry(euid).or_insert_with(|| {
                    users.push(euid);
                    users.len() - 1
                });
            }
            last
        });
        (self.users, self.of_users) = (users, of_users);
        let users = &self.users;
        let sums = self.sums.iter().enumerate().filter(|(_, sum)| sum.deaths > 0);
        sums.map(|(group, sum)| (users[group], sum))
    }

    /// `group` is told how many groups there are.
    fn add_up(
        &mut self,
        deaths: &Deaths,
        began_ns: Option<u64>,
        mut group: impl FnMut(&Dead, usize) -> usize,
    ) {
        self.sums.clear();
        self.sums.push(Amounts::default());
        for dead in deaths.iter() {
            let group = group(dead, self.sums.len());
            if group >= self.sums.len() {
                self.sums.resize(group + 1, Amounts::default());
            }
            self.sums[group].add_dead(dead.cpu_ns, dead.waiting_ns, dead.births(began_ns));
        }
    }

    fn sums(&self) -> impl Iterator<Item = (usize, &Amounts)> {
        self.sums.iter().enumerate().filter(|(_, sum)| sum.deaths > 0)
    }
}
