//! Processes that are alike share a line, and so do their dead.

use cpuledger::{Account, Boottime, Pid};
use cpuledger_model::interval::Row;

use super::*;

const ARGUMENTS: &[u8] = b"sh\0-c\0while :; do id; sleep 0.4; done";

/// The fixture with that many shells that do the same, from number 100 on; each has used 2 ms, and inherits 3 ms of two dead.
fn shells(count: i32) -> Frame {
    let mut frame = fixture::frame();
    let interval = &mut frame.interval;
    for pid in 100..100 + count {
        let row = Row::new(fixture::task(pid, 1, pid, "sh"), fixture::usage(2, 0, 3, 1));
        interval.attributed_ns += row.usage.cpu_ns;
        interval.processes.push(row);
        for (number, name) in [(0, "id"), (1, "sleep")] {
            let mut exited = fixture::exited(10 * pid + number, name, 1_500_000);
            exited.accounting_parent = Some(Pid(pid));
            interval.exited.as_mut().expect("the dead are known").push(exited);
        }
    }
    frame
}

/// A screen of it on which arguments are known: those of these processes, and of the others the name alone.
fn screen(frame: Frame, mut arguments: impl FnMut(i32) -> &'static [u8]) -> State {
    let mut state = state(frame);
    assert!(state.unread().iter().all(|row| row.pid.0 >= 100), "those of no others are needed");
    read(&mut state, &mut arguments);
    state
}

/// Reads what is asked for.
fn read(state: &mut State, arguments: &mut impl FnMut(i32) -> &'static [u8]) {
    let asked = state.unread();
    for row in asked {
        let arguments = Some(arguments(row.pid.0).into());
        state.learn(row.id(), row.comm, Boottime::from_ns(u64::MAX), arguments);
    }
    state.settle();
}

fn ten() -> State {
    screen(shells(10), |_| ARGUMENTS)
}

/// How many are in each line of several.
fn sets(state: &State) -> Vec<usize> {
    state.listing.alike.iter().map(|alike| alike.rows.len()).collect()
}

fn line_with(shown: &str, text: &str) -> usize {
    shown.lines().position(|line| line.contains(text)).unwrap_or_else(|| panic!("{text}: {shown}"))
}

#[test]
fn ten_shells_and_their_dead_are_two_lines_with_exact_sums() {
    let mut state = state(shells(10));
    assert!(sets(&state).is_empty() && state.unread().len() == 10, "their arguments are not known yet");
    state = ten();
    assert_eq!(sets(&state), [10]);
    let shown = text(&mut state, 120, 40);
    let line = line_with(&shown, " [+] sh -c while :; do id");
    let seen = shown.lines().nth(line).expect("its line");
    assert!(seen.starts_with("    ×10 root ") && seen.contains("   5.0 "), "{shown}");
    let of_dead = shown.lines().nth(line + 1).expect("the next line");
    assert!(of_dead.starts_with("    ×20") && of_dead.contains("└─[+] id ×10, sleep ×10"), "{shown}");
    let sum = &state.listing.sums[state.listing.alike[0].sum as usize];
    let frame = state.frame.as_ref().expect("it was given");
    let of_rows = |of: fn(&Row) -> u64| {
        let rows = frame.interval.processes.iter().filter(|row| row.task.pid.0 >= 100);
        rows.map(of).sum::<u64>()
    };
    assert_eq!(sum.total.usage.cpu_ns, of_rows(|row| row.usage.cpu_ns));
    assert_eq!(sum.total.task.rss_bytes, of_rows(|row| row.task.rss_bytes));
    let dead = frame.exited().iter().filter(|exited| exited.accounting_parent != Some(Pid(30)));
    let heir = state.listing.heirs.iter().find(|heir| heir.pid == Pid(100)).expect("the first of them");
    let dead_ns: u64 = dead.map(|exited| exited.cpu_ns).sum();
    assert_eq!(state.listing.sums[heir.sum as usize].total.usage.cpu_ns, dead_ns);
    // Every row is in one line.
    let cpu_ns = |entry: &crate::tui::listing::Entry| match entry.item {
        Item::Row(at) => frame.cpu_ns(at),
        Item::Alike(sum) => state.listing.sums[sum as usize].total.usage.cpu_ns,
        _ => 0,
    };
    let all: u64 = state.listing.entries.iter().map(cpu_ns).sum();
    assert_eq!(all, frame.interval.attributed_ns);
}

