//! Encoding and decoding: what comes out is what went in, and any bytes are a frame or a sentence.

use cpuledger_model::frame::{
    ChainReader, ChainWriter, Column, ErrorKind, Frame, Kind, Link, MOST_RECORDS, Section, Wanted,
};
use cpuledger_model::make;
use proptest::prelude::*;

mod by_hand;

use by_hand::{Field, Layout, NEXT_VERSION};

/// Values whose widths differ.
fn value() -> impl Strategy<Value = Option<u64>> {
    prop_oneof![
        Just(None),
        (0u32..64, any::<u64>()).prop_map(|(bits, any)| Some((any >> bits).min(u64::MAX - 1))),
        Just(Some(7)),
    ]
}

/// Rows of a column: constants, absent ones, and any.
fn values(rows: usize) -> impl Strategy<Value = Vec<Option<u64>>> {
    prop_oneof![
        value().prop_map(move |value| vec![value; rows]),
        (any::<u32>(), prop::collection::vec(0u64..300, rows)).prop_map(|(base, values)| values
            .into_iter()
            .map(|value| Some(value + u64::from(base)))
            .collect()),
        prop::collection::vec(value(), rows),
    ]
}

/// A column of a section.
type Filled = (usize, usize, Vec<Option<u64>>);

fn filled() -> impl Strategy<Value = (Vec<usize>, Vec<Filled>, Vec<Vec<u8>>)> {
    let columns = Column::known().count();
    let rows = prop::collection::vec(0usize..9, Section::ALL.len());
    (rows, prop::collection::vec((0..Section::ALL.len(), 0..columns, values(8)), 0..60), texts())
}

fn texts() -> impl Strategy<Value = Vec<Vec<u8>>> {
    prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 1..6)
}

/// A frame with anything in it.
fn frame() -> impl Strategy<Value = Frame> {
    filled().prop_map(|(rows, columns, texts)| {
        let mut frame = Frame::new();
        let numbers: Vec<u64> = texts.iter().map(|text| frame.intern(text)).collect();
        for (section, rows) in Section::ALL.into_iter().zip(rows) {
            if section != Section::Interval {
                frame.table_mut(section).reset(rows);
            }
        }
        for (section, column, values) in columns {
            let column = Column::known().nth(column).expect("it is one of them");
            let table = frame.table_mut(Section::ALL[section]);
            match column.kind() {
                Kind::Signed => table.fill_signed(
                    column,
                    values.iter().map(|value| value.map(|value| value.cast_signed().min(i64::MAX - 1))),
                ),
                Kind::Text => table.fill(
                    column,
                    values.iter().map(|value| value.map(|value| numbers[value as usize % numbers.len()])),
                ),
                _ => table.fill(column, values),
            }
        }
        frame
    })
}

fn encoded(frame: &Frame) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame.encode(&mut bytes).expect("it is short");
    bytes
}

/// Links of two chains: one begins with the first frame, one at `begin`.
fn chain(frames: &[Frame], begin: usize) -> Vec<Link> {
    let mut writer = ChainWriter::default();
    let link = |(number, frame)| {
        if number == begin {
            writer.restart();
        }
        let mut link = make!(Link { plain: vec![1], dense: vec![2], weight: 3 });
        writer.write(frame, &mut link).expect("it is short");
        link
    };
    frames.iter().enumerate().map(link).collect()
}

