//! What each account of a ledger costs the work that it counts, and how much of that the kernel takes to call its programs.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};
use cpuledger::{Account, Accounts};
use cpuledger_bpf::ledger::Options;
use cpuledger_load::{LoopDevice, Sleepers};
use libbpf_rs::{Link, ObjectBuilder};

use crate::hooks::{Latency, SUBJECTS, attached, median_of_pairs};
use crate::measure::median;
use crate::results::{Results, Row};
use crate::table::{Table, thousands};

/// Options of `accounts`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Counted rounds, in each of which every ledger has a turn
    #[arg(long, default_value_t = 15)]
    rounds: usize,
    /// Only these works, by their mode of latency.c
    #[arg(long, value_delimiter = ',')]
    works: Vec<String>,
}

/// Sleeping threads beside the work.
const SLEEPING: usize = 200;

/// What is timed besides forks, threads and pipes: as [`SUBJECTS`].
const OF_ACCOUNTS: [(&str, &str, u32); 4] = [
    ("TCP round trip on one CPU, 1 byte", "tcp", 10_000),
    ("UDP round trip on one CPU, 1 byte", "udp", 10_000),
    ("Unix socket round trip on one CPU, 1 byte", "unix", 20_000),
    ("direct read of 4 KiB of a loop device, at random", "read", 4_000),
];

const OF_BLAME: &[&str] = &["sched_wakeup", "sched_wakeup_new", "sched_migrate_task"];
const OF_NETWORK: &[&str] = &["sock_send_length", "sock_recv_length"];
const OF_DISK: &[&str] = &["block_io_start", "block_rq_issue", "block_rq_complete", "block_io_done"];

/// Without what blame adds at a switch, in the ledger's program there.
const LEAST_OF_BLAME: &[&str] = &["least_sched_wakeup", "least_sched_wakeup_new", "least_sched_migrate_task"];

/// What runs beside the work: a ledger, and programs that do nothing or the least.
struct Beside {
    name: &'static str,
    accounts: Accounts,
    nothing: &'static [&'static [&'static str]],
    /// Which one of [`BESIDES`] it is compared with.
    reference: usize,
}

impl Beside {
    /// Whether it is the ledger that all but pairs are compared with.
    fn is_reference(&self) -> bool {
        self.accounts.is_empty() && self.nothing.is_empty()
    }
}

const fn keeps(name: &'static str, accounts: &[Account], reference: usize) -> Beside {
    Beside { name, accounts: Accounts::of(accounts), nothing: &[], reference }
}

const fn calls(name: &'static str, nothing: &'static [&'static [&'static str]]) -> Beside {
    Beside { name, accounts: Accounts::NONE, nothing, reference: 0 }
}

/// The first keeps no account. Pairs come with blame, and are compared with that.
const BESIDES: [Beside; 11] = [
    keeps("none", &[], 0),
    keeps("blame", &[Account::Blame], 0),
    calls("none, with empty programs on the hooks of blame", &[OF_BLAME]),
    calls("none, with programs that do the least for blame", &[LEAST_OF_BLAME]),
    keeps("pairs, beside blame", &[Account::Blame, Account::Pairs], 1),
    keeps("network", &[Account::Network], 0),
    calls("none, with empty programs on the hooks of network", &[OF_NETWORK]),
    keeps("disk", &[Account::Disk], 0),
    calls("none, with empty programs on the hooks of disk", &[OF_DISK]),
    keeps("all four", &Account::ALL, 0),
    calls("none, with empty programs on all of these hooks", &[OF_BLAME, OF_NETWORK, OF_DISK]),
];

/// The programs that do nothing, compiled.
struct Nothing(PathBuf);

impl Nothing {
    fn compile() -> anyhow::Result<Nothing> {
        let path = std::env::temp_dir().join(format!("cpuledger-nothing-{}.o", std::process::id()));
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/empty.bpf.c");
        let status =
            Command::new("clang").args(["-target", "bpf", "-O2", "-c", "-o"]).args([&path, &source]).status();
        let status = status.context("cannot run clang")?;
        ensure!(status.success(), "clang: {status}");
        Ok(Nothing(path))
    }

