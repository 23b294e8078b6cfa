//! The graph of the CPUs: heights, colours, the interval that is shown, and what a click means.

use super::*;
use crate::tui::state::TimeLine;
use crate::tui::views::View;

/// A frame of which so many thousandths of the machine were used.
fn used(share: u64) -> Frame {
    let mut frame = fixture::frame();
    frame.interval.attributed_ns = frame.interval.capacity_ns * share / 1000;
    frame
}

fn after(shares: &[u64]) -> State {
    let (first, rest) = shares.split_first().expect("one at least");
    let mut state = state(used(*first));
    rest.iter().for_each(|share| drop(state.take(Box::new(used(*share)))));
    state
}

fn timeline(state: &State) -> TimeLine {
    state.layout.timeline.clone().expect("it has intervals")
}

/// The lines of the graph, from above, without what stands in front.
fn lines(state: &mut State, width: u16, height: u16) -> Vec<String> {
    let buffer = drawn(state, width, height, &look(false));
    let TimeLine { from, rows: (first, end), .. } = timeline(state);
    (first..end).map(|row| (from..width).map(|column| buffer[(column, row)].symbol()).collect()).collect()
}

#[test]
fn two_intervals_stand_in_a_cell_and_their_heights_are_rounded_up() {
    let mut state = after(&[0, 1, 250, 251, 500, 750, 751, 1000]);
    // Nothing was used, which is known; a dot; a dot; two; two; three; four; four.
    assert_eq!(lines(&mut state, 80, 24), ["⣀⣠⣴⣿"]);
    let mut state = after(&[1000, 0, 1000]);
    assert_eq!(lines(&mut state, 80, 24), ["⢸⣸"], "the newest is at the right, and there was none before");
    // Twelve dots in three lines.
    let mut state = after(&[83, 84, 334, 667]);
    assert_eq!(lines(&mut state, 120, 40), [" ⢀", " ⣸", "⣠⣿"]);
}

#[test]
fn it_has_three_lines_where_there_is_room_and_takes_none_of_the_table() {
    let mut state = after(&[500; 300]);
    for (width, height, rows) in
        [(80, 24, (2, 3)), (80, 40, (2, 3)), (120, 29, (2, 3)), (100, 30, (1, 4)), (200, 60, (1, 4))]
    {
        let shown = text(&mut state, width, height);
        assert_eq!(timeline(&state).rows, rows, "{width} x {height}");
        let gap = u16::from(height >= 30);
        assert_eq!(state.layout.header_row, 3 + gap, "{width} x {height}");
        let is_high = rows.0 == 1;
        assert_eq!(shown.contains("     100 %") && shown.contains("       0 % "), is_high, "{shown}");
        assert_eq!(shown.contains("until now "), !is_high, "{shown}");
        for words in ["user 70.4", "most: make", "mem 2.0G of 8.0G", "load 0.50 1.00 1.50"] {
            assert!(shown.contains(words), "{width} x {height}: {words}: {shown}");
        }
    }
    // The balance to the nanosecond has all of its line.
    press(&mut state, "n");
    let shown = text(&mut state, 100, 30);
    assert_eq!(timeline(&state).rows, (2, 4));
    assert!(shown.contains("attributed ") && shown.contains(" = 2000000000 ns"), "{shown}");
}

#[test]
fn user_time_is_brighter_above_and_other_time_has_its_own_colour() {
    let mut state = after(&[500]);
    let used = |user| Cell::Used { share: 1000, user };
    let cells = vec![used(Some(1000)), used(None), used(Some(0)), used(Some(300)), used(Some(1000))];
    state.strip = Some(Strip { cells, position: 4, ..strip(5, 4) });
    let look = Look { theme: Theme::new(ThemeName::True, Colors::True), is_ascii: false };
    let buffer = drawn(&mut state, 120, 40, &look);
    let from = timeline(&state).from;
    let colors = |column: u16| [3, 2, 1].map(|row| Some(buffer[(from + column, row)].fg));
    let graph = look.theme.graph.map(|style| style.fg);
    assert_eq!(colors(0), graph, "where it is not known, it is as user time");
    let system = look.theme.system.fg;
    // Below, half of the cell is user time: that of the right one of its intervals.
    assert_eq!(colors(1), [graph[0], system, system]);
    assert_ne!(graph[0], graph[2]);
}

