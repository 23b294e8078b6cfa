//! libcpuledger from C99 and from C++: every function, what sanitizers and valgrind find, what a client leaves that is killed, and what must not
//! change within a version. Tests that need a service need root.

mod abi;
mod built;
#[path = "../recorded_frames/mod.rs"]
mod recorded_frames;
#[path = "../service/mod.rs"]
mod service;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use built::{C99, CPP, Program, libraries, of_tree, run};
use cpuledger_load::not_run;
use cpuledger_load::scene::alone;
use cpuledger_service::client::Client;
use service::{Service, TIMEOUT};

const ARGUMENTS: &str = "bindings/c/tests/c/arguments.c";
const RECORDING: &str = "bindings/c/tests/c/recording.c";
const SERVICE: &str = "bindings/c/tests/c/service.c";
const THREADS: &str = "bindings/c/tests/c/threads.c";
const KILLED: &str = "bindings/c/tests/c/killed.c";
const PTOP: &str = "bindings/c/examples/ptop.c";
const PS: &str = "bindings/c/examples/ps.c";
const SNAPSHOTS: &str = "bindings/c/examples/snapshots.c";

/// Errors in memory and undefined behaviour in C; of the library, what it does to memory of the heap.
const ASAN: &[&str] = &[
    "cc",
    "-std=c99",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-g",
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
];
/// Races in C: it does not see how the library, which is compiled without it, locks what its handles share. The compiler of Rust looks for those.
const TSAN: &[&str] = &["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-g", "-fsanitize=thread"];

const TSAN_OPTIONS: &str = "halt_on_error=1 ignore_noninstrumented_modules=1";

/// Clients that are killed.
const KILLS: u64 = 40;

/// A recording: six intervals, of which one is a gap.
fn recording() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let living = [(7, b"make".as_slice(), 0, 500, 300), (8, b"sh", 1000, 20, 0)];
    let dead = [(9, b"cc1".as_slice(), 0, 300, 0)];
    let frames = [1, 2, 5, 6, 7].map(|second| recorded_frames::frame(second, &living, &dead, 7));
    recorded_frames::record(folder.path(), frames);
    folder
}

/// A program with a recording as its first argument.
fn with_recording(program: PathBuf, recording: &tempfile::TempDir) -> Command {
    let mut command = Command::new(program);
    command.arg(recording.path()).stdin(Stdio::null());
    command
}

/// A program that finds the service.
fn with_service(program: PathBuf, service: &Service) -> Command {
    let mut command = Command::new("timeout");
    command.arg("120").arg(program).env("CPULEDGER_SOCKET", service.socket()).stdin(Stdio::null());
    command
}

#[test]
fn every_function_works_with_a_recording_in_c_and_cpp() {
    let recording = recording();
    for compiler in [C99, CPP] {
        for library in ["cpuledger", "cpuledger-ledger"] {
            let build = |source| Program { source, compiler, library }.build();
            run(&mut with_recording(build(ARGUMENTS), &recording));
            run(with_recording(build(RECORDING), &recording).args(["6", "1"]));
            run(&mut with_recording(build(THREADS), &recording));
            // They are run with a service.
            for source in [SERVICE, KILLED] {
                build(source);
            }
        }
    }
    let snapshots = Program::c99(SNAPSHOTS).build();
    let output = run(Command::new(snapshots).arg("recording").arg(recording.path()));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(text.contains("cc1 (dead)") && text.contains("attributed 1640, capacity"), "{text}");
}

