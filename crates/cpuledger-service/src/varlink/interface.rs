//! The methods of the interfaces: parameters and replies as types.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::message::{Call, Reply};
use super::names::{INTERFACE, LEDGER_DESCRIPTION, SERVICE_DESCRIPTION, SERVICE_INTERFACE};
use super::refusal::Refusal;

/// A call of a method that is declared, with parameters as they are declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// Of the interface that every service has.
    Service(ServiceRequest),
    /// Of the ledger.
    Ledger(LedgerRequest),
}

/// A call of [`SERVICE_INTERFACE`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServiceRequest {
    /// What the service is.
    GetInfo,
    /// The description of an interface.
    GetInterfaceDescription {
        /// Its name.
        interface: String,
    },
}

/// A call of [`INTERFACE`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LedgerRequest {
    /// What the service is, and what the caller may have: answered by an [`Info`].
    Info,
    /// A ring: answered by a [`Subscription`].
    Subscribe(Subscribe),
    /// A listing: answered by a [`Listing`].
    List(List),
    /// The fields: answered by a [`Description`].
    Describe,
}

/// The parameters of `Subscribe`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Subscribe {
    /// The longest interval that suits the caller; none: that of the service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_ns: Option<i64>,
    /// The name of an audience; none: the widest that the caller may have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audience: Option<String>,
    /// What the service shall keep besides, by name; none: nothing more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accounts: Option<Vec<String>>,
}

/// What `Subscribe` answers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Subscription {
    /// The index of the descriptor of the ring.
    pub ring: usize,
    /// The version of its layout.
    pub layout: u64,
    /// The audience that it is for.
    pub audience: String,
    /// The interval that frames have from now on.
    pub interval_ns: i64,
    /// The accounts that are kept from now on. An older service keeps none.
    #[serde(default)]
    pub accounts: Vec<String>,
}

/// Which tasks a listing has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// The leader of each process.
    Leaders,
    /// Each process, with the sums over its threads.
    Processes,
    /// Each process, and each of its tasks.
    Tasks,
}

/// The parameters of `List`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct List {
    /// Which tasks.
    pub scope: Scope,
    /// The keys of the fields.
    pub fields: Vec<String>,
}

impl List {
    /// These tasks, with these fields.
    pub fn new(scope: Scope, fields: Vec<String>) -> List {
        List { scope, fields }
    }
}

/// What `List` answers. The bytes of the frame follow.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Listing {
    /// The length of the frame in bytes.
    pub length: u64,
    /// The audience that it was made for.
    pub audience: String,
}

/// What `Info` answers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Info {
    /// The version of cpuledger.
    pub version: String,
    /// The identity of this boot of the machine.
    pub boot_id: String,
    /// The interval that frames have at present.
    pub interval_ns: i64,
    /// The shortest that a caller may ask for.
    pub shortest_interval_ns: i64,
    /// The audiences that the caller may subscribe to, the widest first.
    pub audiences: Vec<String>,
    /// Where the figures come from.
    pub source: SourceFacts,
    /// The directory that it records to. An older service does not tell it.
    #[serde(default)]
    pub recording: Option<String>,
    /// Intervals since it was started whose times do not add up. An older service does not tell it.
    #[serde(default)]
    pub unbalanced_intervals: Option<i64>,
    /// What it keeps besides CPU time. An older service keeps nothing.
    #[serde(default)]
    pub accounts: Vec<String>,
    /// The accounts that the caller may ask for.
    #[serde(default)]
    pub possible_accounts: Vec<String>,
}

/// Where the figures come from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SourceFacts {
    /// The name of the source.
    pub source: String,
    /// When it was attached, by CLOCK_MONOTONIC.
    #[serde(default)]
    pub attached_since_ns: Option<i64>,
    /// What it cannot see on this machine, a sentence each.
    pub unseen: Vec<String>,
}

