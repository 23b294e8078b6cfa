//! Where the files of an export are, and how each comes to its name.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::civil::Date;
use rustix::fs::{FlockOperation, flock};
use tempfile::NamedTempFile;

use crate::destination::Destination;
use crate::error::Error;
use crate::file_name::{FileName, SegmentId, UNFINISHED, in_path, is_of_older_version};
use crate::rights::Rights;
use crate::schema::Table;
use crate::store::Store;

/// Where files are until a store of objects has them, unless `TMPDIR` says it: it is on a disk, as `/tmp` often is not.
const DRAFTS: &str = "/var/tmp";

/// The tables of an export.
#[derive(Debug)]
pub(crate) struct Output {
    target: Target,
    rights: Rights,
    /// What they had at the begin.
    there: Vec<There>,
}

/// Where they are.
#[derive(Debug)]
enum Target {
    /// A directory that no other export writes to.
    Folder { path: PathBuf, _lock: File },
    /// Two exports of one recording write the same objects, so there is no lock.
    Store(Arc<Store>),
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
    /// Makes the directory where it is missing, and removes what an export that was killed has left. Of a store of objects, it looks at the
    /// folders of these machines and days, and at those of the days beside them.
    pub(crate) fn open(
        to: &Destination,
        rights: Rights,
        days: &BTreeSet<(Vec<u8>, Date)>,
    ) -> Result<Output, Error> {
        if let Some(store) = Store::open(to)? {
            let there = look_into(&store, days)?;
            return Ok(Output { target: Target::Store(Arc::new(store)), rights, there });
        }
        let Destination::Folder(path) = to else { unreachable!("what is no store is a directory") };
        rights.make(path).map_err(Error::of(path))?;
        let lock = File::open(path).map_err(Error::of(path))?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Err(Error::InUse { path: path.into() }),
            Err(error) => return Err(Error::of(path)(error.into())),
        }
        let there = look_through(path)?;
        Ok(Output { target: Target::Folder { path: path.into(), _lock: lock }, rights, there })
    }

    /// As the command line has it.
    fn name(&self) -> PathBuf {
        match &self.target {
            Target::Folder { path, .. } => path.clone(),
            Target::Store(store) => store.name().into(),
        }
    }

    /// Whether all tables have this segment of that day, in a file that has all of it.
    pub(crate) fn has(&self, date: Date, name: &Name) -> bool {
        let (date, host) = (folder_of_date(date), folder_of_host(&name.host));
        let has = |table| {
            self.there.iter().any(|there| {
                (there.table, &there.date, &there.host) == (table, &date, &host)
                    && there.name.is_of_same(&name.file)
                    && !there.name.is_part
                    && there.name.covers(&name.segment_ms)
            })
        };
        Table::ALL.into_iter().all(has)
    }

    /// The times that the tables have from other tiers of the recording, CLOCK_MONOTONIC in milliseconds: a tier of longer intervals keeps
    /// what a finer one has deleted. Of a part whose segment is read now, the recording says itself which tier has the time.
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

    /// The times of other files of its segment that have some of its time, and some that it has not.
    pub(crate) fn crossing(&self, name: &Name) -> Vec<Range<u64>> {
        let (host, own) = (folder_of_host(&name.host), &name.file);
        let is_crossing = |there: &&There| {
            there.host == host
                && there.name.is_of_same(own)
                && there.name.overlaps(own)
                && !own.covers(&there.name.span_ms)
        };
        self.there.iter().filter(is_crossing).map(|there| there.name.span_ms.clone()).collect()
    }

    /// An error if there are other intervals of the same time: sums over both would count it twice.
    pub(crate) fn check(&self, name: &Name, plan: &Plan) -> Result<(), Error> {
        let host = folder_of_host(&name.host);
        let of_boot =
            |there: &&There| there.host == host && there.name.segment.boot == name.file.segment.boot;
        for There { name: there, .. } in self.there.iter().filter(of_boot) {
            let (own, path) = (&name.file.segment, || self.name());
            if there.segment == *own {
                // A copy of the recording that was written on has another segment of that number.
                let (whole_ms, part_ms) = (&name.segment_ms, &there.span_ms);
                let is_within = whole_ms.start <= part_ms.start && part_ms.end <= whole_ms.end;
                // A copy that was made while the segment was written has the begin of it.
                let is_begin = is_within && part_ms.start == whole_ms.start;
                let is_own = if there.is_part { is_within } else { is_begin || there.covers(whole_ms) };
                if !is_own {
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

    /// A file without its name. It takes the place of those of which it has all.
    pub(crate) fn create(&self, table: Table, date: Date, name: &Name) -> Result<Unfinished, Error> {
        let (date, host) = (folder_of_date(date), folder_of_host(&name.host));
        let is_instead = |there: &&There| {
            (there.table, &there.date, &there.host) == (table, &date, &host)
                && there.name.is_of_same(&name.file)
                && name.file.covers(&there.name.span_ms)
                && there.name != name.file
        };
        let instead = self.there.iter().filter(is_instead).map(|there| there.name.text());
        let below = format!("{}/{date}/{host}", table.name());
        let draft = match &self.target {
            Target::Folder { path, .. } => self.draft_in(&path.join(&below), &name.file, instead)?,
            Target::Store(store) => {
                let folder = std::env::var_os("TMPDIR").map_or_else(|| PathBuf::from(DRAFTS), PathBuf::from);
                Draft::Nameless {
                    file: tempfile::tempfile_in(&folder).map_err(Error::of(&folder))?,
                    store: Arc::clone(store),
                    to: format!("{below}/{}", name.file.text()),
                    instead: instead.map(|name| format!("{below}/{name}")).collect(),
                }
            }
        };
        Ok(Unfinished(draft))
    }

    fn draft_in(
        &self,
        folder: &Path,
        name: &FileName,
        instead: impl Iterator<Item = String>,
    ) -> Result<Draft, Error> {
        self.rights.make(folder).map_err(Error::of(folder))?;
        let mut builder = tempfile::Builder::new();
        let builder = builder.prefix(UNFINISHED).permissions(self.rights.of_file());
        let file = builder.tempfile_in(folder).map_err(Error::of(folder))?;
        self.rights.give(file.path()).map_err(Error::of(file.path()))?;
        let instead = instead.map(|name| folder.join(name)).collect();
        Ok(Draft::Hidden { file, to: folder.join(name.text()), instead })
    }
}

/// The objects of these machines and days, and of the days beside them: an interval of another recording may have begun there.
fn look_into(store: &Store, days: &BTreeSet<(Vec<u8>, Date)>) -> Result<Vec<There>, Error> {
    let mut all = Vec::new();
    let mut folders = BTreeSet::new();
    for (host, day) in days {
        for day in [day.yesterday().ok(), Some(*day), day.tomorrow().ok()].into_iter().flatten() {
            folders.insert((folder_of_date(day), folder_of_host(host)));
        }
    }
    for (date, host) in &folders {
        for table in Table::ALL {
            let folder = format!("{}/{date}/{host}", table.name());
            for text in store.names_in(&folder)? {
                if text.starts_with(UNFINISHED) {
                    store.remove(&format!("{folder}/{text}"))?;
                } else if let Some(name) = FileName::read(&text) {
                    all.push(There { table, date: date.clone(), host: host.clone(), name });
                } else if is_of_older_version(&text) {
                    return Err(Error::OlderNames {
                        path: format!("{}/{folder}/{text}", store.name()).into(),
                    });
                }
            }
        }
    }
    Ok(all)
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
pub(crate) struct Unfinished(Draft);

#[derive(Debug)]
enum Draft {
    /// In its folder, by a name that readers leave out. `instead`: files of the same segment that it takes the place of.
    Hidden { file: NamedTempFile, to: PathBuf, instead: Vec<PathBuf> },
    /// In no folder: nothing is left of it after a kill.
    Nameless { file: File, store: Arc<Store>, to: String, instead: Vec<String> },
}

impl Unfinished {
    /// Where it is going to be, for errors.
    pub(crate) fn path(&self) -> &Path {
        match &self.0 {
            Draft::Hidden { to, .. } => to,
            Draft::Nameless { to, .. } => Path::new(to),
        }
    }

    /// Where it is until then, if it has a name there.
    pub(crate) fn unfinished_path(&self) -> Option<&Path> {
        match &self.0 {
            Draft::Hidden { file, .. } => Some(file.path()),
            Draft::Nameless { .. } => None,
        }
    }

    /// A second descriptor of it.
    pub(crate) fn file(&self) -> io::Result<File> {
        match &self.0 {
            Draft::Hidden { file, .. } => file.as_file().try_clone(),
            Draft::Nameless { file, .. } => file.try_clone(),
        }
    }

    /// Gives it its name, once all of it is on the disk or in the store. No reader ever sees the rows of a segment twice.
    pub(crate) fn publish(self, is_stopped: impl Fn() -> bool) -> Result<(), Error> {
        match self.0 {
            Draft::Hidden { file, to, instead } => {
                file.as_file().sync_all().map_err(Error::of(&to))?;
                for path in instead {
                    match fs::remove_file(&path) {
                        Err(error) if error.kind() != io::ErrorKind::NotFound => {
                            return Err(Error::of(&path)(error));
                        }
                        _ => {}
                    }
                }
                file.persist(&to).map_err(|error| Error::of(&to)(error.error))?;
                Ok(())
            }
            Draft::Nameless { mut file, store, to, instead } => {
                store.put(&mut file, &to, &instead, is_stopped)
            }
        }
    }
}
