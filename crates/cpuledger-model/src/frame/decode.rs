//! From any bytes to a frame, or to a sentence that says why they are none.
//!
//! The memory of a decoded frame is at most a fixed multiple of its bytes. A record has at least eight bytes, its fields do not overlap, and
//! a column in which all rows have the same value is kept as that value.

use std::ops::Range;

use crate::frame::column::{COLUMNS, Column, Kind};
use crate::frame::encode::{TEXT_LENGTH, TEXT_LENGTHS, TEXTS};
use crate::frame::error::{Error, ErrorKind};
use crate::frame::layout::{
    ALIGNMENT, LEAST_RECORD_BYTES, MAGIC, MOST_BYTES, MOST_FIELDS, MOST_RECORDS, MOST_SECTIONS, VERSION,
    field, get_u16, get_u32, get_u64, header, section,
};
use crate::frame::owners::Owners;
use crate::frame::sections::{Frame, Section};
use crate::frame::table::{ABSENT, Table, Values, raw_of_signed};

/// What the header says.
struct Header {
    header_bytes: usize,
    sections: usize,
    section_entry_bytes: usize,
    field_entry_bytes: usize,
    most_records: u32,
    most_fields: u16,
    most_text_bytes: u16,
}

/// An entry of the directory of sections.
struct Entry<'a> {
    id: u16,
    /// The directory of its fields.
    fields: &'a [u8],
    record_bytes: usize,
    count: usize,
    records: &'a [u8],
}

/// What of a frame is decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    sections: [bool; Section::ALL.len()],
    /// By the place of the column.
    columns: [bool; COLUMNS],
}

impl Wanted {
    /// All of it.
    pub const ALL: Wanted = Wanted { sections: [true; Section::ALL.len()], columns: [true; COLUMNS] };

    /// These sections and columns, the interval, and its start and end.
    pub fn of(sections: &[Section], columns: &[Column]) -> Wanted {
        let mut wanted = Wanted { sections: [false; Section::ALL.len()], columns: [false; COLUMNS] };
        for section in sections.iter().chain(&[Section::Interval]) {
            wanted.sections[section.place()] = true;
        }
        for column in columns.iter().chain(&[Column::START_NS, Column::END_NS]) {
            wanted.columns[column.index()] = true;
        }
        // They are told as differences from the processes.
        wanted.sections[Section::Processes.place()] |= wanted.sections[Section::Tasks.place()];
        if wanted.sections[Section::Tasks.place()] {
            wanted.columns[Column::PID.index()] = true;
        }
        wanted
    }

    /// What one of both wants.
    #[must_use]
    pub fn and(&self, other: &Wanted) -> Wanted {
        let mut both = self.clone();
        let flags = both.sections.iter_mut().zip(other.sections);
        flags.for_each(|(own, other)| *own |= other);
        let flags = both.columns.iter_mut().zip(other.columns);
        flags.for_each(|(own, other)| *own |= other);
        both
    }

    /// All but the rows of this section.
    pub fn all_but(section: Section) -> Wanted {
        let mut wanted = Wanted::ALL;
        wanted.sections[section.place()] = false;
        wanted
    }

    pub(crate) fn has_section(&self, section: Section) -> bool {
        self.sections[section.place()]
    }

    pub(crate) fn has(&self, section: Section, column: Column) -> bool {
        self.has_section(section) && self.columns[column.index()]
    }
}

impl Frame {
    /// The frame that these bytes are.
    ///
    /// # Errors
    /// When they are none, or one that needs a newer reader.
    pub fn decode(bytes: &[u8]) -> Result<Frame, Error> {
        let mut frame = Frame::new();
        frame.decode_from(bytes)?;
        Ok(frame)
    }

    /// As [`Frame::decode`], into the memory of this frame. After an error it is as [`Frame::new`].
    ///
    /// # Errors
    /// As [`Frame::decode`].
    pub fn decode_from(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.decode_wanted_from(bytes, &Wanted::ALL)
    }

