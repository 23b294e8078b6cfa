//! What the dead have is part of the line of their heir, and what their figures are shares of.

use super::*;

/// The cell of a line below a header.
fn cell(state: &State, shown: &str, end: &str, header: &str) -> String {
    let line = shown.lines().find(|line| line.ends_with(end)).expect("its line");
    let (from, to, _) = state.layout.columns.iter().find(|(.., name)| *name == header).expect("a column");
    line.chars().skip(usize::from(*from)).take(usize::from(to - from)).collect::<String>().trim().to_owned()
}

#[test]
fn the_time_of_the_dead_stands_where_the_line_above_has_it() {
    let mut frame = fixture::frame();
    let make = frame.interval.processes[2].task.id();
    for growth in frame.interval.processes.iter_mut().map(|row| &mut row.usage.growth) {
        growth.wait_caused_ns = 120_000_000;
    }
    let dead = frame.interval.exited.as_mut().expect("the dead are known");
    for exited in dead.iter_mut().filter(|exited| exited.exit.comm.as_bytes() == b"as") {
        exited.booked.wait_caused_ns = Some(1_000_000);
    }
    // Ten of one name are threads of the heir itself.
    dead.iter_mut().take(10).for_each(|exited| exited.exit.process = make);
    let mut state = state(frame);
    let shown = text(&mut state, 80, 24);
    let cells = |shown: &str, state: &State, end: &str, headers: [&str; 4]| {
        headers.map(|header| cell(state, shown, end, header))
    };
    let headers = ["%CPU", "SELF", "X", "C"];
    assert_eq!(cells(&shown, &state, " make", headers), ["87.6", "0.5", "·", "87.1"]);
    assert_eq!(cells(&shown, &state, "─[+] cc1plus", headers), ["", "", "2.0", "60.4"]);
    assert_eq!(cells(&shown, &state, "─[+] as", headers), ["", "", "·", "24.0"]);
    // The column adds up to the time of all CPUs that were busy.
    let (from, to, _) = state.layout.columns.iter().find(|(.., name)| *name == "%CPU").expect("a column");
    let rows = shown.lines().skip(usize::from(state.layout.rows.0)).take(8);
    let cells =
        rows.map(|line| line.chars().skip((*from).into()).take((to - from).into()).collect::<String>());
    let sum: f64 = cells.filter_map(|cell| cell.trim().parse::<f64>().ok()).sum();
    let busy_ns = state.frame.as_ref().expect("it was given").interval.attributed_ns;
    assert!((sum - busy_ns as f64 / 1e7).abs() < 1.0, "{sum}: {shown}");
    // Without these columns it is in parentheses, as what else the line above has of them.
    press(&mut state, "4");
    let shown = text(&mut state, 120, 24);
    let line = shown.lines().find(|line| line.ends_with("─[+] as")).expect("its line");
    assert!(line.contains("(24.0)") && line.contains(" (4.0)"), "{shown}");
    assert!(shown.contains("( ): in the line above, too"), "{shown}");
    press(&mut state, "1");
    assert!(!text(&mut state, 120, 24).contains("( ):"), "nothing is");
}

#[test]
fn a_group_has_its_dead_within() {
    let mut state = state(fixture::frame());
    press(&mut state, "g");
    assert_eq!(kinds(&state), (0, 2, 0), "no dead stand beside the groups");
    let group_ns = |entry: &crate::tui::listing::Entry| match entry.item {
        Item::Group(sum) => state.listing.sums[sum as usize].total.usage.cpu_ns,
        _ => 0,
    };
    let sum: u64 = state.listing.entries.iter().map(group_ns).sum();
    assert_eq!(sum, state.frame.as_ref().expect("it was given").interval.attributed_ns);
    press(&mut state, "*");
    let shown = text(&mut state, 120, 24);
    let line_of = |end: &str| shown.lines().position(|line| line.ends_with(end)).expect("a line");
    assert_eq!(line_of("│ ├─[+] cc1plus"), line_of("├─make") + 1, "{shown}");
    assert_eq!(line_of("│ └─[+] as"), line_of("├─make") + 2, "{shown}");
    // Those whose heir is in no group are in none of the sums above.
    state.frame.as_mut().expect("it was given").interval.exited.as_mut().expect("the dead are known")[0]
        .accounting_parent = Some(cpuledger::Pid(7));
    press(&mut state, "* *");
    let shown = text(&mut state, 120, 24);
    assert!(
        shown.lines().any(|line| line.trim_start().starts_with("×1 ") && line.ends_with("[-] cc1plus")),
        "{shown}"
    );
}

#[test]
fn what_is_blocked_is_red_where_it_is_for_io() {
    let mut frame = fixture::frame();
    let states = |frame: &mut Frame, blocked_ns, io_wait_ns| {
        let states = frame.interval.processes[1].usage.states.as_mut().expect("they are known");
        (states.blocked_ns, states.io_wait_ns) = (blocked_ns, io_wait_ns);
    };
    let look = look(false);
    let red = look.theme.error.fg;
    for (io_wait_ns, is_red) in [(0, false), (100_000_000, false), (500_000_000, true)] {
        states(&mut frame, 500_000_000, io_wait_ns);
        let mut state = state(fixture::frame());
        press(&mut state, "2 Down");
        state.frame = Some(Box::new(Frame { interval: frame.interval.clone(), ..fixture::frame() }));
        let shown = text(&mut state, 120, 24);
        let buffer = drawn(&mut state, 120, 24, &look);
        // The line with the cursor has colours of its own.
        let row = shown.lines().position(|line| line.ends_with(" server")).expect("its row") as u16;
        let column =
            |name: &str| state.layout.columns.iter().find(|(.., own)| *own == name).expect("a column").1 - 1;
        assert_eq!(
            buffer[(column("BLK"), row)].fg == red.expect("a colour"),
            is_red,
            "{io_wait_ns}: {shown}"
        );
        assert_eq!(buffer[(column("(IO)"), row)].fg == red.expect("a colour"), io_wait_ns > 0, "{shown}");
        let bar: Vec<_> =
            (0..120).map(|column| &buffer[(column, row)]).filter(|cell| cell.symbol() == "b").collect();
        let reds = bar.iter().filter(|cell| Some(cell.fg) == red).count();
        assert!(bar.len() >= 4 && (reds > 0) == (io_wait_ns > 0) && (reds == bar.len()) == is_red, "{shown}");
    }
}

#[test]
fn states_of_the_dead_are_shares_of_their_lives_and_look_like_that() {
    let mut state = state(fixture::frame());
    press(&mut state, "2");
    let look = look(false);
    let shown = text(&mut state, 80, 24);
    assert!(shown.contains("% of the interval; dead: % of their lives"), "{shown}");
    let buffer = drawn(&mut state, 120, 24, &look);
    let shown = text(&mut state, 120, 24);
    let row = shown.lines().position(|line| line.ends_with("[+] cc1plus")).expect("its row") as u16;
    let colors: Vec<_> = (8..100).map(|column| &buffer[(column, row)]).collect();
    let shown_colors = colors.iter().filter(|cell| !matches!(cell.symbol(), " " | "·"));
    assert!(shown_colors.clone().count() > 20);
    assert!(shown_colors.clone().all(|cell| Some(cell.fg) == look.theme.exited.fg), "{shown}");
    press(&mut state, "x");
    assert!(!text(&mut state, 80, 24).contains("of their lives"), "there are none");
}