/// What `Describe` answers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Description {
    /// The fields that a row may have.
    pub fields: Vec<Described>,
}

/// A field of a row.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Described {
    /// Its name in frames, JSON and CSV.
    pub key: String,
    /// Its unit.
    pub unit: String,
    /// What it tells.
    pub help: String,
}

impl Request {
    /// The method and the parameters of a call, checked against the interface.
    ///
    /// # Errors
    /// When the interface does not declare it so.
    pub fn of(call: &Call) -> Result<Request, Refusal> {
        let (interface, name) = call.interface_and_name().unwrap_or_default();
        let missing = || Refusal::MethodNotFound { method: call.method.clone() };
        match interface {
            SERVICE_INTERFACE => Ok(Request::Service(match name {
                "GetInfo" => ServiceRequest::GetInfo,
                "GetInterfaceDescription" => {
                    ServiceRequest::GetInterfaceDescription { interface: parameter(call, "interface")? }
                }
                _ => return Err(missing()),
            })),
            INTERFACE => Ok(Request::Ledger(match name {
                "Info" => LedgerRequest::Info,
                "Subscribe" => LedgerRequest::Subscribe(Subscribe {
                    interval_ns: parameter(call, "interval_ns")?,
                    audience: parameter(call, "audience")?,
                    accounts: parameter(call, "accounts")?,
                }),
                "List" if !call.upgrade => return Err(Refusal::UpgradeNeeded),
                "List" => LedgerRequest::List(List {
                    scope: parameter(call, "scope")?,
                    fields: parameter(call, "fields")?,
                }),
                "Describe" => LedgerRequest::Describe,
                _ => return Err(missing()),
            })),
            _ => Err(Refusal::InterfaceNotFound { interface: interface.to_owned() }),
        }
    }
}

/// A parameter by its name; what is left out is null.
fn parameter<'call, T: Deserialize<'call>>(call: &'call Call, name: &str) -> Result<T, Refusal> {
    let value = call.parameters.get(name).unwrap_or(&Value::Null);
    T::deserialize(value).map_err(|_| Refusal::InvalidParameter { parameter: name.to_owned() })
}

