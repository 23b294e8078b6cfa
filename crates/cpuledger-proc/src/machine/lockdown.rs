//! `/sys/kernel/security/lockdown`: the modes, that which is on in brackets.

/// Whether programs may read kernel memory.
pub fn permits_reading(text: &str) -> bool {
    !text.contains("[confidentiality]")
}

#[cfg(test)]
mod tests {
    use super::permits_reading;

    #[test]
    fn only_confidentiality_forbids_reading() {
        assert!(permits_reading("[none] integrity confidentiality\n"));
        assert!(permits_reading("none [integrity] confidentiality\n"));
        assert!(!permits_reading("none integrity [confidentiality]\n"));
    }
}
