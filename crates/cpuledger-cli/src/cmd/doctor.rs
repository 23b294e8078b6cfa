//! `cpuledger doctor`: each source, usable or not, the fact behind it, the remedy.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Context;
use cpuledger::SourceKind;
use cpuledger::framing::{self, Nameless};
use cpuledger::source::cost::{
    Activity, Costs, LEDGER_FORK_AND_EXIT_NS, LEDGER_MAY_EXCEED_PERCENT, LEDGER_SWITCH_NS, WALK_TASK_NS,
};
use cpuledger::source::service::name_socket;
use cpuledger::support::privilege::Need;
use cpuledger::support::{self, AccountReport, Fact, MachineFacts, Report, SourceReport};
use cpuledger_model::frame::Frame;
use cpuledger_names::survey::Survey;
use cpuledger_proc::escape::append_sentence;
use cpuledger_service::client::{Client, socket_path};
use cpuledger_service::ring::Next;
use cpuledger_service::varlink::Subscribe;
use cpuledger_view::interval::column::text_of;
use cpuledger_view::near::listed;
use serde::Serialize;

/// The version of the JSON.
const SCHEMA: &str = "cpuledger.doctor/1";

/// How long the service may take to answer, and to publish an interval.
const ANSWER: Duration = Duration::from_secs(2);

/// Options of `doctor`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// The socket of the service; otherwise $CPULEDGER_SOCKET or /run/cpuledger/io.cpuledger.Ledger
    #[arg(long, value_name = "PATH")]
    socket: Option<std::path::PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For people
    Text,
    /// One object, schema cpuledger.doctor/1
    Json,
}

/// The JSON.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    machine: &'a MachineFacts,
    auto: Option<SourceKind>,
    costs: &'a Option<Costs>,
    sources: &'a [SourceReport],
    accounts: &'a [AccountReport],
    /// Which containers have names.
    names: NamesDocument,
}

/// The names of cgroups.
#[derive(Serialize)]
struct NamesDocument {
    cgroups: usize,
    #[serde(flatten)]
    machine: ContainersDocument,
    /// Those that the service names, as far as they ran in its last interval; `None`: there is none, or it does not show this user all rows.
    service: Option<ContainersDocument>,
}

/// The names of containers.
#[derive(Serialize)]
struct ContainersDocument {
    containers: usize,
    /// Those without one, by the key of the reason.
    nameless: BTreeMap<&'static str, usize>,
}

impl From<&Survey> for ContainersDocument {
    fn from(survey: &Survey) -> ContainersDocument {
        let nameless = survey.nameless.iter().map(|(why, count)| (why.key(), *count)).collect();
        ContainersDocument { containers: survey.containers, nameless }
    }
}

/// Which containers have names.
struct Names {
    /// As this process may look.
    machine: Survey,
    /// As the service has told of its last interval.
    service: Option<Survey>,
}

impl Document<'_> {
    fn of<'a>(report: &'a Report, names: &Names) -> Document<'a> {
        Document {
            schema: SCHEMA,
            machine: &report.machine,
            auto: report.auto,
            costs: &report.costs,
            sources: &report.sources,
            accounts: &report.accounts,
            names: NamesDocument {
                cgroups: names.machine.cgroups,
                machine: (&names.machine).into(),
                service: names.service.as_ref().map(Into::into),
            },
        }
    }
}

/// Runs `doctor`.
///
/// # Errors
/// No source is usable, or nowhere to write.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    arguments.socket.as_deref().into_iter().for_each(name_socket);
    let report = support::examine();
    let names = Names { machine: Survey::take(), service: service_names() };
    let text = printed((&report, &names), arguments.format, cpuledger_program::output::has_color())?;
    cpuledger_program::output::write(text.as_bytes())?;
    match report.auto {
        Some(_) => Ok(()),
        None => Err(cpuledger::Error::NoSource.into()),
    }
}

/// What the last frame of the service says of containers.
fn service_names() -> Option<Survey> {
    let path = socket_path();
    let mut client = Client::connect(&path, ANSWER).ok()?;
    client.check_owner(&path).ok()?;
    let (subscription, mut reader) = client.subscribe(&Subscribe::default()).ok()?;
    if subscription.audience != "all" || !matches!(reader.wait(ANSWER), Ok(Next::Frame)) {
        return None;
    }
    let mut bytes = Vec::new();
    reader.copy(&mut bytes).ok()??;
    let cgroups = framing::cgroups(&Frame::decode(&bytes).ok()?);
    Some(Survey::of(cgroups.into_iter().map(|(_, names)| names)))
}

