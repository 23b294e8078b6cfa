//! What `top --procps` prints of iterations that are always the same: each option and field.

use cpuledger::SourceKind;
use cpuledger::host_statistics::CpuStates;
use cpuledger::machine::Load;

use super::batch::Printer;
use super::head::Head;
use super::options::{Action, parse};
use crate::recorded::machine::{MEMORY, Machine, PID_DIGITS, UPTIME_S, load};
use cpuledger_load::Transcript;

fn states(cpu: u64) -> CpuStates {
    CpuStates {
        user: 100 + cpu,
        nice: 3,
        system: 50,
        idle: 800 - cpu,
        waiting: 7,
        irq: 1,
        softirq: 2,
        steal: 37,
    }
}

/// The first iteration and the next, or the sentence on what is wrong.
fn output(machine: &Machine, line: &str, height: usize) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    let options = match parse(&words, 5001) {
        Ok(Action::Run(options)) => options,
        Ok(other) => return format!("{other:?}"),
        Err(sentence) => return sentence,
    };
    let mut printer = Printer::new(&options);
    machine.settle(&mut printer.around);
    printer.pid_digits = PID_DIGITS;
    printer.height = height;
    let interval = machine.interval(SourceKind::Ledger);
    let mut text = String::new();
    for interval in [None, Some(&interval)] {
        let mut entries = match interval {
            None => printer.first_entries(&machine.snapshot, machine.uptime()),
            Some(interval) => printer.entries(interval),
        };
        let counts = printer.choose(&mut entries);
        printer.look_up(&entries);
        let cpus = if options.has_each_cpu {
            vec![(Some(0), states(0)), (Some(3), states(3))]
        } else {
            vec![(None, states(1))]
        };
        let head = Head {
            time_of_day: "12:00:01".to_owned(),
            uptime_seconds: UPTIME_S,
            users: 2,
            load: Some(Load { tasks: None, ..load() }),
            has_threads: options.has_threads,
            counts,
            cpus,
            memory: Some(MEMORY),
            scale: options.summary_scale,
            has_blank_line: false,
            interval,
        };
        printer.append(&head, entries);
        text += &String::from_utf8_lossy(&printer.text);
    }
    text
}

#[test]
fn iterations_are_recorded() {
    let machine = Machine::new();
    let mut transcript = Transcript::default();
    for options in [
        "-w 100",
        "-w 100 -c",
        "-w 100 -H",
        "-w 100 -i",
        "-w 100 -S",
        "-w 100 -1",
        "-w 100 -E k",
        "-w 100 -E g",
        "-w 100 -e m",
        "-w 100 -e g",
        "-w 100 -e t",
        "-w 40",
        "-w 62",
        "-w 70",
        "-w 71",
        "-w 72",
        "-w 78",
        "-w 79",
        "-w 80",
        "-w 160",
        "-w 9",
        "-w 100 -p 4000,5002",
        "-w 100 -u root",
        "-w 100 -U !root",
        "-w 100 -o +PID",
        "-h",
        "-O",
        "-w 100 -o nothing",
    ] {
        let line = format!("-b {options}");
        transcript.add(&format!("top --procps {line}"), output(&machine, &line, usize::MAX).as_bytes());
    }
    transcript.add("LINES=9 top --procps -b -w", output(&machine, "-b -w 100", 9).as_bytes());
    transcript.assert_recorded("top_procps");
}

#[test]
fn orders_are_recorded() {
    let machine = Machine::new();
    let mut transcript = Transcript::default();
    for (name, _) in super::fields::fields() {
        for sign in ["+", "-"] {
            let line = format!("-b -H -w 100 -o {sign}{name}");
            let text = output(&machine, &line, usize::MAX);
            let rows = text.lines().filter_map(|line| line.split_whitespace().next());
            let tids: Vec<&str> = rows.filter(|word| word.parse::<i32>().is_ok()).collect();
            transcript.add(&format!("top --procps {line}"), tids.join(" ").as_bytes());
        }
    }
    transcript.assert_recorded("top_procps_orders");
}
