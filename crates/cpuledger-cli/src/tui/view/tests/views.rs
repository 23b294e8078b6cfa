//! Views and what leads to them, the head at any width, and the dead below their heirs.

use cpuledger::Accounts;
use cpuledger::host_statistics::CpuShare;
use cpuledger_model::framing::CgroupNames;
use cpuledger_model::pairs::{Party, WaitPair, WaitPairs};
use cpuledger_names::named::Named;
use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};

use super::*;
use crate::tui::views::View;

fn click(state: &mut State, column: u16, row: u16) -> Effect {
    let kind = MouseEventKind::Down(MouseButton::Left);
    state.mouse(&MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE })
}

/// The column of the first letter of that text in a line.
fn place(shown: &str, line: usize, text: &str) -> u16 {
    let line = shown.lines().nth(line).expect("a line");
    let before = line.split(text).next().expect("the text is there");
    assert!(line.contains(text), "{text}: {line}");
    before.chars().count() as u16
}

#[test]
fn numbers_and_clicks_lead_to_each_view() {
    let mut state = state(fixture::frame());
    for (number, view) in ["1", "2", "3", "4", "5", "6"].into_iter().zip(View::ALL) {
        press(&mut state, "1");
        assert_eq!(state.view(), View::Processes);
        press(&mut state, number);
        assert_eq!(state.view(), view);
        let shown = text(&mut state, 120, 24);
        assert!(shown.starts_with("1Processes 2States"), "{shown}");
        press(&mut state, "1");
        text(&mut state, 120, 24);
        let column = place(&shown, 0, &format!("{number}{}", view.name()));
        click(&mut state, column + 1, 0);
        assert_eq!(state.view(), view, "clicked");
        let wanted = state.subscription().accounts;
        let Some((account, _)) = view.account() else {
            assert!(wanted.is_empty(), "{view:?}");
            continue;
        };
        assert_eq!(wanted, Accounts::of(&[account]), "it is kept while it is looked at");
        let shown = text(&mut state, 120, 24);
        assert!(shown.contains(view.columns().1) && shown.contains("make"), "it is kept: {shown}");
        let kept = state.frame.replace(Box::new(fixture::empty()));
        let shown = text(&mut state, 80, 24);
        assert!(shown.contains(&format!("ptop --with {account}")), "it says what switches it on: {shown}");
        state.frame = kept;
        press(&mut state, "Esc");
        assert_eq!((state.view(), state.settings.order().0), (View::Processes, "%CPU"));
    }
    press(&mut state, "1 2 4 2");
    assert_eq!(state.view(), View::States, "it was below the other");
    assert_eq!(press(&mut state, "1 7"), Effect::Travel(Travel::Step(-1)));
    state.strip = Some(strip(20, 7));
    assert_eq!(press(&mut state, "7"), Effect::Travel(Travel::Last));
    assert!(
        text(&mut state, 60, 24).starts_with("1Processes 2 3 4 5 6 7History"),
        "it is named in any width"
    );
}

#[test]
fn blame_says_who_made_whom_wait_where_that_is_kept() {
    let mut frame = fixture::frame();
    let ids = |id| (Some(id), Some(0));
    let names =
        [(1, "/web"), (2, "/backup")].map(|(id, path)| (ids(id), CgroupNames::of_path(path.as_bytes())));
    frame.around.named = Named::of(names.into_iter().collect());
    let pair = |by, of, ns| WaitPair { by, of: Party::Cgroup(ids(of)), ns };
    let pairs = [
        pair(Party::Cgroup(ids(2)), 1, 312_000_000),
        pair(Party::Cgroup(ids(1)), 2, 40_000_000),
        pair(Party::Quota, 2, 5_000_000),
    ];
    frame.interval.pairs = Some(WaitPairs::of(pairs));
    let mut state = state(frame);
    let line = |state: &mut State, width| {
        let shown = text(state, width, 24);
        shown.lines().find(|line| line.contains(" made ")).map(str::to_owned)
    };
    assert_eq!(line(&mut state, 120), None, "it is part of the view of blame");
    press(&mut state, "4");
    let [first, second, third] = [
        "/backup made /web wait 312.0 ms",
        "; /web made /backup wait 40.0 ms",
        "; (quota) made /backup wait 5.0 ms",
    ];
    assert_eq!(line(&mut state, 120), Some(format!("{first}{second}{third}")));
    assert_eq!(line(&mut state, 80), Some(format!("{first}{second}")));
    assert_eq!(line(&mut state, 40), Some(first.to_owned()));
    state.frame.as_mut().expect("it was given").interval.pairs = None;
    assert_eq!(line(&mut state, 120), None, "it is not kept");
}

