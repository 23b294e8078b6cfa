//! Which CPUs the kernel has online.

use std::fs::File;
use std::os::unix::fs::FileExt;

use cpuledger_proc::cpu_list;

/// Maximum length of a list like `0-3,8`.
const LIST_BYTES: usize = 4096;

/// The kernel's list of online CPUs.
pub(super) struct Online {
    /// None: /sys is not mounted, and all CPUs are taken to be online. So they are where the list is not understood.
    list: Option<File>,
}

impl Online {
    pub(super) fn open() -> Online {
        Online { list: File::open("/sys/devices/system/cpu/online").ok() }
    }

    /// Takes all CPUs to be online.
    #[cfg(test)]
    pub(super) fn unknown() -> Online {
        Online { list: None }
    }

    /// For each CPU with a number below `cpu_ids`, whether it is online.
    pub(super) fn read(&self, cpu_ids: usize) -> Vec<bool> {
        let mut bytes = [0; LIST_BYTES];
        let length = self.list.as_ref().and_then(|list| list.read_at(&mut bytes, 0).ok()).unwrap_or(0);
        let text = String::from_utf8_lossy(&bytes[..length]);
        let ranges = cpu_list::ranges(&text);
        let mut online = vec![ranges.is_err(); cpu_ids];
        for cpu in ranges.into_iter().flatten().flatten() {
            if let Some(is_online) = online.get_mut(cpu as usize) {
                *is_online = true;
            }
        }
        online
    }
}

#[cfg(test)]
mod tests {
    use super::Online;

    #[test]
    fn this_cpu_is_online_and_one_that_there_is_not_is_not() {
        let online = Online::open().read(70_000);
        assert!(online.contains(&true));
        assert!(!online[69_999]);
    }
}
