//! Views and what leads to them, the head at any width, and the dead below their heirs.

use cpuledger::host_statistics::CpuShare;
use cpuledger::{Account, Accounts};
use cpuledger_model::framing::CgroupNames;
use cpuledger_model::make;
use cpuledger_model::pairs::{Party, WaitPair, WaitPairs};
use cpuledger_model::waits::WaitTotals;
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
        let also = state.subscription().also;
        assert_eq!(also.contains(Account::Pairs), view == View::Blame, "asked for while it is looked at");
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
        assert!(state.subscription().also.is_empty(), "{account} comes first");
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
    let pair = |by, of, ns| WaitPair::new(by, Party::Cgroup(ids(of)), ns);
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
    let among = WaitPair::new(Party::Cgroup(ids(1)), Party::Cgroup(ids(1)), 900_000_000);
    let interval = &mut state.frame.as_mut().expect("it was given").interval;
    interval.pairs = Some(WaitPairs::of([among]));
    assert_eq!(line(&mut state, 120), None, "no other cgroup is to blame");
    state.frame.as_mut().expect("it was given").interval.pairs = None;
    assert_eq!(line(&mut state, 120), None, "it is not kept");
}

#[test]
fn blame_says_because_of_whom_the_cgroup_of_the_selected_row_waited() {
    let mut frame = fixture::frame();
    let ids = |id| (Some(id), Some(0));
    let names = [(1, "/build"), (2, "/backup"), (3, "/web")]
        .map(|(id, path)| (ids(id), CgroupNames::of_path(path.as_bytes())));
    frame.around.named = Named::of(names.into_iter().collect());
    let pair = |by, of, ns| WaitPair::new(by, Party::Cgroup(ids(of)), ns);
    frame.interval.pairs = Some(WaitPairs::of([
        pair(Party::Cgroup(ids(2)), 1, 600_000_000),
        pair(Party::Cgroup(ids(1)), 1, 390_000_000),
        pair(Party::Interrupts, 1, 10_000_000),
        pair(Party::Cgroup(ids(1)), 2, 500_000_000),
    ]));
    let mut state = state(frame);
    press(&mut state, "x");
    let line = |state: &mut State, width| {
        let shown = text(state, width, 24);
        let line = shown.lines().find(|line| line.contains("waited for:"));
        line.map(|line| line.split("  ").last().unwrap_or_default().to_owned())
    };
    assert_eq!(line(&mut state, 120), None, "it is part of the view of blame");
    press(&mut state, "4 \\ p i d = 3 0 Enter");
    let whole = "its cgroup waited for: /backup 60 %, itself 39 %, (interrupts) 1 %";
    assert_eq!(line(&mut state, 120).as_deref(), Some(whole));
    assert_eq!(line(&mut state, 60).as_deref(), Some("its cgroup waited for: /backup 60 %"));
    assert_eq!(line(&mut state, 40), None, "half of a name is none");
    press(&mut state, "\\");
    press(&mut state, "Esc Esc");
    press(&mut state, "4 \\ p i d = 2 0 Enter");
    assert_eq!(line(&mut state, 120), None, "nothing is known of that cgroup");
    press(&mut state, "Esc g");
    let group = state.listing.entries.iter().position(|entry| {
        matches!(entry.item, Item::Group(sum) if state.listing.sums[sum as usize].name.label() == "/build")
    });
    state.select(group.expect("a group"));
    assert_eq!(line(&mut state, 120).as_deref(), whole.strip_prefix("its cgroup "));
    state.frame.as_mut().expect("it was given").interval.pairs = None;
    assert_eq!(line(&mut state, 120), None, "they are not kept");
}

