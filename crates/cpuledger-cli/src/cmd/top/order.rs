//! What rows of an interval are sorted by: keys of the output, by the names that top has for them.

use std::sync::LazyLock;

use cpuledger::field::FIELDS;
use cpuledger::interval::Row;
use cpuledger_view::column::{TableCell, columns};
use cpuledger_view::key::{Key, PARTS};
use cpuledger_view::near::did_you_mean;
use cpuledger_view::shares::{STATE_COLUMNS, StateColumn};
use cpuledger_view::sort;

/// What rows are sorted by.
#[derive(Debug, Clone, Copy)]
pub enum Order {
    /// A key of the output.
    Key(Key),
    /// CPU time of the whole life, which a key does not tell.
    Time,
    /// What a column of states shows.
    State(&'static StateColumn),
}

/// The order of rows; those that are equal follow by pid and tid.
#[derive(Debug, Clone, Copy)]
pub struct SortBy {
    /// By what.
    pub by: Order,
    /// From low to high.
    pub ascending: bool,
}

impl Default for SortBy {
    /// By CPU time, from high to low.
    fn default() -> SortBy {
        SortBy { by: Order::by_name("cpu_ns").unwrap_or(Order::Time), ascending: false }
    }
}

/// What names of columns mean in orders: headers, and other names that entries of the registry have.
static NAMES: LazyLock<Vec<(&'static str, Order)>> = LazyLock::new(|| {
    let mut names = Vec::new();
    for column in columns() {
        let shown = column.in_table.as_ref().filter(|of| of.cell.has_order());
        let order = match shown.map(|of| of.cell) {
            Some(TableCell::Time) => Some(Order::Time),
            _ => column.key().map(Order::Key),
        };
        let all = shown.map(|of| of.header).into_iter().chain(column.orders.iter().copied());
        names.extend(all.filter_map(|name| Some((name, order?))));
    }
    names
});

impl Order {
    /// By a column of states where those are shown, else by a key, or by a name that top has for it.
    pub fn of_view(name: &str, has_states: bool) -> Option<Order> {
        match StateColumn::by_name(name).filter(|_| has_states) {
            Some(column) => column.has_order().then_some(Order::State(column)),
            None => Order::by_name(name),
        }
    }

    /// By a key, or by a name that top has for it.
    pub fn by_name(name: &str) -> Option<Order> {
        let order = NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, order)| *order);
        order.or_else(|| Key::by_name(name).map(Order::Key))
    }

    /// A name that top has for a key, as it is written there.
    pub fn name_of_top(name: &str) -> Option<&'static str> {
        NAMES.iter().map(|(known, _)| *known).find(|known| known.eq_ignore_ascii_case(name))
    }

    /// The end of a sentence about a name that there is not: what is near it, or what there is.
    pub fn instead_of(name: &str, has_states: bool) -> String {
        let states = STATE_COLUMNS.iter().filter(|column| has_states && column.has_order());
        let names = states.map(|column| column.name).chain(NAMES.iter().map(|(name, _)| *name));
        let keys = PARTS.iter().map(|part| part.key).chain(FIELDS.iter().map(|info| info.key));
        did_you_mean(
            "",
            name,
            names.chain(keys),
            "sort by a column, such as %CPU, %MEM, TIME+ or PID, or by a JSON key; the manual (man/ptop.1) lists them",
        )
    }
}

impl Order {
    /// What a row is sorted by: text and states as they are, of what is cumulative the growth in the interval.
    pub fn weigh(self, row: &Row) -> sort::Key<'_> {
        match self {
            Order::Key(Key::Field(field)) if !field.info().cumulative => {
                sort::Key::from(field.value(&row.task))
            }
            _ => self.weigh_number(row),
        }
    }

    /// The same where it is a number; text is as what is not known.
    pub fn weigh_number(self, row: &Row) -> sort::Key<'static> {
        let Row { task, usage, .. } = row;
        let key = match self {
            Order::Time => return sort::Key::of_option(task.lifetime_cpu_ns()),
            Order::State(column) => return column.weigh(usage),
            Order::Key(key) => key,
        };
        match sort::Key::from(key.value(row)) {
            sort::Key::Number(number) => sort::Key::Number(number),
            _ => sort::Key::Absent,
        }
    }
}

#[cfg(test)]
mod tests {
    use cpuledger::counters::Counters;
    use cpuledger::interval::Usage;
    use cpuledger::{Comm, FieldSet, Task};
    use cpuledger_model::make;

    use super::*;

    #[test]
    fn names_are_headers_other_names_and_keys() {
        for name in ["%CPU", "cpu", "TIME", "PGRP", "nmaj", "runqueue_wait_ns"] {
            assert!(Order::by_name(name).is_some(), "{name}");
        }
        for name in ["nonsense", "PARTS", "SUM"] {
            assert!(Order::by_name(name).is_none(), "{name}");
        }
    }

    #[test]
    fn columns_of_states_are_names_where_they_are_shown() {
        for column in &STATE_COLUMNS {
            let order = Order::of_view(column.name, true);
            match column.has_order() {
                true => assert!(matches!(order, Some(Order::State(of)) if of == column), "{}", column.name),
                false => assert!(order.is_none(), "{}", column.name),
            }
        }
        assert!(Order::of_view("%HELD", false).is_none(), "there is no such column");
        assert!(
            matches!(Order::of_view("wait", false), Some(Order::Key(key)) if key.name() == "runqueue_wait_ns")
        );
        assert!(matches!(Order::of_view("pid", true), Some(Order::Key(key)) if key.name() == "pid"));
        assert!(Order::instead_of("%HELT", true).contains("did you mean `%HELD`?"));
        assert!(!Order::instead_of("%HELT", false).contains("%HELD"));
    }

    #[test]
    fn a_row_is_sorted_by_its_text_its_state_or_what_it_used() {
        let task = make!(Task { known: FieldSet::ALL, comm: Comm::new(b"sh"), runtime_ns: 9 });
        let growth = make!(Counters { known: Counters::FIELDS, user_ns: 3 });
        let usage = make!(Usage { cpu_ns: 5, growth });
        let row = Row::new(task, usage);
        let weigh = |name| Order::by_name(name).expect("it is a key").weigh(&row);
        assert_eq!(weigh("COMMAND"), sort::Key::Bytes(b"sh"));
        assert_eq!((weigh("%CPU"), weigh("user_ns")), (sort::Key::from(5u64), sort::Key::from(3u64)));
        assert_eq!(weigh("TIME+"), sort::Key::from(9u64), "of the whole life");
        let nothing = Row::new(Task::default(), usage);
        assert_eq!(Order::Time.weigh(&nothing), sort::Key::Absent);
        let by_name = Order::by_name("comm").expect("it is a key");
        assert_eq!(by_name.weigh_number(&row), sort::Key::Absent, "sums have no text");
    }
}
