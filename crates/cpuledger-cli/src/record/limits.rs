//! Limits of a recording as they are written: `7d,2GiB`, `1m:30d`, `512MiB`.

use std::fmt;
use std::time::Duration;

use cpuledger_model::make;
use cpuledger_recording::{Options, Tier};

/// What is kept where nothing is said.
pub const USUAL_RETAIN: &str = "7d,2GiB";
/// What stays free where nothing is said.
pub const USUAL_MIN_FREE: &str = "256MiB";

/// No tier is longer: it is in memory until it ends.
const LONGEST_TIER: Duration = Duration::from_secs(3600);

/// The most tiers of a recording.
const MOST_TIERS: usize = 8;

/// Seconds without a unit, or a whole number with one.
const TIMES: [(&str, u64); 6] = [
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", MINUTE_NS),
    ("h", 60 * MINUTE_NS),
    ("d", DAY_NS),
    ("w", 7 * DAY_NS),
];
const MINUTE_NS: u64 = 60_000_000_000;
const DAY_NS: u64 = 24 * 60 * MINUTE_NS;

const SIZES: [(&str, u64); 13] = [
    ("B", 1),
    ("kB", 1000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("K", 1 << 10),
    ("KiB", 1 << 10),
    ("M", 1 << 20),
    ("MiB", 1 << 20),
    ("G", 1 << 30),
    ("GiB", 1 << 30),
    ("T", 1 << 40),
    ("TiB", 1 << 40),
];

/// How long and how much is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Retain {
    /// For tiers that do not say it themselves.
    pub age: Option<Duration>,
    /// Of all segments together.
    pub bytes: Option<u64>,
}

fn with_unit(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let digits = text.len() - text.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
    let (count, unit) = text.split_at(digits);
    let factor = units.iter().find(|(name, _)| *name == unit)?.1;
    count.parse::<u64>().ok()?.checked_mul(factor)
}

/// `90`, `0.5`, `90s`, `24h`, `7d`: longer than nothing.
pub fn time(text: &str) -> Option<Duration> {
    let seconds = |number: f64| (number < 4e9).then(|| Duration::from_secs_f64(number));
    let bare = || text.parse().ok().filter(|number: &f64| *number > 0.0).and_then(seconds);
    let time = with_unit(text, &TIMES).map(Duration::from_nanos).or_else(bare)?;
    (!time.is_zero()).then_some(time)
}

/// `2GiB`, `512M`, `1GB`, `0`.
pub fn size(text: &str) -> Option<u64> {
    if text == "0" { Some(0) } else { with_unit(text, &SIZES) }
}

impl Retain {
    /// `7d`, `2GiB`, both with a comma, or `forever`.
    ///
    /// # Errors
    /// The end of a sentence that begins with the option or key.
    pub fn parse(text: &str) -> Result<Retain, String> {
        let mut retain = Retain::default();
        if text == "forever" {
            return Ok(retain);
        }
        for part in text.split(',').map(str::trim) {
            let with_unit = |text: &&str| !text.ends_with(|letter: char| letter.is_ascii_digit());
            match (Some(part).filter(with_unit).and_then(time), size(part)) {
                (Some(age), _) if retain.age.is_none() => retain.age = Some(age),
                (None, Some(bytes)) if retain.bytes.is_none() && bytes > 0 => retain.bytes = Some(bytes),
                _ => {
                    return Err(format!(
                        "needs a time, a size or both, as in `7d,2GiB`, or `forever`, not `{text}`"
                    ));
                }
            }
        }
        Ok(retain)
    }
}

/// `1m:30d`, `1m`: intervals of this length, and for how long they are kept.
fn tier(text: &str) -> Option<Tier> {
    let (length, keep) = match text.split_once(':') {
        Some((length, keep)) => (length, Some(time(keep)?)),
        None => (text, None),
    };
    let length = time(length).filter(|length| *length <= LONGEST_TIER)?;
    Some(Tier::new(length, keep))
}

/// Tiers as they are written, separated by commas.
///
/// # Errors
/// The end of a sentence that begins with the option or key.
pub fn tiers<'a>(lists: impl IntoIterator<Item = &'a str>) -> Result<Vec<Tier>, String> {
    let mut tiers: Vec<Tier> = Vec::new();
    for text in lists.into_iter().flat_map(|list| list.split(',')).map(str::trim) {
        let tier = tier(text).ok_or_else(|| {
            format!("needs lengths of up to an hour, each with a time to keep it, as in `1s:24h,1m:30d`, not `{text}`")
        })?;
        if tiers.iter().any(|other| other.length == tier.length) || tiers.len() == MOST_TIERS {
            return Err(format!("needs up to {MOST_TIERS} tiers of different lengths"));
        }
        tiers.push(tier);
    }
    Ok(tiers)
}

