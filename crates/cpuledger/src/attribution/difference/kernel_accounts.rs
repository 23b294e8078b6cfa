//! The books where the kernel keeps account of the dead: what each account grew by. No death has to be seen.
//!
//! A process that is gone has left all that it used, and all that it inherited, to the nearest of its accounting ancestors that lives. What it
//! had at the last cut was in the intervals before, so it is taken from what that one has inherited. Hence all shares together are what
//! all accounts together grew by.
//!
//! A process may be released while the kernel writes a snapshot, after the record of its heir. Then the heir has its time at the next cut
//! only, and owes until then what was taken from it too early.

use cpuledger_model::boottime::Boottime;
use cpuledger_model::snapshot::Account;
use cpuledger_model::task::Pid;
use rustc_hash::FxHashMap;

use crate::attribution::Parts;

/// What a process used in an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Share {
    pub(super) parts: Parts,
    pub(super) stolen_ns: u64,
    pub(super) accounting_parent: Option<Pid>,
}

/// The accounts of the last cut.
#[derive(Debug, Default)]
pub(super) struct KernelAccounts {
    has_begun: bool,
    /// Sorted by number.
    last: Vec<Account>,
    /// Where the time of each of them is at this cut.
    heirs: Vec<Heir>,
    /// Of each process of this cut: what those had that it inherited from.
    former_ns: Vec<u64>,
    owed_ns: FxHashMap<(Pid, Boottime), u64>,
}

/// Where the time of a process is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Heir {
    NotFollowed,
    /// With this account of the cut.
    At(usize),
    Nowhere,
}

impl KernelAccounts {
    /// Closes an interval: the share of each account, which come sorted by number. `living_ns`: what those of its tasks used that live.
    pub(super) fn close(&mut self, accounts: &[Account], living_ns: &[u64], shares: &mut Vec<Share>) {
        debug_assert!(accounts.is_sorted_by_key(|account| account.pid), "sorted, and one a process");
        self.find_heirs(accounts);
        let mut owed_ns = FxHashMap::default();
        shares.clear();
        for ((account, living_ns), former_ns) in accounts.iter().zip(living_ns).zip(&self.former_ns) {
            let accounting_parent = Some(account.accounting_parent).filter(|pid| pid.0 != 0);
            let mut share = Share { accounting_parent, ..Share::default() };
            if self.has_begun {
                let before = find(&self.last, account).map_or(Account::default(), |index| self.last[index]);
                let own_ns = account.own_ns.wrapping_sub(before.own_ns) as i64;
                let children_ns =
                    account.children_ns.wrapping_sub(before.children_ns).wrapping_sub(*former_ns) as i64;
                let (parts, missing_ns) = split(own_ns, children_ns, *living_ns);
                share.parts = parts;
                share.stolen_ns = account.stolen_ns.saturating_sub(before.stolen_ns);
                if missing_ns > 0 {
                    owed_ns.insert((account.pid, account.start), missing_ns);
                }
            }
            shares.push(share);
        }
        self.owed_ns = owed_ns;
        self.has_begun = true;
        self.last.clear();
        self.last.extend_from_slice(accounts);
    }

    /// Gives what the vanished had at the last cut, and what is owed, to those accounts that have the time now.
    fn find_heirs(&mut self, accounts: &[Account]) {
        self.former_ns.clear();
        self.former_ns.resize(accounts.len(), 0);
        self.heirs.clear();
        self.heirs.resize(self.last.len(), Heir::NotFollowed);
        for index in 0..self.last.len() {
            let heir = self.follow(index, accounts);
            let Heir::At(place) = heir else { continue };
            let last = &self.last[index];
            let is_gone = (accounts[place].pid, accounts[place].start) != (last.pid, last.start);
            let had_ns = if is_gone { last.own_ns + last.children_ns } else { 0 };
            let owed_ns = self.owed_ns.get(&(last.pid, last.start)).copied().unwrap_or(0);
            self.former_ns[place] += had_ns + owed_ns;
        }
    }

    /// Where the time of an account of the last cut is: with itself, or with the nearest ancestor that is there.
    fn follow(&mut self, first: usize, accounts: &[Account]) -> Heir {
        let mut path = Vec::new();
        let mut index = first;
        let heir = loop {
            let last = &self.last[index];
            if self.heirs[index] != Heir::NotFollowed {
                break self.heirs[index];
            }
            if let Some(place) = find(accounts, last) {
                break Heir::At(place);
            }
            path.push(index);
            // A circle there is not; a parent that is not listed was released before its turn came.
            match self.last.binary_search_by_key(&last.accounting_parent, |other| other.pid) {
                Ok(parent) if path.len() <= self.last.len() => index = parent,
                _ => break Heir::Nowhere,
            }
        };
        for visited in path {
            self.heirs[visited] = heir;
        }
        self.heirs[first] = heir;
        heir
    }
}

/// The place of the same process.
fn find(accounts: &[Account], wanted: &Account) -> Option<usize> {
    let index = accounts.binary_search_by_key(&wanted.pid, |account| account.pid).ok()?;
    (accounts[index].start == wanted.start).then_some(index)
}

