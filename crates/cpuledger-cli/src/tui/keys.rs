//! Keys: one table says what each does, and the help page, the last line and the manual are made of it.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::config::{Settings, Tree, next_theme};
use super::effect::{Effect, ExportFormat};
use super::mode::{Help, Mode, PromptKind};
use super::state::State;
use super::travel::Travel;
use super::views::View;

/// A row of the table of keys, or a title in it, which no key stands for.
pub struct Binding {
    /// The keys, as the help page writes them.
    keys: &'static str,
    /// What they do.
    does: Does,
    /// One phrase.
    pub help: &'static str,
}

/// What a key does.
enum Does {
    /// Something that changes no lines, or lists them itself.
    Other(fn(&mut State)),
    /// Other lines.
    Lists(fn(&mut State)),
    /// Other lines. The interval ends now, unless the past is shown.
    Cuts(fn(&mut State)),
    /// Another view.
    Shows(View),
    /// What is chosen, or not; that makes other lines.
    Flips(fn(&mut Settings) -> &mut bool),
    /// A line to fill in.
    Opens(PromptKind),
    /// Something that only the program around the state can do.
    Asks(fn(&mut State) -> Effect),
    /// A way through time.
    Travels(Travel),
}

use Does::{Asks, Cuts, Flips, Lists, Opens, Other, Shows, Travels};

impl Binding {
    /// Does it.
    pub fn act(&self, state: &mut State) -> Effect {
        match &self.does {
            Other(act) => act(state),
            Opens(kind) => state.open_usual(kind.clone()),
            Lists(act) | Cuts(act) => act(state),
            Flips(flag) => {
                let flag = flag(&mut state.settings);
                *flag = !*flag;
            }
            Shows(view) => return state.show_view(*view),
            Asks(act) => return act(state),
            Travels(travel) => return Effect::Travel(*travel),
        }
        if matches!(self.does, Lists(_) | Cuts(_) | Flips(_)) {
            state.list();
        }
        if matches!(self.does, Cuts(_)) { Effect::Cut } else { Effect::None }
    }
}

const fn key(keys: &'static str, does: Does, help: &'static str) -> Binding {
    Binding { keys, does, help }
}

const fn title(words: &'static str) -> Binding {
    key("", Other(|_| ()), words)
}

