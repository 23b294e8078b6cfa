//! Intervals that are shorter than usual: users request them, and pay. They cost what every ring costs once more, so they are taken from
//! a budget of those that request them, and from one of all users. While a budget is used up, intervals are as long as it lasts.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use cpuledger::Accounts;

use super::audiences::Audience;
use super::budget::Budgets;
use super::config::Bounds;

/// The only account of what all users may take.
const TOGETHER: u32 = 1;
/// A user alone may take that part of what all users may take.
const PART_OF_USER: u32 = 2;
/// What an interval costs is the mean of about that many.
const REMEMBERED: u32 = 4;

/// What readers request, and what is left to them.
#[derive(Debug, Default)]
pub struct Requests {
    bounds: Bounds,
    /// By connection and audience.
    requested: HashMap<(u64, Audience), (u32, u64)>,
    /// What the service keeps besides in any case.
    own_accounts: Accounts,
    /// What subscriptions ask for.
    accounts: HashMap<(u64, Audience), Accounts>,
    of_each: Budgets,
    of_all: Budgets,
    /// Those whose requests have chosen the end of the running interval.
    payers: Vec<u32>,
    /// What it costs to close and publish an interval.
    cost: Duration,
}

impl Requests {
    pub fn new(bounds: Bounds, own_accounts: Accounts) -> Requests {
        Requests { bounds, own_accounts, ..Requests::default() }
    }

    /// Other bounds, from the running interval on, and other accounts in any case.
    pub fn configure(&mut self, bounds: Bounds, own_accounts: Accounts) {
        (self.bounds, self.own_accounts) = (bounds, own_accounts);
    }

    /// A subscription asks for these accounts, instead of those before.
    pub fn ask_for(&mut self, subscription: (u64, Audience), accounts: Accounts) {
        if accounts.is_empty() {
            self.accounts.remove(&subscription);
        } else {
            self.accounts.insert(subscription, accounts);
        }
    }

    /// The accounts that somebody wants.
    pub fn accounts(&self) -> Accounts {
        self.accounts.values().fold(self.own_accounts, |all, accounts| all.union(*accounts))
    }

    /// A subscription requests intervals of that length, instead of what it has requested before.
    pub fn add(&mut self, subscription: (u64, Audience), uid: u32, interval_ns: u64) {
        self.requested.insert(subscription, (uid, interval_ns));
    }

    /// A subscription has ended.
    pub fn remove(&mut self, subscription: (u64, Audience)) {
        self.requested.remove(&subscription);
        self.accounts.remove(&subscription);
    }

    /// The shortest interval that is requested, whatever it costs.
    pub fn shortest_ns(&self) -> u64 {
        self.of_users().into_values().fold(self.bounds.usual_ns, u64::min)
    }

    /// The shortest that each user requests.
    fn of_users(&self) -> HashMap<u32, u64> {
        let mut shortest = HashMap::new();
        for &(uid, interval_ns) in self.requested.values() {
            let interval_ns = interval_ns.max(self.bounds.least_ns);
            if interval_ns < self.bounds.usual_ns {
                shortest
                    .entry(uid)
                    .and_modify(|ns: &mut u64| *ns = interval_ns.min(*ns))
                    .or_insert(interval_ns);
            }
        }
        shortest
    }

    /// What a user may take, and all of them.
    fn percents(&self) -> [u32; 2] {
        [self.bounds.percent.div_ceil(PART_OF_USER), self.bounds.percent]
    }

    /// When the interval ends that began at `start_ns`, as it looks at `now`, which is `now_ns`.
    pub fn end_ns(&mut self, start_ns: u64, now: Instant, now_ns: u64) -> u64 {
        let [of_user, together] = self.percents();
        let mut ends = Vec::new();
        for (uid, interval_ns) in self.of_users() {
            let mut end_ns = start_ns + interval_ns;
            if uid != 0 {
                let waits =
                    [self.of_each.check(uid, of_user, now), self.of_all.check(TOGETHER, together, now)];
                if let Some(wait) = waits.into_iter().filter_map(Result::err).max() {
                    end_ns = end_ns.max(now_ns.saturating_add(nanoseconds(wait)));
                }
            }
            ends.push((uid, end_ns));
        }
        let usual_ns = start_ns + self.bounds.usual_ns;
        let end_ns = ends.iter().map(|&(_, end_ns)| end_ns).fold(usual_ns, u64::min);
        let have_chosen = ends.iter().filter(|&&(_, own_ns)| own_ns <= end_ns && own_ns < usual_ns);
        self.payers = have_chosen.map(|&(uid, _)| uid).collect();
        end_ns
    }

    /// An interval of that length was closed and published, which took that much CPU time.
    pub fn charge(&mut self, length_ns: u64, spent: Duration) {
        self.cost = (self.cost * (REMEMBERED - 1) + spent) / REMEMBERED;
        // What it has cost beyond its part of a usual one. Root pays nothing.
        let part = 1.0 - length_ns as f64 / self.bounds.usual_ns.max(1) as f64;
        if part > 0.0 && !self.payers.is_empty() && !self.payers.contains(&0) {
            let beyond = spent.mul_f64(part);
            let part = beyond / u32::try_from(self.payers.len()).unwrap_or(u32::MAX);
            self.payers.iter().for_each(|&uid| self.of_each.charge(uid, part));
            self.of_all.charge(TOGETHER, beyond);
        }
    }

