//! The Python package: its wheel in clean environments, against a real service and a real recording. Its tests are in `bindings/python/tests`.
//! Needs root.
//!
//! Engines are packages from PyPI, installed below `target/` by `make test-clients`.

#[allow(dead_code)]
#[path = "../../cpuledger-export/tests/python/mod.rs"]
mod python;
mod service;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use cpuledger_load::not_run;
use service::with_recorded_storm;

/// What the tests of every version need, and what all of them need.
const FEW: [&str; 2] = ["pytest", "psutil==7.*"];
const ALL: [&str; 11] = [
    "pytest",
    "psutil==7.*",
    "duckdb==2.0.*",
    "polars==2.1.*",
    "pandas==3.1.*",
    "pyarrow==26.0.*",
    "mypy==2.*",
    "nbclient",
    "nbformat",
    "ipykernel",
    "setuptools",
];

/// Tests of the package alone, which each version of Python runs.
const OF_EVERY_VERSION: [&str; 5] =
    ["test_intervals.py", "test_measure.py", "test_psutil.py", "test_read.py", "test_threads.py"];

/// What a free-threaded Python runs. Of the libraries that take Arrow, it has wheels of pyarrow.
const FREE_THREADED_PACKAGES: [&str; 3] = ["pytest", "psutil==7.*", "pyarrow==26.0.*"];
const FREE_THREADED_TESTS: [&[&str]; 2] = [&OF_EVERY_VERSION, &["test_arrow_threads.py"]];

/// The versions that the wheel is for: the oldest, and what is there of the newer ones.
const VERSIONS: [&str; 7] = ["3.9", "3.10", "3.11", "3.12", "3.13", "3.14", "3.15"];

/// Builds of Python without the lock. PyO3 supports none before 3.14.
const FREE_THREADED: [&str; 2] = ["python3.15t", "python3.14t"];

/// The variable of the environment that names another one.
const FREE_THREADED_PYTHON: &str = "CPULEDGER_TEST_FREE_THREADED_PYTHON";

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Builds a wheel into that folder, and returns its path.
fn build(folder: &str, interpreter: Option<&Path>) -> Result<PathBuf, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
    let _ = std::fs::remove_dir_all(&folder);
    let mut command = Command::new(repository().join("scripts/wheel"));
    command.arg(&folder).args(interpreter);
    let output = command.output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        // What the network is for is installed once; what does not compile is a failure.
        assert!(!said.contains("Compiling") || said.contains("No matching distribution"), "{said}");
        return Err(format!("the wheel cannot be built: {}", said.lines().last().unwrap_or_default()));
    }
    let mut wheels = std::fs::read_dir(&folder).map_err(|error| error.to_string())?.filter_map(Result::ok);
    Ok(wheels.next().ok_or("there is no wheel")?.path())
}

/// The wheel for every version, built once for all tests.
fn wheel() -> Result<PathBuf, String> {
    static WHEEL: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    WHEEL.get_or_init(|| build("wheel", None)).clone()
}

