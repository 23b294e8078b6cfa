//! The calls of readers: what each may have, and what it is given.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cpuledger::accounts::NoAccount;
use cpuledger::facts::{self, Hiding};
use cpuledger::field::{FIELDS, Unit};
use cpuledger::source::ledger::lacks;
use cpuledger::{Accounts, Field, FieldSet, Scope};
use cpuledger_model::audience::{Strangers, Viewer};
use cpuledger_model::make;
use cpuledger_service::ring::{self, RingError};
use cpuledger_service::server::{Answer, FOREIGN, Gathering, Handler, Peer};
use cpuledger_service::varlink::{
    self, Described, Description, Info, LedgerRequest, List, Listing, Refusal, SourceFacts, Subscribe,
    Subscription,
};

use super::audiences::{Audience, Audiences};
use super::books::Books;
use super::budget::Budgets;
use super::config::{AccountPolicy, Config, Everyone};
use super::listing::Listings;
use super::log::log_of_reader;
use super::room::USERS_BYTES;

const ALL: &str = "all";
const PROC: &str = "proc";
const SELF: &str = "self";

/// How long it is believed that /proc is mounted as it was.
const MOUNT_HOLDS: Duration = Duration::from_secs(1);
/// After a turn whose listings took longer than this, calls gather.
const LONG_LISTING: Duration = Duration::from_millis(6);
/// Calls gather for this times as long as the last listing took.
const PAUSE_TIMES: u32 = 5;
/// Until none has come for that long, but no longer than this.
const LONGEST_PAUSE: Duration = Duration::from_millis(50);
/// Nor that number of times as long.
const MOST_PAUSES: u32 = 4;
/// Calls that are refused may take that part of what others may. Beyond it they are not read, for a refusal takes CPU time, too.
const UNANSWERED_PART: u32 = 5;

/// Answers calls.
pub struct Control {
    config: Config,
    audiences: Arc<Audiences>,
    books: Books,
    listings: Listings,
    /// The audiences that each connection reads: one ring for each.
    read: HashMap<u64, Vec<Audience>>,
    budgets: Budgets,
    /// What calls may take that are refused as a budget is spent, or ask for nothing of the ledger.
    unanswered: Budgets,
    /// Whether the last call was another one.
    is_answered: bool,
    /// How /proc hides processes, and when that was looked at.
    mount: Option<(Option<Hiding>, Instant)>,
    attached_since_ns: u64,
    /// What the listings of this turn have taken, and how many there were.
    listed_for: Duration,
    listings_of_turn: usize,
}

impl Control {
    pub fn new(config: Config, audiences: Arc<Audiences>, books: Books, attached_since_ns: u64) -> Control {
        Control {
            config,
            audiences,
            listings: Listings::new(books.clone()),
            books,
            read: HashMap::new(),
            budgets: Budgets::default(),
            unanswered: Budgets::default(),
            is_answered: false,
            mount: None,
            attached_since_ns,
            listed_for: Duration::ZERO,
            listings_of_turn: 0,
        }
    }

    /// Does what the first listing would have to wait for.
    pub fn prepare_listings(&mut self) {
        self.listings.prepare();
    }

    /// Takes another configuration. What a reader has, it keeps until it subscribes again.
    pub fn configure(&mut self, config: Config) {
        self.books.change_requests(|requests| requests.configure(config.bounds(), config.accounts.own));
        self.config = config;
    }

    /// Whether the mount of /proc shows the processes of all users to this one.
    fn procfs_shows_all(&mut self, peer: &Peer) -> bool {
        let now = Instant::now();
        let hiding = match self.mount {
            Some((hiding, at)) if now.saturating_duration_since(at) < MOUNT_HOLDS => hiding,
            _ => self.mount.insert((facts::procfs_hiding(), now)).0,
        };
        let shows_all = hiding.and_then(|hiding| hiding.shows_all(Some(false), |gid| peer.is_member(gid)));
        shows_all.unwrap_or(false)
    }

    /// The audiences that a peer may have, the widest first.
    fn audiences_of(&mut self, peer: &Peer) -> Vec<(&'static str, Audience)> {
        let shows_all = self.procfs_shows_all(peer);
        let policy = &self.config.audiences;
        // Within another user namespace nothing is its own, so all of these are shown the same.
        let may_trace_own = peer.is_in_our_namespace;
        let (uid, gid) = if may_trace_own { (peer.uid, peer.gid) } else { (FOREIGN, FOREIGN) };
        let viewer = |strangers| Audience::User(Viewer { uid, gid, may_trace_own, strangers });
        let mut may_have = Vec::new();
        if policy.may_see_all(peer.uid, |gid| peer.is_member(gid)) {
            may_have.push((ALL, Audience::All));
        }
        let is_named = !may_have.is_empty();
        if is_named || policy.everyone == Everyone::Proc {
            may_have.push((PROC, viewer(if shows_all { Strangers::Shown } else { Strangers::Summed })));
        }
        if is_named || policy.everyone != Everyone::Nothing {
            may_have.push((SELF, viewer(Strangers::Summed)));
        }
        may_have
    }