/// Memory that is reused holds nothing of what it held before.
fn decode(bytes: &[u8]) -> Result<Frame, String> {
    let once = Frame::decode(bytes).map_err(|error| error.to_string());
    if let Err(sentence) = &once {
        assert!(!sentence.is_empty() && !sentence.contains(char::is_control), "{sentence:?}");
    }
    once
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn what_is_decoded_is_what_was_encoded(frames in prop::collection::vec(frame(), 1..4)) {
        let (mut bytes, mut into) = (vec![1; 100], Frame::new());
        for frame in frames {
            frame.encode(&mut bytes).expect("it is short");
            into.decode_from(&bytes).expect("it is a frame");
            prop_assert!(into == frame);
            prop_assert_eq!(&encoded(&into), &bytes, "the same again");
        }
    }

    #[test]
    fn what_a_chain_is_read_as_is_what_it_was_written_of(
        frames in prop::collection::vec(frame(), 1..5),
        begin in 0usize..5,
        places in prop::collection::vec((any::<bool>(), any::<u16>(), 1u8..), 20),
    ) {
        let links = chain(&frames, begin);
        let (mut reader, mut into) = (ChainReader::new(&Wanted::ALL), Frame::new());
        for (number, (link, frame)) in links.iter().zip(&frames).enumerate() {
            if number == begin {
                reader.restart();
            }
            reader.read(&link.plain, &link.dense, link.weight, &mut into).expect("it is a link");
            prop_assert!(into == *frame, "frame {}", number);
        }
        for (is_plain, place, change) in places {
            let mut damaged = links[place as usize % links.len()].clone();
            let bytes = if is_plain { &mut damaged.plain } else { &mut damaged.dense };
            let length = bytes.len().max(1);
            bytes.get_mut(place as usize % length).into_iter().for_each(|byte| *byte ^= change);
            reader.restart();
            if let Err(error) = reader.read(&damaged.plain, &damaged.dense, u64::MAX, &mut into) {
                let sentence = error.to_string();
                prop_assert!(!sentence.is_empty() && !sentence.contains(char::is_control), "{}", sentence);
                prop_assert!(into == Frame::new());
            }
            let whole = &links[place as usize % links.len()];
            reader.restart();
            let cut = &whole.plain[..place as usize % whole.plain.len()];
            prop_assert!(reader.read(cut, &whole.dense, u64::MAX, &mut into).is_err());
            reader.restart();
            prop_assert!(reader.read(&whole.plain, &whole.dense, whole.weight - 1, &mut into).is_err(), "it weighs more");
        }
    }

    #[test]
    fn a_frame_that_was_cut_off_is_none(frame in frame()) {
        let bytes = encoded(&frame);
        for length in 0..bytes.len() {
            prop_assert!(decode(&bytes[..length]).is_err(), "{} of {} bytes", length, bytes.len());
        }
    }

    #[test]
    fn one_other_bit_is_a_frame_or_an_error(frame in frame(), bit in any::<prop::sample::Index>()) {
        let mut bytes = encoded(&frame);
        let bit = bit.index(bytes.len() * 8);
        bytes[bit / 8] ^= 1 << (bit % 8);
        if let Ok(frame) = decode(&bytes) {
            prop_assert!(decode(&encoded(&frame)).is_ok_and(|again| again == frame));
        }
    }

    #[test]
    fn any_bytes_are_a_frame_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        prop_assert!(decode(&bytes).is_err());
        let mut behind_header = encoded(&Frame::new());
        behind_header.truncate(40);
        behind_header.extend(&bytes);
        let total = (behind_header.len() as u32).to_le_bytes();
        behind_header[20..24].copy_from_slice(&total);
        drop(decode(&behind_header));
    }
}

#[test]
fn every_bit_of_a_frame_may_be_another() {
    let mut frame = Frame::new();
    let comm = frame.intern(b"make");
    let table = frame.table_mut(Section::Processes);
    table.reset(3);
    table.fill_signed(Column::TID, [Some(-7), None, Some(1 << 40)]);
    table.fill(Column::COMM, [Some(comm), None, Some(comm)]);
    table.fill(Column::CPU_NS, [Some(1), Some(2), Some(u64::MAX - 1)]);
    let bytes = encoded(&frame);
    for bit in 0..bytes.len() * 8 {
        let mut bytes = bytes.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        drop(decode(&bytes));
    }
}

/// A writer of its own, from the document alone, makes the same bytes of the same frame.
#[test]
fn the_layout_is_that_of_the_document() {
    let mut frame = Frame::new();
    frame.set_figure(Column::START_NS, Some(100));
    frame.set_figure(Column::END_NS, Some(300));
    let table = frame.table_mut(Section::Processes);
    table.reset(2);
    table.fill_signed(Column::TID, [Some(-1), Some(255)]);
    table.fill(Column::CPU_NS, [None, Some(1000)]);
    let layout = Layout::default()
        .section(1, 1, &[Field::new(115, 0).base(100), Field::new(116, 0).base(300)])
        .section(
            3,
            2,
            &[
                Field::new(1, 1).kind(1).base(u64::MAX).stored(&[0, 256]).width(2),
                Field::new(64, 0).nullable().base(1000).stored(&[0xff, 0]).width(1),
            ],
        );
    assert_eq!(encoded(&frame), layout.bytes());
}

