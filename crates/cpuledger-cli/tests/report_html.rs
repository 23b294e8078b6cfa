//! The page of `cpuledger report --format html` in a browser: no error, the numbers of JSON, and names that are text.

mod browser;
#[path = "recorded_frames/mod.rs"]
mod recorded_frames;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use browser::{Browser, Page};
use cpuledger_load::not_run;
use recorded_frames::{BEGIN_NS, SECOND_NS, Used, frame, record};
use serde_json::{Value, json};

const HOSTILE: [&[u8]; 5] = [
    b"<script>document.title='x'</script>",
    b"\"><img src=x onerror=alert(1)>",
    "\u{202e}evil\u{2066}".as_bytes(),
    b"</svg></style>\x1b[31m",
    b"\xff\xfe&amp;",
];

/// What the table says: names with their CPU time, and figures that are no rows.
const TABLE: &str = "Object.fromEntries([...document.querySelectorAll('#rows tbody tr')].map((row) => [row.dataset.kind === 'row' ? `row ${row.dataset.name}` : row.dataset.kind, row.querySelector('[data-self-ns]')?.dataset.selfNs]))";

fn report(path: &Path, arguments: &[&str]) -> Vec<u8> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cpuledger"));
    let output = command.arg("report").arg(path).args(arguments).output().expect("cpuledger runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn json_of(path: &Path, arguments: &[&str]) -> Value {
    serde_json::from_slice(&report(path, &[arguments, &["--format", "json"]].concat())).expect("JSON")
}

/// Each second has other names and amounts.
fn recording(path: &Path) {
    let long = "x".repeat(1 << 20);
    let frames = (0..300_u64).map(|second| {
        let pid = 1000 + second as i64;
        let mut living: Vec<Used<'_>> =
            vec![(20, b"sh", 1000, 2_000_003 + second, 100_000_000), (21, long.as_bytes(), 0, 77, 0)];
        let hostile =
            |(number, name): (usize, &&'static [u8])| (30 + number as i64, *name, 0, 5_000_011 + second, 0);
        living.extend(HOSTILE.iter().enumerate().map(hostile));
        frame(second, &living, &[(pid, b"cc1", 1000, 100_000_000, 0)], 20)
    });
    record(path, frames);
}

/// The sums of JSON, as the table has them. What has no time of its own may be left out there.
fn assert_has_numbers(table: &Value, json: &Value) {
    let mut expected: Vec<String> =
        json["rows"].as_array().expect("rows").iter().map(|row| row["self_ns"].to_string()).collect();
    let mut shown: Vec<String> = table
        .as_object()
        .expect("rows")
        .iter()
        .filter(|(name, _)| name.starts_with("row "))
        .map(|(_, ns)| ns.as_str().unwrap_or("none").to_owned())
        .collect();
    expected.sort();
    shown.sort();
    assert_eq!(shown, expected);
    assert_eq!(table["other"], json["other"]["self_ns"].to_string());
    for rest in ["idle", "unattributed"] {
        assert_eq!(table[rest], json[format!("{rest}_ns")].to_string());
    }
}

#[test]
fn a_browser_shows_the_numbers_of_json_and_names_as_text() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("books");
    recording(&path);
    let Some(mut browser) = Browser::open() else { return not_run(browser::MISSING) };
    for by in ["command", "process", "user"] {
        let json = json_of(&path, &["--by", by]);
        let page = folder.path().join(format!("{by}.html"));
        report(&path, &["--by", by, "--format", "html", "--output", page.to_str().expect("UTF-8")]);
        assert!(page.metadata().expect("a page").len() < 300_000);
        for (width, is_dark) in [(1280, false), (400, true)] {
            browser.go_in(&format!("file://{}", page.display()), width, is_dark);
            browser.settle();
            let table = browser.eval(TABLE);
            assert_has_numbers(&table, &json);
            for key in ["capacity_ns", "attributed_ns", "idle_ns", "unattributed_ns"] {
                let figure =
                    browser.eval(&format!("document.querySelector('[data-figure={key}]').dataset.ns"));
                assert_eq!(figure, json[key].to_string());
            }
            // Had a name been more than text, the page would have another script, a picture or another title.
            let elements = "[document.querySelectorAll('script').length, document.querySelectorAll('img, svg, iframe').length, document.title, document.documentElement.scrollWidth <= innerWidth]";
            assert_eq!(browser.eval(elements), json!([2, 0, "CPU time of test-host", true]));
            if by == "command" {
                let names: Vec<&String> = table.as_object().expect("rows").keys().collect();
                assert!(names.iter().any(|name| name.contains("<script>document.title")), "{names:?}");
                assert!(
                    !names.iter().any(|name| name.contains(['\u{202e}', '\u{2066}', '\u{1b}'])),
                    "{names:?}"
                );
            }
        }
    }
    assert_eq!(browser.said(), Vec::<String>::new());
}

