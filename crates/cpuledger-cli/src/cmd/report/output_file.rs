//! A file that is complete or not there.

use std::io::{ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, anyhow};
use cpuledger_program::draft::Draft;

/// Writes a file beside the one that is meant, and gives it that name when it is complete. What is no file, as a device or a pipe, is
/// written as it is.
///
/// # Errors
/// When it cannot be written.
pub fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let failed = || format!("cannot write {}", path.display());
    let is_special = path.metadata().is_ok_and(|of| !of.is_file());
    if is_special {
        return std::fs::write(path, bytes).with_context(failed);
    }
    // Behind a link, it is the file that the link leads to.
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mode = path.metadata().map_or(0o644, |of| of.permissions().mode() & 0o777);
    let draft = Draft::create(folder, ".cpuledger-report-", mode)
        .map_err(|error| match error.kind() {
            ErrorKind::NotFound => anyhow!("there is no such directory"),
            kind => anyhow!("{kind}"),
        })
        .with_context(failed)?;
    draft.file().write_all(bytes).with_context(failed)?;
    draft.rename(&path).with_context(failed)
}
