//! No frame of the service tells a user of others what /proc does not: compared with what `cat` gets as that user, for hidepid 0, 1 and 2.
//! Needs root.

mod privacy;
mod service;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use cpuledger::field::{Field, FieldSet, GUARDED};
use cpuledger::interval::Row;
use cpuledger::{Interval, Pid, Task, framing};
use cpuledger_load::Kin;
use cpuledger_load::scene::alone;
use cpuledger_model::frame::{Column, Frame, Section};
use cpuledger_service::client::Client;
use cpuledger_service::ring::Next;
use cpuledger_service::varlink::{List, Scope, Subscribe};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use privacy::{As, Cast, GROUP_OF_MOUNT, OTHER_GROUP, Seen, USERS, copy, processes};
use rustix::process::{Gid, Uid};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};
use serde_json::Value;
use service::{Service, TIMEOUT};

/// Kinds of processes that /proc lets their user trace, and of which the service tells less: docs/service.md.
fn is_told_less(kind: &str, user: &As) -> bool {
    // The maker of a user namespace may trace there whatever its groups are.
    kind == "nested user namespace" || kind == "user namespace" && user.gid != user.uid
}

/// What a viewer has got of the service.
struct Got {
    frames: Vec<(Vec<u8>, Interval)>,
    listing: (Vec<u8>, Interval),
}

fn decoded(bytes: &[u8]) -> Interval {
    let mut interval = Interval::default();
    framing::read(&Frame::decode(bytes).expect("a frame"), &mut interval).expect("an interval");
    interval
}

/// Makes this thread one of the user.
fn become_user(user: &As) {
    let groups: Vec<Gid> = user.groups.iter().map(|gid| Gid::from_raw(*gid)).collect();
    let (uid, gid) = (Uid::from_raw(user.uid), Gid::from_raw(user.gid));
    set_thread_groups(&groups).expect("root may");
    set_thread_res_gid(gid, gid, gid).expect("root may");
    set_thread_res_uid(uid, uid, uid).expect("root may");
}

/// Subscribes and lists as a user, in a thread that belongs to it.
fn got_by(user: &As, socket: &Path) -> Got {
    let look = || {
        become_user(user);
        let mut client = Client::connect(socket, TIMEOUT).expect("it listens");
        let (_, mut reader) = client.subscribe(&Subscribe::default()).expect("a ring");
        let mut frames = Vec::new();
        for _ in 0..3 {
            assert_eq!(reader.wait(TIMEOUT).expect("a futex"), Next::Frame);
            let mut bytes = Vec::new();
            reader.copy(&mut bytes).expect("a frame").expect("it is there");
            let interval = decoded(&bytes);
            frames.push((bytes, interval));
        }
        let fields = cpuledger::field::FIELDS.iter().map(|info| info.key.to_owned()).collect();
        let (_, sealed) = client.list(&List::new(Scope::Tasks, fields)).expect("a listing");
        Got { frames, listing: (sealed.to_vec(), decoded(&sealed)) }
    };
    std::thread::scope(|scope| scope.spawn(look).join().expect("it has looked"))
}

/// One user, beside what `cat` gets.
struct Comparison<'a> {
    what: String,
    cast: &'a Cast,
    seen: &'a Seen,
    hides: bool,
}