#[test]
fn blame_names_who_waited_and_because_of_whom() {
    let mut frame = fixture::frame();
    let interval = &mut frame.interval;
    for (pid, suffered_ms, caused_ms) in [(20, 600, 100), (30, 100, 500), (62, 300, 50), (51, 0, 300)] {
        let row = interval.processes.iter_mut().find(|row| row.task.pid.0 == pid).expect("its row");
        row.usage.growth.wait_suffered_ns = suffered_ms * 1_000_000;
        row.usage.growth.wait_caused_ns = caused_ms * 1_000_000;
    }
    interval.waits = make!(WaitTotals {
        suffered_ns: Some(1_000_000_000),
        tasks_ns: Some(950_000_000),
        interrupts_ns: Some(50_000_000),
        ..WaitTotals::NOTHING
    });
    let mut state = state(frame);
    let line = |state: &mut State, width| {
        let shown = text(state, width, 24);
        shown.lines().find(|line| line.starts_with("Waited: ")).map(str::to_owned)
    };
    assert_eq!(line(&mut state, 120), None, "it is part of the view of blame");
    press(&mut state, "4");
    let whole = "Waited: server 60 %, a\\x1b[2Jb 30 %, make 10 %  \
                 Because of: make 50 %, orphan 30 %, server 10 %, (interrupts) 5 %";
    assert_eq!(line(&mut state, 200).as_deref(), Some(whole));
    let narrow = "Waited: server 60 %  Because of: make 50 %";
    assert_eq!(line(&mut state, 60).as_deref(), Some(narrow));
    let interval = &mut state.frame.as_mut().expect("it was given").interval;
    interval.waits = WaitTotals::NOTHING;
    interval.processes.iter_mut().for_each(|row| {
        (row.usage.growth.wait_suffered_ns, row.usage.growth.wait_caused_ns) = (0, 0);
    });
    assert_eq!(line(&mut state, 120), None, "nobody waited");
}

#[test]
fn the_time_line_is_calm_and_has_its_words_at_every_width() {
    let mut frame = fixture::frame();
    frame.interval.attributed_ns = frame.interval.capacity_ns;
    let mut state = state(frame);
    for _ in 0..200 {
        let mut frame = fixture::frame();
        frame.interval.attributed_ns = frame.interval.capacity_ns;
        state.take(Box::new(frame));
    }
    let look = look(false);
    for width in [40, 60, 80, 100, 120, 200] {
        for is_past in [false, true] {
            state.strip = is_past.then(|| strip(300, 150));
            let buffer = drawn(&mut state, width, 24, &look);
            let line: String = (0..width).map(|column| buffer[(column, 2)].symbol()).collect();
            let words = if is_past { "over time " } else { "until now " };
            assert!(line.contains(words), "{width}: {line}");
            let timeline = state.layout.timeline.clone().expect("there is one");
            let to = timeline.from + timeline.steps.len() as u16;
            assert!(timeline.steps.len() >= 4 && to == width && timeline.rows == (2, 3), "{width}: {line}");
            let alarming = look.theme.heat.map(|style| style.fg);
            let cells = (timeline.from..to).map(|column| &buffer[(column, 2)]);
            for cell in cells.filter(|cell| !["[", "]", "·"].contains(&cell.symbol())) {
                let is_system = Some(cell.fg) == look.theme.system.fg;
                assert!(is_system || !alarming.contains(&Some(cell.fg)), "{width}: {line}");
                assert!(is_past || cell.symbol() == "⣿", "{width}: {line}");
            }
        }
    }
}

#[test]
fn names_stand_out_from_their_arguments() {
    let mut state = state(fixture::frame());
    press(&mut state, "x");
    let row = state.frame.as_ref().expect("it was given").interval.processes[1].task;
    let line = b"server\0--all".as_slice().into();
    state.learn(row.id(), row.comm, cpuledger::Boottime::from_ns(u64::MAX), Some(line));
    let look = look(false);
    let shown = text(&mut state, 120, 24);
    let buffer = drawn(&mut state, 120, 24, &look);
    let number = shown.lines().position(|line| line.ends_with("server --all")).expect("its line");
    let color_at = |text: &str| buffer[(place(&shown, number, text), number as u16)].fg;
    assert_eq!(Some(color_at("--all")), look.theme.label.fg);
    assert_ne!(Some(color_at("server")), look.theme.label.fg);
}

#[test]
fn columns_of_the_dead_are_explained_where_they_are_shown() {
    let mut state = state(fixture::frame());
    let words = "X: dead threads  C: dead children";
    for (width, height) in [(80, 24), (120, 40), (200, 60)] {
        let shown = text(&mut state, width, height);
        let line = shown.lines().find(|line| line.ends_with(words)).expect("a line");
        assert!(line.starts_with("1/8 30 make: most 87.6 %"), "{line}");
    }
    assert!(!text(&mut state, 40, 24).contains("dead"), "there is no room");
    press(&mut state, "4");
    assert!(!text(&mut state, 120, 40).contains(words), "there are no such columns");
}

