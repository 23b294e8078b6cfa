//! The tables of the README: those of the newest results.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

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
    let tables = newest(&folders())?;
    let text = replaced(&fs::read_to_string(readme())?, &fs::read_to_string(&tables)?)?;
    fs::write(readme(), text)?;
    println!("README.md has the tables of {}", tables.display());
    Ok(())
}

fn readme() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md")
}

/// The tables of the last date; short forms do not count.
fn newest(folders: &Path) -> anyhow::Result<PathBuf> {
    let mut all: Vec<PathBuf> = fs::read_dir(folders)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|folder| !folder.to_string_lossy().ends_with(QUICK))
        .map(|folder| folder.join(FILE))
        .filter(|file| file.exists())
        .collect();
    all.sort();
    all.pop().context("no tables in bench/results: run `make bench`")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::blocks;

    #[test]
    fn the_readme_has_the_tables_of_the_newest_results() {
        let readme = fs::read_to_string(readme()).expect("the README");
        let tables = fs::read_to_string(newest(&folders()).expect("results")).expect("their tables");
        assert!(!blocks(&readme).expect("they end").is_empty(), "the README has no table of measurements");
        let expected = replaced(&readme, &tables).expect("all are measured");
        assert!(readme == expected, "the README has other figures: run `cpuledger-bench readme`");
    }
}