/// The table of keys, by what a user wants to do.
static KEYS: [Binding; 82] = [
    title("See something else"),
    key("1", Shows(View::Processes), "processes: who uses the CPUs; from the past, back to now"),
    key("2 w", Shows(View::States), "states: where all of the time went, and back"),
    key("3", Shows(View::Groups), "cgroups, and back"),
    key("4", Shows(View::Blame), "blame: who made whom wait"),
    key("5", Shows(View::Disks), "disks"),
    key("6", Shows(View::Network), "network"),
    key("7", Shows(View::History), "history: the interval before, and back to now"),
    key(
        "g",
        Cuts(State::show_next_group),
        "group by cgroup, unit, container, pod, image, user, command, or not at all",
    ),
    key(
        "F5 t V",
        Cuts(|state| state.show_tree(Tree::Parent)),
        "tree by parent, with the sum of each subtree, and back",
    ),
    key("A", Cuts(|state| state.show_tree(Tree::Accounting)), "tree by accounting parent, and back"),
    key("H", Cuts(State::show_threads), "threads instead of processes, and back"),
    key("p", Lists(State::show_parts), "user, system and stolen time of each part, and back to the columns"),
    key("Enter", Other(State::open_detail), "show details of the selected row, and back"),
    title("Find and filter"),
    key("F3 / L", Opens(PromptKind::Search), "find a row by name or arguments"),
    key("F15 &", Other(|state| state.search_from(state.selected + 1)), "find the next one"),
    key(
        "F4 \\ o O",
        Opens(PromptKind::Filter),
        "show only what matches, such as cpu>5 user=www comm~^java; Tab completes names",
    ),
    key("u U", Opens(PromptKind::User), "show only the tasks of one user"),
    key(
        "i",
        Cuts(|state| state.settings.has_all = !state.settings.has_all),
        "also list what did not run and, of disks and network, what had no traffic; and back",
    ),
    key("x", Flips(|of| &mut of.has_exited), "show or hide what exited, by name"),
    key("F", Lists(State::follow), "let the cursor stay at its place, or with its row again"),
    title("Go through time"),
    key(
        "( Shift-Left",
        Travels(Travel::Step(-1)),
        "the previous interval, recorded or shown earlier on this screen",
    ),
    key(") Shift-Right", Travels(Travel::Step(1)), "the next interval"),
    key("b", Travels(Travel::Step(-10)), "ten intervals back"),
    key("f", Travels(Travel::Step(10)), "ten intervals on"),
    key("B Ctrl-Left", Travels(Travel::Step(-60)), "sixty intervals back"),
    key("v Ctrl-Right", Travels(Travel::Step(60)), "sixty intervals on"),
    key("^", Travels(Travel::First), "the first interval"),
    key("$", Travels(Travel::Last), "jump to the last interval and follow new ones, or return to now"),
    key(
        ":",
        Opens(PromptKind::Jump),
        "the interval of a time, such as 03:12 (of the day that is shown) or -10m",
    ),
    key(";", Opens(PromptKind::Find), "the next interval with a row that matches, such as cpu>50 name=cc1"),
    key("=", Travels(Travel::Speed(1)), "play twice as fast; Space plays and pauses"),
    key("_", Travels(Travel::Speed(-1)), "play half as fast"),
    title("Sort"),
    key("F6", Other(State::open_sort), "choose what to sort by"),
    key("P", Lists(|state| state.sort_by("%CPU")), "by CPU time"),
    key("M", Lists(|state| state.sort_by("RES")), "by memory"),
    key("T", Lists(|state| state.sort_by("TIME+")), "by CPU time since the start"),
    key("N", Lists(|state| state.sort_by("PID")), "by pid"),
    key("< ,", Lists(|state| state.sort_next(-1)), "by the column to the left"),
    key("> .", Lists(|state| state.sort_next(1)), "by the column to the right"),
    key("R I", Lists(State::reverse), "the other direction"),
    title("Act on the selected row"),
    key(
        "F9 k",
        Other(State::open_kill),
        "send a signal to this process, never to another that reuses its pid",
    ),
    key("F7 ]", Other(|state| state.open_nice(-1)), "a higher priority: nice value down, after Enter"),
    key("F8 [", Other(|state| state.open_nice(1)), "a lower priority: nice value up, after Enter"),
    key("r", Other(|state| state.open_nice(0)), "another nice value"),
    key("y", Other(State::open_io_priority), "I/O class and priority"),
    key("a", Asks(State::open_affinity), "the CPUs it may run on"),
    title("Change how it looks"),
    key("F2 S C", Other(State::open_columns), "choose, move and resize columns"),
    key(
        "c",
        Lists(|state| state.settings.arguments = Some(!state.shows_arguments())),
        "all arguments, or names; at first, those without the program's directory where there is room",
    ),
    key("%", Flips(|of| &mut of.is_of_machine), "percent of the machine or of one CPU"),
    key("n", Flips(|of| &mut of.is_exact), "nanoseconds and bytes, as in JSON, and back"),
    key("+ Right", Lists(|state| state.fold(false)), "unfold the row: what a line such as ×10 stands for"),
    key("- Left", Lists(|state| state.fold(true)), "fold the row"),
    key("*", Lists(State::fold_all), "fold all rows, or unfold them"),
    key("{", Other(|state| state.scroll(-8)), "commands to the left"),
    key("}", Other(|state| state.scroll(8)), "commands to the right"),
    key("0", Flips(|of| &mut of.has_cpus), "a meter for each CPU, or one for all"),
    key("m", Flips(|of| &mut of.has_memory), "memory and load in the head, or not"),
    key(
        "z",
        Other(|state| state.settings.theme = next_theme(state.settings.theme)),
        "the next theme: 16, 256, true colour, light, dark, contrast, mono",
    ),
    key("W", Asks(|_| Effect::Save), "write the settings to the configuration file"),
    title("Everything else"),
    key(
        "F1 ? h",
        Other(|state| state.mode = Mode::Help(Help::default())),
        "this page, and back; / searches in it",
    ),
    key("Up Ctrl-P", Other(|state| state.go(-1)), "the row above"),
    key("Down Ctrl-N", Other(|state| state.go(1)), "the row below"),
    key("PgUp Ctrl-B", Other(|state| state.go_pages(-1)), "the page above"),
    key("PgDn Ctrl-F", Other(|state| state.go_pages(1)), "the page below"),
    key("Home", Other(State::go_first), "the first row, whichever it is"),
    key("End G", Other(|state| state.go(isize::MAX)), "the last row"),
    key("d s", Opens(PromptKind::Delay), "the length of an interval"),
    key("Space", Asks(State::end_interval), "end the interval now; in the past, play and pause"),
    key("Z", Asks(State::pause), "pause: nothing new is shown until you press Z again"),
    key("e", Other(|state| state.open_export(ExportFormat::Json)), "write the listed rows to a JSON file"),
    key("E", Other(|state| state.open_export(ExportFormat::Csv)), "write the listed rows to a CSV file"),
    key("Ctrl-L", Asks(|_| Effect::Redraw), "draw everything anew"),
    key("Ctrl-Z", Asks(|_| Effect::Suspend), "back to the shell, until fg"),
    key("Esc", Other(State::leave), "leave what is open: pane, filter, pause"),
    key("F10 q Ctrl-C", Asks(|_| Effect::Quit), "quit"),
];