#[test]
fn a_click_on_the_time_line_goes_to_that_interval() {
    let mut state = state(fixture::frame());
    for _ in 0..9 {
        state.take(Box::new(fixture::frame()));
    }
    text(&mut state, 100, 24);
    assert_eq!(click(&mut state, 99, 2), Effect::None, "it is shown");
    assert_eq!(click(&mut state, 96, 2), Effect::Travel(Travel::Step(-3)));
    assert_eq!(click(&mut state, 80, 2), Effect::None, "nothing is there");
    state.strip = Some(strip(20, 7));
    let shown = text(&mut state, 100, 24);
    let here = place(&shown, 2, "[") + 1;
    assert_eq!(click(&mut state, here - 3, 2), Effect::Travel(Travel::Step(-2)));
    assert_eq!(click(&mut state, here + 3, 2), Effect::Travel(Travel::Step(2)));
}

#[test]
fn lists_are_clicked_and_scrolled() {
    let mut state = state(fixture::frame());
    press(&mut state, "x Home k");
    text(&mut state, 80, 24);
    let (first, ..) = state.layout.menu.expect("a list");
    click(&mut state, 40, first + 2);
    let Mode::Menu(menu) = &state.mode else { panic!("it is still open") };
    assert_eq!(menu.selected, 2);
    let wheel =
        MouseEvent { kind: MouseEventKind::ScrollDown, column: 0, row: 0, modifiers: KeyModifiers::NONE };
    state.mouse(&wheel);
    text(&mut state, 80, 24);
    let effect = click(&mut state, 40, first + 5);
    assert!(matches!(effect, Effect::Signal(_, 18)), "where it was selected: {effect:?}");
}

#[test]
fn the_head_has_three_lines_and_every_cpu_a_place_at_any_width() {
    let mut frame = fixture::frame();
    let share = |cpu: u32| CpuShare { cpu, user: cpu % 4 * 300, system: 0, stolen: 0 };
    for count in [1, 2, 8, 9, 64, 256] {
        frame.around.cpus = (0..count).map(share).collect();
        let mut state = state(fixture::frame());
        state.frame = Some(Box::new(Frame { around: frame.around.clone(), ..fixture::frame() }));
        for (width, height) in [(40, 10), (80, 24), (120, 40), (200, 60)] {
            let shown = text(&mut state, width, height);
            assert_eq!(state.layout.header_row, 3, "{count} CPUs in {width}");
            let line = shown.lines().nth(2).expect("the third line");
            let meters = line
                .strip_prefix("CPU ")
                .map_or(0, |rest| rest.split(' ').next().map_or(0, |meters| meters.chars().count()));
            let each = (count as usize).div_ceil(meters.max(1));
            assert!(
                meters == 0 && count <= 8 || meters * each >= count as usize && each <= 16,
                "{count} CPUs in {width}: {line}"
            );
        }
    }
}

