//! The tree of processes by which time is inherited. A process that dies becomes a part of its heir's: what is remembered is what lives, and
//! the names of the dead.

use rustc_hash::FxHashMap;

use crate::amounts::{Amounts, Booked, SumOfDead, Tally};
use crate::branch::{Branch, MOST_DEPTH};
use crate::deaths::{HeirId, Id};
use crate::names::{Comm, Names, Renumbered, Used};

/// Names of the dead that are told apart. Beyond that the time of a dead process counts for its heir.
const MOST_NAMES: usize = 65_536;

/// A process that has not been seen to die.
#[derive(Debug, Clone)]
struct Process {
    /// Its start, where it is known.
    start: Option<u64>,
    comm: Comm,
    parent: Option<i64>,
    tally: Tally,
    dead: Branch,
}

/// The processes of a machine.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lineage {
    processes: FxHashMap<i64, Process>,
    /// Of the dead, in the branches of all processes.
    names: usize,
}

impl Lineage {
    /// A row of a process.
    pub(crate) fn add(&mut self, id: Id, comm: Comm, parent: Option<i64>, amounts: &Amounts) {
        let process = self.process(id.0, Some(id.1));
        if comm != Comm::UNKNOWN {
            process.comm = comm;
        }
        process.parent = parent.or(process.parent);
        process.tally.add(amounts);
    }

    /// A process without a row lives, and from it one with a row descends.
    pub(crate) fn know(&mut self, pid: i64, comm: Comm, parent: Option<i64>) {
        let process = self.process(pid, None);
        if process.comm == Comm::UNKNOWN {
            process.comm = comm;
        }
        process.parent = process.parent.or(parent);
    }

    /// A process has died and belongs to what it leaves its time to.
    pub(crate) fn end(
        &mut self,
        (id, comm): (Id, Comm),
        heir: Option<HeirId>,
        (sum, booked): (SumOfDead, Option<&Booked>),
    ) {
        let process = self.process(id.0, Some(id.1));
        process.tally.add_dead(&sum, booked);
        if comm != Comm::UNKNOWN {
            process.comm = comm;
        }
        let heir = heir.or(process.parent.map(|parent| (parent, None)));
        // Without an heir it stays, as one without ancestors.
        if let Some((pid, start)) = heir.filter(|(pid, _)| *pid != id.0) {
            self.process(pid, start);
            self.fold(id.0, Some(pid));
        }
    }

    /// The process of this pid, which is another one than before where its start is another.
    fn process(&mut self, pid: i64, start: Option<u64>) -> &mut Process {
        let is_other = self
            .processes
            .get(&pid)
            .is_some_and(|own| start.is_some() && own.start.is_some() && own.start != start);
        if is_other {
            let heir = self.processes[&pid].parent.filter(|heir| *heir != pid);
            self.fold(pid, heir);
        }
        let process = self.processes.entry(pid).or_insert_with(|| Process {
            start,
            comm: Comm::UNKNOWN,
            parent: None,
            tally: Tally::default(),
            dead: Branch::default(),
        });
        process.start = process.start.or(start);
        process
    }

    /// Makes a process a part of its heir, or of what has no ancestors.
    fn fold(&mut self, pid: i64, heir: Option<i64>) {
        let Some(process) = self.processes.remove(&pid) else { return };
        let branch = Branch::of(process.tally, process.dead);
        // They go on as those of the heir, which may have them already.
        self.names -= branch.names();
        // The pid 0 stands for what is above all.
        let heir = heir.unwrap_or(0);
        let is_full = self.names >= MOST_NAMES;
        let into = self.process(heir, None);
        if is_full {
            into.tally.add(&branch.total());
            return;
        }
        self.names += into.dead.merge(branch.below(process.comm), 0);
    }

    /// Who descends from whom is kept, and what was used is not.
    pub(crate) fn forget_amounts(&mut self) {
        for process in self.processes.values_mut() {
            process.tally = Tally::default();
            process.dead = Branch::default();
        }
        self.names = 0;
    }

    /// The names of the living, and of the dead that are told apart.
    pub(crate) fn add_used(&self, used: &mut Used) {
        for process in self.processes.values() {
            used.add(process.comm);
            process.dead.add_used(used);
        }
    }

    pub(crate) fn renumber(&mut self, comms: &Renumbered) {
        for process in self.processes.values_mut() {
            process.comm = comms.of(process.comm);
            process.dead = std::mem::take(&mut process.dead).renamed(&|comm| comms.of(comm));
        }
    }

