//! Who truly waited because of whom, from all events of all queues: `waits.h` of the machine notes them.

use std::collections::{HashMap, HashSet};

use cpuledger_model::counters::Counters;
use cpuledger_model::pairs::{Party, WaitPair, WaitPairs};

use crate::abi;
use crate::ledger::{Blame, Interval};

/// `struct wait_event`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct WaitEvent {
    task: u64,
    start_ns: u64,
    instant_ns: u64,
    taken_ns: u64,
    interrupted_ns: u64,
    cpu: u32,
    kind: u32,
    cgroup: u64,
}

/// `enum wait_kind`
const BEGINS: u32 = 0;
const BEGINS_MOVED: u32 = 1;
const ENDS: u32 = 2;
const RUNS: u32 = 3;

/// Who has a CPU, where it is no task with a slot; in the place of the address of one.
const IDLE: u64 = 0;
const WITHOUT_SLOT: u64 = 1;
/// What else is to blame.
const INTERRUPTS: Id = (2, 0);
const HYPERVISOR: Id = (3, 0);

/// In how many intervals of a run something of folded tasks may come to no other.
const MOST_ASTRAY: u32 = 2;

/// The address of a task, and its start.
type Id = (u64, u64);

#[derive(Debug, Clone, Copy)]
struct Wait {
    since_ns: u64,
    is_moved: bool,
    /// That of the task when it came.
    cgroup: u64,
}

/// One CPU: what was told of it lately.
#[derive(Debug)]
struct Queue {
    running: Id,
    /// What that is among the parties of pairs.
    party: Party,
    /// Who has come onto the CPU, and the cgroup as which it has waited.
    came: Option<(Id, u64)>,
    told_ns: u64,
    /// By how much its task clock was behind then, in all and because of interrupts.
    told_taken_ns: [u64; 2],
    waiting: HashMap<Id, Wait>,
}

/// What tasks have suffered and caused in an interval, in nanoseconds.
#[derive(Debug, Default)]
struct Sums {
    suffered: HashMap<Id, u64>,
    caused: HashMap<Id, u64>,
    pairs: HashMap<(Party, Party), u64>,
}

impl Sums {
    fn add_pair(&mut self, by: Party, cgroup: u64, ns: u64) {
        *self.pairs.entry((by, party(cgroup))).or_default() += ns;
    }
}

/// The tasks of this cgroup.
fn party(cgroup: u64) -> Party {
    Party::Cgroup((Some(cgroup), Some(0)))
}

/// The queues of all CPUs, one list each.
#[derive(Debug, Default)]
pub(super) struct Waits {
    events: Vec<WaitEvent>,
    queues: HashMap<u32, Queue>,
    /// Those of which it is known who has them. Until then a timer may tell it at any time, and the hooks know before it is noted.
    entered: HashSet<u32>,
    start_ns: u64,
    /// The wait that has ended last: the task may have been moved.
    moving: Option<(Id, u64)>,
    /// Intervals in which something of folded tasks came to no other.
    astray: u32,
    /// What was compared.
    pub(super) suffered_ns: u64,
    pub(super) interrupts_ns: u64,
    pub(super) stolen_ns: u64,
    pub(super) tasks: u64,
    pub(super) moved: u64,
    pub(super) pairs: u64,
    pub(super) pair_sums: u64,
}

impl Queue {
    /// Each that waits has done so because of the one that has the CPU, while that was not taken from it.
    fn go_to(&mut self, ns: u64, told_taken_ns: [u64; 2], sums: &mut Sums) {
        let waited_ns = ns.saturating_sub(self.told_ns);
        if waited_ns == 0 {
            return;
        }
        let [taken_ns, interrupted_ns] = [0, 1].map(|which| told_taken_ns[which] - self.told_taken_ns[which]);
        let taken_ns = taken_ns.min(waited_ns);
        let interrupted_ns = interrupted_ns.min(taken_ns);
        for (id, wait) in self.waiting.iter().filter(|(_, wait)| !wait.is_moved) {
            sums.add_pair(self.party, wait.cgroup, waited_ns - taken_ns);
            sums.add_pair(Party::Interrupts, wait.cgroup, interrupted_ns);
            sums.add_pair(Party::Stolen, wait.cgroup, taken_ns - interrupted_ns);
            *sums.suffered.entry(*id).or_default() += waited_ns;
            *sums.caused.entry(self.running).or_default() += waited_ns - taken_ns;
            *sums.caused.entry(INTERRUPTS).or_default() += interrupted_ns;
            *sums.caused.entry(HYPERVISOR).or_default() += taken_ns - interrupted_ns;
        }
        self.told_ns = ns;
        self.told_taken_ns = told_taken_ns;
    }

