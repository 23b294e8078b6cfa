//! The screen on the ledger: those that died, a storm that sums to capacity, and the tasks that a kill does not reach. Needs root.

mod intervals;
mod service;
mod tmux;

use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use cpuledger_load::{Cgroup, Storm, StormPlan};
use cpuledger_proc::task::stat::parse_stat;

use intervals::Killed;
use rustix::thread::CapabilitySet;
use service::Service;
use tmux::Terminal;

/// The numbers of one column, by the lines of the table. The dead, whose number is a count, are left out: their time is
/// in the lines of the living.
fn cells_of_the_living(text: &str, column: usize) -> Vec<u64> {
    let lines = text.lines().skip_while(|line| !line.trim_start().starts_with("PID")).skip(1);
    let cells = lines.map(|line| line.split_whitespace().collect::<Vec<_>>());
    let living = cells.filter(|cells| cells.first().is_some_and(|number| number.parse::<u32>().is_ok()));
    living.filter_map(|cells| cells.get(column)?.parse().ok()).collect()
}

/// Settings in which every figure is to the nanosecond, and every process has a line.
const EXACT: &str = "columns = [\"PID\", \"cpu_ns:14\", \"SELF\", \"X\", \"C\", \"COMMAND\"]\nsort = \"%CPU\"\nexact = true\nfold_alike = false\n";

#[test]
fn rows_and_idle_of_a_fork_storm_are_the_capacity_root() {
    let terminal = Terminal::open("storm", 120, 200);
    std::fs::write(terminal.folder().join("exact.toml"), EXACT).expect("a file");
    let storm = Storm::start(&StormPlan { workers: 2, ..StormPlan::default() }).expect("a storm");
    terminal.start("--source ledger -d 1 --config exact.toml");
    terminal.wait(|text| text.contains("true") && text.contains('×'));
    terminal.press(&["Z"]);
    let text = terminal.wait_for("[PAUSED]");
    terminal.press(&["e"]);
    terminal.press(&["Enter"]);
    terminal.wait_for("bytes written to");
    let json = std::fs::read(terminal.folder().join("ptop.json")).expect("it was written");
    let json: serde_json::Value = serde_json::from_slice(&json).expect("JSON");
    storm.stop().expect("it ends");
    let cells = cells_of_the_living(&text, 1);
    let rows = intervals::list(&json["processes"]);
    assert_eq!(cells.len(), rows.len(), "every row is seen: {text}");
    for (cell, row) in cells.iter().zip(rows) {
        assert_eq!(*cell, intervals::number(&row["cpu_ns"]), "the screen says what the file says");
    }
    let sum: u64 = cells.iter().sum();
    let booked = sum + intervals::number(&json["idle_ns"]) + intervals::number(&json["unattributed_ns"]);
    assert_eq!(booked, intervals::number(&json["capacity_ns"]), "to the nanosecond: {text}");
    let [attributed, idle, unattributed, capacity] =
        ["attributed_ns", "idle_ns", "unattributed_ns", "capacity_ns"]
            .map(|key| intervals::number(&json[key]));
    let balance =
        format!("attributed {attributed} + idle {idle} + unattributed {unattributed} = {capacity} ns");
    assert!(text.contains(&balance), "{balance} is in the head: {text}");
    let dead = intervals::list(&json["exited"]).iter().filter(|row| row["comm"] == "true").count();
    assert!(dead > 0, "{dead}");
    terminal.quit();
}

#[test]
fn the_dead_are_listed_by_name_and_unfolded_root() {
    let terminal = Terminal::open("dead", 120, 40);
    let _shell = Killed::shell("while :; do /bin/true; sleep 0.05; done");
    terminal.start("--source ledger -d 1");
    terminal.press(&["F4"]);
    terminal.write("comm=true");
    terminal.press(&["Enter"]);
    terminal.wait(|text| text.contains("[+] true"));
    terminal.press(&["Z", "Home", "+"]);
    terminal.wait(|text| text.contains("[-] true") && text.contains("─true"));
    terminal.press(&["k"]);
    terminal.wait_for("it is dead already");
    terminal.press(&["x"]);
    terminal.wait(|text| !text.contains("─true"));
    terminal.press(&["H", "Z"]);
    terminal.quit();
}

