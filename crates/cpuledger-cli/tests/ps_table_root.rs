//! A table of invocations, good and bad, against ps of procps on the same tasks, which this test makes. Good ones give the same lines
//! in the same order, headers and exit code. Bad ones give the same exit code, and one sentence.

mod procps;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use cpuledger_load::Zoo;
use procps::{Version, first_differences};

const TABLE: &str = include_str!("ps_table/table.txt");

/// A timer may run a sleeping task between two listings.
const ATTEMPTS: usize = 5;

/// As many invocations as there have to be.
const LEAST_INVOCATIONS: usize = 120;

const START_LIMIT: Duration = Duration::from_secs(60);

/// Columns that change while nothing happens. They need not be equal, but are as wide.
const VOLATILE: &[&str] = &["%CPU", "C", "CP", "PSR", "RSS", "%MEM", "P", "SZ:RSS"];

/// One line of the table.
struct Case<'a> {
    line: &'a str,
    /// Whether lines of other processes are left out.
    only_ours: bool,
    variables: Vec<(String, String)>,
    arguments: Vec<String>,
}

impl<'a> Case<'a> {
    fn new(line: &'a str, names: &BTreeMap<&str, String>) -> Case<'a> {
        let (only_ours, rest) = match line.strip_prefix("~ ") {
            Some(rest) => (true, rest),
            None => (false, line),
        };
        let (variables, arguments) = rest.split_once(" @ ").unwrap_or(("", rest));
        let pair = |word: String| {
            let (name, value) = word.split_once('=').expect("a variable has a value");
            (name.to_owned(), value.to_owned())
        };
        let mut filled = arguments.to_owned();
        for (name, value) in names {
            filled = filled.replace(&format!("{{{name}}}"), value);
        }
        Case {
            line,
            only_ours,
            variables: words(variables).into_iter().map(pair).collect(),
            arguments: words(&filled),
        }
    }

    fn run(&self, program: &str, first: &[&str]) -> Output {
        let mut command = Command::new(program);
        command.args(first).args(&self.arguments).stdin(Stdio::null()).env("LC_ALL", "C.UTF-8");
        for name in
            ["COLUMNS", "LINES", "PS_FORMAT", "PS_PERSONALITY", "CMD_ENV", "I_WANT_A_BROKEN_PS", "_XPG"]
        {
            command.env_remove(name);
        }
        let variables = self.variables.iter().map(|(name, value)| (name, value));
        command.envs(variables).output().unwrap_or_else(|error| panic!("{program} does not start: {error}"))
    }

    fn procps(&self) -> Output {
        self.run(&procps::program(), &[])
    }

    fn ours(&self, source: &str) -> Output {
        self.run(env!("CARGO_BIN_EXE_cpuledger"), &["ps", "--source", source])
    }

    /// The lines that have to agree, volatile cells blanked out.
    fn lines(&self, output: &Output, pids: &[String]) -> Vec<String> {
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let header = text.lines().next().unwrap_or_default().to_owned();
        let is_ours = |line: &str| line.split_whitespace().any(|word| pids.iter().any(|pid| pid == word));
        text.lines()
            .enumerate()
            .filter(|(index, line)| !self.only_ours || *index == 0 || is_ours(line))
            .map(|(_, line)| mask(&header, line))
            .collect()
    }

    /// What differs, and how many rows were compared; empty: nothing.
    fn difference(&self, source: &str, pids: &[String]) -> (String, usize) {
        let before = self.procps();
        let ours = self.ours(source);
        let after = self.procps();
        let mut difference = String::new();
        if ours.status.code() != before.status.code() {
            difference += &format!("code {:?}, procps {:?}\n", ours.status.code(), before.status.code());
        }
        if before.stdout.is_empty() && !before.status.success() {
            let sentence = String::from_utf8_lossy(&ours.stderr).into_owned();
            if !ours.stdout.is_empty()
                || !sentence.starts_with("cpuledger: ")
                || sentence.lines().count() != 1
            {
                difference += &format!("no sentence but {sentence:?}\n");
            }
            return (difference, 0);
        }
        let (before, ours, after) =
            (self.lines(&before, pids), self.lines(&ours, pids), self.lines(&after, pids));
        if ours != before && ours != after {
            difference += &first_differences(&before, &ours);
        }
        (difference, before.len().saturating_sub(1))
    }
}

/// The invocation without the versions that it is for, in front; `None` where this one is none of them.
fn of_version(line: &str, version: Version) -> Option<&str> {
    let split = line.split_once(' ').and_then(|(first, rest)| {
        let (number, since) = first
            .strip_suffix('+')
            .map(|number| (number, true))
            .or_else(|| Some((first.strip_suffix('-')?, false)))?;
        Some((Version::told(number)?, since, rest))
    });
    match split {
        None => Some(line),
        Some((bound, since, rest)) => (since == (version >= bound)).then_some(rest),
    }
}

/// Words with blanks between; quotes hold words together.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut is_quoted = false;
    for character in text.chars() {
        match character {
            '"' => {
                is_quoted = !is_quoted;
                word.get_or_insert_with(String::new);
            }
            ' ' if !is_quoted => words.extend(word.take()),
            _ => word.get_or_insert_with(String::new).push(character),
        }
    }
    words.extend(word);
    words
}

