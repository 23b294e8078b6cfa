//! `/proc/PID/cmdline`: arguments, each ended by a NUL.

/// Arguments that are there and empty.
pub const BLANK: &[u8] = b"\0";

/// Nothing but NULs are [`BLANK`], not nothing: a process may overwrite its arguments.
pub fn without_trailing_nuls(mut cmdline: Vec<u8>) -> Vec<u8> {
    let length = cmdline.iter().rposition(|&byte| byte != 0).map_or(BLANK.len(), |last| last + 1);
    cmdline.truncate(length);
    cmdline
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nuls_at_the_end_say_nothing_but_that_there_are_arguments() {
        assert_eq!(without_trailing_nuls(b"a\0\0b\0\0\0".to_vec()), b"a\0\0b");
        assert_eq!(without_trailing_nuls(b"\0\0".to_vec()), BLANK);
        assert_eq!(without_trailing_nuls(Vec::new()), b"");
    }
}
