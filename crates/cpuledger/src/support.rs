//! Which sources are usable here: facts about the machine, rules that judge them, and one attempt at each source.
//!
//! The attempt decides; facts explain it. No kernel version is ever compared.

pub mod privilege;
mod rules;

use std::time::Duration;

use cpuledger_model::accounts::{Account, Accounts};
use cpuledger_model::field::FieldSet;
use cpuledger_model::interval::Interval;
use cpuledger_model::snapshot::{Request, Scope, Snapshot};
use cpuledger_model::source_kind::SourceKind;
use serde::Serialize;

use crate::error::Error;
use crate::machine;
use crate::source::Source;
use crate::source::choose;
use crate::source::cost::{Activity, Costs};
use crate::source::ledger::{self, Ledger};
use crate::source::netlink::Netlink;
use crate::source::procfs::Procfs;
use crate::source::service::{ServiceLedger, ServiceListing, listens};
use crate::source::walk::Walk;
use cpuledger_proc::count::count_of;

pub use crate::facts::{self, Fact, names};
use rules::{explanations, sight};

/// All sources of this machine.
#[derive(Debug, Clone, Default, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// Where this is.
    pub machine: MachineFacts,
    /// What `auto` takes for `top`; `None` where nothing is usable.
    pub auto: Option<SourceKind>,
    /// What the two best would cost, where both are usable: `auto` chooses between them by that.
    pub costs: Option<Costs>,
    /// Best first.
    pub sources: Vec<SourceReport>,
    /// What a ledger may keep besides CPU time.
    pub accounts: Vec<AccountReport>,
}

/// One account.
#[derive(Debug, Clone, Default, Serialize)]
#[non_exhaustive]
pub struct AccountReport {
    /// Its name.
    pub account: &'static str,
    /// Whether this kernel has what it needs.
    pub possible: bool,
    /// One sentence on that.
    pub reason: String,
    /// Whether the service keeps it at present; `None`: there is no service.
    pub kept_by_service: Option<bool>,
}

/// What a reader of the report wants to know of the machine.
#[derive(Debug, Clone, Default, Serialize)]
#[non_exhaustive]
pub struct MachineFacts {
    /// As uname(2) says it.
    pub kernel_release: String,
    /// Likewise.
    pub architecture: String,
    /// CPUs that are online.
    pub online_cpus: u32,
    /// Tasks that exist, threads included.
    pub tasks: Option<u32>,
    /// The limit of their numbers.
    pub pid_max: Option<u32>,
}

/// One source.
#[derive(Debug, Clone, Default, Serialize)]
#[non_exhaustive]
pub struct SourceReport {
    /// Which.
    pub source: SourceKind,
    /// Whether it has given a snapshot.
    pub usable: bool,
    /// One sentence on why, or why not.
    pub reason: String,
    /// What would make it usable, or let it see more.
    pub remedy: Option<String>,
    /// What it depends on.
    pub facts: Vec<Fact>,
    /// What it can see, in one sentence.
    pub sees: &'static str,
    /// What it cannot see, in one sentence.
    pub misses: &'static str,
    /// Capabilities that it needs, or could use.
    pub needs: &'static [privilege::Need],
    /// Processes that are kept from BPF programs, as some hosts do with their own: their rows are from /proc.
    pub hidden_pids: Vec<i32>,
    /// What the attempt cost and gave; of the ledger, [`SourceReport::ledger`] tells it.
    pub attempt: Option<Attempt>,
    /// What the attempt at the ledger cost and gave.
    pub ledger: Option<LedgerAttempt>,
    /// Of a service: intervals since it was started whose times do not add up. `None`: it does not tell, or it is another source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unbalanced_intervals: Option<u64>,
    /// The verifier's last lines where the kernel refused a program.
    pub log: Vec<String>,
}

impl SourceReport {
    /// With a remedy that can be copied: it names the file of this program.
    fn with_own_file(mut self) -> SourceReport {
        self.remedy = self.remedy.map(|remedy| remedy.replace(rules::FILE, &facts::own_file()));
        self
    }
}

/// A source opened, and one snapshot taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Attempt {
    /// How long opening it took.
    pub open_ns: u64,
    /// How long the snapshot took.
    pub snapshot_ns: u64,
    /// Processes in it.
    pub processes: usize,
    /// Their tasks.
    pub tasks: usize,
    /// How the source reads.
    pub mechanism: Mechanism,
}

