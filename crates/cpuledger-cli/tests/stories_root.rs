//! What users ask of the accounts, asked as they would: "the database is slow because the backup reads the disk", "the pod waits because its
//! neighbour spins", "who is uploading". Needs root.

mod intervals;

use std::fs;
use std::io::Read;
use std::net::TcpListener;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use cpuledger_load::scene::alone;
use cpuledger_load::{Cgroup, not_run, online_cpus, program};
use serde_json::Value;

use intervals::{Killed, list, number};

/// What `top` prints of intervals of a second with an account; the last of them.
fn top(account: &str, sorted_by: &str) -> Option<Value> {
    top_with(&["--with", account, "-o", sorted_by])
}

/// Likewise, with these options.
fn top_with(options: &[&str]) -> Option<Value> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cpuledger"));
    command.args(["top", "-b", "-n", "3", "-d", "1", "--source", "ledger", "--format", "json"]);
    let output = command.args(options).output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    if said.contains("tracepoint") {
        not_run(&said);
        return None;
    }
    let printed = String::from_utf8(output.stdout).expect("UTF-8");
    Some(serde_json::from_str(printed.lines().last().expect("intervals")).expect("JSON"))
}

/// The row of the program of that name.
fn row<'a>(interval: &'a Value, comm: &str) -> &'a Value {
    let row = list(&interval["processes"]).iter().find(|row| row["comm"] == comm);
    row.unwrap_or_else(|| panic!("{comm} has a row"))
}

fn length_ns(interval: &Value) -> u64 {
    number(&interval["end_ns"]) - number(&interval["start_ns"])
}

/// A program under another name, which is how the rows call it.
fn named(folder: &Path, name: &str, program: &Path) -> PathBuf {
    let path = folder.join(name);
    fs::copy(program, &path).expect("there is room");
    path
}

/// The database reads small blocks and waits for each; the backup reads large ones, and far more.
#[test]
fn the_database_waits_for_the_disk_because_of_the_backup_root() {
    let _alone = alone();
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let file = folder.path().join("table");
    fs::write(&file, vec![1; 32 << 20]).expect("there is room");
    fs::File::open(&file).and_then(|file| file.sync_all()).expect("it is written");
    if rustix::fs::major(fs::metadata(&file).expect("a file").dev()) == 0 {
        return not_run("the folder of the tests is on no disk");
    }
    let reader = program().expect("the program");
    let start = |name: &str, block: &str| {
        let mut command = Command::new(named(folder.path(), name, reader));
        command.args(["read", "--block", block, "--file"]).arg(&file);
        Killed(command.spawn().expect("it starts"))
    };
    let (_database, _backup) = (start("database", "4096"), start("backup", "1048576"));
    let Some(interval) = top("disk", "disk_read_bytes") else { return };
    let first = &list(&interval["processes"])[0];
    assert_eq!(first["comm"], "backup", "who reads the most is first: {first}");
    let (backup, database) = (row(&interval, "backup"), row(&interval, "database"));
    let read = |row: &Value| number(&row["disk_read_bytes"]);
    assert!(read(backup) > 4 * read(database) && read(database) > 0, "{backup} {database}");
    // All of what the database is blocked for are its reads, which one task has one at a time.
    let (blocked_ns, disk_ns) = (number(&database["blocked_ns"]), number(&database["disk_read_ns"]));
    let length_ns = length_ns(&interval);
    // On a busy machine it waits for a CPU, too.
    let rest_ns = length_ns.saturating_sub(number(&database["runqueue_wait_ns"]));
    assert!(blocked_ns > rest_ns / 4, "{database}");
    assert!(disk_ns > blocked_ns / 2 && disk_ns <= length_ns + length_ns / 10, "{database}");
    // Which disk is busy with that: one that /proc/diskstats knows, and it has more to do than all others together.
    let interval = top_with(&["--by", "device"]).expect("it is kept");
    let disks = list(&interval["devices"]);
    let busiest = disks.first().expect("a disk reads");
    let name = busiest["name"].as_str().expect("it has a name");
    let known = fs::read_to_string("/proc/diskstats").expect("procfs");
    assert!(known.lines().any(|line| line.split_whitespace().nth(2) == Some(name)), "{name}: {known}");
    let all: u64 = disks.iter().map(|disk| number(&disk["read_bytes"])).sum();
    assert_eq!(all, number(&interval["ended_read_bytes"]));
    assert!(number(&busiest["read_bytes"]) > all / 2 && all > 0, "{disks:?}");
    report_adds_up_what_was_recorded(&folder.path().join("books"));
}

