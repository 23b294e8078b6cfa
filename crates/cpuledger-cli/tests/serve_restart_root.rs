//! `cpuledger serve` is restarted: with a service manager that keeps descriptors no nanosecond is lost, without one nothing is left. Needs root.

mod manager;

use std::io::{BufRead, BufReader, Read};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use cpuledger::Interval;
use cpuledger::framing;
use cpuledger_bpf::ledger::ledgers_of;
use cpuledger_load::scene::alone;
use cpuledger_load::{BpfHeld, Storm, StormPlan};
use cpuledger_model::frame::{Column, Frame};
use cpuledger_service::client::Client;
use cpuledger_service::ring::{Next, Reader};
use cpuledger_service::sealed::{Sealed, seal};
use cpuledger_service::varlink::Subscribe;
use manager::{Kept, Manager, TIMEOUT};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};
use serde_json::Value;

const RESTARTS: usize = 20;
/// What a service says that does not go on with what was kept.
const ANEW: &str = "begins anew";
/// A user without privileges or processes.
const STRANGER: u32 = 65_534;

/// Time of an interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Times {
    start_ns: u64,
    end_ns: u64,
    capacity_ns: u64,
    attributed_ns: u64,
    idle_ns: u64,
    unattributed_ns: u64,
}

impl Times {
    fn of(interval: &Interval) -> Times {
        Times {
            start_ns: interval.start_ns,
            end_ns: interval.end_ns,
            capacity_ns: interval.capacity_ns,
            attributed_ns: interval.attributed_ns,
            idle_ns: interval.idle_ns.expect("it is known"),
            unattributed_ns: interval.unattributed_ns.expect("it is known"),
        }
    }
}

/// Checks that the intervals follow each other, and that together they hold all time of all CPUs. Returns their sum.
fn assert_all_is_told(told: &[Times]) -> Times {
    let cpus = u64::from(cpuledger::machine::online_cpus());
    let mut sum = Times { start_ns: told[0].start_ns, ..*told.last().expect("some") };
    (sum.capacity_ns, sum.attributed_ns, sum.idle_ns, sum.unattributed_ns) = (0, 0, 0, 0);
    for times in told {
        sum.capacity_ns += times.capacity_ns;
        sum.attributed_ns += times.attributed_ns;
        sum.idle_ns += times.idle_ns;
        sum.unattributed_ns += times.unattributed_ns;
    }
    for pair in told.windows(2) {
        assert_eq!(pair[0].end_ns, pair[1].start_ns, "there is no gap, and nothing is told twice");
    }
    assert_eq!(sum.capacity_ns, cpus * (sum.end_ns - sum.start_ns), "{sum:?}");
    assert_eq!(sum.capacity_ns, sum.attributed_ns + sum.idle_ns + sum.unattributed_ns, "{sum:?}");
    sum
}

/// A frame.
#[derive(Debug)]
struct Told {
    /// Its number in the ring.
    number: u64,
    /// That of its interval.
    counted: u64,
    times: Times,
}

/// How far the ring is read.
#[derive(Debug, Default)]
struct Course {
    has_begun: AtomicBool,
    /// It ends with the first interval that ends after this; 0: it goes on.
    until_ns: AtomicU64,
}

impl Course {
    fn is_over(&self, told: &[Told]) -> bool {
        self.has_begun.store(!told.is_empty(), Ordering::SeqCst);
        let until_ns = self.until_ns.load(Ordering::SeqCst);
        until_ns > 0 && told.last().is_some_and(|last| last.times.end_ns > until_ns)
    }
}

/// Reads every frame of the ring of all rows, over restarts.
fn read_ring(socket: std::path::PathBuf, course: Arc<Course>) -> JoinHandle<Vec<Told>> {
    std::thread::spawn(move || {
        let mut told: Vec<Told> = Vec::new();
        while !course.is_over(&told) {
            let mut client = Client::connect(&socket, TIMEOUT).expect("the manager listens");
            let wanted = Subscribe::default();
            // The one that ends may have taken the connection.
            let Ok((_, mut reader)) = client.subscribe(&wanted) else { continue };
            if let Some(last) = told.last() {
                reader.resume_at(last.number + 1);
            }
            while read_frame(&mut reader, &mut told) && !course.is_over(&told) {}
        }
        told
    })
}

