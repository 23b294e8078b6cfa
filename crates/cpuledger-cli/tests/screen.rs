//! The screen in a terminal, as every user may start it: every key, filters, kills, sizes, stops and ends.

mod intervals;
mod tmux;

use std::thread::sleep;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use intervals::Killed;
use tmux::{PROMPT, Terminal};

/// What every user can have; the ledger's part is in `screen_root`.
const OPTIONS: &str = "--source procfs -d 0.5 --all";

/// A process with a name that no other has.
fn named(terminal: &Terminal, name: &str) -> Killed {
    Killed(terminal.sleeper(name))
}

fn is_alive(child: &mut Killed) -> bool {
    child.0.try_wait().expect("it is ours").is_none()
}

/// The keys of the help page, by the names of tmux.
fn keys_of(help: &str) -> Vec<String> {
    let mut keys = Vec::new();
    for line in help.lines().take_while(|line| !line.starts_with("In lists")) {
        let Some(names) = line.strip_prefix(' ') else { continue };
        let names = names.split("  ").next().unwrap_or_default();
        keys.extend(names.split(' ').map(|name| match name {
            "PgUp" => "PPage".to_owned(),
            "PgDn" => "NPage".to_owned(),
            "Esc" => "Escape".to_owned(),
            "F15" => "S-F3".to_owned(),
            "Shift-Left" => "S-Left".to_owned(),
            "Shift-Right" => "S-Right".to_owned(),
            // It ends a command of tmux.
            ";" => "\\;".to_owned(),
            name if name.starts_with("Ctrl-") => format!("C-{}", name[5..].to_lowercase()),
            name => name.to_owned(),
        }));
    }
    keys
}

#[test]
fn every_key_of_the_help_page_is_taken() {
    let terminal = Terminal::open("keys", 150, 120);
    let modes = terminal.modes();
    terminal.start(OPTIONS);
    terminal.press(&["F1"]);
    let help = terminal.wait_for("any other key: back");
    let keys = keys_of(&help);
    assert!(keys.len() > 70 && keys.contains(&"C-z".to_owned()), "{keys:?}");
    terminal.press(&["Escape"]);
    terminal.wait_for_screen();
    for key in &keys {
        let ends = ["F10", "q", "C-c", "C-z"].contains(&key.as_str());
        if key.chars().count() == 1 {
            terminal.write(key)
        } else {
            terminal.press(&[key])
        }
        if !ends {
            sleep(Duration::from_millis(20));
            // Out of whatever is open now.
            terminal.press(&["Escape"]);
            continue;
        }
        terminal.assert_restored(&modes);
        if key == "C-z" {
            terminal.line("fg");
        } else {
            terminal.start(OPTIONS);
        }
        terminal.wait_for_screen();
    }
    terminal.quit();
    terminal.assert_restored(&modes);
}

#[test]
fn filters_trees_and_pages_show_what_they_should() {
    let terminal = Terminal::open("filters", 200, 40);
    let _sleeper = named(&terminal, "onlyone");
    terminal.start(OPTIONS);
    terminal.press(&["F4"]);
    terminal.write("comm~^onlyo pid>1");
    terminal.press(&["Enter"]);
    let text = terminal.wait(|text| text.contains("onlyone") && text.contains("1/1 "));
    assert!(text.contains("[comm~^onlyo pid>1]"), "the filter is in the head: {text}");
    for (bad, part) in [
        ("cpux>5", "did you mean `cpu`"),
        ("comm~[", "regular expression"),
        ("(pid=1", "not closed"),
        ("rss>lots", "number"),
    ] {
        terminal.press(&["F4", "C-u"]);
        terminal.write(bad);
        terminal.wait_for(part);
        terminal.press(&["Enter"]);
        terminal.wait_for(part);
        terminal.press(&["Escape"]);
        terminal.wait(|text| text.contains("onlyone") && text.contains("1/1 "));
    }
    terminal.press(&["Escape"]);
    terminal.wait(|text| !text.contains("1/1 "));
    terminal.press(&["F5"]);
    terminal.wait(|text| text.contains("SUM") && text.contains("└─"));
    terminal.press(&["F3"]);
    terminal.write("onlyone");
    terminal.wait(|text| text.lines().any(|line| line.contains("onlyone: most")));
    terminal.press(&["Enter", "Enter"]);
    terminal.wait(|text| {
        text.contains("Process ")
            && text.contains("limits ")
            && text.contains("minor faults")
            && text.contains("onlyone 1000")
    });
    // Here is room for arguments, so that they are shown at first.
    terminal.press(&["Escape", "F5", "c", "c"]);
    terminal.wait(|text| text.lines().any(|line| line.contains("onlyone 1000") && !line.contains("└")));
    terminal.press(&["F5"]);
    terminal.wait_for("SUM");
    terminal.press(&["e", "Enter"]);
    terminal.wait_for("bytes written to ptop.json");
    let json = std::fs::read(terminal.folder().join("ptop.json")).expect("it was written");
    let json: serde_json::Value = serde_json::from_slice(&json).expect("JSON");
    assert!(intervals::list(&json["processes"]).iter().any(|row| row["comm"] == "onlyone"));
    terminal.press(&["W"]);
    terminal.wait_for("settings written to");
    let settings =
        std::fs::read_to_string(terminal.folder().join("cpuledger/ptop.toml")).expect("it was written");
    assert!(settings.contains("tree = \"parent\"") && settings.contains("command_line = true"), "{settings}");
    terminal.quit();
    terminal.start("--source procfs -d 0.5");
    terminal.wait_for("SUM");
    terminal.quit();
}