impl Comparison<'_> {
    fn knows(&self, pid: Pid) -> bool {
        self.seen.asked.contains(&pid.0)
    }

    /// The row tells no more than cat has got.
    fn row(&self, row: &Task, growth: FieldSet, user: &As) {
        let (pid, tid) = (row.pid.0, row.tid.0);
        let told = row.known.union(growth).intersection(GUARDED);
        if self.knows(row.pid) {
            assert!(self.seen.shown.contains(&pid), "{}: {pid} is not shown, {row:?}", self.what);
            let is_old = row.is_leader() || self.seen.traced.contains(&tid);
            let may = if is_old { self.seen.traced.contains(&tid) } else { self.seen.traced.contains(&pid) };
            assert!(told == FieldSet::EMPTY || may, "{}: {tid} of {pid} tells {told:?}, {row:?}", self.what);
        } else if self.hides || told != FieldSet::EMPTY {
            // It began after cat had looked.
            let users = [row.uid, row.euid, row.suid, row.gid, row.egid, row.sgid];
            assert_eq!(users, [user.uid; 6], "{}: {row:?}", self.what);
        }
    }

    fn frame(&self, interval: &Interval, user: &As) {
        assert_eq!(interval.imbalance_ns(), Some(0), "{}", self.what);
        let sum: u64 = interval.processes.iter().map(|row| row.usage.cpu_ns).sum();
        assert_eq!(sum, interval.attributed_ns, "{}", self.what);
        let processes = interval.processes.iter().filter(|row| row.task.pid != Pid(0));
        processes.for_each(|row| self.row(&row.task, row.usage.growth.known, user));
        for Row { task: row, usage, .. } in &interval.tasks {
            self.row(row, usage.growth.known, user);
        }
        for exited in interval.exited.as_deref().expect("the ledger knows") {
            assert_eq!(exited.exit.exit_code, None, "{}", self.what);
            let pid = exited.exit.process.tid.0;
            if self.hides {
                assert!(self.seen.shown.contains(&pid), "{}: {exited:?}", self.what);
            }
        }
        for blocked in interval.blocked.iter().flatten().filter(|_| self.hides) {
            assert!(self.seen.shown.contains(&blocked.process.tid.0), "{}: {blocked:?}", self.what);
        }
    }

    /// No byte of what the user gets names a process that is not shown.
    fn bytes(&self, bytes: &[u8]) {
        // Names are ASCII, and what is around them does not matter.
        let text = String::from_utf8_lossy(bytes);
        for actor in self.cast.actors.iter().filter(|actor| !self.seen.shown.contains(&actor.pid())) {
            // A longer name may begin with it.
            let found = text.match_indices(&actor.name).any(|(at, name)| {
                !text[at + name.len()..].starts_with(|letter: char| letter.is_ascii_digit())
            });
            assert!(!found, "{}: {actor:?}", self.what);
        }
    }

    /// What cat gets, the service tells.
    fn tells_enough(&self, got: &Got, user: &As) {
        let listed = &got.listing.1.processes;
        for actor in self.cast.actors.iter().filter(|actor| !is_told_less(actor.kind, user)) {
            let pid = actor.pid();
            let row = listed.iter().map(|row| &row.task).find(|row| row.pid.0 == pid);
            assert_eq!(row.is_some(), self.seen.shown.contains(&pid), "{}: {actor:?}", self.what);
            let tells_io = row.is_some_and(|row| row.known.contains(Field::ReadBytes));
            assert_eq!(tells_io, self.seen.traced.contains(&pid), "{}: {actor:?} {row:?}", self.what);
            let has_run = got
                .frames
                .iter()
                .any(|(_, interval)| interval.processes.iter().any(|row| row.task.pid.0 == pid));
            assert_eq!(has_run, self.seen.shown.contains(&pid), "{}: {actor:?}", self.what);
        }
    }
}

/// What a command prints as that user.
fn printed(user: &As, binary: &Path, socket: &Path, line: &str) -> String {
    let mut command = user.command(binary);
    command.args(line.split(' ')).arg("--socket").arg(socket);
    let output = command.output().expect("setpriv runs");
    // In a namespace of its own it may see nothing at all.
    let is_done = output.status.success() || user.in_namespace && output.status.code() == Some(1);
    assert!(is_done, "{line} as {user:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn compare_commands(user: &As, seen: &Seen, cast: &Cast, binary: &Path, socket: &Path) {
    let has = |text: &str, name: &str| {
        text.split(|letter: char| !letter.is_alphanumeric()).any(|word| word == name)
    };
    for line in ["ps -eLo pid,lwp,comm", "ps ax -o user,pid,stat,comm", "ps -e --source service -o pid,comm"]
    {
        let text = printed(user, binary, socket, line);
        for actor in cast.actors.iter().filter(|actor| !is_told_less(actor.kind, user)) {
            let is_shown = seen.shown.contains(&actor.pid());
            assert_eq!(has(&text, &actor.name), is_shown, "{line} as {user:?}: {actor:?}");
        }
    }
    for line in ["ps -eLf", "ps aux"] {
        let text = printed(user, binary, socket, line);
        for actor in cast.actors.iter().filter(|actor| !seen.shown.contains(&actor.pid())) {
            assert!(!has(&text, &actor.name), "{line} as {user:?}: {actor:?}");
        }
    }
    let json = printed(user, binary, socket, "top --batch -n 1 -d 0.4 -H --all --format json");
    for actor in cast.actors.iter().filter(|actor| !seen.shown.contains(&actor.pid())) {
        assert!(!has(&json, &actor.name), "as {user:?}: {actor:?}");
    }
    let interval: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(interval["source"], "service");
    let ns = |key: &str| interval[key].as_u64().unwrap_or_else(|| panic!("{key} in {json}"));
    assert_eq!(ns("attributed_ns") + ns("idle_ns") + ns("unattributed_ns"), ns("capacity_ns"));
    for row in interval["processes"].as_array().expect("rows") {
        let pid = row["pid"].as_i64().expect("a pid") as i32;
        let tells_io = !row["read_bytes"].is_null();
        assert!(!tells_io || !seen.asked.contains(&pid) || seen.traced.contains(&pid), "as {user:?}: {row}");
    }
}

/// A mount namespace of this thread and those that it begins, where /proc is mounted so.
fn mount_proc(options: &str) {
    unshare(CloneFlags::CLONE_NEWNS).expect("root may");
    mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>)
        .expect("root may");
    mount(Some("proc"), "/proc", Some("proc"), MsFlags::empty(), Some(options)).expect("root may");
}

