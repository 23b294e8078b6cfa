//! The interfaces of the service, and their descriptions.

/// The interface of the ledger.
pub const INTERFACE: &str = "io.cpuledger.Ledger";
/// The interface that every Varlink service has.
pub const SERVICE_INTERFACE: &str = "org.varlink.service";
/// The description of [`INTERFACE`].
pub const LEDGER_DESCRIPTION: &str = include_str!("io.cpuledger.Ledger.varlink");
/// The description of [`SERVICE_INTERFACE`].
pub const SERVICE_DESCRIPTION: &str = include_str!("org.varlink.service.varlink");