#[test]
fn the_interval_that_is_shown_has_a_column_and_a_frame_of_its_own() {
    let mut state = after(&[500]);
    for (cells, position) in [(1, 0), (2, 0), (2, 1), (9, 4), (300, 0), (300, 150), (300, 298), (300, 299)] {
        state.strip = Some(strip(cells, position));
        for (width, height) in [(40, 10), (80, 24), (120, 40)] {
            let buffer = drawn(&mut state, width, height, &look(false));
            let TimeLine { from, rows, steps } = timeline(&state);
            let here = steps.iter().position(|step| *step == 0).expect("it is seen");
            assert_eq!(steps[here..here + 3], [0; 3]);
            let before = steps[..here].iter().rev().enumerate();
            assert!(before.clone().all(|(nth, step)| *step == -1 - 2 * nth as i64), "{steps:?}");
            let after = steps[here + 3..].iter().enumerate();
            assert!(after.clone().all(|(nth, step)| *step == 1 + 2 * nth as i64), "{steps:?}");
            let [before, after] = [before.count(), after.count()];
            assert!(before <= position.div_ceil(2) && after <= (cells - 1 - position).div_ceil(2));
            assert_eq!(usize::from(width - from), steps.len(), "at the right edge");
            // Nothing is left out while there is room.
            assert!(cells < 300 || before + after >= 2, "{cells}, {position}: {steps:?}");
            let column = from + here as u16;
            for row in rows.0..rows.1 {
                let style = look(false).theme.selected;
                assert_eq!(Some(buffer[(column + 1, row)].bg), style.bg);
                let sides = [column, column + 2].map(|column| buffer[(column, row)].symbol().to_owned());
                let allowed = [["[", "]"], ["┌", "┐"], ["│", "│"], ["└", "┘"]];
                assert!(allowed.iter().any(|pair| *pair == sides), "{sides:?}");
            }
        }
    }
}

#[test]
fn ascii_shows_the_higher_of_two_intervals_and_colours_are_not_needed() {
    let mut state = after(&[1000, 0, 0, 0, 125, 500]);
    let look = Look { theme: Theme::new(ThemeName::Mono, Colors::None), is_ascii: true };
    let buffer = drawn(&mut state, 80, 24, &look);
    let from = timeline(&state).from;
    let line: String = (from..80).map(|column| buffer[(column, 2)].symbol()).collect();
    assert_eq!(line, "@_=");
    state.strip = Some(strip(30, 12));
    let buffer = drawn(&mut state, 120, 40, &look);
    let TimeLine { from, steps, .. } = timeline(&state);
    let here = from + steps.iter().position(|step| *step == 0).expect("it is seen") as u16 + 1;
    for row in 1..=3 {
        assert!(buffer[(here, row)].modifier.contains(ratatui_core::style::Modifier::REVERSED));
        assert!((from..120).all(|column| buffer[(column, row)].symbol().is_ascii()));
    }
}

#[test]
fn notes_stand_out_where_figures_are_wrong_now() {
    let look = look(false);
    let color_of_notes = |change: fn(&mut cpuledger::Interval)| {
        let mut frame = fixture::frame();
        change(&mut frame.interval);
        let mut state = state(frame);
        let buffer = drawn(&mut state, 120, 24, &look);
        let line: Vec<String> = (0..120).map(|column| buffer[(column, 0)].symbol().to_owned()).collect();
        let text = line.concat();
        let place = text.find(" note").map(|place| text[..place].chars().count() as u16 - 1)?;
        assert!(text.ends_with(" ?"), "{text}");
        Some(buffer[(place, 0)].fg)
    };
    assert_eq!(color_of_notes(|_| {}), None, "everything is in the books");
    let [dim, bright] = [look.theme.label, look.theme.mark].map(|style| style.fg);
    // What this kernel never shows, and little of it.
    let hidden = |interval: &mut cpuledger::Interval| {
        (interval.missed_switches, interval.hidden_cpu_ns) = (Some(2), Some(7_749_587));
    };
    assert_eq!(color_of_notes(hidden), dim);
    assert_eq!(color_of_notes(|interval| interval.hidden_cpu_ns = Some(20_000_000)), bright, "one percent");
    assert_eq!(color_of_notes(|interval| interval.capacity_ns += 1), bright, "out of balance");
}

#[test]
fn the_past_is_one_lit_view() {
    let mut state = state(fixture::frame());
    let look = look(false);
    let lit = |state: &mut State| -> Vec<View> {
        let buffer = drawn(state, 120, 24, &look);
        let tabs = head_tabs(state);
        tabs.into_iter()
            .filter(|(column, _)| Some(buffer[(*column, 0)].bg) == look.theme.selected.bg)
            .map(|(_, view)| view)
            .collect()
    };
    assert_eq!(lit(&mut state), [View::Processes]);
    state.strip = Some(strip(20, 7));
    assert_eq!(lit(&mut state), [View::History]);
}

/// Where each view is named.
fn head_tabs(state: &State) -> Vec<(u16, View)> {
    state.layout.tabs.iter().map(|(from, _, view)| (*from, *view)).collect()
}
