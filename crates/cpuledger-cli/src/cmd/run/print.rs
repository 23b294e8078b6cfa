//! The account of a command as text and as JSON.

use std::fmt::Write;

use cpuledger_client::descent::{Sums, Tree};
use cpuledger_client::gap::is_gap;
use cpuledger_model::interval::Interval;
use cpuledger_proc::escape::escaped;
use cpuledger_view::group::OTHER_NAMES;
use cpuledger_view::report::text::size;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::counted::Counted;

/// The version of the JSON.
const SCHEMA: &str = "cpuledger.run/1";

/// Lines of the tables in text.
const MOST_LINES: usize = 10;

/// What the books have not of the time in which a command ran.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Missing {
    /// CPU time of the machine that is attributed to nobody: some of it may be of the command.
    pub unattributed_ns: u64,
    /// Of that: all CPUs while there were no books.
    pub in_gaps_ns: u64,
    /// How long there were none: what ran then is in no figure.
    pub without_books_ns: u64,
    /// Why they end before the command.
    pub ended: Option<String>,
}

impl Missing {
    /// Adds an interval, of a command that has begun then, CLOCK_MONOTONIC.
    pub fn add(&mut self, interval: &Interval, begin_ns: u64) {
        self.unattributed_ns += interval.unattributed_ns.unwrap_or(0);
        if is_gap(interval) {
            self.in_gaps_ns += interval.capacity_ns;
            self.without_books_ns += interval.end_ns.saturating_sub(interval.start_ns.max(begin_ns));
        }
    }

    /// Adds that of another run.
    pub fn merge(&mut self, other: &Missing) {
        self.unattributed_ns += other.unattributed_ns;
        self.in_gaps_ns += other.in_gaps_ns;
        self.without_books_ns += other.without_books_ns;
    }

    /// What is to be said of it.
    pub fn append_notes(&self, text: &mut String) {
        if self.without_books_ns > 0 {
            let gaps = seconds(self.without_books_ns);
            let _ = writeln!(text, "note: there were no books for {gaps} s: what ran then is in no figure");
        }
        let nobody_ns = self.unattributed_ns.saturating_sub(self.in_gaps_ns);
        if nobody_ns > 0 {
            let nobody = seconds(nobody_ns);
            let _ = writeln!(
                text,
                "note: {nobody} s of CPU time are attributed to nobody: at most that much is missing here"
            );
        }
    }
}

/// What is told of a command.
#[derive(Debug)]
pub struct Account<'a> {
    /// Its words.
    pub command: &'a [String],
    /// Its exit code.
    pub exit_code: u8,
    /// Where the figures come from.
    pub source: &'a str,
    /// From its begin to its end.
    pub real_ns: u64,
    /// By the kernel's counters: of the dead that were waited for; user and system time of what still runs, too.
    pub counted: Counted,
    /// The largest resident size of one process that was waited for; `None`: less than the launcher of the command had.
    pub max_rss_bytes: Option<u64>,
    /// What it used.
    pub tree: Tree,
    /// What is not in that.
    pub missing: Missing,
}

#[derive(Debug, Serialize)]
struct Row<'a> {
    /// `None`: all names that are not told apart.
    name: Option<&'a str>,
    processes: u64,
    cpu_ns: u64,
    runqueue_wait_ns: u64,
    longest_ns: u64,
}

#[derive(Debug, Serialize)]
struct Running<'a> {
    pid: i32,
    comm: &'a str,
    cpu_ns: u64,
}

