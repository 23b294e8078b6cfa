//! What a metrics server and its service endure: cgroups that come and go, readers that are killed and stopped in any state, and a name service that
//! never answers. Needs root. `CPULEDGER_TEST_FULL=1` makes 10,000 cgroups rather than 1,000, and `make test-clients` does.

mod cgroups;
mod metrics;
mod service;

use std::fs;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use cgroups::Cgroup;
use cpuledger_load::with_net;
use cpuledger_model::frame::{Column, Frame, Wanted};
use cpuledger_service::client::Client;
use cpuledger_service::ring::Next;
use cpuledger_service::varlink::Subscribe;
use metrics::{Metrics, Samples, TIMEOUT};
use rustix::process::{Pid, Signal, kill_process};
use service::Service;

/// The length of intervals of the service.
const INTERVAL_NS: u64 = 200_000_000;
const MIB: u64 = 1 << 20;

/// Whether there is time for ten thousand cgroups.
fn is_full() -> bool {
    ["CPULEDGER_TEST_CLIENTS", "CPULEDGER_TEST_FULL"].iter().any(|name| std::env::var_os(name).is_some())
}

/// Follows the ring of a service, and keeps when each interval began and ended.
struct Cadence {
    thread: JoinHandle<Vec<(u64, u64)>>,
    is_over: Arc<AtomicBool>,
    begun: Instant,
}

impl Cadence {
    fn follow(service: &Service) -> Cadence {
        let mut client = Client::connect(&service.socket(), TIMEOUT).expect("it listens");
        let wanted = Subscribe::default();
        let (_, mut reader) = client.subscribe(&wanted).expect("root sees all");
        let is_over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&is_over);
        let run = move || {
            let (mut bytes, mut frame, mut intervals) = (Vec::new(), Frame::new(), Vec::new());
            let times = Wanted::of(&[], &[Column::START_NS, Column::END_NS]);
            while !ends.load(Ordering::SeqCst) {
                match reader.wait(Duration::from_millis(100)).expect("the service lives") {
                    Next::Frame => {}
                    Next::TimedOut => continue,
                    // A larger ring follows this one.
                    Next::Moved => {
                        reader = client.subscribe(&wanted).expect("it has another ring").1;
                        reader.resume_at(1);
                        continue;
                    }
                }
                if reader.copy(&mut bytes).expect("a frame").is_some() {
                    frame.decode_wanted_from(&bytes, &times).expect("a frame");
                    let at = |column| frame.figure(column).expect("each frame says it");
                    intervals.push((at(Column::START_NS), at(Column::END_NS)));
                }
            }
            intervals.sort_unstable();
            intervals.dedup();
            intervals
        };
        Cadence { thread: std::thread::spawn(run), is_over, begun: Instant::now() }
    }

    /// No interval is missing, and none is much longer than it should be but for a few: this machine may be busy.
    fn assert_unchanged(self) {
        let elapsed = self.begun.elapsed();
        self.is_over.store(true, Ordering::SeqCst);
        let intervals = self.thread.join().expect("it ends");
        let gap = intervals.windows(2).find(|pair| pair[0].1 != pair[1].0);
        assert_eq!(gap, None, "an interval was missed");
        let mut lengths: Vec<u64> = intervals.iter().map(|(start_ns, end_ns)| end_ns - start_ns).collect();
        lengths.sort_unstable();
        let expected = elapsed.as_nanos() as u64 / INTERVAL_NS;
        println!(
            "{} intervals in {elapsed:?}: median {:?} ns, 95 % {:?} ns, longest {:?} ns",
            lengths.len(),
            lengths.get(lengths.len() / 2),
            lengths.get(lengths.len() * 95 / 100),
            lengths.last()
        );
        assert!(lengths.len() as u64 >= expected * 9 / 10, "{} of {expected} intervals", lengths.len());
        assert!(lengths[lengths.len() / 2].abs_diff(INTERVAL_NS) < INTERVAL_NS / 20, "{lengths:?}");
        assert!(lengths[lengths.len() * 95 / 100] < INTERVAL_NS * 5 / 4, "{lengths:?}");
    }
}

