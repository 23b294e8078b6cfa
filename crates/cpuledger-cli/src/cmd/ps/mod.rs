//! `cpuledger ps`: tasks once, as procps prints them. Options → columns, order and selection → one snapshot → lines.

mod flags;
mod format;
mod help;
mod options;
mod screen;
mod selection;

use std::ffi::OsString;
use std::ops::ControlFlow;

use cpuledger::render::column::Lookups;
use cpuledger::render::layout::{Chosen, Layout};
use cpuledger::render::row::{Row, Surroundings};
use cpuledger::source::Visitor;
use cpuledger::source::choose::{open_for_listing, scope_of_listing};
use cpuledger::task::Task;
use cpuledger::terminal::own_device;
use cpuledger::view::filter::{Asker, Selection};
use cpuledger::view::sort::{Criterion, sort};
use cpuledger::{Error, FieldSet, Request, Scope, Snapshot};

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
    let mut page = Page::new(&listing, options);
    let mut outcome = Ok(());
    if listing.is_in_order_of_pids() {
        listing.visit(options, &mut |row| match page.add(row) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                outcome = Err(error);
                ControlFlow::Break(())
            }
        })?;
    } else {
        let mut rows = Vec::new();
        listing.visit(options, &mut |row| {
            rows.push(*row);
            ControlFlow::Continue(())
        })?;
        let mut rows: Vec<&Task> = rows.iter().collect();
        page.look_up(&rows);
        sort(&mut rows, &listing.criteria, &page.around);
        outcome = rows.into_iter().try_for_each(|row| page.add(row));
    }
    outcome?;
    page.finish()
}

/// Lines on their way out.
struct Page {
    layout: Layout,
    lookups: Lookups,
    around: Surroundings,
    out: Vec<u8>,
    is_empty: bool,
}

impl Page {
    fn new(listing: &Listing, options: &Options) -> Page {
        let mut layout = Layout::new(listing.columns.clone(), screen::width(options));
        let mut out = Vec::with_capacity(CHUNK_BYTES + LINE_BYTES);
        if !options.no_headers {
            layout.write_header(&mut out);
        }
        Page { layout, lookups: listing.lookups(), around: Surroundings::now(), out, is_empty: true }
    }

    fn look_up(&mut self, rows: &[&Task]) {
        self.around.look_up(rows, self.lookups);
    }

    fn add(&mut self, row: &Task) -> anyhow::Result<()> {
        self.is_empty = false;
        self.look_up(&[row]);
        self.layout.write_row(&Row { task: row, around: &self.around }, &mut self.out);
        if self.out.len() >= CHUNK_BYTES {
            output::write(&self.out)?;
            self.out.clear();
        }
        Ok(())
    }

    fn finish(self) -> anyhow::Result<()> {
        output::write(&self.out)?;
        if self.is_empty { Err(Failure::Quiet.into()) } else { Ok(()) }
    }
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
        fields.fold(self.selection.fields(), FieldSet::union)
    }

    fn lookups(&self) -> Lookups {
        self.chosen().map(Chosen::lookups).fold(Lookups::NONE, Lookups::union)
    }

    fn chosen(&self) -> impl Iterator<Item = &Chosen> {
        self.columns.iter().chain(self.criteria.iter().map(|criterion| &criterion.by))
    }

    fn is_in_order_of_pids(&self) -> bool {
        self.criteria.is_empty()
    }

    /// Hands out the rows that are shown, by pid.
    fn visit(&self, options: &Options, each: Visitor<'_>) -> Result<(), Error> {
        let fields = self.fields();
        let scope = scope_of_listing(self.shows_threads, self.selection.only_process(), fields);
        let request = Request { scope, fields };
        let mut source = open_for_listing(options.source, &request)?;
        let mut room = Snapshot::default();
        let mut each = |row: &Task| match self.selection.accepts(row, &self.asker) {
            true => each(row),
            false => ControlFlow::Continue(()),
        };
        if self.shows_threads && scope != Scope::Tasks {
            // Of one process there are both kinds of rows.
            source.snapshot(&request, &mut room)?;
            let _ = room.tasks.iter().try_for_each(&mut each);
            return Ok(());
        }
        source.visit(&request, &mut room, &mut each)
    }
}
