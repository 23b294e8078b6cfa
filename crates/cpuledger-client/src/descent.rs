//! What descends from a process, and what it used, interval by interval. Pure: intervals in, sums out.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use cpuledger_model::interval::{Divided, Exited, Interval, Row};
use cpuledger_model::{Boottime, Pid, States, Task, TaskId, Tid};
use cpuledger_proc::escape::escaped;

/// Lines of descent that are told apart; the others are one.
const MOST_LINES: usize = 10_000;

/// The names of a line of descent are at most this number: the first and the last of a longer one are kept.
const MOST_NAMES_OF_LINE: usize = 12;

/// What processes used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Used {
    /// How many they are.
    pub processes: u64,
    /// CPU time, stolen time included.
    pub cpu_ns: u64,
    /// They were runnable, and waited for a CPU.
    pub waiting_ns: u64,
    /// They waited without being interruptible, for I/O or anything else.
    pub blocked_ns: u64,
    /// The part of that in which they waited for I/O.
    pub io_wait_ns: u64,
    /// The longest life of one.
    pub longest_ns: u64,
}

impl Used {
    fn add(&mut self, other: &Used) {
        self.processes += other.processes;
        self.cpu_ns += other.cpu_ns;
        self.waiting_ns += other.waiting_ns;
        self.blocked_ns += other.blocked_ns;
        self.io_wait_ns += other.io_wait_ns;
        self.longest_ns = self.longest_ns.max(other.longest_ns);
    }

    /// Adds what was done off the CPU, where that is known.
    fn add_states(&mut self, states: Option<States>) {
        let states = states.unwrap_or_default();
        self.waiting_ns += states.runqueue_wait_ns;
        self.blocked_ns += states.blocked_ns;
        self.io_wait_ns += states.io_wait_ns;
    }
}

/// A living process of the tree.
#[derive(Debug, Clone)]
pub struct Member {
    /// Which.
    pub id: TaskId,
    /// Its name as it was last seen, escaped.
    pub comm: String,
    /// What it used so far; `longest_ns` is not told.
    pub used: Used,
    /// Its user and system time and that of children that it has waited for, by the kernel's counters.
    pub split_ns: [u64; 2],
    /// The names of its cgroup, as it was last seen.
    places: Places,
    /// The nearest process above it that lived when this one was first seen.
    parent: Option<TaskId>,
}

/// Unit and container of a process, escaped; `None`: it has none, or that is not known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Places {
    /// The unit of systemd.
    pub unit: Option<String>,
    /// The container.
    pub container: Option<String>,
}

