//! `cpuledger export` becomes the program `cpuledger-export` beside it or in libexec: it has the arguments, and the end is its own.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use cpuledger_load::with_export;
use tempfile::TempDir;

/// `cpuledger` in the folder `bin` of a prefix, and no program beside it.
struct Installed {
    prefix: TempDir,
}

impl Installed {
    fn new() -> Installed {
        // In the file system of the binary, which is a hard link: copies are large.
        let prefix = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
        let installed = Installed { prefix };
        let program = installed.place("bin/cpuledger");
        fs::create_dir_all(program.parent().expect("a folder")).expect("made");
        fs::hard_link(env!("CARGO_BIN_EXE_cpuledger"), program).expect("a link");
        installed
    }

    fn place(&self, below: &str) -> PathBuf {
        self.prefix.path().canonicalize().expect("it is there").join(below)
    }

    /// A program that runs these lines of sh.
    fn add(&self, below: &str, lines: &str) {
        let path = self.place(below);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(&path, format!("#!/bin/sh\n{lines}\n")).expect("written");
        fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("it is ours");
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let path = format!("{}:/usr/bin:/bin", self.place("path").display());
        let mut command = Command::new(self.place("bin/cpuledger"));
        command.args(arguments).env("PATH", path).output().expect("it runs")
    }
}

const PRINT: &str = r#"echo "$0"; for word; do echo "<$word>"; done; echo said >&2; exit 7"#;

#[test]
fn the_program_has_the_arguments_and_the_end_is_its_own() {
    let installed = Installed::new();
    installed.add("bin/cpuledger-export", PRINT);
    let own = installed.place("bin/cpuledger-export");
    for (arguments, expected) in [
        (
            &["export", "a b", "--since", "-10m", "", "--help", "-v"][..],
            &["a b", "--since", "-10m", "", "--help", "-v"][..],
        ),
        (&["export"], &[]),
        (&["help", "export"], &["--help"]),
        (&["-v", "export", "-o", "x", "--help"], &["-o", "x", "--help"]),
    ] {
        let output = installed.run(arguments);
        let words: String = expected.iter().map(|word| format!("<{word}>\n")).collect();
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            format!("{}\n{words}", own.display()),
            "{arguments:?}"
        );
        assert_eq!((output.status.code(), &output.stderr[..]), (Some(7), &b"said\n"[..]), "{arguments:?}");
    }
    installed.add("bin/cpuledger-export", "kill -TERM $$");
    let output = installed.run(&["export"]);
    assert_eq!(output.status.signal(), Some(15), "{output:?}");
}

#[test]
fn it_is_beside_cpuledger_or_in_libexec_and_nowhere_else() {
    let installed = Installed::new();
    let is_missing = |output: &Output| {
        let said = String::from_utf8_lossy(&output.stderr);
        let places = ["bin/cpuledger-export", "libexec/cpuledger/cpuledger-export"];
        assert!(
            places.iter().all(|place| said.contains(&installed.place(place).display().to_string())),
            "{said}"
        );
        assert!(said.contains("`make all`") && said.lines().count() == 1, "{said}");
        assert_eq!((output.status.code(), output.stdout.len()), (Some(3), 0), "{said}");
    };
    is_missing(&installed.run(&["export", "-o", "x"]));
    // Root has the PATH of the user who called su, and its own folder may be one of them.
    installed.add("path/cpuledger-export", "echo from PATH");
    is_missing(&installed.run(&["export", "-o", "x"]));
    is_missing(&installed.run(&["help", "export"]));
    for place in ["libexec/cpuledger/cpuledger-export", "bin/cpuledger-export"] {
        installed.add(place, PRINT);
        let said = String::from_utf8(installed.run(&["export"]).stdout).expect("UTF-8");
        assert_eq!(said, format!("{}\n", installed.place(place).display()));
    }
}

/// A shell stands for Python.
#[test]
fn a_report_of_a_fleet_becomes_a_script() {
    let installed = Installed::new();
    let report = |python: &str| {
        let mut command = Command::new(installed.place("bin/cpuledger"));
        command.args([
            "report",
            "--fleet",
            "s3://b/a b",
            "--by",
            "unit",
            "--since",
            "@1600000000",
            "--top",
            "7",
        ]);
        command.env("CPULEDGER_PYTHON", python).output().expect("it runs")
    };
    let output = report("/bin/sh");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("libexec/cpuledger/fleet/ask.py") && said.lines().count() == 1, "{said}");
    assert_eq!(output.status.code(), Some(3), "{said}");
    let place = "libexec/cpuledger/fleet/ask.py";
    installed.add(place, PRINT);
    let output = report("/bin/sh");
    let words = [
        "--tables",
        "s3://b/a b",
        "--format",
        "text",
        "--limit",
        "7",
        "--since",
        "2020-09-13T12:26:40",
        "units",
    ];
    let words: String = words.iter().map(|word| format!("<{word}>\n")).collect();
    let expected = format!("{}\n{words}", installed.place(place).display());
    assert_eq!(
        (String::from_utf8_lossy(&output.stdout).as_ref(), output.status.code()),
        (&*expected, Some(7))
    );
    let output = report("/nonexistent/python");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("CPULEDGER_PYTHON") && said.lines().count() == 1, "{said}");
    assert_eq!(output.status.code(), Some(3), "{said}");
}

#[test]
fn one_that_cannot_run_is_an_error() {
    let installed = Installed::new();
    let place = "bin/cpuledger-export";
    installed.add(place, PRINT);
    fs::set_permissions(installed.place(place), PermissionsExt::from_mode(0o644)).expect("it is ours");
    let output = installed.run(&["export"]);
    let said = String::from_utf8_lossy(&output.stderr);
    let expected = format!("cpuledger: cannot run {}: Permission denied", installed.place(place).display());
    assert!(output.status.code() == Some(1) && said.starts_with(&expected), "{said}");
}

#[test]
fn the_help_is_that_of_the_program() {
    let cpuledger = with_export(env!("CARGO_BIN_EXE_cpuledger"));
    let of = |program: &Path, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).output().expect("it runs");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let help = of(&Path::new(cpuledger).with_file_name("cpuledger-export"), &["--help"]);
    assert!(
        help.contains("Usage: cpuledger export [OPTIONS] <--output <DIR>|--to <WHERE>> [DIR|FILE]"),
        "{help}"
    );
    for arguments in [&["export", "--help"][..], &["help", "export"], &["-v", "export", "--help"]] {
        assert_eq!(of(Path::new(cpuledger), arguments), help, "{arguments:?}");
    }
}
