//! Exports to stores of objects: a real server of S3 and one of WebDAV. What a push that was killed has left is whole, the next one completes it, and
//! no object is there twice.

mod machine;
mod python;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use cpuledger_export::{Format, Options, Progress, export};
use cpuledger_load::not_run;
use cpuledger_recording::{Span, When};
use python::client_environment;

/// A server that ends with the test.
struct Server {
    child: Child,
    address: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    /// Runs a program with its port for `PORT`, and waits until somebody listens there.
    fn start(program: &Path, arguments: &[&str]) -> Server {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a port");
        let port = free.port().to_string();
        let arguments = arguments.iter().map(|word| if *word == "PORT" { &*port } else { word });
        let child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        let server = Server { child, address: free.to_string() };
        let begin = Instant::now();
        while std::net::TcpStream::connect(free).is_err() {
            assert!(begin.elapsed().as_secs() < 60, "{} does not listen", program.display());
            thread::sleep(Duration::from_millis(50));
        }
        server
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The variables of the environment that lead to it.
    fn variables(&self) -> [(&'static str, String); 5] {
        [
            ("AWS_ENDPOINT_URL", self.url()),
            ("AWS_ALLOW_HTTP", "true".into()),
            ("AWS_ACCESS_KEY_ID", "testing".into()),
            ("AWS_SECRET_ACCESS_KEY", "testing".into()),
            ("AWS_DEFAULT_REGION", "us-east-1".into()),
        ]
    }
}

/// A server of S3, and the Python that has its client.
fn s3() -> Result<(Server, PathBuf), String> {
    let python = client_environment("python-moto", &["moto[s3]==5.2.*", "flask==3.*", "flask-cors==6.*"])?;
    let program = python.with_file_name("moto_server");
    Ok((Server::start(&program, &["-H", "127.0.0.1", "-p", "PORT"]), python))
}

/// A program with the variables of the environment that are not of this machine's own stores.
fn clean(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("AWS_") {
            command.env_remove(name);
        }
    }
    command
}

fn push(recording: &Path, to: &str, more: &[&str]) -> Command {
    let mut command = clean(env!("CARGO_BIN_EXE_cpuledger-export"));
    command.arg(recording).args(["--to", to]).args(more);
    command
}

/// What the client of a bucket says.
fn bucket(server: &Server, python: &Path, words: &[&str]) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/bucket.py");
    let output = clean(python).arg(script).args(words).envs(server.variables()).output().expect("it starts");
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The objects: size, checksum and time of each.
fn objects(server: &Server, python: &Path) -> BTreeMap<String, (u64, String, String)> {
    serde_json::from_str(&bucket(server, python, &["list", "books"])).expect("JSON")
}

/// How often a word is in what the server lists: quick, so that a push can be killed in the middle.
fn listed(server: &Server, query: &str, word: &str) -> usize {
    let mut stream = std::net::TcpStream::connect(&server.address).expect("it listens");
    let request = format!("GET /books?{query} HTTP/1.0\r\nHost: {}\r\n\r\n", server.address);
    stream.write_all(request.as_bytes()).expect("sent");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("an answer");
    String::from_utf8_lossy(&answer).matches(word).count()
}

/// All files below a folder, from there on, with their sizes, but for those that a server removes or renames meanwhile.
fn files(folder: &Path) -> BTreeMap<String, u64> {
    let (mut found, mut folders) = (BTreeMap::new(), vec![folder.to_path_buf()]);
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).into_iter().flatten() {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(file) = fs::metadata(&path) {
                let name = path.strip_prefix(folder).expect("below it").to_str().expect("a text").to_owned();
                found.insert(name, file.len());
            }
        }
    }
    found
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Kills a push as soon as this is the case.
fn kill_when(command: &mut Command, is_so: impl Fn() -> bool) {
    let mut child = command.stderr(Stdio::piped()).spawn().expect("it starts");
    let begin = Instant::now();
    while !is_so() {
        if child.try_wait().expect("a child").is_some() {
            let output = child.wait_with_output().expect("a child");
            panic!("it was done before it was killed: {}", said(&output));
        }
        assert!(begin.elapsed().as_secs() < 120, "it does nothing");
    }
    child.kill().expect("it runs");
    child.wait().expect("a child");
}