#[test]
fn a_line_of_several_is_unfolded_and_folded_as_any() {
    let mut state = ten();
    let place = state.listing.entries.iter().position(|entry| matches!(entry.item, Item::Alike(_)));
    let place = place.expect("a line of several");
    state.select(place);
    assert_eq!(press(&mut state, "k"), Effect::None);
    assert!(state.message.take().is_some_and(|message| message.text.contains("press +")));
    for (unfold, fold) in [("+", "-"), ("Enter", "Enter"), ("*", "*")] {
        let folded = kinds(&state);
        press(&mut state, unfold);
        let shown = text(&mut state, 120, 60);
        let line = line_with(&shown, " [-] sh -c while :; do id");
        for (below, end) in [(1, " ├─sh -c while :; do id"), (2, " │ └─[+] id, sleep")] {
            let seen = shown.lines().nth(line + below).expect("a line");
            let is_seen = seen.contains(end) || unfold == "*";
            assert!(is_seen, "{unfold}: {shown}");
        }
        assert_eq!(kinds(&state).0, folded.0 + 10);
        press(&mut state, fold);
        assert_eq!(kinds(&state), folded, "{fold}");
    }
    state.settings.folds_alike = false;
    state.list();
    assert_eq!((sets(&state), kinds(&state).0), (vec![], 16));
}

#[test]
fn what_differs_or_is_busy_has_a_line_of_its_own() {
    // By arguments.
    let by_number: fn(i32) -> &'static [u8] = |pid| if pid < 106 { ARGUMENTS } else { b"sh\0other" };
    assert_eq!(sets(&screen(shells(10), by_number)), [6, 4]);
    assert_eq!(sets(&screen(shells(8), by_number)), [6], "two are too few");
    let changed = |change: fn(&mut Row)| {
        let mut frame = shells(5);
        change(frame.interval.processes.last_mut().expect("a shell"));
        sets(&screen(frame, |_| ARGUMENTS))
    };
    assert_eq!(changed(|_| {}), [5]);
    assert_eq!(changed(|row| row.task.euid = 33), [4]);
    assert_eq!(changed(|row| row.task.ppid = Pid(20)), [4]);
    assert_eq!(changed(|row| row.task.cgroup_id = 7), [4]);
    assert_eq!(changed(|row| row.task.comm = cpuledger::Comm::new(b"bash")), [4]);
    assert_eq!(
        changed(
            |row| row.task.known = row.task.known.without(cpuledger::FieldSet::of(&[cpuledger::Field::Ppid]))
        ),
        [4]
    );
    assert_eq!(changed(|row| row.usage.cpu_ns = 10_000_000), [4], "1 % of a CPU");
    assert_eq!(changed(|row| row.usage.cpu_ns = 9_999_999), [5]);
}

#[test]
fn a_view_keeps_apart_what_it_is_about() {
    let mut frame = shells(5);
    let last = frame.interval.processes.last_mut().expect("a shell");
    last.usage.states.as_mut().expect("they are known").blocked_ns = 10_000_000;
    last.usage.growth.wait_caused_ns = 10_000_000;
    last.usage.growth.network_sent_bytes = 1;
    let mut state = screen(frame, |_| ARGUMENTS);
    assert_eq!(sets(&state), [5]);
    press(&mut state, "6");
    assert!(sets(&state).is_empty(), "those without traffic have no line");
    press(&mut state, "1 i");
    for view in ["2", "4", "6"] {
        press(&mut state, view);
        assert_eq!(sets(&state), [4], "{view}");
        press(&mut state, "1");
    }
    press(&mut state, "5");
    assert_eq!((sets(&state), state.account.is_some()), (vec![5], true), "that is not about disks");
    press(&mut state, "i");
    assert!(Account::ALL.len() == 4, "each has been looked at");
    press(&mut state, "1 H");
    assert!(sets(&state).is_empty(), "threads");
    press(&mut state, "H t");
    assert!(sets(&state).is_empty(), "a tree says whose child each is");
}

