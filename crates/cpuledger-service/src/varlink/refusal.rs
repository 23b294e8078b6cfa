//! The errors of the interfaces: what a service refuses, by the name that is declared, with a sentence.

use serde_json::{Map, Value, json};

use super::message::Reply;
use super::names::INTERFACE;

/// What a call is refused for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The service has no such interface.
    #[error("the service has no interface '{interface}'")]
    InterfaceNotFound {
        /// Its name.
        interface: String,
    },
    /// The interface has no such method.
    #[error("the service has no method '{method}'")]
    MethodNotFound {
        /// Its name.
        method: String,
    },
    /// A parameter is missing, or has another type.
    #[error("parameter '{parameter}' is missing, or is not what the interface says")]
    InvalidParameter {
        /// Its name.
        parameter: String,
    },
    /// The configuration does not allow it to this caller.
    #[error("{sentence}")]
    PermissionDenied {
        /// What is not allowed, and what would allow it.
        sentence: String,
    },
    /// No audience has this name.
    #[error("there is no audience '{audience}': 'all', 'proc' and 'self' are")]
    NoSuchAudience {
        /// The name.
        audience: String,
    },
    /// The configuration allows no interval of this length.
    #[error("the shortest interval that this service allows is {shortest_interval_ns} ns")]
    IntervalTooShort {
        /// The shortest that it allows.
        shortest_interval_ns: i64,
    },
    /// No account has this name.
    #[error("there is no account '{account}': 'blame', 'disk', 'network' and 'pairs' are")]
    NoSuchAccount {
        /// The name.
        account: String,
    },
    /// No field has this key.
    #[error("there is no field '{field}': Describe() lists them")]
    NoSuchField {
        /// The key.
        field: String,
    },
    /// A listing was asked for without the flag `upgrade`.
    #[error("the bytes of a listing follow its reply: call List with the flag `upgrade` of Varlink")]
    UpgradeNeeded,
    /// The caller, or all callers together, have what the service gives at most.
    #[error("{sentence}")]
    LimitReached {
        /// Which limit.
        sentence: String,
    },
    /// The service lacks at the moment what the answer takes.
    #[error("{sentence}")]
    Unavailable {
        /// What it lacks, and for how long.
        sentence: String,
    },
    /// An error that this version does not know.
    #[error("{sentence}")]
    Other {
        /// The interface, a dot, the error.
        name: String,
        /// What it says, or its name.
        sentence: String,
    },
}

impl Refusal {
    /// The reply that says so.
    pub fn to_reply(&self) -> Reply {
        let sentence = self.to_string();
        let (name, parameters) = match self {
            Refusal::InterfaceNotFound { interface } => {
                return standard("InterfaceNotFound", "interface", interface);
            }
            Refusal::MethodNotFound { method } => return standard("MethodNotFound", "method", method),
            Refusal::InvalidParameter { parameter } => {
                return standard("InvalidParameter", "parameter", parameter);
            }
            Refusal::PermissionDenied { .. } => ("PermissionDenied", json!({})),
            Refusal::NoSuchAudience { audience } => ("NoSuchAudience", json!({ "audience": audience })),
            Refusal::IntervalTooShort { shortest_interval_ns } => {
                ("IntervalTooShort", json!({ "shortest_interval_ns": shortest_interval_ns }))
            }
            Refusal::NoSuchAccount { account } => ("NoSuchAccount", json!({ "account": account })),
            Refusal::NoSuchField { field } => ("NoSuchField", json!({ "field": field })),
            Refusal::UpgradeNeeded => ("UpgradeNeeded", json!({})),
            Refusal::LimitReached { .. } => ("LimitReached", json!({})),
            Refusal::Unavailable { .. } => ("Unavailable", json!({})),
            Refusal::Other { name, .. } => return error(name.clone(), json!({})),
        };
        let mut reply = error(format!("{INTERFACE}.{name}"), parameters);
        reply.parameters.insert("sentence".to_owned(), sentence.into());
        reply
    }

