//! What the screen shows and where the user is in it. It never draws, reads a file or touches a task: it takes frames and
//! actions, and says what is to be done.

mod cursor;
mod unread;

use cpuledger::interval::Row;
use cpuledger::{Account, Accounts, Field, FieldSet, SourceKind, Task, TaskId};
use cpuledger_proc::escape::escaped;
use cpuledger_view::group::{self, exited_row};
use cpuledger_view::interval::column::TableColumn;
use cpuledger_view::query::Query;
use rustc_hash::FxHashSet;
use rustix::process::geteuid;

use super::config::{Settings, Tree};
use super::event::FileLines;
use super::frame::{Frame, Kind, List, RowRef};
use super::history::History;
use super::listing::{Arguments, Entry, Followed, Id, Item, Listing, Making, SleepOrder};
use super::mode::Mode;
use super::subscription::Subscription;
use super::travel::Strip;
use super::victim::Victim;
use super::views::View;
use crate::cmd::top::collect::TEXT;
use crate::cmd::top::options::Options;
use cpuledger_view::shares::Times;

/// A line that is said until the next key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// One sentence.
    pub text: String,
    /// Something went wrong.
    pub is_error: bool,
}

/// Where the view has put things: clicks are understood by it.
#[derive(Debug, Default, Clone)]
pub struct Layout {
    /// Size of the screen.
    pub size: (u16, u16),
    /// The line of the headers.
    pub header_row: u16,
    /// The first line of the table, and how many it has.
    pub rows: (u16, u16),
    /// Columns: from, to, and which of the settings.
    pub columns: Vec<(u16, u16, &'static str)>,
    /// Words of the last line: from, to, the key that they stand for.
    pub labels: Vec<(u16, u16, &'static str)>,
    /// The line of the help page that is first where its end is seen.
    pub last_of_help: usize,
    /// Views of the first line: from, to, which.
    pub tabs: Vec<(u16, u16, View)>,
    /// The graph of the head.
    pub timeline: Option<TimeLine>,
    /// The items of a list: its first line and the item there, and how many there are.
    pub menu: Option<(u16, usize, u16)>,
}

/// Where the graph of the head is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeLine {
    /// Its first column.
    pub from: u16,
    /// Its lines: from, to.
    pub rows: (u16, u16),
    /// How many intervals on each of its columns is from the one that is shown.
    pub steps: Vec<i64>,
}

/// From this width of its column on, commands are shown with their arguments.
const ROOM_FOR_ARGUMENTS: u16 = 18;

/// The user who has started the screen, maybe by sudo.
fn own_uid() -> u32 {
    let caller = std::env::var("SUDO_UID").ok().and_then(|uid| uid.parse().ok());
    caller.unwrap_or_else(|| geteuid().as_raw())
}

/// Everything.
#[derive(Default)]
pub struct State {
    /// The interval that is shown; `None`: the first is not over.
    pub frame: Option<Box<Frame>>,
    /// What the user has chosen.
    pub settings: Settings,
    /// The command line.
    pub options: Options,
    /// What rows must match.
    pub query: Query,
    /// What is searched for.
    pub search: String,
    /// The lines.
    pub listing: Listing,
    /// Which is selected.
    pub selected: usize,
    /// The first that is seen.
    pub top: usize,
    /// Columns of commands that are not seen at their left.
    pub scrolled: usize,
    /// It stays selected wherever it goes; `None`: whatever comes to the selected line is.
    pub followed: Option<Followed>,
    /// That is not listed, so nothing is selected.
    pub is_lost: bool,
    /// Nothing new is shown.
    pub is_paused: bool,
    /// Whose fold is not as usual.
    pub folded: FxHashSet<Id>,
    /// The last intervals.
    pub history: History,
    /// Arguments that are known.
    pub arguments: Arguments,
    /// What is open.
    pub mode: Mode,
    /// The detail pane: of which task.
    pub detail: Option<(Kind, TaskId)>,
    /// What the files of a task say.
    pub files: Option<(TaskId, FileLines)>,
    /// Where it is in time; `None`: what comes from the machine is shown.
    pub strip: Option<Strip>,
    /// The last filter for intervals.
    pub wanted: String,
    /// Where a search goes on once arguments are known that are being read.
    pub seek: Option<usize>,
    /// What is said.
    pub message: Option<Message>,
    /// The account that is shown, or is to be once somebody keeps it.
    pub account: Option<View>,
    /// The user of the screen.
    pub own_uid: u32,
    /// Where things are.
    pub layout: Layout,
    sleep: SleepOrder,
    /// Arguments have come since the lines were made.
    has_learned: bool,
    /// A row has had time of threads that died: their column is shown from then on.
    pub has_dead_threads: bool,
}

impl State {
    /// Before the first interval.
    pub fn new(settings: Settings, options: Options) -> State {
        State { settings, query: options.query.clone(), options, own_uid: own_uid(), ..State::default() }
    }

