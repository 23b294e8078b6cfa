//! Decimals as the kernel prints them: digits, a sign where there can be one, nothing else.

use std::str::FromStr;

/// The number that all of `bytes` spell; `None` where they do not, or it does not fit.
pub fn unsigned(bytes: &[u8]) -> Option<u64> {
    if bytes.is_empty() {
        return None;
    }
    bytes.iter().try_fold(0u64, |number, byte| {
        let digit = byte.checked_sub(b'0').filter(|digit| *digit < 10)?;
        number.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

/// As [`unsigned`], after an optional minus sign.
pub fn signed(bytes: &[u8]) -> Option<i64> {
    match bytes.strip_prefix(b"-") {
        Some(digits) => 0i64.checked_sub_unsigned(unsigned(digits)?),
        None => i64::try_from(unsigned(bytes)?).ok(),
    }
}

/// The number after which there are only blanks and perhaps a unit, as in `VmRSS:  1616 kB`.
pub fn first(bytes: &[u8]) -> Option<u64> {
    words(bytes).next().and_then(unsigned)
}

/// The number that is all of a text but for blanks around it.
pub fn alone<N: FromStr>(text: &[u8]) -> Option<N> {
    str::from_utf8(text.trim_ascii()).ok()?.parse().ok()
}

/// What blanks separate.
pub fn words(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|byte| matches!(byte, b' ' | b'\t' | b'\n')).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_only() {
        assert_eq!(unsigned(b"18446744073709551615"), Some(u64::MAX));
        for bad in ["", "-1", "+1", " 1", "1 ", "1x", "18446744073709551616"] {
            assert_eq!(unsigned(bad.as_bytes()), None, "{bad}");
        }
        assert_eq!(signed(b"-9223372036854775808"), Some(i64::MIN));
        assert_eq!(signed(b"-1"), Some(-1));
        for bad in ["", "-", "--1", "9223372036854775808", "-9223372036854775809"] {
            assert_eq!(signed(bad.as_bytes()), None, "{bad}");
        }
        assert_eq!(first(b"\t    1616 kB"), Some(1616));
        assert_eq!((alone(b"-17\n"), alone::<u32>(b"4294967295\n")), (Some(-17), Some(u32::MAX)));
        assert_eq!((alone::<u32>(b""), alone::<u32>(b"1 2\n")), (None, None));
    }
}
