//! `cpuledger report --fleet`: the exports of many machines, by an engine that is installed. This program becomes `fleet/ask.py`, which asks
//! DuckDB or, where there is none, prints the SQL.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use cpuledger_program::exit::Failure;
use cpuledger_program::when::written_in_utc;
use cpuledger_recording::When;

use crate::cmd::external;

/// Below the folder of programs that belong to this one.
const SCRIPT: &str = "fleet/ask.py";

/// The variable of the environment that names another Python, such as that of an environment with DuckDB.
const PYTHON: &str = "CPULEDGER_PYTHON";

/// `PATH` is not searched, as for programs of our own.
const USUAL_PYTHON: &str = "/usr/bin/python3";

/// The rows that `report` has, and the queries that give them for a fleet.
const QUERIES: [(&str, &str); 4] =
    [("command", "commands"), ("user", "users"), ("unit", "units"), ("pod", "pods")];

/// What is asked of which tables.
pub struct Question<'a> {
    /// A directory or `s3://BUCKET/PREFIX`.
    pub tables: &'a str,
    /// The name of what the rows are.
    pub by: &'a str,
    /// The name of the format.
    pub format: &'a str,
    /// How many rows.
    pub top: usize,
    /// Begin and end, if stated.
    pub span: [Option<When>; 2],
}

/// Becomes the script.
///
/// # Errors
/// An option that it does not have, or where it or Python is missing.
pub fn run(question: &Question<'_>) -> anyhow::Result<()> {
    let now_ns = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    let words = words(question, u64::try_from(now_ns).unwrap_or(u64::MAX))?;
    let script = match external::find(SCRIPT)? {
        Ok(script) => script,
        Err(places) => {
            return Err(Failure::NotInstalled(format!(
                "`cpuledger report --fleet` needs {SCRIPT}, and there is no {places}: run `make all` and `make install`, or \
                 install the package cpuledger-export"
            ))
            .into());
        }
    };
    let python = std::env::var_os(PYTHON).unwrap_or_else(|| USUAL_PYTHON.into());
    let error = Command::new(&python).arg(script).args(words).exec();
    let python = PathBuf::from(python);
    Err(Failure::NotInstalled(format!(
        "`cpuledger report --fleet` cannot run Python, {}: {error}: install Python 3 with DuckDB, or set {PYTHON} to one that has it",
        python.display()
    ))
    .into())
}

/// The command line of the script.
fn words(question: &Question<'_>, now_ns: u64) -> Result<Vec<OsString>, Failure> {
    let names = QUERIES.map(|(name, _)| name).join(", ");
    let query = QUERIES.iter().find(|(name, _)| *name == question.by).map(|(_, query)| *query);
    let query = query.ok_or_else(|| {
        Failure::Usage(format!("--by {}: of a fleet, rows can be by {names}: use one of these", question.by))
    })?;
    let format = match question.format {
        "text" => "text",
        "json" => "jsonl",
        other => {
            return Err(Failure::Usage(format!(
                "--format {other}: a fleet has text and json: use one of these"
            )));
        }
    };
    let mut words = vec!["--tables", question.tables, "--format", format, "--limit"];
    let top = question.top.to_string();
    words.push(&top);
    let times = question.span.map(|when| when.map(|when| utc(when, now_ns)));
    for (option, time) in ["--since", "--until"].iter().zip(&times) {
        words.extend(time.iter().flat_map(|time| [*option, time]));
    }
    words.push(query);
    Ok(words.into_iter().map(OsString::from).collect())
}

/// In whole seconds, UTC. A fleet has no last interval, so that what counts from the end counts from now.
fn utc(when: When, now_ns: u64) -> String {
    written_in_utc(match when {
        When::Realtime(ns) => ns,
        When::BeforeEnd(ns) => now_ns.saturating_sub(ns),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(question: &Question<'_>) -> Result<String, String> {
        let words = words(question, 1_700_000_000_000_000_000).map_err(|failure| failure.to_string())?;
        Ok(words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn the_script_has_what_was_asked_for() {
        let span = [Some(When::Realtime(1_600_000_000_900_000_000)), Some(When::BeforeEnd(60_000_000_000))];
        let question = Question { tables: "s3://b/c", by: "pod", format: "json", top: 5, span };
        let times = "--since 2020-09-13T12:26:40 --until 2023-11-14T22:12:20";
        let expected = format!("--tables s3://b/c --format jsonl --limit 5 {times} pods");
        assert_eq!(said(&question), Ok(expected));
        let plain = Question { tables: "d", by: "command", format: "text", span: [None; 2], ..question };
        assert_eq!(said(&plain).as_deref(), Ok("--tables d --format text --limit 5 commands"));
        for (by, format, word) in [("cgroup", "text", "--by cgroup"), ("pod", "html", "--format html")] {
            let sentence = said(&Question { by, format, ..plain }).expect_err("it is refused");
            assert!(sentence.contains(word), "{sentence}");
        }
    }
}
