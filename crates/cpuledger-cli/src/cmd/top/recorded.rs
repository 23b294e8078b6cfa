//! What `top --batch` prints of an interval that is always the same: each format, option, source and key of an order.

use clap::Parser;
use cpuledger::SourceKind;
use cpuledger::field::FIELDS;
use cpuledger_view::key::PARTS;

use super::{Arguments, Options, Printer};
use crate::recorded::machine::{self, Machine};
use cpuledger_load::Transcript;

#[derive(Debug, Parser)]
struct Line {
    #[command(flatten)]
    arguments: Arguments,
}

/// What a command line prints of an interval from that source, or the sentence on what is wrong with it.
fn output(machine: &Machine, source: SourceKind, line: &str) -> Vec<u8> {
    output_in(100, machine, source, line)
}

/// Likewise in that number of columns.
fn output_in(width: usize, machine: &Machine, source: SourceKind, line: &str) -> Vec<u8> {
    let words = std::iter::once("top").chain(line.split_whitespace());
    let options = match Options::parse(&Line::parse_from(words).arguments, false) {
        Ok(options) => options,
        Err(failure) => return failure.to_string().into_bytes(),
    };
    let mut printer = Printer::new(&options);
    machine.settle(&mut printer.around);
    printer.boot_id = Some("11111111-2222-3333-4444-555555555555".to_owned());
    printer.load = Some(machine::load());
    printer.width = width;
    printer.append(&machine.interval(source));
    printer.buffer
}

fn assert_formats_recorded(name: &str, format: &str) {
    let machine = Machine::new();
    let mut transcript = Transcript::default();
    let mut add = |source: SourceKind, options: &str| {
        let line = format!("-b --format {format} {options}");
        transcript.add(&format!("top {line}   # {source}"), &output(&machine, source, &line));
    };
    for source in SourceKind::ALL {
        add(source, "");
        add(source, "-H");
    }
    for options in ["--all", "-H --all -o pid", "-p 4000,5002", "-u root --all", "-o -PID", "-c", "-c --all"]
    {
        add(SourceKind::Ledger, options);
    }
    if format == "text" {
        add(SourceKind::Ledger, "--columns pid,command,usr,%wait,rss_bytes,container");
    }
    for filter in ["cpu>20", "comm~^c|user=root", "!(user=root)", "cpu>1000"] {
        add(SourceKind::Ledger, &format!("--filter {filter}"));
    }
    transcript.assert_recorded(name);
}

#[test]
fn text_is_recorded() {
    assert_formats_recorded("top_text", "text");
}

#[test]
fn json_is_recorded() {
    assert_formats_recorded("top_json", "json");
}

#[test]
fn csv_is_recorded() {
    assert_formats_recorded("top_csv", "csv");
}

#[test]
fn csv_for_spreadsheets_is_recorded() {
    assert_formats_recorded("top_csv_safe", "csv-safe");
}

/// Names of columns that top has, whatever it may be called that keeps them.
const NAMES: &str = "%CPU CPU %MEM MEM TIME+ TIME PID TID TGID PPID PGRP SID UID USER PR NI VIRT RES SHR SWAP S COMMAND nTH nMaj nMin TH \
    ACCT P SELF X C USR SYS %STL STL %WAIT WAIT %BLK IO SLP stop cpu command Nth PARTS SUM time+x sum rss rmem";

#[test]
fn orders_are_recorded() {
    let machine = Machine::new();
    let mut transcript = Transcript::default();
    let mut keys: Vec<&str> =
        PARTS.iter().map(|part| part.key).chain(FIELDS.iter().map(|info| info.key)).collect();
    keys.sort_unstable();
    for name in NAMES.split_whitespace().chain(keys) {
        for sign in ["", "-"] {
            let line = format!("-b -H --all -o {sign}{name}");
            let text = String::from_utf8_lossy(&output(&machine, SourceKind::Ledger, &line)).into_owned();
            let rows = text.lines().skip_while(|line| !line.starts_with("    PID")).skip(1);
            let tids: Vec<&str> = rows.map_while(|line| line.split_whitespace().next()).collect();
            let order = if tids.is_empty() { text } else { tids.join(" ") };
            transcript.add(&format!("top {line}"), order.as_bytes());
        }
    }
    transcript.assert_recorded("top_orders");
}

/// The sum of the shares of each row as printed, in tenths of a percent, by the places of their headers.
fn sums_of_shares(text: &str) -> Vec<u64> {
    let mut sums = Vec::new();
    let mut place: Option<(usize, usize)> = None;
    for line in text.lines() {
        let end_of = |name: &str| line.find(name).map(|from| from + name.len());
        if line.contains(" WAIT ") {
            let first = if line.contains(" USR ") { " USR" } else { " CPU" };
            let last = [" REST", " ? ", " STOP"].into_iter().find_map(end_of).expect("shares have an end");
            // The widest cell of a share is as wide as its column.
            place = line.find(first).map(|from| (from - 2, last));
            continue;
        }
        let Some((from, to)) = place.filter(|_| !line.is_empty()) else {
            place = None;
            continue;
        };
        let cells: String = line.chars().skip(from).take(to - from).collect();
        let shares = cells.split_whitespace().filter(|word| word.contains('.') && !word.starts_with('('));
        let tenths: Vec<u64> = shares.filter_map(|word| word.replace('.', "").parse().ok()).collect();
        if !tenths.is_empty() {
            sums.push(tenths.iter().sum());
        }
    }
    sums
}

#[test]
fn what_is_shown_by_states_and_groups_is_recorded() {
    let machine = Machine::new();
    let mut transcript = Transcript::default();
    let by = ["wait", "cgroup", "user", "command", "wait,cgroup", "wait,command"];
    for (width, options) in
        [(512, ""), (80, ""), (60, ""), (100, "--all"), (100, "-H --all -o pid"), (100, "-o -wait")]
    {
        for by in by {
            let line = format!("-b --by {by} {options}");
            let text = output_in(width, &machine, SourceKind::Ledger, &line);
            let sums = sums_of_shares(&String::from_utf8_lossy(&text));
            assert!(sums.iter().all(|sum| *sum == 1000), "{line} in {width} columns: {sums:?}");
            assert!(
                sums.len() >= 3 && (by != "wait" || sums.len() >= 7),
                "{line} in {width} columns: {sums:?}"
            );
            transcript.add(&format!("top {line}   # {width} columns"), &text);
        }
    }
    for line in ["-b --by parts", "-b --by parts -H"] {
        transcript.add(&format!("top {line}"), &output(&machine, SourceKind::Ledger, line));
    }
    for source in [SourceKind::Walk, SourceKind::Netlink, SourceKind::Procfs] {
        for by in ["cgroup", "user", "command"] {
            let line = format!("-b --by {by}");
            transcript.add(&format!("top {line}   # {source}"), &output(&machine, source, &line));
        }
        let line = format!("-b --by wait --source {source}");
        transcript.add(&format!("top {line}"), &output(&machine, source, &line));
    }
    for by in ["command", "user", "process", "wait,command"] {
        let line = format!("-b --format json --by {by}");
        transcript.add(&format!("top {line}"), &output(&machine, SourceKind::Ledger, &line));
    }
    for line in [
        "-b --by wait,user --format csv",
        "-b --by user,command",
        "-b --by waiting",
        "-b --by user --filter comm~^c",
        "-b --filter colour=1",
    ] {
        transcript.add(&format!("top {line}"), &output(&machine, SourceKind::Ledger, line));
    }
    transcript.assert_recorded("top_by");
}
