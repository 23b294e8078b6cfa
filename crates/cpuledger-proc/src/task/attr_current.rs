//! `/proc/PID/attr/current`: the security label.

/// The label: what is printable from the beginning on.
pub fn label(text: &[u8]) -> &[u8] {
    let end = text.iter().position(|byte| !(b' '..=b'~').contains(byte)).unwrap_or(text.len());
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::label;

    #[test]
    fn a_label_ends_at_what_cannot_be_printed() {
        assert_eq!(label(b"unconfined\n"), b"unconfined");
        assert_eq!(label(b"a:b (enforce)\0x"), b"a:b (enforce)");
        assert_eq!(label(b""), b"");
    }
}
