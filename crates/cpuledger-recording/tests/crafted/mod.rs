//! Segments that no writer makes: each checksum is right, and what they say is made up.

/// The header of a segment of an unknown machine.
pub fn header() -> Vec<u8> {
    let mut bytes = vec![0; 256];
    bytes[..8].copy_from_slice(b"cpuledsg");
    for (at, value) in [(8, 2_u16), (10, 2), (12, 256), (14, 64)] {
        bytes[at..at + 2].copy_from_slice(&value.to_le_bytes());
    }
    put_checksum(&mut bytes, 252, 0..252);
    bytes
}

/// What a record says of its bytes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Said {
    pub plain_bytes: usize,
    pub compressed_bytes: usize,
    pub sequence: u64,
    pub back: u64,
}

/// Appends a record: the interval of that second.
pub fn add_record(segment: &mut Vec<u8>, said: Said, packed: &[u8]) {
    let mut bytes = vec![0; 64];
    bytes[..4].copy_from_slice(b"cRec");
    let sizes = [packed.len(), said.plain_bytes, said.compressed_bytes];
    for (at, size) in [12, 16, 20].into_iter().zip(sizes) {
        bytes[at..at + 4].copy_from_slice(&(size as u32).to_le_bytes());
    }
    const SECOND_NS: u64 = 1_000_000_000;
    let (start_ns, end_ns) = (said.sequence * SECOND_NS, (said.sequence + 1) * SECOND_NS);
    for (at, value) in [
        (24, said.sequence),
        (32, start_ns),
        (40, end_ns),
        (48, 1_700_000_040 * SECOND_NS + end_ns),
        (56, said.back),
    ] {
        bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
    }
    bytes[8..12].copy_from_slice(&crc32c::crc32c(packed).to_le_bytes());
    put_checksum(&mut bytes, 4, 8..64);
    segment.append(&mut bytes);
    segment.extend_from_slice(packed);
}

/// Appends an index of these bytes, and a trailer that says of how many records it is.
pub fn add_index(segment: &mut Vec<u8>, index: &[u8], records: u32) {
    let mut bytes = vec![0; 80];
    bytes[..4].copy_from_slice(b"cEnd");
    bytes[8..12].copy_from_slice(&crc32c::crc32c(index).to_le_bytes());
    bytes[12..16].copy_from_slice(&records.to_le_bytes());
    bytes[16..24].copy_from_slice(&(segment.len() as u64).to_le_bytes());
    bytes[24..32].copy_from_slice(&(index.len() as u64).to_le_bytes());
    put_checksum(&mut bytes, 4, 8..80);
    segment.extend_from_slice(index);
    segment.append(&mut bytes);
}

fn put_checksum(bytes: &mut [u8], at: usize, of: std::ops::Range<usize>) {
    let checksum = crc32c::crc32c(&bytes[of]);
    bytes[at..at + 4].copy_from_slice(&checksum.to_le_bytes());
}
