//! The segments of `tests/vectors/segments`, which readers in other languages share: bytes, and the frames that can be read of them as JSON.
//! `CPULEDGER_WRITE_FIXTURE=1` writes both, from the fixture of this version.

#[path = "../../cpuledger-model/tests/printed/mod.rs"]
mod printed;
#[path = "../../cpuledger-model/tests/vector_file/mod.rs"]
mod vector_file;

use std::fs;
use std::path::{Path, PathBuf};

use cpuledger_recording::{Recording, VERSION};
use printed::json_of;
use vector_file::compare;

/// The fixture has 65 records. This many make up the vectors: some groups, and the end of one.
const RECORDS: usize = 20;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors/segments")
}

/// The fixture up to the record of this number.
fn fixture(records: usize) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/version-{VERSION}.seg"));
    let bytes = fs::read(path).expect("the fixture");
    let places: Vec<usize> =
        bytes.windows(4).enumerate().filter(|(_, four)| four == b"cRec").map(|(at, _)| at).collect();
    bytes[..places[records]].to_vec()
}

fn segments() -> Vec<(&'static str, Vec<u8>)> {
    let open = fixture(RECORDS);
    let at = fixture(5).len() + 70;
    let mut damaged = open.clone();
    damaged[at] ^= 1;
    let mut headless = open.clone();
    headless[9] ^= 1;
    let mut lost = open.clone();
    lost[fixture(5).len()] ^= 1;
    vec![
        ("open", open.clone()),
        ("cut", open[..open.len() - 10].to_vec()),
        ("damaged-record", damaged),
        ("lost-record", lost),
        ("damaged-header", headless),
        ("no-records", fixture(0)),
    ]
}

/// The frames that are left.
fn json(bytes: Vec<u8>) -> String {
    let mut recording = Recording::of_bytes(bytes).expect("of this version");
    let (mut frames, mut next) = (Vec::new(), recording.first());
    while let Some(place) = next {
        if let Some(record) = recording.read(place).expect("it is in memory") {
            frames.push(json_of(&record.frame).trim_end().to_owned());
        }
        next = recording.next(place);
    }
    format!("[\n{}\n]\n", frames.join(",\n"))
}

#[test]
fn segments_are_read_as_they_were() {
    for (name, bytes) in segments() {
        compare(&folder().join(format!("{name}.json")), json(bytes.clone()).as_bytes());
        compare(&folder().join(format!("{name}.seg")), &bytes);
    }
    let files = fs::read_dir(folder()).expect("a folder").count();
    assert_eq!(files, 2 * segments().len(), "a file that no list has: remove it");
}
