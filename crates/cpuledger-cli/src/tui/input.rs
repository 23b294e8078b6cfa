//! What keys, clicks and filled-in lines do to the state.

mod dialog;
mod search;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};

use cpuledger_model::Dimension;
use cpuledger_view::group;

use super::config::Tree;
use super::effect::{Effect, ExportFormat};
use super::frame::Kind;
use super::keys;
use super::listing::{Id, Item};
use super::mode::{Help, Mode, PromptKind};
use super::state::State;
use super::travel::Travel;
use super::victim::Victim;
use super::views::View;

/// Rows that a turn of the wheel moves.
const WHEEL_ROWS: usize = 3;

impl State {
    /// Takes a key.
    pub fn key(&mut self, event: &KeyEvent) -> Effect {
        self.message = None;
        let is_control_c =
            event.code == KeyCode::Char('c') && event.modifiers.contains(KeyModifiers::CONTROL);
        match &mut self.mode {
            _ if is_control_c => Effect::Quit,
            Mode::Table => match (keys::binding(event), event.code) {
                (Some(binding), _) => binding.act(self),
                (None, KeyCode::Char(letter)) => {
                    self.complain(format!(
                        "`{}` does nothing here; press ? for the list of keys",
                        letter.escape_debug()
                    ));
                    Effect::None
                }
                (None, _) => Effect::None,
            },
            Mode::Help(_) => self.help_key(event),
            Mode::Prompt(_) => self.prompt_key(event),
            Mode::Menu(_) => self.menu_key(event),
        }
    }

    fn help_key(&mut self, event: &KeyEvent) -> Effect {
        let Mode::Help(help) = &mut self.mode else { return Effect::None };
        if help.is_typing {
            match event.code {
                KeyCode::Esc => *help = Help::default(),
                KeyCode::Enter => help.is_typing = false,
                KeyCode::Backspace => drop(help.search.pop()),
                KeyCode::Char(letter) => help.search.push(letter),
                _ => {}
            }
            return Effect::None;
        }
        let last = self.layout.last_of_help;
        let moved = |step: isize| help.top.saturating_add_signed(step).min(last);
        match &*keys::name(event) {
            "Up" | "Ctrl-P" => help.top = moved(-1),
            "Down" | "Ctrl-N" => help.top = moved(1),
            "PgUp" | "Ctrl-B" => help.top = moved(-10),
            "PgDn" | "Ctrl-F" => help.top = moved(10),
            "Home" => help.top = 0,
            "End" | "G" => help.top = last,
            "F3" | "/" | "L" => *help = Help { is_typing: true, ..Help::default() },
            "Esc" if !help.search.is_empty() => *help = Help::default(),
            "Ctrl-Z" => return Effect::Suspend,
            _ => self.mode = Mode::Table,
        }
        Effect::None
    }

    /// Takes the mouse.
    pub fn mouse(&mut self, event: &MouseEvent) -> Effect {
        match event.kind {
            MouseEventKind::ScrollUp => self.wheel(KeyCode::Up),
            MouseEventKind::ScrollDown => self.wheel(KeyCode::Down),
            MouseEventKind::Down(MouseButton::Left) => self.click(event.column, event.row),
            _ => Effect::None,
        }
    }

    /// As the key, some times.
    fn wheel(&mut self, code: KeyCode) -> Effect {
        if matches!(self.mode, Mode::Prompt(_)) {
            return Effect::None;
        }
        for _ in 0..WHEEL_ROWS {
            self.key(&KeyEvent::new(code, KeyModifiers::NONE));
        }
        Effect::None
    }