/// What queries answer of tables. DuckDB has its extensions below the home.
fn answers(
    python: &Path,
    (tables, home): (&str, &Path),
    server: Option<&Server>,
    engine: &str,
) -> Vec<String> {
    let ask = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fleet/ask.py");
    let one = |query: &str| {
        let mut command = clean(python);
        command.arg(&ask).args(["--engine", engine, "--tables", tables, "--since", "2023-11-14"]);
        command.args(["--until", "2023-11-16", query]).env("HOME", home);
        if let Some(server) = server {
            command.envs(server.variables());
        }
        let output = command.output().expect("python starts");
        assert!(output.status.success(), "{engine} {query}: {}", said(&output));
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    ["commands", "pods", "gaps"].map(one).to_vec()
}

#[test]
fn a_push_that_is_killed_is_completed_and_no_object_is_there_twice() {
    let (server, python) = match s3() {
        Ok(both) => both,
        Err(reason) => return not_run(&reason),
    };
    let folder = tempfile::tempdir().expect("a folder");
    let (recording, tables) = (folder.path().join("recording"), folder.path().join("tables"));
    machine::record(&recording, 1200);
    export(&recording, &tables, &Options::all(Format::Parquet), &Progress::default()).expect("written");
    bucket(&server, &python, &["make", "books"]);
    let run =
        || push(&recording, "s3://books/fleet/one", &[]).envs(server.variables()).output().expect("it runs");
    // Again and again, a little later each time.
    for least in [1, 7, 13] {
        kill_when(push(&recording, "s3://books/fleet/one", &[]).envs(server.variables()), || {
            listed(&server, "list-type=2", "<Key>") >= least
        });
    }
    let killed = objects(&server, &python);
    let output = run();
    assert!(output.status.success(), "{}", said(&output));
    let all = objects(&server, &python);
    let expected: BTreeMap<String, u64> =
        files(&tables).into_iter().map(|(name, size)| (format!("fleet/one/{name}"), size)).collect();
    let sizes: BTreeMap<String, u64> = all.iter().map(|(name, (size, ..))| (name.clone(), *size)).collect();
    assert_eq!(sizes, expected, "the objects are those of a directory");
    assert!(killed.len() >= 13 && killed.len() < all.len(), "{} of {}", killed.len(), all.len());
    for (name, (size, sum, _)) in &killed {
        assert_eq!((size, sum), (&all[name].0, &all[name].1), "{name} was whole");
    }
    // A third push has nothing to do.
    let output = run();
    assert!(said(&output).contains("not written again"), "{}", said(&output));
    assert_eq!(objects(&server, &python), all, "nothing was sent again");

    let copy = folder.path().join("copy");
    bucket(&server, &python, &["get", "books", copy.to_str().expect("a path")]);
    match client_environment("python-fleet-duckdb", &["duckdb==2.0.*"]) {
        Ok(duckdb) => {
            let [of_folder, of_copy] = [tables, copy.join("fleet/one")].map(|tables| {
                answers(&duckdb, (tables.to_str().expect("a path"), folder.path()), None, "duckdb")
            });
            assert_eq!(of_copy, of_folder);
        }
        Err(reason) => not_run(&reason),
    }
}

/// Engines read the bucket itself, with the same answers as of a directory.
#[test]
fn engines_read_a_bucket_as_they_read_a_directory() {
    let (server, python) = match s3() {
        Ok(both) => both,
        Err(reason) => return not_run(&reason),
    };
    let folder = tempfile::tempdir().expect("a folder");
    let (recording, tables) = (folder.path().join("recording"), folder.path().join("tables"));
    machine::record(&recording, 130);
    export(&recording, &tables, &Options::all(Format::Parquet), &Progress::default()).expect("written");
    bucket(&server, &python, &["make", "books"]);
    let output =
        push(&recording, "s3://books/fleet", &[]).envs(server.variables()).output().expect("it runs");
    assert!(output.status.success(), "{}", said(&output));
    // Of DuckDB, this version has its extension for object stores as a package.
    let duckdb = ["duckdb==1.5.5", "duckdb-extensions==1.5.5", "duckdb-extension-httpfs==1.5.5"];
    for (engine, environment) in [
        ("duckdb", client_environment("python-fleet-httpfs", &duckdb)),
        ("clickhouse", client_environment("python-chdb", &["chdb==4.*"])),
    ] {
        match environment {
            Ok(python) => {
                let home = folder.path();
                if engine == "duckdb" {
                    let import = "import duckdb_extensions; duckdb_extensions.import_extension('httpfs')";
                    let status = Command::new(&python).args(["-c", import]).env("HOME", home).status();
                    assert!(status.expect("python starts").success());
                }
                let of_folder = answers(&python, (tables.to_str().expect("a path"), home), None, engine);
                let of_bucket = answers(&python, ("s3://books/fleet", home), Some(&server), engine);
                assert_eq!(of_bucket, of_folder, "{engine}");
            }
            Err(reason) => not_run(&reason),
        }
    }
}

#[test]
fn a_large_file_is_sent_in_parts_and_seen_when_the_last_is_there() {
    let (server, python) = match s3() {
        Ok(both) => both,
        Err(reason) => return not_run(&reason),
    };
    let folder = tempfile::tempdir().expect("a folder");
    let (recording, tables) = (folder.path().join("recording"), folder.path().join("tables"));
    machine::record_at_once(&recording, 12_000);
    export(&recording, &tables, &Options::all(Format::Csv), &Progress::default()).expect("written");
    let expected = files(&tables);
    assert!(expected.values().any(|size| *size > 16 << 20), "one has three parts or more: {expected:?}");
    bucket(&server, &python, &["make", "books"]);
    let mut command = push(&recording, "s3://books/", &["--format", "csv"]);
    command.envs(server.variables());
    kill_when(&mut command, || listed(&server, "uploads", "<UploadId>") > 0);
    let killed = objects(&server, &python);
    for (name, (size, ..)) in &killed {
        assert_eq!(expected.get(name), Some(size), "{name} is whole or not there");
    }
    assert!(killed.len() < expected.len());
    let output = command.stderr(Stdio::piped()).output().expect("it runs");
    assert!(output.status.success(), "{}", said(&output));
    let all = objects(&server, &python);
    let sizes: BTreeMap<String, u64> = all.iter().map(|(name, (size, ..))| (name.clone(), *size)).collect();
    assert_eq!(sizes, expected);
}

/// A part of a segment is replaced by the whole of it.
#[test]
fn a_part_goes_when_the_whole_segment_comes() {
    let (server, python) = match s3() {
        Ok(both) => both,
        Err(reason) => return not_run(&reason),
    };
    let folder = tempfile::tempdir().expect("a folder");
    let recording = folder.path().join("recording");
    machine::record(&recording, 60);
    bucket(&server, &python, &["make", "books"]);
    let until = "@1700006400";
    for (more, is_part) in [(&["--until", until][..], true), (&[], false)] {
        let output = push(&recording, "s3://books", more).envs(server.variables()).output().expect("it runs");
        assert!(output.status.success(), "{}", said(&output));
        let all = objects(&server, &python);
        assert!(!all.is_empty() && all.keys().all(|name| name.contains("-part.") == is_part), "{all:?}");
    }
}

#[test]
fn parts_that_are_apart_stay_in_a_bucket_and_those_that_cross_become_one() {
    let (server, python) = match s3() {
        Ok(both) => both,
        Err(reason) => return not_run(&reason),
    };
    let folder = tempfile::tempdir().expect("a folder");
    let (recording, tables) = (folder.path().join("recording"), folder.path().join("tables"));
    machine::record(&recording, 60);
    bucket(&server, &python, &["make", "books"]);
    for (since, until, parts) in [(5, 15, 1), (15, 25, 2), (10, 20, 1), (40, 45, 2), (36, 50, 2)] {
        let at = |second: u64| machine::BEGIN_NS + second * machine::SECOND_NS;
        let span = Span { since: When::Realtime(at(since)), until: When::Realtime(at(until)) };
        let options = Options { span, ..Options::all(Format::Parquet) };
        export(&recording, &tables, &options, &Progress::default()).expect("written");
        let [since, until] = [since, until].map(|second| format!("@{}", 1_700_006_370 + second));
        let words = ["--since", &since, "--until", &until];
        let output =
            push(&recording, "s3://books", &words).envs(server.variables()).output().expect("it runs");
        assert!(output.status.success(), "{}", said(&output));
        let all = objects(&server, &python);
        let sizes: BTreeMap<String, u64> =
            all.iter().map(|(name, (size, ..))| (name.clone(), *size)).collect();
        assert_eq!(sizes, files(&tables), "the objects are those of a directory");
        let names: BTreeSet<&str> = sizes.keys().filter_map(|name| name.rsplit('/').next()).collect();
        assert_eq!(names.len(), parts, "{names:?}");
    }
}

#[test]
fn a_webdav_server_has_the_files_of_a_directory() {
    let python = match client_environment("python-wsgidav", &["wsgidav==4.*", "cheroot==11.*"]) {
        Ok(python) => python,
        Err(reason) => return not_run(&reason),
    };
    let folder = tempfile::tempdir().expect("a folder");
    let (recording, tables, root) =
        (folder.path().join("recording"), folder.path().join("tables"), folder.path().join("root"));
    fs::create_dir(&root).expect("made");
    let arguments = ["--host", "127.0.0.1", "--port", "PORT", "--auth", "anonymous", "--no-config", "--root"];
    let arguments = [&arguments[..], &[root.to_str().expect("a path")]].concat();
    let server = Server::start(&python.with_file_name("wsgidav"), &arguments);
    machine::record(&recording, 200);
    export(&recording, &tables, &Options::all(Format::Parquet), &Progress::default()).expect("written");
    let to = format!("{}/fleet", server.url());
    let run = || push(&recording, &to, &[]).env("AWS_ALLOW_HTTP", "true").output().expect("it runs");
    kill_when(push(&recording, &to, &[]).env("AWS_ALLOW_HTTP", "true"), || files(&root).len() >= 3);
    let whole = |files: BTreeMap<String, u64>| {
        let is_named = |name: &String| !name.contains("/.");
        files.into_iter().filter(|(name, _)| is_named(name)).collect::<BTreeMap<_, _>>()
    };
    for (name, size) in whole(files(&root.join("fleet"))) {
        assert_eq!(files(&tables).get(&name), Some(&size), "{name} is whole");
    }
    for _ in 0..2 {
        let output = run();
        assert!(output.status.success(), "{}", said(&output));
        assert_eq!(files(&root.join("fleet")), files(&tables), "hidden ones are gone, too");
    }
    let output = push(&recording, &to, &[]).output().expect("it runs");
    assert!(said(&output).contains("not encrypted"), "{}", said(&output));
}

/// Answers each request with these bytes.
fn answering(bytes: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let _ = stream.read(&mut [0; 65_536]);
            let _ = stream.write_all(bytes.as_bytes());
        }
    });
    format!("http://{address}")
}

