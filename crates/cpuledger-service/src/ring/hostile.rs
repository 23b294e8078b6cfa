//! Readers of memory that no owner writes: each answers, and in bounded time.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use rustix::fs::{fcntl_add_seals, ftruncate};
use rustix::io::pwrite;

use super::error::RingError;
use super::layout::{
    DATA_WORDS_WORD, FRAMES_WORD, MAGIC, MAGIC_WORD, SEALS, STATE_WORD, VERSION, VERSION_WORD,
};
use super::protocol::{DIRECTORY, ENTRY, LATEST};
use super::reader::{Next, Reader};
use crate::mapping::WORD;
use crate::sealed::{SealError, memory_file};

/// The sizes of the ring that is damaged.
const FRAMES: usize = 4;
const DATA_WORDS: usize = 64;
const WORDS: usize = DIRECTORY + FRAMES * ENTRY + DATA_WORDS;

/// Sealed memory of these words, as an owner hands it out.
fn memory(words: &[u64]) -> std::os::fd::OwnedFd {
    let file = memory_file("test").expect("a memfd");
    ftruncate(&file, (words.len() * WORD) as u64).expect("its length");
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    assert_eq!(pwrite(&file, &bytes, 0), Ok(bytes.len()));
    fcntl_add_seals(&file, SEALS).expect("seals");
    file
}

/// The words of an empty ring.
fn empty() -> Vec<u64> {
    let mut words = vec![0; WORDS];
    words[MAGIC_WORD] = MAGIC;
    words[VERSION_WORD] = VERSION;
    words[FRAMES_WORD] = FRAMES as u64;
    words[DATA_WORDS_WORD] = DATA_WORDS as u64;
    words
}

/// A word that is likely to be taken for something: small, near a limit, or any.
fn any_word() -> impl Strategy<Value = u64> {
    prop_oneof![
        0..40_u64,
        (0..8_u64).prop_map(|below| u64::MAX - below),
        (0..64_u32).prop_map(|bit| 1 << bit),
        any::<u64>()
    ]
}

/// A place whose word matters.
fn any_place() -> impl Strategy<Value = usize> {
    prop_oneof![
        0..4_usize,
        STATE_WORD..STATE_WORD + 3,
        Just(LATEST),
        DIRECTORY..DIRECTORY + FRAMES * ENTRY,
        0..WORDS
    ]
}

proptest! {
    #[test]
    fn any_words_are_survived(changes in prop::collection::vec((any_place(), any_word()), 0..24)) {
        let mut words = empty();
        changes.iter().for_each(|(place, word)| words[*place] = *word);
        let begin = Instant::now();
        if let Ok(mut reader) = Reader::open(memory(&words)) {
            let mut frame = Vec::new();
            let _ = reader.latest(&mut frame);
            prop_assert!(frame.len() <= DATA_WORDS / 2 * WORD);
            reader.resume_at(words[LATEST].saturating_sub(3));
            for _ in 0..10 {
                let _ = reader.copy(&mut frame);
                prop_assert!(frame.len() <= DATA_WORDS / 2 * WORD);
            }
            let _ = reader.wait(Duration::from_micros(10));
        }
        prop_assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", begin.elapsed());
    }
}

#[test]
fn what_is_no_ring_is_refused_with_its_reason() {
    let refused = |words: &[u64]| Reader::open(memory(words)).expect_err("no ring").to_string();
    let changed = |place: usize, word| {
        let mut words = empty();
        words[place] = word;
        refused(&words)
    };
    Reader::open(memory(&empty())).expect("an empty ring is one");
    assert_eq!(changed(MAGIC_WORD, 1), "no ring of frames: it begins with something else");
    assert_eq!(changed(MAGIC_WORD, 0), "the ring has ended: subscribe again");
    assert!(changed(VERSION_WORD, 2).starts_with("a ring of layout 2, and this program knows layout 1"));
    for (frames, data_words) in [(0, 64), (1, 64), (5, 64), (u64::MAX, 64), (4, 63), (4, u64::MAX)] {
        let mut words = empty();
        (words[FRAMES_WORD], words[DATA_WORDS_WORD]) = (frames, data_words);
        assert_eq!(refused(&words), "no ring of frames: its sizes contradict its length");
    }
    assert_eq!(refused(&empty()[..DIRECTORY]), "no ring of frames: it is too short");
    let unsealed = memory_file("test").expect("a memfd");
    assert!(matches!(Reader::open(unsealed), Err(RingError::Memory(SealError::Unsealed { .. }))));
}

/// A frame that cannot be is an error once, and the reader goes on behind it.
#[test]
fn a_damaged_frame_is_told_once() {
    let mut words = empty();
    words[LATEST] = 1;
    words[DIRECTORY + ENTRY] = 2;
    words[DIRECTORY + ENTRY + 2] = (DATA_WORDS / 2 * WORD + 1) as u64;
    let mut reader = Reader::open(memory(&words)).expect("a ring");
    reader.resume_at(1);
    let mut frame = Vec::new();
    assert_eq!(reader.wait(Duration::ZERO).expect("a wait"), Next::Frame);
    assert!(matches!(reader.copy(&mut frame), Err(RingError::Damaged { sequence: 1 })));
    assert_eq!(reader.copy(&mut frame).expect("nothing"), None);
    assert_eq!(reader.wait(Duration::ZERO).expect("a wait"), Next::TimedOut);
}
