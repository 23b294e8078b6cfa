//! What a visitor asks for: the part of a request behind the question mark.

use std::path::Path;

use anyhow::{Context, bail, ensure};
use cpuledger_model::accounts::Accounts;
use cpuledger_program::when;
use cpuledger_recording::{Span, When};
use cpuledger_report::{Condition, Dimension};

use crate::read::{Question, Source};

/// What rows may be of.
const DIMENSIONS: [Dimension; 8] = [
    Dimension::Command,
    Dimension::User,
    Dimension::Unit,
    Dimension::Container,
    Dimension::Pod,
    Dimension::Image,
    Dimension::Cgroup,
    Dimension::Process,
];

/// The ancestry of a sheet has at most so many branches.
pub const BRANCHES: usize = 400;
/// Rows at most, and if it is not said.
const MOST_ROWS: usize = 1000;
const USUAL_ROWS: usize = 200;
/// Parts of a time line at most, and of all rows together: an answer has no more than a few megabytes.
const MOST_BUCKETS: u32 = 600;
const MOST_POINTS: usize = 120_000;
/// Conditions at most: one a dimension is enough.
const MOST_CONDITIONS: usize = 4;
/// From so many digits on a number is an instant in nanoseconds since 1970.
const DIGITS_OF_NS: usize = 16;

/// A view: what rows there are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// What the rows are of.
    pub by: Dimension,
    /// What they have to meet.
    pub conditions: Vec<Condition>,
    /// How many rows there are.
    pub rows: usize,
    /// What the service shall keep for it besides CPU time.
    pub accounts: Accounts,
}

/// A view of a span.
#[derive(Debug, Clone)]
pub struct Ask {
    /// What is shown of it.
    pub view: View,
    /// The span.
    pub span: Span,
    /// Parts of the time line; 0: none.
    pub buckets: u32,
    /// Where it is read.
    pub source: Source,
}

impl View {
    /// What is to be read for it.
    pub fn question(&self, buckets: u32) -> Question {
        Question {
            dimensions: vec![self.by, Dimension::Ancestor],
            conditions: self.conditions.clone(),
            buckets,
            tells_states: true,
        }
    }

    /// Its conditions, as a sheet has them.
    pub fn within(&self) -> Vec<(String, String)> {
        let named = |(dimension, id): &Condition| (dimension.name().to_owned(), id.clone());
        self.conditions.iter().map(named).collect()
    }
}

/// The names of what rows may be of.
pub fn names() -> [&'static str; DIMENSIONS.len()] {
    DIMENSIONS.map(Dimension::name)
}

/// What this asks for, as `by=user&within=unit:=cron.service&from=-5m`.
///
/// # Errors
/// When it names what there is not, or asks for too much: one sentence.
pub fn ask(query: &str) -> anyhow::Result<Ask> {
    let mut view =
        View { by: Dimension::Command, conditions: Vec::new(), rows: USUAL_ROWS, accounts: Accounts::NONE };
    let (mut span, mut buckets, mut source) = (Span::ALL, 0, Source::Auto);
    for part in query.split('&').filter(|part| !part.is_empty()) {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        let value =
            decoded(value).with_context(|| format!("the value of `{}` is no text", key.escape_default()))?;
        match key {
            "by" => view.by = dimension(&value)?,
            "within" => {
                let (by, id) = value
                    .split_once(':')
                    .context("`within` is a dimension, a colon, and the id of a name")?;
                view.conditions.push((dimension(by)?, id.to_owned()));
            }
            "accounts" => view.accounts = value.parse()?,
            "rows" => view.rows = number(key, &value, MOST_ROWS)?,
            "buckets" => buckets = u32::try_from(number(key, &value, MOST_BUCKETS as usize)?)?,
            "source" => source = Source::named(&value)?,
            "from" => span.since = instant(&value)?,
            "to" => span.until = instant(&value)?,
            other => bail!(
                "there is no `{}`; there are by, within, rows, accounts, buckets, source, from and to",
                other.escape_default()
            ),
        }
    }
    ensure!(view.conditions.len() <= MOST_CONDITIONS, "there are more than {MOST_CONDITIONS} conditions");
    ensure!(
        view.rows * buckets as usize <= MOST_POINTS,
        "rows times buckets is more than {MOST_POINTS}: ask for fewer of either"
    );
    ensure!(!span.is_empty(), "the span ends before it begins");
    Ok(Ask { view, span, buckets, source })
}

fn dimension(name: &str) -> anyhow::Result<Dimension> {
    let found = DIMENSIONS.into_iter().find(|own| own.name() == name);
    found.with_context(|| format!("a dimension is one of {}", names().join(", ")))
}

fn number(key: &str, text: &str, most: usize) -> anyhow::Result<usize> {
    let number = text.parse().ok().filter(|number| (1..=most).contains(number));
    number.with_context(|| format!("`{key}` is a number from 1 to {most}"))
}

fn instant(text: &str) -> anyhow::Result<When> {
    if text.len() >= DIGITS_OF_NS && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(When::Realtime(text.parse().context("a time is beyond what is counted")?));
    }
    Ok(when::parse(text)?.when)
}

/// A value as it was before it became part of an address.
fn decoded(value: &str) -> anyhow::Result<String> {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits =
                    [rest.next(), rest.next()].map(|digit| char::from(digit.unwrap_or(b'?')).to_digit(16));
                let [Some(high), Some(low)] = digits else { bail!("two hexadecimal digits follow `%`") };
                u8::try_from(high * 16 + low)?
            }
            other => other,
        });
    }
    Ok(String::from_utf8(bytes)?)
}

/// The recording for earlier times, if none is named: that of the machine if it may be read, else that of the user.
pub fn usual_recording() -> Option<std::path::PathBuf> {
    let of_machine = Path::new(cpuledger_program::place::OF_MACHINE);
    let may_read = std::fs::read_dir(of_machine).is_ok();
    if may_read { Some(of_machine.to_owned()) } else { cpuledger_program::place::usual() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_read_as_they_are_written() {
        let asked = ask(
            "by=process&within=unit:%3Da%20b+c&rows=1000&from=1700000000000000001&to=1700000000000000002",
        );
        let asked = asked.expect("a question");
        assert_eq!((asked.view.by, asked.view.rows), (Dimension::Process, 1000));
        assert_eq!(asked.view.conditions, [(Dimension::Unit, "=a b c".to_owned())]);
        assert_eq!(asked.span.since, When::Realtime(1_700_000_000_000_000_001));
        assert_eq!(ask("from=-5m").expect("a question").span.since, When::BeforeEnd(300_000_000_000));
        assert_eq!(ask("").expect("a question").view.by, Dimension::Command);
    }

    #[test]
    fn what_is_too_much_or_is_not_there_is_refused() {
        for wrong in [
            "by=colour",
            "by=ancestor",
            "within=unit",
            "within=colour:a",
            "within=unit:a&within=unit:b&within=unit:c&within=user:d&within=user:e",
            "rows=0",
            "rows=1001",
            "accounts=colour",
            "rows=-1",
            "buckets=601",
            "rows=1000&buckets=600",
            "from=99999999999999999999",
            "from=soon",
            "source=disk",
            "from=1700000000000000002&to=1700000000000000001",
            "by=%",
            "by=%zz",
            "by=%ff",
            "path=../../etc/passwd",
            "%00=1",
        ] {
            assert!(ask(wrong).is_err(), "{wrong}");
        }
    }
}
