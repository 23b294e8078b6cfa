//! What `top --by blame` prints: who made whom wait, as a table, and in words.

use cpuledger_model::Dimension;
use cpuledger_names::named::Named;

use super::Writer;
use super::column::append_decimals;
use crate::pairs::{NamedPair, Side, by_name};

/// Rows and columns that are shown; what is beyond is summed up.
const MOST_ROWS: usize = 12;
const MOST_COLUMNS: usize = 6;
/// Pairs that are told in words.
const MOST_SENTENCES: usize = 3;

/// The width of a name before a row, and of a cell with its header.
const NAME_WIDTH: usize = 24;
const CELL_WIDTH: usize = 15;

/// The largest parties of one side, and how many there are in all.
struct Margin<'a> {
    shown: Vec<&'a Side>,
    all: usize,
}

impl<'a> Margin<'a> {
    fn of(pairs: &'a [NamedPair], side: impl Fn(&'a NamedPair) -> &'a Side, most: usize) -> Margin<'a> {
        let mut sums: Vec<(&Side, u64)> = Vec::new();
        for pair in pairs {
            match sums.iter_mut().find(|(known, _)| *known == side(pair)) {
                Some((_, sum_ns)) => *sum_ns += pair.ns,
                None => sums.push((side(pair), pair.ns)),
            }
        }
        sums.sort_by_key(|(_, sum_ns)| std::cmp::Reverse(*sum_ns));
        let all = sums.len();
        // One more than fit takes the place of the sum of the rest.
        let shown = if all > most { most - 1 } else { all };
        Margin { shown: sums.into_iter().take(shown).map(|(side, _)| side).collect(), all }
    }

    fn has_more(&self) -> bool {
        self.all > self.shown.len()
    }

    fn more(&self) -> String {
        format!("({} more)", self.all - self.shown.len())
    }
}

fn sum(pairs: &[NamedPair], is_meant: impl Fn(&NamedPair) -> bool) -> u64 {
    pairs.iter().filter(|pair| is_meant(pair)).map(|pair| pair.ns).sum()
}

impl Writer<'_> {
    /// Who made whom wait, by these names.
    pub(super) fn append_pairs(&mut self, by: Dimension) {
        let Some(pairs) = &self.shown.interval.pairs else {
            let words = "No account of pairs was kept in this interval; it begins two intervals after it is asked for";
            return self.say_lines(words);
        };
        let unnamed = Named::default();
        let pairs = by_name(pairs, by, self.page.named.unwrap_or(&unnamed));
        if pairs.is_empty() {
            return self.say_lines("Nobody waited for a CPU");
        }
        self.append_matrix(&pairs);
        self.text.push(b'\n');
        for pair in pairs.iter().take(MOST_SENTENCES) {
            self.say_line(&pair.words());
        }
    }

    /// A row for each that made others wait, a column for each that waited, and the sums of both, in milliseconds.
    fn append_matrix(&mut self, pairs: &[NamedPair]) {
        let room = self.page.width.saturating_sub(NAME_WIDTH + 1) / (CELL_WIDTH + 1);
        let columns = Margin::of(pairs, |pair| &pair.of, room.saturating_sub(1).clamp(1, MOST_COLUMNS));
        let rows = Margin::of(pairs, |pair| &pair.by, MOST_ROWS);
        self.say_cell("MADE WAIT (ms)", NAME_WIDTH, true);
        for of in &columns.shown {
            self.say_cell(of.label(), CELL_WIDTH, false);
        }
        if columns.has_more() {
            self.say_cell(&columns.more(), CELL_WIDTH, false);
        }
        self.say_cell("TOTAL", CELL_WIDTH, false);
        self.end_line();
        for by in &rows.shown {
            self.say_cell(by.label(), NAME_WIDTH, true);
            self.append_sums_of(pairs, &columns, |pair| pair.by == **by);
        }
        if rows.has_more() {
            self.say_cell(&rows.more(), NAME_WIDTH, true);
            self.append_sums_of(pairs, &columns, |pair| !rows.shown.contains(&&pair.by));
        }
        self.say_cell("TOTAL", NAME_WIDTH, true);
        self.append_sums_of(pairs, &columns, |_| true);
    }

    /// The cells of a row.
    fn append_sums_of(
        &mut self,
        pairs: &[NamedPair],
        columns: &Margin<'_>,
        is_of_row: impl Fn(&NamedPair) -> bool,
    ) {
        for of in &columns.shown {
            self.milliseconds(sum(pairs, |pair| is_of_row(pair) && pair.of == **of));
        }
        if columns.has_more() {
            self.milliseconds(sum(pairs, |pair| is_of_row(pair) && !columns.shown.contains(&&pair.of)));
        }
        self.milliseconds(sum(pairs, is_of_row));
        self.end_line();
    }

    fn milliseconds(&mut self, ns: u64) {
        self.say_figure(CELL_WIDTH, Some(ns), |cell, ns| append_decimals(cell, ns / 100_000, 1));
    }
}
