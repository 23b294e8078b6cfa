//! Loading and attaching the ledger.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::mem::offset_of;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::Ordering;

use libbpf_rs::{Object, OpenObject, ProgramMut};

use crate::abi;
use crate::cpus;
use crate::error::Error;
use crate::object;
use crate::probe;

use super::blame;
use super::clock;
use super::cut::{self, Book};
use super::entry::Entry;
use super::online::Online;
use super::pairs;
use super::parts::{self, Parts};
use super::shared::Shared;
use super::watch::Attached;
use super::{Ledger, Memory, Options};

/// The compiled `bpf/ledger.bpf.c`.
pub(super) static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/ledger.bpf.o.zst"));

/// In this order: slots that the fork hook makes have to be seen by the switch hook, or they would never end.
pub(super) const HOOKS: [&str; 3] = ["on_rename", SWITCH_HOOK, "on_fork"];

/// The hook that every ledger has one of, and by whose name ledgers are found: no other software's program has a name that begins so.
pub(super) const SWITCH_HOOK: &str = "cpul_on_switch";

/// The same for kernels whose scheduler tells three things of a switch and not four.
const SWITCH_HOOK_OF_THREE: &str = "cpul_on_switch3";

// The kernel cuts off what is longer, and the NUL is the last byte.
const _: () = assert!(SWITCH_HOOK_OF_THREE.len() < abi::CPULEDGER_PROGRAM_NAME_BYTES as usize);

/// The constant that says whether to keep what tasks do off the CPU.
const WANTS_OFF: &str = ".rodata.off";

/// Not indispensable: without it the list of online CPUs is read at each cut.
pub(super) const HOTPLUG_HOOK: &str = "on_hotplug";

/// The maps that a ledger shares with its hooks.
pub(super) const MAPS: [&str; 7] =
    [".data.control", "cpus", "slots", "slot_rests", "slot_offs", "listed", "tid_index"];

/// The constant that says whether to keep who waits because of whom.
const WANTS_BLAME: &str = ".rodata.blame";

/// The constant that says whether to keep that by cgroups, too.
const WANTS_PAIRS: &str = ".rodata.pairs";

/// How long an attachment waits at most for all online CPUs to come into the books. A timer needs 0.1 ms, but the CPU of a guest may get
/// no time from its host: 54 ms were seen. The time of one that takes longer than this limit is unattributed until it comes.
const ENTRY_LIMIT_NS: u64 = 500_000_000;

/// How often it looks.
const ENTRY_STEP_NS: u64 = 50_000;

/// A clock that differs by more than this is another clock: that of a time namespace.
const CLOCK_LIMIT_NS: u64 = 1_000_000_000;

/// The arrays that a ledger shares with its hooks.
pub(super) struct SharedMaps {
    pub(super) control: Shared<abi::cpuledger_control>,
    pub(super) cpus: Shared<abi::cpuledger_cpu>,
    pub(super) slots: Shared<abi::cpuledger_slot>,
    pub(super) rests: Shared<abi::cpuledger_slot_rest>,
    pub(super) offs: Shared<abi::cpuledger_slot_off>,
    pub(super) listed: Shared<u64>,
    pub(super) index: Shared<abi::cpuledger_bucket>,
    pub(super) blame: Option<blame::Books>,
}

impl SharedMaps {
    /// Maps those among the parts of a ledger of this size.
    ///
    /// # Errors
    /// When one is missing or smaller, or the kernel refuses it.
    pub(super) fn of(parts: &Parts, options: Options, cpus: u32) -> Result<SharedMaps, Error> {
        let map = |name| parts::find(parts, name);
        Ok(SharedMaps {
            control: Shared::new(map(".data.control")?, 1)?,
            cpus: Shared::new(map("cpus")?, cpus)?,
            slots: Shared::unmapped(map("slots")?, options.slots)?,
            rests: Shared::unmapped(map("slot_rests")?, options.slots)?,
            offs: Shared::unmapped(map("slot_offs")?, options.slots)?,
            listed: Shared::new(map("listed")?, 2 * options.places(cpus))?,
            index: Shared::new(map("tid_index")?, options.buckets())?,
            blame: options
                .has_blame()
                .then(|| {
                    let sizes = [options.slots, options.places(cpus)];
                    blame::Books::of(parts, sizes, cpus, options.has_pairs())
                })
                .transpose()?,
        })
    }
}