    /// Attaches those on these hooks.
    fn attach(&self, hooks: &[&str]) -> anyhow::Result<Vec<Link>> {
        if hooks.is_empty() {
            return Ok(Vec::new());
        }
        let is_wanted = |name: &std::ffi::OsStr| hooks.iter().any(|hook| name == *hook);
        let mut open = ObjectBuilder::default().open_file(&self.0)?;
        open.progs_mut().for_each(|mut program| {
            let wanted = is_wanted(program.name());
            program.set_autoload(wanted);
        });
        let object = open.load()?;
        let wanted = object.progs_mut().filter(|program| is_wanted(program.name()));
        let links: Vec<Link> = wanted.map(|program| program.attach()).collect::<Result<_, _>>()?;
        ensure!(links.len() == hooks.len(), "{} of {} hooks have a program", links.len(), hooks.len());
        Ok(links)
    }
}

impl Drop for Nothing {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Measures and prints.
///
/// # Errors
/// Without root, clang or losetup, on kernels without one of the accounts, or when a work fails.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let (latency, nothing) = (Latency::compile()?, Nothing::compile()?);
    // On tmpfs: what its device takes is the same at each read.
    let file = PathBuf::from(format!("/dev/shm/cpuledger-bench-{}", std::process::id()));
    let disk = LoopDevice::new(&file);
    let _ = std::fs::remove_file(&file);
    let disk = disk?;
    let _sleepers = Sleepers::start(SLEEPING, 1)?;
    let mut results = Results::create("accounts", &[])?;
    let caption = format!(
        "Slowdown by each account (1.02 = 2 % slower): the median ratio to a ledger without it, of {} rounds in which each has a turn. Round trips are of one byte \
         on one CPU, by a pipe and by sockets; `read` is a direct read of 4 KiB of a loop device, at random",
        arguments.rounds
    );
    let is_wanted =
        |mode: &str| arguments.works.is_empty() || arguments.works.iter().any(|work| work == mode);
    let works: Vec<_> =
        SUBJECTS.into_iter().chain(OF_ACCOUNTS).filter(|(_, mode, _)| is_wanted(mode)).collect();
    let durations = in_turns(arguments.rounds, &nothing, || {
        works.iter().map(|&(_, mode, times)| latency.run_on(mode, times, disk.path())).collect()
    })?;
    let header = ["beside a ledger that keeps"].into_iter().chain(works.iter().map(|(_, mode, _)| *mode));
    let mut table = Table::new("accounts", &caption, header);
    for (beside, rounds) in BESIDES.iter().zip(&durations) {
        let mut cells = vec![beside.name.to_owned()];
        for (index, (name, ..)) in works.iter().enumerate() {
            let of = |rounds: &[Vec<Duration>]| rounds.iter().map(|round| round[index]).collect::<Vec<_>>();
            let (own, other) = (of(rounds), of(&durations[beside.reference]));
            results.add(&Row::new(&format!("{name}: {}", beside.name), SLEEPING, &own))?;
            let ratio = median_of_pairs(&own, &other, |own, other| own / other);
            let nanos = || format!("{} ns", thousands(median(&own).as_nanos() as usize));
            cells.push(if beside.is_reference() { nanos() } else { format!("{ratio:.3}") });
        }
        table.row(cells);
    }
    table.keep(&results)?;
    println!("raw results: {}", results.path().display());
    Ok(())
}

/// The durations of each work, by [`BESIDES`] and round. Each round begins with the next one, after a round that does not count.
fn in_turns(
    rounds: usize,
    nothing: &Nothing,
    works: impl Fn() -> anyhow::Result<Vec<Duration>>,
) -> anyhow::Result<Vec<Vec<Vec<Duration>>>> {
    let mut durations = vec![Vec::new(); BESIDES.len()];
    for round in 0..=rounds {
        for turn in 0..BESIDES.len() {
            let index = (round + turn) % BESIDES.len();
            let beside = &BESIDES[index];
            let _links = nothing.attach(&beside.nothing.concat())?;
            let options = Options { accounts: beside.accounts, ..Options::default() };
            let of_works = attached(options, &works)?;
            if round > 0 {
                durations[index].push(of_works);
            }
        }
        eprintln!("round {round} of {rounds}");
    }
    Ok(durations)
}