    /// Adds what came after.
    pub(crate) fn merge(&mut self, later: Lineage, comms: &Renumbered) {
        for (pid, process) in later.processes {
            let own = self.process(pid, process.start);
            let comm = comms.of(process.comm);
            if comm != Comm::UNKNOWN {
                own.comm = comm;
            }
            own.parent = process.parent.or(own.parent);
            own.tally.merge(&process.tally);
            let new = own.dead.merge(process.dead.renamed(&|comm| comms.of(comm)), 0);
            self.names += new;
        }
    }

    /// The tree by names, from those without ancestors down. What has no name is called by its pid.
    pub(crate) fn tree(&self, names: &mut Names) -> Branch {
        let mut tree = Branch::default();
        for (pid, process) in &self.processes {
            let mut into = &mut tree;
            for comm in self.path(*pid, names) {
                into = into.below.entry(comm).or_default();
            }
            into.tally.merge(&process.tally);
            into.merge(process.dead.clone(), MOST_DEPTH / 2);
        }
        tree
    }

    /// The names from the topmost ancestor down to the process.
    fn path(&self, pid: i64, names: &mut Names) -> Vec<Comm> {
        let mut by_pid = |pid: i64| names.intern(format!("(name unknown, pid {pid})").as_bytes());
        let mut path = Vec::new();
        let mut next = Some(pid);
        let mut start = u64::MAX;
        while let Some(pid) = next {
            let Some(process) = self.processes.get(&pid) else {
                if pid > 0 {
                    path.push(by_pid(pid));
                }
                break;
            };
            // A parent is not younger; one that is has the pid of the parent now.
            if pid == 0 || path.len() >= MOST_DEPTH / 2 || process.start.is_some_and(|own| own > start) {
                break;
            }
            start = process.start.unwrap_or(start);
            path.push(if process.comm == Comm::UNKNOWN { by_pid(pid) } else { process.comm });
            next = process.parent.filter(|parent| *parent != pid);
        }
        path.reverse();
        path
    }
}

#[cfg(test)]
mod tests {
    use crate::amounts::UsedByDead;

    use super::*;

    /// A process that has died, and used 1 ns.
    fn one_ns() -> SumOfDead {
        SumOfDead::of(UsedByDead { cpu_ns: 1, runqueue_wait_ns: None }, 0)
    }

    /// A shell of a build runs a compiler, and both end: again and again, under the same make.
    #[test]
    fn names_that_go_over_to_an_heir_take_no_room_twice() {
        let mut names = Names::default();
        let [make, shell, compiler] = ["make", "sh", "cc1"].map(|text| names.intern(text.as_bytes()));
        let amounts = Amounts { self_ns: 1, ..Amounts::default() };
        let mut lineage = Lineage::default();
        lineage.add((1, 0), make, None, &Amounts::default());
        for turn in 0..MOST_NAMES as u64 {
            let start = 2 * turn + 1;
            lineage.add((2, start), shell, Some(1), &amounts);
            lineage.end(((3, start + 1), compiler), Some((2, Some(start))), (one_ns(), None));
            lineage.end(((2, start), shell), Some((1, Some(0))), (SumOfDead::default(), None));
        }
        assert_eq!(lineage.names, 2);
        let tree = lineage.tree(&mut names);
        let shells = &tree.below[&make].below[&shell];
        assert_eq!(shells.tally.self_ns(), MOST_NAMES as u64);
        assert_eq!(shells.below[&compiler].tally.self_ns(), MOST_NAMES as u64);
        assert_eq!(tree.below[&make].tally.self_ns(), 0);
    }

    /// A process with thousands of names below it dies, then the one above it, and so on: the names were visited at each death.
    #[test]
    fn names_go_over_to_an_heir_as_a_whole() {
        let mut names = Names::default();
        let mut lineage = Lineage::default();
        const CHAIN: i64 = 10_000;
        const WIDE: u64 = 20_000;
        for number in 0..WIDE {
            let comm = names.intern(format!("n{number}").as_bytes());
            lineage.end(((CHAIN + 1, number), comm), Some((CHAIN, Some(0))), (one_ns(), None));
        }
        let own = names.intern(b"chain");
        for pid in (1..=CHAIN).rev() {
            lineage.end(((pid, 0), own), Some((pid - 1, None)), (one_ns(), None));
        }
        let root = &lineage.processes[&0];
        assert_eq!(root.dead.total().self_ns, CHAIN.unsigned_abs() + WIDE);
        assert_eq!(lineage.names, root.dead.names());
        let mut branch = &root.dead;
        let mut depth = 0;
        while let Some(below) = branch.below.get(&own) {
            (branch, depth) = (below, depth + 1);
        }
        assert_eq!(depth, crate::branch::MOST_DEPTH);
    }
}
