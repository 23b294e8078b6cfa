//! Where recordings are if nothing else is said.

use std::path::PathBuf;

use rustix::process::geteuid;

/// Of the machine: root writes it, and the service.
pub const OF_MACHINE: &str = "/var/log/cpuledger";

/// The usual directory of a recording: [`OF_MACHINE`] for root, and one in the state directory for other users. `None`: such a user has
/// no home.
pub fn usual() -> Option<PathBuf> {
    if geteuid().is_root() { Some(OF_MACHINE.into()) } else { of_user() }
}

/// `$XDG_STATE_HOME/cpuledger`, else `~/.local/state/cpuledger`.
pub fn of_user() -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))?;
    Some(state.join("cpuledger"))
}
