//! The tables of the README: those of the newest results.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::ensure;

use crate::results::{QUICK, folders};
use crate::table::{FILE, replaced};

/// Options of `readme`: none.
#[derive(Debug, clap::Args)]
pub struct Arguments {}

/// Puts the tables of the newest results into the README.
///
/// # Errors
/// When nothing was measured, or a file cannot be read or written.
pub fn run(_: &Arguments) -> anyhow::Result<()> {
    let text = replaced(&fs::read_to_string(readme())?, &newest_first(&folders())?)?;
    fs::write(readme(), text)?;
    println!("README.md has the newest of each table");
    Ok(())
}

fn readme() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md")
}

/// The tables of all dates, the last one's first: each tells its own. Short forms do not count.
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
    fn the_readme_has_the_tables_of_the_newest_results() {
        let readme = fs::read_to_string(readme()).expect("the README");
        let tables = newest_first(&folders()).expect("results");
        assert!(!blocks(&readme).expect("they end").is_empty(), "the README has no table of measurements");
        let expected = replaced(&readme, &tables).expect("all are measured");
        assert!(readme == expected, "the README has other figures: run `cpuledger-bench readme`");
    }
}
