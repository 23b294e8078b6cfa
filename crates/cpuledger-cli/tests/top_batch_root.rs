//! `cpuledger top --batch` on the machine it runs on: what it says against what is known otherwise. Needs root.

mod intervals;

use std::collections::HashMap;
use std::process::{Child, Command, Stdio};
use std::sync::MutexGuard;
use std::time::{Duration, Instant};

use cpuledger::clock::monotonic_ns;
use cpuledger_load::scene::alone;
use cpuledger_load::{Burn, BurnPlan, Ticks, is_emulated, online_cpus};
use intervals::{Killed, children_ns, children_times_ns, list, number, sum_of};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

/// One test at a time: they measure the children of this process, and the whole machine.
fn alone_as_root() -> MutexGuard<'static, ()> {
    assert!(nix::unistd::geteuid().is_root(), "this test loads BPF programs: run it as root");
    alone()
}

/// `cpuledger top` at work.
struct Top(Option<Child>);

impl Top {
    fn start(arguments: &[&str]) -> Top {
        let child = Command::new(env!("CARGO_BIN_EXE_cpuledger"))
            .args(["top", "--batch", "--format", "json"])
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .expect("cpuledger starts");
        let mut top = Top(Some(child));
        top.waits_for_its_second_cut();
        top
    }

