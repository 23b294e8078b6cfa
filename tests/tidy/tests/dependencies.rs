//! What the main program links: few crates, and none that only a program beside it needs.

use std::collections::BTreeSet;
use std::env;
use std::process::Command;

/// Without those of this workspace, whose code is what the program is for. Each one takes time to build, and room in a program that is loaded
/// in a millisecond.
const MOST_CRATES: usize = 100;

/// What `cpuledger-export` and `cpuledger-net` are for.
const OF_OTHER_PROGRAMS: [&str; 5] = ["arrow", "parquet", "hyper", "rustls", "tokio"];

/// What is wrong with these, each as its name and version.
fn complaint(crates: &BTreeSet<String>) -> Option<String> {
    let foreign = crates.iter().find(|name| OF_OTHER_PROGRAMS.iter().any(|other| name.starts_with(other)));
    match foreign {
        Some(name) => {
            Some(format!("{name} belongs into a program of its own: as crates/cpuledger-export is"))
        }
        None if crates.len() > MOST_CRATES => Some(format!(
            "{} crates, and at most {MOST_CRATES}: do without one, or without a feature that brings it",
            crates.len()
        )),
        None => None,
    }
}

#[test]
fn the_main_program_links_few_crates() {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["tree", "--package", "cpuledger-cli", "--edges", "normal", "--prefix", "none"])
        .args(["--no-dedupe", "--format", "{p}", "--locked", "--offline"])
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let (own, crates): (BTreeSet<String>, BTreeSet<String>) =
        text.lines().map(str::to_owned).partition(|name| name.contains(" (/"));
    assert!(own.iter().any(|name| name.starts_with("cpuledger-bpf ")), "{text}");
    assert!(crates.iter().any(|name| name.starts_with("rustix ")), "{text}");
    assert_eq!(complaint(&crates), None, "{crates:#?}");
}

#[test]
fn one_crate_too_many_and_one_of_another_program_are_found() {
    let crates = |count: usize| (0..count).map(|number| format!("a{number} v1.0.0")).collect::<BTreeSet<_>>();
    assert_eq!(complaint(&crates(MOST_CRATES)), None);
    assert!(complaint(&crates(MOST_CRATES + 1)).is_some_and(|sentence| sentence.contains("at most")));
    let with_arrow = BTreeSet::from(["anyhow v1.0.0".to_owned(), "arrow-array v60.1.0".to_owned()]);
    assert!(complaint(&with_arrow).is_some_and(|sentence| sentence.contains("arrow-array")));
}
