//! What became of each push, and which rounds of series have to be sent once more.
//!
//! A series or a process that has left was in the last requests before that. If one of these is lost, so are its last amounts: the next push has
//! them again, and no more than these.

use std::collections::{BTreeMap, BTreeSet};

/// A push has the series of so many earlier rounds at most: a receiver that was away for long gets them bit by bit.
const MOST_AT_ONCE: usize = 16;
/// Rounds that are remembered. The books remember no more series than that.
const MOST_OWED: usize = 1 << 14;

/// A push of which requests wait.
#[derive(Debug)]
struct Push {
    /// Its own round, and the earlier ones that it has again.
    rounds: Vec<u64>,
    requests: usize,
    is_lost: bool,
}

/// All pushes of which requests wait.
#[derive(Debug)]
pub struct Pushes {
    waiting: BTreeMap<u64, Push>,
    /// The number of the last one.
    last: u64,
    /// Rounds that were in a push that is lost.
    owed: BTreeSet<u64>,
    at_once: usize,
}

impl Default for Pushes {
    fn default() -> Pushes {
        Pushes { waiting: BTreeMap::new(), last: 0, owed: BTreeSet::new(), at_once: MOST_AT_ONCE }
    }
}

impl Pushes {
    /// Earlier rounds that the next push has to have, oldest first.
    pub fn owed(&self) -> Vec<u64> {
        self.owed.iter().copied().take(self.at_once).collect()
    }

    /// A push of so many requests begins: of this round, and of these earlier ones.
    pub fn begin(&mut self, round: u64, again: &[u64], requests: usize) {
        self.owed.retain(|round| !again.contains(round));
        self.last += 1;
        let rounds = [again, &[round]].concat();
        self.waiting.insert(self.last, Push { rounds, requests, is_lost: false });
    }

    /// The number of the push that began last; 0 if there was none.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// A request of that push is taken, or lost.
    pub fn settle(&mut self, number: u64, is_taken: bool) {
        // One that an earlier run has left in the queue is of no push of this one.
        let Some(push) = self.waiting.get_mut(&number) else { return };
        push.requests = push.requests.saturating_sub(1);
        if !is_taken && !push.is_lost {
            push.is_lost = true;
            self.owed.extend(&push.rounds);
            // What was too much is less next time.
            if push.rounds.len() > 1 {
                self.at_once = (self.at_once / 2).max(1);
            }
            while self.owed.len() > MOST_OWED {
                self.owed.pop_first();
            }
        }
        if push.requests == 0 {
            if !push.is_lost {
                self.at_once = (self.at_once * 2).min(MOST_AT_ONCE);
            }
            self.waiting.remove(&number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A push of a round with all that is owed.
    fn push(pushes: &mut Pushes, round: u64, requests: usize) -> Vec<u64> {
        let owed = pushes.owed();
        pushes.begin(round, &owed, requests);
        owed
    }

    #[test]
    fn what_was_lost_is_sent_again_and_nothing_else_is() {
        let mut pushes = Pushes::default();
        push(&mut pushes, 0, 2);
        push(&mut pushes, 1, 1);
        push(&mut pushes, 2, 1);
        pushes.settle(1, true);
        pushes.settle(1, false);
        pushes.settle(3, true);
        assert_eq!(push(&mut pushes, 3, 1), [0], "push 2 waits");
        assert!(pushes.owed().is_empty(), "push 4 has it");
        pushes.settle(2, false);
        pushes.settle(4, false);
        assert_eq!(push(&mut pushes, 4, 1), [0, 1, 3]);
        pushes.settle(5, true);
        pushes.settle(0, false);
        assert!(pushes.owed().is_empty() && pushes.waiting.is_empty());
    }

    #[test]
    fn after_a_long_outage_it_comes_bit_by_bit() {
        let mut pushes = Pushes::default();
        for round in 0..1000 {
            let owed = push(&mut pushes, round, 1);
            assert!(owed.len() <= MOST_AT_ONCE && (round < 10 || owed.len() == 1), "{round}: {owed:?}");
            pushes.settle(pushes.last(), false);
        }
        let (mut again, mut round) = (Vec::new(), 1000);
        while !pushes.owed().is_empty() {
            again.extend(push(&mut pushes, round, 1));
            pushes.settle(pushes.last(), true);
            round += 1;
        }
        assert_eq!(again, (0..1000).collect::<Vec<u64>>());
        assert!(round < 1080, "{round}");
    }
}
