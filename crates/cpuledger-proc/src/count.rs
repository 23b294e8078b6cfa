//! Numbers with their nouns.

/// A count and its noun, in the plural where there is not one.
pub fn count_of(count: u64, noun: &str) -> String {
    let ending = match noun {
        _ if count == 1 => "",
        _ if noun.ends_with('s') || noun.ends_with("ch") => "es",
        _ => "s",
    };
    format!("{count} {noun}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_has_no_plural() {
        for (count, noun, text) in [
            (0, "thread", "0 threads"),
            (1, "thread", "1 thread"),
            (2, "process", "2 processes"),
            (1, "process", "1 process"),
            (3, "switch", "3 switches"),
            (2, "CPU", "2 CPUs"),
        ] {
            assert_eq!(count_of(count, noun), text);
        }
    }
}