#[test]
fn the_dead_are_below_the_process_that_inherits_their_time() {
    let mut state = state(fixture::frame());
    let shown = text(&mut state, 120, 24);
    let line_of = |end: &str| shown.lines().position(|line| line.ends_with(end)).expect("a line");
    assert_eq!(line_of("─[+] cc1plus"), line_of(" make") + 1, "{shown}");
    // With more names than a few, the rest is below a key.
    let mut frame = fixture::frame();
    let mut exited = ["a", "b", "c", "d", "e"].map(|name| fixture::exited(900, name, 20_000_000)).to_vec();
    exited.push(fixture::exited(901, "f", 2_000_000));
    exited.push(fixture::exited(902, "g", 1_000_001));
    frame.interval.exited = Some(exited);
    state.take(Box::new(frame));
    assert_eq!(kinds(&state).2, 3);
    press(&mut state, "+");
    assert_eq!(kinds(&state).2, 6);
    // Those that have less than 1 % are one line with their sum, which a search finds by their names.
    let sum = |state: &State| {
        let others = state.listing.others.first().map(|(sum, members)| (*sum as usize, members.len()));
        others.map(|(sum, members)| (state.listing.sums[sum].total.usage.cpu_ns, members))
    };
    assert_eq!(sum(&state), Some((3_000_001, 2)));
    press(&mut state, "/ g Enter");
    let shown = text(&mut state, 120, 24);
    let found = state.listing.entries[state.selected].item;
    assert_eq!(found, Item::ExitedName(state.listing.others[0].0), "{shown}");
    assert!(shown.contains("[+] (all other names)"), "{shown}");
    press(&mut state, "+");
    let shown = text(&mut state, 120, 24);
    assert!(shown.lines().any(|line| line.ends_with("─g")), "{shown}");
    press(&mut state, "- Home - \\ c o m m = g Enter");
    assert_eq!((kinds(&state), sum(&state)), ((0, 0, 1), None), "alone where their heir does not match");
    press(&mut state, "Esc t");
    let shown = text(&mut state, 120, 24);
    assert_eq!(kinds(&state).2, 6, "in a tree, too: {shown}");
    // A thread that has ended is in the column X of its process.
    let mut frame = fixture::frame();
    let heir = frame.interval.processes.iter().find(|row| row.task.pid == cpuledger::Pid(30)).expect("make");
    let mut thread = fixture::exited(900, "thread", 1_000_000);
    thread.exit.process = heir.task.id();
    thread.accounting_parent = None;
    frame.interval.exited = Some(vec![thread]);
    state.take(Box::new(frame));
    press(&mut state, "t");
    let shown = text(&mut state, 120, 24);
    let line_of = |end: &str| shown.lines().position(|line| line.ends_with(end)).expect("a line");
    assert_eq!(line_of("─[+] thread"), line_of(" make") + 1, "{shown}");
}

#[test]
fn filters_are_completed_and_counted_and_say_when_nothing_matches() {
    let mut state = state(fixture::frame());
    press(&mut state, "x \\ n a m");
    state.key(&KeyEvent::new(KeyCode::Tab, KeyModifiers::NONE));
    press(&mut state, "= m a k e");
    let shown = text(&mut state, 80, 24);
    assert!(shown.contains("1 line matches") && shown.contains("Filter: name=make"), "{shown}");
    press(&mut state, "y Enter");
    let shown = text(&mut state, 80, 24);
    assert!(shown.contains("no row matches `name=makey`; Esc ends the filter"), "{shown}");
    // What may become a name is none of a row yet.
    press(&mut state, "Esc \\ s t a t");
    assert!(state.query.is_empty() && !state.listing.entries.is_empty());
    press(&mut state, "Enter");
    assert_eq!((state.query.text(), state.listing.entries.len()), ("stat", 0));
}

#[test]
fn the_help_page_is_searched() {
    let mut state = state(fixture::frame());
    press(&mut state, "? / a f f i n i t y");
    assert!(!text(&mut state, 80, 24).contains("the CPUs it may run on"));
    press(&mut state, "Esc / m a y Space r u n Enter");
    let shown = text(&mut state, 80, 24);
    assert!(
        shown.contains("Act on the selected row") && shown.contains(" a              the CPUs it may run on"),
        "{shown}"
    );
    assert!(!shown.contains("threads instead of processes"));
    press(&mut state, "Esc");
    assert!(text(&mut state, 80, 24).contains("This interval"));
    press(&mut state, "Esc");
    assert!(matches!(state.mode, Mode::Table));
}

#[test]
fn what_nothing_has_happened_to_is_a_dot_and_what_is_since_the_start_is_named() {
    let mut state = state(fixture::frame());
    let shown = text(&mut state, 80, 24);
    let line = shown.lines().find(|line| line.ends_with("orphan")).expect("its row");
    assert!(line.contains("10.0  10.0     ·     ·"), "{line}");
    let mut frame = fixture::frame();
    frame.interval.begin = cpuledger::interval::Begin::Boot;
    frame.around.unread = 12;
    state.take(Box::new(frame));
    assert!(text(&mut state, 80, 24).contains("Totals since each process began (12 not read); the first"));
}
