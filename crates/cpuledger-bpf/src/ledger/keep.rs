//! Which accounts a ledger keeps.

use cpuledger_model::accounts::{Account, Accounts};

use crate::error::Error;

use super::Ledger;
use super::disk::{self, DiskBook};
use super::network;
use super::wire::{self, Wire};

impl Ledger {
    /// Keeps these accounts from now on, and no others. One that is new is in the books from the next interval on. Where the kernel does not let it be
    /// kept, [`Ledger::take_refused`] says so, and it is tried again when it was not wanted in between.
    ///
    /// [`Account::Blame`] and [`Account::Pairs`] stay as they are: a ledger keeps those from its attachment to its end, or never.
    pub fn keep(&mut self, wanted: Accounts) {
        let fixed = Accounts::of(&[Account::Blame, Account::Pairs]);
        let wanted = wanted.without(fixed).union(self.kept().intersection(fixed));
        self.memory.options.accounts = wanted;
        self.accounts.refused = self.accounts.refused.intersection(wanted);
        if !wanted.contains(Account::Network) {
            (self.accounts.network, self.accounts.wire) = (None, None);
        }
        if !wanted.contains(Account::Disk) {
            self.accounts.disks = None;
        }
        for account in wanted.without(self.kept()).without(self.accounts.refused).iter() {
            if let Err(error) = self.attach_account(account) {
                self.accounts.refused = self.accounts.refused.union(Accounts::of(&[account]));
                self.accounts.reasons.push((account, error));
            }
        }
    }

    /// The accounts that it keeps.
    pub fn kept(&self) -> Accounts {
        let has_network = self.accounts.network.is_some() || self.accounts.wire.is_some();
        let network = has_network.then_some(Account::Network);
        let network = network.into_iter().chain(self.accounts.disks.as_ref().map(|_| Account::Disk));
        let kept =
            network.chain(self.blame.as_ref().map(|_| Account::Blame)).fold(Accounts::NONE, Accounts::with);
        if self.memory.options.has_pairs() { kept.with(Account::Pairs) } else { kept }
    }

    /// Which accounts it was to keep since the last call and cannot, and why.
    pub fn take_refused(&mut self) -> Vec<(Account, Error)> {
        std::mem::take(&mut self.accounts.reasons)
    }

    fn attach_account(&mut self, account: Account) -> Result<(), Error> {
        let (sizes, since) = ((self.memory.options.slots, self.books.len() as u32), self.memory.interval + 1);
        match account {
            Account::Network => return self.attach_network(sizes, since),
            Account::Disk => self.accounts.disks = Some(DiskBook::attach(&self.parts, sizes, since)?),
            // They are in the hooks from the beginning.
            Account::Blame | Account::Pairs => {}
            other => return Err(without_hooks(other)),
        }
        Ok(())
    }

    /// What tasks send, and what cgroups do on the wire. One of both is an account, and why the other one is not there is said.
    fn attach_network(&mut self, sizes: (u32, u32), since: u64) -> Result<(), Error> {
        let of_tasks = network::attach(&self.parts, sizes, since);
        let of_cgroups = Wire::attach(sizes.1, since);
        let accounts = &mut self.accounts;
        let refused = match (of_tasks, of_cgroups) {
            (Err(error), Err(_)) => return Err(error),
            (Ok(of_tasks), Ok(of_cgroups)) => {
                (accounts.network, accounts.wire) = (Some(of_tasks), Some(of_cgroups));
                return Ok(());
            }
            (Ok(of_tasks), Err(error)) => {
                accounts.network = Some(of_tasks);
                error
            }
            (Err(error), Ok(of_cgroups)) => {
                accounts.wire = Some(of_cgroups);
                without_tasks(error)
            }
        };
        accounts.reasons.push((Account::Network, refused));
        Ok(())
    }
}

/// What of the account of the network cannot be kept here, as far as that can be told: what tasks send, and what cgroups do.
pub fn lacks_of_network() -> [Option<Error>; 2] {
    [network::NEEDS.lacks().map(without_tasks), wire::lacks()]
}

/// Why this kernel cannot keep an account, as far as its types tell; `None`: nothing speaks against it.
pub fn lacks(account: Account) -> Option<Error> {
    match account {
        // Either will do.
        Account::Network => network::NEEDS.lacks().filter(|_| wire::lacks().is_some()),
        Account::Disk => disk::NEEDS.lacks(),
        // Their tracepoints are older than any kernel that a ledger can be attached to.
        Account::Blame | Account::Pairs => None,
        other => Some(without_hooks(other)),
    }
}

/// Why an account of the network has what cgroups do on the wire, and nothing of tasks.
fn without_tasks(error: Error) -> Error {
    match error {
        Error::NoAccount { account, what } => Error::NoPart { account, part: "figures of tasks", what },
        other => other,
    }
}

fn without_hooks(account: Account) -> Error {
    Error::NoAccount { account, what: "this version of cpuledger has no hooks for it".into() }
}
