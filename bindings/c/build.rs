//! Makes the structs of rows of the table of fields: so a new field is in them at once. `tests/header.rs` keeps `src/row.rs`, of which the header
//! is made, the same.

#[path = "src/bit.rs"]
mod bit;
#[path = "tests/generated/mod.rs"]
mod generated;

use std::path::Path;

use bit::bit_of;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/bit.rs");
    println!("cargo::rerun-if-changed=tests/generated/mod.rs");
    let folder = std::env::var_os("OUT_DIR").expect("cargo sets it");
    // A file that is included has no text about itself.
    let rows = generated::rows();
    let rows: Vec<&str> = rows.lines().filter(|line| !line.starts_with("//!")).collect();
    std::fs::write(Path::new(&folder).join("row.rs"), rows.join("\n")).expect("it can be written");
}
