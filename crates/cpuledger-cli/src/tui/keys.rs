//! Keys: one table says what each does, and the help page, the last line and the manual are made of it.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::action::{Action, ExportFormat};

/// A row of the table of keys.
pub struct Binding {
    /// The keys, as the help page writes them.
    pub keys: &'static [&'static str],
    /// What they do.
    pub action: Action,
    /// The word in the last line; empty: none.
    pub label: &'static str,
    /// One phrase.
    pub help: &'static str,
}

const fn key(keys: &'static [&'static str], action: Action, help: &'static str) -> Binding {
    Binding { keys, action, label: "", help }
}

const fn labelled(
    keys: &'static [&'static str],
    action: Action,
    label: &'static str,
    help: &'static str,
) -> Binding {
    Binding { keys, action, label, help }
}

/// The table of keys, by topic.
pub static KEYS: [(&str, &[Binding]); 6] = [
    (
        "What is shown",
        &[
            key(&["H"], Action::Threads, "threads instead of processes, and back"),
            key(&["i"], Action::All, "also list what did not run, and back"),
            labelled(
                &["F5", "t", "V"],
                Action::Tree,
                "Tree",
                "tree by parent, with the sum of each subtree, and back",
            ),
            key(&["A"], Action::AccountingTree, "tree by accounting parent, and back"),
            key(
                &["g"],
                Action::Group,
                "group by cgroup, unit, container, pod, image, user, command, or not at all",
            ),
            key(&["x"], Action::Exited, "show or hide what exited, by name"),
            key(&["+", "Right"], Action::Fold(false), "unfold the row"),
            key(&["-", "Left"], Action::Fold(true), "fold the row"),
            key(&["*"], Action::FoldAll, "fold all rows, or unfold them"),
            key(&["w"], Action::States, "where all of the time went, by state, and back to the columns"),
            key(&["p"], Action::Parts, "user, system and stolen time of each part, and back to the columns"),
            key(&["c"], Action::Arguments, "arguments instead of names, and back"),
            key(&["%"], Action::OfMachine, "percent of the machine or of one CPU"),
            key(&["n"], Action::Exact, "nanoseconds and bytes, as in JSON, and back"),
            key(&["1"], Action::Cpus, "a bar for each CPU, or one for all"),
            key(&["m"], Action::Memory, "bars of memory and swap, or not"),
            labelled(&["F2", "S", "C"], Action::Columns, "Columns", "choose, move and resize columns"),
            key(&["z"], Action::Theme, "the next theme: 16, 256, true colour, contrast, mono"),
        ],
    ),
    (
        "Find and filter",
        &[
            labelled(&["F3", "/", "L"], Action::Search, "Search", "find a row by name or arguments"),
            key(&["F15", "&"], Action::SearchNext, "find the next one"),
            labelled(
                &["F4", "\\", "o", "O"],
                Action::Filter,
                "Filter",
                "show only what matches, such as cpu>5 user=www comm~^java",
            ),
            key(&["u", "U"], Action::User, "show only the tasks of one user"),
            key(&["F"], Action::Follow, "let the cursor stay at its place, or with its row again"),
            key(&["Enter"], Action::Detail, "show details of the selected row, and back"),
        ],
    ),
    (
        "Go through time",
        &[
            key(
                &["(", "Shift-Left"],
                Action::Step(-1),
                "the previous interval, recorded or shown earlier on this screen",
            ),
            key(&[")", "Shift-Right"], Action::Step(1), "the next interval"),
            key(&["b"], Action::Step(-10), "ten intervals back"),
            key(&["f"], Action::Step(10), "ten intervals on"),
            key(&["B", "Ctrl-Left"], Action::Step(-60), "sixty intervals back"),
            key(&["v", "Ctrl-Right"], Action::Step(60), "sixty intervals on"),
            key(&["^"], Action::Begin, "the first interval"),
            key(&["$"], Action::Now, "jump to the last interval and follow new ones, or return to now"),
            key(
                &[":"],
                Action::Jump,
                "the interval of a time, such as 03:12 (of the day that is shown) or -10m",
            ),
            key(&[";"], Action::Find, "the next interval with a row that matches, such as cpu>50 name=cc1"),
            key(&["="], Action::Speed(1), "play twice as fast; Space plays and pauses"),
            key(&["_"], Action::Speed(-1), "play half as fast"),
        ],
    ),
    (
        "Sort",
        &[
            labelled(&["F6"], Action::Sort, "Sort", "choose what to sort by"),
            key(&["P"], Action::SortBy("%CPU"), "by CPU time"),
            key(&["M"], Action::SortBy("RES"), "by memory"),
            key(&["T"], Action::SortBy("TIME+"), "by CPU time since the start"),
            key(&["N"], Action::SortBy("PID"), "by pid"),
            key(&["<", ","], Action::SortNext(-1), "by the column to the left"),
            key(&[">", "."], Action::SortNext(1), "by the column to the right"),
            key(&["R", "I"], Action::Reverse, "the other direction"),
        ],
    ),
    (
        "Act on the selected row",
        &[
            labelled(
                &["F9", "k"],
                Action::Kill,
                "Kill",
                "send a signal to this process, never to another that reuses its pid",
            ),
            labelled(
                &["F7", "]"],
                Action::Nice(-1),
                "Nice-",
                "a higher priority: nice value down, after Enter",
            ),
            labelled(&["F8", "["], Action::Nice(1), "Nice+", "a lower priority: nice value up, after Enter"),
            key(&["r"], Action::Renice, "another nice value"),
            key(&["y"], Action::IoPriority, "I/O class and priority"),
            key(&["a"], Action::Affinity, "the CPUs it may run on"),
        ],
    ),
    (
        "Everything else",
        &[
            labelled(&["F1", "?", "h"], Action::Help, "Help", "this page, and back"),
            key(&["Up", "Ctrl-P"], Action::Move(-1), "the row above"),
            key(&["Down", "Ctrl-N"], Action::Move(1), "the row below"),
            key(&["PgUp", "Ctrl-B"], Action::Page(-1), "the page above"),
            key(&["PgDn", "Ctrl-F"], Action::Page(1), "the page below"),
            key(&["Home"], Action::First, "the first row, whichever it is"),
            key(&["End", "G"], Action::Last, "the last row"),
            key(&["{"], Action::Scroll(-8), "commands to the left"),
            key(&["}"], Action::Scroll(8), "commands to the right"),
            key(&["d", "s"], Action::Delay, "the length of an interval"),
            key(&["Space"], Action::Refresh, "end the interval now; in the past, play and pause"),
            key(&["Z"], Action::Pause, "pause: nothing new is shown until you press Z again"),
            key(&["e"], Action::Export(ExportFormat::Json), "write the listed rows to a JSON file"),
            key(&["E"], Action::Export(ExportFormat::Csv), "write the listed rows to a CSV file"),
            key(&["W"], Action::Save, "write the settings to the configuration file"),
            key(&["Ctrl-L"], Action::Redraw, "draw everything anew"),
            key(&["Ctrl-Z"], Action::Suspend, "back to the shell, until fg"),
            key(&["Esc"], Action::Leave, "leave what is open: pane, filter, pause"),
            labelled(&["F10", "q", "Ctrl-C"], Action::Quit, "Quit", "quit"),
        ],
    ),
];

