//! The chosen columns of a listing as JSON lines or CSV: keys are the names of the columns.

use crate::csv::{Cells, append_record};
use crate::json::{JsonValue, append_object};
use crate::layout::{Chosen, Line};
use cpuledger_model::field::Value;

/// Appends the names of the columns as one record.
pub fn append_csv_header(out: &mut Vec<u8>, columns: &[Chosen]) {
    append_record(out, named(columns).map(|column| &column.name));
}

/// Appends a line as one record; what is not known is an empty field.
pub fn append_csv_row(out: &mut Vec<u8>, columns: &[Chosen], line: &Line<'_>, cells: Cells) {
    let fields = named(columns).map(|column| match cell(column, line) {
        JsonValue::Null => Vec::new(),
        JsonValue::Number(text) => text,
        JsonValue::EscapedText(text) => {
            let mut cell = Vec::with_capacity(text.len() + 1);
            cells.append(&mut cell, &text);
            cell
        }
    });
    append_record(out, fields);
}

/// Appends a line as one object; what is not known is null.
pub fn append_json_row(out: &mut Vec<u8>, columns: &[Chosen], line: &Line<'_>) {
    append_object(out, named(columns).map(|column| (column.name.as_str(), cell(column, line))));
}

/// Texts between descriptors of AIX have no name.
fn named(columns: &[Chosen]) -> impl Iterator<Item = &Chosen> {
    columns.iter().filter(|column| !column.name.is_empty())
}

fn cell(column: &Chosen, line: &Line<'_>) -> JsonValue {
    if !column.is_in(line.part) || !column.is_known(&line.row) {
        return JsonValue::Null;
    }
    let mut text = Vec::new();
    match column.value(&line.row) {
        Some(Value::Absent) => return JsonValue::Null,
        Some(Value::Unsigned(_) | Value::Signed(_)) => {
            column.write(line, &mut text);
            return JsonValue::Number(text);
        }
        Some(_) => column.write(line, &mut text),
        None => column.write(line, &mut text),
    }
    let start = text.iter().position(|&byte| byte != b' ').unwrap_or(text.len());
    match &text[start..] {
        b"-" if column.is_right() => JsonValue::Null,
        number if column.is_number() && is_json_number(number) => JsonValue::Number(number.to_vec()),
        _ => JsonValue::EscapedText(text),
    }
}

fn is_json_number(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let (whole, fraction) = match digits.iter().position(|&byte| byte == b'.') {
        Some(point) => (&digits[..point], &digits[point + 1..]),
        None => (digits, &b"0"[..]),
    };
    let are_digits = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    are_digits(whole) && are_digits(fraction) && (whole == b"0" || whole[0] != b'0')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_json() {
        for (text, expected) in [
            ("0", true),
            ("-1", true),
            ("0.5", true),
            ("10.25", true),
            ("007", false),
            ("1.", false),
            (".5", false),
            ("", false),
            ("-", false),
            ("1e5", false),
        ] {
            assert_eq!(is_json_number(text.as_bytes()), expected, "{text:?}");
        }
    }
}
