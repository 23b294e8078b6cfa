//! Lists of containers that containers/storage keeps, for Podman and CRI-O: names and images by id.

use std::path::{Path, PathBuf};

use cpuledger_model::framing::Nameless;
use rustc_hash::FxHashMap;
use rustix::fs::stat;
use serde::Deserialize;

use super::state::{self, MOST_LIST_BYTES};

/// A container of the list.
#[derive(Debug, Deserialize)]
struct Listed {
    id: String,
    #[serde(default)]
    names: Option<Vec<String>>,
    /// JSON in a text.
    #[serde(default)]
    metadata: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
struct Metadata {
    #[serde(default, rename = "image-name")]
    image_name: Option<String>,
}

/// Name and image of a container.
pub(super) type Of = (Vec<u8>, Vec<u8>);

/// Device, inode number, time of the last change (seconds, nanoseconds) and length of a file.
pub(super) type Version = (u64, u64, i64, u64, i64);

/// One file, read again when it is another one.
#[derive(Debug)]
pub(super) struct List {
    path: PathBuf,
    /// That of the file that was read.
    read: Option<Version>,
    containers: FxHashMap<String, Of>,
}

impl List {
    /// Nothing of that file is read yet.
    pub(super) fn of(path: PathBuf) -> List {
        List { path, read: None, containers: FxHashMap::default() }
    }

    /// What the list has of this container.
    pub(super) fn find(&mut self, id: &[u8]) -> Result<Option<&Of>, Nameless> {
        let now = version(&self.path);
        if self.read != now || now.is_none() {
            self.read = None;
            self.containers.clear();
            let listed: Vec<Listed> = state::read_json(&self.path, MOST_LIST_BYTES)?.unwrap_or_default();
            self.containers = listed.into_iter().map(of_listed).collect();
            self.read = now;
        }
        Ok(str::from_utf8(id).ok().and_then(|id| self.containers.get(id)))
    }
}

fn of_listed(listed: Listed) -> (String, Of) {
    let metadata = listed.metadata.and_then(|text| serde_json::from_str::<Metadata>(&text).ok());
    let image = metadata.and_then(|metadata| metadata.image_name).unwrap_or_default();
    let name = listed.names.and_then(|names| names.into_iter().next()).unwrap_or_default();
    (listed.id, (name.into_bytes(), image.into_bytes()))
}

/// Which file is there now; `None`: there is none.
pub(super) fn version(path: &Path) -> Option<Version> {
    let of = stat(path).ok()?;
    Some((of.st_dev, of.st_ino, of.st_mtime, of.st_mtime_nsec, of.st_size))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_list_is_read_again_when_it_has_changed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("containers.json");
        let mut list = List::of(path.clone());
        assert_eq!(list.find(b"1"), Ok(None));
        fs::write(&path, r#"[{"id":"1","names":["web"],"image":"9","metadata":"{\"image-name\":\"nginx:1\",\"name\":\"web\"}","flags":{}}]"#)
            .expect("a file");
        assert_eq!(list.find(b"1"), Ok(Some(&(b"web".to_vec(), b"nginx:1".to_vec()))));
        fs::write(path.with_extension("new"), r#"[{"id":"2"},{"id":"3","metadata":"none"}]"#)
            .expect("a file");
        fs::rename(path.with_extension("new"), &path).expect("it is there");
        assert_eq!(list.find(b"1"), Ok(None));
        assert_eq!(list.find(b"2"), Ok(Some(&Of::default())));
        assert_eq!(list.find(b"3"), Ok(Some(&Of::default())));
        fs::write(&path, "[{").expect("a file");
        assert_eq!(list.find(b"2"), Err(Nameless::Damaged));
    }
}
