//! Planted faults are found, and what is right is not.

use super::*;
use crate::imports::imports;

const ORDER: Layers = Layers { package: "a", from_below: &["model", "source/exit", "source", "view"] };

fn findings(files: &[(&str, &str)]) -> Vec<String> {
    ORDER.findings(&imports("a/src/", files.iter().copied()).expect("it is Rust"))
}

#[test]
fn a_planted_upward_import_is_found_with_its_line() {
    let files = [
        ("a/src/lib.rs", "pub mod model; mod source; mod view; pub use view::draw;"),
        ("a/src/model.rs", "pub struct Task;\nfn f() { crate::draw(); }"),
        ("a/src/source/mod.rs", "pub mod exit; pub mod walk;"),
        ("a/src/source/exit.rs", "use crate::model::Task;\n\nuse super::walk::Walk;"),
        ("a/src/source/walk.rs", "use super::exit::Exit; use crate::model::Task; pub struct Walk;"),
        ("a/src/view.rs", "use crate::source::walk::Walk; pub fn draw() {}"),
    ];
    assert_eq!(
        findings(&files),
        [
            "a/src/model.rs:2: it imports draw from a/src/view.rs, which is above it",
            "a/src/source/exit.rs:3: it imports Walk from a/src/source/walk.rs, which is above it",
        ]
    );
}

#[test]
fn what_is_below_may_be_imported() {
    let files = [
        ("a/src/lib.rs", "pub mod model; mod source; mod view; use view::draw;"),
        ("a/src/model.rs", "pub struct Task; #[cfg(test)] mod tests { use crate::view::draw; }"),
        ("a/src/source.rs", "use crate::model::Task;"),
        ("a/src/view.rs", "use crate::{model::Task, source::Walk}; pub fn draw() {}"),
    ];
    assert_eq!(findings(&files), [] as [&str; 0]);
}

#[test]
fn a_file_without_a_place_is_found() {
    let files = [("a/src/lib.rs", "mod models;"), ("a/src/models.rs", "")];
    assert_eq!(findings(&files), ["a/src/models.rs: it has no place in the layers of a"]);
}

#[test]
fn what_touches_the_machine_is_found_in_a_pure_crate() {
    let files = [
        ("a/src/lib.rs", "use std::fmt;\nuse std::{fs, time::Instant};\nfn f() { rustix::fs::stat(\".\"); }"),
        ("a/src/b.rs", "#[cfg(test)] mod tests { use std::fs; } fn nixie() { nixie::f(); }"),
    ];
    let imports = imports("a/src/", files).expect("it is Rust");
    assert_eq!(
        impurities(&imports, TOUCHING),
        [
            "a/src/lib.rs:3: rustix::fs::stat in a crate that touches nothing",
            "a/src/lib.rs:2: std::fs in a crate that touches nothing",
            "a/src/lib.rs:2: std::time::Instant in a crate that touches nothing",
        ]
    );
}

#[test]
fn a_crate_that_depends_on_one_above_it_is_found() {
    let manifests = BTreeMap::from([
        (
            "cpuledger",
            "[dependencies]\ncpuledger-proc.workspace = true\n[dev-dependencies]\ncpuledger-load = {}\n",
        ),
        (
            "cpuledger-bpf",
            "[package]\nname = 1\n[build-dependencies]\ncpuledger = { path = \"../cpuledger\" }\n",
        ),
        ("cpuledger-new", ""),
    ]);
    let manifests = manifests.into_iter().map(|(name, text)| (name, text.to_owned())).collect();
    assert_eq!(
        upward_dependencies(&manifests),
        [
            "cpuledger-bpf/Cargo.toml:4: it depends on cpuledger, which is not below it",
            "cpuledger-new: it has no place among the crates",
        ]
    );
}
