//! What the verifier pays for each program: a baseline, because a branch in the wrong place multiplies it, and with it the
//! time to load. Needs root.

use cpuledger_bpf::ledger::{Ledger, Options};
use cpuledger_bpf::{ExitHook, Mechanism, Walker};
use libbpf_rs::query::ProgInfoIter;

/// Instructions the verifier processed on Linux 6.18 with clang 14, and how often so many are still accepted: kernels
/// and compilers differ.
const BASELINE: [(&str, u32); 7] = [
    ("prepare", 64),
    ("walk_once", 3800),
    ("walk_seq", 1020),
    ("last_switch", 110),
    ("on_switch", 7550),
    ("on_fork", 5110),
    ("on_rename", 760),
];
const TOLERANCE: u32 = 3;

#[test]
fn verifier_cost_stays_near_its_baseline_root() {
    let before: Vec<u32> = ProgInfoIter::default().map(|program| program.id).collect();
    let _one_call = Walker::load_mechanism(Mechanism::OneCall).expect("the walk loads; it needs root");
    let _iterator = Walker::load_mechanism(Mechanism::Iterator).expect("the iterator loads");
    let _exits = ExitHook::attach().expect("the exit hook attaches");
    let _ledger = Ledger::attach(Options::default()).expect("the ledger attaches");
    let mut seen = 0;
    for program in ProgInfoIter::default().filter(|program| !before.contains(&program.id)) {
        let name = program.name.to_string_lossy();
        let Some((_, baseline)) = BASELINE.iter().find(|(baseline, _)| *baseline == name) else { continue };
        println!("{name}: {} instructions, baseline {baseline}", program.verified_insns);
        assert!(
            program.verified_insns <= baseline * TOLERANCE,
            "{name}: {} instructions",
            program.verified_insns
        );
        seen += 1;
    }
    assert!(seen >= BASELINE.len(), "only {seen} programs were found");
}