/// The line with volatile cells blanked out, word by word of the header; figures of a cell that is as wide.
fn mask(header: &str, line: &str) -> String {
    let mut masked = line.as_bytes().to_vec();
    let mut begin = 0;
    for (column, word) in header.split_whitespace().zip(line.split_whitespace()) {
        let start = begin + line[begin..].find(word).expect("a word of the line");
        let end = start + word.len();
        if VOLATILE.contains(&column) && column != word {
            masked[begin..end].fill(b'~');
        }
        begin = end;
    }
    String::from_utf8_lossy(&masked).into_owned()
}

/// Processes that sleep until this is dropped.
struct Tree {
    shell: Child,
}

impl Tree {
    /// A session: a shell, two sleepers and another shell with two of its own.
    fn start() -> Tree {
        let script = "sleep 1001 & sh -c 'sleep 1002 & sleep 1003 & wait; :' & sleep 1004 & wait; :";
        let shell = Command::new("setsid")
            .args(["sh", "-c", script])
            .env_clear()
            .envs([("PATH", "/usr/bin:/bin"), ("KIND", "tree")])
            .stdin(Stdio::null())
            .spawn()
            .expect("setsid and sh start");
        let tree = Tree { shell };
        let begun = Instant::now();
        // Two shells and four sleepers, which begin as shells.
        while tree.members().iter().filter(|(_, _, name)| name == "sleep").count() < 4 {
            assert!(begun.elapsed() < START_LIMIT, "the tree does not grow: {:?}", tree.members());
            std::thread::sleep(Duration::from_millis(10));
        }
        tree
    }

    fn pid(&self) -> i32 {
        self.shell.id() as i32
    }

    /// Pid, parent and first argument of each member that is what it will be.
    fn members(&self) -> Vec<(i32, i32, String)> {
        let mut members: Vec<(i32, i32, String)> = std::fs::read_dir("/proc")
            .expect("/proc")
            .flatten()
            .filter_map(|entry| member(&entry.path(), self.pid()))
            .collect();
        members.sort_unstable();
        members
    }
}

/// A process for which a signal waits; it is gone when this is dropped.
struct Waiting(Child);