    /// One that has come from another CPU has waited since then because of the one that has the CPU now.
    fn tell_moved(&self, id: Id, wait: Wait, (start_ns, end_ns): (u64, u64), sums: &mut Sums) {
        let waited_ns = end_ns.saturating_sub(wait.since_ns.max(start_ns));
        *sums.suffered.entry(id).or_default() += waited_ns;
        *sums.caused.entry(self.running).or_default() += waited_ns;
        sums.add_pair(self.party, wait.cgroup, waited_ns);
    }
}

impl Waits {
    /// Takes what the machine has noted since.
    pub(super) fn take(&mut self, events: &[WaitEvent]) {
        self.events.extend_from_slice(events);
    }

    /// What happened up to the cut, by task.
    fn close(&mut self, cut_ns: u64) -> Sums {
        let mut sums = Sums::default();
        let (now, later) =
            std::mem::take(&mut self.events).into_iter().partition(|event| event.instant_ns < cut_ns);
        self.events = later;
        let now: Vec<WaitEvent> = now;
        for event in now {
            let queue = self.queues.entry(event.cpu).or_insert(Queue {
                running: (WITHOUT_SLOT, 0),
                party: Party::Other,
                came: None,
                told_ns: self.start_ns,
                told_taken_ns: [0; 2],
                waiting: HashMap::new(),
            });
            let id = (event.task, event.start_ns);
            if event.kind != BEGINS_MOVED {
                queue.go_to(event.instant_ns, [event.taken_ns, event.interrupted_ns], &mut sums);
            }
            // One that is moved stays what it was.
            let cgroup = match event.kind {
                BEGINS_MOVED => self.moving.take().map_or(event.cgroup, |(_, cgroup)| cgroup),
                _ => event.cgroup,
            };
            let wait = Wait { since_ns: event.instant_ns, is_moved: event.kind == BEGINS_MOVED, cgroup };
            match event.kind {
                RUNS => {
                    self.entered.insert(event.cpu);
                    queue.running = id;
                    let came = queue.came.take().filter(|(came, _)| came.0 == id.0);
                    let cgroup = came.map_or(event.cgroup, |(_, cgroup)| cgroup);
                    queue.party = if id == (IDLE, 0) { Party::Idle } else { party(cgroup) };
                }
                BEGINS | BEGINS_MOVED => drop(queue.waiting.insert(id, wait)),
                ENDS => {
                    let ended = queue.waiting.remove(&id);
                    // It may have another start since an exec.
                    let as_before = || queue.waiting.iter().find(|((task, _), _)| *task == event.task);
                    let cgroup = ended.or_else(|| as_before().map(|(_, wait)| *wait)).map(|wait| wait.cgroup);
                    queue.came = cgroup.map(|cgroup| (id, cgroup));
                    self.moving = queue.came;
                    match ended {
                        Some(wait) if wait.is_moved => {
                            self.moved += 1;
                            queue.tell_moved(id, wait, (self.start_ns, event.instant_ns), &mut sums);
                        }
                        Some(_) => {}
                        None => queue.waiting.retain(|(task, _), _| *task != event.task),
                    }
                }
                kind => panic!("the machine tells of {kind}"),
            }
        }
        for queue in self.queues.values_mut() {
            queue.go_to(cut_ns, queue.told_taken_ns, &mut sums);
            for (id, wait) in queue.waiting.iter().filter(|(_, wait)| wait.is_moved) {
                queue.tell_moved(*id, *wait, (self.start_ns, cut_ns), &mut sums);
            }
        }
        self.start_ns = cut_ns;
        sums
    }

