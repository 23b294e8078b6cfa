//! The questions of `fleet/queries`: each engine gives the same integers, and all commands, idle and unattributed time are the capacity.

mod machine;
mod python;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use cpuledger_export::{Format, Options, Progress, export};
use cpuledger_load::not_run;
use python::{environment, large_environment, spark_environment};

/// Each question with a span of the recording, which begins half a minute before midnight.
const QUESTIONS: [(&str, &[&str]); 7] = [
    ("commands", &["--limit", "3"]),
    ("users", &[]),
    ("hosts", &[]),
    ("gaps", &[]),
    ("compare", &["--before-since", "2023-11-14T23:59:00", "--before-until", "2023-11-15"]),
    ("cost", &["--name", r#"a,"b"\n\xff"#]),
    ("who", &["--at", "2023-11-15T00:00:00", "--limit", "100"]),
];

/// What an engine answers: a line of JSON for each row.
fn ask(python: &Path, engine: &str, tables: &Path, question: &str, options: &[&str]) -> Vec<String> {
    let ask = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fleet/ask.py");
    let output = Command::new(python)
        .arg(ask)
        .args(["--engine", engine, "--tables"])
        .arg(tables)
        .args(["--since", "2023-11-14", "--until", "2023-11-16", question])
        .args(options)
        .current_dir(tables)
        .output()
        .expect("python starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{engine} {question}: {said}");
    String::from_utf8(output.stdout).expect("JSON is UTF-8").lines().map(str::to_owned).collect()
}

/// The names and CPU times of `commands`.
fn sums(lines: &[String]) -> BTreeMap<String, i128> {
    let row = |line: &String| {
        let row: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let name = row["name"].as_str().expect("a text").to_owned();
        (name, i128::from(row["cpu_ns"].as_i64().expect("an integer")))
    };
    lines.iter().map(row).collect()
}

/// Asks an engine all questions, and compares its answers with the frames and with those of DuckDB.
fn check(engine: &str, python: Result<PathBuf, String>) {
    let duckdb = environment("python-fleet-duckdb", &["duckdb==2.0.*"]);
    let (duckdb, python) = match (duckdb, python) {
        (Ok(duckdb), Ok(python)) => (duckdb, python),
        (Err(reason), _) | (_, Err(reason)) => return not_run(&reason),
    };
    let folder = tempfile::tempdir().expect("a folder");
    let (recording, tables) = (folder.path().join("recording"), folder.path().join("tables"));
    machine::record(&recording, 130);
    export(&recording, &tables, &Options::all(Format::Parquet), &Progress::default())
        .expect("it can be written");
    let all = sums(&ask(&python, engine, &tables, "commands", &["--limit", "100"]));
    let expected = machine::sums(&recording);
    assert_eq!(all.values().sum::<i128>(), expected.capacity, "{engine}: {all:?}");
    for (name, ns) in &expected.by_command {
        assert_eq!(all.get(name), Some(ns), "{engine}: {name}");
    }
    for (question, options) in QUESTIONS {
        let answer = ask(&python, engine, &tables, question, options);
        assert!(!answer.is_empty(), "{engine} {question}");
        if engine != "duckdb" {
            assert_eq!(answer, ask(&duckdb, "duckdb", &tables, question, options), "{engine} {question}");
        }
        if question == "commands" {
            assert_eq!(sums(&answer).values().sum::<i128>(), expected.capacity, "the rest is there, too");
        }
    }
}

#[test]
fn duckdb_answers_with_the_sums_of_the_frames() {
    check("duckdb", environment("python-fleet-duckdb", &["duckdb==2.0.*"]));
}

#[test]
fn clickhouse_answers_as_duckdb_does() {
    check("clickhouse", large_environment("python-fleet-clickhouse", &["chdb==4.*"]));
}

#[test]
fn spark_answers_as_duckdb_does() {
    check("spark", spark_environment("python-fleet-spark"));
}
