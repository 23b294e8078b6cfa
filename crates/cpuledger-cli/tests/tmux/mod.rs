#![allow(dead_code)] // each test has its own part of it
//! The screen in a terminal: a tmux server of the test's own, with a shell in it.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A busy machine takes its time.
const PATIENCE: Duration = Duration::from_secs(120);

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(20);

/// What the shell says when a command is over.
pub const PROMPT: &str = "ready>";

/// A terminal with a shell. Its server ends with it, and no other does.
pub struct Terminal {
    socket: String,
    folder: PathBuf,
    asked: AtomicU32,
}

impl Terminal {
    /// Of that size; `name` is different for every test of a process.
    pub fn open(name: &str, width: u16, height: u16) -> Terminal {
        let socket = format!("cpuledger-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(&socket);
        std::fs::create_dir_all(&folder).expect("a folder");
        let terminal = Terminal { socket, folder, asked: AtomicU32::new(0) };
        let size = [width.to_string(), height.to_string()];
        let shell = format!("env PS1='{PROMPT} ' bash --norc --noprofile -i");
        let mut command =
            terminal.command(&["-f", "/dev/null", "new-session", "-d", "-x", &size[0], "-y", &size[1]]);
        command.arg(shell).env("TERM", "xterm-256color").env("XDG_CONFIG_HOME", &terminal.folder);
        command
            .env("LC_ALL", "C.UTF-8")
            .env_remove("TMUX")
            .env_remove("NO_COLOR")
            .current_dir(&terminal.folder);
        let output = command.output().expect("tmux: install the Debian package tmux");
        assert!(output.status.success(), "{output:?}");
        terminal.wait(|text| text.contains(PROMPT));
        terminal
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("tmux");
        command.args(["-u", "-L", &self.socket]).args(arguments);
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let output = self.command(arguments).output().expect("tmux");
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        output
    }

    /// A folder for this test alone; the screen keeps its settings there.
    pub fn folder(&self) -> &PathBuf {
        &self.folder
    }

    /// Starts a process that sleeps and has this name.
    pub fn sleeper(&self, name: &str) -> Child {
        let program = self.folder.join(name);
        std::fs::copy("/bin/sleep", &program).expect("a copy of sleep");
        // A file that was just written may be busy for a moment, where another test forks meanwhile.
        for _ in 0..3_000 {
            if let Ok(child) = Command::new(&program).arg("1000").spawn() {
                return child;
            }
            sleep(PAUSE);
        }
        panic!("{} cannot be started", program.display())
    }

    /// What is seen.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.run(&["capture-pane", "-p"]).stdout).into_owned()
    }