/// Memory of a process that is its own, and what it shares with its readers.
fn memory(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("it lives");
    let kib = |key: &str| -> u64 {
        let line = status.lines().find_map(|line| line.strip_prefix(key)).expect("each kernel says it");
        line.trim_start_matches(':').trim().trim_end_matches(" kB").parse().expect("a number")
    };
    (kib("RssAnon") + kib("RssShmem")) * 1024
}

/// Makes cgroups with a process each that dies, and removes them.
fn churn(cgroup: &Cgroup, count: usize, first: usize) -> Child {
    let script = "n=$3; last=$(($2 + n)); while [ $n -lt $last ]; do mkdir \"$1/c$n\"
        (echo 0 > \"$1/c$n/cgroup.procs\"; i=0; while [ $i -lt 200 ]; do i=$((i+1)); done)
        rmdir \"$1/c$n\"; n=$((n+1)); done";
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh"]).arg(&cgroup.path).args([count.to_string(), first.to_string()]);
    command.spawn().expect("sh runs")
}

#[test]
fn cgroups_that_come_and_go_take_bounded_memory_root() {
    const SERIES: usize = 50;
    let cgroups = if is_full() { 10_000 } else { 1_000 };
    let dimensions = ["cgroup", "unit", "container"];
    let service = Service::start("");
    let by = dimensions.join(",");
    let metrics = Metrics::start(&service.socket(), &["--by", &by, "--series", &SERIES.to_string()]);
    let cgroup = Cgroup::make(&format!("cpuledger-test-{}", std::process::id()));
    let mut before = metrics.scrape("test");
    let cadence = Cadence::follow(&service);
    let memory_before = [memory(service.child.id()), memory(metrics.child.id())];
    let mut loops = [0, cgroups / 2].map(|first| churn(&cgroup, cgroups / 2, first));
    let first = before.clone();
    let mut bytes = 0;
    while loops.iter_mut().any(|one| one.try_wait().expect("it is ours").is_none()) {
        let samples = metrics.scrape("test");
        samples.assert_balance(&dimensions);
        samples.assert_follows(&before);
        for by in dimensions {
            let count = samples.of("cpuledger_exits_total", &format!("by=\"{by}\"")).count();
            assert!(count <= SERIES + 1, "{count} series by {by}");
        }
        bytes = bytes.max(samples.0.keys().map(String::len).sum::<usize>());
        before = samples;
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(loops.iter_mut().all(|one| one.wait().expect("it is ours").success()));
    let exits = before.sum("cpuledger_exits_total", "by=\"cgroup\"")
        - first.sum("cpuledger_exits_total", "by=\"cgroup\"");
    assert!(exits / 1_000_000_000 > cgroups as u128 / 2, "{exits} exits: those of most cgroups were seen");
    let memory_after = [memory(service.child.id()), memory(metrics.child.id())];
    println!(
        "memory of service and reader: {memory_before:?}, then {memory_after:?}; at most {bytes} bytes of names"
    );
    for (before, after) in memory_before.into_iter().zip(memory_after) {
        assert!(after < before + 32 * MIB, "{before} bytes, then {after}");
    }
    cadence.assert_unchanged();
}

/// A reader that is ended by its test.
struct Victim(Child);

impl Victim {
    fn start(service: &Service) -> Victim {
        let mut command = Command::new(with_net(env!("CARGO_BIN_EXE_cpuledger")));
        command.args(["metrics", "--listen", "127.0.0.1:0", "--socket"]).arg(service.socket());
        Victim(command.stderr(Stdio::null()).spawn().expect("it starts"))
    }

    fn send(&self, signal: Signal) {
        // One that has just ended is a zombie, which takes signals, too.
        kill_process(Pid::from_child(&self.0), signal).expect("it is ours");
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn readers_that_are_killed_and_stopped_cost_the_service_nothing_root() {
    const STOPPED: usize = 12;
    let rounds = if is_full() { 120 } else { 30 };
    let service = Service::start("");
    let pid = service.child.id();
    let cadence = Cadence::follow(&service);
    let healthy = Metrics::start(&service.socket(), &[]);
    let before = healthy.scrape("test");
    // The first readers make the rings as large as they have to be.
    drop((0..STOPPED).map(|_| Victim::start(&service)).collect::<Vec<_>>());
    let memory_before = memory(pid);
    let files = || fs::read_dir(format!("/proc/{pid}/fd")).expect("it lives").count();
    let files_before = files();
    let mut stopped: Vec<Victim> = Vec::new();
    for round in 0..rounds {
        let victim = Victim::start(&service);
        // From before it connects to when it has waited for frames.
        std::thread::sleep(Duration::from_millis(round * 37 % 211));
        if round % 3 == 0 {
            victim.send(Signal::STOP);
            stopped.push(victim);
            if stopped.len() > STOPPED {
                stopped.remove(0);
            }
        } else {
            victim.send(Signal::KILL);
        }
    }
    let memory_after = memory(pid);
    println!("memory of the service: {memory_before}, then {memory_after} bytes");
    assert!(memory_after < memory_before + 8 * MIB, "{memory_before} bytes, then {memory_after}");
    // Those that go on are readers again, or end in order.
    stopped.iter().for_each(|victim| victim.send(Signal::CONT));
    drop(stopped);
    let begin = Instant::now();
    while files() > files_before {
        assert!(begin.elapsed() < TIMEOUT, "{} open files, {files_before} before", files());
        std::thread::sleep(Duration::from_millis(50));
    }
    let after = healthy.scrape("test");
    after.assert_balance(&["command", "user", "unit", "container"]);
    let gaps = |samples: &Samples| samples.sum("cpuledger_gaps_total", "");
    assert_eq!(gaps(&after), gaps(&before), "another reader has missed intervals");
    cadence.assert_unchanged();
}

#[test]
fn a_name_service_that_never_answers_holds_no_scrape_up_root() {
    let service = Service::start("");
    let folder = tempfile::tempdir().expect("a folder");
    let fifo = folder.path().join("passwd");
    assert!(Command::new("mkfifo").arg(&fifo).status().expect("mkfifo runs").success());
    // For this server alone: a read of it waits for a writer that never comes.
    let mut command = Command::new("unshare");
    let script = "mount --bind \"$1\" /etc/passwd && shift && exec \"$@\"";
    command.args(["--mount", "--propagation", "private", "sh", "-c", script, "sh"]).arg(&fifo);
    command.arg(with_net(env!("CARGO_BIN_EXE_cpuledger")));
    command
        .args(["metrics", "--listen", "127.0.0.1:0", "--by", "user,command", "--socket"])
        .arg(service.socket());
    let metrics = Metrics::of(command);
    let begin = Instant::now();
    let mut before = metrics.scrape("test");
    loop {
        let asked = Instant::now();
        let samples = metrics.scrape("test");
        assert!(asked.elapsed() < Duration::from_secs(3), "{:?} for a scrape", asked.elapsed());
        samples.assert_balance(&["user", "command"]);
        samples.assert_follows(&before);
        // Root goes by its number at last.
        if samples.sum("cpuledger_cpu_seconds_total", "by=\"user\",name=\"0\"") > 0 {
            break;
        }
        assert!(begin.elapsed() < TIMEOUT, "{samples:?}");
        before = samples;
        std::thread::sleep(Duration::from_millis(200));
    }
    assert!(begin.elapsed() > Duration::from_secs(4), "{:?}: the name service has answered", begin.elapsed());
}
