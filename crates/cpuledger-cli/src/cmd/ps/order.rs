//! In which order: `--sort` and `k` by names of columns, `O` by single letters.

use cpuledger_view::column::columns;
use cpuledger_view::layout::Criterion;
use cpuledger_view::layout::{Chosen, shown_names};
use cpuledger_view::near::did_you_mean;

use super::items::SEPARATORS;

/// The order that `--sort` means.
///
/// # Errors
/// A sentence that says which key is not known.
pub fn by_names(list: &str) -> Result<Vec<Criterion>, String> {
    let list = list.strip_suffix(SEPARATORS).unwrap_or(list);
    let parse = |text: &str| {
        let descending = text.starts_with('-');
        let name = text.strip_prefix(['-', '+']).unwrap_or(text);
        if name.is_empty() {
            return Err(format!("the order `{list}` has an empty item"));
        }
        criterion(name, descending)
    };
    list.split(SEPARATORS).map(parse).collect()
}

/// The order that the letters of `O` mean; `None`: they are not letters of an order, each with at most one sign in
/// front, none twice.
pub fn by_letters(letters: &str) -> Option<Result<Vec<Criterion>, String>> {
    let mut criteria = Vec::new();
    let mut sign = None;
    let mut seen = String::new();
    for letter in letters.chars() {
        if matches!(letter, '+' | '-') {
            if sign.replace(letter).is_some() {
                return None;
            }
            continue;
        }
        let column = columns().find(|column| column.order_letter == Some(letter))?;
        if seen.contains(letter) {
            return None;
        }
        seen.push(letter);
        criteria.push(criterion(column.name_in_ps()?, sign.take() == Some('-')));
    }
    let is_whole = sign.is_none() && !criteria.is_empty();
    is_whole.then(|| criteria.into_iter().collect())
}

fn criterion(name: &str, descending: bool) -> Result<Criterion, String> {
    match Chosen::by_name(name) {
        Some(by) => Ok(Criterion { by, descending }),
        None => Err(format!(
            "cannot sort by `{name}`: there is no such column{}",
            did_you_mean("", name, shown_names(), "`cpuledger ps L` lists the columns")
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(criteria: Vec<Criterion>) -> Vec<(String, bool)> {
        criteria.into_iter().map(|one| (one.by.name, one.descending)).collect()
    }

    #[test]
    fn keys_have_a_direction() {
        let key = |name: &str, descending| (name.to_owned(), descending);
        assert_eq!(
            shown(by_names("-rss,+pid comm,").expect("an order")),
            [key("rss", true), key("pid", false), key("comm", false)]
        );
        for (list, part) in
            [("rsss", "did you mean `rss`"), (",pid", "empty item"), ("-", "empty item"), ("+-pid", "`-pid`")]
        {
            let sentence = by_names(list).expect_err(list);
            assert!(sentence.contains(part), "{list}: {sentence}");
        }
    }

    #[test]
    fn letters_are_an_order_or_not() {
        let letters = |text: &str| by_letters(text).map(|criteria| shown(criteria.expect("known letters")));
        let key = |name: &str, descending| (name.to_owned(), descending);
        assert_eq!(letters("c-p"), Some(vec![key("args", false), key("pid", true)]));
        assert_eq!(letters("+u"), Some(vec![key("user", false)]));
        for none in ["", "z", "cc", "c,p", "c-", "--p", "ppid"] {
            assert_eq!(letters(none), None, "{none}");
        }
        let all = columns().filter_map(|column| column.order_letter);
        assert_eq!(all.filter(|letter| letters(&letter.to_string()).is_some()).count(), 26);
    }
}
