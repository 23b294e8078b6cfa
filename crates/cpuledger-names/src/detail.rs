//! What no source gives and only rows that are shown need: arguments, program, cgroups, where a task waits, signals and
//! more. It is read from /proc one row at a time.

pub mod files;

use cpuledger_model::boottime::Boottime;
use cpuledger_model::framing::CgroupNames;
use cpuledger_model::task::{Comm, Pid, Task, TaskId};
use rustc_hash::FxHashMap;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use cpuledger_proc::task::cgroup;
use cpuledger_proc::task::cmdline::without_trailing_nuls;
use cpuledger_proc::task::units;
use cpuledger_proc::task::wchan::wait_channel;

use crate::containers::Containers;
use crate::lookups::Lookups;
use crate::manner::Manner;
use crate::now;
use crate::systemd::Systemd;

use files::Files;

pub use cpuledger_proc::task::cmdline::BLANK;

/// Details of the rows they were asked for.
#[derive(Debug, Default)]
pub struct Details {
    /// How arguments are made ready to be shown.
    pub manner: Manner,
    /// The directory that holds `proc` and `run`; empty: that of this machine. In any other, systemd manages the cgroups.
    root: &'static str,
    leaders: FxHashMap<Pid, ProcessDetail>,
    /// One for all threads but the leader: it may be dead, and then they still have what it has no more.
    threads: FxHashMap<Pid, ProcessDetail>,
    /// Where tasks wait: read again for every listing.
    wchan: FxHashMap<TaskId, Vec<u8>>,
    /// Other files, by whether they are of the task alone.
    files: FxHashMap<(TaskId, bool), Files>,
    /// What cgroups are called, by their paths.
    named: FxHashMap<Vec<u8>, CgroupNames>,
    containers: Option<Containers>,
    /// Where systemd keeps this machine; `None` until it was asked for.
    systemd: Option<Option<Systemd>>,
    /// Rows that were asked for since all was forgotten.
    rows: usize,
}

/// Rows that are asked for before all is forgotten: so no more is kept, and what changes without a sign is read again some time.
const MOST_ROWS: usize = 16_384;

/// The file could not be read: nothing is known.
#[derive(Debug, Clone, Copy)]
struct Unreadable;

/// What the tasks of a process share. A member is `None` until it was asked for.
#[derive(Debug, Default)]
struct ProcessDetail {
    /// Of a leader its start and its name: the pid may be reused, and with another program it has other arguments.
    leader: Option<(Boottime, Comm)>,
    /// Of other threads, when it was begun to read: one that is younger may be of another process.
    read: Option<Boottime>,
    /// Whether something could not be read.
    has_failed: bool,
    cmdline: Option<Result<Vec<u8>, Unreadable>>,
    /// The arguments as they are shown, made once for all threads; empty where there are none to show.
    command_line: Vec<u8>,
    exe: Option<Vec<u8>>,
    cgroup: Option<Cgroup>,
    /// What systemd has written down of its session and its machine.
    registered: Option<Registered>,
}

/// The names of a login or a container; a member is empty where there is none.
#[derive(Debug, Default)]
struct Registered {
    seat: Vec<u8>,
    machine: Vec<u8>,
}

/// The file, and the same in one line.
#[derive(Debug)]
struct Cgroup {
    text: Vec<u8>,
    one_line: Vec<u8>,
}

impl Details {
    /// None yet, to be shown in this manner.
    pub fn new(manner: Manner) -> Details {
        Details { manner, ..Details::default() }
    }

    /// Reads below another directory than `/`, as tests do to know beforehand what is read.
    pub fn read_below(&mut self, root: &'static str) {
        self.root = root;
    }

    /// A further listing of that number of rows begins. What could not be read is tried again, and what changes is forgotten.
    pub fn begin(&mut self, rows: usize) {
        self.rows += rows;
        if self.rows > MOST_ROWS {
            *self = Details { manner: self.manner, root: self.root, rows, ..Details::default() };
        }
        self.wchan.clear();
        self.files.clear();
        self.named.retain(|_, names| names.nameless.is_none());
        self.leaders.retain(|_, process| !process.has_failed);
        self.threads.retain(|_, process| !process.has_failed);
    }

