//! An export may be read by those that may read the recording.

use std::fs::{self, DirBuilder, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use crate::error::Error;

/// What the members of a group may do.
const OF_GROUP: u32 = 0o070;

/// The mode of files, and their group.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rights {
    mode: u32,
    group: Option<u32>,
}

impl Rights {
    /// Those that all of these files give.
    ///
    /// # Errors
    /// When one cannot be looked at.
    pub(crate) fn of(segments: &[PathBuf]) -> Result<Rights, Error> {
        let looked_at = |path: &PathBuf| fs::metadata(path).map_err(Error::of(path));
        let all = segments.iter().map(looked_at).collect::<Result<Vec<Metadata>, Error>>()?;
        let group = all.first().map(Metadata::gid);
        let is_one_group = all.iter().all(|of| Some(of.gid()) == group);
        let mode = all.iter().fold(0o666, |mode, of| mode & of.mode()) | 0o600;
        let mode = if is_one_group { mode } else { mode & !OF_GROUP };
        Ok(Rights { mode, group })
    }

    /// The mode of a file, before its group is given.
    pub(crate) fn of_file(self) -> fs::Permissions {
        fs::Permissions::from_mode(self.mode)
    }

    /// Gives a new file or directory the group of the recording. Where that is not allowed, another group may not read it.
    ///
    /// # Errors
    /// When it cannot be changed.
    pub(crate) fn give(self, path: &Path) -> io::Result<()> {
        let of = fs::metadata(path)?;
        let Some(group) = self.group.filter(|group| *group != of.gid()) else { return Ok(()) };
        match chown(path, None, Some(group)) {
            Ok(()) => Ok(()),
            Err(_) => fs::set_permissions(path, fs::Permissions::from_mode(of.mode() & 0o7777 & !OF_GROUP)),
        }
    }

    /// Makes a directory and those above it, where they are missing. Users that may read its files may search it.
    ///
    /// # Errors
    /// When one cannot be made.
    pub(crate) fn make(self, folder: &Path) -> io::Result<()> {
        if folder.is_dir() || folder.as_os_str().is_empty() {
            return Ok(());
        }
        folder.parent().map_or(Ok(()), |above| self.make(above))?;
        match DirBuilder::new().mode(self.mode | (self.mode & 0o444) >> 2).create(folder) {
            Ok(()) => self.give(folder),
            // Another thread has made it.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(Errno::NOTDIR.into()),
            Err(error) => Err(error),
        }
    }
}
