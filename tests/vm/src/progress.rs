//! What a test binary tells while it runs its tests one after another in one process, as libtest prints it where nothing is captured:
//! `test NAME ... `, then whatever the test prints, then `ok` or `FAILED`.

use std::io;
use std::path::Path;
use std::process::Command;

/// The tests of a test binary, as it lists them.
///
/// # Errors
/// When it cannot be run, or does not list them.
pub fn tests_of(path: &Path) -> io::Result<Vec<String>> {
    let output = Command::new(path).args(["--list", "--format", "terse"]).output()?;
    if !output.status.success() {
        return Err(io::Error::other(format!("{} does not list its tests", path.display())));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
}

/// Follows a test binary through its tests.
#[derive(Debug)]
pub struct Progress {
    /// Those that have not begun.
    waiting: Vec<String>,
    running: Option<String>,
    /// What was printed since the running one has begun.
    printed: String,
    /// Number of bytes already searched for the start of another.
    searched: usize,
    has_failed: bool,
}

/// Something that was heard.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// This test has begun.
    Begun(String),
    /// This test has ended.
    Ended {
        /// As it was listed.
        name: String,
        /// Whether it holds.
        passed: bool,
        /// All that was printed meanwhile.
        printed: String,
    },
}

impl Progress {
    /// Of a process that was told to run these.
    pub fn of(tests: Vec<String>) -> Progress {
        Progress { waiting: tests, running: None, printed: String::new(), searched: 0, has_failed: false }
    }

    /// Goes on by what was printed next.
    pub fn hear(&mut self, text: &str) -> Vec<Step> {
        self.printed.push_str(text);
        let mut steps = Vec::new();
        while let Some((begins, ends, place)) = self.find_beginning() {
            let rest = self.printed.split_off(ends);
            self.printed.truncate(begins);
            if let Some(name) = self.running.take() {
                let passed = ends_with(&self.printed, PASSED);
                steps.push(self.ended(name, passed));
            }
            let name = self.waiting.remove(place);
            steps.push(Step::Begun(name.clone()));
            (self.running, self.printed, self.searched) = (Some(name), rest, 0);
        }
        steps
    }

    /// The process has ended, or was killed: the result of the test that was running, and the tests that have not run yet. If it
    /// ended before its first test, that one has failed. If all tests held and it failed all the same, the last one has.
    pub fn end(mut self, succeeded: bool) -> (Option<Step>, Vec<String>) {
        if self.running.is_none() && !self.waiting.is_empty() {
            self.running = Some(self.waiting.remove(0));
        }
        let running = self.running.take();
        let step = running.map(|name| {
            // What follows is about all of them.
            let own = self.printed.find("\n\nfailures:\n").map_or("", |end| &self.printed[..end]);
            let passed = succeeded || (self.has_failed && ends_with(own, PASSED));
            self.ended(name, passed)
        });
        (step, self.waiting)
    }

    fn ended(&mut self, name: String, passed: bool) -> Step {
        self.has_failed |= !passed;
        Step::Ended { name, passed, printed: std::mem::take(&mut self.printed) }
    }

    /// Where the line stands that begins one of those that wait: its first byte, the one behind it, and whose it is.
    fn find_beginning(&mut self) -> Option<(usize, usize, usize)> {
        let mut begins = self.searched;
        while begins < self.printed.len() {
            let rest = &self.printed[begins..];
            let line = rest.split_inclusive('\n').next().unwrap_or(rest);
            let name = line.strip_prefix("test ").and_then(|line| Some(line.split_once(" ... ")?.0));
            let place = name.and_then(|name| self.waiting.iter().position(|waiting| waiting == name));
            if let (Some(name), Some(place)) = (name, place) {
                return Some((begins, begins + "test  ... ".len() + name.len(), place));
            }
            if !line.ends_with('\n') {
                break;
            }
            begins += line.len();
        }
        self.searched = begins;
        None
    }
}

const PASSED: &str = "ok";

fn ends_with(printed: &str, word: &str) -> bool {
    printed.trim_end().ends_with(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begun(name: &str) -> Step {
        Step::Begun(name.to_owned())
    }

    fn ended(name: &str, passed: bool, printed: &str) -> Step {
        Step::Ended { name: name.to_owned(), passed, printed: printed.to_owned() }
    }

    fn of(names: &[&str]) -> Progress {
        Progress::of(names.iter().map(|name| (*name).to_owned()).collect())
    }

    const ALL: &str = "\nrunning 3 tests\ntest a ... one\ntest b two\nhalfok\ntest m::b ... child\ntest m::b ... ok\n\n\
                       panicked\nFAILED\ntest c ... ok\n";

    #[test]
    fn what_is_printed_belongs_to_the_test_that_runs() {
        let mut progress = of(&["a", "c", "m::b"]);
        let steps = progress.hear(ALL);
        let of_a = [begun("a"), ended("a", true, "one\ntest b two\nhalfok\n")];
        let of_b = [begun("m::b"), ended("m::b", false, "child\ntest m::b ... ok\n\npanicked\nFAILED\n")];
        assert_eq!(steps, of_a.into_iter().chain(of_b).chain([begun("c")]).collect::<Vec<_>>());
        assert!(progress.hear("\nfailures:\n\nfailures:\n    m::b\n").is_empty());
        let (last, waiting) = progress.end(false);
        assert!(matches!(last, Some(Step::Ended { name, passed: true, .. }) if name == "c"));
        assert!(waiting.is_empty());
    }

    #[test]
    fn it_is_understood_in_pieces() {
        let whole = of(&["a", "c", "m::b"]).hear(ALL);
        let mut progress = of(&["a", "c", "m::b"]);
        let pieces: Vec<Step> =
            ALL.split_inclusive(|_| true).flat_map(|piece| progress.hear(piece)).collect();
        assert_eq!(pieces, whole);
    }

    #[test]
    fn a_crash_is_of_the_test_that_was_running() {
        let mut progress = of(&["a", "b", "c"]);
        assert_eq!(
            progress.hear("test a ... ok\ntest b ... "),
            [begun("a"), ended("a", true, "ok\n"), begun("b")]
        );
        assert_eq!(progress.end(false), (Some(ended("b", false, "")), vec!["c".to_owned()]));
    }

    #[test]
    fn a_failure_without_a_test_is_of_the_first_or_the_last() {
        assert_eq!(of(&["a", "b"]).end(false), (Some(ended("a", false, "")), vec!["b".to_owned()]));
        let mut progress = of(&["a"]);
        progress.hear("test a ... ok\n\ntest result: ok. 1 passed\n\n");
        assert!(matches!(progress.end(false), (Some(Step::Ended { passed: false, .. }), _)));
        let mut progress = of(&["a"]);
        progress.hear("test a ... ok\n");
        assert!(matches!(progress.end(true), (Some(Step::Ended { passed: true, .. }), _)));
    }
}
