//! The cursor stays with what it was put on.

use super::*;
use crate::tui::mode::PromptKind;

/// The interval of the fixture in which the busiest process had nothing to do, and the least busy one all.
fn turned() -> Frame {
    let mut frame = fixture::frame();
    let rows = &mut frame.interval.processes;
    let mut usages: Vec<_> = rows.iter().rev().map(|row| row.usage).collect();
    usages[0] = fixture::usage(700, 0, 0, 0);
    rows.iter_mut().zip(usages).for_each(|(row, usage)| row.usage = usage);
    frame
}

/// The next frame, without one process.
fn without(pid: i32) -> Frame {
    let mut frame = fixture::frame();
    let index = frame.interval.processes.iter().position(|row| row.task.pid.0 == pid).expect("a process");
    frame.interval.processes.remove(index);
    frame
}

fn selected(state: &State) -> Option<i32> {
    state.row().map(|(_, row)| row.pid.0)
}

#[test]
fn rows_that_change_places_take_the_cursor_with_them() {
    let mut state = state(fixture::frame());
    press(&mut state, "x");
    assert_eq!(selected(&state), Some(30), "make is first");
    state.take(Box::new(turned()));
    assert_eq!(selected(&state), Some(40), "until it is moved, the cursor is on the first line");
    state.take(Box::new(fixture::frame()));
    press(&mut state, "Down");
    assert_eq!((state.selected, selected(&state)), (1, Some(20)));
    state.take(Box::new(turned()));
    assert_eq!(selected(&state), Some(20), "it is still on the server");
    assert_ne!(state.selected, 1, "which has another place");
    press(&mut state, "F8");
    let Mode::Prompt(prompt) = &state.mode else { panic!("it asks first") };
    assert_eq!((prompt.kind.title().as_str(), prompt.text.as_str()), ("Nice value of 20 (server): ", "1"));
    // Whatever comes while it asks.
    state.take(Box::new(fixture::frame()));
    press(&mut state, "F8 F8 F7");
    let Effect::Nice(victim, 2) = press(&mut state, "Enter") else { panic!("twice up and once down") };
    assert_eq!((victim.pid.0, victim.name.as_str()), (20, "server"));
    press(&mut state, "k");
    let Mode::Menu(menu) = &state.mode else { panic!("it asks first") };
    assert_eq!(menu.title, "Send to 20 (server)");
    state.take(Box::new(turned()));
    let Effect::Signal(victim, _) = press(&mut state, "Enter") else { panic!("a signal") };
    assert_eq!(victim.pid.0, 20);
    press(&mut state, "Home");
    assert_eq!(selected(&state), Some(40));
    state.take(Box::new(fixture::frame()));
    assert_eq!(selected(&state), Some(30), "the first line again, whatever comes there");
}

#[test]
fn a_process_that_is_not_listed_leaves_the_cursor_to_no_other() {
    let mut state = state(fixture::frame());
    press(&mut state, "x Down");
    state.take(Box::new(without(20)));
    assert_eq!(selected(&state), None);
    let lines = text(&mut state, 80, 24);
    assert!(lines.contains("-/5 20 (server): not listed now"), "{lines}");
    for key in ["F7", "k", "r", "y", "a"] {
        assert_eq!(press(&mut state, key), Effect::None, "{key}");
        let said = state.message.take().expect("it is said");
        assert!(said.text.contains("20 (server) did not run in this interval, or is gone"), "{}", said.text);
        assert!(matches!(state.mode, Mode::Table), "{key}");
    }
    // One that has its number now is another.
    let mut frame = fixture::frame();
    frame.interval.processes[1].task.start_time_ns = cpuledger::Boottime::from_ns(99_000_000_000);
    state.take(Box::new(frame));
    assert_eq!(selected(&state), None);
    state.take(Box::new(turned()));
    assert_eq!(selected(&state), Some(20), "it is back");
    // What the user hides gives the cursor to the line that comes in its place.
    press(&mut state, "\\ p i d = 5 1 Enter");
    assert_eq!(selected(&state), Some(51));
    press(&mut state, "Esc");
    assert_eq!(selected(&state), Some(51));
    press(&mut state, "F");
    state.take(Box::new(without(51)));
    assert!(selected(&state).is_some(), "it is not followed any more");
}

#[test]
fn from_a_process_to_its_first_thread_and_back() {
    let mut state = state(fixture::frame());
    press(&mut state, "x Down H");
    assert_eq!(state.row().map(|(_, row)| (row.pid.0, row.tid.0)), Some((20, 20)));
    let worker = state.listing.entries.iter().position(|entry| match entry.item {
        Item::Row(at) => state.frame.as_ref().is_some_and(|frame| frame.whole(at).tid.0 == 21),
        _ => false,
    });
    state.select(worker.expect("a thread"));
    press(&mut state, "H");
    assert_eq!(selected(&state), Some(20));
    // A search that is left has not moved it.
    press(&mut state, "/ m a k");
    assert_eq!(selected(&state), Some(30));
    press(&mut state, "Esc");
    assert_eq!(selected(&state), Some(20));
}

#[test]
fn backspace_is_taken_as_either_of_its_characters() {
    let mut state = state(fixture::frame());
    press(&mut state, "/ m a x");
    state.key(&KeyEvent::new(KeyCode::Char('h'), KeyModifiers::CONTROL));
    press(&mut state, "k x");
    state.key(&KeyEvent::new(KeyCode::Backspace, KeyModifiers::NONE));
    let Mode::Prompt(prompt) = &state.mode else { panic!("it is open") };
    assert_eq!((&prompt.kind, prompt.text.as_str()), (&PromptKind::Search, "mak"));
}