    /// What is wrong with these pairs. Where cgroups have no class of their own, only what others have waited because of causes that have none can be compared.
    fn compare_pairs(
        &mut self,
        told: &WaitPairs,
        truth: &HashMap<(Party, Party), u64>,
    ) -> Result<(), String> {
        let truth = WaitPairs::of(truth.iter().map(|(&(by, of), &ns)| WaitPair::new(by, of, ns)));
        if told == &truth {
            self.pairs += truth.iter().len() as u64;
            return Ok(());
        }
        let has_others =
            |pairs: &WaitPairs| pairs.iter().any(|pair| [pair.by, pair.of].contains(&Party::Other));
        let by_cause = |pairs: &WaitPairs| {
            [Party::Idle, Party::Quota, Party::Interrupts, Party::Stolen]
                .map(|cause| pairs.sum_of(|pair| pair.by == cause))
        };
        if !has_others(told) && !has_others(&truth) || by_cause(told) != by_cause(&truth) {
            return Err(format!("pairs: {told:?} instead of {truth:?}"));
        }
        self.pair_sums += 1;
        Ok(())
    }

    /// What is wrong with what is told of this interval: for certain, and if no task was folded.
    pub(super) fn compare(&mut self, closed: &Interval<'_>) -> Result<Option<String>, String> {
        let is_entered = self.entered.len() == closed.cpus.len();
        let Sums { mut suffered, mut caused, pairs } = self.close(closed.end_ns);
        let waits = closed.waits.ok_or("the ledger keeps no waits")?;
        if waits.totals.imbalance_ns() != Some(0) {
            return Err(format!("waits: {:?} ns are missing; {waits:?}", waits.totals.imbalance_ns()));
        }
        if waits.amended > 0 || waits.miscounted_cpus > 0 {
            return Err(format!("the machine shows all events: {waits:?}"));
        }
        let total = |sums: &HashMap<Id, u64>| sums.values().sum::<u64>();
        let [idle_ns, no_slot_ns, interrupts_ns, stolen_ns] =
            [(IDLE, 0), (WITHOUT_SLOT, 0), INTERRUPTS, HYPERVISOR]
                .map(|cause| caused.remove(&cause).unwrap_or(0));
        if !is_entered {
            return Ok(None);
        }
        let totals = waits.totals;
        let known = |ns: Option<u64>| ns.expect("it is kept");
        let taken_ns = [totals.interrupts_ns, totals.stolen_ns];
        let caused_by_tasks_ns = known(totals.no_slot_ns) + known(totals.tasks_ns);
        let told = (known(totals.suffered_ns), known(totals.idle_ns), caused_by_tasks_ns, taken_ns);
        let truth =
            (total(&suffered), idle_ns, no_slot_ns + total(&caused), [Some(interrupts_ns), Some(stolen_ns)]);
        if told != truth {
            return Err(format!("waits: {told:?} instead of {truth:?}; {waits:?}"));
        }
        self.compare_pairs(waits.pairs.ok_or("the ledger keeps no pairs")?, &pairs)?;
        if waits.pairs_off_ns > 0 || waits.pairs.is_some_and(|pairs| pairs.sum_ns() != truth.0) {
            return Err(format!("pairs are not blame: {waits:?}"));
        }
        // A folded task has no row, and what it has suffered and caused is in that of another. Where that one is folded at the same time, it may be too late.
        self.astray +=
            u32::from(totals.unattributed_suffered_ns != Some(0) || totals.no_slot_ns != Some(no_slot_ns));
        if self.astray > MOST_ASTRAY {
            return Err(format!("waits: {no_slot_ns} without a slot; {waits:?}"));
        }
        self.suffered_ns += truth.0;
        self.interrupts_ns += interrupts_ns;
        self.stolen_ns += stolen_ns;
        let booked = |place| closed.booked.of_task(place);
        let blame = |counters: Counters| Blame {
            suffered_ns: counters.wait_suffered_ns,
            caused_ns: counters.wait_caused_ns,
        };
        let ran = (0..).zip(closed.tasks).map(|(place, time)| (time.slot, blame(booked(place))));
        let waited = waits.waited.iter().map(|waited| (waited.slot, waited.blame));
        // One that has run before it got its slot may have had another one in this interval, which an exec has ended.
        let is_sure = |slot: &abi::cpuledger_slot| slot.task != 0 && slot.first_runtime_ns == 0;
        for (slot, blame) in ran.chain(waited).filter(|(slot, _)| is_sure(slot)) {
            let id = (slot.task, slot.start_time_ns);
            let told = (blame.suffered_ns, blame.caused_ns);
            let truth = (suffered.remove(&id).unwrap_or(0), caused.remove(&id).unwrap_or(0));
            if told != truth {
                return Ok(Some(format!("blame: {told:?} instead of {truth:?} of {slot:?}")));
            }
            self.tasks += u64::from(blame.is_some());
        }
        Ok(None)
    }
}
