//! Numbers of CPUs. They are indices up to the highest that is possible, with gaps: not a count.

use std::fs;
use std::ops::RangeInclusive;

use cpuledger_proc::cpu_list;
use rustix::io::Errno;

use crate::error::Error;

/// The kernel's list of CPUs that there can ever be.
const POSSIBLE: &str = "/sys/devices/system/cpu/possible";

/// The numbers of all CPUs that this machine may ever have are below this: the size of an array that they are indices of.
pub(crate) fn cpu_ids() -> Result<u32, Error> {
    Ok(ids_of(&possible()?))
}

/// The ranges of consecutive numbers of possible CPUs.
pub(crate) fn possible() -> Result<Vec<RangeInclusive<u32>>, Error> {
    let what = format!("to read {POSSIBLE}");
    let list = fs::read_to_string(POSSIBLE)
        .map_err(|error| Error::from_errno(&what, Errno::from_io_error(&error).unwrap_or(Errno::IO)))?;
    cpu_list::ranges(&list).map_err(|_| Error::from_errno(&what, Errno::INVAL))
}

/// One more than the highest number.
pub(crate) fn ids_of(ranges: &[RangeInclusive<u32>]) -> u32 {
    ranges.iter().map(|range| range.end() + 1).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{cpu_ids, cpu_list, ids_of};

    #[test]
    fn an_array_of_cpus_reaches_to_the_highest_number() {
        let ids_in = |list| cpu_list::ranges(list).ok().map(|ranges| ids_of(&ranges));
        assert_eq!(ids_in("0-3,8\n"), Some(9));
        assert_eq!(ids_in("0,2,4,6\n"), Some(7));
        assert_eq!(ids_in("0\n"), Some(1));
        assert_eq!((ids_in(""), ids_in("3-1"), ids_in("0-99999999\n")), (None, None, None));
        assert!(cpu_ids().is_ok_and(|ids| ids > 0));
    }
}