#[test]
fn shells_that_do_the_same_share_a_line_and_so_do_their_dead_root() {
    let terminal = Terminal::open("alike", 160, 50);
    let _shells: Vec<Killed> =
        (0..6).map(|_| Killed::shell("while :; do id > /dev/null; sleep 0.4; done")).collect();
    terminal.start("--source ledger -d 1");
    let place = |text: &str| {
        text.lines().position(|line| line.contains("×6 ") && line.contains(" [+] sh -c while :; do id"))
    };
    let text = terminal.wait(|text| place(text).is_some());
    let dead = text.lines().nth(place(&text).expect("it was waited for") + 1).expect("the next line");
    assert!(dead.contains('×') && dead.contains("└─[+] ") && dead.contains("id"), "{text}");
    terminal.press(&["Z"]);
    terminal.press(&["/"]);
    terminal.write("while :; do id");
    terminal.press(&["Enter", "+"]);
    let text = terminal.wait_for("[-] sh -c while :; do id");
    assert_eq!(text.lines().filter(|line| line.contains("─sh -c while :; do id")).count(), 6, "{text}");
    terminal.quit();
}

/// The ledger tells which tasks ran: those that sleep are listed by a walk, and kept up to date without one.
#[test]
fn a_sleeping_process_is_listed_until_it_dies_root() {
    let terminal = Terminal::open("asleep", 160, 30);
    let mut first = Killed(terminal.sleeper("slumber-one"));
    terminal.start("--source ledger -d 0.5 --all");
    terminal.press(&["F4"]);
    terminal.write("comm~^slumber");
    terminal.press(&["Enter", "x"]);
    terminal.wait(|text| text.contains("slumber-one") && text.contains("1/1 "));
    let _second = Killed(terminal.sleeper("slumber-two"));
    terminal.wait(|text| text.contains("slumber-one") && text.contains("slumber-two"));
    // It ran at its start, and has not since.
    terminal.wait(|text| text.lines().any(|line| line.contains("slumber-two") && line.contains("·     ·")));
    first.0.kill().and_then(|()| first.0.wait()).expect("it is ours");
    terminal.wait(|text| !text.contains("slumber-one") && text.contains("slumber-two"));
    terminal.press(&["H"]);
    terminal.wait(|text| text.contains("TID") && text.contains("slumber-two") && text.contains("1/1 "));
    terminal.press(&["t", "c"]);
    terminal.wait(|text| text.contains("SUM") && text.contains("─slumber-two"));
    terminal.quit();
}

#[test]
fn a_task_of_another_user_is_left_alone_root() {
    let terminal = Terminal::open("user", 120, 30);
    let mut victim = Killed(Command::new("sleep").arg("1000").spawn().expect("sleep"));
    let before = "setpriv --reuid 65534 --regid 65534 --clear-groups";
    terminal.start_with(before, &format!("--source procfs -d 0.5 --all -p {}", victim.0.id()));
    terminal.wait_for("1/1 ");
    terminal.press(&["k", "Down", "Enter"]);
    terminal.wait(|text| text.contains("cannot signal") && text.contains("not permitted"));
    terminal.press(&["F7", "Enter"]);
    terminal.wait_for("cannot change the nice value");
    assert!(victim.0.try_wait().expect("it is ours").is_none(), "it lives");
    terminal.quit();
}

/// In a PID namespace of its own, where the next number can be chosen without disturbing others: the row that is seen dies,
/// and another process gets its number before the key is pressed.
const REUSE: &str = r#"
sleep 1000 & first=$!
(
    while [ ! -e go ]; do sleep 0.05; done
    kill -9 $first
    while kill -0 $first 2>/dev/null; do sleep 0.01; done
    for attempt in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        echo $((first - 1)) >/proc/sys/kernel/ns_last_pid
        sleep 1001 &
        [ $! = $first ] && break
        kill $!
    done
    if [ $! = $first ]; then echo "$first" >reused; else echo no >reused; fi
    wait
) &
"$1" top --source procfs -d 0.3 --all -p $first
"#;

