//! The walk with its hooks knows the parent at the fork of whatever is born while it is attached: an orphan's time goes to the living
//! ancestor that made it, and not to init. Needs root.

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use cpuledger::attribution::difference::{Books, CutFacts};
use cpuledger::source::walk::Walk;
use cpuledger::source::{Exits, Source};
use cpuledger::{FieldSet, Interval, Pid, Request, Scope, Snapshot, machine};
use cpuledger_load::scene::alone;

const LAST_SWITCH_WITHIN: Duration = Duration::from_secs(60);

/// Takes cuts, as `top` does.
struct Cuts {
    walk: Walk,
    books: Books,
    exits: Exits,
    snapshot: Snapshot,
    interval: Interval,
}

impl Cuts {
    fn begin() -> Cuts {
        let mut walk = Walk::open().expect("the walk loads; it needs root");
        walk.watch_exits().expect("the hooks attach");
        let mut cuts = Cuts {
            walk,
            books: Books::new(false),
            exits: Exits::default(),
            snapshot: Snapshot::default(),
            interval: Interval::default(),
        };
        cuts.cut();
        cuts
    }

    fn cut(&mut self) {
        let request = Request::new(Scope::Tasks, FieldSet::ALL);
        self.walk.snapshot(&request, &mut self.snapshot).expect("a snapshot");
        self.walk.exits(&mut self.exits).expect("exits");
        let cut = CutFacts::new(machine::online_cpus(), true);
        self.books.close(&cut, &self.snapshot, &mut self.exits, &mut self.interval);
    }

    fn place(&self, pid: Pid) -> Option<usize> {
        self.snapshot.processes.iter().position(|row| row.pid == pid)
    }
}

/// Whether a process exists and is not a zombie.
fn runs(pid: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// Two shells deep, and both shells are gone: the kernel has given it to init, or to a subreaper. It ends with its standard input.
const ORPHAN: &str = "sh -c '( sh -c \"read line; i=0; while [ \\$i -lt 20000 ]; do i=\\$((i+1)); done\" <&3 & echo $! )' 3<&0";

#[test]
fn an_orphan_belongs_to_the_living_ancestor_that_made_it_root() {
    let _alone = alone();
    let mut cuts = Cuts::begin();
    let mut shell = Command::new("sh")
        .args(["-c", ORPHAN])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a shell starts");
    let stdin = shell.stdin.take().expect("it is a pipe");
    assert!(shell.wait().expect("it is ours").success());
    cuts.cut();
    // The orphan keeps the pipe open: only what has come is read.
    let mut text = [0; 32];
    let length = shell.stdout.take().expect("it is a pipe").read(&mut text).expect("a pid");
    let orphan =
        std::str::from_utf8(&text[..length]).expect("digits").trim().parse().map(Pid).expect("a pid");
    let myself = Pid(std::process::id().cast_signed());

    // A shell that was waited for may have its last switch to come.
    let begin = Instant::now();
    loop {
        let place = cuts.place(orphan).expect("it waits for its input");
        assert_ne!(cuts.snapshot.processes[place].ppid, myself, "the kernel has given it away");
        let parent = cuts.interval.processes[place].usage.accounting_parent.expect("the hooks saw its fork");
        if parent == myself {
            break;
        }
        assert!(begin.elapsed() < LAST_SWITCH_WITHIN, "{parent} has died, and {myself} is its parent");
        cuts.cut();
    }
    let own = cuts.place(myself).expect("this process");
    assert_eq!(cuts.interval.processes[own].usage.accounting_parent, None, "it is older than the hooks");

    // No cut while it ends: one between its last tick and its exit would leave nothing for the interval of its death.
    drop(stdin);
    let begin = Instant::now();
    while runs(orphan) {
        assert!(begin.elapsed() < Duration::from_secs(60), "the orphan does not end");
        std::thread::sleep(Duration::from_millis(20));
    }
    let exited = loop {
        cuts.cut();
        let exited = cuts.interval.exited.iter().flatten().find(|exited| exited.exit.task.tid.0 == orphan.0);
        if let Some(exited) = exited {
            break *exited;
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "its exit was not reported");
        std::thread::sleep(Duration::from_millis(20));
    };
    assert_eq!(exited.accounting_parent, Some(myself));
    let own = cuts.place(myself).expect("this process");
    let inherited_ns = cuts.interval.processes[own].usage.exited_children_ns.expect("the walk sees exits");
    assert!(exited.cpu_ns > 0 && inherited_ns >= exited.cpu_ns, "{inherited_ns} ns, and {exited:?}");
}