    /// Reads what is wanted of the row and not there yet. `is_task`: the row is of a task alone, not of its process.
    pub fn learn(&mut self, row: &Task, is_task: bool, wanted: Lookups) {
        if wanted.wants(Lookups::CMDLINE.union(Lookups::EXE).union(Lookups::CGROUP)) {
            if row.is_leader() {
                let leader = self.leaders.entry(row.pid).or_default();
                if leader.leader != Some((row.start_time_ns, row.comm)) {
                    *leader =
                        ProcessDetail { leader: Some((row.start_time_ns, row.comm)), ..Default::default() };
                    self.threads.remove(&row.pid);
                }
                leader.learn(self.root, row, wanted, self.manner);
            } else {
                let threads = self.threads.entry(row.pid).or_default();
                if threads.read.is_none_or(|read| read < row.start_time_ns) {
                    *threads = ProcessDetail { read: Some(now::boottime()), ..Default::default() };
                }
                threads.learn(self.root, row, wanted, self.manner);
            }
        }
        if wanted.wants(Lookups::WCHAN) {
            let path = format!("{}/proc/{}/task/{}/wchan", self.root, row.pid, row.tid);
            self.wchan.insert(row.id(), wait_channel(&fs::read(path).unwrap_or_default()).to_vec());
        }
        if wanted.wants(files::FILES) {
            self.files.entry((row.id(), is_task)).or_default().learn(self.root, row, is_task, wanted);
        }
        if wanted.wants(Lookups::SYSTEMD) {
            self.systemd.get_or_insert_with(|| Systemd::find(self.root));
        }
        if wanted.wants(Lookups::CONTAINERS)
            && let Some(path) = self.cgroups(row).and_then(|cgroup| cgroup::path_of_cpu_time(&cgroup.text))
            && !self.named.contains_key(path)
        {
            let path = path.to_vec();
            let root = Path::new(if self.root.is_empty() { "/" } else { self.root });
            let names = self.containers.get_or_insert_with(|| Containers::below(root)).names(&path);
            self.named.insert(path, names);
        }
        if wanted.wants(Lookups::REGISTERED) && self.registered(row).is_none() {
            let registered = Registered::find(self.root, self.session(row), self.unit(row));
            let processes = if row.is_leader() { &mut self.leaders } else { &mut self.threads };
            if let Some(process) = processes.get_mut(&row.pid) {
                process.registered = Some(registered);
            }
        }
    }

    /// What its files say; `None`: they were not asked for.
    pub fn files(&self, row: &Task, is_task: bool) -> Option<&Files> {
        self.files.get(&(row.id(), is_task))
    }

    /// The arguments, separated by NUL. [`BLANK`] means that all are empty, and an empty list that there are none. `None`: not known.
    pub fn cmdline(&self, row: &Task) -> Option<&[u8]> {
        self.process(row)?.cmdline.as_ref()?.as_deref().ok()
    }

    /// The arguments as they are shown; empty: there are none, they are not known, or [`BLANK`].
    pub fn command_line(&self, row: &Task) -> &[u8] {
        self.process(row).map_or(&[], |process| &process.command_line)
    }

    /// The path of the program; empty: none, or not to be read.
    pub fn exe(&self, row: &Task) -> &[u8] {
        self.process(row).and_then(|process| process.exe.as_deref()).unwrap_or_default()
    }

    /// Hierarchy, controllers and path of each cgroup, separated by commas, likewise.
    pub fn cgroup(&self, row: &Task) -> &[u8] {
        self.cgroups(row).map_or(&[], |cgroup| &cgroup.one_line)
    }

    /// The same from the first name of a hierarchy on, likewise.
    pub fn cgroup_names(&self, row: &Task) -> &[u8] {
        cgroup::names(self.cgroup(row))
    }

    /// What its cgroup is called; `None`: that was not looked up.
    fn named(&self, row: &Task) -> Option<&CgroupNames> {
        self.named.get(cgroup::path_of_cpu_time(&self.cgroups(row)?.text)?)
    }

    /// The container, by its name or the beginning of its id; empty: none is known.
    pub fn container(&self, row: &Task) -> &[u8] {
        self.named(row).map_or(&[], CgroupNames::container_label)
    }

    /// The id of the container, likewise.
    pub fn container_id(&self, row: &Task) -> &[u8] {
        self.named(row).map_or(&[], |names| &names.container_id)
    }

    /// Its image, likewise.
    pub fn image(&self, row: &Task) -> &[u8] {
        self.named(row).map_or(&[], |names| &names.image)
    }

    /// Its pod, likewise.
    pub fn pod(&self, row: &Task) -> &[u8] {
        self.named(row).map_or(&[], |names| &names.pod)
    }

    /// The namespace of that, likewise.
    pub fn namespace(&self, row: &Task) -> &[u8] {
        self.named(row).map_or(&[], |names| &names.namespace)
    }