    fn click(&mut self, column: u16, row: u16) -> Effect {
        match self.mode {
            Mode::Table => {}
            Mode::Menu(_) => return self.click_menu(row),
            Mode::Help(_) | Mode::Prompt(_) => {
                self.mode = Mode::Table;
                return Effect::None;
            }
        }
        if row + 1 == self.layout.size.1 {
            let binding = at(&self.layout.labels, column).and_then(keys::named);
            return binding.map_or(Effect::None, |binding| binding.act(self));
        }
        if row == 0 && !self.layout.tabs.is_empty() {
            return at(&self.layout.tabs, column).map_or(Effect::None, |view| self.show_view(view));
        }
        if let Some(steps) = self.steps_on_timeline(column, row) {
            return if steps == 0 { Effect::None } else { Effect::Travel(Travel::Step(steps)) };
        }
        if row == self.layout.header_row {
            at(&self.layout.columns, column).into_iter().for_each(|name| self.sort_by(name));
            return Effect::None;
        }
        self.click_row(row);
        Effect::None
    }

    fn click_row(&mut self, row: u16) {
        let (first, count) = self.layout.rows;
        if !(first..first + count).contains(&row) || self.missing().is_some() {
            return;
        }
        let index = self.top + usize::from(row - first);
        if index < self.listing.entries.len() {
            let was_selected = self.selected == index && !self.is_lost;
            self.select(index);
            if was_selected && let Some(fold) = self.entry().and_then(|entry| entry.fold) {
                self.fold(!fold);
            }
        }
    }

