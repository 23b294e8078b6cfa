//! Tests that cannot run where they are: each says so, and what is missing, and is listed as *not run*.
//!
//! A test that only returned would count as passed. What is said here goes past the capture of libtest, so that it is seen in any
//! run; `make test` lists all of it at its end, and the kernel matrix in its tables.

use std::fs::OpenOptions;
use std::io::Write;
use std::thread;

/// What stands before the reason, on a line of its own.
pub const PREFIX: &str = "NOT RUN: ";

/// The name of the environment variable with the path of a file that collects these lines.
pub const COLLECTED: &str = "CPULEDGER_TESTS_NOT_RUN";

/// Set in the environment where a test may take a CPU offline: tasks that are bound to that CPU lose their binding, so set it
/// only on a machine that nothing else uses.
pub const MAY_UNPLUG: &str = "CPULEDGER_TEST_MAY_UNPLUG";

/// Says that the test that calls it has not run, because `reason`: what is missing, and how it can be had. The test returns next.
pub fn not_run(reason: &str) {
    let line = line(&program(), thread::current().name(), reason);
    // A test that cannot say so must not pass for one that ran.
    std::io::stderr().write_all(line.as_bytes()).expect("stderr is open");
    if let Some(path) = std::env::var_os(COLLECTED) {
        let file = OpenOptions::new().create(true).append(true).open(&path);
        file.and_then(|mut file| file.write_all(line.as_bytes()))
            .unwrap_or_else(|error| panic!("{} cannot be written: {error}", path.display()));
    }
}

/// The reason in a line of a test's output that says that it has not run.
pub fn reason(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once(PREFIX)?;
    rest.split_once(": ").map(|(_, reason)| reason.trim_end())
}

fn line(program: &str, test: Option<&str>, reason: &str) -> String {
    // What collects these takes each line for a test.
    let reason = reason.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    // Where tests run one after another, libtest runs them in its main thread, which does not have their names.
    match test.filter(|name| *name != "main") {
        Some(test) => format!("{PREFIX}{program} {test}: {reason}\n"),
        None => format!("{PREFIX}{program}: {reason}\n"),
    }
}

/// The name of the test binary, without the number that cargo gives it.
fn program() -> String {
    let path = std::env::current_exe().unwrap_or_default();
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    match name.rsplit_once('-') {
        Some((name, number)) if number.len() == 16 => name.to_owned(),
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_test_and_reason() {
        let said = line("a_root", Some("first_root"), "no printer: install lpr");
        assert_eq!(said, "NOT RUN: a_root first_root: no printer: install lpr\n");
        assert_eq!(reason(&said), Some("no printer: install lpr"));
        let alone = line("a_root", Some("main"), "no printer");
        assert_eq!((alone.as_str(), reason(&alone)), ("NOT RUN: a_root: no printer\n", Some("no printer")));
        assert_eq!(reason("test first_root ... ok"), None);
        assert_eq!(
            line("a_root", None, "no printer:\n  install lpr\n"),
            "NOT RUN: a_root: no printer: install lpr\n"
        );
    }

    #[test]
    fn the_program_is_named_without_its_number() {
        assert_eq!(program(), "cpuledger_load");
    }
}
