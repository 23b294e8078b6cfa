//! The configuration of the service: a file of TOML that an administrator writes. docs/service.md has each key.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cpuledger::Accounts;
use cpuledger_names::names::{gid_of, uid_of};
use cpuledger_program::exit::Failure;
use cpuledger_program::place;
use cpuledger_recording::Tier;
use serde::Deserialize;

use crate::record::limits::{self, Retain};
use crate::record::recorder::Place;

/// Where it is if nothing else is said. It need not be there.
pub const USUAL_PATH: &str = "/etc/cpuledger/config.toml";

/// No interval is shorter: each costs the service some tens of microseconds, and a wake-up of each reader.
const LEAST_INTERVAL_S: f64 = 0.01;
/// No interval is longer: a reader waits for the first.
const MOST_INTERVAL_S: f64 = 60.0;

/// What is in the file, checked. Times are in nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Length of an interval while no reader asks for a shorter one.
    pub interval_ns: u64,
    /// The shortest that a reader may ask for.
    pub shortest_interval_ns: u64,
    /// What each user may see.
    pub audiences: Audiences,
    /// What it keeps besides CPU time.
    pub accounts: AccountPolicy,
    /// Limits on what clients hold.
    pub limits: Limits,
    /// Whether and how the service records.
    pub record: Option<Record>,
}

/// How long intervals are, and how short they may be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Their length without requests.
    pub usual_ns: u64,
    /// The shortest that a reader may ask for.
    pub least_ns: u64,
    /// How much of a CPU the requests of users may take together.
    pub percent: u32,
}

/// What the service keeps besides CPU time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AccountPolicy {
    /// Always.
    pub own: Accounts,
    /// While a reader asks for it. Root may ask for any.
    pub of_readers: Accounts,
}

/// How much there was to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// No file.
    Missing,
    /// A file of 0 bytes.
    Empty,
    /// A file.
    Written,
}

/// A recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    folder: PathBuf,
    tiers: Vec<Tier>,
    retain: Retain,
    least_free_bytes: u64,
}

/// Which users see all, and what everyone else sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Audiences {
    /// These users see all, beside root.
    pub uids: Vec<u32>,
    /// So do members of these groups.
    pub gids: Vec<u32>,
    /// What the others see.
    pub everyone: Everyone,
}

/// What a user sees that the configuration does not name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Everyone {
    /// What /proc shows it, as it is mounted.
    #[default]
    Proc,
    /// Its own processes, and the rest as one row.
    #[serde(rename = "self")]
    Own,
    /// Nothing: its subscription is refused.
    Nothing,
}

/// Limits on what clients hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Connections in all.
    pub connections: usize,
    /// Connections of one user.
    pub connections_per_user: usize,
    /// Rings in all, beside that of all rows.
    pub rings: usize,
    /// Rings of one user: one for each group that it calls with, and for each audience.
    pub rings_per_user: usize,
    /// How much of a CPU the calls of one user may take; root has no limit.
    pub cpu_percent_per_user: u32,
    /// How much of a CPU intervals may take, beyond usual ones, that users request shorter; of one user, half of it. Root has no limit.
    pub cpu_percent_of_intervals: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connections: 4096,
            connections_per_user: 1024,
            rings: 64,
            rings_per_user: 4,
            cpu_percent_per_user: 50,
            cpu_percent_of_intervals: 20,
        }
    }
}

/// The file as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct File {
    service: Service,
    ledger: OfLedger,
    audiences: Audience,
    limits: Limits,
    record: Recording,
}

#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Service {
    interval: f64,
    shortest_interval: f64,
}

