//! `/proc/PID/smaps_rollup`.

use crate::{entries, number};

/// How memory is shared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Shares {
    /// Resident memory, each page divided by those that map it.
    pub proportional_kib: u64,
    /// Resident memory that no other process maps.
    pub unique_kib: u64,
    /// Pages of hugetlbfs that no other process maps.
    pub huge_private_kib: u64,
    /// Those that others map too.
    pub huge_shared_kib: u64,
}

/// Reads the file; `None` where a line is missing.
pub fn parse_shares(text: &[u8]) -> Option<Shares> {
    let value = |wanted: &[u8]| number::first(entries(text).find(|(name, _)| *name == wanted)?.1);
    Some(Shares {
        proportional_kib: value(b"Pss")?,
        unique_kib: value(b"Private_Clean")?.saturating_add(value(b"Private_Dirty")?),
        huge_private_kib: value(b"Private_Hugetlb")?,
        huge_shared_kib: value(b"Shared_Hugetlb")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_found_by_name() {
        let shares = b"55d0-7ffd ---p 00000000 00:00 0    [rollup]\nRss:  9 kB\nPss:  8 kB\nPss_Anon:  7 kB\nPrivate_Clean:  1 kB\n\
                       Private_Dirty:  2 kB\nShared_Hugetlb:  2048 kB\nPrivate_Hugetlb:  4096 kB\n";
        let expected =
            Shares { proportional_kib: 8, unique_kib: 3, huge_private_kib: 4096, huge_shared_kib: 2048 };
        assert_eq!(parse_shares(shares), Some(expected));
        assert_eq!(parse_shares(b""), None);
    }
}
