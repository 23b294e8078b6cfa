//! Frames from any bytes, and what must be true of every frame.

use cpuledger::Interval;
use cpuledger::framing::{self, Circumstances};
use cpuledger_model::frame::{Column, Frame};

/// The bytes as a frame, and that as one of three neighbours.
///
/// # Panics
/// If a frame does not survive its bytes, or cannot be merged in any grouping.
pub fn frame(bytes: &[u8]) {
    let Some(mut whole) = decode(bytes) else { return };
    let mut encoded = Vec::new();
    if whole.encode(&mut encoded).is_ok() {
        assert!(decode(&encoded).is_some_and(|again| again == whole), "it is another after its bytes");
    }
    let mut interval = Interval::default();
    match framing::read(&whole, &mut interval) {
        Ok(()) => {
            // What members cannot hold is refused, so what is read is written the same.
            let mut again = Frame::new();
            framing::write(&interval, &Circumstances::default(), &mut again);
            assert_eq!(
                again.figure(Column::CAPACITY_NS).unwrap_or(0),
                interval.capacity_ns.min(u64::MAX - 1)
            );
            if let Some(disks) = &interval.disks {
                assert_eq!(&again.disks(), disks, "each disk is what it was");
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    merge(&mut whole);
}

fn decode(bytes: &[u8]) -> Option<Frame> {
    match Frame::decode(bytes) {
        Ok(frame) => Some(frame),
        Err(error) => {
            let sentence = error.to_string();
            assert!(!sentence.is_empty() && !sentence.contains(char::is_control), "{sentence:?}");
            None
        }
    }
}

/// Three intervals with the same rows, one after the other.
fn merge(frame: &mut Frame) {
    let at = |frame: &mut Frame, start_ns: u64| {
        frame.set_figure(Column::START_NS, Some(start_ns));
        frame.set_figure(Column::END_NS, Some(start_ns + 10));
        frame.clone()
    };
    let three = [at(frame, 10), at(frame, 20), at(frame, 30)];
    let Ok(earlier) = three[0].merge(&three[1]) else { return };
    let length = earlier.length_ns();
    assert_eq!(length, Some(20), "the length is the sum");
    if let Ok(all) = earlier.merge(&three[2]) {
        assert_eq!(all.length_ns(), Some(30));
        let mut bytes = Vec::new();
        if all.encode(&mut bytes).is_ok() {
            assert!(decode(&bytes).is_some_and(|again| again == all));
        }
    }
}
