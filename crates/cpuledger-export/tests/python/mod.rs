//! Real engines from PyPI, each in an environment below `target/`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::{FlockOperation, flock};

/// The variable of the environment that is set by `make test-clients`.
const CLIENTS: &str = "CPULEDGER_TEST_CLIENTS";

/// An installation takes no longer than this many seconds.
const INSTALL_SECONDS: &str = "600";

/// Likewise, for tests that `make test-clients` runs: their engines are large, or compute for long.
pub fn client_environment(name: &str, packages: &[&str]) -> Result<PathBuf, String> {
    if std::env::var_os(CLIENTS).is_none() {
        return Err(format!("`make test-clients` installs {packages:?}, and runs this"));
    }
    environment(name, packages)
}

/// Likewise of pyspark, which needs Java.
#[allow(dead_code)] // Not every test needs it.
pub fn spark_environment(name: &str) -> Result<PathBuf, String> {
    let python = client_environment(name, &["pyspark==4.*"])?;
    let has_java = Command::new("java").arg("-version").output().is_ok_and(|output| output.status.success());
    if has_java {
        Ok(python)
    } else {
        Err("pyspark needs Java 17: install openjdk-17-jre-headless".to_owned())
    }
}

/// The program of a virtual environment that has these packages; a sentence where that cannot be.
pub fn environment(name: &str, packages: &[&str]) -> Result<PathBuf, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    // Tests run at the same time, those of other binaries too, and several may want the same.
    let lock = fs::File::create(folder.with_extension("lock")).map_err(|error| error.to_string())?;
    flock(&lock, FlockOperation::LockExclusive).map_err(|error| error.to_string())?;
    let python = folder.join("bin/python");
    let installed = folder.join(format!("installed {}", packages.join(" ")));
    if installed.exists() {
        return Ok(python);
    }
    let run = |command: &mut Command| {
        let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let last = said.lines().rfind(|line| line.contains("rror")).unwrap_or("it says nothing");
        if output.status.success() {
            Ok(())
        } else {
            Err(format!("{packages:?} cannot be installed: {last}"))
        }
    };
    run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
    let pip = folder.join("bin/pip");
    run(Command::new("timeout").arg(INSTALL_SECONDS).arg(pip).args(["install", "--quiet"]).args(packages))?;
    fs::write(installed, "").map_err(|error| error.to_string())?;
    Ok(python)
}
