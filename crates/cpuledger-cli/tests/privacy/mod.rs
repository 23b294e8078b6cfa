//! Tasks of three users, of each kind that the kernel guards in a way of its own, and what `cat` gets of them in /proc.

use std::collections::BTreeSet;
use std::fs;
use std::io::PipeWriter;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The users, with groups of the same numbers.
pub const USERS: [u32; 3] = [40_000_101, 40_000_102, 40_000_103];
/// The group of `gid=`.
pub const GROUP_OF_MOUNT: u32 = 40_000_900;
/// Another group of the first user.
pub const OTHER_GROUP: u32 = 40_000_901;

/// Plain processes of each user.
const PLAIN: usize = 22;

/// A user with its groups, as a command of util-linux becomes it.
#[derive(Debug, Clone)]
pub struct As {
    pub uid: u32,
    pub gid: u32,
    pub groups: Vec<u32>,
    /// In a user namespace of its own.
    pub in_namespace: bool,
}

impl As {
    pub fn user(uid: u32) -> As {
        As { uid, gid: uid, groups: Vec::new(), in_namespace: false }
    }

    /// Words that run a program as this user.
    pub fn words(&self) -> Vec<String> {
        let groups = match &*self.groups {
            [] => "--clear-groups".to_owned(),
            groups => format!("--groups={}", groups.iter().map(u32::to_string).collect::<Vec<_>>().join(",")),
        };
        let mut words =
            vec!["setpriv".into(), format!("--reuid={}", self.uid), format!("--regid={}", self.gid), groups];
        if self.in_namespace {
            words.extend(["unshare", "--user", "--map-root-user"].map(String::from));
        }
        words
    }

    /// A command as this user.
    pub fn command(&self, program: &Path) -> Command {
        let words = self.words();
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).arg(program).stdin(Stdio::null());
        command
    }
}

/// A process of the scene.
#[derive(Debug)]
pub struct Actor {
    pub child: Child,
    pub name: String,
    pub kind: &'static str,
}

impl Actor {
    pub fn pid(&self) -> i32 {
        self.child.id().cast_signed()
    }
}

/// All of them. They end when this is dropped.
#[derive(Debug)]
pub struct Cast {
    pub actors: Vec<Actor>,
    /// They read the other end.
    hold: Option<PipeWriter>,
}

impl Cast {
    /// Starts them, and waits until each is what it is to be. The folder holds the programs, and is open to all users.
    pub fn start(folder: &Path) -> Cast {
        let program = folder.join("actor");
        copy(cpuledger_load::program().expect("the program of workloads"), &program);
        let (input, hold) = std::io::pipe().expect("a pipe");
        let mut cast = Cast { actors: Vec::new(), hold: Some(hold) };
        for (index, &uid) in USERS.iter().enumerate() {
            let other = USERS[(index + 1) % USERS.len()];
            let mut add = |kind, mut command: Command, arguments: &str| {
                let name = format!("act{index}x{}", cast.actors.len());
                command.arg("actor").args(["--name", &name]).args(arguments.split_whitespace());
                let input = input.try_clone().expect("a descriptor");
                let child = command.stdin(input).spawn().unwrap_or_else(|error| panic!("{kind}: {error}"));
                cast.actors.push(Actor { child, name, kind });
            };
            let taking = |more: &str| format!("--groups {uid},{uid},{uid} {more}");
            let root = || Command::new(&program);
            let user = || As::user(uid).command(&program);
            let own = format!("--users {uid},{uid},{uid}");
            for _ in 0..PLAIN {
                add("plain", user(), "");
            }
            for _ in 0..2 {
                add("became", root(), &taking(&format!("{own} --dumpable true")));
                add("not dumpable", user(), "--dumpable false");
                add("changed, and not dumpable for it", root(), &taking(&own));
                add("saved user", root(), &taking(&format!("--users {uid},{uid},{other} --dumpable true")));
                add(
                    "effective user",
                    root(),
                    &taking(&format!("--users {uid},{other},{other} --dumpable true")),
                );
                add("real user", root(), &taking(&format!("--users {other},{uid},{uid} --dumpable true")));
                add("capable", root(), &taking(&format!("{own} --capable --dumpable true")));
                add(
                    "thread with another user",
                    root(),
                    &taking(&format!("{own} --saved-user-of-thread {other} --dumpable true")),
                );
                let groups = format!("--groups {uid},{uid},{OTHER_GROUP} {own} --dumpable true");
                add("saved group", root(), &groups);
                let of_root = set_id(folder, &program, "of-root", 0, 0o4755);
                add("setuid root", As::user(uid).command(&of_root), "");
                let of_other = set_id(folder, &program, &format!("of-{other}"), other, 0o4755);
                add("setuid", As::user(uid).command(&of_other), "");
                let namespaced = As { in_namespace: true, ..As::user(uid) };
                add("user namespace", namespaced.command(&program), "");
            }
            add("zombie child", user(), "--zombie");
            let mut words = As { in_namespace: true, ..As::user(uid) }.words();
            words.extend(["unshare", "--user", "--map-root-user"].map(String::from));
            let mut nested = Command::new(&words[0]);
            nested.args(&words[1..]).arg(&program);
            add("nested user namespace", nested, "");
        }
        cast.actors.iter().for_each(wait_for);
        // Its second thread does not say when it is ready.
        std::thread::sleep(Duration::from_millis(200));
        cast
    }
}

