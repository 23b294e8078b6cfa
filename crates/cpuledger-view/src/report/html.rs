//! A report as one page of HTML that needs nothing else: a stacked time line, an icicle of accounting ancestry, and a table with search.
//!
//! Everything that is drawn is in the page as it is. The script adds the search and the order, and is not needed to read it.

mod chart;
mod escape;
mod icicle;

use cpuledger_proc::count::count_of;
use cpuledger_report::{Amounts, Report};

use super::document::Document;
use super::json::figures;
use super::text::{percent, seconds, words_of_cpus};
use escape::{append_text, name_of};

const STYLE: &str = include_str!("html/page.css");
const SCRIPT: &str = include_str!("html/page.js");

/// A page.
#[derive(Debug)]
pub struct Page<'a> {
    /// The figures of the table.
    pub document: &'a Document<'a>,
    /// Those of the time line.
    pub time_line: &'a Document<'a>,
    /// The report by ancestor, of the same span.
    pub ancestry: &'a Report,
}

/// Appends the page.
pub fn append_page(html: &mut String, page: &Page<'_>) {
    let document = page.document;
    let host = document.host().unwrap_or_else(|| "this machine".to_owned());
    html.push_str("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    html.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    // Nothing is loaded from anywhere, whatever a name holds.
    html.push_str("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n");
    html.push_str("<link rel=\"icon\" href=\"data:,\">\n<title>CPU time of ");
    append_text(html, &host);
    html.push_str("</title>\n<style>\n");
    html.push_str(STYLE);
    html.push_str("</style>\n</head>\n<body>\n<header>\n<h1>CPU time of ");
    append_text(html, &host);
    html.push_str("</h1>\n");
    append_head(html, document);
    html.push_str("</header>\n<main>\n");
    chart::append(html, page.time_line);
    icicle::append(html, page.ancestry, document.labels);
    append_table(html, document);
    html.push_str("</main>\n<script>\n");
    html.push_str(SCRIPT);
    html.push_str("</script>\n</body>\n</html>\n");
}

fn append_head(html: &mut String, document: &Document<'_>) {
    let balance = &document.report.balance;
    if let Some(extent) = document.report.extent {
        let (from, to) =
            ((document.local)(extent.start_realtime_ns), (document.local)(extent.end_realtime_ns));
        html.push_str("<p>");
        append_text(html, &format!("{from} to {to}, {}", count_of(balance.intervals, "interval")));
        html.push_str("</p>\n");
    }
    html.push_str("<dl class=\"balance\">\n");
    let mut figure = |name: &str, words: &str, ns: u64| {
        html.push_str(&format!(
            "<div><dt>{words}</dt><dd data-figure=\"{name}\" data-ns=\"{ns}\">{} <small>{} s</small></dd></div>\n",
            percent(ns, balance.capacity_ns),
            seconds(ns)
        ));
    };
    figure("attributed_ns", "attributed", balance.attributed_ns);
    figure("idle_ns", "idle", balance.idle_ns);
    figure("unattributed_ns", "unattributed", balance.unattributed_ns);
    if balance.untold_ns > 0 {
        figure("untold_ns", "idle, or not known", balance.untold_ns);
    }
    if let Some(stolen_ns) = document.total().all_stolen_ns() {
        figure("stolen_ns", "stolen (part of attributed)", stolen_ns);
    }
    html.push_str(&format!(
        "<div><dt>capacity</dt><dd data-figure=\"capacity_ns\" data-ns=\"{}\">{} <small>{} s</small></dd></div>\n</dl>\n",
        balance.capacity_ns,
        words_of_cpus(balance.capacity_ns, balance.length_ns),
        seconds(balance.capacity_ns)
    ));
    let mut notes = document.notes();
    notes.extend(
        balance
            .reasons()
            .filter(|(_, _, ns)| *ns > 0)
            .map(|(_, words, ns)| format!("unattributed: {words} {ns} ns")),
    );
    if !notes.is_empty() {
        html.push_str("<ul class=\"notes\">\n");
        for note in notes {
            html.push_str("<li>");
            append_text(html, &note);
            html.push_str("</li>\n");
        }
        html.push_str("</ul>\n");
    }
}

/// Headers of the columns: words, key in JSON, class.
const COLUMNS: [(&str, &str, &str); 8] = [
    ("Self", "self_ns", ""),
    ("Inherited", "inherited_ns", "wide"),
    ("Waited", "waiting_ns", ""),
    ("Stolen", "stolen_ns", "wide"),
    ("Minor faults", "minor_faults", "wide"),
    ("Major faults", "major_faults", "wide"),
    ("Born", "births", "wide"),
    ("Died", "deaths", "wide"),
];

fn append_table(html: &mut String, document: &Document<'_>) {
    html.push_str("<section>\n<h2>By ");
    html.push_str(document.by.name);
    html.push_str("</h2>\n<p><input id=\"search\" type=\"search\" placeholder=\"Search names\" aria-label=\"Search names\"></p>\n");
    html.push_str(
        "<div class=\"scroll\"><table id=\"rows\">\n<thead><tr><th scope=\"col\" data-key=\"name\">",
    );
    html.push_str(document.by.header);
    html.push_str("</th>");
    for (words, key, class) in COLUMNS {
        html.push_str(&format!("<th scope=\"col\" data-key=\"{key}\" class=\"{class}\">{words}</th>"));
        if key == "self_ns" {
            html.push_str("<th scope=\"col\" data-key=\"share\">Share</th>");
        }
    }
    html.push_str("</tr></thead>\n<tbody>\n");
    let capacity_ns = document.report.balance.capacity_ns;
    for row in &document.report.rows {
        let label = format!("{}{}", "\u{2003}".repeat(row.depth), name_of(document.labels, &row.name));
        append_row(html, "row", &label, &row.amounts, capacity_ns);
    }
    html.push_str("</tbody>\n<tbody class=\"rest\">\n");
    let report = document.report;
    let label = format!("other: {} {}", report.other_names, document.by.plural);
    append_row(html, "other", &label, &report.other, capacity_ns);
    for (kind, words, ns) in document.rests() {
        let rest = Amounts { self_ns: ns, ..Amounts::default() };
        append_row(html, kind, words, &rest, capacity_ns);
    }
    html.push_str("</tbody>\n</table></div>\n<p class=\"small\">Self: CPU time of the tasks of this name, the dead included. \
        Inherited: time of dead processes whose heirs these are; it is in Self of other rows. \
        Self of all rows is the capacity.</p>\n</section>\n");
}

fn append_row(html: &mut String, kind: &str, label: &str, amounts: &Amounts, capacity_ns: u64) {
    html.push_str(&format!("<tr data-kind=\"{kind}\"><th scope=\"row\"><bdi>"));
    append_text(html, label);
    html.push_str("</bdi></th>");
    // Idle and the like have nothing but their time.
    let is_rest = !matches!(kind, "row" | "other");
    let figures = figures(amounts);
    for (_, key, class) in COLUMNS {
        let value = figures.iter().find(|(name, _)| *name == key).and_then(|(_, value)| *value);
        match value.filter(|_| !is_rest || key == "self_ns") {
            None => html.push_str(&format!("<td class=\"{class}\">–</td>")),
            Some(number) => {
                let text = if key.ends_with("_ns") { seconds(number) } else { number.to_string() };
                html.push_str(&format!(
                    "<td class=\"{class}\" data-{key}=\"{number}\">{text}</td>",
                    key = key.replace('_', "-")
                ));
            }
        }
        if key == "self_ns" {
            html.push_str(&format!("<td>{}</td>", percent(amounts.self_ns, capacity_ns)));
        }
    }
    html.push_str("</tr>\n");
}
