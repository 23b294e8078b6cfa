//! The archive that a kernel unpacks as its first file system: cpio, format "newc".

use std::collections::BTreeSet;
use std::path::Path;

const DIRECTORY: u32 = 0o040_755;
const EXECUTABLE: u32 = 0o100_755;
const LINK: u32 = 0o120_777;
const CHARACTER_DEVICE: u32 = 0o020_600;
/// Every user may make files in it, and remove only their own.
const SHARED_DIRECTORY: u32 = 0o041_777;

/// An archive in the making.
#[derive(Debug, Default)]
pub struct Archive {
    bytes: Vec<u8>,
    entries: u32,
    directories: BTreeSet<String>,
}

impl Archive {
    /// Adds an executable file at this absolute path, and the directories above it.
    pub fn file(&mut self, path: &Path, content: &[u8]) {
        self.parents(path);
        self.entry(&relative(path), EXECUTABLE, (0, 0), content);
    }

    /// Adds a directory, and those above it.
    pub fn directory(&mut self, path: &Path) {
        self.parents(path);
        let name = relative(path);
        if self.directories.insert(name.clone()) {
            self.entry(&name, if name == "tmp" { SHARED_DIRECTORY } else { DIRECTORY }, (0, 0), &[]);
        }
    }

    /// Adds a symbolic link.
    pub fn link(&mut self, path: &Path, target: &Path) {
        self.parents(path);
        let target = target.to_str().expect("paths of this build are UTF-8");
        self.entry(&relative(path), LINK, (0, 0), target.as_bytes());
    }

    /// Adds a character device.
    pub fn device(&mut self, path: &Path, number: (u32, u32)) {
        self.parents(path);
        self.entry(&relative(path), CHARACTER_DEVICE, number, &[]);
    }

    /// The whole archive.
    pub fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, (0, 0), &[]);
        self.bytes
    }

    fn parents(&mut self, path: &Path) {
        if let Some(parent) = path.parent().filter(|parent| parent.parent().is_some()) {
            self.directory(parent);
        }
    }

    fn entry(&mut self, name: &str, mode: u32, (major, minor): (u32, u32), content: &[u8]) {
        self.entries += 1;
        let size = u32::try_from(content.len()).expect("no file of 4 GiB");
        let name_size = name.len() as u32 + 1;
        // Inode, mode, owner, group, links, time, size, device, number of the device, size of the name, checksum.
        let fields = [self.entries, mode, 0, 0, 1, 0, size, 0, 0, major, minor, name_size, 0];
        self.bytes.extend_from_slice(b"070701");
        for field in fields {
            self.bytes.extend_from_slice(format!("{field:08x}").as_bytes());
        }
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.align();
        self.bytes.extend_from_slice(content);
        self.align();
    }

    fn align(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

fn relative(path: &Path) -> String {
    path.to_str().expect("paths of this build are UTF-8").trim_start_matches('/').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_is_laid_out_as_the_kernel_reads_it() {
        let mut archive = Archive::default();
        archive.file(Path::new("/a/b/c"), b"hello");
        archive.file(Path::new("/a/d"), b"");
        archive.link(Path::new("/bin"), Path::new("/a/b"));
        archive.device(Path::new("/dev/console"), (5, 1));
        let bytes = archive.finish();
        let (mut at, mut seen) = (0, Vec::new());
        while at < bytes.len() {
            let field = |index: usize| {
                let from = at + 6 + 8 * index;
                let digits = std::str::from_utf8(&bytes[from..from + 8]).expect("digits");
                usize::from_str_radix(digits, 16).expect("hexadecimal")
            };
            assert_eq!(&bytes[at..at + 6], b"070701");
            let (mode, size, name_size) = (field(1), field(6), field(11));
            let name = &bytes[at + 110..at + 110 + name_size - 1];
            seen.push((String::from_utf8_lossy(name).into_owned(), mode, size, (field(9), field(10))));
            at = (at + 110 + name_size).next_multiple_of(4);
            at = (at + size).next_multiple_of(4);
        }
        let modes = [DIRECTORY, DIRECTORY, EXECUTABLE, EXECUTABLE, LINK, DIRECTORY, CHARACTER_DEVICE, 0];
        let names = ["a", "a/b", "a/b/c", "a/d", "bin", "dev", "dev/console", "TRAILER!!!"];
        assert!(seen.iter().map(|entry| entry.0.as_str()).eq(names), "{seen:?}");
        assert!(seen.iter().map(|entry| entry.1 as u32).eq(modes), "{seen:?}");
        assert_eq!((seen[2].2, seen[4].2, seen[6].3), (5, 4, (5, 1)));
    }
}
