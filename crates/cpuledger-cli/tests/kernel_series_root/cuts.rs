//! Intervals of the source, and what they have told so far.

use std::collections::HashMap;
use std::path::Path;

use cpuledger::Interval;
use cpuledger::source::ledger::Wanted;
use cpuledger::source::netlink::{AccountBooks, Netlink};
use cpuledger_model::make;

use crate::accounts_ns;

/// What a process held in all intervals.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Held {
    pub self_ns: u64,
    pub exited_threads_ns: u64,
    pub exited_children_ns: u64,
}

/// What a cut asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asks {
    /// All tasks: no report of an exit is needed.
    All,
    /// Those that ran, with a cookie.
    Ran,
}

/// The books of a source.
pub struct Cuts {
    books: AccountBooks,
    asks: Asks,
    pub interval: Interval,
    /// What each process and the dead it inherited from had used by the first cut.
    pub before_ns: HashMap<i32, u64>,
    /// By pid.
    pub held: HashMap<i32, Held>,
    /// The accounting parents that rows named, the last one last.
    pub heirs: HashMap<i32, Vec<i32>>,
}

impl Cuts {
    pub fn begin(asks: Asks) -> Cuts {
        let source = Netlink::open().expect("it needs root");
        assert!(source.has_cut() && source.has_accounts(), "the kernel has all patches");
        let mut books = AccountBooks::begin(source).unwrap_or_else(|_| panic!("it has accounts"));
        assert!(books.asks_for_what_ran(), "{:?}", books.take_notices());
        let mut cuts = Cuts {
            books,
            asks,
            interval: Interval::default(),
            before_ns: HashMap::new(),
            held: HashMap::new(),
            heirs: HashMap::new(),
        };
        cuts.cut();
        cuts.before_ns = accounts_ns();
        cuts
    }

    pub fn cut(&mut self) {
        let rows = make!(Wanted { pids: &[], all: self.asks == Asks::All });
        self.books.cut(&rows, &mut self.interval).expect("a cut");
        assert!(self.books.asks_for_what_ran(), "{:?}", self.books.take_notices());
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

    /// Whether it is not released.
    pub fn lists(&self, pid: i32) -> bool {
        Path::new(&format!("/proc/{pid}")).exists()
    }

    /// The accounting parent that it named last, where rows of all are told.
    pub fn last_heir(&self, pid: i32) -> Option<i32> {
        self.heirs.get(&pid).filter(|_| self.asks == Asks::All)?.last().copied()
    }
}
