mod alike;
mod arguments;
mod cursor;
mod dead;
mod graph;
mod quiet;
mod room;
mod views;

use clap::Parser;
use cpuledger_model::make;
use cpuledger_program::colors::Colors;
use cpuledger_program::when::Named;
use cpuledger_view::key::{Key, PROCESS_KEYS, TASK_KEYS};
use cpuledger_view::query::Query;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::Value as Json;

use super::*;
use crate::cmd::top::options::{Arguments, Options};
use crate::tui::config::{Settings, ShownColumn};
use crate::tui::effect::{Effect, ExportFormat};
use crate::tui::frame::Frame;
use crate::tui::listing::Item;
use crate::tui::theme::{Theme, ThemeName};
use crate::tui::travel::{Cell, Strip, Travel};
use crate::tui::{config, export, fixture};
use cpuledger_recording::When;
use cpuledger_view::interval::column::TableColumn;
use cpuledger_view::shares::{StateCell, StateColumn};

#[derive(Debug, Parser)]
struct Line {
    #[command(flatten)]
    arguments: Arguments,
}

fn state(frame: Frame) -> State {
    let options = Options::parse(&Line::parse_from(["top"]).arguments, true).expect("nothing is right");
    let mut state = State::new(Settings::default(), options);
    state.take(Box::new(frame));
    state
}

fn look(is_ascii: bool) -> Look {
    Look { theme: Theme::new(ThemeName::Sixteen, Colors::Sixteen), is_ascii }
}

/// The screen as text, lines without the blanks at their ends.
fn text(state: &mut State, width: u16, height: u16) -> String {
    let buffer = drawn(state, width, height, &look(false));
    let mut text = String::new();
    for row in 0..height {
        let line: String = (0..width).map(|column| buffer[(column, row)].symbol()).collect();
        text += line.trim_end();
        text.push('\n');
    }
    text
}

fn drawn(state: &mut State, width: u16, height: u16, look: &Look) -> Buffer {
    let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
    state.layout = layout(state, (width, height));
    state.clamp();
    draw(state, look, &mut buffer);
    buffer
}

/// All four widths below each other.
fn widths(state: &mut State) -> String {
    [(40, 10), (80, 24), (120, 24), (200, 24)]
        .map(|(width, height)| format!("=== {width} x {height}\n{}", text(state, width, height)))
        .concat()
}

fn press(state: &mut State, keys: &str) -> Effect {
    let mut last = Effect::None;
    for key in keys.split(' ') {
        let code = match key {
            "Enter" => KeyCode::Enter,
            "Esc" => KeyCode::Esc,
            "Down" => KeyCode::Down,
            "F7" => KeyCode::F(7),
            "F8" => KeyCode::F(8),
            "End" => KeyCode::End,
            "Home" => KeyCode::Home,
            "Space" => KeyCode::Char(' '),
            letter => KeyCode::Char(letter.chars().next().expect("a letter")),
        };
        last = state.key(&KeyEvent::new(code, KeyModifiers::NONE));
    }
    last
}

/// The end of the page of help, which has what is to be said of the interval.
fn end_of_help(state: &mut State, width: u16, height: u16) -> String {
    press(state, "?");
    text(state, width, height);
    press(state, "End");
    text(state, width, height)
}

fn kinds(state: &State) -> (usize, usize, usize) {
    let count = |is: fn(&Item) -> bool| state.listing.entries.iter().filter(|entry| is(&entry.item)).count();
    (
        count(|item| matches!(item, Item::Row(_))),
        count(|item| matches!(item, Item::Group(_))),
        count(|item| matches!(item, Item::ExitedName(_) | Item::Exited(_))),
    )
}

#[test]
fn processes() {
    insta::assert_snapshot!(widths(&mut state(fixture::frame())));
}

#[test]
fn threads() {
    let mut state = state(fixture::frame());
    assert_eq!(press(&mut state, "H"), Effect::Cut);
    insta::assert_snapshot!(widths(&mut state));
}

#[test]
fn trees() {
    let mut state = state(fixture::frame());
    press(&mut state, "t");
    let by_parent = widths(&mut state);
    press(&mut state, "A");
    insta::assert_snapshot!(format!("{by_parent}=== by accounting parent\n{}", text(&mut state, 100, 24)));
}