impl Default for Service {
    fn default() -> Service {
        Service { interval: 1.0, shortest_interval: 0.1 }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct OfLedger {
    accounts: Vec<String>,
    accounts_of_readers: Vec<String>,
}

impl OfLedger {
    fn check(&self) -> Result<AccountPolicy, String> {
        let accounts = |key: &str, names: &[String]| {
            Accounts::by_names(names.iter().map(String::as_str)).map_err(|error| format!("`{key}`: {error}"))
        };
        Ok(AccountPolicy {
            own: accounts("accounts", &self.accounts)?,
            of_readers: accounts("accounts_of_readers", &self.accounts_of_readers)?,
        })
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Audience {
    users: Vec<String>,
    groups: Vec<String>,
    everyone: Everyone,
}

#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Recording {
    enabled: bool,
    directory: PathBuf,
    retain: String,
    min_free: String,
    tiers: Vec<String>,
}

impl Default for Recording {
    fn default() -> Recording {
        Recording {
            enabled: false,
            directory: place::OF_MACHINE.into(),
            retain: limits::USUAL_RETAIN.into(),
            min_free: limits::USUAL_MIN_FREE.into(),
            tiers: Vec::new(),
        }
    }
}

impl Recording {
    /// Its keys are right even where nothing is recorded.
    fn check(self) -> Result<Option<Record>, String> {
        let of = |key: &str| {
            let key = format!("`{key}` ");
            move |reason: String| key + &reason
        };
        if !self.directory.is_absolute() {
            return Err("`directory` must begin with /".into());
        }
        let record = Record {
            folder: self.directory,
            tiers: limits::tiers(self.tiers.iter().map(String::as_str)).map_err(of("tiers"))?,
            retain: Retain::parse(&self.retain).map_err(of("retain"))?,
            least_free_bytes: limits::size(&self.min_free)
                .ok_or_else(|| format!("`min_free` needs a size, as in `256MiB`, not `{}`", self.min_free))?,
        };
        Ok(self.enabled.then_some(record))
    }
}

impl Default for Config {
    fn default() -> Config {
        Config::check(File::default()).expect("the defaults are within their limits")
    }
}

impl Config {
    /// Reads the file of that path or, if there is none, the usual one. Where the usual one is missing, it has no say. One that had been there
    /// before, or had not been empty, is lost rather than meant to open everything: then the old configuration has to go on.
    ///
    /// # Errors
    /// [`Failure::Usage`] if it cannot be read, or says what cannot be.
    pub fn read(path: Option<&Path>, before: Option<Origin>) -> anyhow::Result<(Config, Origin)> {
        let place = path.map_or_else(|| PathBuf::from(USUAL_PATH), Path::to_path_buf);
        let refused = |reason: String| {
            Failure::Usage(format!("the configuration {} cannot be used: {reason}", place.display()))
        };
        let is_pipe = || fs::metadata(&place).is_ok_and(|file| file.file_type().is_fifo());
        if before.is_some() && is_pipe() {
            return Err(refused("it is a pipe, which has nothing to read the second time".into()).into());
        }
        let (text, origin) = match fs::read_to_string(&place) {
            Ok(text) if text.is_empty() => (text, Origin::Empty),
            Ok(text) => (text, Origin::Written),
            Err(error) if error.kind() == ErrorKind::NotFound && path.is_none() => {
                (String::new(), Origin::Missing)
            }
            Err(error) => {
                let sentence = format!("cannot read the configuration {}: {error}", place.display());
                return Err(Failure::Usage(sentence).into());
            }
        };
        if before.is_some_and(|before| before > origin) {
            let state = if origin == Origin::Empty { "is empty now" } else { "is gone" };
            let sentence = format!(
                "it {state}; if the defaults are wanted, write one with a comment, or restart the service"
            );
            return Err(refused(sentence).into());
        }
        Ok((Config::parse(&text).map_err(refused)?, origin))
    }

    /// With the interval that the command line asks for, if it does, and no reader shortens beyond it.
    #[must_use]
    pub fn with_interval(self, interval_ns: Option<u64>) -> Config {
        let Some(interval_ns) = interval_ns else { return self };
        let shortest_interval_ns = self.shortest_interval_ns.min(interval_ns);
        Config { interval_ns, shortest_interval_ns, ..self }
    }

    /// How long intervals are.
    pub fn bounds(&self) -> Bounds {
        let percent = self.limits.cpu_percent_of_intervals;
        Bounds { usual_ns: self.interval_ns, least_ns: self.shortest_interval_ns, percent }
    }

    /// Where and how it records. Intervals that a reader has asked to be shorter are merged again, unless the configuration has tiers.
    pub fn recording(&self) -> Option<Place> {
        let Record { folder, tiers, retain, least_free_bytes } = self.record.as_ref()?;
        let of_intervals = [Tier::new(Duration::from_nanos(self.interval_ns), None)];
        let tiers = if tiers.is_empty() { &of_intervals[..] } else { tiers };
        let options = limits::options(tiers, *retain, *least_free_bytes);
        Some(Place { path: folder.clone(), options })
    }

    fn parse(text: &str) -> Result<Config, String> {
        let file = toml::from_str(text).map_err(|error: toml::de::Error| place_of(&error, text))?;
        Config::check(file)
    }

    fn check(file: File) -> Result<Config, String> {
        let interval_ns = nanoseconds("interval", file.service.interval)?;
        let shortest_interval_ns = nanoseconds("shortest_interval", file.service.shortest_interval)?;
        if shortest_interval_ns > interval_ns {
            return Err("`shortest_interval` must not be longer than `interval`".into());
        }
        file.limits.check()?;
        let id = |name: &String, of: fn(&str) -> Option<u32>, kind: &str| {
            of(name).ok_or_else(|| format!("there is no {kind} `{name}`"))
        };
        let Audience { users, groups, everyone } = file.audiences;
        Ok(Config {
            interval_ns,
            shortest_interval_ns,
            audiences: Audiences {
                uids: users.iter().map(|name| id(name, uid_of, "user")).collect::<Result<_, _>>()?,
                gids: groups.iter().map(|name| id(name, gid_of, "group")).collect::<Result<_, _>>()?,
                everyone,
            },
            accounts: file.ledger.check()?,
            limits: file.limits,
            record: file.record.check()?,
        })
    }
}

impl Limits {
    fn check(&self) -> Result<(), String> {
        let Limits { connections, connections_per_user, rings, rings_per_user, .. } = *self;
        for (key, value) in [
            ("connections", connections),
            ("connections_per_user", connections_per_user),
            ("rings", rings),
            ("rings_per_user", rings_per_user),
        ] {
            if value == 0 {
                return Err(format!("`{key}` must be 1 or more"));
            }
        }
        for (key, percent) in [
            ("cpu_percent_per_user", self.cpu_percent_per_user),
            ("cpu_percent_of_intervals", self.cpu_percent_of_intervals),
        ] {
            if !(1..=100).contains(&percent) {
                return Err(format!("`{key}` must be from 1 to 100"));
            }
        }
        Ok(())
    }
}

impl Audiences {
    /// Whether the configuration lets a user see all.
    pub fn may_see_all(&self, uid: u32, is_member: impl Fn(u32) -> bool) -> bool {
        uid == 0 || self.uids.contains(&uid) || self.gids.iter().any(|gid| is_member(*gid))
    }
}

fn nanoseconds(key: &str, seconds: f64) -> Result<u64, String> {
    if !(LEAST_INTERVAL_S..=MOST_INTERVAL_S).contains(&seconds) {
        return Err(format!("`{key}` must be from {LEAST_INTERVAL_S} to {MOST_INTERVAL_S} seconds"));
    }
    // Both limits are far from those of the type.
    Ok((seconds * 1e9).round() as u64)
}

/// The line, and what is wrong there, in one sentence.
fn place_of(error: &toml::de::Error, text: &str) -> String {
    let message = error.message().trim_end_matches('\n').replace('\n', ", ");
    match error.span().and_then(|span| text.get(..span.start)) {
        Some(before) => format!("line {}: {message}", before.matches('\n').count() + 1),
        None => message,
    }
}

/// Writes to the caller's output what a file means, as `--check-config` does.
impl std::fmt::Display for Config {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let seconds = |ns: u64| ns as f64 / 1e9;
        let Audiences { uids, gids, everyone } = &self.audiences;
        writeln!(
            formatter,
            "Intervals take {} s; a reader may ask for {} s.",
            seconds(self.interval_ns),
            seconds(self.shortest_interval_ns)
        )?;
        write!(formatter, "All is shown to root")?;
        uids.iter().try_for_each(|uid| write!(formatter, ", user {uid}"))?;
        gids.iter().try_for_each(|gid| write!(formatter, ", members of group {gid}"))?;
        let others = match everyone {
            Everyone::Proc => "what /proc shows them as it is mounted",
            Everyone::Own => "their own processes, and the rest as one row",
            Everyone::Nothing => "nothing",
        };
        writeln!(formatter, ".\nOthers see {others}.")?;
        let AccountPolicy { own, of_readers } = self.accounts;
        let names = |accounts: Accounts| match accounts {
            Accounts::NONE => "nothing".to_owned(),
            accounts => accounts.to_string(),
        };
        writeln!(
            formatter,
            "Besides CPU time it keeps {}; a reader may ask for {}, and root for all.",
            names(own),
            names(of_readers)
        )?;
        let Limits { connections, connections_per_user, rings, rings_per_user, .. } = self.limits;
        writeln!(formatter, "There may be {connections} connections, {connections_per_user} of one user.")?;
        writeln!(formatter, "There may be {rings} rings of users, {rings_per_user} of one user.")?;
        writeln!(formatter, "The calls of a user may take {} % of a CPU.", self.limits.cpu_percent_per_user)?;
        writeln!(
            formatter,
            "Shorter intervals, if users request them, may take {} % of a CPU more than usual ones.",
            self.limits.cpu_percent_of_intervals
        )?;
        match self.recording() {
            None => writeln!(formatter, "Nothing is recorded."),
            Some(Place { path, options }) => {
                write!(formatter, "It records to {}", path.display())?;
                limits::explain(&options, formatter)?;
                writeln!(formatter, ".")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_file_and_none_mean_the_same() {
        let usual = Config::parse("").expect("nothing is said");
        assert_eq!(usual, Config::default());
        assert_eq!((usual.interval_ns, usual.shortest_interval_ns), (1_000_000_000, 100_000_000));
        assert_eq!(usual.audiences.everyone, Everyone::Proc);
        assert!(usual.audiences.may_see_all(0, |_| false) && !usual.audiences.may_see_all(1000, |_| true));
    }

    #[test]
    fn named_users_and_members_of_groups_see_all() {
        let text = "[audiences]\nusers = [\"12345\"]\ngroups = [\"root\"]\neveryone = \"self\"\n";
        let Config { audiences, .. } = Config::parse(text).expect("it is right");
        assert_eq!(audiences.everyone, Everyone::Own);
        assert!(audiences.may_see_all(12345, |_| false) && audiences.may_see_all(7, |gid| gid == 0));
        assert!(!audiences.may_see_all(7, |gid| gid == 5));
    }

    #[test]
    fn intervals_of_the_usual_length_are_recorded_where_it_is_enabled() {
        let of = |text: &str| Config::parse(text).expect("it is right").recording();
        assert_eq!((of(""), of("[record]\nretain = \"1d\"")), (None, None));
        let Place { path, options } = of("[record]\nenabled = true").expect("it records");
        let day = Duration::from_secs(86_400);
        assert_eq!(path, Path::new("/var/log/cpuledger"));
        assert_eq!(options.tiers, [Tier::new(Duration::from_secs(1), Some(7 * day))]);
        assert_eq!((options.most_bytes, options.least_free_bytes), (Some(2 << 30), Some(256 << 20)));
        let text = "[service]\ninterval = 2.0\n[record]\nenabled = true\ntiers = [\"1m:30d\"]\nretain = \"forever\"\n";
        let options = of(text).expect("it records").options;
        assert_eq!(options.tiers, [Tier::new(Duration::from_secs(60), Some(30 * day))]);
        assert_eq!(options.most_bytes, None);
        let text = Config::parse("[record]\nenabled = true").expect("it is right").to_string();
        let line = "It records to /var/log/cpuledger: intervals of 1 s for 7 d; at most 2 GiB, while 256 MiB stay free.\n";
        assert!(text.ends_with(line), "{text}");
    }

    #[test]
    fn what_cannot_be_is_refused_in_a_sentence() {
        for (text, words) in [
            ("[service]\ninterval = 0.001", "`interval` must be from"),
            ("[service]\ninterval = nan", "`interval` must be from"),
            ("[service]\ninterval = 0.1\nshortest_interval = 1.0", "must not be longer"),
            ("[service]\nintervall = 1.0", "line 2: unknown field `intervall`"),
            ("[audiences]\n\neveryone = \"all\"", "line 3: unknown variant `all`"),
            ("[audiences]\nusers = [\"no such user\"]", "there is no user `no such user`"),
            ("[ledger]\naccounts = [\"net\"]", "`accounts`: there is no account `net`"),
            ("[ledger]\naccount = []", "line 2: unknown field `account`"),
            ("[limits]\nconnections = 0", "`connections` must be 1 or more"),
            ("[limits]\nrings_per_user = 0", "`rings_per_user` must be 1 or more"),
            ("[limits]\ncpu_percent_per_user = 101", "must be from 1 to 100"),
            ("[limits]\ncpu_percent_of_intervals = 0", "`cpu_percent_of_intervals` must be from 1 to 100"),
            ("[record]\ndirectory = \"books\"", "`directory` must begin with /"),
            ("[record]\nretain = \"7\"", "`retain` needs a time, a size or both"),
            ("[record]\nmin_free = \"some\"", "`min_free` needs a size"),
            ("[record]\ntiers = [\"1y\"]", "`tiers` needs lengths"),
            ("[record]\nenable = true", "line 2: unknown field `enable`"),
            ("[service", "line 1: "),
        ] {
            let reason = Config::parse(text).expect_err(text);
            assert!(reason.contains(words) && !reason.contains('\n'), "{text}: {reason}");
        }
    }
}
