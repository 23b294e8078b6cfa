//! The header is what the sources make it. And what the maps and pages name is what there is.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use cbindgen::{Builder, Config};

/// With it, the files are written anew.
const UPDATE: &str = "CPULEDGER_UPDATE_HEADERS";

/// In the order of the header.
const SOURCES: [&str; 8] = [
    "src/failure.rs",
    "src/handle.rs",
    "src/interval.rs",
    "src/options.rs",
    "src/field.rs",
    concat!(env!("OUT_DIR"), "/row.rs"),
    "src/functions.rs",
    "src/measure.rs",
];

fn path(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(file)
}

fn read(file: &str) -> String {
    fs::read_to_string(path(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

fn assert_current(file: &str, text: &str) {
    if std::env::var_os(UPDATE).is_some() {
        fs::write(path(file), text).expect("it can be written");
    }
    let is_same = path(file).exists() && read(file) == text;
    assert!(
        is_same,
        "bindings/c/{file} is not what it is made of: run {UPDATE}=1 cargo test -p cpuledger-c --test header"
    );
}

fn header(config: &str, sources: &[&str]) -> String {
    let mut builder = Builder::new().with_config(Config::from_file(path(config)).expect("a configuration"));
    for source in sources {
        builder = builder.with_src(path(source));
    }
    let mut text = Vec::new();
    builder.generate().expect("C has all of it").write(&mut text);
    for_c(&String::from_utf8(text).expect("UTF-8"))
}

/// What Rust's readers are told of safety is in the pages.
fn for_c(text: &str) -> String {
    let mut kept = Vec::new();
    let mut is_safety = false;
    for line in text.lines() {
        let comment = line.trim_start();
        is_safety = match comment {
            "* # Safety" => true,
            "*/" => false,
            _ => is_safety,
        };
        if !is_safety {
            kept.push(line);
        }
        if comment == "*/" {
            // The empty line before that.
            let at = kept.len() - 2;
            if kept[at].trim() == "*" {
                kept.remove(at);
            }
        }
    }
    short(&kept).join("\n") + "\n"
}

/// Comments of one line take one, and the bits of fields no more than theirs: their names say all.
fn short(lines: &[&str]) -> Vec<String> {
    let mut short: Vec<String> = Vec::new();
    for line in lines {
        let is_bit = |line: &str| line.starts_with("#define CPULEDGER_FIELD_");
        let before = short.len().checked_sub(2).map(|at| (short[at].trim(), short[at + 1].trim()));
        match before {
            Some(("/**", text)) if line.trim() == "*/" => {
                let indent = " ".repeat(line.len() - line.trim_start().len() - 1);
                let text = format!("{indent}/** {} */", text.trim_start_matches(['*', ' ']));
                short.truncate(short.len() - 2);
                short.push(text);
            }
            _ if is_bit(line) => {
                short.pop();
                if short.len() > 1 && is_bit(&short[short.len() - 2]) {
                    short.pop();
                }
                short.push((*line).to_owned());
            }
            _ => short.push((*line).to_owned()),
        }
    }
    short
}

#[test]
fn headers_are_made_of_the_sources() {
    assert_current("include/cpuledger.h", &header("cbindgen.toml", &SOURCES));
}

/// The functions that are exported, by the sources.
fn exported(sources: &[&str]) -> BTreeSet<String> {
    let text: String = sources.iter().map(|file| read(file)).collect();
    let names = text.lines().filter_map(|line| line.split_once("extern \"C\" fn ")?.1.split_once('('));
    names.map(|(name, _)| name.to_owned()).collect()
}

/// The symbols that a version script names.
fn of_map(file: &str) -> BTreeSet<String> {
    let text = read(file);
    let names = text.lines().filter_map(|line| line.trim().strip_suffix(';'));
    names.filter(|name| name.starts_with("cpuledger_")).map(str::to_owned).collect()
}

#[test]
fn maps_and_pages_name_every_function() {
    let mut names = exported(&SOURCES);
    assert!(names.len() >= 20, "{names:?}");
    assert_eq!(of_map("libcpuledger.map"), names);
    names.extend(exported(&["../c-ledger/src/lib.rs"]));
    assert_eq!(of_map("../c-ledger/libcpuledger-ledger.map"), names);
    let mut pages = String::new();
    for page in fs::read_dir(path("man")).expect("the pages") {
        let text = fs::read_to_string(page.expect("a page").path()).expect("a page");
        let synopsis = text.split(".SH SYNOPSIS").nth(1).and_then(|rest| rest.split(".SH").next());
        pages += synopsis.expect("each page has one");
    }
    let header = read("include/cpuledger.h") + &read("../c-ledger/include/cpuledger-ledger.h");
    for name in names {
        let call = format!("{name}(");
        assert!(pages.contains(&call), "no page of bindings/c/man has {name} in its synopsis");
        assert!(header.contains(&call), "no header declares {name}");
    }
}