#[test]
fn a_task_is_killed_reniced_and_bound() {
    let terminal = Terminal::open("kill", 120, 30);
    let mut victim = named(&terminal, "victim");
    let mut bystander = named(&terminal, "bystander");
    terminal.start(OPTIONS);
    terminal.press(&["F4"]);
    terminal.write("comm=victim");
    terminal.press(&["Enter"]);
    terminal.wait_for("1/1 ");
    terminal.press(&["F8"]);
    terminal.wait(|text| text.contains(&format!("Nice value of {} (victim): 1", victim.0.id())));
    terminal.press(&["Enter"]);
    terminal.wait_for("has nice value 1");
    terminal.press(&["a"]);
    terminal.wait_for("CPUs of ");
    terminal.press(&["C-u"]);
    terminal.write("99999");
    terminal.press(&["Enter"]);
    terminal.wait_for("CPUs are a list");
    terminal.press(&["C-u"]);
    let status = std::fs::read_to_string("/proc/self/status").expect("procfs");
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).expect("a list");
    let first: String = list.trim().chars().take_while(char::is_ascii_digit).collect();
    terminal.write(&first);
    terminal.press(&["Enter"]);
    terminal.wait_for(&format!("may run on {first}"));
    terminal.press(&["y", "End", "Enter"]);
    terminal.wait_for("has I/O priority idle");
    terminal.press(&["F9"]);
    terminal.wait_for("SIGTERM");
    assert!(is_alive(&mut victim), "nothing was sent yet");
    terminal.press(&["Enter"]);
    terminal.wait_for("SIGTERM sent to");
    for _ in 0..500 {
        if !is_alive(&mut victim) {
            break;
        }
        sleep(Duration::from_millis(10));
    }
    assert!(!is_alive(&mut victim) && is_alive(&mut bystander));
    terminal.quit();
}

#[test]
fn any_size_and_a_storm_of_sizes() {
    let terminal = Terminal::open("sizes", 120, 30);
    let modes = terminal.modes();
    terminal.start("--source procfs -d 0.1 --all");
    for step in 0..40u16 {
        terminal.resize(10 + step * 37 % 190, 3 + step * 13 % 57);
    }
    terminal.resize(40, 10);
    let text =
        terminal.wait(|text| text.contains("PID") && text.contains("F1Help") && text.contains("user "));
    assert!(text.lines().all(|line| line.chars().count() <= 40), "{text}");
    terminal.resize(1, 1);
    terminal.resize(160, 50);
    terminal.wait(|text| text.contains("F10Quit") && text.contains("load "));
    terminal.quit();
    terminal.assert_restored(&modes);
}

#[test]
fn a_stop_a_signal_and_a_panic_restore_the_terminal() {
    let terminal = Terminal::open("ends", 120, 30);
    let modes = terminal.modes();
    terminal.start(OPTIONS);
    terminal.press(&["@"]);
    terminal.wait_for("`@` does nothing here; press ? for the list of keys");
    terminal.press(&["C-z"]);
    terminal.assert_restored(&modes);
    terminal.line("fg");
    terminal.wait_for_screen();
    assert_eq!(terminal.variable("alternate_on"), "1");
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGQUIT] {
        kill(Pid::from_raw(terminal.pid()), signal).expect("it is ours");
        terminal.assert_restored(&modes);
        assert!(terminal.ask("true").contains("END0"));
        terminal.start(OPTIONS);
    }
    terminal.quit();
    if cfg!(debug_assertions) {
        for place in ["view", "feed"] {
            let command = env!("CARGO_BIN_EXE_cpuledger");
            terminal.line(&format!(
                "clear; RUST_BACKTRACE=0 CPULEDGER_TEST_PANIC={place} {command} top {OPTIONS}; echo code $?"
            ));
            let text = terminal.wait(|text| {
                text.lines().any(|line| line.starts_with("code ")) && text.trim_end().ends_with(PROMPT)
            });
            assert!(text.contains(&format!("on purpose, in {place}")), "{text}");
            assert!(!text.contains("\ncode 0"), "{text}");
            terminal.assert_restored(&modes);
        }
    }
}