#[test]
fn rows_that_hardly_ran_step_back() {
    let mut state = state(fixture::frame());
    let look = look(false);
    let color_of = |state: &mut State, name: &str| {
        let shown = text(state, 120, 24);
        let buffer = drawn(state, 120, 24, &look);
        let line = shown.lines().position(|line| line.ends_with(name)).expect("its line");
        let column = place(&shown, line, name);
        buffer[(column, line as u16)].fg
    };
    state.own_uid = 4711;
    let label = look.theme.label.fg.expect("a colour");
    assert_eq!(["sh", "server"].map(|name| color_of(&mut state, name) == label), [true, false]);
    state.own_uid = 0;
    assert_ne!(color_of(&mut state, "sh"), label, "one's own do not");
    assert_ne!(color_of(&mut state, "sh"), color_of(&mut state, "server"));
}

#[test]
fn a_click_on_the_time_line_goes_to_that_interval() {
    let mut state = state(fixture::frame());
    for _ in 0..9 {
        state.take(Box::new(fixture::frame()));
    }
    text(&mut state, 100, 24);
    assert_eq!(click(&mut state, 99, 2), Effect::None, "it is shown");
    // Each column has two intervals, and means the nearer one.
    assert_eq!(click(&mut state, 98, 2), Effect::Travel(Travel::Step(-2)));
    assert_eq!(click(&mut state, 95, 2), Effect::Travel(Travel::Step(-8)));
    assert_eq!(click(&mut state, 80, 2), Effect::None, "nothing is there");
    state.strip = Some(strip(20, 7));
    let shown = text(&mut state, 100, 24);
    let here = place(&shown, 2, "[") + 1;
    assert_eq!(click(&mut state, here - 2, 2), Effect::Travel(Travel::Step(-1)));
    assert_eq!(click(&mut state, here - 3, 2), Effect::Travel(Travel::Step(-3)));
    assert_eq!(click(&mut state, here + 1, 2), Effect::None, "the frame around what is shown");
    assert_eq!(click(&mut state, here + 3, 2), Effect::Travel(Travel::Step(3)));
    // On a large screen it has three lines.
    text(&mut state, 120, 40);
    let timeline = state.layout.timeline.clone().expect("there is one");
    let here =
        timeline.from + timeline.steps.iter().position(|steps| *steps == 0).expect("it is shown") as u16;
    for row in 1..=3 {
        assert_eq!(click(&mut state, here + 3, row), Effect::Travel(Travel::Step(1)));
    }
    assert_eq!(click(&mut state, here + 3, 4), Effect::None, "the headers of columns are below it");
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
    let share = |cpu: u32| make!(CpuShare { cpu, user: cpu % 4 * 300, system: 0, stolen: 0 });
    for count in [1, 2, 8, 9, 64, 256] {
        frame.around.cpus = (0..count).map(share).collect();
        let mut state = state(fixture::frame());
        state.frame = Some(Box::new(Frame { around: frame.around.clone(), ..fixture::frame() }));
        for (width, height) in [(40, 10), (80, 24), (120, 40), (200, 60)] {
            let shown = text(&mut state, width, height);
            let gap = u16::from(height >= 40);
            assert_eq!(state.layout.header_row, 3 + gap, "{count} CPUs in {width}");
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
        let others = state.listing.others.first();
        others
            .map(|others| (state.listing.sums[others.sum as usize].total.usage.cpu_ns, others.members.len()))
    };
    assert_eq!(sum(&state), Some((3_000_001, 2)));
    press(&mut state, "/ g Enter");
    let shown = text(&mut state, 120, 24);
    let found = state.listing.entries[state.selected].item;
    assert_eq!(found, Item::ExitedName(state.listing.others[0].sum), "{shown}");
    assert!(shown.contains("[+] f, g\n"), "by their names: {shown}");
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
fn the_dead_of_little_time_are_listed_by_their_names() {
    let mut frame = fixture::frame();
    let few = |name: &str, count: i32, cpu_ns| {
        (0..count).map(|number| fixture::exited(900 + number, name, cpu_ns)).collect::<Vec<_>>()
    };
    let exited = [few("sleep", 3, 1_000_000), few("id", 1, 2_000_000), few("ls", 2, 900_000)].concat();
    let all_ns = exited.iter().map(|exited| exited.cpu_ns).sum::<u64>();
    frame.interval.exited = Some(exited);
    let mut state = state(frame);
    let shown = text(&mut state, 120, 24);
    let line = shown.lines().find(|line| line.contains("sleep")).expect("a line");
    assert!(line.trim_start().starts_with("×6 ") && line.ends_with("└─[+] sleep ×3, id, ls ×2"), "{shown}");
    let others = &state.listing.others[0];
    assert_eq!(state.listing.sums[others.sum as usize].total.usage.cpu_ns, all_ns);
    assert!(text(&mut state, 80, 24).contains("└─[+] sleep ×3, id,…\n"), "the beginning of a list is kept");
    // Of very many names some are counted alone.
    let mut frame = fixture::frame();
    let exited = (0..30).map(|number| fixture::exited(900 + number, &format!("n{number}"), 1_000_000));
    frame.interval.exited = Some(exited.collect());
    state.take(Box::new(frame));
    let shown = text(&mut state, 300, 24);
    assert!(shown.contains(", 18 more\n"), "{shown}");
}

#[test]
fn a_filter_asks_the_sums_of_the_dead() {
    let mut state = state(fixture::frame());
    let dead = |state: &mut State, filter: &str| -> Vec<(String, usize)> {
        state.query = cpuledger_view::query::Query::parse(filter).expect("it is right");
        state.list();
        let sum = |entry: &crate::tui::listing::Entry| match entry.item {
            Item::ExitedName(sum) => Some(&state.listing.sums[sum as usize]),
            _ => None,
        };
        let sums = state.listing.entries.iter().filter_map(sum);
        sums.map(|sum| (sum.name.label().to_owned(), sum.rows)).collect()
    };
    let (compilers, assemblers) = (("cc1plus".to_owned(), 312), ("as".to_owned(), 40));
    // Of one of them it is 0.2 %, or 0.6 %.
    assert_eq!(dead(&mut state, "cpu>1"), [compilers.clone(), assemblers.clone()]);
    assert_eq!(state.listing.exited.len(), 352);
    assert_eq!(dead(&mut state, "cpu>50"), std::slice::from_ref(&compilers));
    assert_eq!(dead(&mut state, "comm=as cpu>1"), [assemblers], "alone, as its heir is none");
    assert_eq!(dead(&mut state, "comm=cc1plus cpu>99"), []);
    assert_eq!(dead(&mut state, "comm=cc1plus cpu<1"), [], "what is shown is 62.4 %");
    assert_eq!(dead(&mut state, "user=root cpu>50"), [compilers]);
    assert_eq!(dead(&mut state, "user=nobody cpu>50"), []);
    // The sum of those that are left.
    assert_eq!(dead(&mut state, "pid=1000 cpu>0.1"), [("cc1plus".to_owned(), 1)]);
    assert_eq!(dead(&mut state, "pid=1000 cpu>1"), []);
}

#[test]
fn what_is_half_typed_hides_nothing() {
    let mut state = state(fixture::frame());
    press(&mut state, "x \\ s h");
    let shown = text(&mut state, 80, 24);
    assert!(state.query.is_empty() && kinds(&state).0 == 6, "a name goes on like this: {shown}");
    assert!(shown.contains("6 lines match  Enter finds `sh` as text"), "{shown}");
    press(&mut state, "Space");
    assert_eq!(state.query.text(), "sh ", "a blank ends a word");
    press(&mut state, "c p u >");
    let shown = text(&mut state, 80, 24);
    assert!(state.query.text() == "sh " && !shown.contains("missing"), "{shown}");
    press(&mut state, "Enter");
    assert!(text(&mut state, 80, 24).contains("a value is missing"), "it is said when it is entered");
    press(&mut state, "2 0");
    assert_eq!(state.query.text(), "sh cpu>20");
    press(&mut state, "Esc \\ m a");
    assert!(state.query.is_empty());
    press(&mut state, "k");
    assert_eq!(state.query.text(), "mak", "no name goes on like this");
    press(&mut state, "Esc \\ c p u !");
    assert!(state.query.is_empty() && kinds(&state).0 == 6);
    press(&mut state, "= 1");
    assert_eq!(state.query.text(), "cpu!=1");
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
    assert!(text(&mut state, 80, 24).starts_with("See something else"), "keys come first");
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
    assert!(!text(&mut state, 120, 40).contains("most: "), "nobody has the most of no interval");
}
