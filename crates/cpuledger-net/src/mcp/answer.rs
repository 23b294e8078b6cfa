//! The tools: what they take, and what they answer.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, bail, ensure};
use cpuledger_model::make;
use cpuledger_proc::escape::escaped;
use cpuledger_program::when::{FORMS, written_exactly};
use cpuledger_report::{Amounts, Dimension, Name, Report, Row};
use serde_json::{Value, json};

use crate::labels::{self, REST, UNKNOWN};
use crate::read::{Question, Read, Source, read, span_of};
use crate::users::Users;

/// How many rows an answer has at most, and if it is not said.
const MOST_ROWS: u64 = 200;
const USUAL_ROWS: u64 = 20;
/// Branches of the process tree that are looked through for a build.
const MOST_BRANCHES: usize = 100_000;

/// A tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// What used the CPU.
    Usage,
    /// Who waited for one.
    Waiters,
    /// What everything below a command cost.
    Build,
}

impl Tool {
    /// All of them.
    pub const ALL: [Tool; 3] = [Tool::Usage, Tool::Waiters, Tool::Build];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Tool::Usage => "cpu_usage",
            Tool::Waiters => "cpu_waiters",
            Tool::Build => "build_cost",
        }
    }

    /// What clients are told of it.
    pub fn description(self) -> Value {
        let words = match self {
            Tool::Usage => {
                "What used the CPU between two times: CPU time by command, user, unit, container or process, exact, processes that ended included."
            }
            Tool::Waiters => {
                "Who waited for a CPU between two times: run-queue wait by command, user, unit, container or process."
            }
            Tool::Build => {
                "What a build or another job cost between two times: CPU time of a command and of everything that descends from it."
            }
        };
        let mut properties = json!({
            "since": { "type": "string", "description": format!("Begin of the span: {FORMS}. Without it, all that the source has: the last minutes, or the whole recording.") },
            "until": { "type": "string", "description": "End of the span, likewise. Without it, the last interval." },
            "source": { "type": "string", "enum": Source::NAMED.map(|(name, _)| name), "description": "The service has the last minutes. auto, if not stated: the service if it has all of the span, else the recording." },
            "top": { "type": "integer", "minimum": 1, "maximum": MOST_ROWS, "description": format!("Number of rows, {USUAL_ROWS} if not stated. The others are one.") },
        });
        let (own, required) = match self {
            Tool::Usage | Tool::Waiters => {
                let names = Dimension::SIDE_BY_SIDE.map(Dimension::name);
                (
                    (
                        "by",
                        json!({ "type": "string", "enum": names, "description": "What the rows are; command if not stated." }),
                    ),
                    json!([]),
                )
            }
            Tool::Build => (
                (
                    "command",
                    json!({ "type": "string", "description": "Name of the command at the top, such as make or cargo." }),
                ),
                json!(["command"]),
            ),
        };
        properties[own.0] = own.1;
        json!({
            "name": self.name(),
            "description": words,
            "inputSchema": { "type": "object", "properties": properties, "required": required, "additionalProperties": false },
            "annotations": { "readOnlyHint": true, "openWorldHint": false },
        })
    }

    /// The answer.
    ///
    /// # Errors
    /// When an argument is wrong, or there is nothing to answer from.
    pub fn call(self, arguments: &Value, recording: Option<&Path>) -> anyhow::Result<Value> {
        ensure!(arguments.is_object() || arguments.is_null(), "arguments are an object");
        let text = |key: &str| match arguments.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.as_str())),
            Some(_) => bail!("`{key}` is a text"),
        };
        let top = match arguments.get("top") {
            None | Some(Value::Null) => USUAL_ROWS,
            Some(top) => top
                .as_u64()
                .filter(|top| (1..=MOST_ROWS).contains(top))
                .with_context(|| format!("`top` is 1 to {MOST_ROWS}"))?,
        };
        let top = usize::try_from(top)?;
        let span = span_of(text("since")?, text("until")?)?;
        let source = text("source")?.unwrap_or("auto");
        let source = Source::named(source)?;
        if self == Tool::Build {
            let command =
                text("command")?.context("`command` is missing: the name of the command at the top")?;
            let found = read(recording, source, &span, &Question::by(&[Dimension::Ancestor]), &|| Ok(()))?;
            return build(&found, command, top);
        }
        let by = text("by")?.unwrap_or("command");
        let by = Dimension::SIDE_BY_SIDE.into_iter().find(|own| own.name() == by);
        let by = by.with_context(|| {
            format!("`by` is one of {}", Dimension::SIDE_BY_SIDE.map(Dimension::name).join(", "))
        })?;
        let found = read(recording, source, &span, &Question::by(&[by]), &|| Ok(()))?;
        let report = match self {
            Tool::Waiters => {
                let weigh = |amounts: &Amounts| amounts.runqueue_wait_ns;
                found.accumulator.report_ranked((by, top), weigh, |name| name)
            }
            Tool::Usage | Tool::Build => found.accumulator.report(by, top),
        };
        let users = Users::shared();
        // All are asked for before the first is waited for.
        report.rows.iter().for_each(|row| labels::ask_ahead(&row.name, &users));
        let rows: Vec<Value> = report
            .rows
            .iter()
            .map(|row| line(&labels::waited_for(&row.name, &users).to_string(), &row.amounts, &report))
            .collect();
        let mut answer = head(&found, &report);
        answer["by"] = json!(by.name());
        answer["rows"] = json!(rows);
        answer["other"] = line(REST, &report.other, &report);
        answer["other"]["names"] = json!(report.other_names);
        Ok(answer)
    }
}