impl Ledger {
    /// Loads and attaches the hooks, brings every online CPU into the books, and takes the first cut: from then on all time of the
    /// machine is in the intervals. It waits for no CPU longer than `ENTRY_LIMIT_NS`.
    ///
    /// # Errors
    /// Without BTF, without privilege, on kernels before 5.12 (no BPF atomics), for a size outside the limits, and in a time
    /// namespace whose monotonic clock is not the kernel's.
    pub fn attach(options: Options) -> Result<Ledger, Error> {
        if !Options::possible_slots().contains(&options.slots) {
            return Err(Error::Unattachable {
                what: format!(
                    "{} slots are asked for, {} to {} are possible",
                    options.slots,
                    abi::CPULEDGER_MIN_SLOTS,
                    abi::CPULEDGER_MAX_SLOTS
                ),
            });
        }
        let cpus = cpus::cpu_ids()?;
        // What is needed of it is in the parts: the rest of its memory goes back.
        let mut object = load_what_is_taken(options, cpus)?;
        let kept = maps(options).map(|name| parts::part(name, object::map(&object, name).as_fd()));
        let kept = kept.collect::<Result<Vec<_>, _>>()?;
        let mut ledger =
            Ledger::prepare(SharedMaps::of(&kept, options, cpus)?, options, cpus, Online::open());
        ledger.parts = kept;
        let before_ns = clock::now_ns();
        ledger.watch_cpus(&mut object);
        ledger.parts.extend(attach_hooks(&mut object, options)?);
        ledger.enter_cpus(&mut object);
        ledger.check_clock(before_ns)?;
        ledger.keep(options.accounts);
        ledger.close_interval(0)?;
        Ok(ledger)
    }

    /// A ledger that is not attached. Its shared records are as the programs expect them; all that is not set here is zero.
    pub(super) fn prepare(shared: SharedMaps, options: Options, cpus: u32, online: Online) -> Ledger {
        let interval = u64::from(abi::CPULEDGER_FIRST_INTERVAL);
        let memory = Memory { options, interval, ..Memory::default() };
        let mut ledger = Ledger::of(shared, memory, cpus, online);
        ledger.set_shared(cpus);
        ledger
    }

    /// The reader's half of one.
    pub(super) fn of(shared: SharedMaps, memory: Memory, cpus: u32, online: Online) -> Ledger {
        let SharedMaps { control, cpus: of_cpus, slots, rests, offs, listed, index, blame } = shared;
        Ledger {
            attached: Attached::default(),
            parts: Vec::new(),
            memory,
            control,
            cpus: of_cpus,
            slots,
            rests,
            offs,
            listed,
            index,
            online,
            entry: Entry::default(),
            books: Vec::with_capacity(cpus as usize),
            by_list: Vec::with_capacity(cpus as usize),
            is_poisoned: false,
            tasks: Vec::new(),
            newborn: Vec::new(),
            births: Vec::new(),
            waiting: Vec::new(),
            cpu_times: Vec::new(),
            running: HashMap::new(),
            unlisted: HashMap::new(),
            off_fault_ns: 0,
            accounts: super::accounts::Books::default(),
            blame,
        }
    }

