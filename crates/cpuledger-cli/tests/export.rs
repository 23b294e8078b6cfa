//! `cpuledger export` from outside: what it writes, says and returns.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use cpuledger_load::with_export;
use cpuledger_recording::Recording;

fn segment() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../cpuledger-recording/tests/fixtures/version-2.seg")
}

fn export(arguments: &[&str], recording: &Path, to: &Path) -> Output {
    Command::new(with_export(env!("CARGO_BIN_EXE_cpuledger")))
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

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).expect("it is there").permissions().mode() & 0o777
}

#[test]
fn an_export_may_be_read_by_those_that_may_read_the_recording() {
    for (of_recording, of_file, of_folder) in [(0o640, 0o640, 0o750), (0o600, 0o600, 0o700)] {
        let folder = tempfile::tempdir().expect("a folder");
        let copy = folder.path().join("a.seg");
        std::fs::copy(segment(), &copy).expect("a copy");
        std::fs::set_permissions(&copy, PermissionsExt::from_mode(of_recording)).expect("it is ours");
        let to = folder.path().join("tables");
        assert!(export(&[], &copy, &to).status.success());
        let mut folders = vec![to];
        let mut files = 0;
        while let Some(next) = folders.pop() {
            assert_eq!(mode(&next), of_folder, "{}", next.display());
            for entry in std::fs::read_dir(&next).expect("a folder") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    assert_eq!(mode(&path), of_file, "{}", path.display());
                    files += 1;
                }
            }
        }
        assert_eq!(files, 3);
    }
}

#[test]
fn an_export_of_nothing_but_damage_fails() {
    let folder = tempfile::tempdir().expect("a folder");
    let damaged = folder.path().join("a.seg");
    let mut bytes = std::fs::read(segment()).expect("it is there");
    // The segment and the begins of records are found, and no record can be read.
    let records: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(b"cRec")).collect();
    assert_eq!(records.len(), 65);
    records.iter().for_each(|at| bytes[at + 64] ^= 0xff);
    std::fs::write(&damaged, bytes).expect("written");
    let output = export(&[], &damaged, &folder.path().join("tables"));
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let replay = Command::new(env!("CARGO_BIN_EXE_cpuledger"))
        .args(["top", "--batch", "--replay"])
        .arg(&damaged)
        .output()
        .expect("cpuledger starts");
    assert_eq!(replay.status.code(), Some(1), "{}", said(&replay));
    assert!(!said(&replay).contains("-p"), "{}", said(&replay));
}

/// What can be read is written, and the exit code says that it is not all.
#[test]
fn an_export_with_damage_is_partial() {
    let folder = tempfile::tempdir().expect("a folder");
    let recording = folder.path().join("recording");
    let output = record(&recording, &["--duration", "1"]).output().expect("it runs");
    assert!(output.status.success(), "{}", said(&output));
    let segment =
        std::fs::read_dir(recording.join("all")).expect("a folder").next().expect("one").expect("one");
    let mut bytes = std::fs::read(segment.path()).expect("a segment");
    let middle = bytes.len() / 2;
    bytes[middle..middle + 64].fill(0xff);
    std::fs::write(segment.path(), bytes).expect("it is ours");
    let output = export(&["--format", "csv"], &recording, &folder.path().join("tables"));
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("the export is not whole"), "{}", said(&output));
    assert!(folder.path().join("tables/usage").is_dir());
    let nothing = ["--format", "csv", "--until", "2001-01-01 00:00"];
    let output = export(&nothing, &recording, &folder.path().join("none"));
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
}
