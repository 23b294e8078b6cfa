//! A list of tasks in one system call: the same records as a walk has, of no other task. Needs root.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use cpuledger_bpf::{Inspector, Request, Walked, Walker, Wanted, abi};
use cpuledger_load::{Lent, Shared, Sleepers, is_emulated};

const GROUPS: u32 = abi::CPULEDGER_READ_DETAIL
    | abi::CPULEDGER_READ_MEMORY
    | abi::CPULEDGER_READ_RSS
    | abi::CPULEDGER_READ_CGROUP
    | abi::CPULEDGER_READ_KTHREAD_NAME;

/// More than the first buffers hold.
const THREADS: usize = 5000;

/// Above the largest pid_max there is.
const ABSENT: i32 = 1 << 23;

/// An inspection with room for a few, for those tests that are not about its beginning.
fn inspector() -> Lent<'static, Inspector> {
    static INSPECTOR: Shared<Inspector> = Shared::new();
    INSPECTOR.lend(|| Inspector::load(8, 1).expect("the inspection loads; it needs root"))
}

fn leader(tid: i32) -> Wanted {
    Wanted { tid, opens_process: true }
}

fn thread(tid: i32) -> Wanted {
    Wanted { tid, opens_process: false }
}

/// The tasks that a walk has seen, as a list.
fn wanted_of(walked: &Walked<'_>) -> Vec<Wanted> {
    let tasks = walked.tasks.iter();
    tasks.map(|task| Wanted { tid: task.tid, opens_process: task.tid == task.pid }).collect()
}

fn tids(walked: &Walked<'_>) -> Vec<i32> {
    walked.tasks.iter().map(|task| task.tid).collect()
}

/// A process with this number of threads, as a list: its leader, then the others.
fn sleeping_process(sleepers: &Sleepers) -> Vec<Wanted> {
    let pid = sleepers.processes()[0].pid;
    let tids: BTreeSet<i32> = std::fs::read_dir(format!("/proc/{pid}/task"))
        .expect("it sleeps")
        .map(|entry| entry.expect("a task").file_name().to_string_lossy().parse().expect("a tid"))
        .collect();
    std::iter::once(leader(pid)).chain(tids.into_iter().filter(|tid| *tid != pid).map(thread)).collect()
}

/// Every task record refers to its process and every process to its leader.
fn assert_linked(walked: &Walked<'_>) {
    for task in walked.tasks {
        assert_eq!(walked.processes[task.process_index as usize].pid, task.pid);
    }
    for process in walked.processes {
        let leader = &walked.tasks[process.task_index as usize];
        assert_eq!((leader.tid, leader.pid), (process.pid, process.pid));
    }
}

/// All but the place of its process in the list. The task sleeps, so nothing else may differ.
fn assert_same_task(inspected: &abi::cpuledger_task, walked: &abi::cpuledger_task) {
    let of_lists = |task: &abi::cpuledger_task| abi::cpuledger_task { process_index: 0, ..*task };
    assert_eq!(format!("{:?}", of_lists(inspected)), format!("{:?}", of_lists(walked)));
}

fn assert_same_process(inspected: &abi::cpuledger_process, walked: &abi::cpuledger_process) {
    let of_lists = |process: &abi::cpuledger_process| abi::cpuledger_process { task_index: 0, ..*process };
    assert_eq!(format!("{:?}", of_lists(inspected)), format!("{:?}", of_lists(walked)));
}

/// TASK_INTERRUPTIBLE.
const ASLEEP: u32 = 1;