/// A process in an interval, whose places are asked for.
#[derive(Debug, Clone, Copy)]
pub enum Subject<'a> {
    /// It lives.
    Living(&'a Task),
    /// It has died.
    Dead(&'a Exited),
}

/// Writes down the places of a process, as far as they are known. What was known of it before stays where they are not.
pub type Learn<'a> = &'a dyn Fn(Subject<'_>, &mut Places);

/// The processes that descend from this one.
#[derive(Debug, Default)]
pub struct Descent {
    own: Pid,
    members: HashMap<TaskId, Member>,
    sums: Tables,
    /// CPU time of the tree, as the books have it: the living with what they inherited, and what this process inherited.
    booked_ns: u64,
    /// The part of it in which the tree did not execute.
    stolen_ns: u64,
    /// What it divides into; `None`: of some of it, that is not known.
    divided: Option<Divided>,
    /// CPU time of this process itself, which is none of the tree.
    own_ns: u64,
    missed_switches: Option<u64>,
    hidden_cpu_ns: Option<u64>,
}

/// The heir of a process of an interval: its pid and, of one that died, its start.
type Heir = (Pid, Option<Boottime>);

/// The dead of an interval by process.
type Dead<'a> = HashMap<TaskId, Vec<&'a Exited>>;

impl Descent {
    /// Of the process that has this pid; nothing yet.
    pub fn of(own: Pid) -> Descent {
        let divided = Some(Divided { user_ns: 0, system_ns: 0, stolen_ns: 0 });
        Descent { own, divided, missed_switches: Some(0), hidden_cpu_ns: Some(0), ..Descent::default() }
    }

    /// Adds an interval; `learn` tells where its processes are.
    pub fn add(&mut self, interval: &Interval, learn: Learn<'_>) {
        let missed_switches = self.missed_switches.zip(interval.missed_switches);
        self.missed_switches = missed_switches.map(|(before, more)| before + more);
        let hidden_cpu_ns = self.hidden_cpu_ns.zip(interval.hidden_cpu_ns);
        self.hidden_cpu_ns = hidden_cpu_ns.map(|(before, more)| before + more);
        let exited = interval.exited.as_deref().unwrap_or_default();
        let living: HashMap<TaskId, &Row> =
            interval.processes.iter().map(|row| (row.task.id(), row)).collect();
        let mut dead = Dead::new();
        for record in exited {
            if !living.contains_key(&record.exit.process) {
                dead.entry(record.exit.process).or_default().push(record);
            }
        }
        // Threads of a process that lives on, and did not run itself.
        dead.retain(|_, records| records.iter().any(|record| record.ends_process != Some(false)));
        self.admit(&living, &dead);
        for row in living.values() {
            self.add_living(row, learn);
        }
        let ended: Vec<TaskId> = dead
            .iter()
            .filter(|(id, records)| self.add_dead(id, records, learn))
            .map(|(id, _)| *id)
            .collect();
        self.count_ended(&ended);
    }

    /// Finds out which processes descend from this one, by their heirs.
    fn admit(&mut self, living: &HashMap<TaskId, &Row>, dead: &Dead<'_>) {
        let mut heirs: HashMap<TaskId, Heir> = HashMap::new();
        for (id, row) in living {
            heirs.extend(row.usage.accounting_parent.map(|pid| (*id, (pid, None))));
        }
        for (id, records) in dead {
            let heir =
                records.iter().find_map(|record| Some((record.accounting_parent?, record.accounting_start)));
            heirs.extend(heir.map(|heir| (*id, heir)));
        }
        // Of a pid without a start it is the one that lives.
        let mut by_pid: HashMap<Pid, TaskId> = self.members.keys().map(|id| (Pid(id.tid.0), *id)).collect();
        by_pid.extend(living.keys().map(|id| (Pid(id.tid.0), *id)));
        // The parent of a dead process may have died in the same interval: then its heir is further up.
        let mut dead_by_pid: HashMap<Pid, TaskId> = by_pid.clone();
        dead_by_pid.extend(dead.keys().map(|id| (Pid(id.tid.0), *id)));
        let parent_of = |(id, records): (&TaskId, &Vec<&Exited>)| {
            let pid = records.iter().find_map(|record| record.exit.known_ppid())?;
            let parent = dead_by_pid.get(&pid).filter(|parent| parent.start_time_ns < id.start_time_ns)?;
            Some((*id, *parent))
        };
        let parents: HashMap<TaskId, TaskId> = dead.iter().filter_map(parent_of).collect();
        let mut strangers: HashSet<TaskId> = HashSet::new();
        for id in heirs.keys() {
            let mut line = Vec::new();
            let mut next = Some(*id);
            let is_ours = loop {
                let Some(id) = next.filter(|_| line.len() <= heirs.len()) else { break false };
                if self.members.contains_key(&id) {
                    break true;
                }
                if strangers.contains(&id) {
                    break false;
                }
                let Some((pid, start)) = heirs.get(&id) else { break false };
                let known = start.map(|start| TaskId { tid: Tid(pid.0), start_time_ns: start });
                let heir = known.or_else(|| by_pid.get(pid).copied());
                line.push((id, heir));
                if *pid == self.own {
                    break true;
                }
                next = heir;
            };
            if !is_ours {
                strangers.extend(line.into_iter().map(|(id, _)| id));
                continue;
            }
            for (id, heir) in line {
                let heir = parents.get(&id).copied().or(heir);
                let parent = heir.filter(|heir| Pid(heir.tid.0) != self.own);
                self.members.entry(id).or_insert_with(|| Member::new(id, parent));
            }
        }
    }

    fn add_living(&mut self, Row { task, usage, .. }: &Row, learn: Learn<'_>) {
        if task.pid == self.own {
            self.own_ns += usage.self_ns + usage.exited_threads_ns.unwrap_or(0);
            self.booked_ns += usage.exited_children_ns.unwrap_or(0);
            self.stolen_ns += usage.exited_children_stolen_ns.unwrap_or(0);
            self.add_divided(&usage.divided()[2..]);
            return;
        }
        let Some(member) = self.members.get_mut(&task.id()) else { return };
        self.booked_ns += usage.cpu_ns;
        self.stolen_ns += usage.stolen_ns.unwrap_or(0) + usage.exited_children_stolen_ns.unwrap_or(0);
        member.comm = escaped(task.comm.as_bytes());
        learn(Subject::Living(task), &mut member.places);
        member.used.cpu_ns += usage.self_ns + usage.exited_threads_ns.unwrap_or(0);
        member.used.add_states(usage.states);
        member.split_ns = [task.user_ns + task.children_user_ns, task.system_ns + task.children_system_ns];
        self.add_divided(&usage.divided());
    }

    /// Adds what parts of the CPU time of the tree divide into.
    fn add_divided(&mut self, parts: &[Option<Divided>]) {
        for part in parts {
            self.divided = self.divided.zip(*part).map(|(sum, part)| Divided {
                user_ns: sum.user_ns + part.user_ns,
                system_ns: sum.system_ns + part.system_ns,
                stolen_ns: sum.stolen_ns + part.stolen_ns,
            });
        }
    }

    /// Whether it is one of the tree.
    fn add_dead(&mut self, id: &TaskId, records: &[&Exited], learn: Learn<'_>) -> bool {
        let Some(member) = self.members.get_mut(id) else { return false };
        for record in records {
            member.used.cpu_ns += record.cpu_ns;
            member.used.add_states(record.states);
            member.used.longest_ns = member.used.longest_ns.max(record.exit.lifetime_ns);
            learn(Subject::Dead(record), &mut member.places);
            if record.exit.task == *id || member.comm.is_empty() {
                member.comm = escaped(record.exit.comm.as_bytes());
            }
        }
        true
    }

    /// Counts what processes used by their names and lines, and forgets them. What they have left descends from their parents.
    fn count_ended(&mut self, ended: &[TaskId]) {
        if ended.is_empty() {
            return;
        }
        let lines = lines(&self.members, ended);
        for (id, line) in ended.iter().zip(&lines) {
            if let Some(Member { comm, places, used, .. }) = self.members.get(id) {
                self.sums.count(comm, line, places, used);
            }
        }
        let mut gone: HashMap<TaskId, Option<TaskId>> =
            ended.iter().filter_map(|id| Some((*id, self.members.remove(id)?.parent))).collect();
        for member in self.members.values_mut() {
            member.parent = member.parent.and_then(|parent| remaining(&mut gone, parent));
        }
    }

    /// The sums, with those that live. `is_alive` says of a process whether it is there.
    pub fn finish(mut self, now: Boottime, real_ns: u64, is_alive: impl Fn(&Member) -> bool) -> Tree {
        let ids: Vec<TaskId> = self.members.keys().copied().collect();
        let lines = lines(&self.members, &ids);
        let mut running = Vec::new();
        for (id, line) in ids.into_iter().zip(lines) {
            let Some(member) = self.members.get(&id) else { continue };
            let mut used = member.used;
            used.longest_ns = used.longest_ns.max(now.since_ns(id.start_time_ns));
            self.sums.count(&member.comm, &line, &member.places, &used);
            if is_alive(member) {
                running.push(member.clone());
            }
        }
        running.sort_by_key(|member| std::cmp::Reverse((member.used.cpu_ns, member.id)));
        // The launcher began before the command, and what has ended has not lived longer.
        self.sums.limit_lives(real_ns);
        let mut all = Used::default();
        self.sums.by_name.values().for_each(|used| all.add(used));
        Tree {
            all,
            booked_ns: self.booked_ns,
            stolen_ns: self.stolen_ns.min(self.booked_ns),
            divided: self.divided,
            own_ns: self.own_ns,
            sums: self.sums,
            running,
            missed_switches: self.missed_switches,
            hidden_cpu_ns: self.hidden_cpu_ns,
        }
    }
}

/// The nearest process above one of the gone, itself included, that is not gone. All on the way there point to it from then on.
fn remaining(gone: &mut HashMap<TaskId, Option<TaskId>>, first: TaskId) -> Option<TaskId> {
    let mut way = Vec::new();
    let mut next = Some(first);
    while let Some((id, above)) = next.and_then(|id| Some((id, *gone.get(&id)?))) {
        way.push(id);
        next = above.filter(|_| way.len() <= gone.len());
    }
    for id in way {
        gone.insert(id, next);
    }
    next
}

/// The names from the command down to each of these processes.
fn lines(members: &HashMap<TaskId, Member>, ids: &[TaskId]) -> Vec<String> {
    let mut tops: HashMap<TaskId, Rc<[&str]>> = HashMap::new();
    ids.iter().map(|id| line(members, *id, &mut tops)).collect()
}

/// The members of a line, from a process up to the command.
fn upwards(members: &HashMap<TaskId, Member>, id: TaskId) -> impl Iterator<Item = &Member> {
    let above = |member: &&Member| member.parent.and_then(|parent| members.get(&parent));
    std::iter::successors(members.get(&id), above).take(members.len())
}

fn line<'a>(
    members: &'a HashMap<TaskId, Member>,
    id: TaskId,
    tops: &mut HashMap<TaskId, Rc<[&'a str]>>,
) -> String {
    let mut names: Vec<&str> = upwards(members, id).take(MOST_NAMES_OF_LINE + 2).map(Member::name).collect();
    if names.len() > MOST_NAMES_OF_LINE + 1 {
        let top = top(members, id, tops);
        names.truncate(MOST_NAMES_OF_LINE / 2);
        names.push("…");
        names.extend(&*top);
    }
    names.reverse();
    names.join(" > ")
}

/// The names at the top of a long line, from below. Each process of the line is passed once, whichever are asked for.
fn top<'a>(
    members: &'a HashMap<TaskId, Member>,
    id: TaskId,
    tops: &mut HashMap<TaskId, Rc<[&'a str]>>,
) -> Rc<[&'a str]> {
    let mut known = None;
    let mut is_new = |member: &&Member| {
        known = tops.get(&member.id).cloned();
        known.is_none()
    };
    let way: Vec<&Member> = upwards(members, id).take_while(&mut is_new).collect();
    // Those at the top have shorter lines.
    let (top, long) = match known {
        Some(top) => (top, &way[..]),
        None => {
            let (long, top) = way.split_at(way.len().saturating_sub(MOST_NAMES_OF_LINE / 2));
            (top.iter().map(|member| member.name()).collect(), long)
        }
    };
    tops.extend(long.iter().map(|member| (member.id, Rc::clone(&top))));
    top
}

impl Member {
    fn name(&self) -> &str {
        if self.comm.is_empty() { "?" } else { &self.comm }
    }

    fn new(id: TaskId, parent: Option<TaskId>) -> Member {
        let used = Used { processes: 1, ..Used::default() };
        Member { id, comm: String::new(), used, split_ns: [0; 2], places: Places::default(), parent }
    }
}

/// What a command and all that descends from it used.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Tree {
    /// The sum over all processes with a name.
    pub all: Used,
    /// CPU time of the tree by the books: with that of the dead whose identity was lost.
    pub booked_ns: u64,
    /// The part of that in which it did not execute: a hypervisor or an interrupt had the CPU. That of the dead is in it.
    pub stolen_ns: u64,
    /// What all of it divides into: by the books, so the three add up to [`Tree::booked_ns`]. `None`: of some of it, that is not known.
    pub divided: Option<Divided>,
    /// CPU time of the process that they descend from: its own, that of its threads included. It is in no other figure.
    pub own_ns: u64,
    /// Its parts.
    pub sums: Tables,
    /// What still runs.
    pub running: Vec<Member>,
    /// Switches that the kernel has not shown: some time of the tree may be with another task, or the other way round. `None`: a service
    /// that shows the caller only its own processes does not tell.
    pub missed_switches: Option<u64>,
    /// CPU time of processes that the kernel hides, which those switches were of: it is with other tasks, or idle. `None` likewise.
    pub hidden_cpu_ns: Option<u64>,
}

/// What processes used by name, escaped; `None`: all names that are not told apart. A process may have any name.
pub type Sums = BTreeMap<Option<String>, Used>;

/// What processes used, put together in several ways.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Tables {
    /// By name.
    pub by_name: Sums,
    /// By line of descent.
    pub by_line: Sums,
    /// By unit of systemd; those whose unit is not known are left out.
    pub by_unit: Sums,
    /// By container; those that are in none, or in one that is not known, are left out.
    pub by_container: Sums,
}

