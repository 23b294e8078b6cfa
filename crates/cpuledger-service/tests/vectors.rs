//! The rings of `tests/vectors/rings`, which readers in other languages share: the bytes of the memory, and what a reader finds as JSON.
//! `CPULEDGER_WRITE_FIXTURE=1` writes both, from frames of `tests/vectors/frames`.

#[path = "../../cpuledger-model/tests/vector_file/mod.rs"]
mod vector_file;

use std::fs;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use cpuledger_service::ring::{Next, Reader, Ring, RingError, Size};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::io::pwrite;
use serde_json::{Value, json};
use vector_file::compare;

const SIZE: Size = Size { bytes: 2048, frames: 4 };
/// Where a frame of that number has its entry.
const DIRECTORY: usize = 512;
const ENTRY: usize = 64;
const STATE: usize = 64;
const LATEST: usize = 128;
/// Of the frames of `tests/vectors/frames`, which a ring gets in this order.
const FRAMES: [&str; 6] = ["document", "empty", "relative", "unknown-only", "next-version", "all-absent"];

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors").join(name)
}

fn frame(name: &str) -> Vec<u8> {
    fs::read(folder("frames").join(format!("{name}.frame"))).expect("the bytes")
}

/// The memory of a ring to which all frames were published, the last `later` excepted.
fn published(later: usize) -> Vec<u8> {
    let mut ring = Ring::create("test", SIZE).expect("a ring");
    for name in &FRAMES[..FRAMES.len() - later] {
        ring.publish(&frame(name)).expect("published");
    }
    memory_of(&ring.fd())
}

fn memory_of(fd: &impl AsFd) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut file = fs::File::from(fd.as_fd().try_clone_to_owned().expect("a descriptor"));
    file.read_to_end(&mut bytes).expect("the memory");
    bytes
}

/// Sealed memory with these bytes, as an owner hands it out.
fn memory(bytes: &[u8]) -> OwnedFd {
    let file = memfd_create("test", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).expect("a memfd");
    ftruncate(&file, bytes.len() as u64).expect("its length");
    assert_eq!(pwrite(&file, bytes, 0), Ok(bytes.len()));
    fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL).expect("seals");
    file
}

fn changed(mut bytes: Vec<u8>, words: &[(usize, u64)]) -> Vec<u8> {
    for (at, word) in words {
        bytes[*at..at + 8].copy_from_slice(&word.to_ne_bytes());
    }
    bytes
}

fn rings() -> Vec<(&'static str, Vec<u8>)> {
    let entry = |number: usize| DIRECTORY + number % SIZE.frames * ENTRY;
    let all = || published(0);
    let state = 2 * FRAMES.len() as u64;
    // The owner closes the lock of the frame that it overwrites, and has begun to.
    let mut at_work = changed(all(), &[(entry(3), 7)]);
    let data = DIRECTORY + SIZE.frames * ENTRY;
    at_work[data + 430..data + 530].fill(0xaa);
    let too_long = SIZE.bytes as u64 / 2 + 1;
    vec![
        ("empty", published(FRAMES.len())),
        ("few", published(3)),
        ("overwritten", all()),
        ("at-work", at_work),
        ("moved", changed(all(), &[(STATE, state | 1)])),
        ("ended", vec![0; all().len()]),
        ("damaged-frame", changed(all(), &[(entry(5) + 16, too_long)])),
        // Positions count since the ring was made, and are taken modulo.
        ("any-position", changed(all(), &[(entry(6) + 8, u64::MAX - 255)])),
        ("numbers-beyond", changed(all(), &[(LATEST, u64::MAX)])),
        ("other-layout", changed(all(), &[(8, 2)])),
        ("other-magic", changed(all(), &[(0, 1)])),
        ("no-frames", changed(all(), &[(16, 0)])),
        ("sizes-contradict", changed(all(), &[(24, SIZE.bytes as u64 / 8 - 1)])),
        ("too-short", all()[..DIRECTORY].to_vec()),
    ]
}

