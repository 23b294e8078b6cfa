//! A writer of frames from the document alone: it shares nothing with the library.

/// A frame of version 2, which version 1 can read: a longer header and longer entries, a field and a section that version 1 does not know.
pub const NEXT_VERSION: NextVersion = NextVersion;

/// See [`NEXT_VERSION`].
#[derive(Clone, Copy)]
pub struct NextVersion;

impl NextVersion {
    /// Its bytes.
    pub fn bytes(self) -> Vec<u8> {
        Layout { version: 2, more_bytes: 16, ..Layout::default() }
            .section(1, 1, &[Field::new(115, 0).base(100), Field::new(116, 0).base(300), Field::new(5000, 0)])
            .section(60, 2, &[Field::new(1, 7).width(3).stored(&[1, 2])])
            .section(
                3,
                3,
                &[
                    Field::new(6000, 9).width(5).stored(&[1, 2, 3]),
                    Field::new(1, 1).base(10).width(2).stored(&[0, 1, 290]),
                ],
            )
            .bytes()
    }
}

/// A field with its stored values.
#[derive(Debug, Clone)]
pub struct Field {
    id: u16,
    kind: u8,
    flags: u8,
    width: u8,
    base: u64,
    offset: Option<u16>,
    stored: Vec<u64>,
}

impl Field {
    /// Of width 0.
    pub fn new(id: u16, kind: u8) -> Field {
        Field { id, kind, flags: 0, width: 0, base: 0, offset: None, stored: Vec::new() }
    }

    pub fn kind(self, kind: u8) -> Field {
        Field { kind, ..self }
    }

    pub fn nullable(self) -> Field {
        Field { flags: self.flags | 1, ..self }
    }

    /// Told as the difference from the process.
    pub fn relative(self) -> Field {
        Field { flags: self.flags | 2, ..self }
    }

    pub fn base(self, base: u64) -> Field {
        Field { base, ..self }
    }

    pub fn width(self, width: u8) -> Field {
        Field { width, ..self }
    }

    /// Not behind the others.
    pub fn at(self, offset: u16) -> Field {
        Field { offset: Some(offset), ..self }
    }

    pub fn stored(self, stored: &[u64]) -> Field {
        Field { stored: stored.to_vec(), ..self }
    }
}

/// A frame in the making.
#[derive(Debug, Clone)]
pub struct Layout {
    pub version: u16,
    /// What the header and each entry have behind what version 1 knows.
    pub more_bytes: usize,
    sections: Vec<(u16, u32, u32, Vec<Field>)>,
}

impl Default for Layout {
    fn default() -> Layout {
        Layout { version: 1, more_bytes: 0, sections: Vec::new() }
    }
}

impl Layout {
    /// With records as short as they may be.
    pub fn section(self, id: u16, records: u32, fields: &[Field]) -> Layout {
        let record_bytes: u32 = fields.iter().map(|field| u32::from(field.width)).sum();
        self.sized_section(id, records, record_bytes.max(8), fields)
    }

    pub fn sized_section(mut self, id: u16, records: u32, record_bytes: u32, fields: &[Field]) -> Layout {
        self.sections.push((id, records, record_bytes, fields.to_vec()));
        self
    }

    pub fn bytes(&self) -> Vec<u8> {
        let (header_bytes, entry_bytes, field_bytes) =
            (40 + self.more_bytes, 24 + self.more_bytes, 16 + self.more_bytes);
        let mut bytes = vec![0; header_bytes + self.sections.len() * entry_bytes];
        for (number, (id, records, record_bytes, fields)) in self.sections.iter().enumerate() {
            pad(&mut bytes);
            let fields_offset = bytes.len();
            let mut offset = 0;
            let mut offsets = Vec::new();
            for field in fields {
                let at = field.offset.unwrap_or(offset);
                offset += u16::from(field.width);
                offsets.push(at);
                bytes.extend(field.id.to_le_bytes());
                bytes.extend([field.kind, field.flags, field.width, 0]);
                bytes.extend(at.to_le_bytes());
                bytes.extend(field.base.to_le_bytes());
                bytes.extend(vec![0xee; self.more_bytes]);
            }
            pad(&mut bytes);
            let records_offset = bytes.len();
            bytes.resize(records_offset + (*records as usize) * (*record_bytes as usize), 0);
            for (field, at) in fields.iter().zip(offsets) {
                for (row, stored) in field.stored.iter().enumerate() {
                    let at = records_offset + row * (*record_bytes as usize) + usize::from(at);
                    let width = usize::from(field.width);
                    bytes[at..at + width].copy_from_slice(&stored.to_le_bytes()[..width]);
                }
            }
            let mut entry = Vec::new();
            entry.extend(id.to_le_bytes());
            entry.extend((fields.len() as u16).to_le_bytes());
            for number in [*record_bytes, *records, fields_offset as u32, records_offset as u32] {
                entry.extend(number.to_le_bytes());
            }
            entry.extend([0; 4]);
            entry.extend(vec![0xdd; self.more_bytes]);
            let at = header_bytes + number * entry_bytes;
            assert_eq!((entry.len(), field_bytes), (entry_bytes, 16 + self.more_bytes));
            bytes[at..at + entry_bytes].copy_from_slice(&entry);
        }
        let mut header = b"cpuledgr".to_vec();
        for number in [
            self.version,
            1,
            header_bytes as u16,
            self.sections.len() as u16,
            entry_bytes as u16,
            field_bytes as u16,
        ] {
            header.extend(number.to_le_bytes());
        }
        for number in [bytes.len() as u32, 1 << 30, 1 << 22] {
            header.extend(number.to_le_bytes());
        }
        header.extend(1024u16.to_le_bytes());
        header.extend(255u16.to_le_bytes());
        bytes[..header.len()].copy_from_slice(&header);
        bytes
    }
}

fn pad(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().next_multiple_of(8), 0);
}