    /// Likewise, but only what is wanted: of all else it says that it is absent. This is faster, and does not look at what it skips.
    ///
    /// # Errors
    /// As [`Frame::decode`].
    pub fn decode_wanted_from(&mut self, bytes: &[u8], wanted: &Wanted) -> Result<(), Error> {
        self.clear();
        let decoded = read_sections(self, bytes, wanted);
        if decoded.is_err() {
            self.clear();
        }
        decoded
    }

    /// Decodes these rows of the tasks, in the place of those that it has. All else stays: `self` is decoded from the same bytes, with or without
    /// tasks. So several threads decode a long listing, a part each, into memory that stays in their caches.
    ///
    /// # Errors
    /// As [`Frame::decode`]; and when the bytes have fewer tasks. Afterwards it has none.
    pub fn decode_tasks_from(&mut self, bytes: &[u8], rows: Range<usize>) -> Result<(), Error> {
        let decoded = read_part(self, bytes, rows);
        if decoded.is_err() {
            self.table_mut(Section::Tasks).reset(0);
        }
        decoded
    }

    /// How many rows a section of these bytes has. It looks at no row.
    ///
    /// # Errors
    /// When the bytes are no frame.
    pub fn count_rows(bytes: &[u8], section: Section) -> Result<usize, Error> {
        let found = find_section(bytes, &read_header(bytes)?, section)?;
        Ok(found.map_or(0, |entry| entry.count))
    }
}

fn read_part(frame: &mut Frame, bytes: &[u8], rows: Range<usize>) -> Result<(), Error> {
    let header = read_header(bytes)?;
    let found = find_section(bytes, &header, Section::Tasks)?;
    let Some(mut entry) = found.filter(|entry| rows.start <= rows.end && rows.end <= entry.count) else {
        frame.table_mut(Section::Tasks).reset(0);
        // A table without rows has no section.
        return if rows == (0..0) { Ok(()) } else { Err(Error::new("the frame has fewer tasks")) };
    };
    entry.records = &entry.records[rows.start * entry.record_bytes..rows.end * entry.record_bytes];
    entry.count = rows.len();
    read_tasks(frame, &entry, &header, &Wanted::ALL)?;
    check_texts(frame, Section::Tasks)
}

/// The entry of a section; `None`: the bytes have no such section.
fn find_section<'a>(bytes: &'a [u8], header: &Header, section: Section) -> Result<Option<Entry<'a>>, Error> {
    for number in 0..header.sections {
        let entry = read_entry(bytes, section_entry(bytes, header, number), header)?;
        if entry.id == section.id() {
            return Ok(Some(entry));
        }
    }
    Ok(None)
}

/// The entry of that place in the directory of sections.
fn section_entry<'a>(bytes: &'a [u8], header: &Header, number: usize) -> &'a [u8] {
    let at = header.header_bytes + number * header.section_entry_bytes;
    &bytes[at..at + header.section_entry_bytes]
}

fn read_sections(frame: &mut Frame, bytes: &[u8], wanted: &Wanted) -> Result<(), Error> {
    let header = read_header(bytes)?;
    let mut seen = [false; MOST_SECTIONS as usize];
    let (mut tasks, mut text_lengths, mut texts) = (None, None, None);
    let mut listed_bytes = 0;
    for number in 0..header.sections {
        let entry = read_entry(bytes, section_entry(bytes, &header, number), &header)?;
        let known = Section::by_id(entry.id);
        if known.is_none() && entry.id != TEXT_LENGTHS && entry.id != TEXTS {
            continue;
        }
        if std::mem::replace(&mut seen[usize::from(entry.id)], true) {
            return Err(Error::with(format_args!("section {} comes twice", entry.id)));
        }
        listed_bytes += entry.records.len();
        if listed_bytes > bytes.len() {
            return Err(Error::new("the sections overlap"));
        }
        match known {
            Some(section) if !wanted.sections[section.place()] => {}
            // They may be told by the processes.
            Some(Section::Tasks) => tasks = Some(entry),
            Some(section) => {
                let relative = read_table(frame.table_mut(section), &entry, &header, wanted)?;
                if !relative.is_empty() {
                    return Err(Error::with(format_args!("section {} has relative fields", section.id())));
                }
            }
            None if entry.id == TEXTS => texts = Some(entry.records),
            None => text_lengths = Some(entry),
        }
    }
    if !seen[usize::from(Section::Interval.id())] || frame.table(Section::Interval).len() != 1 {
        return Err(Error::new("the interval has not one record"));
    }
    if let Some(entry) = tasks {
        read_tasks(frame, &entry, &header, wanted)?;
    }
    if let Some(lengths) = text_lengths {
        read_texts(frame, &lengths, texts.unwrap_or_default(), &header)?;
    }
    Section::ALL.into_iter().try_for_each(|section| check_texts(frame, section))
}

