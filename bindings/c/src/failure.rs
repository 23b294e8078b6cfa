//! Why a function fails: a code for the program, and a sentence for its user.

use std::ffi::c_int;

use cpuledger_client::{Error, REMEDY_OF_SERVICE};
use cpuledger_model::source_kind::SourceKind;

/// An argument is wrong: NULL, a size that is none, a reserve that is not zero, a handle that could not be opened.
pub const CPULEDGER_EINVAL: c_int = -1;
/// The source cannot be used here: there is no service, or it is not to be believed. The message says what helps.
pub const CPULEDGER_EUNUSABLE: c_int = -2;
/// A recording cannot be read.
pub const CPULEDGER_EREAD: c_int = -3;
/// An error of the library itself. The handle is of no more use, except to be closed.
pub const CPULEDGER_EINTERNAL: c_int = -4;

/// A code and a sentence.
#[derive(Debug, Clone)]
pub struct Failure {
    /// One of the constants above.
    pub code: c_int,
    /// The sentence.
    pub message: String,
}

impl Failure {
    /// An argument is wrong.
    pub fn invalid(message: impl Into<String>) -> Failure {
        Failure { code: CPULEDGER_EINVAL, message: message.into() }
    }

    /// A source cannot be used.
    pub fn unusable(error: impl ToString) -> Failure {
        Failure { code: CPULEDGER_EUNUSABLE, message: error.to_string() }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let (code, remedy) = match error {
            Error::Unusable { source_kind: SourceKind::Service, .. } => {
                (CPULEDGER_EUNUSABLE, REMEDY_OF_SERVICE)
            }
            Error::Unusable { .. } => (CPULEDGER_EUNUSABLE, ""),
            _ => (CPULEDGER_EREAD, ""),
        };
        Failure { code, message: format!("{error}{remedy}") }
    }
}
