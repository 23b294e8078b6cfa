//! Many busy loops, which are runnable at once.

use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use cpuledger::machine::come_in_real_time;

/// A shell that forks them. They end with this value, and with the test, however that ends: the shell reads from a pipe of the test.
pub struct Loops(Child);

impl Loops {
    /// This thread comes before them from now on, as the one that closes intervals does in the service: else it waits with them, and intervals are
    /// so long that all of them run.
    ///
    /// `launcher`: the words before the shell. `before`: what each does before it loops, a line of sh that has `parameter` as `$0`.
    pub fn start(count: usize, launcher: &[&str], before: &str, parameter: &str) -> Loops {
        come_in_real_time(false).expect("it needs root");
        let script = format!(
            "i=0; while [ $i -lt {count} ]; do ({before} while :; do :; done) & i=$((i+1)); done; read -r _; kill -KILL 0"
        );
        let words: Vec<&str> =
            launcher.iter().copied().chain(["sh", "-c", script.as_str(), parameter]).collect();
        let mut command = Command::new(words[0]);
        let shell = command.args(&words[1..]).stdin(Stdio::piped()).process_group(0).spawn();
        Loops(shell.expect("it starts"))
    }

    /// Those that have been made.
    pub fn pids(&self) -> Vec<i32> {
        let pid = self.0.id();
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        children.split_whitespace().map(|pid| pid.parse().expect("a number")).collect()
    }
}

impl Drop for Loops {
    fn drop(&mut self) {
        let group = rustix::process::Pid::from_child(&self.0);
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        let _ = self.0.wait();
    }
}
