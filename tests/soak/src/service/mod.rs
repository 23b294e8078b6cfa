//! The service in a memory cgroup, and three users that try to harm it in every way they can, all the time, beside a storm of forks. One
//! reader does no harm, and a recorder records: nothing is lost to either, and the service lives.

mod books;
mod control;
mod honest;
mod spread;

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use cpuledger_load::{BpfHeld, Cgroup, Harm, Hostile, Storm, StormPlan, become_user};
use cpuledger_service::client::Client;
use rustix::process::{Pid, Signal, kill_process};
use serde::Serialize;

use crate::Findings;
use crate::reader::GONE_WITHIN;
use books::Recorded;
use honest::Honest;
use spread::Spread;

/// The one that reads and does no harm, and those that do.
const HONEST: u32 = 40_000_401;
const HOSTILE: [u32; 3] = [40_000_402, 40_000_403, 40_000_404];
/// The usual interval of the service, and of the recording.
const INTERVAL: Duration = Duration::from_secs(1);
/// The most that 99 of 100 frames may come late or early without the reader's own waits for a CPU, and with them beyond what a thread has that
/// only sleeps: on two CPUs beside a storm that thread alone has a p99 of 2.4 ms.
const MOST_JITTER: Duration = Duration::from_millis(2);
/// What each of the two cgroups may have: that of the service alone, and that of the recorder.
const MEMORY_BYTES: u64 = 256 << 20;
/// How often all is looked at.
const BEAT: Duration = Duration::from_millis(250);
/// For a process to start, or to end.
const PATIENCE: Duration = Duration::from_secs(60);

/// All figures of a run: one line of JSON.
#[derive(Debug, Serialize)]
struct Figures {
    date: String,
    kernel: String,
    cpus: usize,
    seconds: u64,
    memory_limit_bytes: u64,
    /// The most in the first half and in the second, by the kernel's count of the service's cgroup.
    service_bytes: [u64; 2],
    recorder_bytes: u64,
    calls_of_hostile_users: u64,
    forks: u64,
    frames: u64,
    jitter: Spread,
    /// Without the time in which the reader itself waited for a CPU.
    jitter_of_service: Spread,
    waits: Spread,
    delay: Spread,
    late_cuts: Spread,
    calls: Spread,
    /// Of a thread that only sleeps: what the load makes late without the service.
    sleeper: Spread,
    /// Of the reader of one that publishes as the service does, and does nothing else.
    control: Spread,
    recorded: Recorded,
    findings: usize,
}

/// A process in a memory cgroup of its own. It is killed when dropped.
struct Limited {
    name: &'static str,
    child: Child,
    cgroup: Cgroup,
}

impl Limited {
    fn start(name: &'static str, cpuledger: &Path, arguments: &[&str], log: &Path) -> Result<Limited> {
        let cgroup = Cgroup::new("memory").context("a memory cgroup")?;
        cgroup.limit_memory(MEMORY_BYTES)?;
        let log = File::create(log).context("a log")?;
        let child = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "sh", "-c", "echo $$ > \"$0/cgroup.procs\" && exec \"$@\""])
            .arg(cgroup.path())
            .arg(cpuledger)
            .args(arguments)
            .env_remove("NOTIFY_SOCKET")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .with_context(|| format!("start {}", cpuledger.display()))?;
        Ok(Limited { name, child, cgroup })
    }

    /// Whether it is alive; its end is a finding.
    fn is_alive(&mut self, findings: &Findings) -> Result<bool> {
        let status = self.child.try_wait().context("look at a child")?;
        if let Some(status) = status {
            findings.add(format!("the {} has ended: {status}", self.name));
        }
        Ok(status.is_none())
    }

    fn end(&mut self, signal: Signal, findings: &Findings) -> Result<()> {
        if !self.is_alive(findings)? {
            return Ok(());
        }
        kill_process(Pid::from_child(&self.child), signal).context("end a child")?;
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE {
            if let Some(status) = self.child.try_wait().context("wait for a child")? {
                if !status.success() {
                    findings.add(format!("the {} ends with {status}", self.name));
                }
                return Ok(());
            }
            sleep(Duration::from_millis(10));
        }
        findings.add(format!("the {} does not end within {} s", self.name, PATIENCE.as_secs()));
        Ok(())
    }
}

impl Drop for Limited {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Where the run has its files. It is removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Folder> {
        let path = std::env::temp_dir().join(format!("cpuledger-soak-{}", std::process::id()));
        fs::create_dir(&path).with_context(|| format!("make {}", path.display()))?;
        // Other users reach the socket.
        fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).context("its owner may")?;
        Ok(Folder(path))
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Service, recorder and load, for as long as it takes.
struct Run<'a> {
    folder: Folder,
    service: Limited,
    recorder: Limited,
    length: Duration,
    interrupted: &'a AtomicBool,
    findings: &'a Findings,
}

