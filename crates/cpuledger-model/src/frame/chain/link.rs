//! The bytes of a link.

/// The bytes of one frame of a chain.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Link {
    /// What compresses well.
    pub plain: Vec<u8>,
    /// What does not.
    pub dense: Vec<u8>,
    /// What it costs its reader: its rows, of which one that no earlier link has counts as `NEW`, and so does a text.
    pub weight: u64,
}

/// How many rows of earlier links weigh as much as one that is new, which is remembered from then on.
pub(super) const NEW: u64 = 4;

/// Stands in the list of columns for the places of the rows.
pub(super) const PLACES: u8 = 0;

/// How many rules come first that say which task a row is of.
pub(super) const IDS: usize = 2;

/// Seven bits a byte, the lowest first.
pub(super) fn put_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// A number that was put; `None`: the bytes end in it.
pub(super) fn take_number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..63).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}
