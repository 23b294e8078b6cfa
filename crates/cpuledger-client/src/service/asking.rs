//! What a reader asks the service for.

use cpuledger_model::accounts::{Account, Accounts};
use cpuledger_model::make;
use cpuledger_service::varlink::{Info, Subscribe, Subscription};

use super::connection::unusable;
use crate::error::Error;

/// What to ask for, so that whole frames make up the wanted length.
pub(super) fn length_to_ask(wanted_ns: u64, info: &Info) -> u64 {
    let frame_ns = info.interval_ns.unsigned_abs().max(1);
    let shortest_ns = info.shortest_interval_ns.unsigned_abs();
    let is_multiple = wanted_ns.is_multiple_of(frame_ns);
    let part_ns = if is_multiple { wanted_ns } else { wanted_ns / wanted_ns.div_ceil(frame_ns) };
    part_ns.max(shortest_ns)
}

/// A question for frames of that length, and for these accounts: it replaces the one before, so each has both.
pub(super) fn request(interval_ns: u64, accounts: Accounts) -> Subscribe {
    let names = accounts.iter().map(|account| account.name().to_owned());
    make!(Subscribe {
        interval_ns: Some(i64::try_from(interval_ns).unwrap_or(i64::MAX)),
        audience: None,
        accounts: (!accounts.is_empty()).then(|| names.collect()),
    })
}

/// A service that knows no accounts passes over the question.
pub(super) fn check_accounts(wanted: Accounts, subscription: &Subscription) -> Result<(), Error> {
    let is_kept = |account: Account| subscription.accounts.iter().any(|name| name == account.name());
    match wanted.iter().find(|account| !is_kept(*account)) {
        None => Ok(()),
        Some(account) => Err(unusable(format!(
            "it keeps no account of {account}, as it is of an older version; restart it"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use cpuledger_service::varlink::SourceFacts;

    use super::*;

    #[test]
    fn whole_frames_make_up_the_wanted_length() {
        let info = |interval_ns| {
            make!(Info {
                version: String::new(),
                boot_id: String::new(),
                interval_ns,
                shortest_interval_ns: 100,
                audiences: Vec::new(),
                recording: None,
                unbalanced_intervals: None,
                accounts: Vec::new(),
                possible_accounts: Vec::new(),
                source: make!(SourceFacts {
                    source: String::new(),
                    attached_since_ns: None,
                    unseen: Vec::new()
                }),
            })
        };
        let asked = |wanted_ns, interval_ns| {
            request(length_to_ask(wanted_ns, &info(interval_ns)), Accounts::NONE).interval_ns
        };
        // A longer one keeps the service at its own interval.
        assert_eq!((asked(3_000, 1_000), asked(1_000, 1_000)), (Some(3_000), Some(1_000)));
        assert_eq!((asked(2_500, 1_000), asked(500, 1_000)), (Some(833), Some(500)));
        assert_eq!(asked(10, 1_000), Some(100), "the shortest that is granted");
    }
}
