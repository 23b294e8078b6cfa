//! Bodies as gzip has them.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;

/// These bytes, packed quickly.
pub fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    // Writing to memory does not fail.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}
