//! Taskstats as bytes: every version that is known, messages of a real kernel, and damaged ones. No kernel needed.

use cpuledger::source::netlink::layout::{
    Dead, Delay, Exact, OLDEST_VERSION, SERIES, SIZES, Taskstats, Unknown, Used, decode, decode_beside,
    newest_version,
};
use cpuledger::source::netlink::message::{ATTR_PID, Body, Figures, GET, Request, for_each};
use cpuledger::task::Comm;
use cpuledger_model::make;
use proptest::prelude::*;

/// Of the recorded messages.
const FAMILY: u16 = 31;

fn bytes(name: &str) -> Vec<u8> {
    let path = format!("{}/tests/taskstats/{name}.hex", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let digit = |digit: u8| (digit as char).to_digit(16).expect("a digit") as u8;
    digits.chunks_exact(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

/// The value that member number `index` has in `v*.hex`.
fn value(index: u64) -> u64 {
    (index + 1) << 32 | (1000 + index)
}

fn delay(index: u64) -> Delay {
    make!(Delay { count: value(index), total_ns: value(index + 1) })
}

/// What `v*.hex` says: the numbers of the members are in the README beside it.
fn expected(version: u16) -> Taskstats {
    let since = |first, index| (version >= first).then(|| delay(index));
    make!(Taskstats {
        version,
        exit_code: 1001,
        flags: 3,
        nice: -7,
        run_queue: delay(4),
        block_io: delay(6),
        swap_in: delay(8),
        ticks_ns: value(10),
        runtime_ns: value(11),
        comm: Comm::new(format!("a task of v{version}").as_bytes()),
        policy: 14,
        uid: 1015,
        gid: 1016,
        tid: 1017,
        ppid: 1018,
        elapsed_us: value(20),
        user_us: value(21),
        system_us: value(22),
        minor_faults: value(23),
        major_faults: value(24),
        has_memory: true,
        read_bytes: value(33),
        write_bytes: value(34),
        cancelled_write_bytes: value(35),
        voluntary_switches: value(36),
        involuntary_switches: value(37),
        reclaim: delay(41),
        thrashing: since(9, 43),
        compaction: since(11, 46),
        pid: (version >= 12).then_some(1048),
        leader_elapsed_us: (version >= 12).then(|| value(49)),
        write_protect: since(13, 52),
        interrupts: since(14, 54),
        exact: None,
    })
}

/// The only message of a datagram.
fn message(datagram: &[u8]) -> (u32, Body<'_>) {
    let mut found = Vec::new();
    for_each(datagram, FAMILY, |message| found.push((message.sequence, message.body))).expect("it is whole");
    assert_eq!(found.len(), 1);
    found[0]
}

fn figures(datagram: &[u8]) -> (u32, Figures<'_>) {
    match message(datagram) {
        (sequence, Body::Figures(figures)) => (sequence, figures),
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_version_is_read_by_its_layout() {
    for version in OLDEST_VERSION..=newest_version() {
        assert_eq!(decode(&bytes(&format!("v{version}"))), Ok(expected(version)), "version {version}");
    }
}

#[test]
fn a_version_of_the_series_is_the_one_before_and_more() {
    for (version, size) in SERIES {
        let mut report = bytes("v17");
        let runtime = report.len() + 16;
        report.resize(size, 0);
        report[..2].copy_from_slice(&version.to_ne_bytes());
        report[runtime..runtime + 8].copy_from_slice(&1234_u64.to_ne_bytes());
        let used = make!(Used { runtime_ns: 1234 });
        let dead = (version > 19).then(Dead::default);
        let exact = Some(make!(Exact { used, dead }));
        let found = decode(&report).expect("it is known");
        assert_eq!(found, make!(Taskstats { version, exact, ..expected(17) }));
    }
}

#[test]
fn no_size_of_the_series_is_that_of_another_kernel() {
    assert!(SERIES.iter().all(|(_, size)| !SIZES.contains(size)));
}

#[test]
fn a_report_on_a_process_without_a_version_has_that_of_its_last_task() {
    let mut report = bytes("v16");
    report[..2].copy_from_slice(&0_u16.to_ne_bytes());
    assert_eq!(decode_beside(&report, 16), Ok(expected(16)));
    assert!(matches!(decode_beside(&report, 15), Ok(other) if other != expected(16)));
    assert!(matches!(decode_beside(&report, 17), Err(Unknown::Size { version: 17, .. })));
    assert_eq!(decode_beside(&bytes("v14"), 16), Ok(expected(14)), "its own is the one that counts");
}

#[test]
fn other_versions_and_sizes_are_refused_in_a_sentence() {
    for version in [0, OLDEST_VERSION - 1, newest_version() + 1, u16::MAX] {
        let mut unknown = bytes("v17");
        unknown[..2].copy_from_slice(&version.to_ne_bytes());
        let error = decode(&unknown).expect_err("it is not known");
        assert_eq!(error, Unknown::Version(version));
        assert!(
            error
                .to_string()
                .contains(&format!("version {version}, but this cpuledger knows versions 8 to 17"))
        );
    }
    for version in OLDEST_VERSION..=newest_version() {
        let whole = bytes(&format!("v{version}"));
        for length in (2..whole.len()).chain([whole.len() + 8]) {
            let mut other = whole.clone();
            other.resize(length, 0);
            let error = decode(&other).expect_err("it has another size");
            assert_eq!(error, Unknown::Size { version, bytes: length, expected: whole.len() });
            let part = format!("version {version} in {length} bytes instead of {}", whole.len());
            assert!(error.to_string().contains(&part), "{error}");
        }
    }
    assert_eq!((decode(&[]), decode(&[16])), (Err(Unknown::Nothing), Err(Unknown::Nothing)));
    assert_eq!(SIZES.len(), usize::from(newest_version() - OLDEST_VERSION) + 1);
}

#[test]
fn answers_of_a_kernel_are_read() {
    let datagram = bytes("recorded-task");
    let (sequence, answer) = figures(&datagram);
    assert_eq!((sequence, answer.process), (7, None));
    let task = decode(answer.task.expect("of a task")).expect("version 16");
    assert_eq!((task.version, task.comm.as_bytes()), (16, &b"python3"[..]));
    assert_eq!(task.pid, Some(task.tid));
    assert_eq!(task.leader_elapsed_us, Some(task.elapsed_us));
    assert!(task.runtime_ns > 0 && task.exit_code == 0 && task.block_io == Delay::default());
    let datagram = bytes("recorded-process");
    let (sequence, answer) = figures(&datagram);
    assert_eq!((sequence, answer.task), (8, None));
    let process = decode(answer.process.expect("of a process")).expect("version 16");
    assert!(process.runtime_ns >= task.runtime_ns && process.comm.as_bytes().is_empty());
    assert_eq!(message(&bytes("recorded-error")), (9, Body::Outcome(3)), "ESRCH: no such process");
}

#[test]
fn reports_of_a_kernel_are_read() {
    let datagram = bytes("recorded-exit-of-thread");
    let (_, report) = figures(&datagram);
    let thread = decode(report.task.expect("of a task")).expect("version 16");
    assert_eq!(report.process, None, "the process lives");
    let datagram = bytes("recorded-exit-of-process");
    let (_, report) = figures(&datagram);
    let last = decode(report.task.expect("of the last thread")).expect("version 16");
    let process = decode(report.process.expect("of the process")).expect("version 16");
    assert_eq!((last.pid, last.exit_code), (thread.pid, 3 << 8));
    assert_eq!(last.ppid, thread.ppid);
    assert!(process.runtime_ns > last.runtime_ns, "all of its threads");
    assert!(last.leader_elapsed_us > Some(last.elapsed_us), "the leader is older");
}

#[test]
fn several_messages_of_one_datagram_are_read() {
    let all = [bytes("recorded-task"), bytes("recorded-error"), bytes("recorded-process")].concat();
    let mut sequences = Vec::new();
    for_each(&all, FAMILY, |message| sequences.push(message.sequence)).expect("they are whole");
    assert_eq!(sequences, [7, 9, 8]);
    // Of another family nothing is read.
    for_each(&bytes("recorded-task"), FAMILY + 1, |message| assert_eq!(message.body, Body::Other))
        .expect("it is whole");
}

#[test]
fn a_request_is_laid_out_as_the_kernel_reads_it() {
    let request = make!(Request {
        family: FAMILY,
        flags: 0,
        sequence: 7,
        command: GET,
        attribute: ATTR_PID,
        payload: &[1, 2, 3, 4, 5],
    });
    let mut bytes = Vec::new();
    request.append_to(&mut bytes);
    let header = [&32u32.to_ne_bytes()[..], &31u16.to_ne_bytes(), &1u16.to_ne_bytes(), &7u32.to_ne_bytes()];
    assert_eq!(bytes[..12], header.concat());
    assert_eq!(bytes[12..20], [0, 0, 0, 0, 1, 1, 0, 0]);
    assert_eq!(bytes[20..24], [&9u16.to_ne_bytes()[..], &1u16.to_ne_bytes()].concat());
    assert_eq!(bytes[24..], [1, 2, 3, 4, 5, 0, 0, 0], "filled up to a multiple of 4");
}

/// Reads whatever is there, down to the last member.
fn survive(datagram: &[u8]) {
    let _ = for_each(datagram, FAMILY, |message| {
        if let Body::Figures(figures) = message.body {
            let _ = (figures.task.map(decode), figures.process.map(decode));
        }
    });
}

proptest! {
    #[test]
    fn any_bytes_are_survived(bytes: Vec<u8>) {
        survive(&bytes);
        let _ = decode(&bytes);
    }

    #[test]
    fn any_damage_is_survived(
        name in prop::sample::select(&[
            "recorded-task", "recorded-process", "recorded-error", "recorded-exit-of-thread",
            "recorded-exit-of-process",
        ][..]),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        // Lengths and types are in the first bytes: most changes go there.
        changes_of_headers in prop::collection::vec((0usize..40, any::<u8>()), 0..4),
        length: prop::sample::Index,
    ) {
        let mut damaged = bytes(name);
        for (index, byte) in changes {
            let index = index.index(damaged.len());
            damaged[index] = byte;
        }
        for (index, byte) in changes_of_headers {
            if let Some(place) = damaged.get_mut(index) {
                *place = byte;
            }
        }
        damaged.truncate(length.index(damaged.len() + 1));
        survive(&damaged);
    }

    #[test]
    fn no_part_of_a_message_is_taken_for_one(length in 1usize..1172) {
        let mut whole = bytes("recorded-exit-of-process");
        whole.truncate(length);
        prop_assert_eq!(for_each(&whole, FAMILY, |message| panic!("{message:?}")), Err(Unknown::Nothing));
    }

    #[test]
    fn a_struct_of_any_content_is_read(version in OLDEST_VERSION..=newest_version(), fill: Vec<u8>) {
        let mut bytes: Vec<u8> = fill.into_iter().chain(std::iter::repeat(0xa5)).take(688).collect();
        bytes.truncate(SIZES[usize::from(version - OLDEST_VERSION)]);
        bytes[..2].copy_from_slice(&version.to_ne_bytes());
        prop_assert_eq!(decode(&bytes).map(|found| found.version), Ok(version));
    }
}
