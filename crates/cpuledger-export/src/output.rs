//! Where the files of an export are, and how each comes to its name.

use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use jiff::civil::Date;
use rustix::fs::{FlockOperation, flock};
use tempfile::NamedTempFile;

use crate::error::Error;
use crate::file_name::{FileName, SegmentId, in_path, is_of_older_version};
use crate::rights::Rights;
use crate::schema::Table;

/// What names of unfinished files begin with. Readers of such folders leave out what begins with a point.
const UNFINISHED: &str = ".cpuledger-";

/// The directory of an export, which no other export writes to.
#[derive(Debug)]
pub(crate) struct Output {
    path: PathBuf,
    rights: Rights,
    /// What it had at the begin.
    there: Vec<There>,
    _lock: File,
}

/// A file of an earlier export.
#[derive(Debug)]
struct There {
    table: Table,
    /// The directories that it is in, below that of the table.
    date: String,
    host: String,
    name: FileName,
}

/// Which files: those of a segment.
#[derive(Debug, Clone)]
pub(crate) struct Name {
    /// The machine.
    pub(crate) host: Vec<u8>,
    /// What each is called.
    pub(crate) file: FileName,
    /// Begin and end of the whole segment, CLOCK_MONOTONIC in milliseconds.
    pub(crate) segment_ms: Range<u64>,
}

/// What is written, and what it is of.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) segments: Vec<SegmentId>,
    /// The tiers of the recording, and what identifies each.
    pub(crate) tiers: Vec<(String, u64)>,
}

impl Plan {
    fn has_tier_of(&self, segment: &SegmentId) -> bool {
        self.tiers.iter().any(|(tier, id)| (tier, *id) == (&segment.tier, segment.recording))
    }
}

fn folder_of_date(date: Date) -> String {
    format!("date={date}")
}

fn folder_of_host(host: &[u8]) -> String {
    format!("host={}", in_path(host))
}