    /// What a reply refuses; `None`: it is no error.
    pub fn of(reply: &Reply) -> Option<Refusal> {
        let name = reply.error.as_deref()?;
        let text =
            |key: &str| reply.parameters.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let sentence = text("sentence");
        let own = name.strip_prefix(INTERFACE).and_then(|rest| rest.strip_prefix('.'));
        let standard = name.strip_prefix("org.varlink.service.");
        Some(match (own, standard) {
            (Some("PermissionDenied"), _) => Refusal::PermissionDenied { sentence },
            (Some("NoSuchAudience"), _) => Refusal::NoSuchAudience { audience: text("audience") },
            (Some("IntervalTooShort"), _) => Refusal::IntervalTooShort {
                shortest_interval_ns: reply
                    .parameters
                    .get("shortest_interval_ns")
                    .and_then(Value::as_i64)
                    .unwrap_or_default(),
            },
            (Some("NoSuchAccount"), _) => Refusal::NoSuchAccount { account: text("account") },
            (Some("NoSuchField"), _) => Refusal::NoSuchField { field: text("field") },
            (Some("UpgradeNeeded"), _) => Refusal::UpgradeNeeded,
            (Some("LimitReached"), _) => Refusal::LimitReached { sentence },
            (Some("Unavailable"), _) => Refusal::Unavailable { sentence },
            (_, Some("InterfaceNotFound")) => Refusal::InterfaceNotFound { interface: text("interface") },
            (_, Some("MethodNotFound")) => Refusal::MethodNotFound { method: text("method") },
            (_, Some("InvalidParameter")) => Refusal::InvalidParameter { parameter: text("parameter") },
            _ => {
                let sentence =
                    if sentence.is_empty() { format!("the service answers {name}") } else { sentence };
                Refusal::Other { name: name.to_owned(), sentence }
            }
        })
    }
}

fn standard(name: &str, key: &str, value: &str) -> Reply {
    error(format!("org.varlink.service.{name}"), json!({ key: value }))
}

fn error(name: String, parameters: Value) -> Reply {
    let parameters = match parameters {
        Value::Object(parameters) => parameters,
        _ => Map::new(),
    };
    Reply { parameters, continues: false, error: Some(name) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::varlink::names::{LEDGER_DESCRIPTION, SERVICE_DESCRIPTION};

    fn all() -> Vec<Refusal> {
        let text = || "a".to_owned();
        vec![
            Refusal::InterfaceNotFound { interface: text() },
            Refusal::MethodNotFound { method: text() },
            Refusal::InvalidParameter { parameter: text() },
            Refusal::PermissionDenied { sentence: text() },
            Refusal::NoSuchAudience { audience: text() },
            Refusal::IntervalTooShort { shortest_interval_ns: 100 },
            Refusal::NoSuchAccount { account: text() },
            Refusal::NoSuchField { field: text() },
            Refusal::UpgradeNeeded,
            Refusal::LimitReached { sentence: text() },
            Refusal::Unavailable { sentence: text() },
        ]
    }

    #[test]
    fn each_comes_back_and_is_declared_with_its_parameters() {
        for refusal in all() {
            let reply = refusal.to_reply();
            assert_eq!(Refusal::of(&reply), Some(refusal));
            let (interface, name) =
                reply.error.as_deref().and_then(|name| name.rsplit_once('.')).expect("a name");
            let description = if interface == INTERFACE { LEDGER_DESCRIPTION } else { SERVICE_DESCRIPTION };
            let declared = description.split(&format!("error {name} (")).nth(1).expect(name);
            let declared = &declared[..declared.find(')').expect("an end")];
            for key in reply.parameters.keys() {
                assert!(declared.contains(&format!("{key}: ")), "{name}: {key}");
            }
            assert_eq!(declared.matches(": ").count(), reply.parameters.len(), "{name}");
        }
    }

    #[test]
    fn an_unknown_error_is_told_by_its_name() {
        let reply = error("org.example.Strange".to_owned(), json!({}));
        assert_eq!(
            Refusal::of(&reply).expect("an error").to_string(),
            "the service answers org.example.Strange"
        );
        assert_eq!(Refusal::of(&Reply::default()), None);
    }
}
