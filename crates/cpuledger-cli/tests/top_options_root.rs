//! Options of `cpuledger top` on the ledger, which lists what ran. Needs root.

use std::process::{Command, Output, Stdio};

use cpuledger_load::scene::alone;
use cpuledger_load::{Cgroup, RaisedLimits, Sleepers, not_run};
use serde_json::Value;

fn top(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cpuledger"));
    command.args(["top", "--batch", "--source", "ledger"]).args(arguments).stdin(Stdio::null());
    command.output().expect("cpuledger runs")
}

fn text(output: Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), errors.as_str()), (Some(0), ""), "it needs root");
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn intervals(arguments: &[&str]) -> Vec<Value> {
    let arguments = [&["--format", "json"], arguments].concat();
    let text = text(top(&arguments));
    text.lines().map(|line| serde_json::from_str(line).expect("one object a line")).collect()
}

fn rows<'a>(interval: &'a Value, list: &str, pid: i32) -> Vec<&'a Value> {
    let rows = interval[list].as_array().expect("a list");
    rows.iter().filter(|row| row["pid"] == pid).collect()
}

/// Code 1, and the one sentence.
fn assert_no_process(arguments: &[&str], told: &str) {
    let output = top(arguments);
    let sentence = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(sentence, format!("cpuledger: {told}\n"));
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn an_idle_process_is_found_root() {
    let sleepers = Sleepers::start(3, 1).expect("sleepers");
    sleepers.settle().expect("they sleep");
    let pid = sleepers.processes()[0].pid;
    let number = pid.to_string();
    // Found, and not shown, as it did not run.
    let found = intervals(&["-n", "2", "-d", "0.1", "-p", &number]);
    assert_eq!(found.len(), 2);
    assert!(found.iter().all(|interval| rows(interval, "processes", pid).is_empty()));
    let shown = intervals(&["-n", "1", "-d", "0.1", "--all", "-p", &number]);
    let row = rows(&shown[0], "processes", pid)[0];
    assert_eq!((&row["cpu_ns"], &row["threads"], &row["state"]), (&0.into(), &3.into(), &"S".into()));
    assert_eq!(row["accounting_ppid"], std::process::id());
    drop(sleepers);
    assert_no_process(&["-n", "1", "-d", "0.1", "-p", &number], &format!("no process has pid {number}"));
    assert_no_process(&["-n", "1", "-d", "0.1", "-p", "2147483647"], "no process has pid 2147483647");
}

/// A user whose processes all sleep has processes.
#[test]
fn a_user_whose_processes_are_idle_is_found_root() {
    const UID: u32 = 54_321;
    assert_no_process(&["-n", "1", "-d", "0.1", "-u", &UID.to_string()], "no process matched -u");
    let mut sleep = std::os::unix::process::CommandExt::uid(&mut Command::new("sleep"), UID)
        .arg("1000")
        .spawn()
        .expect("sleep runs as another user");
    // Until it has executed it, and sleeps.
    let stat = format!("/proc/{}/stat", sleep.id());
    while std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains("(sleep) S ")) {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let uid = UID.to_string();
    let outputs = [
        top(&["-n", "1", "-d", "0.1", "-u", &uid]),
        top(&["-n", "1", "-d", "0.1", "-H", "-u", &uid]),
        top(&["-n", "1", "-d", "0.1", "-u", &uid, "-p", &sleep.id().to_string()]),
    ];
    let other = top(&["-n", "1", "-d", "0.1", "-u", &uid, "-p", "1"]);
    let all = intervals(&["-n", "1", "-d", "0.1", "--all", "-u", &uid]);
    sleep.kill().expect("it is our child");
    sleep.wait().expect("it is our child");
    for output in outputs {
        text(output);
    }
    assert_eq!(other.status.code(), Some(1), "init is another user's");
    let processes = all[0]["processes"].as_array().expect("a list");
    assert_eq!(processes.len(), 1, "{processes:?}");
    assert_eq!((&processes[0]["pid"], &processes[0]["euid"]), (&sleep.id().into(), &UID.into()));
}

#[test]
fn all_lists_what_did_not_run_root() {
    const THREADS: usize = 300;
    let _limits = RaisedLimits::for_threads(THREADS).expect("room");
    let sleepers = Sleepers::start(THREADS, 3).expect("sleepers");
    sleepers.settle().expect("they sleep");
    let listed = intervals(&["-n", "1", "-d", "0.2", "--all", "-H"]);
    for process in sleepers.processes() {
        let row = rows(&listed[0], "processes", process.pid)[0];
        assert_eq!((&row["cpu_ns"], &row["threads"]), (&0.into(), &process.threads.into()));
        let tasks = rows(&listed[0], "tasks", process.pid);
        assert_eq!(tasks.len(), process.threads);
        assert!(tasks.iter().all(|task| task["cpu_ns"] == 0));
    }
    let ran = intervals(&["-n", "1", "-d", "0.2", "-H"]);
    let processes = ran[0]["processes"].as_array().expect("a list");
    // Or who got no CPU, and waited for one.
    let is_active =
        |row: &Value| ["cpu_ns", "runqueue_wait_ns"].iter().any(|key| row[*key].as_u64() > Some(0));
    assert!(processes.iter().all(is_active), "without it only who ran");
    let sleeping = |row: &&Value| sleepers.processes().iter().any(|process| row["pid"] == process.pid);
    assert_eq!(processes.iter().filter(sleeping).count(), 0);
    // In text, and with an order, likewise: it is the same selection.
    let page = text(top(&["-n", "1", "-d", "0.2", "--all", "-o", "-PID"]));
    let pid = sleepers.processes()[0].pid.to_string();
    assert!(page.lines().any(|line| line.split_whitespace().next() == Some(&pid)), "{page}");
}

#[test]
fn many_short_intervals_in_csv_root() {
    let table = text(top(&["-n", "5", "-d", "0.1", "-H", "--format", "csv"]));
    let mut lines = table.lines();
    let header: Vec<&str> = lines.next().expect("a header").split(',').collect();
    let column = |name: &str| header.iter().position(|key| *key == name).expect("it is a column");
    let (kind, start, end) = (column("kind"), column("start_ns"), column("end_ns"));
    let (source, cpu) = (column("source"), column("cpu_ns"));
    let mut bounds = Vec::new();
    let mut sums: Vec<(u64, u64)> = Vec::new();
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!((cells.len(), cells[source]), (header.len(), "ledger"), "{line}");
        let number = |place: usize| cells[place].parse::<u64>().expect("a number");
        if bounds.last() != Some(&(number(start), number(end))) {
            bounds.push((number(start), number(end)));
            sums.push((0, 0));
        }
        let (processes, others) = sums.last_mut().expect("an interval");
        match cells[kind] {
            "process" => *processes += number(cpu),
            "task" | "exited" => *others += number(cpu),
            _ => {}
        }
    }
    println!("{bounds:?}, {sums:?}");
    assert_eq!(bounds.len(), 5, "this program itself runs in each");
    assert!(bounds.windows(2).all(|pair| pair[0].1 == pair[1].0), "they follow each other: {bounds:?}");
    assert!(sums.iter().all(|(processes, others)| processes >= others && *others > 0), "{sums:?}");
}

