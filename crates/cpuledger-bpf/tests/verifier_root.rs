//! What the verifier pays for each program: a baseline, because a branch in the wrong place multiplies it, and with it the
//! time to load. Needs root.

use std::collections::BTreeSet;

use cpuledger_bpf::ledger::{Ledger, Options};
use cpuledger_bpf::{Error, ExitHook, Inspector, Mechanism, Reads, Request, StatusWalker, Walker, abi};
use cpuledger_load::{Lent, Shared};
use libbpf_rs::query::{ProgInfoIter, ProgramInfo};

/// Instructions the verifier processed on Linux 6.18 with clang 14, and how often so many are still accepted: kernels
/// and compilers differ.
const BASELINE: [(&str, u32); 12] = [
    ("prepare", 64),
    ("inspect", 1200),
    ("walk_once", 7700),
    ("walk_briefly", 2000),
    ("walk_status", 8320),
    ("walk_seq", 1110),
    ("walk_seq_plain", 1020),
    ("last_switch", 140),
    ("on_switch", 7280),
    ("on_fork", 3420),
    ("on_rename", 760),
    ("on_hotplug", 10),
];
const TOLERANCE: u32 = 3;

/// All programs, loaded, or what was said instead.
struct Loaded {
    walkers: [Result<Walker, Error>; 4],
    inspector: Result<Inspector, Error>,
    status: Result<StatusWalker, Error>,
    exits: Result<ExitHook, Error>,
    ledger: Result<Ledger, Error>,
    /// What the verifier paid for each program, by name.
    costs: Vec<(String, u32)>,
}

/// They are loaded once.
fn loaded() -> Lent<'static, Loaded> {
    static LOADED: Shared<Loaded> = Shared::new();
    LOADED.lend(|| {
        let before: BTreeSet<u32> = ProgInfoIter::default().map(|program| program.id).collect();
        let mut loaded = Loaded {
            walkers: [
                Walker::load_mechanism(Mechanism::OneCall),
                Walker::load_for(1, 1, abi::CPULEDGER_READ_BRIEFLY),
                Walker::load_mechanism(Mechanism::Iterator),
                Walker::load_plain_iterator(),
            ],
            inspector: Inspector::load(1, 1),
            status: StatusWalker::load(1, 1),
            exits: ExitHook::attach(),
            ledger: Ledger::attach(Options::default()),
            costs: Vec::new(),
        };
        let programs = ProgInfoIter::default().filter(|program| !before.contains(&program.id));
        let cost =
            |program: ProgramInfo| (program.name.to_string_lossy().into_owned(), program.verified_insns);
        loaded.costs.extend(programs.map(cost));
        loaded
    })
}

/// What each program costs that loads here; where one should load that does not, other tests fail.
#[test]
fn what_the_verifier_pays_root() {
    let loaded = loaded();
    for (name, instructions) in &loaded.costs {
        println!("{name}: {instructions} instructions");
    }
    assert!(!loaded.costs.is_empty(), "not one program loads; it needs root");
}

#[test]
fn verifier_cost_stays_near_its_baseline_root() {
    let mut loaded = loaded();
    let Loaded { walkers, inspector, status, exits, ledger, costs } = &mut *loaded;
    let [one_call, brief, iterator, plain] = walkers;
    one_call.as_ref().expect("the walk loads; it needs root");
    brief.as_ref().expect("the brief walk loads");
    iterator.as_ref().expect("the iterator loads");
    let plain = plain.as_mut().expect("the iterator for older kernels loads");
    let request = Request { scope: abi::CPULEDGER_WALK_TASKS, groups: 0, only_pid: None };
    assert!(!plain.walk(&request).expect("a walk").tasks.is_empty());
    inspector.as_ref().expect("the inspection loads");
    let status = status.as_mut().expect("the walk for status text loads");
    let reads = Reads { status: true, stat: true };
    assert!(!status.walk(abi::CPULEDGER_WALK_TASKS, reads).expect("a walk").tasks.is_empty());
    exits.as_ref().expect("the exit hook attaches");
    ledger.as_ref().expect("the ledger attaches");
    let mut seen = BTreeSet::new();
    for (name, cost) in costs.iter() {
        let Some((name, baseline)) = BASELINE.iter().find(|(known, _)| known == name) else { continue };
        println!("{name}: {cost} instructions, baseline {baseline}");
        assert!(*cost <= baseline * TOLERANCE, "{name}: {cost} instructions");
        seen.insert(*name);
    }
    assert_eq!(seen, BASELINE.iter().map(|(name, _)| *name).collect());
}
