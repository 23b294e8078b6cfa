//! The fields by which rows can be sorted, under the names that procps' top has for them.

use std::cmp::Ordering;

use cpuledger::{Field, FieldSet, Task};

use cpuledger_names::row::{Row, Surroundings};

use cpuledger_view::column::top_fields;
use cpuledger_view::sort::Key;

pub use cpuledger_view::column::By;

use super::entry::Entry;
use crate::cmd::top::order::Order;

/// A name, and what it means.
pub type SortField = (&'static str, By);

/// The usual order.
pub const DEFAULT: SortField = ("%CPU", By::Share);

/// Every field, in the order of procps; those that it has besides are told in docs/top.md.
pub fn fields() -> impl Iterator<Item = SortField> {
    top_fields().into_iter().map(|field| (field.name, field.by))
}

/// The field of that name, whose case counts, as in procps.
///
/// # Errors
/// The sentence of procps.
pub fn by_name(name: &str) -> Result<SortField, String> {
    let field = fields().find(|(known, _)| *known == name);
    field.ok_or_else(|| format!("unrecognized field name '{name}'"))
}

/// The order as the screen writes it: under the same name or, where it has none, by the key of the field.
pub fn of_screen((name, by): SortField, is_ascending: bool) -> String {
    let (name, is_reversed) = match by {
        _ if Order::by_name(name).is_some() => (name, false),
        By::Total(field) | By::Growth(field) | By::User(field) => (field.info().key, false),
        By::Age => (Field::StartTime.info().key, true),
        By::Share | By::Time | By::Command => (DEFAULT.0, false),
    };
    let sign = if is_ascending != is_reversed { "-" } else { "" };
    format!("{sign}{name}")
}

/// The field that a source has to give for it.
pub fn needed((_, by): SortField) -> FieldSet {
    match by {
        By::Total(field) | By::Growth(field) | By::User(field) => FieldSet::of(&[field]),
        By::Age => FieldSet::of(&[Field::StartTime]),
        By::Share | By::Time | By::Command => FieldSet::EMPTY,
    }
}

/// Compares two rows, from low to high. What is not known is lowest.
pub fn compare(by: By, one: &Entry<'_>, other: &Entry<'_>, around: &Surroundings) -> Ordering {
    fn value(field: Field, row: &Task) -> Key<'_> {
        Key::from(field.value(row))
    }
    // Arguments, if they were looked up.
    fn command<'a>(task: &'a Task, around: &'a Surroundings) -> &'a [u8] {
        Row::new(task, around).cmdline_or_comm()
    }
    match by {
        By::Share => one.share().cmp(&other.share()),
        By::Time => one.time_ns().cmp(&other.time_ns()),
        By::Command => command(one.whole, around).cmp(command(other.whole, around)),
        By::User(field) => {
            let uid = |row: &Task| match field {
                Field::Uid => row.uid,
                Field::Suid => row.suid,
                _ => row.euid,
            };
            let (one, other) = (uid(one.whole), uid(other.whole));
            around.users.name(one).cmp(around.users.name(other)).then(one.cmp(&other))
        }
        By::Total(field) => value(field, one.whole).cmp(&value(field, other.whole)),
        By::Growth(field) => Key::from(one.growth.value(field)).cmp(&Key::from(other.growth.value(field))),
        By::Age => other.whole.start_time_ns.cmp(&one.whole.start_time_ns),
    }
}
