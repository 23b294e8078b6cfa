//! Numbers appended to a buffer in the forms of /proc/PID/status: no format machinery.

use cpuledger_proc::cpu_list;

/// What comes before the value of a line. Copied as a whole, which is cheaper than as many bytes as there are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head {
    bytes: [u8; Head::MAX_BYTES],
    length: usize,
}

impl Head {
    /// The longest name of a line is 26 bytes.
    const MAX_BYTES: usize = 32;

    /// Name, colon and tab; none for a name that is too long.
    pub(super) fn of(name: &str) -> Option<Head> {
        let length = name.len() + 2;
        let mut bytes = [0; Head::MAX_BYTES];
        bytes.get_mut(..name.len())?.copy_from_slice(name.as_bytes());
        bytes.get_mut(name.len()..length)?.copy_from_slice(b":\t");
        Some(Head { bytes, length })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let end = out.len() + self.length;
        out.extend_from_slice(&self.bytes);
        out.truncate(end);
    }
}

/// Numbers below this have at most eight digits.
const NINE_DIGITS: u64 = 100_000_000;
/// A byte each.
const ONES: u64 = 0x0101_0101_0101_0101;

/// A number. Up to eight digits are made at once, and copied as eight: no branch or call depends on how many there are.
pub(super) fn decimal(out: &mut Vec<u8>, number: impl Into<i128>) {
    let number = number.into();
    if number < 0 {
        out.push(b'-');
    }
    let number = number.unsigned_abs() as u64;
    if number >= NINE_DIGITS {
        out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
        return;
    }
    let digits = eight_decimals(number);
    let zeros = leading_zeros(digits);
    let end = out.len() + 8 - zeros as usize;
    out.extend_from_slice(&((digits + u64::from(b'0') * ONES) >> (8 * zeros)).to_le_bytes());
    out.truncate(end);
}

/// The digits of a number below [`NINE_DIGITS`], the first in the lowest byte: halves of four, pairs, then single digits, each
/// by a multiplication that divides all of them at once.
fn eight_decimals(number: u64) -> u64 {
    let halves = (number / 10_000) | ((number % 10_000) << 32);
    let hundreds = ((halves * 5_243) >> 19) & 0x0000_007f_0000_007f; // by 100, exact below 10,000
    let pairs = hundreds | ((halves - hundreds * 100) << 16);
    let tens = ((pairs * 103) >> 10) & 0x000f_000f_000f_000f; // by 10, exact below 100
    tens | ((pairs - tens * 10) << 8)
}

/// Zeros before the first digit; a number has at least one digit.
fn leading_zeros(digits: u64) -> u32 {
    (digits.trailing_zeros() / 8).min(7)
}

/// A blank and a number.
pub(super) fn spaced(out: &mut Vec<u8>, number: impl Into<i128>) {
    out.push(b' ');
    decimal(out, number);
}

/// A tab and a number.
pub(super) fn tabbed(out: &mut Vec<u8>, number: impl Into<i128>) {
    out.push(b'\t');
    decimal(out, number);
}

/// A number at the right of 8 columns, and its unit.
pub(super) fn kibibytes(out: &mut Vec<u8>, number: u64) {
    if number >= NINE_DIGITS {
        decimal(out, number);
        out.extend_from_slice(b" kB");
        return;
    }
    let digits = eight_decimals(number);
    // As many bytes as there are zeros before the number are blanks.
    let blanks = (1 << (8 * leading_zeros(digits))) - 1;
    let cell = ((digits + u64::from(b'0') * ONES) & !blanks) | ((u64::from(b' ') * ONES) & blanks);
    out.extend_from_slice(&cell.to_le_bytes());
    out.extend_from_slice(b" kB");
}

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// 16 hexadecimal digits.
pub(super) fn hexadecimal(out: &mut Vec<u8>, number: u64) {
    let mut digits = [0; 16];
    let (high, low) = digits.split_at_mut(8);
    high.copy_from_slice(&eight_digits((number >> 32) as u32));
    low.copy_from_slice(&eight_digits(number as u32));
    out.extend_from_slice(&digits);
}

/// All at once: a digit a byte, of which those above 9 are moved on to the letters.
fn eight_digits(number: u32) -> [u8; 8] {
    const LETTERS: u64 = (b'a' - b'0' - 10) as u64;
    let mut spread = u64::from(number);
    spread = (spread | spread << 16) & 0x0000_ffff_0000_ffff;
    spread = (spread | spread << 8) & 0x00ff_00ff_00ff_00ff;
    spread = (spread | spread << 4) & 0x0f0f_0f0f_0f0f_0f0f;
    // Adding 6 carries into the upper half of the byte for 10 to 15.
    let are_letters = (spread + 6 * ONES) >> 4 & ONES;
    (spread + u64::from(b'0') * ONES + are_letters * LETTERS).to_be_bytes()
}

