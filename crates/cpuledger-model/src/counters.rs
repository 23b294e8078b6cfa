//! The cumulative figures of a task, and what they grew by.

use serde::{Deserialize, Serialize};

use crate::accounts::Account;
use crate::disk::DiskUse;
use crate::field::{Field, FieldSet, Value};
use crate::field_table;
use crate::field_table::gauges_and_counters;
use crate::task::Task;

macro_rules! counters {
    (
        gauges { $($gauge:tt)* }
        counters { $($id:literal $column:ident $field:ident $member:ident: $type:ident, $help:literal;)* }
    ) => {
        /// The cumulative fields of a [`Task`], or what they grew by; meaningful where `known` holds the field.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[non_exhaustive]
        pub struct Counters {
            /// The fields that are known.
            pub known: FieldSet,
            $(#[doc = $help] pub $member: $type,)*
        }

        impl Counters {
            /// The fields that a [`Counters`] may hold.
            pub const FIELDS: FieldSet = FieldSet::of(&[$(Field::$field,)*]);

            /// Of a task that has just started: all known, all zero.
            pub const ZERO: Counters = Counters { known: Counters::FIELDS, $($member: 0,)* };

            /// Those of a task.
            pub fn of(task: &Task) -> Counters {
                Counters { known: task.known.intersection(Counters::FIELDS), $($member: task.$member,)* }
            }

            /// What they grew by, where both are known. What fell (a process whose live threads alone are counted)
            /// grew by nothing.
            pub fn since(&self, before: &Counters) -> Counters {
                Counters {
                    known: self.known.intersection(before.known),
                    $($member: self.$member.saturating_sub(before.$member),)*
                }
            }

            /// Adds those of a part: what one of both does not know, the sum does not.
            pub fn add(&mut self, part: &Counters) {
                self.known = self.known.intersection(part.known);
                $(self.$member += part.$member;)*
            }

            /// The larger of both, for figures that never decrease.
            pub fn max(&self, other: &Counters) -> Counters {
                Counters {
                    known: self.known.intersection(other.known),
                    $($member: self.$member.max(other.$member),)*
                }
            }

            /// These, and of the other those that are not known here.
            #[must_use]
            pub fn or(&self, other: &Counters) -> Counters {
                let known = self.known;
                Counters {
                    known: known.union(other.known),
                    $($member: if known.contains(Field::$field) { self.$member } else { other.$member },)*
                }
            }

            /// Puts them in the place of those of `row`.
            pub fn store_into(&self, row: &mut Task) {
                row.known = row.known.without(Counters::FIELDS).union(self.known);
                $(row.$member = self.$member;)*
            }

            /// Makes the one of that field known; nothing happens to what is no counter.
            pub fn set(&mut self, field: Field, value: u64) {
                match field {
                    $(Field::$field => self.$member = value,)*
                    _ => return,
                }
                self.known = self.known.union(FieldSet::of(&[field]));
            }

            /// The one of that field: [`Value::Absent`] where it is not known, or is no counter.
            pub fn value(&self, field: Field) -> Value<'static> {
                match field {
                    _ if !self.known.contains(field) => Value::Absent,
                    $(Field::$field => Value::Unsigned(self.$member),)*
                    _ => Value::Absent,
                }
            }
        }
    };
}

field_table!(gauges_and_counters! counters [] []);

impl Counters {
    /// With these fields unknown.
    #[must_use]
    pub fn without(self, fields: FieldSet) -> Counters {
        Counters { known: self.known.without(fields), ..self }
    }

    /// The figures of waited-for children, which only a process has, in the place of those here.
    pub fn take_children(&mut self, children: &Counters) {
        const CHILDREN: FieldSet = FieldSet::of(&[
            Field::ChildrenUser,
            Field::ChildrenSystem,
            Field::ChildrenMinorFaults,
            Field::ChildrenMajorFaults,
        ]);
        self.known = self.known.without(CHILDREN).union(children.known.intersection(CHILDREN));
        self.children_user_ns = children.children_user_ns;
        self.children_system_ns = children.children_system_ns;
        self.children_minor_faults = children.children_minor_faults;
        self.children_major_faults = children.children_major_faults;
    }
}

impl DiskUse {
    /// Makes the fields of the account those of this, and of the part of the time blocked that was swap-in, where that is known. Discards have none.
    pub fn store_into(&self, swap_blocked_ns: Option<u64>, counters: &mut Counters) {
        const SWAP: FieldSet = FieldSet::of(&[Field::SwapBlocked]);
        counters.disk_reads = self.reads.count;
        counters.disk_read_bytes = self.reads.bytes;
        counters.disk_read_ns = self.reads.ns;
        counters.disk_writes = self.writes.count;
        counters.disk_written_bytes = self.writes.bytes;
        counters.disk_write_ns = self.writes.ns;
        counters.disk_blocked_ns = self.blocked_ns;
        counters.known = counters.known.union(Account::Disk.fields().without(SWAP));
        swap_blocked_ns.into_iter().for_each(|ns| counters.set(Field::SwapBlocked, ns));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::Requests;
    use crate::field::FIELDS;

    #[test]
    fn every_figure_of_disks_has_its_field() {
        let requests = |count| Requests { count, bytes: 10 * count, ns: 100 * count };
        let mut disk_use =
            DiskUse { reads: requests(1), writes: requests(2), discards: requests(4), blocked_ns: 5 };
        disk_use.add(&disk_use.clone());
        let mut counters = Counters::default();
        disk_use.store_into(None, &mut counters);
        assert_eq!(counters.value(Field::SwapBlocked), Value::Absent);
        disk_use.store_into(Some(3), &mut counters);
        assert_eq!(counters.known, Account::Disk.fields());
        assert_eq!(counters.swap_blocked_ns, 3);
        assert_eq!((counters.disk_reads, counters.disk_read_bytes, counters.disk_read_ns), (2, 20, 200));
        assert_eq!((counters.disk_writes, counters.disk_written_bytes, counters.disk_write_ns), (4, 40, 400));
        assert_eq!(counters.disk_blocked_ns, 10);
    }

    #[test]
    fn they_are_the_cumulative_rows_of_the_field_table() {
        for info in FIELDS {
            assert_eq!(info.cumulative, Counters::FIELDS.contains(info.field), "{}", info.key);
        }
    }

    #[test]
    fn what_one_side_does_not_know_is_not_known() {
        let all = Counters { user_ns: 7, ..Counters::ZERO };
        let some = Counters { known: FieldSet::of(&[Field::User]), user_ns: 3, ..Counters::default() };
        let growth = all.since(&some);
        assert_eq!((growth.known, growth.user_ns), (FieldSet::of(&[Field::User]), 4));
        assert_eq!(some.since(&all).user_ns, 0, "never negative");
        let told = Counters { user_ns: 9, system_ns: 8, ..Counters::ZERO };
        let both = some.or(&told);
        assert_eq!((both.known, both.user_ns, both.system_ns), (Counters::FIELDS, 3, 8), "these come first");
        let mut row = Task { known: FieldSet::ALL, user_ns: 99, ..Task::default() };
        growth.store_into(&mut row);
        assert_eq!(row.user_ns, 4);
        assert!(row.known.contains(Field::Comm) && !row.known.contains(Field::System));
    }
}
