//! Looks at cgroups when they are made, so that a container has its name even if it is gone before the interval ends.
//!
//! A thread watches the directories of the hierarchy that CPU time is divided by, with inotify(7). What it has learnt stays for a while after
//! the cgroup is gone. It begins with the first that asks, and ends with the process.
//!
//! Users make cgroups, too. Of each user but root there is a limit of directories that are watched. One in which cgroups are made
//! faster than a limit is left alone for a while. All that is lost is the names of what lives for less than an interval there.

use std::fs;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use cpuledger_model::framing::{CgroupIds, CgroupNames, Nameless};
use rustc_hash::FxHashMap;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init, remove_watch};

use crate::containers::Containers;

/// Directories that are watched, and those of one user but root.
const MOST_WATCHES: usize = 8_192;
const MOST_WATCHES_OF_USER: usize = 256;

/// Cgroups whose names are kept, dead or alive.
const MOST_KEPT: usize = 16_384;

/// How long the names of a cgroup stay that is gone: longer than an interval.
const KEPT_FOR: Duration = Duration::from_secs(120);

/// Directories within each other.
const MOST_DEPTH: usize = 32;

/// Cgroups that are made in a directory of a user within a second, beyond which it is left alone for a while.
const MOST_PER_SECOND: u32 = 100;

/// Likewise of the whole machine, beyond which the thread pauses.
const MOST_OF_MACHINE: u32 = 2_000;
const PAUSE: Duration = Duration::from_millis(100);

/// When everything is looked through again, after events were lost or directories were left alone.
const AGAIN_AFTER: Duration = Duration::from_secs(10);

/// When the state of a container is looked for again that was not there yet: runtimes write it about when they make the cgroup.
const RETRY_AFTER_MS: [u64; 6] = [2, 10, 40, 200, 1_000, 5_000];
const MOST_TRIES_WITHOUT_ID: usize = 3;

/// That of this process, once it is wanted.
static SHARED: OnceLock<Option<Arc<Watch>>> = OnceLock::new();

/// The cgroups of this machine, as they were made.
#[derive(Debug)]
pub struct Watch {
    state: Mutex<FxHashMap<u64, Kept>>,
    /// Whether it is the hierarchy of the cpu controller, and not the unified one.
    is_of_cpu: bool,
}

#[derive(Debug)]
struct Kept {
    names: CgroupNames,
    gone: Option<Instant>,
}

/// Whether there is memory for the stacks of a thread, of which it has two. Without room for the second, its start ends the program.
fn has_room() -> bool {
    const BYTES: usize = 4 << 20;
    let mut room: Vec<u8> = Vec::new();
    let has_room = room.try_reserve_exact(BYTES).is_ok();
    // Otherwise the compiler takes the allocation for one that nobody needs.
    std::hint::black_box(&room);
    has_room
}

impl Watch {
    /// That of this process; `None`: this machine has no cgroups, or they cannot be watched.
    pub fn shared() -> Option<Arc<Watch>> {
        Watch::begin_with(|| true)
    }

    /// The same. If this call is the first, its thread begins by that, and ends where it returns false.
    pub fn begin_with(prepare: impl FnOnce() -> bool + Send + 'static) -> Option<Arc<Watch>> {
        SHARED.get_or_init(|| Watch::start(prepare)).clone()
    }

    /// Whether this process watches already.
    pub fn has_begun() -> bool {
        SHARED.get().is_some_and(Option::is_some)
    }

    fn start(prepare: impl FnOnce() -> bool + Send + 'static) -> Option<Arc<Watch>> {
        let (root, is_of_cpu) = hierarchy()?;
        let watch = Arc::new(Watch { state: Mutex::default(), is_of_cpu });
        let mut watcher = Watcher::new(root, Arc::clone(&watch))?;
        let run = move || {
            if prepare() {
                watcher.run();
            }
        };
        if !has_room() {
            return None;
        }
        thread::Builder::new().name("cgroups".into()).spawn(run).ok()?;
        Some(watch)
    }

    /// What the cgroup with these numbers is or was called.
    pub fn find(&self, ids: &CgroupIds) -> Option<CgroupNames> {
        let id = if self.is_of_cpu { ids.1 } else { ids.0 };
        self.lock().get(&id?).map(|kept| kept.names.clone())
    }

