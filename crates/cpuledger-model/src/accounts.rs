//! What a ledger keeps besides CPU time, as long as somebody wants it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::field::{FieldSet, Group};
use crate::kinds;

kinds! {
    /// Something that costs, and is kept only on request: by a configuration, an option or a reader of the service. While it is not kept, its
    /// figures are absent.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[non_exhaustive]
    pub enum Account of 1 {
        /// Who made whom wait for a CPU.
        Blame ["blame"],
        /// Which device a task reads and writes, and how long that takes.
        Disk ["disk"],
        /// What a task sends and receives by sockets.
        Network ["network"],
        /// Which cgroup made which cgroup wait for a CPU; it comes with [`Account::Blame`].
        Pairs ["pairs"],
    }
}

impl Account {
    /// Its name in options, configuration files, the protocol and JSON.
    pub const fn name(self) -> &'static str {
        self.texts()[0]
    }

    /// The group of its fields in the table of fields; `None`: rows have none.
    const fn group(self) -> Option<Group> {
        match self {
            Account::Blame => Some(Group::Blame),
            Account::Disk => Some(Group::Disk),
            Account::Network => Some(Group::Network),
            Account::Pairs => None,
        }
    }

    /// The fields that are known only while it is kept.
    pub fn fields(self) -> FieldSet {
        self.group().map_or(FieldSet::EMPTY, FieldSet::of_group)
    }
}

impl fmt::Display for Account {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// A name that is no account.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no account `{0}`; the accounts are {all}", all = Accounts::ALL)]
pub struct NoAccount(
    /// What it is.
    pub String,
);

impl FromStr for Account {
    type Err = NoAccount;

    fn from_str(name: &str) -> Result<Account, NoAccount> {
        let found = Account::ALL.into_iter().find(|account| account.name() == name);
        found.ok_or_else(|| NoAccount(name.to_owned()))
    }
}

/// A set of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Accounts(u8);

impl Accounts {
    /// None.
    pub const NONE: Accounts = Accounts(0);

    /// All.
    pub const ALL: Accounts = Accounts::of(&Account::ALL);

    /// The set of these.
    pub const fn of(accounts: &[Account]) -> Accounts {
        let mut bits = 0;
        let mut index = 0;
        while index < accounts.len() {
            bits |= 1 << accounts[index] as u8;
            index += 1;
        }
        Accounts(bits)
    }

    /// The set of those with these names.
    ///
    /// # Errors
    /// The first name that is none.
    pub fn by_names<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Accounts, NoAccount> {
        names.into_iter().try_fold(Accounts::NONE, |all, name| Ok(all.with(name.parse()?)))
    }

    /// Whether it is in the set.
    pub const fn contains(self, account: Account) -> bool {
        self.0 & 1 << account as u8 != 0
    }

    /// Whether none is.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// With those that they need: pairs are of blame.
    #[must_use]
    pub const fn whole(self) -> Accounts {
        if self.contains(Account::Pairs) { self.with(Account::Blame) } else { self }
    }

    /// With one more.
    #[must_use]
    pub const fn with(self, account: Account) -> Accounts {
        self.union(Accounts::of(&[account]))
    }

    /// Both together.
    #[must_use]
    pub const fn union(self, other: Accounts) -> Accounts {
        Accounts(self.0 | other.0)
    }

    /// Those that are in both.
    #[must_use]
    pub const fn intersection(self, other: Accounts) -> Accounts {
        Accounts(self.0 & other.0)
    }

    /// Without those of `other`.
    #[must_use]
    pub const fn without(self, other: Accounts) -> Accounts {
        Accounts(self.0 & !other.0)
    }

    /// Those in it, by name.
    pub fn iter(self) -> impl Iterator<Item = Account> {
        Account::ALL.into_iter().filter(move |account| self.contains(*account))
    }

    /// The fields that are known only while these are kept.
    pub fn fields(self) -> FieldSet {
        self.iter().fold(FieldSet::EMPTY, |all, account| all.union(account.fields()))
    }
}

/// Names, separated by commas.
impl fmt::Display for Accounts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, account) in self.iter().enumerate() {
            formatter.write_str(if index > 0 { "," } else { "" })?;
            account.fmt(formatter)?;
        }
        Ok(())
    }
}

/// As it is written.
impl FromStr for Accounts {
    type Err = NoAccount;

    fn from_str(names: &str) -> Result<Accounts, NoAccount> {
        Accounts::by_names(names.split(',').map(str::trim))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::{Field, OF_ACCOUNTS};

    #[test]
    fn a_set_is_what_its_text_says() {
        for bits in 0..1 << Account::ALL.len() {
            let set = Accounts(bits);
            if !set.is_empty() {
                assert_eq!(set.to_string().parse(), Ok(set));
            }
            assert_eq!(set.iter().count() as u32, bits.count_ones());
            assert_eq!(set.union(Accounts::ALL.without(set)), Accounts::ALL);
        }
        assert_eq!(Accounts::ALL.to_string(), "blame,disk,network,pairs");
        assert_eq!("disk, blame".parse(), Ok(Accounts::of(&[Account::Blame, Account::Disk])));
        let refused = "disk,net".parse::<Accounts>().expect_err("it is none").to_string();
        assert_eq!(refused, "there is no account `net`; the accounts are blame,disk,network,pairs");
    }

    #[test]
    fn pairs_come_with_blame() {
        let pairs = Accounts::of(&[Account::Pairs]);
        assert_eq!(pairs.whole(), Accounts::of(&[Account::Blame, Account::Pairs]));
        assert_eq!(Accounts::of(&[Account::Disk]).whole(), Accounts::of(&[Account::Disk]));
    }

    #[test]
    fn a_field_is_of_one_account_or_none() {
        for field in Field::ALL {
            let accounts =
                Account::ALL.into_iter().filter(|account| account.fields().contains(*field)).count();
            assert_eq!(accounts, usize::from(OF_ACCOUNTS.contains(*field)), "{field:?}");
        }
    }
}
