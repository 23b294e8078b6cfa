//! Instants as options name them: `--since yesterday 03:12`, `--until -10m`, `--at @1700000000`.

use cpuledger_recording::When;
use jiff::civil::{Date, DateTime, Time};
use jiff::fmt::temporal::DateTimeParser;
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{Timestamp, Zoned};

/// What an instant may look like, for help pages and errors.
pub const FORMS: &str = "`2026-03-01 03:12`, `03:12:30` (today), `yesterday 03:12`, `10m ago` or `-10m`, `@1700000000` (seconds since 1970), `2026-03-01T03:12:00Z`, `2026-10-25 02:30+01:00` or `now`";

/// An instant of a recording as an option names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Named {
    /// It. `now` and `10m ago` count from the end of the recording.
    pub when: When,
    /// The same local time once more, where clocks went back in between, CLOCK_REALTIME.
    pub again_ns: Option<u64>,
}

/// A text that is in none of the [`FORMS`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no time; write {FORMS}")]
pub struct NoTime(pub String);

impl Named {
    /// An instant of the calendar.
    pub fn realtime(ns: u64) -> Named {
        Named { when: When::Realtime(ns), again_ns: None }
    }

    /// All that it may be.
    pub fn all(self) -> impl Iterator<Item = When> {
        [Some(self.when), self.again_ns.map(When::Realtime)].into_iter().flatten()
    }
}

/// The instant that an option names, by the clock and the time zone of this process.
///
/// # Errors
/// When it is in none of the [`FORMS`].
pub fn parse(text: &str) -> Result<Named, NoTime> {
    parse_at(text, &Zoned::now())
}

/// Likewise, as if it were `now_ns`: times without a day are of that day.
///
/// # Errors
/// As [`parse`].
pub fn parse_near(text: &str, now_ns: u64) -> Result<Named, NoTime> {
    let now = Timestamp::from_nanosecond(now_ns.into()).unwrap_or(Timestamp::MAX);
    parse_at(text, &now.to_zoned(TimeZone::system()))
}

/// An instant in nanoseconds since 1970 by the time zone of this process, as [`parse`] reads it.
pub fn written(ns: u64) -> String {
    written_in(ns / 1_000_000_000 * 1_000_000_000, &TimeZone::system())
}

/// Likewise, with milliseconds where it has any.
pub fn written_exactly(ns: u64) -> String {
    written_in(ns, &TimeZone::system())
}

/// Likewise in UTC, in whole seconds and without the zone: `2026-11-27T03:12:00`.
pub fn written_in_utc(ns: u64) -> String {
    let instant = Timestamp::from_nanosecond(ns.into()).unwrap_or(Timestamp::MAX);
    instant.to_zoned(TimeZone::UTC).strftime("%Y-%m-%dT%H:%M:%S").to_string()
}

/// With its offset, where the local time comes twice.
fn written_in(ns: u64, zone: &TimeZone) -> String {
    let instant = Timestamp::from_nanosecond(ns.into()).unwrap_or(Timestamp::MAX);
    let local = instant.to_zoned(zone.clone());
    let milliseconds = if (ns / 1_000_000).is_multiple_of(1000) { "" } else { "%.3f" };
    let is_ambiguous = zone.to_ambiguous_timestamp(local.datetime()).is_ambiguous();
    let offset = if is_ambiguous { "%:z" } else { "" };
    local.strftime(&format!("%Y-%m-%d %H:%M:%S{milliseconds}{offset}")).to_string()
}

fn parse_at(text: &str, now: &Zoned) -> Result<Named, NoTime> {
    named(text.trim(), now).ok_or_else(|| NoTime(text.to_owned()))
}

fn named(text: &str, now: &Zoned) -> Option<Named> {
    let lower = text.to_ascii_lowercase();
    let before_end = |seconds: u64| {
        Some(Named { when: When::BeforeEnd(seconds.checked_mul(1_000_000_000)?), again_ns: None })
    };
    if lower == "now" {
        return before_end(0);
    }
    let ago = lower.strip_suffix("ago").map(str::trim_end).filter(|length| !length.starts_with('-'));
    if let Some(length) = ago.or_else(|| lower.strip_prefix('-')) {
        return before_end(length_of(length)?);
    }
    let exactly = match text.strip_prefix('@') {
        Some(seconds) => Some(of_seconds(seconds)?),
        None => text.parse::<Timestamp>().ok(),
    };
    if let Some(instant) = exactly {
        return Some(Named::realtime(ns_of(instant)?));
    }
    let (text, zone) = split_offset(&lower)?;
    match zone {
        Some(zone) => local(text, &now.with_time_zone(zone)),
        None => local(text, now),
    }
}

fn ns_of(instant: Timestamp) -> Option<u64> {
    u64::try_from(instant.as_nanosecond()).ok()
}