/// Runs it, prints what came of it, and appends the figures to the results of the day.
///
/// # Errors
/// When something cannot be started.
pub fn run(cpuledger: &Path, length: Duration, interrupted: &AtomicBool, findings: &Findings) -> Result<()> {
    let folder = Folder::new()?;
    let socket = folder.at("socket");
    let socket = socket.to_str().context("the folder is not UTF-8")?;
    fs::write(folder.at("config.toml"), "").context("write a configuration")?;
    let config = folder.at("config.toml");
    let config = config.to_str().context("the folder is not UTF-8")?;
    let books = folder.at("books");
    let books = books.to_str().context("the folder is not UTF-8")?;
    let serve = ["serve", "--interval", "1", "--config", config, "--socket", socket];
    let mut service = Limited::start("service", cpuledger, &serve, &folder.at("service.log"))?;
    // It listens before the ledger stands, and answers after.
    let answers =
        || Client::connect(Path::new(socket), PATIENCE).and_then(|mut client| client.info()).is_ok();
    wait_for(answers, &mut service, findings)?;
    let held = BpfHeld::by(service.child.id());
    ensure!(!held.links.is_empty(), "the service has nothing attached");
    let record = ["record", books, "--source", "service", "--socket", socket];
    let mut recorder = Limited::start("recorder", cpuledger, &record, &folder.at("recorder.log"))?;
    wait_for(|| Path::new(books).is_dir(), &mut recorder, findings)?;
    println!(
        "soak: {} s; the service has {} MiB of memory, and the recorder as much of its own",
        length.as_secs(),
        MEMORY_BYTES >> 20
    );
    let mut run = Run { folder, service, recorder, length, interrupted, findings };
    let mut figures = run.under_attack()?;
    figures.recorded = run.end_recording(cpuledger, figures.seconds)?;
    run.service.end(Signal::TERM, findings)?;
    let left = held.left_after(GONE_WITHIN)?;
    if left != BpfHeld::default() {
        findings.add(format!("the service has left {left:?}"));
    }
    figures.findings = findings.count();
    figures.tell();
    keep(&figures)
}

/// Waits until something is so, or the process has ended.
fn wait_for(is_so: impl Fn() -> bool, process: &mut Limited, findings: &Findings) -> Result<()> {
    let begin = Instant::now();
    while !is_so() {
        ensure!(process.is_alive(findings)?, "the {} cannot run", process.name);
        ensure!(begin.elapsed() < PATIENCE, "the {} does not begin", process.name);
        sleep(Duration::from_millis(10));
    }
    Ok(())
}

