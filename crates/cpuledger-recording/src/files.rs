//! The files of segments: each is open when it is read, and closed again when others have been read since. A recording may have more
//! segments than a process may have open files.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;

use crate::folder::{Folder, Name, State};
use crate::source::ReadAt;

/// Files that are open at a time, of all recordings of this process.
const MOST_OPEN: usize = 32;

/// Those that were read last, each with the number of its segment.
static OPEN: Mutex<Vec<(u64, Arc<File>)>> = Mutex::new(Vec::new());

fn open() -> MutexGuard<'static, Vec<(u64, Arc<File>)>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where a file is.
#[derive(Debug)]
enum Where {
    Path(PathBuf),
    /// The segment that begins with this record, in whichever state.
    Folder(Arc<Folder>, u64),
}

impl Where {
    /// `None`: it is not there, or no file.
    fn open(&self, has_it: impl Fn(&File) -> io::Result<bool>) -> io::Result<Option<File>> {
        let (folder, sequence) = match self {
            Where::Folder(folder, sequence) => (folder, *sequence),
            Where::Path(path) => {
                return match File::open(path) {
                    Ok(file) => Ok(has_it(&file)?.then_some(file)),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
                    Err(error) => Err(error),
                };
            }
        };
        for state in State::ALL {
            if let Some(file) = folder.read(&Name { sequence, state }.text())?
                && has_it(&file)?
            {
                return Ok(Some(file));
            }
        }
        Ok(None)
    }
}

#[derive(Debug)]
pub(crate) struct SegmentFile {
    at: Where,
    /// Device and inode: its name changes when it is closed, and another may have that name later.
    identity: (u64, u64),
    number: u64,
    /// Where it stays open.
    kept: Option<Arc<File>>,
}

impl SegmentFile {
    /// In a directory, whose names are these, in order. A writer may have given it another name since. `None`: it is not there, or what has
    /// the name is no file.
    pub(crate) fn of_folder(
        folder: &Arc<Folder>,
        name: Name,
        names: &[Name],
    ) -> io::Result<Option<(Name, SegmentFile)>> {
        let others = State::ALL.map(|state| Name { state, ..name }).into_iter();
        let others = others.filter(|other| names.binary_search(other).is_err());
        for name in std::iter::once(name).chain(others) {
            if let Some(file) = with_room(|| folder.read(&name.text()))? {
                let at = Where::Folder(Arc::clone(folder), name.sequence);
                return Ok(Some((name, SegmentFile::of(at, file)?)));
            }
        }
        Ok(None)
    }

    /// At a path.
    pub(crate) fn of_path(path: PathBuf) -> io::Result<SegmentFile> {
        let file = with_room(|| File::open(&path))?;
        SegmentFile::of(Where::Path(path), file)
    }

    fn of(at: Where, file: File) -> io::Result<SegmentFile> {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        let identity = identity(&file)?;
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        let own = SegmentFile { at, identity, number, kept: None };
        own.put(Arc::new(file));
        Ok(own)
    }

    /// Notes that it was read last. The one that was read first is closed, if that is one too many.
    fn put(&self, file: Arc<File>) {
        let mut open = open();
        let least_recent = (open.len() >= MOST_OPEN).then(|| open.remove(0));
        open.push((self.number, file));
        drop(open);
        drop(least_recent);
    }

    /// `None`: it was deleted since.
    fn file(&self) -> io::Result<Option<Arc<File>>> {
        if let Some(kept) = &self.kept {
            return Ok(Some(Arc::clone(kept)));
        }
        let mut open = open();
        if let Some(place) = open.iter().rposition(|(number, _)| *number == self.number) {
            let found = open.remove(place);
            let file = Arc::clone(&found.1);
            open.push(found);
            return Ok(Some(file));
        }
        drop(open);
        let is_it = |file: &File| Ok(identity(file)? == self.identity);
        let Some(file) = with_room(|| self.at.open(is_it))? else { return Ok(None) };
        let file = Arc::new(file);
        self.put(Arc::clone(&file));
        Ok(Some(file))
    }
}

impl Drop for SegmentFile {
    fn drop(&mut self) {
        open().retain(|(number, _)| *number != self.number);
    }
}

impl ReadAt for SegmentFile {
    fn length(&self) -> io::Result<u64> {
        self.file()?.map_or(Ok(0), |file| Ok(file.metadata()?.len()))
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        let file = self.file()?.ok_or(io::ErrorKind::UnexpectedEof)?;
        file.read_exact_at(bytes, offset)
    }

    fn keep_open(&mut self) -> io::Result<()> {
        self.kept = self.file()?;
        Ok(())
    }
}

fn identity(file: &File) -> io::Result<(u64, u64)> {
    let of = file.metadata()?;
    Ok((of.dev(), of.ino()))
}

/// Opens a file, if need be in the place of all that need not be open.
fn with_room<T>(opened: impl Fn() -> io::Result<T>) -> io::Result<T> {
    match opened() {
        Err(error) if matches!(Errno::from_io_error(&error), Some(Errno::MFILE | Errno::NFILE)) => {
            open().clear();
            opened()
        }
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A writer closes it between the listing and the opening.
    #[test]
    fn a_segment_whose_name_has_changed_since_is_found() {
        let path = tempfile::tempdir().expect("a folder");
        let folder = Arc::new(Folder::open(path.path()).expect("it is there"));
        let name = |state| Name { sequence: 60, state };
        let found = |names: &[Name]| {
            let found = SegmentFile::of_folder(&folder, name(State::Open), names).expect("it can be read");
            found.map(|(name, _)| name.state)
        };
        assert_eq!(found(&[name(State::Open)]), None);
        for state in [State::Closed, State::CutOff] {
            fs::write(path.path().join(name(state).text()), "").expect("room");
            assert_eq!(found(&[name(State::Open)]), Some(state));
            // What was listed by that name is opened by that name.
            assert_eq!(found(&[name(state), name(State::Open)]), None);
            fs::remove_file(path.path().join(name(state).text())).expect("it is there");
        }
        fs::create_dir(path.path().join(name(State::Open).text())).expect("room");
        assert_eq!(found(&[name(State::Open)]), None);
    }
}
