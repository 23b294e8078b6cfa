//! `cpuledger doctor`: each source, usable or not, the fact behind it, the mend.

use anyhow::Context;
use cpuledger::support::{self, Fact, MachineFacts, Report, SourceReport};
use serde::Serialize;

/// The version of the JSON.
const SCHEMA: &str = "cpuledger.doctor/1";

/// Options of `doctor`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// How to print it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For people
    Text,
    /// One object of the schema cpuledger.doctor/1
    Json,
}

/// The JSON.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    #[serde(flatten)]
    report: &'a Report,
}

/// Runs `doctor`.
///
/// # Errors
/// No source is usable, or nowhere to write.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let report = support::examine();
    let mut text = match arguments.format {
        Format::Text => Page::new(crate::output::has_color()).of(&report),
        Format::Json => {
            let document = Document { schema: SCHEMA, report: &report };
            serde_json::to_string_pretty(&document).context("cannot print the report as JSON")?
        }
    };
    if !text.ends_with('\n') {
        text.push('\n');
    }
    crate::output::write(text.as_bytes())?;
    match report.auto {
        Some(_) => Ok(()),
        None => Err(cpuledger::Error::NoSource.into()),
    }
}

/// How a word is emphasised on a terminal.
#[derive(Clone, Copy)]
enum Style {
    Good,
    Bad,
    Open,
    Strong,
}

impl Style {
    /// The code of ECMA-48.
    fn code(self) -> &'static str {
        match self {
            Style::Good => "32",
            Style::Bad => "31",
            Style::Open => "33",
            Style::Strong => "1",
        }
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

    fn of(mut self, report: &Report) -> String {
        self.machine(&report.machine);
        for source in &report.sources {
            self.text.push('\n');
            self.source(source);
        }
        self.text.push('\n');
        match report.auto {
            Some(kind) => {
                let name = self.styled(kind.name(), Style::Strong);
                self.line(&format!("auto takes {name}"));
            }
            None => self.line("auto finds no usable source"),
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
        if let Some(mend) = &source.mend {
            self.row("  mend", mend);
        }
        self.row("  sees", source.sees);
        self.row("  misses", source.misses);
        for (index, fact) in source.facts.iter().enumerate() {
            let answer = self.answer(fact);
            self.row(if index == 0 { "  facts" } else { "" }, &format!("{:<26} {answer}", fact.name));
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

    fn row(&mut self, label: &str, value: &str) {
        self.line(&format!("{label:<12} {value}"));
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn styled(&self, word: &str, style: Style) -> String {
        if self.has_color { format!("\x1b[{}m{word}\x1b[0m", style.code()) } else { word.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use cpuledger::SourceKind;
    use cpuledger::support::names;

    use super::*;

    fn report(usable: bool) -> Report {
        let source = SourceReport {
            source: SourceKind::Walk,
            usable,
            reason: "CAP_BPF is missing".to_owned(),
            mend: (!usable).then(|| "run it as root".to_owned()),
            facts: vec![
                Fact { name: names::BTF, holds: Some(true) },
                Fact { name: names::CAP_BPF, holds: Some(false) },
                Fact { name: names::LOCKDOWN_PERMITS_READING, holds: None },
            ],
            sees: "everything",
            hidden_pids: Vec::new(),
            misses: "nothing",
            attempt: None,
            ledger: None,
            log: vec!["R1 is bad".to_owned()],
        };
        Report {
            machine: MachineFacts {
                kernel_release: "6.1".to_owned(),
                architecture: "x86_64".to_owned(),
                online_cpus: 2,
                tasks: Some(89),
                pid_max: None,
            },
            auto: usable.then_some(SourceKind::Walk),
            sources: vec![source],
        }
    }

    #[test]
    fn the_page_is_aligned_and_plain() {
        let expected = "\
kernel       6.1 (x86_64)
online CPUs  2
tasks        89 (pid_max -)

walk         not usable
  why        CAP_BPF is missing
  mend       run it as root
  sees       everything
  misses     nothing
  facts      btf                        yes
             cap_bpf                    no
             lockdown_permits_reading   could not tell
  log        R1 is bad

auto finds no usable source
";
        assert_eq!(Page::new(false).of(&report(false)), expected);
    }

    #[test]
    fn colour_changes_nothing_but_colour() {
        let colored = Page::new(true).of(&report(true));
        assert!(colored.contains("\x1b[32musable\x1b[0m"));
        let plain = ["32", "31", "33", "1", "0"]
            .iter()
            .fold(colored, |text, code| text.replace(&format!("\x1b[{code}m"), ""));
        assert_eq!(plain, Page::new(false).of(&report(true)));
    }

    #[test]
    fn the_json_has_its_schema_first() {
        let document = Document { schema: SCHEMA, report: &report(false) };
        let json = serde_json::to_string(&document).expect("JSON");
        assert!(json.starts_with(r#"{"schema":"cpuledger.doctor/1","machine":{"#), "{json}");
        assert!(json.contains(r#""pid_max":null"#) && json.contains(r#""auto":null"#), "{json}");
        assert!(json.contains(r#"{"name":"lockdown_permits_reading","holds":null}"#), "{json}");
    }
}