#[test]
fn exited() {
    let mut state = state(fixture::frame());
    let place = state.listing.entries.iter().position(|entry| matches!(entry.item, Item::ExitedName(_)));
    state.selected = place.expect("there are dead");
    press(&mut state, "+");
    let place = place.expect("there are dead");
    assert!(state.listing.entries.len() > 310 && state.listing.entries[place + 312].item == Item::Exited(0));
    insta::assert_snapshot!(widths(&mut state));
    press(&mut state, "x");
    assert_eq!(kinds(&state), (6, 0, 0));
}

#[test]
fn empty() {
    insta::assert_snapshot!(widths(&mut state(fixture::empty())));
}

#[test]
fn a_hundred_thousand_tasks() {
    let mut state = state(fixture::sleepers(100_000));
    press(&mut state, "H");
    assert_eq!(kinds(&state), (1, 0, 0), "only who ran");
    press(&mut state, "i");
    assert_eq!(kinds(&state), (100_000, 0, 0));
    let top = widths(&mut state);
    press(&mut state, "End");
    insta::assert_snapshot!(format!("{top}=== at the end\n{}", text(&mut state, 80, 24)));
}

#[test]
fn groups_details_menus_and_help() {
    let mut state = state(fixture::frame());
    press(&mut state, "g");
    assert_eq!(kinds(&state).1, 2, "cgroups");
    let groups = text(&mut state, 100, 20);
    assert!(groups.contains("[+] cgroup ") || groups.contains("[+] /"), "{groups}");
    press(&mut state, "g g g g g g g Enter");
    let detail = text(&mut state, 100, 30);
    press(&mut state, "Esc k");
    let menu = text(&mut state, 80, 16);
    press(&mut state, "Esc S");
    let columns = text(&mut state, 100, 16);
    press(&mut state, "Esc ?");
    let help = text(&mut state, 100, 100);
    insta::assert_snapshot!(format!(
        "{groups}=== detail\n{detail}=== signals\n{menu}=== columns\n{columns}=== help\n{help}"
    ));
}

#[test]
fn any_size_will_do() {
    for is_ascii in [false, true] {
        for (width, height) in
            (0..60).step_by(5).map(|size| (size, 60 - size)).chain((0..12).map(|size| (size, size)))
        {
            for keys in
                ["x", "H", "t", "H t", "g", "Enter", "k", "?", "S", "/", "n c %", "w", "w n", "w Enter"]
            {
                let mut state = state(fixture::frame());
                press(&mut state, keys);
                let buffer = drawn(&mut state, width, height, &look(is_ascii));
                let is_plain = |cell: &ratatui_core::buffer::Cell| cell.symbol().is_ascii() || !is_ascii;
                let head_and_table = buffer.content.iter().all(is_plain);
                assert!(head_and_table || keys == "?", "{keys} in {width} x {height}");
            }
        }
    }
}

/// The cells of one column, from the top to the bottom.
fn column(state: &mut State, name: &str) -> Vec<String> {
    let column = TableColumn::by_name(name).expect("a column");
    state.settings.columns = vec![ShownColumn { column, width: Some(100) }];
    let text = text(state, 110, 60);
    let (first, _) = state.layout.rows;
    let count = state.listing.entries.len();
    text.lines().skip(usize::from(first)).take(count).map(|line| line.trim().to_owned()).collect()
}

