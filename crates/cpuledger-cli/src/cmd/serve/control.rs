//! The calls of readers: what each may have, and what it is given.

use std::collections::HashMap;
use std::sync::Arc;

use cpuledger::audience::{Strangers, Viewer};
use cpuledger::field::{FIELDS, Unit};
use cpuledger::{Field, FieldSet, Scope, facts, names};
use cpuledger_service::ring;
use cpuledger_service::server::{Answer, Handler, Peer};
use cpuledger_service::varlink::{
    self, Described, Description, Info, LedgerRequest, List, Listing, Refusal, SourceFacts, Subscribe,
    Subscription,
};

use super::audiences::{Audience, Audiences};
use super::books::Books;
use super::config::{Config, Everyone};
use super::listing::Listings;
use super::log::log;

const ALL: &str = "all";
const PROC: &str = "proc";
const SELF: &str = "self";

/// What a connection has.
#[derive(Debug, Default)]
struct Held {
    audiences: Vec<Audience>,
    /// The interval that it asks for.
    interval_ns: Option<u64>,
}

/// Answers calls.
pub struct Control {
    config: Config,
    audiences: Arc<Audiences>,
    books: Books,
    listings: Listings,
    held: HashMap<u64, Held>,
    attached_since_ns: u64,
}

impl Control {
    pub fn new(config: Config, audiences: Arc<Audiences>, books: Books, attached_since_ns: u64) -> Control {
        Control {
            config,
            audiences,
            books,
            listings: Listings::default(),
            held: HashMap::new(),
            attached_since_ns,
        }
    }

    /// Takes another configuration. What a reader has, it keeps until it subscribes again.
    pub fn configure(&mut self, config: Config) {
        self.config = config;
        self.choose_interval();
    }

    /// The shortest that a living reader asks for, if it is shorter than that of the configuration.
    fn choose_interval(&self) {
        let asked_for = self.held.values().filter_map(|held| held.interval_ns);
        let shortest_ns = asked_for.min().unwrap_or(self.config.interval_ns);
        let least_ns = self.config.shortest_interval_ns;
        self.books.set_interval(shortest_ns.min(self.config.interval_ns).max(least_ns));
    }

    /// The audiences that a peer may have, the widest first.
    fn audiences_of(&self, peer: &Peer) -> Vec<(&'static str, Audience)> {
        let policy = &self.config.audiences;
        let viewer = |strangers| Audience::User(Viewer { uid: peer.uid, gid: peer.gid, strangers });
        let groups = names::groups_of(peer.uid, peer.gid);
        let mut may_have = Vec::new();
        if policy.may_see_all(peer.uid, &groups) {
            may_have.push((ALL, Audience::All));
        }
        let is_named = !may_have.is_empty();
        if is_named || policy.everyone == Everyone::Proc {
            let shows_all = facts::procfs_shows_all(|gid| groups.contains(&gid));
            may_have.push((PROC, viewer(if shows_all { Strangers::Shown } else { Strangers::Summed })));
        }
        if is_named || policy.everyone != Everyone::Nothing {
            may_have.push((SELF, viewer(Strangers::Summed)));
        }
        may_have
    }

    /// The audience of that name, or the widest.
    fn audience(&self, peer: &Peer, wanted: Option<&str>) -> Result<(&'static str, Audience), Refusal> {
        let may_have = self.audiences_of(peer);
        let found = may_have.iter().find(|(name, _)| wanted.is_none_or(|wanted| wanted == *name)).copied();
        found.ok_or_else(|| match wanted {
            Some(name) if ![ALL, PROC, SELF].contains(&name) => {
                Refusal::NoSuchAudience { audience: name.into() }
            }
            _ => {
                log(&format!("refused user {} the audience {}", peer.uid, wanted.unwrap_or("of its own")));
                Refusal::PermissionDenied {
                    sentence: format!(
                        "the configuration of the service does not allow it to user {}",
                        peer.uid
                    ),
                }
            }
        })
    }

    fn info(&self, peer: &Peer) -> Info {
        Info {
            version: env!("CARGO_PKG_VERSION").into(),
            boot_id: cpuledger::machine::boot_id().unwrap_or_default(),
            interval_ns: self.books.interval_ns().cast_signed(),
            shortest_interval_ns: self.config.shortest_interval_ns.cast_signed(),
            audiences: self.audiences_of(peer).into_iter().map(|(name, _)| name.to_owned()).collect(),
            source: SourceFacts {
                source: "ledger".into(),
                attached_since_ns: Some(self.attached_since_ns.cast_signed()),
                unseen: Vec::new(),
            },
        }
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
        let (name, audience) = self.audience(peer, wanted.audience.as_deref())?;
        let unavailable = |sentence: String| Refusal::Unavailable { sentence };
        let ring = self.audiences.subscribe(audience).map_err(|error| unavailable(error.to_string()))?;
        let ring = ring.ok_or_else(|| Refusal::LimitReached {
            sentence: "the service has as many users as it can have rings for".into(),
        })?;
        let held = self.held.entry(peer.connection).or_default();
        held.audiences.push(audience);
        held.interval_ns = interval_ns;
        self.choose_interval();
        let subscription = Subscription {
            ring: 0,
            layout: ring::VERSION,
            audience: name.into(),
            interval_ns: self.books.interval_ns().cast_signed(),
        };
        Answer::new(&subscription, vec![Arc::new(ring)])
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
        let sealed = self.listings.list(audience, scope, fields)?;
        let listing = Listing { frame: 0, length: sealed.length, audience: name.into() };
        Answer::new(&listing, vec![sealed.frame])
    }
}

impl Handler for Control {
    fn begin_turn(&mut self) {
        self.listings.begin();
    }

    fn answer(&mut self, peer: &Peer, request: LedgerRequest) -> Result<Answer, Refusal> {
        match request {
            LedgerRequest::Info => Answer::new(&self.info(peer), Vec::new()),
            LedgerRequest::Subscribe(wanted) => self.subscribe(peer, &wanted),
            LedgerRequest::List(wanted) => self.list(peer, &wanted),
            LedgerRequest::Describe => Answer::new(&description(), Vec::new()),
        }
    }

    fn closed(&mut self, peer: &Peer) {
        let Some(held) = self.held.remove(&peer.connection) else { return };
        held.audiences.into_iter().for_each(|audience| self.audiences.unsubscribe(audience));
        if held.interval_ns.is_some() {
            self.choose_interval();
        }
    }
}

fn description() -> Description {
    let fields = FIELDS.iter().map(|info| Described {
        key: info.key.into(),
        unit: match info.unit {
            Unit::None => "none",
            Unit::Count => "count",
            Unit::Nanoseconds => "ns",
            Unit::Bytes => "bytes",
        }
        .into(),
        help: info.help.into(),
    });
    Description { fields: fields.collect() }
}
