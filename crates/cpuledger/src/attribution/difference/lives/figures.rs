//! What figures of a task are before it is first looked at, and from one look to the next.

use cpuledger_model::counters::Counters;
use cpuledger_model::field::{Field, FieldSet};
use cpuledger_model::make;

/// What a task had used when its slot was made, by its runtime then and, as long as it lives, all its figures.
pub(super) fn figures_before(first_runtime_ns: u64, first: Option<Counters>) -> Counters {
    match first {
        _ if first_runtime_ns == 0 => Counters::ZERO,
        Some(first) => first,
        None => make!(Counters { known: FieldSet::of(&[Field::Runtime]), runtime_ns: first_runtime_ns }),
    }
}

/// The figures of now, none below what they were: user and system time are what the kernel estimates from ticks, and by its
/// own rule (`cputime_adjust` of kernel/sched/cputime.c) neither falls below what was shown before.
pub(super) fn never_back(before: &Counters, now: &Counters) -> Counters {
    let mut next = now.max(before);
    next.known = now.known;
    let runtime_ns = next.runtime_ns;
    if before.user_ns + before.system_ns >= runtime_ns {
        (next.user_ns, next.system_ns) = (before.user_ns, before.system_ns);
        return next;
    }
    next.system_ns = now.system_ns.max(before.system_ns).min(runtime_ns);
    next.user_ns = runtime_ns - next.system_ns;
    if next.user_ns < before.user_ns {
        next.user_ns = before.user_ns;
        next.system_ns = runtime_ns - before.user_ns;
    }
    next
}