fn compare(options: &str, hides: bool, more: &[As]) {
    mount_proc(options);
    let service = Service::start("");
    let binary = service.folder.path().join("cpuledger");
    copy(Path::new(env!("CARGO_BIN_EXE_cpuledger")), &binary);
    let cast = Cast::start(service.folder.path());
    let threads: usize = cast.actors.iter().map(|actor| threads_of(actor.pid())).sum();
    assert!(threads >= 200, "{threads} tasks");
    let users = USERS.map(As::user);
    for user in users.iter().chain(more) {
        let seen = Seen::by(user, &some_processes(&cast));
        if !user.in_namespace {
            let got = got_by(user, &service.socket());
            // What has ended meanwhile, or has executed another program, cat can no longer have seen.
            let after = processes();
            let asked: BTreeSet<i32> = seen.asked.intersection(&after).copied().collect();
            let seen = Seen { asked, shown: seen.shown.clone(), traced: seen.traced.clone() };
            let comparison = Comparison {
                what: format!("{options}, {user:?}"),
                cast: &cast,
                seen: &seen,
                hides: hides && !sees_through(user, options),
            };
            for (bytes, interval) in &got.frames {
                comparison.frame(interval, user);
                comparison.bytes(bytes);
            }
            let (bytes, listing) = &got.listing;
            comparison.bytes(bytes);
            let rows = listing.processes.iter().chain(&listing.tasks);
            rows.for_each(|row| comparison.row(&row.task, FieldSet::EMPTY, user));
            comparison.tells_enough(&got, user);
        }
        compare_commands(user, &seen, &cast, &binary, &service.socket());
    }
}

/// Those of the scene, their children, and some of the machine.
fn some_processes(cast: &Cast) -> BTreeSet<i32> {
    let all = processes();
    let of_scene = |pid: &i32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let parent = stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(1)?.parse().ok());
        cast.actors.iter().any(|actor| actor.pid() == *pid || Some(actor.pid()) == parent)
    };
    let (of_scene, others): (Vec<i32>, Vec<i32>) = all.iter().partition(|pid| of_scene(pid));
    of_scene.into_iter().chain(others.into_iter().take(40)).collect()
}

fn threads_of(pid: i32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/task")).expect("it lives").count()
}

/// Whether hidepid makes an exception for the user.
fn sees_through(user: &As, options: &str) -> bool {
    let group = if options.contains("gid=") { GROUP_OF_MOUNT } else { 0 };
    user.groups.contains(&group)
}

fn users() -> [As; 4] {
    let first = As::user(USERS[0]);
    [
        As { gid: OTHER_GROUP, ..first.clone() },
        As { groups: vec![GROUP_OF_MOUNT], ..first.clone() },
        As { groups: vec![0], ..first.clone() },
        As { in_namespace: true, ..first },
    ]
}

#[test]
fn without_hidepid_users_see_what_proc_shows_root() {
    let _alone = alone();
    compare("hidepid=0", false, &users());
}

#[test]
fn with_hidepid_1_users_see_what_proc_shows_root() {
    let _alone = alone();
    compare("hidepid=1", true, &users());
}

#[test]
fn with_hidepid_2_users_see_what_proc_shows_root() {
    let _alone = alone();
    compare(&format!("hidepid=2,gid={GROUP_OF_MOUNT}"), true, &users());
}

/// The frames of a user while that happens.
fn frames_while(user: &As, socket: &Path, scene: impl FnOnce()) -> Vec<Frame> {
    let is_over = AtomicBool::new(false);
    let (told, ready) = channel();
    let look = || {
        become_user(user);
        let mut client = Client::connect(socket, TIMEOUT).expect("it listens");
        let (_, mut reader) = client.subscribe(&Subscribe::default()).expect("a ring");
        let mut frames = Vec::new();
        while !is_over.load(Ordering::SeqCst) || frames.is_empty() {
            assert_eq!(reader.wait(TIMEOUT).expect("a futex"), Next::Frame);
            let mut bytes = Vec::new();
            reader.copy(&mut bytes).expect("a frame").expect("it is there");
            frames.push(Frame::decode(&bytes).expect("a frame"));
            // The first was closed before.
            if frames.len() == 2 {
                told.send(()).expect("it is waited for");
            }
        }
        frames
    };
    std::thread::scope(|scope| {
        let looking = scope.spawn(look);
        ready.recv().expect("frames come");
        scene();
        is_over.store(true, Ordering::SeqCst);
        looking.join().expect("it has looked")
    })
}

