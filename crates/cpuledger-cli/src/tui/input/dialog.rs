//! What keys do to a line to fill in, and to a list to choose from.

use cpuledger::FieldSet;
use cpuledger_program::when::parse_near;
use cpuledger_view::interval::column::{TABLE, TableColumn};
use cpuledger_view::key::PROCESS_KEYS;
use cpuledger_view::query::{MOST_BYTES, Query};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::cmd::top::options::{parse_delay, parse_users};
use crate::tui::choices::{self, SIGNALS};
use crate::tui::config::{MOST_WIDTH, ShownColumn};
use crate::tui::effect::Effect;
use crate::tui::mode::{Menu, MenuKind, Mode, Prompt, PromptKind};
use crate::tui::state::State;
use crate::tui::travel::Travel;
use crate::tui::victim::Victim;
use cpuledger_proc::signal;
use cpuledger_view::shares::STATE_COLUMNS;

impl State {
    pub(super) fn open(&mut self, kind: PromptKind, text: String) {
        let before = self.query.text().to_owned();
        let cursor = (self.selected, self.followed.clone());
        self.mode = Mode::Prompt(Prompt { kind, text, error: None, before, cursor });
    }

    /// Fills in the CPUs that are allowed now.
    pub fn fill_in(&mut self, victim: &Victim, text: String) {
        if let Mode::Prompt(prompt) = &mut self.mode
            && prompt.kind == PromptKind::Affinity(victim.clone())
        {
            prompt.text = text;
        }
    }

    pub(super) fn prompt_key(&mut self, event: &KeyEvent) -> Effect {
        let Mode::Prompt(prompt) = &mut self.mode else { return Effect::None };
        let is_control = event.modifiers.contains(KeyModifiers::CONTROL);
        match event.code {
            KeyCode::Esc => return self.leave_prompt(),
            KeyCode::Enter => return self.take_prompt(),
            KeyCode::Tab if prompt.kind == PromptKind::Filter => match choices::completed(&prompt.text) {
                Some(text) => prompt.text = text,
                None => return Effect::None,
            },
            KeyCode::Backspace => drop(prompt.text.pop()),
            // Some terminals send ^H for that key.
            KeyCode::Char('h') if is_control => drop(prompt.text.pop()),
            KeyCode::Char('u') if is_control => prompt.text.clear(),
            KeyCode::Char('w') if is_control => {
                let kept = prompt.text.trim_end().rfind(' ').map_or(0, |blank| blank + 1);
                prompt.text.truncate(kept);
            }
            KeyCode::Char('z') if is_control => return Effect::Suspend,
            KeyCode::Char(letter) if !is_control && prompt.text.len() < MOST_BYTES => {
                prompt.text.push(letter)
            }
            KeyCode::F(key @ (7 | 8)) if matches!(prompt.kind, PromptKind::Nice(_)) => {
                let nice: i32 = prompt.text.trim().parse().unwrap_or(0);
                prompt.text = (if key == 7 { nice - 1 } else { nice + 1 }).clamp(-20, 19).to_string();
            }
            KeyCode::F(3) | KeyCode::Down if prompt.kind == PromptKind::Search => {
                self.search_from(self.selected + 1);
                return Effect::None;
            }
            _ => return Effect::None,
        }
        prompt.error = None;
        let (kind, text, selected) = (prompt.kind.clone(), prompt.text.clone(), prompt.cursor.0);
        match kind {
            PromptKind::Search => {
                self.search = text;
                self.search_in_prompt(selected);
            }
            PromptKind::Filter => {
                let known = self.subscription().fields;
                self.filter_while_typing(&text);
                // What it looks at, and is not in this interval, is in the next: that comes now.
                if self.subscription().fields.without(known) != FieldSet::EMPTY {
                    return Effect::Cut;
                }
            }
            _ => {}
        }
        Effect::None
    }

    /// Filters by what has been typed up to now. The rows wait for the end of a name and of its condition, and for the end of a word that may become
    /// a name: Enter, a blank, or a letter that no name goes on with.
    fn filter_while_typing(&mut self, text: &str) {
        let error = Query::parse(text).err();
        if error.is_none()
            && let Ok(query) = Query::parse(choices::decided(text))
        {
            self.query = query;
        }
        let is_at_end = |at: usize| at >= text.chars().count();
        let error = error.filter(|error| !(choices::lacks_value(text) && is_at_end(error.at)));
        if let Mode::Prompt(prompt) = &mut self.mode {
            prompt.error = error.map(|error| error.to_string());
        }
        self.list();
    }

    fn leave_prompt(&mut self) -> Effect {
        let Mode::Prompt(prompt) = std::mem::replace(&mut self.mode, Mode::Table) else {
            return Effect::None;
        };
        match prompt.kind {
            PromptKind::Filter => self.set_query(&prompt.before),
            PromptKind::Search => self.seek = None,
            _ => return Effect::None,
        }
        (self.selected, self.followed) = prompt.cursor;
        self.find_cursor();
        self.clamp();
        Effect::None
    }

