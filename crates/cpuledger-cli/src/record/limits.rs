//! Limits of a recording as they are written: `7d,2GiB`, `1m:30d`, `512MiB`.

use std::time::Duration;

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
    Some(Tier { length, keep })
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

/// The options of a recording of intervals of that length.
pub fn options(interval: Duration, tiers: &[Tier], retain: Retain, least_free_bytes: u64) -> Options {
    let usual = Options::default();
    let mut tiers = if tiers.is_empty() { usual.tiers.clone() } else { tiers.to_vec() };
    for tier in &mut tiers {
        tier.keep = tier.keep.or(retain.age);
        // Nothing is to be merged: cuts are never exact to the nanosecond.
        if tier.length <= interval {
            tier.length = Duration::ZERO;
        }
    }
    tiers.sort_by_key(|tier| tier.length);
    // The one that is kept for longest.
    tiers.dedup_by(|next, kept| {
        let is_same = next.length == kept.length;
        if is_same {
            kept.keep = kept.keep.zip(next.keep).map(|(one, other)| one.max(other));
        }
        is_same
    });
    Options {
        tiers,
        most_bytes: retain.bytes,
        least_free_bytes: Some(least_free_bytes).filter(|bytes| *bytes > 0),
        ..usual
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
    fn a_tier_as_long_as_an_interval_has_the_intervals_as_they_come() {
        let of = |text: &str| {
            tiers([text]).map(|tiers| {
                let retain = Retain { age: Some(9 * DAY), bytes: None };
                options(Duration::from_secs(1), &tiers, retain, 0).tiers
            })
        };
        let [second, minute] = of("1m:30d,1s:24h").expect("two").try_into().expect("two");
        assert_eq!(second, Tier { length: Duration::ZERO, keep: Some(DAY) });
        assert_eq!(minute, Tier { length: Duration::from_secs(60), keep: Some(30 * DAY) });
        assert_eq!(
            of("1s:1d,500ms:2d").expect("one"),
            [Tier { length: Duration::ZERO, keep: Some(2 * DAY) }]
        );
        assert_eq!(of("1m").expect("one")[0].keep, Some(9 * DAY));
        for text in ["", "2h", "1m:", "1m:30d,1m:9d", ":1d", "1m:30d:1", "1s,2s,3s,4s,5s,6s,7s,8s,9s"] {
            assert!(of(text).is_err(), "{text}");
        }
    }
}