/// Installs the wheel into an environment, and nothing with it: it needs nothing.
fn install(python: &Path, wheel: &Path) {
    let mut command = Command::new(python);
    command.args(["-m", "pip", "install", "--quiet", "--no-index", "--force-reinstall"]).arg(wheel);
    let output = command.output().expect("pip starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Runs these tests of the package, or all.
fn pytest(python: &Path, tests: &[&str]) {
    with_recorded_storm(Duration::from_secs(3), |service, recording| {
        let folder = repository().join("bindings/python/tests");
        let mut command = Command::new(python);
        command.args(["-m", "pytest", "-q", "-rs", "-s", "-p", "no:cacheprovider", "--rootdir"]).arg(&folder);
        match tests {
            [] => command.arg(&folder),
            tests => command.args(tests.iter().map(|test| folder.join(test))),
        };
        command
            .env("CPULEDGER_SOCKET", service.socket())
            .env("CPULEDGER_TEST_RECORDING", recording)
            .env("CPULEDGER_TEST_PROGRAM", env!("CARGO_BIN_EXE_cpuledger"))
            .env("PYTHONDONTWRITEBYTECODE", "1");
        let output = command.output().expect("python starts");
        let said = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {said}{errors}", python.display());
        // A test that is skipped has not run.
        assert!(!said.contains("skipped"), "{said}");
        println!("{}: {said}", python.display());
    });
}

fn is_wanted() -> bool {
    std::env::var_os("CPULEDGER_TEST_CLIENTS").is_some()
}

#[test]
fn the_python_package_does_what_it_says_root() {
    if !is_wanted() {
        return not_run(
            "the packages that it is compared with have 500 MB: `make test-clients` installs them",
        );
    }
    match python::environment("python-package", &ALL).and_then(|python| Ok((python, wheel()?))) {
        Ok((python, wheel)) => {
            install(&python, &wheel);
            pytest(&python, &[]);
        }
        Err(reason) => not_run(&reason),
    }
}

/// The interpreter of that name: in PATH, or where pyenv keeps its versions.
fn interpreter(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let root = std::env::var_os("PYENV_ROOT").map(PathBuf::from);
    let home = std::env::var_os("HOME").map(|home| Path::new(&home).join(".pyenv"));
    let versions = root.or(home).and_then(|root| std::fs::read_dir(root.join("versions")).ok());
    let kept = versions.into_iter().flatten().filter_map(|version| Some(version.ok()?.path().join("bin")));
    let works = |python: &PathBuf| {
        let ask = ["-c", "import venv, sys; print(sys.version_info[:2])"];
        python.is_file()
            && Command::new(python).args(ask).output().is_ok_and(|output| output.status.success())
    };
    std::env::split_paths(&path).chain(kept).map(|folder| folder.join(name)).find(works)
}

/// A clean environment of that interpreter.
fn clean(interpreter: &Path, name: &str, packages: &[&str]) -> Result<PathBuf, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("clean-{name}"));
    let run = |program: &Path, arguments: &[&OsStr]| {
        let output = Command::new(program)
            .args(arguments)
            .output()
            .map_err(|error| format!("{program:?}: {error}"))?;
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.lines().last().unwrap_or_default();
        if output.status.success() { Ok(()) } else { Err(format!("{}: {last}", program.display())) }
    };
    run(
        interpreter,
        &["-m", "venv", "--clear"]
            .map(OsStr::new)
            .into_iter()
            .chain([folder.as_os_str()])
            .collect::<Vec<_>>(),
    )?;
    let python = folder.join("bin/python");
    let install = ["-m", "pip", "install", "--quiet"].iter().chain(packages).map(OsStr::new);
    run(&python, &install.collect::<Vec<_>>())?;
    Ok(python)
}

#[test]
fn each_version_of_python_takes_the_same_wheel_root() {
    if !is_wanted() || std::env::var_os("CPULEDGER_TEST_FULL").is_none() {
        return not_run(
            "`CPULEDGER_TEST_FULL=1 make test-clients` tries each version of Python that is here",
        );
    }
    let wheel = match wheel() {
        Ok(wheel) => wheel,
        Err(reason) => return not_run(&reason),
    };
    let mut missing = Vec::new();
    for version in VERSIONS {
        let Some(interpreter) = interpreter(&format!("python{version}")) else {
            missing.push(version);
            continue;
        };
        match clean(&interpreter, version, &FEW) {
            Ok(python) => {
                install(&python, &wheel);
                pytest(&python, &OF_EVERY_VERSION);
            }
            Err(reason) => not_run(&format!("Python {version}: {reason}")),
        }
    }
    if !missing.is_empty() {
        not_run(&format!("there is no Python {}: pyenv has them", missing.join(", ")));
    }
}

/// The free-threaded interpreter of the environment, or the one that is found.
fn free_threaded() -> Option<PathBuf> {
    let named = std::env::var_os(FREE_THREADED_PYTHON).map(PathBuf::from);
    let found = named.or_else(|| FREE_THREADED.iter().find_map(|name| interpreter(name)))?;
    let code = "import sys, sysconfig; sys.exit(sysconfig.get_config_var('Py_GIL_DISABLED') != 1)";
    let status = Command::new(&found).args(["-c", code]).status();
    let is_free_threaded = status.as_ref().is_ok_and(std::process::ExitStatus::success);
    assert!(is_free_threaded, "{} is no free-threaded Python: {status:?}", found.display());
    Some(found)
}

#[test]
fn a_python_without_a_lock_runs_it_root() {
    if !is_wanted() {
        return not_run("`make test-clients` tries a free-threaded Python");
    }
    let Some(interpreter) = free_threaded() else {
        let names = FREE_THREADED.join(" or ");
        return not_run(&format!(
            "there is no free-threaded Python: pyenv has {names}, and {FREE_THREADED_PYTHON} names one elsewhere"
        ));
    };
    let ready = build("wheel-free-threaded", Some(&interpreter))
        .and_then(|wheel| Ok((clean(&interpreter, "free-threaded", &FREE_THREADED_PACKAGES)?, wheel)));
    match ready {
        Ok((python, wheel)) => {
            install(&python, &wheel);
            let code = "import sys, cpuledger; print(sys.version); sys.exit(sys._is_gil_enabled())";
            let output = Command::new(&python).args(["-c", code]).output().expect("python starts");
            assert!(output.status.success(), "the module brings the lock back: {output:?}");
            // Of another module, one may bring the lock back: each has a process of its own.
            FREE_THREADED_TESTS.iter().for_each(|tests| pytest(&python, tests));
        }
        Err(reason) => not_run(&reason),
    }
}