/// Whether the ring goes on.
fn read_frame(reader: &mut Reader, told: &mut Vec<Told>) -> bool {
    match reader.wait(TIMEOUT).expect("a futex") {
        Next::Moved => return false,
        Next::TimedOut => panic!("no frame for {TIMEOUT:?}"),
        Next::Frame => {}
    }
    let mut bytes = Vec::new();
    let copied = reader.copy(&mut bytes).expect("a frame").expect("it is there");
    assert_eq!(copied.missed, 0);
    let mut interval = Interval::default();
    let frame = Frame::decode(&bytes).expect("a frame");
    framing::read(&frame, &mut interval).expect("an interval");
    let sum: u64 = interval.processes.iter().map(|row| row.usage.cpu_ns).sum();
    assert_eq!(sum, interval.attributed_ns, "the rows have all the time");
    let counted = frame.figure(Column::SEQUENCE).expect("it is counted");
    told.push(Told { number: copied.sequence, counted, times: Times::of(&interval) });
    true
}

/// A `top` that reads the service, and is ended whatever happens.
struct Top {
    child: Child,
    told: Arc<Mutex<Vec<Value>>>,
    thread: JoinHandle<()>,
}

impl Top {
    fn start(manager: &Manager, uid: u32) -> Top {
        let mut child = Command::new(env!("CARGO_BIN_EXE_cpuledger"))
            .args(["top", "--batch", "-d", "0.4", "--format", "json"])
            .env("CPULEDGER_SOCKET", manager.socket())
            .uid(uid)
            .gid(uid)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let told = Arc::new(Mutex::new(Vec::new()));
        let own = Arc::clone(&told);
        let thread = std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                own.lock().expect("no panic").push(serde_json::from_str(&line).expect("JSON"));
            }
        });
        Top { child, told, thread }
    }

    /// Waits until it has told of an interval that began after this time.
    fn wait_past(&self, time_ns: u64) {
        let begin = Instant::now();
        let is_past = |interval: &Value| number(interval, "start_ns") >= time_ns;
        while !self.told.lock().expect("no panic").iter().any(is_past) {
            assert!(begin.elapsed() < TIMEOUT, "no interval begins after {time_ns}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn end(mut self) -> Vec<Value> {
        kill_process(Pid::from_child(&self.child), Signal::INT).expect("it lives");
        self.child.wait().expect("it is ours");
        self.thread.join().expect("JSON");
        std::mem::take(&mut self.told.lock().expect("no panic"))
    }
}

fn number(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap_or_else(|| panic!("{key} of {value}"))
}

fn times_of(interval: &Value) -> Times {
    let of = |key| number(interval, key);
    Times {
        start_ns: of("start_ns"),
        end_ns: of("end_ns"),
        capacity_ns: of("capacity_ns"),
        attributed_ns: of("attributed_ns"),
        idle_ns: of("idle_ns"),
        unattributed_ns: of("unattributed_ns"),
    }
}

/// CPU time that intervals tell of a storm: of its processes and, when these are dead, of this test, which inherits from them.
fn time_of_storm(intervals: &[Value], pids: &[i32], ended_ns: u64) -> u64 {
    let of = |interval: &Value| -> u64 {
        let inherits = number(interval, "end_ns") > ended_ns;
        let rows = interval["processes"].as_array().expect("rows").iter();
        rows.map(|row| match number(row, "pid") {
            pid if pids.iter().any(|own| *own as u64 == pid) => number(row, "cpu_ns"),
            pid if pid == u64::from(std::process::id()) && inherits => {
                row["exited_children_ns"].as_u64().unwrap_or(0)
            }
            _ => 0,
        })
        .sum()
    };
    intervals.iter().map(of).sum()
}

#[test]
fn twenty_restarts_in_a_storm_lose_no_nanosecond_root() {
    let _alone = alone();
    let begin_ns = cpuledger::clock::monotonic_ns();
    let mut manager = Manager::start();
    let course = Arc::new(Course::default());
    let ring = read_ring(manager.socket(), Arc::clone(&course));
    let (top, of_stranger) = (Top::start(&manager, 0), Top::start(&manager, STRANGER));
    [&top, &of_stranger].into_iter().for_each(|top| top.wait_past(begin_ns));
    while !course.has_begun.load(Ordering::SeqCst) {
        assert!(!ring.is_finished(), "the ring is read");
        std::thread::sleep(Duration::from_millis(5));
    }
    let read_ns = cpuledger::clock::monotonic_ns();
    let storm = Storm::start(&StormPlan { workers: 2, ..StormPlan::default() }).expect("a storm");
    let pids: Vec<i32> = storm.workers().iter().copied().chain([storm.pid()]).collect();
    for restart in 0..RESTARTS {
        std::thread::sleep(Duration::from_millis(50 + 37 * (restart as u64 % 7)));
        assert!(manager.end(Signal::TERM).success());
        let kept = manager.kept();
        assert!(kept.iter().any(|name| name == "memory") && kept.len() >= 12, "{kept:?}: {}", manager.said());
        manager.begin();
        assert_eq!(manager.kept(), [""; 0], "nothing is left with the manager");
        manager.said_with("goes on with the ledger that was kept");
    }
    std::thread::sleep(Duration::from_secs(1));
    let stopped_ns = cpuledger::clock::monotonic_ns();
    let stormed = storm.stop().expect("it ends");
    let ended_ns = cpuledger::clock::monotonic_ns();
    [&top, &of_stranger].into_iter().for_each(|top| top.wait_past(ended_ns));
    let (intervals, of_stranger) = (top.end(), of_stranger.end());
    course.until_ns.store(ended_ns, Ordering::SeqCst);
    let of_ring = ring.join().expect("the ring was read");
    let end_ns = cpuledger::clock::monotonic_ns();

    for pair in of_ring.windows(2) {
        assert_eq!(pair[0].number + 1, pair[1].number, "each frame once");
        assert_eq!(pair[0].counted + 1, pair[1].counted, "each interval once");
    }
    let frames: Vec<Times> = of_ring.iter().map(|told| told.times).collect();
    let sum = assert_all_is_told(&frames);
    assert!(begin_ns < sum.start_ns && sum.end_ns < end_ns);
    assert!(sum.start_ns < read_ns && sum.end_ns > ended_ns, "{sum:?}");
    assert_eq!(sum.unattributed_ns, 0, "{sum:?}");

    for intervals in [&intervals, &of_stranger] {
        assert!(intervals.iter().all(|interval| interval["source"] == "service"));
        let of_top: Vec<Times> = intervals.iter().map(times_of).collect();
        let sum = assert_all_is_told(&of_top);
        assert_eq!(sum.unattributed_ns, 0, "{sum:?}");
        assert!(sum.start_ns < read_ns && sum.end_ns > ended_ns, "{sum:?}");
    }
    let told_ns = time_of_storm(&intervals, &pids, stopped_ns);
    // What the host and interrupts took while they were on a CPU is in our account alone.
    let rows = intervals.iter().flat_map(|interval| interval["processes"].as_array().expect("rows"));
    let stolen_ns: u64 = rows.filter_map(|row| row["stolen_ns"].as_u64()).sum();
    let ratio = told_ns as f64 / stormed.cpu_ns as f64;
    eprintln!(
        "{} frames, {} intervals, {stormed:?}, told {told_ns} ns: {ratio}; {stolen_ns} ns stolen",
        frames.len(),
        intervals.len()
    );
    let most_ns = stormed.cpu_ns + stormed.cpu_ns / 20 + stolen_ns;
    assert!(ratio >= 0.97 && told_ns < most_ns, "{told_ns} of {stormed:?}, {stolen_ns} ns stolen");
}

/// A process that uses a CPU, and whose parent is dead.
struct Orphan {
    pid: Pid,
    descriptor: OwnedFd,
}

impl Orphan {
    fn start() -> Orphan {
        // It keeps none of the pipes, whose ends are waited for.
        let script = "while :; do :; done >/dev/null 2>&1 & echo $!";
        let parent = Command::new("sh").args(["-c", script]).output().expect("sh runs");
        let pid = String::from_utf8_lossy(&parent.stdout).trim().parse().ok().and_then(Pid::from_raw);
        let pid = pid.expect("a pid");
        Orphan { pid, descriptor: pidfd_open(pid, PidfdFlags::empty()).expect("it lives") }
    }
}

impl Drop for Orphan {
    fn drop(&mut self) {
        let _ = pidfd_send_signal(&self.descriptor, Signal::KILL);
    }
}

/// The dead parent of a living process, and the figures that its growth is told from.
#[test]
fn what_is_remembered_of_tasks_survives_root() {
    let _alone = alone();
    let mut manager = Manager::start();
    let orphan = Orphan::start();
    let top = Top::start(&manager, 0);
    // Each has several intervals, however busy the machine is.
    let wait = || {
        std::thread::sleep(Duration::from_secs(1));
        top.wait_past(cpuledger::clock::monotonic_ns());
    };
    for _ in 0..2 {
        wait();
        assert!(manager.end(Signal::TERM).success());
        manager.begin();
    }
    wait();
    let intervals = top.end();
    let mut rows: Vec<&Value> = Vec::new();
    for interval in &intervals {
        let of = interval["processes"].as_array().expect("rows").iter();
        rows.extend(of.filter(|row| row["pid"] == orphan.pid.as_raw_nonzero().get()));
    }
    assert!(rows.len() >= 3, "{intervals:?}");
    let sum = |key: &str| rows.iter().map(|row| number(row, key)).sum::<u64>();
    for row in &rows {
        assert_eq!((&row["comm"], number(row, "accounting_ppid")), (&"sh".into(), std::process::id().into()));
    }
    let (cpu_ns, told_ns) = (sum("cpu_ns"), sum("user_ns") + sum("system_ns"));
    // The kernel brings the runtime of a running task up to date at each tick, and leaves out what the host and interrupts took. The figures
    // are read after the cut, later on a busy machine. What a successor forgets is the growth of an interval at least, of four or so.
    let stolen_ns: u64 = rows.iter().map(|row| row["stolen_ns"].as_u64().unwrap_or(0)).sum();
    // The kernel's figures grow while no service runs, and the ledger's do not.
    let unseen_ns: u64 =
        intervals.iter().map(|interval| number(&interval["unattributed_by"], "not_attached_ns")).sum();
    let slack_ns = 20_000_000 + cpu_ns / 20 + stolen_ns;
    assert!(
        cpu_ns > 200_000_000 && told_ns + slack_ns > cpu_ns && told_ns < cpu_ns + unseen_ns + slack_ns,
        "{cpu_ns} and {told_ns}, {unseen_ns} not attached"
    );
}

/// Killed in a storm, the service begins anew. Readers wait for it, and tell the time in between.
#[test]
fn readers_wait_for_a_service_that_was_killed_root() {
    let _alone = alone();
    let mut manager = Manager::start();
    let top = Top::start(&manager, STRANGER);
    let _storm = Storm::start(&StormPlan { workers: 2, ..StormPlan::default() }).expect("a storm");
    for _ in 0..3 {
        std::thread::sleep(Duration::from_millis(700));
        manager.end(Signal::KILL);
        assert_eq!(manager.kept(), [""; 0]);
        manager.begin();
        let said = manager.said_with("attached the ledger");
        assert!(!said.contains("goes on"), "{said}");
        // Else the time of two of them would be one gap.
        top.wait_past(cpuledger::clock::monotonic_ns());
    }
    let intervals = top.end();
    assert!(intervals.iter().all(|interval| interval["source"] == "service"));
    let is_gap = |interval: &&Value| number(&interval["unattributed_by"], "not_attached_ns") > 0;
    assert_eq!(intervals.iter().filter(is_gap).count(), 3);
    let of_top: Vec<Times> = intervals.iter().map(times_of).collect();
    assert_all_is_told(&of_top);
}

/// What ran while a killed service was away is in no figure of a command, and its account says so.
#[test]
fn a_command_has_an_account_of_the_time_without_a_service_root() {
    let _alone = alone();
    let mut manager = Manager::start();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("account.json");
    let mut run = Command::new(env!("CARGO_BIN_EXE_cpuledger"));
    run.args(["run", "--source", "service", "--format", "json", "--output"]).arg(&file);
    run.args(["sh", "-c", "echo GO; read line; true"]).env("CPULEDGER_SOCKET", manager.socket());
    let mut run = run.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    run.stdout.as_mut().expect("a pipe").read_exact(&mut [0; 3]).expect("it begins");
    let pause = Duration::from_millis(700);
    std::thread::sleep(pause);
    manager.end(Signal::KILL);
    std::thread::sleep(pause);
    manager.begin();
    manager.said_with("attached the ledger");
    std::thread::sleep(pause);
    drop(run.stdin.take());
    assert!(run.wait().expect("it ends").success());
    let account: Value =
        serde_json::from_str(&std::fs::read_to_string(&file).expect("a file")).expect("JSON");
    assert_eq!(account["source"], "service");
    let (without_ns, real_ns) = (number(&account, "without_books_ns"), number(&account, "real_ns"));
    assert!((700_000_000..real_ns).contains(&without_ns), "{account}");
    let cpus = u64::from(cpuledger::machine::online_cpus());
    assert!(number(&account, "unattributed_ns") >= cpus * without_ns, "{account}");
    assert!(account["ended_early"].is_null(), "{account}");
}

/// With the user and the capabilities that its unit gives it.
#[test]
fn a_service_without_root_goes_on_root() {
    let _alone = alone();
    let mut manager = Manager::start_by(
        "setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all,+bpf,+perfmon,+sys_ptrace \
         --ambient-caps=-all,+bpf,+perfmon,+sys_ptrace",
    );
    let restart = |manager: &mut Manager, is_complete| {
        assert!(manager.end(Signal::TERM).success());
        manager.change_kept(|kept| kept.retain(|(name, _)| is_complete || name != "memory"));
        manager.begin();
        assert_eq!(ledgers_of(STRANGER).expect("it needs root").len(), 1, "a user has one");
    };
    for _ in 0..3 {
        restart(&mut manager, true);
        manager.said_with("goes on with the ledger that was kept");
    }
    // It may have one ledger: the old one has to be gone before there is a new one.
    restart(&mut manager, false);
    manager.said_with("begins anew");
}

/// The ledger that this service has attached, by the number of its switch hook.
fn ledger_of(manager: &Manager) -> u32 {
    let held = BpfHeld::by(manager.pid()).programs;
    let own: Vec<u32> =
        ledgers_of(0).expect("it needs root").into_iter().filter(|id| held.contains(id)).collect();
    assert_eq!(own.len(), 1, "{held:?}");
    own[0]
}

fn is_attached(ledger: u32) -> bool {
    ledgers_of(0).expect("it needs root").contains(&ledger)
}

fn assert_gone(ledger: u32, why: &str) {
    let begin = Instant::now();
    while is_attached(ledger) {
        assert!(begin.elapsed() < TIMEOUT, "{why}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn what_is_kept_goes_with_the_manager_and_nothing_else_keeps_it_root() {
    let _alone = alone();
    let _storm = Storm::start(&StormPlan { workers: 2, ..StormPlan::default() }).expect("a storm");
    let mut manager = Manager::start();
    let ledger = ledger_of(&manager);
    manager.end(Signal::KILL);
    assert_gone(ledger, "it was killed, and has left nothing");
    manager.begin();
    let ledger = ledger_of(&manager);
    assert!(manager.end(Signal::TERM).success());
    std::thread::sleep(Duration::from_secs(1));
    assert!(is_attached(ledger), "it is kept");
    manager.begin();
    assert!(is_attached(ledger), "it goes on");
    manager.end(Signal::KILL);
    assert_gone(ledger, "it was taken back, and has left nothing");
    manager.begin();
    let ledger = ledger_of(&manager);
    assert!(manager.end(Signal::TERM).success());
    manager.change_kept(Vec::clear);
    assert_gone(ledger, "the manager has dropped it");
}

#[test]
fn what_cannot_be_gone_on_with_is_dropped_root() {
    let _alone = alone();
    let mut manager = Manager::start();
    let mut ledger = ledger_of(&manager);
    let mut restart = |change: &dyn Fn(&mut Kept), wanted: &str| {
        assert!(manager.end(Signal::TERM).success());
        manager.change_kept(change);
        manager.said();
        manager.begin();
        assert_eq!(manager.kept(), [""; 0]);
        let said = manager.said_with(wanted);
        if wanted == ANEW {
            assert_gone(ledger, "it is of no use");
            ledger = ledger_of(&manager);
        }
        assert!(is_attached(ledger), "{said}");
        said
    };
    // In the place of a byte: behind the three words of the service, the format is the first and the layout the second.
    let changed = |place: usize| {
        move |kept: &mut Kept| {
            let (_, memory) = kept.iter_mut().find(|(name, _)| name == "memory").expect("it is kept");
            let mut bytes = Sealed::open(&*memory, 1 << 30).expect("it is sealed").to_vec();
            bytes[place] ^= 1;
            *memory = seal("changed", &bytes).expect("sealed");
        }
    };
    restart(&|_| {}, "goes on with the ledger that was kept");
    for (change, reason) in [
        (&changed(25) as &dyn Fn(&mut Kept), "another layout"),
        (&changed(24), "another version"),
        (&|kept| kept.retain(|(name, _)| name != "ledger-slots"), "part `slots` is missing"),
        (
            &|kept| kept.retain(|(name, _)| name != "ledger-cpul_on_switch"),
            "part `cpul_on_switch` is missing",
        ),
        (&|kept| kept.retain(|(name, _)| name != "memory"), "memory is missing"),
    ] {
        let said = restart(change, ANEW);
        assert!(said.contains(reason), "{reason}: {said}");
    }
}