#[test]
fn another_process_with_the_same_number_is_left_alone_root() {
    let terminal = Terminal::open("reuse", 120, 30);
    std::fs::write(terminal.folder().join("reuse.sh"), REUSE).expect("a script");
    let command = env!("CARGO_BIN_EXE_cpuledger");
    terminal.line(&format!("clear; unshare --pid --fork --mount-proc bash reuse.sh {command}"));
    terminal.wait_for("1/1 ");
    // What is seen stays what it is, whatever happens.
    terminal.press(&["Z"]);
    terminal.wait_for("[PAUSED]");
    std::fs::write(terminal.folder().join("go"), "").expect("a file");
    let reused = terminal.folder().join("reused");
    for _ in 0..6_000 {
        if reused.exists() {
            break;
        }
        sleep(Duration::from_millis(20));
    }
    let answer = std::fs::read_to_string(&reused).expect("the script has an answer");
    assert_ne!(answer.trim(), "no", "no process took the number");
    terminal.press(&["k", "Down", "Enter"]);
    terminal.wait_for("is another task now, and was left alone");
    terminal.press(&["Z"]);
    // The namesake lives on and is seen.
    terminal.wait_for("sleep 1001");
    terminal.quit();
}

/// In a PID namespace with the procfs of the one around it: a process gets the number there that another has here.
const FOREIGN: &str = r#"
wanted=$1
for attempt in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    echo $((wanted - 1)) >/proc/sys/kernel/ns_last_pid
    ./inside 1001 & inside=$!
    [ $inside = $wanted ] && break
    kill $inside
done
[ $inside = $wanted ] || exit 9
"$2" top --source procfs -d 0.3 --all -p $wanted
kill -0 $inside && echo lives >inside.state
kill $inside
"#;

#[test]
fn no_process_of_another_pid_namespace_is_taken_for_the_row_root() {
    let terminal = Terminal::open("foreign", 160, 30);
    let mut outside = Killed(terminal.sleeper("outside"));
    let folder = terminal.folder().clone();
    std::fs::copy("/bin/sleep", folder.join("inside")).expect("a copy of sleep");
    std::fs::write(folder.join("foreign.sh"), FOREIGN).expect("a script");
    let pid = outside.0.id();
    let command = env!("CARGO_BIN_EXE_cpuledger");
    terminal.line(&format!("clear; unshare --pid --fork bash foreign.sh {pid} {command}"));
    terminal.wait(|text| text.contains("1/1 ") && text.contains("outside"));
    let inside = find_by_argument("1001");
    let state = |pid: u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("it lives");
        let nice = stat.rsplit(')').next().and_then(|rest| rest.split(' ').nth(17)).map(str::to_owned);
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it lives");
        let cpus = status.lines().find(|line| line.starts_with("Cpus_allowed_list:")).map(str::to_owned);
        let priority = Command::new("ionice").args(["-p", &pid.to_string()]).output().expect("ionice runs");
        (nice, cpus, priority.stdout)
    };
    let before = [state(pid), state(inside)];
    assert_ne!(pid, inside);
    for keys in [
        &["F8", "Enter"][..],
        &["y", "End", "Enter"],
        &["a"],
        &["r", "C-u", "5", "Enter"],
        &["k", "Down", "Enter"],
    ] {
        terminal.press(keys);
        terminal.wait_for("was left alone: /proc is not that of this PID namespace");
        // The next key takes the sentence away.
        terminal.press(&["Home"]);
        terminal.wait(|text| !text.contains("left alone"));
    }
    assert_eq!([state(pid), state(inside)], before);
    assert!(outside.0.try_wait().expect("it is ours").is_none(), "it lives");
    terminal.quit();
    assert_eq!(
        std::fs::read_to_string(folder.join("inside.state")).expect("the script has an answer"),
        "lives\n"
    );
}

