//! Keys: one table says what each does, and the help page, the last line and the manual are made of it.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::action::{Action, ExportFormat};
use super::travel::Travel;
use super::views::View;

/// A row of the table of keys.
pub struct Binding {
    /// The keys, as the help page writes them.
    pub keys: &'static [&'static str],
    /// What they do.
    pub action: Action,
    /// One phrase.
    pub help: &'static str,
}

const fn key(keys: &'static [&'static str], action: Action, help: &'static str) -> Binding {
    Binding { keys, action, help }
}

/// The table of keys, by what a user wants to do.
pub static KEYS: [(&str, &[Binding]); 7] = [
    (
        "See something else",
        &[
            key(
                &["1"],
                Action::View(View::Processes),
                "processes: who uses the CPUs; from the past, back to now",
            ),
            key(&["2", "w"], Action::View(View::States), "states: where all of the time went, and back"),
            key(&["3"], Action::View(View::Groups), "cgroups, and back"),
            key(&["4"], Action::View(View::Blame), "blame: who made whom wait"),
            key(&["5"], Action::View(View::Disks), "disks"),
            key(&["6"], Action::View(View::Network), "network"),
            key(&["7"], Action::View(View::History), "history: the interval before, and back to now"),
            key(
                &["g"],
                Action::Group,
                "group by cgroup, unit, container, pod, image, user, command, or not at all",
            ),
            key(&["F5", "t", "V"], Action::Tree, "tree by parent, with the sum of each subtree, and back"),
            key(&["A"], Action::AccountingTree, "tree by accounting parent, and back"),
            key(&["H"], Action::Threads, "threads instead of processes, and back"),
            key(&["p"], Action::Parts, "user, system and stolen time of each part, and back to the columns"),
            key(&["Enter"], Action::Detail, "show details of the selected row, and back"),
        ],
    ),
    (
        "Find and filter",
        &[
            key(&["F3", "/", "L"], Action::Search, "find a row by name or arguments"),
            key(&["F15", "&"], Action::SearchNext, "find the next one"),
            key(
                &["F4", "\\", "o", "O"],
                Action::Filter,
                "show only what matches, such as cpu>5 user=www comm~^java; Tab completes names",
            ),
            key(&["u", "U"], Action::User, "show only the tasks of one user"),
            key(
                &["i"],
                Action::All,
                "also list what did not run and, of disks and network, what had no traffic; and back",
            ),
            key(&["x"], Action::Exited, "show or hide what exited, by name"),
            key(&["F"], Action::Follow, "let the cursor stay at its place, or with its row again"),
        ],
    ),
    (
        "Go through time",
        &[
            key(
                &["(", "Shift-Left"],
                Action::Travel(Travel::Step(-1)),
                "the previous interval, recorded or shown earlier on this screen",
            ),
            key(&[")", "Shift-Right"], Action::Travel(Travel::Step(1)), "the next interval"),
            key(&["b"], Action::Travel(Travel::Step(-10)), "ten intervals back"),
            key(&["f"], Action::Travel(Travel::Step(10)), "ten intervals on"),
            key(&["B", "Ctrl-Left"], Action::Travel(Travel::Step(-60)), "sixty intervals back"),
            key(&["v", "Ctrl-Right"], Action::Travel(Travel::Step(60)), "sixty intervals on"),
            key(&["^"], Action::Travel(Travel::First), "the first interval"),
            key(
                &["$"],
                Action::Travel(Travel::Last),
                "jump to the last interval and follow new ones, or return to now",
            ),
            key(
                &[":"],
                Action::Jump,
                "the interval of a time, such as 03:12 (of the day that is shown) or -10m",
            ),
            key(&[";"], Action::Find, "the next interval with a row that matches, such as cpu>50 name=cc1"),
            key(&["="], Action::Travel(Travel::Speed(1)), "play twice as fast; Space plays and pauses"),
            key(&["_"], Action::Travel(Travel::Speed(-1)), "play half as fast"),
        ],
    ),
    (
        "Sort",
        &[
            key(&["F6"], Action::Sort, "choose what to sort by"),
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
            key(
                &["F9", "k"],
                Action::Kill,
                "send a signal to this process, never to another that reuses its pid",
            ),
            key(&["F7", "]"], Action::Nice(-1), "a higher priority: nice value down, after Enter"),
            key(&["F8", "["], Action::Nice(1), "a lower priority: nice value up, after Enter"),
            key(&["r"], Action::Renice, "another nice value"),
            key(&["y"], Action::IoPriority, "I/O class and priority"),
            key(&["a"], Action::Affinity, "the CPUs it may run on"),
        ],
    ),
    (
        "Change how it looks",
        &[
            key(&["F2", "S", "C"], Action::Columns, "choose, move and resize columns"),
            key(
                &["c"],
                Action::Arguments,
                "all arguments, or names; at first, those without the program's directory where there is room",
            ),
            key(&["%"], Action::OfMachine, "percent of the machine or of one CPU"),
            key(&["n"], Action::Exact, "nanoseconds and bytes, as in JSON, and back"),
            key(&["+", "Right"], Action::Fold(false), "unfold the row: what a line such as ×10 stands for"),
            key(&["-", "Left"], Action::Fold(true), "fold the row"),
            key(&["*"], Action::FoldAll, "fold all rows, or unfold them"),
            key(&["{"], Action::Scroll(-8), "commands to the left"),
            key(&["}"], Action::Scroll(8), "commands to the right"),
            key(&["0"], Action::Cpus, "a meter for each CPU, or one for all"),
            key(&["m"], Action::Memory, "memory and load in the head, or not"),
            key(&["z"], Action::Theme, "the next theme: 16, 256, true colour, light, dark, contrast, mono"),
            key(&["W"], Action::Save, "write the settings to the configuration file"),
        ],
    ),
    (
        "Everything else",
        &[
            key(&["F1", "?", "h"], Action::Help, "this page, and back; / searches in it"),
            key(&["Up", "Ctrl-P"], Action::Move(-1), "the row above"),
            key(&["Down", "Ctrl-N"], Action::Move(1), "the row below"),
            key(&["PgUp", "Ctrl-B"], Action::Page(-1), "the page above"),
            key(&["PgDn", "Ctrl-F"], Action::Page(1), "the page below"),
            key(&["Home"], Action::First, "the first row, whichever it is"),
            key(&["End", "G"], Action::Last, "the last row"),
            key(&["d", "s"], Action::Delay, "the length of an interval"),
            key(&["Space"], Action::Refresh, "end the interval now; in the past, play and pause"),
            key(&["Z"], Action::Pause, "pause: nothing new is shown until you press Z again"),
            key(&["e"], Action::Export(ExportFormat::Json), "write the listed rows to a JSON file"),
            key(&["E"], Action::Export(ExportFormat::Csv), "write the listed rows to a CSV file"),
            key(&["Ctrl-L"], Action::Redraw, "draw everything anew"),
            key(&["Ctrl-Z"], Action::Suspend, "back to the shell, until fg"),
            key(&["Esc"], Action::Leave, "leave what is open: pane, filter, pause"),
            key(&["F10", "q", "Ctrl-C"], Action::Quit, "quit"),
        ],
    ),
];