    fn set_shared(&mut self, cpus: u32) {
        let set = |offset, value: u64| self.control.word(0, offset).store(value, Ordering::Relaxed);
        let free = u64::from(self.memory.options.slots - abi::CPULEDGER_SLOT_FIRST);
        set(offset_of!(abi::cpuledger_control, fresh), u64::from(abi::CPULEDGER_SLOT_FIRST));
        set(offset_of!(abi::cpuledger_control, free_count), free);
        let half = |offset| self.control.half(0, offset);
        half(offset_of!(abi::cpuledger_control, slots)).store(self.memory.options.slots, Ordering::Relaxed);
        half(offset_of!(abi::cpuledger_control, bucket_mask))
            .store(self.memory.options.buckets() - 1, Ordering::Relaxed);
        half(offset_of!(abi::cpuledger_control, low_slots))
            .store(self.memory.options.low_slots(), Ordering::Relaxed);
        half(offset_of!(abi::cpuledger_control, slots_of_leaders))
            .store(self.memory.options.slots / abi::CPULEDGER_LEADER_SLOTS_SHARE, Ordering::Relaxed);
        half(offset_of!(abi::cpuledger_control, slot_batch))
            .store(self.memory.options.slot_batch(cpus), Ordering::Relaxed);
        set(offset_of!(abi::cpuledger_control, interval), self.memory.interval);
        if let Some(blame) = &self.blame {
            blame.prepare();
        }
        let online = self.online.read(cpus as usize);
        self.books.extend((0..).zip(online).map(|(cpu, is_online)| Book::open(&self.cpus, cpu, is_online)));
    }

    /// Brings all online CPUs into the books, and waits for them, but not for one that does not come soon.
    fn enter_cpus(&mut self, object: &mut Object) {
        let is_uncovered = |cpu: &u32| cut::is_uncovered(cut::run_of(&self.cpus, *cpu));
        let uncovered: Vec<u32> = (0..self.books.len() as u32).filter(is_uncovered).collect();
        self.entry = Entry::open(object, uncovered.into_iter());
        let limit_ns = clock::now_ns() + ENTRY_LIMIT_NS;
        while self.entry.cpus().any(|cpu| is_uncovered(&cpu)) && clock::now_ns() < limit_ns {
            clock::sleep_until(clock::now_ns() + ENTRY_STEP_NS);
        }
        let entered: Vec<u32> = self.entry.cpus().filter(|cpu| !is_uncovered(cpu)).collect();
        entered.into_iter().for_each(|cpu| self.entry.close(cpu));
    }

    /// Attaches the hook that tells when a CPU goes offline, if it is loaded and the kernel takes it.
    fn watch_cpus(&mut self, object: &mut Object) {
        let hook = object.progs_mut().find(|program| program.name() == HOTPLUG_HOOK);
        let link = hook.and_then(|hook| hook.attach().ok());
        let part = link.and_then(|link| parts::part(HOTPLUG_HOOK, link.as_fd()).ok());
        self.memory.is_watching_cpus = part.is_some();
        self.parts.extend(part);
    }

    /// Compares the clock of the hooks with ours: what they have seen lies between `before_ns` and now, however long this
    /// thread was held up meanwhile.
    pub(super) fn check_clock(&self, before_ns: u64) -> Result<(), Error> {
        let possible = before_ns.saturating_sub(CLOCK_LIMIT_NS)..=clock::now_ns() + CLOCK_LIMIT_NS;
        let seen = (0..self.books.len() as u32).filter_map(|cpu| cut::seen_ns(cut::run_of(&self.cpus, cpu)));
        for seen_ns in seen {
            if !possible.contains(&seen_ns) {
                return Err(Error::Unattachable {
                    what: "the monotonic clock of this time namespace is not the kernel's".to_owned(),
                });
            }
        }
        Ok(())
    }
}

/// Which hooks are loaded.
#[derive(Clone, Copy)]
struct Hooks {
    /// The one that tells when a CPU goes offline.
    watches_cpus: bool,
    /// The one that is told by which state the scheduler has decided.
    is_told_state: bool,
}

/// Loads the hooks that the kernel takes. It may lack the tracepoint of CPUs that come and go, and the state of the task that leaves.
fn load_what_is_taken(options: Options, cpus: u32) -> Result<Object, Error> {
    let all = Hooks { watches_cpus: true, is_told_state: true };
    let error = match load(options, cpus, all) {
        Err(error @ Error::Refused { .. }) => error,
        loaded => return loaded,
    };
    if probe::has_atomics() == Some(false) {
        return Err(Error::NoAtomics);
    }
    let fewer = [(false, true), (true, false), (false, false)];
    let fewer = fewer.map(|(watches_cpus, is_told_state)| Hooks { watches_cpus, is_told_state });
    fewer.into_iter().find_map(|hooks| load(options, cpus, hooks).ok()).ok_or(error)
}

