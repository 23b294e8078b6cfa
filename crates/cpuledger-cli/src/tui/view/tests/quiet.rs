//! Rows without traffic have no line in the views of disks and network, and columns that say nothing have no room.

use cpuledger_model::disk::{Disk, DiskTotals, DiskUse, Disks, Requests};
use cpuledger_model::wire::{Wire, WireCgroup, WireUse};

use super::*;
use crate::tui::views::View;

/// Of the processes, `server` has sent, `make` has received by Unix sockets; disks have written for `sh`. Nobody waited for I/O.
fn frame() -> Frame {
    let mut frame = fixture::frame();
    for row in &mut frame.interval.processes {
        if let Some(states) = &mut row.usage.states {
            states.sleep_ns += states.io_wait_ns;
            states.blocked_ns -= states.io_wait_ns;
            states.io_wait_ns = 0;
        }
        let growth = &mut row.usage.growth;
        match row.task.pid.0 {
            20 => growth.network_sent_bytes = 1,
            30 => growth.unix_received_bytes = 4096,
            40 => (growth.disk_writes, growth.disk_written_bytes) = (1, 512),
            _ => {}
        }
    }
    frame
}

/// The names of the rows, from the top to the bottom.
fn names(state: &State) -> Vec<String> {
    let frame = state.frame.as_ref().expect("it was given");
    let name = |item| match item {
        Item::Row(at) => Some(String::from_utf8_lossy(frame.whole(at).comm.as_bytes()).into_owned()),
        _ => None,
    };
    state.listing.entries.iter().filter_map(|entry| name(entry.item)).collect()
}

#[test]
fn rows_without_traffic_are_counted_and_not_listed() {
    let mut state = state(frame());
    press(&mut state, "x 6");
    assert_eq!(names(&state), ["server", "make"], "what was sent first, then by CPU time");
    let shown = text(&mut state, 80, 24);
    assert!(shown.contains("4 rows without traffic hidden: press i"), "{shown}");
    press(&mut state, "5");
    assert_eq!(names(&state), ["sh"]);
    assert!(text(&mut state, 80, 24).contains("5 rows without traffic hidden: press i"));
    // A disk that a task waits for is worth a line before it has answered.
    let row = &mut state.frame.as_mut().expect("it was given").interval.processes[5];
    row.usage.states.as_mut().expect("known").io_wait_ns = 600_000_000;
    state.list();
    assert_eq!(names(&state), ["sh", "a\u{1b}[2Jb"]);
    // What is not known is not nothing.
    let row = &mut state.frame.as_mut().expect("it was given").interval.processes[0];
    row.usage.growth.known = cpuledger::FieldSet::EMPTY;
    state.list();
    assert!(names(&state).contains(&"init".to_owned()));
    // A filter and the key for idle rows ask for all.
    press(&mut state, "\\ n a m e = o r p h a n Enter");
    assert_eq!(names(&state), ["orphan"]);
    press(&mut state, "Esc Esc 6 i");
    assert_eq!(names(&state).len(), 6);
    assert!(!text(&mut state, 80, 24).contains("hidden"));
    press(&mut state, "i 1");
    assert_eq!(names(&state).len(), 6, "other views list what ran");
}

#[test]
fn rows_with_the_same_traffic_are_in_the_order_of_their_cpu_time() {
    let mut state = state(frame());
    press(&mut state, "x 6 i");
    let frame = state.frame.as_ref().expect("it was given");
    let cpu_ns = |entry: &crate::tui::listing::Entry| match entry.item {
        Item::Row(at) => frame.cpu_ns(at),
        _ => panic!("only rows"),
    };
    let times: Vec<u64> = state.listing.entries.iter().skip(1).map(cpu_ns).collect();
    assert!(times.len() == 5 && times.is_sorted_by(|one, next| one >= next), "{times:?}");
    assert_eq!(names(&state)[0], "server", "the only one that has sent");
}