impl Run<'_> {
    /// Everything at once, for as long as it takes.
    fn under_attack(&mut self) -> Result<Figures> {
        let (is_over, findings, socket) = (AtomicBool::new(false), self.findings, self.folder.at("socket"));
        let begin = Instant::now();
        let (bytes, done, honest, calls, sleeper, control) = scope(|scope| {
            let honest = scope.spawn(|| {
                become_user(HONEST)?;
                Honest::read(&socket, INTERVAL, &is_over, findings)
            });
            let calls = scope.spawn(|| {
                become_user(HONEST)?;
                honest::call_until(&socket, &is_over)
            });
            let sleeper = scope.spawn(|| control::sleep_until(&is_over));
            let control = scope.spawn(|| control::publish_until(HONEST, &is_over));
            let done = self.attack(&socket, &is_over);
            is_over.store(true, Ordering::SeqCst);
            let (bytes, done) = done?;
            let honest = honest.join().expect("it does not panic")?;
            let calls = calls.join().expect("it does not panic")?;
            let sleeper = sleeper.join().expect("it does not panic");
            let control = control.join().expect("it does not panic")?;
            anyhow::Ok((bytes, done, honest, calls, sleeper, control))
        })?;
        let jitter = Spread::of(&honest.jitters_ns());
        let [sleeper, control] = [sleeper, control].map(|jitters_ns| Spread::of(&jitters_ns));
        let jitter_of_service = Spread::of(&honest.own_jitters_ns());
        let most_ns = MOST_JITTER.as_nanos() as u64;
        if jitter_of_service.p99_ns > most_ns || jitter.p99_ns > sleeper.p99_ns + most_ns {
            findings.add(format!(
                "the honest reader's jitter: {jitter}; without its own waits for a CPU: {jitter_of_service}; of a thread that \
                 only sleeps: {sleeper}; of a reader of one that only publishes: {control}"
            ));
        }
        let uname = rustix::system::uname();
        Ok(Figures {
            date: jiff::Zoned::now().strftime("%Y-%m-%d %H:%M").to_string(),
            kernel: uname.release().to_string_lossy().split('.').take(2).collect::<Vec<_>>().join("."),
            cpus: std::thread::available_parallelism().context("count the CPUs")?.get(),
            seconds: begin.elapsed().as_secs(),
            memory_limit_bytes: MEMORY_BYTES,
            service_bytes: bytes,
            recorder_bytes: self.recorder.cgroup.memory_bytes()?,
            calls_of_hostile_users: done[0],
            forks: done[1],
            frames: honest.frames,
            jitter,
            jitter_of_service,
            waits: Spread::of(&honest.waits_ns),
            delay: honest.delays(),
            late_cuts: Spread::of(&honest.late_ns),
            calls: Spread::of(&calls),
            sleeper,
            control,
            recorded: Recorded::default(),
            findings: 0,
        })
    }

    /// The load. Returns the memory of the service in both halves; calls and forks.
    fn attack(&mut self, socket: &Path, is_over: &AtomicBool) -> Result<([u64; 2], [u64; 2])> {
        let cpus = std::thread::available_parallelism().context("count the CPUs")?.get();
        let storm = Storm::start(&StormPlan { workers: cpus, ..StormPlan::default() })?;
        let mut hostile = Vec::new();
        for uid in HOSTILE {
            for harm in Harm::ALL {
                hostile.push((harm, Hostile::start(socket, uid, harm)?));
            }
        }
        let (begin, mut halves) = (Instant::now(), [0_u64; 2]);
        while begin.elapsed() < self.length && !self.interrupted.load(Ordering::Relaxed) {
            let half = usize::from(begin.elapsed() > self.length / 2);
            halves[half] = halves[half].max(self.service.cgroup.memory_bytes()?);
            if !self.service.is_alive(self.findings)? || !self.recorder.is_alive(self.findings)? {
                break;
            }
            sleep(BEAT);
        }
        // What follows is the end of the load, and not looked at.
        is_over.store(true, Ordering::SeqCst);
        let mut calls = 0;
        for (harm, hostile) in hostile {
            match hostile.stop().with_context(|| format!("end the user of {}", harm.name()))? {
                Some(harmed) if harmed.calls < 20 => {
                    self.findings.add(format!("the user of {} has done nothing: {harmed:?}", harm.name()));
                }
                Some(harmed) => calls += harmed.calls,
                None => {}
            }
        }
        Ok((halves, [calls, storm.stop()?.made]))
    }

    /// Ends the recorder, and looks at what it has recorded.
    fn end_recording(&mut self, cpuledger: &Path, seconds: u64) -> Result<Recorded> {
        self.recorder.end(Signal::INT, self.findings)?;
        let books = self.folder.at("books");
        let recorded = books::read(&books, self.findings)?;
        if recorded.length_ns + 2 * INTERVAL.as_nanos() as u64 <= self.length.as_nanos() as u64 {
            self.findings.add(format!("of {seconds} s the recording has {} ns", recorded.length_ns));
        }
        books::compare(cpuledger, &books, &recorded, self.findings)?;
        Ok(recorded)
    }
}

impl Figures {
    fn tell(&self) {
        let mib = |bytes: u64| bytes >> 20;
        let [first, second] = self.service_bytes.map(mib);
        println!("soak: {} s", self.seconds);
        println!("  service         at most {first} MiB in the first half, {second} MiB in the second");
        println!("  hostile users   {} calls, beside {} forks", self.calls_of_hostile_users, self.forks);
        println!("  honest reader   {} frames, jitter: {}", self.frames, self.jitter);
        println!("                  without its own waits for a CPU: {}", self.jitter_of_service);
        println!("                  its own waits for a CPU: {}", self.waits);
        println!("                  from the end of an interval to its arrival: {}", self.delay);
        println!("                  intervals longer than usual: {}", self.late_cuts);
        println!("                  calls: {}", self.calls);
        println!("  only sleeping   {}", self.sleeper);
        println!("  only publishing {}", self.control);
        println!(
            "  recording       {} intervals, {:.1} s, {} exits, {} ns not attributed; the recorder has {} MiB",
            self.recorded.intervals,
            self.recorded.length_ns as f64 / 1e9,
            self.recorded.exited,
            self.recorded.unattributed_ns,
            mib(self.recorder_bytes)
        );
    }
}

/// Appends the line to the results of the day.
fn keep(figures: &Figures) -> Result<()> {
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/results");
    let date = figures.date.split(' ').next().unwrap_or_default();
    let machine = rustix::system::uname().machine().to_string_lossy().into_owned();
    let folder = results.join(format!("{date}-{machine}-{}cpu", figures.cpus));
    fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;
    let path = folder.join("soak.jsonl");
    let mut file = OpenOptions::new().append(true).create(true).open(&path).context("open the results")?;
    writeln!(file, "{}", serde_json::to_string(figures)?).context("write the results")?;
    println!("  figures         {}", path.canonicalize().unwrap_or(path).display());
    Ok(())
}
