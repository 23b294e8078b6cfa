//! What the verifier pays for each program: a baseline, because a branch in the wrong place multiplies it, and with it the
//! time to load. Needs root.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};

use cpuledger_bpf::ledger::{Ledger, Options};
use cpuledger_bpf::{Error, ExitHook, Inspector, Mechanism, Reads, Request, StatusWalker, Walker, abi};
use cpuledger_load::{Lent, Shared, not_run};
use libbpf_rs::query::{ProgInfoIter, ProgramInfo};

/// Kernels of which it is known what the verifier pays: the beginning of the release, and a word in it. The first that fits is taken.
/// Those of Debian are the kernels of the matrix; that of the same series on another machine pays otherwise, for its types differ.
const KERNELS: [(&str, &str); 5] =
    [("6.1.", "cloud"), ("6.12.", "cloud"), ("6.18.", "cloud"), ("7.", "cloud"), ("6.18.", "")];

/// Instructions that the verifier of each of them processes with clang 14; 0: the program does not load there. That of `walk_seq_plain` on 6.12 is the
/// mean of 1,294 on x86-64 and 990 on arm64, whose kernel has no `user_dumpable`.
const BASELINE: [(&str, [u32; KERNELS.len()]); 16] = [
    ("prepare", [98, 81, 92, 92, 92]),
    ("list_parents", [0, 370, 305, 305, 305]),
    ("inspect", [0, 1430, 1374, 1134, 1218]),
    ("list_waiting", [0, 461, 461, 413, 461]),
    ("walk_once", [0, 6200, 3714, 3501, 3734]),
    ("walk_briefly", [0, 3643, 2081, 2003, 2062]),
    ("walk_status", [0, 8281, 8505, 8264, 8364]),
    ("walk_seq", [1366, 1390, 1438, 1175, 1549]),
    ("walk_seq_plain", [1372, 1142, 1349, 1081, 1445]),
    ("last_switch", [541, 257, 313, 313, 257]),
    ("birth", [29, 29, 29, 29, 29]),
    ("cpul_on_switch", [64050, 13673, 14270, 13853, 14270]),
    ("on_entry", [8891, 7189, 7172, 7438, 7172]),
    ("on_fork", [2883, 2722, 2726, 2726, 2726]),
    ("on_rename", [548, 548, 724, 548, 724]),
    ("on_hotplug", [614, 481, 570, 657, 481]),
];
/// How far from the baseline a cost may be, in percent, either way: compilers differ, and so do kernels of one series. A change
/// beyond that has a reason, and changes the baseline here.
const PERCENT: u32 = 130;

/// What is expected on the running kernel: programs and their costs.
fn baseline() -> Option<Vec<(&'static str, u32)>> {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").expect("procfs");
    let of_kernel = |(begin, word): &(&str, &str)| release.starts_with(begin) && release.contains(word);
    let column = KERNELS.iter().position(of_kernel)?;
    Some(BASELINE.iter().map(|(name, costs)| (*name, costs[column])).collect())
}

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
        let is_loaded = AtomicBool::new(false);
        std::thread::scope(|scope| {
            // What brings CPUs into the books goes when they are.
            let watched = scope.spawn(|| {
                let mut seen = BTreeMap::new();
                while !is_loaded.load(Ordering::Relaxed) {
                    let programs = ProgInfoIter::default().filter(|program| !before.contains(&program.id));
                    let known = programs.map(|program| (program.id, cost(&program)));
                    seen.extend(known.filter(|(_, (name, _))| is_known(name)));
                }
                seen
            });
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
            is_loaded.store(true, Ordering::Relaxed);
            let mut seen = watched.join().expect("it only looks");
            let programs = ProgInfoIter::default().filter(|program| !before.contains(&program.id));
            seen.extend(programs.map(|program| (program.id, cost(&program))));
            loaded.costs.extend(seen.into_values());
            loaded
        })
    })
}

fn cost(program: &ProgramInfo) -> (String, u32) {
    (program.name.to_string_lossy().into_owned(), program.verified_insns)
}

fn is_known(name: &str) -> bool {
    BASELINE.iter().any(|(known, _)| *known == name)
}

/// What each program costs that loads here, for the table of the matrix; and it is what it was before.
#[test]
fn what_the_verifier_pays_stays_near_its_baseline_root() {
    let loaded = loaded();
    for (name, instructions) in &loaded.costs {
        println!("{name}: {instructions} instructions");
    }
    assert!(!loaded.costs.is_empty(), "not one program loads; it needs root");
    // Before 5.16 the kernel does not tell.
    if loaded.costs.iter().all(|(_, cost)| *cost == 0) {
        return not_run("this kernel does not tell what its verifier pays: Linux 5.16 does");
    }
    let Some(baseline) = baseline() else {
        return not_run("there is no baseline of the verifier's cost for this kernel: add one to KERNELS");
    };
    for (name, expected) in baseline {
        let costs: Vec<u32> =
            loaded.costs.iter().filter(|(known, _)| known == name).map(|(_, cost)| *cost).collect();
        assert_eq!(costs.is_empty(), expected == 0, "{name} loads on other kernels than it should");
        for cost in costs {
            let (low, high) = (expected * 100 / PERCENT, expected * PERCENT / 100 + 1);
            assert!((low..=high).contains(&cost), "{name}: {cost} instructions, and {expected} are expected");
        }
    }
    let unknown: Vec<_> = loaded.costs.iter().filter(|(name, _)| !is_known(name)).collect();
    assert!(unknown.is_empty(), "without a baseline: {unknown:?}");
}

/// Where one should load that does not, other tests fail, too; this one says which.
#[test]
fn every_program_loads_and_the_walks_see_tasks_root() {
    let mut loaded = loaded();
    let Loaded { walkers, inspector, status, exits, ledger, .. } = &mut *loaded;
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
}
