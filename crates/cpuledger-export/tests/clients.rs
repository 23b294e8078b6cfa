//! What others read from the Parquet of a recording: the same integer sums as its frames have. Each engine is the real package from PyPI,
//! installed below `target/`. Those over 200 MB are installed by `make test-clients` only. Needs python3-venv and a network, once; it has
//! not run where they are not.

mod machine;
mod python;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use cpuledger_export::{Format, Options, Progress, export};
use cpuledger_load::not_run;
use machine::Sums;
use python::{client_environment, spark_environment};

fn read(sums: &serde_json::Value) -> Sums {
    let map = |key: &str| -> BTreeMap<String, i128> {
        let members = sums[key].as_object().expect("an object");
        let number = |value: &serde_json::Value| value.as_i64().expect("an integer").into();
        members.iter().map(|(key, value)| (key.clone(), number(value))).collect()
    };
    let number = |key: &str| i128::from(sums[key].as_i64().expect("an integer"));
    Sums {
        by_command: map("by_command"),
        by_user: map("by_user"),
        by_interval: map("by_interval"),
        parts: number("parts"),
        capacity: number("capacity"),
        first_us: number("first_us"),
    }
}

/// Each engine of this environment adds up what the frames add up to.
fn check(python: Result<PathBuf, String>, engines: &[&str]) {
    let python = match python {
        Ok(python) => python,
        Err(reason) => return not_run(&reason),
    };
    let folder = tempfile::tempdir().expect("a folder");
    let (recording, tables) = (folder.path().join("recording"), folder.path().join("tables"));
    machine::record(&recording, 130);
    let expected = machine::sums(&recording);
    assert_eq!((expected.parts, expected.by_interval.len()), (expected.capacity, 130));
    assert!(expected.by_command.len() > 5 && expected.by_user.len() > 3, "{expected:?}");
    let summary = export(&recording, &tables, &Options::all(Format::Parquet), &Progress::default());
    assert_eq!(summary.expect("it can be written").unbalanced, 0);
    for engine in engines {
        let output = Command::new(&python)
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/sums.py"))
            .args([engine.as_ref(), tables.as_os_str()])
            .current_dir(folder.path())
            .output()
            .expect("python starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{engine}: {said}");
        let text = String::from_utf8_lossy(&output.stdout);
        let last = text.lines().last().unwrap_or_default();
        let sums =
            serde_json::from_str(last).unwrap_or_else(|error| panic!("{engine}: {error}: {text} {said}"));
        assert_eq!(read(&sums), expected, "{engine}");
        println!(
            "{engine}: {} commands, {} intervals",
            expected.by_command.len(),
            expected.by_interval.len()
        );
    }
}

#[test]
fn duckdb_polars_pandas_and_pyarrow_add_up_what_the_frames_do() {
    let packages = ["duckdb==2.0.*", "polars==2.1.*", "pandas==3.1.*", "pyarrow==26.0.*"];
    check(client_environment("python-clients", &packages), &["duckdb", "polars", "pandas", "pyarrow"]);
}

#[test]
fn clickhouse_adds_up_what_the_frames_do() {
    check(client_environment("python-chdb", &["chdb==4.*"]), &["chdb"]);
}

#[test]
fn spark_adds_up_what_the_frames_do() {
    check(spark_environment("python-spark"), &["spark"]);
}
