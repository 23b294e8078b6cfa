//! Where what stands in the bytes of a frame. All numbers are little-endian.

/// The version that is written.
pub const VERSION: u16 = 1;

/// The oldest version whose readers understand what is written.
pub(crate) const OLDEST_READER: u16 = 1;

/// The first bytes.
pub(crate) const MAGIC: [u8; 8] = *b"cpuledgr";

/// Maximum length of a frame.
pub const MOST_BYTES: u32 = 1 << 30;

/// Maximum number of records of a section: Linux has no more tasks (`PID_MAX_LIMIT`).
pub const MOST_RECORDS: u32 = 1 << 22;

/// Maximum length of a text.
pub const MOST_TEXT_BYTES: u32 = 255;

/// Maximum number of sections, the unknown ones included.
pub(crate) const MOST_SECTIONS: u16 = 64;

/// Maximum number of fields of a section, likewise.
pub(crate) const MOST_FIELDS: u16 = 1024;

/// Sections, and the directories of their fields, begin at multiples of this.
pub(crate) const ALIGNMENT: usize = 8;

/// Minimum size of a record, but for texts: a short frame cannot tell of any number of rows.
pub(crate) const LEAST_RECORD_BYTES: usize = 8;

/// The header, of which a newer version may have more.
pub(crate) mod header {
    pub(crate) const VERSION: usize = 8;
    pub(crate) const OLDEST_READER: usize = 10;
    pub(crate) const HEADER_BYTES: usize = 12;
    pub(crate) const SECTIONS: usize = 14;
    pub(crate) const SECTION_ENTRY_BYTES: usize = 16;
    pub(crate) const FIELD_ENTRY_BYTES: usize = 18;
    pub(crate) const TOTAL_BYTES: usize = 20;
    pub(crate) const MOST_BYTES: usize = 24;
    pub(crate) const MOST_RECORDS: usize = 28;
    pub(crate) const MOST_FIELDS: usize = 32;
    pub(crate) const MOST_TEXT_BYTES: usize = 34;
    /// Its size in this version.
    pub(crate) const BYTES: usize = 40;
}

/// An entry of the directory of sections, which follows the header.
pub(crate) mod section {
    pub(crate) const ID: usize = 0;
    pub(crate) const FIELDS: usize = 2;
    pub(crate) const RECORD_BYTES: usize = 4;
    pub(crate) const RECORDS: usize = 8;
    pub(crate) const FIELDS_OFFSET: usize = 12;
    pub(crate) const RECORDS_OFFSET: usize = 16;
    /// Its size in this version.
    pub(crate) const BYTES: usize = 24;
}

/// An entry of the directory of a section's fields.
pub(crate) mod field {
    pub(crate) const ID: usize = 0;
    pub(crate) const KIND: usize = 2;
    pub(crate) const FLAGS: usize = 3;
    pub(crate) const WIDTH: usize = 4;
    pub(crate) const OFFSET: usize = 6;
    pub(crate) const BASE: usize = 8;
    /// A flag: all ones stand for what is absent.
    pub(crate) const IS_NULLABLE: u8 = 1;
    /// A flag: the value of the process is to be added.
    pub(crate) const IS_RELATIVE: u8 = 2;
    /// Its size in this version.
    pub(crate) const BYTES: usize = 16;
}

pub(crate) fn get_u16(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

pub(crate) fn get_u32(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]))
}

pub(crate) fn get_u64(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]))
}

pub(crate) fn put_u16(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_le_bytes());
}

pub(crate) fn put_u32(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

pub(crate) fn put_u64(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
}