    fn lock(&self) -> MutexGuard<'_, FxHashMap<u64, Kept>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps what a cgroup is called. `is_new`: it was just found; else it may be gone by now.
    fn keep(&self, id: u64, names: CgroupNames, is_new: bool, now: Instant) {
        let mut kept = self.lock();
        if let Some(old) = kept.get_mut(&id).filter(|old| old.names.path == names.path) {
            if is_better(&old.names, &names) {
                old.names = names;
            }
            if is_new {
                old.gone = None;
            }
            return;
        }
        if kept.len() >= MOST_KEPT && !kept.contains_key(&id) {
            let is_old = |gone: Instant| now.saturating_duration_since(gone) > KEPT_FOR;
            kept.retain(|_, one| !one.gone.is_some_and(is_old));
        }
        if kept.len() >= MOST_KEPT && !kept.contains_key(&id) {
            kept.retain(|_, one| one.gone.is_none());
        }
        if kept.len() < MOST_KEPT || kept.contains_key(&id) {
            kept.insert(id, Kept { names, gone: None });
        }
    }

    fn end(&self, id: u64, now: Instant) {
        if let Some(kept) = self.lock().get_mut(&id) {
            kept.gone = Some(now);
        }
    }
}

/// Where the hierarchy is mounted that CPU time is divided by, and whether it is that of the cpu controller.
fn hierarchy() -> Option<(PathBuf, bool)> {
    let unified = Path::new("/sys/fs/cgroup");
    let of_cpu = ["cpu,cpuacct", "cpu", "cpuacct"].map(|name| (unified.join(name), true));
    let all = of_cpu.into_iter().chain([(unified.to_owned(), false)]);
    all.into_iter().find(|(root, _)| root.join("cgroup.procs").exists())
}

/// All cgroups of that hierarchy, from its root on: their directories and paths.
pub fn cgroups() -> impl Iterator<Item = (PathBuf, Vec<u8>)> {
    let root = hierarchy().map(|(root, _)| root);
    let mut folders: Vec<PathBuf> = root.iter().cloned().collect();
    std::iter::from_fn(move || {
        let folder = folders.pop()?;
        // It may be gone by now.
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        let below = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        folders.extend(below.map(|entry| entry.path()));
        let below = folder.strip_prefix(root.as_ref()?).unwrap_or(&folder);
        let path = [b"/", below.as_os_str().as_bytes()].concat();
        Some((folder, path))
    })
}

/// A directory that is watched.
#[derive(Debug)]
struct Directory {
    path: PathBuf,
    id: u64,
    owner: u32,
    /// Cgroups that were made in it since then.
    made: u32,
    since: Instant,
}

struct Watcher {
    root: PathBuf,
    watch: Arc<Watch>,
    inotify: OwnedFd,
    directories: FxHashMap<i32, Directory>,
    of_owner: FxHashMap<u32, usize>,
    containers: Containers,
    /// Containers without a name: when to look again, for which time, the number of the cgroup and its path.
    retries: Vec<(Instant, usize, u64, Vec<u8>)>,
    looks_again: Option<Instant>,
}

impl Watcher {
    fn new(root: PathBuf, watch: Arc<Watch>) -> Option<Watcher> {
        let inotify = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok()?;
        let mut watcher = Watcher {
            root: root.clone(),
            watch,
            inotify,
            directories: FxHashMap::default(),
            of_owner: FxHashMap::default(),
            containers: Containers::default(),
            retries: Vec::new(),
            looks_again: None,
        };
        watcher.look(&root, 0);
        (!watcher.directories.is_empty()).then_some(watcher)
    }

    fn run(&mut self) {
        let (mut since, mut handled) = (Instant::now(), 0_u32);
        loop {
            let now = Instant::now();
            let next = self.retries.iter().map(|retry| retry.0).chain(self.looks_again).min();
            let wait = next.and_then(|next| next.saturating_duration_since(now).try_into().ok());
            let mut files = [PollFd::new(&self.inotify, PollFlags::IN)];
            let _ = poll(&mut files, wait.as_ref());
            handled += self.read_events();
            self.retry();
            if self.looks_again.is_some_and(|again| again <= Instant::now()) {
                self.looks_again = None;
                self.look(&self.root.clone(), 0);
            }
            if since.elapsed() >= Duration::from_secs(1) {
                (since, handled) = (Instant::now(), 0);
            } else if handled > MOST_OF_MACHINE {
                thread::sleep(PAUSE);
            }
        }
    }

