//! What a writer that was killed had merged, and not written: the next one merges it again, from the intervals that are there.

use std::path::Path;

use cpuledger_frame::{Column, Frame, Section};

use crate::error::{Error, Kind};
use crate::recording::Recording;

use super::track::Track;

/// How far back it is looked for, in lengths of the tier: what a killed writer had in memory is shorter than one of them.
const LENGTHS: u64 = 2;

/// The end of the last interval of a tier.
struct End {
    end_ns: u64,
    end_realtime_ns: u64,
    boot_id: Vec<u8>,
}

impl End {
    fn of(frame: &Frame) -> End {
        End {
            end_ns: frame.figure(Column::END_NS).unwrap_or(0),
            end_realtime_ns: frame.figure(Column::END_REALTIME_NS).unwrap_or(0),
            boot_id: frame.text_of(Section::Interval, Column::BOOT_ID, 0).unwrap_or_default().to_vec(),
        }
    }

    /// Whether an interval lies behind it.
    fn is_before(&self, frame: &Frame) -> bool {
        let other = End::of(frame);
        if other.boot_id == self.boot_id {
            frame.figure(Column::START_NS).is_some_and(|start_ns| start_ns >= self.end_ns)
        } else {
            other.end_realtime_ns > self.end_realtime_ns
        }
    }
}

/// Adds to each tier what the tier of the shortest intervals has behind its end.
pub(super) fn catch_up(tracks: &mut [Track]) -> Result<(), Error> {
    let shortest = tracks.iter().min_by_key(|track| track.length_ns);
    let Some((shortest_ns, path)) = shortest.map(|track| (track.length_ns, track.folder.path.clone())) else {
        return Ok(());
    };
    for track in tracks.iter_mut().filter(|track| track.length_ns > shortest_ns) {
        catch_up_from(&path, track)?;
    }
    Ok(())
}

fn catch_up_from(path: &Path, track: &mut Track) -> Result<(), Error> {
    let (Some(mut from), end) = (open(path)?, open(&track.folder.path)?) else { return Ok(()) };
    let last = |recording: &mut Recording| match recording.last() {
        Some(place) => recording.read(place),
        None => Ok(None),
    };
    let end = match end {
        Some(mut own) => last(&mut own)?.map(|record| End::of(&record.frame)),
        None => None,
    };
    let Some(newest_ns) = from.last().and_then(|place| from.entry(place)).map(|entry| entry.end_realtime_ns)
    else {
        return Ok(());
    };
    let oldest_ns = newest_ns.saturating_sub(LENGTHS.saturating_mul(track.length_ns));
    let begin_ns = end.as_ref().map_or(oldest_ns, |end| end.end_realtime_ns.max(oldest_ns));
    let mut next = from.at_realtime(begin_ns);
    while let Some(place) = next {
        // One that is damaged is missing here, too.
        if let Some(record) = from.read(place)?
            && end.as_ref().is_none_or(|end| end.is_before(&record.frame))
        {
            track.append(&record.frame)?;
        }
        next = from.next(place);
    }
    Ok(())
}

/// `None`: there is nothing yet.
fn open(path: &Path) -> Result<Option<Recording>, Error> {
    match Recording::open(path) {
        Ok(recording) => Ok(Some(recording)),
        Err(error) if error.kind() == Kind::NotReadable => Ok(None),
        Err(error) => Err(error),
    }
}
