//! What bash, zsh and fish complete, each in a terminal: lines are typed there.

mod tmux;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use cpuledger_load::not_run;
use tmux::Terminal;

/// A file in the folder in which everything is typed.
const FILE: &str = "a-file";
/// A command that is found by $PATH.
const COMMAND: &str = "completed-command";

/// A shell with the completions.
struct Shell {
    terminal: Terminal,
    /// What lists all that a word may become.
    tabs: &'static [&'static str],
}

impl Shell {
    fn bash(name: &str, folder: &Path) -> Shell {
        let terminal = Shell::open(name);
        terminal.ask(&format!("source {0}/cpuledger.bash; source {0}/ptop.bash", folder.display()));
        Shell { terminal, tabs: &["Tab", "Tab", "Tab"] }
    }

    fn zsh(name: &str, folder: &Path) -> Shell {
        let terminal = Shell::open(name);
        let functions = terminal.folder().join("functions");
        fs::create_dir_all(&functions).expect("a folder");
        for command in ["cpuledger", "ptop"] {
            let from = folder.join(format!("{command}.zsh"));
            fs::copy(from, functions.join(format!("_{command}"))).expect("a file");
        }
        terminal.line("clear; PS1='zsh> ' zsh -f");
        terminal.wait_for("zsh>");
        terminal.line(&format!(
            "fpath=({} $fpath); autoload -Uz compinit; compinit -u -D; clear; print in''itialized",
            functions.display()
        ));
        terminal.wait_for("initialized");
        Shell { terminal, tabs: &["Tab", "Tab"] }
    }

    fn fish(name: &str, folder: &Path) -> Shell {
        let terminal = Shell::open(name);
        let own = terminal.folder().join("fish/completions");
        fs::create_dir_all(&own).expect("a folder");
        for command in ["cpuledger", "ptop"] {
            let file = format!("{command}.fish");
            fs::copy(folder.join(&file), own.join(&file)).expect("a file");
        }
        terminal.line("clear; HOME=$PWD fish");
        terminal.wait_for("fish, the friendly");
        Shell { terminal, tabs: &["Tab"] }
    }

    fn open(name: &str) -> Terminal {
        let terminal = Terminal::open(name, 200, 50);
        let folder = terminal.folder();
        fs::write(folder.join(FILE), "").expect("a file");
        let command = folder.join("bin").join(COMMAND);
        fs::create_dir_all(folder.join("bin")).expect("a folder");
        fs::write(&command, "").expect("a file");
        fs::set_permissions(&command, PermissionsExt::from_mode(0o755)).expect("its owner may");
        // fish has completions only for what there is.
        for name in ["cpuledger", "ptop"] {
            symlink(env!("CARGO_BIN_EXE_cpuledger"), folder.join("bin").join(name)).expect("a link");
        }
        terminal.ask("PATH=$PWD/bin:$PATH");
        terminal
    }

    /// Types this much of a line, and returns what is seen when all of these are offered.
    fn offers(&self, line: &str, words: &[&str]) -> String {
        self.terminal.press(&["C-u", "C-l"]);
        self.terminal.write(line);
        self.terminal.press(self.tabs);
        let typed = line.to_owned();
        let is_offered = |text: &str| {
            let rest = text.replace(&typed, "");
            words.iter().all(|word| rest.contains(word))
        };
        self.terminal.settled(is_offered)
    }

    /// Types this much of a line, and waits until it is completed.
    fn completes(&self, line: &str, whole: &str) {
        self.terminal.press(&["C-u", "C-l"]);
        self.terminal.write(line);
        self.terminal.press(&["Tab"]);
        self.terminal.wait(|text| text.contains(whole));
    }

    fn completes_values_and_commands(&self) {
        for (line, words) in [
            ("cpuledger top --by ", &["wait", "wait,cgroup", "user", "command"][..]),
            ("ptop --by ", &["wait", "wait,cgroup", "user", "command"]),
            ("cpuledger report --by ", &["ancestor", "process", "unit"]),
            ("cpuledger top --format ", &["text", "json", "csv-safe"]),
            ("cpuledger report --format ", &["html", "csv-safe"]),
            ("cpuledger run --format ", &["text", "json"]),
            ("cpuledger export --format ", &["parquet", "arrow"]),
            ("cpuledger top --source ", &["auto", "service", "ledger", "walk", "netlink", "procfs"]),
            ("ptop --theme ", &["256", "contrast", "mono"]),
            ("cpuledger status --as ", &["status", "statm"]),
            ("cpuledger status --source ", &["walk", "procfs"]),
        ] {
            let text = self.offers(line, words);
            assert!(!text.contains(FILE), "{line} offers files:\n{text}");
        }
        self.completes("ptop --theme contr", "ptop --theme contrast");
        self.completes("cpuledger top --source=netl", "cpuledger top --source=netlink");
        let (beginning, end) = COMMAND.split_at(COMMAND.len() - 4);
        for before in ["run ", "run --format json ", "run -o account --source=ledger -- "] {
            self.completes(&format!("cpuledger {before}{beginning}"), &format!("{before}{beginning}{end}"));
        }
        // What follows is of that command, which takes files.
        self.completes(&format!("cpuledger run {COMMAND} a-f"), &format!("{COMMAND} {FILE}"));
        self.completes("cpuledger run --output a-f", &format!("--output {FILE}"));
    }
}

fn test(program: &str, open: impl FnOnce(&str, &Path) -> Shell) {
    if Command::new(program).arg("--version").output().is_err() {
        return not_run(&format!("{program} is not installed"));
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../completions");
    let folder = folder.canonicalize().expect("it is in the repository");
    open(&format!("completions-{program}"), &folder).completes_values_and_commands();
}

#[test]
fn bash_offers_values_and_commands() {
    test("bash", Shell::bash);
}

#[test]
fn zsh_offers_values_and_commands() {
    test("zsh", Shell::zsh);
}

#[test]
fn fish_offers_values_and_commands() {
    test("fish", Shell::fish);
}
