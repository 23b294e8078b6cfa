//! Time goes to the task that used it: compared with tasks that know their own. Needs root.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cpuledger_bpf::abi;
use cpuledger_bpf::ledger::{Ledger, Options};
use cpuledger_load::scene::{alone, scene, scene_of_times, were_missed};
use cpuledger_load::{Burn, BurnPlan, Storm, StormPlan, is_emulated};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

const INTERVAL_NS: u64 = 20_000_000;

/// What the intervals say of one (tid, start time) together.
#[derive(Clone, Default)]
struct Account {
    wall_ns: u64,
    folded_ns: u64,
    ends: u32,
    /// As it was at the last switch, if there was one, else in the last interval.
    slot: abi::cpuledger_slot,
}

impl Account {
    fn has(&self, flag: u32) -> bool {
        u32::from(self.slot.flags) & flag != 0
    }

    fn comm(&self) -> String {
        let comm: Vec<u8> = self.slot.comm.iter().copied().take_while(|byte| *byte != 0).collect();
        String::from_utf8_lossy(&comm).into_owned()
    }
}

type Accounts = HashMap<(i32, u64), Account>;

/// Closes intervals until `is_over` and one more; accounts by tid and start time.
fn account(ledger: &mut Ledger, mut is_over: impl FnMut() -> bool) -> Accounts {
    let mut accounts = Accounts::new();
    let mut goes_on = true;
    while goes_on {
        goes_on = !is_over();
        let missed = ledger.lost().missed;
        let interval = ledger.close_interval(ledger.start_ns() + INTERVAL_NS).expect("an interval closes");
        assert_eq!(interval.imbalance_ns(), 0);
        for task in interval.tasks {
            let account = accounts.entry((task.slot.tid, task.slot.start_time_ns)).or_default();
            account.wall_ns += task.wall_ns;
            account.folded_ns += task.folded_threads_ns + task.folded_children_ns;
            account.ends += u32::from(task.is_last);
            account.slot = task.slot;
        }
        were_missed(ledger.lost().missed - missed);
    }
    accounts
}

fn attach() -> Ledger {
    Ledger::attach(Options::default()).expect("the ledger attaches; it needs root")
}

/// By tid: those of one process.
fn of_process(accounts: &Accounts, pid: i32) -> HashMap<i32, Account> {
    let of_it = accounts.values().filter(|account| account.slot.pid == pid);
    of_it.map(|account| (account.slot.tid, account.clone())).collect()
}

/// Whether time on a CPU is at least what the scheduler has charged. The two clocks differ by parts per million, and the
/// scheduler's is read a little before a switch; on an emulated CPU that is a good part of a turn.
fn covers(wall_ns: u64, runtime_ns: u64) -> bool {
    wall_ns as f64 >= runtime_ns as f64 * if is_emulated() { 0.6 } else { 0.99 }
}

