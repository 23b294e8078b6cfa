//! What one row of a report adds up.

use cpuledger_model::frame::Column;
use serde::{Deserialize, Serialize};

/// What accounts have booked, by [`Column::BOOKED_OF_DEAD`]; absent where no interval told it.
pub type Booked = [Option<u64>; Column::BOOKED_OF_DEAD.len()];

/// What a process that died has used in an interval.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct UsedByDead {
    /// CPU time that its heir has of it.
    pub(crate) cpu_ns: u64,
    /// What it waited for a CPU.
    pub(crate) runqueue_wait_ns: Option<u64>,
}

/// What processes that died add up to: less than [`Amounts`], so that it is soon found.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SumOfDead {
    used: UsedByDead,
    births: u64,
    pub(crate) deaths: u64,
}

impl SumOfDead {
    /// Of one: `births` is 1 if it was born in the same interval.
    #[inline]
    pub(crate) fn of(used: UsedByDead, births: u64) -> SumOfDead {
        SumOfDead { used, births, deaths: 1 }
    }

    pub(crate) fn cpu_ns(&self) -> u64 {
        self.used.cpu_ns
    }

    #[inline]
    pub(crate) fn merge(&mut self, more: &SumOfDead) {
        self.used.cpu_ns = self.used.cpu_ns.saturating_add(more.used.cpu_ns);
        self.used.runqueue_wait_ns = sum(self.used.runqueue_wait_ns, more.used.runqueue_wait_ns);
        self.births += more.births;
        self.deaths += more.deaths;
    }

    /// With what accounts have booked to them.
    pub(crate) fn amounts(&self, booked: Option<&Booked>) -> Amounts {
        Amounts {
            self_ns: self.used.cpu_ns,
            ended_ns: self.used.cpu_ns,
            runqueue_wait_ns: self.used.runqueue_wait_ns,
            booked: booked.copied().unwrap_or_default(),
            births: self.births,
            deaths: self.deaths,
            ..Amounts::default()
        }
    }
}

/// What is added up for one name: [`Amounts`], in a tenth of the room as long as all of it is of the dead. In a storm of processes most names are such.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally {
    dead: SumOfDead,
    /// All but that.
    rest: Option<Box<Amounts>>,
}

impl Tally {
    pub(crate) fn add(&mut self, more: &Amounts) {
        self.rest.get_or_insert_default().add(more);
    }

    /// Adds what some of the dead have, with what accounts have booked to them.
    pub(crate) fn add_dead(&mut self, more: &SumOfDead, booked: Option<&Booked>) {
        self.dead.merge(more);
        if let Some(booked) = booked {
            add_booked(&mut self.rest.get_or_insert_default().booked, booked);
        }
    }

    pub(crate) fn merge(&mut self, more: &Tally) {
        self.dead.merge(&more.dead);
        more.rest.iter().for_each(|rest| self.add(rest));
    }

    pub(crate) fn self_ns(&self) -> u64 {
        self.dead.used.cpu_ns.saturating_add(self.rest.as_ref().map_or(0, |rest| rest.self_ns))
    }

    pub(crate) fn amounts(&self) -> Amounts {
        let mut amounts = self.dead.amounts(None);
        self.rest.iter().for_each(|rest| amounts.add(rest));
        amounts
    }
}

/// What was used. What no interval told is absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Amounts {
    /// CPU time of the tasks of this name, the dead included. Each nanosecond is in one row.
    pub self_ns: u64,
    /// Of that: of threads that ended before their process.
    pub exited_threads_ns: u64,
    /// Of `self_ns`: of processes that ended.
    pub ended_ns: u64,
    /// Of that: of dead processes whose identity was lost. Their heir has it.
    pub unidentified_ns: u64,
    /// CPU time of the dead processes that these inherit from. It is in `self_ns` of other rows or of this one, and in no sum.
    pub inherited_ns: u64,
    /// Time spent waiting for a CPU.
    pub runqueue_wait_ns: Option<u64>,
    /// Time on a CPU in which they did not execute; not told of the dead.
    pub stolen_ns: Option<u64>,
    /// Likewise of the dead processes that these inherit from: it is in no other row.
    pub inherited_stolen_ns: Option<u64>,
    /// Page faults without I/O; not told of the dead.
    pub minor_faults: Option<u64>,
    /// Page faults with I/O; not told of the dead.
    pub major_faults: Option<u64>,
    /// What accounts have booked to them, the dead included, in the order of [`Column::BOOKED_OF_DEAD`]: waits suffered and caused, bytes sent and
    /// received by all but Unix sockets, the same by these, bytes that disks read and wrote. Each byte and nanosecond is in one row.
    pub booked: Booked,
    /// Processes that were born in an interval, and ran or died in it.
    pub births: u64,
    /// Processes that died.
    pub deaths: u64,
    /// What the living did off the CPU: nothing is told unless the report asks for it.
    pub off: Off,
    /// What else is counted of the living, likewise.
    pub counted: Counted,
}

/// Counters of the living, and how large they were. What no interval told is absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Counted {
    /// What each of its counters grew by.
    pub counters: [Option<u64>; Counted::COUNTERS.len()],
    /// The largest resident size of one process at the end of an interval in which it ran.
    pub rss_peak_bytes: Option<u64>,
}

impl Counted {
    /// The counters: user and system time by the kernel's rule, bytes of block devices, and context switches.
    pub(crate) const COUNTERS: [Column; 6] = [
        Column::USER_NS,
        Column::SYSTEM_NS,
        Column::READ_BYTES,
        Column::WRITE_BYTES,
        Column::VOLUNTARY_SWITCHES,
        Column::INVOLUNTARY_SWITCHES,
    ];

