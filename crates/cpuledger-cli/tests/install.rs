//! `make install`: which files come where, what goes away again, and whether the service manager takes the units.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use cpuledger_load::{with_export, with_net};

/// Every file, below the folder that stands for /, with the prefix /usr.
const INSTALLED: [&str; 50] = [
    "etc/cpuledger/config.toml",
    "usr/bin/cpuledger",
    "usr/bin/ptop",
    "usr/lib/systemd/system/cpuledger-export.service",
    "usr/lib/systemd/system/cpuledger-export.timer",
    "usr/lib/systemd/system/cpuledger-metrics.service",
    "usr/lib/systemd/system/cpuledger-push.service",
    "usr/lib/systemd/system/cpuledger-web.service",
    "usr/lib/systemd/system/cpuledger-web.socket",
    "usr/lib/systemd/system/cpuledger.service",
    "usr/lib/systemd/system/cpuledger.socket",
    "usr/lib/sysusers.d/cpuledger.conf",
    "usr/lib/tmpfiles.d/cpuledger.conf",
    "usr/libexec/cpuledger/cpuledger-export",
    "usr/libexec/cpuledger/cpuledger-net",
    "usr/libexec/cpuledger/fleet/ask.py",
    "usr/libexec/cpuledger/fleet/clickhouse.sql",
    "usr/libexec/cpuledger/fleet/clickhouse_load.sql",
    "usr/libexec/cpuledger/fleet/cpu_time.sql",
    "usr/libexec/cpuledger/fleet/queries/commands.sql",
    "usr/libexec/cpuledger/fleet/queries/compare.sql",
    "usr/libexec/cpuledger/fleet/queries/cost.sql",
    "usr/libexec/cpuledger/fleet/queries/gaps.sql",
    "usr/libexec/cpuledger/fleet/queries/hosts.sql",
    "usr/libexec/cpuledger/fleet/queries/pods.sql",
    "usr/libexec/cpuledger/fleet/queries/units.sql",
    "usr/libexec/cpuledger/fleet/queries/users.sql",
    "usr/libexec/cpuledger/fleet/queries/who.sql",
    "usr/share/bash-completion/completions/cpuledger",
    "usr/share/bash-completion/completions/ptop",
    "usr/share/fish/vendor_completions.d/cpuledger.fish",
    "usr/share/fish/vendor_completions.d/ptop.fish",
    "usr/share/man/man1/cpuledger-doctor.1",
    "usr/share/man/man1/cpuledger-export.1",
    "usr/share/man/man1/cpuledger-mcp.1",
    "usr/share/man/man1/cpuledger-metrics.1",
    "usr/share/man/man1/cpuledger-ps.1",
    "usr/share/man/man1/cpuledger-push.1",
    "usr/share/man/man1/cpuledger-record.1",
    "usr/share/man/man1/cpuledger-report.1",
    "usr/share/man/man1/cpuledger-run.1",
    "usr/share/man/man1/cpuledger-serve.1",
    "usr/share/man/man1/cpuledger-status.1",
    "usr/share/man/man1/cpuledger-top-procps.1",
    "usr/share/man/man1/cpuledger-top.1",
    "usr/share/man/man1/cpuledger-web.1",
    "usr/share/man/man1/cpuledger.1",
    "usr/share/man/man1/ptop.1",
    "usr/share/zsh/site-functions/_cpuledger",
    "usr/share/zsh/site-functions/_ptop",
];