fn burned_is_booked(plan: &BurnPlan) {
    let mut ledger = attach();
    let begin_ns = ledger.start_ns();
    let burn = Burn::start(plan).expect("it burns");
    let pid = burn.pid();
    let finish = std::thread::spawn(|| burn.finish(Duration::from_secs(60)));
    let accounts = account(&mut ledger, || finish.is_finished());
    let end_ns = ledger.start_ns();
    let burned = finish.join().expect("the thread ends").expect("the burn ends");
    let parent = &of_process(&accounts, pid)[&pid];
    assert_eq!(parent.slot.parent_pid, std::process::id() as i32);
    assert_eq!(burned.len(), plan.threads + plan.children);
    let mut ticks_ns = 0;
    for burned in burned {
        let account = &of_process(&accounts, burned.pid)[&burned.tid];
        let (wall, runtime) = (account.wall_ns, account.slot.last.cpu_time.runtime_ns);
        println!("{}: {} ns burned, {runtime} ns runtime, {wall} ns on a CPU", burned.comm, burned.ns);
        assert_eq!(account.ends, 1);
        assert!(account.has(abi::CPULEDGER_SLOT_EXITED) && account.has(abi::CPULEDGER_SLOT_PARENT_KNOWN));
        assert!(runtime >= burned.ns);
        assert!(covers(wall, runtime), "{wall} of {runtime} ns");
        assert!(account.slot.lifetime_ns >= wall);
        assert!((begin_ns..=end_ns).contains(&account.slot.end_ns_or_batch));
        assert!(account.slot.end_ns_or_batch - account.slot.lifetime_ns >= begin_ns);
        let abi::cpuledger_counters { cpu_time, activity } = account.slot.last;
        assert!(activity.minor_faults > 0 && activity.voluntary_switches + activity.involuntary_switches > 0);
        ticks_ns += cpu_time.tick_user_ns + cpu_time.tick_system_ns;
        assert_eq!(account.comm(), burned.comm);
        let is_thread = burned.pid == pid;
        let expected = if is_thread { std::process::id() as i32 } else { pid };
        assert_eq!(account.slot.parent_pid, expected);
        // On a slow CPU a child takes longer to exit than its parent to hear its last word and end.
        let is_orphan = !is_thread && parent.slot.end_ns_or_batch < account.slot.end_ns_or_batch;
        let ppid = account.slot.ppid_or_next_free.cast_signed();
        assert!(ppid == expected || is_orphan, "{ppid} is its parent at the end, not {expected}");
        if !is_thread {
            assert_eq!(account.slot.parent_start_time_ns, parent.slot.start_time_ns);
            assert!(account.has(abi::CPULEDGER_SLOT_PROCESS_DEAD));
        }
    }
    // One alone can be off the CPU at each tick.
    assert!(ticks_ns > 0);
}

#[test]
fn what_threads_burn_is_theirs_root() {
    scene_of_times(|| burned_is_booked(&BurnPlan { cpu_ms: 70, threads: 3, ..BurnPlan::default() }));
}

#[test]
fn what_children_burn_is_theirs_though_they_are_not_waited_for_root() {
    let plan = BurnPlan { cpu_ms: 70, children: 3, ignore_sigchld: true, ..BurnPlan::default() };
    scene_of_times(|| burned_is_booked(&plan));
}

const EXECS: &str = "CPULEDGER_TEST_EXECS";
const BURN: Duration = Duration::from_millis(50);

/// Runs in a process of its own: a thread that is not the leader uses CPU time, then execs.
fn exec_by_a_thread() {
    let thread = std::thread::spawn(|| {
        let begin = Instant::now();
        while begin.elapsed() < BURN {}
        let script = "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done";
        panic!("exec: {}", Command::new("/bin/sh").args(["-c", script]).exec());
    });
    let _ = thread.join();
}

#[test]
fn a_thread_that_execs_takes_over_its_leader_root() {
    if std::env::var_os(EXECS).is_some() {
        return exec_by_a_thread();
    }
    scene(an_exec_is_booked);
}

