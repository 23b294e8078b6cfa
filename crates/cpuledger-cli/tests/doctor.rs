//! `cpuledger doctor`, as the user that runs the tests.

use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

fn doctor(arguments: &[&str]) -> std::process::Output {
    Command::new(env!("CARGO_BIN_EXE_cpuledger"))
        .arg("doctor")
        .args(arguments)
        .output()
        .expect("cpuledger runs")
}

#[test]
fn the_json_is_complete() {
    let output = doctor(&["--format", "json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(report["schema"], "cpuledger.doctor/1");
    assert!(report["machine"]["online_cpus"].as_u64().is_some_and(|cpus| cpus > 0));
    let sources = report["sources"].as_array().expect("sources");
    let names: Vec<&Value> = sources.iter().map(|source| &source["source"]).collect();
    assert_eq!(names, ["service", "ledger", "walk", "netlink", "procfs"]);
    for source in sources {
        let keys = [
            "source",
            "usable",
            "reason",
            "remedy",
            "facts",
            "sees",
            "misses",
            "needs",
            "attempt",
            "ledger",
            "log",
            "hidden_pids",
        ];
        for key in keys {
            assert!(source.get(key).is_some(), "{key} of {source}");
        }
        assert_eq!(source.as_object().map(|source| source.len()), Some(keys.len()), "no other: {source}");
        let attempt = if source["source"] == "ledger" { "ledger" } else { "attempt" };
        assert_eq!(source["usable"] == true, source[attempt].is_object(), "{source}");
        assert!(source["reason"].as_str().is_some_and(|reason| !reason.contains('\n')), "{source}");
    }
    assert_eq!(sources[4]["usable"], true, "/proc is there: {}", sources[4]);
}

#[test]
fn the_text_has_no_colour_in_a_pipe_and_no_other_bytes_than_ascii() {
    let output = doctor(&[]);
    assert!(output.status.success());
    assert!(output.stdout.iter().all(|byte| (b' '..=b'~').contains(byte) || *byte == b'\n'));
    let text = String::from_utf8(output.stdout).expect("ASCII");
    assert!(text.contains("\nprocfs       usable\n") && text.contains("\nauto takes "), "{text}");
}

#[test]
fn an_unknown_format_is_a_usage_error() {
    assert_eq!(doctor(&["--format", "xml"]).status.code(), Some(2));
}

/// A service that answers each call with these bytes, in a thread that ends with the test.
fn answering(answer: &'static str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("socket");
    let listener = UnixListener::bind(&path).expect("a socket");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    (folder, path)
}

#[test]
fn words_of_a_service_reach_no_terminal_as_a_control() {
    let foul = r#"no\u001b]0;title\u0007\u202e\nauto takes\u009b31m"#;
    let answer = format!(
        "{{\"parameters\":{{\"sentence\":\"{foul}\"}},\"error\":\"io.cpuledger.Ledger.Unavailable\"}}\0"
    );
    let (_folder, socket) = answering(answer.leak());
    let socket = socket.to_str().expect("UTF-8");
    for format in ["text", "json"] {
        let output = doctor(&["--format", format, "--socket", socket]);
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        assert!(text.contains(r"\x1b]0;title"), "{text}");
        let is_foul =
            |character: char| character.is_control() && character != '\n' || character == '\u{202e}';
        assert_eq!(text.chars().find(|&character| is_foul(character)), None, "{text:?}");
        assert!(!text.contains("\nauto takes\u{9b}") && !text.contains("\nauto takes\\"), "{text:?}");
    }
}
