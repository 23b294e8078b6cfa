//! Opening a source by its name.

use cpuledger_model::field::FieldSet;
use cpuledger_model::snapshot::{Request, Scope};
use cpuledger_model::source_kind::SourceKind;

use super::interface::Source;
use super::netlink::Netlink;
use super::procfs::Procfs;
use super::service::ServiceListing;
use super::walk::Walk;
use crate::error::Error;

/// Opens one source of snapshots.
///
/// # Errors
/// When it cannot be used on this machine or by this user, and for the ledger, which has no snapshots.
pub fn open(kind: SourceKind) -> Result<Box<dyn Source>, Error> {
    Ok(match kind {
        SourceKind::Ledger => {
            let reason = "it shows what ran in an interval, not what exists at one instant; for a listing use \
                          `walk` or `procfs`";
            return Err(Error::unusable(kind, reason));
        }
        SourceKind::Service => Box::new(ServiceListing::open_only()?),
        SourceKind::Walk => Box::new(Walk::open_whole(&Request::new(Scope::Tasks, FieldSet::ALL), None)?),
        SourceKind::Netlink => Box::new(Netlink::open()?),
        SourceKind::Procfs => Box::new(Procfs::open()?),
    })
}
