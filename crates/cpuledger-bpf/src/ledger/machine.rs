//! The hooks of the ledger and its reader on a simulated machine, in user space: `machine/machine.c` has the machine.
//!
//! The hooks are those of `bpf/ledger.bpf.c`, compiled for this machine; the reader is [`Ledger`]. CPUs, tasks that are in the fork
//! hook, and the reader take turns on one thread. Each may lose its turn before any access to memory, for as long as the others need
//! for hundreds of switches. So a seed tells all that happens, and what it finds can be run again.

mod mutations;
mod truth;
mod waits;

use std::cell::Cell;
use std::collections::HashSet;
use std::ffi::{CString, c_void};
use std::mem::offset_of;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use bytemuck::AnyBitPattern;
use cpuledger_load::not_run;
use cpuledger_model::accounts::{Account, Accounts};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};

use super::attach::SharedMaps;
use super::blame::Books;
use super::online::Online;
use super::pairs::{self, PairBooks};
use super::shared::Shared;
use super::turns::{self, Turns};
use super::{Ledger, Memory, Options};
use mutations::{MUTATIONS, Mutation};
use truth::{Noted, Truth};
use waits::Waits;

use crate::abi;

/// How a machine is: `struct machine_plan`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Plan {
    seed: u64,
    cpus: u32,
    population: u32,
    preempts_forks: u32,
    skew_ns: u32,
    freezes: u32,
    freeze_ns: u32,
    pids: u32,
    access_ns: u32,
    work_ns: u32,
    cgroups: u32,
    is_exact: u32,
}

/// What it did: `struct machine_seen`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    switches: u64,
    forks: u64,
    exits: u64,
    execs: u64,
    preempted_forks: u64,
    turns: u64,
    shared_slots: u64,
    /// By how much hooks came later than the scheduler had read its clock, and by how much what they took for that instant was off.
    lag_ns: u64,
    off_ns: u64,
    /// Tasks that had not run by the cut after their birth. The reader counts them.
    newborn: u64,
    /// Tasks whose states were compared, and how long those waited that did something else, too. The reader counts them.
    compared: u64,
    waited_ns: u64,
    wakeups: u64,
    /// Tasks that went from one queue to another.
    pulls: u64,
    /// Tasks whose blame was compared, waits that ended after a move, and how long all waited. The reader counts them.
    blamed: u64,
    moved: u64,
    suffered_ns: u64,
    /// The part of it because of interrupts, and of the hypervisor.
    interrupts_ns: u64,
    stolen_ns: u64,
    /// Pairs of cgroups that were compared, and of which only the sums were: some cgroups had no class of their own. The reader counts them.
    pairs: u64,
    pair_sums: u64,
}

/// `struct machine`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Calls {
    map: extern "C" fn(i32, i32, u64, u64),
    run: extern "C" fn(*const Plan, extern "C" fn(i32)),
    access: extern "C" fn(),
    now_ns: extern "C" fn() -> u64,
    sleep_until: extern "C" fn(u64),
    end: extern "C" fn(),
    seen: *const Seen,
    truth: extern "C" fn() -> Noted,
}

/// One machine that is loaded, with all that it remembers.
struct Machine {
    handle: *mut c_void,
    calls: Calls,
}

impl Machine {
    fn load(library: &Path) -> Machine {
        let path = CString::new(library.as_os_str().as_encoded_bytes()).expect("a path without NUL");
        // SAFETY: our own library, which does nothing when it is loaded; the path ends with a NUL.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        assert!(!handle.is_null(), "{} cannot be loaded", library.display());
        // SAFETY: the library is loaded, and the name ends with a NUL.
        let machine = unsafe { libc::dlsym(handle, c"machine".as_ptr()) };
        assert!(!machine.is_null(), "it has a machine");
        // SAFETY: machine.c defines it as a `struct machine`, which `Calls` repeats.
        Machine { handle, calls: unsafe { *machine.cast::<Calls>() } }
    }

    fn seen(&self) -> Seen {
        // SAFETY: a variable of the library, which is loaded; nothing runs in it now.
        unsafe { *self.calls.seen }
    }

