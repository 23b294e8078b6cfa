//! The cells of every column that ps of procps lists, against procps, on tasks that the test makes. These are the zoo, a task with
//! pending signals, and one in the cgroups of systemd and of containers. A line has to be equal to what procps prints before
//! or after.

mod procps;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

use cpuledger_load::Zoo;
use procps::{Version, ours, specifiers, theirs};

/// A timer may run a sleeping task between two listings.
const ATTEMPTS: usize = 5;

/// What changes while nothing happens: compared in form only.
const VOLATILE: &[&str] = &[
    "%cpu", "pcpu", "c", "util", "cp", "cuu", "cuc", "etime", "etimes", "psr", "cpuid", "lastcpu", "sgi_p",
    "numa", "rss", "rssize", "rsz", "sgi_rss", "%mem", "pmem", "pss", "uss", "oom",
];

/// Samples of text, which are always `-` here.
const SAMPLES: &[&str] = &["_left", "_left2", "_right", "_right2", "_unlimited", "_unlimited2"];

/// Where procps says 0 or -1 of what the kernel does not tell, or of what is not there, and we say `-`.
const ABSENT: &[&str] = &["esp", "eip", "stackp", "start_stack", "ag_id", "ag_nice"];

/// Where threads are listed, procps shows of a leader what the whole process did.
const TOTALS: &[&str] = &[
    "min_flt", "minflt", "maj_flt", "majflt", "pagein", "rchars", "wchars", "rops", "wops", "rbytes",
    "wbytes", "wcbytes", "time", "atime", "cputime", "times", "cputimes", "bsdtime",
];

/// Names of odd members are shown otherwise; another test has them.
const NAMES: &[&str] = &["comm", "ucomm", "ucmd", "fname", "args", "cmd", "command"];
const PLAIN_KINDS: &[&str] = &["sleeper", "threads", "users", "session", "zombie"];

/// What has to be there in at least one row, or the comparison would be of nothing.
const TOLD: &[&str] = &[
    "pending", "blocked", "ignored", "caught", "supgid", "supgrp", "cgroup", "netns", "pidns", "rchars",
    "wops", "pss", "uss", "stackp", "size", "trs", "drs", "lim", "oom", "ag_id", "slice", "unit", "uunit",
    "lsession", "ouid", "seat", "machine", "lxc", "cgname", "exe", "tty4",
];

/// Rows by number of the task: the line, and the cell alone.
type Rows = BTreeMap<i32, [String; 2]>;

fn rows(listed: &str) -> (String, Rows) {
    let mut lines = listed.lines();
    let header = lines.next().unwrap_or_default().to_owned();
    let rows = lines.filter_map(|line| {
        let (tid, rest) = line.trim_start().split_once(' ')?;
        let (cell, _) = rest.trim_end().rsplit_once(' ')?;
        Some((tid.parse().ok()?, [line.to_owned(), cell.trim().to_owned()]))
    });
    (header, rows.collect())
}

/// The text with each number as `#`.
fn form(text: &str) -> String {
    let mut form = String::new();
    for character in text.chars() {
        let next = if character.is_ascii_digit() { '#' } else { character };
        if !(next == '#' && form.ends_with('#')) {
            form.push(next);
        }
    }
    form
}

/// Whether our cell may stand where procps has the other.
fn may_differ(name: &str, [ours, theirs]: [&str; 2], is_task: bool) -> bool {
    let is_nothing = ["0", "-1", "0000000000000000"].contains(&theirs);
    match name {
        // procps looks for a file that tasks do not have.
        "ag_id" | "ag_nice" if is_task && is_nothing => true,
        _ if VOLATILE.contains(&name) && form(ours) == form(theirs) => true,
        _ if ours != "-" => false,
        _ if SAMPLES.contains(&name) => true,
        _ => ABSENT.contains(&name) && is_nothing,
    }
}

/// Everything whose rows are compared.
struct Scene {
    version: Version,
    zoo: Zoo,
    actors: Vec<Actor>,
    _registered: Registered,
}

/// What the services of systemd would write down of the actors: the seat of a session, the name of a machine.
struct Registered {
    /// The directories that were not there, the innermost first.
    made: Vec<&'static str>,
}

