//! The zoo, topic by topic.

use cpuledger_load::Member;

use crate::proc::{
    TICK_US, children_cpu_us, read, stat_field, stat_number, status, status_bytes, status_numbers,
    task_cpu_ns, threads,
};
use crate::zoo::{member, whole_zoo};

/// What a task may use between its statement and its rest.
const SLACK_NS: u64 = 5_000_000;

fn stat(member: &Member, field: usize) -> i64 {
    stat_number(&member.pid.to_string(), field)
}

#[test]
fn threads_are_as_told_root() {
    let zoo = whole_zoo();
    for (kind, count) in [("threads", 4), ("leader-exited", 2)] {
        let Member { pid, truth, .. } = member(&zoo, kind);
        assert_eq!((truth.threads.len(), threads(*pid)), (count, count), "{kind}");
        for thread in &truth.threads {
            let task = format!("{pid}/task/{}", thread.tid);
            let comm = read(&format!("/proc/{task}/comm"));
            assert_eq!(comm.strip_suffix(b"\n"), Some(&thread.comm.0[..]), "{thread:?}");
            assert_eq!(stat_field(&task, 3), thread.state, "{thread:?}");
            let ns = task_cpu_ns(*pid, thread.tid);
            assert!((thread.cpu_ns..thread.cpu_ns + SLACK_NS).contains(&ns), "{thread:?} has {ns} ns");
        }
    }
    assert!(member(&zoo, "threads").truth.threads.iter().any(|thread| thread.cpu_ns >= 50_000_000));
    assert_eq!(member(&zoo, "leader-exited").truth.threads[0].state, "Z");
}

#[test]
fn the_zombie_is_as_told_root() {
    let zoo = whole_zoo();
    let zombie = member(&zoo, "zombie");
    assert_eq!(zombie.truth.state, "Z");
    assert_eq!(Some(stat(zombie, 52)), zombie.truth.wait_status.map(i64::from));
    let told = zombie.truth.cpu_ns.expect("told");
    let ns = task_cpu_ns(zombie.pid, zombie.pid);
    assert!(told >= 5_000_000 && (told..told + SLACK_NS).contains(&ns), "{ns} ns, told {told}");
    assert_eq!(member(&zoo, "stopped").truth.state, "T");
}

#[test]
fn scheduling_is_as_told_root() {
    let zoo = whole_zoo();
    for (kind, nice) in [("nice-7", 7), ("nice-minus-5", -5)] {
        let member = member(&zoo, kind);
        assert_eq!((member.truth.nice, stat(member, 19)), (Some(nice), i64::from(nice)), "{kind}");
    }
    for (kind, policy, priority) in
        [("fifo", 1, 3), ("round-robin", 2, 2), ("batch", 3, 0), ("idle-policy", 5, 0)]
    {
        let member = member(&zoo, kind);
        assert_eq!((member.truth.policy, member.truth.rt_priority), (Some(policy), Some(priority)), "{kind}");
        assert_eq!((stat(member, 41), stat(member, 40)), (i64::from(policy), i64::from(priority)), "{kind}");
    }
}

#[test]
fn namespaces_are_as_told_root() {
    let zoo = whole_zoo();
    for (kind, depth) in [("pid-namespace", 2), ("pid-namespace-nested", 3)] {
        let Member { pid, truth, .. } = member(&zoo, kind);
        let told: Vec<String> = truth.namespace_pids.iter().map(i32::to_string).collect();
        // The test may itself run in a namespace of another: the kernel starts at /proc's own.
        assert_eq!(status(*pid, "NSpid"), told, "{kind}");
        assert_eq!(told.len(), depth, "{kind}");
    }
}

/// The resident bytes of the mappings whose line in /proc/PID/smaps contains a word. Exact, while the totals
/// of /proc/PID/status lag behind on some kernels.
fn resident_bytes(pid: i32, word: &str) -> u64 {
    let smaps = String::from_utf8_lossy(&read(&format!("/proc/{pid}/smaps"))).into_owned();
    let (mut counts, mut kib) = (false, 0);
    for line in smaps.lines() {
        match line.strip_prefix("Rss:") {
            Some(rss) if counts => kib += rss.trim_end_matches("kB").trim().parse::<u64>().expect("a number"),
            // The line that a mapping begins with has no colon after its first word.
            None if !line.split(' ').next().is_some_and(|first| first.ends_with(':')) => {
                counts = line.contains(word)
            }
            _ => {}
        }
    }
    kib * 1024
}