fn as_text(value: &Json) -> String {
    match value {
        Json::Null => "-".to_owned(),
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[test]
fn what_is_on_the_screen_is_what_json_prints() {
    for (keys, rows, table) in [("x n", "processes", &PROCESS_KEYS), ("x n H", "tasks", &TASK_KEYS)] {
        let mut state = state(fixture::frame());
        press(&mut state, keys);
        let frame = state.frame.as_ref().expect("it was given");
        let line = export::bytes(&state, frame, ExportFormat::Json);
        let json: Json = serde_json::from_slice(&line).expect("JSON");
        let printed = json[rows].as_array().expect("rows");
        assert!(printed.len() >= 6);
        for key in table.iter() {
            let name = key.name();
            let expected: Vec<String> = printed.iter().map(|row| as_text(&row[name])).collect();
            assert!(TableColumn::by_name(name).is_some(), "{name}");
            state.settings.columns = vec![ShownColumn { column: TableColumn::Key(*key), width: Some(100) }];
            let text = text(&mut state, 110, 60);
            let (first, _) = state.layout.rows;
            let seen: Vec<&str> =
                text.lines().skip(usize::from(first)).take(printed.len()).map(str::trim).collect();
            assert_eq!(seen, expected, "{name}");
        }
        // Columns with a key of their own tell the same.
        for name in ["%CPU", "SELF", "VIRT", "RES", "USR", "%WAIT", "%BLK", "S", "PPID"] {
            let key = TableColumn::by_name(name).and_then(TableColumn::key).expect("a key");
            if let (Key::Part(_) | Key::Field(_), true) = (key, printed[0].get(key.name()).is_some()) {
                let expected: Vec<String> = printed.iter().map(|row| as_text(&row[key.name()])).collect();
                assert_eq!(column(&mut state, name), expected, "{name}");
            }
        }
    }
}

/// The time line with that many neighbours, the shown one among them.
fn strip(cells: usize, position: usize) -> Strip {
    let used = |share: u32| Cell::Used { share, user: Some(share / 2) };
    let cell = |nth: usize| if nth % 17 == 5 { Cell::Gap } else { used((nth * 37 % 1001) as u32) };
    Strip {
        words: "2026-03-01 03:12:05".to_owned(),
        cells: (0..cells).map(cell).collect(),
        position,
        is_of_other_boot: true,
    }
}

#[test]
fn the_time_line_is_below_the_head() {
    let mut state = state(fixture::frame());
    let mut seen = String::new();
    for (cells, position) in [(0, 0), (1, 0), (300, 2), (300, 150), (300, 299), (20, 7)] {
        state.strip = Some(strip(cells, position));
        let text = text(&mut state, 80, 24);
        let line = text.lines().find(|line| line.contains("03:12:05")).expect("the time line");
        seen += &format!("{cells} cells, {position} is shown: {line}\n");
    }
    let look = look(true);
    let buffer = drawn(&mut state, 60, 24, &look);
    let row = state.layout.header_row - 1;
    let line: String = (0..60).map(|column| buffer[(column, row)].symbol()).collect();
    seen += &format!("ASCII: {}\n", line.trim_end());
    insta::assert_snapshot!(format!("{seen}{}", widths(&mut state)));
}

#[test]
fn keys_go_through_time() {
    let mut state = state(fixture::frame());
    let travel = |state: &mut State, keys: &str| match press(state, keys) {
        Effect::Travel(travel) => travel,
        other => panic!("{keys}: {other:?}"),
    };
    for (keys, expected) in [
        ("(", Travel::Step(-1)),
        (")", Travel::Step(1)),
        ("b", Travel::Step(-10)),
        ("f", Travel::Step(10)),
        ("B", Travel::Step(-60)),
        ("v", Travel::Step(60)),
        ("^", Travel::First),
        ("$", Travel::Last),
        ("=", Travel::Speed(1)),
        ("_", Travel::Speed(-1)),
        (": @ 1 0 0 Enter", Travel::Jump(Named::realtime(100_000_000_000))),
    ] {
        assert_eq!(travel(&mut state, keys), expected, "{keys}");
    }
    // The last filter is there already.
    for (keys, expected) in [("; x Enter", "x"), ("; y Enter", "xy")] {
        let query = Query::parse(expected).expect("a filter");
        assert_eq!(press(&mut state, keys), Effect::Find(query), "{keys}");
    }
    // From what is shown.
    let before = Named { when: When::BeforeEnd(600_000_000_000), again_ns: None };
    assert_eq!(travel(&mut state, ": - 1 0 m Enter"), Travel::Jump(before));
    assert_eq!(press(&mut state, ": n o o n Enter"), Effect::None);
    assert!(text(&mut state, 200, 24).contains("`noon` is no time"));
    assert_eq!(press(&mut state, "Esc Space"), Effect::Cut, "it comes from the machine");
    state.strip = Some(strip(3, 1));
    assert_eq!(travel(&mut state, "Space"), Travel::Play);
    assert_eq!(press(&mut state, "k"), Effect::None);
    assert!(text(&mut state, 80, 24).contains("nothing can be done to tasks of the past"));
    // What comes from the machine is not shown meanwhile.
    assert!(state.take(Box::new(fixture::empty())).is_some());
}

#[test]
fn rows_and_idle_are_the_capacity() {
    let mut state = state(fixture::frame());
    press(&mut state, "n");
    let entries = state.listing.entries.clone();
    let cells = column(&mut state, "%CPU");
    let rows = entries.iter().zip(&cells).filter(|(entry, _)| matches!(entry.item, Item::Row(_)));
    let sum: u64 = rows.map(|(_, cell)| cell.parse::<u64>().expect("a number")).sum();
    let interval = &state.frame.as_ref().expect("it was given").interval;
    assert_eq!(sum + interval.idle_ns.expect("known"), interval.capacity_ns);
    assert_eq!(sum, interval.attributed_ns);
}

#[test]
fn subtrees_sum_up_whatever_is_folded() {
    let mut state = state(fixture::frame());
    for keys in ["t", "A", "*"] {
        press(&mut state, keys);
        let roots = state.listing.entries.iter().filter(|entry| entry.depth == 0);
        let sum: u64 = roots.filter_map(|entry| entry.subtree_ns).sum();
        assert_eq!(sum, state.frame.as_ref().expect("it was given").interval.attributed_ns, "{keys}");
    }
    assert!(kinds(&state).0 < 6, "folded");
}

#[test]
fn filters_search_follow_pause_and_sort() {
    let mut state = state(fixture::frame());
    press(&mut state, "x / m a k");
    assert_eq!(state.row().map(|(_, row)| row.pid.0), Some(30));
    press(&mut state, "Enter M");
    assert_eq!(state.row().map(|(_, row)| row.pid.0), Some(30), "it is followed");
    press(&mut state, "\\ c p u > 2 0");
    assert_eq!(kinds(&state).0, 3);
    press(&mut state, "x >");
    assert!(
        text(&mut state, 80, 24).contains("there is no `20x`")
            || text(&mut state, 80, 24).contains("percentage")
    );
    assert_eq!(kinds(&state).0, 3, "the last good filter is kept");
    press(&mut state, "Esc");
    assert!(state.query.is_empty() && kinds(&state).0 == 6);
    press(&mut state, "Z");
    let before = state.listing.entries.clone();
    assert!(state.take(Box::new(fixture::empty())).is_some());
    assert_eq!(state.listing.entries, before, "paused");
    press(&mut state, "Z N");
    let first = state.listing.entries[0].item;
    assert!(matches!(first, Item::Row(at) if at.index == 0), "from the lowest number up");
    press(&mut state, "R");
    assert!(matches!(state.listing.entries[0].item, Item::Row(at) if at.index == 5));
}

#[test]
fn the_dead_are_not_killed_and_the_living_are_asked_for() {
    let mut state = state(fixture::frame());
    let dead = state.listing.entries.iter().position(|entry| matches!(entry.item, Item::ExitedName(_)));
    state.selected = dead.expect("there are dead");
    assert_eq!(press(&mut state, "k"), Effect::None);
    assert!(state.message.as_ref().is_some_and(|message| message.is_error && message.text.contains("dead")));
    press(&mut state, "x Home k Down");
    let Effect::Signal(victim, number) = press(&mut state, "Enter") else { panic!("a signal") };
    let row = state.row().expect("a row").1;
    assert_eq!((victim.pid, victim.id, number), (row.pid, row.id(), 9));
    press(&mut state, "r 9 9");
    assert_eq!(press(&mut state, "Enter"), Effect::None, "no such nice value");
    assert!(matches!(state.mode, Mode::Prompt(_)));
}

#[test]
fn the_mouse_selects_sorts_and_presses_keys() {
    use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
    let mut state = state(fixture::frame());
    let shown = text(&mut state, 120, 24);
    let mut click = |column: u16, row: u16| {
        let kind = MouseEventKind::Down(MouseButton::Left);
        state.mouse(&MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE });
        (state.selected, state.settings.sort, matches!(state.mode, Mode::Help(_)))
    };
    let header = shown.lines().position(|line| line.contains("%CPU")).expect("a header") as u16;
    assert_eq!(click(3, header + 3), (2, "%CPU", false), "{shown}");
    let res = shown.lines().nth(usize::from(header)).and_then(|line| line.find("RES")).expect("a column");
    // The process that was clicked has the fifth place by memory, behind one that has a line of the dead.
    assert_eq!(click(res as u16 + 1, header), (5, "RES", false));
    assert_eq!(click(1, 23), (5, "RES", true));
}

#[test]
fn columns_are_chosen_moved_and_resized() {
    let mut state = state(fixture::frame());
    press(&mut state, "S Down Space");
    assert!(state.settings.columns.iter().all(|shown| shown.column.name() != "USER"));
    press(&mut state, "Space J + +");
    let names: Vec<&str> = state.settings.columns.iter().map(|shown| shown.column.name()).collect();
    assert_eq!(names[..3], ["PID", "NI", "USER"]);
    assert_eq!(state.settings.columns[2].width, Some(10));
    assert!(config::write(&state.settings).contains("\"USER:10\""));
}

/// The shares of each row as printed, in tenths of a percent; rows without any are left out.
fn printed_sums(state: &mut State, width: u16) -> Vec<u64> {
    let shown = text(state, width, 60);
    let (first, _) = state.layout.rows;
    let places = state.layout.columns.clone();
    let is_share = |name: &str| {
        StateColumn::by_name(name).is_some_and(|column| matches!(column.cell, StateCell::Share(_)))
    };
    let (from, to) = places
        .iter()
        .filter(|(_, _, name)| is_share(name))
        .fold((u16::MAX, 0), |(from, to), place| (from.min(place.0), to.max(place.1)));
    let rows = shown.lines().skip(usize::from(first)).take(state.listing.entries.len());
    let cells = rows.map(|line| line.chars().skip(from.into()).take(usize::from(to - from)).collect());
    let sum = |cells: String| -> Option<u64> {
        let numbers = cells.split_whitespace().filter(|word| !word.starts_with('('));
        let tenths = numbers.filter_map(|word| word.replace('.', "").parse::<u64>().ok());
        let tenths: Vec<u64> = tenths.collect();
        (!tenths.is_empty()).then(|| tenths.iter().sum())
    };
    cells.filter_map(sum).collect()
}

#[test]
fn states_are_all_of_the_time_as_printed() {
    let mut state = state(fixture::frame());
    press(&mut state, "w");
    assert_eq!(state.settings.order(), ("%HELD", false), "who waits most comes first");
    let processes = widths(&mut state);
    press(&mut state, "H i");
    let threads = widths(&mut state);
    for keys in ["w w", "i", "H", "g", "g", "g g g g g g t", "* x"] {
        press(&mut state, keys);
        for width in [44, 60, 80, 100, 120, 160, 200] {
            let sums = printed_sums(&mut state, width);
            assert!(!sums.is_empty(), "{keys} at {width}");
            assert!(sums.iter().all(|sum| *sum == 1000), "{keys} at {width}: {sums:?}");
        }
    }
    press(&mut state, "t n");
    let exact = text(&mut state, 200, 24);
    insta::assert_snapshot!(format!("{processes}=== threads\n{threads}=== exact\n{exact}"));
}

#[test]
fn states_have_an_order_of_their_own() {
    let mut state = state(fixture::frame());
    press(&mut state, "x w");
    let first = |state: &State| state.row().map(|(_, row)| row.pid.0);
    assert_eq!(first(&state), Some(20), "waited and blocked for the longest");
    text(&mut state, 120, 24);
    press(&mut state, "< R");
    assert_eq!(state.settings.order(), ("USER", false));
    press(&mut state, "> >");
    assert_eq!(state.settings.order(), ("USR", false));
    press(&mut state, "S");
    assert!(state.message.as_ref().is_some_and(|message| message.is_error), "columns are not chosen here");
    press(&mut state, "w");
    assert_eq!(state.settings.order(), ("%CPU", false));
    press(&mut state, "M w");
    assert_eq!((state.settings.order().0, state.settings.sort), ("USR", "RES"));
    press(&mut state, "Enter");
    let shown = text(&mut state, 200, 40).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("states [") && shown.contains("w WAIT 3.0, b BLK 6.0"), "{shown}");
}