    /// Sets a filter that is known to be right.
    pub(super) fn set_query(&mut self, text: &str) {
        if let Ok(query) = Query::parse(text) {
            self.query = query;
        }
        self.list();
    }

    fn take_prompt(&mut self) -> Effect {
        let Mode::Prompt(prompt) = std::mem::replace(&mut self.mode, Mode::Table) else {
            return Effect::None;
        };
        match self.understand(&prompt) {
            Ok(effect) => effect,
            Err(sentence) => {
                // It stays open, to be corrected.
                self.mode = Mode::Prompt(Prompt { error: Some(sentence), ..prompt });
                Effect::None
            }
        }
    }

    fn understand(&mut self, prompt: &Prompt) -> Result<Effect, String> {
        let text = prompt.text.trim();
        match &prompt.kind {
            PromptKind::Search => Ok(Effect::None),
            PromptKind::Filter => {
                self.query = Query::parse(&prompt.text).map_err(|error| error.to_string())?;
                self.list();
                if prompt.cursor.1.is_some() {
                    self.stay();
                }
                Ok(Effect::None)
            }
            PromptKind::Delay => {
                let delay = parse_delay(text);
                self.settings.delay_ns =
                    delay.map_err(|_| format!("a number of seconds, at least 0.01, not `{text}`"))?;
                Ok(Effect::Cut)
            }
            PromptKind::User => {
                let users = [text.to_owned()];
                let users = if text.is_empty() { &[] } else { &users[..] };
                self.options.euids = parse_users(users).map_err(|failure| failure.to_string())?;
                self.forget_order();
                self.list();
                Ok(Effect::None)
            }
            PromptKind::Nice(victim) => {
                let nice = text.parse().ok().filter(|nice| (-20..=19).contains(nice));
                let nice = nice.ok_or_else(|| format!("nice values are from -20 to 19, not `{text}`"))?;
                Ok(Effect::Nice(victim.clone(), nice))
            }
            PromptKind::Affinity(victim) => Ok(Effect::Affinity(victim.clone(), choices::parse_cpus(text)?)),
            PromptKind::Jump => {
                let shown_ns = self.frame.as_ref().map_or(0, |frame| frame.around.end_realtime_ns);
                let at = parse_near(text, shown_ns).map_err(|error| error.to_string())?;
                Ok(Effect::Travel(Travel::Jump(at)))
            }
            PromptKind::Find => {
                let query = Query::parse(text).map_err(|error| error.to_string())?;
                if query.is_empty() {
                    return Err("a filter, such as cpu>50 name=cc1".to_owned());
                }
                self.wanted = text.to_owned();
                Ok(Effect::Find(query))
            }
            PromptKind::Export(_) if text.is_empty() => Err("a file needs a name".to_owned()),
            PromptKind::Export(format) => Ok(Effect::Export(*format, text.to_owned())),
        }
    }

    /// A signal for the selected process.
    pub fn open_kill(&mut self) {
        let Some(victim) = self.chosen() else { return };
        let items = SIGNALS
            .map(|number| format!("{number:>2} SIG{}", signal::name(number).unwrap_or_default()))
            .to_vec();
        let title = format!("Send to {} ({})", victim.pid, victim.name);
        self.open_menu(MenuKind::Signal(victim), title, items, 0);
    }

    /// An I/O priority for the selected task.
    pub fn open_io_priority(&mut self) {
        let Some(victim) = self.chosen() else { return };
        let title = format!("I/O priority of {} ({})", victim.id.tid, victim.name);
        self.open_menu(MenuKind::IoPriority(victim), title, choices::io_priorities(), 0);
    }

    /// What to sort by.
    pub fn open_sort(&mut self) {
        let settings = &self.settings;
        let states = STATE_COLUMNS.iter().filter(|column| settings.has_states && column.has_order());
        let columns = self.possible_columns().into_iter().map(TableColumn::name);
        let mut items: Vec<String> = Vec::new();
        for name in
            states.map(|column| column.name).chain(columns).filter_map(|name| settings.sort_name(name))
        {
            if !items.iter().any(|known| known == name) {
                items.push(name.to_owned());
            }
        }
        let selected = items.iter().position(|name| *name == settings.order().0).unwrap_or(0);
        self.open_menu(MenuKind::Sort, "Sort by".to_owned(), items, selected);
    }

    /// Which columns there are.
    pub fn open_columns(&mut self) {
        if self.settings.has_states {
            return self.complain("the states have columns of their own; press w for the others");
        }
        let shown = &self.settings.columns;
        let columns: Vec<(ShownColumn, bool)> = self
            .possible_columns()
            .into_iter()
            .map(|column| match shown.iter().find(|shown| shown.column == column) {
                Some(shown) => (*shown, true),
                None => (ShownColumn { column, width: None }, false),
            })
            .collect();
        self.open_menu(MenuKind::Columns, "Columns".to_owned(), Vec::new(), 0);
        if let Mode::Menu(menu) = &mut self.mode {
            menu.columns = columns;
            menu.write_columns();
        }
    }

