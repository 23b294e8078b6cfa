//! Machines that lack something, or deny it: each command ends in an answer, or in one sentence and its exit code. Needs root, to
//! make them; each lives in namespaces of its own, and the machine itself is left as it is.

mod hostile;

use std::process::Command;

use hostile::{Machine, SOURCES, error_of};

/// What works on the machine that runs the tests: the others are compared with it.
fn here() -> Vec<String> {
    let usable = Machine::new(&["env"]).usable();
    assert!(usable.iter().any(|source| source == "ledger"), "the tests need root and BPF: {usable:?}");
    usable
}

fn without<'a>(usable: &'a [String], missing: &[&str]) -> Vec<&'a str> {
    usable.iter().map(String::as_str).filter(|source| !missing.contains(source)).collect()
}

#[test]
fn an_ordinary_machine_root() {
    Machine::new(&["env"]).thoroughly().has_sources(&without(&here(), &[]));
}

#[test]
fn no_procfs_root() {
    let machine = Machine::mounted("umount --lazy /proc").thoroughly();
    machine.has_sources(&[]);
    let error = error_of(&machine.run("status --all"));
    assert_eq!(error, "cpuledger: cannot read /proc: it is not a procfs; mount procfs on /proc\n");
}

#[test]
fn no_btf_root() {
    let hidden = "test ! -d /sys/kernel/btf || mount -t tmpfs none /sys/kernel/btf";
    let machine = Machine::mounted(hidden).thoroughly();
    machine.has_sources(&without(&here(), &["ledger", "walk"]));
    let error = error_of(&machine.run("ps aux --source walk"));
    assert!(error.contains("no BTF at /sys/kernel/btf/vmlinux"), "{error}");
}

