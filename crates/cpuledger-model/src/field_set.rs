//! A set of fields as bits. Which field a bit stands for is said by the table of [`crate::field`].

use serde::{Deserialize, Serialize};

/// A set of fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FieldSet(u128);

impl FieldSet {
    /// No field.
    pub const EMPTY: FieldSet = FieldSet(0);

    pub(crate) const fn from_bits(bits: u128) -> FieldSet {
        FieldSet(bits)
    }

    /// A number that no other set has, for keys.
    pub const fn number(self) -> u128 {
        self.0
    }

    pub(crate) const fn bits(self) -> u128 {
        self.0
    }

    /// Both together.
    pub const fn union(self, other: FieldSet) -> FieldSet {
        FieldSet(self.0 | other.0)
    }

    /// What both have.
    pub const fn intersection(self, other: FieldSet) -> FieldSet {
        FieldSet(self.0 & other.0)
    }

    /// Whether both have one.
    pub const fn intersects(self, other: FieldSet) -> bool {
        self.0 & other.0 != 0
    }

    /// Without those of `other`.
    pub const fn without(self, other: FieldSet) -> FieldSet {
        FieldSet(self.0 & !other.0)
    }
}