    /// An array that the hooks and the reader share.
    fn share<R: AnyBitPattern>(&self, which: i32, count: u32) -> Shared<R> {
        let file = memfd_create("cpuledger-machine", MemfdFlags::CLOEXEC).expect("memory");
        let bytes = size_of::<R>() as u64 * u64::from(count);
        ftruncate(&file, bytes.next_multiple_of(1 << 16)).expect("memory");
        (self.calls.map)(which, file.as_raw_fd(), size_of::<R>() as u64, count.into());
        Shared::new(&file, count).expect("it can be mapped")
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // SAFETY: nothing of the library is used any more: its arrays were mapped twice, and ours stay.
        unsafe { libc::dlclose(self.handle) };
    }
}

/// The reader on such a machine.
struct Reader {
    ledger: Ledger,
    calls: Calls,
    random: Random,
    intervals: u64,
    longest_ns: u64,
    /// Whether the clocks of all CPUs are the same.
    has_one_clock: bool,
    /// What tasks did while they were on no CPU.
    truth: Truth,
    /// Who waited because of whom.
    waits: Waits,
    /// What was wrong.
    fault: Option<String>,
}

thread_local! {
    static READER: Cell<*mut Reader> = const { Cell::new(std::ptr::null_mut()) };
}

/// Where the reader begins.
extern "C" fn read(_: i32) {
    // SAFETY: `run` has set it, waits until the reader ends, and uses it only afterwards.
    let reader = unsafe { &mut *READER.get() };
    let run = std::panic::AssertUnwindSafe(|| reader.run());
    let fault = std::panic::catch_unwind(run).unwrap_or_else(|_| Some("it panicked".to_owned()));
    reader.fault = fault;
    (reader.calls.end)();
}

impl Reader {
    fn run(&mut self) -> Option<String> {
        for interval in 0..self.intervals {
            let length_ns = match self.random.below(8) {
                0..3 => 0,
                3..6 => self.random.below(1_000_000),
                _ => self.random.below(self.longest_ns),
            };
            let parity = self.ledger.memory.interval & 1;
            let cut_ns = self.ledger.start_ns() + length_ns;
            let is_short = self.ledger.lost().is_short_of_slots();
            let mut if_unfolded = None;
            let fault = match self.ledger.close_interval(cut_ns) {
                Err(error) => Some(error.to_string()),
                // What the first one holds begins before any clock.
                Ok(closed) if interval == 0 => {
                    let turns = turns::take(None);
                    let noted = (self.calls.truth)();
                    self.truth.take(&noted);
                    self.waits.take(noted.waits());
                    self.truth.forget(closed.end_ns);
                    // Likewise.
                    let _ = self.waits.compare(&closed);
                    turns::take(turns);
                    None
                }
                Ok(closed) => {
                    let turns = turns::take(None);
                    let noted = (self.calls.truth)();
                    self.truth.take(&noted);
                    self.waits.take(noted.waits());
                    let blamed = match self.waits.compare(&closed) {
                        Err(fault) => Some(fault),
                        Ok(fault) => {
                            if_unfolded = fault;
                            None
                        }
                    };
                    let untrue = self.truth.compare(closed.tasks, closed.end_ns);
                    let untrue = untrue.or_else(|| self.truth.compare_newborn(closed.newborn, closed.end_ns));
                    // A task that had no slot for a while is told by what it did when it had one.
                    let untrue = untrue.filter(|_| !is_short);
                    self.truth.forget(closed.end_ns);
                    turns::take(turns);
                    let numbers: HashSet<u32> = closed.tasks.iter().map(|task| task.number).collect();
                    match closed.imbalance_ns() {
                        0 if numbers.len() < closed.tasks.len() => Some("a slot is listed twice".to_owned()),
                        0 if closed.newborn.iter().any(|newborn| numbers.contains(&newborn.number)) => {
                            Some("a task that ran has not run yet".to_owned())
                        }
                        0 if self.has_one_clock && closed.off_fault_ns > 0 => {
                            Some(format!("off the CPU: {} ns are wrong", closed.off_fault_ns))
                        }
                        0 => untrue.or(blamed),
                        imbalance_ns => Some(format!("balance: {imbalance_ns} ns are missing")),
                    }
                }
            };
            let fault = fault.or_else(|| if_unfolded.filter(|_| !self.ledger.lost().is_short_of_slots()));
            // Looking takes no turns.
            let turns = turns::take(None);
            let fault = fault.or_else(|| self.look(parity));
            turns::take(turns);
            if let Some(fault) = fault {
                return Some(format!("interval {}: {fault}; {:?}", interval + 1, self.ledger.lost()));
            }
        }
        None
    }