/// What each disk did in a recording, by a report and by its intervals.
fn report_adds_up_what_was_recorded(books: &Path) {
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cpuledger"));
        let path = books.to_str().expect("UTF-8");
        let output = command.args(arguments.iter().map(|word| word.replace("BOOKS", path))).output();
        let output = output.expect("it starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    run(&["record", "BOOKS", "--with", "disk", "--source", "ledger", "-d", "0.5", "--duration", "2"]);
    let report: Value =
        serde_json::from_str(&run(&["report", "BOOKS", "--by", "device", "--format", "json"])).expect("JSON");
    let intervals: Vec<Value> = run(&["top", "--replay", "BOOKS", "-b", "--format", "json"])
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let rows = list(&report["rows"]);
    for key in ["reads", "read_bytes", "read_ns", "writes", "written_bytes", "write_ns"] {
        let of_intervals = intervals.iter().filter_map(|interval| interval[format!("ended_{key}")].as_u64());
        let of_rows: u64 = rows.iter().map(|row| number(&row[key])).sum();
        assert_eq!(of_intervals.sum::<u64>(), of_rows, "{key}: {report}");
    }
    assert!(number(&rows[0]["read_bytes"]) > 0 && rows[0]["name"].is_string(), "{report}");
    assert!(number(&report["disk_intervals"]) >= 3, "{report}");
}

/// Both want one CPU all the time, so that each waits while the other runs, and the one causes what the other suffers.
#[test]
fn the_pod_waits_because_its_neighbour_spins_root() {
    let _alone = alone();
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let cpu = online_cpus().expect("sysfs").pop().expect("a CPU").to_string();
    let start = |name: &str, cgroup: &Cgroup| {
        let program = named(folder.path(), name, Path::new("/bin/sh"));
        let mut command = Command::new("taskset");
        command.args(["-c", &cpu]).arg(program).args(["-c", &cgroup.spin()]).stdin(Stdio::null());
        Killed(command.spawn().expect("util-linux is installed"))
    };
    let groups = [(); 2].map(|()| Cgroup::new("cpu").expect("a cgroup"));
    let _running = [start("pod", &groups[0]), start("neighbour", &groups[1])];
    let Some(interval) = top("blame", "wait_suffered_ns") else { return };
    let of = |comm, key: &str| number(&row(&interval, comm)[key]);
    let suffered_ns = of("pod", "wait_suffered_ns");
    assert!(suffered_ns > length_ns(&interval) / 4, "it waits: {interval}");
    // What else runs on that CPU makes both wait.
    let caused_ns = of("neighbour", "wait_caused_ns");
    assert!(caused_ns > suffered_ns / 2, "{caused_ns} of {suffered_ns}: {interval}");
    assert!(of("pod", "wait_caused_ns") > 0, "it is no better: {interval}");
    // Because of whom it waits, by cgroup.
    let interval = top_with(&["--by", "blame,cgroup"]).expect("it is kept");
    let pairs = list(&interval["pairs"]);
    let is = |name: &Value, cgroup: &Cgroup| {
        let own = cgroup.path().file_name().and_then(|name| name.to_str()).expect("a name");
        name.as_str().is_some_and(|path| path.rsplit('/').next() == Some(own))
    };
    let pair = pairs.iter().find(|pair| is(&pair["by_name"], &groups[1]) && is(&pair["name"], &groups[0]));
    let waited_ns = number(&pair.expect("the neighbour makes it wait")["wait_ns"]);
    assert!(waited_ns > length_ns(&interval) / 8, "{waited_ns}: {pairs:?}");
}

/// What is sent is booked to who sends, to the byte, beside a server that counts what it gets.
#[test]
fn who_is_uploading_is_first_root() {
    let _alone = alone();
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let cat = ["/bin/cat", "/usr/bin/cat"].map(Path::new).into_iter().find(|path| path.exists());
    let uploader = named(folder.path(), "uploader", cat.expect("coreutils are installed"));
    let listener = TcpListener::bind("127.0.0.1:0").expect("a socket");
    let port = listener.local_addr().expect("an address").port();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let (mut sum, mut bytes) = (0, vec![0; 1 << 16]);
        while let Ok(count @ 1..) = stream.read(&mut bytes) {
            sum += count as u64;
        }
        sum
    });
    let script = format!("exec {} /dev/zero > /dev/tcp/127.0.0.1/{port}", uploader.display());
    let upload = Killed(Command::new("bash").args(["-c", &script]).spawn().expect("bash is installed"));
    let interval = top("network", "SENT");
    drop(upload);
    let received = server.join().expect("it ends");
    let Some(interval) = interval else { return };
    let first = &list(&interval["processes"])[0];
    assert_eq!(first["comm"], "uploader", "{first}");
    let sent = number(&first["tcp_sent_bytes"]);
    assert!(sent > 1 << 20 && sent <= received, "{sent} of {received}: {first}");
}
