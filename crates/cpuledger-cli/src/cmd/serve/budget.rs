//! How much of the service's CPU time the calls of a user take: one user that lists without end leaves time for the others.

use std::collections::HashMap;
use std::time::{Duration, Instant};

/// What a user that has not called for that time may use at once.
const SAVED_UP: Duration = Duration::from_secs(4);
/// Users that are remembered before those are forgotten that have used nothing lately.
const MANY_USERS: usize = 1024;

/// What is left to a user.
#[derive(Debug, Clone, Copy)]
struct Account {
    /// Below zero after a call that took more than was left.
    left_ns: i64,
    at: Instant,
}

/// What is left to each user. Root has no limit.
#[derive(Debug, Default)]
pub struct Budgets {
    accounts: HashMap<u32, Account>,
}

impl Budgets {
    /// Whether a user may call now, if its calls may take that much of a CPU.
    ///
    /// # Errors
    /// How long it has to wait.
    pub fn check(&mut self, uid: u32, percent: u32, now: Instant) -> Result<(), Duration> {
        if uid == 0 {
            return Ok(());
        }
        let most_ns = share(SAVED_UP, percent);
        if self.accounts.len() >= MANY_USERS {
            self.accounts.retain(|_, account| refilled(*account, percent, now) < most_ns);
        }
        let account = self.accounts.entry(uid).or_insert(Account { left_ns: most_ns, at: now });
        *account = Account { left_ns: refilled(*account, percent, now), at: now };
        if account.left_ns > 0 {
            return Ok(());
        }
        let missing_ns = account.left_ns.unsigned_abs() + 1;
        Err(Duration::from_nanos(missing_ns.saturating_mul(100) / u64::from(percent.max(1))))
    }

    /// Takes what a call has used.
    pub fn charge(&mut self, uid: u32, used: Duration) {
        if let Some(account) = self.accounts.get_mut(&uid) {
            account.left_ns = account.left_ns.saturating_sub(nanoseconds(used));
        }
    }
}

/// What is left by now.
fn refilled(account: Account, percent: u32, now: Instant) -> i64 {
    let more_ns = share(now.saturating_duration_since(account.at), percent);
    account.left_ns.saturating_add(more_ns).min(share(SAVED_UP, percent))
}

fn share(time: Duration, percent: u32) -> i64 {
    nanoseconds(time * percent / 100)
}

fn nanoseconds(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_that_has_used_up_its_time_waits_and_others_do_not() {
        let mut budgets = Budgets::default();
        let now = Instant::now();
        let after = |seconds: f64| now + Duration::from_secs_f64(seconds);
        assert_eq!(budgets.check(1000, 50, now), Ok(()));
        budgets.charge(1000, Duration::from_secs(3));
        let wait = budgets.check(1000, 50, now).expect_err("2 s are saved up, and 3 are used");
        assert!((1.99..2.01).contains(&wait.as_secs_f64()), "{wait:?}");
        assert_eq!(budgets.check(1001, 50, now), Ok(()), "another user");
        assert!(budgets.check(1000, 50, after(1.9)).is_err());
        assert_eq!(budgets.check(1000, 50, after(2.1)), Ok(()));
        // A pause of any length saves up no more.
        assert_eq!(budgets.check(1000, 50, after(1000.0)), Ok(()));
        budgets.charge(1000, Duration::from_secs_f64(2.1));
        assert!(budgets.check(1000, 50, after(1000.0)).is_err());
    }

    #[test]
    fn root_has_no_limit_and_no_account() {
        let mut budgets = Budgets::default();
        budgets.charge(0, Duration::from_secs(1_000_000));
        assert_eq!(budgets.check(0, 1, Instant::now()), Ok(()));
        assert!(budgets.accounts.is_empty());
    }

    #[test]
    fn users_that_have_used_nothing_lately_are_forgotten() {
        let mut budgets = Budgets::default();
        let now = Instant::now();
        for uid in 1..=MANY_USERS as u32 {
            budgets.check(uid, 50, now).expect("it is the first call");
        }
        budgets.charge(1, Duration::from_secs(1));
        budgets.check(5_000, 50, now).expect("it is the first call");
        assert_eq!(budgets.accounts.len(), 2, "the one that owes time, and the new one");
    }
}
