//! The first signal ends every command within a second, even if its output is not read; a terminal that goes away is a quiet
//! end. The tests use full pipes, and pseudo terminals that are not read.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::pty::{OpenptyResult, Winsize, openpty};
use nix::sys::signal::{Signal, kill};
use nix::sys::termios::{Termios, tcgetattr};
use nix::unistd::Pid;

/// The program ends itself within a second. If it did not, it would not end at all: this only has to end the test, however busy the machine is.
const SOON: Duration = Duration::from_secs(60);

/// How long a machine may take to start a command.
const PATIENCE: Duration = Duration::from_secs(120);

fn command(arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cpuledger"));
    command.args(arguments.split(' ')).stdin(Stdio::null()).env("TERM", "xterm-256color");
    command
}

/// Writes to it until nothing more fits; how much did.
fn fill(descriptor: &impl AsFd) -> usize {
    // Opened anew: every process that has the other one shares its flags.
    let path = format!("/proc/self/fd/{}", descriptor.as_fd().as_raw_fd());
    let flags = (OFlag::O_NONBLOCK | OFlag::O_NOCTTY).bits();
    let mut file = File::options().write(true).custom_flags(flags).open(path).expect("it opens again");
    let mut bytes = 0;
    for size in [4096, 1] {
        loop {
            match file.write(&[b'.'; 4096][..size]) {
                Ok(written) => bytes += written,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => panic!("{error}"),
            }
        }
    }
    bytes
}

/// A pipe that is full: its reading end, then its writing end.
fn full_pipe() -> (OwnedFd, OwnedFd) {
    let (reader, writer) = nix::unistd::pipe().expect("a pipe");
    assert!(fill(&writer) > 0);
    (reader, writer)
}

/// Waits until it has a handler for SIGTERM.
fn wait_for_handler(child: &Child) {
    let begin = Instant::now();
    loop {
        let path = format!("/proc/{}/status", child.id());
        let status = std::fs::read_to_string(path).expect("it runs");
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).expect("a mask");
        let caught = u64::from_str_radix(caught.trim(), 16).expect("a number");
        if caught >> (Signal::SIGTERM as u64 - 1) & 1 == 1 {
            return;
        }
        assert!(begin.elapsed() < PATIENCE, "it handles no SIGTERM: {status}");
        sleep(Duration::from_millis(5));
    }
}

/// Waits for its end, which has to come soon.
fn end_of(child: &mut Child, what: &str) -> ExitStatus {
    let begin = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("it is ours") {
            assert!(!status.core_dumped(), "{what}: {status}");
            return status;
        }
        if begin.elapsed() > SOON {
            child.kill().and_then(|()| child.wait().map(drop)).expect("it is ours");
            panic!("{what} did not end within {SOON:?}");
        }
        sleep(Duration::from_millis(5));
    }
}

fn signal(child: &Child, signal: Signal) {
    kill(Pid::from_raw(child.id() as i32), signal).expect("it is ours");
}

#[test]
fn a_full_pipe_does_not_outlive_a_signal() {
    for format in ["text", "json"] {
        for asked in [Signal::SIGTERM, Signal::SIGINT] {
            let (_reader, writer) = full_pipe();
            let line = format!("top --batch --source procfs -d 0.1 --all --format {format}");
            let mut child =
                command(&line).stdout(writer).stderr(Stdio::piped()).spawn().expect("cpuledger runs");
            wait_for_handler(&child);
            signal(&child, asked);
            assert_eq!(end_of(&mut child, &line).code(), Some(1), "{asked}");
            let mut said = String::new();
            child.stderr.take().expect("a pipe").read_to_string(&mut said).expect("UTF-8");
            assert!(
                said.contains("the last interval is missing or incomplete") && said.lines().count() == 1,
                "{said}"
            );
        }
    }
    // Nothing can be said either.
    let (_reader, writer) = full_pipe();
    let line = "top --batch --source procfs -d 0.1";
    let mut child = command(line)
        .stdout(writer.try_clone().expect("a descriptor"))
        .stderr(writer)
        .spawn()
        .expect("cpuledger runs");
    wait_for_handler(&child);
    signal(&child, Signal::SIGTERM);
    assert_eq!(end_of(&mut child, line).code(), Some(1));
}

