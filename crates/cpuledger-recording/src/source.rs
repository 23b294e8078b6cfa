//! Bytes that are read where they are wanted.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// What a segment is read from.
pub trait ReadAt {
    /// Number of bytes.
    ///
    /// # Errors
    /// When the file cannot be asked.
    fn length(&self) -> io::Result<u64>;

    /// Fills `bytes` with what is at `offset`.
    ///
    /// # Errors
    /// When there are not as many bytes, or reading fails.
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()>;

    /// From now on it can be read whatever this process may not open any more.
    ///
    /// # Errors
    /// When it cannot be opened now.
    fn keep_open(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl ReadAt for File {
    fn length(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.read_exact_at(bytes, offset)
    }
}

impl ReadAt for Vec<u8> {
    fn length(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        let from = usize::try_from(offset).ok().and_then(|offset| self.get(offset..));
        let from = from.and_then(|from| from.get(..bytes.len())).ok_or(io::ErrorKind::UnexpectedEof)?;
        bytes.copy_from_slice(from);
        Ok(())
    }
}