/// The sum of the shares of each row, in tenths of a percent, by the places of their headers.
fn sums_of_shares(text: &str) -> Vec<u64> {
    let lines = text.lines().skip_while(|line| !line.contains(" WAIT "));
    let header = lines.clone().next().expect("a header");
    let end_of = |name: &str| header.find(name).map(|from| from + name.len());
    let (from, to) =
        (end_of("%HELD").expect("a column"), end_of(" ? ").or(end_of(" STOP")).expect("a column"));
    let cells = lines.skip(1).take_while(|line| !line.is_empty()).map(|line| &line[from..to]);
    let shares = |cells: &str| -> Vec<u64> {
        let words = cells.split_whitespace().filter(|word| !word.starts_with('('));
        words.filter_map(|word| word.replace('.', "").parse().ok()).collect()
    };
    cells.map(shares).filter(|shares| !shares.is_empty()).map(|shares| shares.iter().sum()).collect()
}

/// A busy loop, which ends with the test.
struct BusyLoop(std::process::Child);

impl BusyLoop {
    fn start(command: &mut Command) -> BusyLoop {
        BusyLoop(command.args(["sh", "-c", "while :; do :; done"]).spawn().expect("it starts"))
    }

    fn pid(&self) -> String {
        self.0.id().to_string()
    }
}

impl Drop for BusyLoop {
    fn drop(&mut self) {
        let _ = self.0.kill().and_then(|()| self.0.wait());
    }
}

