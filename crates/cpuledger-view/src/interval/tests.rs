use super::column::{append_bytes, append_per_mille, append_time};
use super::*;
use crate::group::MOST_NAMES;
use crate::key::Beside;
use cpuledger_model::Boottime;
use cpuledger_model::SourceKind;
use cpuledger_model::exit::Exit;
use cpuledger_model::field::FieldSet;
use cpuledger_model::interval::{Exited, Interval, TaskCounts, Unattributed, Usage};
use cpuledger_model::make;
use cpuledger_model::pairs::WaitPairs;
use cpuledger_model::task::{Comm, Pid, State, Task, TaskId, Tid};
use cpuledger_model::wire::Wire;

fn text_of(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut cell = Vec::new();
    write(&mut cell);
    String::from_utf8(cell).expect("UTF-8")
}

fn row(vsize_bytes: u64) -> Task {
    make!(Task {
        known: FieldSet::ALL,
        tid: Tid(7),
        pid: Pid(7),
        state: State(b'R'),
        vsize_bytes,
        runtime_ns: 61_230_000_000,
        comm: Comm::new(b"a\x1b[2J"),
    })
}

fn exited(comm: &str, cpu_ns: u64) -> Exited {
    let id = TaskId { tid: Tid(9), start_time_ns: Boottime::from_ns(1) };
    let exit = make!(Exit {
        task: id,
        process: id,
        ppid: Pid(1),
        comm: Comm::new(comm.as_bytes()),
        uid: 0,
        euid: Some(0),
        exit_code: Some(0),
        runtime_ns: cpu_ns,
        lifetime_ns: cpu_ns,
        cgroup_id: None,
        cgroup_v1_cpu_id: None,
    });
    make!(Exited { exit, cpu_ns })
}

/// One process and the given dead, on a page of that width.
fn page(width: usize, dead: Vec<Exited>) -> String {
    let used = |cpu_ns| Row::new(row(5 << 30), make!(Usage { cpu_ns }));
    let interval = make!(Interval {
        source: SourceKind::Walk,
        start_ns: 1_000_000_000,
        end_ns: 2_000_000_000,
        online_cpus: 2,
        capacity_ns: 2_000_000_000,
        attributed_ns: 1_732_200_000,
        processes: vec![used(500_000_000), used(1_232_200_000)],
        exited: Some(dead),
    });
    page_of(&interval, width)
}

/// A page of that width, of which nothing else was asked.
fn plain(around: &Surroundings, width: usize) -> Page<'_> {
    Page {
        time_of_day: "12:00:01",
        load: None,
        around,
        has_arguments: false,
        width,
        has_states: false,
        has_parts: false,
        groups: None,
        pairs: None,
        wire: None,
        has_devices: false,
        columns: &[],
        named: None,
    }
}

/// What a page has of an interval below its head, without rows.
fn below_the_head(interval: &Interval, page: &Page<'_>) -> String {
    let text = text_of(|text| append_interval(text, &Shown::without_rows(interval), page));
    text.split_once("\n\n").expect("a head comes first").1.to_owned()
}

fn page_of(interval: &Interval, width: usize) -> String {
    let mut around = Surroundings::now();
    around.users.learn(0);
    let exited: Vec<usize> = (0..interval.exited.as_ref().map_or(0, Vec::len)).collect();
    let shown = Shown {
        interval,
        processes: &[0],
        tasks: None,
        exited: &exited,
        blocked: &[],
        boot_id: None,
        named: None,
        beside: Beside::default(),
    };
    let page = plain(&around, width);
    text_of(|text| append_interval(text, &shown, &page))
}

#[test]
fn who_made_whom_wait_is_a_table_with_both_sums() {
    let (pairs, named) = crate::pairs::tests::example();
    let page_of = |interval: &Interval, width| {
        let around = Surroundings::now();
        let page = Page { pairs: Some(Dimension::Unit), named: Some(&named), ..plain(&around, width) };
        below_the_head(interval, &page)
    };
    let interval = make!(Interval { pairs: Some(pairs) });
    assert_eq!(
        page_of(&interval, 120),
        "\
MADE WAIT (ms)               web.service  backup.service           TOTAL
backup.service                     312.0             0.0           312.0
web.service                          0.0             5.0             5.0
(unknown)                            2.0             0.0             2.0
(other cgroups)                      1.0             0.0             1.0
(interrupts)                         0.0             0.7             0.7
(idle CPU)                           0.0             0.0             0.0
TOTAL                              315.0             5.7           320.7

backup.service made web.service wait 312.0 ms
web.service made backup.service wait 5.0 ms
(unknown) made web.service wait 2.0 ms
"
    );
    // On a narrow terminal the columns that have no room are one.
    assert_eq!(
        page_of(&interval, 60).lines().next(),
        Some("MADE WAIT (ms)                  (2 more)           TOTAL")
    );
    let nothing = make!(Interval { pairs: Some(WaitPairs::default()) });
    assert_eq!(page_of(&nothing, 80), "Nobody waited for a CPU\n");
    assert!(page_of(&Interval::default(), 80).starts_with("No account of pairs was kept"));
}