    /// An item of a list is selected; where it is so already, taken.
    fn click_menu(&mut self, row: u16) -> Effect {
        let (first, top, count) = self.layout.menu.unwrap_or_default();
        let Mode::Menu(menu) = &mut self.mode else { return Effect::None };
        let index = top + usize::from(row.saturating_sub(first));
        if !(first..first + count).contains(&row) || index >= menu.items.len() {
            self.mode = Mode::Table;
            return Effect::None;
        }
        if std::mem::replace(&mut menu.selected, index) == index {
            return self.menu_key(&KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE));
        }
        Effect::None
    }

    /// How many intervals on the one is that was clicked in the graph of the head. `None`: the click was elsewhere.
    fn steps_on_timeline(&self, column: u16, row: u16) -> Option<i64> {
        let timeline = self.layout.timeline.as_ref()?;
        let (first, end) = timeline.rows;
        let nth = column.checked_sub(timeline.from).filter(|_| (first..end).contains(&row))?;
        timeline.steps.get(usize::from(nth)).copied()
    }

    /// Ends the interval; in the past, plays and pauses.
    pub(super) fn end_interval(&mut self) -> Effect {
        if self.strip.is_some() { Effect::Travel(Travel::Play) } else { Effect::Cut }
    }

    /// Opens a line to fill in, with the present search, filter or delay, if it asks for one of these.
    pub(super) fn open_usual(&mut self, kind: PromptKind) {
        let text = match kind {
            PromptKind::Search => self.search.clone(),
            PromptKind::Filter => self.query.text().to_owned(),
            PromptKind::Find => self.wanted.clone(),
            PromptKind::Delay => (self.settings.delay_ns as f64 / 1e9).to_string(),
            _ => String::new(),
        };
        self.open(kind, text);
    }

    /// Tasks instead of processes, and back.
    pub(super) fn show_threads(&mut self) {
        self.settings.has_threads = !self.settings.has_threads;
        self.change_kind(if self.settings.has_threads { Kind::Task } else { Kind::Process });
    }

    /// Rows as such a tree, and back.
    pub(super) fn show_tree(&mut self, tree: Tree) {
        self.settings.tree = if self.settings.tree == tree { Tree::No } else { tree };
    }

    pub(super) fn show_next_group(&mut self) {
        self.settings.tree = Tree::No;
        self.settings.group = group::next(self.settings.group);
    }

    /// The other direction.
    pub(super) fn reverse(&mut self) {
        let (name, is_ascending) = self.settings.order();
        self.settings.set_order((name, !is_ascending));
    }

    /// Nothing new is shown, or what comes is shown again.
    pub(super) fn pause(&mut self) -> Effect {
        self.is_paused = !self.is_paused;
        self.list();
        if self.is_paused { Effect::None } else { Effect::Cut }
    }

    /// The cursor stays with its row, or where it is.
    pub(super) fn follow(&mut self) {
        if self.followed.is_some() { self.unfollow() } else { self.stay() }
    }

    /// Another view, and back to the processes where it is the one that is shown.
    pub(super) fn show_view(&mut self, view: View) -> Effect {
        let was_account = self.account.take();
        self.settings.account_order = None;
        let here = self.view();
        let returns =
            view == View::Processes && here == view && was_account.is_none() && self.strip.is_some();
        if view == View::History || returns {
            let way = if self.strip.is_some() { Travel::Last } else { Travel::Step(-1) };
            return Effect::Travel(way);
        }
        if view.account().is_some() && was_account != Some(view) {
            self.account = Some(view);
            self.settings.account_order = Some((view.columns().1, false));
            self.list();
            return Effect::Cut; // its account is kept from now on
        }
        if was_account.is_some() && (here == view || was_account == Some(view)) {
            self.list();
            return Effect::None;
        }
        if here == View::States || view == View::States {
            self.show_states();
        }
        let is_on = view == View::Groups && here != View::Groups;
        self.settings.group = is_on.then_some(Dimension::Cgroup);
        if is_on {
            self.settings.tree = Tree::No;
        }
        self.list();
        Effect::Cut
    }

    /// States in place of the columns, and back.
    fn show_states(&mut self) {
        self.settings.has_states = !self.settings.has_states;
        self.settings.has_parts = false;
        if self.settings.has_states {
            self.complain_without_ledger(
                "only the ledger knows the states of tasks; press w for the columns",
            );
        }
    }

    /// User, system and stolen time of each part in place of the columns, and back.
    pub(super) fn show_parts(&mut self) {
        self.settings.has_parts = !self.settings.has_parts;
        self.settings.has_states = false;
        if self.settings.has_parts {
            let knows_parts = self.frame.as_deref().is_some_and(|frame| frame.interval.is_of_accounts());
            if !knows_parts {
                self.complain_without_ledger(
                    "only the ledger knows how the time of the dead divides; press p for the columns",
                );
            }
        }
    }

    fn complain_without_ledger(&mut self, sentence: &str) {
        if self.frame.as_deref().is_some_and(|frame| !frame.interval.source.is_of_ledger()) {
            self.complain(sentence);
        }
    }

    /// Moves the selection by this number of lines.
    pub(super) fn go(&mut self, step: isize) {
        let last = self.listing.entries.len().saturating_sub(1);
        self.select(self.selected.saturating_add_signed(step).min(last));
    }

    /// Moves it by this number of pages.
    pub(super) fn go_pages(&mut self, pages: isize) {
        self.go(pages * isize::try_from(self.layout.rows.1.max(2) - 1).unwrap_or(1));
    }

    /// Moves commands by this number of columns.
    pub(super) fn scroll(&mut self, step: isize) {
        self.scrolled = self.scrolled.saturating_add_signed(step).min(4096);
    }

    pub(super) fn leave(&mut self) {
        if self.account.take().is_some() {
            self.settings.account_order = None;
        } else if self.detail.take().is_some() {
            self.files = None;
        } else if !self.query.is_empty() {
            self.set_query("");
        } else if self.is_paused {
            self.is_paused = false;
        } else {
            self.unfollow();
        }
        self.list();
    }

    pub(super) fn open_detail(&mut self) {
        let opened = match self.row() {
            Some((at, row)) if self.detail.is_none() => Some((at.kind, row.id())),
            _ => None,
        };
        if self.detail.is_none() && opened.is_none() {
            let fold = self.entry().and_then(|entry| entry.fold);
            match fold {
                Some(fold) => self.fold(!fold),
                None => self.complain("only of processes and tasks that live there is more to be shown"),
            }
            return;
        }
        self.detail = opened;
        self.files = None;
    }

    /// By another column from high to low; by the same one in the other direction.
    pub(super) fn sort_by(&mut self, name: &str) {
        let Some(name) = self.settings.sort_name(name) else {
            return self.complain(format!("cannot sort by {name}"));
        };
        let (sorted, is_ascending) = self.settings.order();
        // Numbers and names are looked for from the beginning, times and sizes from the most.
        let first = matches!(name, "PID" | "TGID" | "PPID" | "ACCT" | "USER" | "COMMAND");
        self.settings.set_order((name, if sorted == name { !is_ascending } else { first }));
        self.list();
    }

    pub(super) fn sort_next(&mut self, step: isize) {
        let settings = &self.settings;
        let names: Vec<&'static str> = if settings.has_states {
            // What there is room for.
            self.layout.columns.iter().filter_map(|(_, _, name)| settings.sort_name(name)).collect()
        } else {
            settings.columns.iter().filter_map(|shown| settings.sort_name(shown.column.name())).collect()
        };
        let Some(place) = names.iter().position(|name| *name == settings.order().0) else {
            return if let Some(name) = names.first() {
                self.sort_by(name)
            };
        };
        let next = place.saturating_add_signed(step).min(names.len() - 1);
        if next != place {
            self.sort_by(names[next]);
        }
    }

    pub(super) fn fold(&mut self, folded: bool) {
        let Some(entry) = self.entry() else { return };
        if entry.fold.is_none_or(|fold| fold == folded) {
            return;
        }
        let Some(id) = self.id(entry) else { return };
        self.toggle(id);
        self.list();
    }

    fn toggle(&mut self, id: Id) {
        if !self.folded.remove(&id) {
            self.folded.insert(id);
        }
    }

    pub(super) fn fold_all(&mut self) {
        let has_unfolded = self.listing.entries.iter().any(|entry| entry.fold == Some(false));
        let wrong = |fold: Option<bool>| fold == Some(!has_unfolded);
        let ids: Vec<Id> = self
            .listing
            .entries
            .iter()
            .filter(|entry| wrong(entry.fold))
            .filter_map(|entry| self.id(entry))
            .collect();
        ids.into_iter().for_each(|id| self.toggle(id));
        self.list();
    }

    /// The task that something is to be done to; where there is none, that is said.
    fn chosen(&mut self) -> Option<Victim> {
        if self.strip.is_some() {
            self.complain("nothing can be done to tasks of the past");
            return None;
        }
        let victim = self.victim();
        if victim.is_none() {
            let item = self.entry().map(|entry| entry.item);
            let is_dead = matches!(item, Some(Item::Exited(_) | Item::ExitedName(_)));
            let is_alike = matches!(item, Some(Item::Alike(_)));
            let lost = self.followed.as_ref().filter(|_| self.is_lost);
            self.complain(match lost {
                Some(lost) => {
                    format!("press i to list all: {} did not run in this interval, or is gone", lost.name)
                }
                None if is_dead => "it is dead already".to_owned(),
                None if is_alike => "press + to list these processes, and select one of them".to_owned(),
                None => "no process or task is selected".to_owned(),
            });
        }
        victim
    }

    /// Asks for a nice value, and proposes the present one plus `step`.
    pub(super) fn open_nice(&mut self, step: i32) {
        let Some(victim) = self.chosen() else { return };
        let nice = self.row().map_or(0, |(_, row)| row.nice);
        self.open(PromptKind::Nice(victim), (nice + step).clamp(-20, 19).to_string());
    }

    pub(super) fn open_affinity(&mut self) -> Effect {
        let Some(victim) = self.chosen() else { return Effect::None };
        self.open(PromptKind::Affinity(victim.clone()), String::new());
        Effect::AskAffinity(victim)
    }

    pub(super) fn open_export(&mut self, format: ExportFormat) {
        let name = match format {
            ExportFormat::Json => "ptop.json",
            ExportFormat::Csv => "ptop.csv",
        };
        self.open(PromptKind::Export(format), name.to_owned());
    }
}

/// What is at that column of a line.
fn at<T: Copy>(places: &[(u16, u16, T)], column: u16) -> Option<T> {
    places.iter().find(|(from, to, _)| (*from..*to).contains(&column)).map(|(.., of)| *of)
}
