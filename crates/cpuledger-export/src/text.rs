//! Batches as CSV and as lines of JSON.

use std::fs::File;
use std::io;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, RecordBatch};
pub(crate) use cpuledger_proc::escape::Cells;
use jiff::Timestamp;
use jiff::fmt::temporal::DateTimePrinter;

/// Appends the value of a row, which is there.
fn append(text: &mut Vec<u8>, array: &ArrayRef, row: usize, append_text: impl Fn(&mut Vec<u8>, &str)) {
    if let Some(numbers) = array.as_primitive_opt::<Int64Type>() {
        text.extend_from_slice(itoa::Buffer::new().format(numbers.value(row)).as_bytes());
    } else if let Some(times) = array.as_primitive_opt::<TimestampMicrosecondType>() {
        append_text(text, &time(times.value(row)));
    } else if let Some(flags) = array.as_boolean_opt() {
        text.extend_from_slice(if flags.value(row) { b"true" } else { b"false" });
    } else if let Some(words) = array.as_dictionary_opt::<Int32Type>()
        && let Some(place) = words.key(row)
    {
        append_text(text, words.values().as_string::<i32>().value(place));
    }
}

/// With microseconds in any case, so that all times have one length.
fn time(micros: i64) -> String {
    const PRINTER: DateTimePrinter = DateTimePrinter::new().precision(Some(6));
    let mut text = String::new();
    let printed = Timestamp::from_microsecond(micros).map(|time| PRINTER.print_timestamp(&time, &mut text));
    if printed.is_err() {
        text.clear();
    }
    text
}

/// Appends rows. What is absent is an empty cell.
pub(crate) fn write_csv(writer: &mut csv::Writer<File>, batch: &RecordBatch, cells: Cells) -> io::Result<()> {
    let mut cell = Vec::new();
    for row in 0..batch.num_rows() {
        for array in batch.columns() {
            cell.clear();
            if array.is_valid(row) {
                append(&mut cell, array, row, |cell, text| cells.append(cell, text.as_bytes()));
            }
            writer.write_field(&cell)?;
        }
        writer.write_record(None::<&[u8]>)?;
    }
    Ok(())
}

/// Rows as JSON objects. What is absent is null.
pub(crate) fn json_lines(batch: &RecordBatch) -> Vec<u8> {
    let schema = batch.schema();
    let keys: Vec<String> = schema.fields().iter().map(|field| format!("\"{}\":", field.name())).collect();
    let mut text = Vec::new();
    for row in 0..batch.num_rows() {
        for (place, (key, array)) in keys.iter().zip(batch.columns()).enumerate() {
            text.push(if place == 0 { b'{' } else { b',' });
            text.extend_from_slice(key.as_bytes());
            if array.is_valid(row) {
                // A text is always JSON.
                append(&mut text, array, row, |text, word| {
                    let _ = serde_json::to_writer(text, word);
                });
            } else {
                text.extend_from_slice(b"null");
            }
        }
        text.extend_from_slice(b"}\n");
    }
    text
}