#[test]
fn sanitizers_and_valgrind_find_nothing() {
    let recording = recording();
    for (source, more) in [(ARGUMENTS, [].as_slice()), (RECORDING, &["6", "1"])] {
        let program = Program { source, compiler: ASAN, library: "cpuledger" }.build();
        let output =
            run(with_recording(program, &recording).args(more).env("ASAN_OPTIONS", "detect_leaks=1"));
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let program = Program { source: THREADS, compiler: TSAN, library: "cpuledger" }.build();
    run(with_recording(program, &recording).env("TSAN_OPTIONS", TSAN_OPTIONS));
    if Command::new("valgrind").arg("--version").output().is_err() {
        return not_run("there is no valgrind: install the Debian package of this name");
    }
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--quiet", "--error-exitcode=9", "--leak-check=full", "--show-leak-kinds=all"]);
    valgrind.args(["--errors-for-leak-kinds=definite,indirect,possible"]);
    run(valgrind.arg(Program::c99(RECORDING).build()).arg(recording.path()).args(["6", "1"]));
}

#[test]
fn symbols_and_layouts_stay() {
    abi::assert_kept("layout-x86_64.txt", &abi::layout());
    abi::assert_kept("libcpuledger.txt", &abi::symbols("cpuledger"));
    let symbols = abi::symbols("cpuledger-ledger");
    abi::assert_kept("libcpuledger-ledger.txt", &symbols);
    abi::assert_interface_kept(symbols.lines().count());
}

#[test]
fn what_is_installed_is_found_by_pkg_config_and_removed_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let install = |option: &[&str]| {
        let mut command = Command::new(of_tree("scripts/install"));
        command.args(option).arg(libraries().with_file_name("cpuledger"));
        command.env("DESTDIR", folder.path()).env("PREFIX", "/usr").env_remove("LIBDIR");
        run(command.env("PACKAGES", "libcpuledger0 libcpuledger-dev"))
    };
    install(&[]);
    let pkg_config = |options: &[&str]| {
        let mut command = Command::new("pkg-config");
        command.args(options).arg("cpuledger").env("PKG_CONFIG_SYSROOT_DIR", folder.path());
        command.env("PKG_CONFIG_LIBDIR", folder.path().join("usr/lib/pkgconfig"));
        command.env("PKG_CONFIG_ALLOW_SYSTEM_CFLAGS", "1").env("PKG_CONFIG_ALLOW_SYSTEM_LIBS", "1");
        String::from_utf8(run(&mut command).stdout).expect("UTF-8")
    };
    let words = pkg_config(&["--cflags", "--libs"]);
    let program = folder.path().join("ptop");
    let mut compile = Command::new("cc");
    compile.args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-o"]).arg(&program).arg(of_tree(PTOP));
    run(compile.args(words.split_whitespace()));
    let fixed = pkg_config(&["--static", "--libs"]);
    assert!(fixed.contains("-lpthread"), "{fixed}");
    let mut compile = Command::new("cc");
    compile.args(["-std=c99", "-o"]).arg(folder.path().join("ptop-static")).arg(of_tree(PTOP));
    compile
        .arg("-I")
        .arg(folder.path().join("usr/include"))
        .arg(folder.path().join("usr/lib/libcpuledger.a"));
    run(compile.args(fixed.split_whitespace().filter(|word| *word != "-lcpuledger")));
    let page = fs::read_dir(folder.path().join("usr/share/man/man3")).expect("pages").count();
    assert!(page >= 7, "{page} pages");
    fs::remove_file(&program).expect("it is there");
    fs::remove_file(folder.path().join("ptop-static")).expect("it is there");
    install(&["--uninstall"]);
    let mut left = Vec::new();
    files(folder.path(), &mut left);
    assert!(left.is_empty(), "{left:?}");
}

fn files(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { files(&path, into) } else { into.push(path) }
    }
}

#[test]
fn pages_are_well_formed() {
    for page in fs::read_dir(of_tree("bindings/c/man")).expect("the pages") {
        let path = page.expect("a page").path();
        let mut groff = Command::new("groff");
        let output = match groff.args(["-man", "-Tutf8", "-z", "-ww"]).arg(&path).output() {
            Ok(output) => output,
            Err(error) => return not_run(&format!("groff: {error}; install the Debian package groff")),
        };
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.is_empty(), "{}: {said}", path.display());
    }
}

