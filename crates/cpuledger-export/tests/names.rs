//! The same hostile names in each format of an export: one record each, no control, and no two names become one.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, RecordBatch};
use cpuledger_export::{Format, Options, Progress, export};
use cpuledger_load::names::{HOSTILE, foul};
use cpuledger_model::frame::{Column, Frame, Section};
use cpuledger_recording::Writer;

fn record(path: &Path) {
    const SECOND_NS: u64 = 1_000_000_000;
    let mut frame = Frame::new();
    for (column, value) in [
        (Column::START_NS, 0),
        (Column::END_NS, SECOND_NS),
        (Column::END_REALTIME_NS, 1_700_000_000 * SECOND_NS),
        (Column::KNOWS_EXITS, 1),
    ] {
        frame.set_figure(column, Some(value));
    }
    let names: Vec<u64> = HOSTILE.iter().map(|(name, _)| frame.intern(name)).collect();
    let table = frame.table_mut(Section::Processes);
    table.reset(HOSTILE.len());
    table.fill_signed(Column::PID, (0..HOSTILE.len()).map(|row| Some(row as i64 + 1)));
    table.fill_signed(Column::TID, (0..HOSTILE.len()).map(|row| Some(row as i64 + 1)));
    table.fill(Column::CPU_NS, HOSTILE.map(|_| Some(1)));
    table.fill(Column::COMM, names.into_iter().map(Some));
    let mut writer = Writer::open(path, cpuledger_recording::Options::default()).expect("a writer");
    writer.append(&frame).expect("written");
    writer.close().expect("closed");
}

/// The one file of the table of processes.
fn usage(folder: &Path) -> PathBuf {
    let mut path = folder.join("usage");
    while path.is_dir() {
        let mut entries = fs::read_dir(&path).expect("a folder");
        path = entries.next().expect("one").expect("an entry").path();
    }
    path
}

fn texts(batch: &RecordBatch) -> Vec<String> {
    let array: &ArrayRef = batch.column_by_name("comm").expect("names");
    let text = |row: usize| match array.as_dictionary_opt::<Int32Type>() {
        Some(words) => words.values().as_string::<i32>().value(words.key(row).expect("a name")).to_owned(),
        None => array.as_string::<i32>().value(row).to_owned(),
    };
    (0..array.len()).map(text).collect()
}

fn read(path: &Path, format: Format) -> Vec<String> {
    match format {
        Format::Parquet => {
            let file = File::open(path).expect("a file");
            let reader = parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(file);
            let reader = reader.expect("Parquet").build().expect("Parquet");
            reader.flat_map(|batch| texts(&batch.expect("rows"))).collect()
        }
        Format::Arrow => {
            let file = File::open(path).expect("a file");
            let reader = arrow_ipc::reader::FileReader::try_new(file, None).expect("Arrow");
            reader.flat_map(|batch| texts(&batch.expect("rows"))).collect()
        }
        Format::JsonLines => {
            let text = fs::read_to_string(path).expect("UTF-8");
            let name = |line: &str| {
                let row: serde_json::Value = serde_json::from_str(line).expect("an object");
                row["comm"].as_str().expect("a name").to_owned()
            };
            text.lines().map(name).collect()
        }
        _ => {
            let mut reader = csv::Reader::from_path(path).expect("CSV");
            let column = reader.headers().expect("a header").iter().position(|name| name == "comm");
            let column = column.expect("names");
            reader.records().map(|row| row.expect("a record")[column].to_owned()).collect()
        }
    }
}

#[test]
fn hostile_names_are_told_apart_and_harm_no_reader() {
    let folder = tempfile::tempdir().expect("a folder");
    let recording = folder.path().join("recording");
    record(&recording);
    let expected: Vec<String> = HOSTILE.iter().map(|(_, escaped)| (*escaped).to_owned()).collect();
    assert_eq!(expected.iter().collect::<BTreeSet<_>>().len(), HOSTILE.len(), "no two are the same");
    for format in [Format::Parquet, Format::Arrow, Format::Csv, Format::CsvSafe, Format::JsonLines] {
        let to = folder.path().join(format!("{format:?}"));
        export(&recording, &to, &Options::all(format), &Progress::default()).expect("it can be exported");
        let path = usage(&to);
        let mut names = expected.clone();
        if format == Format::CsvSafe {
            let is_formula = |name: &&mut String| name.starts_with('=');
            names.iter_mut().filter(is_formula).for_each(|name| name.insert(0, '\''));
        }
        assert_eq!(read(&path, format), names, "{format:?}");
        let is_text = !matches!(format, Format::Parquet | Format::Arrow);
        if is_text {
            let text = fs::read_to_string(&path).expect("UTF-8");
            let header = usize::from(format != Format::JsonLines);
            assert_eq!(text.lines().count(), HOSTILE.len() + header, "{format:?}: a line a record");
            assert_eq!(foul(&text), None, "{format:?}: {text:?}");
        }
    }
}