#[test]
fn a_pipe_that_is_read_gets_the_last_interval_whole() {
    let line = "top --batch --source procfs -d 100 --all --format json";
    let mut child = command(line).stdout(Stdio::piped()).spawn().expect("cpuledger runs");
    wait_for_handler(&child);
    signal(&child, Signal::SIGTERM);
    let mut text = String::new();
    child.stdout.take().expect("a pipe").read_to_string(&mut text).expect("UTF-8");
    assert_eq!(end_of(&mut child, line).code(), Some(0));
    assert!(text.ends_with("}\n") && serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{text}");
}

#[test]
fn listings_end_at_the_signal() {
    // More than fits, also where the pipe is widened.
    for line in
        ["ps -eL --source procfs -o args:60000", "ps -e --format json --source procfs", "status --all -H"]
    {
        let (_reader, writer) = full_pipe();
        let mut child = command(line).stdout(writer).spawn().expect("cpuledger runs");
        sleep(Duration::from_millis(300));
        signal(&child, Signal::SIGTERM);
        let status = end_of(&mut child, line);
        assert!(status.signal() == Some(Signal::SIGTERM as i32) || status.success(), "{line}: {status}");
    }
}

/// A pseudo terminal.
struct Terminal {
    master: File,
    slave: OwnedFd,
    modes: Termios,
}

impl Terminal {
    fn open() -> Terminal {
        let size = Winsize { ws_row: 40, ws_col: 160, ws_xpixel: 0, ws_ypixel: 0 };
        let OpenptyResult { master, slave } = openpty(&size, None).expect("a pseudo terminal");
        let modes = tcgetattr(&slave).expect("modes");
        // A descriptor that a child inherits would keep the terminal from going away.
        for descriptor in [&master, &slave] {
            fcntl(descriptor, FcntlArg::F_SETFD(nix::fcntl::FdFlag::FD_CLOEXEC)).expect("it takes the flag");
        }
        Terminal { master: File::from(master), slave, modes }
    }

    /// Starts it with all three descriptors on the terminal, which controls it, or not.
    fn start(&self, arguments: &str, is_controlled: bool) -> Child {
        let slave = || Stdio::from(self.slave.try_clone().expect("a descriptor"));
        let mut child = if is_controlled { Command::new("setsid") } else { command(arguments) };
        if is_controlled {
            child.args(["--ctty", env!("CARGO_BIN_EXE_cpuledger")]).args(arguments.split(' '));
            child.env("TERM", "xterm-256color");
        } else {
            child.process_group(0);
        }
        child.stdin(slave()).stdout(slave()).stderr(slave());
        child.spawn().expect("it runs: install util-linux for setsid")
    }

    /// Reads for this time.
    fn read_for(&mut self, time: Duration) -> Vec<u8> {
        let descriptor = self.master.try_clone().expect("a descriptor");
        fcntl(&descriptor, FcntlArg::F_SETFL(OFlag::O_NONBLOCK | OFlag::O_RDWR)).expect("it takes the flag");
        let (begin, mut all) = (Instant::now(), Vec::new());
        while begin.elapsed() < time {
            let mut bytes = [0; 4096];
            match self.master.read(&mut bytes) {
                Ok(count) => all.extend_from_slice(&bytes[..count]),
                Err(_) => sleep(Duration::from_millis(5)),
            }
        }
        all
    }

    /// Reads until what has come is right.
    fn read_while_not(&mut self, is_right: impl Fn(&str) -> bool) -> String {
        let (begin, mut all) = (Instant::now(), Vec::new());
        loop {
            let text = String::from_utf8_lossy(&all).into_owned();
            if is_right(&text) {
                return text;
            }
            assert!(begin.elapsed() < PATIENCE, "this is not what was waited for: {text:?}");
            all.extend(self.read_for(Duration::from_millis(20)));
        }
    }

    /// Reads until that comes.
    fn read_until(&mut self, part: &str) {
        self.read_while_not(|text| text.contains(part));
    }

    /// Reads until that is the last to come.
    fn read_to(&mut self, end: &str) -> String {
        self.read_while_not(|text| text.ends_with(end))
    }
}

const SCREEN: &str = "top --source procfs -d 0.05 --all";

#[test]
fn a_terminal_that_is_not_read_does_not_outlive_a_signal() {
    for (asked, code) in
        [(Signal::SIGTERM, 0), (Signal::SIGINT, 0), (Signal::SIGQUIT, 0), (Signal::SIGHUP, 1)]
    {
        for is_drawn in [false, true] {
            let mut terminal = Terminal::open();
            if !is_drawn {
                assert!(fill(&terminal.slave) > 0);
            }
            let mut child = terminal.start(SCREEN, true);
            wait_for_handler(&child);
            if is_drawn {
                terminal.read_until("COMMAND");
                fill(&terminal.slave);
                // In the middle of a drawing by now.
                sleep(Duration::from_millis(150));
            }
            signal(&child, asked);
            let what = format!("{asked}, drawn: {is_drawn}");
            assert_eq!(end_of(&mut child, &what).code(), Some(code), "{what}");
            assert_eq!(tcgetattr(&terminal.slave).expect("modes"), terminal.modes, "{what}");
            // The cursor is shown again.
            let left = terminal.read_to("\x1b[?25h");
            assert!(left.contains("\x1b[?1049l"), "{what}: the other screen is left: {left:?}");
        }
    }
}

#[test]
fn intervals_on_a_terminal_that_is_not_read_end_at_a_signal() {
    let terminal = Terminal::open();
    fill(&terminal.slave);
    let mut child = terminal.start("top --batch --source procfs -d 0.05 --all", true);
    wait_for_handler(&child);
    signal(&child, Signal::SIGTERM);
    assert_eq!(end_of(&mut child, "the batch").code(), Some(1));
}

/// With SIGHUP and without, while intervals are short, and in the middle of a long one.
#[test]
fn a_terminal_that_goes_away_is_a_quiet_end() {
    for is_controlled in [true, false] {
        for delay in ["0.05", "1000"] {
            let mut terminal = Terminal::open();
            let line = format!("top --source procfs --all -d {delay}");
            let mut child = terminal.start(&line, is_controlled);
            terminal.read_until("COMMAND");
            drop(terminal);
            let what = format!("{line}, controlled: {is_controlled}");
            assert_eq!(end_of(&mut child, &what).code(), Some(1), "{what}");
        }
    }
}

/// At the limit of the size of files a write fails, and no signal ends the program. Memory that is a file is not needed for a page.
#[test]
fn a_page_beyond_the_limit_of_files_is_a_sentence() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = |to: &str| {
        let program = env!("CARGO_BIN_EXE_cpuledger");
        let script = format!("ulimit -f 1; exec {program} top -b -n 1 -d 0.05 --all --source procfs {to}");
        let mut command = Command::new("sh");
        command.args(["-c", &script]).current_dir(&folder).stdin(Stdio::null()).output().expect("it runs")
    };
    let piped = run("");
    assert_eq!(piped.status.code(), Some(0), "{piped:?}");
    assert!(!piped.stdout.is_empty());
    let full = run("> page");
    assert_eq!(full.status.code(), Some(1), "{full:?}");
    let said = String::from_utf8_lossy(&full.stderr).into_owned();
    assert_eq!(said, "cpuledger: cannot write to standard output: File too large (os error 27)\n");
}
