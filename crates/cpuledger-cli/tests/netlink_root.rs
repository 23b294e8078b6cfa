//! `--source netlink`: against what is known otherwise, with delay accounting off and on, and where it cannot work. Needs root.

mod intervals;

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use cpuledger_load::scene::alone;
use cpuledger_load::{Burn, BurnPlan, Storm, StormPlan};
use intervals::{Killed, children_ns, list, number, sum_of};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

/// From one cut to the next.
const DELAY_NS: u64 = 200_000_000;
/// For what does not take long.
const PATIENCE: Duration = Duration::from_secs(120);

/// Burns until it is killed.
const BURN: &str = "while kill -0 $PPID; do :; done";

/// One test at a time: they measure the children of this process, and one changes a switch of the machine.
fn alone_as_root() -> MutexGuard<'static, ()> {
    assert!(nix::unistd::geteuid().is_root(), "this test reads taskstats: run it as root");
    alone()
}

/// `cpuledger top` at work; killed when dropped.
struct Top {
    child: Child,
    told: Arc<Mutex<Vec<Value>>>,
    reader: Option<JoinHandle<()>>,
}

impl Top {
    /// Returns when the first interval is over: whatever begins now is seen whole.
    fn start() -> Top {
        let mut child = Command::new(env!("CARGO_BIN_EXE_cpuledger"))
            .args(["top", "--batch", "--format", "json", "--source", "netlink", "-d", "0.2"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("cpuledger starts");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        lines.next().expect("an interval").expect("UTF-8");
        let told = Arc::new(Mutex::new(Vec::new()));
        let own = Arc::clone(&told);
        let reader = std::thread::spawn(move || {
            // What the signal cuts off is of no interest.
            let intervals = lines.map_while(|line| serde_json::from_str(&line.ok()?).ok());
            intervals.for_each(|interval| own.lock().expect("no panic").push(interval));
        });
        Top { child, told, reader: Some(reader) }
    }

    /// Ends it once an interval has been told that has begun since; tells all but the first. Its last one it would have to write within a
    /// second of the signal, which a busy machine may not let it.
    fn stop(mut self) -> Vec<Value> {
        let now_ns = cpuledger::clock::monotonic_ns();
        let is_past = |interval: &Value| number(&interval["start_ns"]) >= now_ns;
        let begin = Instant::now();
        while !self.told.lock().expect("no panic").iter().any(is_past) {
            assert!(begin.elapsed() < PATIENCE, "no interval begins");
            std::thread::sleep(Duration::from_millis(5));
        }
        kill(Pid::from_raw(self.child.id().cast_signed()), Signal::SIGTERM).expect("it runs");
        self.child.wait().expect("it is ours");
        self.reader.take().expect("once").join().expect("it reads");
        std::mem::take(&mut self.told.lock().expect("no panic"))
    }
}

impl Drop for Top {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The sum of one key over all rows in all intervals.
fn sum_of_all(intervals: &[Value], rows: &str, key: &str) -> u64 {
    intervals.iter().flat_map(|interval| list(&interval[rows])).map(|row| number(&row[key])).sum()
}

/// Whether two figures differ by at most 2 %; prints them.
fn assert_close(what: &str, told: u64, truth: u64) {
    println!("{what}: told {told} ns, true {truth} ns, {:.3} %", told as f64 * 100.0 / truth as f64);
    assert!(told.abs_diff(truth) * 50 <= truth, "{what}: told {told} ns, true {truth} ns");
}

#[test]
fn threads_and_their_process_have_what_their_clocks_say_root() {
    let _alone = alone_as_root();
    let top = Top::start();
    let plan = BurnPlan { cpu_ms: 200, threads: 4, ..BurnPlan::default() };
    let burn = Burn::start(&plan).expect("burning threads");
    let pid = burn.pid().cast_unsigned();
    let burned = burn.finish(Duration::from_secs(60)).expect("it ends");
    let intervals = top.stop();
    let living = sum_of(&intervals, "processes", pid, "self_ns");
    let dead = sum_of(&intervals, "exited", pid, "cpu_ns");
    assert_close("threads", living + dead, burned.iter().map(|thread| thread.ns).sum());
    for thread in &burned {
        let is_it = |row: &&Value| row["tid"] == thread.tid && row["pid"] == pid;
        let records = intervals.iter().flat_map(|interval| list(&interval["exited"])).filter(is_it).count();
        assert_eq!(records, 1, "{thread:?}");
    }
    for interval in &intervals {
        assert_eq!((&interval["source"], &interval["missed_exits"]), (&"netlink".into(), &0.into()));
        assert!(interval["idle_ns"].is_null() && interval["missed_switches"].is_null());
        let sum: u64 = list(&interval["processes"]).iter().map(|row| number(&row["cpu_ns"])).sum();
        assert_eq!(sum, number(&interval["attributed_ns"]));
    }
}

#[test]
fn children_have_what_getrusage_says_root() {
    let _alone = alone_as_root();
    const CHILDREN: usize = 100;
    let top = Top::start();
    let before_ns = children_ns();
    for _ in 0..CHILDREN {
        let script = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; exit 7";
        let status = Command::new("sh").args(["-c", script]).status().expect("a shell");
        assert_eq!(status.code(), Some(7));
    }
    let truth_ns = children_ns() - before_ns;
    let intervals = top.stop();
    let is_ours =
        |row: &&Value| row["ppid"] == std::process::id() && row["comm"] == "sh" && row["exit_code"] == 7 << 8;
    let exited: Vec<&Value> =
        intervals.iter().flat_map(|interval| list(&interval["exited"])).filter(is_ours).collect();
    assert_eq!(exited.len(), CHILDREN, "each has its record");
    // In the interval of its death the time of a child is its parent's, in those before it is its own.
    let inherited_ns = sum_of(&intervals, "processes", std::process::id(), "exited_children_ns");
    let records_ns: u64 = exited.iter().map(|row| number(&row["cpu_ns"])).sum();
    assert!(records_ns <= inherited_ns, "records are a tick short, and the parent knows the rest");
    let own = |row: &&Value| sum_of(&intervals, "processes", number(&row["pid"]) as u32, "self_ns");
    let told_ns = inherited_ns + exited.iter().map(own).sum::<u64>();
    println!("{CHILDREN} children: told {told_ns} ns, true {truth_ns} ns");
    // What they had no time to report this process has learned when it waited for them, in ticks of user and of system time.
    assert!(told_ns <= truth_ns + 20_000_000, "told {told_ns} ns, true {truth_ns} ns");
    assert!(told_ns * 100 >= truth_ns * 98, "told {told_ns} ns, true {truth_ns} ns");
}

#[test]
fn a_storm_of_short_lives_is_attributed_root() {
    let _alone = alone_as_root();
    let _burning = [Killed::shell(BURN), Killed::shell(BURN)]; // no CPU is idle
    let top = Top::start();
    let plan = StormPlan { workers: 2, seconds: Some(2), ..StormPlan::default() };
    let stormed = Storm::start(&plan).expect("a storm").finish(Duration::from_secs(120)).expect("it ends");
    let intervals = top.stop();
    let sum = |key: &str| intervals.iter().map(|interval| number(&interval[key])).sum::<u64>();
    let learned_ns = sum("attributed_ns")
        - sum_of_all(&intervals, "processes", "self_ns")
        - sum_of_all(&intervals, "exited", "cpu_ns");
    println!("{stormed:?}: {learned_ns} ns learned from parents, {} missed", sum("missed_exits"));
    let (attributed_ns, capacity_ns) = (sum("attributed_ns"), sum("capacity_ns"));
    // The last task is read later than the first. Where many live that takes long, and intervals are longer for it.
    let late_ns = |interval: &Value| {
        let length_ns = number(&interval["end_ns"]) - number(&interval["start_ns"]);
        length_ns.saturating_sub(DELAY_NS) * number(&interval["online_cpus"])
    };
    let late_ns = intervals.iter().map(late_ns).max().expect("intervals");
    // What the hypervisor takes is missing.
    let room_ns = capacity_ns / 20 * 19..capacity_ns / 50 * 51;
    assert!(
        (room_ns.start.saturating_sub(late_ns)..room_ns.end + late_ns).contains(&attributed_ns),
        "{attributed_ns} of {capacity_ns} ns attributed, {late_ns} ns late"
    );
    assert!(learned_ns > 0, "programs that run for less than a tick report nothing");
}

const SWITCH: &str = "/proc/sys/kernel/task_delayacct";

/// Delay accounting as it was, restored when dropped.
struct DelayAccounting(String);

impl DelayAccounting {
    fn remember() -> DelayAccounting {
        DelayAccounting(std::fs::read_to_string(SWITCH).expect("Linux 5.14 with CONFIG_TASK_DELAY_ACCT"))
    }

    fn set(&self, value: &str) {
        std::fs::write(SWITCH, value).expect("root may");
    }
}

impl Drop for DelayAccounting {
    fn drop(&mut self) {
        self.set(&self.0);
    }
}

/// The rows of a shell that burns, and what doctor says of the source.
fn with_delays(switch: &DelayAccounting, value: &str) -> (Vec<Value>, Value) {
    switch.set(value);
    let burning = Killed::shell(BURN);
    let pid = burning.0.id().to_string();
    let arguments = ["top", "-b", "-n", "2", "-d", "0.3", "--format", "json", "--all", "-p", &pid];
    let output = cpuledger(&[], &[&arguments[..], &["--source", "netlink"]].concat());
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let intervals = text.lines().map(|line| serde_json::from_str(line).expect("one object a line"));
    let rows = intervals.flat_map(|interval: Value| list(&interval["processes"]).to_vec()).collect();
    (rows, source_of_doctor(&[]))
}

/// What doctor says of the source, by way of these words.
fn source_of_doctor(before: &[&str]) -> Value {
    let output = cpuledger(before, &["doctor", "--format", "json"]);
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let source = list(&report["sources"]).iter().find(|source| source["source"] == "netlink");
    source.expect("it is listed").clone()
}

fn fact<'a>(source: &'a Value, name: &str) -> &'a Value {
    let fact = list(&source["facts"]).iter().find(|fact| fact["name"] == name);
    &fact.expect("it is looked at")["holds"]
}

#[test]
fn delays_are_null_unless_they_are_counted_root() {
    let _alone = alone_as_root();
    let switch = DelayAccounting::remember();
    for (value, is_on) in [("0", false), ("1", true)] {
        let (rows, source) = with_delays(&switch, value);
        assert_eq!(rows.len(), 2, "the shell was there");
        for row in &rows {
            for key in ["block_io_delay_ns", "swap_in_delay_ns"] {
                assert_eq!(row[key].is_u64(), is_on, "{key} with task_delayacct={value}: {row}");
            }
            // These do not hang on it.
            assert!(row["cpu_ns"].is_u64() && row["runqueue_wait_ns"].is_u64(), "{row}");
        }
        assert_eq!(fact(&source, "delay_accounting"), is_on);
        let misses = source["misses"].as_str().expect("a sentence");
        assert_eq!(misses.contains("delay accounting is off"), !is_on, "{misses}");
        let remedy = source["remedy"].as_str();
        assert_eq!(remedy.is_some_and(|remedy| remedy.contains("sysctl kernel.task_delayacct=1")), !is_on);
    }
}

/// A copy that every user may execute; gone when dropped.
struct Copied(PathBuf);

impl Copied {
    fn new() -> Copied {
        let path = std::env::temp_dir().join(format!("cpuledger-netlink-{}", std::process::id()));
        std::fs::copy(env!("CARGO_BIN_EXE_cpuledger"), &path).expect("a copy");
        Copied(path)
    }
}

impl Drop for Copied {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Runs it by way of these words.
fn cpuledger(before: &[&str], arguments: &[&str]) -> Output {
    let copied = Copied::new();
    let words: Vec<&str> = before.iter().copied().chain([copied.0.to_str().expect("UTF-8")]).collect();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).args(arguments).output().expect("it runs: install the package util-linux")
}

#[test]
fn where_it_cannot_work_a_sentence_says_why_root() {
    let _alone = alone_as_root();
    let nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--inh-caps=-all"];
    for (before, part) in [
        ([&nobody[..], &["--bounding-set=-all"]].concat(), "CAP_NET_ADMIN is missing"),
        (vec!["unshare", "--pid", "--fork", "--mount-proc"], "PID namespace"),
        (vec!["unshare", "--user", "--map-root-user"], "user namespace"),
    ] {
        for command in [&["top", "-b", "-n", "1", "-d", "0.1"][..], &["ps", "-e"]] {
            let output = cpuledger(&before, &[command, &["--source", "netlink"]].concat());
            let sentence = String::from_utf8(output.stderr).expect("UTF-8");
            assert_eq!(output.status.code(), Some(3), "{before:?}: {sentence}");
            assert!(output.stdout.is_empty());
            assert!(
                sentence.starts_with("cpuledger: the source `netlink` cannot be used here: "),
                "{sentence}"
            );
            assert!(sentence.contains(part) && sentence.lines().count() == 1, "{before:?}: {sentence}");
        }
        let source = source_of_doctor(&before);
        assert_eq!(source["usable"], false, "{source}");
        let reason = source["reason"].as_str().expect("a sentence");
        assert!(reason.contains(part), "{reason}");
    }
}

#[test]
fn in_another_network_namespace_deaths_are_not_seen_root() {
    let _alone = alone_as_root();
    let arguments = ["top", "-b", "-n", "1", "-d", "0.1", "--format", "json", "--source", "netlink"];
    let output = cpuledger(&["unshare", "--net"], &arguments);
    assert!(output.status.success(), "queries are answered there");
    let sentence = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(sentence.starts_with("cpuledger: cannot see tasks that exit: the kernel reports "), "{sentence}");
    assert!(sentence.contains("host's network namespace"), "{sentence}");
    let interval: Value = serde_json::from_slice(&output.stdout).expect("one object");
    assert!(interval["exited"].is_null() && interval["missed_exits"].is_null());
    assert!(list(&interval["processes"]).iter().all(|row| row["exited_children_ns"].is_null()));
    let source = source_of_doctor(&["unshare", "--net"]);
    assert_eq!((&source["usable"], fact(&source, "exit_reports")), (&true.into(), &false.into()));
    assert!(source["remedy"].as_str().is_some_and(|remedy| remedy.contains("network namespace")), "{source}");
    assert!(source["misses"].as_str().is_some_and(|misses| misses.contains("tasks that exit")), "{source}");
    assert_eq!(fact(&source_of_doctor(&[]), "exit_reports"), true);
}

#[test]
fn it_is_the_best_where_bpf_is_refused_root() {
    let _alone = alone_as_root();
    let administrator = [
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        "--inh-caps=-all,+net_admin",
        "--ambient-caps=-all,+net_admin",
        "--bounding-set=-all,+net_admin",
    ];
    let report = cpuledger(&administrator, &["doctor", "--format", "json"]);
    let report: Value = serde_json::from_slice(&report.stdout).expect("JSON");
    assert_eq!(report["auto"], "netlink", "{report}");
    let output = cpuledger(&administrator, &["top", "-b", "-n", "1", "-d", "0.2", "--format", "json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let interval: Value = serde_json::from_slice(&output.stdout).expect("one object");
    assert_eq!(interval["source"], "netlink");
    assert!(interval["exited"].is_array() && interval["missed_exits"].is_u64());
    // A listing shows more from /proc.
    let output = cpuledger(&administrator, &["ps", "-o", "stat=", "-p", "1"]);
    assert!(output.status.success() && output.stdout.starts_with(b"S"), "{:?}", output.stdout);
}

#[test]
fn text_says_what_it_does_not_see_root() {
    let _alone = alone_as_root();
    let arguments = ["top", "-b", "-n", "1", "-d", "0.3", "--source", "netlink"];
    let output = cpuledger(&[], &arguments);
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(text.contains("source netlink: attributed "), "{text}");
    assert!(text.contains(
        "\nNot seen: idle, stolen, blocked and sleeping time, the parent at fork, the last tick of threads that exited"
    ));
    assert!(!text.contains(" running"), "it does not know states: {text}");
    let output = cpuledger(&[], &["ps", "--source", "netlink", "-o", "pid,stat,comm", "-p", "1"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(text.lines().nth(1).is_some_and(|line| line.trim_start().starts_with("1 -")), "{text}");
}
