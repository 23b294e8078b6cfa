//! What a series has added up since it began.

use cpuledger_report::Amounts;

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
    /// Processes that began.
    Births,
    /// Processes that ended.
    Exits,
}

const FIGURES: usize = Figure::Exits as usize + 1;

impl Figure {
    /// Those that a source may not know.
    pub const OPTIONAL: [Figure; 2] = [Figure::WaitingNs, Figure::StolenNs];
}

/// Sums by figure. They hold more than 64 bits: 1,000 CPUs fill those within 7 months.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals([u128; FIGURES]);

impl Totals {
    /// One of the sums.
    pub fn get(&self, figure: Figure) -> u128 {
        self.0[figure as usize]
    }

    /// CPU time of all three parts, in nanoseconds.
    pub fn cpu_ns(&self) -> u128 {
        [Figure::SelfNs, Figure::ExitedThreadsNs, Figure::ExitedChildrenNs]
            .into_iter()
            .map(|part| self.get(part))
            .sum()
    }

    /// Adds what a name used in a span.
    pub fn add(&mut self, amounts: &Amounts) {
        // Parts never exceed the whole, so the three always add up to it.
        let ended_ns = amounts.ended_ns.min(amounts.self_ns);
        let threads_ns = amounts.exited_threads_ns.min(amounts.self_ns - ended_ns);
        for (figure, more) in [
            (Figure::SelfNs, amounts.self_ns - ended_ns - threads_ns),
            (Figure::ExitedThreadsNs, threads_ns),
            (Figure::ExitedChildrenNs, ended_ns),
            (Figure::WaitingNs, amounts.waiting_ns.unwrap_or_default()),
            (Figure::StolenNs, amounts.stolen_ns.unwrap_or_default()),
            (Figure::Births, amounts.births),
            (Figure::Exits, amounts.deaths),
        ] {
            self.0[figure as usize] += u128::from(more);
        }
    }
}