/// What is said of each span.
fn head(found: &Read, report: &Report) -> Value {
    let balance = &report.balance;
    let time = |ns: Option<u64>| ns.map(written_exactly);
    json!({
        "source": found.source,
        "since": time(report.extent.map(|extent| extent.start_realtime_ns)),
        "until": time(report.extent.map(|extent| extent.end_realtime_ns)),
        "intervals": balance.intervals,
        "capacity_ns": balance.capacity_ns,
        "attributed_ns": balance.attributed_ns,
        "idle_ns": balance.idle_ns,
        "unattributed_ns": balance.unattributed_ns + balance.untold_ns,
        "runqueue_wait_ns": report.total().runqueue_wait_ns,
        "notes": found.notes,
    })
}

fn line(name: &str, amounts: &Amounts, report: &Report) -> Value {
    let share = amounts.self_ns as f64 / report.balance.capacity_ns.max(1) as f64;
    json!({
        "name": name,
        "cpu_ns": amounts.self_ns,
        "share": (share * 1e6).round() / 1e6,
        "ended_cpu_ns": amounts.ended_ns,
        "runqueue_wait_ns": amounts.runqueue_wait_ns,
        "births": amounts.births,
        "deaths": amounts.deaths,
    })
}

/// The sum over all that is a command or descends from it, by name.
fn build(found: &Read, command: &str, top: usize) -> anyhow::Result<Value> {
    let report = found.accumulator.report(Dimension::Ancestor, MOST_BRANCHES);
    let is_command = |name: &Option<Vec<u8>>| name.as_deref() == Some(command.as_bytes());
    let path = |row: &Row| match &row.name {
        Name::Path(path) => path.iter().any(is_command).then(|| path.last().cloned().flatten()),
        _ => None,
    };
    let mut by_name: BTreeMap<Option<Vec<u8>>, Amounts> = BTreeMap::new();
    for row in &report.rows {
        if let Some(name) = path(row) {
            // What is below has rows of its own.
            by_name.entry(name).or_default().add(&make!(Amounts { inherited_ns: 0, ..row.amounts }));
        }
    }
    ensure!(
        !by_name.is_empty(),
        "no process named `{command}` used a CPU in that span, and none descends from one"
    );
    let total = Amounts::total(by_name.values());
    let mut rows: Vec<(Option<Vec<u8>>, Amounts)> = by_name.into_iter().collect();
    rows.sort_by_key(|(_, amounts)| std::cmp::Reverse(amounts.self_ns));
    let others = rows.split_off(top.min(rows.len()));
    let named = |(name, amounts): &(Option<Vec<u8>>, Amounts)| {
        let name = name.as_deref().map_or_else(|| UNKNOWN.to_owned(), escaped);
        line(&name, amounts, &report)
    };
    let mut answer = head(found, &report);
    answer["command"] = json!(command);
    answer["total"] = line(command, &total, &report);
    answer["rows"] = json!(rows.iter().map(named).collect::<Vec<_>>());
    answer["other"] = line(REST, &Amounts::total(others.iter().map(|(_, amounts)| amounts)), &report);
    answer["other"]["names"] = json!(others.len());
    Ok(answer)
}
