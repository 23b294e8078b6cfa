//! Protobuf as it is on the wire, read without the definitions of the program that writes it.

use super::Received;

/// A field of a message.
enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl<'a> Field<'a> {
    fn bytes(&self) -> &'a [u8] {
        match self {
            Field::Bytes(bytes) => bytes,
            Field::Number(_) => panic!("a message was expected"),
        }
    }

    fn number(&self) -> u64 {
        match self {
            Field::Number(number) => *number,
            Field::Bytes(_) => panic!("a number was expected"),
        }
    }
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first().expect("more bytes");
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return value;
        }
    }
    panic!("a number is too long");
}

/// The fields of a message, with their tags.
fn fields(mut bytes: &[u8]) -> Vec<(u64, Field<'_>)> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let field = match key & 7 {
            0 => Field::Number(varint(&mut bytes)),
            1 => {
                let (number, rest) = bytes.split_first_chunk().expect("eight bytes");
                bytes = rest;
                Field::Number(u64::from_le_bytes(*number))
            }
            2 => {
                let length = usize::try_from(varint(&mut bytes)).expect("a length");
                let (field, rest) = bytes.split_at(length);
                bytes = rest;
                Field::Bytes(field)
            }
            other => panic!("wire type {other}"),
        };
        fields.push((key >> 3, field));
    }
    fields
}

fn all(message: &[u8], tag: u64) -> Vec<&[u8]> {
    fields(message).into_iter().filter(|(own, _)| *own == tag).map(|(_, field)| field.bytes()).collect()
}

fn text(message: &[u8], tag: u64) -> String {
    let bytes = all(message, tag).first().map(|bytes| bytes.to_vec()).unwrap_or_default();
    String::from_utf8(bytes).expect("UTF-8")
}

/// Attributes as `{key=value,key=value}`.
fn attributes(message: &[u8], tag: u64) -> String {
    let mut texts = Vec::new();
    for pair in all(message, tag) {
        let value = all(pair, 2)[0];
        let value = match fields(value).first() {
            Some((1, field)) => String::from_utf8(field.bytes().to_vec()).expect("UTF-8"),
            Some((3, field)) => field.number().to_string(),
            _ => panic!("neither text nor a number"),
        };
        texts.push(format!("{}={value}", text(pair, 1)));
    }
    if texts.is_empty() { String::new() } else { format!("{{{}}}", texts.join(",")) }
}

/// Adds the points of an `ExportMetricsServiceRequest`.
pub fn receive(received: &mut Received, request: &[u8]) {
    for of_resource in all(request, 1) {
        let resource = attributes(all(of_resource, 1)[0], 1);
        for metric in all(of_resource, 2).into_iter().flat_map(|scope| all(scope, 2)) {
            let name = text(metric, 1);
            for (tag, data) in fields(metric) {
                if tag != 5 && tag != 7 {
                    continue;
                }
                if tag == 7 {
                    let settings: Vec<(u64, u64)> = fields(data.bytes())
                        .iter()
                        .filter(|(tag, _)| *tag != 1)
                        .map(|(tag, field)| (*tag, field.number()))
                        .collect();
                    assert_eq!(settings, [(2, 2), (3, 1)], "{name} is cumulative and monotonic");
                }
                for point in all(data.bytes(), 1) {
                    let (mut since, mut when, mut value) = (0, 0, None);
                    for (tag, field) in fields(point) {
                        match tag {
                            2 => since = field.number(),
                            3 => when = field.number(),
                            4 => value = Some((f64::from_bits(field.number()) * 1e9).round() as i128),
                            6 => value = Some(i128::from(field.number().cast_signed())),
                            _ => {}
                        }
                    }
                    let value = value.expect("a value");
                    received.add(&resource, &name, &attributes(point, 7), since, when, value);
                }
            }
        }
    }
}
