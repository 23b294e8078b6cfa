//! Instants as options name them: `--since yesterday 03:12`, `--until -10m`, `--at @1700000000`.

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, ToSpan, Zoned};

/// What an instant may look like, for help pages and errors.
pub const FORMS: &str = "`2026-03-01 03:12`, `03:12:30` (today), `yesterday 03:12`, `10m ago` or `-10m`, `@1700000000` (seconds since 1970), `2026-03-01T03:12:00Z` or `now`";

/// Nanoseconds since 1970 of the instant that an option names, by the clock and the time zone of this process.
///
/// # Errors
/// A sentence that says which forms there are.
pub fn parse(text: &str) -> Result<u64, String> {
    parse_at(text, &Zoned::now())
}

/// An instant in nanoseconds since 1970 by the time zone of this process, as [`parse`] reads it.
pub fn written(ns: u64) -> String {
    let instant = Timestamp::from_nanosecond(ns.into()).unwrap_or(Timestamp::MAX);
    instant.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// Likewise, as if it were `now_ns`: times without a day are of that day.
///
/// # Errors
/// As [`parse`].
pub fn parse_near(text: &str, now_ns: u64) -> Result<u64, String> {
    let now = Timestamp::from_nanosecond(now_ns.into()).unwrap_or(Timestamp::MAX);
    parse_at(text, &now.to_zoned(TimeZone::system()))
}

/// Likewise, as if it were `now`. A local time that a change of clocks skips or repeats is the later or the first of the two.
fn parse_at(text: &str, now: &Zoned) -> Result<u64, String> {
    let instant = instant(text.trim(), now);
    let ns = instant.and_then(|instant| u64::try_from(instant.as_nanosecond()).ok());
    ns.ok_or_else(|| format!("`{text}` is no time; write {FORMS}"))
}

fn instant(text: &str, now: &Zoned) -> Option<Timestamp> {
    let lower = text.to_ascii_lowercase();
    if lower == "now" {
        return Some(now.timestamp());
    }
    if let Some(seconds) = text.strip_prefix('@') {
        return of_seconds(seconds);
    }
    let ago = lower.strip_suffix("ago").map(str::trim_end).filter(|length| !length.starts_with('-'));
    if let Some(length) = ago.or_else(|| lower.strip_prefix('-')) {
        return now.timestamp().checked_sub(length_of(length)?).ok();
    }
    if let Some((day, time)) = relative_day(&lower, now) {
        return local(day.to_datetime(time), now.time_zone());
    }
    if let Some(time) = time_of_day(text) {
        return local(now.date().to_datetime(time), now.time_zone());
    }
    if let Ok(instant) = text.parse::<Timestamp>() {
        return Some(instant);
    }
    // A zone by its name, as in `2026-03-01T03:12[Europe/Berlin]`, is not read: an offset says the same.
    let is_civil = |letter: char| letter.is_ascii_digit() || "-:. Tt".contains(letter);
    if !text.chars().all(is_civil) {
        return None;
    }
    match text.split_once([' ', 'T', 't']) {
        Some((day, time)) => {
            let time = time_of_day(time.trim_start())?;
            local(day.parse::<Date>().ok()?.to_datetime(time), now.time_zone())
        }
        None => local(text.parse::<Date>().ok()?.to_datetime(Time::midnight()), now.time_zone()),
    }
}

fn local(time: DateTime, zone: &TimeZone) -> Option<Timestamp> {
    Some(time.to_zoned(zone.clone()).ok()?.timestamp())
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

/// `90s`, `10m`, `1h30m`, `2d`, `1w`, with spaces or without. A day is 24 hours.
fn length_of(text: &str) -> Option<Span> {
    let mut rest = text.trim();
    let mut seconds = 0_i64;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.len() - rest.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
        let count: i64 = rest[..digits].parse().ok()?;
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
    // What jiff can subtract from any instant.
    (seconds < 100_000_000_000).then(|| seconds.seconds())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sunday, 2026-03-01 10:30:15.5 at this place.
    fn now(zone: &str) -> Zoned {
        let zone = TimeZone::get(zone).expect("a zone");
        DateTime::constant(2026, 3, 1, 10, 30, 15, 500_000_000).to_zoned(zone).expect("an instant")
    }

    fn utc(text: &str) -> String {
        let ns = parse_at(text, &now("UTC")).expect("a time");
        Timestamp::from_nanosecond(ns.into()).expect("in range").to_string()
    }

    #[test]
    fn every_form_names_an_instant() {
        for (text, expected) in [
            ("now", "2026-03-01T10:30:15.5Z"),
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
            ("-10m", "2026-03-01T10:20:15.5Z"),
            ("10m ago", "2026-03-01T10:20:15.5Z"),
            ("1h 30m ago", "2026-03-01T09:00:15.5Z"),
            ("-1d2h", "2026-02-28T08:30:15.5Z"),
            ("2 weeks ago", "2026-02-15T10:30:15.5Z"),
            ("@0", "1970-01-01T00:00:00Z"),
            ("@1700000000", "2023-11-14T22:13:20Z"),
            ("@1700000000.25", "2023-11-14T22:13:20.25Z"),
            (" 03:12 ", "2026-03-01T03:12:00Z"),
        ] {
            assert_eq!(utc(text), expected, "{text}");
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
        ] {
            let sentence = parse_at(text, &now("UTC")).expect_err(text);
            assert!(sentence.contains("is no time; write `2026-"), "{sentence}");
        }
    }

    #[test]
    fn local_times_are_those_of_the_zone() {
        let at = |text, zone| {
            Timestamp::from_nanosecond(parse_at(text, &now(zone)).expect(text).into()).expect("in range")
        };
        assert_eq!(at("03:12", "Europe/Berlin").to_string(), "2026-03-01T02:12:00Z");
        assert_eq!(at("yesterday 23:30", "America/New_York").to_string(), "2026-03-01T04:30:00Z");
        // Clocks go forward at 02:00, so that 02:30 is 03:30; and back at 03:00, so that 02:30 comes twice.
        assert_eq!(at("2026-03-29 02:30", "Europe/Berlin").to_string(), "2026-03-29T01:30:00Z");
        assert_eq!(at("2026-10-25 02:30", "Europe/Berlin").to_string(), "2026-10-25T00:30:00Z");
    }
}
