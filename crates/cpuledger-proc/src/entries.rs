//! The form that many files have: names and values.

/// Lines of a name, a colon and a value, as many files have them; the value as it stands, with blanks.
pub fn entries(text: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    text.split(|&byte| byte == b'\n').filter_map(|line| {
        let colon = line.iter().position(|&byte| byte == b':')?;
        Some((&line[..colon], &line[colon + 1..]))
    })
}