fn an_exec_is_booked() {
    let mut ledger = attach();
    let mut child: Child = Command::new(std::env::current_exe().expect("this test is a file"))
        .args(["--exact", "a_thread_that_execs_takes_over_its_leader_root", "--nocapture"])
        .env(EXECS, "1")
        .spawn()
        .expect("this test runs again");
    let pid = child.id() as i32;
    let accounts = account(&mut ledger, || child.try_wait().expect("a child can be waited for").is_some());
    let process = of_process(&accounts, pid);
    let leader = &process[&pid];
    println!(
        "{} tids; the leader {} ns, ended {} times, as {}",
        process.len(),
        leader.wall_ns,
        leader.ends,
        leader.comm()
    );
    for (tid, account) in &process {
        println!(
            "{tid}: {} ns, flags {:#x}, ended {} times, {} ns at the last",
            account.wall_ns, account.slot.flags, account.ends, account.slot.last.cpu_time.runtime_ns
        );
    }
    println!("{:?}", ledger.lost());
    // One (tid, start time): the old leader and, after the exec, the thread that took its place.
    assert_eq!(accounts.values().filter(|account| account.slot.tid == pid).count(), 1);
    assert_eq!(leader.ends, 2);
    assert_eq!(leader.comm(), "sh");
    assert!(leader.has(abi::CPULEDGER_SLOT_EXITED) && leader.has(abi::CPULEDGER_SLOT_PROCESS_DEAD));
    let renumbered: Vec<_> =
        process.values().filter(|account| account.has(abi::CPULEDGER_SLOT_RENUMBERED)).collect();
    // The thread that has exec'd ended under its own tid, unless it never left the CPU again before it died.
    assert!(renumbered.len() <= 1);
    for thread in renumbered {
        assert_ne!(thread.slot.tid, pid);
        assert!(covers(thread.wall_ns, thread.slot.last.cpu_time.runtime_ns));
        assert!(leader.slot.first_runtime_ns >= thread.slot.last.cpu_time.runtime_ns);
    }
}

/// All tasks of the machine: the second number of the fourth field of /proc/loadavg.
fn live_tasks() -> u32 {
    let text = std::fs::read_to_string("/proc/loadavg").expect("/proc is mounted");
    let tasks = text.split_whitespace().nth(3).and_then(|field| field.split_once('/'));
    tasks.and_then(|(_, all)| all.parse().ok()).expect("the kernel's form of loadavg")
}

/// Slots run low: the dead are folded into the process, or the parent, that accounts for them.
#[test]
fn folded_time_stays_in_the_family_root() {
    for threads in [false, true] {
        scene(|| folded_time_stays_in_the_family(threads));
    }
}

fn folded_time_stays_in_the_family(threads: bool) {
    // Enough that no process goes without, even if the reader is held up for some ms after a cut, when no task can be
    // folded. Few enough that slots run low in the first interval.
    let slots = if threads { 4000 } else { 1000 } + 2 * live_tasks();
    let mut ledger =
        Ledger::attach(Options { slots, ..Options::default() }).expect("the ledger attaches; it needs root");
    let plan = StormPlan { workers: 2, threads, seconds: Some(2), ..StormPlan::default() };
    let storm = Storm::start(&plan).expect("tasks are made");
    // A worker that dies itself may be folded into the task that made it.
    let (maker, workers) = (storm.pid(), storm.workers().to_vec());
    let finish = std::thread::spawn(|| storm.finish(Duration::from_secs(60)));
    std::thread::sleep(Duration::from_millis(1500));
    let accounts = account(&mut ledger, || finish.is_finished());
    let stormed = finish.join().expect("the thread ends").expect("the storm ends");
    let mine = |account: &&Account| {
        let pids = [account.slot.pid, account.slot.parent_pid];
        pids.contains(&maker) || pids.iter().any(|pid| workers.contains(pid))
    };
    let folded_ns: u64 = accounts.values().filter(mine).map(|account| account.folded_ns).sum();
    let own_ns: u64 = accounts.values().filter(mine).map(|account| account.wall_ns).sum();
    println!(
        "threads: {threads}, {} made, {} ns by the kernel, {own_ns} ns own, {folded_ns} ns folded, {:?}",
        stormed.made,
        stormed.cpu_ns,
        ledger.lost()
    );
    assert_eq!(ledger.lost().no_entry, 0);
    // A host that holds the reader up for long makes threads go without: then their time is folded while they live.
    assert!(threads || ledger.lost().no_slot == 0);
    // For short lives the scheduler's earlier clock makes a difference of up to a few percent.
    assert!(
        (own_ns + folded_ns) as f64 >= stormed.cpu_ns as f64 * if is_emulated() { 0.6 } else { 0.95 },
        "time has left the family"
    );
    if stormed.made > 4 * u64::from(slots) {
        assert!(folded_ns > 0, "{} threads cannot all be kept in {slots} slots", stormed.made);
    }
}

