//! `/proc/PID/autogroup`: `/autogroup-25 nice 0`.

/// The number of the group and its nice value.
pub fn parse_autogroup(text: &[u8]) -> Option<(u32, i32)> {
    let text = str::from_utf8(text).ok()?.trim().strip_prefix("/autogroup-")?;
    let (group, nice) = text.split_once(" nice ")?;
    Some((group.parse().ok()?, nice.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn autogroups_have_a_number_and_a_nice_value() {
        assert_eq!(parse_autogroup(b"/autogroup-25 nice -3\n"), Some((25, -3)));
        assert_eq!(parse_autogroup(b""), None);
        assert_eq!(parse_autogroup(b"/autogroup-25\n"), None);
    }
}
