//! The head of the text in words: the balance, what is counted, and what was not seen.

use cpuledger_model::SourceKind;
use cpuledger_model::interval::{Interval, Row, TaskCounts};
use cpuledger_proc::machine::loadavg::Load;

use super::balance::{Shares, append_capacity, append_percent};
use super::column::{decimals, text_of};

/// What was attributed, and what was not, of the time of all CPUs.
pub fn balance(interval: &Interval) -> String {
    let percent = |share: u64| text_of(|text| append_percent(text, share));
    let since = if interval.is_since_boot() { "since boot:" } else { "interval" };
    let shares = Shares::of(interval);
    let mut words = format!(
        "{} CPUs, {since} {} s, source {}: attributed {}",
        interval.online_cpus,
        decimals(interval.length_ns() / 1_000_000, 3),
        interval.source_name(),
        percent(shares.attributed)
    );
    if let Some([idle, unattributed]) = shares.rest {
        words += &format!(" idle {}", percent(idle));
        if interval.unattributed_ns != Some(0) {
            words += &format!(" unattributed {}", percent(unattributed));
        }
    }
    words += &format!(" of {}", text_of(|text| append_capacity(text, interval)));
    if let (Some(_), Some(unattributed_ns)) = (shares.rest, interval.unattributed_ns) {
        // Why some time is unattributed: ` (uncovered CPU 1200)`.
        let reasons = interval.unattributed_by.reasons().into_iter().filter(|(_, _, ns)| *ns > 0);
        let reasons: Vec<String> = reasons.map(|(_, words, ns)| format!("{words} {ns}")).collect();
        words += &format!("; unattributed {unattributed_ns} ns");
        if !reasons.is_empty() {
            words += &format!(" ({})", reasons.join(", "));
        }
    }
    words
}

/// What the source cannot see, and what it has lost, and how much of that there is.
pub fn losses(interval: &Interval) -> (String, usize) {
    let fault = interval.fault();
    let faults = usize::from(fault.is_some());
    let fault = fault.map(|fault| format!("Out of balance, which is an error of cpuledger: {fault}. "));
    let fault = fault.unwrap_or_default();
    let unseen = match (interval.source, &interval.exited) {
        (SourceKind::Service | SourceKind::Ledger, _) => {
            let (lost, count) = lost(interval);
            return (fault + &lost, count + faults);
        }
        (SourceKind::Walk, Some(_)) => {
            "Not seen: idle, stolen, blocked and sleeping time, the parent at fork of processes older than its hooks, \
             what running tasks used since the last tick"
        }
        (SourceKind::Walk, None) => {
            "Not seen: tasks that exited in the interval, idle, stolen, blocked and sleeping time, what running tasks \
             used since the last tick"
        }
        (SourceKind::Netlink, _) if interval.is_of_accounts() => "Not seen: idle, blocked and sleeping time",
        (SourceKind::Netlink, Some(_)) => {
            "Not seen: idle, stolen, blocked and sleeping time, the parent at fork, the last tick of threads that \
             exited"
        }
        (SourceKind::Netlink, None) => {
            "Not seen: tasks that exited in the interval, idle, stolen, blocked and sleeping time"
        }
        (SourceKind::Procfs, _) => {
            "Not seen (root sees them; `cpuledger doctor` says why): processes that exited in the interval, idle, stolen, \
             blocked and sleeping time; time is in ticks"
        }
    };
    match interval.missed_exits {
        0 => (fault + unseen, 1 + faults),
        missed => (format!("{fault}{unseen}; lost: {missed} reports of exits"), 2 + faults),
    }
}

/// What a ledger has lost.
fn lost(interval: &Interval) -> (String, usize) {
    let by = &interval.unattributed_by;
    let plural = |count: u64, one, many| if count == 1 { one } else { many };
    let without_books = match interval.source {
        _ if interval.is_replayed => " ns of which nothing is recorded, or not any more",
        SourceKind::Service => " ns of which there are no books from the service",
        _ => " ns without a ledger, because the previous one failed",
    };
    let unidentified = interval.unidentified_exits.unwrap_or(0);
    let missed_switches = interval.missed_switches.unwrap_or(0);
    let losses = [
        (by.no_slot_ns + by.forgotten_task_ns, " ns of tasks without a slot (a larger --slots helps)"),
        (
            by.uncovered_cpu_ns,
            " ns on CPUs where no context switch was seen yet (usual in the first interval)",
        ),
        (by.not_attached_ns, without_books),
        (
            unidentified,
            plural(
                unidentified,
                " exited task has no name; its time is with its process or parent",
                " exited tasks have no name; their time is with their processes and parents",
            ),
        ),
        (
            missed_switches,
            plural(
                missed_switches,
                " context switch that this kernel hides from BPF, so its time is with the task that ran next",
                " context switches that this kernel hides from BPF, so their time is with the task that ran next",
            ),
        ),
        (
            interval.hidden_cpu_ns.unwrap_or(0),
            " ns of CPU time of processes that the kernel hides, which is in the rows of others or idle",
        ),
    ];
    let losses = losses.into_iter().filter(|(count, _)| *count > 0);
    let losses: Vec<String> = losses.map(|(count, what)| format!("{count}{what}")).collect();
    if losses.is_empty() {
        return ("Balanced: every nanosecond is attributed to the task that had the CPU".to_owned(), 0);
    }
    (format!("Not exact: {}", losses.join("; ")), losses.len())
}

/// How many processes and tasks there are, as far as the source tells: those that ran, from one that looks only at these.
pub(super) fn counts(interval: &Interval, load: Option<&Load>) -> [String; 2] {
    let active = |rows: &[Row]| rows.iter().filter(|row| row.usage.cpu_ns > 0).count();
    let exited = interval.exited.as_ref().map(|exited| exited_words(interval, exited.len() as u64));
    let exited = exited.unwrap_or_default();
    let processes = &interval.processes;
    if interval.source.is_of_ledger() || interval.is_of_accounts() {
        let total = load.and_then(|load| load.tasks).map(|tasks| format!("{tasks} total, "));
        let total = total.unwrap_or_default();
        let tasks = format!("Tasks: {total}{} active{exited}", active(&interval.tasks));
        return [format!("Processes: {} active", active(processes)), tasks];
    }
    let counts = |rows: &[Row]| TaskCounts::of(rows.iter().map(|row| &row.task));
    let by_task = Some(&interval.tasks).filter(|tasks| !tasks.is_empty()).map(|tasks| counts(tasks));
    let tasks = by_task.or(interval.listed_tasks);
    let of_what = if tasks.is_some() { "Tasks" } else { "Main threads" };
    let TaskCounts { total, running, stopped, dead, .. } = tasks.unwrap_or_else(|| counts(processes));
    let states = match interval.source {
        SourceKind::Netlink => String::new(), // taskstats tell the dead from the living, and nothing else
        SourceKind::Service | SourceKind::Ledger | SourceKind::Walk | SourceKind::Procfs => {
            let sleeping = total - running - stopped - dead;
            format!("{running} running, {sleeping} sleeping, {stopped} stopped, ")
        }
    };
    [
        format!("Processes: {} total, {} active", processes.len(), active(processes)),
        format!("{of_what}: {total} total, {states}{dead} zombie{exited}"),
    ]
}

fn exited_words(interval: &Interval, listed: u64) -> String {
    match interval.unidentified_exits.unwrap_or(0) {
        0 => format!(", {listed} exited"),
        more => format!(", {} exited ({more} without names, because the list was full)", listed + more),
    }
}
