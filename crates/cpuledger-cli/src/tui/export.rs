//! What is seen, as a file: by the same renderers as `--format json` and `--format csv`.

use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Write};

use anyhow::{Context, bail};
use cpuledger::Interval;
use cpuledger_view::key::Shown;
use cpuledger_view::{csv, json};
use rustc_hash::FxHashSet;

use super::effect::ExportFormat;
use super::frame::{Frame, Kind, RowRef};
use super::listing::Item;
use super::state::State;

/// Writes what is listed to a new file, and says so.
///
/// # Errors
/// When there is such a file, or it cannot be written.
pub fn write(state: &State, format: ExportFormat, path: &str) -> anyhow::Result<String> {
    let Some(frame) = &state.frame else { bail!("the first interval has not ended yet") };
    let bytes = bytes(state, frame, format);
    let context = || format!("cannot write {path}");
    let file = OpenOptions::new().write(true).create_new(true).open(path);
    let file = match file {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            bail!("{path} exists already; choose another name")
        }
        file => file.with_context(context)?,
    };
    fill(path, file, &bytes).with_context(context)?;
    Ok(format!("{} bytes written to {path}", bytes.len()))
}

/// Writes what a new file shall hold. Where that fails nothing is left of it, so that the next attempt finds its name free.
fn fill(path: &str, mut file: impl Write, bytes: &[u8]) -> io::Result<()> {
    let written = file.write_all(bytes).and_then(|()| file.flush());
    if written.is_err() {
        // It was made here; what cannot be removed either stays.
        let _ = std::fs::remove_file(path);
    }
    written
}

/// The text of the file.
pub fn bytes(state: &State, frame: &Frame, format: ExportFormat) -> Vec<u8> {
    let seen = seen(state, frame);
    let all = |count: usize| (0..count).collect::<Vec<usize>>();
    let [processes, tasks] = [&seen.processes, &seen.tasks].map(|rows| all(rows.len()));
    let exited = all(seen.exited.as_ref().map_or(0, Vec::len));
    let blocked = all(seen.blocked.as_ref().map_or(0, Vec::len));
    let shown = Shown {
        processes: &processes,
        tasks: state.settings.has_threads.then_some(&*tasks),
        exited: &exited,
        blocked: &blocked,
        boot_id: frame.around.boot_id.as_deref(),
        named: Some(&frame.around.named),
        ..Shown::without_rows(&seen)
    };
    let mut bytes = Vec::new();
    match format {
        ExportFormat::Json => json::append_interval(&mut bytes, &shown),
        ExportFormat::Csv => {
            csv::append_header(&mut bytes);
            csv::append_interval(&mut bytes, &shown, csv::Cells::Plain);
        }
    }
    bytes
}

/// The interval with the rows of the lines alone, in their order.
fn seen(state: &State, frame: &Frame) -> Interval {
    let from = &frame.interval;
    let mut seen = from.clone();
    [&mut seen.processes, &mut seen.tasks].into_iter().for_each(Vec::clear);
    seen.exited.iter_mut().for_each(Vec::clear);
    seen.from_procfs.clear();
    seen.frame = None;
    for entry in &state.listing.entries {
        let listed: &[RowRef] = match &entry.item {
            Item::Row(at) => std::slice::from_ref(at),
            // Each of those that share a line is a row.
            Item::Alike(sum) => {
                let folded = state.listing.alike(*sum).filter(|alike| alike.is_folded);
                folded.map_or(&[], |alike| &alike.rows)
            }
            Item::Group(_) | Item::ExitedName(_) | Item::Exited(_) => &[],
        };
        for &at in listed {
            let rows = match at.kind {
                Kind::Process => &mut seen.processes,
                Kind::Task => &mut seen.tasks,
            };
            rows.push(frame.row(at).into_owned());
        }
    }
    if state.settings.has_threads {
        // Tasks are told besides their processes.
        let pids: FxHashSet<_> = seen.tasks.iter().map(|row| row.task.pid).collect();
        let rows = from.processes.iter().filter(|row| pids.contains(&row.task.pid));
        seen.processes.extend(rows);
    }
    if state.settings.has_exited
        && let Some(exited) = &mut seen.exited
    {
        exited.extend(state.listing.exited.iter().map(|&index| frame.exited()[index as usize]));
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk with room for this many bytes.
    struct Disk(std::fs::File, usize);

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let room = bytes.len().min(self.1);
            if room == 0 {
                return Err(ErrorKind::StorageFull.into());
            }
            self.1 -= room;
            self.0.write(&bytes[..room])
        }

        fn flush(&mut self) -> io::Result<()> {
            self.0.flush()
        }
    }

    #[test]
    fn what_failed_leaves_no_file() {
        let path = std::env::temp_dir().join(format!("cpuledger-export-{}", std::process::id()));
        let name = path.to_str().expect("UTF-8");
        for (room, is_there) in [(0, false), (3, false), (100, true)] {
            let file = OpenOptions::new().write(true).create_new(true).open(&path).expect("the name is free");
            assert_eq!(fill(name, Disk(file, room), b"0123456789").is_ok(), is_there);
            assert_eq!(path.exists(), is_there, "{room} bytes of room");
        }
        std::fs::remove_file(path).expect("it is ours");
    }
}