impl Waiting {
    fn start() -> Waiting {
        let mut command = Command::new("env");
        command.args(["--block-signal=USR1", "sleep", "1005"]).stdin(Stdio::null());
        let waiting = Waiting(command.spawn().expect("env starts"));
        let begun = Instant::now();
        while std::fs::read_to_string(format!("/proc/{}/comm", waiting.0.id())).ok().as_deref()
            != Some("sleep\n")
        {
            assert!(begun.elapsed() < START_LIMIT, "env does not become sleep");
            std::thread::sleep(Duration::from_millis(10));
        }
        let pid = rustix::process::Pid::from_child(&waiting.0);
        rustix::process::kill_process(pid, rustix::process::Signal::USR1).expect("a signal is sent");
        waiting
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A process of that session, as its files tell.
fn member(directory: &Path, session: i32) -> Option<(i32, i32, String)> {
    let pid: i32 = directory.file_name()?.to_str()?.parse().ok()?;
    let stat = std::fs::read_to_string(directory.join("stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(1);
    let (parent, _, sid) = (fields.next()?, fields.next()?, fields.next()?);
    let program = std::fs::read_to_string(directory.join("comm")).ok()?.trim().to_owned();
    let cmdline = std::fs::read(directory.join("cmdline")).ok()?;
    let begins_with = |name: &[u8]| cmdline.starts_with(name);
    let is_settled = begins_with(b"sleep\0") && program == "sleep" || begins_with(b"sh\0") && program == "sh";
    (sid.parse() == Ok(session) && is_settled)
        .then(|| parent.parse().ok().map(|parent| (pid, parent, program)))?
}

impl Drop for Tree {
    fn drop(&mut self) {
        for (pid, ..) in self.members() {
            if let Some(pid) = rustix::process::Pid::from_raw(pid) {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        }
        let _ = self.shell.wait();
    }
}

#[test]
fn a_table_of_invocations_agrees_with_procps_root() {
    compare("auto");
}

#[test]
fn the_table_agrees_with_procps_from_the_walk_too_root() {
    compare("walk");
}

fn compare(source: &str) {
    let zoo = Zoo::start_only(&["threads", "users", "terminal"]).expect("the zoo starts; it needs root");
    let tree = Tree::start();
    let waiting = Waiting::start();
    let member = |kind: &str| zoo.member(kind).unwrap_or_else(|| panic!("no {kind}"));
    let members = tree.members();
    let child = |parent: i32, program: &str| {
        let found = members.iter().find(|(_, ppid, name)| *ppid == parent && name == program);
        found.unwrap_or_else(|| panic!("no {program} below {parent} in {members:?}")).0
    };
    let inner = child(tree.pid(), "sh");
    let names = BTreeMap::from([
        ("tree", tree.pid().to_string()),
        ("child", child(tree.pid(), "sleep").to_string()),
        ("inner", inner.to_string()),
        ("leaf", child(inner, "sleep").to_string()),
        ("threads", member("threads").pid.to_string()),
        ("user", member("users").pid.to_string()),
        ("uid", member("users").truth.uids.expect("users have uids")[1].to_string()),
        ("tty", member("terminal").truth.terminal.clone().expect("a terminal")),
        ("ttypid", member("terminal").pid.to_string()),
        ("waiting", waiting.0.id().to_string()),
    ]);
    let mut pids: Vec<String> = members.iter().map(|(pid, ..)| pid.to_string()).collect();
    pids.extend(zoo.members().iter().map(|member| member.pid.to_string()));

    let version = Version::here();
    let lines = TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let lines = lines.filter_map(|line| of_version(line, version));
    let cases: Vec<Case<'_>> = lines.map(|line| Case::new(line, &names)).collect();
    assert!(cases.len() >= LEAST_INVOCATIONS, "{} invocations", cases.len());
    let mut wrong = Vec::new();
    let mut with_rows = 0;
    for case in &cases {
        let (mut difference, mut rows) = case.difference(source, &pids);
        for _ in 1..ATTEMPTS {
            if difference.is_empty() {
                break;
            }
            (difference, rows) = case.difference(source, &pids);
        }
        with_rows += usize::from(rows > 0);
        if !difference.is_empty() {
            wrong.push(format!("`ps {}`\n{difference}", case.line));
        }
    }
    assert!(with_rows >= LEAST_INVOCATIONS, "only {with_rows} invocations list anything");
    assert!(
        wrong.is_empty(),
        "{} of {} from {source} differ:\n{}",
        wrong.len(),
        cases.len(),
        wrong.join("\n")
    );
}

#[test]
fn words_are_those_of_a_shell() {
    assert_eq!(words(r#"-o "a b"  "" c"#), ["-o", "a b", "", "c"]);
    assert_eq!(of_version("4.0.6+ -ad", Version(4, 0, 6)), Some("-ad"));
    assert_eq!(of_version("4.0.6+ -ad", Version(4, 0, 4)), None);
    assert_eq!(of_version("4.0.6- -ad", Version(4, 0, 4)), Some("-ad"));
    assert_eq!(of_version("-1 -2", Version(4, 0, 4)), Some("-1 -2"));
    assert_eq!(mask("PID RSS COMMAND", "  7  12 x"), "  7~~~~ x");
}
