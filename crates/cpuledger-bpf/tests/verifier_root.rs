//! What the verifier pays for each program: a baseline, because a branch in the wrong place multiplies it, and with it the
//! time to load. Needs root.

use std::collections::BTreeSet;

use cpuledger_bpf::ledger::{Ledger, Options};
use cpuledger_bpf::{ExitHook, Inspector, Mechanism, Reads, Request, StatusWalker, Walker, abi};
use libbpf_rs::query::ProgInfoIter;

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

#[test]
fn verifier_cost_stays_near_its_baseline_root() {
    let before: Vec<u32> = ProgInfoIter::default().map(|program| program.id).collect();
    let _one_call = Walker::load_mechanism(Mechanism::OneCall).expect("the walk loads; it needs root");
    let _brief = Walker::load_for(1, 1, abi::CPULEDGER_READ_BRIEFLY).expect("the brief walk loads");
    let _iterator = Walker::load_mechanism(Mechanism::Iterator).expect("the iterator loads");
    let mut plain = Walker::load_plain_iterator().expect("the iterator for older kernels loads");
    let request = Request { scope: abi::CPULEDGER_WALK_TASKS, groups: 0, only_pid: None };
    assert!(!plain.walk(&request).expect("a walk").tasks.is_empty());
    let _inspector = Inspector::load(1, 1).expect("the inspection loads");
    let mut status = StatusWalker::load(1, 1).expect("the walk for status text loads");
    let reads = Reads { status: true, stat: true };
    assert!(!status.walk(abi::CPULEDGER_WALK_TASKS, reads).expect("a walk").tasks.is_empty());
    let _exits = ExitHook::attach().expect("the exit hook attaches");
    let _ledger = Ledger::attach(Options::default()).expect("the ledger attaches");
    let mut seen = BTreeSet::new();
    for program in ProgInfoIter::default().filter(|program| !before.contains(&program.id)) {
        let name = program.name.to_string_lossy();
        let Some((_, baseline)) = BASELINE.iter().find(|(baseline, _)| *baseline == name) else { continue };
        println!("{name}: {} instructions, baseline {baseline}", program.verified_insns);
        assert!(
            program.verified_insns <= baseline * TOLERANCE,
            "{name}: {} instructions",
            program.verified_insns
        );
        seen.insert(name.into_owned());
    }
    let expected: BTreeSet<String> = BASELINE.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(seen, expected);
}