/// The state of a process, as /proc has it.
fn state_of(pid: i32) -> char {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("it lives");
    stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next()).expect("a state")
}

#[test]
fn in_the_background_it_leaves_the_terminal_alone_and_ends() {
    let terminal = Terminal::open("background", 120, 30);
    let modes = terminal.modes();
    terminal.start(OPTIONS);
    let pid = terminal.pid();
    terminal.press(&["C-z"]);
    terminal.assert_restored(&modes);
    assert_eq!(state_of(pid), 'T');
    terminal.line("bg");
    // What is typed is the shell's, also while intervals end.
    for number in 0..3 {
        assert!(terminal.ask("echo typed").contains("typed"));
        assert_ne!(state_of(pid), 'T', "look {number}");
        sleep(Duration::from_millis(600));
    }
    terminal.assert_restored(&modes);
    terminal.line("clear; fg");
    terminal.wait_for_screen();
    terminal.press(&["@"]);
    terminal.wait_for("`@` does nothing here; press ? for the list of keys");
    // Once more, to its end.
    terminal.press(&["C-z"]);
    terminal.assert_restored(&modes);
    terminal.line("bg");
    terminal.wait(|_| state_of(pid) != 'T');
    sleep(Duration::from_millis(400));
    // The shell waits before the end: it forgets a job that ends between two lines.
    terminal.line("clear; echo waiting; wait %1; echo END$?");
    terminal.wait(|text| text.lines().any(|line| line == "waiting"));
    kill(Pid::from_raw(pid), Signal::SIGTERM).expect("it is ours");
    terminal.wait(|text| text.lines().any(|line| line == "END0"));
    terminal.assert_restored(&modes);
}

#[test]
fn a_stop_from_outside_gives_the_terminal_back() {
    let terminal = Terminal::open("stops", 120, 30);
    let modes = terminal.modes();
    terminal.start(OPTIONS);
    let pid = terminal.pid();
    kill(Pid::from_raw(pid), Signal::SIGTSTP).expect("it is ours");
    terminal.wait_for("Stopped");
    assert_eq!(state_of(pid), 'T');
    // The shell's own modes come from the shell; the other screen and the cursor would stay.
    terminal.assert_restored(&modes);
    terminal.line("clear; fg");
    terminal.wait_for_screen();
    assert_eq!(terminal.variable("alternate_on"), "1");
    // One that no program hears of.
    kill(Pid::from_raw(pid), Signal::SIGSTOP).expect("it is ours");
    terminal.wait_for("Stopped");
    terminal.line("fg");
    terminal.press(&["@"]);
    terminal.wait_for("`@` does nothing here; press ? for the list of keys");
    terminal.quit();
    terminal.assert_restored(&modes);
}

#[test]
fn a_bad_configuration_is_said() {
    let terminal = Terminal::open("config", 120, 30);
    let file = terminal.folder().join("my.toml");
    std::fs::write(&file, "delays = 1\ntheme = \"contrast\"\n").expect("a file");
    terminal.start(&format!("{OPTIONS} --config {}", file.display()));
    terminal.wait_for("there is no key `delays`; did you mean `delay`?");
    terminal.quit();
    std::fs::write(&file, "delay = \n").expect("a file");
    let text = terminal.ask(&format!("{} top --config my.toml", env!("CARGO_BIN_EXE_cpuledger")));
    assert!(text.contains("my.toml is not a valid configuration") && text.contains("END1"), "{text}");
    let text = terminal.ask(&format!("{} top --theme pink", env!("CARGO_BIN_EXE_cpuledger")));
    assert!(text.contains("contrast") && text.contains("END2"), "{text}");
    let text = terminal.ask(&format!("{} top --config nowhere.toml", env!("CARGO_BIN_EXE_cpuledger")));
    assert!(text.contains("cannot read nowhere.toml") && text.contains("END1"), "{text}");
}
