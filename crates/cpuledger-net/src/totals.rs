//! What a series has added up since it began.

use cpuledger_report::Amounts;

/// What a series adds up.
pub trait Sums: Clone + Default {
    /// What it is told of an interval.
    type Amounts: Default + PartialEq;

    /// Adds what a name used in a span.
    fn add(&mut self, amounts: &Self::Amounts);

    /// Its CPU time, in nanoseconds.
    fn cpu_ns(&self) -> u128;

    /// The CPU time by which names are ranked, in nanoseconds.
    fn used_ns(amounts: &Self::Amounts) -> u128;
}

/// A figure of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figure {
    /// CPU time of tasks, but for the next two, in nanoseconds.
    SelfNs,
    /// CPU time of threads that ended before their process, in nanoseconds.
    ExitedThreadsNs,
    /// CPU time of processes that ended, in nanoseconds.
    ExitedChildrenNs,
    /// Time spent waiting for a CPU, in nanoseconds.
    WaitingNs,
    /// Time on a CPU in which tasks did not execute, in nanoseconds. The dead are not in it.
    StolenNs,
    /// Time that others waited for the CPU that tasks had, in nanoseconds.
    WaitCausedNs,
    /// Time that tasks waited for a CPU, as the account of blame has it, in nanoseconds.
    WaitSufferedNs,
    /// Bytes sent by sockets, but for Unix sockets.
    NetworkSent,
    /// Bytes received, likewise.
    NetworkReceived,
    /// Bytes sent by Unix sockets.
    UnixSent,
    /// Bytes received by them.
    UnixReceived,
    /// Bytes that disks read.
    DiskRead,
    /// Bytes that they wrote.
    DiskWritten,
    /// Processes that began.
    Births,
    /// Processes that ended.
    Exits,
}

const FIGURES: usize = Figure::Exits as usize + 1;

impl Figure {
    /// Those that a source may not know.
    pub const OPTIONAL: [Figure; 10] = [
        Figure::WaitingNs,
        Figure::StolenNs,
        Figure::WaitSufferedNs,
        Figure::WaitCausedNs,
        Figure::NetworkSent,
        Figure::NetworkReceived,
        Figure::UnixSent,
        Figure::UnixReceived,
        Figure::DiskRead,
        Figure::DiskWritten,
    ];

    /// What of these a source has told.
    pub fn told(amounts: &Amounts) -> [Option<u64>; Figure::OPTIONAL.len()] {
        let [suffered_ns, caused_ns, sent, received, unix_sent, unix_received, read, written] =
            amounts.booked;
        [
            amounts.runqueue_wait_ns,
            amounts.stolen_ns,
            suffered_ns,
            caused_ns,
            sent,
            received,
            unix_sent,
            unix_received,
            read,
            written,
        ]
    }
}

/// Sums by figure. They hold more than 64 bits: 1,000 CPUs fill those within 7 months.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals([u128; FIGURES]);

impl Totals {
    /// One of the sums.
    pub fn get(&self, figure: Figure) -> u128 {
        self.0[figure as usize]
    }
}

impl Sums for Totals {
    type Amounts = Amounts;

    fn cpu_ns(&self) -> u128 {
        [Figure::SelfNs, Figure::ExitedThreadsNs, Figure::ExitedChildrenNs]
            .into_iter()
            .map(|part| self.get(part))
            .sum()
    }

    fn used_ns(amounts: &Amounts) -> u128 {
        amounts.self_ns.into()
    }

    fn add(&mut self, amounts: &Amounts) {
        // Parts never exceed the whole, so the three always add up to it.
        let ended_ns = amounts.ended_ns.min(amounts.self_ns);
        let threads_ns = amounts.exited_threads_ns.min(amounts.self_ns - ended_ns);
        for (figure, more) in [
            (Figure::SelfNs, amounts.self_ns - ended_ns - threads_ns),
            (Figure::ExitedThreadsNs, threads_ns),
            (Figure::ExitedChildrenNs, ended_ns),
            (Figure::Births, amounts.births),
            (Figure::Exits, amounts.deaths),
        ] {
            self.0[figure as usize] += u128::from(more);
        }
        for (figure, more) in Figure::OPTIONAL.into_iter().zip(Figure::told(amounts)) {
            self.0[figure as usize] += u128::from(more.unwrap_or_default());
        }
    }
}