#[test]
fn what_did_not_run_is_in_one_state_and_what_is_not_known_is_not_told() {
    let mut frame = fixture::sleepers(3);
    let mut walked =
        std::sync::Arc::into_inner(std::mem::take(&mut frame.asleep.walked)).expect("no other has it");
    walked.tasks[2].state = cpuledger::task::State(b'D');
    // A process that sleeps, with the two threads that did not run.
    walked.processes.push(make!(cpuledger::Task { threads: 2, ..fixture::task(200, 1, 200, "resting") }));
    walked.tasks[1].pid = cpuledger::Pid(200);
    walked.tasks[2].pid = cpuledger::Pid(200);
    frame.asleep.walked = std::sync::Arc::new(walked);
    frame.asleep.gone[0].push(false);
    let mut state = state(frame);
    press(&mut state, "w i");
    let shown = text(&mut state, 120, 24);
    let line = shown.lines().find(|line| line.ends_with("resting")).expect("its row");
    assert!(line.contains("100.0     ·     ·     ·     ·  50.0       ·  50.0     ·"), "{shown}");
    let mut frame = fixture::frame();
    let states = frame.interval.processes[1].usage.states.as_mut().expect("they are known");
    (states.unseen_ns, states.sleep_ns) = (states.sleep_ns, 0);
    state.take(Box::new(frame));
    for width in [44, 80, 120] {
        let header = text(&mut state, width, 24).lines().any(|line| line.contains(" STOP     ? "));
        assert_eq!(header, width >= 80, "there is such a row");
        assert!(printed_sums(&mut state, width).iter().all(|sum| *sum == 1000));
    }
    let mut frame = fixture::frame();
    frame.interval.source = cpuledger::SourceKind::Walk;
    frame.interval.processes.iter_mut().for_each(|row| row.usage.states = None);
    state.take(Box::new(frame));
    press(&mut state, "x");
    assert_eq!(printed_sums(&mut state, 120), Vec::<u64>::new(), "no other source tells it");
    press(&mut state, "w w");
    assert!(state.message.take().is_some_and(|message| message.text.starts_with("only the ledger")));
    let shown = text(&mut state, 120, 24);
    assert!(
        !shown.contains("On average")
            && shown.contains("      -     -     -     -     -     -       -     -     - ")
    );
}

