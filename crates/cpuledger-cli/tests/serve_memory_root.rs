//! The memory of the service, by the kernel's count of a memory cgroup, as that decides when it is killed: what users keep is not in it.
//! Needs root.

mod honest;
mod service;

use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cpuledger_load::scene::alone;
use cpuledger_load::{Cgroup, Harm, Hostile, RaisedLimits, Sleepers};
use honest::{Honest, as_user};
use service::Service;

/// The one that reads and does no harm, and those that do.
const HONEST: u32 = 40_000_301;
const HOSTILE: [u32; 3] = [40_000_302, 40_000_303, 40_000_304];
/// Threads that sleep, so that a listing is long.
const THREADS: usize = 20_000;
/// What all of it may be, however long it lasts: 48 MiB of listings that are not read, the rings, and what the service takes itself. Nothing
/// of it is freed as long as the users keep it, so after 100 s 115 MiB are reached, and nothing is added.
const MOST_BYTES: u64 = 144 << 20;
/// A reader or a cut that is later than this has waited for the attack.
const LATE: Duration = Duration::from_secs(10);

fn lasts() -> Duration {
    Duration::from_secs(if is_full() { 600 } else { 20 })
}

/// What the unit that is shipped allows the service, in bytes.
fn memory_max() -> u64 {
    let unit = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/systemd/cpuledger.service");
    let unit = std::fs::read_to_string(unit).expect("it is there");
    let line = unit.lines().find_map(|line| line.strip_prefix("MemoryMax=")).expect("it has a limit");
    line.strip_suffix('M').and_then(|number| number.parse::<u64>().ok()).expect("in MiB") << 20
}

/// A cgroup with that limit.
struct Limited(Cgroup);

impl Limited {
    fn new(bytes: u64) -> Limited {
        let cgroup = Cgroup::new("memory")
            .expect("a hierarchy with memory is mounted, and root may make a cgroup in it");
        cgroup.limit_memory(bytes).expect("a limit");
        Limited(cgroup)
    }

    /// Starts a service in it.
    fn start(&self) -> Service {
        Service::start_as("", |usual| {
            let mut command = Command::new("sh");
            command.args(["-c", "echo $$ > \"$0/cgroup.procs\" && exec \"$@\""]).arg(self.0.path());
            command.arg(usual.get_program()).args(usual.get_args()).env_remove("NOTIFY_SOCKET");
            command
        })
    }
}

/// Tasks that start, and what the service takes at most beside them, its ledger and a listing included.
struct Start {
    threads: usize,
    processes: usize,
    /// Those of `ps` that list each of them.
    options: &'static [&'static str],
}

impl Start {
    /// What docs/administration.md states. Of the fixed part, 16 MiB are the ledger of the usual size, and 60 the largest one that takes over when
    /// slots run low: it depends on chance whether all start in one interval, so whether the ledger grows, and whether a listing is made meanwhile.
    fn most_bytes(&self) -> u64 {
        (140 << 20) + self.threads as u64 * 1_400
    }
}

/// Threads start while the service runs, so that all of them are in few intervals. Then another user lists them.
#[test]
fn threads_that_start_beside_the_service_take_a_bounded_part_root() {
    let threads = if is_full() { 100_000 } else { THREADS };
    assert_bounded(&Start { threads, processes: 1, options: &["-eLf"] });
}

/// The same with processes.
#[test]
fn processes_that_start_beside_the_service_take_a_bounded_part_root() {
    let processes = if is_full() { 20_000 } else { 8_000 };
    assert_bounded(&Start { threads: processes, processes, options: &["-e"] });
}

fn is_full() -> bool {
    std::env::var_os("CPULEDGER_TEST_FULL").is_some()
}

