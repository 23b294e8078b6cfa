//! What a process holds of BPF, followed by the numbers that the kernel gives its objects.

use std::collections::BTreeSet;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::Error;

/// Numbers of the BPF programs, maps and links that a process holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BpfHeld {
    /// Programs.
    pub programs: BTreeSet<u32>,
    /// Maps.
    pub maps: BTreeSet<u32>,
    /// Links: what is attached.
    pub links: BTreeSet<u32>,
}

impl BpfHeld {
    /// By the files that it has open now; nothing where it is gone.
    pub fn by(pid: u32) -> BpfHeld {
        let mut held = BpfHeld::default();
        let Ok(files) = std::fs::read_dir(format!("/proc/{pid}/fdinfo")) else { return held };
        for file in files.flatten() {
            let text = std::fs::read_to_string(file.path()).unwrap_or_default();
            for line in text.lines() {
                let Some((key, value)) = line.split_once(':') else { continue };
                let ids = match key {
                    "prog_id" => &mut held.programs,
                    "map_id" => &mut held.maps,
                    "link_id" => &mut held.links,
                    _ => continue,
                };
                ids.extend(value.trim().parse::<u32>());
            }
        }
        held
    }

    /// What of it the kernel still has.
    ///
    /// # Errors
    /// [`Error::GaveUp`] without bpftool.
    pub fn left(&self) -> Result<BpfHeld, Error> {
        Ok(BpfHeld {
            programs: &ids("prog")? & &self.programs,
            maps: &ids("map")? & &self.maps,
            links: &ids("link")? & &self.links,
        })
    }

    /// Waits until the kernel has nothing of it any more, and returns what it still has after that time. It frees BPF objects
    /// some grace periods after their last file is closed.
    ///
    /// # Errors
    /// As [`BpfHeld::left`].
    pub fn left_after(&self, limit: Duration) -> Result<BpfHeld, Error> {
        let begin = Instant::now();
        loop {
            let left = self.left()?;
            if left == BpfHeld::default() || begin.elapsed() > limit {
                return Ok(left);
            }
            sleep(Duration::from_millis(50));
        }
    }
}

/// Every number of a kind that the kernel has now.
fn ids(kind: &str) -> Result<BTreeSet<u32>, Error> {
    let missing =
        |reason: String| Error::GaveUp(format!("bpftool does not list ({reason}): install bpftool"));
    let output = Command::new("bpftool").args(["--json", kind, "show"]).output();
    let output = output.map_err(|error| missing(error.to_string()))?;
    let list: serde_json::Value =
        serde_json::from_slice(&output.stdout).map_err(|error| missing(error.to_string()))?;
    let objects = list.as_array().ok_or_else(|| missing("no list".to_owned()))?;
    Ok(objects.iter().filter_map(|object| object["id"].as_u64()).map(|id| id as u32).collect())
}
