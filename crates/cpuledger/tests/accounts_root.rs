//! Each account attaches, and closes an interval that has it; or says which kernel it needs. Needs root.

use cpuledger::source::ledger::{Ledger, Options, Wanted, lacks, lacks_of_network};
use cpuledger::{Account, Accounts, FieldSet, Interval};
use cpuledger_model::make;

#[test]
fn every_account_attaches_or_says_which_kernel_it_needs_root() {
    let mut kept = 0;
    for account in Account::ALL {
        if let Some(error) = lacks(account) {
            let error = error.to_string();
            assert!(error.contains("Linux "), "{account}: {error}");
            println!("{account}: {error}");
            continue;
        }
        let options = make!(Options { accounts: Accounts::of(&[account]) });
        let mut ledger = Ledger::open(options).unwrap_or_else(|error| panic!("{account}: {error:?}"));
        let wanted = make!(Wanted { fields: FieldSet::ALL, pids: &[], all: false });
        let mut interval = Interval::default();
        // The first is without an account that has not seen all of it.
        for _ in 0..2 {
            ledger.close(ledger.start_ns() + 50_000_000, &wanted, &mut interval).expect("an interval");
        }
        assert!(ledger.kept().contains(account), "{account}");
        let known = interval
            .processes
            .iter()
            .filter(|row| account.fields().iter().all(|field| row.usage.growth.known.contains(field)));
        let [of_tasks, of_wire] = lacks_of_network();
        let is_by_cgroup_alone = account == Account::Network && of_tasks.is_some();
        assert_eq!(known.count() > 0, !is_by_cgroup_alone, "{account}: {interval:?}");
        assert_eq!(interval.wire.is_some(), account == Account::Network && of_wire.is_none(), "{account}");
        kept += 1;
    }
    assert!(kept >= 2, "blame and its pairs need no newer kernel than the ledger");
}
