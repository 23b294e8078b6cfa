//! The style rules that are worth a test. What rustfmt and clippy check (layout, length of functions) is not repeated
//! here. Every rule looks at text only, says file, line and what to do, and has a test below that it can fail.

pub mod code;
pub mod growth;
pub mod imports;
pub mod layers;

use std::path::Path;

use code::{code_of, has_word};

/// The most lines a source file may have: longer ones hold more than one topic.
pub const MAX_LINES_PER_FILE: usize = 700;

/// Where `unsafe` may stand, by the beginning of the path, and why nothing safe will do.
const UNSAFE_ALLOWED: &[&str] = &[
    // The mapping shared with the kernel.
    "crates/cpuledger-bpf/src/",
    // The allocator, to end in a sentence, and to give back what it has freed.
    "crates/cpuledger-program/src/memory.rs",
    "crates/cpuledger-cli/src/memory.rs",
    // What keeps the C library from loading others of another version.
    "crates/cpuledger-program/src/name_service.rs",
    // What runs before the runtime of Rust does.
    "crates/cpuledger-program/src/closed.rs",
    // The mapping that the service shares with its readers.
    "crates/cpuledger-service/src/mapping.rs",
    // Options of a socket that no library knows.
    "crates/cpuledger-service/src/server/options.rs",
    // Descriptors that a service manager names by their numbers.
    "crates/cpuledger-service/src/inherited.rs",
    "crates/cpuledger-cli/tests/manager/",
    // The socket of the launcher, which it gets by its number.
    "crates/cpuledger-cli/src/cmd/run/launch.rs",
    // A reader that is hostile by raw system calls.
    "crates/cpuledger-service/tests/hostile/",
    // The interface of C: pointers of its callers.
    "bindings/c/src/",
    "bindings/c-ledger/src/",
    // Allocators that count.
    "crates/cpuledger/tests/counting/",
    "fuzz/src/peak.rs",
    // Tasks made odd by raw system calls.
    "tests/load/src/cmd/",
];

/// Where only the caller decides what is printed.
const LIBRARIES: &[&str] = &[
    "crates/cpuledger/src/",
    "crates/cpuledger-bpf/src/",
    "crates/cpuledger-client/src/",
    "crates/cpuledger-model/src/",
    "crates/cpuledger-proc/src/",
    "crates/cpuledger-recording/src/",
    "crates/cpuledger-service/src/",
    "crates/cpuledger-view/src/",
];

/// Written in two parts, as the rules look at this file too.
const FORBIDDEN_WORDS: &[&str] = &[concat!("TO", "DO"), concat!("FIX", "ME"), concat!("X", "XX")];
const HOME_DIRECTORIES: &[&str] = &[concat!("/ho", "me/"), concat!("/ro", "ot/"), concat!("/Us", "ers/")];

/// One broken rule.
#[derive(Debug, PartialEq, Eq)]
pub struct Finding {
    /// Counted from 1.
    pub line: usize,
    /// What is wrong and what to do, in one sentence.
    pub sentence: String,
}

/// All that is wrong with the file at `path`, which is relative to the repository.
/// `exists` says whether another such path exists.
pub fn check(path: &str, text: &str, exists: &dyn Fn(&str) -> bool) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut add = |line: usize, sentence: String| findings.push(Finding { line, sentence });
    let extension = Path::new(path).extension().and_then(|e| e.to_str()).unwrap_or_default();

    for (number, line) in (1..).zip(text.lines()) {
        check_any_line(line, &mut |sentence| add(number, sentence));
    }
    match extension {
        "rs" => {
            check_rust(path, text, &mut add);
            growth::check(path, text, &mut add);
        }
        "c" | "h" => check_c(text, &mut add),
        "md" => check_links(path, text, exists, &mut add),
        _ => {}
    }
    if matches!(extension, "rs" | "c" | "h") && text.lines().count() > MAX_LINES_PER_FILE {
        add(MAX_LINES_PER_FILE + 1, format!("more than {MAX_LINES_PER_FILE} lines: split the file by topic"));
    }
    findings
}

fn check_any_line(line: &str, add: &mut dyn FnMut(String)) {
    if line.ends_with([' ', '\t', '\r']) {
        add("white space at the end of the line: remove it".into());
    }
    for word in FORBIDDEN_WORDS.iter().filter(|word| has_word(line, word)) {
        add(format!("{word}: do it, or say what is missing where users read it"));
    }
    for home in HOME_DIRECTORIES.iter().filter(|home| line.contains(**home)) {
        add(format!("{home} is a path of one machine: use a relative one, or $HOME"));
    }
}

