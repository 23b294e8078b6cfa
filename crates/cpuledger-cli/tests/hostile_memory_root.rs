//! A cgroup with little memory: each command ends in an answer, in one sentence, or by the kernel, which then has nothing left of it.
//! Needs root, and a mounted cgroup v2 or the v1 controller memory.

mod hostile;

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use cpuledger_load::{BpfHeld, Cgroup};
use hostile::{assert_is_an_answer, error_of};

const KILLED: i32 = 9;
const HANGS_AFTER: Duration = Duration::from_secs(120);
/// The kernel frees BPF objects some grace periods after their last file is closed.
const GONE_WITHIN: Duration = Duration::from_secs(60);

/// From too little for any program to enough for all of this one, in KiB.
const LIMITS_KIB: [u64; 7] = [256, 1024, 2048, 4096, 8192, 16_384, 65_536];
const ENOUGH_KIB: u64 = 512 * 1024;

/// What each is called in v1 and v2.
const LIMIT: [&str; 2] = ["memory.limit_in_bytes", "memory.max"];
const SWAP: [&str; 2] = ["memory.memsw.limit_in_bytes", "memory.swap.max"];
const EVENTS: [&str; 2] = ["memory.oom_control", "memory.events"];

/// A cgroup whose members may have little memory, and no swap.
struct Little(Cgroup);

impl Little {
    fn of(kib: u64) -> Little {
        let little = Little(Cgroup::new("memory").expect("a cgroup is made; it needs root"));
        let bytes = (kib << 10).to_string();
        little.0.write(little.name(LIMIT), &bytes).expect("a limit");
        // Where there is no swap there may be no limit of it.
        let swap = if little.0.is_v1() { bytes.as_str() } else { "0" };
        let _ = little.0.write(little.name(SWAP), swap);
        little
    }

    fn name(&self, names: [&'static str; 2]) -> &'static str {
        names[usize::from(!self.0.is_v1())]
    }

    /// How many of its members the kernel has killed.
    fn kills(&self) -> u64 {
        let events = self.0.read(self.name(EVENTS)).expect("events");
        let line = events.lines().find_map(|line| line.strip_prefix("oom_kill "));
        line.and_then(|number| number.parse().ok()).expect("a number of kills")
    }

    /// Runs a command line in it, and says what of BPF it had meanwhile.
    fn run(&self, line: &str) -> (Output, BpfHeld) {
        let enter = "echo $$ > \"$1\"/cgroup.procs && shift && exec \"$@\"";
        let mut child = Command::new("/bin/sh")
            .args(["-c", enter, "sh"])
            .arg(self.0.path())
            .arg(env!("CARGO_BIN_EXE_cpuledger"))
            .args(line.split(' '))
            .env_remove("RUST_BACKTRACE")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("a shell");
        let (begin, pid) = (Instant::now(), child.id());
        let watch = thread::spawn(move || {
            let mut all = BpfHeld::default();
            // Its number is its own until it is waited for, which is after this.
            while !is_over(pid) && begin.elapsed() < HANGS_AFTER {
                let BpfHeld { programs, maps, links } = BpfHeld::by(pid);
                all.programs.extend(programs);
                all.maps.extend(maps);
                all.links.extend(links);
                thread::sleep(Duration::from_millis(1));
            }
            all
        });
        // Pipes are read to their ends before the watch is over: a full one would hold the child up.
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let told = thread::spawn(move || read(stderr));
        let (stdout, stderr) = (read(stdout), told.join().expect("it is read"));
        let held = watch.join().expect("it watches");
        if !is_over(pid) {
            child.kill().expect("SIGKILL");
        }
        let status = child.wait().expect("it ends");
        assert!(begin.elapsed() < HANGS_AFTER, "{line} hangs");
        (Output { status, stdout, stderr }, held)
    }
}

/// Whether a child that was not waited for has ended.
fn is_over(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    status.is_empty() || status.lines().any(|line| line.starts_with("State:\tZ"))
}

fn read(pipe: Option<impl std::io::Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    pipe.expect("a pipe").read_to_end(&mut bytes).expect("it is read");
    bytes
}

const FORMS: [&str; 3] =
    ["ps -eLf", "top -b -n 1 -d 0.1", "top -b -n 2 -d 0.1 --source ledger --format json"];

#[test]
fn a_cgroup_with_little_memory_root() {
    // Pages of a file are charged to the process that reads them first. One with little memory would read them again and
    // again instead of being killed.
    std::fs::read(env!("CARGO_BIN_EXE_cpuledger")).expect("it is there");
    for line in FORMS {
        let (mut answers, mut sentences, mut kills) = (Vec::new(), Vec::new(), Vec::new());
        for kib in LIMITS_KIB {
            let little = Little::of(kib);
            let (output, held) = little.run(line);
            // However it ended, what it had is gone.
            let left = held.left_after(GONE_WITHIN).expect("bpftool lists");
            assert_eq!(left, BpfHeld::default(), "{line} with {kib} KiB has left something");
            match output.status.signal() {
                Some(KILLED) => {
                    assert!(little.kills() > 0, "{line} with {kib} KiB is killed, not for want of memory");
                    kills.push(kib);
                }
                _ => {
                    assert_is_an_answer(line, &output);
                    let list = if output.status.success() { &mut answers } else { &mut sentences };
                    list.push(kib);
                }
            }
        }
        println!("{line}: KiB with an answer {answers:?}, with a sentence {sentences:?}, killed {kills:?}");
        assert!(kills.contains(&LIMITS_KIB[0]), "{line}: no program has so little");
        let (output, held) = Little::of(ENOUGH_KIB).run(line);
        assert_eq!(output.status.code(), Some(0), "{line}: {}", error_of(&output));
        assert!(!line.contains("ledger") || !held.links.is_empty(), "{line}: nothing was attached");
    }
}