    /// Name in JSON and value of each.
    pub fn figures(&self) -> impl Iterator<Item = (&'static str, Option<u64>)> {
        let counters = Counted::COUNTERS.map(|column| column.name()).into_iter().zip(self.counters);
        counters.chain([("rss_peak_bytes", self.rss_peak_bytes)])
    }

    fn add(&mut self, more: &Counted) {
        for (own, more) in self.counters.iter_mut().zip(more.counters) {
            *own = sum(*own, more);
        }
        // What is not known is less than what is.
        self.rss_peak_bytes = self.rss_peak_bytes.max(more.rss_peak_bytes);
    }
}

/// Where time went while the living were on no CPU, in nanoseconds. What no interval told is absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Off {
    /// The time they were alive, over all their threads.
    pub elapsed_ns: Option<u64>,
    /// They waited without being interruptible.
    pub blocked_ns: Option<u64>,
    /// Of that: for I/O.
    pub io_wait_ns: Option<u64>,
    /// They slept until an event or a signal.
    pub sleep_ns: Option<u64>,
    /// A signal, a tracer or a freezer had stopped them.
    pub stopped_ns: Option<u64>,
    /// What they did is not known.
    pub unseen_ns: Option<u64>,
}

impl Off {
    /// Name in JSON and value of each.
    pub fn figures(&self) -> [(&'static str, Option<u64>); 6] {
        [
            ("elapsed_ns", self.elapsed_ns),
            ("blocked_ns", self.blocked_ns),
            ("io_wait_ns", self.io_wait_ns),
            ("sleep_ns", self.sleep_ns),
            ("stopped_ns", self.stopped_ns),
            ("unseen_ns", self.unseen_ns),
        ]
    }
}

/// The sum of what is known.
pub(crate) fn sum(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.saturating_add(other)),
        (one, other) => one.or(other),
    }
}

/// Adds what accounts have booked besides.
pub(crate) fn add_booked(own: &mut Booked, more: &Booked) {
    own.iter_mut().zip(more).for_each(|(own, more)| *own = sum(*own, *more));
}

impl Amounts {
    /// Adds what another row has.
    pub fn add(&mut self, more: &Amounts) {
        for (own, more) in [
            (&mut self.self_ns, more.self_ns),
            (&mut self.exited_threads_ns, more.exited_threads_ns),
            (&mut self.ended_ns, more.ended_ns),
            (&mut self.unidentified_ns, more.unidentified_ns),
            (&mut self.inherited_ns, more.inherited_ns),
            (&mut self.births, more.births),
            (&mut self.deaths, more.deaths),
        ] {
            *own = own.saturating_add(more);
        }
        for (own, more) in [
            (&mut self.runqueue_wait_ns, more.runqueue_wait_ns),
            (&mut self.stolen_ns, more.stolen_ns),
            (&mut self.inherited_stolen_ns, more.inherited_stolen_ns),
            (&mut self.minor_faults, more.minor_faults),
            (&mut self.major_faults, more.major_faults),
            (&mut self.off.elapsed_ns, more.off.elapsed_ns),
            (&mut self.off.blocked_ns, more.off.blocked_ns),
            (&mut self.off.io_wait_ns, more.off.io_wait_ns),
            (&mut self.off.sleep_ns, more.off.sleep_ns),
            (&mut self.off.stopped_ns, more.off.stopped_ns),
            (&mut self.off.unseen_ns, more.off.unseen_ns),
        ] {
            *own = sum(*own, more);
        }
        add_booked(&mut self.booked, &more.booked);
        self.counted.add(&more.counted);
    }

    /// All figures by their names in JSON: those of every report, and those that it has if it asks for them.
    pub fn all_figures(&self) -> impl Iterator<Item = (&'static str, Option<u64>)> {
        self.figures().into_iter().chain(self.counted.figures()).chain(self.off.figures())
    }

    /// Name in JSON and value of each figure that every report has.
    pub fn figures(&self) -> [(&'static str, Option<u64>); Amounts::FIGURES] {
        let [suffered_ns, caused_ns, sent, received, unix_sent, unix_received, read, written] = self.booked;
        [
            ("self_ns", Some(self.self_ns)),
            ("inherited_ns", Some(self.inherited_ns)),
            ("unidentified_ns", Some(self.unidentified_ns)),
            ("runqueue_wait_ns", self.runqueue_wait_ns),
            ("stolen_ns", self.stolen_ns),
            ("inherited_stolen_ns", self.inherited_stolen_ns),
            ("minor_faults", self.minor_faults),
            ("major_faults", self.major_faults),
            ("wait_caused_ns", caused_ns),
            ("wait_suffered_ns", suffered_ns),
            ("network_sent_bytes", sent),
            ("network_received_bytes", received),
            ("unix_sent_bytes", unix_sent),
            ("unix_received_bytes", unix_received),
            ("disk_read_bytes", read),
            ("disk_written_bytes", written),
            ("births", Some(self.births)),
            ("deaths", Some(self.deaths)),
        ]
    }

    /// How many these are.
    pub const FIGURES: usize = 18;

    /// Time on a CPU in which these, and the dead that they inherit from, did not execute.
    pub fn all_stolen_ns(&self) -> Option<u64> {
        sum(self.stolen_ns, self.inherited_stolen_ns)
    }

    /// The sum of several.
    pub fn total<'a>(all: impl IntoIterator<Item = &'a Amounts>) -> Amounts {
        let mut total = Amounts::default();
        all.into_iter().for_each(|one| total.add(one));
        total
    }
}
