//! A cgroup of a test's own, in whichever version is mounted.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::Error;

/// Its last task may still be on its way out.
const EMPTY_WITHIN: Duration = Duration::from_secs(30);

/// A cgroup without members, removed when dropped.
#[derive(Debug)]
pub struct Cgroup {
    path: PathBuf,
    is_v1: bool,
}

impl Cgroup {
    /// Makes one that has this controller: of v2 where that offers it, else of v1. CPU time is charged in any of v2.
    ///
    /// # Errors
    /// [`Error::GaveUp`] where neither is mounted, [`Error::System`] without root.
    pub fn new(controller: &str) -> Result<Cgroup, Error> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let mounts = fs::read_to_string("/proc/self/mounts").map_err(Error::system("read mounts"))?;
        let find = |is_wanted: &dyn Fn(&str, &str) -> bool| {
            mounts.lines().find_map(|line| {
                let mut words = line.split(' ').skip(1);
                let (point, kind, options) = (words.next()?, words.next()?, words.next()?);
                is_wanted(kind, options).then(|| PathBuf::from(point))
            })
        };
        let v2 = find(&|kind, _| kind == "cgroup2").filter(|root| offers(root, controller));
        let is_v1 = v2.is_none();
        let has_it = |options: &str| options.split(',').any(|option| option == controller);
        let root = v2.or_else(|| find(&|kind, options| kind == "cgroup" && has_it(options)));
        let root = root.ok_or_else(|| {
            Error::GaveUp(format!("no cgroup has `{controller}`: mount v2 with it, or that controller of v1"))
        })?;
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = root.join(format!("cpuledger-test-{}-{number}", std::process::id()));
        fs::create_dir(&path).map_err(Error::system("make a cgroup"))?;
        Ok(Cgroup { path, is_v1 })
    }

    /// Its folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The script of a shell that joins it, and then wants a CPU all the time.
    pub fn spin(&self) -> String {
        format!("echo $$ > {}/cgroup.procs; while :; do :; done", self.path.display())
    }

    /// Whether it is of v1.
    pub fn is_v1(&self) -> bool {
        self.is_v1
    }

    /// Reads a file of it.
    ///
    /// # Errors
    /// [`Error::System`] where there is no such file.
    pub fn read(&self, name: &str) -> Result<String, Error> {
        fs::read_to_string(self.path.join(name)).map_err(Error::system(format!("read {name} of a cgroup")))
    }

    /// Writes a file of it.
    ///
    /// # Errors
    /// [`Error::System`] where there is no such file, or the kernel refuses the value.
    pub fn write(&self, name: &str, value: &str) -> Result<(), Error> {
        fs::write(self.path.join(name), value).map_err(Error::system(format!("write {name} of a cgroup")))
    }

    /// Limits the CPU time of its tasks to `quota_us` in each `period_us`, both in microseconds. It has to have the controller `cpu`.
    ///
    /// # Errors
    /// [`Error::System`] where the kernel refuses it.
    pub fn limit_cpu(&self, quota_us: u32, period_us: u32) -> Result<(), Error> {
        if !self.is_v1 {
            return self.write("cpu.max", &format!("{quota_us} {period_us}"));
        }
        self.write("cpu.cfs_period_us", &period_us.to_string())?;
        self.write("cpu.cfs_quota_us", &quota_us.to_string())
    }

    /// Its number: that of its folder.
    ///
    /// # Errors
    /// [`Error::System`]
    pub fn id(&self) -> Result<u64, Error> {
        fs::metadata(&self.path).map(|folder| folder.ino()).map_err(Error::system("look at a cgroup"))
    }

    /// The CPU time that the kernel has charged to it.
    ///
    /// # Errors
    /// [`Error::System`], or [`Error::GaveUp`] where the kernel's text is not understood.
    pub fn usage_ns(&self) -> Result<u64, Error> {
        let (text, unit) =
            if self.is_v1 { (self.read("cpuacct.usage")?, 1) } else { (self.read("cpu.stat")?, 1000) };
        let number = text.split_whitespace().find_map(|word| word.parse::<u64>().ok());
        let is_known = self.is_v1 || text.starts_with("usage_usec ");
        number
            .filter(|_| is_known)
            .map(|number| number * unit)
            .ok_or_else(|| Error::GaveUp(format!("this is no usage of a cgroup: {text}")))
    }

    /// Limits the memory of its tasks. It has to have the controller `memory`.
    ///
    /// # Errors
    /// [`Error::System`] where the kernel refuses it.
    pub fn limit_memory(&self, bytes: u64) -> Result<(), Error> {
        let name = if self.is_v1 { "memory.limit_in_bytes" } else { "memory.max" };
        self.write(name, &bytes.to_string())
    }

    /// The memory that the kernel has charged to it, in bytes.
    ///
    /// # Errors
    /// [`Error::System`], or [`Error::GaveUp`] where the kernel's text is not understood.
    pub fn memory_bytes(&self) -> Result<u64, Error> {
        self.number(if self.is_v1 { "memory.usage_in_bytes" } else { "memory.current" })
    }

    /// The most that it was so far.
    ///
    /// # Errors
    /// As [`Cgroup::memory_bytes`].
    pub fn most_memory_bytes(&self) -> Result<u64, Error> {
        self.number(if self.is_v1 { "memory.max_usage_in_bytes" } else { "memory.peak" })
    }

    fn number(&self, name: &str) -> Result<u64, Error> {
        let text = self.read(name)?;
        text.trim().parse().map_err(|_| Error::GaveUp(format!("this is no number of a cgroup: {text}")))
    }

    /// Whether it has no members.
    ///
    /// # Errors
    /// [`Error::System`]
    pub fn is_empty(&self) -> Result<bool, Error> {
        self.read("cgroup.procs").map(|members| members.is_empty())
    }
}

/// Whether children of this root of v2 can have the controller; if so, they shall.
fn offers(root: &Path, controller: &str) -> bool {
    let has = |file: &str| {
        fs::read_to_string(root.join(file))
            .is_ok_and(|list| list.split_whitespace().any(|name| name == controller))
    };
    controller == "cpuacct"
        || has("cgroup.subtree_control")
        || (has("cgroup.controllers")
            && fs::write(root.join("cgroup.subtree_control"), format!("+{controller}")).is_ok())
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        let begin = Instant::now();
        while !self.is_empty().unwrap_or(true) && begin.elapsed() < EMPTY_WITHIN {
            sleep(Duration::from_millis(10));
        }
        if let Err(error) = fs::remove_dir(&self.path) {
            eprintln!("{} is left behind: {error}", self.path.display());
        }
    }
}
