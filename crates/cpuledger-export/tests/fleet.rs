//! The questions of `fleet/queries`: each engine gives the same integers, and all commands, idle and unattributed time are the capacity.

mod machine;
mod python;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use cpuledger_export::{Format, Options, Progress, export};
use cpuledger_load::not_run;
use python::{client_environment, spark_environment};
use tempfile::TempDir;

/// A question, and its options.
type Question<'a> = (&'a str, &'a [&'a str]);

/// Questions with a span of the recording, which begins half a minute before midnight.
const QUESTIONS: [Question<'static>; 12] = [
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

/// Asks all questions in one process: an engine takes longer to start than to answer. Behind each answer is an empty line.
const ASK: &str = "
import json, sys
sys.path.insert(0, sys.argv[1])
import ask
for words in json.loads(sys.argv[2]):
    sys.argv[1:] = words
    code = ask.main()
    if code != 0:
        sys.exit(code)
    print()
";

/// `fleet/` of the repository.
fn fleet() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fleet")
}

/// The arguments of `ask.py`.
fn words<'a>(engine: &'a str, tables: &'a Path, (question, options): Question<'a>) -> Vec<&'a str> {
    let place = tables.to_str().expect("a path");
    let first = ["--engine", engine, "--tables", place, "--since", "2023-11-14", "--until", "2023-11-16"];
    [&first[..], &[question], options].concat()
}

/// Python, in a folder where Spark may leave files.
fn python_beside(python: &Path, tables: &Path) -> Command {
    let mut command = Command::new(python);
    command.current_dir(if tables.is_dir() { tables } else { Path::new("/") });
    command
}

/// What an engine answers on the command line: a line of JSON for each row.
fn ask(python: &Path, engine: &str, tables: &Path, question: Question) -> Vec<String> {
    let mut command = python_beside(python, tables);
    let text = output(command.arg(fleet().join("ask.py")).args(words(engine, tables, question)));
    text.lines().map(str::to_owned).collect()
}

/// What it answers to each of these, in one process.
fn ask_all(python: &Path, engine: &str, tables: &Path, questions: &[Question]) -> Vec<Vec<String>> {
    let all: Vec<_> = questions.iter().map(|question| words(engine, tables, *question)).collect();
    let mut command = python_beside(python, tables);
    command.args(["-B", "-c", ASK]).arg(fleet()).arg(serde_json::json!(all).to_string());
    let answers = answers(&mut command);
    assert_eq!(answers.len(), questions.len(), "{engine}: {answers:?}");
    answers
}

