//! Who made whom wait for a CPU, by the names of cgroups: a bounded number of pairs, and the rest as one.

use cpuledger_model::pairs::{Party, WaitPairs};
use cpuledger_report::{Accumulator, Dimension, Name};
use rustc_hash::FxHashMap;

use crate::labels::{self, REST, UNKNOWN};
use crate::series::{Rounds, Table};
use crate::totals::Sums;
use crate::users::Users;

/// How long the second of a pair waited because of the first, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Waited(u128);

impl Waited {
    /// The sum.
    pub fn ns(self) -> u128 {
        self.0
    }
}

impl Sums for Waited {
    type Amounts = u64;

    fn add(&mut self, ns: &u64) {
        self.0 += u128::from(*ns);
    }

    fn cpu_ns(&self) -> u128 {
        self.0
    }

    fn used_ns(ns: &u64) -> u128 {
        (*ns).into()
    }
}

/// Adds the pairs of the frame that `interval` has added last.
pub fn add(table: &mut Table<Waited>, pairs: &WaitPairs, interval: &Accumulator, by: Dimension) {
    let users = Users::shared();
    // There are few parties, and up to the square of their number of pairs.
    let mut names: FxHashMap<Party, [String; 2]> = FxHashMap::default();
    let mut name = |party: Party, side: usize| {
        let names = names.entry(party).or_insert_with(|| {
            let victim = victim(party, interval, by, &users);
            [culprit(party, &victim), victim]
        });
        names[side].clone()
    };
    for pair in pairs.iter() {
        match [name(pair.by, 0), name(pair.of, 1)] {
            // That is what the rest is called.
            [culprit, victim] if culprit == REST && victim == REST => table.add_rest(&pair.ns),
            sides => table.add(&Name::Path(sides.map(|side| Some(side.into_bytes())).into()), &pair.ns),
        }
    }
    table.trim();
}

/// Who waited, as in the families by name.
fn victim(party: Party, interval: &Accumulator, by: Dimension, users: &Users) -> String {
    let Party::Cgroup(ids) = party else { return REST.to_owned() };
    let label = labels::of(&interval.name_of_cgroup(ids, by), users);
    label.map_or_else(|| UNKNOWN.to_owned(), |label| label.to_string())
}

/// Who had the CPU, or why nobody had it. The name of a party that is such a word gets a backslash.
fn culprit(party: Party, name: &str) -> String {
    let causes = [Party::Idle, Party::Quota, Party::Interrupts, Party::Stolen];
    match party.cause() {
        Some(cause) => cause.to_owned(),
        None if causes.into_iter().any(|party| party.cause() == Some(name)) => format!("\\{name}"),
        None => name.to_owned(),
    }
}

/// Who had the CPU, or why nobody had it; who waited; how long, in nanoseconds; and since when this is added up, CLOCK_REALTIME.
pub type Line = (String, String, u128, u64);

