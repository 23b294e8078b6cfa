//! The page of `cpuledger web` in Chromium and Firefox: its numbers are those of the recording, and hands and keys do what they should. Needs root.
//!
//! With `CPULEDGER_TEST_CLIENTS=1`: browsers take long to start on a machine that CI has. With `CPULEDGER_TEST_FULL=1` 60 live intervals and a
//! recorded day are compared, otherwise 12 and ten minutes.

mod browser;
mod marionette;
#[path = "recorded_frames/mod.rs"]
mod recorded_frames;
mod service;
mod web;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use browser::{Browser, NARROW, Page};
use cpuledger_load::not_run;
use marionette::Firefox;
use recorded_frames::{BEGIN_NS, SECOND_NS, Used, frame, record};
use serde_json::{Value, json};
use service::Service;
use web::Web;

/// The span and the table that the page shows: names with their CPU time.
const SHOWN: &str = "(() => { const span = document.querySelector('#span').dataset; return { start: span.startNs, end: span.endNs, rows: Object.fromEntries([...document.querySelectorAll('#rows tbody tr')].map((row) => [row.dataset.kind === 'row' ? `row ${row.dataset.name}` : row.dataset.kind, row.querySelector('[data-self-ns]')?.dataset.selfNs])) }; })()";

/// The width of a wide window, in pixels.
const WIDE: u32 = 1280;

/// A service that records, with short processes beside it, and the page of both.
struct Scene {
    service: Service,
    web: Web,
    load: Child,
    recording: PathBuf,
}

impl Scene {
    fn start() -> Scene {
        let folder = tempfile::tempdir().expect("a folder").keep();
        let recording = folder.join("recording");
        let service = Service::start(&format!(
            "[record]\nenabled = true\ndirectory = \"{}\"\nmin_free = \"1MiB\"\n",
            recording.display()
        ));
        // Each is the shell's child, and both end with this test.
        let line = "while kill -0 $PPID; do /bin/true; sleep 0.05; done";
        let load = Command::new("sh").args(["-c", line]).spawn().expect("sh");
        let web = Web::start(&service.socket(), &recording, &[]);
        Scene { service, web, load, recording }
    }

    fn address(&self, hash: &str) -> String {
        format!("http://{}/{hash}", self.web.address)
    }
}