#[test]
fn what_each_disk_did_is_a_table() {
    let page_of = |interval: &Interval| {
        let around = Surroundings::now();
        let page = Page { has_devices: true, ..plain(&around, 120) };
        below_the_head(interval, &page)
    };
    let interval = crate::devices::tests::example();
    assert_eq!(
        page_of(&interval),
        "\
DEVICE              READS    READ    READ ms   WRITES WRITTEN   WRITE ms   QUEUE ms    DISK ms  BLOCKED ms
nvme0n1              1000    3.9M      250.0      200  800.0K       50.0        0.2      300.0       280.0
8:0                     3   12.0K        0.7        0      0B        0.0        0.0        0.7         0.0
(other disks)        2000    7.8M      500.0        0      0B        0.0        0.0        0.9         0.0
In no row of a process: 0B read, 20.0K written
"
    );
    let sums = make!(Interval { disks: None, ..interval });
    assert_eq!(
        page_of(&sums),
        "\
DEVICE              READS    READ    READ ms   WRITES WRITTEN   WRITE ms   QUEUE ms    DISK ms  BLOCKED ms
(all disks)          3003   11.7M      750.7      200  800.0K       50.0          -          -           -
In no row of a process: 0B read, 20.0K written
An older service or recording has the sum of all disks alone
"
    );
    let quiet = make!(Interval { disks: Some(cpuledger_model::disk::Disks::default()) });
    assert_eq!(page_of(&quiet), "No disk has ended a request\n");
    assert!(page_of(&Interval::default()).starts_with("No account of disks was kept"));
}

#[test]
fn sizes_are_those_of_top() {
    let size = |bytes: u64, width: usize| text_of(|cell| append_bytes(cell, bytes, width));
    assert_eq!(size(123_456 << 10, 6), "123456");
    assert_eq!(size(1_234_567 << 10, 7), "1234567");
    assert_eq!(size(1_234_567 << 10, 6), "1.2g");
    assert_eq!(size(12_345_678 << 10, 6), "11.8g");
    assert_eq!(size(u64::MAX, 6), "16384.0p");
}

#[test]
fn times_and_shares_are_those_of_top() {
    let time = |time_ns| text_of(|cell| append_time(cell, time_ns));
    assert_eq!(time(61_230_000_000), "1:01.23");
    assert_eq!(time(0), "0:00.00");
    assert_eq!(time(59_999_990_000_000), "999:59.99");
    assert_eq!(time(60_000_000_000_000), "1000:00");
    assert_eq!(time(600_000_000_000_000), "10000:00");
    assert_eq!(text_of(|cell| append_per_mille(cell, 1234)), "123.4");
    assert_eq!(text_of(|cell| append_per_mille(cell, 12_345)), "1234");
    assert_eq!(text_of(|cell| append_decimals(cell, 1_000_005, 3)), "1000.005");
    assert_eq!(text_of(|cell| append_uptime(cell, 300)), "5 min");
    assert_eq!(text_of(|cell| append_uptime(cell, 90_000)), "1 day, 1:00");
}

#[test]
fn the_head_counts_tasks_that_have_rows_or_are_only_listed() {
    let tasks = b"STZRtXDI".map(|state| make!(Task { state: State(state), ..row(0) }));
    let row_of = |task| Row::new(task, Usage::default());
    let interval = make!(Interval { processes: vec![row_of(row(0)); 2] });
    let interval = make!(Interval { source: SourceKind::Walk, ..interval });
    let main = page_of(&interval, 512);
    assert!(main.contains("\nMain threads: 2 total, 2 running, 0 sleeping, 0 stopped, 0 zombie\n"), "{main}");
    let listed = make!(Interval { listed_tasks: Some(TaskCounts::of(&tasks)), ..interval.clone() });
    let with_rows = make!(Interval { tasks: tasks.map(row_of).to_vec(), ..interval });
    for interval in [listed, with_rows] {
        let text = page_of(&interval, 512);
        assert!(text.contains("\nTasks: 8 total, 1 running, 3 sleeping, 2 stopped, 2 zombie\n"), "{text}");
    }
}

