//! The account of a command as text and as JSON.

use std::fmt::Write;

use cpuledger_client::descent::{Sums, Tree};
use cpuledger_proc::escape::escaped;
use cpuledger_view::group::OTHER_NAMES;
use cpuledger_view::report::text::size;
use serde::Serialize;

use super::counted::Counted;

/// The version of the JSON.
const SCHEMA: &str = "cpuledger.run/1";

/// Lines of the tables in text.
const MOST_LINES: usize = 10;

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
}

/// The JSON of a command.
#[derive(Debug, Serialize)]
pub struct Document<'a> {
    schema: &'static str,
    command: Vec<String>,
    exit_code: u8,
    source: &'a str,
    real_ns: u64,
    cpu_ns: u64,
    user_ns: u64,
    system_ns: u64,
    unsplit_ns: u64,
    stolen_ns: u64,
    runqueue_wait_ns: u64,
    blocked_ns: u64,
    io_wait_ns: u64,
    max_rss_bytes: Option<u64>,
    minor_faults: u64,
    major_faults: u64,
    voluntary_switches: u64,
    involuntary_switches: u64,
    read_bytes: u64,
    write_bytes: u64,
    unidentified_ns: u64,
    missed_switches: Option<u64>,
    hidden_cpu_ns: Option<u64>,
    processes: u64,
    commands: Vec<Row<'a>>,
    ancestry: Vec<Row<'a>>,
    units: Vec<Row<'a>>,
    containers: Vec<Row<'a>>,
    still_running: Vec<Running<'a>>,
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
        serde_json::to_string(&self.document()).unwrap_or_default() + "\n"
    }

    /// The members of that.
    pub fn document(&self) -> Document<'_> {
        Document {
            schema: SCHEMA,
            command: self.command.iter().map(|word| escaped(word.as_bytes())).collect(),
            exit_code: self.exit_code,
            source: self.source,
            real_ns: self.real_ns,
            cpu_ns: self.tree.booked_ns,
            user_ns: self.counted.user_ns,
            system_ns: self.counted.system_ns,
            unsplit_ns: self.unsplit_ns(),
            stolen_ns: self.tree.stolen_ns,
            runqueue_wait_ns: self.tree.all.waiting_ns,
            blocked_ns: self.tree.all.blocked_ns,
            io_wait_ns: self.tree.all.io_wait_ns,
            max_rss_bytes: self.max_rss_bytes,
            minor_faults: self.counted.minor_faults,
            major_faults: self.counted.major_faults,
            voluntary_switches: self.counted.voluntary_switches,
            involuntary_switches: self.counted.involuntary_switches,
            read_bytes: self.counted.read_bytes,
            write_bytes: self.counted.write_bytes,
            unidentified_ns: self.unidentified_ns(),
            missed_switches: self.tree.missed_switches,
            hidden_cpu_ns: self.tree.hidden_cpu_ns,
            processes: self.tree.all.processes,
            commands: rows(&self.tree.sums.by_name),
            ancestry: rows(&self.tree.sums.by_line),
            units: rows(&self.tree.sums.by_unit),
            containers: rows(&self.tree.sums.by_container),
            still_running: self
                .tree
                .running
                .iter()
                .map(|member| Running {
                    pid: member.id.tid.0,
                    comm: &member.comm,
                    cpu_ns: member.used.cpu_ns,
                })
                .collect(),
        }
    }

    /// Some lines. Users choose names of at most 15 bytes: longer words at their place are none.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let mut line = |name: &str, ns: u64| {
            let _ = writeln!(text, "{name:<9}{:>14} s", seconds(ns));
        };
        line("real", self.real_ns);
        line("cpu", self.tree.booked_ns);
        // No more digits than are known. The point is below that of the others.
        let split = |name: &str, ns: u64| format!("{name:<9}{:>7} s\n", hundredths(ns));
        text += &split("  user", self.counted.user_ns);
        text += &split("  system", self.counted.system_ns);
        let mut line = |name: &str, ns: u64| {
            let _ = writeln!(text, "{name:<9}{:>14} s", seconds(ns));
        };
        line("  stolen", self.tree.stolen_ns);
        if self.unsplit_ns() > 0 {
            line("  unsplit", self.unsplit_ns());
        }
        line("waiting", self.tree.all.waiting_ns);
        line("blocked", self.tree.all.blocked_ns);
        line("  by I/O", self.tree.all.io_wait_ns);
        self.append_counted(&mut text);
        let _ = writeln!(text, "\n PROCESSES         CPU s   SHARE     LONGEST s  COMMAND");
        self.append_table(&mut text, &rows(&self.tree.sums.by_name));
        if self.unidentified_ns() > 0 {
            let ns = self.unidentified_ns();
            let _ = writeln!(
                text,
                "         - {:>13} {:>6.1}%             -  (identity was lost)",
                seconds(ns),
                self.percent(ns)
            );
        }
        let _ = writeln!(text, "\n PROCESSES         CPU s   SHARE     LONGEST s  ANCESTRY");
        self.append_table(&mut text, &rows(&self.tree.sums.by_line));
        // Most commands stay where they began.
        for (header, sums, least) in
            [("UNIT", &self.tree.sums.by_unit, 2), ("CONTAINER", &self.tree.sums.by_container, 1)]
        {
            if sums.len() >= least {
                let _ = writeln!(text, "\n PROCESSES         CPU s   SHARE     LONGEST s  {header}");
                self.append_table(&mut text, &rows(sums));
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

    /// What may be with the wrong process.
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
    }

    fn append_table(&self, text: &mut String, rows: &[Row<'_>]) {
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
mod tests {
    use super::*;
    use cpuledger_client::descent::{Tables, Used};
    use cpuledger_model::make;

    fn text(hidden_cpu_ns: Option<u64>) -> String {
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
        let account = Account {
            command: &[],
            exit_code: 0,
            source: "ledger",
            real_ns: 0,
            counted: Counted::default(),
            max_rss_bytes: None,
            tree,
        };
        account.text()
    }

    #[test]
    fn hidden_time_is_noted_where_there_is_some() {
        let note =
            "\nnote: hidden processes used 0.012345678 s meanwhile: at most that much is with others\n";
        assert!(text(Some(12_345_678)).ends_with(note));
        assert!([Some(0), None].iter().all(|none| !text(*none).contains("note:")));
    }
}
