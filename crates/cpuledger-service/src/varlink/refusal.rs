//! The errors of the interfaces: what a service refuses, by the name that is declared, with a sentence.

use serde::de::DeserializeOwned;
use serde_json::json;

use super::message::Reply;
use super::names::{INTERFACE, SERVICE_INTERFACE};

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

/// Which interface declares each, and what it tells beside its sentence, which those of the ledger have.
macro_rules! declared {
    ($($interface:ident $kind:ident $({ $key:ident })?;)*) => {
        impl Refusal {
            /// The reply that says so.
            pub fn to_reply(&self) -> Reply {
                let (interface, name, mut parameters) = match self {
                    $(Refusal::$kind $({ $key })? => {
                        ($interface, stringify!($kind), json!({ $(stringify!($key): $key)? }))
                    })*
                    Refusal::Other { name, .. } => {
                        return Reply { error: Some(name.clone()), ..Reply::default() };
                    }
                };
                if interface == INTERFACE {
                    parameters["sentence"] = self.to_string().into();
                }
                let parameters = parameters.as_object().cloned().unwrap_or_default();
                Reply { parameters, continues: false, error: Some(format!("{interface}.{name}")) }
            }

            /// What a reply refuses; `None`: it is no error.
            pub fn of(reply: &Reply) -> Option<Refusal> {
                let name = reply.error.as_deref()?;
                Some(match name.rsplit_once('.').unwrap_or_default() {
                    $(($interface, stringify!($kind)) => {
                        Refusal::$kind $({ $key: parameter(reply, stringify!($key)) })?
                    })*
                    _ => {
                        let told: String = parameter(reply, "sentence");
                        let sentence =
                            if told.is_empty() { format!("the service answers {name}") } else { told };
                        Refusal::Other { name: name.to_owned(), sentence }
                    }
                })
            }
        }
    };
}

declared! {
    SERVICE_INTERFACE InterfaceNotFound { interface };
    SERVICE_INTERFACE MethodNotFound { method };
    SERVICE_INTERFACE InvalidParameter { parameter };
    INTERFACE PermissionDenied { sentence };
    INTERFACE NoSuchAudience { audience };
    INTERFACE IntervalTooShort { shortest_interval_ns };
    INTERFACE NoSuchAccount { account };
    INTERFACE NoSuchField { field };
    INTERFACE UpgradeNeeded;
    INTERFACE LimitReached { sentence };
    INTERFACE Unavailable { sentence };
}

/// What is missing, or of another type, is nothing.
fn parameter<T: DeserializeOwned + Default>(reply: &Reply, key: &str) -> T {
    let told = reply.parameters.get(key).and_then(|value| T::deserialize(value).ok());
    told.unwrap_or_default()
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
        let reply = Reply { error: Some("org.example.Strange".to_owned()), ..Reply::default() };
        assert_eq!(
            Refusal::of(&reply).expect("an error").to_string(),
            "the service answers org.example.Strange"
        );
        assert_eq!(Refusal::of(&Reply::default()), None);
    }
}
