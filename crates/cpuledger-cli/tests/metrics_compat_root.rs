//! `metrics --compat` beside a real process-exporter, by the same rules. Needs root, and once a network, from which the package of Debian is unpacked
//! below `target/`.

mod metrics;
mod service;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use cpuledger_load::{Storm, StormPlan, not_run, with_net};
use metrics::{Metrics, TIMEOUT};
use rustix::process::{Pid, Signal, kill_process};
use service::Service;

/// The program, or why there is none.
fn program() -> Result<PathBuf, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("process-exporter");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/unpack-debian");
    let program = "usr/bin/prometheus-process-exporter";
    let output = Command::new(script).arg(&folder).args([program, "prometheus-process-exporter"]).output();
    let output = output.map_err(|error| error.to_string())?;
    match output.status.success() {
        true => Ok(folder.join(program)),
        false => Err(String::from_utf8_lossy(&output.stderr).lines().last().unwrap_or_default().to_owned()),
    }
}

/// A child that ends with this.
struct Running(Child);

impl Running {
    fn start(program: &Path, arguments: &[&str]) -> Running {
        let mut command = Command::new(program);
        let quiet = command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
        // Of its children, none stays behind.
        Running(std::os::unix::process::CommandExt::process_group(quiet, 0).spawn().expect("it starts"))
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).expect("it is ours");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = rustix::process::kill_process_group(Pid::from_child(&self.0), Signal::KILL);
        let _ = self.0.wait();
    }
}

/// Samples of groups by their series.
type Samples = BTreeMap<String, f64>;

/// Those of groups in a text, but for the rest that process-exporter does not have.
fn of_groups(text: &str) -> Samples {
    let lines = text.lines().filter(|line| line.starts_with("namedprocess_namegroup_"));
    let one = |line: &str| {
        let (series, value) = line.rsplit_once(' ').expect("a series and a value");
        (series.to_owned(), value.parse().expect("a number"))
    };
    lines.map(one).filter(|(series, _)| !series.contains("groupname=\"other\"")).collect()
}

/// What a real process-exporter says at a port.
fn scrape_theirs(port: u16) -> Option<Samples> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    write!(stream, "GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    answer.split(' ').nth(1).filter(|status| *status == "200").map(|_| of_groups(&answer))
}

fn scrape_ours(metrics: &Metrics) -> Samples {
    let (head, body) = metrics.ask("GET /metrics HTTP/1.1\r\nHost: localhost\r\nUser-Agent: test");
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    of_groups(&String::from_utf8(body).expect("UTF-8"))
}

/// Both.
struct Scene {
    ours: Metrics,
    theirs: u16,
    _exporter: Running,
    _service: Service,
}

impl Scene {
    fn start(program: &Path, rules: &Path) -> Scene {
        let service = Service::start("");
        let ours = Metrics::start(
            &service.socket(),
            &["--compat", "process-exporter", "--process-names", rules.to_str().expect("UTF-8")],
        );
        let port = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
        let theirs = port.expect("a port").port();
        let listen = format!("127.0.0.1:{theirs}");
        let rules = rules.to_str().expect("UTF-8");
        let exporter = Running::start(program, &["-config.path", rules, "-web.listen-address", &listen]);
        let scene = Scene { ours, theirs, _exporter: exporter, _service: service };
        let begin = Instant::now();
        while scrape_theirs(theirs).is_none() {
            assert!(begin.elapsed() < TIMEOUT, "process-exporter does not answer");
            sleep(Duration::from_millis(50));
        }
        scene
    }

    /// What both say, when ours has an interval that began after this call.
    fn scrape(&self) -> [Samples; 2] {
        self.ours.scrape_later("test");
        [scrape_ours(&self.ours), scrape_theirs(self.theirs).expect("it answers")]
    }
}

/// The values of a family by group.
fn by_group(samples: &Samples, family: &str) -> BTreeMap<String, f64> {
    let of = |(series, value): (&String, &f64)| {
        let labels = series.strip_prefix(family)?.strip_prefix("{groupname=\"")?;
        Some((labels.strip_suffix("\"}")?.to_owned(), *value))
    };
    samples.iter().filter_map(of).collect()
}