    /// How long intervals are, as far as it can be said: when what was saved up is spent, budgets last for no shorter ones.
    pub fn interval_ns(&self) -> u64 {
        let users = self.of_users();
        let payers = u64::try_from(users.keys().filter(|&&uid| uid != 0).count()).unwrap_or(u64::MAX).max(1);
        let [of_user, together] = self.percents();
        let cost_ns = nanoseconds(self.cost);
        let lasts_ns = |cost_ns: u64, percent: u32| cost_ns.saturating_mul(100) / u64::from(percent.max(1));
        let paid_ns = lasts_ns(cost_ns, together).max(lasts_ns(cost_ns / payers, of_user));
        let each = users.iter().map(|(&uid, &ns)| if uid == 0 { ns } else { ns.max(paid_ns) });
        each.fold(self.bounds.usual_ns, u64::min)
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use cpuledger::Account;
    use cpuledger_model::audience::{Strangers, Viewer};

    use super::*;

    const MS: u64 = 1_000_000;
    const BOUNDS: Bounds = Bounds { usual_ns: 1_000 * MS, least_ns: 100 * MS, percent: 20 };

    fn of(uid: u32) -> Audience {
        Audience::User(Viewer { uid, gid: uid, may_trace_own: true, strangers: Strangers::Shown })
    }

    /// Plays intervals that each cost that much for that time. Returns how many there were, by whether they were in its last half.
    fn play(requests: &mut Requests, seconds: u64, cost: Duration) -> [u64; 2] {
        let (begin, mut at_ns, mut counts) = (Instant::now(), 0, [0, 0]);
        while at_ns < seconds * 1_000 * MS {
            let end_ns = requests.end_ns(at_ns, begin + Duration::from_nanos(at_ns), at_ns);
            requests.charge(end_ns - at_ns, cost);
            counts[usize::from(at_ns >= seconds * 500 * MS)] += 1;
            at_ns = end_ns;
        }
        counts
    }

    #[test]
    fn a_request_that_costs_little_is_granted() {
        let mut requests = Requests::new(BOUNDS, Accounts::NONE);
        assert_eq!(play(&mut requests, 20, Duration::from_millis(1)), [10, 10], "without requests");
        requests.add((1, of(1000)), 1000, 50 * MS);
        assert_eq!(
            play(&mut requests, 20, Duration::from_millis(1)),
            [100, 100],
            "the least that is allowed"
        );
        assert_eq!(requests.interval_ns(), 100 * MS);
        requests.remove((1, of(1000)));
        assert_eq!(
            (play(&mut requests, 20, Duration::from_millis(1)), requests.interval_ns()),
            ([10, 10], 1_000 * MS)
        );
    }

    #[test]
    fn requests_of_any_number_of_users_take_no_more_than_their_budget() {
        for users in [1, 2, 3, 64] {
            let mut requests = Requests::new(BOUNDS, Accounts::NONE);
            (1..=users).for_each(|uid| requests.add((uid.into(), of(uid)), uid, 100 * MS));
            // Each ring costs 1.4 ms, as 1,000 processes that run do.
            let cost = Duration::from_micros(1_400) * 64;
            let [_, late] = play(&mut requests, 200, cost);
            // Beyond the usual 100, a user has 10 % of a CPU, and all of them 20.
            let percent = if users == 1 { 0.1 } else { 0.2 };
            let more = percent * 100.0 / cost.as_secs_f64();
            assert!(
                (late as f64 - 100.0 - more).abs() < 4.0,
                "{users} users: {late} instead of {}",
                100.0 + more
            );
            assert!(requests.interval_ns() > 400 * MS, "{}", requests.interval_ns());
        }
    }

    #[test]
    fn what_one_user_has_spent_is_not_missing_to_another() {
        let mut requests = Requests::new(BOUNDS, Accounts::NONE);
        requests.add((1, of(1000)), 1000, 100 * MS);
        play(&mut requests, 100, Duration::from_millis(90));
        requests.add((2, of(1001)), 1001, 100 * MS);
        let (now, now_ns) = (Instant::now() + Duration::from_secs(100), 100_000 * MS);
        assert_eq!(requests.end_ns(now_ns, now, now_ns), now_ns + 100 * MS, "its own budget is whole");
        assert_eq!(requests.payers, [1001]);
    }

    #[test]
    fn an_account_is_wanted_until_nobody_wants_it() {
        let (own, more) = (Accounts::of(&[Account::Disk]), Accounts::of(&[Account::Network]));
        let mut requests = Requests::new(BOUNDS, own);
        [1, 2].into_iter().for_each(|connection| requests.ask_for((connection, Audience::All), more));
        requests.ask_for((1, Audience::All), Accounts::NONE);
        assert_eq!(requests.accounts(), own.union(more));
        // Of another audience.
        requests.remove((2, of(1000)));
        assert_eq!(requests.accounts(), own.union(more));
        requests.remove((2, Audience::All));
        assert_eq!(requests.accounts(), own);
        requests.configure(BOUNDS, Accounts::NONE);
        assert!(requests.accounts().is_empty() && requests.accounts.is_empty());
    }

    #[test]
    fn root_has_what_it_requests_and_no_user_pays() {
        let mut requests = Requests::new(BOUNDS, Accounts::NONE);
        requests.add((1, Audience::All), 0, 100 * MS);
        requests.add((2, of(1000)), 1000, 100 * MS);
        assert_eq!(play(&mut requests, 20, Duration::from_millis(90)), [100, 100]);
        requests.remove((1, Audience::All));
        assert_eq!(requests.end_ns(0, Instant::now(), 0), 100 * MS, "nothing was taken from the user");
    }
}
