//! Manual pages and completions, made of the definitions of options, keys, settings and columns. They are committed, and
//! this test says when they are no longer what the definitions make: `CPULEDGER_UPDATE_PAGES=1 cargo test -p cpuledger-cli
//! pages` writes them anew.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::{CommandFactory, ValueHint};
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, italic, roman};
use cpuledger::field::FIELDS;
use cpuledger_view::interval::column::TABLE;
use cpuledger_view::key::{Key, PROCESS_KEYS};
use cpuledger_view::query::aliases;
use cpuledger_view::shares::STATE_COLUMNS;

use crate::cli::{Cli, Ptop};
use crate::cmd::top::procps::options::{OPTIONS, Takes};
use crate::tui::{SETTINGS, keys_and_titles};

const FILTERS: &str = "Conditions separated by spaces must all hold. Write `or` (also `|`) between alternatives, `not` (also `!`) \
    to negate, and parentheses to group. A condition is NAME OPERATOR VALUE, as in cpu>5 user=www comm~^java, or a word to look \
    for in names and arguments. Operators are =, !=, >, >=, <, <=, ~ (matches the regular expression) and !~. Times \
    are nanoseconds or have a unit (5ms), sizes are bytes or have one (10M). A condition on an unknown \
    value is false, with != and !~ too. Names are JSON keys, column headers, and these:";

/// Files by their path in the repository.
fn pages() -> Vec<(PathBuf, Vec<u8>)> {
    let mut pages = Vec::new();
    let cli = with_help_of_ps(whole());
    for (command, name) in commands(&cli) {
        pages.push((Path::new("man").join(format!("{name}.1")), page(command, &name, Vec::new())));
    }
    let name = "cpuledger-top-procps";
    pages.push((Path::new("man").join(format!("{name}.1")), page(procps_top(), name, Vec::new())));
    pages.push(("man/ptop.1".into(), page(Ptop::command(), "ptop", screen_sections())));
    for (command, name) in [(whole(), "cpuledger"), (shown_of_ptop(), "ptop")] {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let text = completions(shell, without_files(command.clone()), name);
            pages.push((Path::new("completions").join(format!("{name}.{shell}")), text));
        }
    }
    pages
}

/// `cpuledger` with the options of the commands that other programs have.
fn whole() -> clap::Command {
    let mut cli = Cli::command();
    for (place, command) in cli.get_subcommands_mut().enumerate() {
        let own = std::mem::take(command);
        let whole = match own.get_name() {
            "export" => cpuledger_program::export::Arguments::command(),
            "metrics" => cpuledger_program::metrics::Arguments::command(),
            "push" => cpuledger_program::push::Arguments::command(),
            "web" => cpuledger_program::web::Arguments::command(),
            "mcp" => cpuledger_program::mcp::Arguments::command(),
            _ => own,
        };
        *command = whole.display_order(place);
    }
    cli
}

/// What a shell completes.
fn completions(shell: Shell, mut command: clap::Command, name: &str) -> Vec<u8> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command, name, &mut text);
    let mut text = String::from_utf8(without_blanks(&text)).expect("UTF-8");
    if shell == Shell::Bash {
        let before = "    cmd=\"\"\n    opts=\"\"\n";
        assert_eq!(text.matches(before).count(), 1, "clap_complete makes other scripts now");
        text = text.replace(before, &format!("{before}\n{BASH_VALUE_AFTER_EQUALS_SIGN}"));
    }
    // clap_complete knows a command that takes another one for zsh alone.
    if let Some(run) = command.find_subcommand("run") {
        let options = words_of_options_with_value(run);
        match shell {
            Shell::Bash => {
                let before = "    case \"${cmd}\" in\n        cpuledger)\n";
                assert_eq!(text.matches(before).count(), 1, "clap_complete makes other scripts now");
                let own = BASH_COMMAND_OF_RUN.replace("OPTIONS", &options.join("|"));
                text = text.replace(before, &format!("{own}\n{before}"));
            }
            Shell::Fish => text += &FISH_COMMAND_OF_RUN.replace("OPTIONS", &options.join(" ")),
            _ => {}
        }
    }
    text.into_bytes()
}

/// Bash splits `--by=wait` at the sign.
const BASH_VALUE_AFTER_EQUALS_SIGN: &str = r#"    if [[ "${cur}" == "=" ]]; then
        cur=""
    elif [[ "${prev}" == "=" ]]; then
        prev="${COMP_WORDS[COMP_CWORD-2]}"
    fi
"#;

