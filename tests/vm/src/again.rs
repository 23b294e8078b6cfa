//! What a guest has when it is booted again.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use cpuledger_vm::extent::Chosen;
use cpuledger_vm::protocol::Event;

use crate::cpio::Archive;
use crate::memory::in_memory;

/// The suites that carry files over, and an archive of these, which are taken out of the events. `None`: there are none.
///
/// # Errors
/// When one has come in pieces.
pub fn carried(events: &mut Vec<Event>) -> anyhow::Result<Option<(Chosen, Vec<u8>)>> {
    let (mut archive, mut names) = (Archive::default(), Vec::new());
    for event in events.extract_if(.., |event| matches!(event, Event::Carried(..))) {
        let Event::Carried(suite, path, digits) = event else { continue };
        let bytes = bytes(&digits).with_context(|| format!("{} is no file", path.display()))?;
        archive.file(&path, &bytes);
        names.push(suite);
    }
    let suites = Chosen::of(|suite| names.contains(&suite.name()));
    Ok((!names.is_empty()).then(|| (suites, archive.finish())))
}

/// An initramfs with an archive behind it: a kernel unpacks both.
///
/// # Errors
/// When it cannot be read, or there is no memory.
pub fn with(initramfs: &Path, archive: &[u8]) -> anyhow::Result<(PathBuf, File)> {
    let mut both = std::fs::read(initramfs).context("read the initramfs")?;
    both.resize(both.len().next_multiple_of(4), 0);
    both.extend_from_slice(archive);
    in_memory(&both)
}

/// The bytes of hexadecimal digits.
fn bytes(digits: &str) -> anyhow::Result<Vec<u8>> {
    ensure!(digits.len().is_multiple_of(2) && digits.is_ascii(), "half a byte");
    let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).context("no digits");
    (0..digits.len()).step_by(2).map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_carried_are_taken_out() {
        let suite = cpuledger_vm::suite::SUITES[1].name();
        let file = Event::Carried(suite.clone(), "/carried/a".into(), "00ff7f".to_owned());
        let mut events = vec![Event::Begins("a".to_owned()), file, Event::Done];
        let (suites, archive) = carried(&mut events).expect("files").expect("one");
        assert_eq!(suites.suites().map(|suite| suite.name()).collect::<Vec<_>>(), [suite]);
        assert!(archive.windows(3).any(|bytes| bytes == [0, 0xff, 0x7f]));
        assert_eq!(events, [Event::Begins("a".to_owned()), Event::Done]);
        assert!(carried(&mut events).expect("nothing is wrong").is_none());
        assert!(bytes("0").is_err() && bytes("zz").is_err());
    }
}