/// The process `inside` with that argument.
fn find_by_argument(argument: &str) -> u32 {
    let wanted = format!("./inside\0{argument}\0");
    let processes = std::fs::read_dir("/proc").expect("procfs").flatten();
    let mut pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.find(|pid| std::fs::read_to_string(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line == wanted))
        .expect("the script has started it")
}

/// A file system that is full, then one that may not be written to.
const FULL: &str = r#"
mount -t tmpfs -o size=8k none kept
mkdir kept/cpuledger
head -c 8192 /dev/zero >kept/fill
XDG_CONFIG_HOME=$PWD/kept "$1" top --source procfs -d 0.3
ls -A kept/cpuledger >left
mount -o remount,ro kept
XDG_CONFIG_HOME=$PWD/kept "$1" top --source procfs -d 0.3
"#;

#[test]
fn settings_that_cannot_be_written_leave_nothing_root() {
    let terminal = Terminal::open("full", 120, 30);
    let folder = terminal.folder().clone();
    std::fs::create_dir(folder.join("kept")).expect("a folder");
    std::fs::write(folder.join("full.sh"), FULL).expect("a script");
    terminal.line(&format!("clear; unshare --mount sh full.sh {}", env!("CARGO_BIN_EXE_cpuledger")));
    terminal.wait_for_screen();
    terminal.press(&["W"]);
    terminal.wait(|text| {
        text.contains("cannot write") && text.contains("kept/cpuledger/ptop.toml: No space left on device")
    });
    terminal.press(&["q"]);
    terminal.wait(|text| text.contains("COMMAND") && !text.contains("cannot write"));
    terminal.press(&["W"]);
    terminal.wait(|text| text.contains("kept/cpuledger/ptop.toml: Read-only file system"));
    terminal.quit();
    assert_eq!(std::fs::read_to_string(folder.join("left")).expect("the script has run"), "");
}

/// What sudo leaves in the environment is of root, but the screen runs as the caller.
#[test]
fn with_sudo_the_configuration_is_that_of_the_caller_root() {
    let terminal = Terminal::open("caller", 120, 30);
    let user = nix::unistd::User::from_name("nobody").expect("a user database").expect("the user exists");
    let before = format!("SUDO_UID={} SUDO_GID={}", user.uid, user.gid);
    let file = terminal.folder().join("cpuledger/ptop.toml");
    std::fs::create_dir(terminal.folder().join("cpuledger")).expect("a folder");
    std::fs::write(&file, "sort = \"no such column\"").expect("a file");
    terminal.line(&format!("clear; {before} {} top --source procfs -d 0.5", env!("CARGO_BIN_EXE_cpuledger")));
    let text = terminal.wait_for_screen();
    assert!(!text.contains("has errors"), "root's is not read: {text}");
    terminal.press(&["W"]);
    let text = terminal.wait(|text| text.contains("cannot write") || text.contains("settings written"));
    assert!(text.contains(&format!("cannot write {}", user.dir.display())), "{text}");
    terminal.quit();
}

/// In the hierarchy that has the cpu controller, in whichever version that is; in the unified one of a machine with v1 all may be in `/`.
#[test]
fn groups_have_the_cgroups_that_cpu_time_is_divided_by_root() {
    let cgroup = Cgroup::new("cpu").expect("a cgroup");
    let worker = Killed::shell("while :; do :; done");
    cgroup.write("cgroup.procs", &worker.0.id().to_string()).expect("it is moved");
    let name = cgroup.path().file_name().expect("a name").to_str().expect("ASCII").to_owned();
    for source in ["ledger", "walk", "procfs"] {
        let terminal = Terminal::open(&format!("cgroups-{source}"), 200, 40);
        terminal.start(&format!("--source {source} -d 0.5"));
        terminal.press(&["g"]);
        let text = terminal.wait(|text| text.contains(&name));
        let line = text.lines().find(|line| line.contains(&name)).expect("its line");
        assert!(line.contains(&format!("/{name}")), "{source}: {line}");
        terminal.quit();
    }
}

