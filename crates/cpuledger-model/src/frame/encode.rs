//! From a frame to bytes.

use crate::frame::bounds::check_rows;
use crate::frame::column::{Column, Kind};
use crate::frame::error::{Error, ErrorKind};
use crate::frame::layout::{
    ALIGNMENT, LEAST_RECORD_BYTES, MAGIC, MOST_BYTES, MOST_FIELDS, MOST_RECORDS, MOST_TEXT_BYTES,
    OLDEST_READER, VERSION, field, header, put_u16, put_u32, put_u64, section,
};
use crate::frame::names::Names;
use crate::frame::owners::Owners;
use crate::frame::sections::{Frame, Section};
use crate::frame::table::{ABSENT, Table, Values, signed_of_raw};
use crate::frame::trim::trim;

/// Section of the lengths of texts.
pub(crate) const TEXT_LENGTHS: u16 = 32;
/// The one field of that section.
pub(crate) const TEXT_LENGTH: u16 = 1;
/// Section of the texts, one after the other.
pub(crate) const TEXTS: u16 = 33;

/// How a column is packed.
#[derive(Debug, Clone, Copy)]
struct Packed {
    column: Column,
    base: u64,
    width: usize,
    offset: usize,
    is_nullable: bool,
    /// Whether it is told as the difference from the process.
    is_relative: bool,
}

/// Memory that is used for one section after the other.
#[derive(Default)]
struct Scratch {
    packed: Vec<Packed>,
    /// The differences of a column.
    differences: Vec<u64>,
}

impl Frame {
    /// Writes it in the place of what is in `bytes`, whose memory is reused.
    ///
    /// # Errors
    /// When a section has more rows than it may, or the frame is longer than [`MOST_BYTES`].
    pub fn encode(&self, bytes: &mut Vec<u8>) -> Result<(), Error> {
        let sections = Section::ALL.into_iter().filter(|section| !self.table(*section).is_empty());
        let has_texts = self.names.len() > 0;
        let count = sections.clone().count() + if has_texts { 2 } else { 0 };
        bytes.clear();
        bytes.resize(header::BYTES + count * section::BYTES, 0);
        let mut scratch = Scratch::default();
        let mut entry = header::BYTES;
        for section in sections {
            check_rows(section, self.table(section))?;
            let owners = if section == Section::Tasks { Owners::of(self) } else { None };
            write_section(bytes, entry, section.id(), self.table(section), owners.as_ref(), &mut scratch)?;
            entry += section::BYTES;
        }
        if has_texts {
            write_texts(bytes, entry, &self.names)?;
        }
        let length = bytes.len();
        trim(bytes, length);
        write_header(bytes, count)
    }
}

fn write_header(bytes: &mut [u8], sections: usize) -> Result<(), Error> {
    let total = u32::try_from(bytes.len()).ok().filter(|total| *total <= MOST_BYTES);
    let total = total.ok_or(Error::of(ErrorKind::TooLarge, "the interval is too long for a frame"))?;
    bytes[..MAGIC.len()].copy_from_slice(&MAGIC);
    for (at, value) in [
        (header::VERSION, VERSION),
        (header::OLDEST_READER, OLDEST_READER),
        (header::HEADER_BYTES, header::BYTES as u16),
        (header::SECTIONS, sections as u16),
        (header::SECTION_ENTRY_BYTES, section::BYTES as u16),
        (header::FIELD_ENTRY_BYTES, field::BYTES as u16),
        (header::MOST_FIELDS, MOST_FIELDS),
        (header::MOST_TEXT_BYTES, MOST_TEXT_BYTES as u16),
    ] {
        put_u16(bytes, at, value);
    }
    put_u32(bytes, header::TOTAL_BYTES, total);
    put_u32(bytes, header::MOST_BYTES, MOST_BYTES);
    put_u32(bytes, header::MOST_RECORDS, MOST_RECORDS);
    Ok(())
}