    /// The audience of that name, or the widest.
    fn audience(&mut self, peer: &Peer, wanted: Option<&str>) -> Result<(&'static str, Audience), Refusal> {
        let may_have = self.audiences_of(peer);
        let found = may_have.iter().find(|(name, _)| wanted.is_none_or(|wanted| wanted == *name)).copied();
        found.ok_or_else(|| match wanted {
            Some(name) if ![ALL, PROC, SELF].contains(&name) => {
                Refusal::NoSuchAudience { audience: name.into() }
            }
            _ => {
                let name = wanted.unwrap_or("of its own");
                log_of_reader(&format!("refused user {} the audience {name}", peer.uid));
                Refusal::PermissionDenied {
                    sentence: format!(
                        "the configuration of the service does not allow it to user {}",
                        peer.uid
                    ),
                }
            }
        })
    }

    fn info(&mut self, peer: &Peer) -> Info {
        make!(Info {
            version: env!("CARGO_PKG_VERSION").into(),
            boot_id: cpuledger::machine::boot_id().unwrap_or_default(),
            interval_ns: self.books.interval_ns().cast_signed(),
            shortest_interval_ns: self.config.shortest_interval_ns.cast_signed(),
            audiences: self.audiences_of(peer).into_iter().map(|(name, _)| name.to_owned()).collect(),
            source: make!(SourceFacts {
                source: "ledger".into(),
                attached_since_ns: Some(self.attached_since_ns.cast_signed()),
                unseen: Vec::new(),
            }),
            recording: self.config.recording().and_then(|place| Some(place.path.to_str()?.to_owned())),
            unbalanced_intervals: i64::try_from(cpuledger::balance::faults()).ok(),
            accounts: names_of(self.books.accounts()),
            possible_accounts: names_of(self.possible_accounts(peer)),
        })
    }

    fn subscribe(&mut self, peer: &Peer, wanted: &Subscribe) -> Result<Answer, Refusal> {
        let interval_ns = match wanted.interval_ns.map(u64::try_from).transpose() {
            Ok(interval_ns) => interval_ns,
            Err(_) => return Err(Refusal::InvalidParameter { parameter: "interval_ns".into() }),
        };
        let least_ns = self.config.shortest_interval_ns;
        if interval_ns.is_some_and(|wanted_ns| wanted_ns < least_ns) {
            return Err(Refusal::IntervalTooShort { shortest_interval_ns: least_ns.cast_signed() });
        }
        let accounts = self.accounts(peer, wanted.accounts.as_deref().unwrap_or_default())?;
        let (name, audience) = self.audience(peer, wanted.audience.as_deref())?;
        let unavailable = |sentence: String| Refusal::Unavailable { sentence };
        // A second call for the same audience asks for its ring again, which another one may have followed.
        let is_new = !self.read.get(&peer.connection).is_some_and(|audiences| audiences.contains(&audience));
        let limits = &self.config.limits;
        let ring = self
            .audiences
            .subscribe(audience, is_new, limits)
            .map_err(|error| match error {
                RingError::TooLong { length, .. } => Refusal::LimitReached {
                    sentence: format!(
                        "the rings of users have {} MiB together, and too little is left for an interval of {} KiB",
                        USERS_BYTES >> 20,
                        length.div_ceil(1024)
                    ),
                },
                error => unavailable(error.to_string()),
            })?;
        let ring = ring.ok_or_else(|| Refusal::LimitReached {
            sentence: format!(
                "the service has as many rings as its configuration allows: {} of a user, {} in all",
                limits.rings_per_user, limits.rings
            ),
        })?;
        if is_new {
            self.read.entry(peer.connection).or_default().push(audience);
        }
        if let Some(interval_ns) = interval_ns {
            self.books.change_requests(|requests| {
                requests.add((peer.connection, audience), peer.user(), interval_ns);
            });
        }
        self.books.change_requests(|requests| requests.ask_for((peer.connection, audience), accounts));
        let subscription = make!(Subscription {
            ring: 0,
            layout: ring::VERSION,
            audience: name.into(),
            interval_ns: self.books.interval_ns().cast_signed(),
            accounts: names_of(self.books.accounts()),
        });
        Answer::new(&subscription, vec![Arc::new(ring)])
    }

    /// The accounts that a caller may ask for.
    fn possible_accounts(&self, peer: &Peer) -> Accounts {
        let AccountPolicy { own, of_readers } = self.config.accounts;
        if peer.user() == 0 { Accounts::ALL } else { own.union(of_readers) }
    }

