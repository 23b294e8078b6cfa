//! What `ps` prints of a machine that is always the same: each format, column, alias and key of an order.

use cpuledger::Comm;
use cpuledger::machine::tid_digits;
use cpuledger_view::column::Align;
use cpuledger_view::layout::{Content, names};

use super::listing::lines_of;
use super::plan::Plan;
use super::{help, macros};
use crate::recorded::machine::{Machine, PID_DIGITS};
use cpuledger_load::Transcript;

/// Columns of one listing.
const COLUMNS_A_LISTING: usize = 8;

/// What a command line prints, or the sentence on what is wrong with it.
fn output(machine: &Machine, personality: &str, line: &str) -> Vec<u8> {
    let mut plan = match Plan::of_line_as(personality, line) {
        Ok(plan) => plan,
        Err(sentence) => return sentence.into_bytes(),
    };
    for column in &mut plan.columns {
        // It is as wide as the largest pid of the machine that the test runs on.
        let is_pid = matches!(column.content, Content::Column(column) if column.align == Align::Pid);
        if is_pid && column.width == tid_digits().max(column.header.len()) {
            column.width = PID_DIGITS.max(column.header.len());
        }
    }
    lines_of(&plan, &machine.snapshot, |around| machine.settle(around)).expect("the output fits")
}

fn add(transcript: &mut Transcript, machine: &Machine, line: &str) {
    transcript.add(&format!("ps {line}"), &output(machine, "", line));
}

/// Every name of a column, in an order that does not depend on the tables.
fn sorted_names() -> Vec<&'static str> {
    let mut all: Vec<&str> = names().collect();
    all.sort_unstable();
    all
}

fn assert_columns_recorded(name: &str, options: &str) {
    let machine = Machine::new();
    let mut transcript = Transcript::default();
    for names in sorted_names().chunks(COLUMNS_A_LISTING) {
        add(&mut transcript, &machine, &format!("-e {options} -o {}", names.join(",")));
    }
    transcript.assert_recorded(name);
}

#[test]
fn columns_as_text_are_recorded() {
    assert_columns_recorded("ps_columns_text", "-ww");
}

#[test]
fn columns_as_json_are_recorded() {
    assert_columns_recorded("ps_columns_json", "-L --format json");
}

#[test]
fn columns_as_csv_are_recorded() {
    assert_columns_recorded("ps_columns_csv", "--format csv");
}

#[test]
fn formats_are_recorded() {
    let machine = Machine::new();
    let mut transcript = Transcript::default();
    for line in [
        "-A",
        "ax",
        "axu",
        "axv",
        "axs",
        "axl",
        "axj",
        "axX",
        "axZ",
        "-ef",
        "-eF",
        "-el",
        "-ely",
        "-elF",
        "-ej",
        "-ejf",
        "-ejl",
        "-eL",
        "-eLf",
        "-eT",
        "-ec",
        "-ecl",
        "-eP",
        "-ePF",
        "-eM",
        "axm",
        "axH",
        "ax u -L",
        "ax u -jT",
        "ax l -c",
        "ax l -j",
        "ax l -y",
        "ax j -L",
        "ax -f",
        "-e --forest",
        "axf",
        "axjf",
        "axe",
        "axn u",
        "axS",
        "axc",
        "-e -O ppid",
        "ax O ppid",
        "ax O ppid -o user",
        "-e -o pid=A,comm=B -o s=,tty",
        "-e -o stat:12=A:B,comm:3",
        "-e -o %p|%c|%a",
        "-e --no-headers",
        "-e --delimiter .",
        "--format csv-safe -e -o comm,args,nice",
        "--format json -em -o pid,tid,comm,stat,size",
        "--format csv -eL -o pid,tid,args,lstart",
        "-e --date-format %F -o lstart",
        "-p 5000,5001 -o pid,args",
        "-C make -N -o pid,comm",
        "r -o pid",
        "-e --signames s",
    ] {
        add(&mut transcript, &machine, &format!("--cols 100 {line}"));
    }
    for width in [20, 40, 80, 132] {
        add(&mut transcript, &machine, &format!("--cols {width} axu"));
        add(&mut transcript, &machine, &format!("--cols {width} axs"));
    }
    add_layouts(&mut transcript, &machine);
    add_odd_name(&mut transcript, machine);
    transcript.assert_recorded("ps_formats");
}

