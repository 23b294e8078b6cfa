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

/// What a byte says of its number.
#[derive(Clone, Copy)]
struct Shape {
    /// How many bits are behind the first one.
    behind: u32,
    /// That many bits.
    mask: u64,
    /// The first one.
    first: u64,
    /// All bits, if the number is subtracted.
    sign: u64,
}

/// By the byte. To look this up takes less time than to compute it.
static SHAPES: [Shape; 256] = {
    let mut shapes = [Shape { behind: 0, mask: 0, first: 0, sign: 0 }; 256];
    let mut code = 0_u8;
    loop {
        let behind = behind(code) as u32;
        let first = if code > MORE { 1 << behind } else { 0 };
        let sign = if code > LESS { u64::MAX } else { 0 };
        shapes[code as usize] = Shape { behind, mask: !(u64::MAX << behind), first, sign };
        if code == u8::MAX {
            break shapes;
        }
        code += 1;
    }
};

/// How many bits a byte has behind the first one.
#[inline]
const fn behind(code: u8) -> u8 {
    code.saturating_sub(MORE + 1) & (LESS - MORE - 1)
}

/// Four bytes are less than 256 together, so that lanes of one byte are enough for them.
const LANES: usize = 16;
const BLOCK: usize = 4 * LANES;

/// How many bits these bytes have behind the first ones. They are at most as many as rows.
pub(super) fn all_behind(codes: &[u8]) -> u64 {
    let (blocks, rest) = codes.as_chunks::<BLOCK>();
    let blocks: u32 = blocks.iter().filter(|block| has_behind(block)).map(block_behind).sum();
    let rest: u32 = rest.iter().map(|code| u32::from(behind(*code))).sum();
    u64::from(blocks + rest)
}

/// Whether a code is larger than the first four, which have nothing behind the first bit: most blocks have none.
#[inline]
fn has_behind(block: &[u8; BLOCK]) -> bool {
    let words = block.as_chunks::<8>().0.iter();
    words.fold(0, |all, word| all | u64::from_ne_bytes(*word)) & u64::from_ne_bytes([!3; 8]) != 0
}

const _: () = assert!(behind(3) == 0 && behind(4) == 1, "three is the last");

/// Not inlined: the compiler would take a byte of each of several blocks together, which is four times slower.
#[inline(never)]
fn block_behind(block: &[u8; BLOCK]) -> u32 {
    let mut lanes = [0; LANES];
    for four in block.as_chunks::<LANES>().0 {
        lanes.iter_mut().zip(four).for_each(|(lane, code)| *lane += behind(*code));
    }
    lanes.into_iter().map(u32::from).sum()
}

const _: () = assert!(4 * (LESS - MORE - 1) < u8::MAX && (LESS - MORE).is_power_of_two());

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

/// Bytes in which the bits of eight numbers are, and eight more that are read with the last one.
const NEAR: usize = 72;

const _: () = assert!(7 + 7 * 63 < 8 * (NEAR - 8) && (NEAR - 8).is_power_of_two());

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

    /// At most 63 bits; behind the end they are 0. `mask` has as many.
    #[inline]
    fn take(&mut self, count: u32, mask: u64) -> u64 {
        let place = (self.at / 8) as usize;
        let shift = (self.at % 8) as u32;
        self.at += u64::from(count);
        let rest = self.bytes.get(place..).unwrap_or_default();
        let mut bits = match rest.first_chunk::<8>() {
            Some(eight) => u64::from_le_bytes(*eight),
            None => last_bytes(rest),
        } >> shift;
        // Shifted in two steps, because a shift by 64 is none.
        if count > u64::BITS - 8 {
            bits |= u64::from(rest.get(8).copied().unwrap_or(0)) << 1 << (63 - shift);
        }
        bits & mask
    }

    /// The difference of this byte, without a branch on what it is: 0 for [`EQUAL`] and [`NOTHING`]. Of a byte that is no code it is
    /// any number.
    #[inline]
    pub(super) fn difference_of_any(&mut self, code: u8) -> u64 {
        let Shape { behind, mask, first, sign } = SHAPES[usize::from(code)];
        let amount = self.take(behind, mask) | first;
        (amount ^ sign).wrapping_sub(sign)
    }

    /// Likewise of eight bytes: `take` gets each with the place that belongs to it. They are handed over one by one, as a processor waits when
    /// it reads two together that were just written.
    #[inline]
    pub(super) fn take_eight(
        &mut self,
        codes: &[u8; 8],
        places: &mut [u64; 8],
        mut take: impl FnMut(&mut u64, u64),
    ) {
        let near = self.bytes.get((self.at / 8) as usize..).and_then(|rest| rest.first_chunk::<NEAR>());
        let Some(near) = near else {
            for (code, place) in codes.iter().zip(places) {
                take(place, self.difference_of_any(*code));
            }
            return;
        };
        let mut at = (self.at % 8) as u32;
        for (code, place) in codes.iter().zip(places) {
            let Shape { behind, mask, first, sign } = SHAPES[usize::from(*code)];
            // The mask says to the compiler what is so.
            let from = (at / 8) as usize & (NEAR - 9);
            let shift = at % 8;
            let eight: [u8; 8] = std::array::from_fn(|byte| near[from + byte]);
            let mut bits = u64::from_le_bytes(eight) >> shift;
            if behind > u64::BITS - 8 {
                bits |= u64::from(near[from + 8]) << 1 << (63 - shift);
            }
            at += behind;
            take(place, (((bits & mask) | first) ^ sign).wrapping_sub(sign));
        }
        self.at = self.at / 8 * 8 + u64::from(at);
    }

    /// The difference of this byte, which is neither [`EQUAL`] nor [`NOTHING`]. `None`: there is no such byte.
    #[inline]
    pub(super) fn difference(&mut self, code: u8) -> Option<u64> {
        is_code(code).then(|| self.difference_of_any(code))
    }
}

/// Whether a byte is one of a number.
#[inline]
pub(super) const fn is_code(byte: u8) -> bool {
    byte <= LAST
}

/// Fewer than eight bytes, and zeros behind them.
#[cold]
fn last_bytes(rest: &[u8]) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|byte| rest.get(byte).copied().unwrap_or(0)))
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
        assert_eq!(
            all_behind(&codes.repeat(9)),
            9 * codes.iter().map(|code| all_behind(&[*code])).sum::<u64>()
        );
        assert_eq!(all_behind(&[LESS; 1_000]), 63_000);
    }
}