#[test]
fn the_head_names_what_was_blocked_all_the_time() {
    let mut state = state(fixture::frame());
    let line = |state: &mut State, width| {
        let shown = text(state, width, 24);
        shown.lines().find(|line| line.starts_with("Blocked all")).map(str::to_owned)
    };
    assert_eq!(line(&mut state, 120), None, "it is part of the view of states");
    press(&mut state, "w");
    let [first, second] = ["dd (70) for 100.0 s, I/O", "; hung (82 of 81) for more than 21.0 s"];
    for (width, words) in [(60, format!("{first}; 2 more")), (120, format!("{first}{second}; 1 more"))] {
        assert_eq!(line(&mut state, width), Some(format!("Blocked all the time: {words}")));
    }
    state.frame.as_mut().expect("it was given").interval.blocked_tasks = 2;
    assert_eq!(line(&mut state, 85), Some(format!("Blocked all the time: {first}{second}")));
    state.options.pids = vec![81];
    assert!(
        line(&mut state, 120).is_some_and(|line| line.starts_with("Blocked all the time: hung (82 of 81)"))
    );
    state.options.pids = vec![83];
    assert_eq!(line(&mut state, 120), None);
}

#[test]
fn the_head_tells_what_tasks_did_on_average() {
    let mut state = state(fixture::frame());
    let frame = state.frame.as_ref().expect("it was given");
    let [waited, blocked] = frame.held_ns().expect("states are known");
    let living: u64 = frame
        .interval
        .processes
        .iter()
        .filter_map(|row| row.usage.states)
        .map(|states| states.blocked_ns)
        .sum();
    let dead: u64 =
        frame.exited().iter().filter_map(|exited| exited.states).map(|states| states.blocked_ns).sum();
    // Two of the list that have no row, and one that is not listed.
    let hung = 3 * frame.interval.length_ns();
    assert_eq!(blocked, living + dead + hung, "all of the dead were processes of their own");
    let shown = end_of_help(&mut state, 80, 24);
    let line = shown.lines().find(|line| line.starts_with("On average")).expect("a line");
    let hundredths = |ns: u64| format!("{}.{:02}", ns / 1_000_000_000, ns / 10_000_000 % 100);
    let [running, waiting, blocked] =
        [state.frame.as_ref().expect("it was given").interval.attributed_ns, waited, blocked].map(hundredths);
    assert_eq!(
        line,
        format!("On average: {running} running, {waiting} waiting for a CPU, {blocked} blocked")
    );
    assert!(shown.contains("Pressure"), "beside it: {shown}");
    press(&mut state, "Esc");
    let shown = text(&mut state, 200, 24);
    let [waiting, blocked] = [format!("{waiting} wait for a CPU"), format!("{blocked} blocked")];
    assert!(shown.contains(&waiting) && shown.contains(&blocked), "in the head, too: {shown}");
}