#[test]
fn where_nothing_is_left_that_is_said() {
    let mut frame = frame();
    frame.interval.processes.iter_mut().for_each(|row| {
        (row.usage.growth.network_sent_bytes, row.usage.growth.unix_received_bytes) = (0, 0);
    });
    // The dead have fields of the account where it was kept.
    frame.interval.exited = Some(Vec::new());
    let mut state = state(frame);
    press(&mut state, "6");
    let shown = text(&mut state, 80, 24);
    assert!(shown.contains("no traffic in this interval"), "{shown}");
    assert!(shown.contains("6 rows without traffic hidden: press i"), "{shown}");
}

#[test]
fn the_dead_have_a_line_where_one_of_their_name_had_traffic() {
    let mut frame = frame();
    let dead = |number: i32, name: &str, bytes: u64| {
        let mut exited = fixture::exited(number, name, 20_000_000);
        exited.states.as_mut().expect("known").io_wait_ns = 0;
        exited.booked.disk_read_bytes = Some(0);
        exited.booked.disk_written_bytes = Some(bytes);
        exited
    };
    let exited = vec![dead(900, "dd", 512), dead(901, "dd", 0), dead(902, "true", 0), dead(903, "true", 0)];
    frame.interval.exited = Some(exited);
    let mut state = state(frame);
    let names = |state: &State| -> Vec<(String, usize)> {
        let sum = |entry: &crate::tui::listing::Entry| match entry.item {
            Item::ExitedName(sum) => Some(&state.listing.sums[sum as usize]),
            _ => None,
        };
        let sums = state.listing.entries.iter().filter_map(sum);
        sums.map(|sum| (sum.name.label().to_owned(), sum.rows)).collect()
    };
    let both = vec![("dd".to_owned(), 2), ("true".to_owned(), 2)];
    assert_eq!(names(&state), both);
    press(&mut state, "5");
    assert_eq!((names(&state), state.listing.exited.len()), (both[..1].to_vec(), 2));
    press(&mut state, "i");
    assert_eq!((names(&state), state.listing.exited.len()), (both.clone(), 4));
    press(&mut state, "i 6");
    assert_eq!(names(&state), both, "of the network nothing is known");
}

#[test]
fn groups_have_the_figures_of_all_their_rows() {
    let mut state = state(frame());
    press(&mut state, "x 6 g");
    assert_eq!((state.view(), state.settings.group_name()), (View::Network, Some("Cgroups")));
    let sums = state.listing.entries.iter().filter_map(|entry| match entry.item {
        Item::Group(sum) => Some(state.listing.sums[sum as usize].total.usage.cpu_ns),
        _ => None,
    });
    let interval = &state.frame.as_ref().expect("it was given").interval;
    assert_eq!(sums.sum::<u64>(), interval.attributed_ns);
    assert_eq!(state.listing.quiet, 0);
}

#[test]
fn each_busy_disk_has_a_line() {
    let requests = |count: u64| make!(Requests { count, bytes: count << 20, ns: count });
    let disk = |minor, reads, writes| {
        make!(Disk {
            numbers: Some((8, minor)),
            name: if minor == 0 { b"sda".to_vec() } else { Vec::new() },
            all: make!(DiskUse { reads: requests(reads), writes: requests(writes) }),
            queue_ns: 60_000_000,
            device_ns: 300_000_000,
        })
    };
    let mut frame = frame();
    let disks = make!(Disks { devices: vec![disk(0, 1, 300), disk(16, 7, 0), disk(32, 0, 0)] });
    frame.interval.disk_totals = DiskTotals::of(&disks);
    frame.interval.disks = Some(disks);
    let mut state = state(frame);
    assert!(!text(&mut state, 120, 40).contains("sda"), "it is part of the view of disks");
    press(&mut state, "5");
    let shown = text(&mut state, 120, 40);
    let lines: Vec<&str> = shown.lines().filter(|line| line.contains("requests at a time")).collect();
    assert_eq!(
        lines,
        [
            "sda  1 read 1.0M/s  300 writes 300.0M/s  0.36 requests at a time on average",
            "8:16  7 reads 7.0M/s  0.36 requests at a time on average",
        ]
    );
    assert!(
        text(&mut state, 40, 24).contains("sda  1 read 1.0M/s  300 writes 300.0M/s\n"),
        "as there is room"
    );
    // Of many disks the busiest.
    let devices = (0..9).map(|minor| disk(minor, 10 - u64::from(minor), 0)).collect();
    state.frame.as_mut().expect("it was given").interval.disks = Some(make!(Disks { devices }));
    for (height, seen, more) in [(24, 2, "and 7 more"), (40, 4, "and 5 more")] {
        let shown = text(&mut state, 120, height);
        assert_eq!(shown.lines().filter(|line| line.contains(" at a time")).count(), seen, "{shown}");
        assert!(shown.contains(more), "{shown}");
    }
    // Frames have the sum.
    state.frame.as_mut().expect("it was given").interval.disks = None;
    let shown = text(&mut state, 120, 40);
    assert!(shown.contains("(all disks)  8 reads 8.0M/s  300 writes 300.0M/s\n"), "{shown}");
}