fn check_c(text: &str, add: &mut dyn FnMut(usize, String)) {
    if !text.lines().next().is_some_and(|line| line.contains("SPDX-License-Identifier: ")) {
        add(1, "no SPDX-License-Identifier: begin the file with it".into());
    }
}

/// A test that prints and returns counts as passed, though it has not run: `return;` after a statement that only prints.
fn check_early_returns(lines: &[&str], first_test_line: usize, add: &mut dyn FnMut(usize, String)) {
    let prints =
        |line: &&str| ["println!(", "eprintln!("].iter().any(|name| line.trim_start().starts_with(name));
    for (index, line) in lines.iter().enumerate().skip(first_test_line.saturating_sub(1)) {
        if line.trim() != "return;" {
            continue;
        }
        let Some(printed) = lines[..index].iter().rposition(prints) else { continue };
        let statement: Vec<String> = lines[printed..index].iter().map(|line| code_of(line)).collect();
        let indent = |line: &str| line.len() - line.trim_start().len();
        if statement.concat().matches(';').count() == 1 && indent(lines[printed]) == indent(line) {
            add(
                index + 1,
                "a test that prints and returns: use not_run of cpuledger-load, which has it listed".into(),
            );
        }
    }
}

fn check_rust(path: &str, text: &str, add: &mut dyn FnMut(usize, String)) {
    let starts_with = |prefixes: &[&str]| prefixes.iter().any(|prefix| path.starts_with(prefix));
    let first_test_line = first_test_line(path, text);
    check_early_returns(&text.lines().collect::<Vec<_>>(), first_test_line, add);

    for (number, line) in (1..).zip(text.lines()) {
        let code = code_of(line);
        let in_test = number >= first_test_line;
        if line.contains('\t') {
            add(number, "a tab: use spaces, or \\t in a string".into());
        }
        if code.contains("#[ignore") {
            add(number, "an ignored test: say in the test's name what it needs, or remove it".into());
        }
        if has_word(&code, "unsafe") && !starts_with(UNSAFE_ALLOWED) {
            add(
                number,
                "unsafe: use what cpuledger-bpf or rustix offers, or add the file to UNSAFE_ALLOWED".into(),
            );
        }
        if path.starts_with("crates/") && path.contains("/src/") && !in_test && code.contains(".unwrap()") {
            add(number, "unwrap(): return the error, or expect(\"why it cannot fail\")".into());
        }
        for name in ["dbg", "todo", "unimplemented"] {
            if has_macro(&code, name) {
                add(number, format!("{name}!: not in finished code"));
            }
        }
        for name in ["print", "println", "eprint", "eprintln"] {
            if has_macro(&code, name) && !in_test && starts_with(LIBRARIES) {
                add(number, format!("{name}! in a library: return a value or an error; the binary prints"));
            }
        }
    }
}

/// The number of the line where the unit tests at the end of a file begin, or a number beyond the last line.
fn first_test_line(path: &str, text: &str) -> usize {
    if path.ends_with("/tests.rs") || path.contains("/tests/") {
        return 1;
    }
    let lines: Vec<&str> = text.lines().collect();
    let begins = |pair: &[&str]| {
        pair[0].starts_with("#[cfg(")
            && has_word(pair[0], "test")
            && pair[1].starts_with("mod ")
            && pair[1].ends_with('{')
    };
    lines.windows(2).position(begins).map_or(usize::MAX, |index| index + 1)
}

fn check_links(path: &str, text: &str, exists: &dyn Fn(&str) -> bool, add: &mut dyn FnMut(usize, String)) {
    let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
    let mut in_code_block = false;
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim_start().starts_with("```") {
            in_code_block = !in_code_block;
        }
        if in_code_block {
            continue;
        }
        for link in line.split("](").skip(1).filter_map(|rest| rest.split([')', ' ', '#']).next()) {
            let elsewhere = link.contains("://") || link.starts_with("mailto:") || link.is_empty();
            if !elsewhere && !exists(&resolve(directory, link)) {
                add(number, format!("the link to {link} points nowhere: correct or remove it"));
            }
        }
    }
}

