//! Every column that ps of procps lists is one of ours, with its header, its width and its place in `ps L`.

mod procps;

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use cpuledger_load::RaisedLimits;
use cpuledger_view::column::{Dash, listed};
use procps::{ours, specifiers, theirs};

/// The width of a column of numbers of tasks follows pid_max, which another test may change meanwhile.
const ATTEMPTS: usize = 3;

/// The first line of both, with these columns.
fn headers(columns: &str) -> [String; 2] {
    let pid = std::process::id().to_string();
    let arguments = ["-p", &pid, "-o", columns];
    let first = |text: String| text.lines().next().unwrap_or_default().to_owned();
    let mut found = Default::default();
    for _ in 0..ATTEMPTS {
        found = [first(ours("procfs", &arguments)), first(theirs(&arguments))];
        if found[0] == found[1] {
            break;
        }
    }
    found
}

/// Where the column behind it ends tells its width.
fn has_the_header_of_procps(name: &str) {
    let [ours, theirs] = headers(&format!("{name},pid=Z"));
    assert!(theirs.ends_with('Z'), "procps has no column {name}");
    assert_eq!(ours, theirs, "{name}");
}

#[test]
fn every_column_that_procps_lists_has_its_header_and_width() {
    specifiers().iter().for_each(|name| has_the_header_of_procps(name));
}

#[test]
fn every_name_that_procps_only_takes_has_its_header_and_width() {
    let names = listed().filter(|column| column.dash == Some(Dash::NotShown)).flat_map(|column| column.names);
    let mut count = 0;
    for (name, _) in names {
        has_the_header_of_procps(name);
        count += 1;
    }
    assert!(count >= 80, "{count} names");
}

/// Where pids have seven digits, names that nothing is shown for are as wide, too.
#[test]
fn widths_of_pids_follow_pid_max_root() {
    let _raised = RaisedLimits::for_threads(1_000_000).expect("root may raise the limits");
    every_column_that_procps_lists_has_its_header_and_width();
    every_name_that_procps_only_takes_has_its_header_and_width();
}

#[test]
fn the_list_of_columns_has_every_line_of_procps() {
    let ours = ours("procfs", &["L"]);
    let theirs = theirs(&["L"]);
    let mut rest = ours.lines();
    for line in theirs.lines() {
        assert!(rest.any(|ours| ours == line), "{line:?} is missing, or in another place, in\n{ours}");
    }
    assert!(rest.any(|line| line.starts_with("runqueue_wait_ns")), "our own come last");
}

/// A shell that catches signals on both sides of 32, ignores one, and then sleeps: threads of this test run, and
/// block signals for moments.
fn shell_with_signals() -> Child {
    let mut shell = Command::new("bash")
        .args(["-c", "trap : TERM RTMIN+3; trap '' HUP; echo; read -r"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("bash starts");
    shell.stdout.take().expect("it is piped").read_exact(&mut [0]).expect("its traps are set");
    let stat = format!("/proc/{}/stat", shell.id());
    let until = Instant::now() + Duration::from_secs(60);
    while !std::fs::read_to_string(&stat).expect("it waits for a line").contains(") S ") {
        assert!(Instant::now() < until, "the shell never sleeps");
        std::thread::sleep(Duration::from_millis(1));
    }
    shell
}

#[test]
fn signals_are_as_wide_as_the_screen_allows() {
    let mut shell = shell_with_signals();
    let pid = shell.id().to_string();
    for width in ["20", "40", "60", "80", "82", "83", "84", "100", "132"] {
        for list in [
            "pending,blocked,ignored,caught,s",
            "pid,sig,sigmask,args",
            "caught,comm",
            "caught:20,s",
            "s,ignored",
        ] {
            let arguments = ["-p", &pid, "--cols", width, "-o", list];
            assert_eq!(ours("procfs", &arguments), theirs(&arguments), "{list} in {width} places");
        }
    }
    drop(shell.stdin.take());
    shell.wait().expect("it is our child");
}