/// CPU seconds of a group, all modes.
fn cpu(samples: &Samples, group: &str) -> f64 {
    let prefix = format!("namedprocess_namegroup_cpu_seconds_total{{groupname=\"{group}\",mode=");
    samples.iter().filter(|(series, _)| series.starts_with(&prefix)).map(|(_, value)| value).sum()
}

/// Some CPU time, until it is stopped.
const BURN: &str = "while :; do :; done";
/// Three of them sleep, two of which no rule matches.
const FAMILY: &str = "sleep 1000 & sleep 1000 & wait";

fn rules(folder: &Path) -> String {
    format!(
        "process_names:
  - comm: [compat-idle]
  - exe: ['{0}/compat-burn']
    name: '{{{{.ExeFull}}}}'
  - name: '{{{{.ExeBase}}}}:{{{{.Matches.Kind}}}}'
    exe: [compat-kind]
    cmdline: ['kind=(?P<Kind>\\w+)']
  - name: 'user {{{{.Username}}}}'
    comm: [compat-user]
  - name: kin
    comm: [compat-parent]
  - name: '{{{{.Comm}}}}'
    comm: [compat-short]
    cmdline: ['.+']
",
        folder.display()
    )
}

/// What is there to be grouped.
struct Work {
    burning: Vec<Running>,
    /// The program of these.
    burn: String,
    _others: Vec<Running>,
    /// A program that ends at once.
    short: PathBuf,
}

impl Work {
    fn start(folder: &Path) -> Work {
        let copy = |of: &str, name: &str| {
            let path = folder.join(name);
            fs::copy(of, &path).expect("a copy");
            path
        };
        let (idle, burn) = (copy("/bin/sleep", "compat-idle"), copy("/bin/dash", "compat-burn"));
        let (kind, user) = (copy("/bin/dash", "compat-kind"), copy("/bin/sleep", "compat-user"));
        let (parent, short) = (copy("/bin/dash", "compat-parent"), copy("/bin/true", "compat-short"));
        let mut others: Vec<Running> = (0..3).map(|_| Running::start(&idle, &["1000"])).collect();
        others.extend([
            Running::start(&user, &["1000"]),
            Running::start(&parent, &["-c", FAMILY]),
            Running::start(&kind, &["-c", "sleep 1000; :", "kind=red"]),
            Running::start(&kind, &["-c", "sleep 1000; :", "kind=blue"]),
        ]);
        let burning = (0..2).map(|_| Running::start(&burn, &["-c", BURN])).collect();
        Work { burning, burn: burn.display().to_string(), _others: others, short }
    }

    /// Processes that live shortly, until it is stopped.
    fn storm(&self) -> Storm {
        let plan = StormPlan { exec: Some(self.short.clone()), ..StormPlan::default() };
        Storm::start(&plan).expect("it starts")
    }

    fn signal_burning(&self, signal: Signal) {
        self.burning.iter().for_each(|one| one.signal(signal));
    }
}

/// Of those that live long: one that lives shortly may be missing in theirs altogether.
fn is_long_lived(series: &str) -> bool {
    !series.contains("compat-short")
}