impl Output {
    /// Makes the directory where it is missing, and removes what an export that was killed has left.
    pub(crate) fn open(path: &Path, rights: Rights) -> Result<Output, Error> {
        rights.make(path).map_err(Error::of(path))?;
        let lock = File::open(path).map_err(Error::of(path))?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Err(Error::InUse { path: path.into() }),
            Err(error) => return Err(Error::of(path)(error.into())),
        }
        let there = look_through(path)?;
        Ok(Output { path: path.into(), rights, there, _lock: lock })
    }

    /// Whether all tables have this segment of that day, in a file that has all of it.
    pub(crate) fn has(&self, date: Date, name: &Name) -> bool {
        let (date, host) = (folder_of_date(date), folder_of_host(&name.host));
        let has = |table| {
            self.there.iter().any(|there| {
                (there.table, &there.date, &there.host) == (table, &date, &host)
                    && there.name.segment == name.file.segment
                    && there.name.ending == name.file.ending
                    && !there.name.is_part
            })
        };
        Table::ALL.into_iter().all(has)
    }

    /// The times that the tables have from other tiers of the recording, CLOCK_MONOTONIC in milliseconds: a tier of longer intervals keeps
    /// what a finer one has deleted. Parts of segments are written anew, unless their segments were deleted.
    pub(crate) fn taken(&self, name: &Name, plan: &Plan) -> Vec<Range<u64>> {
        let (host, own) = (folder_of_host(&name.host), &name.file.segment);
        let is_taken = |there: &&There| {
            let FileName { segment, is_part, .. } = &there.name;
            (&there.host, &segment.boot) == (&host, &own.boot)
                && segment.tier != own.tier
                && plan.has_tier_of(segment)
                && !(*is_part && plan.segments.contains(segment))
        };
        self.there.iter().filter(is_taken).map(|there| there.name.span_ms.clone()).collect()
    }

    /// An error if there are other intervals of the same time: sums over both would count it twice.
    pub(crate) fn check(&self, name: &Name, plan: &Plan) -> Result<(), Error> {
        let host = folder_of_host(&name.host);
        let of_boot =
            |there: &&There| there.host == host && there.name.segment.boot == name.file.segment.boot;
        for There { name: there, .. } in self.there.iter().filter(of_boot) {
            let (own, path) = (&name.file.segment, || self.path.clone());
            if there.segment == *own {
                // A copy of the recording that was written on has another segment of that number.
                let (whole_ms, part_ms) = (&name.segment_ms, &there.span_ms);
                let is_within = whole_ms.start <= part_ms.start && part_ms.end <= whole_ms.end;
                if there.is_part && !is_within || !there.is_part && !there.covers(whole_ms) {
                    return Err(Error::OtherRecording { path: path() });
                }
            } else if !there.overlaps(&name.file) {
            } else if there.segment.tier != own.tier && plan.has_tier_of(&there.segment) {
                // What is taken was left out.
            } else if there.segment.tier != own.tier {
                let (found, wanted) = (there.segment.tier.clone(), own.tier.clone());
                return Err(Error::OtherTier { path: path(), found, wanted });
            } else if there.segment.recording != own.recording {
                return Err(Error::OtherRecording { path: path() });
            }
        }
        Ok(())
    }

    /// A file without its name.
    pub(crate) fn create(&self, table: Table, date: Date, name: &Name) -> Result<Unfinished, Error> {
        let (date, host) = (folder_of_date(date), folder_of_host(&name.host));
        let folder = self.path.join(table.name()).join(&date).join(&host);
        self.rights.make(&folder).map_err(Error::of(&folder))?;
        let mut builder = tempfile::Builder::new();
        let builder = builder.prefix(UNFINISHED).permissions(self.rights.of_file());
        let file = builder.tempfile_in(&folder).map_err(Error::of(&folder))?;
        self.rights.give(file.path()).map_err(Error::of(file.path()))?;
        let is_instead = |there: &&There| {
            (there.table, &there.date, &there.host) == (table, &date, &host)
                && there.name.segment == name.file.segment
                && there.name.ending == name.file.ending
                && there.name != name.file
        };
        let instead = self.there.iter().filter(is_instead).map(|there| folder.join(there.name.text()));
        let instead = instead.collect();
        Ok(Unfinished { file, to: folder.join(name.file.text()), instead })
    }
}

/// The files of all tables. What an export that was killed has left is removed.
fn look_through(path: &Path) -> Result<Vec<There>, Error> {
    let mut all = Vec::new();
    for table in Table::ALL {
        let of_table = path.join(table.name());
        for date in names_in(&of_table)? {
            for host in names_in(&of_table.join(&date))? {
                let folder = of_table.join(&date).join(&host);
                for text in names_in(&folder)? {
                    if text.starts_with(UNFINISHED) {
                        // One that cannot be removed stays, as no reader takes it.
                        let _ = fs::remove_file(folder.join(text));
                    } else if let Some(name) = FileName::read(&text) {
                        all.push(There { table, date: date.clone(), host: host.clone(), name });
                    } else if is_of_older_version(&text) {
                        return Err(Error::OlderNames { path: folder.join(text) });
                    }
                }
            }
        }
    }
    Ok(all)
}

/// The names of what is in a directory; none, if it is no directory. Other files than ours are not looked at.
fn names_in(folder: &Path) -> Result<Vec<String>, Error> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(Error::of(folder)(error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        names.extend(entry.map_err(Error::of(folder))?.file_name().into_string().ok());
    }
    Ok(names)
}

/// A file that is being written. Dropped, it is removed.
#[derive(Debug)]
pub(crate) struct Unfinished {
    file: NamedTempFile,
    to: PathBuf,
    /// Files of the same segment that it takes the place of.
    instead: Vec<PathBuf>,
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
        for path in instead {
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(Error::of(&path)(error)),
                _ => {}
            }
        }
        file.persist(&to).map_err(|error| Error::of(&to)(error.error))?;
        Ok(())
    }
}
