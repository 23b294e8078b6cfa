//! What the files of an export are called: each name says of which intervals the file has rows.

use std::ops::Range;

/// What names of unfinished files begin with. Readers of such folders leave out what begins with a point.
pub(crate) const UNFINISHED: &str = ".cpuledger-";

/// What the name of a file ends with that has a part of its segment only.
const PART: &str = "-part";

/// A segment of all the recordings of a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SegmentId {
    /// The boot, as a part of a path.
    pub(crate) boot: String,
    /// The tier, as its directory is called.
    pub(crate) tier: String,
    /// What identifies the recording.
    pub(crate) recording: u64,
    /// The number of its first record.
    pub(crate) sequence: u64,
}

/// Which intervals a file has rows of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileName {
    pub(crate) segment: SegmentId,
    /// Begin and end of these intervals, CLOCK_MONOTONIC in milliseconds.
    pub(crate) span_ms: Range<u64>,
    /// Whether not all of the segment was wanted.
    pub(crate) is_part: bool,
    /// How the name ends, which is that of the format.
    pub(crate) ending: String,
}

impl FileName {
    pub(crate) fn text(&self) -> String {
        let SegmentId { boot, tier, recording, sequence } = &self.segment;
        let Range { start, end } = &self.span_ms;
        let part = if self.is_part { PART } else { "" };
        format!("{boot}-{tier}-{recording}-{sequence:016}-{start}-{end}{part}.{}", self.ending)
    }

    /// `None`: it is another file, or one of an [older version](is_of_older_version).
    pub(crate) fn read(text: &str) -> Option<FileName> {
        let (stem, ending) = text.rsplit_once('.')?;
        let whole = stem.strip_suffix(PART);
        let mut words = whole.unwrap_or(stem).rsplitn(6, '-');
        let mut number = || words.next()?.parse::<u64>().ok();
        let (end, start, sequence, recording) = (number()?, number()?, number()?, number()?);
        let (tier, boot) = (words.next()?.to_owned(), words.next()?.to_owned());
        let segment = SegmentId { boot, tier, recording, sequence };
        let name = FileName { segment, span_ms: start..end, is_part: whole.is_some(), ending: ending.into() };
        (name.text() == text).then_some(name)
    }

    /// Whether both are of one segment, in one format.
    pub(crate) fn is_of_same(&self, other: &FileName) -> bool {
        (&self.segment, &self.ending) == (&other.segment, &other.ending)
    }

    /// Whether both have rows of the same time, if the boot is the same.
    pub(crate) fn overlaps(&self, other: &FileName) -> bool {
        self.span_ms.start < other.span_ms.end && other.span_ms.start < self.span_ms.end
    }

    /// Whether it has rows of all this time.
    pub(crate) fn covers(&self, span_ms: &Range<u64>) -> bool {
        self.span_ms.start <= span_ms.start && span_ms.end <= self.span_ms.end
    }
}

/// Whether the name ends with the tier and the number of a segment: older versions did not write more of it.
pub(crate) fn is_of_older_version(text: &str) -> bool {
    let stem = text.rsplit_once('.').map_or(text, |(stem, _)| stem);
    let mut words = stem.strip_suffix(PART).unwrap_or(stem).rsplitn(3, '-');
    let is_number = |word: &str| word.len() == 16 && word.bytes().all(|byte| byte.is_ascii_digit());
    let is_tier = |word: &str| word == "all" || word.starts_with(|first: char| first.is_ascii_digit());
    words.next().is_some_and(is_number) && words.next().is_some_and(is_tier) && words.next().is_some()
}

/// A text as a part of a path: what else would be mistaken for something is written as in a URL, as Hive does.
pub(crate) fn in_path(text: &[u8]) -> String {
    let mut escaped = String::new();
    for (place, &byte) in text.iter().enumerate() {
        let is_plain =
            byte.is_ascii_alphanumeric() || byte == b'_' || (place > 0 && matches!(byte, b'-' | b'.'));
        if is_plain {
            escaped.push(char::from(byte));
        } else {
            escaped.push_str(&format!("%{byte:02X}"));
        }
    }
    if escaped.is_empty() { "unknown".into() } else { escaped }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_elsewhere_stay_where_they_are() {
        for (text, escaped) in [
            (&b"web-1.example"[..], "web-1.example"),
            (b"../../etc", "%2E.%2F..%2Fetc"),
            (b".hidden", "%2Ehidden"),
            (b"a=b c\n\xff", "a%3Db%20c%0A%FF"),
            (b"", "unknown"),
        ] {
            assert_eq!(in_path(text), escaped);
        }
    }

    #[test]
    fn a_name_says_what_was_written_in_it() {
        for (boot, is_part) in [("0b7f-1", false), ("unknown", true), ("a.b-c", true)] {
            let segment =
                SegmentId { boot: boot.into(), tier: "90s".into(), recording: u64::MAX, sequence: 60 };
            let name = FileName { segment, span_ms: 7..1_000_000, is_part, ending: "csv".into() };
            assert_eq!(FileName::read(&name.text()), Some(name.clone()), "{}", name.text());
            assert!(!is_of_older_version(&name.text()));
        }
        for text in
            ["", "a-all-1-2-3.csv", "b-all-1-0000000000000002-3-04.csv", "b-all-1-0000000000000002-3.csv"]
        {
            assert_eq!(FileName::read(text), None, "{text}");
            assert!(!is_of_older_version(text), "{text}");
        }
        for text in ["0b7f-1-all-0000000000000000.parquet", "unknown-1m-0000000000000060-part.csv"] {
            assert!(is_of_older_version(text) && FileName::read(text).is_none(), "{text}");
        }
    }
}