fn write_section(
    bytes: &mut Vec<u8>,
    entry: usize,
    id: u16,
    table: &Table,
    owners: Option<&Owners<'_>>,
    scratch: &mut Scratch,
) -> Result<(), Error> {
    let Scratch { packed, differences } = scratch;
    let record_bytes = pack_all(table, owners, packed).max(LEAST_RECORD_BYTES);
    let fields_offset = align(bytes);
    for column in &*packed {
        write_field(bytes, column);
    }
    let records_offset = align(bytes);
    let end = records_offset + table.len() * record_bytes;
    if end > MOST_BYTES as usize {
        return Err(Error::of(ErrorKind::TooLarge, "the interval is too long for a frame"));
    }
    bytes.resize(end, 0);
    let records = &mut bytes[records_offset..];
    for column in packed.iter().filter(|column| column.width > 0) {
        let mut values = &table.values(column.column).each;
        if let Some(owners) = owners.filter(|_| column.is_relative) {
            differences.clear();
            owners.differ(column.column, values, |difference| differences.push(difference));
            values = differences;
        }
        write_column(records, record_bytes, column, values);
    }
    let fields = packed.len();
    write_entry(bytes, entry, id, fields, record_bytes, table.len(), [fields_offset, records_offset]);
    Ok(())
}

/// Packs each column as it is or, where that is shorter, as differences. Returns the length of a record.
fn pack_all(table: &Table, owners: Option<&Owners<'_>>, packed: &mut Vec<Packed>) -> usize {
    packed.clear();
    let mut record_bytes = 0;
    for column in Column::known() {
        let values = table.values(column);
        let Some(mut column) = pack(column, values) else { continue };
        if let Some(owners) = owners.filter(|_| column.width > 0 && column.column != Column::PID) {
            let mut range = Range::default();
            if owners.differ(column.column, &values.each, |difference| range.add(difference))
                && let Some(relative) = pack_range(column.column, range)
                && relative.width < column.width
            {
                column = Packed { is_relative: true, ..relative };
            }
        }
        column.offset = record_bytes;
        record_bytes += column.width;
        packed.push(column);
    }
    record_bytes
}

fn write_entry(
    bytes: &mut [u8],
    entry: usize,
    id: u16,
    fields: usize,
    record_bytes: usize,
    records: usize,
    [fields_offset, records_offset]: [usize; 2],
) {
    let entry = &mut bytes[entry..entry + section::BYTES];
    put_u16(entry, section::ID, id);
    put_u16(entry, section::FIELDS, fields as u16);
    put_u32(entry, section::RECORD_BYTES, record_bytes as u32);
    put_u32(entry, section::RECORDS, records as u32);
    put_u32(entry, section::FIELDS_OFFSET, fields_offset as u32);
    put_u32(entry, section::RECORDS_OFFSET, records_offset as u32);
}

/// Fills up to the next section, and returns where that is.
fn align(bytes: &mut Vec<u8>) -> usize {
    bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
    bytes.len()
}

/// The least number of bytes for a column; `None`: it has no value.
fn pack(column: Column, values: &Values) -> Option<Packed> {
    if values.each.is_empty() {
        return (values.constant != ABSENT).then(|| constant(column, values.constant));
    }
    let mut range = Range::default();
    values.each.iter().for_each(|&value| range.add(value));
    pack_range(column, range)
}

fn constant(column: Column, base: u64) -> Packed {
    Packed { column, base, width: 0, offset: 0, is_nullable: false, is_relative: false }
}

/// Between which numbers the values of a column are.
struct Range {
    least: u64,
    /// One more than the greatest value; 0 where there is none.
    end: u64,
    has_absent: bool,
}

impl Default for Range {
    fn default() -> Range {
        Range { least: ABSENT, end: 0, has_absent: false }
    }
}

