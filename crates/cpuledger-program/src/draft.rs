//! Files that are written whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Names that are tried. Others have them all only if someone means it.
const MOST_NAMES: u32 = 1000;

/// A new file beside the one that is meant. It goes away with this value unless it gets that one's name.
#[derive(Debug)]
pub struct Draft {
    file: File,
    path: PathBuf,
}

impl Draft {
    /// One that was not there: a link that another user has planted under such a name is not followed, and the next name is tried.
    ///
    /// # Errors
    /// When there can be no file.
    pub fn create(folder: &Path, prefix: &str, mode: u32) -> io::Result<Draft> {
        let mut number = 0;
        loop {
            let path = folder.join(format!("{prefix}{}.{number}", std::process::id()));
            match OpenOptions::new().write(true).create_new(true).mode(mode).open(&path) {
                Ok(file) => return Ok(Draft { file, path }),
                Err(error) if error.kind() == ErrorKind::AlreadyExists && number < MOST_NAMES => number += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// The file, to be written.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Gives it this name, in the place of the file that has it.
    ///
    /// # Errors
    /// When the kernel refuses; then it goes away.
    pub fn rename(mut self, to: &Path) -> io::Result<()> {
        fs::rename(&self.path, to)?;
        self.path.clear();
        Ok(())
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.path.as_os_str().is_empty() {
            // There is nothing more to do where it stays.
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, symlink};

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("a folder").flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn it_takes_no_name_that_is_there_and_leaves_none() {
        let folder = tempfile::tempdir().expect("a folder");
        let [planted, next] = [0, 1].map(|number| format!(".draft.{}.{number}", std::process::id()));
        let victim = folder.path().join("victim");
        symlink(&victim, folder.path().join(&planted)).expect("a link");
        let draft = || Draft::create(folder.path(), ".draft.", 0o600).expect("it is ours");
        let first = draft();
        assert_eq!(first.file().metadata().expect("a file").mode() & 0o7777, 0o600);
        assert_eq!(names(folder.path()), [planted.clone(), next]);
        drop(first);
        draft().rename(&folder.path().join("whole")).expect("it is ours");
        assert_eq!(names(folder.path()), [planted.clone(), "whole".to_owned()]);
        draft().rename(&folder.path().join("no folder/whole")).expect_err("there is none");
        assert_eq!(names(folder.path()), [planted, "whole".to_owned()]);
        assert!(!victim.exists());
    }
}