/// The ledger attached with its default size, and one interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LedgerAttempt {
    /// How long attaching took, the detail of its tasks included.
    pub attach_ns: u64,
    /// Length of the interval.
    pub interval_ns: u64,
    /// Capacity less all that was booked: 0.
    pub imbalance_ns: i64,
    /// Tasks that can be told apart.
    pub slots: u32,
    /// Kernel memory that this number of slots takes.
    pub locked_bytes: u64,
    /// Whether detail costs a walk over all tasks at each interval.
    pub walks_for_detail: bool,
}

/// How a source reads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Mechanism {
    /// All tasks in one frame of the service.
    Service,
    /// All tasks in one bpf(2) call.
    OneCall,
    /// All tasks in one read of a bpf iterator.
    Iterator,
    /// A message a process.
    Messages,
    /// A snapshot of the kernel, all at one instant.
    Cut,
    /// A file a process.
    #[default]
    Files,
}

/// Why an attempt failed.
#[derive(Debug, Clone, Default)]
struct Refusal {
    sentence: String,
    log: Vec<String>,
}

impl From<&Error> for Refusal {
    fn from(error: &Error) -> Refusal {
        Refusal { sentence: error.to_string(), log: error.log().to_vec() }
    }
}

/// How long the machine is observed to estimate what each source costs. This comes before the attempts, which cause load themselves.
const LOOK: Duration = Duration::from_millis(200);

/// Between two cuts, in that estimate.
const LOOK_AHEAD: Duration = Duration::from_secs(2);

/// Looks at the machine and tries each source once.
pub fn examine() -> Report {
    let activity = Activity::observe(LOOK);
    let mut kept = None;
    let sources: Vec<SourceReport> = SourceKind::ALL
        .into_iter()
        .map(|kind| {
            let (facts, attempt) = match kind {
                SourceKind::Service => return report_service(&mut kept),
                SourceKind::Ledger => return report_ledger(),
                SourceKind::Walk => (facts::of_walk(), try_walk()),
                SourceKind::Netlink => return report_netlink(),
                SourceKind::Procfs => {
                    let opened = Procfs::open();
                    (facts::of_procfs(opened.as_ref().ok().map(Procfs::fields)), try_procfs())
                }
            };
            let (attempt, hidden_pids) = with_rest(attempt);
            let mut report = report(kind, facts, attempt);
            report.reason.push_str(&hiding(&hidden_pids));
            SourceReport { hidden_pids, ..report }
        })
        .map(SourceReport::with_own_file)
        .collect();
    let costs = activity.and_then(|activity| costs_of(&sources, activity));
    let auto = auto_of(&sources, costs.as_ref());
    let accounts = Account::ALL.into_iter().map(|account| report_account(account, kept)).collect();
    Report { machine: machine_facts(), auto, costs, sources, accounts }
}

/// `kept` is what the service keeps.
fn report_account(account: Account, kept: Option<Accounts>) -> AccountReport {
    let lacks = ledger::lacks(account);
    // Of an account that can be kept in part, what is missing.
    let of_network = if account == Account::Network { ledger::lacks_of_network() } else { [None, None] };
    let missing: Vec<String> = of_network.iter().flatten().map(ToString::to_string).collect();
    AccountReport {
        account: account.name(),
        possible: lacks.is_none(),
        reason: match lacks {
            None if !missing.is_empty() => missing.join("; "),
            None => "this kernel has what it needs".to_owned(),
            Some(error) => error.to_string(),
        },
        kept_by_service: kept.map(|kept| kept.contains(account)),
    }
}

/// What both would cost, where both can be had.
fn costs_of(sources: &[SourceReport], activity: Activity) -> Option<Costs> {
    let usable = |kind| sources.iter().find(|report| report.source == kind && report.usable);
    usable(SourceKind::Walk)?;
    let walks_for_detail = usable(SourceKind::Ledger)?.ledger.is_some_and(|ledger| ledger.walks_for_detail);
    Some(Costs::estimate(activity, LOOK_AHEAD, walks_for_detail))
}

/// What `auto` takes.
fn auto_of(sources: &[SourceReport], costs: Option<&Costs>) -> Option<SourceKind> {
    choose::best(|kind| sources.iter().any(|report| report.source == kind && report.usable), costs)
}

fn machine_facts() -> MachineFacts {
    let uname = rustix::system::uname();
    MachineFacts {
        kernel_release: uname.release().to_string_lossy().into_owned(),
        architecture: uname.machine().to_string_lossy().into_owned(),
        online_cpus: machine::online_cpus(),
        tasks: machine::tasks(),
        pid_max: machine::pid_max(),
    }
}

