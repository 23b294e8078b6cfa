//! The books of `cpuledger serve`, as `cpuledger-client` reads them. For listings the service is a source like the others.

use cpuledger_client::families::Families;
use cpuledger_model::field::FieldSet;
use cpuledger_model::snapshot::{Request, Scope, Snapshot};
use cpuledger_model::source_kind::SourceKind;

use crate::error::Error;
use crate::source::Source;

pub use cpuledger_client::service::{
    Ended, ServiceLedger, ServiceListing, answers, listens, name_socket, recording,
};

impl Source for ServiceListing {
    fn kind(&self) -> SourceKind {
        SourceKind::Service
    }

    fn fields(&self) -> FieldSet {
        FieldSet::ALL
    }

    fn snapshot(&mut self, request: &Request, into: &mut Snapshot) -> Result<(), Error> {
        Ok(ServiceListing::snapshot(self, request, into)?)
    }

    /// Rows of 100,000 tasks are 36 MB: they are decoded when they are handed out, by as many threads as take parts.
    fn families<'a>(
        &'a mut self,
        request: &Request,
        room: &'a mut Snapshot,
    ) -> Result<Box<dyn Families + 'a>, Error> {
        if request.scope != Scope::Tasks {
            ServiceListing::snapshot(self, request, room)?;
            return Ok(Box::new(&*room));
        }
        self.list(request)?;
        Ok(Box::new(self.listed()?))
    }
}
