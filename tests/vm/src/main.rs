//! Boots the kernels of distributions under emulation, runs this repository's privileged tests in each, prints what came
//! of it, and can write it to `docs/kernels.md`.

mod again;
mod apt;
mod binaries;
mod boot;
mod cpio;
mod emulator;
mod kernels;
mod kits;
mod memory;
mod programs;
mod table;
mod toolchain;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use std::{env, fmt, fs, thread};

use anyhow::Context;
use clap::Parser;
use cpuledger_vm::extent::{Choice, Chosen};
use cpuledger_vm::suite::Suite;
use cpuledger_vm::{Architecture, Extent, Machine, Series};

use boot::{Booted, Guest};
use kernels::Kernel;
use kits::{Kits, leave_out};

/// Number of guests that run at a time: each uses a CPU, and sleeps for half of the time.
const AT_A_TIME: usize = 4;
/// Timeout of a guest; on an idle machine it takes one or two minutes.
const GUEST_LIMIT: Duration = Duration::from_secs(2000);
/// Where the tables go, below the repository.
const DOCUMENT: &str = "docs/kernels.md";

/// Run the privileged tests on the kernels of distributions, under emulation.
#[derive(Parser)]
struct Arguments {
    /// Only kernels of these series, as 6.12
    #[arg(long, value_name = "SERIES")]
    series: Vec<Series>,
    /// Only this machine: two-cpus, many-cpus, sparse-cpus, concurrent or arm64. With --series, also where the matrix does not boot it
    #[arg(long, value_name = "MACHINE")]
    machine: Vec<Machine>,
    /// Only suites whose name contains this, in each guest
    #[arg(long, value_name = "PART")]
    suite: Option<String>,
    /// Skip the suites that take minutes
    #[arg(long, conflicts_with = "whole")]
    short: bool,
    /// All suites in all guests, also those that need to run only once or on certain machines
    #[arg(long)]
    whole: bool,
    /// Write docs/kernels.md, if all kernels and suites ran and each result is as expected
    #[arg(long)]
    write: bool,
    /// If this machine cannot run them (no emulator, or no network and no earlier kernels), say so and succeed
    #[arg(long)]
    if_possible: bool,
}

/// Why this machine cannot run the matrix, whatever it is that would be tested.
#[derive(Debug)]
struct Impossible(String);