impl Account<'_> {
    /// CPU time that no process has a name for.
    fn unidentified_ns(&self) -> u64 {
        self.tree.booked_ns.saturating_sub(self.tree.all.cpu_ns)
    }

    /// What the kernel has told of no process that was waited for.
    fn unsplit_ns(&self) -> u64 {
        let told_ns = self.counted.user_ns + self.counted.system_ns + self.tree.stolen_ns;
        self.tree.booked_ns.saturating_sub(told_ns)
    }

    /// One object.
    pub fn json(&self) -> String {
        // Numbers and texts are always JSON.
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }

    /// Some lines. Users choose names of at most 15 bytes: longer words at their place are none.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let line = |name: &str, ns: u64| format!("{name:<9}{:>14} s\n", seconds(ns));
        // No more digits than are known. The point is below that of the others.
        let split = |name: &str, ns: u64| format!("{name:<9}{:>7} s\n", hundredths(ns));
        text += &line("real", self.real_ns);
        text += &line("cpu", self.tree.booked_ns);
        text += &split("  user", self.counted.user_ns);
        text += &split("  system", self.counted.system_ns);
        text += &line("  stolen", self.tree.stolen_ns);
        if self.unsplit_ns() > 0 {
            text += &line("  unsplit", self.unsplit_ns());
        }
        text += &line("waiting", self.tree.all.waiting_ns);
        text += &line("blocked", self.tree.all.blocked_ns);
        text += &line("  by I/O", self.tree.all.io_wait_ns);
        self.append_counted(&mut text);
        self.append_table(&mut text, "COMMAND", &self.tree.sums.by_name);
        if self.unidentified_ns() > 0 {
            let ns = self.unidentified_ns();
            let _ = writeln!(
                text,
                "         - {:>13} {:>6.1}%             -  (identity was lost)",
                seconds(ns),
                self.percent(ns)
            );
        }
        self.append_table(&mut text, "ANCESTRY", &self.tree.sums.by_line);
        // Most commands stay where they began.
        for (header, sums, least) in
            [("UNIT", &self.tree.sums.by_unit, 2), ("CONTAINER", &self.tree.sums.by_container, 1)]
        {
            if sums.len() >= least {
                self.append_table(&mut text, header, sums);
            }
        }
        for member in &self.tree.running {
            let name = &member.comm;
            let cpu = seconds(member.used.cpu_ns);
            let _ = writeln!(text, "\nstill running: {name}, pid {}, {cpu} s so far", member.id.tid);
        }
        self.append_notes(&mut text);
        text
    }

    /// What the kernel has counted of what was waited for.
    fn append_counted(&self, text: &mut String) {
        let Counted { minor_faults, major_faults, voluntary_switches, involuntary_switches, .. } =
            self.counted;
        let largest = self.max_rss_bytes.map_or_else(|| "less than cpuledger's own".to_owned(), size);
        let [read, written] = [self.counted.read_bytes, self.counted.write_bytes].map(size);
        let _ = writeln!(text, "max RSS  {largest}");
        let _ = writeln!(text, "faults   {minor_faults} without I/O, {major_faults} with I/O");
        let _ = writeln!(text, "switches {voluntary_switches} to wait, {involuntary_switches} preempted");
        let _ = writeln!(text, "disk     {read} read, {written} written");
    }

    /// What may be with the wrong process, and what is missing.
    fn append_notes(&self, text: &mut String) {
        let missed = self.tree.missed_switches.unwrap_or(0);
        if missed > 0 {
            let switches = if missed == 1 { "context switch" } else { "context switches" };
            let _ = writeln!(
                text,
                "\n{missed} {switches} that this kernel hides from BPF, so some time may be with the wrong process"
            );
        }
        let hidden_ns = self.tree.hidden_cpu_ns.unwrap_or(0);
        if hidden_ns > 0 {
            let hidden = seconds(hidden_ns);
            let _ = writeln!(
                text,
                "note: hidden processes used {hidden} s meanwhile: at most that much is with others"
            );
        }
        self.missing.append_notes(text);
    }

    fn append_table(&self, text: &mut String, header: &str, sums: &Sums) {
        let rows = rows(sums);
        let _ = writeln!(text, "\n PROCESSES         CPU s   SHARE     LONGEST s  {header}");
        for row in rows.iter().take(MOST_LINES) {
            let _ = writeln!(
                text,
                "{:>10} {:>13} {:>6.1}% {:>13}  {}",
                row.processes,
                seconds(row.cpu_ns),
                self.percent(row.cpu_ns),
                seconds(row.longest_ns),
                row.name.unwrap_or(OTHER_NAMES)
            );
        }
        if let Some(rest) = rows.get(MOST_LINES..).filter(|rest| !rest.is_empty()) {
            let (processes, ns) =
                rest.iter().fold((0, 0), |(processes, ns), row| (processes + row.processes, ns + row.cpu_ns));
            let _ = writeln!(
                text,
                "{processes:>10} {:>13} {:>6.1}%             -  (and {} more names)",
                seconds(ns),
                self.percent(ns),
                rest.len()
            );
        }
    }

    fn percent(&self, ns: u64) -> f64 {
        if self.tree.booked_ns == 0 { 0.0 } else { ns as f64 * 100.0 / self.tree.booked_ns as f64 }
    }
}

impl Serialize for Account<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Account { counted, tree, missing, .. } = self;
        let command: Vec<String> = self.command.iter().map(|word| escaped(word.as_bytes())).collect();
        let running = tree.running.iter();
        let running: Vec<Running<'_>> = running
            .map(|member| Running { pid: member.id.tid.0, comm: &member.comm, cpu_ns: member.used.cpu_ns })
            .collect();
        let mut object = serializer.serialize_map(None)?;
        object.serialize_entry("schema", SCHEMA)?;
        object.serialize_entry("command", &command)?;
        object.serialize_entry("exit_code", &self.exit_code)?;
        object.serialize_entry("source", self.source)?;
        object.serialize_entry("real_ns", &self.real_ns)?;
        object.serialize_entry("cpu_ns", &tree.booked_ns)?;
        object.serialize_entry("user_ns", &counted.user_ns)?;
        object.serialize_entry("system_ns", &counted.system_ns)?;
        object.serialize_entry("unsplit_ns", &self.unsplit_ns())?;
        object.serialize_entry("stolen_ns", &tree.stolen_ns)?;
        object.serialize_entry("runqueue_wait_ns", &tree.all.waiting_ns)?;
        object.serialize_entry("blocked_ns", &tree.all.blocked_ns)?;
        object.serialize_entry("io_wait_ns", &tree.all.io_wait_ns)?;
        object.serialize_entry("max_rss_bytes", &self.max_rss_bytes)?;
        object.serialize_entry("minor_faults", &counted.minor_faults)?;
        object.serialize_entry("major_faults", &counted.major_faults)?;
        object.serialize_entry("voluntary_switches", &counted.voluntary_switches)?;
        object.serialize_entry("involuntary_switches", &counted.involuntary_switches)?;
        object.serialize_entry("read_bytes", &counted.read_bytes)?;
        object.serialize_entry("write_bytes", &counted.write_bytes)?;
        object.serialize_entry("unidentified_ns", &self.unidentified_ns())?;
        object.serialize_entry("missed_switches", &tree.missed_switches)?;
        object.serialize_entry("hidden_cpu_ns", &tree.hidden_cpu_ns)?;
        object.serialize_entry("unattributed_ns", &missing.unattributed_ns)?;
        object.serialize_entry("without_books_ns", &missing.without_books_ns)?;
        object.serialize_entry("ended_early", &missing.ended)?;
        object.serialize_entry("processes", &tree.all.processes)?;
        object.serialize_entry("commands", &rows(&tree.sums.by_name))?;
        object.serialize_entry("ancestry", &rows(&tree.sums.by_line))?;
        object.serialize_entry("units", &rows(&tree.sums.by_unit))?;
        object.serialize_entry("containers", &rows(&tree.sums.by_container))?;
        object.serialize_entry("still_running", &running)?;
        object.end()
    }
}