/// The report in that format.
fn printed((report, names): (&Report, &Names), format: Format, has_color: bool) -> anyhow::Result<String> {
    let mut text = match format {
        Format::Text => Page::new(has_color).of(report, names),
        Format::Json => serde_json::to_string_pretty(&Document::of(report, names))
            .context("cannot print the report as JSON")?,
    };
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(text)
}

/// How a word is emphasised on a terminal, by the code of ECMA-48.
#[derive(Clone, Copy)]
enum Style {
    Good = 32,
    Bad = 31,
    Open = 33,
    Strong = 1,
}

/// What the two best would cost, and what that follows from.
fn cost(costs: &Costs) -> String {
    let percent = |ns_per_s: u64| ns_per_s as f64 / 1e7;
    let Activity { switches_per_s, forks_per_s, tasks, .. } = costs.activity;
    format!(
        "ledger {:.4} % of a CPU, for {switches_per_s} switches/s ({LEDGER_SWITCH_NS} ns each) and {forks_per_s} forks/s \
         ({LEDGER_FORK_AND_EXIT_NS} ns); walk {:.4} %, for {tasks} tasks every {} s ({WALK_TASK_NS} ns each)",
        percent(costs.ledger_ns_per_s),
        percent(costs.walk_ns_per_s),
        costs.interval_ns as f64 / 1e9
    )
}

/// Whether one can be kept, and is.
fn account_of(account: &AccountReport) -> String {
    let by_service = match account.kept_by_service {
        Some(true) => "; the service keeps it",
        Some(false) | None => "",
    };
    format!("{}: {}{by_service}", account.account, account.reason)
}

/// Why `auto` takes that one of ledger and walk.
fn why(taken: SourceKind) -> String {
    match taken {
        SourceKind::Service => " for top: it runs already, so nothing has to be attached".to_owned(),
        SourceKind::Ledger => format!(
            " for top: it sees all CPU time, and costs at most {LEDGER_MAY_EXCEED_PERCENT} % of each CPU more than the walk"
        ),
        _ => format!(
            " for top: the ledger sees all CPU time, but here it costs over {LEDGER_MAY_EXCEED_PERCENT} % of each CPU more than the walk"
        ),
    }
}

/// Which sources `auto` would have taken rather than that one, if they were usable.
fn better(report: &Report, taken: SourceKind) -> String {
    let before = report.sources.iter().take_while(|report| report.source != taken);
    let names: Vec<&str> =
        before.filter(|report| !report.usable).map(|report| report.source.name()).collect();
    match names.len() {
        0 => String::new(),
        1 => format!(": {} is not usable (see `why` above)", names[0]),
        _ => format!(": {} are not usable (see `why` above)", listed(names, "and")),
    }
}

/// The text in the making.
struct Page {
    text: String,
    has_color: bool,
}

impl Page {
    fn new(has_color: bool) -> Page {
        Page { text: String::new(), has_color }
    }

    fn of(mut self, report: &Report, names: &Names) -> String {
        self.machine(&report.machine);
        for source in &report.sources {
            self.text.push('\n');
            self.source(source);
        }
        self.text.push('\n');
        self.row("names", &names.machine.sentence());
        if let Some(of_service) = names.service.as_ref().filter(|survey| survey.containers > 0) {
            let mut sentence = format!("the service, in its last interval: {}", of_service.of_containers());
            if of_service.nameless.contains_key(&Nameless::Denied) {
                sentence.push_str("; docs/names.md says how its unit lets it read that");
            }
            self.row("", &sentence);
        }
        for (index, account) in report.accounts.iter().enumerate() {
            let label = if index == 0 { "accounts" } else { "" };
            self.row(label, &account_of(account));
        }
        if let Some(costs) = &report.costs {
            self.row("cost", &cost(costs));
        }
        match report.auto {
            Some(kind) => {
                let name = self.styled(kind.name(), Style::Strong);
                let why = report.costs.as_ref().map_or_else(|| better(report, kind), |_| why(kind));
                self.line(&format!("auto takes {name}{why}"));
            }
            None => self.line("auto has no usable source"),
        }
        self.text
    }

