//! What a report is about, and what things in it are called.

use cpuledger_proc::escape::escaped;
use cpuledger_recording::{Gap, Loss};
use cpuledger_report::{Amounts, Difference, Dimension, Labels, Name, Report};

use super::column::Column;

/// What a report is about, beside its figures.
#[derive(Debug, Clone, Default)]
pub struct About {
    /// The recording.
    pub recording: String,
    /// The machine.
    pub host: Option<String>,
    /// The span that was asked for, CLOCK_REALTIME.
    pub since_ns: Option<u64>,
    /// Its end.
    pub until_ns: Option<u64>,
    /// The length of the longest intervals; 0: as they came.
    pub tier_ns: u64,
    /// How many intervals have a time that others have too, as the clock was set back.
    pub repeated: u64,
    /// What is lost in it.
    pub losses: Vec<Loss>,
    /// Of when there is nothing.
    pub gaps: Vec<Gap>,
}

/// All that is written.
#[derive(Clone, Copy)]
pub struct Document<'a> {
    /// What it is about.
    pub about: &'a About,
    /// What the rows are of.
    pub by: Dimension,
    /// What is told of each row; nothing: all in JSON and CSV, and the usual in text.
    pub columns: &'a [&'static Column],
    /// The figures.
    pub report: &'a Report,
    /// What things are called.
    pub labels: &'a Labels,
    /// A local time.
    pub local: &'a dyn Fn(u64) -> String,
}

impl std::fmt::Debug for Document<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Document")
            .field("about", &self.about)
            .field("by", &self.by)
            .finish_non_exhaustive()
    }
}

/// Two spans side by side.
#[derive(Debug)]
pub struct Comparison<'a> {
    /// The earlier.
    pub before: Document<'a>,
    /// The later.
    pub after: Document<'a>,
    /// Those that grew most first, and all others last.
    pub rows: &'a [Difference],
}

impl Document<'_> {
    /// Sentences about what is missing, and what is counted.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.about.repeated > 0 {
            let plural =
                if self.about.repeated == 1 { "interval has a time" } else { "intervals have times" };
            notes.push(format!(
                "{} {plural} that earlier ones have too: the clock was set back, and all are counted",
                self.about.repeated
            ));
        }
        let local = |ns: Option<u64>, none: &str| ns.map_or_else(|| none.to_owned(), self.local);
        for lost in &self.about.losses {
            let least = if lost.is_least { "at least " } else { "" };
            let plural = if lost.intervals == 1 { "interval is" } else { "intervals are" };
            notes.push(format!(
                "{least}{} {plural} lost ({}) between {} and {}: {}",
                lost.intervals,
                lost.cause.words(),
                local(lost.from_realtime_ns, "the begin"),
                local(lost.to_realtime_ns, "the end"),
                lost.file.display()
            ));
        }
        for gap in &self.about.gaps {
            let why = if gap.is_boot { ": the machine was booted" } else { "" };
            notes.push(format!(
                "nothing is recorded from {} to {}{why}",
                (self.local)(gap.from_realtime_ns),
                (self.local)(gap.to_realtime_ns)
            ));
        }
        self.add_notes_of_extent(&mut notes);
        let balance = &self.report.balance;
        for (count, words) in [
            (
                balance.unidentified_exits,
                "tasks died whose identity was lost; their time is with their heirs",
            ),
            (balance.missed_exits, "tasks died and were not reported"),
            (balance.missed_switches, "switches were not shown by the kernel"),
            (balance.hidden_cpu_ns, "ns of CPU time of hidden processes are in the rows of others, or idle"),
        ] {
            if count > 0 {
                notes.push(format!("{count} {words}"));
            }
        }
        notes
    }

    /// Where what is counted begins and ends at other times than was asked for.
    fn add_notes_of_extent(&self, notes: &mut Vec<String>) {
        let Some(extent) = self.report.extent else { return };
        let is_cut = |asked: Option<u64>, own: u64| asked.is_some_and(|asked| asked != own);
        let is_within =
            |asked: Option<u64>, own: u64| asked.is_some_and(|asked| asked.abs_diff(own) < self.longest_ns());
        if (is_cut(self.about.since_ns, extent.start_realtime_ns)
            && is_within(self.about.since_ns, extent.start_realtime_ns))
            || (is_cut(self.about.until_ns, extent.end_realtime_ns)
                && is_within(self.about.until_ns, extent.end_realtime_ns))
        {
            notes.push(format!(
                "whole intervals are counted, by their middle: from {} to {}",
                (self.local)(extent.start_realtime_ns),
                (self.local)(extent.end_realtime_ns)
            ));
        }
        for (asked, own, words) in [
            (self.about.since_ns, extent.start_realtime_ns, "begin"),
            (self.about.until_ns, extent.end_realtime_ns, "end"),
        ] {
            let is_short =
                asked.is_some_and(|asked| if words == "begin" { asked < own } else { asked > own });
            if is_short && !is_within(asked, own) {
                notes.push(format!("the intervals that are recorded {words} at {}", (self.local)(own)));
            }
        }
    }

    /// The host that was recorded, escaped.
    pub(super) fn host(&self) -> Option<String> {
        self.about.host.as_ref().map(|host| escaped(host.as_bytes()))
    }

    /// About the length of an interval.
    fn longest_ns(&self) -> u64 {
        let mean_ns = self.report.balance.length_ns / self.report.balance.intervals.max(1);
        self.about.tier_ns.max(mean_ns).saturating_mul(2)
    }

    /// Where the capacity went, beside the rows: name in JSON, words that are longer than a name of 15 bytes, nanoseconds.
    pub(super) fn rests(&self) -> Vec<(&'static str, &'static str, u64)> {
        let balance = &self.report.balance;
        let mut rests = vec![
            ("idle", "idle, no task ran", balance.idle_ns),
            ("unattributed", "unattributed time", balance.unattributed_ns),
        ];
        if balance.untold_ns > 0 {
            rests.push(("untold", "idle, or not known to the source", balance.untold_ns));
        }
        rests
    }

    /// A row's name in one line. A branch has all its ancestors before it.
    pub(super) fn label(&self, name: &Name) -> String {
        match name {
            Name::Path(path) => {
                let names = path
                    .iter()
                    .map(|comm| comm.as_ref().map_or(Name::Unknown, |comm| Name::Text(comm.clone())));
                names.map(|name| self.labels.label(&name)).collect::<Vec<_>>().join(" > ")
            }
            other => self.labels.label(other),
        }
    }

    /// What all rows used together.
    pub(super) fn total(&self) -> Amounts {
        self.report.total()
    }
}
