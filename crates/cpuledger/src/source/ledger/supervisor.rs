//! Attaching anew what has failed: a ledger whose interval could not be closed, or a successor that could not be had. Pure: the
//! caller tells the time and does what has to be done.

/// How long after its first failure something is tried again; after each further one twice as long, up to a limit.
const FIRST_DELAY_NS: u64 = 100_000_000;
const LONGEST_DELAY_NS: u64 = 10_000_000_000;

/// When the next attempt is due.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Backoff {
    failures: u32,
    due_ns: u64,
}

impl Backoff {
    /// Since when an attempt may be made; 0: there was no failure.
    pub(super) fn due_ns(&self) -> u64 {
        self.due_ns
    }

    /// Makes an attempt, if one is due now. `None`: it is not, or it has failed; the next is due this time after its end.
    pub(super) fn attempt<T>(
        &mut self,
        now_ns: impl Fn() -> u64,
        attempt: impl FnOnce() -> Option<T>,
    ) -> Option<T> {
        if now_ns() < self.due_ns {
            return None;
        }
        let made = attempt();
        if made.is_some() {
            *self = Backoff::default();
        } else {
            let doubled = FIRST_DELAY_NS.checked_shl(self.failures).unwrap_or(LONGEST_DELAY_NS);
            self.due_ns = now_ns() + doubled.min(LONGEST_DELAY_NS);
            self.failures = (self.failures + 1).min(u64::BITS / 2);
        }
        made
    }
}

/// A ledger, or none since it failed.
#[derive(Debug)]
pub(super) struct Supervised<L> {
    attached: Option<L>,
    /// Since when there is none.
    since_ns: u64,
    backoff: Backoff,
}

impl<L> Supervised<L> {
    pub(super) fn new(ledger: L) -> Supervised<L> {
        Supervised { attached: Some(ledger), since_ns: 0, backoff: Backoff::default() }
    }

    pub(super) fn get(&self) -> Option<&L> {
        self.attached.as_ref()
    }

    pub(super) fn get_mut(&mut self) -> Option<&mut L> {
        self.attached.as_mut()
    }

    /// Another one takes over without a gap.
    pub(super) fn replace(&mut self, ledger: L) {
        self.attached = Some(ledger);
    }

    /// It has failed. What it had closed last ended at `since_ns`: there the gap begins.
    pub(super) fn fail(&mut self, since_ns: u64) {
        if self.attached.take().is_some() {
            self.since_ns = since_ns;
        }
    }

    /// Since when there is no ledger; `None`: there is one.
    pub(super) fn since_ns(&self) -> Option<u64> {
        self.attached.is_none().then_some(self.since_ns)
    }

    /// While there is none: the next gap begins at `since_ns`, and the one before was told.
    pub(super) fn go_on_without(&mut self, since_ns: u64) {
        self.since_ns = since_ns;
    }

    /// When the next attempt to attach is due.
    pub(super) fn due_ns(&self) -> u64 {
        self.backoff.due_ns()
    }

    /// Attaches anew, if there is none and an attempt is due. Whether there is one afterwards.
    pub(super) fn reattach(&mut self, now_ns: impl Fn() -> u64, attach: impl FnOnce() -> Option<L>) -> bool {
        if self.attached.is_none() {
            self.attached = self.backoff.attempt(now_ns, attach);
        }
        self.attached.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::{Backoff, FIRST_DELAY_NS, LONGEST_DELAY_NS, Supervised};

    #[test]
    fn attempts_are_further_and_further_apart_up_to_a_limit() {
        let (mut backoff, mut now_ns, mut delays) = (Backoff::default(), 5, Vec::new());
        for _ in 0..100 {
            assert_eq!(backoff.attempt(|| now_ns, || None::<()>), None);
            let due_ns = backoff.due_ns();
            assert_eq!(backoff.attempt(|| due_ns - 1, || Some(())), None, "it is not due");
            delays.push(backoff.due_ns() - now_ns);
            now_ns = backoff.due_ns();
        }
        assert_eq!(delays[..3], [FIRST_DELAY_NS, 2 * FIRST_DELAY_NS, 4 * FIRST_DELAY_NS]);
        assert!(delays.is_sorted() && delays[99] == LONGEST_DELAY_NS);
        assert_eq!(backoff.attempt(|| now_ns, || Some(7)), Some(7));
        // The next failure is a first one again.
        assert_eq!(backoff.attempt(|| now_ns, || None::<()>), None);
        assert_eq!(backoff.due_ns(), now_ns + FIRST_DELAY_NS);
    }

    #[test]
    fn a_ledger_that_failed_is_attached_anew_and_the_gap_is_known() {
        let mut ledger = Supervised::new("first");
        assert_eq!((ledger.get(), ledger.since_ns()), (Some(&"first"), None));
        assert!(ledger.reattach(|| 9, || unreachable!("there is one")));
        ledger.fail(10);
        ledger.fail(20); // it is gone already
        assert_eq!((ledger.get(), ledger.since_ns()), (None, Some(10)));
        assert!(!ledger.reattach(|| 30, || None));
        assert!(!ledger.reattach(|| 30, || unreachable!("no attempt is due")));
        assert_eq!(ledger.since_ns(), Some(10));
        ledger.go_on_without(40);
        assert_eq!(ledger.since_ns(), Some(40));
        let due_ns = ledger.due_ns();
        assert!(ledger.reattach(|| due_ns, || Some("second")));
        assert_eq!((ledger.get(), ledger.since_ns()), (Some(&"second"), None));
        ledger.replace("third");
        assert_eq!(ledger.get_mut().copied(), Some("third"));
    }

    #[test]
    fn failures_in_a_row_end_in_a_ledger() {
        // Each ledger fails at once, and each second attempt to attach one.
        let mut ledger = Supervised::new(0);
        let (mut now_ns, mut attached) = (0, 0);
        for attempt in 1..1000 {
            ledger.fail(now_ns);
            now_ns = now_ns.max(ledger.due_ns());
            attached += i32::from(ledger.reattach(|| now_ns, || (attempt % 2 == 0).then_some(attempt)));
        }
        assert_eq!(attached, 499);
        assert!(now_ns <= 500 * FIRST_DELAY_NS, "a success ends the growth of the delay");
    }
}