    fn machine(&mut self, machine: &MachineFacts) {
        let or_unknown = |number: Option<u32>| number.map_or("-".to_owned(), |number| number.to_string());
        self.row("kernel", &format!("{} ({})", machine.kernel_release, machine.architecture));
        self.row("online CPUs", &machine.online_cpus.to_string());
        self.row(
            "tasks",
            &format!("{} (pid_max {})", or_unknown(machine.tasks), or_unknown(machine.pid_max)),
        );
    }

    fn source(&mut self, source: &SourceReport) {
        let name = self.styled(&format!("{:<12}", source.source.name()), Style::Strong);
        let verdict = if source.usable {
            self.styled("usable", Style::Good)
        } else {
            self.styled("not usable", Style::Bad)
        };
        self.line(&format!("{name} {verdict}"));
        self.row("  why", &source.reason);
        if let Some(remedy) = &source.remedy {
            self.row("  remedy", remedy);
        }
        self.row("  sees", source.sees);
        self.row("  misses", source.misses);
        self.row("  needs", &needs(source.needs));
        for (index, fact) in source.facts.iter().enumerate() {
            let answer = self.answer(fact);
            let label = if index == 0 { "  facts" } else { "" };
            self.line(&format!("{label:<12} {:<26} {answer}", fact.name));
        }
        for (index, line) in source.log.iter().enumerate() {
            self.row(if index == 0 { "  log" } else { "" }, line);
        }
    }

    fn answer(&self, fact: &Fact) -> String {
        match fact.holds {
            Some(true) => self.styled("yes", Style::Good),
            Some(false) => self.styled("no", Style::Bad),
            None => self.styled("could not tell", Style::Open),
        }
    }

    /// The value may have words of others: a path, a service.
    fn row(&mut self, label: &str, value: &str) {
        self.line(&format!("{label:<12} {}", text_of(|text| append_sentence(text, value))));
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn styled(&self, word: &str, style: Style) -> String {
        if self.has_color { format!("\x1b[{}m{word}\x1b[0m", style as u8) } else { word.to_owned() }
    }
}

/// The capabilities, those first without which it cannot be used.
fn needs(needs: &[Need]) -> String {
    let names = |is_needed| {
        let names = needs.iter().filter(|need| need.is_needed == is_needed).map(|need| need.name);
        names.collect::<Vec<_>>().join(", ")
    };
    match (names(true), names(false)) {
        (needed, more) if needed.is_empty() && more.is_empty() => "no capability".to_owned(),
        (needed, more) if needed.is_empty() => format!("no capability; sees more with {more}"),
        (needed, more) if more.is_empty() => needed,
        (needed, more) => format!("{needed}; sees more with {more}"),
    }
}

#[cfg(test)]
mod recorded;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use cpuledger_model::make;

    use super::recorded::report;
    use super::*;

    #[test]
    fn the_choice_of_auto_is_explained_by_both_costs() {
        let activity = make!(Activity { switches_per_s: 1_250, forks_per_s: 4, tasks: 96, online_cpus: 2 });
        let page = |activity| {
            let costs = Costs::estimate(activity, Duration::from_secs(2), false);
            let report = make!(Report { auto: Some(costs.choice()), costs: Some(costs), ..report(true) });
            let names = Names { machine: Survey::default(), service: None };
            Page::new(false).of(&report, &names)
        };
        let expected = "
cost         ledger 0.0248 % of a CPU, for 1250 switches/s (190 ns each) and 4 forks/s (2500 ns); \
                        walk 0.0019 %, for 96 tasks every 2 s (400 ns each)
auto takes ledger for top: it sees all CPU time, and costs at most 5 % of each CPU more than the walk
";
        let idle = page(activity);
        assert!(idle.ends_with(expected), "{idle}");
        let busy = page(make!(Activity { switches_per_s: 1_000_000, ..activity }));
        assert!(busy.contains("ledger 19.0010 % of a CPU") && busy.ends_with(
            "auto takes walk for top: the ledger sees all CPU time, but here it costs over 5 % of each CPU more than the walk\n"
        ), "{busy}");
    }
}
