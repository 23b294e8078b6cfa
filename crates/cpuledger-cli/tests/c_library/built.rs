//! The libraries for C, and programs that link them.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::SystemTime;

/// A file of this tree.
pub fn of_tree(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// The folder of the shared libraries, linked once from the archives that cargo has built for this test.
pub fn libraries() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        // As below target/release, from where they are installed.
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("c-library/c");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder");
        for name in ["libcpuledger_c", "libcpuledger_c_ledger"] {
            symlink(archive(name), folder.join(name).with_extension("a")).expect("a link");
        }
        run(Command::new(of_tree("scripts/c-library")).args([&folder, &folder]));
        folder
    })
}

/// The newest archive of that name beside this test.
fn archive(name: &str) -> PathBuf {
    let own = env::current_exe().expect("this is a file");
    let beside = fs::read_dir(own.parent().expect("it is in a folder")).expect("it can be read");
    let is_one = |path: &PathBuf| {
        let file = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        file.strip_prefix(name)
            .and_then(|rest| rest.strip_suffix(".a"))
            .is_some_and(|rest| !rest.contains('_'))
    };
    let age =
        |path: &PathBuf| fs::metadata(path).and_then(|of| of.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
    let archives = beside.filter_map(|entry| Some(entry.ok()?.path())).filter(is_one);
    archives
        .max_by_key(age)
        .unwrap_or_else(|| panic!("cargo has built no {name}*.a beside {}", own.display()))
}

/// A program of one source, and what it is linked to.
#[derive(Debug, Clone, Copy)]
pub struct Program<'a> {
    /// The source, in this tree.
    pub source: &'a str,
    /// The compiler and its options.
    pub compiler: &'a [&'a str],
    /// "cpuledger" or "cpuledger-ledger".
    pub library: &'a str,
}

/// C99, without a warning.
pub const C99: &[&str] = &["cc", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O1", "-g"];
/// C++, likewise.
pub const CPP: &[&str] =
    &["c++", "-x", "c++", "-std=c++11", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O1", "-g"];

impl<'a> Program<'a> {
    /// That of a source, in C99.
    pub fn c99(source: &'a str) -> Program<'a> {
        Program { source, compiler: C99, library: "cpuledger" }
    }

    /// Compiles it, once. The file is in the folder of the libraries.
    pub fn build(&self) -> PathBuf {
        // Tests run at the same time, and what is being written cannot be executed.
        static BUILT: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
        let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = libraries();
        let words: String = self.compiler.concat().replace(['-', '/', '+', '='], "");
        let name = Path::new(self.source).file_stem().and_then(OsStr::to_str).expect("a name");
        let program = folder.join(format!("{name}-{}-{words}", self.library));
        if built.contains(&program) {
            return program;
        }
        let mut command = Command::new(self.compiler[0]);
        command.args(&self.compiler[1..]).arg(of_tree(self.source)).arg("-o").arg(&program);
        command.arg("-x").arg("none").arg("-pthread");
        for include in ["bindings/c/include", "bindings/c-ledger/include"] {
            command.arg("-I").arg(of_tree(include));
        }
        command.arg("-L").arg(folder).arg(format!("-l{}", self.library));
        command.arg(format!("-Wl,-rpath,{}", folder.display()));
        run(&mut command);
        built.push(program.clone());
        program
    }
}

/// The output of what succeeds.
pub fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}: {said}", output.status);
    output
}