#[test]
fn every_function_works_with_a_service_root() {
    let _alone = alone();
    let service = Service::start("");
    for compiler in [C99, CPP] {
        run(&mut with_service(Program { source: SERVICE, compiler, library: "cpuledger" }.build(), &service));
    }
    let program = Program { source: SERVICE, compiler: ASAN, library: "cpuledger" }.build();
    let output = run(with_service(program, &service).env("ASAN_OPTIONS", "detect_leaks=1"));
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    let recording = recording();
    for compiler in [C99, TSAN] {
        let program = Program { source: THREADS, compiler, library: "cpuledger" }.build();
        run(with_service(program, &service).arg(recording.path()).env("TSAN_OPTIONS", TSAN_OPTIONS));
    }
}

#[test]
fn the_examples_say_what_there_is_root() {
    let _alone = alone();
    let service = Service::start("");
    let text = |command: &mut Command| String::from_utf8(run(command).stdout).expect("UTF-8");
    let top = text(with_service(Program::c99(PTOP).build(), &service).arg("2"));
    assert_eq!(top.matches(" unattributed = ").count(), 2, "{top}");
    let list = text(&mut with_service(Program::c99(PS).build(), &service));
    let own = std::process::id().to_string();
    assert!(list.lines().any(|line| line.trim_start().starts_with(&format!("{own} "))), "{list}");
    let burn = ["sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"];
    let by_service = text(with_service(Program::c99(SNAPSHOTS).build(), &service).arg("service").args(burn));
    assert!(by_service.contains("sh (dead)"), "{by_service}");
    assert_sum(&by_service);
    drop(service);
    let compiler = [C99, &["-DWITH_LEDGER"]].concat();
    let program = Program { source: SNAPSHOTS, compiler: &compiler, library: "cpuledger-ledger" }.build();
    for (transport, has_exact_cut) in
        [("ledger", true), ("walk", false), ("netlink", false), ("procfs", false)]
    {
        let told = text(Command::new(&program).arg(transport).args(burn));
        assert_eq!(told.contains("sh (dead)"), transport != "procfs", "{transport}: {told}");
        if has_exact_cut {
            assert_sum(&told);
        }
    }
}

/// What tasks used is all that is attributed, and with the rest it is the capacity.
fn assert_sum(text: &str) {
    let last = text.lines().last().expect("it has the sum");
    let numbers = last.split(|letter: char| !letter.is_ascii_digit()).filter_map(|word| word.parse().ok());
    let numbers: Vec<u64> = numbers.collect();
    let [sum, _, idle, unattributed, attributed, capacity] = numbers[..] else { panic!("{last}") };
    assert_eq!((sum, sum + idle + unattributed), (attributed, capacity), "{last}");
}

/// Descriptors that a process has open.
fn descriptors(pid: u32) -> usize {
    fs::read_dir(format!("/proc/{pid}/fd")).expect("root may").count()
}

#[test]
fn a_client_that_is_killed_leaves_the_service_as_it_was_root() {
    let _alone = alone();
    let service = Service::start("");
    let program = Program::c99(KILLED).build();
    let answers = || Client::connect(&service.socket(), TIMEOUT).and_then(|mut client| client.info());
    // Of one that has been served, so that all that stays is there.
    let client = || {
        let mut client = Command::new(&program);
        client.env("CPULEDGER_SOCKET", service.socket()).stdin(Stdio::null()).stderr(Stdio::piped());
        client.spawn().expect("it starts")
    };
    let mut first = client();
    std::thread::sleep(Duration::from_secs(1));
    first.kill().expect("it runs");
    first.wait().expect("it runs");
    drop(answers().expect("it answers"));
    std::thread::sleep(Duration::from_secs(1));
    let before = descriptors(service.child.id());
    for round in 0..KILLS {
        let mut client = client();
        // At any call, the first ones included.
        std::thread::sleep(Duration::from_millis(round * round % 331));
        client.kill().expect("it runs");
        let output = client.wait_with_output().expect("it runs");
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let begin = Instant::now();
    while descriptors(service.child.id()) > before {
        assert!(begin.elapsed() < TIMEOUT, "it keeps descriptors of clients that are gone");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(answers().expect("it answers").unbalanced_intervals, Some(0));
}