/// Keys of lists and lines to fill in: they are told, not looked up.
pub static DIALOG_KEYS: [(&str, &str); 10] = [
    ("Up Down PgUp PgDn Home End", "move"),
    ("Enter", "accept"),
    ("Esc", "cancel"),
    ("Space", "columns: show or hide"),
    ("K J", "columns: move up or down"),
    ("+ -", "columns: wider or narrower"),
    ("=", "columns: the usual width"),
    ("Ctrl-U Ctrl-W", "lines: remove everything, or the last word"),
    ("F7 F8", "nice value: down or up"),
    ("mouse", "click selects a row and sorts by a header, the wheel scrolls"),
];

/// The name of a key as the table writes it; `None`: it has none there.
pub fn name(event: &KeyEvent) -> Option<String> {
    let is_control = event.modifiers.contains(KeyModifiers::CONTROL);
    Some(match event.code {
        KeyCode::Char(' ') => "Space".to_owned(),
        KeyCode::Char(letter) if is_control => format!("Ctrl-{}", letter.to_ascii_uppercase()),
        KeyCode::Char(letter) => letter.to_string(),
        KeyCode::Left if event.modifiers.contains(KeyModifiers::SHIFT) => "Shift-Left".to_owned(),
        KeyCode::Right if event.modifiers.contains(KeyModifiers::SHIFT) => "Shift-Right".to_owned(),
        KeyCode::Left if is_control => "Ctrl-Left".to_owned(),
        KeyCode::Right if is_control => "Ctrl-Right".to_owned(),
        KeyCode::F(3) if event.modifiers.contains(KeyModifiers::SHIFT) => "F15".to_owned(),
        KeyCode::F(number) => format!("F{number}"),
        KeyCode::Up => "Up".to_owned(),
        KeyCode::Down => "Down".to_owned(),
        KeyCode::Left => "Left".to_owned(),
        KeyCode::Right => "Right".to_owned(),
        KeyCode::PageUp => "PgUp".to_owned(),
        KeyCode::PageDown => "PgDn".to_owned(),
        KeyCode::Home => "Home".to_owned(),
        KeyCode::End => "End".to_owned(),
        KeyCode::Enter => "Enter".to_owned(),
        KeyCode::Esc => "Esc".to_owned(),
        _ => return None,
    })
}

