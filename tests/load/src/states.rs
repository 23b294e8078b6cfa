//! Tasks that do one thing while they are on no CPU.

use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rustix::fs::statfs;

use crate::Error;
use crate::running::{Running, number};

/// On top of what it was told to take.
const ANSWER_LIMIT: Duration = Duration::from_secs(120);

/// File systems without a disk, by `f_type`: tmpfs, ramfs, overlayfs.
const WITHOUT_DISK: [u64; 3] = [0x0102_1994, 0x8584_58f6, 0x794c_7630];

/// Tasks that wait to begin, or have begun. Dropping it ends them.
#[derive(Debug)]
pub struct States {
    running: Running,
}

/// What they shall do; `cpuledger-load states --help` lists the kinds.
#[derive(Debug, Clone, Default)]
pub struct StatesPlan {
    /// What they do while they are on no CPU.
    pub kind: &'static str,
    /// For how long.
    pub ms: u64,
    /// How many processes, where the kind has many.
    pub processes: usize,
    /// The CPU they are bound to.
    pub cpu: Option<u32>,
    /// The file, where the kind needs one.
    pub file: Option<PathBuf>,
}

/// What one task said at its end. Before its beginning and after its end it sleeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Did {
    /// Its tid.
    pub tid: i32,
    /// When it began and ended, CLOCK_MONOTONIC.
    pub begin_ns: u64,
    /// Likewise.
    pub end_ns: u64,
    /// For how long it was not executed meanwhile, by its own clocks.
    pub off_ns: u64,
    /// For how long it did what it should, at least, but for what it waited for a CPU.
    pub least_ns: u64,
    /// Likewise, at most.
    pub most_ns: u64,
    /// What the kernel's count of its waits for a CPU grew by, in all.
    pub run_delay_ns: u64,
    /// Likewise of its waits for I/O, in ticks; 0 where the kernel does not count that.
    pub block_ticks: u64,
    /// Switches away from it.
    pub switches: u64,
}

impl States {
    /// Starts them.
    ///
    /// # Errors
    /// [`Error::GaveUp`] with the program's reason.
    pub fn start(plan: &StatesPlan) -> Result<States, Error> {
        let mut arguments: Vec<OsString> = ["states", "--kind", plan.kind].map(OsString::from).into();
        let mut add = |name: &str, value: OsString| arguments.extend([name.into(), value]);
        add("--ms", plan.ms.to_string().into());
        add("--processes", plan.processes.max(1).to_string().into());
        if let Some(cpu) = plan.cpu {
            add("--cpu", cpu.to_string().into());
        }
        if let Some(file) = &plan.file {
            add("--file", file.into());
        }
        let mut running = Running::start(arguments)?;
        let line = running.expect_line(ANSWER_LIMIT)?;
        match line.starts_with("ready ") {
            true => Ok(States { running }),
            false => Err(running.unexpected(&line)),
        }
    }

    /// The pid of the first process.
    pub fn pid(&self) -> i32 {
        self.running.pid()
    }

    /// Has each wake for a moment, so that a ledger has seen it.
    ///
    /// # Errors
    /// [`Error::GaveUp`] if they are gone.
    pub fn be_seen(&mut self) -> Result<(), Error> {
        self.running.give_word()
    }

    /// Lets them begin, once they were seen.
    ///
    /// # Errors
    /// [`Error::GaveUp`] if they are gone.
    pub fn begin(&mut self) -> Result<(), Error> {
        self.running.give_word()
    }

    /// Waits for the words of the next task that is at its end.
    ///
    /// # Errors
    /// [`Error::GaveUp`] with the program's reason.
    pub fn did(&mut self) -> Result<Did, Error> {
        let line = self.running.expect_line(ANSWER_LIMIT)?;
        parse(&line).ok_or_else(|| self.running.unexpected(&line))
    }
}

impl Drop for States {
    fn drop(&mut self) {
        // Most of what it could say at its end has been said. If it is gone, there is nothing to end.
        let _ = self.running.kill();
    }
}

fn parse(line: &str) -> Option<Did> {
    line.strip_prefix("did ")?;
    Some(Did {
        tid: number(line, "tid")?,
        begin_ns: number(line, "begin_ns")?,
        end_ns: number(line, "end_ns")?,
        off_ns: number(line, "off_ns")?,
        least_ns: number(line, "least_ns")?,
        most_ns: number(line, "most_ns")?,
        run_delay_ns: number(line, "run_delay_ns")?,
        block_ticks: number(line, "block_ticks")?,
        switches: number(line, "switches")?,
    })
}

/// A file on a disk, with something in it. Removed when dropped.
#[derive(Debug)]
pub struct FileOnDisk {
    path: PathBuf,
}

impl FileOnDisk {
    /// Makes one of that many bytes, all of them on the disk. `None`: no folder that a test may use is on one.
    ///
    /// # Errors
    /// [`Error::System`]
    pub fn new(bytes: usize) -> Result<Option<FileOnDisk>, Error> {
        let beside = std::env::current_exe().ok().and_then(|path| path.parent().map(Path::to_path_buf));
        let folders = beside.into_iter().chain([std::env::temp_dir(), "/var/tmp".into()]);
        let Some(folder) = { folders }.find(|folder| is_on_disk(folder)) else { return Ok(None) };
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let made =
            FileOnDisk { path: folder.join(format!("cpuledger-disk-{}-{number}", std::process::id())) };
        let fail = Error::system("write a file on a disk");
        let written = File::create(&made.path).and_then(|mut file| {
            file.write_all(&vec![b'+'; bytes])?;
            file.sync_all()
        });
        written.map_err(fail)?;
        Ok(Some(made))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for FileOnDisk {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

fn is_on_disk(folder: &Path) -> bool {
    let has_name = !folder.as_os_str().as_bytes().is_empty();
    has_name && statfs(folder).is_ok_and(|told| !WITHOUT_DISK.contains(&(told.f_type as u64)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_a_task_is_read() {
        let line = "did tid=7 begin_ns=1 end_ns=9 off_ns=5 least_ns=3 most_ns=4 run_delay_ns=2 block_ticks=0 switches=6";
        let did = Did {
            tid: 7,
            begin_ns: 1,
            end_ns: 9,
            off_ns: 5,
            least_ns: 3,
            most_ns: 4,
            run_delay_ns: 2,
            block_ticks: 0,
            switches: 6,
        };
        assert_eq!(parse(line), Some(did));
        assert_eq!(parse("did tid=7"), None);
    }
}