/// Until it has its name.
fn wait_for(actor: &Actor) {
    let begin = Instant::now();
    let comm = format!("/proc/{}/comm", actor.pid());
    while fs::read_to_string(&comm).unwrap_or_default().trim_end() != actor.name {
        assert!(begin.elapsed() < Duration::from_secs(120), "{actor:?} is not ready");
        std::thread::sleep(Duration::from_millis(5));
    }
}

impl Drop for Cast {
    fn drop(&mut self) {
        drop(self.hold.take());
        for actor in &mut self.actors {
            let _ = actor.child.wait();
        }
    }
}

/// By another program: a descriptor open for writing, inherited by a child, would forbid the exec.
pub fn copy(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg(from).arg(to).status().expect("cp runs").success());
    fs::set_permissions(to, fs::Permissions::from_mode(0o755)).expect("its owner may");
}

fn set_id(folder: &Path, program: &Path, name: &str, uid: u32, mode: u32) -> PathBuf {
    let path = folder.join(name);
    if !path.exists() {
        copy(program, &path);
        chown(&path, Some(uid), None).expect("root may");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("root may");
    }
    path
}

/// What `cat` gets.
#[derive(Debug, Default)]
pub struct Seen {
    /// Processes whose `stat` may be read.
    pub shown: BTreeSet<i32>,
    /// Those, and their threads, whose `io` may be read.
    pub traced: BTreeSet<i32>,
    /// All that were asked for.
    pub asked: BTreeSet<i32>,
}

/// A line for each file that cat can read, of each of these processes and their threads.
const SCRIPT: &str = r#"cd /proc
for pid in "$@"; do
  cat $pid/stat >/dev/null 2>&1 && echo shown $pid
  cat $pid/io >/dev/null 2>&1 && echo traced $pid
  for tid in $pid/task/*; do
    [ $tid = $pid/task/$pid ] || { cat $tid/io >/dev/null 2>&1 && echo traced ${tid##*/}; }
  done
done
exit 0
"#;

impl Seen {
    /// Runs cat as that user.
    pub fn by(user: &As, pids: &BTreeSet<i32>) -> Seen {
        let mut command = user.command(Path::new("sh"));
        command.args(["-c", SCRIPT, "sh"]).args(pids.iter().map(i32::to_string));
        let output = command.output().expect("setpriv runs: install util-linux");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        let mut seen = Seen { asked: pids.clone(), ..Seen::default() };
        for line in text.lines() {
            let (what, number) = line.split_once(' ').expect("two words");
            let number = number.parse().expect("a number");
            if what == "shown" {
                seen.shown.insert(number)
            } else {
                seen.traced.insert(number)
            };
        }
        seen
    }
}

/// The processes that root sees.
pub fn processes() -> BTreeSet<i32> {
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}