/// A word of the last line: the key in front of it, the word, and what a click on it does.
pub type Label = (&'static str, &'static str, Action);

/// What the last line offers for a table, those first that are kept where there is little room.
pub static OF_TABLE: [Label; 14] = [
    ("F1", "Help", Action::Help),
    ("F3", "Search", Action::Search),
    ("F4", "Filter", Action::Filter),
    ("F5", "Tree", Action::Tree),
    ("F6", "Sort", Action::Sort),
    ("F9", "Kill", Action::Kill),
    ("Enter", "Details", Action::Detail),
    ("(", "Past", Action::Travel(Travel::Step(-1))),
    ("F2", "Columns", Action::Columns),
    ("H", "Threads", Action::Threads),
    ("i", "Idle", Action::All),
    ("x", "Dead", Action::Exited),
    ("n", "Exact", Action::Exact),
    ("u", "User", Action::User),
];

/// For groups.
pub static OF_GROUPS: [Label; 8] = [
    ("F1", "Help", Action::Help),
    ("g", "Other groups", Action::Group),
    ("+", "Unfold", Action::Fold(false)),
    ("-", "Fold", Action::Fold(true)),
    ("*", "All", Action::FoldAll),
    ("F4", "Filter", Action::Filter),
    ("F6", "Sort", Action::Sort),
    ("(", "Past", Action::Travel(Travel::Step(-1))),
];