/// A word of the last line, and the key in front of it, which a click stands for: the key, and the word.
pub type Label = (&'static str, &'static str);

/// What the last line offers for a table, those first that are kept where there is little room.
pub static OF_TABLE: [Label; 14] = [
    ("F1", "Help"),
    ("F3", "Search"),
    ("F4", "Filter"),
    ("F5", "Tree"),
    ("F6", "Sort"),
    ("F9", "Kill"),
    ("Enter", "Details"),
    ("(", "Past"),
    ("F2", "Columns"),
    ("H", "Threads"),
    ("i", "Idle"),
    ("x", "Dead"),
    ("n", "Exact"),
    ("u", "User"),
];

/// For groups.
pub static OF_GROUPS: [Label; 8] = [
    ("F1", "Help"),
    ("g", "Other groups"),
    ("+", "Unfold"),
    ("-", "Fold"),
    ("*", "All"),
    ("F4", "Filter"),
    ("F6", "Sort"),
    ("(", "Past"),
];

/// For an interval of the past.
pub static OF_PAST: [Label; 9] = [
    ("F1", "Help"),
    ("(", "Before"),
    (")", "Next"),
    (":", "Time"),
    (";", "Find"),
    ("Space", "Play"),
    ("$", "Now"),
    ("F4", "Filter"),
    ("b", "10 back"),
];

/// For the pane of details.
pub static OF_DETAIL: [Label; 8] = [
    ("F1", "Help"),
    ("Esc", "Close"),
    ("F9", "Kill"),
    ("F7", "Nice-"),
    ("F8", "Nice+"),
    ("a", "CPUs"),
    ("y", "I/O"),
    ("F3", "Search"),
];

/// The last word of each.
pub static QUIT: Label = ("F10", "Quit");

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
pub fn name(event: &KeyEvent) -> String {
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

/// What the table says of a key.
pub fn binding(event: &KeyEvent) -> Option<&'static Binding> {
    named(&name(event))
}

/// What the table says of the key with this name.
pub fn named(name: &str) -> Option<&'static Binding> {
    KEYS.iter().find(|binding| binding.keys.split_whitespace().any(|key| key == name))
}

/// Every line of the help page: a title, or keys and what they do.
pub fn help() -> impl Iterator<Item = (&'static str, &'static str)> {
    let of_table = KEYS.iter().map(|binding| (binding.keys, binding.help));
    of_table.chain([("", "In lists, and in lines to fill in")]).chain(DIALOG_KEYS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_does_two_things() {
        let mut keys: Vec<&str> = KEYS.iter().flat_map(|binding| binding.keys.split_whitespace()).collect();
        let count = keys.len();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), count, "{keys:?}");
    }

    #[test]
    fn words_of_the_last_line_name_keys() {
        let all = [&OF_TABLE[..], &OF_GROUPS, &OF_PAST, &OF_DETAIL, &[QUIT]].concat();
        for (key, word) in all {
            assert!(named(key).is_some(), "{word}");
        }
    }

    #[test]
    fn keys_are_found_by_what_the_terminal_sends() {
        let help = |code, modifiers| binding(&KeyEvent::new(code, modifiers)).map(|binding| binding.help);
        let plain = |code| help(code, KeyModifiers::NONE);
        assert_eq!(plain(KeyCode::F(9)), named("k").map(|binding| binding.help));
        assert_eq!(plain(KeyCode::Char(' ')), named("Space").map(|binding| binding.help));
        assert_eq!(plain(KeyCode::Char('~')), None);
        assert_eq!(help(KeyCode::Char('c'), KeyModifiers::CONTROL), Some("quit"));
        assert_eq!(help(KeyCode::Char('P'), KeyModifiers::SHIFT), Some("by CPU time"));
        assert_eq!(help(KeyCode::Left, KeyModifiers::CONTROL), Some("sixty intervals back"));
        assert_eq!(plain(KeyCode::PageUp), Some("the page above"));
    }
}