/// A time of day may have an offset from UTC behind it, as in `02:30+01:00`.
fn split_offset(text: &str) -> Option<(&str, Option<TimeZone>)> {
    let colon = text.find(':').unwrap_or(text.len());
    let Some(offset) = text[colon..].find(['+', '-', 'z']) else { return Some((text, None)) };
    let (text, offset) = text.split_at(colon + offset);
    let zone = match offset {
        "z" => TimeZone::UTC,
        offset => DateTimeParser::new().parse_time_zone(offset).ok()?,
    };
    Some((text.trim_end(), Some(zone)))
}

/// A local time, in the zone of that instant, and on its day where no other is named. A time that a change of clocks skips is the later one.
fn local(text: &str, now: &Zoned) -> Option<Named> {
    let zone = now.time_zone();
    if let Some((day, time)) = relative_day(text, now) {
        return in_zone(day.to_datetime(time), zone);
    }
    if let Some(time) = time_of_day(text) {
        return in_zone(now.date().to_datetime(time), zone);
    }
    // A zone by its name, as in `2026-03-01T03:12[Europe/Berlin]`, is not read: an offset says the same.
    let is_civil = |letter: char| letter.is_ascii_digit() || "-:. t".contains(letter);
    if !text.chars().all(is_civil) {
        return None;
    }
    match text.split_once([' ', 't']) {
        Some((day, time)) => {
            let time = time_of_day(time.trim_start())?;
            in_zone(day.parse::<Date>().ok()?.to_datetime(time), zone)
        }
        None => in_zone(text.parse::<Date>().ok()?.to_datetime(Time::midnight()), zone),
    }
}

fn in_zone(time: DateTime, zone: &TimeZone) -> Option<Named> {
    let ambiguous = zone.to_ambiguous_timestamp(time);
    let again_ns = match ambiguous.offset() {
        AmbiguousOffset::Fold { after, .. } => ns_of(after.to_timestamp(time).ok()?),
        _ => None,
    };
    Some(Named { when: When::Realtime(ns_of(ambiguous.compatible().ok()?)?), again_ns })
}

/// `today`, `yesterday 03:12` and the like.
fn relative_day(text: &str, now: &Zoned) -> Option<(Date, Time)> {
    let (word, time) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let day = match word {
        "today" => now.date(),
        "yesterday" => now.date().yesterday().ok()?,
        _ => return None,
    };
    let time = time.trim_start();
    Some((day, if time.is_empty() { Time::midnight() } else { time_of_day(time)? }))
}

/// `03:12`, `03:12:30` or `03:12:30.5`; one digit will do for the hour.
fn time_of_day(text: &str) -> Option<Time> {
    let (hour, _) = text.split_once(':')?;
    let is_time = |letter: char| letter.is_ascii_digit() || letter == ':' || letter == '.';
    if !text.chars().all(is_time) {
        return None;
    }
    if hour.len() == 1 { format!("0{text}").parse().ok() } else { text.parse().ok() }
}

/// `1700000000` or `1700000000.25`.
fn of_seconds(text: &str) -> Option<Timestamp> {
    let (seconds, rest) = text.split_once('.').unwrap_or((text, "0"));
    let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !are_digits(seconds) || !are_digits(rest) || rest.len() > 9 {
        return None;
    }
    Timestamp::new(seconds.parse().ok()?, format!("{rest:0<9}").parse().ok()?).ok()
}

