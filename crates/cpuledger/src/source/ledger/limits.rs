//! What a caller other than root may have of the machine: one ledger, of the default size.
//!
//! Each ledger makes every switch of the machine more expensive and locks kernel memory. The kernel's list of programs and their
//! owners says which ledgers a user has. A lock file would not do: in a place that belongs to the user, the user could remove it,
//! and in another place other users could take it.

use std::ops::RangeInclusive;
use std::time::Duration;

use cpuledger_bpf::ledger as kernel;
use cpuledger_model::source_kind::SourceKind;

use crate::caller::{Caller, caller};
use crate::error::Error;
use crate::machine;

use super::options::{MOST_GROWN_SLOTS, Options};

/// How long a ledger that ends may take: programs are freed some time after they are detached.
const ENDING_NS: u64 = 1_000_000_000;
/// Between two looks at whether it has ended.
const PAUSE: Duration = Duration::from_millis(20);

/// The numbers of slots that this caller may ask for.
pub fn slots_of_caller() -> RangeInclusive<u32> {
    let possible = Options::possible_slots();
    if caller().is_limited { *possible.start()..=Options::default().slots } else { possible }
}

/// The size up to which a ledger of this caller grows.
pub(super) fn most_slots(caller: &Caller) -> u32 {
    if caller.is_limited { Options::default().slots } else { MOST_GROWN_SLOTS }
}

/// Refuses more slots than the caller may have.
pub(super) fn check_size(caller: &Caller, options: &Options) -> Result<(), Error> {
    let most = most_slots(caller);
    if !caller.is_limited || options.slots <= most {
        return Ok(());
    }
    Err(refused(format!(
        "without root it has at most {most} slots, not {}; run cpuledger as root for more",
        options.slots
    )))
}

/// Waits for a ledger of the caller that is just ending, and refuses a second one.
pub(super) fn wait_for_none(caller: &Caller) -> Result<(), Error> {
    let limit_ns = machine::monotonic_ns() + ENDING_NS;
    while caller.is_limited && !kernel::ledgers_of(caller.uid)?.is_empty() {
        if machine::monotonic_ns() > limit_ns {
            return Err(second(caller));
        }
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

/// Of several that were attached at the same time the first stays.
pub(super) fn check_only(caller: &Caller, kernel: &kernel::Ledger) -> Result<(), Error> {
    if caller.is_limited && kernel::ledgers_of(caller.uid)?.first() != Some(&kernel.id()?) {
        return Err(second(caller));
    }
    Ok(())
}

fn second(caller: &Caller) -> Error {
    refused(format!(
        "user {} has a ledger already, and without root there is one for each user; end that one, take the source \
         `walk`, or run cpuledger as root",
        caller.uid
    ))
}

fn refused(reason: String) -> Error {
    Error::unusable(SourceKind::Ledger, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limited_user_gets_the_default_size_and_no_more() {
        let limited = Caller { uid: 1000, is_limited: true, sees_all_io: false };
        let root = Caller { uid: 0, is_limited: false, sees_all_io: true };
        let most = Options::default().slots;
        let with = |slots| Options { slots, may_grow: false, ..Options::default() };
        assert!(check_size(&limited, &with(most)).is_ok() && check_size(&root, &with(8 * most)).is_ok());
        let error = check_size(&limited, &with(most + 1)).expect_err("one too many").to_string();
        assert!(error.contains(&format!("at most {most} slots")) && error.contains("as root"), "{error}");
        assert_eq!((most_slots(&limited), most_slots(&root)), (most, MOST_GROWN_SLOTS));
    }
}
