#![allow(dead_code)] // each test has its own part of it
//! A machine in a bad state, every command on it, and what may come of that: an answer, or one sentence and a documented exit code.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;

/// Timeout in seconds, longer than anything here takes on a busy machine.
const HANGS_AFTER: &str = "120";

/// The sources by name.
pub const SOURCES: [&str; 4] = ["ledger", "walk", "netlink", "procfs"];

/// A command line, and the source that it insists on.
#[derive(Debug, Clone, Copy)]
pub struct Form {
    pub line: &'static str,
    pub source: Option<&'static str>,
}

const fn form(line: &'static str, source: Option<&'static str>) -> Form {
    Form { line, source }
}

/// What is run on each machine.
pub const FORMS: &[Form] = &[
    form("ps -ef", None),
    form("ps aux --source walk", Some("walk")),
    form("ps -e --source netlink --format json", Some("netlink")),
    form("top --batch -n 1 -d 0.05 -H -c", None),
    form("top --batch -n 2 -d 0.05 --source ledger --format json", Some("ledger")),
    form("top --batch -n 2 -d 0.05 --source procfs --format json", Some("procfs")),
    form("status --all", None),
];

/// What is run besides where a machine is looked at thoroughly.
pub const MORE_FORMS: &[Form] = &[
    form("doctor", None),
    form("ps axm -o pid,tid,comm,cgroup,wchan:20,args", None),
    form("ps -eLf --source procfs", Some("procfs")),
    form("top --batch -n 2 -d 0.05 --source walk --format csv", Some("walk")),
    form("top --batch -n 2 -d 0.05 --source netlink", Some("netlink")),
    form("status --all -H --as stat --source walk", Some("walk")),
];

/// What stands before the binary: words that make the machine what it is.
pub struct Machine {
    before: Vec<String>,
    binary: PathBuf,
    is_copy: bool,
    more_forms: &'static [Form],
}

impl Machine {
    /// These words, `unshare` or `setpriv` and the like, and then the binary.
    pub fn new(before: &[&str]) -> Machine {
        Machine {
            before: before.iter().map(|word| (*word).to_owned()).collect(),
            binary: env!("CARGO_BIN_EXE_cpuledger").into(),
            is_copy: false,
            more_forms: &[],
        }
    }

    /// The same with more command lines.
    pub fn thoroughly(mut self) -> Machine {
        self.more_forms = MORE_FORMS;
        self
    }

    /// A mount namespace of its own, in which this script has run.
    pub fn mounted(script: &str) -> Machine {
        Machine::new(&["unshare", "--mount", "sh", "-ec", &format!("{script}\nexec \"$@\""), "sh"])
    }

    /// The same, and then these words.
    pub fn and(mut self, words: &[&str]) -> Machine {
        self.before.extend(words.iter().map(|word| (*word).to_owned()));
        self
    }

    /// The same for users who may not enter the folder of the build: a copy of the binary.
    pub fn for_every_user(mut self) -> Machine {
        static COPIES: AtomicU32 = AtomicU32::new(0);
        let number = COPIES.fetch_add(1, Ordering::Relaxed);
        let name = format!("cpuledger-hostile-{}-{number}", std::process::id());
        let copy = std::env::temp_dir().join(name);
        // By another program: a descriptor open for writing, inherited by the child of another test, would forbid the exec.
        let copied = Command::new("cp").arg(&self.binary).arg(&copy).status().expect("cp runs");
        assert!(copied.success());
        (self.binary, self.is_copy) = (copy, true);
        self
    }

    /// The binary that is run.
    pub fn binary(&self) -> &Path {
        &self.binary
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("timeout");
        command.args(["--kill-after", "5", HANGS_AFTER]).args(&self.before).arg(&self.binary).args(arguments);
        command.stdin(Stdio::null()).env_remove("RUST_BACKTRACE");
        command
    }

    /// Runs it. Whatever comes of it has to be an answer, or a sentence.
    pub fn run(&self, line: &str) -> Output {
        let arguments: Vec<&str> = line.split(' ').collect();
        let output =
            self.command(&arguments).output().expect("timeout runs: install coreutils and util-linux");
        assert_is_an_answer(line, &output);
        output
    }

    /// Runs doctor, and every form; those succeed for which one of these sources is enough, and no other.
    pub fn has_sources(&self, usable: &[&str]) {
        assert_eq!(self.usable(), usable, "what doctor finds");
        for form in FORMS.iter().chain(self.more_forms) {
            let works = form.source.map_or(!usable.is_empty(), |source| usable.contains(&source));
            let output = self.run(form.line);
            let expected = if works { 0 } else { 3 };
            assert_eq!(output.status.code(), Some(expected), "{}: {}", form.line, error_of(&output));
            assert!(!works || !output.stdout.is_empty(), "{}", form.line);
        }
    }

    /// Runs every form; each may succeed or not, in a sentence.
    pub fn answers(&self) {
        for form in FORMS.iter().chain(self.more_forms) {
            self.run(form.line);
        }
    }

    /// What doctor finds.
    pub fn report(&self) -> Value {
        let output = self.run("doctor --format json");
        serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", error_of(&output)))
    }

    /// The sources that doctor finds usable.
    pub fn usable(&self) -> Vec<String> {
        let report = self.report();
        let sources = report["sources"].as_array().expect("a list");
        let usable = sources.iter().filter(|source| source["usable"] == true);
        usable.map(|source| source["source"].as_str().expect("a name").to_owned()).collect()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        if self.is_copy {
            let _ = std::fs::remove_file(&self.binary);
        }
    }
}

/// What was said on standard error.
pub fn error_of(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// No panic, no hang, no signal; a documented code; in case of a failure one sentence, and none by a library.
pub fn assert_is_an_answer(line: &str, output: &Output) {
    let error = error_of(output);
    // The C library ends a program itself that has no memory left for a list of its own: nothing of ours runs then.
    if error.starts_with("Fatal glibc error: ") && error.ends_with("out of memory\n") {
        return;
    }
    let code = output.status.code().unwrap_or_else(|| panic!("{line} ends by {}: {error}", output.status));
    assert!((0..=3).contains(&code), "{line} ends with {code}: {error}");
    let sentences: Vec<&str> = error.lines().collect();
    assert!(sentences.iter().all(|sentence| sentence.starts_with("cpuledger: ")), "{line}: {error}");
    assert!(!error.contains(|letter: char| letter.is_control() && letter != '\n'), "{line}: {error:?}");
    if code != 0 {
        // Before it there may be what is missing and does no harm.
        assert!(!sentences.is_empty(), "{line} ends with {code} and says nothing");
    }
}
