//! The page of `cpuledger report --format html` in a browser: no error, and the numbers of JSON.

use std::path::Path;
use std::process::Command;

use cpuledger_load::not_run;
use serde_json::Value;

#[path = "recorded_frames/mod.rs"]
mod recorded_frames;

use recorded_frames::{Used, frame, record};

const HOSTILE: [&[u8]; 5] = [
    b"<script>document.title='x'</script>",
    b"\"><img src=x onerror=alert(1)>",
    "\u{202e}evil\u{2066}".as_bytes(),
    b"</svg></style>\x1b[31m",
    b"\xff\xfe&amp;",
];

/// What the page is after its script has run, and what the browser said.
fn opened(page: &Path, width: u32) -> Option<(String, String)> {
    let profile = tempfile::tempdir().expect("a folder");
    let output = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--dump-dom"])
        .arg(format!("--window-size={width},1200"))
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("file://{}", page.display()))
        .output();
    let output = match output {
        Ok(output) => output,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
        Err(error) => panic!("chromium: {error}"),
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Some((said(&output.stdout), said(&output.stderr)))
}

/// The values of an attribute, in the order of the page.
fn values<'a>(dom: &'a str, attribute: &str) -> Vec<&'a str> {
    let begin = format!(" {attribute}=\"");
    dom.split(&begin).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

fn report(path: &Path, arguments: &[&str]) -> Vec<u8> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cpuledger"));
    let output = command.arg("report").arg(path).args(arguments).output().expect("cpuledger runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

#[test]
fn a_browser_shows_the_numbers_of_json_and_names_as_text() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("books");
    let long = "x".repeat(1 << 20);
    let frames = (0..300_u64).map(|second| {
        let pid = 1000 + second as i64;
        let mut living: Vec<Used<'_>> =
            vec![(20, b"sh", 1000, 2_000_003, 100_000_000), (21, long.as_bytes(), 0, 77, 0)];
        let hostile =
            |(number, name): (usize, &&'static [u8])| (30 + number as i64, *name, 0, 5_000_011 + second, 0);
        living.extend(HOSTILE.iter().enumerate().map(hostile));
        frame(second, &living, &[(pid, b"cc1", 1000, 100_000_000, 0)], 20)
    });
    record(&path, frames);
    for by in ["command", "ancestor", "process"] {
        let json: Value =
            serde_json::from_slice(&report(&path, &["--by", by, "--format", "json"])).expect("JSON");
        let page = folder.path().join(format!("{by}.html"));
        report(&path, &["--by", by, "--format", "html", "--output", page.to_str().expect("UTF-8")]);
        assert!(page.metadata().expect("a page").len() < 200_000);
        for width in [1280, 400] {
            let Some((dom, said)) = opened(&page, width) else {
                return not_run("there is no chromium; scripts/install-packages test installs it");
            };
            assert!(!said.contains("CONSOLE"), "{said}");
            let rows = json["rows"].as_array().expect("rows");
            let expected: Vec<String> = rows
                .iter()
                .chain([&json["other"]])
                .map(|row| row["self_ns"].to_string())
                .chain(["idle_ns", "unattributed_ns"].map(|key| json[key].to_string()))
                .collect();
            assert_eq!(values(&dom, "data-self-ns"), expected);
            let waited: Vec<String> =
                rows.iter().chain([&json["other"]]).map(|row| row["inherited_ns"].to_string()).collect();
            assert_eq!(values(&dom, "data-inherited-ns"), waited);
            for key in ["capacity_ns", "attributed_ns", "idle_ns", "unattributed_ns"] {
                let figure = format!("data-figure=\"{key}\" data-ns=\"{}\"", json[key]);
                assert!(dom.contains(&figure), "{figure}");
            }
            // Had a name been more than text, the page would have another script, a picture or another title.
            assert_eq!(dom.matches("<script").count(), 1);
            assert!(!dom.contains("<img") && !dom.contains('\u{202e}') && !dom.contains('\u{2066}'));
            assert!(dom.contains("<title>CPU time of test-host</title>"));
            assert!(dom.contains("&lt;script&gt;"), "the name is there");
        }
    }
}
