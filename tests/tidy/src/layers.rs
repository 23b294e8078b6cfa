//! What may import what: crates, and the files of a crate, in an order from the bottom to the top. What is above imports what is below,
//! never the other way round.

mod table;

use std::collections::BTreeMap;

pub use table::LAYERS;

use crate::imports::Imports;

/// The crates of the product from the bottom to the top.
pub const CRATES: &[&str] = &[
    "cpuledger-proc",
    "cpuledger-model",
    "cpuledger-names",
    "cpuledger-report",
    "cpuledger-page",
    "cpuledger-recording",
    "cpuledger-program",
    "cpuledger-export",
    "cpuledger-service",
    "cpuledger-client",
    "cpuledger-net",
    "cpuledger-bpf",
    "cpuledger",
    "cpuledger-view",
    "cpuledger-cli",
];

/// A package whose files have an order.
#[derive(Debug, Clone, Copy)]
pub struct Layers {
    /// Its folder.
    pub package: &'static str,
    /// From the bottom to the top, below `src/`: files, or folders with all that is in them, without `.rs`. The more exact name decides.
    /// Files of one layer may import each other.
    pub from_below: &'static [&'static str],
}

/// Crates that touch nothing: no file, no clock, no system call. With each, the beginnings of paths that it does not use.
pub const PURE: &[(&str, &[&str])] = &[
    ("crates/cpuledger-proc", TOUCHING),
    ("crates/cpuledger-model", TOUCHING),
    ("crates/cpuledger-report", TOUCHING),
    ("crates/cpuledger-page", TOUCHING),
    ("crates/cpuledger-view", TOUCHING),
];

/// The beginnings of paths to what touches files, clocks or the kernel.
const TOUCHING: &[&str] = &[
    "cpuledger_names::logins",
    "cpuledger::facts",
    "cpuledger::machine",
    "cpuledger::source::open",
    "cpuledger::support",
    "libc",
    "nix",
    "rustix",
    "std::env",
    "std::fs",
    "std::net",
    "std::os",
    "std::process",
    "std::thread",
    "std::time",
];

impl Layers {
    /// The place of a file in the order; `None`: it has none. The root of the crate is above all.
    fn place(&self, file: &str) -> Option<usize> {
        let name = file.strip_prefix(self.package)?.strip_prefix("/src/")?.strip_suffix(".rs")?;
        if matches!(name, "lib" | "main") {
            return Some(self.from_below.len());
        }
        let is_in = |layer: &str| {
            name.strip_prefix(layer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let layers = self.from_below.iter().enumerate().filter(|(_, layer)| is_in(layer));
        layers.max_by_key(|(_, layer)| layer.len()).map(|(place, _)| place)
    }

    /// A sentence for each import of a later layer, and for each file without a place.
    pub fn findings(&self, imports: &Imports) -> Vec<String> {
        let without = imports.files.iter().filter(|file| self.place(file).is_none());
        let mut findings: Vec<String> = without
            .map(|file| format!("{file}: it has no place in the layers of {}", self.package))
            .collect();
        for ((from, to), names) in &imports.edges {
            let (Some(below), Some(above)) = (self.place(from), self.place(to)) else { continue };
            if above > below {
                let line = names.values().min().copied().unwrap_or(0);
                let names: Vec<&str> = names.keys().map(String::as_str).collect();
                findings.push(format!(
                    "{from}:{line}: it imports {} from {to}, which is above it",
                    names.join(", ")
                ));
            }
        }
        findings
    }
}

/// A sentence for each path in a pure crate that leads to what touches the machine.
pub fn impurities(imports: &Imports, touching: &[&str]) -> Vec<String> {
    let touches = |path: &str| {
        touching.iter().any(|begin| {
            path.strip_prefix(begin).is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
        })
    };
    let found = imports.written.iter().filter(|((_, path), _)| touches(path));
    found
        .map(|((file, path), line)| format!("{file}:{line}: {path} in a crate that touches nothing"))
        .collect()
}

/// A sentence for each crate of the product that depends on one above it: by name its `Cargo.toml`.
pub fn upward_dependencies(manifests: &BTreeMap<&str, String>) -> Vec<String> {
    let place = |name: &str| CRATES.iter().position(|known| *known == name);
    let mut findings = Vec::new();
    for (name, manifest) in manifests {
        let Some(below) = place(name) else {
            findings.push(format!("{name}: it has no place among the crates"));
            continue;
        };
        let mut is_in_dependencies = false;
        for (number, line) in (1..).zip(manifest.lines()) {
            if let Some(section) = line.strip_prefix('[') {
                is_in_dependencies = section.trim_end_matches(']').ends_with("dependencies");
            }
            let dependency = line.split(['.', ' ', '=']).next().unwrap_or_default();
            // A crate that depends on itself gets a feature in its tests.
            if is_in_dependencies && place(dependency).is_some_and(|above| above > below) {
                findings.push(format!(
                    "{name}/Cargo.toml:{number}: it depends on {dependency}, which is not below it"
                ));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests;
