//! The order of rows.

use std::cmp::Ordering;

use cpuledger_model::field::Value;
use cpuledger_model::task::Task;
use cpuledger_names::row::{Row, Surroundings};

/// What a row is sorted by; what is not known comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key<'a> {
    /// Not known.
    Absent,
    /// A number.
    Number(i128),
    /// Text, by its bytes.
    Bytes(&'a [u8]),
    /// The text of the cell, by its bytes.
    AsShown,
}

/// A key with the text that it stands for.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight<'a> {
    /// Anything but [`Key::AsShown`].
    Key(Key<'a>),
    /// The text of the cell.
    Text(Vec<u8>),
}

macro_rules! key_from {
    ($($number:ty)*) => {
        $(impl From<$number> for Key<'_> {
            fn from(number: $number) -> Self {
                Key::Number(i128::from(number))
            }
        })*
    };
}

key_from!(u8 i32 u32 i64 u64);

impl Key<'_> {
    /// The number, if it is known.
    pub fn of_option(number: Option<impl Into<i128>>) -> Self {
        number.map_or(Key::Absent, |number| Key::Number(number.into()))
    }
}

impl<'a> From<Value<'a>> for Key<'a> {
    fn from(value: Value<'a>) -> Key<'a> {
        match value {
            Value::Absent => Key::Absent,
            Value::Unsigned(number) => Key::from(number),
            Value::Signed(number) => Key::from(number),
            Value::Letter(letter) => Key::from(letter),
            Value::Bytes(bytes) => Key::Bytes(bytes),
        }
    }
}

/// What rows can be sorted by.
pub trait Weigh {
    /// What decides where the row belongs.
    fn weight<'a>(&self, row: &Row<'a>) -> Weight<'a>;
}

/// One criterion of an order; the next one decides between rows that are equal.
#[derive(Debug, Clone)]
pub struct Criterion<By> {
    /// The column whose key it is.
    pub by: By,
    /// From large to small.
    pub descending: bool,
}

/// Sorts rows; those that are equal in everything keep their order.
pub fn sort<By: Weigh>(rows: &mut [&Task], criteria: &[Criterion<By>], around: &Surroundings) {
    if criteria.is_empty() {
        return;
    }
    rows.sort_by_cached_key(|&task| Place::of(&Row::new(task, around), criteria));
}

/// Where a row belongs, by every criterion.
struct Place<'a, By> {
    weights: Vec<Weight<'a>>,
    criteria: &'a [Criterion<By>],
}

impl<'a, By: Weigh> Place<'a, By> {
    fn of(row: &Row<'a>, criteria: &'a [Criterion<By>]) -> Place<'a, By> {
        Place { weights: criteria.iter().map(|criterion| criterion.by.weight(row)).collect(), criteria }
    }
}

impl<By> Ord for Place<'_, By> {
    fn cmp(&self, other: &Self) -> Ordering {
        let pairs = self.weights.iter().zip(&other.weights).zip(self.criteria);
        let directed = pairs.map(|((one, other), criterion)| {
            let order = one.cmp(other);
            if criterion.descending { order.reverse() } else { order }
        });
        directed.fold(Ordering::Equal, Ordering::then)
    }
}

impl<By> PartialOrd for Place<'_, By> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<By> PartialEq for Place<'_, By> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<By> Eq for Place<'_, By> {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Chosen;
    use cpuledger_model::field::FieldSet;
    use cpuledger_model::make;
    use cpuledger_model::task::{Comm, Pid};

    fn by(name: &str, descending: bool) -> Criterion<Chosen> {
        Criterion { by: Chosen::by_name(name).expect("a column"), descending }
    }

    #[test]
    fn rows_are_sorted_by_one_criterion_after_the_other() {
        let task = |pid, comm: &str| {
            make!(Task { known: FieldSet::ALL, pid: Pid(pid), comm: Comm::new(comm.as_bytes()) })
        };
        let tasks = [task(3, "b"), task(1, "a"), task(2, "b")];
        let mut rows: Vec<&Task> = tasks.iter().collect();
        let around = Surroundings::now();
        sort(&mut rows, &[by("comm", true), by("pid", false)], &around);
        assert_eq!(rows.iter().map(|row| row.pid.0).collect::<Vec<_>>(), [2, 3, 1]);
    }

    #[test]
    fn unknown_comes_before_zero() {
        let zero = make!(Task { known: FieldSet::ALL });
        let unknown = Task::default();
        let mut rows = [&zero, &unknown];
        sort(&mut rows, &[by("runqueue_wait_ns", false)], &Surroundings::now());
        assert_eq!(rows[0].known, FieldSet::EMPTY);
    }
}
