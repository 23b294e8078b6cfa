use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cpuledger_model::make;
use cpuledger_report::Amounts;
use proptest::prelude::*;

use super::*;
use crate::scrapers::{Scrapers, Visitor};

fn named(number: u64) -> Name {
    Name::Text(format!("name {number}").into_bytes())
}

fn used(ns: u64) -> Amounts {
    make!(Amounts { self_ns: ns })
}

/// What a scraper sees: values by labels, the rest under no label.
type Shown = BTreeMap<Option<String>, u128>;

/// A scraper's last visit.
struct Visit {
    shown: Shown,
    /// What had been fed until then.
    fed: u128,
    /// How often it had been there.
    visits: u32,
}

fn shown(table: &Table) -> Shown {
    let own = table.series(&[]).map(|(_, series)| (Some(series.label.to_string()), series.totals.cpu_ns()));
    own.chain([(None, table.rest().cpu_ns())]).collect()
}

/// What a time series database takes for the growth from one scrape to the next: a series that is new has not grown yet.
fn growth(before: &Shown, after: &Shown) -> u128 {
    after
        .iter()
        .filter_map(|(label, value)| {
            let old = before.get(label)?;
            assert!(value >= old, "{label:?} fell from {old} to {value}");
            Some(value - old)
        })
        .sum()
}

/// A table and the scrapers of it.
struct Scene {
    table: Table,
    scrapers: Scrapers,
    begin: Instant,
    seconds: u64,
    fed: u128,
    seen: BTreeMap<String, Visit>,
}

impl Scene {
    fn new(limit: usize) -> Scene {
        Scene {
            table: Table::new(limit, 0),
            scrapers: Scrapers::default(),
            begin: Instant::now(),
            seconds: 0,
            fed: 0,
            seen: BTreeMap::new(),
        }
    }

    fn feed(&mut self, uses: &[(u8, u64)]) {
        for (name, ns) in uses {
            self.table.add(&named(u64::from(*name)), &used(*ns));
            self.fed += u128::from(*ns);
        }
    }

