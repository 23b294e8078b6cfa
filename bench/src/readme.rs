//! The tables of the documents: those of the newest results.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::ensure;

use crate::results::{QUICK, folders};
use crate::table::{FILE, replaced};

/// Options of `readme`: none.
#[derive(Debug, clap::Args)]
pub struct Arguments {}

/// What has tables, from the root of the project.
const DOCUMENTS: [&str; 4] = ["docs/accuracy.md", "docs/costs.md", "docs/go.md", "docs/status.md"];

/// Puts the tables of the newest results into the documents.
///
/// # Errors
/// When nothing was measured, or a file cannot be read or written.
pub fn run(_: &Arguments) -> anyhow::Result<()> {
    let tables = newest_first(&folders())?;
    for name in DOCUMENTS {
        let path = document(name);
        fs::write(&path, replaced(&fs::read_to_string(&path)?, &tables)?)?;
        println!("{name} has the newest of each table");
    }
    Ok(())
}

fn document(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name)
}

/// The tables of all dates, newest first: each states its own date. Short forms do not count.
fn newest_first(folders: &Path) -> anyhow::Result<String> {
    let mut all: Vec<PathBuf> = fs::read_dir(folders)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|folder| !folder.to_string_lossy().ends_with(QUICK))
        .map(|folder| folder.join(FILE))
        .filter(|file| file.exists())
        .collect();
    ensure!(!all.is_empty(), "no tables in bench/results: run `make bench`");
    all.sort();
    let texts: Result<Vec<String>, _> = all.iter().rev().map(fs::read_to_string).collect();
    Ok(texts?.concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::blocks;

    #[test]
    fn documents_have_the_tables_of_the_newest_results() {
        let tables = newest_first(&folders()).expect("results");
        for name in DOCUMENTS {
            let text = fs::read_to_string(document(name)).expect("a document");
            assert!(!blocks(&text).expect("they end").is_empty(), "{name} has no table of measurements");
            let expected = replaced(&text, &tables).expect("all are measured");
            assert!(text == expected, "{name} has other figures: run `cpuledger-bench readme`");
        }
    }
}
