//! Outputs that are recorded in files below `tests/recorded`, so that a change of the code that should not change them does not.

use std::fs;
use std::path::Path;

/// With this set, outputs are recorded instead of compared.
const RECORD: &str = "CPULEDGER_RECORD";

/// Marks the end of a line that ends in a blank: no file of the repository has such lines.
const END: char = '¶';

/// Commands and what they print.
#[derive(Debug, Default)]
pub struct Transcript(String);

impl Transcript {
    /// Adds a command line and its output.
    pub fn add(&mut self, command: &str, output: &[u8]) {
        self.0 += &format!("$ {command}\n");
        for line in String::from_utf8_lossy(output).lines() {
            self.0 += line;
            if line.ends_with([' ', '\t']) {
                self.0.push(END);
            }
            self.0.push('\n');
        }
    }

    /// Compares it with what is recorded under this name.
    ///
    /// # Panics
    /// When they differ: then the first difference is told.
    pub fn assert_recorded(&self, name: &str) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../recorded").join(format!("{name}.txt"));
        if std::env::var_os(RECORD).is_some() {
            fs::write(&path, &self.0).expect("it can be written");
        }
        let recorded = fs::read_to_string(&path).unwrap_or_default();
        if let Some(difference) = difference(&recorded, &self.0) {
            panic!(
                "tests/recorded/{name}.txt has another output; if that is meant, `make record` records all outputs anew, and git \
                 diff shows what changed\n{difference}"
            );
        }
    }
}

/// The first lines that differ, below the command that they are of.
fn difference(recorded: &str, found: &str) -> Option<String> {
    let mut command = "";
    let mut pair = (recorded.lines(), found.lines());
    loop {
        match (pair.0.next(), pair.1.next()) {
            (None, None) => return None,
            (one, other) if one == other => {
                command = one.filter(|line| line.starts_with("$ ")).unwrap_or(command);
            }
            (one, other) => {
                let line = |line: Option<&str>| line.unwrap_or("(the end)").to_owned();
                return Some(format!("{command}\nrecorded: {}\nfound:    {}", line(one), line(other)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_found_and_told_with_its_command() {
        let mut transcript = Transcript::default();
        transcript.add("ps", b"a \nb\n");
        transcript.add("top", b"c\n");
        assert_eq!(transcript.0, "$ ps\na ¶\nb\n$ top\nc\n");
        assert_eq!(difference(&transcript.0, &transcript.0), None);
        let changed = difference(&transcript.0, "$ ps\na ¶\nb\n$ top\nd\n");
        assert_eq!(changed.as_deref(), Some("$ top\nrecorded: c\nfound:    d"));
        let longer = difference(&transcript.0, &format!("{}e\n", transcript.0));
        assert_eq!(longer.as_deref(), Some("$ top\nrecorded: (the end)\nfound:    e"));
    }

    #[test]
    #[should_panic(expected = "make record")]
    fn what_was_never_recorded_fails() {
        let mut transcript = Transcript::default();
        transcript.add("ps", b"a");
        transcript.assert_recorded("there-is-no-such-record");
    }
}
