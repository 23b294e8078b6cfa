//! The CPUs of the machine, as the kernel lists them: their ids need not follow each other.

use std::path::PathBuf;

use cpuledger_proc::cpu_list;

use crate::Error;

/// Ids of the CPUs that are online, ascending.
///
/// # Errors
/// [`Error::System`] without sysfs, [`Error::GaveUp`] if its list is not understood.
pub fn online_cpus() -> Result<Vec<u32>, Error> {
    listed("online")
}

/// Ids of the CPUs that this machine can ever have, ascending.
///
/// # Errors
/// As [`online_cpus`].
pub fn possible_cpus() -> Result<Vec<u32>, Error> {
    listed("possible")
}

fn listed(name: &str) -> Result<Vec<u32>, Error> {
    let list = std::fs::read_to_string(format!("/sys/devices/system/cpu/{name}"))
        .map_err(Error::system(format!("read the list of {name} CPUs")))?;
    cpu_list::expand(&list).ok_or_else(|| Error::GaveUp(format!("this is no list of CPUs: {list}")))
}

/// The last CPU that is online and can be taken offline: its id, and the file that does it.
///
/// # Errors
/// As [`online_cpus`]; [`Error::GaveUp`] if all CPUs are fixed.
pub fn removable_cpu() -> Result<(u32, PathBuf), Error> {
    let control = |id: u32| PathBuf::from(format!("/sys/devices/system/cpu/cpu{id}/online"));
    let cpus = online_cpus()?.into_iter().rev().map(|id| (id, control(id)));
    let removable = cpus.filter(|(id, _)| *id > 0).find(|(_, control)| control.exists());
    removable.ok_or_else(|| Error::GaveUp("this machine has no CPU that can be taken offline".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_cpu_is_online() {
        assert!(online_cpus().expect("sysfs").contains(&0));
    }
}