#[test]
fn what_waits_most_comes_first_root() {
    let _alone = alone();
    let loops = [(); 3].map(|()| BusyLoop::start(Command::new("taskset").args(["-c", "0"])));
    let pids = loops.each_ref().map(BusyLoop::pid);
    // What else the machine does may wait as long.
    let rows = |text: &str| -> Vec<Vec<String>> {
        let rows = text.lines().skip_while(|line| !line.contains(" WAIT ")).skip(1);
        rows.map(|row| row.split_whitespace().map(str::to_owned).collect()).collect()
    };
    let printed = text(top(&["-n", "1", "-d", "0.5", "--by", "wait"]));
    assert!(sums_of_shares(&printed).iter().all(|sum| *sum == 1000), "{printed}");
    let own = rows(&printed).iter().filter(|row| row.first().is_some_and(|pid| pids.contains(pid))).count();
    assert_eq!(own, pids.len(), "two thirds of their time: {printed}");
    let printed = text(top(&["-n", "1", "-d", "0.5", "--by", "wait,command"]));
    assert!(sums_of_shares(&printed).iter().all(|sum| *sum == 1000), "{printed}");
    assert!(rows(&printed).iter().any(|row| row.last().is_some_and(|name| name == "sh")), "{printed}");
    let found = intervals(&["-n", "1", "-d", "0.5", "--by", "wait"]);
    let rows = found[0]["processes"].as_array().expect("rows");
    let waits: Vec<u64> = rows.iter().filter_map(|row| row["runqueue_wait_ns"].as_u64()).collect();
    assert!(waits[0] > 250_000_000 && waits.is_sorted_by(|one, other| one >= other), "{waits:?}");
}

/// The kernel gives it 1 ms of each second: nothing waits more, though it has no CPU time in most intervals.
#[test]
fn what_gets_no_cpu_at_all_is_listed_root() {
    let _alone = alone();
    let group = match Cgroup::new("cpu") {
        Ok(group) => group,
        Err(reason) => return not_run(&format!("it limits the CPU time of a cgroup: {reason}")),
    };
    let spinner = BusyLoop::start(&mut Command::new("env"));
    let pid = spinner.pid();
    group.write("cgroup.procs", &pid).expect("it moves");
    group.limit_cpu(1_000, 1_000_000).expect("the kernel limits CPU time of cgroups");
    let printed = text(top(&["-n", "12", "-d", "0.1", "--by", "wait", "-o", "%HELD"]));
    let rows: Vec<Vec<&str>> = printed.lines().map(|line| line.split_whitespace().collect()).collect();
    let own = rows.iter().filter(|row| row.first() == Some(&&*pid));
    let starved = own.clone().filter(|row| row.contains(&"100.0")).count();
    println!("{} rows in 12 intervals, all of the time in {starved}", own.clone().count());
    let by_name = text(top(&["-n", "4", "-d", "0.1", "--by", "wait,command"]));
    // Else it could not die.
    group.limit_cpu(100_000, 100_000).expect("likewise");
    drop(spinner);
    assert!(own.count() >= 11 && starved > 3, "{printed}");
    assert!(sums_of_shares(&printed).iter().all(|sum| *sum == 1000), "{printed}");
    assert!(by_name.lines().filter(|line| line.ends_with(" sh")).count() >= 3, "{by_name}");
}

/// A source that does not know it is not taken instead.
#[test]
fn states_are_refused_where_there_is_no_ledger_root() {
    let run = |by: &str, command: &mut Command| {
        let output = command.args(["-b", "-n", "1", "-d", "0.1", "--by", by]).output().expect("it runs");
        (output.status.code(), String::from_utf8(output.stderr).expect("UTF-8"))
    };
    let program = env!("CARGO_BIN_EXE_cpuledger");
    let unprivileged = ["--reuid", "65534", "--regid", "65534", "--clear-groups", program, "top"];
    for by in ["wait", "parts"] {
        let (code, sentence) = run(by, Command::new("setpriv").args(unprivileged));
        assert_eq!(code, Some(3), "{sentence}");
        let begin = format!("cpuledger: --by {by} needs the ledger, the only source that");
        assert!(sentence.starts_with(&begin), "{sentence}");
        assert_eq!(sentence.lines().count(), 1, "{sentence}");
    }
    let (code, sentence) = run("wait", Command::new(program).args(["top", "--source", "procfs"]));
    assert_eq!(code, Some(2), "{sentence}");
    assert!(sentence.contains("procfs does not know where all of the time went"), "{sentence}");
}
