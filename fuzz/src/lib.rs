//! Everything that takes bytes from elsewhere, each behind a function that takes any bytes: it must neither panic nor hang,
//! and what it writes must be what it promises to be. What reads frames has a bound of memory beside.
//!
//! `fuzz_targets/` hands them to libFuzzer (`make fuzz`), `tests/corpora.rs` replays the corpora and tries mutations of them in
//! `make test`. A new target is a function here, a row of [`TARGETS`], a file in `fuzz_targets/`, a `[[bin]]` and a folder in
//! `corpus/`.

use cpuledger::fuzzing;
use peak::Most;

mod frame;
mod peak;
mod printed;
mod proc_text;
mod query;
mod segment;
mod shown;
mod varlink;

/// A target: bytes in, no panic.
pub type Target = fn(&[u8]);

/// Every target by the name of its corpus.
pub const TARGETS: &[(&str, Target)] = &[
    ("proc_text", proc_text),
    ("taskstats", taskstats),
    ("abi_records", abi_records),
    ("ps_options", ps_options),
    ("query", query),
    ("config", config),
    ("varlink", varlink),
    ("frame", frame),
    ("segment", segment),
    ("shown", shown),
];

/// Files of /proc, in any of which any process may have a hand: its name is in `stat` and `status`, its cgroups' are its owner's.
pub fn proc_text(bytes: &[u8]) {
    proc_text::parse(bytes);
    let mut line = Vec::new();
    cpuledger_proc::escape::append_escaped(&mut line, bytes);
    let text = String::from_utf8(line).expect("escaped text is UTF-8");
    assert!(!text.contains(char::is_control), "{text:?}");
}

/// A datagram of taskstats, and the struct alone.
pub fn taskstats(bytes: &[u8]) {
    use cpuledger::source::netlink::{layout, message};

    /// The family of the recorded messages.
    const FAMILY: u16 = 31;
    // What is damaged is refused; that is an answer.
    let _ = message::for_each(bytes, FAMILY, |message| {
        if let message::Body::Figures(figures) = message.body {
            figures.task.into_iter().chain(figures.process).for_each(decode);
        }
    });
    decode(bytes);

    fn decode(bytes: &[u8]) {
        if let Ok(stats) = layout::decode(bytes) {
            let is_of_series = layout::SERIES.contains(&(stats.version, bytes.len()));
            assert!(is_of_series || layout::SIZES.contains(&bytes.len()), "{stats:?}");
        }
    }
}

/// Records of the kernel half, decoded into rows and printed.
pub fn abi_records(bytes: &[u8]) {
    fuzzing::deaths(bytes.get(1..).unwrap_or_default());
    let printed = printed::print(bytes);
    let text = String::from_utf8(printed.text).expect("text is UTF-8");
    assert!(!text.contains(|letter: char| letter.is_control() && letter != '\n'), "{text:?}");
    for line in printed.json.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        serde_json::from_slice::<serde_json::Value>(line).expect("a row is JSON");
    }
}

/// The arguments of ps, one a line.
pub fn ps_options(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let arguments: Vec<&str> = text.split('\n').collect();
    if let Err(sentence) = cpuledger_cli::fuzzing::plan_of_ps(&arguments) {
        assert!(!sentence.is_empty());
    }
}

/// A filter of the screen, and the tasks it is asked about.
pub fn query(bytes: &[u8]) {
    query::query(bytes);
}

/// The configuration file of the screen.
pub fn config(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let sentences = match cpuledger_cli::fuzzing::config(text) {
        Ok(warnings) => warnings,
        Err(error) => vec![error],
    };
    for sentence in sentences {
        assert!(!sentence.is_empty() && !sentence.contains(char::is_control), "{sentence:?}");
    }
}

/// What comes by the control socket.
pub fn varlink(bytes: &[u8]) {
    varlink::varlink(bytes);
}

/// A frame: decoded, encoded again, read as an interval, and merged with others.
pub fn frame(bytes: &[u8]) {
    peak::within(Most { at_all: 4 << 20, per_byte: 8 << 10 }, bytes, frame::frame);
}

/// A segment of a recording: records, losses, gaps. `docs/format/recording.md` promises how much memory that takes.
pub fn segment(bytes: &[u8]) {
    peak::within(Most { at_all: 8 << 20, per_byte: 16 << 10 }, bytes, segment::segment);
}

/// A frame or a segment, through everything that shows it: `top --replay`, `report` and `export`, in each format.
pub fn shown(bytes: &[u8]) {
    shown::shown(bytes);
}