/// Tasks of two processes, and of one that has no row.
fn tasks_by_processes(pids: &[u64]) -> Layout {
    Layout::default()
        .section(1, 1, &[Field::new(115, 0)])
        .section(
            3,
            2,
            &[
                Field::new(2, 1).base(10).width(1).stored(pids),
                Field::new(64, 0).base(1000).width(2).stored(&[0, 9000]),
            ],
        )
        .section(
            4,
            4,
            &[
                Field::new(2, 1).base(10).width(1).stored(&[0, 1, 1, 2]),
                Field::new(64, 0).nullable().relative().base(-5i64 as u64).width(1).stored(&[5, 0, 0xff, 12]),
            ],
        )
}

#[test]
fn tasks_are_told_as_differences_from_their_process() {
    let frame = decode(&tasks_by_processes(&[0, 1]).bytes()).expect("a frame");
    let tasks = frame.table(Section::Tasks);
    let times: Vec<_> = (0..4).map(|row| tasks.get(Column::CPU_NS, row)).collect();
    assert_eq!(times, [Some(1000), Some(9995), None, Some(7)]);
    // It is not certain which row a pid means.
    for pids in [[1, 0], [1, 1]] {
        let sentence = decode(&tasks_by_processes(&pids).bytes()).expect_err("they do not ascend");
        assert!(sentence.contains("ascend"), "{sentence}");
    }
    let relative = [Field::new(64, 0).relative()];
    let elsewhere = Layout::default().section(1, 1, &[Field::new(115, 0)]).section(3, 1, &relative);
    assert!(decode(&elsewhere.bytes()).expect_err("only tasks have processes").contains("relative"));
}

proptest! {
    #[test]
    fn differences_from_processes_survive(
        tasks in prop::collection::vec((0i64..6, value(), value()), 0..12),
        processes in prop::collection::vec((value(), value()), 4),
    ) {
        let mut frame = Frame::new();
        let table = frame.table_mut(Section::Processes);
        table.reset(processes.len());
        table.fill_signed(Column::PID, (0..4).map(Some));
        table.fill(Column::CPU_NS, processes.iter().map(|(ns, _)| *ns));
        table.fill_signed(Column::NICE, processes.iter().map(|(_, any)| any.map(|any| any.cast_signed() / 2)));
        let table = frame.table_mut(Section::Tasks);
        table.reset(tasks.len());
        table.fill_signed(Column::PID, tasks.iter().map(|(pid, _, _)| Some(*pid)));
        table.fill(Column::CPU_NS, tasks.iter().map(|(_, ns, _)| *ns));
        table.fill_signed(Column::NICE, tasks.iter().map(|(_, _, any)| any.map(|any| any.cast_signed() / 2)));
        prop_assert!(decode(&encoded(&frame)).is_ok_and(|decoded| decoded == frame));
    }
}

#[test]
fn a_task_that_is_as_its_process_takes_no_bytes() {
    let mut frame = Frame::new();
    for section in [Section::Processes, Section::Tasks] {
        let table = frame.table_mut(section);
        table.reset(100);
        table.fill_signed(Column::PID, (0..100).map(Some));
        (0..40).for_each(|id| {
            let column = Column::by_id(id).filter(|column| column.kind() == Kind::Unsigned);
            if let Some(column) = column {
                table.fill(column, (0..100).map(|row| Some(row * 1_000_003 * u64::from(id))));
            }
        });
    }
    let with_tasks = encoded(&frame).len();
    frame.table_mut(Section::Tasks).reset(0);
    let without = encoded(&frame).len();
    // A record has at least eight bytes, and each field an entry.
    assert!(with_tasks - without < 100 * 8 + 40 * 16 + 64, "{with_tasks} and {without} bytes");
}

#[test]
fn a_frame_of_the_next_version_is_read() {
    let bytes = NEXT_VERSION.bytes();
    let frame = decode(&bytes).expect("it says that version 1 can read it");
    assert_eq!((frame.figure(Column::START_NS), frame.figure(Column::END_NS)), (Some(100), Some(300)));
    let processes = frame.table(Section::Processes);
    let tids: Vec<_> = (0..3).map(|row| processes.get_signed(Column::TID, row)).collect();
    assert_eq!(tids, [Some(10), Some(11), Some(300)]);
    assert_eq!(processes.get(Column::UID, 0), None, "that field is absent, not 0");
    // Another version that it says cannot be read by this one.
    let mut bytes = bytes;
    bytes[10] = 2;
    let sentence = decode(&bytes).expect_err("it needs version 2");
    assert!(sentence.contains("version 2"), "{sentence}");
    let kind = |bytes: &[u8]| Frame::decode(bytes).expect_err("it is none").kind();
    assert_eq!((kind(&bytes), kind(&bytes[1..])), (ErrorKind::TooNew, ErrorKind::Damaged));
}

