//! Listings on demand: one walk for all that ask at a time.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use cpuledger::frames::{self, Circumstances};
use cpuledger::interval::Usage;
use cpuledger::source::procfs::Procfs;
use cpuledger::source::walk::Walk;
use cpuledger::{Error, FieldSet, Interval, Request, Scope, Snapshot, Source as _, SourceKind};
use cpuledger_frame::Frame;
use cpuledger_service::sealed::seal;
use cpuledger_service::varlink::Refusal;

use super::audiences::Audience;

/// A listing as it is handed out.
#[derive(Debug, Clone)]
pub struct Sealed {
    pub frame: Arc<OwnedFd>,
    pub length: u64,
}

/// What was listed for calls that have arrived before it was made.
#[derive(Default)]
pub struct Listings {
    walk: Option<Walk>,
    /// By scope, with all fields.
    walked: HashMap<Scope, Snapshot>,
    sealed: HashMap<(Audience, Scope, u64), Sealed>,
    frame: Frame,
    bytes: Vec<u8>,
}

impl Listings {
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
        let key = (audience, scope, fields.number());
        if let Some(sealed) = self.sealed.get(&key) {
            return Ok(sealed.clone());
        }
        let failed =
            |error: &dyn std::fmt::Display| Refusal::Unavailable { sentence: format!("no listing: {error}") };
        if !self.walked.contains_key(&scope) {
            let snapshot = self.walk(scope).map_err(|error| failed(&error))?;
            self.walked.insert(scope, snapshot);
        }
        let mut snapshot = self.walked.get(&scope).cloned().unwrap_or_default();
        if let Audience::User(viewer) = audience {
            viewer.restrict_listing(&mut snapshot);
        }
        for row in snapshot.processes.iter_mut().chain(&mut snapshot.tasks) {
            row.known = row.known.intersection(fields);
        }
        write(&snapshot, &mut self.frame);
        self.frame.encode(&mut self.bytes).map_err(|error| failed(&error))?;
        let frame = seal("cpuledger-listing", &self.bytes).map_err(|error| failed(&error))?;
        let sealed = Sealed { frame: Arc::new(frame), length: self.bytes.len() as u64 };
        self.sealed.insert(key, sealed.clone());
        Ok(sealed)
    }

    fn walk(&mut self, scope: Scope) -> Result<Snapshot, Error> {
        let walk = match &mut self.walk {
            Some(walk) => walk,
            None => self.walk.insert(Walk::open_whole(FieldSet::ALL, Procfs::open().ok())?),
        };
        let mut snapshot = Snapshot::default();
        walk.snapshot(&Request { scope, fields: FieldSet::ALL }, &mut snapshot)?;
        Ok(snapshot)
    }
}

/// A listing is an interval of no length, in which nothing was used.
fn write(snapshot: &Snapshot, frame: &mut Frame) {
    let interval = Interval {
        source: SourceKind::Walk,
        start_ns: snapshot.begin_ns,
        end_ns: snapshot.begin_ns,
        processes: vec![Usage::default(); snapshot.processes.len()],
        tasks: vec![Usage::default(); snapshot.tasks.len()],
        ..Interval::default()
    };
    let of = Circumstances { end: Some(snapshot.begin), ..Circumstances::default() };
    frames::write(snapshot, &interval, &of, frame);
}