    /// What tmux knows of the terminal.
    pub fn variable(&self, name: &str) -> String {
        let output = self.run(&["display-message", "-p", &format!("#{{{name}}}")]);
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// Waits until what is seen is right, and returns it.
    pub fn wait(&self, is_right: impl Fn(&str) -> bool) -> String {
        let begin = Instant::now();
        loop {
            let text = self.text();
            if is_right(&text) {
                return text;
            }
            assert!(begin.elapsed() < PATIENCE, "this is not what was waited for:\n{text}");
            sleep(PAUSE);
        }
    }

    /// Waits until what is seen is right and is still so a moment later: nothing of it is half drawn.
    pub fn settled(&self, is_right: impl Fn(&str) -> bool) -> String {
        loop {
            let text = self.wait(&is_right);
            sleep(2 * PAUSE);
            if self.text() == text {
                return text;
            }
        }
    }

    /// Waits until that is seen.
    pub fn wait_for(&self, part: &str) -> String {
        self.wait(|text| text.contains(part))
    }

    /// Types text.
    pub fn write(&self, text: &str) {
        self.run(&["send-keys", "-l", "--", text]);
    }

    /// Types all of it at once, as a paste does.
    pub fn paste(&self, text: &str) {
        let file = self.folder.join("pasted");
        std::fs::write(&file, text).expect("a file");
        self.run(&["load-buffer", &file.display().to_string()]);
        self.run(&["paste-buffer", "-r"]);
    }

    /// What is seen, with the sequences that set colours.
    pub fn styled_text(&self) -> String {
        String::from_utf8_lossy(&self.run(&["capture-pane", "-e", "-p"]).stdout).into_owned()
    }

    /// Presses keys by tmux's names.
    pub fn press(&self, keys: &[&str]) {
        for key in keys {
            self.run(&["send-keys", key]);
            if *key == "Escape" {
                self.wait_until_read();
            }
        }
    }

    /// Waits until the program in the terminal has read all that was typed: what follows an Escape at once would be taken for one key with
    /// it.
    fn wait_until_read(&self) {
        // By then the server has written what it was told before.
        let name = self.variable("pane_tty");
        let terminal = OpenOptions::new()
            .read(true)
            .custom_flags(nix::libc::O_NOCTTY | nix::libc::O_NONBLOCK)
            .open(name);
        let terminal = terminal.expect("the terminal of the pane");
        sleep(PAUSE);
        let begin = Instant::now();
        while rustix::io::ioctl_fionread(&terminal).expect("a terminal") > 0 {
            assert!(begin.elapsed() < PATIENCE, "what was typed is not read");
            sleep(PAUSE);
        }
    }

    /// Types a line.
    pub fn line(&self, line: &str) {
        self.write(line);
        self.press(&["Enter"]);
    }

    /// Runs a command to its end, and returns what it says, and its code behind `END`.
    pub fn ask(&self, line: &str) -> String {
        // What is seen may still be the end of the last one.
        let number = self.asked.fetch_add(1, Ordering::Relaxed);
        self.line(&format!("clear; {line}; echo END$? of {number}"));
        let end = format!(" of {number}");
        self.wait(|text| text.lines().any(|line| line.starts_with("END") && line.ends_with(&end)))
    }

    /// Another size.
    pub fn resize(&self, width: u16, height: u16) {
        self.run(&["resize-window", "-x", &width.to_string(), "-y", &height.to_string()]);
    }

    /// Starts the screen, and waits for its first interval.
    pub fn start(&self, options: &str) {
        self.start_with("", options);
    }

    /// Likewise with something before the command.
    pub fn start_with(&self, before: &str, options: &str) {
        self.line(&format!("clear; {before} {} top {options}", env!("CARGO_BIN_EXE_cpuledger")));
        self.wait_for_screen();
    }

    /// Waits until the table is there.
    pub fn wait_for_screen(&self) -> String {
        self.wait(|text| text.contains("COMMAND"))
    }

    /// The modes of the terminal, as stty(1) tells them.
    pub fn modes(&self) -> String {
        self.ask("stty -g").lines().find(|line| line.contains(':')).unwrap_or_default().to_owned()
    }

    /// Waits for the shell, then looks whether everything is as it was.
    pub fn assert_restored(&self, modes: &str) {
        self.wait(|text| text.trim_end().ends_with(PROMPT));
        assert_eq!(self.variable("alternate_on"), "0", "the other screen");
        assert_eq!(self.variable("cursor_flag"), "1", "the cursor");
        assert_eq!(self.variable("mouse_any_flag"), "0", "the mouse");
        assert_eq!(self.modes(), modes, "the modes of the terminal");
    }

    /// Ends the screen, and waits for the shell.
    pub fn quit(&self) {
        self.press(&["q"]);
        self.wait(|text| text.trim_end().ends_with(PROMPT));
    }

    /// The pid of the screen, which is the newest child of the shell.
    pub fn pid(&self) -> i32 {
        let shell = self.variable("pane_pid");
        let path = format!("/proc/{shell}/task/{shell}/children");
        let children = std::fs::read_to_string(path).expect("the shell lives");
        children.split_whitespace().last().and_then(|pid| pid.parse().ok()).expect("the screen runs")
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.command(&["kill-server"]).output();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
