//! Names of disks, by the numbers that /proc/diskstats begins with.

use std::collections::HashMap;
use std::fs;

use cpuledger_proc::escape::escaped;

/// Disks of this machine by their numbers.
#[derive(Debug, Default, Clone)]
pub struct Disks {
    known: HashMap<(u32, u32), String>,
}

impl Disks {
    /// Finds the names that these have now. A number may be another disk's later, so what was known before is forgotten.
    pub fn look_up(&mut self, numbers: impl Iterator<Item = (u32, u32)>) {
        self.known.clear();
        for (major, minor) in numbers {
            // It may be gone by now.
            let Ok(path) = fs::read_link(format!("/sys/dev/block/{major}:{minor}")) else { continue };
            let Some(name) = path.file_name() else { continue };
            self.known.insert((major, minor), spelled(name.as_encoded_bytes()));
        }
    }

    /// The name of a disk; `None`: it is not known.
    pub fn name(&self, numbers: (u32, u32)) -> Option<&str> {
        self.known.get(&numbers).map(String::as_str)
    }

    /// With these names.
    pub fn of(known: HashMap<(u32, u32), String>) -> Disks {
        Disks { known }
    }
}

/// As /dev and /proc/diskstats have it: a file of /sys has `!` for a slash.
fn spelled(name: &[u8]) -> String {
    escaped(name).replace('!', "/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_diskstats() {
        let text = fs::read_to_string("/proc/diskstats").expect("procfs");
        let mut expected = HashMap::new();
        for line in text.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [major, minor, name] = words[..3] else { panic!("{line}") };
            let number = |word: &str| word.parse::<u32>().expect("a number");
            expected.insert((number(major), number(minor)), name.to_owned());
        }
        let mut disks = Disks::default();
        disks.look_up(expected.keys().copied().chain([(4095, 7)]));
        for (numbers, name) in &expected {
            assert_eq!(disks.name(*numbers), Some(&**name), "{numbers:?}");
        }
        assert_eq!(disks.name((4095, 7)), None, "there is none with these numbers");
        assert_eq!(spelled(b"cciss!c0d0"), "cciss/c0d0");
        disks.look_up([].into_iter());
        assert!(expected.keys().all(|numbers| disks.name(*numbers).is_none()));
    }
}