    /// Columns that can be chosen: those of the table, then every key.
    fn possible_columns(&self) -> Vec<TableColumn> {
        let mut possible: Vec<TableColumn> = self.settings.columns.iter().map(|shown| shown.column).collect();
        let keys = PROCESS_KEYS.iter().map(|key| TableColumn::Key(*key)).filter(|key| {
            // A header that is spelled like its key shows the same.
            !TABLE.iter().any(|column| column.name().eq_ignore_ascii_case(key.name()))
        });
        for column in TABLE.iter().copied().chain(keys) {
            if !possible.contains(&column) {
                possible.push(column);
            }
        }
        possible
    }

    fn open_menu(&mut self, kind: MenuKind, title: String, items: Vec<String>, selected: usize) {
        self.mode = Mode::Menu(Menu { kind, title, items, columns: Vec::new(), selected });
    }

    pub(super) fn menu_key(&mut self, event: &KeyEvent) -> Effect {
        let page = isize::from(self.layout.size.1 as i16 / 2).max(1);
        let Mode::Menu(menu) = &mut self.mode else { return Effect::None };
        let last = menu.items.len().saturating_sub(1);
        let moved = |step: isize| menu.selected.saturating_add_signed(step).min(last);
        match event.code {
            KeyCode::Up => menu.selected = moved(-1),
            KeyCode::Down => menu.selected = moved(1),
            KeyCode::PageUp => menu.selected = moved(-page),
            KeyCode::PageDown => menu.selected = moved(page),
            KeyCode::Home => menu.selected = 0,
            KeyCode::End => menu.selected = last,
            KeyCode::Char('z') if event.modifiers.contains(KeyModifiers::CONTROL) => return Effect::Suspend,
            KeyCode::Esc | KeyCode::F(10) | KeyCode::Char('q') => self.mode = Mode::Table,
            KeyCode::Enter => return self.take_menu(),
            code if menu.kind == MenuKind::Columns => {
                menu.change_columns(code);
                let columns = menu.columns.iter().filter(|(_, is_shown)| *is_shown);
                self.settings.columns = columns.map(|(column, _)| *column).collect();
            }
            _ => {}
        }
        Effect::None
    }

    fn take_menu(&mut self) -> Effect {
        let Mode::Menu(menu) = std::mem::replace(&mut self.mode, Mode::Table) else { return Effect::None };
        let Some(item) = menu.items.get(menu.selected) else { return Effect::None };
        match menu.kind {
            MenuKind::Signal(victim) => Effect::Signal(victim, SIGNALS[menu.selected]),
            MenuKind::IoPriority(victim) => Effect::IoPriority(victim, item.clone()),
            MenuKind::Sort => {
                if let Some(name) = self.settings.sort_name(item) {
                    let (_, is_ascending) = self.settings.order();
                    self.settings.set_order((name, is_ascending));
                }
                self.list();
                Effect::None
            }
            MenuKind::Columns => Effect::None,
        }
    }
}

impl Menu {
    /// Space shows and hides, K and J move, + and - make wider and narrower, = takes the usual width.
    fn change_columns(&mut self, code: KeyCode) {
        let count = self.columns.iter().filter(|(_, is_shown)| *is_shown).count();
        let Some((shown, is_shown)) = self.columns.get_mut(self.selected) else { return };
        let width = shown.width.unwrap_or(shown.column.width(false));
        match code {
            // One has to stay.
            KeyCode::Char(' ') => *is_shown = !*is_shown || count == 1,
            KeyCode::Char('+') => shown.width = Some((width + 1).min(MOST_WIDTH)),
            KeyCode::Char('-') => shown.width = Some(width.saturating_sub(1).max(1)),
            KeyCode::Char('=') => shown.width = None,
            KeyCode::Char('K') if self.selected > 0 => {
                self.columns.swap(self.selected, self.selected - 1);
                self.selected -= 1;
            }
            KeyCode::Char('J') if self.selected + 1 < self.columns.len() => {
                self.columns.swap(self.selected, self.selected + 1);
                self.selected += 1;
            }
            _ => return,
        }
        self.write_columns();
    }

    fn write_columns(&mut self) {
        let write = |(shown, is_shown): &(ShownColumn, bool)| {
            let mark = if *is_shown { 'x' } else { ' ' };
            let width = shown.width.map_or_else(String::new, |width| format!(" ({width} wide)"));
            format!("[{mark}] {}{width}: {}", shown.column.name(), shown.column.help())
        };
        self.items = self.columns.iter().map(write).collect();
    }
}
