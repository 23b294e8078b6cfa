//! What a cgroup is called.

use std::borrow::Cow;

use cpuledger_proc::task::containers::{claimed_id, containers, is_of_user};

use crate::kinds;

/// Path and names of a cgroup; a name is empty where it has none or it is not known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CgroupNames {
    /// The path in the hierarchy that CPU time is divided by.
    pub path: Vec<u8>,
    /// The container, by the name that its runtime has for it.
    pub container: Vec<u8>,
    /// Its id.
    pub container_id: Vec<u8>,
    /// The image that it was made of.
    pub image: Vec<u8>,
    /// The pod that it is of.
    pub pod: Vec<u8>,
    /// The namespace of that pod.
    pub namespace: Vec<u8>,
    /// Why it is a container without a name.
    pub nameless: Option<Nameless>,
}

impl CgroupNames {
    /// The name of the container that holds the namespaces of a pod. No container has parentheses in its name.
    pub const SANDBOX: &[u8] = b"(sandbox)";

    /// Those of a cgroup of which only the path is known.
    pub fn of_path(path: &[u8]) -> CgroupNames {
        CgroupNames { path: path.to_vec(), ..CgroupNames::default() }
    }

    /// Container, id, image, pod and namespace.
    pub(super) fn names(&self) -> [&[u8]; 5] {
        [&self.container, &self.container_id, &self.image, &self.pod, &self.namespace]
    }

    /// Likewise, to be written.
    pub(super) fn names_mut(&mut self) -> [&mut Vec<u8>; 5] {
        [&mut self.container, &mut self.container_id, &mut self.image, &mut self.pod, &mut self.namespace]
    }

    /// Of a recording without names, the path tells the id of the container.
    pub(super) fn or_by_path(mut self) -> CgroupNames {
        if self.container_label().is_empty()
            && self.nameless.is_none()
            && let Some(outer) = containers(&self.path).first()
        {
            let is_claim = is_of_user(&self.path);
            self.container_id = if is_claim { claimed_id(&self.path, outer) } else { outer.id.clone() };
            self.nameless = Some(Nameless::NotRecorded);
        }
        self
    }

    /// What its container is called: by its name or, without one, by the beginning of its id. Empty: it is in none.
    pub fn container_label(&self) -> &[u8] {
        const DIGITS: usize = 64;
        const SHOWN: usize = 12;
        let id = &*self.container_id;
        // The number of a user, whose claim it is, may stand before the digits.
        let owner = id.len().saturating_sub(DIGITS);
        let is_hexadecimal = id.len() >= DIGITS && id[owner..].iter().all(u8::is_ascii_hexdigit);
        match &*self.container {
            [] if is_hexadecimal => &id[..owner + SHOWN],
            [] => id,
            name => name,
        }
    }

    /// What its pod is called: `namespace/pod`, as pods of two namespaces may have one name. Empty: it is in none, or that is not known.
    pub fn pod_label(&self) -> Cow<'_, [u8]> {
        if self.pod.is_empty() || self.namespace.is_empty() {
            return Cow::Borrowed(&self.pod);
        }
        Cow::Owned([&*self.namespace, b"/", &self.pod].concat())
    }
}

kinds! {
    /// Why a container has no name. The numbers are those of frames, and never change.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[repr(u8)]
    #[non_exhaustive]
    pub enum Nameless of 2 {
        /// No runtime that is known here has left anything of it on disk.
        NoState = 1 ["no_state", "no runtime that cpuledger knows has state of it on disk"],
        /// The state of the runtime may not be read.
        Denied = 2 ["denied", "the state of its runtime may not be read: run as root"],
        /// A file of its state is longer than what is read of one.
        TooLarge = 3 ["too_large", "a file of its runtime's state is too long"],
        /// A file of its state is not what the runtime writes.
        Damaged = 4 ["damaged", "a file of its runtime's state is not in the format of that runtime"],
        /// A user's own runtime made it: its names are that user's claim, and are not read.
        OfUser = 5 ["of_user", "a user's own runtime made it, and its names would be that user's claim"],
        /// There is state of a container with this id, but of another cgroup: somebody has given a cgroup this name.
        OtherCgroup = 6 ["other_cgroup", "the state with its id is of a container in another cgroup"],
        /// The recording is of a version that did not look for names.
        NotRecorded = 7 ["not_recorded", "it was recorded by a version of cpuledger that did not look for names"],
    }
}

impl Nameless {
    /// That of this number; `None`: of a newer version.
    pub fn by_number(number: u64) -> Option<Nameless> {
        Nameless::ALL.into_iter().find(|one| u64::from(*one as u8) == number)
    }

    /// The reason as a key of JSON.
    pub fn key(self) -> &'static str {
        self.texts()[0]
    }

    /// The reason in words, after "because".
    pub fn words(self) -> &'static str {
        self.texts()[1]
    }
}