impl Registered {
    const SESSIONS: &str = "/run/systemd/sessions";
    const SESSION: &str = "/run/systemd/sessions/c4242";
    const MACHINES: &str = "/run/systemd/machines";
    const MACHINE: &str = "/run/systemd/machines/unit:cpuledger-test.service";

    fn new() -> Registered {
        let mut registered = Registered { made: Vec::new() };
        for directory in ["/run/systemd", Registered::SESSIONS, Registered::MACHINES] {
            if !Path::new(directory).exists() {
                fs::create_dir(directory).expect("a directory is made; it needs root");
                registered.made.insert(0, directory);
            }
        }
        fs::write(Registered::SESSION, "UID=4242\nSEAT=seat0\n").expect("the session is written");
        let _ = fs::remove_file(Registered::MACHINE);
        symlink("web", Registered::MACHINE).expect("the machine is written");
        registered
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        for file in [Registered::SESSION, Registered::MACHINE] {
            let _ = fs::remove_file(file);
        }
        for directory in &self.made {
            let _ = fs::remove_dir(directory);
        }
    }
}

impl Scene {
    fn new() -> Scene {
        let zoo = Zoo::start().expect("the zoo starts; it needs root");
        let actors = vec![
            Actor::with_pending_signals(),
            Actor::in_cgroup(&["system.slice", "cpuledger-test.service"]),
            Actor::in_cgroup(&["user.slice", "user-4242.slice", "session-c4242.scope"]),
            Actor::in_cgroup(&[
                "user.slice",
                "user-4242.slice",
                "user@4242.service",
                "app.slice",
                "b.service",
            ]),
            Actor::in_cgroup(&["lxc.payload.web", "inside"]),
        ];
        Scene { version: Version::here(), zoo, actors, _registered: Registered::new() }
    }

    fn pids(&self, name: &str) -> String {
        let marks = self.version.marks_the_dead();
        let is_plain = |kind: &str| PLAIN_KINDS.contains(&kind) && (marks || kind != "zombie");
        let is_for = |kind: &str| !NAMES.contains(&name) || is_plain(kind);
        let members =
            self.zoo.members().iter().filter(|member| is_for(&member.kind)).map(|member| member.pid);
        let actors = self.actors.iter().map(|actor| actor.child.id().cast_signed());
        // The second is the father of the kernel threads, if there are any here.
        let pids: Vec<String> = members.chain(actors).chain([2]).map(|pid| pid.to_string()).collect();
        pids.join(",")
    }

    /// Compares a column and says how many cells were not `-`.
    fn compare(&self, source: &str, name: &str, options: &[&str]) -> usize {
        let is_leader_of_others = |tid: i32| {
            let mut members = self.zoo.members().iter();
            !options.is_empty() && members.any(|member| member.pid == tid && member.tids.len() > 1)
        };
        assert!(self.zoo.member("leader-exited").is_some(), "a dead leader has no memory, its threads have");
        let (pids, columns) = (self.pids(name), format!("tid,{name},pid=Z"));
        let arguments: Vec<&str> = options.iter().copied().chain(["-p", &pids, "-o", &columns]).collect();
        let mut difference = String::new();
        for _ in 0..ATTEMPTS {
            let (header, before) = rows(&theirs(&arguments));
            let (our_header, ours) = rows(&ours(source, &arguments));
            let (_, after) = rows(&theirs(&arguments));
            difference =
                if header == our_header { String::new() } else { format!("{header}\n{our_header}\n") };
            for tid in before.keys().filter(|tid| after.contains_key(tid)) {
                let Some(ours) = ours.get(tid) else {
                    difference += &format!("{tid} is missing\n");
                    continue;
                };
                if TOTALS.contains(&name) && is_leader_of_others(*tid) {
                    continue;
                }
                // Before, procps showed what is sent to the process in the line of its leader.
                if ["pending", "sig", "sig_pend"].contains(&name)
                    && !options.is_empty()
                    && self.version < Version(4, 0, 4)
                {
                    continue;
                }
                let is_like = |theirs: &[String; 2]| {
                    theirs[0] == ours[0] || may_differ(name, [&ours[1], &theirs[1]], !options.is_empty())
                };
                if !is_like(&before[tid]) && !is_like(&after[tid]) {
                    difference += &format!("procps: {}\nours:   {}\n", before[tid][0], ours[0]);
                }
            }
            if difference.is_empty() {
                assert!(
                    before.len() >= if NAMES.contains(&name) { 8 } else { 30 },
                    "{name}: {}",
                    before.len()
                );
                return ours.values().filter(|[_, cell]| !["-", "0"].contains(&cell.as_str())).count();
            }
        }
        panic!("{name} {options:?} from {source}:\n{difference}");
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        // The last first: it may be in directories that one before has made.
        while self.actors.pop().is_some() {}
    }
}

