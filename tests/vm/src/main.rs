//! Boots the kernels of distributions under emulation, runs this repository's privileged tests in each, prints what came
//! of it, and can write it to `docs/kernels.md`.

mod binaries;
mod boot;
mod cpio;
mod kernels;
mod table;

use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use std::{env, fmt, fs, thread};

use anyhow::Context;
use clap::Parser;
use cpuledger_vm::Series;
use rustix::fs::MemfdFlags;

use boot::Booted;
use kernels::{Fetched, Kernel};

/// So many guests at a time: each takes a CPU, and of its time a tenth is spent in sleep.
const AT_A_TIME: usize = 3;
/// So long may a guest take; where the machine is idle it takes less than a minute.
const GUEST_LIMIT: Duration = Duration::from_secs(1000);
/// Where the tables go, below the repository.
const DOCUMENT: &str = "docs/kernels.md";

/// Run the privileged tests on the kernels of distributions, under emulation.
#[derive(Parser)]
struct Arguments {
    /// Only kernels of these series, as 6.12
    #[arg(long, value_name = "SERIES")]
    series: Vec<Series>,
    /// Only suites whose name has this in it
    #[arg(long, value_name = "PART")]
    suite: Option<String>,
    /// Write docs/kernels.md, if all kernels and suites were run and all is as it should be
    #[arg(long)]
    write: bool,
    /// Where this machine cannot run them (no network and no kernels from an earlier run, no emulator), say so and succeed
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
    boot::find_emulator()?;
    binaries::find_static_libraries()?;
    let fetched = kernels::fetch(&cache)?;
    for note in &fetched.notes {
        println!("cpuledger-vm: {note}");
    }
    let Fetched { mut kernels, .. } = fetched;
    if !arguments.series.is_empty() {
        kernels.retain(|kernel| arguments.series.contains(&kernel.series));
        anyhow::ensure!(!kernels.is_empty(), "no kernel of the matrix is of these series");
    }
    println!("cpuledger-vm: kernels after {:.0} s; building the tests", begin.elapsed().as_secs_f64());
    let (initramfs, _open) = in_memory(&binaries::initramfs(arguments.suite.as_deref())?)?;
    println!(
        "cpuledger-vm: tests after {:.0} s; booting {} kernels",
        begin.elapsed().as_secs_f64(),
        kernels.len()
    );
    let boot = Instant::now();
    let booted = boot_all(&kernels, &initramfs)?;
    let guests_took = boot.elapsed().as_secs_f64();
    print!("{}", table::terminal(&booted));
    let is_whole = arguments.series.is_empty() && arguments.suite.is_none();
    let problems: Vec<String> = booted.iter().flat_map(|booted| booted.problems(is_whole)).collect();
    for problem in &problems {
        println!("FAILED: {problem}");
    }
    if arguments.write && is_whole && problems.is_empty() {
        fs::write(DOCUMENT, table::document(&booted)).with_context(|| format!("cannot write {DOCUMENT}"))?;
    }
    println!(
        "cpuledger-vm: {} problems after {:.0} s, of which the guests took {guests_took:.0} s",
        problems.len(),
        begin.elapsed().as_secs_f64()
    );
    Ok(problems.is_empty())
}

/// A file without a name, which goes with us however we end; its path holds for us and for what we start.
fn in_memory(content: &[u8]) -> anyhow::Result<(PathBuf, File)> {
    let file = rustix::fs::memfd_create("initramfs", MemfdFlags::empty()).context("no file in memory")?;
    let mut file = File::from(file);
    file.write_all(content).context("the initramfs does not fit into memory")?;
    Ok((format!("/proc/self/fd/{}", file.as_raw_fd()).into(), file))
}

/// Where kernels are kept between runs: they are the same for all clones.
fn cache() -> anyhow::Result<PathBuf> {
    let folder = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")));
    let cache = base.unwrap_or_else(binaries::target_folder).join("cpuledger-vm");
    fs::create_dir_all(&cache).with_context(|| format!("cannot make {}", cache.display()))?;
    Ok(fs::canonicalize(cache)?)
}

/// Boots all, some at a time, in the order of their series.
fn boot_all(kernels: &[Kernel], initramfs: &std::path::Path) -> anyhow::Result<Vec<Booted>> {
    // The newest take longest.
    let waiting = Mutex::new(kernels.iter().collect::<Vec<&Kernel>>());
    let done = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                while let Some(kernel) = { waiting.lock().expect("nobody panics with it").pop() } {
                    let booted = boot::boot(kernel, initramfs, GUEST_LIMIT);
                    done.lock().expect("nobody panics with it").push(booted);
                }
            });
        }
    });
    let done = done.into_inner().expect("nobody panics with it");
    let mut booted = done.into_iter().collect::<anyhow::Result<Vec<Booted>>>()?;
    booted.sort_by_key(|booted| booted.series);
    Ok(booted)
}
