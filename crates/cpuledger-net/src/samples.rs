//! The samples of the families of cpuledger's own, for whoever prints or sends them.

use cpuledger_report::Dimension;

use crate::books::{Books, REASONS};
use crate::families::{Kind, Label, OfPairs};
use crate::own::Own;
use crate::pairs;
use crate::series::Rounds;

/// A sample.
#[derive(Debug, Clone, Copy)]
pub struct Sample<'a> {
    /// The dimension, if it is by one.
    pub by: Option<Dimension>,
    /// The further labels, in their order.
    pub labels: &'a [Label<'a>],
    /// How much.
    pub value: u128,
    /// Since when this is added up, CLOCK_REALTIME.
    pub created_ns: u64,
}

/// All samples of a kind; those of series that left after one of the rounds `again`, too. What is not known is not 0, and has no sample.
pub fn each(
    kind: Kind,
    books: &Books,
    own: Option<&Own>,
    again: Rounds<'_>,
    mut tell: impl FnMut(Sample<'_>),
) {
    let of_all = |value| Sample { by: None, labels: &[], value, created_ns: books.created_ns() };
    match kind {
        Kind::Series(figure) | Kind::Directions(_, [figure, _]) if !books.knows(figure) => {}
        Kind::Cpu | Kind::Series(_) | Kind::Directions(..) => {
            let figures = kind.of_name();
            for (by, table) in books.tables() {
                for (name, totals, created_ns) in table.lines(again) {
                    for (figure, part) in &figures {
                        let value = totals.get(*figure);
                        let own = Label::of("name", "", &name);
                        let labels: &[Label<'_>] = match part {
                            Some(part) => &[own, *part],
                            None => &[own],
                        };
                        tell(Sample { by: Some(by), labels, value, created_ns });
                    }
                }
            }
        }
        Kind::Departed => {
            for (by, table) in books.tables() {
                let (value, created_ns) = (table.left_ns(again), table.created_ns());
                tell(Sample { by: Some(by), labels: &[], value, created_ns });
            }
        }
        Kind::Pairs(of) => {
            let Some(all_ns) = books.pairs_ns() else { return };
            if of == OfPairs::All {
                return tell(of_all(all_ns));
            }
            for (by, table) in books.pairs() {
                let (by, created_ns) = (Some(by), table.created_ns());
                if of == OfPairs::Departed {
                    tell(Sample { by, labels: &[], value: table.left_ns(again), created_ns });
                    continue;
                }
                for (culprit, victim, value, created_ns) in pairs::lines(table, again) {
                    let caused_by = Label::of("caused_by", "cpuledger.caused_by", &culprit);
                    tell(Sample {
                        by,
                        labels: &[Label::of("name", "", &victim), caused_by],
                        value,
                        created_ns,
                    });
                }
            }
        }
        Kind::Machine(figure) => tell(of_all(figure(books.machine()))),
        Kind::Unattributed => {
            for (reason, ns) in REASONS.into_iter().zip(books.machine().unattributed_ns) {
                let reason = Label::of("reason", "cpuledger.reason", reason);
                tell(Sample { labels: &[reason], ..of_all(ns) });
            }
        }
        Kind::Own(figure) | Kind::Server(figure) => {
            let value = own.and_then(|own| figure(books, own));
            value.into_iter().for_each(|value| tell(of_all(value)));
        }
        Kind::Group(_) | Kind::Container(..) => {}
    }
}
