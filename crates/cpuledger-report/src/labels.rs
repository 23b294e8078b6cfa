//! What the names of rows are called.

use cpuledger_proc::escape::append_escaped;
use rustc_hash::FxHashMap;

use crate::dimension::Name;

/// Names of what has a number in frames.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Labels {
    /// Users.
    pub users: FxHashMap<u64, Vec<u8>>,
    /// Paths of cgroups.
    pub cgroups: FxHashMap<u64, Vec<u8>>,
}

/// The words for what has no name of that kind.
const WITHOUT: &str = "(none)";

impl Labels {
    /// The words for a name: one line without controls.
    pub fn label(&self, name: &Name) -> String {
        let mut label = Vec::new();
        match name {
            Name::Unknown => label.push(b'-'),
            Name::Without => label.extend_from_slice(WITHOUT.as_bytes()),
            Name::Text(text) => append_escaped(&mut label, text),
            Name::User(uid) => match self.users.get(uid) {
                Some(user) => append_escaped(&mut label, user),
                None => label.extend_from_slice(uid.to_string().as_bytes()),
            },
            Name::Cgroup(id) => match self.cgroups.get(id) {
                Some(path) => append_escaped(&mut label, path),
                None => label.extend_from_slice(format!("cgroup {id}").as_bytes()),
            },
            Name::Process { pid, comm, .. } => {
                match comm {
                    Some(comm) => append_escaped(&mut label, comm),
                    None => label.push(b'-'),
                }
                label.extend_from_slice(format!("[{pid}]").as_bytes());
            }
            // The ancestors are told by the rows above it.
            Name::Path(path) => match path.last() {
                Some(Some(comm)) => append_escaped(&mut label, comm),
                _ => label.push(b'-'),
            },
        }
        String::from_utf8_lossy(&label).into_owned()
    }
}
