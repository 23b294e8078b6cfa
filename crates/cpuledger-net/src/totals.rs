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
    /// The figure that has this name among [`Amounts::figures`].
    Of(&'static str),
}

impl Figure {
    /// Its place among [`Amounts::figures`]; `None`: it is a part of one.
    pub fn place(self) -> Option<usize> {
        let Figure::Of(name) = self else { return None };
        Amounts::default().figures().iter().position(|(own, _)| *own == name)
    }

    /// Which of [`Amounts::figures`] a source has told.
    pub fn told(amounts: &Amounts) -> [bool; Amounts::FIGURES] {
        amounts.figures().map(|(_, value)| value.is_some())
    }
}

/// Sums by figure. They hold more than 64 bits: 1,000 CPUs fill those within 7 months.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    figures: [u128; Amounts::FIGURES],
    cpu_ns: u128,
    exited_threads_ns: u128,
    exited_children_ns: u128,
}

impl Totals {
    /// One of the sums.
    pub fn get(&self, figure: Figure) -> u128 {
        match figure {
            Figure::SelfNs => self.cpu_ns - self.exited_threads_ns - self.exited_children_ns,
            Figure::ExitedThreadsNs => self.exited_threads_ns,
            Figure::ExitedChildrenNs => self.exited_children_ns,
            Figure::Of(_) => figure.place().map_or(0, |place| self.figures[place]),
        }
    }
}

impl Sums for Totals {
    type Amounts = Amounts;

    fn cpu_ns(&self) -> u128 {
        self.cpu_ns
    }

    fn used_ns(amounts: &Amounts) -> u128 {
        amounts.self_ns.into()
    }

    fn add(&mut self, amounts: &Amounts) {
        // Parts never exceed the whole, so the three always add up to it.
        let ended_ns = amounts.ended_ns.min(amounts.self_ns);
        let threads_ns = amounts.exited_threads_ns.min(amounts.self_ns - ended_ns);
        self.cpu_ns += u128::from(amounts.self_ns);
        self.exited_threads_ns += u128::from(threads_ns);
        self.exited_children_ns += u128::from(ended_ns);
        for (own, (_, more)) in self.figures.iter_mut().zip(amounts.figures()) {
            *own += u128::from(more.unwrap_or_default());
        }
    }
}
