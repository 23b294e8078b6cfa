//! What the processes use that the kernel hides from programs. The books cannot say whose time it was: a hidden switch leaves it with the
//! task before or after, or with the idle task. Their own clocks say how much it is.

use rustc_hash::FxHashSet;

use crate::error::Error;
use crate::source::procfs::{Procfs, cpu_clock_ns};

use super::detail::{Detail, Parents};

/// The hidden processes, and what the clock of each said last.
#[derive(Debug, Default)]
pub(super) struct Hidden(Vec<(i32, u64)>);

impl Hidden {
    /// Those that /proc has and the programs do not see, and what these see: all other processes, with their parents and names.
    pub(super) fn beside(detail: &mut Detail) -> Result<(Hidden, Parents), Error> {
        let listed = Hidden::list();
        let seen = detail.parents()?;
        let hidden = Hidden::find(&listed, seen.iter().map(|(process, ..)| process.tid.0));
        Ok((hidden, seen))
    }

    /// All processes now, to be compared with what a later walk sees: so none is missing that was born in between.
    fn list() -> Vec<i32> {
        Procfs::open().and_then(|mut procfs| procfs.processes()).unwrap_or_default()
    }

    /// Those that are listed and not seen. One that has died meanwhile has no clock.
    fn find(listed: &[i32], seen: impl Iterator<Item = i32>) -> Hidden {
        let seen: FxHashSet<i32> = seen.collect();
        let hidden = listed.iter().filter(|pid| !seen.contains(pid));
        Hidden(hidden.filter_map(|&pid| Some((pid, cpu_clock_ns(pid)?))).collect())
    }

    /// What they have used since the last call.
    pub(super) fn used_ns(&mut self) -> u64 {
        let mut used_ns = 0;
        self.0.retain_mut(|(pid, before_ns)| {
            let Some(now_ns) = cpu_clock_ns(*pid) else { return false };
            used_ns += now_ns.saturating_sub(std::mem::replace(before_ns, now_ns));
            true
        });
        used_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_listed_and_not_seen_is_hidden_and_its_clock_goes_on() {
        let own = std::process::id().cast_signed();
        // No pid is as high as this.
        const NONE: i32 = 1 << 22;
        let listed = Hidden::list();
        assert!(listed.contains(&own));
        let others = || listed.iter().copied().filter(|&pid| pid != own);
        let mut hidden = Hidden::find(&[&listed[..], &[NONE]].concat(), others());
        assert!(hidden.0.iter().any(|(pid, _)| *pid == own) && hidden.0.iter().all(|(pid, _)| *pid != NONE));
        hidden.0.retain(|(pid, _)| *pid == own);
        let begin_ns = cpu_clock_ns(own).expect("it lives");
        let mut used_ns = hidden.used_ns();
        while used_ns < 20_000_000 {
            used_ns += hidden.used_ns();
        }
        assert!(cpu_clock_ns(own).is_some_and(|now_ns| now_ns >= begin_ns + used_ns - 20_000_000));
        assert_eq!(Hidden::find(&listed, listed.iter().copied()).used_ns(), 0);
    }
}