    /// The LXC container; empty: none is known.
    pub fn lxc(&self, row: &Task) -> &[u8] {
        self.cgroups(row).and_then(|cgroup| units::lxc(&cgroup.text)).unwrap_or_default()
    }

    /// The Docker container, likewise.
    pub fn docker(&self, row: &Task) -> &[u8] {
        self.cgroups(row).and_then(|cgroup| units::docker(&cgroup.text)).unwrap_or_default()
    }

    /// The slice of systemd, likewise.
    pub fn slice(&self, row: &Task) -> &[u8] {
        self.systemd_path(row).map_or(&[], units::slice)
    }

    /// The unit of the system's manager, likewise.
    pub fn unit(&self, row: &Task) -> &[u8] {
        self.systemd_path(row).and_then(units::unit).unwrap_or_default()
    }

    /// The unit of the user's manager, likewise.
    pub fn user_unit(&self, row: &Task) -> &[u8] {
        self.systemd_path(row).and_then(units::user_unit).unwrap_or_default()
    }

    /// The session of the login, likewise.
    pub fn session(&self, row: &Task) -> &[u8] {
        self.systemd_path(row).and_then(units::session).unwrap_or_default()
    }

    /// The seat of the login, likewise.
    pub fn seat(&self, row: &Task) -> &[u8] {
        self.registered(row).map_or(&[], |registered| &registered.seat)
    }

    /// The virtual machine or container by the name systemd knows, likewise.
    pub fn machine(&self, row: &Task) -> &[u8] {
        self.registered(row).map_or(&[], |registered| &registered.machine)
    }

    fn registered(&self, row: &Task) -> Option<&Registered> {
        self.process(row)?.registered.as_ref()
    }

    /// The user whose slice it is in; `None`: none.
    pub fn owner(&self, row: &Task) -> Option<u32> {
        self.systemd_path(row).and_then(units::owner)
    }

    fn systemd_path(&self, row: &Task) -> Option<&[u8]> {
        let systemd = self.systemd.as_ref()?.as_ref()?;
        systemd.path(&self.cgroups(row)?.text)
    }

    fn cgroups(&self, row: &Task) -> Option<&Cgroup> {
        self.process(row)?.cgroup.as_ref()
    }

    fn process(&self, row: &Task) -> Option<&ProcessDetail> {
        if row.is_leader() { self.leaders.get(&row.pid) } else { self.threads.get(&row.pid) }
    }

    /// The kernel function the task waits in, likewise.
    pub fn wchan(&self, row: &Task) -> &[u8] {
        self.wchan.get(&row.id()).map_or(&[], Vec::as_slice)
    }
}

impl ProcessDetail {
    fn learn(&mut self, root: &str, row: &Task, wanted: Lookups, manner: Manner) {
        // Formatted only where something is read: a listing of threads comes here for each of them.
        let directory = || format!("{root}/proc/{}/task/{}", row.pid, row.tid);
        if wanted.wants(Lookups::CMDLINE) && self.cmdline.is_none() {
            // A kernel thread has none: 0 calls instead of 3.
            let read = if row.is_kernel_thread() {
                Ok(Vec::new())
            } else {
                files::read_bounded(&format!("{}/cmdline", directory()))
            };
            let read = read.map(without_trailing_nuls).map_err(|_| Unreadable);
            if let Ok(cmdline) = read.as_deref()
                && !cmdline.is_empty()
                && cmdline != BLANK
            {
                manner.append_separated(&mut self.command_line, cmdline);
            }
            self.has_failed |= read.is_err();
            self.cmdline = Some(read);
        }
        if wanted.wants(Lookups::EXE) && self.exe.is_none() {
            let link = fs::read_link(format!("{}/exe", directory()));
            self.has_failed |= link.is_err();
            self.exe = Some(link.unwrap_or_default().into_os_string().into_vec());
        }
        if wanted.wants(Lookups::CGROUP) && self.cgroup.is_none() {
            let text = fs::read(format!("{}/cgroup", directory()));
            self.has_failed |= text.is_err();
            let text = text.unwrap_or_default();
            self.cgroup = Some(Cgroup { one_line: cgroup::one_line(&text), text });
        }
    }
}

impl Registered {
    /// The service of logins keeps a file for each session, that of machines a link for each unit.
    fn find(root: &str, session: &[u8], unit: &[u8]) -> Registered {
        let mut registered = Registered::default();
        if !session.is_empty() {
            let path = format!("{root}/run/systemd/sessions/{}", String::from_utf8_lossy(session));
            registered.seat = seat_of(&fs::read(path).unwrap_or_default()).to_vec();
        }
        if !unit.is_empty() {
            let path = format!("{root}/run/systemd/machines/unit:{}", String::from_utf8_lossy(unit));
            registered.machine = fs::read_link(path).unwrap_or_default().into_os_string().into_vec();
        }
        registered
    }
}