impl Range {
    #[inline]
    fn add(&mut self, value: u64) {
        self.least = self.least.min(value);
        // What is absent becomes 0.
        self.end = self.end.max(value.wrapping_add(1));
        self.has_absent |= value == ABSENT;
    }
}

/// As [`pack`], of the range of its values.
fn pack_range(column: Column, Range { least, end, has_absent }: Range) -> Option<Packed> {
    let range = end.checked_sub(1)? - least;
    if range == 0 && !has_absent {
        return Some(constant(column, least));
    }
    // With absent values, all ones are one of these.
    let highest = range + u64::from(has_absent);
    let width = (64 - highest.leading_zeros() as usize).div_ceil(8);
    Some(Packed { width, is_nullable: has_absent, ..constant(column, least) })
}

fn write_field(bytes: &mut Vec<u8>, packed: &Packed) {
    let mut entry = [0; field::BYTES];
    let kind = packed.column.kind();
    // A difference is a signed number, whatever it is one of.
    let is_signed = kind == Kind::Signed || packed.is_relative;
    let base = if is_signed { signed_of_raw(packed.base).cast_unsigned() } else { packed.base };
    let flags = [(packed.is_nullable, field::IS_NULLABLE), (packed.is_relative, field::IS_RELATIVE)];
    put_u16(&mut entry, field::ID, packed.column.id());
    entry[field::KIND] = kind as u8;
    entry[field::FLAGS] = flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag).sum();
    entry[field::WIDTH] = packed.width as u8;
    put_u16(&mut entry, field::OFFSET, packed.offset as u16);
    put_u64(&mut entry, field::BASE, base);
    bytes.extend_from_slice(&entry);
}

fn write_column(records: &mut [u8], record_bytes: usize, packed: &Packed, values: &[u64]) {
    match packed.width {
        1 => write_values::<1>(records, record_bytes, packed, values),
        2 => write_values::<2>(records, record_bytes, packed, values),
        3 => write_values::<3>(records, record_bytes, packed, values),
        4 => write_values::<4>(records, record_bytes, packed, values),
        5 => write_values::<5>(records, record_bytes, packed, values),
        6 => write_values::<6>(records, record_bytes, packed, values),
        7 => write_values::<7>(records, record_bytes, packed, values),
        _ => write_values::<8>(records, record_bytes, packed, values),
    }
}

fn write_values<const WIDTH: usize>(
    records: &mut [u8],
    record_bytes: usize,
    packed: &Packed,
    values: &[u64],
) {
    let (base, offset) = (packed.base, packed.offset);
    for (record, &value) in records.chunks_exact_mut(record_bytes).zip(values) {
        let stored = if value == ABSENT { ABSENT } else { value - base };
        record[offset..offset + WIDTH].copy_from_slice(&stored.to_le_bytes()[..WIDTH]);
    }
}

fn write_texts(bytes: &mut Vec<u8>, entry: usize, names: &Names) -> Result<(), Error> {
    if names.len() > MOST_RECORDS as usize {
        return Err(Error::of_with(
            ErrorKind::TooLarge,
            format_args!("there are more than {MOST_RECORDS} texts"),
        ));
    }
    let fields_offset = align(bytes);
    let mut length = [0; field::BYTES];
    put_u16(&mut length, field::ID, TEXT_LENGTH);
    length[field::WIDTH] = 1;
    bytes.extend_from_slice(&length);
    let records_offset = align(bytes);
    // No text is longer: `Frame::intern` and `Frame::decode` see to it.
    bytes.extend(names.lengths().map(|length| length as u8));
    write_entry(bytes, entry, TEXT_LENGTHS, 1, 1, names.len(), [fields_offset, records_offset]);
    let texts_offset = align(bytes);
    bytes.extend_from_slice(names.bytes());
    let offsets = [texts_offset, texts_offset];
    write_entry(bytes, entry + section::BYTES, TEXTS, 0, 1, names.bytes().len(), offsets);
    Ok(())
}
