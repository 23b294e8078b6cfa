//! Who scrapes, and whether all of them have seen the series as they are.
//!
//! Two servers that scrape the same machine see its series at different times. A series may count only when both have seen its first value.

use std::time::{Duration, Instant};

/// How many are known at most; then one is forgotten: of those that came once, else of all, the one that was seen least recently.
const MOST: usize = 16;
/// A scraper that does not come back within this many of its own intervals is gone.
const PATIENCE: u32 = 3;
/// Nobody is waited for longer than this.
const LONGEST_WAIT: Duration = Duration::from_secs(300);

#[derive(Debug)]
struct Scraper {
    name: String,
    last: Instant,
    /// Between its last two visits; `None`: it was here once, and may never come back.
    interval: Option<Duration>,
    has_seen: bool,
}

impl Scraper {
    fn is_awaited(&self, now: Instant) -> bool {
        let Some(interval) = self.interval else { return false };
        let patience = interval.saturating_mul(PATIENCE).min(LONGEST_WAIT);
        now.saturating_duration_since(self.last) <= patience
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
    pub fn visit(&mut self, name: &str, now: Instant) -> bool {
        match self.0.iter_mut().find(|known| known.name == name) {
            Some(known) => {
                known.interval = Some(now.saturating_duration_since(known.last));
                (known.last, known.has_seen) = (now, true);
            }
            None => {
                if self.0.len() >= MOST {
                    let oldest = (0..self.0.len()).min_by_key(|place| {
                        let known = &self.0[*place];
                        (known.interval.is_some(), known.last)
                    });
                    oldest.map(|place| self.0.swap_remove(place));
                }
                self.0.push(Scraper { name: name.to_owned(), last: now, interval: None, has_seen: true });
            }
        }
        let is_over = self.0.iter().all(|known| known.has_seen || !known.is_awaited(now));
        if is_over {
            self.0.iter_mut().for_each(|known| known.has_seen = false);
        }
        is_over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_ends_when_all_that_come_regularly_have_been_here() {
        let mut scrapers = Scrapers::default();
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        assert!(scrapers.visit("a", at(0)), "the only one");
        assert!(scrapers.visit("b", at(1)), "it is not known whether the other one comes back");
        assert!(scrapers.visit("a", at(10)), "nor whether b does");
        assert!(!scrapers.visit("b", at(11)), "a comes every 10 s");
        assert!(scrapers.visit("a", at(20)), "both were here");
        assert!(!scrapers.visit("a", at(30)), "b comes every 10 s, too");
        assert!(scrapers.visit("b", at(31)), "both were here");
        assert!(!scrapers.visit("a", at(40)));
        assert!(!scrapers.visit("a", at(50)));
        assert!(scrapers.visit("a", at(100)), "b has not come for more than three times its 20 s");
    }

    #[test]
    fn one_that_came_once_holds_nobody_up() {
        let mut scrapers = Scrapers::default();
        let begin = Instant::now();
        assert!(scrapers.visit("curl", begin));
        for second in 1..100 {
            assert!(scrapers.visit("a", begin + Duration::from_secs(second)), "at {second} s");
        }
    }

    #[test]
    fn names_are_bounded() {
        let mut scrapers = Scrapers::default();
        let begin = Instant::now();
        for number in 0..1000_u64 {
            scrapers.visit(&number.to_string(), begin + Duration::from_millis(number));
        }
        assert_eq!(scrapers.0.len(), MOST);
    }
}