/// An attempt, and what else it told; nothing of a failed one.
fn with_rest<T: Default>(tried: Result<(Attempt, T), Error>) -> (Result<Attempt, Error>, T) {
    match tried {
        Ok((attempt, rest)) => (Ok(attempt), rest),
        Err(error) => (Err(error), T::default()),
    }
}

fn report(kind: SourceKind, facts: Vec<Fact>, attempt: Result<Attempt, Error>) -> SourceReport {
    let sentence = attempt.as_ref().map(success).map_err(Refusal::from);
    SourceReport { attempt: attempt.ok(), ..judge(kind, facts, sentence) }
}

fn report_ledger() -> SourceReport {
    let attempt = try_ledger();
    let sentence = attempt.as_ref().map(attached).map_err(Refusal::from);
    SourceReport { ledger: attempt.ok(), ..judge(SourceKind::Ledger, facts::of_ledger(), sentence) }
}

/// Length of the trial interval.
const ATTEMPT_NS: u64 = 20_000_000;

fn try_ledger() -> Result<LedgerAttempt, Error> {
    let begin_ns = machine::monotonic_ns();
    let mut ledger = Ledger::open(ledger::Options::default())?;
    let attach_ns = machine::monotonic_ns() - begin_ns;
    let mut interval = Interval::default();
    let wanted = ledger::Wanted { fields: FieldSet::EMPTY, pids: &[], all: false };
    // What ran while it was attached is in the first interval.
    for _ in 0..2 {
        let cut_ns = machine::monotonic_ns() + ATTEMPT_NS;
        ledger.close(cut_ns, &wanted, &mut interval)?;
    }
    Ok(LedgerAttempt {
        attach_ns,
        interval_ns: interval.length_ns(),
        imbalance_ns: interval.imbalance_ns().unwrap_or_default(),
        slots: ledger.slots(),
        locked_bytes: ledger.locked_bytes(),
        walks_for_detail: ledger.walks_for_detail(),
    })
}

/// `kept` becomes what it keeps besides CPU time.
fn report_service(kept: &mut Option<Accounts>) -> SourceReport {
    let facts = facts::of_service(listens());
    let (attempt, unbalanced) = with_rest(try_service(kept));
    let mut report = report(SourceKind::Service, facts, attempt);
    report.reason.push_str(&balance_of(unbalanced));
    SourceReport { unbalanced_intervals: unbalanced, ..report }
}

/// The end of a sentence on a service by the number of intervals whose times do not add up.
fn balance_of(unbalanced: Option<u64>) -> String {
    match unbalanced {
        None => String::new(),
        Some(0) => "; all of its intervals have balanced".to_owned(),
        Some(count) => format!(
            "; {} of its own did not balance, which is an error of cpuledger: its log says more",
            count_of(count, "interval")
        ),
    }
}

/// The attempt, and how many intervals of the service did not balance.
fn try_service(kept: &mut Option<Accounts>) -> Result<(Attempt, Option<u64>), Error> {
    let begin_ns = machine::monotonic_ns();
    // Intervals have limits of their own.
    let books =
        ServiceLedger::open(u64::try_from(LOOK_AHEAD.as_nanos()).unwrap_or(u64::MAX), Accounts::NONE)?;
    let unbalanced = books.unbalanced_intervals();
    *kept = Some(books.kept());
    drop(books);
    let mut service = ServiceListing::open()?;
    let opened_ns = machine::monotonic_ns();
    let attempt = attempt(&mut service, Scope::Tasks, opened_ns - begin_ns, Mechanism::Service)?;
    Ok((Attempt { snapshot_ns: machine::monotonic_ns() - opened_ns, ..attempt }, unbalanced))
}

/// The attempt, and the processes that were kept from it.
fn try_walk() -> Result<(Attempt, Vec<i32>), Error> {
    let begin_ns = machine::monotonic_ns();
    let mut walk = Walk::open_whole(&Request::new(Scope::Tasks, FieldSet::ALL), None)?;
    let open_ns = machine::monotonic_ns() - begin_ns;
    let mechanism = match walk.mechanism() {
        cpuledger_bpf::Mechanism::OneCall => Mechanism::OneCall,
        cpuledger_bpf::Mechanism::Iterator => Mechanism::Iterator,
    };
    let attempt = attempt(&mut walk, Scope::Tasks, open_ns, mechanism)?;
    Ok((attempt, walk.unseen().iter().map(|pid| pid.0).collect()))
}

