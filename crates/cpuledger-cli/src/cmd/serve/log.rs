//! The journal: a line for each thing that an operator would ask about.

use std::io::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Lines about readers at once, and the time after which one more may follow.
const LINES: u32 = 20;
const PER_LINE: Duration = Duration::from_secs(3);

/// Writes a line for the journal.
pub fn log(sentence: &str) {
    // Standard error may be closed.
    let _ = writeln!(std::io::stderr(), "cpuledger: {sentence}");
}

/// Writes a line about something that a reader has done. There may be any number of these, and the journal has limits of its own.
pub fn log_of_reader(sentence: &str) {
    static LIMIT: Mutex<Limit> = Mutex::new(Limit { used: 0, since: None, left_out: 0 });
    let allowed = LIMIT.lock().unwrap_or_else(PoisonError::into_inner).allow(Instant::now());
    match allowed {
        Some(0) => log(sentence),
        Some(left_out) => log(&format!("{sentence} ({left_out} lines like this were left out)")),
        None => {}
    }
}

/// How many lines may follow.
#[derive(Debug)]
struct Limit {
    used: u32,
    /// When the number that was used was last made smaller.
    since: Option<Instant>,
    left_out: u64,
}

impl Limit {
    /// Whether a line may be written now, and how many were left out before it.
    fn allow(&mut self, now: Instant) -> Option<u64> {
        let since = *self.since.get_or_insert(now);
        let periods = now.saturating_duration_since(since).as_secs() / PER_LINE.as_secs();
        if periods > 0 {
            self.used = self.used.saturating_sub(u32::try_from(periods).unwrap_or(u32::MAX));
            self.since = Some(now);
        }
        if self.used >= LINES {
            self.left_out += 1;
            return None;
        }
        self.used += 1;
        Some(std::mem::take(&mut self.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_lines_ends_and_is_told() {
        let mut limit = Limit { used: 0, since: None, left_out: 0 };
        let now = Instant::now();
        let written = (0..1000).filter(|_| limit.allow(now).is_some()).count();
        assert_eq!(written, LINES as usize);
        assert_eq!(limit.allow(now + PER_LINE), Some(1000 - u64::from(LINES)));
        assert_eq!(limit.allow(now + PER_LINE), None);
    }
}
