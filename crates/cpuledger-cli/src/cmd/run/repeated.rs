//! The accounts of several runs of a command: median and spread of each figure.

use std::fmt::Write;

use cpuledger_view::report::text::size;
use serde::Serialize;

use super::print::{Account, Missing, seconds};

/// The version of the JSON.
const SCHEMA: &str = "cpuledger.runs/1";

/// A figure of a run: its name in text, its key, and its value.
type Figure = (&'static str, &'static str, fn(&Account<'_>) -> u64);

const FIGURES: [Figure; 8] = [
    ("real", "real_ns", |account| account.real_ns),
    ("cpu", "cpu_ns", |account| account.tree.booked_ns),
    ("  user", "user_ns", |account| account.counted.user_ns),
    ("  system", "system_ns", |account| account.counted.system_ns),
    ("  stolen", "stolen_ns", |account| account.tree.stolen_ns),
    ("waiting", "runqueue_wait_ns", |account| account.tree.all.waiting_ns),
    ("blocked", "blocked_ns", |account| account.tree.all.blocked_ns),
    ("  by I/O", "io_wait_ns", |account| account.tree.all.io_wait_ns),
];

/// A figure of all runs.
#[derive(Debug, Serialize, PartialEq, Eq)]
struct Spread {
    key: &'static str,
    median_ns: u64,
    least_ns: u64,
    most_ns: u64,
    /// From the first quartile to the third.
    quartiles_ns: [u64; 2],
}

#[derive(Serialize)]
struct Runs<'a> {
    schema: &'static str,
    figures: Vec<Spread>,
    runs: &'a [Account<'a>],
}

/// Of an even number, half the sum of both in the middle; so of parts of the whole, too.
fn median_of(sorted: &[u64]) -> u64 {
    match (sorted.get((sorted.len().max(1) - 1) / 2), sorted.get(sorted.len() / 2)) {
        (Some(one), Some(other)) => u64::midpoint(*one, *other),
        _ => 0,
    }
}

fn spread(key: &'static str, mut values: Vec<u64>) -> Spread {
    values.sort_unstable();
    let half = values.len().div_ceil(2);
    Spread {
        key,
        median_ns: median_of(&values),
        least_ns: values.first().copied().unwrap_or_default(),
        most_ns: values.last().copied().unwrap_or_default(),
        quartiles_ns: [median_of(&values[..half]), median_of(&values[values.len() - half..])],
    }
}

/// Of the accounts that do not end before their commands; none, if there is none.
fn spreads(accounts: &[Account<'_>]) -> Vec<(&'static str, Spread)> {
    let whole: Vec<&Account<'_>> = whole(accounts).collect();
    let figures = FIGURES.iter().filter(|_| !whole.is_empty());
    let values = |value: fn(&Account<'_>) -> u64| whole.iter().map(|account| value(account)).collect();
    figures.map(|(name, key, value)| (*name, spread(key, values(*value)))).collect()
}

fn whole<'a, 'b>(accounts: &'b [Account<'a>]) -> impl Iterator<Item = &'b Account<'a>> {
    accounts.iter().filter(|account| account.missing.ended.is_none())
}

/// One object.
pub fn json(accounts: &[Account<'_>]) -> String {
    let runs = Runs {
        schema: SCHEMA,
        figures: spreads(accounts).into_iter().map(|(_, spread)| spread).collect(),
        runs: accounts,
    };
    // Numbers and texts are always JSON.
    serde_json::to_string(&runs).unwrap_or_default() + "\n"
}

/// Some lines; `wanted` is how many runs were to be.
pub fn text(accounts: &[Account<'_>], wanted: u16) -> String {
    let mut text = String::new();
    let count = whole(accounts).count();
    let runs = if count == 1 { "run" } else { "runs" };
    let _ = writeln!(text, "{count} {runs}    MEDIAN s        LEAST s         MOST s      QUARTILES s");
    for (name, spread) in spreads(accounts) {
        let [first, third] = spread.quartiles_ns;
        let cells = [spread.median_ns, spread.least_ns, spread.most_ns, first].map(seconds);
        let [median, least, most, first] = cells;
        let _ =
            writeln!(text, "{name:<9}{median:>14} {least:>14} {most:>14}   {first} to {}", seconds(third));
    }
    if let Some(largest) = accounts.iter().filter_map(|account| account.max_rss_bytes).max() {
        let _ = writeln!(text, "max RSS  {}", size(largest));
    }
    if count < usize::from(wanted) {
        let last = accounts.last();
        let why = match (last.and_then(|last| last.missing.ended.as_ref()), last.map(|last| last.exit_code)) {
            (Some(why), _) => format!("the account of the last one ends before it: {why}"),
            (None, None | Some(0)) => "a signal has come".to_owned(),
            (None, Some(code)) => format!("the last one ended with code {code}"),
        };
        let _ = writeln!(text, "\nonly {count} of {wanted} runs: {why}");
    }
    let mut missing = Missing::default();
    whole(accounts).for_each(|account| missing.merge(&account.missing));
    missing.append_notes(&mut text);
    text
}

#[cfg(test)]
mod tests {
    use super::super::print::tests::account;
    use super::*;

    #[test]
    fn medians_and_quartiles_are_of_the_sorted_runs() {
        let of = |values: &[u64]| spread("real_ns", values.to_vec());
        let five = of(&[5, 1, 4, 2, 3]);
        assert_eq!((five.median_ns, five.least_ns, five.most_ns), (3, 1, 5));
        assert_eq!(five.quartiles_ns, [2, 4]);
        let four = of(&[40, 10, 30, 20]);
        assert_eq!((four.median_ns, four.quartiles_ns), (25, [15, 35]));
        let one = of(&[7]);
        assert_eq!((one.median_ns, one.least_ns, one.most_ns, one.quartiles_ns), (7, 7, 7, [7, 7]));
        assert_eq!(of(&[]).median_ns, 0);
        assert_eq!(of(&[u64::MAX, u64::MAX]).median_ns, u64::MAX);
    }

    /// A run without books counts no CPU time, whatever it used.
    #[test]
    fn an_account_that_ends_before_its_command_is_in_no_median() {
        let run = |cpu_ns: u64, ended: Option<&str>| {
            let mut account = account(None);
            account.tree.booked_ns = cpu_ns;
            account.missing.ended = ended.map(str::to_owned);
            account
        };
        let accounts = [run(5, None), run(7, None), run(0, Some("the service has ended"))];
        let runs: serde_json::Value = serde_json::from_str(&json(&accounts)).expect("JSON");
        let cpu = &runs["figures"][1];
        assert_eq!(
            (&cpu["key"], &cpu["median_ns"], &cpu["least_ns"]),
            (&"cpu_ns".into(), &6.into(), &5.into())
        );
        assert_eq!(runs["runs"][2]["ended_early"], "the service has ended");
        let text = text(&accounts, 3);
        let why = "the account of the last one ends before it: the service has ended";
        assert!(text.starts_with("2 runs ") && text.contains(&format!("only 2 of 3 runs: {why}")), "{text}");
        let runs: serde_json::Value = serde_json::from_str(&json(&accounts[2..])).expect("JSON");
        assert_eq!(runs["figures"], serde_json::json!([]));
    }
}
