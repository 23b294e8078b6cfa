//! Names of terminals by device number, as ps and `who`(1) spell them: without `/dev/`.

use std::collections::HashMap;
use std::fs;

use cpuledger_proc::machine::tty_drivers::{Driver, parse_drivers};
use cpuledger_proc::task::stat::parse_stat;
use rustix::fs::{FileType, major, minor, stat};

/// Terminals by device number.
#[derive(Debug, Default)]
pub struct Terminals {
    drivers: Option<Vec<Driver>>,
    known: HashMap<u32, String>,
    last: Option<u32>,
}

impl Terminals {
    /// Finds the name of a device that is not known yet.
    pub fn learn(&mut self, device: u32) {
        if device == 0 || self.last == Some(device) {
            return;
        }
        self.last = Some(device);
        if self.known.contains_key(&device) {
            return;
        }
        let drivers = self.drivers.get_or_insert_with(|| {
            parse_drivers(&fs::read_to_string("/proc/tty/drivers").unwrap_or_default())
        });
        let (major, minor) = split(device);
        let driver = drivers.iter().find(|driver| driver.has(major, minor));
        let name = driver
            .into_iter()
            .flat_map(|driver| driver.candidates(minor))
            .find(|path| device_of(path) == Some(device))
            .and_then(|path| Some(path.strip_prefix("/dev/")?.to_owned()))
            .or_else(|| usual_name(major, minor));
        self.known.insert(device, name.unwrap_or_else(|| "?".to_owned()));
    }

    /// Its name; `?` where there is none or it was not asked for.
    pub fn name(&self, device: u32) -> &str {
        self.known.get(&device).map_or("?", String::as_str)
    }
}

/// The name of a terminal that has no file here, such as one of a container.
fn usual_name(major: u32, minor: u32) -> Option<String> {
    match (major, minor) {
        (4, 0..64) => Some(format!("tty{minor}")),
        (4, _) => Some(format!("ttyS{}", minor - 64)),
        (136..144, _) => Some(format!("pts/{}", (major - 136) * 256 + minor)),
        _ => None,
    }
}

/// Major and minor number of the form that /proc/PID/stat has: the kernel's `new_encode_dev`.
fn split(device: u32) -> (u32, u32) {
    (device >> 8 & 0xfff, device & 0xff | device >> 12 & 0xf_ff00)
}

fn join(major: u32, minor: u32) -> u32 {
    minor & 0xff | major << 8 | (minor & !0xff) << 12
}

/// The device number of a terminal by its name, with or without `/dev/`, with or without `tty`.
pub fn device_of_name(name: &str) -> Option<u32> {
    match name {
        "?" | "-" => Some(0),
        _ if name.starts_with('/') => device_of(name),
        _ => ["/dev/pts/", "/dev/", "/dev/tty"]
            .into_iter()
            .find_map(|directory| device_of(&format!("{directory}{name}"))),
    }
}

fn device_of(path: &str) -> Option<u32> {
    let status = stat(path).ok()?;
    let is_device = FileType::from_raw_mode(status.st_mode) == FileType::CharacterDevice;
    is_device.then(|| join(major(status.st_rdev), minor(status.st_rdev)))
}

/// The terminal of this process; 0: none.
pub fn own_device() -> u32 {
    let text = fs::read("/proc/self/stat").unwrap_or_default();
    parse_stat(&text).map_or(0, |stat| stat.tty_device)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_numbers_are_encoded_as_in_procfs() {
        assert_eq!(split(0x8803), (136, 3));
        assert_eq!(split(join(136, 70_000)), (136, 70_000));
        assert_eq!(join(4, 64), 1088);
    }

    #[test]
    fn terminals_without_a_file_have_their_usual_name() {
        let mut terminals = Terminals::default();
        for (device, name) in [(0, "?"), (join(136, 987_654), "pts/987654"), (join(999, 1), "?")] {
            terminals.learn(device);
            assert_eq!(terminals.name(device), name);
        }
    }
}
