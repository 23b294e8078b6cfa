//! What there is of each group of processes at the moment: a listing of the service for each scrape, and open files of /proc.

use std::time::{Duration, Instant};

use cpuledger_model::frame::Frame;
use cpuledger_program::exit::sentence;
use cpuledger_program::output::warn;
use cpuledger_service::client::{Client, socket_path};
use cpuledger_service::varlink::{List, Scope};

use crate::compat::groups::{LISTED, Listing};
use crate::compat::procfs::descriptors;
use crate::follow::Shared;

/// How long a call may take.
const ANSWER: Duration = Duration::from_secs(5);
/// Scrapes that come one soon after the other share a listing.
const GOOD_FOR: Duration = Duration::from_millis(500);
/// That it fails is said so often.
const WARNS_EACH: Duration = Duration::from_secs(60);

/// What lists.
#[derive(Debug, Default)]
pub struct Lister {
    client: Option<Client>,
    made: Option<Instant>,
    warned: Option<Instant>,
}

impl Lister {
    /// Renews the listing of the groups, unless that is quite new. Where there can be none, there is none: old figures would pass for new ones.
    pub fn renew(&mut self, shared: &Shared) {
        if self.made.is_some_and(|made| made.elapsed() < GOOD_FOR) {
            return;
        }
        let Some(begun) = shared.books().compat_mut().groups.as_mut().map(|groups| groups.begin_listing())
        else {
            return;
        };
        let listing = match self.list() {
            Ok(frame) => Some(listing_of(&frame, begun, shared)),
            Err(error) => {
                self.warn(&error);
                None
            }
        };
        if let Some(groups) = &mut shared.books().compat_mut().groups {
            groups.set_listing(listing);
        }
        self.made = Some(Instant::now());
    }

    fn list(&mut self) -> anyhow::Result<Frame> {
        let result = self.try_list();
        if result.is_err() {
            self.client = None;
        }
        result
    }

    fn try_list(&mut self) -> anyhow::Result<Frame> {
        let client = match &mut self.client {
            Some(client) if client.is_connected() => client,
            place => {
                let path = socket_path();
                let client = Client::connect(&path, ANSWER)?;
                client.check_owner(&path)?;
                place.insert(client)
            }
        };
        let fields = LISTED.map(str::to_owned).to_vec();
        let (_, bytes) = client.list(&List::new(Scope::Leaders, fields))?;
        Ok(Frame::decode(&bytes)?)
    }

    fn warn(&mut self, error: &anyhow::Error) {
        if self.warned.is_none_or(|warned| warned.elapsed() >= WARNS_EACH) {
            self.warned = Some(Instant::now());
            warn(&format!(
                "num_procs and other gauges of groups are missing, as there is no listing: {}",
                sentence(error)
            ));
        }
    }
}

/// Finds the groups of the processes, and reads what the listing does not tell. The books are free meanwhile.
fn listing_of(frame: &Frame, begun: u64, shared: &Shared) -> Listing {
    let known = shared.read_files(frame);
    let mut books = shared.books();
    let groups = books.compat_mut().groups.as_mut();
    let processes = groups.map(|groups| groups.list(frame, &known, begun)).unwrap_or_default();
    drop(books);
    let mut listing = Listing::default();
    for process in &processes {
        listing.add(frame, process, descriptors(process.pid));
    }
    listing
}
