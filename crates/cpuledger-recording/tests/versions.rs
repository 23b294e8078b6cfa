//! A segment of this version of the format stays readable. `CPULEDGER_WRITE_FIXTURE=1` writes that of this version.

mod frames;

use std::path::{Path, PathBuf};

use cpuledger_model::make;
use cpuledger_recording::{Options, Recording, VERSION, Writer};
use frames::{Machine, frames_of};

fn fixture(version: u16) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/version-{version}.seg"))
}

#[test]
fn the_fixture_is_read() {
    let frames = Machine::new(41, 5).seconds(65);
    if std::env::var_os("CPULEDGER_WRITE_FIXTURE").is_some() {
        let folder = tempfile::tempdir().expect("a folder");
        let options = make!(Options { host: Some("host".into()) });
        let mut writer = Writer::open(folder.path(), options).expect("a writer");
        frames.iter().for_each(|frame| writer.append(frame).expect("written"));
        writer.close().expect("closed");
        std::fs::copy(folder.path().join("all/0000000000000000.seg"), fixture(VERSION)).expect("copied");
    }
    let path = fixture(VERSION);
    let mut recording = Recording::open(&path).expect("it is there");
    assert!(frames_of(&mut recording) == frames);
    assert!(recording.losses().expect("read").is_empty());
    let (_, segment) = recording.segments().next().expect("it is one");
    let header = segment.header().expect("it is whole");
    assert_eq!((header.boot_id.as_slice(), header.host.as_slice()), (&b"one boot"[..], &b"host"[..]));
    assert!(segment.is_closed() && header.realtime_ns > frames::EPOCH && header.tier_ns == 0);
}

/// Each line of docs/format/recording.md that xxd(1) has written is of the fixture.
#[test]
fn the_document_shows_the_bytes_of_the_fixture() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join("docs/format/recording.md")).expect("it is there");
    let bytes = std::fs::read(fixture(VERSION)).expect("the fixture");
    let mut lines = 0;
    for (offset, rest) in text.lines().filter_map(|line| line.split_once(": ")) {
        let Some(offset) = usize::from_str_radix(offset, 16).ok().filter(|_| offset.len() == 8) else {
            continue;
        };
        let shown = rest.split("  ").next().unwrap_or_default().split(' ');
        let shown: Vec<u8> = shown.map(|byte| u8::from_str_radix(byte, 16).expect("a byte")).collect();
        assert_eq!(bytes.get(offset..offset + shown.len()), Some(&shown[..]), "at {offset:08x}");
        lines += 1;
    }
    assert!(lines > 20, "{lines} lines");
}

#[test]
fn a_version_that_says_so_is_refused() {
    let mut bytes = std::fs::read(fixture(VERSION)).expect("the fixture");
    bytes[8] = 9;
    bytes[10] = 9;
    let checksum = crc32c::crc32c(&bytes[..252]);
    bytes[252..256].copy_from_slice(&checksum.to_le_bytes());
    let error = Recording::of_bytes(bytes.clone()).expect_err("it is newer").to_string();
    assert!(error.contains("written by a newer version (format 9)"), "{error}");
    // A newer one that this version understands.
    bytes[10] = 2;
    let checksum = crc32c::crc32c(&bytes[..252]);
    bytes[252..256].copy_from_slice(&checksum.to_le_bytes());
    assert_eq!(Recording::of_bytes(bytes).expect("it is read").len(), 65);
}