/// A process that sleeps in a state of its own, and the directories that were made for it.
struct Actor {
    child: Child,
    directories: Vec<PathBuf>,
}

impl Actor {
    fn sleeping() -> Child {
        Command::new("sleep").arg("1000").spawn().expect("sleep starts")
    }

    /// A stopped process keeps what it was sent.
    fn with_pending_signals() -> Actor {
        let child = Actor::sleeping();
        let pid = child.id().to_string();
        let stat = format!("/proc/{pid}/stat");
        for signal in ["-STOP", "-USR1", "-40"] {
            let status = Command::new("kill").args([signal, &pid]).status().expect("kill starts");
            assert!(status.success(), "kill {signal}");
            while !fs::read_to_string(&stat).expect("it is there").contains(") T ") {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        Actor { child, directories: Vec::new() }
    }

    /// In the hierarchy that systemd would use here; what is there already is used and stays.
    fn in_cgroup(path: &[&str]) -> Actor {
        let roots = ["/sys/fs/cgroup/unified", "/sys/fs/cgroup/systemd", "/sys/fs/cgroup"];
        let root = roots.iter().map(PathBuf::from).find(|root| root.join("cgroup.procs").exists());
        let mut directory = root.expect("a cgroup file system is mounted, as systemd does it");
        let child = Actor::sleeping();
        let mut directories = Vec::new();
        for name in path {
            directory.push(name);
            if !directory.exists() {
                fs::create_dir(&directory).expect("a cgroup is made; it needs root");
                directories.push(directory.clone());
            }
        }
        fs::write(directory.join("cgroup.procs"), child.id().to_string()).expect("it enters its cgroup");
        Actor { child, directories }
    }
}

impl Drop for Actor {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        for directory in self.directories.iter().rev() {
            // The dead leave their cgroup a little after they were waited for.
            let is_gone = (0..100).any(|_| {
                std::thread::sleep(Duration::from_millis(1));
                fs::remove_dir(directory).is_ok()
            });
            if !is_gone {
                eprintln!("{} is left behind", directory.display());
            }
        }
    }
}

#[test]
fn every_column_agrees_with_procps_root() {
    let scene = Scene::new();
    let mut told = BTreeMap::new();
    for name in specifiers() {
        let of_processes = scene.compare("procfs", &name, &[]);
        let of_threads = scene.compare("walk", &name, &["-L"]);
        told.insert(name, of_processes.min(of_threads));
    }
    for name in TOLD {
        assert!(told.get(*name).is_some_and(|&count| count > 0), "{name} is nowhere more than `-` or 0");
    }
}

#[test]
fn columns_of_later_versions_have_cells_root() {
    let zoo = Zoo::start_only(&["sleeper", "threads"]).expect("the zoo starts");
    let actor = Actor::with_pending_signals();
    let pids = format!("{},{},{}", zoo.members()[0].pid, zoo.members()[1].pid, actor.child.id());
    let listed =
        ours("procfs", &["-p", &pids, "-o", "pid=,fds=,htprv=,htshr=,docker=,pcap=,pcaps=,environ="]);
    let environment = format!("PATH={}", std::env::var("PATH").expect("a path"));
    assert!(listed.contains(&environment), "{listed}");
    for line in listed.lines() {
        let words: Vec<&str> = line.split_whitespace().take(7).collect();
        let open = fs::read_dir(format!("/proc/{}/fd", words[0])).map(Iterator::count);
        assert_eq!(words[1].parse().ok(), open.ok(), "{line}");
        assert_eq!(words[4], "-", "no container here: {line}");
        let status = fs::read_to_string(format!("/proc/{}/status", words[0])).expect("it is there");
        assert!(status.contains(&format!("CapPrm:\t{}\n", words[5])), "{line}");
    }
}