fn report_netlink() -> SourceReport {
    let begin_ns = machine::monotonic_ns();
    let mut opened = Netlink::open();
    let open_ns = machine::monotonic_ns() - begin_ns;
    let netlink = opened.as_mut().ok();
    let reports = netlink.map(|netlink| netlink.watch_exits().is_ok());
    let facts = facts::of_netlink(reports, opened.as_ref().ok().map(Netlink::has_delays));
    let (attempt, (series, has_accounts)) = with_rest(opened.and_then(|mut netlink| {
        // Processes only, as from procfs.
        let began_ns = machine::monotonic_ns();
        let attempt = attempt(&mut netlink, Scope::Processes, open_ns, Mechanism::Messages)?;
        let mechanism = if netlink.has_cut() { Mechanism::Cut } else { Mechanism::Messages };
        let snapshot_ns = machine::monotonic_ns() - began_ns;
        Ok((Attempt { snapshot_ns, mechanism, ..attempt }, (series_of(&netlink), netlink.has_accounts())))
    }));
    let mut report = report(SourceKind::Netlink, facts, attempt);
    if report.usable {
        report.reason.push_str(&series);
    }
    if has_accounts {
        (report.sees, report.misses) = rules::SIGHT_WITH_ACCOUNTS;
    }
    report
}

/// The end of a sentence on what the kernel tells, with the patches of `kernel/series` or without.
fn series_of(netlink: &Netlink) -> String {
    let version = netlink.version();
    let accounts = if netlink.has_accounts() {
        "; the kernel keeps account of the dead, so that intervals are whole"
    } else {
        ""
    };
    let asked = match netlink.visits_all_because() {
        None => {
            "; the kernel says which tasks ran, so an interval costs as much as they are (cookie)".to_owned()
        }
        // On stock kernels this goes without saying.
        Some(_) if !netlink.has_cut() => String::new(),
        Some(why) => format!("; each interval asks for all tasks: {why}"),
    };
    format!("; taskstats version {version}{accounts}{asked}")
}

fn try_procfs() -> Result<(Attempt, Vec<i32>), Error> {
    let begin_ns = machine::monotonic_ns();
    let mut procfs = Procfs::open()?;
    let open_ns = machine::monotonic_ns() - begin_ns;
    // Processes only: that is what it is good for, and on a machine with 100,000 threads the others take seconds.
    Ok((attempt(&mut procfs, Scope::Processes, open_ns, Mechanism::Files)?, Vec::new()))
}

/// The end of a sentence on what was listed.
fn hiding(pids: &[i32]) -> String {
    match pids {
        [] => String::new(),
        [pid] => format!("; process {pid} is hidden from BPF programs here, so its row comes from /proc"),
        [first, ..] => {
            let count = pids.len();
            format!(
                "; {count} processes (such as {first}) are hidden from BPF programs here, so their rows come from /proc"
            )
        }
    }
}

/// A snapshot from a source that was opened in that time.
fn attempt(
    source: &mut dyn Source,
    scope: Scope,
    open_ns: u64,
    mechanism: Mechanism,
) -> Result<Attempt, Error> {
    let mut snapshot = Snapshot::default();
    source.snapshot(&Request::new(scope, FieldSet::EMPTY), &mut snapshot)?;
    let Snapshot { processes, tasks, .. } = &snapshot;
    Ok(Attempt {
        open_ns,
        snapshot_ns: snapshot.end_ns - snapshot.begin_ns,
        processes: processes.len(),
        tasks: match scope {
            Scope::Tasks => tasks.len(),
            _ => processes.iter().map(|row| row.threads as usize).sum(),
        },
        mechanism,
    })
}

/// The rules: what facts and attempt mean.
fn judge(kind: SourceKind, facts: Vec<Fact>, attempt: Result<String, Refusal>) -> SourceReport {
    let fails = |name: &str| facts.iter().any(|fact| fact.name == name && fact.holds == Some(false));
    let explanation =
        |is_needed| explanations(kind).find(|rule| rule.is_needed == is_needed && fails(rule.fact));
    let (sees, misses) = sight(kind, fails);
    let (usable, reason, remedy, log) = match attempt {
        Ok(sentence) => {
            let remedy = explanation(false).map(|rule| rule.remedy.to_owned());
            (true, sentence, remedy, Vec::new())
        }
        Err(Refusal { sentence, log }) => match explanation(true) {
            Some(rule) => (false, rule.reason.to_owned(), Some(rule.remedy.to_owned()), log),
            None => (false, sentence, None, log),
        },
    };
    SourceReport {
        source: kind,
        usable,
        reason,
        remedy,
        facts,
        sees,
        misses,
        needs: privilege::needs(kind),
        log,
        ..SourceReport::default()
    }
}