/// The highest exposure that `systemd-analyze security` may find, in tenths.
const MOST_EXPOSURE: &str = "25";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// `make` with these words and this binary, and not with the variables of a make that runs the tests.
fn make_of(binary: &str, words: &[String]) -> String {
    let output = Command::new("make")
        .current_dir(root())
        .args(["--no-print-directory", &format!("BINARY={binary}")])
        .args(words)
        .env_remove("MAKEFLAGS")
        .env_remove("MAKEOVERRIDES")
        .output()
        .expect("make runs");
    assert!(output.status.success(), "make {words:?}: {output:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The same with the binary that cargo has built, and all programs beside it.
fn make(words: &[String]) -> String {
    make_of(with_net(with_export(env!("CARGO_BIN_EXE_cpuledger"))), words)
}

fn words(target: &str, folder: &Path, prefix: &str) -> Vec<String> {
    vec![target.into(), format!("DESTDIR={}", folder.display()), format!("PREFIX={prefix}")]
}

/// Every file and link below a folder, from there on.
fn files(folder: &Path) -> BTreeSet<String> {
    let (mut found, mut folders) = (BTreeSet::new(), vec![folder.to_path_buf()]);
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).expect("a folder") {
            let entry = entry.expect("an entry");
            if entry.file_type().expect("a type").is_dir() {
                folders.push(entry.path());
            } else {
                let name = entry.path().strip_prefix(folder).expect("it is below it").to_path_buf();
                found.insert(name.display().to_string());
            }
        }
    }
    found
}

#[test]
fn every_file_comes_and_goes() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = |name: &str| folder.path().join(name);
    let said = make(&words("install", folder.path(), "/usr"));
    for name in ["usr/bin", "usr/lib/systemd/system", "etc/cpuledger/config.toml"] {
        assert!(said.contains(&place(name).display().to_string()), "{name} in: {said}");
    }
    let expected: BTreeSet<String> = INSTALLED.iter().map(ToString::to_string).collect();
    assert_eq!(files(folder.path()), expected);
    for name in INSTALLED.iter().filter(|name| **name != "usr/bin/ptop") {
        let mode = fs::metadata(place(name)).expect("it is there").permissions().mode();
        let in_bin = ["usr/bin", "usr/libexec"].iter().any(|folder| name.starts_with(folder));
        let is_program = in_bin && !name.ends_with(".sql");
        let expected = if is_program { 0o755 } else { 0o644 };
        assert_eq!(mode & 0o777, expected, "{name}");
    }
    assert_eq!(fs::read_link(place("usr/bin/ptop")).expect("a link"), Path::new("cpuledger"));
    let unit = fs::read_to_string(place("usr/lib/systemd/system/cpuledger.service")).expect("a unit");
    assert!(unit.contains("\nExecStart=/usr/bin/cpuledger serve\n"));

    // What an administrator has written stays. What is as it was installed goes.
    fs::write(place("etc/cpuledger/config.toml"), "[service]\ninterval = 2.0\n").expect("written");
    make(&words("install", folder.path(), "/usr"));
    let kept = fs::read_to_string(place("etc/cpuledger/config.toml")).expect("it is there");
    assert!(kept.contains("2.0"), "the configuration was overwritten");
    let said = make(&words("uninstall", folder.path(), "/usr"));
    assert!(said.contains(&place("usr").display().to_string()), "{said}");
    assert_eq!(files(folder.path()), BTreeSet::from(["etc/cpuledger/config.toml".to_owned()]));
    fs::remove_file(place("etc/cpuledger/config.toml")).expect("removed");
    make(&words("install", folder.path(), "/usr"));
    make(&words("uninstall", folder.path(), "/usr"));
    assert_eq!(files(folder.path()), BTreeSet::new());
}

/// After `make build` alone, what it has built is installed, and a sentence says what is not.
#[test]
fn what_is_not_built_is_not_installed() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let core = folder.path().join("cpuledger");
    fs::hard_link(env!("CARGO_BIN_EXE_cpuledger"), &core).expect("a link");
    let root = folder.path().join("root");
    let core = core.to_str().expect("a path");
    let said = make_of(core, &words("install", &root, "/usr"));
    assert!(said.contains("cpuledger-export is not among it") && said.contains("`make all`"), "{said}");
    assert!(said.contains("cpuledger-net is not among it"), "{said}");
    let export = "usr/libexec/cpuledger/cpuledger-export";
    // Neither are the pages and units of these programs.
    let further = [
        "cpuledger-export",
        "cpuledger-net",
        "cpuledger-metrics",
        "cpuledger-push",
        "cpuledger-mcp",
        "cpuledger-web",
        "/fleet/",
    ];
    let is_further = |name: &str| further.iter().any(|part| name.contains(part));
    let expected = INSTALLED.iter().filter(|name| !is_further(name)).map(ToString::to_string);
    assert_eq!(files(&root), expected.collect());
    // It is removed where an earlier build had it.
    make(&words("install", &root, "/usr"));
    assert!(root.join(export).is_file());
    make_of(core, &words("uninstall", &root, "/usr"));
    assert_eq!((files(&root), root.join("usr/libexec/cpuledger").exists()), (BTreeSet::new(), false));
}

