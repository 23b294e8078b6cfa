//! A disk of a test's own, whose requests nobody else makes.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::Error;

/// A loop device on a file. It is detached when dropped.
#[derive(Debug)]
pub struct LoopDevice {
    path: String,
}

impl LoopDevice {
    /// Makes one of 1 MiB. The file must not be there.
    ///
    /// # Errors
    /// [`Error::GaveUp`] where the machine has none left, or no losetup; [`Error::System`] where there is no room.
    pub fn new(file: &Path) -> Result<LoopDevice, Error> {
        LoopDevice::of_size(file, 1 << 20)
    }

    /// Makes one of so many bytes. The file must not be there.
    ///
    /// # Errors
    /// As [`LoopDevice::new`].
    pub fn of_size(file: &Path, bytes: usize) -> Result<LoopDevice, Error> {
        fs::write(file, vec![1; bytes]).map_err(Error::system("write the file of a loop device"))?;
        let output = Command::new("losetup").args(["--find", "--show"]).arg(file).output();
        let output = output.map_err(|error| Error::GaveUp(format!("losetup: {error}")))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(Error::GaveUp(format!("no loop device: {}", said.trim())));
        }
        Ok(LoopDevice { path: String::from_utf8_lossy(&output.stdout).trim().to_owned() })
    }

    /// Its file in /dev.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Its name in /proc/diskstats.
    pub fn name(&self) -> &str {
        self.path.strip_prefix("/dev/").unwrap_or(&self.path)
    }

    /// What /proc/diskstats has of it: reads and their bytes, writes and theirs, discards and theirs.
    ///
    /// # Errors
    /// [`Error::System`] without /proc, [`Error::GaveUp`] if it has no line there.
    pub fn stats(&self) -> Result<[u64; 6], Error> {
        let text = fs::read_to_string("/proc/diskstats").map_err(Error::system("read /proc/diskstats"))?;
        let of_line = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let number = |place: usize| words.get(place)?.parse::<u64>().ok();
            let is_own = words.get(2) == Some(&self.name());
            let [reads, sectors_read] = [3, 5].map(|place| number(place).filter(|_| is_own));
            let [writes, sectors_written, discards, sectors_discarded] = [7, 9, 14, 16].map(number);
            Some([
                reads?,
                512 * sectors_read?,
                writes?,
                512 * sectors_written?,
                discards?,
                512 * sectors_discarded?,
            ])
        };
        let found = text.lines().find_map(of_line);
        found.ok_or_else(|| Error::GaveUp(format!("{} has no line in /proc/diskstats", self.name())))
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.path]).status();
    }
}
