//! A PID namespace in which nothing happens but the listings that are compared: its own /proc, the zoo, a tree of shells,
//! and one process that runs what it is told.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use cpuledger_load::Member;

/// The number of the process that runs the listings, and of each listing: lines in which it stands are left out.
pub const RUNNER: &str = "20001";
pub const LISTER: &str = "30001";

/// The first process: it starts the others.
const INIT: &str = r#"
cd "$1"
exec 3<&0
sleep 100000 | "$2" zoo $3 >zoo.out 2>zoo.err &
sleep 100000 | "$2" sleepers --threads 4 >threads.out 2>&1 &
until grep -q '^ready' threads.out; do sleep 0.05; done
until grep -q '^ready' zoo.out || [ -s zoo.err ]; do sleep 0.05; done
setsid sh -c 'sleep 1001 & sh -c "sleep 1002 & sleep 1003 & wait; :" & sleep 1004 & wait; :' </dev/null >tree.out 2>&1 &
sh -c 'sleep 3000; :' 'C:\dir\new' 'größe' '\x1b' </dev/null >/dev/null 2>&1 &
until [ "$(cat /proc/[0-9]*/comm | grep -c '^sleep$')" -ge 7 ]; do sleep 0.05; done
echo 20000 >/proc/sys/kernel/ns_last_pid
sh run.sh <&3 3<&- &
wait
"#;

/// Runs one command a line, with the same pid each time, and answers with its exit code.
const RUN: &str = r#"
while IFS= read -r line; do
    echo 30000 >/proc/sys/kernel/ns_last_pid
    eval "$line" >out 2>err </dev/null
    echo $?
done
"#;

/// What a command wrote.
#[derive(Debug, Clone)]
pub struct Outcome {
    pub code: i32,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

/// The namespace; it is gone when this is dropped.
pub struct World {
    directory: PathBuf,
    first: Child,
    commands: ChildStdin,
    codes: BufReader<ChildStdout>,
    pub members: Vec<Member>,
}

impl World {
    pub fn start(kinds: &[&str]) -> World {
        let directory =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("ps-random-{}", std::process::id()));
        fs::create_dir_all(&directory).expect("a directory for what is listed");
        fs::write(directory.join("run.sh"), RUN).expect("the script of the runner");
        let only: Vec<String> = kinds.iter().map(|kind| format!("--only {kind}")).collect();
        let mut first = Command::new("setsid")
            .args([
                "unshare",
                "--mount",
                "--pid",
                "--fork",
                "--kill-child",
                "--mount-proc",
                "sh",
                "-c",
                INIT,
                "init",
            ])
            .arg(&directory)
            .arg(cpuledger_load::program().expect("cpuledger-load is built"))
            .arg(only.join(" "))
            .env_clear()
            .envs([("PATH", "/usr/bin:/bin:/usr/sbin:/sbin"), ("LC_ALL", "C.UTF-8"), ("KIND", "member")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("setsid and unshare start");
        let commands = first.stdin.take().expect("a pipe");
        let codes = BufReader::new(first.stdout.take().expect("a pipe"));
        let mut world = World { directory, first, commands, codes, members: Vec::new() };
        let begun = world.run("true");
        assert_eq!(begun.code, 0, "the world does not begin: {}", world.file("zoo.err"));
        let told = world.file("zoo.out");
        let members = told.lines().filter(|line| line.starts_with('{'));
        world.members = members.map(|line| serde_json::from_str(line).expect("a member")).collect();
        world
    }

    fn file(&self, name: &str) -> String {
        fs::read_to_string(self.directory.join(name)).unwrap_or_default()
    }

    /// Runs a command of the shell.
    pub fn run(&mut self, command: &str) -> Outcome {
        writeln!(self.commands, "{command}").expect("the runner reads");
        let mut code = String::new();
        self.codes.read_line(&mut code).expect("the runner answers");
        Outcome {
            code: code.trim().parse().unwrap_or_else(|_| panic!("no exit code of `{command}` but {code:?}")),
            stdout: fs::read(self.directory.join("out")).unwrap_or_default(),
            stderr: self.file("err"),
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = self.first.kill();
        let _ = self.first.wait();
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// A word as a shell takes it.
pub fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}