/// A unit that still ran would name a program that is gone.
#[test]
fn uninstalling_stops_every_unit() {
    let script = fs::read_to_string(root().join("scripts/install")).expect("it is there");
    let (_, removal) = script.split_once("if [ -n \"$uninstall\" ]; then").expect("it removes");
    let (removal, _) = removal.split_once("each take").expect("it takes files away");
    for unit in INSTALLED.iter().filter_map(|name| name.strip_prefix("usr/lib/systemd/system/")) {
        let short = unit.strip_prefix("cpuledger-").unwrap_or(unit);
        let is_stopped = removal.split_whitespace().any(|word| word.trim_end_matches(';') == short);
        assert!(is_stopped, "scripts/install --uninstall does not stop {unit}");
    }
}

/// A new page, completion or unit has to be in a package, and a new package has to be known to Debian and RPM.
#[test]
fn nothing_of_the_tree_is_in_no_package() {
    let read =
        |path: &str| fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    let list = read("packaging/files");
    let rows: Vec<Vec<&str>> = list
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert!(rows.iter().all(|row| row.len() == 4), "packaging/files has four columns: {rows:?}");
    for folder in
        ["man", "completions", "packaging/systemd", "bindings/c/include", "bindings/c-ledger/include"]
    {
        for entry in fs::read_dir(root().join(folder)).expect("a folder") {
            let name = entry.expect("an entry").file_name();
            let path = format!("{folder}/{}", name.to_str().expect("UTF-8"));
            assert!(
                rows.iter().any(|row| row[2] == path),
                "{path} is in no package: add it to packaging/files"
            );
        }
    }
    let spec = read("packaging/rpm/cpuledger.spec");
    for package in rows.iter().map(|row| row[0]).collect::<BTreeSet<_>>() {
        let control = read(&format!("packaging/deb/{package}/control"));
        assert!(control.starts_with(&format!("Package: {package}\n")), "{control}");
        let named = [format!("\nName: {package}\n"), format!("\n%package -n {package}\n")];
        assert!(
            named.iter().any(|line| spec.contains(line)),
            "packaging/rpm/cpuledger.spec does not know {package}"
        );
    }
}

/// Cargo puts the whole program back at each build, also if it has built nothing.
#[test]
fn a_build_with_nothing_to_do_leaves_the_program_as_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let [built, program] = ["built", "program"].map(|name| folder.path().join(name));
    let split_again = || {
        let _ = fs::remove_file(&program);
        fs::hard_link(&built, &program).expect("a link");
        let status = Command::new(root().join("scripts/split-debug")).arg(&program).status();
        assert!(status.expect("it runs: install the Debian package binutils").success());
        let of = fs::metadata(&program).expect("it is there");
        (of.ino(), of.modified().expect("a time"), of.len())
    };
    let mut compiler = Command::new("cc");
    compiler.args(["-g", "-x", "c", "-", "-o"]).arg(&built).stdin(std::process::Stdio::piped());
    let mut compiler = compiler.spawn().expect("it runs: install the Debian package gcc");
    compiler.stdin.take().expect("a pipe").write_all(b"int main(void) { return 0; }").expect("it reads");
    assert!(compiler.wait().expect("it ends").success());
    let whole = fs::read(&built).expect("it is there");
    let first = split_again();
    assert!(first.2 < whole.len() as u64, "the tables are in a file of their own");
    assert_eq!(split_again(), first);
    std::thread::sleep(std::time::Duration::from_millis(1100));
    fs::write(&built, &whole).expect("written");
    assert!(split_again().1 > first.1, "what was built anew is split anew");
}

