//! A fork storm, a thread storm and a build at once, for a long time. Each replayed interval is the live one to the byte. The report of any
//! span adds up to the capacity, and each long interval of a tier is the sum of its short ones. Needs root. A release build takes less:
//! `CPULEDGER_TEST_FULL=1 cargo test --release -p cpuledger-cli --test replay_long_root`.

use std::hash::{DefaultHasher, Hasher};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use cpuledger_load::{Mixture, MixturePlan, Storm, StormPlan, online_cpus};
use cpuledger_model::make;
use cpuledger_recording::{Options, Recording, Tier, Writer};
use proptest::prelude::Rng;
use proptest::test_runner::{RngAlgorithm, TestRng};
use serde::Deserialize;
use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde_json::Value;

/// Intervals of a second, and how many of them the long ones have.
const SHORT: (u64, u64) = (12, 4);
const FULL: (u64, u64) = (600, 60);

/// Spans that are reported.
const SPANS: usize = 20;
const DIMENSIONS: [&str; 6] = ["command", "user", "cgroup", "process", "ancestor", "unit"];

const SECOND_NS: u64 = 1_000_000_000;

/// By how much the time of a run may differ from its intervals: it begins before the first, and ends behind the last.
const START_AND_END: Duration = Duration::from_secs(20);

fn is_full() -> bool {
    std::env::var_os("CPULEDGER_TEST_FULL").is_some()
}

fn cpuledger() -> Command {
    // The load keeps more tasks ready to run than there are CPUs.
    let mut command = Command::new("nice");
    command.args(["-n", "-20", env!("CARGO_BIN_EXE_cpuledger")]).stdin(Stdio::null());
    command.env("CPULEDGER_SOCKET", "/nowhere");
    command
}

/// `cpuledger top --batch` as JSON, read line by line. It is killed at the end, if it has not ended.
struct Top {
    child: Child,
    lines: BufReader<ChildStdout>,
    line: Vec<u8>,
}

impl Top {
    fn start(options: &[&str]) -> Top {
        let mut command = cpuledger();
        command.args(["top", "--batch", "--format", "json", "-H"]).args(options);
        let mut child = command.stdout(Stdio::piped()).spawn().expect("it starts");
        let stdout = child.stdout.take().expect("a pipe");
        Top { child, lines: BufReader::with_capacity(1 << 20, stdout), line: Vec::new() }
    }

    fn line(&mut self) -> Option<&[u8]> {
        self.line.clear();
        let read = self.lines.read_until(b'\n', &mut self.line).expect("a pipe");
        (read > 0).then_some(self.line.as_slice())
    }

    fn end(mut self) {
        let mut rest = Vec::new();
        self.lines.read_to_end(&mut rest).expect("a pipe");
        assert!(rest.is_empty());
        let status = self.child.wait().expect("it ends");
        assert!(status.success(), "{status}");
    }
}

impl Drop for Top {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The length and a digest of a line, as if it were of this source.
fn digest(line: &[u8], source: &str) -> (usize, u64) {
    let name = format!("\"source\":\"{source}\"");
    let at = line.windows(name.len()).position(|window| window == name.as_bytes()).expect("a source");
    let (before, behind) = (&line[..at], &line[at + name.len()..]);
    let mut hasher = DefaultHasher::new();
    hasher.write(before);
    hasher.write(behind);
    (before.len() + behind.len(), hasher.finish())
}

/// What of an interval is compared, summed up while it is read: a list may have a hundred thousand rows.
#[derive(Debug, Deserialize)]
struct Sums {
    start_ns: u64,
    end_ns: u64,
    online_cpus: u64,
    capacity_ns: u64,
    attributed_ns: u64,
    idle_ns: u64,
    unattributed_ns: u64,
    #[serde(deserialize_with = "cpu_time")]
    processes: u64,
    #[serde(deserialize_with = "count")]
    exited: u64,
}

impl Sums {
    fn figures(&self) -> [u64; 5] {
        [self.capacity_ns, self.attributed_ns, self.idle_ns, self.unattributed_ns, self.exited]
    }

