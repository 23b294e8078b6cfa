//! Where the files of an export are, and how each comes to its name.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use tempfile::NamedTempFile;

use crate::error::Error;
use crate::format::Format;
use crate::schema::Table;

/// What names of unfinished files begin with. Readers of such folders leave out what begins with a point.
const UNFINISHED: &str = ".cpuledger-";

/// What the name of a file ends with that has a part of its segment only.
const PART: &str = "-part";

/// The directory of an export, which no other export writes to.
#[derive(Debug)]
pub(crate) struct Output {
    path: PathBuf,
    _lock: File,
}

/// Which files: those of a segment.
#[derive(Debug, Clone)]
pub(crate) struct Name {
    /// The machine.
    pub(crate) host: Vec<u8>,
    /// What the files of the segment are called, whatever part of it they have.
    pub(crate) boot_id: Vec<u8>,
    /// The tier, as its directory is called.
    pub(crate) tier: String,
    /// The number of the first record of the segment.
    pub(crate) sequence: u64,
    /// Whether not all of the segment is wanted.
    pub(crate) is_part: bool,
    /// How the name ends.
    pub(crate) format: Format,
}

impl Name {
    fn stem(&self) -> String {
        format!("{}-{}-{:016}", in_path(&self.boot_id), self.tier, self.sequence)
    }

    fn text(&self) -> String {
        let part = if self.is_part { PART } else { "" };
        format!("{}{part}.{}", self.stem(), self.format.ending())
    }

    fn other(&self) -> Name {
        Name { is_part: !self.is_part, ..self.clone() }
    }
}

/// A text as a part of a path: what else would be mistaken for something is written as in a URL, as Hive does.
fn in_path(text: &[u8]) -> String {
    let mut escaped = String::new();
    for (place, &byte) in text.iter().enumerate() {
        let is_plain =
            byte.is_ascii_alphanumeric() || byte == b'_' || (place > 0 && matches!(byte, b'-' | b'.'));
        if is_plain {
            escaped.push(char::from(byte));
        } else {
            escaped.push_str(&format!("%{byte:02X}"));
        }
    }
    if escaped.is_empty() { "unknown".into() } else { escaped }
}

impl Output {
    /// Makes the directory where it is missing, and removes what an export that was killed has left.
    pub(crate) fn open(path: &Path) -> Result<Output, Error> {
        fs::create_dir_all(path).map_err(Error::of(path))?;
        let lock = File::open(path).map_err(Error::of(path))?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Err(Error::InUse { path: path.into() }),
            Err(error) => return Err(Error::of(path)(error.into())),
        }
        for table in Table::ALL {
            remove_unfinished(&path.join(table.name()), 2);
        }
        Ok(Output { path: path.into(), _lock: lock })
    }

    fn folder(&self, table: Table, date: jiff::civil::Date, name: &Name) -> PathBuf {
        let host = format!("host={}", in_path(&name.host));
        self.path.join(table.name()).join(format!("date={date}")).join(host)
    }

    /// Whether all tables have this segment of that day, in a file that has all of it.
    pub(crate) fn has(&self, date: jiff::civil::Date, name: &Name) -> bool {
        let whole = Name { is_part: false, ..name.clone() };
        Table::ALL.into_iter().all(|table| self.folder(table, date, name).join(whole.text()).is_file())
    }

    /// An error if there are intervals of another tier, which have the same time.
    pub(crate) fn check_tier(&self, date: jiff::civil::Date, name: &Name) -> Result<(), Error> {
        let folder = self.folder(Table::Intervals, date, name);
        let Ok(entries) = fs::read_dir(&folder) else { return Ok(()) };
        let boot = format!("{}-", in_path(&name.boot_id));
        for entry in entries.flatten() {
            let file = entry.file_name();
            let tier = file.to_str().and_then(|file| file.strip_prefix(&boot)?.split_once('-'));
            if let Some((found, _)) = tier.filter(|(found, _)| *found != name.tier) {
                return Err(Error::OtherTier {
                    path: folder,
                    found: found.into(),
                    wanted: name.tier.clone(),
                });
            }
        }
        Ok(())
    }

    /// A file without its name.
    pub(crate) fn create(
        &self,
        table: Table,
        date: jiff::civil::Date,
        name: &Name,
    ) -> Result<Unfinished, Error> {
        let folder = self.folder(table, date, name);
        fs::create_dir_all(&folder).map_err(Error::of(&folder))?;
        let mut builder = tempfile::Builder::new();
        // As the umask has it, like files of other programs.
        let builder = builder.prefix(UNFINISHED).permissions(rights());
        let file = builder.tempfile_in(&folder).map_err(Error::of(&folder))?;
        Ok(Unfinished { file, to: folder.join(name.text()), instead: folder.join(name.other().text()) })
    }
}

fn rights() -> fs::Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(0o666)
}

/// Files that cannot be removed stay, as no reader takes them.
fn remove_unfinished(folder: &Path, depth: u32) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder && depth > 0 {
            remove_unfinished(&entry.path(), depth - 1);
        } else if !is_folder && entry.file_name().as_encoded_bytes().starts_with(UNFINISHED.as_bytes()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// A file that is being written. Dropped, it is removed.
#[derive(Debug)]
pub(crate) struct Unfinished {
    file: NamedTempFile,
    to: PathBuf,
    /// A file of the same segment that it takes the place of.
    instead: PathBuf,
}

impl Unfinished {
    pub(crate) fn path(&self) -> &Path {
        &self.to
    }

    /// Where it is until then.
    pub(crate) fn unfinished_path(&self) -> &Path {
        self.file.path()
    }

    /// A second descriptor of it.
    pub(crate) fn file(&self) -> io::Result<File> {
        self.file.as_file().try_clone()
    }

    /// Gives it its name, once all of it is on the disk. No reader ever sees the rows of a segment twice.
    pub(crate) fn publish(self) -> Result<(), Error> {
        let Unfinished { file, to, instead } = self;
        file.as_file().sync_all().map_err(Error::of(&to))?;
        match fs::remove_file(&instead) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(Error::of(&instead)(error)),
        }
        file.persist(&to).map_err(|error| Error::of(&to)(error.error))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_elsewhere_stay_where_they_are() {
        for (text, escaped) in [
            (&b"web-1.example"[..], "web-1.example"),
            (b"../../etc", "%2E.%2F..%2Fetc"),
            (b".hidden", "%2Ehidden"),
            (b"a=b c\n\xff", "a%3Db%20c%0A%FF"),
            (b"", "unknown"),
        ] {
            assert_eq!(in_path(text), escaped);
        }
    }
}
