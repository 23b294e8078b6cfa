//! Each target on its corpus, and for a moment on mutations of it: what `make fuzz` does for minutes, without its libFuzzer.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use cpuledger_fuzz::{TARGETS, Target};
use proptest::prelude::Rng;
use proptest::test_runner::{RngAlgorithm, TestRng};

/// How long each target runs on mutations of its corpus.
const TRIED_FOR: Duration = Duration::from_secs(2);
/// Changes to an input at once, and bytes that one of them inserts.
const MOST_CHANGES: usize = 8;
const MOST_INSERTED: usize = 64;

fn corpus(name: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
    let files = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut inputs: Vec<(PathBuf, Vec<u8>)> = files
        .map(|file| file.expect("an entry").path())
        .map(|path| (path.clone(), fs::read(path).expect("an input")))
        .collect();
    inputs.sort();
    inputs
}

/// Keeps the input, if the target panics: it is to be added to the corpus.
struct Culprit<'a>(&'a str, &'a [u8]);

impl Drop for Culprit<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let path = std::env::temp_dir().join(format!("cpuledger-fuzz-{}-{}", self.0, std::process::id()));
            let kept = fs::write(&path, self.1)
                .map_or_else(|error| error.to_string(), |()| path.display().to_string());
            eprintln!("{} fails for the {} bytes in {kept}", self.0, self.1.len());
        }
    }
}

fn run(name: &str, target: Target, input: &[u8]) {
    let _culprit = Culprit(name, input);
    target(input);
}

/// Overwrites, inserts, removes and repeats.
fn mutated(input: &[u8], other: &[u8], random: &mut TestRng) -> Vec<u8> {
    let mut bytes = input.to_vec();
    let mut below = |limit: usize| random.next_u32() as usize % limit.max(1);
    for _ in 0..=below(MOST_CHANGES) {
        let at = below(bytes.len());
        match below(5) {
            0 if !bytes.is_empty() => bytes[at] = below(256) as u8,
            1 => drop(bytes.splice(at..at, (0..below(MOST_INSERTED)).map(|byte| (byte * 37) as u8))),
            2 if !bytes.is_empty() => {
                let end = (at + below(MOST_INSERTED)).min(bytes.len());
                bytes.drain(at..end);
            }
            3 if !other.is_empty() => {
                let from = below(other.len());
                let part = other[from..(from + below(MOST_INSERTED)).min(other.len())].to_vec();
                bytes.splice(at..at, part);
            }
            _ => bytes.truncate(bytes.len() - below(bytes.len())),
        }
    }
    bytes
}

#[test]
fn corpora_and_their_mutations_find_nothing() {
    for (name, target) in TARGETS {
        let inputs = corpus(name);
        assert!(inputs.len() > 10, "the corpus of {name} is there");
        inputs.iter().for_each(|(_, input)| run(name, *target, input));
        let mut random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
        let (begin, mut tried) = (Instant::now(), 0);
        while begin.elapsed() < TRIED_FOR {
            let mut any = || &inputs[random.next_u32() as usize % inputs.len()].1;
            let (input, other) = (any(), any());
            run(name, *target, &mutated(input, other, &mut random));
            tried += 1;
        }
        println!("{name}: {} inputs, {tried} mutations", inputs.len());
    }
}
