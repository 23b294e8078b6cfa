//! What `top --replay` says of recordings that it cannot show, and how it ends.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Three seconds of one boot, from 2023-11-14 22:14:00 UTC on.
fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings/version-2.seg")
}

/// Exit code, what was printed, what was said.
fn top(path: &Path, options: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cpuledger"));
    command.args(["top", "-b", "--replay"]).arg(path).args(options).stdin(Stdio::null()).env("TZ", "UTC");
    let output = command.output().expect("it runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn times_choose_intervals() {
    let starts = |options: &[&str]| -> Vec<u64> {
        let (code, text, said) = top(&fixture(), &[&["--format", "json"], options].concat());
        assert_eq!((code, said.as_str()), (Some(0), ""), "{options:?}");
        let start = |line: &str| {
            let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
            line["start_ns"].as_u64().expect("a number") / 1_000_000_000
        };
        text.lines().map(start).collect()
    };
    assert_eq!(starts(&[]), [1000, 1001, 1002]);
    assert_eq!(starts(&["-n", "2"]), [1000, 1001]);
    assert_eq!(starts(&["--since", "2023-11-14 22:14:01"]), [1001, 1002]);
    assert_eq!(starts(&["--until", "2023-11-14T22:14:01Z"]), [1000]);
    assert_eq!(starts(&["--at", "@1700000041.5", "-n", "1"]), [1001]);
}

#[test]
fn a_page_is_of_its_time() {
    let (code, text, said) = top(&fixture(), &["-n", "1"]);
    assert_eq!((code, said.as_str()), (Some(0), ""));
    assert!(text.starts_with("cpuledger top - 22:14:01 up 16 min\n"), "{text}");
    assert!(text.contains(" source replay: "), "{text}");
}

#[test]
fn what_cannot_be_shown_is_a_sentence() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).expect("a file");
        path
    };
    let whole = std::fs::read(fixture()).expect("the fixture");
    let mut newer = whole.clone();
    (newer[8], newer[10]) = (9, 9);
    let checksum = crc32c(&newer[..252]);
    newer[252..256].copy_from_slice(&checksum.to_le_bytes());
    for (path, options, code, part) in [
        (folder.path().join("missing"), &[][..], 1, "there is no recording: no such file or directory"),
        (folder.path().to_owned(), &[], 1, "there is no recording"),
        (file("empty", b""), &[], 1, "there is no recording"),
        (file("text", b"no recording"), &[], 1, "there is no recording"),
        (file("header", &whole[..256]), &[], 1, "there is no recording, or none with an interval in it"),
        (file("newer", &newer), &[], 1, "written by a newer version (format 9)"),
        (
            fixture(),
            &["--at", "@1700000000"],
            1,
            "2023-11-14 22:13:20 is not in the recording, which is from 2023-11-14 22:14:00 to 2023-11-14 22:14:03",
        ),
        (fixture(), &["--since", "@1700000043"], 1, "the recording is from 2023-11-14 22:14:00 to"),
        (fixture(), &["--until", "@1700000040"], 1, "nothing is recorded of that time"),
        (fixture(), &["--at", "noon"], 2, "--at: `noon` is no time"),
        (fixture(), &["--source", "walk"], 2, "--replay shows a recording"),
        (fixture(), &["-p", "999999"], 1, "no process has pid 999999"),
    ] {
        let (found, _, said) = top(&path, options);
        assert_eq!(found, Some(code), "{options:?} {}: {said}", path.display());
        assert!(said.starts_with("cpuledger: ") && said.contains(part), "{options:?}: {said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}

/// A file without its end has what comes before it.
#[test]
fn a_file_that_is_cut_off_is_shown_as_far_as_it_goes() {
    let folder = tempfile::tempdir().expect("a folder");
    let whole = std::fs::read(fixture()).expect("the fixture");
    let starts: Vec<usize> =
        whole.windows(4).enumerate().filter(|(_, four)| four == b"cRec").map(|(at, _)| at).collect();
    assert_eq!(starts.len(), 3);
    for (length, intervals) in [(starts[1], 1), (starts[1] + 100, 1), (starts[2], 2), (whole.len() - 1, 3)] {
        let path = folder.path().join("cut");
        std::fs::write(&path, &whole[..length]).expect("a file");
        let (code, text, _) = top(&path, &["--format", "json"]);
        assert_eq!((code, text.lines().count()), (Some(0), intervals), "{length} bytes");
    }
    // What is damaged is lost with what is behind it in its group, and that is said.
    let mut damaged = whole;
    damaged[starts[1] + 70] ^= 1;
    let path = folder.path().join("damaged");
    std::fs::write(&path, damaged).expect("a file");
    let (code, text, said) = top(&path, &["--format", "json"]);
    assert_eq!((code, text.lines().count()), (Some(0), 1));
    assert_eq!(said, "cpuledger: 2 intervals are lost, from 2023-11-14 22:14:01 to 2023-11-14 22:14:03\n");
}

/// CRC-32C, bit by bit.
fn crc32c(bytes: &[u8]) -> u32 {
    let byte = |sum: u32, byte: &u8| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| (sum >> 1) ^ if sum & 1 == 1 { 0x82f6_3b78 } else { 0 })
    };
    !bytes.iter().fold(!0, byte)
}
