//! The protocol on the memory of loom: each load sees any value that the fences permit, in all interleavings of an owner that
//! publishes and a reader that copies. Each step that is left out must be found.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering as Counting};

use loom::model::Builder;
use loom::sync::atomic::{AtomicU64, Ordering, fence};

use super::protocol::{Copied, DIRECTORY, ENTRY, Geometry, LATEST, Memory, Writer, copy, latest};

/// A ring of two frames, whose data area holds two frames of two words.
const GEOMETRY: Geometry = Geometry { frames: 2, data_words: 4 };
/// Frames that are published while the reader copies, after [`BEFORE`].
const MEANWHILE: u64 = 2;
/// Frames that are there when the reader begins.
const BEFORE: u64 = 2;

/// A step that is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    /// A release fence of the owner, counted from 0 in each frame.
    Release(usize),
    /// An acquire fence of the reader, counted from 0 in each frame.
    Acquire(usize),
    /// The second look at the lock.
    SecondLook,
    /// The locks of overwritten frames stay open.
    LockStaysOpen,
}

/// Words of loom, with a fault.
struct Words {
    words: Vec<AtomicU64>,
    fault: Fault,
}

/// What one thread does with them: the faults count its fences.
struct Side {
    shared: Arc<Words>,
    releases: AtomicUsize,
    acquires: AtomicUsize,
    lock: AtomicUsize,
}

impl Side {
    fn of(shared: &Arc<Words>) -> Side {
        let counter = || AtomicUsize::new(0);
        Side { shared: Arc::clone(shared), releases: counter(), acquires: counter(), lock: counter() }
    }

    fn begin_frame(&self) {
        [&self.releases, &self.acquires, &self.lock]
            .iter()
            .for_each(|counter| counter.store(0, Counting::Relaxed));
    }
}

fn is_lock(word: usize) -> bool {
    (DIRECTORY..GEOMETRY.data()).contains(&word) && (word - DIRECTORY).is_multiple_of(ENTRY)
}

/// Words that nothing uses have no place in loom's memory, which is small.
fn place(word: usize) -> usize {
    match word {
        LATEST => 0,
        _ if word >= GEOMETRY.data() => 7 + word - GEOMETRY.data(),
        _ => 1 + (word - DIRECTORY) / ENTRY * 3 + (word - DIRECTORY) % ENTRY,
    }
}

impl Memory for Side {
    fn load(&self, word: usize) -> u64 {
        let seen = self.lock.load(Counting::Relaxed) as u64;
        if is_lock(word) && self.shared.fault == Fault::SecondLook && seen != 0 {
            return seen;
        }
        let value = self.shared.words[place(word)].load(Ordering::Relaxed);
        if is_lock(word) {
            self.lock.store(value as usize, Counting::Relaxed);
        }
        value
    }

    fn store(&self, word: usize, value: u64) {
        let closes = is_lock(word) && !value.is_multiple_of(2);
        if !(closes && self.shared.fault == Fault::LockStaysOpen) {
            self.shared.words[place(word)].store(value, Ordering::Relaxed);
        }
    }

    fn acquire(&self) {
        if self.shared.fault != Fault::Acquire(self.acquires.fetch_add(1, Counting::Relaxed)) {
            fence(Ordering::Acquire);
        }
    }

    fn release(&self) {
        if self.shared.fault != Fault::Release(self.releases.fetch_add(1, Counting::Relaxed)) {
            fence(Ordering::Release);
        }
    }
}

/// Two words that both tell the number. Odd ones are a word shorter, so that lengths and positions differ.
fn frame_of(sequence: u64) -> Vec<u8> {
    sequence.to_ne_bytes().repeat(if sequence.is_multiple_of(2) { 2 } else { 1 })
}

/// Runs it through the interleavings. The reader asks for numbers that the owner has announced, or for one that may not be there. What was wrong in the last one, and how often a frame was copied whole.
fn explore(fault: Fault, reads_announced: bool) -> (Option<String>, usize) {
    let whole = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&whole);
    let mut builder = Builder::new();
    builder.preemption_bound = Some(3);
    let outcome =
        catch_unwind(AssertUnwindSafe(|| builder.check(move || run(fault, reads_announced, &counter))));
    let failure = outcome.err().map(|payload| match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => payload.downcast_ref::<&str>().map_or_else(|| "a panic".into(), ToString::to_string),
    });
    (failure, whole.load(Counting::Relaxed))
}

fn run(fault: Fault, reads_announced: bool, whole: &AtomicUsize) {
    let words = (0..7 + GEOMETRY.data_words).map(|_| AtomicU64::new(0)).collect();
    let shared = Arc::new(Words { words, fault });
    let owner = Side::of(&shared);
    let mut writer = Writer::new(GEOMETRY, 1);
    let publish = |writer: &mut Writer, owner: &Side| {
        owner.begin_frame();
        let sequence = writer.next();
        assert_eq!(writer.write(owner, &frame_of(sequence)), Some(sequence));
    };
    (0..BEFORE).for_each(|_| publish(&mut writer, &owner));
    let owning = loom::thread::spawn(move || (0..MEANWHILE).for_each(|_| publish(&mut writer, &owner)));
    let reader = Side::of(&shared);
    let mut frame = Vec::new();
    for (back, is_announced) in [(1, true), (0, true), (0, false)] {
        if is_announced != reads_announced {
            continue;
        }
        reader.begin_frame();
        let sequence = if is_announced {
            latest(&reader) - back
        } else {
            // The lock alone has to tell whether it is there.
            reader.acquires.store(1, Counting::Relaxed);
            BEFORE + 1
        };
        match copy(&reader, GEOMETRY, sequence, &mut frame) {
            Copied::Whole => {
                assert_eq!(frame, frame_of(sequence), "frame {sequence} is torn");
                whole.fetch_add(1, Counting::Relaxed);
            }
            Copied::Damaged => panic!("frame {sequence} is damaged"),
            // The number was published, and so was the lock: only a later frame can have closed it.
            Copied::Gone if !is_announced => {}
            Copied::Gone => {
                let lock = reader.load(GEOMETRY.entry(sequence));
                assert!(lock > 2 * sequence, "frame {sequence} is published and not there");
            }
        }
    }
    owning.join().expect("the owner");
}

#[test]
fn no_interleaving_shows_a_torn_frame() {
    for (reads_announced, least) in [(true, 1000), (false, 1)] {
        let (failure, whole) = explore(Fault::None, reads_announced);
        assert_eq!(failure, None);
        assert!(whole >= least, "only {whole} frames were copied");
    }
}

/// The first acquire fence is that of the number, the second that behind the first look at the lock, the third that before the second
/// look. The release fences are those before the data, before the lock opens, and before the number.
#[test]
fn each_step_that_is_left_out_is_found() {
    let faults = [
        Fault::Release(0),
        Fault::Release(1),
        Fault::Release(2),
        Fault::Acquire(0),
        Fault::Acquire(1),
        Fault::Acquire(2),
        Fault::SecondLook,
        Fault::LockStaysOpen,
    ];
    let is_missed =
        |fault: &Fault| [true, false].iter().all(|announced| explore(*fault, *announced).0.is_none());
    let missed: Vec<Fault> = faults.into_iter().filter(is_missed).collect();
    assert!(missed.is_empty(), "all is well with {missed:?}, too");
}
