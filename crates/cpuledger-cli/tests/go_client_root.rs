//! The client in Go: vet, its own tests under the race detector, which start a service, and its fuzz test for a while; and the dashboard, as
//! Grafana's library in Go reads it. Needs root and Go, so it runs with `CPULEDGER_TEST_CLIENTS=1`.

use std::path::Path;
use std::process::Command;

use cpuledger_load::not_run;
use cpuledger_load::scene::alone;

/// How long the fuzz test tries mutations.
const FUZZED: &str = "10s";

/// Why Go's tests cannot run here.
fn hindrance() -> Option<&'static str> {
    if std::env::var_os("CPULEDGER_TEST_CLIENTS").is_none() {
        return Some("the tests of the client in Go run only with CPULEDGER_TEST_CLIENTS=1");
    }
    let version = Command::new("go").arg("version").output();
    (!version.is_ok_and(|output| output.status.success()))
        .then_some("go is missing: install golang-go, 1.23 or later")
}

fn go(folder: &str, words: &[&str]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let status = Command::new("go")
        .args(words)
        .current_dir(folder)
        .env("CPULEDGER_TEST_PROGRAM", env!("CARGO_BIN_EXE_cpuledger"))
        .status()
        .expect("go runs");
    assert!(status.success(), "go {}: {status}", words.join(" "));
}

#[test]
fn the_client_in_go_passes_its_tests_root() {
    if let Some(reason) = hindrance() {
        return not_run(reason);
    }
    let _alone = alone();
    go("bindings/go", &["vet", "./..."]);
    go("bindings/go/bench", &["vet", "."]);
    go("bindings/go", &["test", "-race", "-count=1", "./..."]);
    go("bindings/go", &["test", "-run", "^$", "-fuzz", "FuzzDecode", "-fuzztime", FUZZED, "."]);
}

#[test]
fn the_dashboard_has_the_schema_of_grafana() {
    match hindrance() {
        Some(reason) => not_run(reason),
        None => go("packaging/grafana/check", &["run", ".", "../cpuledger.json"]),
    }
}
