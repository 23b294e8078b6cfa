//! `/proc/self/timens_offsets`: of each clock of the time namespace its name, seconds and nanoseconds.

/// Whether all offsets are zero: the clocks are those of the kernel.
pub fn are_zero(offsets: &str) -> bool {
    offsets.lines().flat_map(|line| line.split_ascii_whitespace().skip(1)).all(|offset| offset == "0")
}

#[cfg(test)]
mod tests {
    use super::are_zero;

    #[test]
    fn clocks_with_an_offset_are_others() {
        assert!(are_zero("monotonic           0         0\nboottime            0         0\n"));
        assert!(!are_zero("monotonic      500000         0\nboottime            0         0\n"));
        assert!(!are_zero("monotonic           0         0\nboottime          -50         0\n"));
    }
}