/// The bytes of a frame without what every user sees anyway, its clocks, and the one remainder.
fn but_for_the_remainder(frame: &Frame) -> Vec<u8> {
    let mut frame = frame.clone();
    let figure = |column| frame.figure(column);
    for time in [Column::READ_BEGIN_NS, Column::READ_END_NS] {
        assert_eq!(figure(time), figure(Column::END_NS), "{}", time.name());
    }
    assert_eq!(figure(Column::READ_BEGIN_BOOTTIME_NS), figure(Column::END_BOOTTIME_NS));
    let booked = [Column::ATTRIBUTED_NS, Column::IDLE_NS, Column::UNATTRIBUTED_NS].map(figure);
    assert_eq!(
        booked.into_iter().map(|ns| ns.expect("a figure")).sum::<u64>(),
        figure(Column::CAPACITY_NS).expect("one")
    );
    for column in [
        Column::START_NS,
        Column::END_NS,
        Column::END_BOOTTIME_NS,
        Column::END_REALTIME_NS,
        Column::READ_BEGIN_NS,
        Column::READ_END_NS,
        Column::READ_BEGIN_BOOTTIME_NS,
        Column::SEQUENCE,
        Column::CAPACITY_NS,
        Column::ATTRIBUTED_NS,
        Column::IDLE_NS,
        // Of CPUs on which nothing has switched since the service began.
        Column::UNATTRIBUTED_NS,
        Column::UNCOVERED_CPU_NS,
    ] {
        frame.set_figure(column, None);
    }
    for column in [Column::CPU_NS, Column::SELF_NS] {
        frame.table_mut(Section::Processes).set(column, 0, Some(0));
    }
    let mut bytes = Vec::new();
    frame.encode(&mut bytes).expect("it is short");
    bytes
}

/// A user without processes gets the same bytes whether 10 processes of others run, 300, or some whose threads do execs.
#[test]
fn the_frames_of_a_user_do_not_depend_on_what_others_do_root() {
    let _alone = alone();
    let service = Service::start("[audiences]\neveryone = \"self\"\n");
    let rest = || std::thread::sleep(Duration::from_secs(2));
    let beside = |kind: &str, children: u64| {
        let mut others = Kin::start_with(kind, 1, children).expect("they start");
        others.begin().expect("they live");
        frames_while(&As::user(USERS[0]), &service.socket(), rest)
    };
    let mut first = None;
    for (kind, children) in [("ping-pong", 5), ("ping-pong", 150), ("churn", 0)] {
        let frames = beside(kind, children);
        assert!(frames.len() > 5, "{kind}: {}", frames.len());
        for frame in &frames {
            let bytes = but_for_the_remainder(frame);
            assert_eq!(first.get_or_insert_with(|| bytes.clone()), &bytes, "{kind}, {children}");
        }
    }
}

/// A process of root whose thread ends, and which then becomes that of a user.
#[test]
fn what_died_before_a_process_became_that_of_a_user_is_not_shown_root() {
    let _alone = alone();
    let service = Service::start("[audiences]\neveryone = \"self\"\n");
    let (user, former) = (USERS[0], "former-thread");
    let scene = || {
        for index in 0..10 {
            let (input, hold) = std::io::pipe().expect("a pipe");
            let mut command = Command::new(cpuledger_load::program().expect("the program of workloads"));
            command.args(["actor", "--former-thread", former, "--dumpable", "true", "--name"]);
            command.arg(format!("became{index}")).arg(format!("--groups={user},{user},{user}"));
            let mut child =
                command.arg(format!("--users={user},{user},{user}")).stdin(input).spawn().expect("it starts");
            std::thread::sleep(Duration::from_millis(330));
            drop(hold);
            assert!(child.wait().expect("it ends").success());
        }
    };
    let frames = frames_while(&As::user(user), &service.socket(), scene);
    let mut shown = BTreeSet::new();
    for frame in &frames {
        let name = |section, row| frame.text_of(section, Column::COMM, row).unwrap_or_default();
        for row in 0..frame.table(Section::Exited).len() {
            let users =
                [Column::UID, Column::EUID].map(|column| frame.table(Section::Exited).get(column, row));
            assert_eq!(users, [Some(u64::from(user)); 2]);
            assert_ne!(name(Section::Exited, row), former.as_bytes());
            shown.insert(b"a thread".to_vec());
        }
        for row in 0..frame.table(Section::Processes).len() {
            shown.insert(name(Section::Processes, row).to_vec());
        }
    }
    assert!(shown.contains(&b"became9"[..]) && shown.contains(&b"a thread"[..]), "{shown:?}");
}