fn output(command: &mut Command) -> String {
    let output = command.output().expect("python starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
    String::from_utf8(output.stdout).expect("JSON is UTF-8")
}

/// Answers that end with an empty line each.
fn answers(command: &mut Command) -> Vec<Vec<String>> {
    let lines: Vec<String> = output(command).lines().map(str::to_owned).collect();
    let mut answers: Vec<_> = lines.split(String::is_empty).map(<[String]>::to_vec).collect();
    assert_eq!(answers.pop(), Some(Vec::new()), "the last answer ends");
    answers
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
    let duckdb = client_environment("python-fleet-duckdb", &["duckdb==2.0.*"]);
    let (duckdb, python) = match (duckdb, python) {
        (Ok(duckdb), Ok(python)) => (duckdb, python),
        (Err(reason), _) | (_, Err(reason)) => return not_run(&reason),
    };
    let (_folder, [recording, tables]) = exported();
    let all = sums(&ask(&python, engine, &tables, ("commands", &["--limit", "100"])));
    let expected = machine::sums(&recording);
    assert_eq!(all.values().sum::<i128>(), expected.capacity, "{engine}: {all:?}");
    for (name, ns) in &expected.by_command {
        let key = if name == "(unidentified)" { "unidentified: (unidentified)" } else { name };
        assert_eq!(all.get(key), Some(ns), "{engine}: {name}");
    }
    let pod = r#"prod/shop's "one""#;
    let known: [Question; 4] = [
        ("units", &["--limit", "100"]),
        ("pods", &["--limit", "100"]),
        ("cost", &["--unit", "a.service"]),
        ("cost", &["--pod", pod]),
    ];
    let answers = ask_all(&python, engine, &tables, &[&known[..], &QUESTIONS].concat());
    let (of_known, answers) = answers.split_at(known.len());
    let [units, pods] = machine::sums_of_units_and_pods(&recording);
    for (answer, expected) in of_known.iter().zip([&units, &pods]) {
        let mut all = sums(answer);
        all.retain(|name, _| !name.contains(": "));
        assert_eq!(all, *expected, "{engine}");
    }
    assert_eq!(cost(&of_known[2]), units["a.service"]);
    assert_eq!(cost(&of_known[3]), pods[pod]);
    let of_duckdb = ask_all(&duckdb, "duckdb", &tables, &QUESTIONS);
    for (((question, _), answer), of_duckdb) in QUESTIONS.iter().zip(answers).zip(of_duckdb) {
        assert!(!answer.is_empty(), "{engine} {question}");
        assert_eq!(*answer, of_duckdb, "{engine} {question}");
        if ["commands", "units", "pods"].contains(question) {
            assert!(answer.iter().any(|line| line.contains("(other)")), "{engine} {question}: {answer:?}");
            assert_eq!(sums(answer).values().sum::<i128>(), expected.capacity, "the rest is there, too");
        }
    }
}

#[test]
fn duckdb_answers_with_the_sums_of_the_frames() {
    check("duckdb", client_environment("python-fleet-duckdb", &["duckdb==2.0.*"]));
}

#[test]
fn clickhouse_answers_as_duckdb_does() {
    check("clickhouse", client_environment("python-chdb", &["chdb==4.*"]));
}

#[test]
fn spark_answers_as_duckdb_does() {
    check("spark", spark_environment("python-spark"));
}

/// The text of a script of `fleet/` for a day of these tables.
fn script(name: &str, tables: &Path, day: &str) -> String {
    let text = std::fs::read_to_string(fleet().join(name)).expect("it is there");
    let tables = tables.to_str().expect("a path");
    text.replace(":function", "file").replace(":tables", tables).replace(":day", day)
}

/// Runs scripts of ClickHouse one after the other, and prints what each answers as lines of JSON, and an empty line.
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
    print()
";

#[test]
fn a_database_of_clickhouse_has_the_same_sums_by_hour_and_takes_a_day_twice() {
    let python = match client_environment("python-chdb", &["chdb==4.*"]) {
        Ok(python) => python,
        Err(reason) => return not_run(&reason),
    };
    let (folder, [_, tables]) = exported();
    let questions: Vec<Question> =
        QUESTIONS.into_iter().filter(|(question, _)| *question != "compare").collect();
    let expected = ask_all(&python, "clickhouse", &tables, &questions);
    let mut texts = vec![script("clickhouse.sql", &tables, "")];
    texts.extend(
        ["14", "15", "15"].map(|day| script("clickhouse_load.sql", &tables, &format!("2023-11-{day}"))),
    );
    let loads = texts.len();
    for (question, options) in &questions {
        let printed = [*options, &["--print-sql"]].concat();
        let database = Path::new("database:cpuledger");
        texts.push(ask(&python, "clickhouse", database, (question, &printed)).join("\n"));
    }
    let mut command = Command::new(&python);
    command.args(["-B", "-c", RUN]).arg(fleet()).arg(folder.path().join("database"));
    for (number, text) in texts.iter().enumerate() {
        let path = folder.path().join(format!("{number}.sql"));
        std::fs::write(&path, text).expect("written");
        command.arg(path);
    }
    let answers = answers(&mut command);
    assert_eq!(answers.len(), texts.len(), "{answers:?}");
    let (of_loads, answers) = answers.split_at(loads);
    assert!(of_loads.concat().is_empty(), "{of_loads:?}");
    for ((question, answer), expected) in questions.iter().zip(answers).zip(&expected) {
        let rows = |lines: &[String]| -> Vec<serde_json::Value> {
            lines.iter().map(|line| serde_json::from_str(line).expect("JSON")).collect()
        };
        assert_eq!(rows(answer), rows(expected), "{question:?}");
    }
}

/// What is printed may be seen by others.
#[test]
fn printed_sql_has_no_secrets() {
    for (engine, words) in [("duckdb", "s3://books/fleet/usage"), ("clickhouse", "/books/fleet/usage")] {
        let output = Command::new("python3")
            .arg(fleet().join("ask.py"))
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
        (client_environment("python-fleet-duckdb", &["duckdb==2.0.*"]), spark_environment("python-spark"));
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
    let questions = [QUESTIONS[0], QUESTIONS[2], QUESTIONS[11]];
    let on_cluster = questions.map(|(_, options)| [options, &["--master", &address]].concat());
    let of_spark: Vec<Question> =
        questions.iter().zip(&on_cluster).map(|((question, _), options)| (*question, &options[..])).collect();
    let answers = ask_all(&python, "spark", &tables, &of_spark);
    assert_eq!(answers, ask_all(&duckdb, "duckdb", &tables, &questions));
    workers.iter().for_each(|(log, _)| await_text(log, "Asked to launch executor"));
}
