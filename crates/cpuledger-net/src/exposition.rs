//! The text that Prometheus reads: OpenMetrics 1.0, or the classic format 0.0.4.

mod compat;

use std::fmt::{self, Write as _};

use crate::books::Books;
use crate::families::{FAMILIES, Family, Kind};
use crate::own::Own;
use crate::samples::{self, Sample};

/// Which of the two formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// OpenMetrics 1.0: with units and the times when series began.
    OpenMetrics,
    /// Prometheus' text format 0.0.4.
    Classic,
}

impl Format {
    /// The best that a caller takes, by its `Accept` header. Without a word for either, it gets the classic one.
    pub fn of_accept(accept: &str) -> Format {
        let (mut open, mut classic) = (0_u32, 0_u32);
        for range in accept.split(',') {
            let mut parts = range.split(';').map(str::trim);
            let kind = parts.next().unwrap_or_default();
            let quality = parts.find_map(|part| part.strip_prefix("q=")).map_or(1000, thousandths);
            match kind {
                "application/openmetrics-text" => open = open.max(quality),
                "text/plain" | "text/*" | "*/*" => classic = classic.max(quality),
                _ => {}
            }
        }
        if open > 0 && open >= classic { Format::OpenMetrics } else { Format::Classic }
    }

    /// The value of `Content-Type`.
    pub fn content_type(self) -> &'static str {
        match self {
            Format::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Format::Classic => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}

/// A quality such as `0.75`, in thousandths.
fn thousandths(text: &str) -> u32 {
    text.trim().parse::<f32>().map_or(0, |quality| (quality.clamp(0.0, 1.0) * 1000.0) as u32)
}

/// Nanoseconds as seconds, to the last digit.
struct Seconds(u128);

impl fmt::Display for Seconds {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{:09}", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}

/// A text as the value of a label.
struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            match character {
                '\\' => formatter.write_str("\\\\")?,
                '"' => formatter.write_str("\\\"")?,
                '\n' => formatter.write_str("\\n")?,
                other => formatter.write_char(other)?,
            }
        }
        Ok(())
    }
}

/// Labels with their values; without any, there are no braces.
fn in_braces<'a>(labels: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut text = String::new();
    for (label, value) in labels {
        text.push(if text.is_empty() { '{' } else { ',' });
        let _ = write!(text, "{label}=\"{}\"", Escaped(value));
    }
    if !text.is_empty() {
        text.push('}');
    }
    text
}

/// The text of the books, which changes with the intervals.
pub fn render_books(books: &Books, format: Format) -> String {
    let mut page = Page { text: String::new(), format };
    for family in &FAMILIES {
        page.family(family, |page| page.samples(family, books, None));
    }
    page.of_others(books);
    page.text
}

/// The text that follows: what changes all the time, and the end.
pub fn render_own(books: &Books, own: &Own, format: Format) -> String {
    let mut page = Page { text: String::new(), format };
    for family in &FAMILIES {
        if let Kind::Own(_) | Kind::Server(_) = family.kind {
            page.family(family, |page| page.samples(family, books, Some(own)));
        }
    }
    if format == Format::OpenMetrics {
        page.text.push_str("# EOF\n");
    }
    page.text
}

struct Page {
    text: String,
    format: Format,
}

impl Page {
    /// A family with its samples. One without any is left out: what is not known is not 0.
    fn family(&mut self, family: &Family, samples: impl FnOnce(&mut Page)) {
        let begin = self.text.len();
        self.head(family);
        let first = self.text.len();
        samples(self);
        if self.text.len() == first {
            self.text.truncate(begin);
        }
    }

    /// The samples of a family of cpuledger's own.
    fn samples(&mut self, family: &Family, books: &Books, own: Option<&Own>) {
        samples::each(family.kind, books, own, &[], |Sample { by, labels, value, created_ns }| {
            let by = by.map(|by| ("by", by.name()));
            let labels = in_braces(by.into_iter().chain(labels.iter().map(|label| label.own)));
            self.sample(family, &labels, value);
            if matches!(family.kind, Kind::Cpu) {
                self.created(family, &labels, created_ns);
            }
        });
    }

    fn head(&mut self, family: &Family) {
        let counter_suffix = if family.is_counter && self.format == Format::Classic { "_total" } else { "" };
        let name = format!("{}{counter_suffix}", family.name);
        let kind = if family.is_counter { "counter" } else { "gauge" };
        let _ = writeln!(self.text, "# HELP {name} {}\n# TYPE {name} {kind}", family.help);
        if self.format == Format::OpenMetrics && !family.unit().is_empty() {
            let _ = writeln!(self.text, "# UNIT {name} {}", family.unit());
        }
    }

    /// A line; `labels` are in their braces.
    fn sample(&mut self, family: &Family, labels: &str, value: u128) {
        let total = if family.is_counter { "_total" } else { "" };
        let _ = match family.unit() {
            "seconds" | "ratio" => writeln!(self.text, "{}{total}{labels} {}", family.name, Seconds(value)),
            _ => writeln!(self.text, "{}{total}{labels} {value}", family.name),
        };
    }

    /// When a series began, which OpenMetrics has a sample for.
    fn created(&mut self, family: &Family, labels: &str, when_ns: u64) {
        if self.format == Format::OpenMetrics {
            let _ = writeln!(self.text, "{}_created{labels} {}", family.name, Seconds(when_ns.into()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_is_what_the_caller_likes_best() {
        let prometheus = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,\
            application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;q=0.4,\
            text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
        for (accept, format) in [
            (prometheus, Format::OpenMetrics),
            ("application/openmetrics-text", Format::OpenMetrics),
            ("text/plain, application/openmetrics-text;q=0.5", Format::Classic),
            ("text/html,*/*;q=0.8", Format::Classic),
            ("", Format::Classic),
            ("application/openmetrics-text;q=0", Format::Classic),
            ("application/openmetrics-text;q=nonsense", Format::Classic),
        ] {
            assert_eq!(Format::of_accept(accept), format, "{accept}");
        }
    }

    #[test]
    fn nanoseconds_are_printed_to_the_last_digit() {
        assert_eq!(Seconds(0).to_string(), "0.000000000");
        assert_eq!(Seconds(1_000_000_001).to_string(), "1.000000001");
        assert_eq!(Seconds(u128::from(u64::MAX) * 10).to_string(), "184467440737.095516150");
    }
}
