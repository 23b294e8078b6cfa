//! Makes the structs of rows of the table of fields, so that a new field is in them at once. The library includes the result, and `tests/header.rs`
//! makes the header of it.

#[path = "src/bit.rs"]
mod bit;
mod rows;

use std::path::Path;

use bit::bit_of;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=rows.rs");
    println!("cargo::rerun-if-changed=src/bit.rs");
    let folder = std::env::var_os("OUT_DIR").expect("cargo sets it");
    std::fs::write(Path::new(&folder).join("row.rs"), rows::rows()).expect("it can be written");
}
