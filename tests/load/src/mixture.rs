//! Everything at once: forks, threads, compilers, tasks that wake each other.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::{Error, Kin, Storm, StormPlan, is_emulated};

/// A process that ends without having been waited for, and one that has dead parents below it.
const FORKING: &str =
    "while kill -0 $PPID; do /bin/true; sh -c '(/bin/true; /bin/true) & /bin/true; wait'; done";

/// How much of each there is in a [`Mixture`]; each keeps about one task on a CPU.
#[derive(Debug, Clone, Copy)]
pub struct MixturePlan {
    /// Shells that fork.
    pub shells: usize,
    /// Compilers.
    pub compilers: usize,
    /// Processes that make threads without pause.
    pub thread_makers: usize,
    /// Pairs of processes that wake each other through pipes.
    pub pairs: u64,
}

impl Default for MixturePlan {
    /// On an emulated CPU, which takes some thirty times as long, less of all, and no compilers, which the guests do not have.
    fn default() -> MixturePlan {
        if is_emulated() {
            return MixturePlan { shells: 2, compilers: 0, thread_makers: 1, pairs: 10 };
        }
        MixturePlan { shells: 2, compilers: 2, thread_makers: 2, pairs: 100 }
    }
}

/// A mixed load at work: shells that fork, threads made without pause, compilers, tasks that wake each other through pipes.
/// Dropping it ends it.
#[derive(Debug)]
pub struct Mixture {
    forking: Vec<i32>,
    _shells: Vec<Shell>,
    _threads: Option<Storm>,
    _ping_pong: Option<Kin>,
    _folder: Folder,
}

/// Shells that fork, and others whose parents die. Dropping them ends them.
#[derive(Debug)]
pub struct ForkingShells {
    shells: Vec<Shell>,
}

/// A shell with all that it starts: a process group.
#[derive(Debug)]
struct Shell(Child);

/// Removed at the end.
#[derive(Debug)]
struct Folder(PathBuf);

impl Mixture {
    /// Starts all of it.
    ///
    /// # Errors
    /// If a part of it cannot be started.
    pub fn start() -> Result<Mixture, Error> {
        Mixture::of(&MixturePlan::default())
    }

    /// Starts as much of each as the plan says.
    ///
    /// # Errors
    /// Likewise.
    pub fn of(plan: &MixturePlan) -> Result<Mixture, Error> {
        let folder = Folder::new().map_err(|error| Error::GaveUp(format!("no temporary folder: {error}")))?;
        let compiling = |number: usize| {
            let object = folder.0.join(format!("{number}.o"));
            format!(
                "while kill -0 $PPID; do cc -O1 -c -o {} {}; done",
                object.display(),
                folder.source().display()
            )
        };
        let mut shells = (0..plan.shells).map(|_| Shell::start(FORKING)).collect::<Result<Vec<_>, _>>()?;
        let forking = shells.iter().map(|shell| shell.0.id().cast_signed()).collect();
        for number in 0..plan.compilers {
            shells.push(Shell::start(&compiling(number))?);
        }
        let ping_pong = (plan.pairs > 0).then(|| {
            let mut kin = Kin::start_with("ping-pong", 0, plan.pairs)?;
            kin.begin().map(|()| kin)
        });
        let storm = StormPlan { workers: plan.thread_makers, threads: true, ..StormPlan::default() };
        let threads = (plan.thread_makers > 0).then(|| Storm::start(&storm)).transpose()?;
        let ping_pong = ping_pong.transpose()?;
        Ok(Mixture { forking, _shells: shells, _threads: threads, _ping_pong: ping_pong, _folder: folder })
    }

    /// The pids of the shells that fork.
    pub fn forking_shells(&self) -> &[i32] {
        &self.forking
    }
}

impl ForkingShells {
    /// Starts this number of shells.
    ///
    /// # Errors
    /// If there is no shell.
    pub fn start(shells: usize) -> Result<ForkingShells, Error> {
        Ok(ForkingShells { shells: (0..shells).map(|_| Shell::start(FORKING)).collect::<Result<_, _>>()? })
    }

    /// Their pids.
    pub fn pids(&self) -> impl Iterator<Item = i32> {
        self.shells.iter().map(|shell| shell.0.id().cast_signed())
    }
}

impl Shell {
    fn start(script: &str) -> Result<Shell, Error> {
        let shell =
            Command::new("/bin/sh").args(["-c", script]).stdin(Stdio::null()).process_group(0).spawn();
        shell.map(Shell).map_err(|source| Error::Start { program: "/bin/sh".into(), source })
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        // Its group lives as long as it does, and it has not been waited for.
        let group = Pid::from_child(&self.0);
        if let Err(error) = kill_process_group(group, Signal::KILL) {
            eprintln!("a shell is left behind: {error}");
        }
        let _ = self.0.wait();
    }
}

impl Folder {
    fn new() -> std::io::Result<Folder> {
        let folder = std::env::temp_dir().join(format!("cpuledger-mixture-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        let folder = Folder(folder);
        let function =
            |i| format!("int f{i}(int a) {{ for (int i = 0; i < a; i++) a ^= a * {i} + i; return a; }}\n");
        fs::write(folder.source(), (0..200).map(function).collect::<String>())?;
        Ok(folder)
    }

    fn source(&self) -> PathBuf {
        Path::new(&self.0).join("source.c")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