#[test]
fn memory_is_as_told_root() {
    let zoo = whole_zoo();
    let large = member(&zoo, "large-mapping");
    let told = large.truth.virtual_bytes.expect("told");
    assert!(told == 4 << 30 && status_bytes(large.pid, "VmSize") >= told);
    for (kind, bytes) in [("large-mapping", 8 << 20), ("locked", 1 << 20)] {
        let Member { pid, truth, .. } = member(&zoo, kind);
        let rollup = String::from_utf8_lossy(&read(&format!("/proc/{pid}/smaps_rollup"))).into_owned();
        let anonymous = rollup.lines().find_map(|line| line.strip_prefix("Anonymous:")?.strip_suffix("kB"));
        let anonymous: u64 = anonymous.expect("a total").trim().parse().expect("a number");
        assert_eq!(truth.resident_anon_bytes, Some(bytes), "{kind}");
        assert!((bytes..bytes + (4 << 20)).contains(&(anonymous * 1024)), "{kind}: {anonymous} KiB");
    }
    let locked = member(&zoo, "locked");
    assert_eq!(locked.truth.locked_bytes, Some(status_bytes(locked.pid, "VmLck")));
    let shared = member(&zoo, "shared-mappings");
    let [file, shmem] =
        [&shared.truth.resident_file_bytes, &shared.truth.resident_shmem_bytes].map(|b| b.expect("told"));
    let of_file = resident_bytes(shared.pid, "cpuledger-load.shared-mappings");
    let of_shmem = resident_bytes(shared.pid, "/dev/zero");
    assert_eq!((of_file, of_shmem), (2 << 20, 3 << 20));
    assert_eq!(file + shmem, of_file + of_shmem);
}

#[test]
fn sessions_and_terminals_are_as_told_root() {
    let zoo = whole_zoo();
    for kind in ["session", "terminal"] {
        let member = member(&zoo, kind);
        let (pid, truth) = (i64::from(member.pid), &member.truth);
        assert_eq!((truth.process_group.map(i64::from), stat(member, 5)), (Some(pid), pid), "{kind}");
        assert_eq!((truth.session.map(i64::from), stat(member, 6)), (Some(pid), pid), "{kind}");
        assert_eq!(truth.terminal_number.map(u64::cast_signed), Some(stat(member, 7)), "{kind}");
        assert_eq!(truth.foreground_group.map(i64::from), Some(stat(member, 8)), "{kind}");
    }
    let terminal = member(&zoo, "terminal");
    assert_eq!(stat(terminal, 8), i64::from(terminal.pid), "it is in the foreground");
    assert!(terminal.truth.terminal.as_ref().is_some_and(|path| path.starts_with("/dev/pts/")));
}

#[test]
fn users_are_as_told_root() {
    let zoo = whole_zoo();
    let Member { pid, truth, .. } = member(&zoo, "users");
    let numbers = |key| status_numbers(*pid, key).into_iter().map(|id| id as u32).collect::<Vec<_>>();
    assert_eq!(numbers("Uid"), truth.uids.expect("told"));
    assert_eq!(numbers("Gid"), truth.gids.expect("told"));
    assert_eq!(numbers("Groups"), *truth.groups.as_ref().expect("told"));
    assert_eq!(truth.uids, Some([12_345, 12_346, 12_347, 12_345]));
}

#[test]
fn file_io_is_as_told_root() {
    let zoo = whole_zoo();
    let Member { pid, truth, .. } = member(&zoo, "file-io");
    let io = String::from_utf8(read(&format!("/proc/{pid}/io"))).expect("text");
    let counted = |key: &str| -> u64 {
        let count = io.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(": "));
        count.expect("a count").parse().expect("a number")
    };
    for (key, told) in [("rchar", truth.read_chars), ("wchar", truth.write_chars)] {
        assert!(told.is_some_and(|told| told == 1 << 20 && counted(key) >= told), "{key} in {io}");
    }
    for (key, told) in [("read_bytes", truth.read_bytes), ("write_bytes", truth.write_bytes)] {
        match told {
            Some(told) => assert!(counted(key) >= told, "{key} in {io}"),
            None => assert_eq!(counted(key), 0, "{key} in {io}"),
        }
    }
}

#[test]
fn waited_children_are_as_told_root() {
    let zoo = whole_zoo();
    let member = member(&zoo, "waited-children");
    let told_us = member.truth.children_cpu_us.expect("told");
    let us = children_cpu_us(member.pid);
    assert!(told_us >= 30_000 && us <= told_us && told_us < us + 2 * TICK_US, "{us} µs, told {told_us}");
    let faults = member.truth.children_minor_faults.expect("told");
    assert_eq!(stat(member, 11).cast_unsigned(), faults);
    assert!(faults >= 1024);
}

#[test]
fn arguments_are_as_told_root() {
    let zoo = whole_zoo();
    let told: Vec<&Member> = zoo.members().iter().filter(|member| member.truth.cmdline.is_some()).collect();
    assert_eq!(told.len(), 8, "seven about arguments, and the zombie");
    for Member { kind, pid, truth, .. } in told {
        let cmdline = read(&format!("/proc/{pid}/cmdline"));
        assert!(
            Some(&cmdline) == truth.cmdline.as_ref().map(|told| &told.0),
            "{kind}: {}",
            cmdline.escape_ascii()
        );
    }
    let bytes = |kind| &member(&zoo, kind).truth.cmdline.as_ref().expect("told").0[..];
    assert!(bytes("arguments-long").len() > 100 * 1024);
    assert!(bytes("arguments-escapes").starts_with(b"name\0two\nlines\0\x1b[31mred\0"));
    assert!(bytes("arguments-overwritten").starts_with(b"a title of its own\0\0"));
    assert_eq!(bytes("arguments-overrun"), b"a title of its own\0");
    assert!(bytes("arguments-erased").iter().all(|&byte| byte == 0));
    assert_eq!(bytes("arguments-none"), b"");
}