    /// What has to hold after an interval of that parity.
    fn look(&self, parity: u64) -> Option<String> {
        let at = 8 * parity as usize;
        for slot in abi::CPULEDGER_SLOT_FIRST..self.ledger.memory.options.slots {
            let wall = self.ledger.slots.word(slot, offset_of!(abi::cpuledger_slot, wall_ns) + at);
            let of_rest = |offset: usize| self.ledger.rests.word(slot, offset + at).load(Ordering::Relaxed);
            let left_ns = wall.load(Ordering::Relaxed)
                + of_rest(offset_of!(abi::cpuledger_slot_rest, folded_threads_ns))
                + of_rest(offset_of!(abi::cpuledger_slot_rest, folded_children_ns));
            if left_ns > 0 {
                return Some(format!("{left_ns} ns are left in slot {slot}"));
            }
        }
        let lost = self.ledger.lost();
        if lost.missed + lost.contended + lost.slots > 0 {
            return Some("the machine hides no switch, and has room for all free slots".to_owned());
        }
        self.free_twice().map(|slot| format!("slot {slot} is free twice"))
    }

    /// A slot that is in two places for free ones, or that there is not.
    fn free_twice(&self) -> Option<u32> {
        let Ledger { control, cpus, slots, books, memory: Memory { freed, options, .. }, .. } = &self.ledger;
        let run = abi::CPULEDGER_FREE_RUN;
        let mut seen = HashSet::new();
        let mut is_new =
            |slot: u32| seen.insert(slot) && (abi::CPULEDGER_SLOT_FIRST..options.slots).contains(&slot);
        let mut batch = |mut link: u32, count: u64| {
            (0..count).find_map(|_| {
                let slot = link & !run;
                if !is_new(slot) {
                    return Some(slot);
                }
                let next = slots.half(slot, offset_of!(abi::cpuledger_slot, ppid_or_next_free));
                link = if link & run != 0 { link + 1 } else { next.load(Ordering::Relaxed) };
                None
            })
        };
        let head = control.word(0, offset_of!(abi::cpuledger_control, free_head));
        let mut first = head.load(Ordering::Relaxed) as u32;
        while first != 0 {
            let word = slots.word(first & !run, offset_of!(abi::cpuledger_slot, end_ns_or_batch));
            let word = word.load(Ordering::Relaxed);
            if let Some(slot) = batch(first, word >> 32) {
                return Some(slot);
            }
            first = word as u32;
        }
        for cpu in 0..books.len() as u32 {
            for place in [offset_of!(abi::cpuledger_cpu, free), offset_of!(abi::cpuledger_cpu, spare)] {
                let word = cpus.word(cpu, place).load(Ordering::Relaxed);
                let count =
                    word >> abi::CPULEDGER_FREE_COUNT_SHIFT & u64::from(abi::CPULEDGER_FREE_COUNT_MASK);
                if let Some(slot) = batch(word as u32, count) {
                    return Some(slot);
                }
            }
        }
        freed.iter().copied().find(|slot| !is_new(*slot))
    }
}

/// Numbers that look random: SplitMix64.
#[derive(Debug, Clone, Copy)]
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let word = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (word ^ (word >> 31)) % limit
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }
}

impl Plan {
    /// That of the machine of this seed.
    fn of(seed: u64, random: &mut Random) -> Plan {
        let plan = Plan {
            seed,
            cpus: random.of(&[2, 2, 3, 4, 8]),
            population: random.of(&[3, 5, 5, 8, 8, 16, 40]),
            preempts_forks: random.of(&[0, 1, 1]),
            skew_ns: random.of(&[0, 0, 5_000]),
            freezes: random.of(&[0, 50, 500, 5_000]),
            freeze_ns: random.of(&[10_000, 1_000_000, 30_000_000]),
            pids: random.of(&[60, 130, 600]),
            access_ns: random.of(&[2, 20, 100]),
            work_ns: random.of(&[1_000, 10_000, 100_000]),
            // No random number.
            cgroups: [1, 2, 3, 4, 4, 90][seed as usize % 6],
            is_exact: 0,
        };
        Plan { is_exact: u32::from(plan.skew_ns == 0 && seed.is_multiple_of(2)), ..plan }
    }
}

