//! What tests of recordings have in common: commands, their standard error as it comes, and what was recorded.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cpuledger::{Interval, framing};
use cpuledger_load::not_run;
use cpuledger_recording::{Recording, Step};
use rustix::mount::{MountFlags, UnmountFlags};
use rustix::process::{Signal, kill_process};

/// For anything that does not take long.
pub const LONG: Duration = Duration::from_secs(120);

/// The binary, without a service.
pub fn cpuledger() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cpuledger"));
    command.env_remove("SUDO_UID").env_remove("SUDO_GID").stdin(Stdio::null());
    command.env("CPULEDGER_SOCKET", "/nowhere");
    command
}

/// `cpuledger record` to that directory.
pub fn record(folder: &Path, options: &[&str]) -> Command {
    let mut command = cpuledger();
    command.arg("record").arg(folder).args(options).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

/// What a process says on standard error, as it comes.
#[derive(Debug, Clone, Default)]
pub struct Said(Arc<Mutex<String>>);

impl Said {
    /// Listens until the process ends.
    pub fn of(child: &mut Child) -> Said {
        let said = Said::default();
        let (stderr, own) = (child.stderr.take().expect("a pipe"), said.clone());
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                own.0.lock().expect("no panic").push_str(&format!("{line}\n"));
            }
        });
        said
    }

    /// All of it.
    pub fn text(&self) -> String {
        self.0.lock().expect("no panic").clone()
    }

    /// Waits for these words.
    pub fn wait_for(&self, words: &str) {
        let begin = Instant::now();
        while !self.text().contains(words) {
            assert!(begin.elapsed() < LONG, "`{words}` does not come: {}", self.text());
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// A recorder that is killed at the end of the test, if it has not ended.
pub struct Recorder {
    pub child: Child,
    pub said: Said,
}

impl Recorder {
    /// Starts it, and waits until it has said that it records.
    pub fn start(folder: &Path, options: &[&str]) -> Recorder {
        let mut child = record(folder, options).spawn().expect("it starts");
        let said = Said::of(&mut child);
        let recorder = Recorder { child, said };
        recorder.said.wait_for("recording to ");
        recorder
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(rustix::process::Pid::from_child(&self.child), signal).expect("it lives");
    }

    /// Waits until something is so.
    pub fn wait_for(&self, is_so: impl Fn() -> bool) {
        let begin = Instant::now();
        while !is_so() {
            assert!(begin.elapsed() < LONG, "it does not come: {}", self.said.text());
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Its exit code.
    pub fn wait(&mut self) -> Option<i32> {
        let begin = Instant::now();
        while self.child.try_wait().expect("a child").is_none() {
            assert!(begin.elapsed() < LONG, "it does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
        self.child.wait().expect("it has ended").code()
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The names of the segments of a tier, in their order.
pub fn segments(tier: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(tier) else { return Vec::new() };
    let name = |entry: std::io::Result<fs::DirEntry>| entry.expect("a name").file_name().into_string();
    let mut names: Vec<String> = entries.map(|entry| name(entry).expect("digits")).collect();
    names.sort();
    names
}

/// All recorded intervals, each of which balances.
pub fn intervals(tier: &Path) -> Vec<Interval> {
    let mut recording = Recording::open(tier).expect("a recording");
    let (mut all, mut next) = (Vec::new(), recording.first());
    while let Some(place) = next {
        let Step::Record(record, behind) = recording.step(place).expect("it reads") else { panic!("a loss") };
        let mut interval = Interval::default();
        framing::read(&record.frame, &mut interval).expect("an interval");
        assert_eq!(interval.imbalance_ns(), Some(0));
        let sum: u64 = interval.processes.iter().map(|row| row.usage.cpu_ns).sum();
        assert_eq!(sum, interval.attributed_ns, "the rows have all the time");
        all.push(interval);
        next = behind;
    }
    all
}

/// A small file system, until it is dropped.
pub struct Small(tempfile::TempDir);

impl Small {
    /// Of 512 KiB. `None`: this process may not mount.
    pub fn mount() -> Option<Small> {
        let folder = tempfile::tempdir().expect("a folder");
        let flags = MountFlags::NODEV | MountFlags::NOSUID;
        match rustix::mount::mount("none", folder.path(), "tmpfs", flags, Some(c"size=512k")) {
            Ok(()) => Some(Small(folder)),
            Err(error) => {
                not_run(&format!("it may not mount a tmpfs: {error}"));
                None
            }
        }
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Takes all that is free.
    pub fn fill(&self) {
        let mut filler =
            fs::OpenOptions::new().create(true).append(true).open(self.filler()).expect("a file");
        while std::io::Write::write_all(&mut filler, &[1; 512]).is_ok() {}
    }

    /// Gives it back.
    pub fn empty(&self) {
        fs::remove_file(self.filler()).expect("it is there");
    }

    fn filler(&self) -> std::path::PathBuf {
        self.path().join("filler")
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = rustix::mount::unmount(self.path(), UnmountFlags::DETACH);
    }
}