/// Both have the same groups, with what there is of them at the moment.
fn assert_gauges(ours: &Samples, theirs: &Samples, burn: &str) {
    let procs = |samples: &Samples| -> BTreeMap<String, f64> {
        let all = by_group(samples, "namedprocess_namegroup_num_procs");
        all.into_iter().filter(|(group, _)| is_long_lived(group)).collect()
    };
    let own = procs(ours);
    for (group, count) in
        [("compat-idle", 3.0), (burn, 2.0), ("compat-kind:red", 2.0), ("compat-kind:blue", 2.0), ("kin", 3.0)]
    {
        assert_eq!(own.get(group), Some(&count), "{group}: {own:?}");
    }
    assert_eq!(own, procs(theirs));
    for family in ["num_threads", "open_filedesc", "worst_fd_ratio"] {
        let of = |samples: &Samples| by_group(samples, &format!("namedprocess_namegroup_{family}"));
        let (ours, theirs) = (of(ours), of(theirs));
        for group in own.keys() {
            let (own, other) = (ours[group], theirs[group]);
            assert!((own - other).abs() < 1e-6, "{family} of {group}: {own}, not {other}");
        }
    }
    // Each series of ours has the name that it has there, but for time of unknown mode: some hosts hide switches.
    let is_told = |series: &&String| is_long_lived(series) && !series.contains("mode=\"unknown\"");
    let unknown: BTreeSet<&String> =
        ours.keys().filter(is_told).filter(|series| !theirs.contains_key(*series)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
    for (series, bytes) in ours.iter().filter(|(series, _)| is_long_lived(series)) {
        if series.contains("memtype=\"virtual\"") {
            assert_eq!(theirs[series], *bytes, "{series}");
        }
    }
}

#[test]
fn groups_are_those_of_a_real_process_exporter_root() {
    let program = match program() {
        Ok(program) => program,
        Err(reason) => return not_run(&reason),
    };
    let folder = tempfile::tempdir().expect("a folder");
    let rules_file = folder.path().join("names.yml");
    fs::write(&rules_file, rules(folder.path())).expect("a file");
    let work = Work::start(folder.path());
    work.signal_burning(Signal::STOP);
    let scene = Scene::start(&program, &rules_file);
    // A storm before, so that its group has a series.
    let before = work.storm();
    (0..5).for_each(|_| drop(scene.scrape()));
    before.stop().expect("it ends");
    let [ours, theirs] = scene.scrape();
    assert_gauges(&ours, &theirs, &work.burn);

    // What both count while two burn and many live shortly.
    work.signal_burning(Signal::CONT);
    let storm = work.storm();
    sleep(Duration::from_secs(3));
    let made_ns = storm.stop().expect("it ends").made_cpu_ns.expect("it is told");
    work.signal_burning(Signal::STOP);
    let [our_end, their_end] = scene.scrape();
    for (series, before) in ours.iter().filter(|(series, _)| series.contains("_total{")) {
        assert!(our_end[series] >= *before, "{series} fell from {before} to {}", our_end[series]);
    }
    let grown = |group: &str| {
        [(&ours, &our_end), (&theirs, &their_end)].map(|(first, last)| cpu(last, group) - cpu(first, group))
    };
    let [own, other] = grown(&work.burn);
    // Each mode of each process is cut to a tick, before and after.
    assert!(own > 0.2 && (own - other).abs() <= 0.04, "{own} s of two that burned, not {other} s");
    let ([own, other], made) = (grown("compat-short"), made_ns as f64 / 1e9);
    assert!(
        own >= other && own >= made * 0.9,
        "{own} s of those that lived shortly; {other} s there, {made} s used"
    );
}

/// What `metrics` says of these options, and its exit code.
fn refused(options: &[&str]) -> (String, Option<i32>) {
    let mut command = Command::new(with_net(env!("CARGO_BIN_EXE_cpuledger")));
    let output = command.args(["metrics", "--socket", "/nowhere"]).args(options).output().expect("it runs");
    (String::from_utf8(output.stderr).expect("UTF-8"), output.status.code())
}

#[test]
fn wrong_rules_are_refused_in_a_sentence() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("names.yml");
    let with = |text: &str| {
        fs::write(&path, text).expect("a file");
        refused(&["--compat", "process-exporter", "--process-names", path.to_str().expect("UTF-8")])
    };
    for (text, expected) in [
        (
            "process_names:\n- comm: [a]\n  comand: [b]\n",
            "line 3: `comand` is not supported; name, comm, exe and cmdline are",
        ),
        (
            "process_names:\n- cmdline:\n  - '[a'\n",
            "line 3: `[a` is not a regular expression: unclosed character class",
        ),
        (
            "process_names:\n- {comm: [a], name: '{{.Nme}}'}\n",
            "line 2: `{{.Nme}}` is not supported in a name",
        ),
        ("process_names: [\n", "is not YAML"),
    ] {
        let (words, code) = with(text);
        assert!(
            words.contains(expected) && words.lines().count() == 1 && code == Some(1),
            "{code:?} {words}"
        );
    }
    let (words, code) = refused(&["--process-names", "/nowhere"]);
    assert!(words.contains("add that") && code == Some(2), "{code:?} {words}");
}
