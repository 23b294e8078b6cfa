//! A report as one line of JSON: schema `cpuledger.report/1`.

use cpuledger_model::field::Value;
use cpuledger_report::{Amounts, Balance, Labels, Name};

use super::column::{Column, figures};
use super::document::{Comparison, Document};
use crate::json::{append_braced, append_flag, append_key, append_list, append_member, append_value, end};
use crate::member::{known, known_bytes};

/// The name of the schema; its number grows when a key changes its meaning or goes.
pub const SCHEMA: &str = "cpuledger.report/1";

/// That of two reports side by side.
pub const COMPARISON_SCHEMA: &str = "cpuledger.comparison/1";

/// Appends the report as one line.
pub fn append_report(line: &mut Vec<u8>, document: &Document<'_>) {
    line.push(b'{');
    append_member(line, "schema", Value::Bytes(SCHEMA.as_bytes()));
    append_head(line, document, document.by.name());
    append_list(line, "rows", &document.report.rows, |line, row| {
        append_braced(line, |line| {
            append_name(line, &row.name, document.labels);
            append_amounts(line, document.columns, &row.amounts);
        });
    });
    append_key(line, "other");
    append_braced(line, |line| {
        append_member(line, "names", Value::Unsigned(document.report.other_names));
        append_amounts(line, document.columns, &document.report.other);
    });
    append_missing(line, document);
    end(line);
}

/// Appends two reports as one line.
pub fn append_comparison(line: &mut Vec<u8>, comparison: &Comparison<'_>) {
    line.push(b'{');
    append_member(line, "schema", Value::Bytes(COMPARISON_SCHEMA.as_bytes()));
    for (key, document) in [("before", &comparison.before), ("after", &comparison.after)] {
        append_key(line, key);
        append_braced(line, |line| {
            append_head(line, document, document.by.name());
            append_missing(line, document);
        });
    }
    append_list(line, "rows", comparison.rows, |line, row| {
        append_braced(line, |line| {
            match &row.name {
                Some(name) => append_name(line, name, comparison.after.labels),
                None => append_member(line, "name", Value::Absent),
            }
            for (key, amounts) in [("before", &row.before), ("after", &row.after)] {
                append_key(line, key);
                append_braced(line, |line| append_amounts(line, comparison.after.columns, amounts));
            }
        });
    });
    end(line);
}

pub(super) fn append_head(line: &mut Vec<u8>, document: &Document<'_>, by: &str) {
    let about = document.about;
    let host = known_bytes(about.host.as_ref().map(String::as_bytes));
    let extent = document.report.extent;
    for (key, value) in [
        ("recording", Value::Bytes(about.recording.as_bytes())),
        ("host", host),
        ("by", Value::Bytes(by.as_bytes())),
        ("tier_ns", Value::Unsigned(about.tier_ns)),
        ("since_realtime_ns", known(about.since_ns)),
        ("until_realtime_ns", known(about.until_ns)),
        ("start_realtime_ns", known(extent.map(|extent| extent.start_realtime_ns))),
        ("end_realtime_ns", known(extent.map(|extent| extent.end_realtime_ns))),
        ("repeated_intervals", Value::Unsigned(about.repeated)),
    ] {
        append_member(line, key, value);
    }
    append_balance(line, &document.report.balance);
    append_member(line, "stolen_ns", known(document.total().all_stolen_ns()));
}

fn append_balance(line: &mut Vec<u8>, balance: &Balance) {
    for (key, value) in balance.figures() {
        append_member(line, key, Value::Unsigned(value));
    }
    append_key(line, "unattributed_by");
    append_braced(line, |line| {
        for (key, _, ns) in balance.reasons() {
            append_member(line, key, Value::Unsigned(ns));
        }
    });
    for (key, value) in [
        ("unidentified_exits", balance.unidentified_exits),
        ("missed_exits", balance.missed_exits),
        ("missed_switches", balance.missed_switches),
        ("hidden_cpu_ns", balance.hidden_cpu_ns),
    ] {
        append_member(line, key, Value::Unsigned(value));
    }
}

fn append_name(line: &mut Vec<u8>, name: &Name, labels: &Labels) {
    match name {
        Name::Unknown => append_member(line, "name", Value::Absent),
        // As against null, which is not known.
        Name::Without => append_member(line, "name", Value::Bytes(b"")),
        Name::Text(text) => append_member(line, "name", Value::Bytes(text)),
        Name::User(uid) => {
            append_member(line, "name", known_bytes(labels.users.get(uid).map(|user| &user[..])));
            append_member(line, "euid", Value::Unsigned(*uid));
        }
        Name::Cgroup(id) => {
            append_member(line, "name", known_bytes(labels.cgroups.get(id).map(|path| &path[..])));
            append_member(line, "cgroup_id", Value::Unsigned(*id));
        }
        Name::Process { pid, start_time_ns, comm } => {
            append_member(line, "name", known_bytes(comm.as_deref()));
            append_member(line, "pid", Value::Signed(*pid));
            append_member(line, "start_time_ns", Value::Unsigned(*start_time_ns));
        }
        Name::Path(path) => {
            append_member(line, "name", known_bytes(path.last().and_then(Option::as_deref)));
            append_list(line, "path", path, |line, comm| append_value(line, known_bytes(comm.as_deref())));
        }
    }
}

fn append_amounts(line: &mut Vec<u8>, columns: &[&'static Column], amounts: &Amounts) {
    for (key, value) in figures(columns, amounts) {
        append_member(line, key, known(value));
    }
}

pub(super) fn append_missing(line: &mut Vec<u8>, document: &Document<'_>) {
    append_list(line, "losses", &document.about.losses, |line, lost| {
        append_braced(line, |line| {
            append_member(line, "intervals", Value::Unsigned(lost.intervals));
            append_flag(line, "is_least", Some(lost.is_least));
            append_member(line, "cause", Value::Bytes(lost.cause.words().as_bytes()));
            append_member(line, "from_realtime_ns", known(lost.from_realtime_ns));
            append_member(line, "to_realtime_ns", known(lost.to_realtime_ns));
            append_member(line, "file", Value::Bytes(lost.file.display().to_string().as_bytes()));
        });
    });
    append_list(line, "gaps", &document.about.gaps, |line, gap| {
        append_braced(line, |line| {
            append_member(line, "from_realtime_ns", Value::Unsigned(gap.from_realtime_ns));
            append_member(line, "to_realtime_ns", Value::Unsigned(gap.to_realtime_ns));
            append_flag(line, "is_boot", Some(gap.is_boot));
        });
    });
}