#[test]
fn what_would_cost_more_memory_than_it_has_bytes_is_refused() {
    let few = |records, record_bytes| {
        let fields = [Field::new(64, 0).base(1)];
        Layout::default()
            .section(1, 1, &[Field::new(115, 0)])
            .sized_section(3, records, record_bytes, &fields)
            .bytes()
    };
    // Without bytes of their own, any number of rows would fit.
    assert!(decode(&few(0, 0)).is_err());
    assert!(decode(&few(MOST_RECORDS, 0)).is_err());
    let mut bytes = few(1, 8);
    assert!(decode(&bytes).is_ok());
    let at = 40 + 24 + 8;
    bytes[at..at + 4].copy_from_slice(&MOST_RECORDS.to_le_bytes());
    assert!(decode(&bytes).is_err(), "more records than bytes");
    bytes[at..at + 4].copy_from_slice(&(MOST_RECORDS + 1).to_le_bytes());
    let sentence = decode(&bytes).expect_err("more than the limit");
    assert!(sentence.contains(&MOST_RECORDS.to_string()), "{sentence}");
    // Each of these fields would be read from the same bytes.
    let field = |id| Field::new(id, 0).width(8);
    let fields = [field(64).stored(&[1]), field(65).stored(&[1]).at(0)];
    let overlapping =
        Layout::default().section(1, 1, &[Field::new(115, 0)]).sized_section(3, 1, 8, &fields).bytes();
    assert!(decode(&overlapping).expect_err("they overlap").contains("overlap"));
}

/// What is made of these rows takes more memory than of others: there are no more than a writer tells apart.
#[test]
fn more_pairs_disks_and_cgroups_than_there_can_be_are_refused() {
    let number = |number: u32| [number as u8 | 0x80, (number >> 7) as u8];
    for (section, most) in [(Section::Pairs, 4_352), (Section::Disks, 515), (Section::Wire, 1_024)] {
        let sentence = format!("section {} has more than {most} r", section.id());
        for (rows, is_right) in [(most, true), (most + 1, false), (1 << 16, false)] {
            let frame =
                Layout::default().section(1, 1, &[Field::new(115, 0)]).section(section.id(), rows, &[]);
            let read = Frame::decode(&frame.bytes());
            let rest = Frame::new().decode_wanted_from(&frame.bytes(), &Wanted::all_but(section));
            assert_eq!((read.is_ok(), rest.is_ok()), (is_right, is_right), "{rows} rows of {section:?}");
            assert!(read.is_ok() || read.is_err_and(|error| error.to_string().starts_with(&sentence)));
            let mut own = Frame::new();
            own.table_mut(section).reset(rows as usize);
            let written = own.encode(&mut Vec::new());
            assert_eq!(written.is_ok(), is_right, "{rows} rows of {section:?}");
            assert!(written.is_ok() || written.is_err_and(|error| error.to_string().starts_with(&sentence)));
        }
        // Two sections without columns, and no text.
        for rows in [most, most + 1] {
            let head = [&[2, 1, 1, 0, section.id() as u8][..], &number(rows), &[0, 0]].concat();
            let plain = [&[head.len() as u8][..], &head].concat();
            let read = ChainReader::new(&Wanted::ALL).read(&plain, &[], u64::MAX, &mut Frame::new());
            // It does not say which rows these are.
            let error = read.expect_err("it has no rows").to_string();
            assert_eq!(error.starts_with(&sentence), rows > most, "{rows} rows of {section:?}: {error}");
        }
    }
}

#[test]
fn what_is_not_that_of_a_frame_is_said() {
    let interval = [Field::new(115, 0)];
    for (layout, words) in [
        (Layout::default(), "not one record"),
        (Layout::default().section(1, 2, &interval), "not one record"),
        (Layout::default().section(1, 1, &interval).section(1, 1, &interval), "twice"),
        (Layout::default().section(1, 1, &[Field::new(115, 0).kind(1)]), "kind"),
        (Layout::default().section(1, 1, &[Field::new(113, 0).kind(2).base(3)]), "no text"),
        (Layout::default().section(1, 1, &[Field::new(115, 0).base(u64::MAX)]), "too large"),
        (
            Layout::default().section(1, 1, &[Field::new(115, 0).base(u64::MAX).width(1).stored(&[1])]),
            "too large",
        ),
    ] {
        let sentence = decode(&layout.bytes()).expect_err(words);
        assert!(sentence.contains(words), "{sentence}");
    }
}
