//! Cuts of the source, and what they have told so far.

use std::collections::HashMap;

use cpuledger::attribution::difference::{Books, CutFacts};
use cpuledger::source::netlink::Netlink;
use cpuledger::source::{Exits, Source};
use cpuledger::{FieldSet, Interval, Request, Scope, Snapshot, machine};

/// What a process held in all intervals.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Held {
    pub self_ns: u64,
    pub exited_threads_ns: u64,
    pub exited_children_ns: u64,
}

/// The books of a source whose exits are not looked at.
pub struct Cuts {
    source: Netlink,
    books: Books,
    pub snapshot: Snapshot,
    pub interval: Interval,
    /// What each process and the dead it inherited from had used by the first cut.
    pub before_ns: HashMap<i32, u64>,
    /// By pid.
    pub held: HashMap<i32, Held>,
    /// The accounting parents that rows named, the last one last.
    pub heirs: HashMap<i32, Vec<i32>>,
}

impl Cuts {
    pub fn begin() -> Cuts {
        let source = Netlink::open().expect("it needs root");
        assert!(source.has_cut() && source.has_accounts(), "the kernel has all patches");
        let mut cuts = Cuts {
            source,
            books: Books::new(false),
            snapshot: Snapshot::default(),
            interval: Interval::default(),
            before_ns: HashMap::new(),
            held: HashMap::new(),
            heirs: HashMap::new(),
        };
        cuts.cut();
        let accounts = cuts.snapshot.accounts.iter();
        cuts.before_ns =
            accounts.map(|account| (account.pid.0, account.own_ns + account.children_ns)).collect();
        cuts
    }

    pub fn cut(&mut self) {
        let request = Request { scope: Scope::Tasks, fields: FieldSet::ALL };
        self.source.snapshot(&request, &mut self.snapshot).expect("a snapshot");
        assert!(!self.source.sees_exits());
        let cut = CutFacts { online_cpus: machine::online_cpus(), sees_exits: false };
        self.books.close(&cut, &self.snapshot, &mut Exits::default(), &mut self.interval);
        let rows = self.interval.processes.iter().map(|row| (&row.task, &row.usage));
        let mut sum_ns = 0;
        for (row, usage) in rows {
            let held = self.held.entry(row.pid.0).or_default();
            held.self_ns += usage.self_ns;
            held.exited_threads_ns += usage.exited_threads_ns.expect("it is told");
            held.exited_children_ns += usage.exited_children_ns.expect("it is told");
            sum_ns += usage.cpu_ns;
            let heirs = self.heirs.entry(row.pid.0).or_default();
            if let Some(heir) = usage.accounting_parent.filter(|heir| heirs.last() != Some(&heir.0)) {
                heirs.push(heir.0);
            }
        }
        assert_eq!(sum_ns, self.interval.attributed_ns);
    }

    pub fn held(&self, pid: i32) -> Held {
        self.held.get(&pid).copied().unwrap_or_default()
    }

    pub fn lists(&self, pid: i32) -> bool {
        self.snapshot.processes.iter().any(|row| row.pid.0 == pid)
    }
}