#[test]
fn cgroups_on_the_wire_have_a_line() {
    let cgroup = |id, path: &str, figures| {
        make!(WireCgroup { id: Some(id), path: path.as_bytes().to_vec(), used: WireUse::of(figures) })
    };
    let mut frame = frame();
    frame.interval.wire = Some(Wire::of([
        cgroup(7, "/system.slice/web.service", [12 << 20, 9_000, 512 << 10, 7_000]),
        cgroup(9, "/system.slice/backup.service", [0, 0, 2_048, 2]),
    ]));
    let mut state = state(frame);
    assert!(!text(&mut state, 120, 40).contains("On the wire"), "it is part of the view of the network");
    press(&mut state, "6");
    let shown = text(&mut state, 160, 40);
    let line = "On the wire: /system.slice/web.service 12.0M/s sent, 512.0K/s received; \
                /system.slice/backup.service 0B/s sent, 2.0K/s received\n";
    assert!(shown.contains(line), "{shown}");
    // Nothing is known of tasks, and that is said.
    assert!(shown.contains("What processes send is not known here"), "{shown}");
    let shown = text(&mut state, 90, 40);
    assert!(shown.contains("web.service 12.0M/s sent, 512.0K/s received\n"), "as there is room: {shown}");
    state.frame.as_mut().expect("it was given").interval.network.sent_bytes = Some(0);
    assert!(!text(&mut state, 160, 40).contains("is not known here"));
    state.frame.as_mut().expect("it was given").interval.wire = None;
    assert!(!text(&mut state, 160, 40).contains("On the wire"));
}

#[test]
fn columns_that_say_nothing_give_their_room_to_the_command() {
    let has = |state: &State, name: &str| state.layout.columns.iter().any(|(_, _, shown)| *shown == name);
    let mut frame = fixture::frame();
    frame.interval.processes[1].usage.exited_threads_ns = Some(999_999);
    let mut state = state(frame);
    text(&mut state, 120, 40);
    assert!(!has(&state, "X") && has(&state, "C"), "it would be a dot");
    text(&mut state, 200, 60);
    assert!(has(&state, "X"), "there is room");
    let room = |state: &State| {
        let (from, to, _) = state.layout.columns.last().expect("the command");
        to - from
    };
    text(&mut state, 120, 40);
    let wide = room(&state);
    let count = state.layout.columns.len();
    state.take(Box::new(fixture::frame()));
    text(&mut state, 120, 40);
    assert!(has(&state, "X"), "a row has dead threads");
    assert_eq!(
        (state.layout.columns.len(), room(&state)),
        (count + 1, wide - 6),
        "no other has come or gone"
    );
    state.take(Box::new(fixture::empty()));
    text(&mut state, 120, 40);
    assert!(has(&state, "X"), "it stays from then on");
    // The past has no history.
    assert!(has(&state, "HISTORY"));
    state.strip = Some(strip(20, 7));
    text(&mut state, 120, 40);
    assert!(!has(&state, "HISTORY"));
}