/// As many hexadecimal digits as the number needs, after `0x`.
pub(super) fn short_hexadecimal(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(b"0x");
    let places = number.checked_ilog2().unwrap_or(0) / 4;
    out.extend((0..=places).rev().map(|place| DIGITS[(number >> (4 * place)) as usize & 0xf]));
}

/// Four octal digits, the first of them 0.
pub(super) fn octal(out: &mut Vec<u8>, number: u32) {
    out.push(b'0');
    out.extend([6, 3, 0].map(|shift| DIGITS[(number >> shift) as usize & 7]));
}

/// The lowest `bits` of a mask in hexadecimal digits, in groups of 8.
pub(super) fn mask(out: &mut Vec<u8>, words: &[u64], bits: u32) {
    for place in (0..bits.div_ceil(4)).rev() {
        let word = words.get(place as usize / 16).copied().unwrap_or(0);
        let within = (1 << (bits - place * 4).min(4)) - 1;
        out.push(DIGITS[(word >> (place % 16 * 4)) as usize & within]);
        if place % 8 == 0 && place > 0 {
            out.push(b',');
        }
    }
}

/// The numbers of the bits that are set, as ranges.
pub(super) fn list(out: &mut Vec<u8>, words: &[u64], bits: u32) {
    let is_set = |bit: u32| words.get(bit as usize / 64).is_some_and(|word| word >> (bit % 64) & 1 != 0);
    let set = (0..bits).filter(|bit| is_set(*bit));
    out.extend_from_slice(cpu_list::written(set).as_bytes());
}

/// A name with its newlines and backslashes escaped.
pub(super) fn escaped(out: &mut Vec<u8>, name: &[u8]) {
    for &byte in name {
        match byte {
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\\' => out.extend_from_slice(b"\\\\"),
            _ => out.push(byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).expect("ASCII")
    }

    #[test]
    fn numbers_have_the_forms_of_the_kernel() {
        assert_eq!(text(|out| kibibytes(out, 0)), "       0 kB");
        assert_eq!(text(|out| kibibytes(out, 12_345_678)), "12345678 kB");
        assert_eq!(text(|out| kibibytes(out, 123_456_789)), "123456789 kB");
        assert_eq!(text(|out| hexadecimal(out, 0x0123_4567_89ab_cdef)), "0123456789abcdef");
        assert_eq!(text(|out| hexadecimal(out, 0xfedc_ba98_7654_3210)), "fedcba9876543210");
        assert_eq!(text(|out| Head::of("Name").expect("it is short").write(out)), "Name:\t");
        assert!(Head::of("a name of thirty-one characters").is_none());
        assert_eq!(text(|out| hexadecimal(out, 0x1_ffff)), "000000000001ffff");
        assert_eq!(text(|out| short_hexadecimal(out, u64::MAX)), "0xffffffffffffffff");
        assert_eq!(text(|out| short_hexadecimal(out, 0)), "0x0");
        assert_eq!(text(|out| short_hexadecimal(out, 0x10)), "0x10");
        assert_eq!(text(|out| octal(out, 0o22)), "0022");
        assert_eq!(text(|out| escaped(out, b"a\nb\\ c\t")), "a\\nb\\\\ c\t");
    }

    #[test]
    fn every_length_of_a_number_is_right() {
        let edges = (0..20).flat_map(|power| [10u64.pow(power) - 1, 10u64.pow(power), 10u64.pow(power) + 1]);
        let spread = (0..200_000u64).map(|step| step * 500 + step % 499);
        for number in edges.chain(spread).chain(0..20_000).chain([u64::MAX]) {
            assert_eq!(text(|out| decimal(out, number)), number.to_string());
            assert_eq!(text(|out| kibibytes(out, number)), format!("{number:8} kB"));
        }
        for number in [i32::MIN, -100_000_000, -1, 0, 7, i32::MAX] {
            assert_eq!(text(|out| decimal(out, number)), number.to_string());
        }
    }

    #[test]
    fn masks_are_in_groups_and_lists_in_ranges() {
        assert_eq!(text(|out| mask(out, &[u64::MAX], 2)), "3");
        assert_eq!(text(|out| mask(out, &[u64::MAX], 7)), "7f");
        assert_eq!(text(|out| mask(out, &[0x1_0000_0003], 36)), "1,00000003");
        assert_eq!(text(|out| mask(out, &[1, 2], 96)), "00000002,00000000,00000001");
        assert_eq!(text(|out| mask(out, &[1], 96)), "00000000,00000000,00000001");
        assert_eq!(text(|out| list(out, &[0b1011, 1], 128)), "0-1,3,64");
        assert_eq!(text(|out| list(out, &[u64::MAX], 4)), "0-3");
        assert_eq!(text(|out| list(out, &[0], 4)), "");
    }
}
