//! What observing costs programs of others: the same work beside nothing, the ledger, the service and their peers, in turns. Its CPU time is what
//! its cgroup was charged. What the hooks take is the kernel's own count of their run time.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use cpuledger_load::{Ticks, online_cpus};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde::Serialize;

use crate::measure::middle;
use crate::results::Results;
use crate::table::{Table, digits};
use crate::truth::workloads::Workload;
use crate::truth::{Running, is_here};
use crate::waiting::{BPF_STATS, Setting, programs};

/// Options of `real`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Counted runs of each work beside each observer
    #[arg(long, default_value_t = 21)]
    rounds: usize,
    /// Only work whose name contains one of these
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
}

/// Some work, which a script does once for each line that it reads.
struct Work {
    /// How many operations it is.
    operations: f64,
    does: Workload,
}

/// A script that starts what is needed, and then does that work for each line of `go`.
macro_rules! on_request {
    ($start:literal, $work:literal) => {
        concat!(
            "mkfifo go done; ",
            $start,
            "\n exec 3<>go 4<>done; while read -r _ <&3; do ",
            $work,
            " && echo done >&4 || echo fail >&4; done"
        )
    };
}

const fn work(
    name: &'static str,
    operations: f64,
    needs: &'static [(&'static str, &'static str)],
    prepare: &'static str,
    run: &'static str,
    settles_ms: u64,
) -> Work {
    Work {
        operations,
        does: Workload { name, needs, prepare, run, settles_ms, always_runnable: None, is_short: false },
    }
}