const FORBIDDEN: &str = "HTTP/1.1 403 Forbidden\r\nContent-Length: 44\r\nConnection: close\r\n\r\n\
    <Error><Code>AccessDenied</Code></Error>\x1b[2J";

/// A destination, variables of the environment, the exit code and what is said.
type Case<'a> = (&'a str, Vec<(&'a str, &'a str)>, i32, &'a str);

#[test]
fn what_is_wrong_with_a_store_is_said_with_what_helps() {
    let folder = tempfile::tempdir().expect("a folder");
    let recording = folder.path().join("recording");
    machine::record(&recording, 60);
    let forbidding = answering(FORBIDDEN);
    let keys = [("AWS_ACCESS_KEY_ID", "a"), ("AWS_SECRET_ACCESS_KEY", "b"), ("AWS_ALLOW_HTTP", "true")];
    let nobody = ("AWS_ENDPOINT_URL", "http://127.0.0.1:9");
    let cases: [Case<'_>; 7] = [
        ("s3://books", [&keys[..], &[nobody]].concat(), 1, "cannot be reached"),
        ("s3://books", [&keys[..2], &[nobody]].concat(), 1, "AWS_ALLOW_HTTP=true"),
        (
            "s3://books",
            vec![nobody, keys[2], ("AWS_METADATA_ENDPOINT", "http://127.0.0.1:9")],
            1,
            "no credentials",
        ),
        ("s3://books", [&keys[..], &[("AWS_ENDPOINT_URL", &*forbidding)]].concat(), 1, "s3:PutObject"),
        ("https://127.0.0.1:9/fleet", vec![], 1, "cannot be reached"),
        ("gs://books", vec![], 2, "unknown"),
        ("https://me:secret@host/", vec![], 2, "password"),
    ];
    for (to, variables, code, words) in cases {
        let begin = Instant::now();
        let output = push(&recording, to, &[]).envs(variables.iter().copied()).output().expect("it runs");
        let said = said(&output);
        assert_eq!(output.status.code(), Some(code), "{to}: {said}");
        assert!(said.contains(words) && said.lines().count() == 1, "{to}: {said}");
        assert!(!said.contains("secret") && !said.contains('\u{1b}'), "{to}: {said:?}");
        assert!(begin.elapsed() < Duration::from_secs(60), "{to}: {:?}", begin.elapsed());
    }
    let output = push(&recording, "x", &["--output", "y"]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
}

#[test]
fn a_bucket_that_is_not_there_is_said() {
    let (server, _) = match s3() {
        Ok(both) => both,
        Err(reason) => return not_run(&reason),
    };
    let folder = tempfile::tempdir().expect("a folder");
    let recording = folder.path().join("recording");
    machine::record(&recording, 60);
    let output = push(&recording, "s3://nowhere/a", &[]).envs(server.variables()).output().expect("it runs");
    assert!(said(&output).contains("no such bucket") && output.status.code() == Some(1), "{}", said(&output));
}