#[test]
fn the_balance_says_why_time_is_unattributed_and_what_capacity_a_cpu_that_comes_has() {
    let by = make!(Unattributed { uncovered_cpu_ns: 300, not_attached_ns: 7 });
    let interval = make!(Interval {
        source: SourceKind::Ledger,
        end_ns: 1_000_000_000,
        online_cpus: 2,
        capacity_ns: 1_500_000_000,
        idle_ns: Some(1_500_000_000 - by.total_ns()),
        unattributed_ns: Some(by.total_ns()),
        unattributed_by: by,
    });
    let balance = head::balance;
    let told = balance(&interval);
    assert!(
        told.ends_with(
            " unattributed 0.000% of 150.000%; unattributed 307 ns (uncovered CPU 300, not attached 7)"
        ),
        "{told}"
    );
    let (losses, count) = head::losses(&interval);
    assert_eq!(count, 2);
    assert!(
        losses.starts_with("Not exact: 300 ns on CPUs where no context switch was seen yet (usual in the first interval); 7 ns without"),
        "{losses}"
    );
    let wrong = make!(Interval { capacity_ns: 1_500_000_001, ..interval.clone() });
    let (losses, count) = head::losses(&wrong);
    assert_eq!(count, 3);
    assert!(
        losses.starts_with(
            "Out of balance, which is an error of cpuledger: the capacity is 1 ns more than what was booked of it. Not exact: 300 ns"
        ),
        "{losses}"
    );
    let none =
        make!(Interval { capacity_ns: 2_000_000_000, unattributed_by: Unattributed::default(), ..interval });
    assert!(
        balance(&none).ends_with(" unattributed 0.000% of 200%; unattributed 307 ns"),
        "{}",
        balance(&none)
    );
}

#[test]
fn many_names_of_the_dead_share_a_line() {
    let dead = (0..100u64).map(|number| exited(&format!("name{number:03}"), 1000 - number)).collect();
    let text = page(512, dead);
    let (_, listed) = text.split_once("EXITED").expect("there are dead");
    assert_eq!(listed.lines().count(), 1 + MOST_NAMES + 1);
    assert!(text.ends_with("     60   0.0 (all other names)\n"), "{text}");
}

#[test]
fn any_width_will_do() {
    for width in 0..100 {
        let text = page(width, vec![exited("größe", 1)]);
        assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
    }
}

#[test]
fn a_share_of_memory_is_a_dash_where_that_of_the_machine_is_not_known() {
    let text = page(512, Vec::new());
    assert!(text.contains(r" 50.0     -   1:01.23 a\x1b[2J") && !text.contains("; lost"), "{text}");
}

#[test]
fn the_wire_of_each_unit_is_a_row() {
    let page_of = |interval: &Interval| {
        let around = Surroundings::now();
        let page = Page { wire: Some(Dimension::Unit), ..plain(&around, 90) };
        below_the_head(interval, &page)
    };
    let interval = crate::wire::tests::example();
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(
        page_of(&interval).lines().map(words).collect::<Vec<_>>(),
        [
            "UNIT SENT PACKETS PAYLOAD REST RECV PACKETS PAYLOAD REST",
            "web.service 11.7M 8510 11.4M 293.9K 781.2K 7000 0B 781.2K",
            "(unknown) 128B 1 0B 128B 0B 0 0B 0B",
            "(other cgroups) 64B 1 - - 64B 1 - -",
            "backup.service 0B 0 0B 0B 52B 1 0B 52B",
            "TOTAL 11.7M 8512 11.4M 293.7K 781.3K 7002 0B 781.3K",
        ]
    );
    assert!(page_of(&Interval::default()).starts_with("What cgroups send on the wire was not counted"));
    let nothing = make!(Interval { wire: Some(Wire::default()) });
    assert!(page_of(&nothing).starts_with("No socket of a cgroup has sent or received"));
    // Before Linux 6.3, tasks are not known, and that is no 0.
    let alone = make!(Interval { wire: interval.wire.clone() });
    let text = page_of(&alone);
    assert!(text.ends_with("What tasks send is not known here: `cpuledger doctor` says why\n"), "{text}");
    assert!(text.contains("web.service") && !text.contains(" 0B       0B"), "{text}");
}