impl fmt::Display for Impossible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Impossible {}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) if arguments.if_possible && error.is::<Impossible>() => {
            println!("cpuledger-vm: THE KERNEL MATRIX HAS NOT RUN: {error}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("cpuledger-vm: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Whether all is as it should be.
fn run(arguments: &Arguments) -> anyhow::Result<bool> {
    let begin = Instant::now();
    let cache = cache()?;
    let mut left_out = Vec::new();
    let kernels = fetch_kernels(arguments, &cache, &mut left_out)?;
    let choice = choice(arguments);
    let wanted = wanted(&kernels, arguments, choice);
    anyhow::ensure!(
        !wanted.is_empty() || !left_out.is_empty(),
        "the matrix has no such kernel, or does not boot it on such a machine"
    );
    println!("cpuledger-vm: kernels after {:.0} s; building the tests", begin.elapsed().as_secs_f64());
    let kits = Kits::make(&wanted, &cache, &mut left_out)?;
    let guests: Vec<Guest<'_>> = wanted.into_iter().filter_map(|wanted| kits.guest(wanted)).collect();
    println!(
        "cpuledger-vm: tests after {:.0} s; booting {} guests",
        begin.elapsed().as_secs_f64(),
        guests.len()
    );
    let boot = Instant::now();
    let booted = boot_all(&guests)?;
    let guests_took = boot.elapsed().as_secs_f64();
    print!("{}", table::terminal(&booted));
    let at_first: Vec<String> =
        booted.iter().flat_map(|booted| booted.problems(choice.is_complete())).collect();
    for problem in &at_first {
        println!("FAILED: {problem}");
    }
    let problems = left_after_another_run(&guests, &booted, choice.is_complete())?;
    for sentence in &left_out {
        println!("cpuledger-vm: {sentence}");
    }
    let is_all = arguments.series.is_empty() && arguments.machine.is_empty() && choice.is_complete();
    if arguments.write && is_all && left_out.is_empty() && at_first.is_empty() {
        fs::write(DOCUMENT, table::document(&booted)).with_context(|| format!("cannot write {DOCUMENT}"))?;
    }
    println!(
        "cpuledger-vm: {} problems after {:.0} s, of which the guests took {guests_took:.0} s; {:.0} s of CPU time, {:.0} s of them for the guests",
        problems.len(),
        begin.elapsed().as_secs_f64(),
        boot::cpu_time("/proc/self/stat", 13).as_secs_f64(),
        booted.iter().map(|booted| booted.cpu.as_secs_f64()).sum::<f64>()
    );
    Ok(problems.is_empty())
}

/// The suites that are asked for. Suites that are named run in each guest.
fn choice(arguments: &Arguments) -> Choice<'_> {
    let extent = match arguments {
        Arguments { short: true, .. } => Extent::Short,
        Arguments { whole: true, .. } | Arguments { suite: Some(_), .. } => Extent::Whole,
        _ => Extent::Usual,
    };
    Choice { part: arguments.suite.as_deref(), extent }
}

/// The kernels of all architectures that are asked for, oldest first within each.
fn fetch_kernels(
    arguments: &Arguments,
    cache: &Path,
    left_out: &mut Vec<String>,
) -> anyhow::Result<Vec<Kernel>> {
    let is_asked_for = |architecture: &Architecture| {
        let mut machines = arguments.machine.iter();
        arguments.machine.is_empty() || machines.any(|machine| machine.architecture() == *architecture)
    };
    let mut kernels = Vec::new();
    for architecture in Architecture::ALL.into_iter().filter(is_asked_for) {
        match kernels::fetch(architecture, cache) {
            Ok(fetched) => {
                for note in &fetched.notes {
                    println!("cpuledger-vm: {note}");
                }
                kernels.extend(fetched.kernels);
            }
            Err(error) => leave_out(architecture, error, left_out)?,
        }
    }
    Ok(kernels)
}

/// A guest as it is asked for.
#[derive(Debug, Clone, Copy)]
struct Wanted<'a> {
    kernel: &'a Kernel,
    machine: Machine,
    suites: Chosen,
}

/// The guests that are to be booted; what takes longest comes first.
fn wanted<'a>(kernels: &'a [Kernel], arguments: &Arguments, choice: Choice<'_>) -> Vec<Wanted<'a>> {
    let is_wanted = |(kernel, machine): &(&Kernel, Machine)| {
        let (series, machines) = (&arguments.series, &arguments.machine);
        // A combination that is named on the command line is run, even if the matrix does not have it.
        let is_of_matrix =
            !series.is_empty() && !machines.is_empty() || has_machine(kernels, kernel, *machine);
        kernel.architecture == machine.architecture()
            && is_of_matrix
            && (series.is_empty() || series.contains(&kernel.series))
            && (machines.is_empty() || machines.contains(machine))
    };
    let of_machine = |machine| kernels.iter().map(move |kernel| (kernel, machine));
    let with_suites = |(kernel, machine): (&'a Kernel, Machine)| {
        let of_architecture = kernels.iter().filter(|other| other.architecture == kernel.architecture);
        let all: Vec<Series> = of_architecture.map(|kernel| kernel.series).collect();
        Wanted { kernel, machine, suites: choice.on(machine, kernel.series, &all) }
    };
    let mut wanted: Vec<Wanted<'a>> =
        Machine::ALL.into_iter().flat_map(of_machine).filter(is_wanted).map(with_suites).collect();
    // Those with suites that take minutes, those of arm64, and those with many CPUs; then new kernels before old ones.
    let order = [Machine::Arm64, Machine::ManyCpus, Machine::SparseCpus, Machine::Concurrent];
    wanted.sort_by_key(|wanted| {
        let long = wanted.suites.suites().filter(|suite| suite.is_long()).count();
        let place = order.iter().position(|machine| *machine == wanted.machine).unwrap_or(order.len());
        (std::cmp::Reverse(long / order.len()), place, std::cmp::Reverse(wanted.kernel.series))
    });
    wanted
}

