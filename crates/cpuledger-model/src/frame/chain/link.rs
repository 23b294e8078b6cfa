//! The bytes of a link.

/// The bytes of one frame of a chain.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
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
pub(super) const PLACES: u16 = 0;

/// The first byte of an id that takes two more, the lower one first.
const LONG: u8 = u8::MAX;

/// How many rules come first that say which task a row is of.
pub(super) const IDS: usize = 2;

/// The id of a column.
pub(super) fn put_id(bytes: &mut Vec<u8>, id: u16) {
    match u8::try_from(id) {
        Ok(id) if id != LONG => bytes.push(id),
        _ => {
            bytes.push(LONG);
            bytes.extend_from_slice(&id.to_le_bytes());
        }
    }
}

/// An id that was put; `None`: the bytes end in it.
pub(super) fn take_id(bytes: &mut &[u8]) -> Option<u16> {
    let (&byte, rest) = bytes.split_first()?;
    *bytes = rest;
    if byte != LONG {
        return Some(byte.into());
    }
    let (id, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(u16::from_le_bytes(*id))
}

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

#[cfg(test)]
mod tests {
    use super::{put_id, take_id};

    #[test]
    fn an_id_takes_one_byte_or_three() {
        for (id, bytes) in [(0, 1), (254, 1), (255, 3), (256, 3), (u16::MAX, 3)] {
            let mut put = Vec::new();
            put_id(&mut put, id);
            assert_eq!(put.len(), bytes);
            let mut rest = &put[..];
            assert_eq!((take_id(&mut rest), rest), (Some(id), &[][..]));
            assert_eq!(take_id(&mut &put[..bytes - 1]), None);
        }
    }
}