/// The sum of the shares of each row of the view of states, in tenths of a percent, by the places of their headers.
fn sums_of_states(text: &str) -> Vec<u64> {
    let Some(header) = text.lines().find(|line| line.contains("WAIT") && line.contains("COMMAND")) else {
        return Vec::new();
    };
    let end_of = |name: &str| header.find(name).map(|from| header[..from + name.len()].chars().count());
    let (Some(from), Some(to)) =
        (end_of("%HELD▾"), end_of(" ?").filter(|_| header.contains(" ? ")).or(end_of("STOP")))
    else {
        return Vec::new();
    };
    let rows =
        text.lines().skip_while(|line| *line != header).skip(1).filter(|line| !line.contains(": most "));
    // Before the shares there are numbers and names of ASCII, but for the sign of a count.
    let shares = rows.map(|line| line.chars().skip(from).take(to - from).collect::<String>());
    let tenths = |cells: String| -> Option<u64> {
        let words = cells.split_whitespace().filter(|word| !word.starts_with('('));
        let numbers: Vec<u64> = words
            .filter(|word| word.contains('.'))
            .filter_map(|word| word.replace('.', "").parse().ok())
            .collect();
        (!numbers.is_empty()).then(|| numbers.iter().sum())
    };
    shares.filter_map(tenths).collect()
}

#[test]
fn states_of_each_row_add_up_as_printed_root() {
    let cpu = |command: &str| Killed::shell(&format!("exec taskset -c 0 sh -c '{command}'"));
    let _busy = [cpu("while :; do :; done"), cpu("while :; do /bin/true; done")];
    let stopped = Killed::shell("while :; do /bin/true; sleep 0.01; kill -STOP $$; done");
    for (width, height) in [(80, 24), (200, 40)] {
        let terminal = Terminal::open(&format!("states-{width}"), width, height);
        terminal.start("--source ledger -d 0.5");
        terminal.press(&["w"]);
        let average = |text: &str| text.split("On average: ").nth(1).map(str::to_owned);
        let waiting = |line: String| line.split(' ').nth(2).and_then(|number| number.parse::<f64>().ok());
        // Two want one CPU.
        if width > 100 {
            terminal.settled(|text| average(text).and_then(waiting).is_some_and(|waiting| waiting > 0.3));
        }
        // The first picture is of no interval.
        terminal.settled(|text| text.contains("waits for a CPU") && !text.contains("Totals since"));
        for keys in
            [&["Z"][..], &["Z", "H"], &["i"], &["H"], &["g", "*"], &["g", "g", "g", "g", "g", "g", "g", "t"]]
        {
            terminal.press(keys);
            sleep(Duration::from_millis(700));
            let text = terminal.settled(|text| sums_of_states(text).len() >= 3);
            let sums = sums_of_states(&text);
            assert!(sums.iter().all(|sum| *sum == 1000), "{keys:?} at {width}: {sums:?}\n{text}");
        }
        // What is at the top then is busy, not dead.
        terminal.press(&["t", "w", "x", "i"]);
        terminal.wait(|text| text.contains("%CPU") && !text.contains("%HELD"));
        terminal.press(&["Home", "Enter"]);
        terminal.wait(|text| text.contains("states [") && text.contains("WAIT"));
        terminal.quit();
    }
    // It may begin there, too.
    let terminal = Terminal::open("states-by", 120, 40);
    terminal.start("--by wait,command -d 0.5");
    let text = terminal.settled(|text| text.contains("%HELD▾") && sums_of_states(text).len() >= 3);
    assert!(text.contains("[+] ") && sums_of_states(&text).iter().all(|sum| *sum == 1000), "{text}");
    terminal.quit();
    drop(stopped);
}