const WORK: [Work; 5] = [
    work(
        "PostgreSQL: transactions of pgbench, 4 clients",
        4000.0,
        &[("pgbench", "postgresql-contrib"), ("/usr/lib/postgresql", "postgresql")],
        "mkdir pg && chown postgres pg && setpriv --reuid=postgres --regid=postgres --clear-groups \
         /usr/lib/postgresql/*/bin/initdb -D pg/data -A trust -N",
        on_request!(
            "user='setpriv --reuid=postgres --regid=postgres --clear-groups'
             $user /usr/lib/postgresql/*/bin/postgres -D pg/data -k \"$PWD/pg\" -c listen_addresses= -c fsync=off &
             until $user pgbench -h \"$PWD/pg\" -i -q -s 1 postgres; do sleep .1; done",
            "$user pgbench -n -h \"$PWD/pg\" -c 4 -j 2 -t 1000 postgres"
        ),
        4000,
    ),
    work(
        "redis: requests of redis-benchmark",
        100_000.0,
        &[("redis-server", "redis-server"), ("redis-benchmark", "redis-tools")],
        "",
        on_request!(
            "redis-server --port 0 --unixsocket \"$PWD/socket\" --save '' & until [ -S socket ]; do sleep .1; done",
            "redis-benchmark -s \"$PWD/socket\" -q -n 100000 -t get"
        ),
        1000,
    ),
    work(
        "nginx: requests of ab, 8 connections",
        30_000.0,
        &[("nginx", "nginx-light"), ("ab", "apache2-utils")],
        "echo 'daemon off; pid pid; error_log stderr; worker_processes 2; events {} http { access_log off; server { \
         listen 127.0.0.1:18091; location / { return 200 hello; } } }' >conf && chmod 755 .",
        on_request!(
            "nginx -p \"$PWD\" -c \"$PWD/conf\" &",
            "ab -q -k -n 30000 -c 8 http://127.0.0.1:18091/"
        ),
        1000,
    ),
    work(
        "hackbench: messages",
        400_000.0,
        &[("hackbench", "rt-tests")],
        "",
        on_request!("", "hackbench -g 2 -f 10 -l 2000"),
        500,
    ),
    work(
        "forks: /bin/true from a shell",
        1000.0,
        &[],
        "",
        on_request!("", "i=0; while [ $i -lt 1000 ]; do /bin/true; i=$((i + 1)); done"),
        500,
    ),
];

/// Observers, in the order of the table. The last one is the ledger again, while the kernel counts what its hooks take.
const OBSERVERS: [&str; 7] =
    ["nothing", "ledger", "service", "atop 1", "htop -d 10", "perf sched record", COUNTED];
const COUNTED: &str = "ledger, counted";

/// How long an observer has to begin.
const BEGINS_WITHIN: Duration = Duration::from_millis(1500);

/// One run of some work beside an observer.
#[derive(Debug, Clone, Serialize)]
struct Run {
    work: &'static str,
    observer: &'static str,
    operations: f64,
    elapsed_ns: u64,
    /// Charged to the cgroup of the work.
    cpu_ns: u64,
    /// Of all CPUs of the machine: what was not idle.
    busy_ns: u64,
    /// What the hooks took of that, and how often they ran, where that was counted.
    hooks_ns: u64,
    hook_runs: u64,
}

/// What observes, in a process group of its own.
struct Observer {
    child: Option<Child>,
}

impl Observer {
    fn start(name: &str, folder: &Path) -> anyhow::Result<Observer> {
        let cpuledger = std::env::current_exe()?.with_file_name("cpuledger");
        let file = |name| folder.join(name).display().to_string();
        let words: Vec<String> = match name {
            "nothing" => return Ok(Observer { child: None }),
            "ledger" | COUNTED => {
                format!("{} top -b -d 1 --source ledger --format json", cpuledger.display())
            }
            "service" => format!("{} serve --socket {}", cpuledger.display(), file("service")),
            "perf sched record" => format!("perf sched record -q -o {}", file("perf.data")),
            // A screen wants a terminal.
            "htop -d 10" => "script -qec htop\u{a0}-d\u{a0}10 /dev/null".to_owned(),
            other => other.to_owned(),
        }
        .split(' ')
        .map(|word| word.replace('\u{a0}', " "))
        .collect();
        let child = Command::new(&words[0])
            .args(&words[1..])
            .env("TERM", "xterm")
            .env_remove("NOTIFY_SOCKET")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .with_context(|| {
                format!("cannot run {}; scripts/install-packages bench truth installs it", words[0])
            })?;
        let mut observer = Observer { child: Some(child) };
        std::thread::sleep(BEGINS_WITHIN);
        ensure!(observer.is_there(), "{name} has ended by itself");
        Ok(observer)
    }

    fn is_there(&mut self) -> bool {
        self.child.as_mut().is_none_or(|child| matches!(child.try_wait(), Ok(None)))
    }

    /// Run time and runs of the programs that it holds.
    fn hooks(&self) -> [u64; 2] {
        let Some(child) = &self.child else { return [0, 0] };
        let programs = programs(child.id());
        programs.values().fold([0, 0], |sum, [ns, runs]| [sum[0] + ns, sum[1] + runs])
    }
}

impl Drop for Observer {
    fn drop(&mut self) {
        let Some(child) = &mut self.child else { return };
        let _ = killpg(Pid::from_raw(child.id().cast_signed()), Signal::SIGTERM);
        let _ = child.wait();
    }
}

/// Measures and prints.
///
/// # Errors
/// Without root, or when some work or an observer does not run.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let is_wanted = |work: &&Work| {
        arguments.only.is_empty() || arguments.only.iter().any(|part| work.does.name.contains(part.as_str()))
    };
    let mut results = Results::create("real", &["atop", "htop", "perf"])?;
    let caption = "Each cell shows CPU time per operation and, in brackets, operations per second, as differences from a run without an observer in the same round; medians. \"Hooks\" is their run time \
                   by the kernel's count, as a share of all CPU time that the machine used meanwhile";
    let header = OBSERVERS.iter().take(OBSERVERS.len() - 1).map(|name| (*name).to_owned());
    let header = ["work".to_owned()].into_iter().chain(header);
    let mut table = Table::new("real", caption, header.chain(["hooks", "ns a run"].map(str::to_owned)));
    for work in WORK.iter().filter(is_wanted) {
        if let Some((program, package)) = work.does.needs.iter().find(|(program, _)| !is_here(program)) {
            println!("{} HAS NOT RUN: {program} is missing; install {package}", work.does.name);
            continue;
        }
        let runs = measure(work, arguments.rounds).with_context(|| work.does.name)?;
        for run in &runs {
            results.add_any(run)?;
        }
        table.row(row(work, &runs));
    }
    table.keep(&results)?;
    println!("raw results: {}", results.path().display());
    Ok(())
}

/// Each round has each observer once, and begins with another one.
fn measure(work: &Work, rounds: usize) -> anyhow::Result<Vec<Run>> {
    let running = Running::start(&work.does)?;
    let folder: PathBuf = running.folder().to_owned();
    let open = |name| OpenOptions::new().read(true).write(true).open(folder.join(name));
    let (mut go, mut done) = (open("go")?, open("done")?);
    once(&mut go, &mut done)?;
    let cpus = online_cpus()?.len() as u64;
    let mut runs = Vec::new();
    for round in 0..rounds {
        for place in 0..OBSERVERS.len() {
            let name = OBSERVERS[(place + round) % OBSERVERS.len()];
            let counts = if name == COUNTED { Some(Setting::set(BPF_STATS, "1")?) } else { None };
            let mut observer = Observer::start(name, &folder)?;
            let usage = || running.usage_ns();
            let idle = Ticks::now()?.idle;
            let (before_ns, hooks, begin) = (usage()?, observer.hooks(), Instant::now());
            once(&mut go, &mut done)?;
            let (elapsed_ns, after_ns, after) =
                (begin.elapsed().as_nanos() as u64, usage()?, observer.hooks());
            ensure!(observer.is_there(), "{name} has ended by itself");
            let run = Run {
                work: work.does.name,
                observer: name,
                operations: work.operations,
                elapsed_ns,
                cpu_ns: after_ns - before_ns,
                busy_ns: (elapsed_ns * cpus).saturating_sub((Ticks::now()?.idle - idle).as_nanos() as u64),
                hooks_ns: after[0] - hooks[0],
                hook_runs: after[1] - hooks[1],
            };
            eprintln!("{run:?}");
            runs.push(run);
            drop((observer, counts));
            let _ = fs::remove_file(folder.join("perf.data"));
        }
    }
    Ok(runs)
}

/// Has the work done once.
fn once(go: &mut File, done: &mut File) -> anyhow::Result<()> {
    go.write_all(b"go\n")?;
    let mut answer = [0; 5];
    done.read_exact(&mut answer)?;
    ensure!(&answer == b"done\n", "the work has failed");
    Ok(())
}

fn row(work: &Work, runs: &[Run]) -> Vec<String> {
    let of = |name: &str| runs.iter().filter(|run| run.observer == name).cloned().collect::<Vec<Run>>();
    let (nothing, counted) = (of(OBSERVERS[0]), of(COUNTED));
    let figure = |runs: &[Run], figure: fn(&Run) -> f64| middle(runs.iter().map(figure).collect());
    let mut cells = vec![work.does.name.to_owned()];
    cells.push(format!(
        "{} µs ({})",
        digits(figure(&nothing, |run| run.cpu_ns as f64 / run.operations / 1e3)),
        digits(figure(&nothing, |run| run.operations * 1e9 / run.elapsed_ns as f64))
    ));
    for name in &OBSERVERS[1..OBSERVERS.len() - 1] {
        let pairs: Vec<(Run, Run)> = of(name).into_iter().zip(nothing.iter().cloned()).collect();
        let change = |of: fn(&Run) -> u64| {
            100.0
                * (middle(pairs.iter().map(|(run, beside)| of(run) as f64 / of(beside) as f64).collect())
                    - 1.0)
        };
        let slower = change(|run| run.elapsed_ns) / 100.0 + 1.0;
        cells.push(format!("{:+.1} % ({:+.1} %)", change(|run| run.cpu_ns), 100.0 / slower - 100.0));
    }
    cells.push(format!("{:.2} %", figure(&counted, |run| 100.0 * run.hooks_ns as f64 / run.busy_ns as f64)));
    cells.push(format!("{:.0}", figure(&counted, |run| run.hooks_ns as f64 / run.hook_runs as f64)));
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_compares_with_nothing_of_the_same_round() {
        let runs = OBSERVERS.map(|observer| Run {
            work: "",
            observer,
            operations: 10.0,
            elapsed_ns: if observer == "atop 1" { 1_250_000_000 } else { 1_000_000_000 },
            cpu_ns: if observer == "ledger" { 1_020_000 } else { 1_000_000 },
            busy_ns: 1_000_000,
            hooks_ns: 5_000,
            hook_runs: 20,
        });
        let cells = row(&WORK[4], &runs);
        assert_eq!(cells[1], "100 µs (10.0)");
        assert_eq!((&*cells[2], &*cells[4]), ("+2.0 % (+0.0 %)", "+0.0 % (-20.0 %)"));
        assert_eq!(cells[7..], ["0.50 %", "250"]);
    }
}