/// What a reader finds that begins with frame 1.
fn found(bytes: &[u8]) -> Value {
    let mut reader = match Reader::open(memory(bytes)) {
        Ok(reader) => reader,
        Err(RingError::Ended) => return json!({ "open": "ended" }),
        Err(RingError::Version { .. }) => return json!({ "open": "other layout" }),
        Err(_) => return json!({ "open": "no ring" }),
    };
    let next = reader.next_number();
    let last = Reader::open(memory(bytes)).and_then(|mut last| {
        let mut copy = Vec::new();
        Ok(last.latest(&mut copy)?.map(|copied| json!({ "number": copied.sequence, "frame": name(&copy) })))
    });
    reader.resume_at(1);
    let (mut reads, mut copy) = (Vec::new(), Vec::new());
    let then = loop {
        match reader.copy(&mut copy) {
            Ok(Some(frame)) => {
                reads.push(json!({ "number": frame.sequence, "missed": frame.missed, "frame": name(&copy) }));
            }
            Ok(None) => break reader.wait(Duration::ZERO).expect("a wait"),
            Err(RingError::Damaged { sequence }) => {
                reads.push(json!({ "number": sequence, "frame": "damaged" }));
            }
            Err(error) => panic!("{error}"),
        }
    };
    let then = match then {
        Next::Moved => "moved",
        Next::TimedOut => "waits",
        // The number of the last is there, and it is not.
        Next::Frame => "not there yet",
    };
    let size = reader.size();
    json!({
        "open": "ring", "frames": size.frames, "bytes": size.bytes, "next": next,
        "last": last.unwrap_or_else(|_| Some(json!("damaged"))), "from_1": reads, "then": then,
    })
}

/// The name of a frame, or its digits where it has none.
fn name(bytes: &[u8]) -> Value {
    let known = FRAMES.iter().find(|name| frame(name) == bytes);
    let hex = || bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    known.map_or_else(|| json!({ "hex": hex() }), |name| json!(name))
}

/// The words are in the order of this machine: of another, readers of the files have no use.
#[test]
#[cfg(target_endian = "little")]
fn rings_are_read_as_they_were() {
    for (name, bytes) in rings() {
        compare(&folder("rings").join(format!("{name}.ring")), &bytes);
        let told = serde_json::to_string_pretty(&found(&bytes)).expect("JSON") + "\n";
        compare(&folder("rings").join(format!("{name}.json")), told.as_bytes());
    }
    let files = fs::read_dir(folder("rings")).expect("a folder").count();
    assert_eq!(files, 2 * rings().len(), "a file that no list has: remove it");
}

/// The lines of a ring that are not all zeros, up to the begin of its data.
fn hexdump(bytes: &[u8]) -> String {
    let mut text = "```\n".to_owned();
    for (line, bytes) in
        bytes[..0x320].chunks(16).enumerate().filter(|(_, bytes)| bytes.iter().any(|byte| *byte != 0))
    {
        let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let shown = |byte: &u8| if byte.is_ascii_graphic() { char::from(*byte) } else { '.' };
        let letters: String = bytes.iter().map(shown).collect();
        text += &format!("{:04x}  {}  {letters}\n", line * 16, hex.join(" "));
    }
    text + "```\n"
}

#[test]
#[cfg(target_endian = "little")]
fn the_document_shows_a_ring() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/protocol.md");
    let mut text = fs::read_to_string(&path).expect("docs/protocol.md");
    let (begin, end) = ("<!-- begin ring -->\n", "<!-- end ring -->");
    let from = text.find(begin).expect(begin) + begin.len();
    let to = text.find(end).expect(end);
    let dump = hexdump(&published(3));
    if std::env::var_os("CPULEDGER_WRITE_DOCS").is_some() {
        text.replace_range(from..to, &dump);
        fs::write(&path, text).expect("docs/protocol.md");
        return;
    }
    assert!(
        text[from..to] == dump,
        "CPULEDGER_WRITE_DOCS=1 cargo test -p cpuledger-service --test vectors writes:\n{dump}"
    );
}
