//! What programs that are compiled rely on: the symbols and their versions, the sizes of structs, and where each member is.
//!
//! `bindings/c/abi/` has all of it as it was released. What is in there stays. More may come. What functions take and return is compared, too, by
//! abidiff.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use cpuledger_load::not_run;

use crate::built::{C99, Program, libraries, of_tree, run};

/// With it, the files are written anew.
const UPDATE: &str = "CPULEDGER_UPDATE_HEADERS";

/// The structs of a header and their members, those of a reserve left out: it becomes something else.
fn structs(header: &str) -> Vec<(String, Vec<String>)> {
    let mut structs: Vec<(String, Vec<String>)> = Vec::new();
    let mut is_inside = false;
    for line in header.lines() {
        if let Some(name) = line.strip_prefix("struct ").and_then(|rest| rest.strip_suffix(" {")) {
            structs.push((name.to_owned(), Vec::new()));
            is_inside = true;
        } else if line == "};" {
            is_inside = false;
        } else if let Some(member) =
            line.strip_prefix("  ").and_then(|line| line.strip_suffix(';')).filter(|_| is_inside)
        {
            let name = member.split('[').next().and_then(|member| member.rsplit([' ', '*']).next());
            let name = name.unwrap_or_default();
            if let Some((_, members)) = structs.last_mut().filter(|_| !name.starts_with("reserved")) {
                members.push(name.to_owned());
            }
        }
    }
    structs
}

/// Sizes and offsets, by the compiler.
pub fn layout() -> String {
    let header = fs::read_to_string(of_tree("bindings/c/include/cpuledger.h")).expect("the header");
    let structs = structs(&header);
    assert!(structs.len() >= 10, "{structs:?}");
    let mut text = "#include <cpuledger.h>\n#include <stdio.h>\nint main(void)\n{\n".to_owned();
    for (name, members) in &structs {
        let _ = writeln!(text, "\tprintf(\"{name} %zu\\n\", sizeof(struct {name}));");
        for member in members {
            let _ = writeln!(
                text,
                "\tprintf(\"{name}.{member} %zu %zu\\n\", offsetof(struct {name}, {member}), \
                 sizeof ((struct {name} *)0)->{member});"
            );
        }
    }
    text += "\treturn 0;\n}\n";
    let source = libraries().join("layout.c");
    fs::write(&source, text).expect("a file");
    let source = source.to_str().expect("UTF-8");
    let program = Program { source, compiler: C99, library: "cpuledger" }.build();
    String::from_utf8(run(&mut Command::new(program)).stdout).expect("UTF-8")
}

/// The symbols of a shared library with their versions, in their order.
pub fn symbols(library: &str) -> String {
    let path = libraries().join(format!("lib{library}.so.0"));
    let output = run(Command::new("nm").args(["--dynamic", "--defined-only", "--format=posix"]).arg(path));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let names = text.lines().filter_map(|line| line.split(' ').next());
    // The version itself is a symbol, too.
    let mut names: Vec<&str> =
        names.filter(|name| name.contains('@') && !name.starts_with("CPULEDGER")).collect();
    names.sort_unstable();
    names.join("\n") + "\n"
}

/// Every line of the file is a line of `now`.
pub fn assert_kept(file: &str, now: &str) {
    let path = Path::new("bindings/c/abi").join(file);
    let path = of_tree(path.to_str().expect("UTF-8"));
    if std::env::var_os(UPDATE).is_some() {
        fs::write(&path, now).expect("it can be written");
    }
    let released = fs::read_to_string(&path).expect("it is committed");
    let gone: Vec<&str> = released.lines().filter(|line| !now.lines().any(|other| other == *line)).collect();
    assert!(gone.is_empty(), "programs that are compiled rely on this: {gone:#?}, of bindings/c/abi/{file}");
    let new: Vec<&str> = now.lines().filter(|line| !released.lines().any(|other| other == *line)).collect();
    assert!(new.is_empty(), "new, so it belongs into bindings/c/abi/{file}: {new:#?}; {UPDATE}=1 writes it");
}

/// Functions without a body worth the name for each one that the headers declare: the library is in Rust, and has no types of C for a debugger.
fn stubs() -> (String, usize) {
    let (mut text, mut count) = ("#include <cpuledger-ledger.h>\n".to_owned(), 0);
    for header in ["bindings/c/include/cpuledger.h", "bindings/c-ledger/include/cpuledger-ledger.h"] {
        let header = fs::read_to_string(of_tree(header)).expect("the header");
        let mut lines = header.lines();
        while let Some(line) = lines.next() {
            let has_name = line.contains(" cpuledger_") || line.contains(" *cpuledger_");
            if !has_name || line.starts_with([' ', '/', '#', 's', 'e']) {
                continue;
            }
            let mut declaration = line.to_owned();
            while !declaration.ends_with(';') {
                declaration += lines.next().expect("a declaration ends");
            }
            let body = if line.starts_with("void ") { "{}" } else { "{ return 0; }" };
            let _ = writeln!(text, "{} {body}", declaration.trim_end_matches(';'));
            count += 1;
        }
    }
    (text, count)
}

/// The functions of the headers are those of the file, with the same types.
pub fn assert_interface_kept(functions: usize) {
    if Command::new("abidiff").arg("--version").output().is_err() {
        return not_run("there is no abidiff: install the Debian package abigail-tools");
    }
    let (source, library) = (libraries().join("stubs.c"), libraries().join("stubs.so"));
    let (text, count) = stubs();
    assert_eq!(count, functions, "{text}");
    fs::write(&source, text).expect("a file");
    let mut compile = Command::new("cc");
    compile
        .args(["-g", "-shared", "-fPIC", "-fno-eliminate-unused-debug-types", "-o"])
        .arg(&library)
        .arg("stubs.c");
    for include in ["bindings/c/include", "bindings/c-ledger/include"] {
        compile.arg("-I").arg(fs::canonicalize(of_tree(include)).expect("a folder"));
    }
    run(compile.current_dir(libraries()));
    let released = of_tree("bindings/c/abi/interface-x86_64.xml");
    if std::env::var_os(UPDATE).is_some() {
        let mut write = Command::new("abidw");
        write.args([
            "--no-corpus-path",
            "--no-comp-dir-path",
            "--no-show-locs",
            "--type-id-style",
            "hash",
            "--out-file",
        ]);
        run(write.arg(&released).arg(&library));
    }
    let output = Command::new("abidiff").arg(&released).arg(&library).output().expect("it runs");
    assert!(
        output.status.success(),
        "programs that are compiled rely on this; if it only adds something, {UPDATE}=1 writes it: {}",
        String::from_utf8_lossy(&output.stdout)
    );
}