/// What `cpuledger report` says of a span of the recording, once that has it.
fn report(recording: &Path, by: &str, start_ns: u64, end_ns: u64) -> Value {
    let begin = Instant::now();
    loop {
        let time = |ns: u64| format!("@{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
        let output = Command::new(env!("CARGO_BIN_EXE_cpuledger"))
            .arg("report")
            .arg(recording)
            .args(["--by", by, "--top", "1000", "--format", "json"])
            .args(["--since", &time(start_ns), "--until", &time(end_ns)])
            .output()
            .expect("it runs");
        let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        // The clock may have been set by a microsecond between two cuts.
        if report["end_realtime_ns"].as_u64().is_some_and(|own| own.abs_diff(end_ns) < 1_000_000) {
            return report;
        }
        assert!(begin.elapsed() < web::TIMEOUT, "{}", String::from_utf8_lossy(&output.stderr));
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// What the page shows is what the recording says.
fn assert_same(recording: &Path, by: &str, shown: &Value) {
    let time = |key: &str| shown[key].as_str().and_then(|text| text.parse().ok()).expect("a time");
    let report = report(recording, by, time("start"), time("end"));
    // The page has words for users and processes that no other has: those rows are known by their figures.
    let key = |name: &str, ns: &str| format!("row {}", if by == "command" { name } else { ns });
    let rows = report["rows"].as_array().expect("rows").iter().map(|row| {
        let ns = row["self_ns"].to_string();
        (key(row["name"].as_str().unwrap_or("-"), &ns), ns)
    });
    let mut expected: BTreeMap<String, String> = rows.collect();
    expected.insert("other".into(), report["other"]["self_ns"].to_string());
    for key in ["idle", "unattributed"] {
        expected.insert(key.into(), report[format!("{key}_ns")].to_string());
    }
    let rows: BTreeMap<String, String> = serde_json::from_value(shown["rows"].clone()).expect("texts");
    let mut rows: BTreeMap<String, String> = rows
        .into_iter()
        .map(|(name, ns)| (name.strip_prefix("row ").map_or(name.clone(), |name| key(name, &ns)), ns))
        .collect();
    rows.remove("untold");
    assert_eq!(rows, expected, "by {by}");
}

impl Drop for Scene {
    fn drop(&mut self) {
        for child in [&mut self.load, &mut self.service.child] {
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = std::fs::remove_dir_all(self.recording.parent().expect("a folder"));
    }
}

fn is_wanted() -> bool {
    let is_wanted = std::env::var_os("CPULEDGER_TEST_CLIENTS").is_some();
    if !is_wanted {
        not_run("browsers are driven only with CPULEDGER_TEST_CLIENTS=1");
    }
    is_wanted
}

/// How many live intervals are compared.
fn intervals() -> usize {
    if is_full() { 60 } else { 12 }
}

fn is_full() -> bool {
    std::env::var_os("CPULEDGER_TEST_FULL").is_some()
}

#[test]
fn chromium_shows_what_the_recording_says_and_obeys_hands_and_keys_root() {
    if !is_wanted() {
        return;
    }
    let Some(mut browser) = Browser::open() else { return not_run(browser::MISSING) };
    live_and_past(&mut browser);
}

#[test]
fn firefox_shows_what_the_recording_says_and_obeys_hands_and_keys_root() {
    if !is_wanted() {
        return;
    }
    let Some(mut firefox) = Firefox::open() else { return not_run("there is no firefox") };
    live_and_past(&mut firefox);
}

fn live_and_past(page: &mut impl Page) {
    let scene = Scene::start();
    page.go(&scene.address(""), WIDE);
    let live = live(page);
    live.values().for_each(|shown| assert_same(&scene.recording, "command", shown));
    drag_and_link(page, &scene);
    drill_down(page);
    keys(page);
    assert_says_nothing(page);
}

/// What the page shows of live intervals, by their ends.
fn live(page: &mut impl Page) -> BTreeMap<String, Value> {
    let mut live: BTreeMap<String, Value> = BTreeMap::new();
    let begin = Instant::now();
    while live.len() < intervals() {
        assert!(begin.elapsed() < web::TIMEOUT * 2, "intervals come: {:?}", page.said());
        let shown = page.eval(&format!("new Promise((done) => requestAnimationFrame(() => done({SHOWN})))"));
        let is_live = page.eval("document.querySelector('#mode').textContent === 'Live'") == json!(true);
        // Before the first interval it is the sum of the last minutes.
        let length: u64 = ["end", "start"]
            .map(|key| shown[key].as_str().and_then(|text| text.parse::<u64>().ok()).unwrap_or_default())
            .into_iter()
            .reduce(|end, start| end - start)
            .expect("two");
        if is_live && length < 1_000_000_000 {
            live.insert(shown["end"].to_string(), shown);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    live
}

/// The browser has nothing to complain of; and it would be heard if it had.
fn assert_says_nothing(page: &mut impl Page) {
    assert_eq!(page.said(), Vec::<String>::new(), "nothing is wrong in the eyes of the browser");
    page.eval("setTimeout(() => { throw new Error('on purpose') })");
    let begin = Instant::now();
    while !page.said().iter().any(|line| line.contains("on purpose")) {
        assert!(begin.elapsed() < web::TIMEOUT, "errors of a page are heard: {:?}", page.said());
        page.settle();
    }
}

/// A span that is dragged over, its link, and two spans side by side.
fn drag_and_link(browser: &mut impl Page, scene: &Scene) {
    browser.drag("#line", (0.4, 0.5), (0.7, 0.5));
    browser.wait("document.querySelector('#mode').textContent === 'Past' && location.hash.includes('from=') && document.querySelector('#error').hidden");
    std::thread::sleep(Duration::from_millis(500));
    browser.settle();
    let shown = browser.eval(SHOWN);
    assert_same(&scene.recording, "command", &shown);
    let link = browser.eval("location.href");
    browser.go(link.as_str().expect("a text"), NARROW);
    browser.settle();
    assert_eq!(browser.eval(SHOWN), shown, "the link leads to the same");
    assert_eq!(
        browser.eval("document.documentElement.scrollWidth <= innerWidth"),
        json!(true),
        "a narrow window is enough"
    );
    browser.go(link.as_str().expect("a text"), WIDE);
    for by in ["user", "process"] {
        browser.eval(&format!("document.querySelector('[data-by={by}]').click()"));
        browser.wait(&format!("document.querySelector('#rows th').textContent.toLowerCase() === '{by}'"));
        let shown = browser.eval(SHOWN);
        if by == "user" {
            assert_same(&scene.recording, by, &shown);
        }
    }
    browser.eval("document.querySelector('[data-by=command]').click()");
    browser.press("c");
    browser.drag("#line", (0.75, 0.5), (0.95, 0.5));
    browser.wait("document.querySelectorAll('#rows [data-before-ns]').length > 3 && document.querySelector('#span').textContent.includes('; B: ')");
    browser.press("Escape");
    browser.wait("document.querySelectorAll('#rows [data-before-ns]').length === 0");
}

fn drill_down(browser: &mut impl Page) {
    browser.eval("[...document.querySelectorAll('#rows tr[data-name=\"true\"] button')][0].click()");
    browser.wait("document.querySelector('#rows th').textContent === 'Process' && !document.querySelector('#crumbs').hidden");
    browser.wait("[...document.querySelectorAll('#rows tr[data-kind=row]')].every((row) => row.dataset.name.startsWith('true[')) && document.querySelector('#rows tr[data-kind=outside]') !== null");
    browser.press("Backspace");
    browser.wait("document.querySelector('#crumbs').hidden");
}

fn keys(browser: &mut impl Page) {
    browser.press("g");
    browser.press("$");
    browser.wait("document.querySelector('#mode').textContent === 'Live'");
    browser.press("w");
    browser.wait(
        "document.querySelectorAll('#rows .states').length > 0 && location.hash.includes('view=states')",
    );
    browser.press("1");
    browser.press(" ");
    browser.wait("document.querySelector('#mode').textContent === 'Past'");
    browser.press("(");
    browser.press("(");
    browser.press("^");
    browser.press(" ");
    browser.wait("document.querySelector('#mode').textContent === 'Live'");
    browser.press("?");
    browser.wait("document.querySelector('#help').open");
    browser.eval("document.querySelector('#close').click()");
    browser.press("/");
    browser.wait("document.activeElement.id === 'search'");
    browser.press("Escape");
    browser.wait("document.querySelectorAll('#icicle button').length > 0");
    browser.eval("document.querySelector('#icicle button').click()");
}

#[test]
fn no_serious_fault_is_found_by_axe_root() {
    if !is_wanted() {
        return;
    }
    let Some(axe) = axe() else { return not_run("npm cannot fetch axe-core, which looks for faults") };
    let Some(mut browser) = Browser::open() else { return not_run(browser::MISSING) };
    let scene = Scene::start();
    for (hash, width, is_dark) in [("", WIDE, false), ("", NARROW, true), ("#view=states", WIDE, true)] {
        browser.go_in(&scene.address(hash), width, is_dark);
        browser.wait("document.querySelectorAll('#icicle button').length > 0");
        browser.press(" ");
        browser.eval(&axe);
        let found = browser.eval("axe.run(document, { resultTypes: ['violations'] }).then((found) => found.violations.filter((own) => ['serious', 'critical'].includes(own.impact)).map((own) => `${own.id}: ${own.nodes.slice(0, 3).map((node) => `${node.html} ${node.failureSummary}`).join('; ')}`))");
        assert_eq!(found, json!([]), "{hash} at {width}");
    }
}

/// The script of axe-core, fetched below `target/` if this machine does not have it.
fn axe() -> Option<String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("axe");
    let script = folder.join("package/axe.min.js");
    if !script.is_file() {
        std::fs::create_dir_all(&folder).expect("a folder");
        let packed =
            Command::new("npm").args(["pack", "axe-core@4.14.1"]).current_dir(&folder).output().ok()?;
        let name = String::from_utf8(packed.stdout).expect("UTF-8");
        let unpacked = Command::new("tar").arg("xf").arg(name.trim()).current_dir(&folder).status().ok()?;
        if !packed.status.success() || !unpacked.success() {
            return None;
        }
    }
    std::fs::read_to_string(script).ok()
}

/// A day of seconds, or ten minutes. Some of who runs changes every hour, and each second has other amounts.
fn day() -> (tempfile::TempDir, PathBuf, u64) {
    let folder = tempfile::tempdir().expect("a folder");
    let recording = folder.path().join("day");
    let seconds = if is_full() { 86_400 } else { 600 };
    let frames = (0..seconds).map(|second| {
        let hour = format!("hour-{}", second * 24 / seconds);
        let living: [Used<'_>; 4] = [
            (20, b"make", 1000, 200_000_003 + second % 7, 100_000_000),
            (21, b"<b>bold</b>", 0, 77 + second, 0),
            (22, hour.as_bytes(), 1001, 1_000_000 * (1 + second % 600) + 1, 0),
            (23, b"sshd", 0, if second % 60 == 0 { 1_234_567 } else { 0 }, 0),
        ];
        frame(second, &living, &[(1000 + second as i64, b"cc1", 1000, 100_000_000, 0)], 20)
    });
    record(&recording, frames);
    (folder, recording, seconds)
}

fn a_day(page: &mut impl Page) {
    let (_folder, recording, seconds) = day();
    let service = Service::start("");
    let web = Web::start(&service.socket(), &recording, &[]);
    // The whole, most of it, an hour or less in its middle, and one second.
    let spans = [
        (0, seconds),
        (1, seconds - 1),
        (seconds / 2, seconds / 2 + seconds / 24),
        (seconds - 2, seconds - 1),
    ];
    for (from, to) in spans {
        let [start, end] = [from, to].map(|second| BEGIN_NS + second * SECOND_NS);
        for (by, width) in [("command", WIDE), ("user", NARROW), ("process", WIDE)] {
            // Of many processes, a part of the table is in the page at once.
            if by == "process" && to - from > 100 {
                continue;
            }
            page.go(&format!("http://{}/#from={start}&to={end}&by={by}", web.address), width);
            page.wait(&format!("document.querySelector('#mode').textContent === 'Past' && document.querySelector('#rows th').textContent.toLowerCase() === '{by}'"));
            page.settle();
            let shown = page.eval(SHOWN);
            assert_eq!(
                (&shown["start"], &shown["end"]),
                (&json!(start.to_string()), &json!(end.to_string())),
                "{shown}"
            );
            assert_same(&recording, by, &shown);
        }
    }
    assert_says_nothing(page);
}

#[test]
fn chromium_shows_what_the_recording_of_a_day_says_root() {
    if !is_wanted() {
        return;
    }
    let Some(mut browser) = Browser::open() else { return not_run(browser::MISSING) };
    a_day(&mut browser);
}

#[test]
fn firefox_shows_what_the_recording_of_a_day_says_root() {
    if !is_wanted() {
        return;
    }
    let Some(mut firefox) = Firefox::open() else { return not_run("there is no firefox") };
    a_day(&mut firefox);
}

/// Each process of a thousand runs each second, another time each time, so that all rows change and move.
const THOUSAND: &str = "for (1..1000) { next if fork; srand; while (getppid != 1) { select undef, undef, undef, 0.3 + rand 0.6; for (1..rand 5000) {} } exit } sleep 1 while kill 0, $ARGV[0]";

/// What a page with a thousand rows may take of a core. It takes less than 3 % on a machine that has nothing else to do.
const MOST_PERCENT: f64 = 6.0;

#[test]
fn a_thousand_rows_cost_a_browser_little_root() {
    if !is_wanted() {
        return;
    }
    let Some(mut browser) = Browser::open() else { return not_run(browser::MISSING) };
    let mut command = Command::new("perl");
    let Ok(mut crowd) = command.args(["-e", THOUSAND, &std::process::id().to_string()]).spawn() else {
        return not_run("there is no perl, which starts a thousand processes");
    };
    let folder = tempfile::tempdir().expect("a folder");
    // As usual: an interval takes a second.
    let service = Service::start_with_intervals("1");
    let web = Web::start(&service.socket(), folder.path(), &[]);
    // Before its first interval a service has no past, and says so.
    let begin = Instant::now();
    while !web.get("/history?by=process&from=-5m").0.contains(" 200 ") {
        assert!(begin.elapsed() < web::TIMEOUT, "there is an interval");
        std::thread::sleep(Duration::from_millis(100));
    }
    browser.go(&format!("http://{}/#by=process", web.address), WIDE);
    browser.wait(
        "document.querySelector('#mode').textContent === 'Live' && !document.querySelector('#more').hidden",
    );
    browser.eval("document.querySelector('#more').click()");
    browser.wait("document.querySelector('#rows').ariaRowCount > 1000 && document.querySelector('#mode').textContent === 'Live'");
    std::thread::sleep(Duration::from_secs(5));
    let (before, begin) = (browser.drawing_ns(), Instant::now());
    std::thread::sleep(Duration::from_secs(if is_full() { 60 } else { 15 }));
    let percent = (browser.drawing_ns() - before) as f64 * 100.0 / begin.elapsed().as_nanos() as f64;
    let _ = crowd.kill();
    let _ = crowd.wait();
    println!("a page of 1,000 rows: {percent:.2} % of a core");
    assert!(percent > 0.0 && percent < MOST_PERCENT, "{percent:.2} %");
    assert_eq!(browser.said(), Vec::<String>::new());
}
