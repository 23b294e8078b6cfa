//! A live screen goes back beyond what it has seen: into the recording of the service, or the usual one. What it asks the service to keep depends
//! on its view. Needs root, to become other users.

mod intervals;
mod replayed;
mod service;
mod tmux;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use cpuledger_load::scene::alone;
use cpuledger_load::{Cgroup, online_cpus};
use cpuledger_service::client::Client;
use jiff::Timestamp;

use intervals::Killed;
use replayed::{at, record};
use service::{Service, TIMEOUT};
use tmux::Terminal;

/// A user without a service and without privileges, whose state directory is that of the terminal.
fn as_stranger(terminal: &Terminal) -> String {
    let folder = terminal.folder().display();
    format!(
        "env CPULEDGER_SOCKET=/nowhere TZ=UTC XDG_STATE_HOME={folder}/state HOME={folder} \
         setpriv --reuid=65534 --regid=65534 --clear-groups"
    )
}

/// Makes all below it readable for all users.
fn open_up(folder: &Path) {
    let status = Command::new("chmod").args(["-R", "a+rX"]).arg(folder).status().expect("chmod");
    assert!(status.success());
}

/// The day and the time in the first line, which an interval of the past has there.
fn day(text: &str) -> Option<&str> {
    let line = text.lines().next()?;
    let place = line.find('-')?.checked_sub(4)?;
    line.get(place..place + 19).filter(|day| day.as_bytes()[10] == b' ' && day.as_bytes()[13] == b':')
}

/// Before what it has seen is what `cpuledger record` has recorded where nothing else was said.
#[test]
fn a_live_screen_goes_back_into_the_usual_recording_root() {
    let terminal = Terminal::open("replay-usual", 120, 24);
    record(&terminal.folder().join("state/cpuledger"));
    open_up(terminal.folder());
    terminal.start_with(&as_stranger(&terminal), "--source procfs -d 0.3 --all");
    std::thread::sleep(Duration::from_secs(1));
    terminal.press(&["^"]);
    let text = at(&terminal, "22:14:01");
    assert!(text.contains("worker"), "{text}");
    terminal.press(&["B", "v"]);
    terminal.press(&[":"]);
    terminal.write("2023-11-14 22:15:39");
    terminal.press(&["Enter"]);
    at(&terminal, "22:15:40");
    // Then comes what the screen has seen, and then what is.
    terminal.press(&[")"]);
    terminal.wait(|text| day(text).is_some_and(|day| !day.starts_with("2023-11-14")));
    terminal.press(&["("]);
    at(&terminal, "22:15:40");
    terminal.press(&["$"]);
    terminal.wait(|text| day(text).is_none());
    terminal.quit();
}

/// A recording that the user may not read is told in a line.
#[test]
fn a_recording_that_may_not_be_read_is_told_root() {
    let terminal = Terminal::open("replay-refused", 120, 24);
    let folder = terminal.folder().join("state/cpuledger");
    record(&folder);
    open_up(terminal.folder());
    let mode = |mode: u32| std::os::unix::fs::PermissionsExt::from_mode(mode);
    std::fs::set_permissions(&folder, mode(0o700)).expect("it is ours");
    // Commands say so, too.
    let program = env!("CARGO_BIN_EXE_cpuledger");
    for command in ["report state/cpuledger", "top --batch --replay state/cpuledger"] {
        let text = terminal.ask(&format!("{} {program} {command}", as_stranger(&terminal)));
        let text: String = text.lines().collect();
        assert!(text.contains("this user may not read the recording") && text.contains("END1"), "{text}");
    }
    terminal.start_with(&as_stranger(&terminal), "--source procfs -d 0.3 --all");
    std::thread::sleep(Duration::from_secs(1));
    let sentence = "what was recorded before may not be read by this user: sudo ptop --replay";
    terminal.press(&["^"]);
    let text = terminal.wait_for(sentence);
    assert!(!text.contains("2023-11-14"), "{text}");
    terminal.press(&["("]);
    terminal.wait_for(sentence);
    terminal.press(&[":"]);
    terminal.write("2023-11-14 22:14");
    terminal.press(&["Enter"]);
    terminal.wait_for(sentence);
    terminal.press(&["$"]);
    terminal.quit();
}

