//! Arguments are known before a filter or a search looks at them.

use cpuledger::Boottime;
use cpuledger_model::make;

use super::*;

/// Reads what the state asks for, until it asks for nothing: of each process its number as its only option.
fn read(state: &mut State) -> Vec<i32> {
    let mut asked = Vec::new();
    loop {
        let rows = state.unread();
        if rows.is_empty() {
            return asked;
        }
        for row in rows {
            asked.push(row.pid.0);
            let arguments =
                format!("{}\0--number\0{}\0", String::from_utf8_lossy(row.comm.as_bytes()), row.pid);
            let leader = make!(cpuledger::Task { tid: cpuledger::Tid(row.pid.0), ..row });
            let arguments = Some(arguments.into_bytes().into_boxed_slice());
            state.learn(leader.id(), row.comm, Boottime::from_ns(u64::MAX), arguments);
        }
        if state.settle() {
            state.search_on();
        }
    }
}

fn pids(state: &State) -> Vec<i32> {
    let frame = state.frame.as_ref().expect("it was given");
    let pid = |item: Item| if let Item::Row(at) = item { Some(frame.whole(at).pid.0) } else { None };
    state.listing.entries.iter().filter_map(|entry| pid(entry.item)).collect()
}

#[test]
fn a_filter_has_all_arguments_read_that_it_looks_at() {
    let mut state = state(fixture::frame());
    press(&mut state, "x");
    assert!(state.unread().is_empty(), "no filter looks at them");
    press(&mut state, "\\ a r g s ~ m b e r . 4 0");
    assert!(pids(&state).is_empty(), "they are not known yet");
    let mut asked = read(&mut state);
    asked.sort_unstable();
    assert_eq!(asked, [1, 20, 30, 40, 51, 62], "all rows, not those in sight");
    assert_eq!(pids(&state), [40], "with blanks between them, as they are shown");
    press(&mut state, "Enter");
    assert!(text(&mut state, 80, 24).contains("[args~mber.40]"));
    // Of the next interval only those of another process.
    let mut frame = fixture::frame();
    frame.interval.processes[4].task.start_time_ns = Boottime::from_ns(99_000_000_000);
    state.take(Box::new(frame));
    assert_eq!((read(&mut state), pids(&state)), (vec![51], vec![40]));
    // A word looks at arguments, too, and the opposite waits for them as well.
    press(&mut state, "Esc \\ n u m b e r Enter");
    assert_eq!(pids(&state).len(), 6);
    let frame = fixture::frame();
    state.take(Box::new(frame));
    press(&mut state, "Esc \\ a r g s ! ~ x 5 1 Enter");
    assert!(!pids(&state).contains(&51), "it may have x51 among them");
    assert_eq!(read(&mut state), [51]);
    assert!(pids(&state).contains(&51));
}

#[test]
fn a_search_goes_on_when_arguments_are_known() {
    let mut state = state(fixture::frame());
    press(&mut state, "x / - n u m b e r Space 4 0");
    assert_eq!(state.row().map(|(_, row)| row.pid.0), Some(30), "where it was");
    assert!(!text(&mut state, 80, 24).contains("no row has"), "that is not known yet");
    press(&mut state, "Enter");
    assert_eq!(read(&mut state).len(), 6);
    assert_eq!(state.row().map(|(_, row)| row.pid.0), Some(40));
    assert!(state.unread().is_empty() && state.message.is_none());
    press(&mut state, "/ 0 0");
    assert!(text(&mut state, 80, 24).contains("no row has `-number 4000` in its name or arguments"));
}

#[test]
fn what_a_filter_looks_at_comes_with_an_interval_that_begins_now() {
    let mut frame = fixture::frame();
    frame.interval.source = cpuledger::SourceKind::Procfs;
    let mut state = state(frame);
    let field = cpuledger::Field::TtyDevice;
    assert!(!state.subscription().fields.contains(field));
    let mut last = Effect::None;
    for key in "\\ t t y _ d e v i c e = 1".split(' ') {
        last = press(&mut state, key);
    }
    assert_eq!(last, Effect::Cut);
    assert!(state.subscription().fields.contains(field));
}

#[test]
fn of_another_boot_names_have_to_do() {
    let mut state = state(fixture::frame());
    state.strip = Some(super::strip(3, 1));
    press(&mut state, "x \\ a r g s ~ s e r v Enter");
    assert!(state.unread().is_empty());
    assert_eq!(pids(&state), [20]);
}

#[test]
fn arguments_are_shown_as_far_as_a_small_screen_has_room() {
    let mut state = state(fixture::frame());
    press(&mut state, "x");
    let headers = |shown: &str| shown.lines().nth(3).map(str::to_owned);
    let before = headers(&text(&mut state, 80, 24));
    assert_eq!(read(&mut state).len(), 6, "all in sight");
    let shown = text(&mut state, 80, 24);
    assert!(shown.lines().any(|line| line.ends_with(" make --number 30")), "{shown}");
    assert_eq!(headers(&shown), before, "no column has gone for them");
    assert!(!text(&mut state, 44, 24).contains("--number"), "names alone");
}