/// What a key does.
pub fn action(event: &KeyEvent) -> Option<Action> {
    let name = name(event)?;
    let mut bindings = KEYS.iter().flat_map(|(_, bindings)| *bindings);
    bindings.find(|binding| binding.keys.contains(&name.as_str())).map(|binding| binding.action)
}

/// Words of the last line with their keys.
pub fn labels() -> impl Iterator<Item = (&'static str, &'static str, Action)> {
    let mut labels: Vec<_> = KEYS
        .iter()
        .flat_map(|(_, bindings)| *bindings)
        .filter(|binding| !binding.label.is_empty())
        .map(|binding| (binding.keys[0], binding.label, binding.action))
        .collect();
    labels.sort_by_key(|(key, _, _)| key[1..].parse().unwrap_or(u32::MAX));
    labels.into_iter()
}

/// Every line of the help page: a title, or keys and what they do.
pub fn help() -> Vec<(String, &'static str)> {
    let mut lines = Vec::new();
    for (title, bindings) in &KEYS {
        lines.push((String::new(), *title));
        lines.extend(bindings.iter().map(|binding| (binding.keys.join(" "), binding.help)));
    }
    lines.push((String::new(), "In lists, and in lines to fill in"));
    lines.extend(DIALOG_KEYS.iter().map(|(keys, help)| ((*keys).to_owned(), *help)));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_does_two_things() {
        let mut keys: Vec<&str> = KEYS
            .iter()
            .flat_map(|(_, bindings)| *bindings)
            .flat_map(|binding| binding.keys)
            .copied()
            .collect();
        let count = keys.len();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), count, "{keys:?}");
    }

    #[test]
    fn function_keys_are_those_of_htop_in_order() {
        let words: Vec<String> = labels().map(|(key, label, _)| format!("{key}{label}")).collect();
        assert_eq!(
            words,
            [
                "F1Help",
                "F2Columns",
                "F3Search",
                "F4Filter",
                "F5Tree",
                "F6Sort",
                "F7Nice-",
                "F8Nice+",
                "F9Kill",
                "F10Quit"
            ]
        );
    }

    #[test]
    fn keys_are_found_by_what_the_terminal_sends() {
        let plain = |code| KeyEvent::new(code, KeyModifiers::NONE);
        assert_eq!(action(&plain(KeyCode::F(9))), Some(Action::Kill));
        assert_eq!(action(&plain(KeyCode::Char(' '))), Some(Action::Refresh));
        assert_eq!(action(&plain(KeyCode::Char('~'))), None);
        assert_eq!(action(&KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)), Some(Action::Quit));
        assert_eq!(
            action(&KeyEvent::new(KeyCode::Char('P'), KeyModifiers::SHIFT)),
            Some(Action::SortBy("%CPU"))
        );
    }
}
