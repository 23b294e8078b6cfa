//! Writers of each format.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use arrow_array::RecordBatch;
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};
use cpuledger_program::export::Format;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

use crate::error::{io_of_arrow, io_of_parquet};
use crate::schema::{self, Kind, Table};
use crate::text;

/// Rows of a row group of Parquet.
const GROUP_ROWS: usize = 512 * 1024;

/// Writes the batches of one file.
pub(crate) enum Writer {
    Parquet(Box<ArrowWriter<File>>),
    Arrow(Box<FileWriter<BufWriter<File>>>),
    Csv(Box<csv::Writer<File>>, text::Cells),
    JsonLines(File),
}

impl Writer {
    pub(crate) fn new(format: Format, table: Table, file: File) -> io::Result<Writer> {
        Ok(match format {
            Format::Parquet => {
                let options = ArrowWriterOptions::new()
                    .with_properties(properties(table))
                    // Readers that know Arrow take the columns as Parquet describes them.
                    .with_skip_arrow_metadata(true);
                let writer = ArrowWriter::try_new_with_options(file, schema::schema(table), options);
                Writer::Parquet(Box::new(writer.map_err(io_of_parquet)?))
            }
            Format::Arrow => {
                let options = IpcWriteOptions::default().try_with_compression(Some(CompressionType::ZSTD));
                let options = options.map_err(io_of_arrow)?;
                let file = BufWriter::with_capacity(1 << 20, file);
                let writer = FileWriter::try_new_with_options(file, &schema::schema(table), options);
                Writer::Arrow(Box::new(writer.map_err(io_of_arrow)?))
            }
            Format::Csv | Format::CsvSafe => {
                let mut writer = csv::WriterBuilder::new().buffer_capacity(1 << 20).from_writer(file);
                writer.write_record(schema::columns(table).map(|column| column.name))?;
                let is_safe = format == Format::CsvSafe;
                Writer::Csv(Box::new(writer), if is_safe { text::Cells::Inert } else { text::Cells::Plain })
            }
            Format::JsonLines => Writer::JsonLines(file),
        })
    }

    pub(crate) fn write(&mut self, batch: &RecordBatch) -> io::Result<()> {
        match self {
            Writer::Parquet(writer) => writer.write(batch).map_err(io_of_parquet),
            Writer::Arrow(writer) => writer.write(batch).map_err(io_of_arrow),
            Writer::Csv(writer, cells) => text::write_csv(writer, batch, *cells),
            Writer::JsonLines(file) => file.write_all(&text::json_lines(batch)),
        }
    }

    /// Writes what is left, and gives the file back.
    pub(crate) fn finish(self) -> io::Result<File> {
        match self {
            Writer::Parquet(writer) => writer.into_inner().map_err(io_of_parquet),
            Writer::Arrow(writer) => {
                let buffered = writer.into_inner().map_err(io_of_arrow)?;
                buffered.into_inner().map_err(io::IntoInnerError::into_error)
            }
            Writer::Csv(writer, _) => writer.into_inner().map_err(|error| error.into_error()),
            Writer::JsonLines(file) => Ok(file),
        }
    }
}

/// Names are a dictionary in Parquet, too. Numbers are written as they are: compression finds what repeats, and is faster at it.
fn properties(table: Table) -> WriterProperties {
    let level = ZstdLevel::try_new(1).unwrap_or_default();
    let mut properties = WriterProperties::builder()
        .set_created_by(concat!("cpuledger ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(Compression::ZSTD(level))
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_dictionary_enabled(false);
    for column in schema::columns(table).filter(|column| column.kind == Kind::Text) {
        properties = properties.set_column_dictionary_enabled(ColumnPath::from(column.name), true);
    }
    properties.build()
}