fn read_header(bytes: &[u8]) -> Result<Header, Error> {
    if bytes.len() < header::BYTES {
        return Err(Error::new("the bytes are too few for a frame"));
    }
    if !bytes.starts_with(&MAGIC) {
        return Err(Error::new("the bytes do not begin as a frame does"));
    }
    let (version, oldest_reader) = (get_u16(bytes, header::VERSION), get_u16(bytes, header::OLDEST_READER));
    if version == 0 {
        return Err(Error::new("the frame has no version"));
    }
    if oldest_reader > VERSION {
        return Err(Error::of_with(
            ErrorKind::TooNew,
            format_args!(
                "the frame has version {version} and needs a reader of version {oldest_reader}, this one has version {VERSION}"
            ),
        ));
    }
    let total = get_u32(bytes, header::TOTAL_BYTES);
    if total as usize != bytes.len() {
        return Err(Error::with(format_args!("the frame has {total} bytes, and these are {}", bytes.len())));
    }
    if total > MOST_BYTES.min(get_u32(bytes, header::MOST_BYTES)) {
        return Err(Error::with(format_args!("{total} bytes are more than a frame may have")));
    }
    let size = |at| usize::from(get_u16(bytes, at));
    let header = Header {
        header_bytes: size(header::HEADER_BYTES),
        sections: size(header::SECTIONS),
        section_entry_bytes: size(header::SECTION_ENTRY_BYTES),
        field_entry_bytes: size(header::FIELD_ENTRY_BYTES),
        most_records: MOST_RECORDS.min(get_u32(bytes, header::MOST_RECORDS)),
        most_fields: MOST_FIELDS.min(get_u16(bytes, header::MOST_FIELDS)),
        most_text_bytes: get_u16(bytes, header::MOST_TEXT_BYTES),
    };
    let is_size = |size: usize, least: usize| size >= least && size.is_multiple_of(ALIGNMENT);
    if !is_size(header.header_bytes, header::BYTES)
        || !is_size(header.section_entry_bytes, section::BYTES)
        || !is_size(header.field_entry_bytes, field::BYTES)
    {
        return Err(Error::new("the sizes in the header are not those of a frame"));
    }
    if header.sections > usize::from(MOST_SECTIONS) {
        return Err(Error::with(format_args!("{} sections are more than a frame may have", header.sections)));
    }
    if header.header_bytes + header.sections * header.section_entry_bytes > bytes.len() {
        return Err(Error::new("the directory of sections ends behind the frame"));
    }
    Ok(header)
}

fn read_entry<'a>(bytes: &'a [u8], entry: &[u8], header: &Header) -> Result<Entry<'a>, Error> {
    let id = get_u16(entry, section::ID);
    let fields = get_u16(entry, section::FIELDS);
    if fields > header.most_fields {
        return Err(Error::with(format_args!("section {id} has more than {} fields", header.most_fields)));
    }
    let count = get_u32(entry, section::RECORDS);
    // The texts are bytes, not rows.
    let own = Section::by_id(id).map_or(MOST_RECORDS, Section::most_records);
    let most_records = if id == TEXTS { MOST_BYTES } else { header.most_records.min(own) };
    if count > most_records {
        return Err(Error::with(format_args!("section {id} has more than {most_records} records")));
    }
    let part = |offset: usize, length: Option<usize>| {
        let part = length.and_then(|length| bytes.get(offset..offset.checked_add(length)?));
        part.filter(|_| offset.is_multiple_of(ALIGNMENT))
            .ok_or_else(|| Error::with(format_args!("section {id} is not within the frame")))
    };
    let (record_bytes, count) = (get_u32(entry, section::RECORD_BYTES) as usize, count as usize);
    let fields_bytes = usize::from(fields) * header.field_entry_bytes;
    Ok(Entry {
        id,
        fields: part(get_u32(entry, section::FIELDS_OFFSET) as usize, Some(fields_bytes))?,
        record_bytes,
        count,
        records: part(get_u32(entry, section::RECORDS_OFFSET) as usize, count.checked_mul(record_bytes))?,
    })
}