/// Runs the machine of this seed for some intervals: what it did, and what was wrong.
fn run(library: &Path, seed: u64, intervals: u64) -> (Seen, Option<String>) {
    let mut random = Random(seed);
    let slots = random.of(&[16, 32, 64, 64, 128, 128, 256, abi::CPULEDGER_LEAST_BATCHED_SLOTS]);
    let plan = Plan::of(seed, &mut random);
    let longest_ns = random.of(&[500_000, 2_000_000, 50_000_000]);
    let accounts = Accounts::of(&[Account::Blame, Account::Pairs]);
    let (machine, options) = (Machine::load(library), Options { slots, accounts, ..Options::default() });
    let pair_entries = pairs::entries(plan.cpus);
    let shared = SharedMaps {
        cpus: machine.share(0, plan.cpus),
        slots: machine.share(1, slots),
        rests: machine.share(2, slots),
        listed: machine.share(3, 2 * options.places(plan.cpus)),
        index: machine.share(4, options.buckets()),
        offs: machine.share(5, slots),
        blame: Some(Books::new(
            machine.share(6, slots),
            machine.share(7, plan.cpus),
            machine.share(8, 2 * options.places(plan.cpus)),
            plan.cpus,
            Some(PairBooks::new(
                machine.share(9, pair_entries[0].1),
                machine.share(10, pair_entries[1].1),
                machine.share(11, pair_entries[2].1),
            )),
        )),
        control: machine.share(12, 1),
    };
    let mut ledger = Ledger::prepare(shared, options, plan.cpus, Online::unknown());
    // They stay as they are prepared: nothing asks the kernel's list.
    ledger.memory.is_watching_cpus = true;
    let calls = machine.calls;
    let has_one_clock = plan.skew_ns == 0;
    let mut reader = Reader {
        ledger,
        calls,
        random,
        intervals,
        longest_ns,
        has_one_clock,
        truth: Truth::default(),
        waits: Waits::default(),
        fault: None,
    };
    READER.set(&raw mut reader);
    let Calls { access, now_ns, sleep_until, .. } = calls;
    turns::take(Some(Turns { access, now_ns, sleep_until }));
    (calls.run)(&raw const plan, read);
    turns::take(None);
    let seen = Seen {
        newborn: reader.truth.newborn,
        compared: reader.truth.compared,
        waited_ns: reader.truth.waited_ns,
        blamed: reader.waits.tasks,
        moved: reader.waits.moved,
        suffered_ns: reader.waits.suffered_ns,
        interrupts_ns: reader.waits.interrupts_ns,
        stolen_ns: reader.waits.stolen_ns,
        pairs: reader.waits.pairs,
        pair_sums: reader.waits.pair_sums,
        ..machine.seen()
    };
    let shares = || Some(format!("{} switches to a task whose slot is another's", seen.shared_slots));
    let fault = reader.fault.or_else(|| shares().filter(|_| seen.shared_slots > 0));
    (seen, fault.map(|fault| format!("seed {seed}: {fault}; {slots} slots, {plan:?}, {seen:?}")))
}

/// The machine with these hooks, in a directory of its own.
struct Library {
    directory: PathBuf,
}

impl Library {
    /// `None`: there is no C compiler.
    fn build(mutation: Option<&Mutation>) -> Option<Library> {
        static BUILT: AtomicU32 = AtomicU32::new(0);
        let number = BUILT.fetch_add(1, Ordering::Relaxed);
        let directory =
            std::env::temp_dir().join(format!("cpuledger-machine-{}-{number}", std::process::id()));
        std::fs::create_dir(&directory).expect("a new directory");
        let library = Library { directory };
        let package = Path::new(env!("CARGO_MANIFEST_DIR"));
        let (hooks, machine) = (package.join("bpf"), package.join("src/ledger/machine"));
        if let Some(Mutation { name, file, changes }) = mutation {
            // All of them: a file is looked for beside the one that includes it.
            for entry in std::fs::read_dir(&hooks).expect("the hooks") {
                let path = entry.expect("a file of the hooks").path();
                let name = path.file_name().expect("it has a name");
                std::fs::copy(&path, library.directory.join(name)).expect("room for a copy");
            }
            let mut text = std::fs::read_to_string(hooks.join(file)).expect("a file of the hooks");
            for (from, to) in *changes {
                assert_eq!(text.matches(from).count(), 1, "{name}: {from}");
                text = text.replace(from, to);
            }
            std::fs::write(library.directory.join(file), text).expect("room for a copy");
        }
        // The compiler calls a function before each access of the hooks to memory; the machine defines it.
        let objects: [(&str, &[&str]); 3] = [
            (
                "hooks.c",
                &["-fsanitize=thread", "--param=tsan-instrument-func-entry-exit=0", "-fno-toplevel-reorder"],
            ),
            ("machine.c", &[]),
            ("fibers.c", &[]),
        ];
        let mut link = vec!["-shared".into(), "-Wl,-Bsymbolic".into(), "-o".into(), library.path()];
        for (source, arguments) in objects {
            let object = library.directory.join(source).with_extension("o");
            let includes =
                [&library.directory, &machine, &hooks].map(|folder| format!("-I{}", folder.display()));
            let mut compile = Command::new("cc");
            compile.args(["-std=gnu11", "-O1", "-fPIC", "-w", "-c", "-o"]).arg(&object).args(arguments);
            run_compiler(compile.args(includes).arg(machine.join(source)))?;
            link.push(object);
        }
        run_compiler(Command::new("cc").args(link))?;
        Some(library)
    }

