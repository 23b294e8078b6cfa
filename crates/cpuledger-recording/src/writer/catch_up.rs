//! What a writer that was killed had merged, and not written: the next one merges it again, from the intervals that are there.

use std::path::Path;

use crate::error::{Error, Kind};
use crate::recording::{Place, Recording};

use super::times::times_of;
use super::track::Track;

/// How far back it is looked for, in lengths of the tier: what a killed writer had in memory is shorter than one of them.
const LENGTHS: u64 = 2;

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
    let Some(mut from) = open(path)? else { return Ok(()) };
    let Some(last) = from.last() else { return Ok(()) };
    let boot_id = from.boot_id(last).map(<[u8]>::to_vec);
    let end_ns = match open(&track.folder.path)? {
        Some(mut own) => end_of_boot(&mut own, boot_id.as_deref()),
        None => 0,
    };
    let most_ns = LENGTHS.saturating_mul(track.length_ns);
    let mut next = begin(&mut from, last, end_ns, most_ns);
    while let Some(place) = next {
        // One that is damaged is missing here, too.
        if let Some(record) = from.read(place)? {
            track.meet(&record.frame, &times_of(&record.frame)?);
            track.append(&record.frame)?;
        }
        next = from.next(place);
    }
    Ok(())
}

/// The first record of the boot of the last one that is behind this end, and not further back than that. What is merged is of one boot.
fn begin(from: &mut Recording, last: Place, end_ns: u64, most_ns: u64) -> Option<Place> {
    let newest_ns = from.entry(last)?.end_ns;
    let (mut begin, mut place) = (None, Some(last));
    while let Some(here) = place.filter(|here| from.is_same_boot(*here, last)) {
        let start_ns = from.entry(here)?.start_ns;
        if start_ns < end_ns || newest_ns.saturating_sub(start_ns) > most_ns {
            break;
        }
        (begin, place) = (Some(here), from.previous(here));
    }
    begin
}

/// The end of the last record of a boot, CLOCK_MONOTONIC; 0: there is none.
fn end_of_boot(own: &mut Recording, boot_id: Option<&[u8]>) -> u64 {
    let mut place = own.last();
    while let Some(here) = place {
        if own.boot_id(here) == boot_id {
            return own.entry(here).map_or(0, |entry| entry.end_ns);
        }
        place = own.previous(here);
    }
    0
}

/// `None`: there is nothing yet.
fn open(path: &Path) -> Result<Option<Recording>, Error> {
    match Recording::open(path) {
        Ok(recording) => Ok(Some(recording)),
        Err(error) if error.kind() == Kind::NotReadable => Ok(None),
        Err(error) => Err(error),
    }
}
