//! Figures: what JSON, CSV, orders and filters tell of a row of an interval.

use cpuledger_model::field::{Field, FieldSet, Unit, Value};
use cpuledger_model::interval::{Row, Usage};

/// What an interval tells of a row beyond the fields of a task.
#[derive(Debug)]
pub struct Part {
    /// Its name in JSON and CSV.
    pub key: &'static str,
    /// One sentence for help and documentation.
    pub help: &'static str,
    /// Its value.
    pub value: fn(&Usage) -> Value<'static>,
}

/// What names of a row are looked up by that its cgroup leads to.
pub(crate) const OF_NAME: FieldSet = FieldSet::of(&[Field::CgroupId, Field::CgroupV1CpuId, Field::Comm]);

/// The time that a row was alive, of which what it did is told in percent; the length of the interval where it is not known.
pub fn alive_ns(usage: &Usage, length_ns: u64) -> u64 {
    usage.states.map_or(length_ns, |states| states.elapsed_ns)
}

/// A figure by its key: what a column shows.
#[derive(Debug, Clone, Copy)]
pub enum Key {
    /// A field of the task; a cumulative one tells what it grew by.
    Field(Field),
    /// What only an interval tells.
    Part(&'static Part),
}

impl Key {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Key::Field(field) => field.info().key,
            Key::Part(part) => part.key,
        }
    }

    /// One sentence.
    pub fn help(self) -> &'static str {
        match self {
            Key::Field(field) => field.info().help,
            Key::Part(part) => part.help,
        }
    }

    /// What its number counts.
    pub fn unit(self) -> Unit {
        match self {
            Key::Field(field) => field.info().unit,
            Key::Part(part) if part.key.ends_with("_ns") => Unit::Nanoseconds,
            Key::Part(_) => Unit::None,
        }
    }

    /// Its value in a row of an interval.
    pub fn value(self, row: &Row) -> Value<'_> {
        match self {
            Key::Field(field) => row.value(field),
            Key::Part(part) => (part.value)(&row.usage),
        }
    }
}