/// CPU time by name of a span that the page shows.
fn shown(browser: &mut Browser) -> (BTreeMap<String, String>, [u64; 2]) {
    browser.settle();
    let table: BTreeMap<String, String> = serde_json::from_value(browser.eval(TABLE)).expect("texts");
    let span = ["startNs", "endNs"].map(|key| {
        let text = browser.eval(&format!("document.querySelector('#span').dataset.{key}"));
        text.as_str().and_then(|text| text.parse().ok()).expect("a time")
    });
    (table, span)
}

#[test]
fn what_is_dragged_over_is_what_the_table_adds_up() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("books");
    recording(&path);
    let page = folder.path().join("page.html");
    report(&path, &["--format", "html", "--output", page.to_str().expect("UTF-8")]);
    let Some(mut browser) = Browser::open() else { return not_run(browser::MISSING) };
    let address = format!("file://{}", page.display());
    browser.go(&address, 1280);
    let (whole, _) = shown(&mut browser);
    browser.drag("#line", (0.3, 0.5), (0.6, 0.5));
    let (part, [start, end]) = shown(&mut browser);
    assert!(start > BEGIN_NS && end < BEGIN_NS + 300 * SECOND_NS && end - start > 50 * SECOND_NS);
    // The page has parts of 1.25 s: an interval counts for that in which its middle is.
    let since = |ns: u64| format!("@{}.{:09}", ns / SECOND_NS, ns % SECOND_NS);
    let json = json_of(&path, &["--since", &since(start), "--until", &since(end), "--top", "100"]);
    for row in json["rows"].as_array().expect("rows") {
        let name = row["name"].as_str().unwrap_or_default();
        if name.len() < 16 && name.is_ascii() && !name.contains(['\u{1b}']) {
            assert_eq!(part[&format!("row {name}")], row["self_ns"].to_string(), "{name}");
        }
    }
    assert_eq!(part["idle"], json["idle_ns"].to_string());
    // The link leads to the same; zooming, the last part and the way back are keys.
    let link = browser.eval("location.href");
    browser.go(link.as_str().expect("a text"), 1280);
    assert_eq!(shown(&mut browser), (part.clone(), [start, end]));
    browser.press("z");
    assert_eq!(shown(&mut browser), (part, [start, end]));
    browser.press("(");
    let (_, [last_start, last_end]) = shown(&mut browser);
    assert!(last_end == end && last_start > start, "the last part of what is zoomed to");
    browser.press("$");
    assert_eq!(shown(&mut browser).0, whole);
    // Two spans side by side.
    browser.drag("#line", (0.2, 0.5), (0.4, 0.5));
    browser.press("c");
    browser.drag("#line", (0.6, 0.5), (0.8, 0.5));
    browser.wait("document.querySelectorAll('[data-before-ns]').length > 3 && document.querySelector('#span').textContent.startsWith('A: ')");
    browser.press("Escape");
    // Searching and the order.
    browser.press("/");
    browser.eval("(() => { const box = document.querySelector('#search'); box.value = 'CC'; box.dispatchEvent(new Event('input')); })()");
    browser.settle();
    assert_eq!(browser.eval("document.querySelectorAll('tr[data-kind=row]').length"), json!(1));
    assert_eq!(browser.said(), Vec::<String>::new());
}