fn load(options: Options, cpus: u32, hooks: Hooks) -> Result<Object, Error> {
    object::load("cpuledger_ledger", OBJECT, |open| {
        object::resize(open, "cpus", cpus);
        object::resize(open, "slots", options.slots);
        object::resize(open, "slot_rests", options.slots);
        object::resize(open, "slot_offs", options.slots);
        object::resize(open, "listed", 2 * options.places(cpus));
        object::resize(open, "tid_index", options.buckets());
        set_constant(open, WANTS_OFF, options.off);
        set_constant(open, WANTS_BLAME, options.has_blame());
        if options.has_blame() {
            object::resize(open, "slot_blames", options.slots);
            object::resize(open, "cpu_blames", cpus);
            object::resize(open, "waiters", 2 * options.places(cpus));
        }
        set_constant(open, WANTS_PAIRS, options.has_pairs());
        if options.has_pairs() {
            pairs::entries(cpus).into_iter().for_each(|(map, entries)| object::resize(open, map, entries));
        }
        for mut program in open.progs_mut() {
            let is_wanted = match program.name().to_str() {
                Some(HOTPLUG_HOOK) => hooks.watches_cpus,
                Some(SWITCH_HOOK) => hooks.is_told_state,
                Some(SWITCH_HOOK_OF_THREE) => !hooks.is_told_state,
                Some(name) if blame::HOOKS.contains(&name) => options.has_blame(),
                _ => true,
            };
            program.set_autoload(is_wanted);
        }
        Ok(())
    })
}

/// Answers a question of the programs, once and for all; the name is a constant of this crate.
fn set_constant(open: &mut OpenObject, name: &str, is_so: bool) {
    let mut map =
        open.maps_mut().find(|map| map.name() == name).expect("the embedded object defines this map");
    map.set_initial_value(&u32::from(is_so).to_ne_bytes())
        .expect("a map that is not created yet takes a value of its size");
}

/// The maps of such a ledger.
pub(super) fn maps(options: Options) -> impl Iterator<Item = &'static str> {
    let of_blame = blame::MAPS.into_iter().filter(move |_| options.has_blame());
    MAPS.into_iter().chain(of_blame).chain(pairs::MAPS.into_iter().filter(move |_| options.has_pairs()))
}

/// Its hooks, but for the one that tells when a CPU goes offline, and those of other accounts.
pub(super) fn hooks(options: Options) -> impl Iterator<Item = &'static str> {
    HOOKS.into_iter().chain(blame::HOOKS.into_iter().filter(move |_| options.has_blame()))
}

fn attach_hooks(object: &mut Object, options: Options) -> Result<Vec<(&'static str, OwnedFd)>, Error> {
    hooks(options)
        .map(|name| {
            // Of the two switch hooks one is loaded.
            let is_it = |program: &ProgramMut<'_>| {
                program.name() == name || name == SWITCH_HOOK && is_switch_hook(program.name())
            };
            let program = object.progs_mut().find(|program| is_it(program) && program.autoload());
            Ok((name, parts::attach(name, program.expect("the embedded object defines it"))?))
        })
        .collect()
}

/// Whether a program of this name is a switch hook of a ledger.
pub(super) fn is_switch_hook(name: &OsStr) -> bool {
    name == SWITCH_HOOK || name == SWITCH_HOOK_OF_THREE
}

#[cfg(test)]
mod tests {
    use super::{Hooks, Options, attach_hooks, load};
    use crate::cpus;

    #[test]
    fn hooks_for_kernels_that_tell_three_things_of_a_switch_are_taken_root() {
        let cpus = cpus::cpu_ids().expect("the numbers of CPUs");
        for watches_cpus in [true, false] {
            let hooks = Hooks { watches_cpus, is_told_state: false };
            let mut object = load(Options::default(), cpus, hooks).expect("it loads; it needs root");
            assert_eq!(
                attach_hooks(&mut object, Options::default()).expect("they attach").len(),
                super::HOOKS.len()
            );
        }
    }
}