    /// Reads what has come. Returns how many events there were.
    fn read_events(&mut self) -> u32 {
        let mut buffer = [MaybeUninit::<u8>::uninit(); 4096];
        let mut made: Vec<(i32, PathBuf)> = Vec::new();
        let mut ended: Vec<i32> = Vec::new();
        let mut reader = Reader::new(self.inotify.as_fd(), &mut buffer);
        let mut events = 0;
        while let Ok(event) = reader.next() {
            events += 1;
            let flags = event.events();
            if flags.contains(ReadFlags::QUEUE_OVERFLOW) {
                self.looks_again.get_or_insert_with(|| Instant::now() + AGAIN_AFTER);
            }
            if flags.contains(ReadFlags::IGNORED) {
                ended.push(event.wd());
            }
            let name = event.file_name().map(|name| Path::new(std::ffi::OsStr::from_bytes(name.to_bytes())));
            if flags.contains(ReadFlags::CREATE)
                && flags.contains(ReadFlags::ISDIR)
                && let Some(name) = name
                && let Some(parent) = self.directories.get(&event.wd())
            {
                made.push((event.wd(), parent.path.join(name)));
            }
            if events == MOST_OF_MACHINE {
                break;
            }
        }
        for (parent, path) in made {
            if self.is_calm(parent) {
                let depth = path.components().count().saturating_sub(self.root.components().count());
                self.look(&path, depth);
            }
        }
        let now = Instant::now();
        for wd in ended {
            if let Some(directory) = self.directories.remove(&wd) {
                self.watch.end(directory.id, now);
                self.release(directory.owner);
            }
        }
        events
    }

    /// Whether so few cgroups are made in a directory that each is looked at; else it is left alone for a while.
    fn is_calm(&mut self, wd: i32) -> bool {
        let Some(directory) = self.directories.get_mut(&wd) else { return true };
        if directory.since.elapsed() >= Duration::from_secs(1) {
            (directory.since, directory.made) = (Instant::now(), 0);
        }
        directory.made += 1;
        if directory.owner == 0 || directory.made <= MOST_PER_SECOND {
            return true;
        }
        // It is forgotten when the kernel says that it is watched no more.
        let _ = remove_watch(&self.inotify, wd);
        self.looks_again.get_or_insert_with(|| Instant::now() + AGAIN_AFTER);
        false
    }

    fn release(&mut self, owner: u32) {
        if let Some(count) = self.of_owner.get_mut(&owner) {
            *count = count.saturating_sub(1);
        }
    }

    /// Looks at a cgroup and all below it.
    fn look(&mut self, path: &Path, depth: usize) {
        let mut folders = vec![(path.to_owned(), depth)];
        while let Some((path, depth)) = folders.pop() {
            // It may be gone by now.
            let Ok(of) = fs::symlink_metadata(&path) else { continue };
            if !of.is_dir() || !self.follow(&path, of.ino(), of.uid()) || depth >= MOST_DEPTH {
                continue;
            }
            let Ok(entries) = fs::read_dir(&path) else { continue };
            let below = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
            folders.extend(below.map(|entry| (entry.path(), depth + 1)));
        }
    }

    /// Watches a directory, and learns what its cgroup is called. Returns whether there is room for those below it.
    fn follow(&mut self, path: &Path, id: u64, owner: u32) -> bool {
        let below = path.strip_prefix(&self.root).unwrap_or(path);
        let below = [b"/", below.as_os_str().as_bytes()].concat();
        self.learn(id, &below, 0);
        let of_owner = self.of_owner.entry(owner).or_default();
        let is_full = owner != 0 && *of_owner >= MOST_WATCHES_OF_USER;
        let flags = WatchFlags::CREATE | WatchFlags::ONLYDIR | WatchFlags::DONT_FOLLOW;
        let has_room = !is_full && self.directories.len() < MOST_WATCHES;
        let Some(wd) = has_room.then(|| add_watch(&self.inotify, path, flags).ok()).flatten() else {
            // Nothing will say when it is gone.
            self.watch.end(id, Instant::now());
            return false;
        };
        let directory = Directory { path: path.to_owned(), id, owner, made: 0, since: Instant::now() };
        if self.directories.insert(wd, directory).is_none() {
            *of_owner += 1;
        }
        true
    }

    fn learn(&mut self, id: u64, path: &[u8], tries: usize) {
        let names = self.containers.names(path);
        let now = Instant::now();
        // One that is not known by its path, such as those of crun, may come later, too.
        let may_come =
            names.container_id.is_empty() && names.nameless.is_none() && tries < MOST_TRIES_WITHOUT_ID;
        if (names.nameless == Some(Nameless::NoState) || may_come)
            && let Some(after) = RETRY_AFTER_MS.get(tries)
            && self.retries.len() < MOST_KEPT
        {
            self.retries.push((now + Duration::from_millis(*after), tries + 1, id, path.to_vec()));
        }
        self.watch.keep(id, names, tries == 0, now);
    }

    fn retry(&mut self) {
        let now = Instant::now();
        let (due, later) = std::mem::take(&mut self.retries).into_iter().partition(|retry| retry.0 <= now);
        self.retries = later;
        for (_, tries, id, path) in due {
            self.learn(id, &path, tries);
        }
    }
}

/// Whether these names say more than those of before: a container that ends has no state any more.
fn is_better(old: &CgroupNames, new: &CgroupNames) -> bool {
    old.container.is_empty() && (!new.container.is_empty() || new.nameless != old.nameless)
}