impl ServiceRequest {
    /// The reply of a service of this version.
    ///
    /// # Errors
    /// When there is no such interface.
    pub fn reply(&self, version: &str) -> Result<Reply, Refusal> {
        let parameters = match self {
            ServiceRequest::GetInfo => serde_json::json!({
                "vendor": "cpuledger",
                "product": "cpuledger",
                "version": version,
                "url": env!("CARGO_PKG_REPOSITORY"),
                "interfaces": [SERVICE_INTERFACE, INTERFACE],
            }),
            ServiceRequest::GetInterfaceDescription { interface } => {
                let description = match interface.as_str() {
                    SERVICE_INTERFACE => SERVICE_DESCRIPTION,
                    INTERFACE => LEDGER_DESCRIPTION,
                    _ => return Err(Refusal::InterfaceNotFound { interface: interface.clone() }),
                };
                serde_json::json!({ "description": description })
            }
        };
        Reply::new(&parameters).map_err(|fault| Refusal::Unavailable { sentence: fault.to_string() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn request(method: &str, parameters: Value) -> Result<Request, Refusal> {
        Request::of(&Call { upgrade: true, ..Call::new(method, &parameters).expect("a call") })
    }

    #[test]
    fn calls_of_what_is_declared_are_requests() {
        let list =
            request("io.cpuledger.Ledger.List", json!({ "scope": "tasks", "fields": ["pid", "comm"] }));
        let fields = vec!["pid".to_owned(), "comm".to_owned()];
        assert_eq!(list, Ok(Request::Ledger(LedgerRequest::List(List { scope: Scope::Tasks, fields }))));
        let subscribe = request("io.cpuledger.Ledger.Subscribe", json!({ "interval_ns": null }));
        assert_eq!(subscribe, Ok(Request::Ledger(LedgerRequest::Subscribe(Subscribe::default()))));
        assert_eq!(request("io.cpuledger.Ledger.Info", json!({})), Ok(Request::Ledger(LedgerRequest::Info)));
    }

    #[test]
    fn what_is_not_declared_is_refused_by_its_name() {
        let refused = |method: &str, parameters| request(method, parameters).expect_err(method);
        assert_eq!(
            refused("io.cpuledger.Ledger.List", json!({ "scope": "all", "fields": [] })),
            Refusal::InvalidParameter { parameter: "scope".into() }
        );
        assert_eq!(
            refused("io.cpuledger.Ledger.List", json!({ "scope": "tasks" })),
            Refusal::InvalidParameter { parameter: "fields".into() }
        );
        assert_eq!(
            refused("io.cpuledger.Ledger.Subscribe", json!({ "interval_ns": 0.5 })),
            Refusal::InvalidParameter { parameter: "interval_ns".into() }
        );
        let call = Call::new("io.cpuledger.Ledger.List", &json!({ "scope": "tasks", "fields": [] }));
        assert_eq!(Request::of(&call.expect("a call")), Err(Refusal::UpgradeNeeded));
        assert_eq!(
            refused("io.cpuledger.Ledger.Destroy", json!({})),
            Refusal::MethodNotFound { method: "io.cpuledger.Ledger.Destroy".into() }
        );
        assert_eq!(
            refused("io.cpuledger.Other.Info", json!({})),
            Refusal::InterfaceNotFound { interface: "io.cpuledger.Other".into() }
        );
    }

    /// The types here and the description say the same: each key of a reply is declared in the method or the type of that name.
    #[test]
    fn replies_have_the_keys_that_are_declared() {
        let source = SourceFacts { source: String::new(), attached_since_ns: None, unseen: Vec::new() };
        let info = Info {
            version: String::new(),
            boot_id: String::new(),
            interval_ns: 0,
            shortest_interval_ns: 0,
            audiences: Vec::new(),
            source: source.clone(),
            recording: None,
            unbalanced_intervals: Some(0),
            accounts: Vec::new(),
            possible_accounts: Vec::new(),
        };
        let audience = String::new();
        let subscription = Subscription {
            ring: 0,
            layout: 1,
            audience: audience.clone(),
            interval_ns: 0,
            accounts: Vec::new(),
        };
        let field = Described { key: String::new(), unit: String::new(), help: String::new() };
        compare("type SourceFacts (", &source);
        compare("method Info() -> (", &info);
        compare(
            "method Subscribe(interval_ns: ?int, audience: ?string, accounts: ?[]string) -> (",
            &subscription,
        );
        compare("type Field (", &field);
        compare("method List(scope: Scope, fields: []string) -> (", &Listing { length: 0, audience });
        compare("method Describe() -> (", &Description { fields: vec![field] });
        let scopes = [Scope::Leaders, Scope::Processes, Scope::Tasks].map(|scope| json!(scope));
        let names: Vec<&str> = scopes.iter().filter_map(Value::as_str).collect();
        assert!(LEDGER_DESCRIPTION.contains(&format!("type Scope ({})", names.join(", "))));
    }

    fn compare(declaration: &str, reply: &impl Serialize) {
        let rest = LEDGER_DESCRIPTION.split(declaration).nth(1).expect(declaration);
        let lines = rest[..rest.find(')').expect("an end")].lines().map(str::trim);
        let mut declared: Vec<&str> = lines
            .filter(|line| !line.starts_with('#'))
            .flat_map(|line| line.split(','))
            .filter_map(|member| member.trim().split_once(": "))
            .map(|(key, _)| key)
            .collect();
        declared.sort_unstable();
        let reply = serde_json::to_value(reply).expect("JSON");
        let mut keys: Vec<&String> = reply.as_object().expect("an object").keys().collect();
        keys.sort_unstable();
        assert_eq!(declared, keys, "{declaration}");
    }
}