fn assert_bounded(start: &Start) {
    let _alone = alone();
    let Start { threads, processes, options } = *start;
    let most_bytes = start.most_bytes();
    let _limits = RaisedLimits::for_threads(threads).expect("there is room for threads");
    let limited = Limited::new(memory_max());
    let mut service = limited.start();
    let (socket, is_over) = (service.socket(), AtomicBool::new(false));
    let honest = std::thread::scope(|scope| {
        let honest = as_user(scope, HONEST, || Honest::read(&socket, &is_over));
        let sleepers = Sleepers::start(threads, processes).expect("threads");
        std::thread::sleep(Duration::from_secs(2));
        println!(
            "{threads} threads of {processes} processes: at most {} MiB while they start",
            limited.0.most_memory_bytes().expect("a number") >> 20
        );
        let mut listing = Command::new(env!("CARGO_BIN_EXE_cpuledger"));
        listing.arg("ps").args(options).args(["--source", "service"]);
        listing.env("CPULEDGER_SOCKET", &socket).uid(HONEST).gid(HONEST);
        let listed = listing.output().expect("it starts");
        let lines = listed.stdout.iter().filter(|byte| **byte == b'\n').count();
        assert!(lines > threads, "{lines} lines: {}", String::from_utf8_lossy(&listed.stderr));
        drop(sleepers);
        std::thread::sleep(Duration::from_secs(1));
        is_over.store(true, Ordering::SeqCst);
        honest.join()
    });
    let peak = limited.0.most_memory_bytes().expect("a number");
    println!("{threads} threads of {processes} processes: at most {} MiB", peak >> 20);
    assert_eq!(service.child.try_wait().expect("it is a child"), None, "it has ended, with {peak} bytes");
    assert!(honest.expect("the honest reader gets what it should").frames > 5);
    assert!(peak < most_bytes, "{peak} bytes, and {most_bytes} are stated");
}

/// Listings of 20,000 threads and rings, kept by three users: the service lives within its limit, and takes no more than it should.
#[test]
fn what_users_keep_is_not_the_memory_of_the_service_root() {
    let _alone = alone();
    let _limits = RaisedLimits::for_threads(THREADS).expect("there is room for threads");
    let _sleepers = Sleepers::start(THREADS, 1).expect("threads");
    let limited = Limited::new(memory_max());
    let mut service = limited.start();
    let socket = service.socket();
    let is_over = AtomicBool::new(false);
    let (mut most_bytes, mut has_ended) = (0, None);
    let mut honest = std::thread::scope(|scope| {
        let honest = as_user(scope, HONEST, || Honest::read(&socket, &is_over));
        let harms = [Harm::Listings, Harm::Rings];
        let hostile: Vec<Hostile> = HOSTILE
            .iter()
            .flat_map(|uid| harms.map(|harm| Hostile::start(&socket, *uid, harm).expect("it begins")))
            .collect();
        let begin = Instant::now();
        while begin.elapsed() < lasts() && has_ended.is_none() {
            most_bytes = most_bytes.max(limited.0.memory_bytes().expect("a number"));
            has_ended = service.child.try_wait().expect("it is a child");
            std::thread::sleep(Duration::from_millis(20));
        }
        is_over.store(true, Ordering::SeqCst);
        for hostile in hostile {
            let harmed = hostile.stop().expect("it ends").expect("none has stopped itself");
            println!("{harmed:?}");
            assert!(harmed.calls > 20, "it has done nothing");
        }
        honest.join()
    });
    println!("at most {} MiB", most_bytes >> 20);
    assert_eq!(has_ended, None, "the service has ended, with {most_bytes} bytes");
    assert!(most_bytes < MOST_BYTES, "{most_bytes} bytes");
    let honest = honest.as_mut().expect("the honest reader gets what it should");
    let p99 = honest.p99();
    println!("{} frames, p99 of their delay {:.1} ms", honest.frames, p99.as_secs_f64() * 1e3);
    assert!(p99 < LATE && honest.most_late_ns < LATE.as_nanos() as u64, "{p99:?}, {}", honest.most_late_ns);
}