    /// A scrape: what is checked is that a database would find all that was fed, and nothing twice.
    fn scrape(&mut self, name: &str, limit: usize) {
        self.seconds += 1;
        self.table.age(Duration::from_secs(1));
        self.table.rank(0, self.scrapers.are_amid_round());
        let now = shown(&self.table);
        assert_eq!(now.values().sum::<u128>() + self.table.left_ns(&[]), self.fed, "the raw sum");
        assert!(now.len() <= limit + 1, "{} series of at most {limit}", now.len() - 1);
        let last = self.seen.get(name);
        // From the second visit on it is known to come back.
        if let Some(last) = last.filter(|last| last.visits >= 2) {
            assert_eq!(growth(&last.shown, &now), self.fed - last.fed, "{name} at {} s", self.seconds);
        }
        let visits = last.map_or(1, |last| last.visits + 1);
        self.seen.insert(name.to_owned(), Visit { shown: now, fed: self.fed, visits });
        let visitor = Visitor { peer: "", agent: name };
        if self.scrapers.visit(visitor, self.begin + Duration::from_secs(self.seconds)) {
            self.table.seen_by_all(self.seconds);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    /// One scraper, or two that take turns: the growth of all series is what was used, whatever names come and go.
    #[test]
    fn a_database_finds_every_nanosecond_once(
        limit in 1_usize..8,
        scrapers in 1_usize..3,
        steps in prop::collection::vec(prop::collection::vec((0_u8..40, 0_u64..5_000_000_000), 0..30), 4..60),
    ) {
        let mut scene = Scene::new(limit);
        for (step, uses) in steps.iter().enumerate() {
            scene.feed(uses);
            scene.scrape(["a", "b"][step % scrapers], limit);
        }
    }
}

const SECOND: u64 = 1_000_000_000;

#[test]
fn a_series_begins_with_0_and_counts_once_it_was_seen_twice() {
    let mut scene = Scene::new(2);
    let own = Some("name 1".to_owned());
    for looks in 1..=3 {
        scene.feed(&[(1, SECOND)]);
        scene.scrape("a", 2);
        let counted = u128::from(SECOND) * if looks > 2 { 1 } else { 0 };
        let rest = u128::from(SECOND) * looks - counted;
        assert_eq!(shown(&scene.table), [(None, rest), (own.clone(), counted)].into(), "{looks}");
    }
}

#[test]
fn two_users_of_one_name_are_two_series() {
    let mut table = Table::new(4, 0);
    // No machine has a user of this number, and a command has its number for a name.
    for name in [Name::User(4_000_000_001), Name::Text(b"4000000001".to_vec())] {
        table.add(&name, &used(SECOND));
    }
    let labels = labels_of_ranked(&mut table, 2);
    assert_ne!(labels[0], labels[1]);
}

/// Ranks until there are so many series.
fn labels_of_ranked(table: &mut Table, count: usize) -> Vec<String> {
    while table.series(&[]).count() < count {
        table.rank(0, false);
        std::thread::sleep(Duration::from_millis(1));
    }
    table.series(&[]).map(|(_, series)| series.label.to_string()).collect()
}

/// Whether the server of names answers.
static ANSWERS: AtomicBool = AtomicBool::new(false);

#[test]
fn a_user_has_a_series_when_there_is_a_name_and_no_time_is_lost_meanwhile() {
    let users = Users::asking(|uid| {
        while !ANSWERS.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
        Some(format!("user{uid}"))
    });
    let mut table: Table = Table::with_users(4, 0, users);
    for _ in 0..3 {
        table.add(&Name::User(7), &used(SECOND));
        table.rank(0, false);
        assert_eq!(table.series(&[]).count(), 0, "it has no name yet");
    }
    assert_eq!((table.rest().cpu_ns(), table.cpu_ns()), (3 * u128::from(SECOND), 3 * u128::from(SECOND)));
    ANSWERS.store(true, Ordering::SeqCst);
    assert_eq!(labels_of_ranked(&mut table, 1), ["user7"]);
    assert_eq!(table.cpu_ns(), 3 * u128::from(SECOND));
}

#[test]
fn dead_names_of_a_storm_get_no_series_later() {
    let mut scene = Scene::new(10);
    for number in 0..200 {
        scene.feed(&[(number, SECOND)]);
    }
    let mut labels = std::collections::BTreeSet::new();
    for _ in 0..3600 {
        scene.scrape("a", 10);
        labels.extend(scene.table.series(&[]).map(|(_, series)| series.label.to_string()));
    }
    assert_eq!(labels.len(), 10);
    assert_eq!(scene.table.series(&[]).count(), 0);
}

#[test]
fn what_uses_far_more_replaces_what_uses_little_and_the_old_value_comes_back() {
    let mut scene = Scene::new(1);
    let has = |scene: &Scene, name: &str| {
        scene.table.series(&[]).any(|(_, series)| series.label.to_string() == name)
    };
    for _ in 0..4 {
        scene.feed(&[(1, SECOND)]);
        scene.scrape("a", 1);
    }
    assert!(has(&scene, "name 1"));
    let value = shown(&scene.table)[&Some("name 1".to_owned())];
    assert_eq!(value, 2 * u128::from(SECOND));
    scene.feed(&[(2, SECOND)]);
    scene.scrape("a", 1);
    assert!(has(&scene, "name 1"), "a little more is not enough");
    for _ in 0..60 {
        scene.feed(&[(2, SECOND)]);
        scene.scrape("a", 1);
    }
    assert!(has(&scene, "name 2") && !has(&scene, "name 1"));
    for _ in 0..300 {
        scene.feed(&[(1, SECOND)]);
        scene.scrape("a", 1);
    }
    assert!(has(&scene, "name 1") && !has(&scene, "name 2"));
    assert!(shown(&scene.table)[&Some("name 1".to_owned())] >= value, "it goes on where it was");
}

#[test]
fn what_is_idle_for_long_leaves_after_two_more_looks() {
    let mut scene = Scene::new(4);
    scene.feed(&[(1, SECOND)]);
    (0..3).for_each(|_| scene.scrape("a", 4));
    let mut scrapes = 0;
    while scene.table.series(&[]).count() > 0 {
        scene.scrape("a", 4);
        scrapes += 1;
        assert!(scrapes < 1000);
    }
    // It has been idle for two of the first three.
    let least = IDLE.as_secs() - 2;
    assert!((least..least + 5).contains(&scrapes), "{scrapes} scrapes, one a second");
}

#[test]
fn ten_thousand_names_are_bounded() {
    let mut scene = Scene::new(100);
    for round in 0..200_u64 {
        for number in 0..500_u64 {
            let name = named((round * 7919 + number * 104_729) % 10_000);
            scene.table.add(&name, &used(number * 10_000_000));
            scene.fed += u128::from(number * 10_000_000);
        }
        scene.scrape("a", 100);
        assert_eq!(scene.table.cpu_ns(), scene.fed);
        assert!(scene.table.candidates.len() <= 100 * CANDIDATES);
        assert!(scene.table.retired.len() <= RETIRED);
    }
}

#[test]
fn a_series_that_left_is_shown_again_for_its_last_round_and_no_other() {
    let mut table: Table = Table::new(2, 0);
    let leave = |table: &mut Table, number: u64, round: u64| {
        table.add(&named(number), &used(SECOND));
        table.rank(0, false);
        let _ = [round - 3, round - 2].map(|round| table.seen_by_all(round));
        table.add(&named(number), &used(number * SECOND));
        table.age(IDLE);
        table.rank(0, false);
        let _ = [round - 1, round].map(|round| table.seen_by_all(round));
    };
    leave(&mut table, 1, 10);
    leave(&mut table, 2, 20);
    let shown = |again: &[u64]| -> Vec<(String, u128)> {
        table.series(again).map(|(_, own)| (own.label.to_string(), own.totals.cpu_ns())).collect()
    };
    assert!(shown(&[]).is_empty() && shown(&[9, 11, 19]).is_empty());
    assert_eq!(shown(&[10]), [("name 1".to_owned(), u128::from(SECOND))]);
    assert_eq!(shown(&[3, 20]), [("name 2".to_owned(), u128::from(2 * SECOND))]);
    let sum: u128 = table.lines(&[10]).map(|(_, totals, _)| totals.cpu_ns()).sum();
    assert_eq!(sum + table.left_ns(&[10]), table.cpu_ns());
}
