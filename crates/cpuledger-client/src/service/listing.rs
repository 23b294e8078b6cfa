//! Listings that the service makes.

use std::path::Path;
use std::time::Duration;

use cpuledger_model::field::FIELDS;
use cpuledger_model::frame::{Frame, Section, Wanted};
use cpuledger_model::framing;
use cpuledger_model::snapshot::{Request, Scope, Snapshot};
use cpuledger_model::source_kind::SourceKind;
use cpuledger_service::client::{Client, socket_path};
use cpuledger_service::varlink::{self, List};

use super::connection::{ANSWER, connect, unusable};
use super::families::ListedFamilies;
use crate::error::Error;
use crate::families::Families;

/// For a listing of a service that has answered, where no other source may be asked.
const PATIENCE: Duration = Duration::from_secs(10);

/// Snapshots by the service.
#[derive(Debug)]
pub struct ServiceListing {
    client: Client,
    /// The last listing.
    bytes: Vec<u8>,
    /// What of it was decoded.
    frame: Frame,
    shows_all: bool,
}

/// The audience of those that see their own processes only.
const SELF: &str = "self";

impl ServiceListing {
    /// Connects to the service.
    ///
    /// # Errors
    /// When there is none, or it is not to be believed.
    pub fn open() -> Result<ServiceListing, Error> {
        ServiceListing::open_at(&socket_path())
    }

    /// The same, at that socket.
    ///
    /// # Errors
    /// As [`ServiceListing::open`].
    pub fn open_at(socket: &Path) -> Result<ServiceListing, Error> {
        Ok(ServiceListing {
            client: connect(socket, ANSWER)?,
            bytes: Vec::new(),
            frame: Frame::new(),
            shows_all: false,
        })
    }

    /// The same, for a caller that has no other source: it gives a service that answers more time for a listing.
    ///
    /// # Errors
    /// As [`ServiceListing::open`], and when it does not answer.
    pub fn open_only() -> Result<ServiceListing, Error> {
        ServiceListing::open_only_at(&socket_path())
    }

    /// The same, at that socket.
    ///
    /// # Errors
    /// As [`ServiceListing::open_only`].
    pub fn open_only_at(socket: &Path) -> Result<ServiceListing, Error> {
        let mut listing = ServiceListing::open_at(socket)?;
        listing.client.info().map_err(unusable)?;
        listing.client.set_timeout(PATIENCE);
        Ok(listing)
    }

    /// Whether the next call can be answered: after a late or damaged answer, and when the service has ended, there has to be another connection.
    pub(super) fn is_connected(&self) -> bool {
        self.client.is_connected()
    }

    /// Makes the service list for [`ServiceListing::listed`]: the tasks of the listing are not decoded yet.
    ///
    /// # Errors
    /// When it does not.
    pub fn list(&mut self, request: &Request) -> Result<(), Error> {
        self.list_wanted(request, &Wanted::all_but(Section::Tasks))
    }

    fn list_wanted(&mut self, request: &Request, wanted: &Wanted) -> Result<(), Error> {
        let scope = match request.scope {
            Scope::Leaders => varlink::Scope::Leaders,
            Scope::Processes => varlink::Scope::Processes,
            Scope::Tasks | Scope::Process(_) => varlink::Scope::Tasks,
        };
        let asked = FIELDS.iter().filter(|info| request.fields.contains(info.field));
        let fields = asked.map(|info| info.key.to_owned()).collect();
        let (listing, bytes) = self.client.list(&List::new(scope, fields)).map_err(unusable)?;
        self.shows_all = listing.audience != SELF;
        self.frame.decode_wanted_from(&bytes, wanted).map_err(unusable)?;
        self.bytes = bytes;
        Ok(())
    }

    /// The rows of the last listing, decoded when they are handed out.
    ///
    /// # Errors
    /// When they are not those of processes.
    pub fn listed(&self) -> Result<impl Families, Error> {
        ListedFamilies::new(&self.bytes, &self.frame)
    }

    /// Whether the last listing had every process that /proc shows the caller. Else the policy of the service holds some back.
    pub fn shows_all(&self) -> bool {
        self.shows_all
    }

    /// Lists what is asked for into `into`, whose old content is replaced and whose memory is reused.
    ///
    /// # Errors
    /// When the service does not list.
    pub fn snapshot(&mut self, request: &Request, into: &mut Snapshot) -> Result<(), Error> {
        self.list_wanted(request, &Wanted::ALL)?;
        framing::read_listing(&self.frame, into).map_err(unusable)?;
        into.source = SourceKind::Service;
        if let Scope::Process(pid) = request.scope {
            into.processes.retain(|row| row.pid == pid);
            into.tasks.retain(|row| row.pid == pid);
            let Snapshot { tasks, from_procfs, .. } = into;
            from_procfs.retain(|tid| tasks.iter().any(|row| row.tid == *tid));
        }
        Ok(())
    }
}
