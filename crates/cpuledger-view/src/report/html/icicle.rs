//! The tree of accounting ancestry: each name above what descends from it, as wide as its time.

use cpuledger_report::{Report, Row};

use super::super::document::Labels;
use super::super::text::{percent, seconds};
use super::escape::{append_text, name_of};

/// Names above one another that are drawn.
const MOST_DEPTH: usize = 24;

/// In units of the drawing.
const ROW_HEIGHT: usize = 22;

/// Boxes narrower than this are not drawn, in hundredths of a percent.
const LEAST_WIDTH: u128 = 15;

/// The width of all, in hundredths of a percent.
const WHOLE: u128 = 10_000;

fn hundredths(value: u128) -> String {
    format!("{}.{:02}%", value / 100, value % 100)
}

fn total_ns(row: &Row) -> u64 {
    row.amounts.self_ns.saturating_add(row.amounts.inherited_ns)
}

/// Appends the drawing. Rows come each below what it descends from.
pub(super) fn append(html: &mut String, ancestry: &Report, labels: &Labels) {
    let whole_ns = u128::from(ancestry.balance.attributed_ns.max(1));
    let deepest = ancestry.rows.iter().map(|row| row.depth).filter(|depth| *depth < MOST_DEPTH).max();
    let Some(deepest) = deepest else { return };
    html.push_str("<section>\n<h2>Accounting ancestry</h2>\n<p class=\"small\">Each name stands above the processes that descend from it. \
        Its width is their CPU time and its own, as a part of all that was attributed.</p>\n");
    html.push_str(&format!(
        "<svg id=\"icicle\" width=\"100%\" height=\"{}\" role=\"img\" aria-label=\"CPU time by ancestry\">\n",
        (deepest + 1) * ROW_HEIGHT
    ));
    // For each depth, where the next box begins, in nanoseconds.
    let mut next_ns = vec![0_u128; deepest + 2];
    for row in ancestry.rows.iter().filter(|row| row.depth <= deepest) {
        let begin_ns = next_ns[row.depth];
        let length_ns = u128::from(total_ns(row));
        next_ns[row.depth] += length_ns;
        next_ns[row.depth + 1] = begin_ns;
        let (x, end) = (begin_ns * WHOLE / whole_ns, (begin_ns + length_ns) * WHOLE / whole_ns);
        if end.saturating_sub(x) < LEAST_WIDTH {
            continue;
        }
        let label = name_of(labels, &row.name);
        html.push_str(&format!(
            "<svg x=\"{}\" y=\"{}\" width=\"{}\" height=\"{ROW_HEIGHT}\"><title>",
            hundredths(x),
            row.depth * ROW_HEIGHT,
            hundredths(end - x),
        ));
        append_text(html, &label);
        html.push_str(&format!(
            ": {} s, {} of it itself</title><rect class=\"d{}\" width=\"100%\" height=\"{}\"/><text x=\"4\" y=\"15\">",
            seconds(total_ns(row)),
            percent(row.amounts.self_ns, total_ns(row)),
            row.depth % 3,
            ROW_HEIGHT - 1
        ));
        append_text(html, &label);
        html.push_str("</text></svg>\n");
    }
    html.push_str("</svg>\n</section>\n");
}
