//! Puts the page together: one file, which loads nothing and runs nothing but its own script and style.

use std::path::{Path, PathBuf};
use std::{env, fs};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

/// The parts of the script, in the order in which they use each other.
const SCRIPTS: [&str; 8] =
    ["numbers.js", "sheet.js", "colors.js", "line.js", "table.js", "icicle.js", "source.js", "app.js"];

fn main() {
    let folder = Path::new("page");
    let read = |name: &str| {
        let path = folder.join(name);
        println!("cargo::rerun-if-changed={}", path.display());
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let script: String = SCRIPTS.iter().map(|name| read(name)).collect();
    let script = format!("\"use strict\";\n(() => {{\n{script}}})();\n");
    let style = read("page.css");
    let hash = |text: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)));
    let policy = format!("script-src {}; style-src {}", hash(&script), hash(&style));
    let page = read("page.html").replace("{{policy}}", &policy);
    let page = page.replace("{{style}}", &style).replace("{{script}}", &script);
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo names it"));
    fs::write(out.join("page.html"), page).expect("the page can be written");
    fs::write(out.join("policy"), policy).expect("the policy can be written");
}
