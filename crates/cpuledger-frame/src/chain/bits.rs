//! Numbers as a byte that tells their length, and as many bits.

/// As predicted.
pub(super) const EQUAL: u8 = 0;
/// Nothing, where something was predicted.
pub(super) const NOTHING: u8 = 1;
/// This and the number of bits: more than predicted.
const MORE: u8 = 2;
/// Likewise: less than predicted, by at least 1.
const LESS: u8 = 66;
/// The greatest.
const LAST: u8 = LESS + 64;

/// The byte of a difference, and the bits behind its first one.
pub(super) fn coded(difference: u64) -> (u8, u64, u32) {
    let signed = difference.cast_signed();
    let (first, amount) = if signed < 0 { (LESS, signed.unsigned_abs()) } else { (MORE, difference) };
    let length = 64 - amount.leading_zeros();
    let behind = length.saturating_sub(1);
    (first + length as u8, amount & !(u64::MAX << behind), behind)
}

/// How many bits these bytes have behind the first ones. They are at most as many as rows.
pub(super) fn all_behind(codes: &[u8]) -> u64 {
    // Without a branch, so that many are added at once.
    let one = |code: &u8| if *code > LESS { *code - LESS - 1 } else { code.saturating_sub(MORE + 1) };
    codes.iter().map(|code| u32::from(one(code))).sum::<u32>().into()
}

/// Bits, the lowest of a byte first.
#[derive(Debug, Default)]
pub(super) struct Writer {
    rest: u64,
    length: u32,
}

impl Writer {
    /// Adds at most 63 bits.
    pub(super) fn put(&mut self, bytes: &mut Vec<u8>, bits: u64, count: u32) {
        let (low, high) = (bits & 0xffff_ffff, bits >> 32);
        self.put_few(bytes, low, count.min(32));
        if count > 32 {
            self.put_few(bytes, high, count - 32);
        }
    }

    fn put_few(&mut self, bytes: &mut Vec<u8>, bits: u64, count: u32) {
        self.rest |= bits << self.length;
        self.length += count;
        while self.length >= 8 {
            bytes.push(self.rest as u8);
            self.rest >>= 8;
            self.length -= 8;
        }
    }

    /// What is left becomes a byte.
    pub(super) fn end(self, bytes: &mut Vec<u8>) {
        if self.length > 0 {
            bytes.push(self.rest as u8);
        }
    }
}

/// Reads bits from a place on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    at: u64,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8], at: u64) -> Reader<'a> {
        Reader { bytes, at }
    }

    /// At most 63 bits; behind the end they are 0.
    fn take(&mut self, count: u32) -> u64 {
        let place = (self.at / 8) as usize;
        let shift = (self.at % 8) as u32;
        self.at += u64::from(count);
        let rest = self.bytes.get(place..).unwrap_or_default();
        let eight = match rest.first_chunk::<8>() {
            Some(eight) => *eight,
            None => std::array::from_fn(|byte| rest.get(byte).copied().unwrap_or(0)),
        };
        let mut bits = u64::from_le_bytes(eight) >> shift;
        if shift + count > 64 {
            bits |= u64::from(rest.get(8).copied().unwrap_or(0)) << (64 - shift);
        }
        bits & !(u64::MAX << count)
    }

    /// The difference of this byte, which is neither [`EQUAL`] nor [`NOTHING`]. `None`: there is no such byte.
    pub(super) fn difference(&mut self, code: u8) -> Option<u64> {
        if code > LAST {
            return None;
        }
        let is_less = code > LESS;
        let length = u32::from(code) - u32::from(if is_less { LESS } else { MORE });
        if length == 0 {
            return Some(0);
        }
        let amount = self.take(length - 1) | 1 << (length - 1);
        Some(if is_less { amount.wrapping_neg() } else { amount })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_difference_is_read_as_it_was_written() {
        let mut values = vec![0, 1, 2, 3, u64::MAX, u64::MAX - 1, 1 << 63, (1 << 63) - 1, (1 << 63) + 1];
        values.extend((0..64).flat_map(|bit| [1_u64 << bit, (1_u64 << bit).wrapping_neg(), 3 << (bit / 2)]));
        let (mut bytes, mut writer, mut codes) = (Vec::new(), Writer::default(), Vec::new());
        for value in &values {
            let (code, bits, count) = coded(*value);
            assert!(
                code > NOTHING && code <= LAST && all_behind(&[code]) == u64::from(count),
                "{value}: {code}"
            );
            codes.push(code);
            writer.put(&mut bytes, bits, count);
        }
        writer.end(&mut bytes);
        let mut reader = Reader::new(&bytes, 0);
        for (value, code) in values.iter().zip(&codes) {
            assert_eq!(reader.difference(*code), Some(*value));
        }
        assert_eq!(reader.at.div_ceil(8), bytes.len() as u64);
        assert_eq!(reader.difference(LAST + 1), None);
        assert_eq!(all_behind(&[EQUAL, NOTHING]), 0);
    }
}