/// Branches and commands in narrow columns and screens, and headers that are empty or wide.
fn add_layouts(transcript: &mut Transcript, machine: &Machine) {
    for width in [3, 7, 9, 12, 16, 20] {
        add(transcript, machine, &format!("--cols {width} -e --forest -o comm"));
    }
    for columns in ["comm:5,s", "fname", "fname:3,s", "fname:10,s"] {
        add(transcript, machine, &format!("--cols 100 -e --forest -o {columns}"));
    }
    for columns in ["pid= -o comm=", "pid= -o comm", "comm:3,s", "comm:4,pid", "uid,pid,s,comm"] {
        add(transcript, machine, &format!("--cols 100 -e -o {columns}"));
    }
    add_filters(transcript, machine);
}

/// Rows that match, alone and beside other selections.
fn add_filters(transcript: &mut Transcript, machine: &Machine) {
    for line in [
        "--filter cpu>0.1 -o pid,%cpu,comm",
        "--filter user=root|rss>1M -o pid,user,rss,comm",
        "-N --filter user=root -o pid,user,comm",
        "-p 5000,5001 --filter comm~^m -o pid,comm",
    ] {
        add(transcript, machine, &format!("--cols 100 {line}"));
    }
}

/// A name that JSON and CSV have to quote.
fn add_odd_name(transcript: &mut Transcript, mut machine: Machine) {
    machine.snapshot.processes[5].comm = Comm::new(b"a \"b\",\\\n");
    for format in ["json", "csv"] {
        let line = format!("--format {format} -p 5001 -o pid,comm,time,ni,user_ns");
        transcript
            .add(&format!(r#"ps {line}   # a name with ", \ and a newline"#), &output(&machine, "", &line));
    }
}

#[test]
fn formats_of_other_systems_are_recorded() {
    let machine = Machine::new();
    let mut transcript = Transcript::default();
    for name in macros::names() {
        add(&mut transcript, &machine, &format!("--cols 132 -e -o {name}"));
    }
    let mut add = |personality, line: &str| {
        let line = format!("--cols 132 {line}");
        transcript
            .add(&format!("PS_PERSONALITY={personality} ps {line}"), &output(&machine, personality, &line));
    };
    for personality in
        ["linux", "bsd", "sunos4", "old", "debian", "digital", "aix", "390", "hp", "irix", "sco"]
    {
        for line in ["-e", "-ef", "-el", "-ej", "axu", "axl", "axv", "-ex"] {
            add(personality, line);
        }
    }
    for (personality, line) in [("debian", "-efj"), ("sco", "-elx")] {
        add(personality, line);
    }
    transcript.assert_recorded("ps_formats_of_other_systems");
}

#[test]
fn orders_are_recorded() {
    let machine = Machine::new();
    let mut transcript = Transcript::default();
    let mut add = |order: &str| {
        let lines = output(&machine, "", &format!("-e -o pid= {order}"));
        let pids: Vec<String> =
            String::from_utf8_lossy(&lines).split_whitespace().map(str::to_owned).collect();
        transcript.add(&format!("ps -e -o pid= {order}"), pids.join(" ").as_bytes());
    };
    for name in sorted_names() {
        add(&format!("--sort {name}"));
        add(&format!("--sort -{name},-pid"));
    }
    for letter in ('A'..='Z').chain('a'..='z') {
        add(&format!("O {letter}"));
        add(&format!("O -{letter}"));
    }
    transcript.assert_recorded("ps_orders");
}

#[test]
fn the_list_of_columns_is_recorded() {
    let mut transcript = Transcript::default();
    transcript.add("ps L", help::columns().as_bytes());
    transcript.add("ps --help", help::options("").as_bytes());
    transcript.assert_recorded("ps_lists");
}