/// `--check-config` of a configuration with this text.
fn explained(text: &str) -> Output {
    let file = tempfile::NamedTempFile::new().expect("a file");
    fs::write(file.path(), text).expect("written");
    Command::new(env!("CARGO_BIN_EXE_cpuledger"))
        .args(["serve", "--check-config", "--config"])
        .arg(file.path())
        .output()
        .expect("it runs")
}

/// The keys of a text in TOML, with their tables, also those that a `#` hides.
fn keys(text: &str) -> Vec<String> {
    let mut table = "";
    let mut keys = Vec::new();
    for line in text.lines() {
        if line.starts_with('[') {
            table = line;
        }
        let name = line.trim_start_matches('#').split_once(" = ").map_or("", |(name, _)| name);
        if !name.is_empty() && name.chars().all(|letter| letter.is_ascii_lowercase() || letter == '_') {
            keys.push(format!("{table} {name}"));
        }
    }
    keys
}

#[test]
fn the_example_of_a_configuration_shows_every_key_with_its_default() {
    let example = fs::read_to_string(root().join("packaging/config.toml")).expect("it is there");
    let shown: String = example
        .lines()
        .map(|line| if line.starts_with("# ") { "" } else { line.trim_start_matches('#') })
        .fold(String::new(), |text, line| text + line + "\n");
    let [usual, example_as_it_is, every_key] = ["", &example, &shown].map(explained);
    assert!(usual.status.success(), "{usual:?}");
    assert_eq!((&example_as_it_is, &every_key), (&usual, &usual));

    let guide = fs::read_to_string(root().join("docs/service.md")).expect("it is there");
    let block = guide.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next());
    assert_eq!(keys(&example), keys(block.expect("docs/service.md shows a configuration")));
    assert!(keys(&example).contains(&"[service] interval".to_owned()));
}

#[test]
fn the_service_manager_takes_the_units() {
    let runs =
        |name: &str| Command::new(name).arg("--version").output().is_ok_and(|out| out.status.success());
    if !runs("systemd-analyze") {
        cpuledger_load::not_run("systemd-analyze is not installed");
        return;
    }
    // A prefix of its own, so that the program of the unit exists.
    let folder = tempfile::tempdir().expect("a folder");
    let prefix = folder.path().join("prefix");
    let mut line = words("install", Path::new("/"), &prefix.display().to_string());
    line.push(format!("SYSCONFDIR={}", folder.path().join("etc").display()));
    make(&line);
    let units = prefix.join("lib/systemd/system");
    let exposure = format!("--threshold={MOST_EXPOSURE}");
    for (unit, beside, command) in [
        ("cpuledger.service", "cpuledger.socket", "serve"),
        ("cpuledger-metrics.service", "cpuledger.socket", "metrics"),
        ("cpuledger-push.service", "cpuledger.socket", "push"),
        ("cpuledger-web.service", "cpuledger-web.socket", "web"),
        ("cpuledger-export.service", "cpuledger-export.timer", "export"),
    ] {
        let service = units.join(unit);
        let text = fs::read_to_string(&service).expect("a unit");
        assert!(
            text.contains(&format!("\nExecStart={}/bin/cpuledger {command}", prefix.display())),
            "{text}"
        );
        for arguments in
            [&["verify", "--man=no"][..], &["security", "--offline=true", "--no-pager", &exposure]]
        {
            let mut command = Command::new("systemd-analyze");
            command.args(arguments).arg(&service);
            if arguments[0] == "verify" {
                command.arg(units.join(beside));
            }
            let output = command.output().expect("it runs");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success() && !said.contains("cpuledger"), "{arguments:?}: {output:?}");
        }
    }
}
