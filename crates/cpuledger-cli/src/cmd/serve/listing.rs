//! Listings on demand: one walk for all that ask at a time.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use cpuledger::audience::Viewer;
use cpuledger::frames;
use cpuledger::source::procfs::Procfs;
use cpuledger::source::walk::Walk;
use cpuledger::{Error, Field, FieldSet, Request, Scope, Snapshot, Source as _};
use cpuledger_frame::Frame;
use cpuledger_service::sealed::seal;
use cpuledger_service::varlink::Refusal;

use super::audiences::Audience;
use super::books::Books;

/// A listing as it is handed out.
#[derive(Debug, Clone)]
pub struct Sealed {
    pub frame: Arc<OwnedFd>,
    pub length: u64,
}

/// What was listed for calls that have arrived before it was made.
pub struct Listings {
    books: Books,
    walk: Option<Walk>,
    /// By scope and fields.
    walked: HashMap<(Scope, u64), Snapshot>,
    /// Restricted to a viewer, or not: all that are not restricted share one.
    sealed: HashMap<(Option<Viewer>, Scope, u64), Sealed>,
    frame: Frame,
    bytes: Vec<u8>,
}

impl Listings {
    /// Of the tasks whose time is in these books.
    pub fn new(books: Books) -> Listings {
        Listings {
            books,
            walk: None,
            walked: HashMap::new(),
            sealed: HashMap::new(),
            frame: Frame::new(),
            bytes: Vec::new(),
        }
    }

    /// Calls that have arrived since are answered by what is listed from now on.
    pub fn begin(&mut self) {
        self.walked.clear();
        self.sealed.clear();
    }

    /// Lists for an audience.
    ///
    /// # Errors
    /// When there cannot be a walk, or no memory for what it found.
    pub fn list(&mut self, audience: Audience, scope: Scope, fields: FieldSet) -> Result<Sealed, Refusal> {
        let failed =
            |error: &dyn std::fmt::Display| Refusal::Unavailable { sentence: format!("no listing: {error}") };
        let restricts = |viewer: &Viewer| viewer.restricts(fields);
        let restricted_to = match audience {
            Audience::User(viewer) => Some(viewer).filter(restricts),
            Audience::All => None,
        };
        let key = (restricted_to, scope, fields.number());
        if let Some(sealed) = self.sealed.get(&key) {
            return Ok(sealed.clone());
        }
        // Nearly all fields: some of them decide which rows and figures a user is shown. The wait costs a visit of all threads.
        let most = FieldSet::ALL.without(FieldSet::of(&[Field::RunqueueWait]));
        let walked_fields = if restricted_to.is_some() { most.union(fields) } else { fields };
        let asked = (scope, walked_fields.number());
        if !self.walked.contains_key(&asked) {
            let snapshot = self.walk(scope, walked_fields).map_err(|error| failed(&error))?;
            self.walked.insert(asked, snapshot);
        }
        let Some(walked) = self.walked.get(&asked) else {
            return Err(failed(&"the walk is missing"));
        };
        match restricted_to {
            // Rows of 100,000 tasks take longer to copy than to walk.
            Some(viewer) => {
                let mut snapshot = walked.clone();
                viewer.restrict_listing(&mut snapshot);
                frames::write_listing(&snapshot, fields, &mut self.frame);
            }
            None => frames::write_listing(walked, fields, &mut self.frame),
        }
        self.frame.encode(&mut self.bytes).map_err(|error| failed(&error))?;
        let frame = seal("cpuledger-listing", &self.bytes).map_err(|error| failed(&error))?;
        let sealed = Sealed { frame: Arc::new(frame), length: self.bytes.len() as u64 };
        self.sealed.insert(key, sealed.clone());
        Ok(sealed)
    }

    fn walk(&mut self, scope: Scope, fields: FieldSet) -> Result<Snapshot, Error> {
        let walk = match &mut self.walk {
            Some(walk) => walk,
            None => self.walk.insert(Walk::open_whole(FieldSet::ALL, Procfs::open().ok())?),
        };
        if !walk.is_watching()
            && let Some(watch) = self.books.take_watch()
        {
            walk.watch(watch);
        }
        let mut snapshot = Snapshot::default();
        walk.snapshot(&Request { scope, fields }, &mut snapshot)?;
        Ok(snapshot)
    }
}