/// Waits until all threads of a process sleep: those that were just made have a way to go, and a slow CPU takes its time.
fn settle(walker: &mut Walker, pid: i32) {
    let request = Request { scope: abi::CPULEDGER_WALK_TASKS, groups: GROUPS, only_pid: Some(pid) };
    let mut before = Vec::new();
    for _ in 0..1000 {
        let walked = walker.walk(&request).expect("a walk");
        let is_asleep = walked.tasks.iter().all(|task| task.state == ASLEEP);
        let now: Vec<String> = walked.tasks.iter().map(|task| format!("{task:?}")).collect();
        if is_asleep && now == before {
            return;
        }
        before = now;
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("process {pid} does not go to sleep: {before:#?}");
}

#[test]
fn records_equal_those_of_a_walk_root() {
    let sleepers = Sleepers::start(50, 2).expect("threads that sleep");
    let mut walker = Walker::load().expect("the walk loads; it needs root");
    let mut inspector = Inspector::load(1, 1).expect("the inspection loads");
    for process in sleepers.processes() {
        settle(&mut walker, process.pid);
        let request = Request { scope: abi::CPULEDGER_WALK_LEADERS, groups: GROUPS, only_pid: None };
        let walked = walker.walk(&request).expect("a walk");
        let inspected = inspector.inspect(&[leader(process.pid)], GROUPS).expect("an inspection");
        assert_linked(&inspected);
        assert_eq!((inspected.tasks.len(), inspected.processes.len()), (1, 1));
        assert_eq!(inspected.lacks, walked.lacks);
        assert!(inspected.begin_ns <= inspected.end_ns && inspected.begin_ns > walked.end_ns);
        let expected = walked.processes.iter().find(|found| found.pid == process.pid).expect("it is there");
        assert_same_process(&inspected.processes[0], expected);
        assert_eq!(expected.totals_known, 0);

        let request =
            Request { scope: abi::CPULEDGER_WALK_TASKS, groups: GROUPS, only_pid: Some(process.pid) };
        let walked = walker.walk(&request).expect("a walk");
        let inspected = inspector.inspect(&wanted_of(&walked), GROUPS).expect("an inspection");
        assert_eq!(inspected.tasks.len(), walked.tasks.len());
        for (inspected, walked) in inspected.tasks.iter().zip(walked.tasks) {
            assert_same_task(inspected, walked);
        }
        assert_eq!(inspected.rests.len(), inspected.tasks.len());
        assert_eq!(format!("{:?}", inspected.rests), format!("{:?}", walked.rests));
    }
    // A process with one thread: its totals are known.
    let sleepers = Sleepers::start(1, 1).expect("a process that sleeps");
    let pid = sleepers.processes()[0].pid;
    settle(&mut walker, pid);
    let request = Request { scope: abi::CPULEDGER_WALK_TASKS, groups: GROUPS, only_pid: Some(pid) };
    let walked = walker.walk(&request).expect("a walk");
    let inspected = inspector.inspect(&[leader(pid)], GROUPS).expect("an inspection");
    assert_same_process(&inspected.processes[0], &walked.processes[0]);
    assert_eq!(inspected.processes[0].totals_known, 1);
}

#[test]
fn a_task_that_became_another_is_left_out_root() {
    let sleepers = Sleepers::start(8, 2).expect("threads that sleep");
    let other = Sleepers::start(1, 1).expect("a process that sleeps");
    let process = sleeping_process(&sleepers);
    let (pid, other) = (process[0].tid, other.processes()[0].pid);
    let own = process[1].tid;
    let mut inspector = inspector();
    let mut expect = |wanted: &[Wanted], seen: &[i32]| {
        let inspected = inspector.inspect(wanted, GROUPS).expect("an inspection");
        assert_linked(&inspected);
        assert_eq!(tids(&inspected), seen, "of {wanted:?}");
        let leaders = inspected.tasks.iter().filter(|task| task.tid == task.pid).count();
        assert_eq!(inspected.processes.len(), leaders);
    };
    expect(&[], &[]);
    expect(&[leader(ABSENT), leader(0), leader(-1), thread(ABSENT)], &[]);
    // In the order of the list.
    expect(&[leader(other), leader(pid), thread(own)], &[other, pid, own]);
    expect(&[leader(pid), thread(ABSENT), thread(own), leader(other)], &[pid, own, other]);
    // A leader that is a thread, and threads that are leaders.
    expect(&[leader(own), thread(own), leader(other)], &[other]);
    expect(&[leader(pid), thread(pid), thread(other), thread(own)], &[pid, own]);
    // Threads of another process, of one that is gone, of none.
    expect(&[leader(other), thread(own)], &[other]);
    expect(&[leader(pid), leader(ABSENT), thread(own)], &[pid]);
    expect(&[thread(own), leader(pid)], &[pid]);
    // The program forgets the last call.
    expect(&[thread(own)], &[]);
}

#[test]
fn a_task_that_has_died_is_left_out_root() {
    let mut inspector = inspector();
    let sleepers = Sleepers::start(4, 1).expect("threads that sleep");
    let wanted = sleeping_process(&sleepers);
    assert_eq!(inspector.inspect(&wanted, 0).expect("an inspection").tasks.len(), wanted.len());
    drop(sleepers);
    let inspected = inspector.inspect(&wanted, 0).expect("an inspection");
    assert_eq!((inspected.tasks.len(), inspected.processes.len()), (0, 0));
}

#[test]
fn a_long_list_is_answered_whole_root() {
    let (threads, processes) = if is_emulated() { (THREADS / 10, 50) } else { (THREADS, 500) };
    let sleepers = Sleepers::start(threads, 1).expect("threads that sleep");
    let wanted = sleeping_process(&sleepers);
    assert!(wanted.len() >= threads);
    let mut inspector = Inspector::load(60, 1).expect("the inspection loads; it needs root");
    for length in [60, wanted.len(), 1, wanted.len()] {
        let inspected = inspector.inspect(&wanted[..length], GROUPS).expect("an inspection");
        assert_linked(&inspected);
        let expected: Vec<i32> = wanted[..length].iter().map(|wanted| wanted.tid).collect();
        assert_eq!(tids(&inspected), expected);
        assert_eq!(inspected.processes[0].threads as usize, wanted.len());
    }
    // As many processes as tasks.
    let sleepers = Sleepers::start(processes, processes).expect("processes that sleep");
    let wanted: Vec<Wanted> = sleepers.processes().iter().map(|process| leader(process.pid)).collect();
    let inspected = inspector.inspect(&wanted, GROUPS).expect("an inspection");
    assert_linked(&inspected);
    assert_eq!(inspected.processes.len(), wanted.len());
}

/// The system calls of 10 inspections of 300 tasks: those between the two lines that the example prints.
#[test]
fn one_inspection_is_one_bpf_call_root() {
    let test = std::env::current_exe().expect("the path of this test");
    let folder: PathBuf = test.ancestors().nth(2).expect("a profile folder").join("examples");
    let trace = std::env::temp_dir().join(format!("cpuledger-inspect-trace-{}", std::process::id()));
    let status = Command::new("strace")
        .arg("-o")
        .arg(&trace)
        .arg(folder.join("inspect_cost"))
        .args(["300", "10"])
        .stdout(Stdio::null())
        .status()
        .expect("strace runs: install the package strace");
    assert!(status.success());
    let text = std::fs::read_to_string(&trace).expect("a trace");
    std::fs::remove_file(&trace).expect("the trace is ours");
    let lines: Vec<&str> = text.lines().collect();
    let outputs: Vec<usize> =
        (0..lines.len()).filter(|place| lines[*place].starts_with("write(1, ")).collect();
    assert_eq!(outputs.len(), 2, "{text}");
    let calls = &lines[outputs[0] + 1..outputs[1]];
    assert_eq!(calls.len(), 10, "{calls:#?}");
    assert!(calls.iter().all(|call| call.starts_with("bpf(")), "{calls:#?}");
}

#[test]
fn every_process_has_the_parent_that_proc_tells_root() {
    let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("sleep runs");
    let pid = child.id() as i32;
    let mut inspector = Inspector::load(1, 100_000).expect("the inspection loads; it needs root");
    let parents = inspector.parents().expect("a list").to_vec();
    child.kill().expect("it is ours");
    child.wait().expect("it ends");
    let myself = std::process::id() as i32;
    let find = |pid| parents.iter().find(|parent| parent.pid == pid).expect("it is listed");
    assert_eq!(find(pid).parent_pid, myself);
    assert_eq!(find(pid).parent_start_time_ns, find(myself).start_time_ns);
    assert!(find(pid).start_time_ns > find(myself).start_time_ns);
    assert_eq!(find(myself).parent_pid, std::os::unix::process::parent_id() as i32);
    // Of a list without room for all, what fits.
    let mut small = Inspector::load(1, 0).expect("the inspection loads");
    assert!(!small.parents().expect("a list").is_empty());
}
