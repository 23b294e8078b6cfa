//! What each interval costs its reader while a command makes and ends tasks:
//! `cargo run --release --example storm_cost -- SECONDS COMMAND [ARGUMENT…]` as root.

use std::process::Command;

use cpuledger::source::ledger::{Ledger, Options, Wanted};
use cpuledger::{FieldSet, Interval};
use cpuledger_model::make;
use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeValLike;

/// Intervals after the end of the command.
const QUIET: u32 = 3;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let seconds: f64 = arguments.next().ok_or("SECONDS is missing")?.parse()?;
    let length_ns = (seconds * 1e9) as u64;
    let program = arguments.next().ok_or("COMMAND is missing")?;
    let mut ledger = Ledger::open(Options::default())?;
    let mut interval = Interval::default();
    let wanted = make!(Wanted { fields: FieldSet::ALL, pids: &[], all: false });
    println!(
        "    length  of its   deaths   others no identity  no slot  slots    user  system faults  a death"
    );
    println!(
        "        ms    wish                                     ms             ms      ms            µs"
    );
    ledger.close(ledger.start_ns() + length_ns, &wanted, &mut interval)?;
    let mut child = Command::new(program).args(arguments).spawn()?;
    let (mut left, mut deaths, begin) = (QUIET, 0, getrusage(UsageWho::RUSAGE_THREAD)?);
    while left > 0 {
        let before = getrusage(UsageWho::RUSAGE_THREAD)?;
        ledger.close(ledger.start_ns() + length_ns, &wanted, &mut interval)?;
        let after = getrusage(UsageWho::RUSAGE_THREAD)?;
        tell(&ledger, &interval, &before, &after, length_ns);
        deaths +=
            interval.exited.as_ref().map_or(0, Vec::len) as u64 + interval.unidentified_exits.unwrap_or(0);
        if child.try_wait()?.is_some() {
            left -= 1;
        }
    }
    let [user_us, system_us] = spent_us(&begin, &getrusage(UsageWho::RUSAGE_THREAD)?);
    println!(
        "{deaths} deaths; a death: {:.2} µs user, {:.2} µs system",
        user_us / deaths as f64,
        system_us / deaths as f64
    );
    Ok(())
}

/// In user mode, and in the kernel.
fn spent_us(before: &Usage, after: &Usage) -> [f64; 2] {
    [Usage::user_time, Usage::system_time]
        .map(|time| (time(after).num_microseconds() - time(before).num_microseconds()) as f64)
}

fn tell(ledger: &Ledger, interval: &Interval, before: &Usage, after: &Usage, wished_ns: u64) {
    let [user_us, system_us] = spent_us(before, after);
    let length_ns = interval.end_ns - interval.start_ns;
    let deaths = interval.exited.as_ref().map_or(0, Vec::len);
    println!(
        "{:>10.1} {:>7.3} {:>8} {:>8} {:>11} {:>8.1} {:>6} {:>7.1} {:>7.1} {:>6} {:>8.1}",
        length_ns as f64 / 1e6,
        length_ns as f64 / wished_ns as f64,
        deaths,
        interval.tasks.len(),
        interval.unidentified_exits.unwrap_or(0),
        interval.unattributed_by.no_slot_ns as f64 / 1e6,
        ledger.slots(),
        user_us / 1e3,
        system_us / 1e3,
        after.minor_page_faults() - before.minor_page_faults(),
        (user_us + system_us) / (deaths.max(1) as f64),
    );
}
