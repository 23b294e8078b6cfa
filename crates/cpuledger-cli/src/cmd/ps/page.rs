//! Lines on their way out: headers, rows, and bytes by the chunk.

use cpuledger::task::Task;
use cpuledger_names::detail::Details;
use cpuledger_names::lookups::Lookups;
use cpuledger_names::manner::Manner;
use cpuledger_names::row::{Row, Surroundings};
use cpuledger_program::exit::Failure;
use cpuledger_program::output;
use cpuledger_view::csv::Cells;
use cpuledger_view::layout::{Chosen, Layout, Line, Part};
use cpuledger_view::table;
use cpuledger_view::tree::Drawing;

use super::options::Headers;
use super::plan::{Plan, Threads};
use super::screen;
use crate::values::Format;

/// Bytes that are written at once: few calls, and a buffer that stays in the cache.
const CHUNK_BYTES: usize = 256 * 1024;
/// Room for the line that fills a chunk.
const LINE_BYTES: usize = 4 * 1024;

/// What was written, and what is still to be.
pub struct Page {
    form: Form,
    lookups: Lookups,
    around: Surroundings,
    out: Vec<u8>,
    is_empty: bool,
    /// Whether standard output was made ready for many chunks.
    is_wide: bool,
    /// Whether all rows are of tasks, none of processes.
    shows_tasks: bool,
    /// The places of each generation in front of a command of a tree.
    generation: usize,
}

/// How rows are written.
#[derive(Clone)]
enum Form {
    Lines { layout: Layout, headers: Option<PageHeaders> },
    Delimited { columns: Vec<Chosen>, delimiter: String },
    Json { columns: Vec<Chosen> },
    Csv { columns: Vec<Chosen>, cells: Cells },
}

/// Headers that come again.
#[derive(Clone)]
struct PageHeaders {
    rows_a_page: usize,
    rows_left: usize,
}

impl Page {
    /// With its first line of headers, if there is to be one.
    pub fn new(plan: &Plan) -> Page {
        let mut out = Vec::with_capacity(CHUNK_BYTES + LINE_BYTES);
        Page {
            form: Form::new(plan, &mut out),
            lookups: plan.chosen().map(Chosen::lookups).fold(Lookups::NONE, Lookups::union),
            around: Surroundings {
                date_format: plan.options.date_format.clone(),
                details: Details::new(manner(plan.options.output)),
                ..Surroundings::now()
            },
            out,
            is_empty: true,
            is_wide: false,
            shows_tasks: plan.threads == Threads::Instead,
            generation: plan.options.tree.map_or(1, Drawing::generation),
        }
    }

    /// What was looked up.
    pub fn around(&self) -> &Surroundings {
        &self.around
    }

    /// What was looked up, to be changed.
    #[cfg(test)]
    pub fn around_mut(&mut self) -> &mut Surroundings {
        &mut self.around
    }

    /// Looks up what these rows need.
    pub fn look_up(&mut self, rows: &[&Task]) {
        self.around.rows_are_tasks = self.shows_tasks;
        self.around.look_up(rows, self.lookups);
    }

    /// Adds the line of a row.
    ///
    /// # Errors
    /// When a chunk cannot be written.
    pub fn add(&mut self, task: &Task, prefix: &[u8], part: Part) -> anyhow::Result<()> {
        self.append(task, prefix, part);
        if self.out.len() >= CHUNK_BYTES { self.flush() } else { Ok(()) }
    }

    /// Adds the line of a row and writes nothing yet.
    pub fn append(&mut self, task: &Task, prefix: &[u8], part: Part) {
        self.is_empty = false;
        self.around.rows_are_tasks = self.shows_tasks || part == Part::Thread;
        self.around.look_up(&[task], self.lookups);
        let row = Row::new(task, &self.around);
        self.form.write(&Line { row, prefix, generation: self.generation, part }, &mut self.out);
    }

    /// Writes what is there.
    fn flush(&mut self) -> anyhow::Result<()> {
        self.widen();
        output::write(&self.out)?;
        self.out.clear();
        Ok(())
    }

