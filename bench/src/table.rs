//! A table: printed, and kept in `tables.md` beside the raw results, from which `readme` copies it into the documents.

use std::fmt::Write;
use std::fs;

use anyhow::Context;

use crate::results::Results;

/// The file of a folder of results that holds the tables.
pub const FILE: &str = "tables.md";

/// The order of the tables in the file.
const ORDER: [&str; 29] = [
    "listings",
    "refreshes",
    "status",
    "reads",
    "status-few",
    "enumerate",
    "monitors",
    "test1",
    "coverage",
    "waiting",
    "truth",
    "hooks",
    "accounts",
    "peers-disk",
    "peers-network",
    "peers-wait",
    "lifetimes",
    "rates",
    "service",
    "service-listings",
    "service-first",
    "go",
    "first",
    "recording-idle",
    "recording",
    "replay",
    "report",
    "against",
    "stalls",
];

/// Rows of cells under a header.
pub struct Table {
    name: &'static str,
    caption: String,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty one; the name is that of its block.
    pub fn new<S: ToString>(name: &'static str, caption: &str, header: impl IntoIterator<Item = S>) -> Table {
        let header = header.into_iter().map(|cell| cell.to_string()).collect();
        Table { name, caption: caption.to_owned(), rows: vec![header] }
    }

    /// Appends a row.
    pub fn row<S: ToString>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push(cells.into_iter().map(|cell| cell.to_string()).collect());
    }

    /// Whether there is anything below its header.
    pub fn has_rows(&self) -> bool {
        self.rows.len() > 1
    }

    /// Prints it, and puts it in the place of the one of that name among those of the same date and machine.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn keep(&self, results: &Results) -> anyhow::Result<()> {
        let body = format!("{} ({}):\n\n{}", self.caption, results.machine(), self.markdown());
        println!("\n{body}");
        let path = results.path().with_file_name(FILE);
        let old = if path.exists() { fs::read_to_string(&path)? } else { String::new() };
        let mut blocks: Vec<Block> =
            blocks(&old)?.into_iter().filter(|block| block.name != self.name).collect();
        blocks.push(Block { name: self.name, body: &body });
        blocks.sort_by_key(|block| ORDER.iter().position(|name| *name == block.name));
        let text: Vec<String> = blocks.iter().map(Block::text).collect();
        fs::write(&path, text.join("\n")).with_context(|| format!("cannot write {}", path.display()))
    }

    /// Aligned: the first column to the left, the others to the right.
    fn markdown(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let cell = |row: &'_ [String], column: usize| row.get(column).cloned().unwrap_or_default();
        let width = |column: usize| self.rows.iter().map(|row| cell(row, column).chars().count()).max();
        let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0).max(2)).collect();
        let mut text = String::new();
        for (number, row) in self.rows.iter().enumerate() {
            for (column, &width) in widths.iter().enumerate() {
                let cell = cell(row, column);
                let _ = if column == 0 {
                    write!(text, "| {cell:<width$} ")
                } else {
                    write!(text, "| {cell:>width$} ")
                };
            }
            text.push_str("|\n");
            if number == 0 {
                for (column, &width) in widths.iter().enumerate() {
                    let line = "-".repeat(width + 1);
                    let _ = if column == 0 { write!(text, "|{line}-") } else { write!(text, "|{line}:") };
                }
                text.push_str("|\n");
            }
        }
        text
    }
}

/// A table in a text, between two comments that Markdown does not show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block<'a> {
    /// Which one.
    pub name: &'a str,
    /// Its caption and rows.
    pub body: &'a str,
}

const BEGIN: &str = "<!-- table ";
const BEGUN: &str = " -->\n";
const END: &str = "<!-- end of table -->\n";

impl Block<'_> {
    /// With its comments.
    pub fn text(&self) -> String {
        format!("{BEGIN}{}{BEGUN}{}{END}", self.name, self.body)
    }
}

/// The tables of a text.
///
/// # Errors
/// When one does not end.
pub fn blocks(text: &str) -> anyhow::Result<Vec<Block<'_>>> {
    let mut blocks = Vec::new();
    for piece in text.split(BEGIN).skip(1) {
        let (name, rest) = piece.split_once(BEGUN).context("a table without a name")?;
        let (body, _) = rest.split_once(END).with_context(|| format!("table {name} does not end"))?;
        blocks.push(Block { name, body });
    }
    Ok(blocks)
}

/// The text with those of its tables replaced that `tables` has.
///
/// # Errors
/// When a table does not end, or `tables` lacks one.
pub fn replaced(text: &str, tables: &str) -> anyhow::Result<String> {
    let tables = blocks(tables)?;
    let mut new = text.to_owned();
    for block in blocks(text)? {
        let table = tables.iter().find(|table| table.name == block.name);
        let table = table.with_context(|| format!("nothing has measured table {}", block.name))?;
        new = new.replace(&block.text(), &table.text());
    }
    Ok(new)
}

/// Thousands apart: `100,000`.
pub fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// With three digits that count, at least.
pub fn digits(number: f64) -> String {
    match number.abs() {
        size if size.is_nan() => "-".to_owned(),
        size if size >= 100.0 || size == 0.0 => thousands(number.round() as usize),
        size if size >= 10.0 => format!("{number:.1}"),
        size if size >= 1.0 => format!("{number:.2}"),
        size if size >= 0.1 => format!("{number:.3}"),
        _ => format!("{number:.4}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_aligned() {
        let mut table = Table::new("rates", "What it costs", ["event", "ns"]);
        table.row(["a switch", "190"]);
        table.row(["it"]);
        let expected = "| event    |  ns |\n|----------|----:|\n| a switch | 190 |\n| it       |     |\n";
        assert_eq!(table.markdown(), expected);
    }

    #[test]
    fn tables_of_a_text_are_replaced_by_name() {
        let block = |name, body| Block { name, body }.text();
        let readme = format!("# A\n{}text\n{}", block("hooks", "old\n"), block("rates", "older\n"));
        let tables = format!("{}\n{}", block("rates", "new\n"), block("hooks", "newer\n"));
        let expected = format!("# A\n{}text\n{}", block("hooks", "newer\n"), block("rates", "new\n"));
        assert_eq!(replaced(&readme, &tables).expect("both are there"), expected);
        assert!(replaced(&readme, &block("rates", "new\n")).is_err());
        assert!(blocks("<!-- table a -->\nno end").is_err() && blocks("").expect("none").is_empty());
    }

    #[test]
    fn numbers_are_short() {
        let texts = [f64::NAN, 0.0, 0.00751, 0.123, 1.234, 12.34, 123.4, 100_000.4].map(digits);
        assert_eq!(texts, ["-", "0", "0.0075", "0.123", "1.23", "12.3", "123", "100,000"]);
    }
}