/// Beside hundreds of runnable threads a screen that shares the CPUs with them has its first rows after seconds. Once those are drawn, none runs in real time but
/// the thread that closes intervals.
#[test]
fn all_threads_of_the_screen_come_before_others_root() {
    let terminal = Terminal::open("urgent", 120, 24);
    terminal.start("--source ledger");
    terminal.settled(|text| text.contains("most: ") && !text.contains("Totals since"));
    let pid = terminal.pid().to_string();
    let tasks = format!("/proc/{pid}/task");
    let priority = |task: std::io::Result<std::fs::DirEntry>| {
        let task = task.expect("an entry");
        let stat = std::fs::read(task.path().join("stat")).expect("it lives");
        let stat = parse_stat(&stat).expect("a line");
        (stat.nice, stat.policy == 0 || task.file_name() == pid.as_str())
    };
    let priorities: Vec<(i32, bool)> = std::fs::read_dir(tasks).expect("it lives").map(priority).collect();
    assert!(priorities.len() > 2 && priorities.iter().all(|own| *own == (-20, true)), "{priorities:?}");
    terminal.quit();
}

/// The columns of blame are in the table as soon as its rows have figures.
fn has_blame(text: &str) -> bool {
    text.contains("CAUSED") && text.contains("SUFFERED")
}

#[test]
fn a_view_has_the_ledger_keep_its_account_root() {
    let terminal = Terminal::open("account", 120, 40);
    terminal.start("--source ledger -d 0.3");
    terminal.press(&["4"]);
    terminal.wait(has_blame);
    terminal.press(&["1", "4"]);
    terminal.wait(has_blame);
    terminal.quit();
}

#[test]
fn a_view_asks_the_service_and_says_why_it_may_not_root() {
    let service = Service::start("");
    let socket = service.socket();
    let terminal = Terminal::open("account-service", 120, 40);
    terminal.start(&format!("--source service --socket {} -d 0.3", socket.display()));
    terminal.press(&["4"]);
    terminal.wait(has_blame);
    terminal.quit();
    let stranger = Terminal::open("account-stranger", 120, 40);
    let user = "setpriv --reuid=65534 --regid=65534 --clear-groups";
    stranger.start_with(user, &format!("--source service --socket {} -d 0.3", socket.display()));
    stranger.press(&["4"]);
    stranger.wait_for("does not let user 65534 ask for blame");
    stranger.press(&["1"]);
    stranger.quit();
}

/// On a busy machine it takes seconds to open a source. Meanwhile a thread without its privileges shows what there is, and obeys.
#[test]
fn processes_are_shown_before_the_source_is_open_root() {
    if !cfg!(debug_assertions) {
        return cpuledger_load::not_run("only a debug build waits before it opens the source");
    }
    let terminal = Terminal::open("first", 120, 40);
    let modes = terminal.modes();
    let _early = Killed(terminal.sleeper("early-riser"));
    let wait = terminal.folder().join("wait");
    std::fs::write(&wait, "").expect("a file");
    let before = format!("CPULEDGER_TEST_WAIT={}", wait.display());
    let options = "--source ledger -d 0.5 --all";
    terminal.start_with(&before, options);
    terminal.press(&["F4"]);
    terminal.write("comm~^early");
    terminal.press(&["Enter", "x"]);
    let text = terminal.wait(|text| text.contains("early-riser") && text.contains("1/1 "));
    assert!(
        text.contains("Totals since each process began") && text.contains("; the first interval follows"),
        "{text}"
    );
    let tasks = std::fs::read_dir(format!("/proc/{}/task", terminal.pid())).expect("it lives").flatten();
    let status =
        |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("status")).expect("its status");
    let has_bpf = |status: &String| {
        let line = status.lines().find_map(|line| line.strip_prefix("CapPrm:")).expect("a set");
        let set = u64::from_str_radix(line.trim(), 16).expect("hexadecimal digits");
        set & CapabilitySet::BPF.bits() != 0
    };
    let privileged: Vec<String> = tasks.map(status).filter(has_bpf).collect();
    assert_eq!(privileged.len(), 1, "the one that will open the source: {privileged:?}");
    std::fs::remove_file(&wait).expect("it is ours");
    terminal.wait(|text| text.contains("early-riser") && text.contains("most: "));
    terminal.quit();
    // It ends as at any other time.
    std::fs::write(&wait, "").expect("a file");
    terminal.start_with(&before, options);
    terminal.wait_for("Totals since each process began");
    terminal.press(&["C-c"]);
    terminal.assert_restored(&modes);
    assert!(terminal.ask("true").contains("END0"));
}