    fn widen(&mut self) {
        if !std::mem::replace(&mut self.is_wide, true) {
            output::widen();
        }
    }

    /// An empty page of the same form and instant, whose lines another thread makes; `None` where lines depend on how many
    /// there were before.
    pub fn fork(&self) -> Option<Page> {
        let form = match &self.form {
            Form::Lines { headers: Some(_), .. } => return None,
            form => form.clone(),
        };
        Some(Page { form, lookups: self.lookups, around: self.around.fork(), out: Vec::new(), ..*self })
    }

    /// Takes the lines that were made, and makes the next in this room.
    pub fn exchange(&mut self, mut room: Vec<u8>) -> Vec<u8> {
        room.clear();
        std::mem::replace(&mut self.out, room)
    }

    /// Adds the lines that a fork made.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn add_lines(&mut self, lines: &[u8]) -> anyhow::Result<()> {
        self.is_empty &= lines.is_empty();
        if !self.out.is_empty() {
            self.flush()?;
        }
        self.widen();
        output::write(lines)
    }

    /// Writes the rest.
    ///
    /// # Errors
    /// When it cannot be written; when there was no row.
    pub fn finish(self) -> anyhow::Result<()> {
        output::write(&self.out)?;
        if self.is_empty { Err(Failure::Quiet.into()) } else { Ok(()) }
    }
}

/// Text is for people and for scripts that know procps.
fn manner(output: Format) -> Manner {
    match output {
        Format::Text => Manner::Procps,
        Format::Json | Format::Csv(_) => Manner::Exact,
    }
}

impl Form {
    fn new(plan: &Plan, out: &mut Vec<u8>) -> Form {
        let columns = plan.columns.clone();
        let has_headers = plan.headers != Headers::Never;
        match (plan.options.output, &plan.options.delimiter) {
            (Format::Json, _) => Form::Json { columns },
            (Format::Csv(cells), _) => {
                if has_headers {
                    table::append_csv_header(out, &columns);
                }
                Form::Csv { columns, cells }
            }
            (Format::Text, Some(delimiter)) => {
                if has_headers && columns.iter().any(|column| !column.header.is_empty()) {
                    let headers: Vec<&str> = columns.iter().map(|column| column.header.as_str()).collect();
                    out.extend_from_slice(headers.join(delimiter).as_bytes());
                    out.push(b'\n');
                }
                Form::Delimited { columns, delimiter: delimiter.clone() }
            }
            (Format::Text, None) => {
                let mut layout = Layout::new(columns, screen::width(&plan.options));
                match plan.headers {
                    Headers::Never => {}
                    Headers::Once => layout.write_header(out),
                    Headers::EachPage => layout.write_header_anyway(out),
                }
                let headers = (plan.headers == Headers::EachPage)
                    .then(|| screen::height(&plan.options).saturating_sub(1))
                    .filter(|&rows| rows > 0)
                    .map(|rows| PageHeaders { rows_a_page: rows, rows_left: rows });
                Form::Lines { layout, headers }
            }
        }
    }

    fn write(&mut self, line: &Line<'_>, out: &mut Vec<u8>) {
        match self {
            Form::Lines { layout, headers } => {
                if let Some(headers) = headers {
                    if headers.rows_left == 0 {
                        layout.write_header_anyway(out);
                        headers.rows_left = headers.rows_a_page;
                    }
                    headers.rows_left -= 1;
                }
                layout.write_line(line, out);
            }
            Form::Delimited { columns, delimiter } => {
                for (index, column) in columns.iter().enumerate() {
                    if index > 0 {
                        out.extend_from_slice(delimiter.as_bytes());
                    }
                    column.write(line, out);
                }
                out.push(b'\n');
            }
            Form::Json { columns } => table::append_json_row(out, columns, line),
            Form::Csv { columns, cells } => table::append_csv_row(out, columns, line, *cells),
        }
    }
}
