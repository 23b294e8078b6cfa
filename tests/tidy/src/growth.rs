//! Public structs and enums of the libraries may get more members without breaking a program that uses them, or say here why they never will.

use crate::code::code_of;

/// The libraries that other programs are made of.
const LIBRARIES: &[&str] = &[
    "crates/cpuledger/src/",
    "crates/cpuledger-client/src/",
    "crates/cpuledger-model/src/",
    "crates/cpuledger-names/src/",
    "crates/cpuledger-recording/src/",
    "crates/cpuledger-report/src/",
    "crates/cpuledger-service/src/",
];

/// Those that stay exhaustive, by file and name, and why.
pub const EXHAUSTIVE: &[(&str, &[&str], &str)] = &[
    (
        "crates/cpuledger-model/src/task.rs",
        &["TaskId"],
        "an identity: with more members it would be another one",
    ),
    ("crates/cpuledger-model/src/interval.rs", &["Divided"], "the three add up to the whole"),
    ("crates/cpuledger-model/src/traffic.rs", &["Flows"], "there are two directions"),
    (
        "crates/cpuledger-model/src/states.rs",
        &["OffState"],
        "all time off the CPU is of one of them: a sum without one is wrong",
    ),
    (
        "crates/cpuledger-model/src/field.rs",
        &["Value", "Unit"],
        "one that a writer does not know would be written wrong",
    ),
    (
        "crates/cpuledger-model/src/snapshot.rs",
        &["Scope"],
        "a source that does not know one would list other tasks",
    ),
    (
        "crates/cpuledger-model/src/dimension.rs",
        &["Dimension"],
        "rows that are put together by one that the code does not know would all be of nobody",
    ),
    (
        "crates/cpuledger-model/src/source_kind.rs",
        &["SourceKind"],
        "privileges and the choice of a source follow from it: what does not know one must not compile",
    ),
    (
        "crates/cpuledger-model/src/audience.rs",
        &["Viewer", "Strangers"],
        "a caller that leaves out a fact about a user would show that user too much",
    ),
    (
        "crates/cpuledger-recording/src/span.rs",
        &["When", "Span"],
        "a begin and an end, each in one of two clocks",
    ),
    (
        "crates/cpuledger-recording/src/recording.rs",
        &["Step"],
        "what a reader does not know of it would be missing from its sums",
    ),
    ("crates/cpuledger-report/src/instants.rs", &["Instants"], "a begin and an end"),
    (
        "crates/cpuledger-report/src/dimension.rs",
        &["Name"],
        "one that a writer does not know would be taken for another",
    ),
    ("crates/cpuledger-client/src/client.rs", &["Next"], "an interval, none yet, or the end"),
    ("crates/cpuledger-client/src/replay.rs", &["Share"], "known or not"),
    ("crates/cpuledger-client/src/descent.rs", &["Subject"], "alive or dead"),
    (
        "crates/cpuledger-client/src/families.rs",
        &["Member"],
        "what a reader does not know of a listing would be missing from it",
    ),
    ("crates/cpuledger-names/src/named.rs", &["Grouped"], "a name, none, or not known"),
    (
        "crates/cpuledger-names/src/row.rs",
        &["Surroundings"],
        "a program that leaves out one would show its figures as unknown",
    ),
    (
        "crates/cpuledger-service/src/inherited.rs",
        &["Inherited"],
        "what a service manager passes: a name and a descriptor",
    ),
    ("crates/cpuledger-service/src/ring/layout.rs", &["Size"], "the two sizes in the layout of a ring"),
    (
        "crates/cpuledger-service/src/ring/reader.rs",
        &["Next"],
        "a reader that does not know one would wait for ever",
    ),
    (
        "crates/cpuledger-service/src/varlink/interface.rs",
        &["Request", "ServiceRequest", "LedgerRequest", "Scope"],
        "a service has to answer each",
    ),
    ("crates/cpuledger/src/source/kernel_text/mod.rs", &["Whole"], "a process or a task"),
];

/// A public struct or enum.
#[derive(Debug, PartialEq, Eq)]
struct Item<'a> {
    line: usize,
    name: &'a str,
    /// Whether an attribute says that it may grow.
    is_marked: bool,
}