/// `90s`, `10m`, `1h30m`, `2d`, `1w`, with spaces or without, in seconds. A day is 24 hours.
fn length_of(text: &str) -> Option<u64> {
    let mut rest = text.trim();
    let mut seconds = 0_u64;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.len() - rest.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
        let count: u64 = rest[..digits].parse().ok()?;
        let behind = rest[digits..].trim_start();
        let letters =
            behind.len() - behind.trim_start_matches(|letter: char| letter.is_ascii_alphabetic()).len();
        let unit = match &behind[..letters] {
            "s" | "sec" | "second" | "seconds" => 1,
            "m" | "min" | "minute" | "minutes" => 60,
            "h" | "hour" | "hours" => 3600,
            "d" | "day" | "days" => 86_400,
            "w" | "week" | "weeks" => 7 * 86_400,
            _ => return None,
        };
        seconds = seconds.checked_add(count.checked_mul(unit)?)?;
        rest = behind[letters..].trim_start();
    }
    (seconds < 10_000_000_000).then_some(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sunday, 2026-03-01 10:30:15.5 at this place.
    fn now(zone: &str) -> Zoned {
        let zone = TimeZone::get(zone).expect("a zone");
        DateTime::constant(2026, 3, 1, 10, 30, 15, 500_000_000).to_zoned(zone).expect("an instant")
    }

    fn text(ns: u64) -> String {
        Timestamp::from_nanosecond(ns.into()).expect("in range").to_string()
    }

    fn at(text: &str, zone: &str) -> String {
        match parse_at(text, &now(zone)).expect("a time").when {
            When::Realtime(ns) => self::text(ns),
            When::BeforeEnd(ns) => format!("{} s before the end", ns / 1_000_000_000),
        }
    }

    #[test]
    fn every_form_names_an_instant() {
        for (text, expected) in [
            ("now", "0 s before the end"),
            ("2026-02-03T04:05:06Z", "2026-02-03T04:05:06Z"),
            ("2026-02-03T04:05:06.25+02:00", "2026-02-03T02:05:06.25Z"),
            ("2026-02-03 04:05", "2026-02-03T04:05:00Z"),
            ("2026-02-03 04:05:06.5", "2026-02-03T04:05:06.5Z"),
            ("2026-02-03T04:05", "2026-02-03T04:05:00Z"),
            ("2026-02-03", "2026-02-03T00:00:00Z"),
            ("03:12", "2026-03-01T03:12:00Z"),
            ("3:12", "2026-03-01T03:12:00Z"),
            ("23:12:09", "2026-03-01T23:12:09Z"),
            ("today", "2026-03-01T00:00:00Z"),
            ("today 9:00", "2026-03-01T09:00:00Z"),
            ("yesterday 03:12", "2026-02-28T03:12:00Z"),
            ("Yesterday", "2026-02-28T00:00:00Z"),
            ("-10m", "600 s before the end"),
            ("10m ago", "600 s before the end"),
            ("1h 30m ago", "5400 s before the end"),
            ("-1d2h", "93600 s before the end"),
            ("2 weeks ago", "1209600 s before the end"),
            ("2026-02-03 04:05:06+02:00", "2026-02-03T02:05:06Z"),
            ("2026-02-03 04:05 -01:30", "2026-02-03T05:35:00Z"),
            ("03:12z", "2026-03-01T03:12:00Z"),
            ("Yesterday 03:12+01:00", "2026-02-28T02:12:00Z"),
            ("23:12-02:00", "2026-03-02T01:12:00Z"),
            ("@0", "1970-01-01T00:00:00Z"),
            ("@1700000000", "2023-11-14T22:13:20Z"),
            ("@1700000000.25", "2023-11-14T22:13:20.25Z"),
            (" 03:12 ", "2026-03-01T03:12:00Z"),
        ] {
            assert_eq!(at(text, "UTC"), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_told_with_the_forms_there_are() {
        for text in [
            "",
            " ",
            "-",
            "ago",
            "-10",
            "10",
            "10x ago",
            "25:00",
            "03:60",
            "2026-02-30",
            "2026-13-01 10:00",
            "@",
            "@-1",
            "@1.",
            "@1.0000000001",
            "@x",
            "tomorrow",
            "yesterday noon",
            "1969-12-31T00:00:00Z",
            "--10m",
            "-10m ago",
            "99999999999999999999s ago",
            "99999999999w ago",
            "2026-02-03T04:05[UTC]",
            "03:12 yesterday",
            "é",
            "-é",
            "02:30+99:00",
            "02:30+",
            "02:30+Europe/Berlin",
        ] {
            let sentence = parse_at(text, &now("UTC")).expect_err(text);
            assert!(sentence.to_string().contains("is no time; write `2026-"), "{sentence}");
        }
    }

    #[test]
    fn local_times_are_those_of_the_zone() {
        assert_eq!(at("03:12", "Europe/Berlin"), "2026-03-01T02:12:00Z");
        assert_eq!(at("yesterday 23:30", "America/New_York"), "2026-03-01T04:30:00Z");
        // Clocks go forward at 02:00, so that 02:30 is 03:30; and back at 03:00, so that 02:30 comes twice.
        assert_eq!(at("2026-03-29 02:30", "Europe/Berlin"), "2026-03-29T01:30:00Z");
        let twice = parse_at("2026-10-25 02:30", &now("Europe/Berlin")).expect("a time");
        let all: Vec<When> = twice.all().collect();
        let [When::Realtime(first), When::Realtime(again)] = all[..] else { panic!("{all:?}") };
        assert_eq!([text(first), text(again)], ["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"]);
        assert_eq!(parse_at("2026-10-25 03:30", &now("Europe/Berlin")).expect("a time").again_ns, None);
    }

    /// What is written is read again as the same instant, also in an hour that comes twice.
    #[test]
    fn what_is_written_names_its_instant() {
        for name in ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "UTC"] {
            let zone = TimeZone::get(name).expect("a zone");
            let begin = "2026-01-01T00:00:00Z".parse::<Timestamp>().expect("a time").as_second() as u64;
            let (mut last, mut with_offset) = (String::new(), 0);
            for quarter in 0..365 * 96 {
                let ns = (begin + quarter * 900) * 1_000_000_000 + 7_000_000 * (quarter % 2);
                let written = written_in(ns, &zone);
                let read = parse_at(&written, &now(name)).expect(&written);
                assert_eq!(read, Named::realtime(ns), "{written} in {name}");
                assert_ne!(written, last);
                with_offset += u32::from(written.len() > 24);
                last = written;
            }
            // Half an hour on Lord Howe Island.
            let expected = match name {
                "Europe/Berlin" | "America/New_York" => 8,
                "Australia/Lord_Howe" => 4,
                _ => 0,
            };
            assert_eq!(with_offset, expected, "{name}");
        }
    }
}