fn attached(attempt: &LedgerAttempt) -> String {
    let LedgerAttempt { attach_ns, interval_ns, imbalance_ns, slots, locked_bytes, .. } = attempt;
    let milliseconds = |nanoseconds: &u64| *nanoseconds as f64 / 1e6;
    let detail = if attempt.walks_for_detail { "; details cost a walk in each interval" } else { "" };
    format!(
        "attached in {:.1} ms; in a test interval of {:.1} ms, booked time and the CPUs' time differ by {imbalance_ns} ns; {slots} slots in {:.1} MiB{detail}",
        milliseconds(attach_ns),
        milliseconds(interval_ns),
        *locked_bytes as f64 / f64::from(1 << 20)
    )
}

fn success(attempt: &Attempt) -> String {
    let how = match attempt.mechanism {
        Mechanism::Service => "with one call of the service",
        Mechanism::OneCall => "with one bpf(2) call",
        Mechanism::Iterator => "with one read of a bpf iterator",
        Mechanism::Messages => "with one netlink query for each process",
        Mechanism::Cut => "all at one instant with one write to and one read of /proc/taskstats",
        Mechanism::Files => "with one file of /proc for each process",
    };
    let Attempt { open_ns, snapshot_ns, processes, tasks, .. } = attempt;
    let milliseconds = |nanoseconds: &u64| *nanoseconds as f64 / 1e6;
    format!(
        "listed {} ({}) in {:.3} ms, {how}; opening took {:.1} ms",
        count_of(*processes as u64, "process"),
        count_of(*tasks as u64, "task"),
        milliseconds(snapshot_ns),
        milliseconds(open_ns)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const ATTEMPT: Attempt = Attempt {
        open_ns: 30_000_000,
        snapshot_ns: 31_000,
        processes: 77,
        tasks: 79,
        mechanism: Mechanism::OneCall,
    };

    #[test]
    fn what_did_not_balance_is_counted() {
        let ends = [None, Some(0), Some(1), Some(20)].map(balance_of);
        assert_eq!(ends[..2], ["", "; all of its intervals have balanced"]);
        assert!(ends[2].starts_with("; 1 interval of its own did not balance, "), "{}", ends[2]);
        assert!(ends[3].starts_with("; 20 intervals of its own did not balance, "), "{}", ends[3]);
    }

    fn refusal() -> Refusal {
        Refusal { sentence: "the kernel refused it".to_owned(), log: vec!["R1 is bad".to_owned()] }
    }

    fn fact(name: &'static str, holds: Option<bool>) -> Fact {
        Fact { name, holds }
    }

    #[test]
    fn the_attempt_decides_whatever_the_facts_say() {
        let facts = vec![fact(names::CAP_PERFMON, Some(false)), fact(names::BTF, None)];
        let report = judge(SourceKind::Walk, facts, Ok(success(&ATTEMPT)));
        assert!(report.usable && report.remedy.is_none());
        assert_eq!(
            report.reason,
            "listed 77 processes (79 tasks) in 0.031 ms, with one bpf(2) call; opening took 30.0 ms"
        );
    }

    #[test]
    fn each_fact_that_fails_explains_a_refusal() {
        for kind in SourceKind::ALL {
            for rule in explanations(kind).filter(|rule| rule.is_needed) {
                let report = judge(kind, vec![fact(rule.fact, Some(false))], Err(refusal()));
                assert!(!report.usable);
                assert_eq!(
                    (report.reason.as_str(), report.remedy.as_deref()),
                    (rule.reason, Some(rule.remedy))
                );
                // What could not be told explains nothing.
                let report = judge(kind, vec![fact(rule.fact, None)], Err(refusal()));
                assert_eq!((report.reason.as_str(), report.remedy), ("the kernel refused it", None));
                assert_eq!(report.log, ["R1 is bad"]);
            }
        }
    }

    /// What `doctor` says of each fact that does not hold.
    #[test]
    fn sentences_of_the_rules_are_recorded() {
        let mut transcript = cpuledger_load::Transcript::default();
        for kind in SourceKind::ALL {
            for rule in explanations(kind) {
                for attempt in [Ok(success(&ATTEMPT)), Err(refusal())] {
                    let report = judge(kind, vec![fact(rule.fact, Some(false))], attempt);
                    let SourceReport { usable, reason, remedy, sees, misses, .. } = report;
                    let is = if usable { "usable" } else { "not usable" };
                    let remedy = remedy.as_deref().unwrap_or("-");
                    let text =
                        format!("{is}\nwhy: {reason}\nremedy: {remedy}\nsees: {sees}\nmisses: {misses}\n");
                    transcript.add(&format!("doctor   # {kind} without {}", rule.fact), text.as_bytes());
                }
            }
        }
        transcript.assert_recorded("doctor_rules");
    }

    #[test]
    fn hidden_processes_are_told_although_the_source_is_usable() {
        let facts =
            vec![fact(names::PROCFS_MOUNTED, Some(true)), fact(names::SHOWS_EVERY_PROCESS, Some(false))];
        let report = judge(
            SourceKind::Procfs,
            facts,
            Ok(success(&Attempt { mechanism: Mechanism::Files, ..ATTEMPT })),
        );
        assert!(report.usable);
        assert!(report.remedy.is_some_and(|remedy| remedy.contains("hidepid=0")));
        assert!(report.sees.contains("of this user") && !report.misses.contains("of other users"));
        let report =
            judge(SourceKind::Procfs, vec![fact(names::CAP_SYS_PTRACE, Some(false))], Ok(success(&ATTEMPT)));
        assert!(report.remedy.is_none() && report.misses.contains("block I/O of other users"));
        // What accounts have of others is hidden, too.
        let missing = [names::CAP_SYS_PTRACE, names::BPF_ATOMICS].map(|name| fact(name, Some(false)));
        let report = judge(SourceKind::Ledger, missing[..1].to_vec(), Ok(success(&ATTEMPT)));
        assert!(report.usable);
        assert!(report.remedy.is_some_and(|remedy| remedy.contains("cap_sys_ptrace=ep")));
        let report = judge(SourceKind::Ledger, missing.to_vec(), Err(refusal()));
        assert!(!report.usable && report.reason.contains("atomics"), "{report:?}");
    }

    #[test]
    fn auto_is_the_best_that_is_usable_and_worth_its_cost() {
        let usable = |kind| judge(kind, Vec::new(), Ok(success(&ATTEMPT)));
        let refused = |kind| judge(kind, Vec::new(), Err(refusal()));
        let idle = Activity { switches_per_s: 1, forks_per_s: 1, tasks: 1, online_cpus: 1 };
        let busy = Activity { switches_per_s: 10_000_000, ..idle };
        let auto = |sources: &[SourceReport], activity| {
            let costs = costs_of(sources, activity);
            (auto_of(sources, costs.as_ref()), costs.is_some())
        };
        assert_eq!(auto(&SourceKind::ALL.map(usable), busy), (Some(SourceKind::Service), true));
        let both = [SourceKind::Ledger, SourceKind::Walk, SourceKind::Procfs].map(usable);
        assert_eq!(auto(&both, idle), (Some(SourceKind::Ledger), true));
        assert_eq!(auto(&both, busy), (Some(SourceKind::Walk), true));
        // What cannot be told or had does not decide.
        assert_eq!(auto_of(&both, None), Some(SourceKind::Ledger));
        let ledger_alone = [usable(SourceKind::Ledger), refused(SourceKind::Walk)];
        assert_eq!(auto(&ledger_alone, busy), (Some(SourceKind::Ledger), false));
        let neither = [refused(SourceKind::Ledger), refused(SourceKind::Walk), usable(SourceKind::Netlink)];
        assert_eq!(auto(&neither, busy), (Some(SourceKind::Netlink), false));
        assert_eq!(auto(&SourceKind::ALL.map(refused), idle), (None, false));
    }

    #[test]
    fn this_machine_has_an_answer() {
        let report = examine();
        let names: Vec<&str> = report.sources.iter().map(|source| source.source.name()).collect();
        assert_eq!(names, ["service", "ledger", "walk", "netlink", "procfs"]);
        let procfs = &report.sources[4];
        assert!(procfs.usable && procfs.attempt.is_some_and(|attempt| attempt.processes > 0), "{procfs:?}");
        assert!(report.auto.is_some());
        assert!(report.machine.tasks.is_some_and(|tasks| tasks > 0) && report.machine.online_cpus > 0);
        for source in &report.sources {
            let names: Vec<&str> = source.facts.iter().map(|fact| fact.name).collect();
            for rule in explanations(source.source) {
                assert!(names.contains(&rule.fact), "nothing looks at {}", rule.fact);
            }
        }
    }
}