/// The public enums of a file, and its public structs whose members are all public: only these can be made or taken apart elsewhere.
fn items(text: &str) -> Vec<Item<'_>> {
    let lines: Vec<&str> = text.lines().collect();
    let mut items = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        let of = |keyword: &str| code.strip_prefix(keyword).filter(|_| code.ends_with('{'));
        let (rest, is_struct) = match (of("pub struct "), of("pub enum ")) {
            (Some(rest), _) => (rest, true),
            (_, Some(rest)) => (rest, false),
            _ => continue,
        };
        let name = rest.split(|end: char| !end.is_alphanumeric()).next().unwrap_or_default();
        let indent = &line[..line.len() - code.len()];
        let end = format!("{indent}}}");
        let member = |line: &&&str| {
            let code =
                line.strip_prefix(indent).and_then(|code| code.strip_prefix("    ")).unwrap_or_default();
            code.starts_with(|first: char| first.is_ascii_lowercase()) && code_of(code).contains(':')
        };
        let mut members = lines[index + 1..].iter().take_while(|line| **line != end).filter(member);
        if is_struct && members.any(|line| !line.trim_start().starts_with("pub ")) {
            continue;
        }
        let above = lines[..index].iter().rev().take_while(|line| {
            let code = line.trim_start();
            code.starts_with("#[") || code.starts_with("///") || code.ends_with(")]")
        });
        let is_marked = above.into_iter().any(|line| line.trim_start() == "#[non_exhaustive]");
        items.push(Item { line: index + 1, name, is_marked });
    }
    items
}

/// Adds what is neither marked nor listed, and what is both.
pub(crate) fn check(path: &str, text: &str, add: &mut dyn FnMut(usize, String)) {
    if !LIBRARIES.iter().any(|library| path.starts_with(library)) {
        return;
    }
    for Item { line, name, is_marked } in items(text) {
        let is_listed = EXHAUSTIVE.iter().any(|(file, names, _)| *file == path && names.contains(&name));
        match (is_marked, is_listed) {
            (false, false) => add(
                line,
                format!("{name} may grow: mark it #[non_exhaustive], or say in EXHAUSTIVE why it never will"),
            ),
            (true, true) => {
                add(line, format!("{name} is marked #[non_exhaustive]: remove it from EXHAUSTIVE"))
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "crates/cpuledger-model/src/task.rs";

    fn found(text: &str) -> Vec<usize> {
        let mut lines = Vec::new();
        check(FILE, text, &mut |line, _| lines.push(line));
        lines
    }

    #[test]
    fn what_may_grow_is_marked() {
        assert_eq!(found("pub struct A {\n    pub a: u8,\n}\n"), [1]);
        assert_eq!(found("#[derive(Debug)]\npub enum A {\n    B,\n}\n"), [2]);
        assert_eq!(found("#[non_exhaustive]\npub enum A {\n    B,\n}\n"), []);
        assert_eq!(
            found(
                "#[derive(\n    Debug\n)]\n#[non_exhaustive]\n/// It is.\npub struct A<'a> {\n    pub a: &'a u8,\n}\n"
            ),
            []
        );
        // One that has a private member is made nowhere else.
        assert_eq!(found("pub struct A {\n    pub a: u8,\n    b: u8,\n}\n"), []);
        assert_eq!(found("pub struct A(pub u8);\npub(crate) enum B {\n    C,\n}\n"), []);
    }

    #[test]
    fn what_is_listed_is_not_marked_and_exists() {
        assert_eq!(found("pub struct TaskId {\n    pub a: u8,\n}\n"), []);
        assert_eq!(found("#[non_exhaustive]\npub struct TaskId {\n    pub a: u8,\n}\n"), [2]);
        let mut lines = Vec::new();
        check("bench/src/a.rs", "pub enum A {\n    B,\n}\n", &mut |line, _| lines.push(line));
        assert_eq!(lines, [0_usize; 0]);
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for (file, names, _) in EXHAUSTIVE {
            let text = std::fs::read_to_string(root.join(file)).expect("a file that is listed");
            let items = items(&text);
            for name in *names {
                assert!(
                    items.iter().any(|item| item.name == *name),
                    "{name} is not in {file}: remove it from EXHAUSTIVE"
                );
            }
        }
    }
}
