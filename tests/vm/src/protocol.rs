//! What the guest says on its console: one event a line, marked, for the kernel writes there too.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::Feature;

/// How a line begins that is an event.
const MARK: &str = "@cpuledger-vm ";

/// Where the initramfs says what there is to run: an object of [`crate::suite::Suite::name`] to [`Listed`].
pub const LISTED: &str = "/tests.json";

/// A test binary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed {
    /// Where it lies in the guest.
    pub path: PathBuf,
    /// Its tests, as it lists them; none: it has to be asked in the guest.
    pub tests: Option<Vec<String>>,
}

/// What became of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It held.
    Passed,
    /// It did not hold.
    Failed,
    /// It did not end in time.
    Late,
    /// It was not run, for this kernel lacks what it needs.
    Lacks(Feature),
    /// It has said itself that it cannot run here; its output is the reason.
    NotRun,
}

/// One statement of the guest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// How long it has been up by its own clock, in milliseconds: the first that it says.
    Uptime(u64),
    /// As uname(2) says it.
    Kernel(String),
    /// Whether the kernel has it.
    Feature(Feature, bool),
    /// A test begins: if the guest dies, it was this one.
    Begins(String),
    /// A test has ended.
    Test {
        /// [`crate::suite::Suite::name`].
        suite: String,
        /// As the test binary lists it.
        name: String,
        /// What became of it.
        outcome: Outcome,
        /// How long it took.
        milliseconds: u64,
        /// What it printed, unless it passed; of one that has not run, the reason.
        output: String,
    },
    /// What the verifier paid for a program, in instructions; 0 where the kernel does not tell.
    Program(String, u32),
    /// A file that shall be there when the guest boots again: the name of the suite, its path, and its bytes in hexadecimal digits.
    Carried(String, PathBuf, String),
    /// The guest has done all it had to: without this line nothing that it said counts.
    Done,
}

impl Event {
    /// The line that says it.
    pub fn line(&self) -> String {
        let text = serde_json::to_string(self).expect("an event has no maps with other keys than strings");
        format!("{MARK}{text}")
    }

    /// What a line of a test says that looks at what the verifier pays: `NAME: COUNT instructions`.
    pub fn of_verifier(line: &str) -> Option<Event> {
        let (name, cost) = line.split_once(": ")?;
        let cost = cost.strip_suffix(" instructions")?.parse().ok()?;
        Some(Event::Program(name.to_owned(), cost))
    }

    /// What a line of a test says that has a file for the next boot of the guest: `carry: PATH DIGITS`.
    pub fn of_carried(suite: &str, line: &str) -> Option<Event> {
        let (path, digits) = line.strip_prefix("carry: ")?.split_once(' ')?;
        Some(Event::Carried(suite.to_owned(), path.into(), digits.to_owned()))
    }

    /// What a line of the console says, if it is an event.
    pub fn parse(line: &str) -> Option<Event> {
        // The kernel may have written the beginning of the line.
        let (_, text) = line.split_once(MARK)?;
        serde_json::from_str(text.trim_end()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_understood() {
        let test = Event::Test {
            suite: "walk_root".to_owned(),
            name: "one\u{1b}\"two\"".to_owned(),
            outcome: Outcome::Lacks(Feature::OpenCodedIterator),
            milliseconds: 12,
            output: "first\nsecond".to_owned(),
        };
        for event in [Event::Done, test, Event::Feature(Feature::Btf, true)] {
            assert_eq!(Event::parse(&format!("[    1.0] random: {}\r\n", event.line())), Some(event));
        }
        assert_eq!(Event::parse("Kernel panic"), None);
        assert_eq!(Event::parse("@cpuledger-vm \"do"), None);
    }

    #[test]
    fn a_file_for_the_next_boot_is_a_line() {
        let event = Event::of_carried("s", "carry: /carried/a 00ff").expect("a file");
        assert_eq!(event, Event::Carried("s".to_owned(), "/carried/a".into(), "00ff".to_owned()));
        assert_eq!(Event::of_carried("s", "carry: nothing"), None);
    }

    #[test]
    fn what_the_verifier_pays_is_a_line() {
        assert_eq!(
            Event::of_verifier("walk_once: 7700 instructions"),
            Some(Event::Program("walk_once".to_owned(), 7700))
        );
        assert_eq!(Event::of_verifier("walk_once: 7700 instructions, and more"), None);
        assert_eq!(Event::of_verifier("walk_once: all instructions"), None);
    }
}
