//! The questions of `fleet/queries`: each engine gives the same integers, and all commands, idle and unattributed time are the capacity.

mod machine;
mod python;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use cpuledger_export::{Format, Options, Progress, export};
use cpuledger_load::not_run;
use python::{environment, large_environment, spark_environment};
use tempfile::TempDir;

/// Each question with a span of the recording, which begins half a minute before midnight.
const QUESTIONS: [(&str, &[&str]); 12] = [
    ("commands", &["--limit", "3"]),
    ("units", &["--limit", "2"]),
    ("pods", &["--limit", "1"]),
    ("users", &[]),
    ("hosts", &[]),
    ("gaps", &[]),
    ("compare", &["--before-since", "2023-11-14T23:59:00", "--before-until", "2023-11-15"]),
    ("cost", &["--name", r#"a,"b"\n\xff"#]),
    ("cost", &["--unit", "a.service"]),
    ("cost", &["--pod", r#"prod/shop's "one""#]),
    ("cost", &["--pod", r#"shop's "one""#, "--name", "make"]),
    ("who", &["--at", "2023-11-15T00:00:00", "--limit", "100"]),
];

/// A folder, and in it a recording and the tables of that.
fn exported() -> (TempDir, [PathBuf; 2]) {
    let folder = tempfile::tempdir().expect("a folder");
    let [recording, tables] = [folder.path().join("recording"), folder.path().join("tables")];
    machine::record(&recording, 130);
    export(&recording, &tables, &Options::all(Format::Parquet), &Progress::default())
        .expect("it can be written");
    (folder, [recording, tables])
}

/// What an engine answers: a line of JSON for each row.
fn ask(python: &Path, engine: &str, tables: &Path, question: &str, options: &[&str]) -> Vec<String> {
    let ask = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fleet/ask.py");
    let output = Command::new(python)
        .arg(ask)
        .args(["--engine", engine, "--tables"])
        .arg(tables)
        .args(["--since", "2023-11-14", "--until", "2023-11-16", question])
        .args(options)
        // Spark leaves files there.
        .current_dir(if tables.is_dir() { tables } else { Path::new("/") })
        .output()
        .expect("python starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{engine} {question}: {said}");
    String::from_utf8(output.stdout).expect("JSON is UTF-8").lines().map(str::to_owned).collect()
}

/// The names and CPU times of `commands`, `units` or `pods`. What is no time of tasks has its part before its name: a task may have any name.
fn sums(lines: &[String]) -> BTreeMap<String, i128> {
    let row = |line: &String| {
        let row: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
        let space = Some(text("namespace")).filter(|space| !space.is_empty());
        let name = space.map_or(text("name"), |space| format!("{space}/{}", text("name")));
        let part = Some(text("part")).filter(|part| part != "task");
        let key = part.map_or(name.clone(), |part| format!("{part}: {name}"));
        (key, i128::from(row["cpu_ns"].as_i64().expect("an integer")))
    };
    let sums: BTreeMap<String, i128> = lines.iter().map(row).collect();
    assert_eq!(sums.len(), lines.len(), "no row is there twice: {lines:?}");
    sums
}

/// The sum over the rows of `cost`.
fn cost(lines: &[String]) -> i128 {
    let row = |line: &String| {
        let row: serde_json::Value = serde_json::from_str(line).expect("JSON");
        i128::from(row["cpu_ns"].as_i64().expect("an integer"))
    };
    lines.iter().map(row).sum()
}

/// Asks an engine all questions, and compares its answers with the frames and with those of DuckDB.
fn check(engine: &str, python: Result<PathBuf, String>) {
    let duckdb = environment("python-fleet-duckdb", &["duckdb==2.0.*"]);
    let (duckdb, python) = match (duckdb, python) {
        (Ok(duckdb), Ok(python)) => (duckdb, python),
        (Err(reason), _) | (_, Err(reason)) => return not_run(&reason),
    };
    let (_folder, [recording, tables]) = exported();
    let all = sums(&ask(&python, engine, &tables, "commands", &["--limit", "100"]));
    let expected = machine::sums(&recording);
    assert_eq!(all.values().sum::<i128>(), expected.capacity, "{engine}: {all:?}");
    for (name, ns) in &expected.by_command {
        let key = if name == "(unidentified)" { "unidentified: (unidentified)" } else { name };
        assert_eq!(all.get(key), Some(ns), "{engine}: {name}");
    }
    let [units, pods] = machine::sums_of_units_and_pods(&recording);
    for (question, expected) in [("units", &units), ("pods", &pods)] {
        let mut all = sums(&ask(&python, engine, &tables, question, &["--limit", "100"]));
        all.retain(|name, _| !name.contains(": "));
        assert_eq!(all, *expected, "{engine} {question}");
    }
    assert_eq!(cost(&ask(&python, engine, &tables, "cost", &["--unit", "a.service"])), units["a.service"]);
    let pod = r#"prod/shop's "one""#;
    assert_eq!(cost(&ask(&python, engine, &tables, "cost", &["--pod", pod])), pods[pod]);
    for (question, options) in QUESTIONS {
        let answer = ask(&python, engine, &tables, question, options);
        assert!(!answer.is_empty(), "{engine} {question}");
        if engine != "duckdb" {
            assert_eq!(answer, ask(&duckdb, "duckdb", &tables, question, options), "{engine} {question}");
        }
        if ["commands", "units", "pods"].contains(&question) {
            assert!(answer.iter().any(|line| line.contains("(other)")), "{engine} {question}: {answer:?}");
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
    check("clickhouse", large_environment("python-chdb", &["chdb==4.*"]));
}

#[test]
fn spark_answers_as_duckdb_does() {
    check("spark", spark_environment("python-spark"));
}

/// The text of a script of `fleet/` for a day of these tables.
fn script(name: &str, tables: &Path, day: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fleet").join(name);
    let text = std::fs::read_to_string(path).expect("it is there");
    let tables = tables.to_str().expect("a path");
    text.replace(":function", "file").replace(":tables", tables).replace(":day", day)
}

/// Runs scripts of ClickHouse one after the other, and prints what they answer as lines of JSON.
const RUN: &str = "
import json, re, sys
sys.path.insert(0, sys.argv[1])
from ask import plain
from chdb import session
connection = session.Session(sys.argv[2])
for path in sys.argv[3:]:
    text = re.sub('^--.*$', '', open(path).read(), flags=re.MULTILINE)
    for statement in text.split(';\\n'):
        answer = str(connection.query(statement, 'JSONEachRow')) if statement.strip() else ''
        for line in answer.splitlines():
            print(json.dumps({key: plain(value) for key, value in json.loads(line).items()}))
";

#[test]
fn a_database_of_clickhouse_has_the_same_sums_by_hour_and_takes_a_day_twice() {
    let python = match large_environment("python-chdb", &["chdb==4.*"]) {
        Ok(python) => python,
        Err(reason) => return not_run(&reason),
    };
    let (folder, [_, tables]) = exported();
    let mut scripts = Vec::new();
    let mut add = |text: String| {
        let path = folder.path().join(format!("{}.sql", scripts.len()));
        std::fs::write(&path, text).expect("written");
        scripts.push(path);
    };
    add(script("clickhouse.sql", &tables, ""));
    for day in ["2023-11-14", "2023-11-15", "2023-11-15"] {
        add(script("clickhouse_load.sql", &tables, day));
    }
    let run = |scripts: &[PathBuf]| {
        let mut command = Command::new(&python);
        let fleet = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fleet");
        command.args(["-B", "-c", RUN]).arg(fleet).arg(folder.path().join("database")).args(scripts);
        let output = command.output().expect("python starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        String::from_utf8(output.stdout).expect("JSON is UTF-8")
    };
    assert_eq!(run(&scripts), "");
    for (question, options) in QUESTIONS.iter().filter(|(question, _)| *question != "compare") {
        let ask = |tables: &Path, more: &[&str]| {
            let options = [*options, more].concat();
            ask(&python, "clickhouse", tables, question, &options)
        };
        let expected = ask(&tables, &[]);
        let sql = folder.path().join("query.sql");
        std::fs::write(&sql, ask(Path::new("database:cpuledger"), &["--print-sql"]).join("\n"))
            .expect("written");
        let answer = run(&[sql]);
        let rows = |lines: &mut dyn Iterator<Item = &str>| -> Vec<serde_json::Value> {
            lines.map(|line| serde_json::from_str(line).expect("JSON")).collect()
        };
        assert_eq!(
            rows(&mut answer.lines()),
            rows(&mut expected.iter().map(String::as_str)),
            "{question} {options:?}"
        );
    }
}

/// What is printed may be seen by others.
#[test]
fn printed_sql_has_no_secrets() {
    for (engine, words) in [("duckdb", "s3://books/fleet/usage"), ("clickhouse", "/books/fleet/usage")] {
        let ask = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fleet/ask.py");
        let output = Command::new("python3")
            .arg(ask)
            .args(["--engine", engine, "--tables", "s3://books/fleet", "--print-sql", "hosts"])
            .envs([("AWS_ACCESS_KEY_ID", "somebody"), ("AWS_SECRET_ACCESS_KEY", "a secret")])
            .output()
            .expect("python starts");
        let sql = String::from_utf8(output.stdout).expect("UTF-8");
        assert!(output.status.success() && sql.contains(words), "{engine}: {sql}");
        assert!(!sql.contains("secret") && !sql.contains("somebody"), "{engine}: {sql}");
    }
}

/// A process that ends with the test.
struct Running(std::process::Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until a file has this text.
fn await_text(path: &Path, text: &str) {
    let begin = std::time::Instant::now();
    while !std::fs::read_to_string(path).is_ok_and(|all| all.contains(text)) {
        assert!(begin.elapsed().as_secs() < 120, "{}: no '{text}'", path.display());
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
}

/// A master and two workers, as processes of their own.
#[test]
fn a_cluster_of_spark_answers_as_duckdb_does() {
    let environments =
        (environment("python-fleet-duckdb", &["duckdb==2.0.*"]), spark_environment("python-spark"));
    let (duckdb, python) = match environments {
        (Ok(duckdb), Ok(python)) => (duckdb, python),
        (Err(reason), _) | (_, Err(reason)) => return not_run(&reason),
    };
    let (folder, [_, tables]) = exported();
    let home = Command::new(&python)
        .args(["-c", "import pyspark; print(pyspark.__path__[0])"])
        .output()
        .expect("python starts");
    let home = PathBuf::from(String::from_utf8(home.stdout).expect("a path").trim());
    let port = std::net::TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a port");
    let start = |name: &str, class: &str, arguments: &[&str]| {
        let log = folder.path().join(name);
        let file = std::fs::File::create(&log).expect("a file");
        let child = Command::new(home.join("bin/spark-class"))
            .arg(format!("org.apache.spark.deploy.{class}"))
            .args(["--host", "127.0.0.1", "--webui-port", "0"])
            .args(arguments)
            .env("SPARK_LOCAL_IP", "127.0.0.1")
            .stdout(file.try_clone().expect("a file"))
            .stderr(file)
            .spawn();
        (log, Running(child.expect("java starts")))
    };
    let (log, _master) = start("master", "master.Master", &["--port", &port.port().to_string()]);
    await_text(&log, "I have been elected leader");
    let address = format!("spark://{port}");
    let work = folder.path().join("work");
    let work = work.to_str().expect("a path");
    let workers = ["one", "two"].map(|name| {
        start(name, "worker.Worker", &["--cores", "1", "--memory", "1g", "--work-dir", work, &address])
    });
    workers.iter().for_each(|(log, _)| await_text(log, "Successfully registered with master"));
    for (question, options) in [QUESTIONS[0], QUESTIONS[2], QUESTIONS[11]] {
        let of_spark = [options, &["--master", &address]].concat();
        let answer = ask(&python, "spark", &tables, question, &of_spark);
        assert_eq!(answer, ask(&duckdb, "duckdb", &tables, question, options), "{question}");
    }
    workers.iter().for_each(|(log, _)| await_text(log, "Asked to launch executor"));
}