/// The first word of `run` that is no option is a command. It, and what follows, completes as it does by itself.
const BASH_COMMAND_OF_RUN: &str = r#"    if [[ "${cmd}" == "cpuledger__subcmd__run" ]]; then
        local at=1
        while [[ "${COMP_WORDS[at]}" != "run" ]]; do (( at++ )); done
        (( at++ ))
        while (( at < COMP_CWORD )); do
            case "${COMP_WORDS[at]}" in
                --) (( at++ )); break ;;
                OPTIONS)
                    (( at++ ))
                    if [[ "${COMP_WORDS[at]}" == "=" ]]; then (( at++ )); fi
                    ;;
                -*) ;;
                *) break ;;
            esac
            (( at++ ))
        done
        if (( at < COMP_CWORD )); then
            if declare -F _command_offset >/dev/null; then
                _command_offset "${at}"
            elif declare -F _comp_command_offset >/dev/null; then
                _comp_command_offset "${at}"
            fi
            return 0
        elif (( at == COMP_CWORD )) && [[ "${cur}" != -* ]]; then
            COMPREPLY=( $(compgen -c -- "${cur}" | sort -u) )
            return 0
        fi
    fi
"#;

/// Likewise. The function of fish takes long options at the beginning for its own.
const FISH_COMMAND_OF_RUN: &str = "complete -c cpuledger -n \"__fish_cpuledger_using_subcommand run\" -f \
     -a \"(__fish_complete_subcommand --fcs-skip=2 OPTIONS)\"\n";

/// The options that take a value, as they are written: the short ones first.
fn words_of_options_with_value(command: &clap::Command) -> Vec<String> {
    let short = command.get_opts().filter_map(|option| option.get_short().map(|letter| format!("-{letter}")));
    let long = command.get_opts().filter_map(|option| option.get_long().map(|name| format!("--{name}")));
    short.chain(long).collect()
}

/// Shells offer files for values of which nothing is known. Those here are times, numbers and lists.
fn without_files(command: clap::Command) -> clap::Command {
    let known = |argument: clap::Arg| match argument.get_value_hint() {
        ValueHint::Unknown if !argument.is_positional() && argument.get_action().takes_values() => {
            argument.value_hint(ValueHint::Other)
        }
        _ => argument,
    };
    command.mut_args(known).mut_subcommands(without_files)
}

/// `ptop` without its hidden options: scripts of completions offer these too.
fn shown_of_ptop() -> clap::Command {
    let ptop = Ptop::command();
    let shown = ptop.get_arguments().filter(|argument| !argument.is_hide_set()).cloned();
    clap::Command::new("ptop").version(env!("CARGO_PKG_VERSION")).args(shown)
}

/// The options of procps' top are in a table of their own.
fn procps_top() -> clap::Command {
    let arguments = OPTIONS.iter().map(|option| {
        let argument = clap::Arg::new(option.name).long(option.name).help(option.help);
        let argument = match option.letter {
            Some(letter) => argument.short(letter),
            None => argument,
        };
        match option.takes {
            Takes::Nothing => argument.action(clap::ArgAction::SetTrue),
            Takes::Value(name) => argument.value_name(name),
            Takes::Maybe(name) => argument.value_name(name).num_args(0..=1),
        }
    });
    clap::Command::new("cpuledger-top-procps")
        .bin_name("top")
        .display_name("cpuledger-top-procps")
        .about("top as in procps, for scripts: through a link named top, or as cpuledger top --procps")
        .disable_help_flag(true)
        .disable_version_flag(true)
        .args(arguments)
}

/// Options of `ps` are in tables of its own: its page has their text.
fn with_help_of_ps(command: clap::Command) -> clap::Command {
    let help = crate::cmd::ps::help_page();
    command.mut_subcommand("ps", |ps| ps.after_long_help(help))
}

/// The command and those below it, with the names of their pages.
fn commands(command: &clap::Command) -> Vec<(clap::Command, String)> {
    let name = command.get_name().to_owned();
    let mut all = vec![(command.clone(), name.clone())];
    for below in command.get_subcommands() {
        let whole = format!("{name}-{}", below.get_name());
        // What clap keeps as static text lives as long as this test.
        let display: &'static str = Box::leak(whole.clone().into_boxed_str());
        let line: &'static str = Box::leak(format!("{name} {}", below.get_name()).into_boxed_str());
        all.push((below.clone().name(display).bin_name(line).display_name(display), whole));
    }
    all
}

fn page(command: clap::Command, name: &str, sections: Vec<Roff>) -> Vec<u8> {
    let version = env!("CARGO_PKG_VERSION");
    let man = Man::new(command.version(version).disable_help_subcommand(true))
        .title(name)
        .section("1")
        .date("")
        .source(format!("cpuledger {version}"));
    let mut text = Vec::new();
    man.render(&mut text).expect("memory");
    for section in sections {
        section.to_writer(&mut text).expect("memory");
    }
    without_blanks(&text)
}

