//! What is said and counted is whole, however narrow the screen is.

use super::*;
use crate::tui::mode::PromptKind;

/// All words of the screen, with one blank between two.
fn words(state: &mut State, width: u16, height: u16) -> String {
    text(state, width, height).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn figures_in_nanoseconds_have_room_or_say_that_they_are_cut() {
    let mut state = state(fixture::frame());
    press(&mut state, "x t n");
    let sums: Vec<u64> = state.listing.entries.iter().filter_map(|entry| entry.subtree_ns).collect();
    assert!(sums.iter().any(|sum| *sum > 1_000_000_000), "{sums:?}");
    let shown = words(&mut state, 200, 24);
    assert!(sums.iter().all(|sum| shown.contains(&format!(" {sum} "))), "{sums:?}: {shown}");
    // In a width that the user has chosen.
    press(&mut state, "t");
    let column = TableColumn::by_name("cpu_ns").expect("a key");
    state.settings.columns = vec![ShownColumn { column, width: Some(6) }];
    let shown = text(&mut state, 80, 24);
    let line = shown.lines().nth(state.layout.rows.0.into()).expect("a row");
    assert_eq!(line, "87600+", "876000010 ns");
}

#[test]
fn bars_are_as_long_as_what_they_stand_for() {
    let mut frame = fixture::frame();
    for (index, cpu_ns) in [(1, 1_800_000_000), (2, 1_000_000_000), (4, 900_000_000)] {
        let usage = &mut frame.interval.processes[index].usage;
        (usage.cpu_ns, usage.self_ns) = (cpu_ns, cpu_ns);
        (usage.exited_threads_ns, usage.exited_children_ns) = (Some(0), Some(0));
    }
    let mut state = state(frame);
    press(&mut state, "x");
    let column = |name| ShownColumn { column: TableColumn::by_name(name).expect("a column"), width: None };
    state.settings.columns = ["PID", "PARTS", "COMMAND"].map(column).to_vec();
    let shown = text(&mut state, 120, 24);
    let bar = |name: &str| {
        let line = shown.lines().find(|line| line.ends_with(name)).expect("its row");
        line.chars().filter(|character| *character == '█').count()
    };
    assert_eq!((bar("server"), bar("make"), bar("orphan")), (10, 6, 5), "{shown}");
}

#[test]
fn what_is_said_goes_on_in_the_next_line() {
    let mut frame = fixture::frame();
    frame.interval.source = cpuledger::SourceKind::Procfs;
    (frame.interval.idle_ns, frame.interval.unattributed_ns, frame.interval.exited) = (None, None, None);
    let mut state = state(frame);
    assert!(text(&mut state, 80, 24).contains("1 note ?"), "what is not seen is counted in the head");
    for (width, height) in [(80, 40), (120, 30), (200, 24)] {
        let shown = end_of_help(&mut state, width, height);
        let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        press(&mut state, "Esc");
        let note = "Not seen (root sees them; `cpuledger doctor` says why): processes that exited in the interval, idle, \
                    stolen, blocked and sleeping time; time is in ticks";
        assert!(shown.contains(note), "{width}: {shown}");
    }
    let sentence = "the service may not be read: ask the administrator for the group `cpuledger`, or start cpuledger as root";
    state.complain(sentence);
    for (width, height) in [(40, 10), (80, 24)] {
        assert!(words(&mut state, width, height).contains(sentence), "{width}");
    }
    state.message = None;
    press(&mut state, "\\ c p u x > 5");
    let shown = words(&mut state, 40, 12);
    assert!(
        shown.contains("unknown name `cpux`; did you mean `cpu`? (at character 1) Filter: cpux>5"),
        "{shown}"
    );
    press(&mut state, "Esc : 0 3 : 1 2");
    assert!(matches!(&state.mode, Mode::Prompt(prompt) if prompt.kind == PromptKind::Jump));
    let shown = text(&mut state, 40, 10);
    assert!(shown.ends_with("Time (03:12, yesterday 03:12, -10m):\n03:12\n"), "{shown}");
}

#[test]
fn the_balance_adds_up_as_it_is_printed() {
    let mut frame = fixture::frame();
    frame.interval.attributed_ns = 198_640_500;
    frame.interval.idle_ns = Some(frame.interval.capacity_ns - 198_640_500 - 1_359_500);
    frame.interval.unattributed_ns = Some(1_359_500);
    frame.interval.unattributed_by.uncovered_cpu_ns = 1_359_500;
    let mut state = state(frame);
    for width in [200, 120, 80] {
        let shown = words(&mut state, width, 24);
        let number = |name: &str| -> u64 {
            let rest = shown.split(&format!(" {name} ")).nth(1).expect("a part");
            let digits: String = rest
                .split(' ')
                .next()
                .into_iter()
                .flat_map(str::chars)
                .filter(char::is_ascii_digit)
                .collect();
            digits.parse().expect("a share")
        };
        let sum = ["user", "sys", "stolen", "idle", "unattributed"].map(number).iter().sum::<u64>();
        assert_eq!(sum, 2000, "{width}: {shown}");
    }
    press(&mut state, "n");
    let exact = "attributed 198640500 + idle 1800000000 + unattributed 1359500 = 2000000000 ns";
    assert!(words(&mut state, 80, 24).contains(exact));
    let shown = end_of_help(&mut state, 80, 24).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("attributed 19.864% idle 180.000% unattributed 0.136% of 200%; unattributed 1359500 ns (uncovered CPU 1359500)"), "{shown}");
}

#[test]
fn all_of_the_help_page_can_be_read_in_any_width() {
    let mut state = state(fixture::frame());
    let help: Vec<_> = crate::tui::keys::help().collect();
    for (width, height) in [(40, 10), (80, 24)] {
        press(&mut state, "?");
        let mut seen = String::new();
        for _ in 0..400 {
            seen += &words(&mut state, width, height);
            press(&mut state, "Down");
        }
        press(&mut state, "Esc");
        let letters: String = seen.split_whitespace().collect();
        // Lines of one text are on one page somewhere, if it does not take more lines than that has.
        let found = help.iter().filter(|(_, text)| letters.contains(&text.replace(' ', ""))).count();
        assert_eq!(found, help.len(), "{width}");
        assert!(letters.contains("%HELD"), "the end");
    }
}

#[test]
fn a_gap_is_named_beside_the_time_line() {
    let mut state = state(fixture::frame());
    let words_of_gap =
        "2023-11-14 22:15:10 (nothing was recorded from 2023-11-14 22:15:00 to 2023-11-14 22:15:10)";
    state.strip = Some(Strip { words: words_of_gap.to_owned(), ..strip(20, 7) });
    for (width, height) in [(60, 24), (80, 24), (200, 50)] {
        let shown = text(&mut state, width, height);
        assert!(words(&mut state, width, height).contains(words_of_gap), "{width}: {shown}");
        assert!(shown.lines().any(|line| line.contains('[') && line.contains('·')), "and its cells: {shown}");
    }
}