/// The options of a recording with these tiers; without any, it has the intervals as they come.
pub fn options(tiers: &[Tier], retain: Retain, least_free_bytes: u64) -> Options {
    let usual = Options::default();
    let mut tiers = if tiers.is_empty() { usual.tiers.clone() } else { tiers.to_vec() };
    for tier in &mut tiers {
        tier.keep = tier.keep.or(retain.age);
    }
    make!(Options {
        tiers,
        most_bytes: retain.bytes,
        least_free_bytes: Some(least_free_bytes).filter(|bytes| *bytes > 0),
        ..usual
    })
}

/// Says what they mean, as the rest of a sentence.
///
/// # Errors
/// Where it cannot be written.
pub fn explain(options: &Options, to: &mut impl fmt::Write) -> fmt::Result {
    for (index, tier) in options.tiers.iter().enumerate() {
        to.write_str(if index == 0 { ": " } else { ", " })?;
        match tier.length.as_nanos() {
            0 => to.write_str("intervals as they come")?,
            ns => write!(to, "intervals of {}", spelled(ns, &TIMES, "ns"))?,
        }
        match tier.keep {
            Some(keep) => write!(to, " for {}", spelled(keep.as_nanos(), &TIMES, "ns"))?,
            None => to.write_str(" for ever")?,
        }
    }
    if let Some(bytes) = options.most_bytes {
        write!(to, "; at most {}", spelled(bytes.into(), &SIZES, "B"))?;
    }
    if let Some(bytes) = options.least_free_bytes {
        let comma = if options.most_bytes.is_some() { "," } else { ";" };
        write!(to, "{comma} while {} stay free", spelled(bytes.into(), &SIZES, "B"))?;
    }
    Ok(())
}

/// In the largest unit that it is a whole number of; weeks and multiples of 1000 bytes are not asked for.
fn spelled(value: u128, units: &[(&str, u64)], smallest: &str) -> String {
    let fits = |(name, factor): &&(&str, u64)| {
        *name != "w"
            && (*factor == 1 || name.len() != 2 || *name == "ms")
            && value.is_multiple_of((*factor).into())
    };
    match units.iter().filter(fits).max_by_key(|(_, factor)| *factor) {
        Some((name, factor)) => format!("{} {name}", value / u128::from(*factor)),
        None => format!("{value} {smallest}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(86_400);

    #[test]
    fn times_and_sizes_are_told_apart_by_their_units() {
        let retain = |text: &str| Retain::parse(text).expect(text);
        assert_eq!(retain("7d,2GiB"), Retain { age: Some(7 * DAY), bytes: Some(2 << 30) });
        assert_eq!(
            retain("500MB, 90m"),
            Retain { age: Some(Duration::from_secs(5400)), bytes: Some(500_000_000) }
        );
        assert_eq!(retain("1M").bytes, Some(1 << 20));
        assert_eq!(retain("1m").age, Some(Duration::from_secs(60)));
        assert_eq!(retain("forever"), Retain::default());
        for text in
            ["", "7", "0d", "0B", "7d,8d", "1G,2G", "7d,", "-7d", "7 d", "99999999999999999w", "d", "1y", "∞"]
        {
            assert!(Retain::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn seconds_need_no_unit() {
        assert_eq!(time("90"), Some(Duration::from_secs(90)));
        assert_eq!(time("0.5"), Some(Duration::from_millis(500)));
        assert_eq!(time("250ms"), Some(Duration::from_millis(250)));
        for text in ["", "0", "-1", "nan", "inf", "1e99", "s", "1.5h"] {
            assert_eq!(time(text), None, "{text}");
        }
        assert_eq!((size("0"), size("3K"), size("3"), size("-1B")), (Some(0), Some(3072), None, None));
    }

    #[test]
    fn a_tier_is_kept_for_its_own_time_or_that_of_all() {
        let retain = Retain { age: Some(9 * DAY), bytes: None };
        let of = |text: &str| tiers([text]).map(|tiers| options(&tiers, retain, 0).tiers);
        let tier = |seconds, days| Tier::new(Duration::from_secs(seconds), Some(days * DAY));
        assert_eq!(of("1m:30d,1s:24h").expect("two"), [tier(60, 30), tier(1, 1)]);
        assert_eq!(of("1m").expect("one"), [tier(60, 9)]);
        assert_eq!(options(&[], retain, 0).tiers, [tier(0, 9)]);
        for text in ["", "2h", "1m:", "1m:30d,1m:9d", ":1d", "1m:30d:1", "1s,2s,3s,4s,5s,6s,7s,8s,9s"] {
            assert!(of(text).is_err(), "{text}");
        }
    }
}
