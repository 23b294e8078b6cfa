//! What a user may have meant by a name that does not exist.

/// The known names nearest to this one, as the end of a sentence; where none is near, `otherwise` ends it.
pub fn did_you_mean<'a>(
    prefix: &str,
    name: &str,
    known: impl Iterator<Item = &'a str>,
    otherwise: &str,
) -> String {
    const MOST: usize = 3;
    /// Minimum length of a name of which one letter may be wrong.
    const LETTERS_A_MISTAKE: usize = 3;
    let name = name.to_lowercase();
    let mistakes = |candidate: &str| {
        let candidate = candidate.to_lowercase();
        let is_beginning = name.len() >= LETTERS_A_MISTAKE && candidate.starts_with(&name);
        // A percent sign is easily left out.
        let whole = strsim::osa_distance(&name, &candidate);
        let mistakes = whole.min(strsim::osa_distance(&name, candidate.trim_start_matches('%')));
        (is_beginning || mistakes <= name.chars().count() / LETTERS_A_MISTAKE).then_some(mistakes)
    };
    let mut near: Vec<(usize, &str)> =
        known.filter_map(|candidate| Some((mistakes(candidate)?, candidate))).collect();
    near.sort_by_key(|(mistakes, known)| (*mistakes, known.to_lowercase()));
    // Only the case is wrong: nothing else was meant.
    if near.first().is_some_and(|(mistakes, _)| *mistakes == 0) {
        near.retain(|(mistakes, _)| *mistakes == 0);
    }
    near.dedup_by_key(|(_, known)| known.to_lowercase());
    let near: Vec<String> = near.iter().take(MOST).map(|(_, name)| format!("`{prefix}{name}`")).collect();
    match near.first() {
        None => format!("; {otherwise}"),
        Some(_) => format!("; did you mean {}?", listed(near.iter().map(String::as_str), "or")),
    }
}

/// These names, with that word before the last.
pub fn listed<'a>(names: impl IntoIterator<Item = &'a str>, word: &str) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    match names.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} {word} {last}", others.join(", ")),
        _ => names.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::did_you_mean;

    #[test]
    fn what_is_near_is_named_and_nothing_else() {
        let known = ["pid", "PPID", "pri", "rss", "runtime_ns", "PID", "ppid_ns", "%cpu"];
        for (name, expected) in [
            ("pdi", "; did you mean `pid` or `pri`?"),
            ("ppidd", "; did you mean `PPID`?"),
            ("Ppid", "; did you mean `PPID`?"),
            ("cpux", "; did you mean `%cpu`?"),
            ("runt", "; did you mean `runtime_ns`?"),
            ("x", "; see there"),
            ("nonsense", "; see there"),
        ] {
            assert_eq!(did_you_mean("", name, known.into_iter(), "see there"), expected, "{name}");
        }
        assert_eq!(did_you_mean("--", "rsss", known.into_iter(), ""), "; did you mean `--rss`?");
    }
}
