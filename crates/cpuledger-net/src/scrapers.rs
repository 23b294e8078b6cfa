//! Who scrapes, and whether all of them have seen the series as they are.
//!
//! Two servers that scrape the same machine see its series at different times. A series may count only when both have seen its first value.

use std::cmp::Reverse;
use std::time::{Duration, Instant};

/// How many are known at most, and of one address.
const MOST: usize = 16;
const MOST_OF_PEER: usize = 4;
/// A scraper that does not come back within this many of its own intervals is gone.
const PATIENCE: u32 = 3;
/// Who comes less often is no scraper, and is not waited for.
const LONGEST_INTERVAL: Duration = Duration::from_secs(100);

/// A scraper: who it is.
#[derive(Debug, Clone, Copy)]
pub struct Visitor<'a> {
    /// Its address, or its user.
    pub peer: &'a str,
    /// What it calls itself.
    pub agent: &'a str,
}

#[derive(Debug)]
struct Scraper {
    peer: String,
    agent: String,
    last: Instant,
    /// Between its last two visits; `None`: it was here once, and may never come back.
    interval: Option<Duration>,
    has_seen: bool,
}

impl Scraper {
    fn is_awaited(&self, now: Instant) -> bool {
        let interval = self.interval.filter(|interval| *interval <= LONGEST_INTERVAL);
        let since = now.saturating_duration_since(self.last);
        interval.is_some_and(|interval| since <= interval.saturating_mul(PATIENCE))
    }
}

/// Those that have been here.
#[derive(Debug, Default)]
pub struct Scrapers(Vec<Scraper>);

impl Scrapers {
    /// Whether one has been here in this round.
    pub fn are_amid_round(&self) -> bool {
        self.0.iter().any(|known| known.has_seen)
    }

    /// One of them is shown the series. Returns whether all that are expected back have seen them now; then the next round begins.
    pub fn visit(&mut self, visitor: Visitor<'_>, now: Instant) -> bool {
        let is_it = |known: &&mut Scraper| known.peer == visitor.peer && known.agent == visitor.agent;
        match self.0.iter_mut().find(is_it) {
            Some(known) => {
                known.interval = Some(now.saturating_duration_since(known.last));
                (known.last, known.has_seen) = (now, true);
            }
            None => self.add(visitor, now),
        }
        let is_over = self.0.iter().all(|known| known.has_seen || !known.is_awaited(now));
        if is_over {
            self.0.iter_mut().for_each(|known| known.has_seen = false);
        }
        is_over
    }

    /// Makes room if there is none: nobody who is awaited gives way to one who may never come back. Those give way that have not come for long, else the
    /// one that came last: many newcomers do not push out one that will come again.
    fn add(&mut self, visitor: Visitor<'_>, now: Instant) {
        let of_peer = self.0.iter().filter(|known| known.peer == visitor.peer).count();
        if of_peer >= MOST_OF_PEER || self.0.len() >= MOST {
            let may_go = |place: &usize| {
                let known = &self.0[*place];
                !known.is_awaited(now) && (of_peer < MOST_OF_PEER || known.peer == visitor.peer)
            };
            let order = |place: &usize| {
                let last = self.0[*place].last;
                let is_gone = now.saturating_duration_since(last) > LONGEST_INTERVAL * PATIENCE;
                (!is_gone, Reverse(last))
            };
            let Some(first) = (0..self.0.len()).filter(may_go).min_by_key(order) else { return };
            self.0.swap_remove(first);
        }
        let (peer, agent) = (visitor.peer.to_owned(), visitor.agent.to_owned());
        self.0.push(Scraper { peer, agent, last: now, interval: None, has_seen: true });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Scene(Scrapers, Instant);

    impl Scene {
        fn visit(&mut self, agent: &str, second: u64) -> bool {
            self.0.visit(Visitor { peer: "127.0.0.1", agent }, self.1 + Duration::from_secs(second))
        }
    }

    fn scene() -> Scene {
        Scene(Scrapers::default(), Instant::now())
    }

    #[test]
    fn a_round_ends_when_all_that_come_regularly_have_been_here() {
        let mut scene = scene();
        assert!(scene.visit("a", 0), "the only one");
        assert!(scene.visit("b", 1), "it is not known whether the other one comes back");
        assert!(scene.visit("a", 10), "nor whether b does");
        assert!(!scene.visit("b", 11), "a comes every 10 s");
        assert!(scene.visit("a", 20), "both were here");
        assert!(!scene.visit("a", 30), "b comes every 10 s, too");
        assert!(scene.visit("b", 31), "both were here");
        assert!(!scene.visit("a", 40));
        assert!(!scene.visit("a", 50));
        assert!(scene.visit("a", 100), "b has not come for more than three times its 20 s");
    }

    #[test]
    fn those_that_come_once_or_rarely_hold_nobody_up() {
        let mut scene = scene();
        assert!(scene.visit("curl", 0));
        assert!(scene.visit("curl", 200));
        for second in 201..600 {
            assert!(scene.visit("a", second), "at {second} s");
        }
    }

    #[test]
    fn nobody_pushes_a_regular_one_out() {
        let mut scene = scene();
        for second in 0..1000_u64 {
            if second % 10 == 0 {
                scene.visit("regular", second);
            }
            scene.visit(&second.to_string(), second);
            let (peer, now) = (format!("10.0.0.{}", second % 250), scene.1 + Duration::from_secs(second));
            scene.0.visit(Visitor { peer: &peer, agent: "x" }, now);
            assert!(scene.0.0.len() <= MOST);
        }
        assert!(scene.0.0.iter().any(|known| known.agent == "regular" && known.interval.is_some()));
    }
}