/// The parts of what an account grew by, and what is missing to 0.
fn split(own_ns: i64, children_ns: i64, living_ns: u64) -> (Parts, u64) {
    let total_ns = own_ns.saturating_add(children_ns);
    let own_ns = own_ns.clamp(0, total_ns.max(0)).cast_unsigned();
    let self_ns = living_ns.min(own_ns);
    let parts = Parts {
        self_ns,
        exited_threads_ns: own_ns - self_ns,
        exited_children_ns: total_ns.max(0).cast_unsigned() - own_ns,
    };
    (parts, total_ns.min(0).unsigned_abs())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn account(pid: i32, parent: i32, own_ns: u64, children_ns: u64) -> Account {
        Account {
            pid: Pid(pid),
            start: Boottime::from_ns(1),
            accounting_parent: Pid(parent),
            own_ns,
            children_ns,
            stolen_ns: 0,
        }
    }

    fn close(told: &mut KernelAccounts, accounts: &[Account], living_ns: &[u64]) -> Vec<(u64, u64, u64)> {
        let mut shares = Vec::new();
        told.close(accounts, living_ns, &mut shares);
        let parts =
            |Share { parts, .. }: &Share| (parts.self_ns, parts.exited_threads_ns, parts.exited_children_ns);
        shares.iter().map(parts).collect()
    }

    #[test]
    fn the_first_cut_opens_and_the_second_tells_growth() {
        let mut told = KernelAccounts::default();
        assert_eq!(close(&mut told, &[account(1, 0, 500, 70)], &[500]), [(0, 0, 0)]);
        assert_eq!(close(&mut told, &[account(1, 0, 530, 75)], &[20]), [(20, 10, 5)]);
    }

    #[test]
    fn the_dead_are_inherited_without_what_they_had_before() {
        let mut told = KernelAccounts::default();
        let before =
            [account(1, 0, 0, 0), account(2, 1, 10, 0), account(3, 2, 100, 0), account(4, 3, 1_000, 50)];
        close(&mut told, &before, &[0; 4]);
        // 2 and 3 have died: 4 goes on under 1. 3 had used 7 more, and had a child that used 2.
        let after = [account(1, 0, 1, 10 + 107 + 2), account(4, 1, 1_001, 50)];
        assert_eq!(close(&mut told, &after, &[1, 1]), [(1, 0, 9), (1, 0, 0)]);
    }

    #[test]
    fn a_number_that_is_used_again_is_another_process() {
        let mut told = KernelAccounts::default();
        close(&mut told, &[account(1, 0, 0, 0), account(9, 1, 100, 0)], &[0; 2]);
        let young = Account { start: Boottime::from_ns(2), ..account(9, 1, 30, 0) };
        assert_eq!(close(&mut told, &[account(1, 0, 0, 104), young], &[0, 30]), [(0, 0, 4), (30, 0, 0)]);
    }

    #[test]
    fn an_heir_that_was_read_too_early_owes_until_the_next_cut() {
        let mut told = KernelAccounts::default();
        close(&mut told, &[account(1, 0, 0, 0), account(9, 1, 100, 0)], &[0; 2]);
        assert_eq!(close(&mut told, &[account(1, 0, 30, 0)], &[30]), [(0, 0, 0)]);
        assert_eq!(close(&mut told, &[account(1, 0, 40, 105)], &[10]), [(10, 0, 35)]);
        assert_eq!(close(&mut told, &[account(1, 0, 41, 105)], &[1]), [(1, 0, 0)]);
    }

    #[derive(Debug, Clone)]
    enum Step {
        Fork(prop::sample::Index),
        Use(prop::sample::Index, u64),
        Die(prop::sample::Index),
        Cut,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            any::<prop::sample::Index>().prop_map(Step::Fork),
            (any::<prop::sample::Index>(), 0u64..1_000).prop_map(|(who, ns)| Step::Use(who, ns)),
            any::<prop::sample::Index>().prop_map(Step::Die),
            Just(Step::Cut),
        ];
        prop::collection::vec(step, 1..200)
    }

    proptest! {
        /// Against a kernel that keeps the accounts, and knows what was used since the last cut.
        #[test]
        fn shares_are_what_was_used(steps in steps()) {
            let mut told = KernelAccounts::default();
            let mut living = vec![account(1, 0, 0, 0)];
            let (mut next, mut used_ns, mut has_begun) = (2, 0, false);
            for step in steps {
                match step {
                    Step::Fork(parent) => {
                        let parent = parent.get(&living).pid.0;
                        living.push(account(next, parent, 0, 0));
                        next += 1;
                    }
                    Step::Use(who, ns) => {
                        let index = who.index(living.len());
                        living[index].own_ns += ns;
                        used_ns += ns;
                    }
                    Step::Die(who) => {
                        let index = who.index(living.len());
                        if index > 0 {
                            let dead = living.remove(index);
                            for other in &mut living {
                                if other.pid == dead.accounting_parent {
                                    other.children_ns += dead.own_ns + dead.children_ns;
                                }
                                if other.accounting_parent == dead.pid {
                                    other.accounting_parent = dead.accounting_parent;
                                }
                            }
                        }
                    }
                    Step::Cut => {
                        let shares = close(&mut told, &living, &vec![u64::MAX; living.len()]);
                        let sum: u64 = shares.iter().map(|(own, threads, children)| own + threads + children).sum();
                        prop_assert_eq!(sum, if has_begun { used_ns } else { 0 });
                        prop_assert!(told.owed_ns.is_empty());
                        (used_ns, has_begun) = (0, true);
                    }
                }
            }
        }
    }
}