/// `link`, as it stands in a file in `directory`, relative to the repository.
fn resolve(directory: &str, link: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in directory.split('/').chain(link.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    parts.join("/")
}

fn has_macro(code: &str, name: &str) -> bool {
    has_word(code, name) && code.contains(&format!("{name}!"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::PathBuf;

    const LIBRARY: &str = "crates/cpuledger/src/a.rs";

    /// The lines at which a file with this text breaks a rule whose sentence contains `part`.
    fn lines(path: &str, text: &str, part: &str) -> Vec<usize> {
        let exists = |path: &str| ["README.md", "docs/a.md"].contains(&path);
        let findings = check(path, text, &exists);
        let other: Vec<_> = findings.iter().filter(|finding| !finding.sentence.contains(part)).collect();
        assert!(other.is_empty(), "unexpected: {other:?}");
        findings.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn the_repository_is_tidy() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut files = Vec::new();
        collect_files(&root, &mut files);
        assert!(files.len() > 20, "only {} files below {}: the wrong place", files.len(), root.display());

        let mut report = String::new();
        for file in files {
            let path =
                file.strip_prefix(&root).expect("it was found below").to_str().expect("paths are UTF-8");
            let Ok(text) = fs::read_to_string(&file) else {
                continue;
            }; // not text
            for finding in check(path, &text, &|path| root.join(path).exists()) {
                report += &format!("{path}:{}: {}\n", finding.line, finding.sentence);
            }
        }
        assert!(report.is_empty(), "the style rules are broken in\n{report}");
    }

    /// Packages whose files do not import each other in circles.
    const WITHOUT_CIRCLES: &[&str] = &[
        "bench",
        "crates/cpuledger",
        "crates/cpuledger-bpf",
        "crates/cpuledger-cli",
        "crates/cpuledger-proc",
        "crates/cpuledger-program",
        "crates/cpuledger-service",
        "crates/cpuledger-view",
        "tests/load",
        "tests/protocol",
        "tests/soak",
        "tests/tidy",
        "tests/vm",
    ];

    #[test]
    fn no_file_imports_one_that_imports_it() {
        let mut report = String::new();
        for package in WITHOUT_CIRCLES {
            let imports = imports_of(package);
            for circle in imports.circles() {
                report += &format!(
                    "a circle of {} files in {package}:\n{}",
                    circle.len(),
                    imports.describe(&circle)
                );
            }
        }
        assert!(report.is_empty(), "move what both need to a file of its own:\n{report}");
    }

    fn imports_of(package: &str) -> imports::Imports {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(package).join("src");
        let mut files = Vec::new();
        collect_files(&root, &mut files);
        let name = |file: &PathBuf| {
            format!("{package}/src/{}", file.strip_prefix(&root).expect("it was found below").display())
        };
        let texts: Vec<(String, String)> =
            files.iter().filter_map(|file| Some((name(file), fs::read_to_string(file).ok()?))).collect();
        let texts = texts.iter().map(|(file, text)| (file.as_str(), text.as_str()));
        imports::imports(&format!("{package}/src/"), texts).expect("it is Rust")
    }

    #[test]
    fn no_file_imports_one_of_a_layer_above() {
        let found: Vec<String> =
            layers::LAYERS.iter().flat_map(|layers| layers.findings(&imports_of(layers.package))).collect();
        assert!(
            found.is_empty(),
            "move what both need below, see tests/tidy/src/layers/table.rs:\n{}",
            found.join("\n")
        );
    }

    #[test]
    fn no_crate_depends_on_one_above() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates");
        let read = |name: &str| fs::read_to_string(folder.join(name).join("Cargo.toml")).expect("a manifest");
        let names: Vec<String> = fs::read_dir(&folder)
            .expect("the crates")
            .map(|entry| entry.expect("a crate").file_name().into_string().expect("paths are UTF-8"))
            .collect();
        let manifests = names.iter().map(|name| (name.as_str(), read(name))).collect();
        let found = layers::upward_dependencies(&manifests);
        assert!(found.is_empty(), "see CRATES in tests/tidy/src/layers.rs:\n{}", found.join("\n"));
        assert_eq!(names.len(), layers::CRATES.len(), "{names:?}");
    }

    #[test]
    fn pure_crates_touch_nothing() {
        let found: Vec<String> = layers::PURE
            .iter()
            .flat_map(|(package, touching)| layers::impurities(&imports_of(package), touching))
            .collect();
        assert!(found.is_empty(), "hand in what was read:\n{}", found.join("\n"));
    }

    fn collect_files(directory: &Path, files: &mut Vec<PathBuf>) {
        const NOT_OURS: &[&str] =
            &[".git", "target", "dist", "LICENSES", "Cargo.lock", "corpus", "artifacts"];
        for entry in fs::read_dir(directory).expect("a directory of the repository") {
            let entry = entry.expect("an entry of a directory");
            let kind = entry.file_type().expect("the type of an entry");
            if NOT_OURS.iter().any(|name| entry.file_name() == *name) {
                continue;
            } else if kind.is_dir() {
                collect_files(&entry.path(), files);
            } else if kind.is_file() {
                files.push(entry.path());
            }
        }
    }

    #[test]
    fn white_space_at_the_end_is_found() {
        assert_eq!(lines("Makefile", "a\nb \nc\t\n", "white space"), [2, 3]);
    }

    #[test]
    fn forbidden_words_are_found_as_words() {
        for word in FORBIDDEN_WORDS {
            assert_eq!(lines("a.sh", &format!("# {word}: later\nname{word}S\n"), word), [1]);
        }
    }

    #[test]
    fn home_directories_are_found() {
        for home in HOME_DIRECTORIES {
            assert_eq!(lines("a.md", &format!("fine\nsee {home}me\n"), home), [2]);
        }
    }

    #[test]
    fn a_c_file_without_licence_is_found() {
        assert_eq!(lines("a.h", "/* a */\n", "SPDX"), [1]);
        assert_eq!(lines("a.c", "", "SPDX"), [1]);
        assert!(lines("a.c", "// SPDX-License-Identifier: GPL-2.0-only\n", "SPDX").is_empty());
    }

    #[test]
    fn a_long_file_is_found() {
        assert!(lines(LIBRARY, &"\n".repeat(MAX_LINES_PER_FILE), "split").is_empty());
        assert_eq!(lines(LIBRARY, &"\n".repeat(MAX_LINES_PER_FILE + 1), "split"), [MAX_LINES_PER_FILE + 1]);
    }

    #[test]
    fn a_tab_in_rust_is_found() {
        assert_eq!(lines(LIBRARY, "fn f() {\n\tg();\n}\n", "tab"), [2]);
        assert!(lines("Makefile", "a:\n\tb\n", "tab").is_empty());
    }

    #[test]
    fn an_ignored_test_is_found() {
        assert_eq!(lines(LIBRARY, "#[test]\n#[ignore = \"slow\"]\n", "ignored"), [2]);
    }

    #[test]
    fn unsafe_outside_the_kernel_half_is_found() {
        let text = "#![deny(unsafe_op_in_unsafe_fn)]\n// unsafe\nlet a = unsafe { f() };\n";
        assert_eq!(lines(LIBRARY, text, "unsafe"), [3]);
        assert!(lines("crates/cpuledger-bpf/src/map.rs", text, "unsafe").is_empty());
    }

    #[test]
    fn unwrap_outside_tests_is_found() {
        let text = "#[cfg(test)]\nuse a;\nf().unwrap();\n#[cfg(test)]\nmod tests {\n    f().unwrap();\n";
        assert_eq!(lines(LIBRARY, text, "unwrap"), [3]);
        assert!(lines("crates/cpuledger/tests/a.rs", text, "unwrap").is_empty());
        assert!(lines("crates/cpuledger/src/a/tests.rs", text, "unwrap").is_empty());
    }

    #[test]
    fn unfinished_code_is_found() {
        assert_eq!(lines("tests/a.rs", "dbg!(1);\ntodo!();\nunimplemented!();\n", "finished"), [1, 2, 3]);
        assert!(lines("tests/a.rs", "let dbg = \"todo!\"; // dbg!(1)\n", "finished").is_empty());
    }

    #[test]
    fn a_test_that_prints_and_returns_is_found() {
        let text = "if a {\n    eprintln!(\n        \"left out; b\"\n    );\n    return;\n}\nprintln!(\"c\");\nreturn;\n";
        assert_eq!(lines("crates/cpuledger/tests/a.rs", text, "not_run"), [5, 8]);
        let fine = "println!(\"a\");\nwork();\nreturn;\nprintln!(\"d\");\nif c {\n    return;\n}\nif b {\n    return not_run(\"c\");\n}\n";
        assert!(lines("crates/cpuledger/tests/a.rs", fine, "not_run").is_empty());
    }

    #[test]
    fn printing_in_a_library_is_found() {
        let text = "println!(\"a\");\neprint!();\n#[cfg(test)]\nmod tests {\n    println!();\n";
        assert_eq!(lines(LIBRARY, text, "in a library"), [1, 2]);
        assert!(lines("crates/cpuledger-cli/src/main.rs", text, "in a library").is_empty());
    }

    #[test]
    fn a_dead_link_is_found() {
        let text =
            "[a](a.md) [b](../README.md#top) [c](https://example.org/x)\n[d](b.md)\n```\n[e](f.md)\n```\n";
        assert_eq!(lines("docs/c.md", text, "b.md points nowhere"), [2]);
    }
}