    /// Which view is shown; in the past it is that of an interval of the past.
    pub fn view(&self) -> View {
        match self.account {
            Some(view) => view,
            None if self.settings.has_states => View::States,
            None if self.settings.group_name().is_some() && self.settings.tree == Tree::No => View::Groups,
            None => View::Processes,
        }
    }

    /// The view that is shown in place of the table, because nobody keeps its account.
    pub fn missing(&self) -> Option<View> {
        let knows = |(account, _): (Account, _)| {
            let knows_wire = self.frame.as_ref().is_some_and(|frame| frame.interval.wire.is_some());
            let rows = self.frame.iter().flat_map(|frame| &frame.interval.processes);
            let mut rows = rows.into_iter();
            account == Account::Network && knows_wire
                || rows.any(|row| row.usage.growth.known.intersects(account.fields()))
        };
        self.account.filter(|view| !view.account().is_some_and(knows))
    }

    /// What shares are shares of: one CPU, or all of them.
    pub fn cpus_in_whole(&self, frame: &Frame) -> u64 {
        if self.settings.is_of_machine { u64::from(frame.interval.online_cpus.max(1)) } else { 1 }
    }

    /// Whether arguments are shown, because they are wanted or there is room.
    pub fn shows_arguments(&self) -> bool {
        self.settings.arguments.unwrap_or_else(|| {
            let columns = self.layout.columns.iter();
            columns
                .filter(|(_, _, name)| *name == "COMMAND")
                .any(|(from, to, _)| to - from >= ROOM_FOR_ARGUMENTS)
        })
    }

    /// Takes a frame; returns the one that is shown no more.
    pub fn take(&mut self, frame: Box<Frame>) -> Option<Box<Frame>> {
        self.history.add(&frame);
        if self.is_paused || self.strip.is_some() {
            return Some(frame);
        }
        self.show(frame)
    }

    /// Shows a frame, whatever comes from the machine.
    pub fn show(&mut self, frame: Box<Frame>) -> Option<Box<Frame>> {
        self.arguments.begin(&frame);
        let old = self.frame.replace(frame);
        self.list_again();
        old
    }

    /// Makes the lines anew, because the user wants others. Where that takes away the one with the cursor, another has it.
    pub fn list(&mut self) {
        let was_lost = self.is_lost;
        self.list_again();
        if self.is_lost && !was_lost {
            self.select(self.selected);
        }
    }

    /// Makes the lines anew, because of what has come. Where the one with the cursor is not among them, none has it until it is back.
    fn list_again(&mut self) {
        let Some(frame) = &self.frame else { return };
        let (mut sleep, mut listing) = (std::mem::take(&mut self.sleep), std::mem::take(&mut self.listing));
        self.making(frame).make(&mut sleep, &mut listing);
        (self.sleep, self.listing) = (sleep, listing);
        self.has_dead_threads = self.has_dead_threads || self.lists_dead_threads();
        self.find_cursor();
        self.clamp();
    }

    /// Whether a line has time of threads that died, of which more than nothing is printed.
    fn lists_dead_threads(&self) -> bool {
        let Some(frame) = self.frame.as_ref().filter(|frame| !frame.interval.is_since_boot()) else {
            return false;
        };
        let least_ns = if self.settings.is_exact { 1 } else { frame.cpu_length_ns() / 1000 };
        let has_them = |entry: &Entry| {
            let usage = match entry.item {
                Item::Row(at) if at.list == List::Awake => frame.usage(at),
                Item::Group(index) | Item::Alike(index) => self.listing.sums[index as usize].total.usage,
                Item::Row(_) | Item::ExitedName(_) | Item::Exited(_) => return false,
            };
            usage.exited_threads_ns.is_some_and(|ns| ns > 0 && ns >= least_ns)
        };
        self.listing.entries.iter().any(has_them)
    }

    /// What the lines of a frame are made of.
    fn making<'a>(&'a self, frame: &'a Frame) -> Making<'a> {
        Making {
            frame,
            settings: &self.settings,
            options: &self.options,
            query: &self.query,
            account: self.account,
            arguments: &self.arguments,
            folded: &self.folded,
            can_read_arguments: self.can_read_arguments(),
            followed: self.followed.as_ref().map(|followed| &followed.id),
        }
    }

    /// The order of those that sleep is to be made anew, as others are wanted.
    pub fn forget_order(&mut self) {
        self.sleep = SleepOrder::default();
    }

