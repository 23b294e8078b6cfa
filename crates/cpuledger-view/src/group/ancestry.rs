//! Who descends from whom: names of processes and of those above them.

use cpuledger_model::field::Field;
use cpuledger_model::framing::Ancestor;
use cpuledger_model::interval::Row;
use cpuledger_model::task::Pid;
use cpuledger_proc::escape::escaped;
use rustc_hash::FxHashMap;

use super::Name;

/// Names above one another; what is above them is left out, as in a report.
const MOST_DEPTH: usize = 24;

/// Processes that are looked up for one interval.
const MOST_FOUND: usize = 65_536;

#[derive(Debug, Clone)]
struct Process {
    parent: Option<Pid>,
    start_time_ns: u64,
    comm: Option<String>,
}

/// Processes by their pids.
#[derive(Debug, Clone, Default)]
pub struct Ancestry {
    known: FxHashMap<Pid, Process>,
}

impl Ancestry {
    /// That of these processes. `find` gives those above them that have no row.
    pub fn of(processes: &[Row], mut find: impl FnMut(Pid) -> Option<Ancestor>) -> Ancestry {
        let mut ancestry = Ancestry::default();
        let mut wanted: Vec<Pid> = Vec::new();
        for Row { task, usage, .. } in processes.iter().filter(|row| !row.task.is_remainder()) {
            let parent = task.known.contains(Field::Ppid).then_some(task.ppid);
            let parent = usage.accounting_parent.or(parent);
            let comm = task.known.contains(Field::Comm).then(|| escaped(task.comm.as_bytes()));
            let process = Process { parent, start_time_ns: task.start_time_ns.ns(), comm };
            ancestry.known.insert(task.pid, process);
            wanted.extend(parent);
        }
        let most = ancestry.known.len() + MOST_FOUND;
        while let Some(pid) = wanted.pop().filter(|_| ancestry.known.len() < most) {
            if pid.0 > 0
                && !ancestry.known.contains_key(&pid)
                && let Some(found) = find(pid)
            {
                wanted.push(found.ppid);
                let (start_time_ns, comm) = (found.start.ns(), Some(escaped(&found.comm)));
                ancestry.known.insert(pid, Process { parent: Some(found.ppid), start_time_ns, comm });
            }
        }
        ancestry
    }

    /// The process of this pid.
    pub(super) fn process(&self, pid: Pid) -> Name {
        let Some(Process { start_time_ns, comm: Some(comm), .. }) = self.known.get(&pid) else {
            return Name::Unknown;
        };
        let label = format!("{comm} ({pid})");
        Name::Process { label, pid: pid.0, start_time_ns: *start_time_ns, comm: comm.clone() }
    }

    /// The names of the process of this pid and of those above it. One without a name has its pid, as in a report.
    pub(super) fn path(&self, pid: Pid) -> Name {
        let mut path: Vec<String> = Vec::new();
        let mut next = Some(pid).filter(|pid| pid.0 > 0);
        while let Some(pid) = next.filter(|_| path.len() < MOST_DEPTH) {
            let process = self.known.get(&pid);
            let comm = process.and_then(|process| process.comm.clone());
            path.push(comm.unwrap_or_else(|| format!("(name unknown, pid {pid})")));
            next = process.and_then(|process| process.parent).filter(|parent| parent.0 > 0 && *parent != pid);
        }
        path.reverse();
        if path.is_empty() { Name::Unknown } else { Name::Path { label: path.join(" > "), path } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cpuledger_model::field::FieldSet;
    use cpuledger_model::interval::Usage;
    use cpuledger_model::make;
    use cpuledger_model::task::{Comm, Task, Tid};

    fn row(pid: i32, ppid: i32, comm: &[u8], heir: Option<i32>) -> Row {
        let (tid, pid, ppid, comm) = (Tid(pid), Pid(pid), Pid(ppid), Comm::new(comm));
        let task = make!(Task { known: FieldSet::ALL, tid, pid, ppid, comm });
        Row::new(task, make!(Usage { accounting_parent: heir.map(Pid) }))
    }

    #[test]
    fn a_path_leads_by_the_heirs_to_the_topmost_that_is_known() {
        let sleeps = make!(Ancestor { pid: Pid(2), ppid: Pid(1), comm: b"make".to_vec() });
        let rows = [row(3, 9, b"s h", Some(2)), row(4, 3, b"cc1", None), row(5, 5, b"odd", None)];
        let ancestry = Ancestry::of(&rows, |pid| (pid == Pid(2)).then(|| sleeps.clone()));
        let label = |pid| ancestry.path(Pid(pid)).label().to_owned();
        assert_eq!(label(4), "(name unknown, pid 1) > make > s h > cc1");
        assert_eq!(label(5), "odd", "its own parent");
        assert_eq!(ancestry.process(Pid(4)).label(), "cc1 (4)");
        assert_eq!(ancestry.process(Pid(9)), Name::Unknown);
        assert_eq!(ancestry.path(Pid(0)), Name::Unknown);
    }

    #[test]
    fn a_circle_of_parents_ends() {
        let ancestry = Ancestry::of(&[row(3, 4, b"a", None), row(4, 3, b"b", None)], |_| None);
        let Name::Path { path, .. } = ancestry.path(Pid(3)) else { panic!("a path") };
        assert_eq!(path.len(), MOST_DEPTH);
    }
}