    /// Those of these names, if the caller may have them and the kernel can keep them.
    fn accounts(&self, peer: &Peer, names: &[String]) -> Result<Accounts, Refusal> {
        let wanted = Accounts::by_names(names.iter().map(String::as_str))
            .map_err(|NoAccount(account)| Refusal::NoSuchAccount { account })?;
        let denied = wanted.without(self.possible_accounts(peer));
        if !denied.is_empty() {
            let sentence = format!(
                "the configuration of the service does not let user {} ask for {denied}: an administrator adds it to \
                 `accounts_of_readers`",
                peer.uid
            );
            return Err(Refusal::PermissionDenied { sentence });
        }
        match wanted.iter().find_map(lacks) {
            Some(error) => Err(Refusal::Unavailable { sentence: error.to_string() }),
            None => Ok(wanted),
        }
    }

    fn list(&mut self, peer: &Peer, wanted: &List) -> Result<Answer, Refusal> {
        let (name, audience) = self.audience(peer, None)?;
        // Which task it is, a row always tells.
        let mut fields = FieldSet::of(&[Field::Tid, Field::Pid, Field::StartTime]);
        for key in &wanted.fields {
            let field = Field::by_key(key).ok_or_else(|| Refusal::NoSuchField { field: key.clone() })?;
            fields = fields.union(FieldSet::of(&[field]));
        }
        let scope = match wanted.scope {
            varlink::Scope::Leaders => Scope::Leaders,
            varlink::Scope::Processes => Scope::Processes,
            varlink::Scope::Tasks => Scope::Tasks,
        };
        let begin = Instant::now();
        let frame = self.listings.list(audience, scope, fields);
        self.listed_for += begin.elapsed();
        self.listings_of_turn += 1;
        let frame = frame?;
        let listing = make!(Listing { length: frame.len() as u64, audience: name.into() });
        Ok(make!(Answer { frame: Some(frame), ..Answer::new(&listing, Vec::new())? }))
    }
}

impl Handler for Control {
    /// Many that list at once come one after the other, and each walk would be for few of them. So calls gather if more than one was
    /// answered, or if another has come meanwhile. One that lists again and again does not wait.
    fn end_turn(&mut self) -> Option<Gathering> {
        self.listings.end_turn();
        let listed_for = std::mem::take(&mut self.listed_for);
        let was_alone = std::mem::take(&mut self.listings_of_turn) < 2;
        let pause = (PAUSE_TIMES * listed_for).min(LONGEST_PAUSE);
        let gathering = make!(Gathering { least: was_alone.into(), pause, longest: pause * MOST_PAUSES });
        Some(gathering).filter(|_| listed_for >= LONG_LISTING)
    }

    fn answer(&mut self, peer: &Peer, request: LedgerRequest) -> Result<Answer, Refusal> {
        let percent = self.config.limits.cpu_percent_per_user;
        self.budgets.check(peer.user(), percent, Instant::now()).map_err(|wait| Refusal::LimitReached {
            sentence: format!(
                "the calls of user {} have taken more than {percent} % of a CPU; call again in {:.1} s",
                peer.uid,
                wait.as_secs_f64()
            ),
        })?;
        self.is_answered = true;
        match request {
            LedgerRequest::Info => Answer::new(&self.info(peer), Vec::new()),
            LedgerRequest::Subscribe(wanted) => self.subscribe(peer, &wanted),
            LedgerRequest::List(wanted) => self.list(peer, &wanted),
            LedgerRequest::Describe => Answer::new(&description(), Vec::new()),
        }
    }

    fn may_call(&mut self, peer: &Peer) -> Result<(), Duration> {
        let percent = (self.config.limits.cpu_percent_per_user / UNANSWERED_PART).max(1);
        self.unanswered.check(peer.user(), percent, Instant::now())
    }

    fn has_called(&mut self, peer: &Peer, time: Duration) {
        self.budgets.charge(peer.user(), time);
        if !std::mem::take(&mut self.is_answered) {
            self.unanswered.charge(peer.user(), time);
        }
    }

    fn has_used(&mut self, peer: &Peer, time: Duration) {
        self.budgets.charge(peer.user(), time);
    }

    fn closed(&mut self, peer: &Peer) {
        for audience in self.read.remove(&peer.connection).into_iter().flatten() {
            self.audiences.unsubscribe(audience);
            self.books.change_requests(|requests| requests.remove((peer.connection, audience)));
        }
    }
}

fn names_of(accounts: Accounts) -> Vec<String> {
    accounts.iter().map(|account| account.name().to_owned()).collect()
}

fn description() -> Description {
    let fields = FIELDS.iter().map(|info| {
        make!(Described {
            key: info.key.into(),
            unit: match info.unit {
                Unit::None => "none",
                Unit::Count => "count",
                Unit::Nanoseconds => "ns",
                Unit::Bytes => "bytes",
            }
            .into(),
            help: info.help.into(),
        })
    });
    make!(Description { fields: fields.collect() })
}
