//! `cpuledger ps`: tasks once, as procps prints them. Options → columns, order and selection → one snapshot → lines.

mod flags;
mod format;
mod help;
mod options;
mod screen;
mod selection;

use std::ffi::OsString;

use cpuledger::render::column::Lookups;
use cpuledger::render::layout::{Chosen, Layout};
use cpuledger::render::row::{Row, Surroundings};
use cpuledger::source::choose::{open_for_listing, scope_of_listing};
use cpuledger::task::Task;
use cpuledger::terminal::own_device;
use cpuledger::view::filter::{self, Asker, Selection};
use cpuledger::view::sort::{Criterion, sort};
use cpuledger::{Error, FieldSet, Request, Snapshot};

use crate::exit::Failure;
use crate::output;
use options::{Action, Options, Threads};

/// Bytes that are written at once: few calls, and a buffer that stays in the cache.
const CHUNK_BYTES: usize = 256 * 1024;
/// Room for the line that fills a chunk.
const LINE_BYTES: usize = 4 * 1024;

/// What a command line asks for.
struct Listing {
    columns: Vec<Chosen>,
    criteria: Vec<Criterion>,
    selection: Selection,
    asker: Asker,
    shows_threads: bool,
}

/// Runs `ps` with these options.
///
/// # Errors
/// Bad options, no source, nothing matched.
pub fn run(arguments: &[OsString]) -> anyhow::Result<()> {
    let arguments: Vec<&str> = arguments.iter().map(|argument| utf8(argument)).collect::<Result<_, _>>()?;
    let options = options::parse(arguments).map_err(Failure::Usage)?;
    match options.action {
        Action::Help => output::write(help::options().as_bytes()),
        Action::Columns => output::write(help::columns().as_bytes()),
        Action::Version => {
            output::write(concat!("cpuledger ps ", env!("CARGO_PKG_VERSION"), "\n").as_bytes())
        }
        Action::List => list(&options),
    }
}

fn utf8(argument: &OsString) -> Result<&str, Failure> {
    let not_utf8 = || Failure::Usage(format!("the argument {argument:?} is not UTF-8"));
    argument.to_str().ok_or_else(not_utf8)
}

fn list(options: &Options) -> anyhow::Result<()> {
    let listing = Listing::new(options).map_err(Failure::Usage)?;
    let mut snapshot = Snapshot::default();
    listing.take(options, &mut snapshot)?;
    let mut around = Surroundings::now();
    let rows = listing.rows(&snapshot, &mut around);

    let mut layout = Layout::new(listing.columns, screen::width(options));
    let mut out = Vec::with_capacity(CHUNK_BYTES + LINE_BYTES);
    if !options.no_headers {
        layout.write_header(&mut out);
    }
    for task in &rows {
        layout.write_row(&Row { task, around: &around }, &mut out);
        if out.len() >= CHUNK_BYTES {
            output::write(&out)?;
            out.clear();
        }
    }
    output::write(&out)?;
    if rows.is_empty() { Err(Failure::Quiet.into()) } else { Ok(()) }
}

impl Listing {
    fn new(options: &Options) -> Result<Listing, String> {
        let asker = Asker { euid: rustix::process::geteuid().as_raw(), tty_device: own_device() };
        Ok(Listing {
            columns: format::columns(options)?,
            criteria: format::criteria(options)?,
            selection: selection::selection(options, &asker)?,
            asker,
            shows_threads: options.threads != Threads::No,
        })
    }

    /// Everything that columns, order and selection look at.
    fn fields(&self) -> FieldSet {
        let fields = self.chosen().map(Chosen::fields);
        fields.fold(filter::FIELDS, FieldSet::union)
    }

    fn lookups(&self) -> Lookups {
        self.chosen().map(Chosen::lookups).fold(Lookups::NONE, Lookups::union)
    }

    fn chosen(&self) -> impl Iterator<Item = &Chosen> {
        self.columns.iter().chain(self.criteria.iter().map(|criterion| &criterion.by))
    }

    fn take(&self, options: &Options, snapshot: &mut Snapshot) -> Result<(), Error> {
        let fields = self.fields();
        let scope = scope_of_listing(self.shows_threads, self.selection.only_process(), fields);
        let mut source = open_for_listing(options.source, fields)?;
        match source.snapshot(&Request { scope, fields }, snapshot) {
            // A process that is not there is a listing without lines.
            Err(Error::NoSuchProcess(_)) => Ok(()),
            taken => taken,
        }
    }

    /// The rows that are shown, in their order, and what is shown of them looked up.
    fn rows<'a>(&self, snapshot: &'a Snapshot, around: &mut Surroundings) -> Vec<&'a Task> {
        let all = if self.shows_threads { &snapshot.tasks } else { &snapshot.processes };
        let mut rows: Vec<&Task> =
            all.iter().filter(|task| self.selection.accepts(task, &self.asker)).collect();
        around.look_up(&rows, self.lookups());
        sort(&mut rows, &self.criteria, around);
        rows
    }
}