    /// Keeps the selection within the lines and the lines around it in sight.
    pub fn clamp(&mut self) {
        let last = self.listing.entries.len().saturating_sub(1);
        self.selected = self.selected.min(last);
        let height = usize::from(self.layout.rows.1).max(1);
        self.top = self.top.min((last + 1).saturating_sub(height));
        self.top = self.top.clamp((self.selected + 1).saturating_sub(height), self.selected);
    }

    /// The selected line.
    pub fn entry(&self) -> Option<&Entry> {
        self.listing.entries.get(self.selected).filter(|_| !self.is_lost)
    }

    /// The selected row, if it is one that lives.
    pub fn row(&self) -> Option<(RowRef, &Task)> {
        let Item::Row(at) = self.entry()?.item else { return None };
        Some((at, self.frame.as_ref()?.whole(at)))
    }

    /// The task of the selected line.
    pub fn victim(&self) -> Option<Victim> {
        let (_, row) = self.row()?;
        Some(Victim { pid: row.pid, id: row.id(), name: escaped(row.comm.as_bytes()) })
    }

    /// Says it.
    pub fn say(&mut self, result: anyhow::Result<String>) {
        self.message = Some(match result {
            Ok(text) => Message { text, is_error: false },
            Err(error) => Message { text: cpuledger_program::exit::sentence(&error), is_error: true },
        });
    }

    /// Closes what is open, and says why.
    pub fn refuse(&mut self, error: anyhow::Error) {
        self.mode = Mode::Table;
        self.say(Err(error));
    }

    /// Says that something is wrong.
    pub fn complain(&mut self, text: impl Into<String>) {
        self.message = Some(Message { text: text.into(), is_error: true });
    }

    /// What the feed shall tell.
    pub fn subscription(&self) -> Subscription {
        // The ledger's detail is cheap; the files of /proc are not.
        let has_cheap_detail = self.frame.as_ref().is_some_and(|frame| match frame.interval.source {
            SourceKind::Service | SourceKind::Ledger => true,
            SourceKind::Walk | SourceKind::Netlink | SourceKind::Procfs => false,
        });
        let settings = &self.settings;
        let fields = if has_cheap_detail || self.detail.is_some() {
            FieldSet::ALL
        } else {
            let shown = settings.columns.iter().map(|shown| shown.column.fields());
            let sorted =
                TableColumn::by_name(settings.order().0).map_or(FieldSet::EMPTY, TableColumn::fields);
            let always = TEXT.union(FieldSet::of(&[Field::Ppid, Field::Threads]));
            let states = if settings.has_states { Times::FIELDS } else { FieldSet::EMPTY };
            shown
                .fold(always.union(states), FieldSet::union)
                .union(sorted)
                .union(settings.group.map_or(FieldSet::EMPTY, group::fields))
                .union(self.query.fields())
        };
        // Threads of the detail have rows where the source lists all of them anyway.
        let of_frame = self.frame.as_ref().filter(|_| self.detail.is_some());
        let lists_threads = of_frame.is_some_and(|frame| frame.interval.source.is_booked_by_task());
        // The account itself comes first: the more is kept, the longer it takes to begin.
        let has_account = self.strip.is_some() || self.missing().is_none();
        Subscription {
            delay_ns: settings.delay_ns,
            fields,
            has_threads: settings.has_threads || lists_threads,
            has_all: settings.has_all || settings.tree != Tree::No,
            accounts: self
                .account
                .and_then(View::account)
                .map_or(Accounts::NONE, |(account, _)| Accounts::of(&[account])),
            also: self.account.filter(|_| has_account).map_or(Accounts::NONE, View::also),
        }
    }

    /// Task and usage of a line, and of what kind it is, for its cells.
    pub fn cells(&self, frame: &Frame, item: Item) -> (Row, bool) {
        match item {
            Item::Row(at) => (frame.row(at).into_owned(), at.kind == Kind::Task),
            Item::Group(index) | Item::ExitedName(index) | Item::Alike(index) => {
                (self.listing.sums[index as usize].total, false)
            }
            Item::Exited(index) => (exited_row(&frame.exited()[index as usize]), true),
        }
    }

    /// Threads of the process of the detail pane, those with the most time first.
    pub fn detail_threads(&self, frame: &Frame) -> Vec<RowRef> {
        let Some((kind, id)) = self.detail else { return Vec::new() };
        let pid = match kind {
            Kind::Process => Some(cpuledger::Pid(id.tid.0)),
            Kind::Task => frame.find(kind, id).map(|at| frame.whole(at).pid),
        };
        let Some(pid) = pid else { return Vec::new() };
        let mut threads: Vec<RowRef> = frame.threads(pid).collect();
        threads.sort_by_key(|&at| (std::cmp::Reverse(frame.cpu_ns(at)), frame.whole(at).tid));
        threads
    }
}