/// A field of a section, within its records.
struct Field {
    id: u16,
    kind: u8,
    is_nullable: bool,
    is_relative: bool,
    width: usize,
    offset: usize,
    base: u64,
}

fn read_field(entry: &Entry<'_>, bytes: &[u8]) -> Result<Field, Error> {
    let found = Field {
        id: get_u16(bytes, field::ID),
        kind: bytes[field::KIND],
        is_nullable: bytes[field::FLAGS] & field::IS_NULLABLE != 0,
        is_relative: bytes[field::FLAGS] & field::IS_RELATIVE != 0,
        width: bytes[field::WIDTH].into(),
        offset: get_u16(bytes, field::OFFSET).into(),
        base: get_u64(bytes, field::BASE),
    };
    if found.width > 8 || found.offset + found.width > entry.record_bytes {
        return Err(Error::with(format_args!(
            "field {} of section {} is not within its record",
            found.id, entry.id
        )));
    }
    Ok(found)
}

/// The table of tasks, and what of it is told as differences from the processes.
fn read_tasks(frame: &mut Frame, entry: &Entry<'_>, header: &Header, wanted: &Wanted) -> Result<(), Error> {
    let relative = read_table(frame.table_mut(Section::Tasks), entry, header, wanted)?;
    if relative.is_empty() {
        return Ok(());
    }
    let mut told: Vec<Vec<u64>> = relative
        .iter()
        .map(|column| {
            let values = frame.table_mut(Section::Tasks).values_mut(*column);
            if values.each.is_empty() {
                values.each.resize(entry.count, values.constant);
            }
            std::mem::take(&mut values.each)
        })
        .collect();
    let owners = Owners::of(frame).filter(|_| !relative.contains(&Column::PID));
    let owners = owners.ok_or(Error::new("the tasks are told by processes whose pids do not ascend"))?;
    for (column, differences) in relative.iter().zip(&mut told) {
        if !owners.add(*column, differences) {
            return Err(too_large(entry.id, *column));
        }
    }
    for (column, differences) in relative.into_iter().zip(told) {
        let values = frame.table_mut(Section::Tasks).values_mut(column);
        values.each = differences;
        values.merge_equal();
    }
    Ok(())
}

fn too_large(section: u16, column: Column) -> Error {
    Error::with(format_args!("section {section} has values of {} that are too large", column.name()))
}

/// Reads the columns of a section. Returns those that hold differences.
fn read_table(
    table: &mut Table,
    entry: &Entry<'_>,
    header: &Header,
    wanted: &Wanted,
) -> Result<Vec<Column>, Error> {
    if entry.record_bytes < LEAST_RECORD_BYTES {
        return Err(Error::with(format_args!(
            "the records of section {} are shorter than {LEAST_RECORD_BYTES} bytes",
            entry.id
        )));
    }
    table.reset(entry.count);
    let mut relative = Vec::new();
    let mut used_bytes = 0;
    for bytes in entry.fields.chunks_exact(header.field_entry_bytes) {
        let mut field = read_field(entry, bytes)?;
        let known = Column::by_id(field.id).filter(|column| wanted.columns[column.index()]);
        let Some(column) = known else { continue };
        if column.kind() as u8 != field.kind {
            return Err(Error::with(format_args!("{} has the kind {}", column.name(), field.kind)));
        }
        if field.is_relative {
            relative.push(column);
        }
        if column.kind() == Kind::Signed || field.is_relative {
            field.base = raw_of_signed(field.base.cast_signed());
        }
        used_bytes += field.width;
        let values = table.values_mut(column);
        if used_bytes > entry.record_bytes || !values.is_absent() {
            return Err(Error::with(format_args!("the fields of section {} overlap", entry.id)));
        }
        if !read_column(values, entry, &field) {
            return Err(too_large(entry.id, column));
        }
    }
    Ok(relative)
}