/// What used most comes first.
fn rows(sums: &Sums) -> Vec<Row<'_>> {
    let mut rows: Vec<Row<'_>> = sums
        .iter()
        .map(|(name, used)| Row {
            name: name.as_deref(),
            processes: used.processes,
            cpu_ns: used.cpu_ns,
            runqueue_wait_ns: used.waiting_ns,
            longest_ns: used.longest_ns,
        })
        .collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.cpu_ns));
    rows
}

/// Seconds to a tick of 10 ms, rounded down: the kernel divides user and system time by ticks.
fn hundredths(ns: u64) -> String {
    format!("{}.{:02}", ns / 1_000_000_000, ns / 10_000_000 % 100)
}

pub(super) fn seconds(ns: u64) -> String {
    format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000)
}

#[cfg(test)]
pub(super) mod tests {
    use std::ops::Range;

    use super::*;
    use cpuledger_client::descent::{Tables, Used};
    use cpuledger_model::interval::Unattributed;
    use cpuledger_model::make;

    fn text(hidden_cpu_ns: Option<u64>) -> String {
        account(hidden_cpu_ns).text()
    }

    /// Of a command that has used nothing.
    pub(in crate::cmd::run) fn account(hidden_cpu_ns: Option<u64>) -> Account<'static> {
        let tree = make!(Tree {
            all: Used::default(),
            booked_ns: 0,
            stolen_ns: 0,
            divided: None,
            own_ns: 0,
            sums: Tables::default(),
            running: Vec::new(),
            missed_switches: Some(2),
            hidden_cpu_ns,
        });
        Account {
            command: &[],
            exit_code: 0,
            source: "ledger",
            real_ns: 0,
            counted: Counted::default(),
            max_rss_bytes: None,
            tree,
            missing: Missing::default(),
        }
    }

    #[test]
    fn hidden_time_is_noted_where_there_is_some() {
        let note =
            "\nnote: hidden processes used 0.012345678 s meanwhile: at most that much is with others\n";
        assert!(text(Some(12_345_678)).ends_with(note));
        assert!([Some(0), None].iter().all(|none| !text(*none).contains("note:")));
    }

    #[test]
    fn what_the_books_have_not_is_noted() {
        let second_ns = 1_000_000_000;
        let interval = |seconds: Range<u64>, not_attached_ns: u64, unattributed_ns: u64| {
            let unattributed_by = make!(Unattributed { not_attached_ns });
            make!(Interval {
                start_ns: seconds.start * second_ns,
                end_ns: seconds.end * second_ns,
                capacity_ns: (seconds.end - seconds.start) * 2 * second_ns,
                unattributed_ns: Some(unattributed_ns),
                unattributed_by,
            })
        };
        let mut account = account(None);
        // The command begins in the gap.
        account.missing.add(&interval(1..4, 6 * second_ns, 6 * second_ns), 2 * second_ns);
        account.missing.add(&interval(4..5, 0, 0), 2 * second_ns);
        let of_gap = "note: there were no books for 2.000000000 s: what ran then is in no figure\n";
        assert!(account.text().ends_with(of_gap), "{}", account.text());
        account.missing.add(&interval(5..6, 0, 7), 2 * second_ns);
        let of_nobody =
            "note: 0.000000007 s of CPU time are attributed to nobody: at most that much is missing here\n";
        assert!(account.text().ends_with(&format!("{of_gap}{of_nobody}")), "{}", account.text());
        let json: serde_json::Value = serde_json::from_str(&account.json()).expect("JSON");
        assert_eq!(json["without_books_ns"], 2 * second_ns);
        assert_eq!(json["unattributed_ns"], 6 * second_ns + 7);
        assert!(json["ended_early"].is_null());
    }
}
