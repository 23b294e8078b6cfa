//! Names of disks, by the numbers that /proc/diskstats begins with.

use std::collections::HashMap;
use std::fs;

use cpuledger_model::disk::Disks;

/// What the disks of the last interval are called.
#[derive(Debug, Default)]
pub(super) struct DiskNames {
    known: HashMap<(u32, u32), Vec<u8>>,
}

impl DiskNames {
    /// Gives each disk the name that it has now. One that is gone has that of the last interval, if it was in that; else its name stays unknown. A
    /// number may be another disk's later, so what was known before is forgotten.
    pub(super) fn tell(&mut self, disks: &mut Disks) {
        let last = std::mem::take(&mut self.known);
        for disk in &mut disks.devices {
            let Some(numbers) = disk.numbers else { continue };
            let Some(name) = name_of(numbers).or_else(|| last.get(&numbers).cloned()) else { continue };
            disk.name.clone_from(&name);
            self.known.insert(numbers, name);
        }
    }
}

/// What /sys calls a disk now.
fn name_of((major, minor): (u32, u32)) -> Option<Vec<u8>> {
    let path = fs::read_link(format!("/sys/dev/block/{major}:{minor}")).ok()?;
    path.file_name().map(|name| spelled(name.as_encoded_bytes()))
}

/// As /dev and /proc/diskstats have it: a file of /sys has `!` for a slash.
fn spelled(name: &[u8]) -> Vec<u8> {
    name.iter().map(|byte| if *byte == b'!' { b'/' } else { *byte }).collect()
}

#[cfg(test)]
mod tests {
    use cpuledger_model::disk::{Disk, DiskUse};
    use cpuledger_model::make;

    use super::*;

    fn disks(numbers: impl Iterator<Item = (u32, u32)>) -> Disks {
        let disks = numbers.map(|numbers| make!(Disk { numbers: Some(numbers) }));
        Disks::of(disks, DiskUse::default())
    }

    #[test]
    fn names_are_those_of_diskstats() {
        let text = fs::read_to_string("/proc/diskstats").expect("procfs");
        let mut expected = HashMap::new();
        for line in text.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [major, minor, name] = words[..3] else { panic!("{line}") };
            let number = |word: &str| word.parse::<u32>().expect("a number");
            expected.insert((number(major), number(minor)), name.as_bytes().to_vec());
        }
        let gone = (4095, 7);
        let mut told = disks(expected.keys().copied().chain([gone]));
        let mut names = DiskNames::default();
        names.tell(&mut told);
        assert_eq!(told.devices.len(), expected.len() + 1);
        for disk in &told.devices {
            let numbers = disk.numbers.expect("each has some");
            assert_eq!(disk.name, expected.get(&numbers).cloned().unwrap_or_default(), "{numbers:?}");
        }
        assert_eq!(spelled(b"cciss!c0d0"), b"cciss/c0d0");
    }

    #[test]
    fn a_disk_that_has_gone_keeps_the_name_of_the_interval_before() {
        let gone = (4095, 7);
        let mut names = DiskNames { known: HashMap::from([(gone, b"sdz".to_vec())]) };
        let mut name = || {
            let mut told = disks([gone].into_iter());
            names.tell(&mut told);
            told.devices[0].name.clone()
        };
        assert_eq!(name(), b"sdz");
        assert_eq!(name(), b"sdz", "it was in the interval before");
        names.tell(&mut Disks::default());
        let mut told = disks([gone].into_iter());
        names.tell(&mut told);
        assert_eq!(told.devices[0].name, b"");
    }
}