/// For an interval of the past.
pub static OF_PAST: [Label; 9] = [
    ("F1", "Help", Action::Help),
    ("(", "Before", Action::Travel(Travel::Step(-1))),
    (")", "Next", Action::Travel(Travel::Step(1))),
    (":", "Time", Action::Jump),
    (";", "Find", Action::Find),
    ("Space", "Play", Action::Refresh),
    ("$", "Now", Action::Travel(Travel::Last)),
    ("F4", "Filter", Action::Filter),
    ("b", "10 back", Action::Travel(Travel::Step(-10))),
];

/// For the pane of details.
pub static OF_DETAIL: [Label; 8] = [
    ("F1", "Help", Action::Help),
    ("Esc", "Close", Action::Leave),
    ("F9", "Kill", Action::Kill),
    ("F7", "Nice-", Action::Nice(-1)),
    ("F8", "Nice+", Action::Nice(1)),
    ("a", "CPUs", Action::Affinity),
    ("y", "I/O", Action::IoPriority),
    ("F3", "Search", Action::Search),
];

/// The last word of each.
pub static QUIT: Label = ("F10", "Quit", Action::Quit);

/// Keys of lists and lines to fill in: they are told, not looked up.
pub static DIALOG_KEYS: [(&str, &str); 11] = [
    ("Up Down PgUp PgDn Home End", "move"),
    ("Enter", "accept"),
    ("Esc", "cancel"),
    ("Space", "columns: show or hide"),
    ("K J", "columns: move up or down"),
    ("+ -", "columns: wider or narrower"),
    ("=", "columns: the usual width"),
    ("Ctrl-U Ctrl-W", "lines: remove everything, or the last word"),
    ("Tab", "filters: complete the name that is being typed"),
    ("F7 F8", "nice value: down or up"),
    (
        "mouse",
        "click selects a row, a view, a word of the last line, an interval of the time line, and sorts by a header; the wheel scrolls",
    ),
];

/// The name of a key as the table writes it.
fn name(event: &KeyEvent) -> String {
    let is_control = event.modifiers.contains(KeyModifiers::CONTROL);
    let is_shift = event.modifiers.contains(KeyModifiers::SHIFT);
    match event.code {
        KeyCode::Char(letter) if is_control && letter != ' ' => {
            format!("Ctrl-{}", letter.to_ascii_uppercase())
        }
        KeyCode::Left | KeyCode::Right if is_shift => format!("Shift-{}", event.code),
        KeyCode::Left | KeyCode::Right if is_control => format!("Ctrl-{}", event.code),
        KeyCode::F(3) if is_shift => "F15".to_owned(),
        KeyCode::PageUp => "PgUp".to_owned(),
        KeyCode::PageDown => "PgDn".to_owned(),
        code => code.to_string(),
    }
}

/// What a key does.
pub fn action(event: &KeyEvent) -> Option<Action> {
    let name = name(event);
    let mut bindings = KEYS.iter().flat_map(|(_, bindings)| *bindings);
    bindings.find(|binding| binding.keys.contains(&name.as_str())).map(|binding| binding.action)
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
    fn words_of_the_last_line_name_the_keys_that_do_what_a_click_does() {
        let all = [&OF_TABLE[..], &OF_GROUPS, &OF_PAST, &OF_DETAIL, &[QUIT]].concat();
        for (key, word, action) in all {
            let mut bindings = KEYS.iter().flat_map(|(_, bindings)| *bindings);
            let binding = bindings.find(|binding| binding.keys.contains(&key)).expect("a key");
            assert_eq!(binding.action, action, "{word}");
        }
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