/// What the sentences of both sources of BPF and their rows of doctor begin with.
/// The reason is that of as many sources in all.
fn assert_reason(machine: &Machine, reason: &str, sources: usize) {
    for source in ["ledger", "walk"] {
        let error = error_of(&machine.run(&format!("top --batch -n 1 -d 0.05 --source {source}")));
        assert!(error.contains(reason), "{source}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    let doctor = machine.run("doctor").stdout;
    let doctor = String::from_utf8(doctor).expect("UTF-8");
    assert_eq!(
        doctor.lines().filter(|line| line.contains("why") && line.contains(reason)).count(),
        sources,
        "{doctor}"
    );
}

#[test]
fn no_sysfs_root() {
    let machine = Machine::mounted("umount --lazy /sys");
    machine.has_sources(&without(&here(), &["ledger", "walk"]));
    assert_reason(&machine, "no sysfs is mounted on /sys", 2);
}

#[test]
fn a_user_namespace_root() {
    let machine = Machine::new(&["unshare", "--user", "--map-root-user"]);
    machine.has_sources(&["procfs"]);
    assert_reason(&machine, "the capabilities of a user namespace do not suffice", 3);
}

#[test]
fn bpf_refused_by_seccomp_root() {
    let load = cpuledger_load::program().expect("the helper").to_str().expect("a path of UTF-8").to_owned();
    for (errno, reason) in [("1", "seccomp filter"), ("38", "seccomp filter hides it")] {
        let machine = Machine::new(&[&load, "without-bpf", "--errno", errno]);
        machine.has_sources(&without(&here(), &["ledger", "walk"]));
        let error = error_of(&machine.run("top --batch -n 1 -d 0.05 --source ledger"));
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn hidepid_root() {
    let machine = Machine::mounted("mount -t proc -o hidepid=2 proc /proc");
    machine.has_sources(&without(&here(), &[]));
    let nobody = Machine::mounted("mount -t proc -o hidepid=2 proc /proc").and(NOBODY).for_every_user();
    nobody.has_sources(&["procfs"]);
}

const NOBODY: &[&str] = &[
    "setpriv",
    "--reuid=65534",
    "--regid=65534",
    "--clear-groups",
    "--inh-caps=-all",
    "--bounding-set=-all",
];

#[test]
fn sixteen_open_files_root() {
    // A process that may raise its limit does so, and has everything.
    Machine::new(&["prlimit", "--nofile=16:1024"]).has_sources(&without(&here(), &[]));
    let machine = Machine::new(&["prlimit", "--nofile=16"]);
    machine.answers();
    // At whatever step they run out, the sentence is about open files.
    for files in 14..64 {
        let machine = Machine::new(&["prlimit", &format!("--nofile={files}")]);
        for command in ["ps aux --source walk", "top --batch -n 1 -d 0.05 --source ledger"] {
            let error = error_of(&machine.run(command));
            assert!(error.is_empty() || error.contains("raise the limit of open files"), "{files}: {error}");
        }
    }
    assert_eq!(machine.run("ps -ef").status.code(), Some(0));
    assert_eq!(machine.run("top --batch -n 1 -d 0.05").status.code(), Some(0));
    // Each that is too few for something else; below 4 not even the libraries can be opened.
    for files in ["--nofile=5", "--nofile=7", "--nofile=9", "--nofile=12"] {
        Machine::new(&["prlimit", files]).answers();
    }
}

#[test]
fn no_more_threads_root() {
    // The limit is on the user: no other process runs as this one.
    let machine = Machine::new(&[
        "setpriv",
        "--reuid=63117",
        "--regid=63117",
        "--clear-groups",
        "--inh-caps=-all,+bpf,+perfmon",
        "--ambient-caps=-all,+bpf,+perfmon",
        "--bounding-set=-all,+bpf,+perfmon",
        "prlimit",
        "--nproc=1",
    ]);
    machine.for_every_user().has_sources(&without(&here(), &["netlink"]));
}

#[test]
fn little_address_space_root() {
    for mib in [16, 18, 19, 20, 21, 22, 24, 26, 28, 36, 48, 80] {
        // Where the program itself does not fit, the kernel or its loader says so: that is not ours to judge.
        let bytes = format!("--as={}", mib << 20);
        let machine = Machine::new(&["prlimit", &bytes]);
        let version =
            Command::new("prlimit").args([&bytes, env!("CARGO_BIN_EXE_cpuledger"), "--version"]).output();
        let code = version.expect("prlimit runs: install util-linux").status.code();
        if code.is_some_and(|code| code != 127) {
            machine.answers();
        }
    }
    Machine::new(&["prlimit", "--as=2147483648"]).has_sources(&without(&here(), &[]));
}

#[test]
fn time_namespaces_root() {
    let kernel_clocks = ["ledger", "walk"];
    for offsets in [["--boottime=1000000", "--monotonic=500000"], ["--boottime=-50", "--monotonic=-50"]] {
        let machine = Machine::new(&["unshare", "--time", offsets[0], offsets[1], "--fork", "--kill-child"]);
        machine.has_sources(&without(&here(), &kernel_clocks));
        let error = error_of(&machine.run("top --batch -n 1 -d 0.05 --source walk"));
        assert!(error.contains("this time namespace shifts them"), "{error}");
    }
    let machine = Machine::new(&["unshare", "--time", "--boottime=0", "--monotonic=0", "--fork"]);
    machine.has_sources(&without(&here(), &[]));
}

#[test]
fn containers_root() {
    let pids = ["unshare", "--pid", "--fork", "--mount-proc", "--net", "--ipc", "--uts", "--cgroup"];
    // With all capabilities: other numbers of tasks.
    Machine::new(&pids).has_sources(&["procfs"]);
    // Without CAP_BPF, and without the namespace.
    let drop = ["setpriv", "--inh-caps=-all", "--bounding-set=-bpf,-perfmon,-sys_admin"];
    Machine::new(&pids).and(&drop).has_sources(&["procfs"]);
    Machine::new(&drop).has_sources(&without(&here(), &["ledger", "walk"]));
    // The PID namespace of the host and CAP_BPF.
    let host_pids = ["unshare", "--mount", "--net", "--ipc", "--uts", "--cgroup"];
    Machine::new(&host_pids).has_sources(&without(&here(), &[]));
    // Root of a user namespace has no rights here.
    let machine = Machine::new(&["unshare", "--user", "--map-root-user"]);
    machine.for_every_user().has_sources(&["procfs"]);
}

#[test]
fn every_cgroup_version_root() {
    let unmount = "umount --recursive --lazy /sys/fs/cgroup 2>/dev/null || true";
    let v1 = "mount -t tmpfs none /sys/fs/cgroup; mkdir /sys/fs/cgroup/cpu; \
              mount -t cgroup -o cpu none /sys/fs/cgroup/cpu || \
              mount -t cgroup -o none,name=cpuledger-test none /sys/fs/cgroup/cpu";
    let v2 = "mount -t cgroup2 none /sys/fs/cgroup";
    let hybrid = "mkdir /sys/fs/cgroup/unified; mount -t cgroup2 none /sys/fs/cgroup/unified";
    for script in [
        unmount.to_owned(),
        format!("{unmount}; {v2}"),
        format!("{unmount}; {v1}"),
        format!("{unmount}; {v1}; {hybrid}"),
    ] {
        let machine = Machine::mounted(&script);
        machine.has_sources(&without(&here(), &[]));
        let output = machine.run("ps -e -o pid,cgroup,cgname,cgroup_id,unit,slice,lxc,docker");
        assert_eq!(output.status.code(), Some(0), "{}", error_of(&output));
    }
}

#[test]
fn full_file_systems_root() {
    let full = Machine::new(&["sh", "-c", "exec \"$@\" >/dev/full", "sh"]);
    for form in hostile::FORMS.iter().chain(hostile::MORE_FORMS) {
        let output = full.run(form.line);
        assert_eq!(output.status.code(), Some(1), "{}", form.line);
        let error = error_of(&output);
        assert!(
            error.ends_with("cannot write to standard output: No space left on device (os error 28)\n"),
            "{error}"
        );
    }
    // A file system that fills up half-way.
    let script = "mount -t tmpfs -o size=16k none /mnt; exec 3>/mnt/out; \"$@\" >&3; code=$?; \
                  test -s /mnt/out || exit 99; exit $code";
    let machine = Machine::new(&["unshare", "--mount", "sh", "-c", script, "sh"]);
    let output = machine.run("top --batch -n 200 -d 0.01 --format json --source procfs");
    assert_eq!(output.status.code(), Some(1), "{}", error_of(&output));
}

#[test]
fn the_forms_name_every_source() {
    for source in SOURCES {
        assert!(hostile::FORMS.iter().any(|form| form.source == Some(source)), "{source}");
    }
}