    fn path(&self) -> PathBuf {
        self.directory.join("machine.so")
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        // A directory of a few files below that for temporary ones.
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

fn run_compiler(command: &mut Command) -> Option<()> {
    match command.output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        output => {
            let output = output.expect("a compiler that can be started");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            Some(())
        }
    }
}

/// `CPULEDGER_TEST_SEED` runs the machines from another seed on, `CPULEDGER_TEST_FULL=1` many of them.
fn seeds(few: u64) -> std::ops::Range<u64> {
    let first = std::env::var("CPULEDGER_TEST_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let is_full = std::env::var_os("CPULEDGER_TEST_FULL").is_some_and(|value| value == "1");
    first..first + if is_full { 50 * few } else { few }
}

#[test]
fn books_balance_and_each_slot_has_one_owner_on_simulated_machines() {
    let Some(library) = Library::build(None) else { return not_run("there is no C compiler") };
    let mut all = Seen::default();
    for seed in seeds(30) {
        let (seen, fault) = run(&library.path(), seed, 40);
        assert_eq!(fault, None);
        all.switches += seen.switches;
        all.forks += seen.forks;
        all.exits += seen.exits;
        all.execs += seen.execs;
        all.preempted_forks += seen.preempted_forks;
        all.turns += seen.turns;
        all.compared += seen.compared;
        all.lag_ns += seen.lag_ns;
        all.off_ns += seen.off_ns;
        all.newborn += seen.newborn;
        all.waited_ns += seen.waited_ns;
        all.wakeups += seen.wakeups;
        all.pulls += seen.pulls;
        all.blamed += seen.blamed;
        all.moved += seen.moved;
        all.suffered_ns += seen.suffered_ns;
        all.interrupts_ns += seen.interrupts_ns;
        all.stolen_ns += seen.stolen_ns;
        all.pairs += seen.pairs;
        all.pair_sums += seen.pair_sums;
    }
    assert!(all.pairs > 5_000 && all.pair_sums > 10, "{all:?}");
    assert!(all.newborn > 50, "{all:?}");
    assert!(all.lag_ns > 1_000_000 && all.off_ns < all.lag_ns / 3, "{all:?}");
    assert!(all.compared > 1_000 && all.waited_ns > 1_000_000, "{all:?}");
    assert!(all.wakeups > 10_000 && all.pulls > 10_000 && all.moved > 10_000, "{all:?}");
    assert!(all.blamed > 1_000 && all.suffered_ns > 1_000_000_000, "{all:?}");
    assert!(all.interrupts_ns > 10_000_000 && all.stolen_ns > 10_000_000, "{all:?}");
    assert!(all.forks > 10_000 && all.execs > 1_000 && all.preempted_forks > 1_000, "{all:?}");
}

/// Seeds of machines that find what few others do: they are tried early.
const RARE: [u64; 5] = [38, 52, 63, 205, 242];

#[test]
fn a_step_done_otherwise_is_found_on_simulated_machines() {
    for mutation in MUTATIONS {
        let Some(library) = Library::build(Some(mutation)) else { return not_run("there is no C compiler") };
        let mut seeds = (1..16).chain(RARE).chain(16..400);
        let found = seeds.find_map(|seed| run(&library.path(), seed, 40).1);
        assert!(found.is_some(), "nothing is wrong where {}", mutation.name);
    }
}
