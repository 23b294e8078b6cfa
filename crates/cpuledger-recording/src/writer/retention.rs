//! What is deleted: the oldest segments that are not written any more.

use std::cmp::Reverse;

use crate::error::Error;
use crate::folder::Folder;

use super::track::Track;

#[derive(Debug)]
pub(super) struct Limits {
    pub(super) most_bytes: Option<u64>,
    pub(super) least_free_bytes: Option<u64>,
}

/// Deletes what is too old and, the oldest first, what is too much.
pub(super) fn apply(limits: &Limits, folder: &Folder, tracks: &mut [Track]) -> Result<(), Error> {
    for track in &mut *tracks {
        while track.keep_ns.zip(track.age_ns()).is_some_and(|(keep_ns, age_ns)| age_ns > keep_ns) {
            drop_first(track)?;
        }
    }
    if let Some(most_bytes) = limits.most_bytes {
        while tracks.iter().map(Track::bytes).sum::<u64>() > most_bytes && drop_oldest(tracks)? {}
    }
    let Some(least_bytes) = limits.least_free_bytes else { return Ok(()) };
    loop {
        let failed = |error| Error::Io { path: folder.path.clone(), source: error };
        let free_bytes = folder.free_bytes().map_err(failed)?;
        if free_bytes >= least_bytes {
            return Ok(());
        }
        if !drop_oldest(tracks)? {
            return Err(Error::NoRoom { path: folder.path.clone(), free_bytes, least_bytes });
        }
    }
}

/// Whether there was one.
fn drop_oldest(tracks: &mut [Track]) -> Result<bool, Error> {
    let with_closed = tracks.iter_mut().filter(|track| !track.closed.is_empty());
    match with_closed.min_by_key(|track| Reverse(track.age_ns())) {
        Some(track) => drop_first(track).map(|()| true),
        None => Ok(false),
    }
}

fn drop_first(track: &mut Track) -> Result<(), Error> {
    let name = track.closed[0].name.text();
    match track.folder.remove(&name) {
        // It was deleted by another.
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::Io { path: track.folder.path.join(name), source: error })
        }
        _ => {
            track.closed.remove(0);
            Ok(())
        }
    }
}