/// Before what it has seen is what the service has recorded, while it records, and told by the service.
#[test]
fn a_live_screen_goes_back_into_the_recording_of_the_service_root() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let books = folder.path().join("books");
    let service = Service::start(&format!("[record]\nenabled = true\ndirectory = \"{}\"\n", books.display()));
    let told = Client::connect(&service.socket(), TIMEOUT).expect("it listens").info().expect("it answers");
    assert_eq!(told.recording.as_deref(), books.to_str());
    std::thread::sleep(Duration::from_secs(4));
    let terminal = Terminal::open("replay-service", 120, 24);
    let begin = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    terminal.start_with(&format!("env TZ=UTC CPULEDGER_SOCKET={}", service.socket().display()), "-d 0.4");
    // How long before the screen began the interval was that it shows.
    let shown = |text: &str| {
        let day = day(text).expect("a day and a time");
        let time: Timestamp = format!("{}Z", day.replace(' ', "T")).parse().expect("a time");
        begin.as_secs().cast_signed() - time.as_second()
    };
    std::thread::sleep(Duration::from_secs(1));
    terminal.press(&["^"]);
    let text = terminal.wait(|text| day(text).is_some() && shown(text) >= 2);
    assert!((2..30).contains(&shown(&text)), "{text}");
    // Step by step to now: each is later than the one before, and none is left out or comes twice.
    let mut last = shown(&text);
    for _ in 0..5 {
        terminal.press(&["f"]);
        std::thread::sleep(Duration::from_millis(300));
        let text = terminal.text();
        if day(&text).is_none() {
            last = 0;
            break;
        }
        assert!(shown(&text) <= last, "{text}");
        last = shown(&text);
    }
    assert!(last <= 0, "it comes to what the screen has seen: {last}");
    terminal.press(&["$"]);
    terminal.wait(|text| day(text).is_none());
    terminal.quit();
}

/// Wants one CPU all the time, from within a cgroup.
fn spin(cgroup: &Cgroup, cpu: u32) -> Killed {
    let mut command = Command::new("taskset");
    command.args(["-c", &cpu.to_string(), "sh", "-c", &cgroup.spin()]).stdin(Stdio::null());
    Killed(command.spawn().expect("util-linux is installed"))
}

/// The view of blame asks for pairs beside it, gets what the user may have, and keeps nothing when another view is shown.
#[test]
fn blame_has_pairs_where_the_service_grants_them_root() {
    let _alone = alone();
    let cpu = online_cpus().expect("sysfs").pop().expect("a CPU");
    let groups = [(); 2].map(|()| Cgroup::new("cpu").expect("a cgroup"));
    let spinners = [spin(&groups[0], cpu), spin(&groups[1], cpu)];
    let service = Service::start("[ledger]\naccounts_of_readers = [\"blame\"]\n");
    let mut client = Client::connect(&service.socket(), TIMEOUT).expect("it listens");
    let mut wait_for = |wanted: &[&str]| {
        let begin = Instant::now();
        loop {
            let accounts = client.info().expect("it answers").accounts;
            if accounts == wanted {
                return;
            }
            assert!(begin.elapsed() < TIMEOUT, "{accounts:?} instead of {wanted:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    let stranger = "setpriv --reuid=65534 --regid=65534 --clear-groups";
    for (name, user, accounts) in
        [("blame-all", "", &["blame", "pairs"][..]), ("blame-some", stranger, &["blame"])]
    {
        let terminal = Terminal::open(name, 120, 30);
        open_up(terminal.folder());
        let environment = format!(
            "env HOME={} CPULEDGER_SOCKET={}",
            terminal.folder().display(),
            service.socket().display()
        );
        terminal.start_with(&format!("{environment} {user}"), "--source service -d 0.3");
        wait_for(&[]);
        terminal.press(&["4"]);
        terminal.wait(|text| text.contains("CAUSED▾") && !text.contains("was not kept"));
        wait_for(accounts);
        if accounts.contains(&"pairs") {
            // Of one that waits because of another cgroup, whatever else this machine does.
            terminal.press(&["F4"]);
            terminal.write(&format!("pid={}", spinners[0].0.id()));
            terminal.press(&["Enter"]);
            terminal.wait_for("its cgroup waited for: ");
        }
        terminal.press(&["1"]);
        wait_for(&[]);
        terminal.quit();
    }
}