/// Starts a program below a shell, which goes on running until that has ended.
const BELOW_A_SHELL: &str = r#"exec 3<&0; "$0" "$@" <&3 & while kill -0 $! 2>/dev/null; do :; done"#;
const CHILDREN: u32 = 2000;

/// A thread makes children while the leader of their process sleeps, so that it has no slot: the dead are folded into this process all the same, and
/// not into its parent.
#[test]
fn children_of_a_thread_stay_with_a_process_whose_leader_sleeps_root() {
    scene(|| {
        let mut shell = Command::new("/bin/sh")
            .args(["-c", BELOW_A_SHELL])
            .arg(cpuledger_load::program().expect("it is built"))
            .args(["kin", "--kind", "brood-by-thread", "--children", &CHILDREN.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("there is a shell");
        let mut said = BufReader::new(shell.stdout.take().expect("it is a pipe")).lines();
        let ready = said.next().expect("it begins").expect("it can be read");
        let pid: u32 = ready.strip_prefix("ready pid=").and_then(|pid| pid.parse().ok()).expect("its pid");
        // Until its leader sleeps.
        std::thread::sleep(Duration::from_millis(200));
        let slots = 200 + live_tasks();
        let options = Options { slots, ..Options::default() };
        let mut ledger = Ledger::attach(options).expect("the ledger attaches; it needs root");
        let mut stdin = shell.stdin.take();
        stdin.as_mut().expect("it is a pipe").write_all(b"+").expect("it reads");
        // Not one interval is closed before all have died.
        assert!(said.next().expect("it ends").expect("it can be read").starts_with("brood "));
        // Nor does their process die before that: as slots are low until then, its own would go to the shell.
        let mut intervals = 0;
        let accounts = account(&mut ledger, || {
            intervals += 1;
            stdin.take_if(|_| intervals > 1);
            shell.try_wait().expect("it is a child").is_some()
        });
        let folded_ns = |pid: u32| -> u64 {
            let of_it = accounts.values().filter(|account| account.slot.tid == pid.cast_signed());
            of_it.map(|account| account.folded_ns).sum()
        };
        let (own_ns, above_ns) = (folded_ns(pid), folded_ns(shell.id()));
        println!("{slots} slots: {own_ns} ns folded, {above_ns} ns above, {:?}", ledger.lost());
        assert_eq!(above_ns, 0, "of {own_ns} ns");
        assert!(own_ns > 0, "{CHILDREN} children cannot all be kept in {slots} slots");
    });
}

/// A thread that never sleeps on each CPU: none is idle at a cut, whatever else runs.
#[test]
fn at_each_cut_every_busy_cpu_has_one_running_task_root() {
    let _alone = alone();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let all = sched_getaffinity(None).expect("the own CPUs");
        let cpus: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|cpu| all.is_set(*cpu)).collect();
        for &cpu in &cpus {
            let stop = &stop;
            scope.spawn(move || {
                let mut only = CpuSet::new();
                only.set(cpu);
                sched_setaffinity(None, &only).expect("it is one of the own");
                while !stop.load(Ordering::Relaxed) {}
            });
        }
        let mut ledger = attach();
        let me = std::process::id() as i32;
        let (mut intervals, mut own) = (0, 0);
        std::thread::sleep(Duration::from_millis(50));
        ledger.close_interval(0).expect("an interval closes");
        while intervals < 100 {
            let interval = ledger.close_interval(ledger.start_ns() + 5_000_000).expect("an interval closes");
            let running: Vec<_> = interval.tasks.iter().filter(|task| task.is_running).collect();
            assert_eq!(running.len(), interval.cpus.len(), "interval {}", interval.number);
            own += running.iter().filter(|task| task.slot.pid == me).count();
            intervals += 1;
        }
        stop.store(true, Ordering::Relaxed);
        println!("{own} of {} times it was a thread of this test", intervals * cpus.len());
        assert!(own > 0);
    });
}
