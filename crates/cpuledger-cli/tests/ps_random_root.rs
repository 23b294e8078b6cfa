//! Option lines by chance against ps of procps, in a PID namespace where nothing else happens: the same exit code and the
//! same lines, or docs/ps.md says what differs. 150 lines, 5,000 with `CPULEDGER_TEST_FULL=1`. `CPULEDGER_TEST_PS` names
//! another ps to compare with, `CPULEDGER_TEST_SEED` makes other lines.

#[path = "ps_random/lines.rs"]
mod lines;
mod procps;
#[path = "ps_random/world.rs"]
mod world;

use std::collections::BTreeMap;

use cpuledger_load::Member;
use lines::{Dice, Line, Lines, Names};
use procps::{Version, first_differences};
use world::{LISTER, Outcome, RUNNER, World, quoted};

const SHORT: usize = 150;
const FULL: usize = 5_000;
/// At least one line in this number has to list something.
const ONE_LISTS_IN: usize = 3;
/// A second may begin between two listings.
const ATTEMPTS: usize = 6;

/// One of each kind, but for those that use CPU time, or write what versions of procps write differently.
const KINDS: &[&str] = &[
    "sleeper",
    "zombie",
    "stopped",
    "leader-exited",
    "users",
    "terminal",
    "session",
    "nice-7",
    "nice-minus-5",
    "fifo",
    "round-robin",
    "batch",
    "idle-policy",
    "arguments-long",
    "arguments-empty",
    "arguments-none",
    "comm-spaces",
    "comm-parentheses",
    "comm-tab-backslash",
    "comm-escape",
    "comm-15",
    "locked",
];

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Ours and that of procps, in a world of their own.
struct Pair {
    world: World,
    theirs: String,
    version: Version,
    /// Numbers whose lines are left out.
    left_out: Vec<String>,
}

impl Pair {
    fn start() -> Pair {
        let world = World::start(KINDS);
        let (theirs, version) = (procps::program(), Version::here());
        let mut left_out = vec![RUNNER.to_owned(), LISTER.to_owned()];
        if !version.marks_the_dead() {
            let is_other = |member: &&Member| member.truth.state == "Z" || member.kind == "arguments-empty";
            let dead = world.members.iter().filter(is_other);
            left_out.extend(dead.map(|member| member.pid.to_string()));
        }
        Pair { world, theirs, version, left_out }
    }

    fn run(&mut self, program: &str, line: &Line) -> Outcome {
        let words: Vec<String> = line.arguments.iter().map(|word| quoted(word)).collect();
        let variables = line.variables.join(" ");
        self.world.run(&format!("env {variables} {program} {}", words.join(" ")))
    }

    /// What differs; empty: nothing. And whether anything was listed.
    fn difference(&mut self, line: &Line) -> (String, bool) {
        let theirs = self.theirs.clone();
        let ours = format!("{} ps --source auto", env!("CARGO_BIN_EXE_cpuledger"));
        let before = self.run(&theirs, line);
        let ours = self.run(&ours, line);
        let after = self.run(&theirs, line);
        let rows = |outcome: &Outcome| self.rows(line, outcome);
        let (before_rows, our_rows, after_rows) = (rows(&before), rows(&ours), rows(&after));
        let mut difference = String::new();
        if ours.code != before.code {
            difference += &format!(
                "code {}, procps {} {}{}\n",
                ours.code,
                before.code,
                before.stderr.lines().next().unwrap_or_default(),
                ours.stderr
            );
        }
        if our_rows != before_rows && our_rows != after_rows {
            difference += &first_differences(&before_rows, &our_rows);
        }
        (difference, before_rows.len() > 1)
    }

    /// The lines except those of the listing process; where threads stand below their process, the line of its one thread is the next.
    fn rows(&self, line: &Line, outcome: &Outcome) -> Vec<String> {
        let text = String::from_utf8_lossy(&outcome.stdout);
        let is_left_out = |row: &str| {
            let mut words = row.split(|character: char| !character.is_ascii_digit());
            words.any(|word| self.left_out.iter().any(|number| number == word))
        };
        let has_thread_below = line.arguments.iter().any(|argument| matches!(argument.as_str(), "m" | "-m"));
        let mut rows = Vec::new();
        let mut lines = text.lines();
        while let Some(row) = lines.next() {
            match is_left_out(row) {
                true if has_thread_below => drop(lines.next()),
                true => {}
                false => rows.push(row.to_owned()),
            }
        }
        rows
    }

    fn names(&self) -> Names {
        let members = &self.world.members;
        let member = |kind: &str| {
            members.iter().find(|member| member.kind == kind).unwrap_or_else(|| panic!("no member {kind}"))
        };
        let numbers = |numbers: &[i32]| numbers.iter().map(i32::to_string).collect::<Vec<_>>();
        let uids = member("users").truth.uids.expect("users have uids");
        let gids = member("users").truth.gids.expect("users have gids");
        let terminal = member("terminal").truth.terminal.clone().expect("a terminal");
        let pids: Vec<i32> = members.iter().map(|member| member.pid).collect();
        let mut pid = numbers(&pids);
        pid.extend(["1".to_owned(), "29999".to_owned()]);
        pid.sort_by_key(|pid| pid.parse::<i32>().unwrap_or(0));
        let mut user: Vec<String> = uids.iter().map(u32::to_string).collect();
        user.extend(["root", "0", "daemon"].map(str::to_owned));
        let mut group: Vec<String> = gids.iter().map(u32::to_string).collect();
        group.extend(["root", "0"].map(str::to_owned));
        let mut sid = numbers(&[member("session").pid, 1, member("terminal").pid]);
        sid.sort();
        let tty =
            vec![terminal.trim_start_matches("/dev/").to_owned(), terminal, "?".to_owned(), "-".to_owned()];
        let comm =
            ["sh", "sleep", "zombie", "fifteen-letters", "nosuch", "threads"].map(str::to_owned).to_vec();
        BTreeMap::from([
            ("pid", pid),
            ("user", user),
            ("group", group),
            ("sid", sid),
            ("tty", tty),
            ("comm", comm),
        ])
    }
}

#[test]
fn lines_by_chance_agree_with_procps_root() {
    let count = if variable("CPULEDGER_TEST_FULL").is_some() { FULL } else { SHORT };
    let count = variable("CPULEDGER_TEST_LINES").and_then(|count| count.parse().ok()).unwrap_or(count);
    let seed = variable("CPULEDGER_TEST_SEED").and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let mut pair = Pair::start();
    let names = pair.names();
    let mut lines = Lines { dice: Dice::new(seed), names: &names, version: pair.version };
    let (mut wrong, mut listing) = (Vec::new(), 0);
    for _ in 0..count {
        let line = lines.next();
        let (mut difference, mut lists) = pair.difference(&line);
        for _ in 1..ATTEMPTS {
            if difference.is_empty() {
                break;
            }
            (difference, lists) = pair.difference(&line);
        }
        listing += usize::from(lists);
        if !difference.is_empty() {
            wrong.push(format!("{} ps {}\n{difference}", line.variables.join(" "), line.arguments.join(" ")));
        }
    }
    println!(
        "{count} lines of seed {seed} against {:?}: {listing} list something, {} differ",
        pair.version,
        wrong.len()
    );
    assert!(listing * ONE_LISTS_IN >= count, "only {listing} of {count} lines list anything");
    assert!(wrong.is_empty(), "{} of {count} differ:\n{}", wrong.len(), wrong.join("\n"));
}
