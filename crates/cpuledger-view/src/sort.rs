//! What rows are sorted by.

use cpuledger_model::field::Value;

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