    fn of(line: &[u8]) -> Sums {
        let sums: Sums = serde_json::from_slice(line).expect("JSON");
        assert_eq!(sums.processes, sums.attributed_ns, "to the nanosecond");
        assert_eq!(sums.attributed_ns + sums.idle_ns + sums.unattributed_ns, sums.capacity_ns);
        assert_eq!(sums.capacity_ns, (sums.end_ns - sums.start_ns) * sums.online_cpus);
        assert_eq!(sums.online_cpus, online_cpus().expect("sysfs").len() as u64, "as /sys has it");
        sums
    }
}

#[derive(Deserialize)]
struct Row {
    cpu_ns: u64,
}

/// Adds up what a function makes of the elements of a list.
struct Adding<T>(fn(T) -> u64);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Adding<T> {
    type Value = u64;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<u64, A::Error> {
        let mut sum = 0;
        while let Some(element) = list.next_element()? {
            sum += self.0(element);
        }
        Ok(sum)
    }
}

fn cpu_time<'de, D: serde::Deserializer<'de>>(list: D) -> Result<u64, D::Error> {
    list.deserialize_seq(Adding(|row: Row| row.cpu_ns))
}

fn count<'de, D: serde::Deserializer<'de>>(list: D) -> Result<u64, D::Error> {
    list.deserialize_seq(Adding(|_: IgnoredAny| 1))
}

/// Records the load while it is printed. Returns the digests of what was printed.
fn run_live(books: &Path, seconds: u64) -> Vec<(usize, u64)> {
    let forks = Storm::start(&StormPlan { workers: 1, ..StormPlan::default() }).expect("a storm");
    let threads =
        Storm::start(&StormPlan { workers: 1, threads: true, ..StormPlan::default() }).expect("a storm");
    let plan = MixturePlan { shells: 0, compilers: 2, thread_makers: 0, pairs: 0 };
    let _build = Mixture::of(&plan).expect("compilers");
    let (begin, mut digests) = (Instant::now(), Vec::new());
    let (path, number) = (books.to_str().expect("UTF-8"), seconds.to_string());
    let mut top = Top::start(&["--source", "ledger", "-d", "1", "-n", &number, "--record", path]);
    while let Some(line) = top.line() {
        digests.push(digest(line, "ledger"));
    }
    top.end();
    let elapsed = begin.elapsed();
    forks.stop().expect("it ends");
    threads.stop().expect("it ends");
    assert_eq!(digests.len() as u64, seconds);
    assert!(
        elapsed >= Duration::from_secs(seconds) && elapsed < Duration::from_secs(seconds) + START_AND_END
    );
    digests
}

/// What is replayed, which is what was printed.
fn replay(books: &Path, live: &[(usize, u64)]) -> Vec<Sums> {
    let mut top = Top::start(&["--replay", books.to_str().expect("UTF-8")]);
    let mut sums: Vec<Sums> = Vec::new();
    while let Some(line) = top.line() {
        assert_eq!(digest(line, "replay"), live[sums.len()], "interval {}", sums.len());
        sums.push(Sums::of(line));
    }
    top.end();
    assert_eq!(sums.len(), live.len());
    assert!(sums.windows(2).all(|pair| pair[0].end_ns == pair[1].start_ns), "without a gap");
    sums
}

/// The recording again, with a tier of longer intervals beside. Returns where that tier is.
fn with_tier(books: &Path, folder: &Path, long: u64) -> PathBuf {
    let tier = |seconds| Tier::new(Duration::from_secs(seconds), None);
    let options = make!(Options { tiers: vec![tier(0), tier(long)] });
    let mut writer = Writer::open(folder, options).expect("a folder");
    let mut recording = Recording::open(books).expect("a recording");
    let mut next = recording.first();
    while let Some(place) = next {
        let record = recording.read(place).expect("it can be read").expect("it is whole");
        writer.append(&record.frame).expect("there is room");
        next = recording.next(place);
    }
    writer.close().expect("there is room");
    let mut tiers = Recording::tiers(folder).expect("a recording");
    tiers.pop().expect("two tiers").1
}

/// Each long interval is the sum of the short ones in it.
fn assert_sums(tier: &Path, short: &[Sums]) -> usize {
    let mut top = Top::start(&["--replay", tier.to_str().expect("UTF-8")]);
    let (mut rest, mut merged) = (short, 0);
    while let Some(line) = top.line() {
        let long = Sums::of(line);
        let own = rest.partition_point(|sums| sums.end_ns <= long.end_ns);
        let (parts, behind) = rest.split_at(own);
        assert_eq!(parts.first().map(|first| first.start_ns), Some(long.start_ns));
        assert_eq!(parts.last().map(|last| last.end_ns), Some(long.end_ns));
        let sum = |place: usize| parts.iter().map(|part| part.figures()[place]).sum::<u64>();
        assert_eq!(long.figures(), std::array::from_fn(sum));
        (rest, merged) = (behind, merged + 1);
    }
    top.end();
    assert!(rest.is_empty() && merged > 1 && merged < short.len());
    merged
}

fn report(books: &Path, options: &[&str]) -> Value {
    let mut command = cpuledger();
    let output = command.arg("report").arg(books).args(["--format", "json"]).args(options).output();
    let output = output.expect("it runs");
    assert!(output.status.success(), "{options:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// The capacity and the number of the intervals whose middle is in a span, from their bounds in the files.
fn capacity(books: &Path, since_ns: u64, until_ns: u64) -> (u64, u64) {
    let cpus = online_cpus().expect("sysfs").len() as u64;
    let mut recording = Recording::open(books).expect("a recording");
    let (mut sum, mut next) = ((0, 0), recording.first());
    while let Some(place) = next {
        let entry = recording.entry(place).expect("a record");
        let length_ns = entry.end_ns - entry.start_ns;
        if (since_ns..until_ns).contains(&(entry.end_realtime_ns - length_ns / 2)) {
            sum = (sum.0 + length_ns * cpus, sum.1 + 1);
        }
        next = recording.next(place);
    }
    sum
}

/// Reports of random spans, by random dimensions, add up.
fn assert_reports(books: &Path, seed: u64) -> usize {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let mut random = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut recording = Recording::open(books).expect("a recording");
    let (start_ns, end_ns) = recording.span_realtime_ns().expect("it has records");
    let (first, last) = (start_ns / SECOND_NS, end_ns.div_ceil(SECOND_NS));
    let mut compared = 0;
    for _ in 0..SPANS {
        let mut any = || first + random.next_u64() % (last - first + 1);
        let (one, two) = (any(), any());
        let (since, until) = (one.min(two), one.max(two));
        let by = DIMENSIONS[random.next_u64() as usize % DIMENSIONS.len()];
        let top = (random.next_u64() % 40).to_string();
        let (capacity_ns, intervals) = capacity(books, since * SECOND_NS, until * SECOND_NS);
        if intervals == 0 {
            continue;
        }
        let [since, until] = [since, until].map(|second| format!("@{second}"));
        let options = ["--since", &since, "--until", &until, "--by", by, "--top", &top];
        let report = report(books, &options);
        assert_eq!(
            (number(&report["capacity_ns"]), number(&report["intervals"])),
            (capacity_ns, intervals),
            "{options:?}"
        );
        let rows = report["rows"].as_array().expect("rows").iter().chain([&report["other"]]);
        let own: u64 = rows.map(|row| number(&row["self_ns"])).sum();
        assert_eq!(own, number(&report["attributed_ns"]), "{options:?}");
        let rest = ["idle_ns", "unattributed_ns", "untold_ns"].map(|key| number(&report[key]));
        assert_eq!(own + rest.iter().sum::<u64>(), capacity_ns, "{options:?}");
        compared += 1;
    }
    assert!(compared > SPANS / 2, "seed {seed}");
    compared
}

#[test]
fn storms_and_a_build_are_kept_to_the_byte_and_the_nanosecond_root() {
    let (seconds, long) = if is_full() { FULL } else { SHORT };
    let seed = std::env::var("CPULEDGER_TEST_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let folder = tempfile::tempdir().expect("a folder");
    let books = folder.path().join("books");
    let live = run_live(&books, seconds);
    let short = replay(&books, &live);
    let dead: u64 = short.iter().map(|sums| sums.exited).sum();
    assert!(dead > 100 * seconds, "{dead} died");
    let merged = assert_sums(&with_tier(&books, &folder.path().join("tiers"), long), &short);
    let reports = assert_reports(&books, seed);
    println!(
        "{} intervals, {} bytes of JSON, {dead} dead; {merged} merged; {reports} reports of seed {seed}",
        live.len(),
        live.iter().map(|(length, _)| length).sum::<usize>()
    );
}