/// The keys, filters, columns and settings of the screen.
fn screen_sections() -> Vec<Roff> {
    let mut keys = Roff::new();
    keys.control("SH", ["KEYS"]);
    for (names, help) in keys_and_titles() {
        match names {
            "" => _ = keys.control("SS", [help]),
            _ => entry(&mut keys, names, help),
        }
    }
    let mut filters = Roff::new();
    filters.control("SH", ["FILTERS"]).text([roman(FILTERS)]);
    aliases().for_each(|(name, help)| entry(&mut filters, name, help));
    let mut columns = Roff::new();
    columns
        .control("SH", ["COLUMNS"])
        .text([roman("Headers, then the keys of JSON, which are columns too.")]);
    TABLE.iter().for_each(|column| entry(&mut columns, column.name(), column.help()));
    let parts = PROCESS_KEYS.iter().filter(|key| matches!(key, Key::Part(_)));
    parts.for_each(|key| entry(&mut columns, key.name(), key.help()));
    FIELDS.iter().for_each(|info| entry(&mut columns, info.key, info.help));
    let mut states = Roff::new();
    states
        .control("SH", ["STATES"])
        .text([roman("Columns of the view of states (w), in percent of the time that the row was alive.")]);
    STATE_COLUMNS.iter().for_each(|column| entry(&mut states, column.name, column.help));
    let mut settings = Roff::new();
    settings.control("SH", ["CONFIGURATION FILE"]).text([
        roman("The file "),
        italic("$XDG_CONFIG_HOME/cpuledger/ptop.toml"),
        roman(" (usually below "),
        italic("~/.config"),
        roman(
            ") is TOML; the key W of the screen writes it. Unknown keys are reported and ignored. Its keys:",
        ),
    ]);
    SETTINGS.iter().for_each(|setting| entry(&mut settings, setting.key, setting.help));
    vec![keys, filters, columns, states, settings]
}

fn entry(roff: &mut Roff, name: &str, help: &str) {
    roff.control("TP", []).text([bold(name)]).text([roman(help)]);
}

/// No file of the repository has blanks at the ends of lines.
fn without_blanks(text: &[u8]) -> Vec<u8> {
    let text = String::from_utf8(text.to_vec()).expect("UTF-8");
    let mut lines: String = text.lines().map(|line| line.trim_end().to_owned() + "\n").collect();
    while lines.ends_with("\n\n") {
        lines.pop();
    }
    lines.into_bytes()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn pages_and_completions_are_those_of_the_definitions() {
    let is_update = std::env::var_os("CPULEDGER_UPDATE_PAGES").is_some();
    let mut there: Vec<PathBuf> = Vec::new();
    for (path, text) in pages() {
        let file = root().join(&path);
        if is_update {
            fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
            fs::write(&file, &text).expect("it can be written");
        }
        let committed = fs::read(&file).unwrap_or_default();
        assert!(
            committed == text,
            "{} is not what the definitions make; run CPULEDGER_UPDATE_PAGES=1 cargo test -p cpuledger-cli pages",
            path.display()
        );
        there.push(path);
    }
    for folder in ["man", "completions"] {
        for entry in fs::read_dir(root().join(folder)).expect("a folder") {
            let name = Path::new(folder).join(entry.expect("an entry").file_name());
            assert!(there.contains(&name), "{} is made by nothing: remove it", name.display());
        }
    }
}

#[test]
fn the_document_has_every_setting() {
    let text = fs::read_to_string(root().join("docs/screen.md")).expect("docs/screen.md");
    for setting in &SETTINGS {
        let row = format!("| `{}` | {} |\n", setting.key, setting.help);
        assert!(text.contains(&row), "docs/screen.md needs this row:\n{row}");
    }
}

#[test]
fn man_shows_the_pages_without_warnings() {
    for (path, _) in pages().iter().filter(|(path, _)| path.starts_with("man")) {
        let mut command = Command::new("man");
        command.args(["--warnings", "-E", "UTF-8", "-l", "-Tutf8"]).arg(root().join(path));
        let output = command.env("LC_ALL", "C.UTF-8").env("MANWIDTH", "80").env("MANROFFOPT", "-ww").output();
        let output = output.expect("man: install the Debian packages man-db and groff-base");
        let warnings = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && warnings.is_empty(), "{}: {warnings}", path.display());
        assert!(output.stdout.len() > 500, "{}", path.display());
    }
}

#[test]
fn shells_take_the_completions() {
    let bash = Command::new("bash")
        .args(["-n"])
        .arg(root().join("completions/cpuledger.bash"))
        .output()
        .expect("bash");
    assert!(bash.status.success(), "{}", String::from_utf8_lossy(&bash.stderr));
    let script = format!(
        "source {}; COMP_WORDS=(cpuledger top --th); COMP_CWORD=2; _cpuledger cpuledger --th top; echo \"${{COMPREPLY[*]}}\"",
        root().join("completions/cpuledger.bash").display()
    );
    let output = Command::new("bash").args(["-c", &script]).output().expect("bash");
    let completed = String::from_utf8_lossy(&output.stdout);
    assert!(completed.contains("--threads") && completed.contains("--theme"), "{completed}");
}