/// The pairs, those that left after one of the rounds `again`, and the rest last.
pub fn lines(table: &Table<Waited>, again: Rounds<'_>) -> impl Iterator<Item = Line> {
    let own = table.series(again).map(|(name, own)| {
        let sides: &[Option<Vec<u8>>] = if let Name::Path(sides) = name { sides } else { &[] };
        let text = |side| {
            let text = sides.get(side).and_then(Option::as_deref).unwrap_or_default();
            String::from_utf8_lossy(text).into_owned()
        };
        (text(0), text(1), own.totals.ns(), own.created_ns)
    });
    own.chain([(REST.to_owned(), REST.to_owned(), table.rest().ns(), table.created_ns())])
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use cpuledger_model::frame::{Column, Frame};
    use cpuledger_model::framing::{self, CgroupNames};
    use cpuledger_model::pairs::WaitPair;
    use cpuledger_report::Instants;

    use super::*;
    use crate::books::Books;

    fn cgroup(id: u64) -> Party {
        Party::Cgroup((Some(id), None))
    }

    /// An interval of one second in which these waited.
    fn frame(second: u64, pairs: &[(Party, Party, u64)]) -> Frame {
        let mut frame = Frame::new();
        frame.set_figure(Column::START_NS, Some(second * 1_000_000_000));
        frame.set_figure(Column::END_NS, Some((second + 1) * 1_000_000_000));
        frame.set_figure(Column::KNOWS_PAIRS, Some(1));
        frame.set_pairs(&WaitPairs::of(pairs.iter().map(|(by, of, ns)| WaitPair::new(*by, *of, *ns))));
        let paths =
            ["/system.slice/web.service/a", "/system.slice/web.service/b", "/system.slice/backup.service"];
        let named = paths.map(|path| CgroupNames::of_path(path.as_bytes()));
        let named: Vec<_> = (1..).map(|id| (Some(id), None)).zip(&named).collect();
        framing::write_cgroups(&mut frame, &named);
        frame
    }

    /// The sums by their labels.
    fn shown(books: &Books, by: Dimension) -> Vec<(String, String, u128)> {
        let table = books.pairs().find(|(own, _)| *own == by).expect("the cgroup tells it").1;
        lines(table, &[]).map(|(culprit, victim, ns, _)| (culprit, victim, ns)).collect()
    }

    #[test]
    fn pairs_of_a_unit_are_one_and_every_nanosecond_is_in_one_series() {
        let mut books = Books::new(&[Dimension::Command, Dimension::Unit, Dimension::Cgroup], 2);
        assert_eq!(books.pairs_ns(), None, "nobody has kept an account");
        let pairs = [
            (cgroup(3), cgroup(1), 4_000_000_001),
            (cgroup(3), cgroup(2), 5_000_000_000),
            (Party::Quota, cgroup(2), 3_000_000_000),
            (cgroup(3), Party::Other, 70),
            (Party::Other, Party::Other, 7),
            (cgroup(9), cgroup(3), 1),
        ];
        let sum_ns: u128 = pairs.iter().map(|(.., ns)| u128::from(*ns)).sum();
        let begin = std::time::Instant::now();
        for second in 0..20 {
            books.add(&frame(second, &pairs));
            books.settle(begin + Duration::from_secs(second));
            let visitor = crate::scrapers::Visitor { peer: "", agent: "test" };
            books.visit(visitor, begin + Duration::from_secs(second));
            let all_ns = u128::from(second + 1) * sum_ns;
            assert_eq!(books.pairs_ns(), Some(all_ns));
            for by in [Dimension::Unit, Dimension::Cgroup] {
                let own_ns: u128 = shown(&books, by).iter().map(|(.., ns)| ns).sum();
                assert_eq!(own_ns, all_ns, "by {}", by.name());
            }
            assert_eq!(books.machine().unbalanced, 0);
        }
        let shown = shown(&books, Dimension::Unit);
        let names: Vec<(&str, &str)> = shown.iter().map(|(by, of, _)| (&**by, &**of)).collect();
        assert_eq!(
            names,
            [("backup.service", "web.service"), ("quota", "web.service"), (REST, REST)],
            "{shown:?}"
        );
        assert!(shown[0].2 > 10 * 9_000_000_001 && shown[0].2.is_multiple_of(9_000_000_001), "{shown:?}");
        assert_eq!(books.pairs().count(), 2, "a command is in no cgroup of its own");
    }

    #[test]
    fn a_name_that_is_a_cause_is_another() {
        let mut frame = Frame::new();
        let named = CgroupNames::of_path(b"idle");
        framing::write_cgroups(&mut frame, &[((Some(1), None), &named)]);
        let mut interval = Accumulator::new(&[Dimension::Cgroup]);
        interval.add(&frame, Instants { start_realtime_ns: 0, end_realtime_ns: 1 });
        let victim = |party| victim(party, &interval, Dimension::Cgroup, &Users::shared());
        let culprit = |party| culprit(party, &victim(party));
        assert_eq!((&*culprit(cgroup(1)), &*culprit(Party::Idle)), ("\\idle", "idle"));
        assert_eq!(victim(cgroup(1)), "idle");
        assert_eq!((&*culprit(Party::Other), &*culprit(cgroup(2))), (REST, "cgroup 2"));
    }
}
