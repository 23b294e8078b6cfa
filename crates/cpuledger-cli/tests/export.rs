//! `cpuledger export` from outside: what it writes, says and returns.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use cpuledger_recording::Recording;

fn segment() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../cpuledger-recording/tests/fixtures/version-1.seg")
}

fn export(arguments: &[&str], recording: &Path, to: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cpuledger"))
        .arg("export")
        .arg(recording)
        .arg("--output")
        .arg(to)
        .args(arguments)
        .output()
        .expect("cpuledger starts")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_segment_of_version_1_is_exported_and_not_written_twice() {
    let folder = tempfile::tempdir().expect("a folder");
    for format in ["parquet", "arrow", "csv", "jsonl"] {
        let to = folder.path().join(format);
        let first = export(&["--format", format], &segment(), &to);
        assert!(first.status.success() && said(&first).contains(" rows in 3 files"), "{}", said(&first));
        assert!(first.stdout.is_empty());
        for table in ["intervals", "usage", "exited"] {
            assert!(to.join(table).is_dir(), "{table}");
        }
        let second = export(&["--format", format], &segment(), &to);
        assert!(second.status.success(), "{}", said(&second));
        assert!(said(&second).contains("1 segment not written again"), "{}", said(&second));
    }
}

/// Records from /proc, until it is waited for.
fn record(folder: &Path, options: &[&str]) -> Command {
    let mut record = Command::new(env!("CARGO_BIN_EXE_cpuledger"));
    record.arg("record").arg(folder).args(["--source", "procfs", "--interval", "0.05", "--min-free", "0"]);
    record.args(options).stderr(Stdio::piped());
    record
}

#[test]
fn two_recordings_of_a_boot_have_their_own_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let to = folder.path().join("tables");
    for name in ["first", "second"] {
        let recording = folder.path().join(name);
        assert!(record(&recording, &["--duration", "0.2"]).output().expect("it runs").status.success());
        let output = export(&[], &recording, &to);
        assert!(output.status.success() && said(&output).contains(" in 3 files "), "{}", said(&output));
    }
    // Two recorders at once have the same time.
    let names = ["third", "fourth"].map(|name| folder.path().join(name));
    let mut running =
        names.each_ref().map(|path| record(path, &["--duration", "0.5"]).spawn().expect("it starts"));
    assert!(running.iter_mut().all(|running| running.wait().expect("it ends").success()));
    assert!(export(&[], &names[0], &to).status.success());
    let output = export(&[], &names[1], &to);
    let expected = format!("{}: it has the same time from another recording", to.display());
    assert!(output.status.code() == Some(1) && said(&output).contains(&expected), "{}", said(&output));
}

#[test]
fn what_a_killed_recorder_has_written_is_exported() {
    let folder = tempfile::tempdir().expect("a folder");
    let (recording, to) = (folder.path().join("recording"), folder.path().join("tables"));
    let mut recorder = record(&recording, &[]).spawn().expect("it starts");
    let recorded = || Recording::open(&recording).map_or(0, |mut recording| recording.len());
    let begin = Instant::now();
    while recorded() < 3 {
        assert!(begin.elapsed() < Duration::from_secs(60), "nothing is recorded");
        std::thread::sleep(Duration::from_millis(5));
    }
    let output = export(&[], &recording, &to);
    assert!(said(&output).contains("1 segment left out: still being written\n"), "{}", said(&output));
    recorder.kill().expect("it lives");
    recorder.wait().expect("it has ended");
    let output = export(&[], &recording, &to);
    assert!(said(&output).contains(&format!("{} intervals and ", recorded())), "{}", said(&output));
    assert!(output.status.success() && said(&output).contains(" in 3 files "), "{}", said(&output));
}

#[test]
fn errors_are_one_sentence_and_an_exit_code() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("file");
    std::fs::write(&file, "").expect("a file");
    for (arguments, recording, to, code, words) in [
        (&["--since", "soon"][..], &*segment(), folder.path(), 2, "--since: `soon` is no time"),
        (&["--since", "@20", "--until", "@10"], &segment(), folder.path(), 2, "--until is not later"),
        (&["--format", "xls"], &segment(), folder.path(), 2, "invalid value 'xls'"),
        (&[], Path::new("/nowhere"), folder.path(), 1, "/nowhere: there is no recording"),
        (&[], &segment(), &file.join("below"), 1, "below: Not a directory"),
    ] {
        let output = export(arguments, recording, to);
        assert_eq!(output.status.code(), Some(code), "{}", said(&output));
        assert!(said(&output).contains(words), "{}", said(&output));
        assert!(!said(&output).contains("panicked"));
    }
}