impl Tables {
    fn count(&mut self, comm: &str, line: &str, places: &Places, used: &Used) {
        count(&mut self.by_name, comm, used);
        count(&mut self.by_line, line, used);
        for (sums, place) in [(&mut self.by_unit, &places.unit), (&mut self.by_container, &places.container)]
        {
            place.iter().for_each(|place| count(sums, place, used));
        }
    }

    /// No process has lived longer.
    fn limit_lives(&mut self, most_ns: u64) {
        let Tables { by_name, by_line, by_unit, by_container } = self;
        for used in [by_name, by_line, by_unit, by_container].into_iter().flat_map(Sums::values_mut) {
            used.longest_ns = used.longest_ns.min(most_ns);
        }
    }
}

fn count(sums: &mut Sums, name: &str, used: &Used) {
    let name = Some(name.to_owned());
    let is_told = sums.len() < MOST_LINES || sums.contains_key(&name);
    sums.entry(name.filter(|_| is_told)).or_default().add(used);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u32) -> TaskId {
        TaskId { tid: Tid(number.cast_signed()), start_time_ns: Boottime::from_ns(number.into()) }
    }

    /// Of each process, what is its parent; 0 has none.
    fn family(parents: &[u32]) -> HashMap<TaskId, Member> {
        let member = |(number, parent): (u32, &u32)| {
            let parent = (number > 0).then(|| id(*parent));
            (id(number), Member { comm: format!("p{number}"), ..Member::new(id(number), parent) })
        };
        (0..).zip(parents).map(member).collect()
    }

    /// As it is written down: all names from the top, and where they are too many, the first and the last six.
    fn expected(members: &HashMap<TaskId, Member>, id: TaskId) -> String {
        let mut names: Vec<&str> = Vec::new();
        let mut next = Some(id);
        while let Some(member) = next.and_then(|id| members.get(&id)) {
            names.insert(0, &member.comm);
            next = member.parent;
        }
        if names.len() > MOST_NAMES_OF_LINE + 1 {
            let half = MOST_NAMES_OF_LINE / 2;
            names.splice(half..names.len() - half, ["…"]);
        }
        names.join(" > ")
    }

    #[test]
    fn a_long_line_has_its_first_and_last_names() {
        let chain: Vec<u32> = (0..40_u32).map(|number| number.saturating_sub(1)).collect();
        let tree: Vec<u32> = (0..200_u32).map(|number| number * 7 / 8).collect();
        for parents in [chain, tree] {
            let members = family(&parents);
            let ids: Vec<TaskId> = (0..parents.len() as u32).rev().map(id).collect();
            for (id, line) in ids.iter().zip(lines(&members, &ids)) {
                assert_eq!(line, expected(&members, *id));
            }
        }
    }

    /// It took as many steps as the square of its length, which would be 2,500,000,000 here.
    #[test]
    fn a_chain_is_passed_once() {
        let parents: Vec<u32> = (0..50_000_u32).map(|number| number.saturating_sub(1)).collect();
        let mut descent = Descent { members: family(&parents), ..Descent::of(Pid(1)) };
        let last = id(49_999);
        let ended: Vec<TaskId> = (1..49_999).map(id).collect();
        descent.count_ended(&ended);
        assert_eq!(descent.members.len(), 2);
        assert_eq!(descent.members[&last].parent, Some(id(0)), "what is left descends from what lives");
        assert_eq!(descent.sums.by_line.len(), MOST_LINES + 1);
    }

    #[test]
    fn no_process_has_the_name_of_what_is_not_told_apart() {
        let one = Used { processes: 1, cpu_ns: 1, ..Used::default() };
        let mut sums = Sums::new();
        count(&mut sums, "(others)", &one);
        for number in 1..MOST_LINES + 7 {
            count(&mut sums, &number.to_string(), &one);
        }
        count(&mut sums, "(others)", &one);
        let of = |name: Option<&str>| sums[&name.map(str::to_owned)].processes;
        assert_eq!((of(Some("(others)")), of(None), of(Some("1"))), (2, 7, 1));
    }
}
