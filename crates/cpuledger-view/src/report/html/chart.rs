//! The stacked time line.

use std::collections::BTreeMap;

use super::super::document::Document;
use super::super::text::percent;
use super::escape::{append_text, name_of};

/// Names that have a colour of their own.
pub(super) const COLOURS: usize = 9;

/// In units of the drawing.
const WIDTH: u32 = 1000;
const HEIGHT: u32 = 240;

/// A part of the stack.
struct Layer {
    label: String,
    class: String,
    total_ns: u64,
    by_bucket: Vec<u64>,
}

fn layers(document: &Document<'_>) -> Vec<Layer> {
    let report = document.report;
    let buckets = report.buckets.len();
    let mut layers: Vec<Layer> = Vec::new();
    // By ancestor there is no time line of the rows.
    let rows = report.rows.iter().filter(|row| !row.points.is_empty()).take(COLOURS);
    for (number, row) in rows.enumerate() {
        let mut by_bucket = vec![0; buckets];
        for (bucket, ns) in &row.points {
            if let Some(own) = by_bucket.get_mut(*bucket as usize) {
                *own += ns;
            }
        }
        layers.push(Layer {
            label: name_of(document.labels, &row.name),
            class: format!("c{number}"),
            total_ns: by_bucket.iter().sum(),
            by_bucket,
        });
    }
    let named = |bucket: usize| layers.iter().map(|layer| layer.by_bucket[bucket]).sum::<u64>();
    let rest: Vec<u64> = report
        .buckets
        .iter()
        .enumerate()
        .map(|(bucket, balance)| balance.attributed_ns.saturating_sub(named(bucket)))
        .collect();
    let unattributed: Vec<u64> = report.buckets.iter().map(|balance| balance.unattributed_ns).collect();
    for (label, class, by_bucket) in
        [("other", "other", rest), ("unattributed", "unattributed", unattributed)]
    {
        let total_ns = by_bucket.iter().sum();
        if total_ns > 0 {
            layers.push(Layer { label: label.to_owned(), class: class.to_owned(), total_ns, by_bucket });
        }
    }
    layers
}

/// A place in tenths, which is exact enough for any screen.
fn tenths(value: u64) -> String {
    if value.is_multiple_of(10) { (value / 10).to_string() } else { format!("{}.{}", value / 10, value % 10) }
}

/// Appends the drawing with its legend. What is not covered is idle; hatched is of when nothing is recorded.
pub(super) fn append(html: &mut String, document: &Document<'_>) {
    let buckets = &document.report.buckets;
    let Some(extent) = document.report.extent.filter(|_| buckets.len() > 1) else { return };
    let layers = layers(document);
    html.push_str("<section>\n<h2>Time line</h2>\n<div class=\"chart\">");
    html.push_str(&format!(
        "<svg id=\"line\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"CPU time by name over time\">\n"
    ));
    let count = buckets.len() as u64;
    let x = |bucket: usize| tenths(bucket as u64 * u64::from(WIDTH) * 10 / count);
    // The share of the capacity of its bucket.
    let y = |bucket: usize, ns: u64| {
        let capacity = u128::from(buckets[bucket].capacity_ns.max(1));
        let height = u128::from(ns) * u128::from(HEIGHT) * 10 / capacity;
        u64::from(HEIGHT) * 10 - u64::try_from(height).unwrap_or(u64::MAX).min(u64::from(HEIGHT) * 10)
    };
    let mut below = vec![0_u64; buckets.len()];
    for layer in &layers {
        let mut path = String::new();
        for (bucket, ns) in layer.by_bucket.iter().enumerate().filter(|(_, ns)| **ns > 0) {
            let (low, high) = (y(bucket, below[bucket]), y(bucket, below[bucket] + ns));
            if low > high {
                path.push_str(&format!(
                    "M{} {}V{}H{}V{}z",
                    x(bucket),
                    tenths(low),
                    tenths(high),
                    x(bucket + 1),
                    tenths(low)
                ));
            }
        }
        html.push_str(&format!("<path class=\"{}\" d=\"{path}\"><title>", layer.class));
        append_text(html, &layer.label);
        html.push_str("</title></path>\n");
        for (below, ns) in below.iter_mut().zip(&layer.by_bucket) {
            *below += ns;
        }
    }
    let mut missing = String::new();
    for (bucket, _) in buckets.iter().enumerate().filter(|(_, balance)| balance.intervals == 0) {
        missing.push_str(&format!("M{} 0H{}V{HEIGHT}H{}z", x(bucket), x(bucket + 1), x(bucket)));
    }
    if !missing.is_empty() {
        html.push_str(&format!(
            "<path class=\"missing\" d=\"{missing}\"><title>nothing is recorded</title></path>\n"
        ));
    }
    html.push_str("</svg></div>\n<p class=\"axis\"><span>");
    append_text(html, &(document.local)(extent.start_realtime_ns));
    html.push_str("</span><span>");
    append_text(html, &(document.local)(extent.end_realtime_ns));
    html.push_str("</span></p>\n<ul class=\"legend\">\n");
    let shares: BTreeMap<&str, u64> =
        layers.iter().map(|layer| (layer.class.as_str(), layer.total_ns)).collect();
    for layer in &layers {
        html.push_str(&format!("<li><i class=\"{}\"></i><bdi>", layer.class));
        append_text(html, &layer.label);
        let share = percent(shares[layer.class.as_str()], document.report.balance.capacity_ns);
        html.push_str(&format!("</bdi> {share}</li>\n"));
    }
    html.push_str("<li><i class=\"idle\"></i>idle</li>\n");
    if !missing.is_empty() {
        html.push_str("<li><i class=\"missing\"></i>not recorded</li>\n");
    }
    html.push_str("</ul>\n</section>\n");
}
