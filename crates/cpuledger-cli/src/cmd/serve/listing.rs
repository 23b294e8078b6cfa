//! Listings on demand: one walk for all that ask at a time.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use cpuledger::framing::{self, ListingColumns};
use cpuledger::source::Member;
use cpuledger::source::procfs::Procfs;
use cpuledger::source::walk::Walk;
use cpuledger::{Error, Field, FieldSet, Request, Scope, Snapshot, Source as _};
use cpuledger_model::audience::Viewer;
use cpuledger_model::frame::Frame;
use cpuledger_service::varlink::Refusal;

use super::audiences::Audience;
use super::books::Books;

/// All fields but the wait, which costs a visit of all threads.
const ALL_BUT_WAIT: FieldSet = FieldSet::ALL.without(FieldSet::of(&[Field::RunqueueWait]));

/// What was listed for calls that have arrived before it was made.
pub struct Listings {
    books: Books,
    walk: Option<Walk>,
    /// By scope and fields.
    walked: HashMap<(Scope, u128), Snapshot>,
    /// Restricted to a viewer, or not: all that are not restricted share one.
    frames: HashMap<(Option<Viewer>, Scope, u128), Arc<Vec<u8>>>,
    columns: ListingColumns,
    frame: Frame,
}

impl Listings {
    /// Of the tasks whose time is in these books.
    pub fn new(books: Books) -> Listings {
        Listings {
            books,
            walk: None,
            walked: HashMap::new(),
            frames: HashMap::new(),
            columns: ListingColumns::default(),
            frame: Frame::new(),
        }
    }

    /// Loads the walk before a listing is asked for, which would have to wait for it, and visits all threads once, so that the first listing visits
    /// those only that have run. The kernel then holds room for processes, not for threads.
    pub fn prepare(&mut self) {
        // The first listing tries again, and tells why it fails.
        let Ok(walk) = opened(&mut self.walk, &self.books, Scope::Processes) else { return };
        if walk.is_watching() {
            let request = Request::new(Scope::Processes, ALL_BUT_WAIT);
            let _ = walk.snapshot(&request, &mut Snapshot::default());
        }
    }

    /// Calls that arrive from now on are answered by what is listed then. Frames that are still being sent stay with those that send them.
    pub fn end_turn(&mut self) {
        self.walked.clear();
        self.frames.clear();
    }

    /// Lists for an audience.
    ///
    /// # Errors
    /// When there cannot be a walk, or what it found is beyond the limits of a frame.
    pub fn list(
        &mut self,
        audience: Audience,
        scope: Scope,
        fields: FieldSet,
    ) -> Result<Arc<Vec<u8>>, Refusal> {
        let failed =
            |error: &dyn std::fmt::Display| Refusal::Unavailable { sentence: format!("no listing: {error}") };
        let restricts = |viewer: &Viewer| viewer.restricts(fields);
        let restricted_to = match audience {
            Audience::User(viewer) => Some(viewer).filter(restricts),
            Audience::All => None,
        };
        let key = (restricted_to, scope, fields.number());
        if let Some(frame) = self.frames.get(&key) {
            return Ok(Arc::clone(frame));
        }
        let listed = match restricted_to {
            Some(viewer) => self.list_restricted(viewer, scope, fields),
            None if scope == Scope::Tasks => self.list_tasks(fields),
            None => self
                .walk(scope, fields)
                .map(|walked| framing::write_listing(&walked, fields, &mut self.frame)),
        };
        listed.map_err(|error| failed(&error))?;
        let mut bytes = Vec::new();
        self.frame.encode(&mut bytes).map_err(|error| failed(&error))?;
        bytes.shrink_to_fit();
        let frame = Arc::new(bytes);
        self.frames.insert(key, Arc::clone(&frame));
        Ok(frame)
    }

    /// Lists what a viewer is shown.
    fn list_restricted(&mut self, viewer: Viewer, scope: Scope, fields: FieldSet) -> Result<(), Error> {
        // Nearly all fields: some of them decide which rows and figures a user is shown.
        let most = ALL_BUT_WAIT.union(fields);
        let asked = (scope, most.number());
        if !self.walked.contains_key(&asked) {
            let walked = self.walk(scope, most)?;
            self.walked.insert(asked, walked);
        }
        if let Some(walked) = self.walked.get(&asked) {
            framing::write_listing(&viewer.restrict_listing(walked), fields, &mut self.frame);
        }
        Ok(())
    }

    /// Lists tasks. Rows of 100,000 of them are 36 MB, so none is kept: what the frame has of one is taken while it is at hand.
    fn list_tasks(&mut self, fields: FieldSet) -> Result<(), Error> {
        let Listings { walk, books, columns, frame, .. } = self;
        let walk = opened(walk, books, Scope::Tasks)?;
        let mut room = Snapshot::default();
        columns.begin(fields, frame);
        let families = walk.families(&Request::new(Scope::Tasks, fields), &mut room)?;
        for part in 0..families.parts() {
            // It goes on to the end.
            let _ = families.visit(part, &mut |member| {
                match member {
                    Member::Process(row) => columns.add_process(row, frame),
                    Member::Task(row) => columns.add_task(row, frame),
                    Member::Rest(_) => {}
                }
                ControlFlow::Continue(())
            });
        }
        drop(families);
        columns.end(&room, frame);
        Ok(())
    }

    fn walk(&mut self, scope: Scope, fields: FieldSet) -> Result<Snapshot, Error> {
        let mut snapshot = Snapshot::default();
        opened(&mut self.walk, &self.books, scope)?.snapshot(&Request::new(scope, fields), &mut snapshot)?;
        Ok(snapshot)
    }
}

/// The walk, which watches the ledger of these books as soon as it can. It is loaded for a listing of that scope, and anew for the first
/// one of threads after that.
fn opened<'a>(walk: &'a mut Option<Walk>, books: &Books, scope: Scope) -> Result<&'a mut Walk, Error> {
    let walk = match walk {
        Some(walk) => walk,
        None => {
            let first = Request::new(scope, FieldSet::ALL);
            walk.insert(Walk::open_whole(&first, Procfs::open().ok())?)
        }
    };
    if !walk.is_watching()
        && let Some(watch) = books.take_watch()
    {
        walk.watch(watch);
    }
    Ok(walk)
}