/// Whether all values are in range.
fn read_column(values: &mut Values, entry: &Entry<'_>, field: &Field) -> bool {
    if field.width == 0 {
        // All rows are absent, or equal to the base.
        values.constant = if field.is_nullable { ABSENT } else { field.base };
        return field.is_nullable || field.base != ABSENT;
    }
    let ones = ABSENT >> (64 - 8 * field.width);
    let absent = if field.is_nullable { Some(ones) } else { None };
    let mut in_range = true;
    values.each.clear();
    values.each.extend((0..entry.count).map(|row| {
        let rest = &entry.records[row * entry.record_bytes + field.offset..];
        // Eight bytes at once, but at the end of the section.
        let stored = match rest.first_chunk::<8>() {
            Some(eight) => u64::from_le_bytes(*eight) & ones,
            None => {
                let mut stored = [0; 8];
                stored[..field.width].copy_from_slice(&rest[..field.width]);
                u64::from_le_bytes(stored)
            }
        };
        if Some(stored) == absent {
            return ABSENT;
        }
        let value = field.base.checked_add(stored).unwrap_or(ABSENT);
        in_range &= value != ABSENT;
        value
    }));
    // What is one number in the rows of a part is looked at once for all of them. What is absent in all is kept, so that a second one is found.
    if values.each.first() != Some(&ABSENT) {
        values.merge_equal();
    }
    in_range
}

fn read_texts(frame: &mut Frame, lengths: &Entry<'_>, texts: &[u8], header: &Header) -> Result<(), Error> {
    let mut fields = lengths.fields.chunks_exact(header.field_entry_bytes);
    let length = fields.find(|bytes| get_u16(bytes, field::ID) == TEXT_LENGTH);
    let length = length.ok_or(Error::new("the texts have no lengths"))?;
    let length = read_field(lengths, length)?;
    let mut values = Values::default();
    if length.is_nullable || length.width > 1 || !read_column(&mut values, lengths, &length) {
        return Err(Error::new("the lengths of the texts are not those of a frame"));
    }
    if length.width == 0 && lengths.count > texts.len() {
        return Err(Error::new("there are more texts than bytes of texts"));
    }
    let mut rest = texts;
    for number in 0..lengths.count {
        let length = values.raw(number);
        if length > u64::from(header.most_text_bytes.min(crate::frame::MOST_TEXT_BYTES as u16)) {
            return Err(Error::with(format_args!("text {number} has {length} bytes")));
        }
        let text = rest.split_at_checked(length as usize);
        let (text, behind) = text.ok_or(Error::new("the texts are longer than their section"))?;
        frame.names.push(text);
        rest = behind;
    }
    if rest.is_empty() { Ok(()) } else { Err(Error::new("the texts are shorter than their section")) }
}

/// Each number of a text in this section is that of one.
fn check_texts(frame: &Frame, section: Section) -> Result<(), Error> {
    let texts = frame.names.len() as u64;
    let table = frame.table(section);
    for column in Column::known().filter(|column| column.kind() == Kind::Text) {
        let is_text = |raw: u64| raw == ABSENT || raw < texts;
        let values = table.values(column);
        let all = if values.each.is_empty() {
            is_text(values.constant)
        } else {
            values.each.iter().all(|&raw| is_text(raw))
        };
        if !all {
            return Err(Error::with(format_args!(
                "{} of section {} is no text of the frame",
                column.name(),
                section.id()
            )));
        }
    }
    Ok(())
}
