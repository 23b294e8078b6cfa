//! Deaths without a reader: when the ring is full identities are lost, but neither a death nor its time. Needs root.

use std::time::Duration;

use cpuledger_bpf::{Drained, ExitHook, abi};
use cpuledger_load::{Storm, StormPlan};

/// Storms of 3 s until the ring has overflowed; a busy machine needs several.
const STORMS: usize = 30;

#[test]
fn a_full_ring_loses_names_and_nothing_else_root() {
    let mut hook = ExitHook::attach().expect("the hook attaches; it needs root");
    let mut drained = Drained::default();
    hook.drain(&mut drained).expect("the ring is read");
    let capacity = abi::CPULEDGER_EXIT_RING_BYTES as usize / (size_of::<abi::cpuledger_exit>() + 8);
    let (mut storms, mut workers, mut made, mut cpu_ns) = (Vec::new(), Vec::new(), 0, 0);
    for _ in 0..STORMS {
        let plan = StormPlan { workers: 2, threads: true, seconds: Some(3), ..StormPlan::default() };
        let storm = Storm::start(&plan).expect("threads are made");
        storms.push(storm.pid());
        workers.extend_from_slice(storm.workers());
        let stormed = storm.finish(Duration::from_secs(60)).expect("the storm ends");
        made += stormed.made;
        cpu_ns += stormed.cpu_ns;
        if made as usize > capacity * 5 / 4 {
            break;
        }
    }
    hook.drain(&mut drained).expect("the ring is read");

    let kept = drained.exits.iter().filter(|exit| workers.contains(&exit.pid)).count() as u64;
    // Threads are folded to the parent of their process: the storm.
    let folded_of_storms = |drained: &Drained| -> u64 {
        drained.folds.iter().filter(|(parent, _)| storms.contains(parent)).map(|(_, fold)| fold.exits).sum()
    };
    let folded = folded_of_storms(&drained);
    println!("{made} threads made, {kept} kept, {folded} folded");
    assert!(folded > 0, "{made} threads do not fill the ring of {capacity}");
    // The leaders of the workers die too.
    assert!((made..=made + workers.len() as u64).contains(&(kept + folded)), "{kept} + {folded} of {made}");
    let time: u64 = drained.exits.iter().map(|exit| exit.runtime_ns).sum::<u64>()
        + drained.folds.iter().map(|(_, fold)| fold.runtime_ns).sum::<u64>();
    // The kernel's own sum for the workers and their threads, which have all died by now.
    assert!(time as f64 >= cpu_ns as f64 * 0.99, "{time} of {cpu_ns} ns");

    hook.drain(&mut drained).expect("the ring is read");
    assert_eq!(folded_of_storms(&drained), 0, "folds are told once");
}