#[test]
fn each_of_them_stays_in_reach() {
    // By its number, by what all are called, and by a filter.
    let mut state = ten();
    press(&mut state, "/ 1 0 7 Enter");
    assert_eq!(state.row().map(|(_, row)| row.pid.0), Some(107), "it is unfolded");
    assert_eq!(kinds(&state).0, 16);
    state = ten();
    press(&mut state, "/ s l e e p Space 0 . 4 Enter");
    assert!(matches!(state.entry().map(|entry| entry.item), Some(Item::Alike(_))), "the line of all");
    press(&mut state, "Esc \\ p p i d = 1 Space s h Enter");
    assert_eq!((kinds(&state).0, sets(&state)), (10, vec![]), "who filters sees each");
    // The one with the cursor is not taken away when it has less to do.
    let mut frame = shells(10);
    frame.interval.processes.last_mut().expect("a shell").usage.cpu_ns = 50_000_000;
    state = screen(frame, |_| ARGUMENTS);
    assert_eq!(sets(&state), [9]);
    let busy = state.listing.entries.iter().position(|entry| match entry.item {
        Item::Row(at) => state.frame.as_ref().is_some_and(|frame| frame.whole(at).pid.0 == 109),
        _ => false,
    });
    state.select(busy.expect("its line"));
    state.take(Box::new(shells(10)));
    read(&mut state, &mut |_| ARGUMENTS);
    assert_eq!((sets(&state), state.row().map(|(_, row)| row.pid.0)), (vec![9], Some(109)));
    press(&mut state, "Home");
    state.list();
    read(&mut state, &mut |_| ARGUMENTS);
    assert_eq!(sets(&state), [10], "it is with the others again");
}

#[test]
fn lines_of_several_have_their_place_by_their_sums_and_are_in_groups_and_exports() {
    let mut state = ten();
    let place_of = |state: &State| {
        let is = |entry: &crate::tui::listing::Entry| matches!(entry.item, Item::Alike(_));
        let rows = state.listing.entries.iter().filter(|entry| entry.depth == 0);
        rows.into_iter().position(is).expect("a line of several")
    };
    assert_eq!(place_of(&state), 4, "5 % are more than those of `sh` and `init`");
    press(&mut state, "N");
    assert_eq!(place_of(&state), 6, "behind those of lower numbers");
    let frame = state.frame.as_ref().expect("it was given");
    let line = export::bytes(&state, frame, ExportFormat::Json);
    let json: Json = serde_json::from_slice(&line).expect("JSON");
    assert_eq!(json["processes"].as_array().expect("rows").len(), 16, "each has a row in a file");
    press(&mut state, "P g");
    let group = state.listing.entries.iter().position(|entry| {
        matches!(entry.item, Item::Group(sum) if state.listing.sums[sum as usize].name.label() == "/build.slice")
    });
    state.select(group.expect("their cgroup"));
    press(&mut state, "+");
    let shown = text(&mut state, 120, 40);
    let line = shown.lines().position(|line| line.contains("├─[+] sh -c")).expect("a line of several");
    let of_dead = shown.lines().nth(line + 1).expect("the next line");
    assert!(of_dead.ends_with("│ └─[+] id ×10, sleep ×10"), "{shown}");
}

#[test]
fn children_of_those_that_share_a_line_share_one_too() {
    let mut frame = shells(10);
    for pid in 200..210 {
        let row = Row::new(fixture::task(pid, pid - 100, pid, "sleep"), fixture::usage(1, 0, 0, pid - 100));
        frame.interval.attributed_ns += row.usage.cpu_ns;
        frame.interval.processes.push(row);
    }
    let mut state = screen(frame, |pid| if pid < 200 { ARGUMENTS } else { b"sleep\x000.4" });
    assert_eq!(sets(&state), [10], "their arguments are asked for when their parents are known to be alike");
    read(&mut state, &mut |_| b"sleep\x000.4");
    assert_eq!(sets(&state), [10, 10]);
    let shown = text(&mut state, 120, 40);
    line_with(&shown, "[+] sleep 0.4");
    // Those that are new in the next interval are taken for such ones, until it is known.
    let mut frame = shells(10);
    for pid in 300..310 {
        let row = Row::new(fixture::task(pid, pid - 200, pid, "sleep"), fixture::usage(1, 0, 0, pid - 200));
        frame.interval.processes.push(row);
    }
    state.take(Box::new(frame));
    assert_eq!(sets(&state), [10, 10]);
    let is_asked = |pid: i32| state.unread().iter().any(|row| row.pid.0 == pid);
    assert!((300..310).all(is_asked) && !is_asked(100));
    line_with(&text(&mut state, 120, 40), "[+] sleep 0.4");
    read(&mut state, &mut |pid| if pid < 304 { b"sleep\x001" } else { b"sleep\x000.4" });
    assert_eq!(sets(&state), [10, 6, 4], "what is known comes first");
    let shells = state.listing.entries.iter().position(|entry| matches!(entry.item, Item::Alike(_)));
    state.select(shells.expect("a line of several"));
    press(&mut state, "+");
    assert_eq!(sets(&state), [10], "each has a parent of its own now");
}