    /// Once it polls for signals, with the time of the next cut for a limit, the first one is made. Where reading takes longer than an
    /// interval is to be, it never polls; then it is over when its last one is.
    fn waits_for_its_second_cut(&mut self) {
        let child = self.0.as_mut().expect("it was started");
        let pid = child.id();
        let polls = format!("{} ", nix::libc::SYS_ppoll);
        let begin = Instant::now();
        loop {
            let syscall = std::fs::read_to_string(format!("/proc/{pid}/syscall")).expect("it runs");
            if syscall.starts_with(&polls) || child.try_wait().expect("it is ours").is_some() {
                return;
            }
            assert!(begin.elapsed() < Duration::from_secs(60), "no first cut within a minute: {syscall}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Ends the running interval.
    fn stop(self) -> Vec<Value> {
        let pid = Pid::from_raw(self.0.as_ref().expect("it runs").id() as i32);
        kill(pid, Signal::SIGTERM).expect("it runs");
        self.finish()
    }

    fn finish(self) -> Vec<Value> {
        parsed(&self.text())
    }

    fn text(mut self) -> String {
        let output = self.0.take().expect("it runs").wait_with_output().expect("its output");
        assert!(output.status.success(), "{}", output.status);
        String::from_utf8(output.stdout).expect("UTF-8")
    }
}

fn parsed(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("one object a line")).collect()
}

impl Drop for Top {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn percent(part: u64, whole: u64) -> f64 {
    part as f64 * 100.0 / whole as f64
}

/// Whether two figures differ by at most 2 %, or 60 % on an emulated CPU. There a tick or a switch takes a good part of a turn, and a busy
/// host tears the clocks apart. Prints them.
fn assert_close(what: &str, told: u64, truth: u64) {
    println!("{what}: told {told} ns, true {truth} ns, {:.3} %", percent(told, truth));
    let limit = if is_emulated() { 60 } else { 2 };
    assert!(told.abs_diff(truth) * 100 <= truth * limit, "{what}: told {told} ns, true {truth} ns");
}

#[test]
fn three_intervals_balance_and_follow_each_other_root() {
    let _alone = alone_as_root();
    let intervals = Top::start(&["-n", "3", "-d", "0.7", "--source", "walk", "--threads"]).finish();
    assert_eq!(intervals.len(), 3);
    let boot_id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("procfs");
    for (index, interval) in intervals.iter().enumerate() {
        assert_eq!(
            (&interval["schema"], &interval["source"]),
            (&"cpuledger.interval/1".into(), &"walk".into())
        );
        assert_eq!(interval["boot_id"], boot_id.trim());
        let length_ns = number(&interval["end_ns"]) - number(&interval["start_ns"]);
        let online = online_cpus().expect("sysfs").len() as u64;
        assert_eq!(number(&interval["online_cpus"]), online, "as /sys has it");
        assert_eq!(number(&interval["capacity_ns"]), length_ns * online);
        println!("length {length_ns} ns, attributed {} ns", interval["attributed_ns"]);
        let sum: u64 = list(&interval["processes"]).iter().map(|row| number(&row["cpu_ns"])).sum();
        assert_eq!(sum, number(&interval["attributed_ns"]));
        for row in list(&interval["processes"]) {
            let parts = ["self_ns", "exited_threads_ns", "exited_children_ns"].map(|key| number(&row[key]));
            assert_eq!(number(&row["cpu_ns"]), parts.iter().sum::<u64>());
            assert!(row["stolen_ns"].is_null());
            // The parent at the fork is known of those that were forked while the hooks were attached: a moment before the first cut.
            let is_older = number(&row["start_time_ns"]) + 10_000_000_000 < number(&intervals[0]["start_ns"]);
            assert!(!is_older || row["accounting_ppid"].is_null(), "{row}");
        }
        let of = |key: &str| list(&interval[key]).iter().map(|row| number(&row["cpu_ns"])).sum::<u64>();
        assert_eq!(of("tasks") + of("exited"), sum, "tasks and exits tell the same time otherwise");
        assert_eq!(interval["unidentified_exits"], 0);
        assert!(interval["idle_ns"].is_null() && interval["unattributed_ns"].is_null());
        if let Some(previous) = index.checked_sub(1) {
            assert_eq!(interval["start_ns"], intervals[previous]["end_ns"]);
        }
    }
}

/// What a row did adds up to the time that it was alive; what it is on a CPU is `on_cpu`. Rows without states are not counted.
fn assert_states_balance(rows: &[Value], on_cpu: &[&str]) -> usize {
    const OFF: [&str; 5] = ["runqueue_wait_ns", "blocked_ns", "sleep_ns", "stopped_ns", "unseen_ns"];
    let told: Vec<&Value> = rows.iter().filter(|row| row["elapsed_ns"].is_u64()).collect();
    for row in &told {
        let parts = on_cpu.iter().chain(&OFF).map(|key| number(&row[*key]));
        assert_eq!(parts.sum::<u64>(), number(&row["elapsed_ns"]), "{row}");
        assert!(number(&row["io_wait_ns"]) <= number(&row["blocked_ns"]), "{row}");
    }
    told.len()
}

#[test]
fn what_rows_did_is_the_time_they_were_alive_root() {
    let _alone = alone_as_root();
    let burner = Killed::shell("while kill -0 $PPID; do /bin/true; done");
    let intervals = Top::start(&["-n", "3", "-d", "0.7", "--source", "ledger", "-H", "--all"]).finish();
    for interval in &intervals {
        let length_ns = number(&interval["end_ns"]) - number(&interval["start_ns"]);
        let of = |key: &str, on_cpu: &[&str]| assert_states_balance(list(&interval[key]), on_cpu);
        let counts = [
            of("processes", &["self_ns", "exited_threads_ns"]),
            of("tasks", &["cpu_ns"]),
            of("exited", &["cpu_ns"]),
        ];
        println!("{counts:?} rows of processes, tasks and the dead");
        assert!(counts.iter().all(|&count| count > 0));
        let row = list(&interval["processes"]).iter().find(|row| row["pid"] == burner.0.id());
        assert_eq!(number(&row.expect("it lives")["elapsed_ns"]), length_ns, "it has one thread, and lives");
    }
}

#[test]
fn a_burning_process_has_what_the_kernel_says_root() {
    let _alone = alone_as_root();
    let top = Top::start(&["-d", "0.2", "--source", "walk"]);
    let before_ns = children_ns();
    let burn = Burn::start(&BurnPlan { cpu_ms: 700, ..BurnPlan::default() }).expect("a burner");
    let pid = burn.pid() as u32;
    let burned = burn.finish(Duration::from_secs(60)).expect("it ends");
    let truth_ns = children_ns() - before_ns;
    std::thread::sleep(Duration::from_millis(300));
    let intervals = top.stop();
    // Its last interval is in its record only: then it was dead, and its time with its parent.
    let told = sum_of(&intervals, "processes", pid, "self_ns") + sum_of(&intervals, "exited", pid, "cpu_ns");
    assert!(told > burned[0].ns, "its end is on top of what it said before it");
    assert_close("burner", told, truth_ns);
}

#[test]
fn threads_that_died_are_with_their_process_root() {
    let _alone = alone_as_root();
    let top = Top::start(&["-d", "0.2", "--source", "walk"]);
    let before_ns = children_ns();
    let plan = BurnPlan { cpu_ms: 200, threads: 4, ..BurnPlan::default() };
    let burn = Burn::start(&plan).expect("burning threads");
    let pid = burn.pid() as u32;
    let burned = burn.finish(Duration::from_secs(60)).expect("it ends");
    let truth_ns = children_ns() - before_ns;
    std::thread::sleep(Duration::from_millis(300));
    let intervals = top.stop();
    let mut told: HashMap<u64, u64> = HashMap::new();
    for exited in
        intervals.iter().flat_map(|interval| list(&interval["exited"])).filter(|row| row["pid"] == pid)
    {
        *told.entry(number(&exited["tid"])).or_default() += number(&exited["cpu_ns"]);
    }
    assert!(burned.iter().all(|thread| told.contains_key(&(thread.tid as u64))), "each has its record");
    let living = sum_of(&intervals, "processes", pid, "self_ns");
    assert_close("threads", living + told.values().sum::<u64>(), truth_ns);
}

#[test]
fn no_death_of_five_hundred_is_lost_root() {
    let _alone = alone_as_root();
    let (count, loops) = if is_emulated() { (50, 400) } else { (500, 4000) };
    let top = Top::start(&["-n", "1", "-d", "600", "--source", "walk"]);
    let before_ns = children_ns();
    for _ in 0..count {
        let script = format!("i=0; while [ $i -lt {loops} ]; do i=$((i+1)); done; exit 7");
        let status = Command::new("sh").args(["-c", &script]).status().expect("a shell");
        assert_eq!(status.code(), Some(7));
    }
    let truth_ns = children_ns() - before_ns;
    let intervals = top.stop();
    assert_eq!(intervals.len(), 1, "the interval that a signal ends is printed");
    let is_ours =
        |row: &&Value| row["ppid"] == std::process::id() && row["comm"] == "sh" && row["exit_code"] == 7 << 8;
    let exited: Vec<&Value> = list(&intervals[0]["exited"]).iter().filter(is_ours).collect();
    assert_eq!(exited.len(), count, "each has its record");
    let told_ns = sum_of(&intervals, "processes", std::process::id(), "exited_children_ns");
    println!("{count} children of {} ns", truth_ns / count as u64);
    assert_close("children", told_ns, truth_ns);
    let records_ns: u64 = exited.iter().map(|row| number(&row["cpu_ns"])).sum();
    assert_close("their records", records_ns, truth_ns);
}

#[test]
fn a_fork_storm_is_attributed_root() {
    let _alone = alone_as_root();
    let storm = "while kill -0 $PPID; do /bin/true; done";
    let _shells = [Killed::shell(storm), Killed::shell(storm)];
    let top = Top::start(&["-n", "3", "-d", "1", "--source", "walk"]);
    let unused_ns = || {
        let ticks = Ticks::now().expect("procfs");
        (ticks.idle + ticks.stolen).as_nanos() as u64
    };
    let before_ns = unused_ns();
    let intervals = top.finish();
    let unused_ns = unused_ns() - before_ns;
    let sum = |key: &str| intervals.iter().map(|interval| number(&interval[key])).sum::<u64>();
    let (attributed, capacity) = (sum("attributed_ns"), sum("capacity_ns"));
    let used = capacity - unused_ns;
    println!("storm: {:.3} % of what was used attributed, {unused_ns} ns unused", percent(attributed, used));
    let least = if is_emulated() { 60 } else { 97 };
    assert!(attributed * 100 >= used * least && attributed * 100 <= capacity * 101);
    let mut deaths = 0;
    for interval in &intervals {
        deaths += list(&interval["exited"]).iter().filter(|row| row["comm"] == "true").count();
        println!("{deaths} of `true` died so far");
        assert_eq!(interval["unidentified_exits"], 0);
    }
    assert!(deaths > if is_emulated() { 0 } else { 100 });
}

#[test]
fn procfs_says_what_it_cannot_see_root() {
    let _alone = alone_as_root();
    let burner = Killed::shell("while kill -0 $PPID; do :; done");
    let intervals = Top::start(&["-n", "2", "-d", "1", "--source", "procfs"]).finish();
    assert_eq!(intervals.len(), 2);
    for interval in &intervals {
        assert_eq!(interval["source"], "procfs");
        for key in ["exited", "idle_ns", "unattributed_ns", "unidentified_exits"] {
            assert!(interval[key].is_null(), "{key}");
        }
        let sum: u64 = list(&interval["processes"]).iter().map(|row| number(&row["cpu_ns"])).sum();
        assert_eq!(sum, number(&interval["attributed_ns"]));
        let row = list(&interval["processes"]).iter().find(|row| row["pid"] == burner.0.id());
        let row = row.expect("the burner ran");
        assert!(row["exited_threads_ns"].is_null() && row["exited_children_ns"].is_null());
        assert_eq!(row["cpu_ns"], row["self_ns"]);
        assert!(number(&row["cpu_ns"]) > 0);
    }
}

/// Without a priority in real time each of these intervals would take seconds: a thread waits for its turn among all others.
#[test]
fn intervals_end_in_time_beside_a_thousand_runnable_threads_root() {
    let _alone = alone_as_root();
    let (threads, count, delay, wanted_ns) =
        if is_emulated() { (40, "20", "1", 1_000_000_000) } else { (1_000, "60", "0.1", 100_000_000) };
    // Before there is load: a start takes 0.1 s of CPU time, which may be minutes beside a thousand runnable threads.
    let top = Top::start(&["-n", count, "-d", delay, "--source", "ledger"]);
    let burn = BurnPlan { cpu_ms: 60_000, threads, ..BurnPlan::default() };
    let burn = Burn::start(&burn).expect("it burns");
    let burns_ns = monotonic_ns();
    let text = top.text();
    // This thread, too, waits for its turn among all others.
    drop(burn);
    let intervals = parsed(&text);
    let beside = intervals.iter().filter(|interval| number(&interval["start_ns"]) >= burns_ns);
    let intervals: Vec<&Value> = beside.collect();
    assert!(intervals.len() >= 10, "{} intervals beside the load", intervals.len());
    let mut lengths: Vec<u64> = intervals
        .iter()
        .map(|interval| number(&interval["end_ns"]) - number(&interval["start_ns"]))
        .collect();
    lengths.sort_unstable();
    println!("{lengths:?} ns");
    // The host may take the CPU away for once.
    assert!(lengths[lengths.len() * 3 / 4] <= wanted_ns * 6 / 5, "{lengths:?}");
}

/// The nine parts of each row, and by the kernel's own count those of the dead.
#[test]
fn user_system_and_stolen_time_divide_the_parts_root() {
    const PARTS: [&str; 3] = ["self", "exited_threads", "exited_children"];
    let _alone = alone_as_root();
    // One interval: what a process used before the one in which it dies is its own.
    let top = Top::start(&["-d", "600", "--source", "ledger"]);
    let before = children_times_ns();
    let script =
        "i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done; dd if=/dev/zero of=/dev/null bs=1 count=500000";
    let status = Command::new("sh").args(["-c", script]).stderr(Stdio::null()).status().expect("a shell");
    assert!(status.success());
    let [user_ns, system_ns] = [0, 1].map(|kind| children_times_ns()[kind] - before[kind]);
    let (mut told, mut divided) = ([0, 0, 0], 0);
    for interval in top.stop() {
        let mut all = Some(0);
        for row in list(&interval["processes"]) {
            let mut parts = 0;
            for part in PARTS {
                let key = |kind: &str| format!("{part}_{kind}");
                let three = ["user_ns", "system_ns", "stolen_ns"].map(|kind| row[key(kind)].as_u64());
                let sum = three.into_iter().sum::<Option<u64>>();
                assert!(sum.is_none_or(|sum| sum == number(&row[key("ns")])), "{part} of {row}");
                parts += usize::from(sum.is_some());
                all = all.zip(sum).map(|(all, sum)| all + sum);
                if part == "exited_children" && row["pid"] == std::process::id() {
                    three.iter().zip(&mut told).for_each(|(ns, told)| *told += ns.expect("no name is lost"));
                }
            }
            divided += usize::from(parts == PARTS.len());
        }
        if let Some(all) = all {
            let rest = number(&interval["idle_ns"]) + number(&interval["unattributed_ns"]);
            assert_eq!(all + rest, number(&interval["capacity_ns"]), "the nine, idle and the rest");
        }
    }
    println!("told {told:?} ns, the kernel {user_ns} and {system_ns} ns; {divided} rows");
    assert!(divided > 0);
    assert_close("user and system", told[0] + told[1], user_ns + system_ns);
    // A tick is charged to one of both.
    let apart_ns = told[0].abs_diff(user_ns).max(told[1].abs_diff(system_ns));
    assert!(apart_ns <= (user_ns + system_ns) / if is_emulated() { 2 } else { 20 }, "{apart_ns} ns apart");
}