/// Whether the matrix boots this kernel on that machine of its architecture. With a thread a CPU it is the newest: the emulators that
/// are not up to it fail with new kernels only.
fn has_machine(kernels: &[Kernel], kernel: &Kernel, machine: Machine) -> bool {
    match machine {
        Machine::TwoCpus | Machine::Arm64 => true,
        Machine::ManyCpus => kernel.series == Series(6, 12),
        Machine::SparseCpus => kernel.series == Series(6, 18),
        Machine::Concurrent => is_newest(kernels, kernel),
    }
}

/// Whether its architecture has no newer one.
fn is_newest(kernels: &[Kernel], kernel: &Kernel) -> bool {
    kernels.iter().rfind(|other| other.architecture == kernel.architecture) == Some(kernel)
}

/// Runs suites with a test that has failed once more, in a guest with nothing else, as scripts/run-tests does. Returns the problems that are left.
fn left_after_another_run(
    guests: &[Guest<'_>],
    booted: &[Booted],
    is_complete: bool,
) -> anyhow::Result<Vec<String>> {
    let (mut left, mut again) = (Vec::new(), Vec::new());
    for booted in booted {
        let problems = booted.problems(is_complete);
        let has_failed = |suite: &Suite| problems.iter().any(|problem| problem.contains(&suite.name()));
        let suites = Chosen::of(|suite| booted.suites.has(suite) && has_failed(suite));
        let is_of_suite = |problem: &String| suites.suites().any(|suite| problem.contains(&suite.name()));
        left.extend(problems.iter().filter(|problem| !is_of_suite(problem)).cloned());
        let is_same =
            |guest: &&Guest<'_>| (guest.machine, guest.kernel.series) == (booted.machine, booted.series);
        let guest = guests.iter().find(is_same).filter(|_| suites.suites().next().is_some());
        again.extend(guest.map(|guest| Guest { suites, ..guest.clone() }));
    }
    if !again.is_empty() {
        println!("cpuledger-vm: runs what has failed again, in {} guests", again.len());
        let problems: Vec<String> =
            boot_all(&again)?.iter().flat_map(|booted| booted.problems(false)).collect();
        for problem in &problems {
            println!("FAILED TWICE: {problem}");
        }
        left.extend(problems);
    }
    Ok(left)
}

/// Where kernels are kept between runs: they are the same for all clones.
fn cache() -> anyhow::Result<PathBuf> {
    let folder = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")));
    let cache = base.unwrap_or_else(toolchain::target_folder).join("cpuledger-vm");
    fs::create_dir_all(&cache).with_context(|| format!("cannot make {}", cache.display()))?;
    Ok(fs::canonicalize(cache)?)
}

/// Boots all, some at a time, in this order; returns them in the order of their series and machines.
fn boot_all(guests: &[Guest<'_>]) -> anyhow::Result<Vec<Booted>> {
    let waiting = Mutex::new(guests.iter());
    let done = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                while let Some(guest) = { waiting.lock().expect("no thread panics with it").next() } {
                    let booted = boot::boot(guest, GUEST_LIMIT);
                    done.lock().expect("no thread panics with it").push(booted);
                }
            });
        }
    });
    let done = done.into_inner().expect("no thread panics with it");
    let mut booted = done.into_iter().collect::<anyhow::Result<Vec<Booted>>>()?;
    booted.sort_by_key(|booted| (booted.machine, booted.series));
    Ok(booted)
}
