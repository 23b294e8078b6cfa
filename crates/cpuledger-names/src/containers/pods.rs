//! Names of Podman's pods, by their ids: annotations of containers have the ids alone.
//!
//! Podman keeps a pod as JSON in its database, bbolt or SQLite, and the id and the name are its first members. That much is searched for as it stands.
//! It cannot be in a text of somebody else's, such as a label of an image: there, JSON has a backslash before each quotation mark.

use std::path::PathBuf;

use cpuledger_model::framing::Nameless;
use rustc_hash::FxHashMap;

use super::state::{self, MOST_LIST_BYTES};
use super::storage::{Version, version};

/// Pods that are remembered.
const MOST_PODS: usize = 4_096;

/// What stands before the id, and between it and the name.
const BEFORE_ID: &[u8] = b"{\"id\":\"";
const BEFORE_NAME: &[u8] = b"\",\"name\":\"";
/// Digits of an id.
const DIGITS: usize = 64;
/// Bytes of the longest name that is looked at.
const MOST_NAME_BYTES: usize = 255;

/// The databases, read again when they have changed and a pod is asked for that is not known.
#[derive(Debug)]
pub(super) struct Pods {
    files: Vec<(PathBuf, Option<Version>)>,
    names: FxHashMap<Vec<u8>, Vec<u8>>,
}

impl Pods {
    /// Nothing of these files is read yet.
    pub(super) fn of(files: impl IntoIterator<Item = PathBuf>) -> Pods {
        Pods { files: files.into_iter().map(|file| (file, None)).collect(), names: FxHashMap::default() }
    }

    /// The name of a pod; `None`: no database has it.
    pub(super) fn find(&mut self, id: &[u8]) -> Result<Option<&[u8]>, Nameless> {
        if !self.names.contains_key(id) {
            for (file, read) in &mut self.files {
                let now = version(file);
                if now.is_none() || *read == now {
                    continue;
                }
                let database = state::read(file, MOST_LIST_BYTES)?.unwrap_or_default();
                *read = now;
                let found = pods_of(&database);
                if self.names.len() + found.len() > MOST_PODS {
                    self.names.clear();
                }
                self.names.extend(found.into_iter().take(MOST_PODS));
            }
        }
        Ok(self.names.get(id).map(Vec::as_slice))
    }
}

/// Ids and names of the pods in a database.
fn pods_of(database: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let at = |(at, window): (usize, &[u8])| (window == BEFORE_ID).then_some(at + BEFORE_ID.len());
    database
        .windows(BEFORE_ID.len())
        .enumerate()
        .filter_map(at)
        .filter_map(|at| pod_of(&database[at..]))
        .collect()
}

/// The id and the name that begin there, if they are those of a pod.
fn pod_of(bytes: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let (id, rest) = bytes.split_at_checked(DIGITS)?;
    let rest = rest.strip_prefix(BEFORE_NAME)?;
    let end = rest.iter().take(MOST_NAME_BYTES + 1).position(|&byte| byte == b'"')?;
    let name = &rest[..end];
    // As Podman limits them.
    let may_be_named = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.-".contains(byte);
    let is_pod = id.iter().all(u8::is_ascii_hexdigit) && !name.is_empty() && name.iter().all(may_be_named);
    is_pod.then(|| (id.to_vec(), name.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const ID: &str = "553bd3b46560bd79158c2ae579e1b645c51b1b7341be91cf7bc96ab7b3506400";
    const OTHER: &str = "dd2ae6e8504adc4cf8e78ff1198414534a6cd0355e8d73cba968d913f7ac8e82";

    #[test]
    fn a_pod_is_found_in_what_podman_writes_and_not_in_labels() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("bolt_state.db");
        let mut pods = Pods::of([file.clone(), folder.path().join("db.sql")]);
        assert_eq!(pods.find(ID.as_bytes()), Ok(None), "there is no database");
        // Podman 4.3 has written this; the label is that of an image which somebody else has made.
        let written = format!(
            "\0\x01config{{\"id\":\"{ID}\",\"name\":\"shop-pod\",\"labels\":{{}},\"cgroupParent\":\"/libpod_parent\"}}\
             \0config{{\"id\":\"x\",\"labels\":{{\"a\":\"{{\\\"id\\\":\\\"{OTHER}\\\",\\\"name\\\":\\\"evil\\\"}}\"}}}}\0"
        );
        fs::write(&file, &written).expect("a file");
        assert_eq!(pods.find(ID.as_bytes()), Ok(Some(&b"shop-pod"[..])));
        assert_eq!(pods.find(OTHER.as_bytes()), Ok(None));
        // A new pod in the other database.
        let written = format!("{{\"id\":\"{OTHER}\",\"name\":\"new\",");
        fs::write(folder.path().join("db.sql"), written).expect("a file");
        assert_eq!(pods.find(OTHER.as_bytes()), Ok(Some(&b"new"[..])));
        fs::remove_file(&file).expect("it is there");
        assert_eq!(pods.find(ID.as_bytes()), Ok(Some(&b"shop-pod"[..])), "a pod keeps its name");
    }

    #[test]
    fn what_is_no_pod_is_left_out() {
        let long = "a".repeat(MOST_NAME_BYTES + 1);
        for (id, name) in [(ID, ""), (ID, "a b"), (ID, &long), (&ID[1..], "a"), (&long[..64], "\0")] {
            assert!(pods_of(format!("{{\"id\":\"{id}\",\"name\":\"{name}\"").as_bytes()).is_empty());
        }
        assert!(pods_of(format!("{{\"id\":\"{ID}\",\"name\":\"cut").as_bytes()).is_empty());
        assert!(pods_of(&[b'{'; 100]).is_empty());
    }
}
