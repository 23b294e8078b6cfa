//! What terminals send, however much of it at once, and what they are sent: keys, sizes, colours.

mod intervals;
mod tmux;

use std::fs;
use std::thread::sleep;
use std::time::Duration;

use intervals::Killed;
use tmux::Terminal;

const OPTIONS: &str = "--source procfs -d 1 --all";

/// What is said of a key that does nothing: all keys before it have been taken.
const TAKEN: &str = "`@` does nothing here";

/// CPU time of the thread that reads keys, in ticks.
fn keyboard_ticks(terminal: &Terminal) -> u64 {
    let tasks = format!("/proc/{}/task", terminal.pid());
    for task in fs::read_dir(tasks).expect("it runs").flatten() {
        let read = |name: &str| fs::read_to_string(task.path().join(name)).unwrap_or_default();
        if read("comm").trim_end() == "keyboard" {
            let stat = read("stat");
            let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
            return fields[11].parse::<u64>().expect("user time")
                + fields[12].parse::<u64>().expect("system time");
        }
    }
    panic!("no thread reads keys")
}

/// In two seconds in which nothing is typed it has nothing to do.
fn assert_at_rest(terminal: &Terminal) {
    let before = keyboard_ticks(terminal);
    sleep(Duration::from_secs(2));
    let ticks = keyboard_ticks(terminal) - before;
    assert!(ticks <= 5, "{ticks} ticks of CPU time");
}

#[test]
fn all_that_comes_at_once_is_taken_and_then_there_is_rest() {
    let terminal = Terminal::open("burst", 120, 30);
    terminal.start(OPTIONS);
    // Into the table, and into a line to fill in.
    terminal.paste(&format!("{}@", "}".repeat(4_999)));
    terminal.wait_for(TAKEN);
    assert_at_rest(&terminal);
    terminal.press(&["F4"]);
    terminal.paste(&format!("comm=none{}", " ".repeat(4_991)));
    terminal.wait_for("Filter:");
    terminal.wait_for("[comm=none");
    assert_at_rest(&terminal);
    terminal.press(&["Escape"]);
    terminal.wait(|text| text.contains("F10Quit"));
    // 1,026 bytes: to the end of the page.
    terminal.press(&["F1"]);
    terminal.wait_for("See something else");
    terminal.paste(&"\x1b[B".repeat(342));
    terminal.wait(|text| text.contains("This interval") && !text.contains("See something else"));
    assert_at_rest(&terminal);
    terminal.press(&["Escape"]);
    terminal.wait_for_screen();
    terminal.quit();
}

#[test]
fn a_key_after_another_size_is_taken_and_then_there_is_rest() {
    let terminal = Terminal::open("resized", 120, 30);
    terminal.start(OPTIONS);
    for width in [100, 90, 140] {
        // The key takes away what is said.
        terminal.press(&["Down"]);
        terminal.wait(|text| !text.contains(TAKEN));
        terminal.resize(width, 30);
        terminal.wait(|text| text.lines().any(|line| line.chars().count() > usize::from(width) - 12));
        terminal.press(&["@"]);
        terminal.wait_for(TAKEN);
        assert_at_rest(&terminal);
    }
    terminal.quit();
}

#[test]
fn both_characters_of_backspace_take_one_back() {
    let terminal = Terminal::open("backspace", 120, 30);
    terminal.start(OPTIONS);
    terminal.press(&["F4"]);
    terminal.write("comm=abcd");
    terminal.wait_for("Filter: comm=abcd");
    terminal.press(&["C-h"]);
    terminal.wait(|text| text.lines().any(|line| line.trim_end() == "Filter: comm=abc"));
    terminal.press(&["BSpace"]);
    terminal.wait(|text| text.lines().any(|line| line.trim_end() == "Filter: comm=ab"));
    terminal.press(&["Escape"]);
    terminal.quit();
}

#[test]
fn arguments_are_found_by_a_filter_and_by_a_search() {
    let terminal = Terminal::open("arguments", 160, 40);
    let sleeper = Killed(terminal.sleeper("argued"));
    let pid = sleeper.0.id();
    terminal.start(OPTIONS);
    terminal.press(&["F4"]);
    terminal.write("args~/argued.1000$");
    let text = terminal.wait(|text| text.contains("1 line matches"));
    assert!(text.lines().any(|line| line.trim_start().starts_with(&pid.to_string())), "{text}");
    terminal.press(&["Enter", "Escape"]);
    terminal.wait(|text| !text.contains("1/1 "));
    terminal.press(&["F3"]);
    terminal.write("/argued 10");
    terminal.press(&["Enter"]);
    terminal.wait(|text| text.contains(&format!(" {pid} argued: most")));
    terminal.quit();
}

/// The numbers of all sequences that set a style.
fn styles(text: &str) -> Vec<Vec<u32>> {
    let sequences = text.split("\x1b[").skip(1).filter_map(|rest| rest.split_once('m'));
    sequences.map(|(codes, _)| codes.split(';').filter_map(|code| code.parse().ok()).collect()).collect()
}

#[test]
fn a_terminal_gets_the_colours_that_it_has() {
    let is_color = |code: &u32| matches!(code, 30..=38 | 40..=48 | 90..=97 | 100..=107);
    let terminal = Terminal::open("colours", 120, 30);
    let seen_with = |environment: &str, options: &str| {
        terminal.start_with(&format!("env -u COLORTERM {environment}"), &format!("{OPTIONS} {options}"));
        terminal.wait(|text| text.contains("F10Quit") && text.contains("load "));
        let seen = terminal.styled_text();
        terminal.quit();
        styles(&seen)
    };
    let seen = |environment: &str| seen_with(environment, "");
    for none in ["TERM=xterm-mono", "TERM=vt100", "TERM=xterm-mono COLORTERM=truecolor", "NO_COLOR=1"] {
        let styles = seen(none);
        assert!(styles.iter().flatten().any(|code| *code == 7), "{none}: headers are reversed: {styles:?}");
        let colored: Vec<_> = styles.iter().filter(|codes| codes.iter().any(is_color)).collect();
        assert!(colored.is_empty(), "{none}: {colored:?}");
    }
    for theme in ["auto", "16", "256", "true", "contrast"] {
        let eight = seen_with("TERM=linux", &format!("--theme {theme}"));
        let colors: Vec<u32> = eight.iter().flatten().copied().filter(is_color).collect();
        assert!(colors.iter().any(|code| (30..38).contains(code)), "{theme}: {eight:?}");
        assert!(colors.iter().all(|code| matches!(code, 30..=37 | 40..=47)), "{theme}: {eight:?}");
    }
    assert!(seen("TERM=xterm-256color").iter().any(|codes| codes.windows(2).any(|pair| pair == [38, 5])));
    assert!(seen("COLORTERM=truecolor").iter().any(|codes| codes.windows(2).any(|pair| pair == [38, 2])));
}