fn seat_of(session: &[u8]) -> &[u8] {
    let mut lines = session.split(|&byte| byte == b'\n');
    lines.find_map(|line| line.strip_prefix(b"SEAT=")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use cpuledger_model::make;

    #[test]
    fn the_seat_of_a_session_is_found() {
        assert_eq!(seat_of(b"UID=0\nSEAT=seat0\nTTY=tty1\n"), b"seat0");
        assert_eq!(seat_of(b"UID=0\nIS_SEAT=1\n"), b"");
    }

    /// The process of the tests, as if it had started then.
    fn row(start_ns: u64) -> Task {
        let pid = std::process::id() as i32;
        make!(Task {
            pid: Pid(pid),
            tid: cpuledger_model::task::Tid(pid),
            start_time_ns: Boottime::from_ns(start_ns),
        })
    }

    #[test]
    fn another_program_of_the_same_process_has_other_arguments() {
        let mut details = Details::default();
        let old = make!(Task { comm: Comm::new(b"old"), ..row(1) });
        details.learn(&old, false, Lookups::CMDLINE);
        details.leaders.get_mut(&old.pid).expect("it was learned").cmdline = Some(Ok(b"old".to_vec()));
        details.begin(1);
        details.learn(&make!(Task { comm: Comm::new(b"new"), ..old }), false, Lookups::CMDLINE);
        assert_ne!(details.cmdline(&old), Some(&b"old"[..]));
    }

    #[test]
    fn a_thread_that_is_younger_than_what_was_read_may_be_of_another_process() {
        let mut details = Details::default();
        let of_thread =
            |start_ns| make!(Task { tid: cpuledger_model::task::Tid(row(1).tid.0 + 1), ..row(start_ns) });
        let old = of_thread(1);
        details.learn(&old, true, Lookups::CMDLINE);
        let set = |details: &mut Details| {
            details.threads.get_mut(&old.pid).expect("it was learned").cmdline = Some(Ok(b"old".to_vec()));
        };
        set(&mut details);
        details.learn(&of_thread(2), true, Lookups::CMDLINE);
        assert_eq!(details.cmdline(&old), Some(&b"old"[..]), "both began before it was read");
        let young = of_thread(now::boottime().ns() + 1);
        details.learn(&young, true, Lookups::CMDLINE);
        assert_ne!(details.cmdline(&young), Some(&b"old"[..]));
    }

    #[test]
    fn a_failed_read_is_tried_again_in_the_next_listing_and_not_before() {
        let mut details = Details::default();
        let gone = make!(Task { pid: Pid(i32::MAX), tid: cpuledger_model::task::Tid(i32::MAX), ..row(1) });
        details.learn(&gone, false, Lookups::CMDLINE);
        assert_eq!(details.cmdline(&gone), None);
        let is_kept = |details: &Details| details.leaders.contains_key(&gone.pid);
        assert!(is_kept(&details), "a listing of its threads does not try for each");
        details.begin(1);
        assert!(!is_kept(&details));
        details.learn(&row(1), false, Lookups::CMDLINE);
        details.begin(1);
        assert!(details.cmdline(&row(1)).is_some(), "what was read is kept");
    }

    #[test]
    fn no_more_is_kept_than_there_is_room_for() {
        let mut details = Details::default();
        details.begin(MOST_ROWS);
        details.learn(&row(1), false, Lookups::CMDLINE.union(Lookups::WCHAN).union(Lookups::OOM));
        details.begin(0);
        assert!(details.wchan.is_empty() && details.files.is_empty(), "they change from listing to listing");
        assert_eq!(details.leaders.len(), 1);
        details.begin(1);
        assert!(details.leaders.is_empty());
    }

    #[test]
    fn a_reused_pid_is_read_again() {
        let myself = row(1).pid;
        let mut details = Details::default();
        details.learn(&row(1), false, Lookups::CMDLINE);
        assert!(details.cmdline(&row(1)).is_some_and(|cmdline| !cmdline.is_empty()));
        details.leaders.get_mut(&myself).expect("it was learned").cmdline = Some(Ok(b"old".to_vec()));
        details.learn(&row(1), false, Lookups::CMDLINE);
        assert_eq!(details.cmdline(&row(1)), Some(&b"old"[..]));
        details.learn(&row(2), false, Lookups::CMDLINE);
        assert_ne!(details.cmdline(&row(2)), Some(&b"old"[..]));
    }
}
