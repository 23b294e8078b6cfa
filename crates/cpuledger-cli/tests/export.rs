//! `cpuledger export` from outside: what it writes, says and returns.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

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
