//! The control protocol: [Varlink](https://varlink.org), JSON objects that each end with a NUL byte, over a Unix socket.
//!
//! Descriptors travel beside a message by SCM_RIGHTS. The reply names each by its index among those that came with it.
//!
//! Everything is bounded: the length of a message, how deep its values nest, and the descriptors beside it. Any bytes are a message or
//! a [`Fault`].

mod interface;
mod message;
mod names;
mod refusal;

pub use interface::{
    Described, Description, Info, LedgerRequest, List, Listing, Request, Scope, ServiceRequest, SourceFacts,
    Subscribe, Subscription,
};
pub use message::{Call, Fault, MAX_CALL_BYTES, MAX_DEPTH, MAX_REPLY_BYTES, Messages, Reply};
pub use names::{INTERFACE, LEDGER_DESCRIPTION, SERVICE_DESCRIPTION, SERVICE_INTERFACE};
pub use refusal::Refusal;
