//! A recording on the screen, as every user may look at it: steps, jumps, searches, playing; and what a live screen has seen.

mod intervals;
mod replayed;
mod tmux;

use std::process::Command;
use std::time::{Duration, Instant};

use cpuledger_recording::{Options, Writer};

use replayed::{at, frame, record};
use tmux::Terminal;

fn opened(name: &str, options: &str) -> Terminal {
    let terminal = Terminal::open(name, 100, 20);
    record(&terminal.folder().join("recording"));
    terminal.start_with("env TZ=UTC", &format!("--replay recording {options}"));
    terminal
}

#[test]
fn steps_show_each_interval_and_gaps() {
    let terminal = opened("replay-steps", "");
    at(&terminal, "22:14:01");
    terminal.press(&[")", ")"]);
    let text = at(&terminal, "22:14:03");
    assert!(text.contains("1.0 s  replay"), "{text}");
    assert!(text.contains("idle 198.0  = 200.0 %"), "{text}");
    terminal.press(&["f", "f", "f"]);
    at(&terminal, "22:14:33");
    terminal.press(&["S-Left"]);
    at(&terminal, "22:14:32");
    terminal.press(&["b"]);
    at(&terminal, "22:14:22");
    terminal
        .press(&["f", "f", "f", "S-Right", "S-Right", "S-Right", "S-Right", "S-Right", "S-Right", "S-Right"]);
    at(&terminal, "22:14:59");
    terminal.press(&[")", ")"]);
    let text = at(&terminal, "22:15:10");
    assert!(
        text.contains("(nothing was recorded from 2023-11-14 22:15:00 to 2023-11-14 22:15:10)"),
        "{text}"
    );
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("user 0.0 sys 0.0 stolen 0.0 idle 0.0 unattributed 200.0 = 200.0 %"), "{text}");
    terminal.press(&["?"]);
    terminal.wait_for("1 note on this interval: at the end of this page (End)");
    terminal.press(&["End"]);
    terminal.wait_for("unattributed 20000000000 ns (not attached 20000000000)");
    terminal.press(&["Escape"]);
    terminal.press(&[")"]);
    at(&terminal, "22:15:11");
    terminal.press(&["("]);
    at(&terminal, "22:15:10");
    terminal.press(&["$", ")"]);
    terminal.wait_for("this is the last interval");
    terminal.press(&["^", "("]);
    terminal.wait_for("this is the first interval");
    terminal.press(&["C-Right"]);
    at(&terminal, "22:15:10");
    terminal.quit();
}

#[test]
fn what_is_damaged_at_the_end_is_said() {
    let terminal = Terminal::open("replay-damaged", 100, 20);
    let mut bytes = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recordings/version-2.seg"))
        .expect("the fixture");
    let second = bytes.windows(4).enumerate().filter(|(_, four)| four == b"cRec").nth(1).expect("a record").0;
    bytes[second + 70] ^= 1;
    std::fs::write(terminal.folder().join("damaged"), bytes).expect("a file");
    terminal.start_with("env TZ=UTC", "--replay damaged");
    at(&terminal, "22:14:01");
    terminal.press(&[")"]);
    terminal.wait_for("2 intervals are lost, from 2023-11-14 22:14:01 to 2023-11-14 22:14:03");
    terminal.quit();
}

/// What is seen, once the time line has all that there is room for.
fn seen(terminal: &Terminal, time: &str) -> String {
    let mut last = at(terminal, time);
    loop {
        std::thread::sleep(Duration::from_millis(200));
        let text = at(terminal, time);
        if text == last {
            return text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
        }
        last = text;
    }
}

#[test]
fn frames_of_a_jump_a_search_and_a_gap() {
    let terminal = opened("replay-frames", "--at '2023-11-14 22:14:10'");
    let mut frames = seen(&terminal, "22:14:11");
    terminal.press(&[":"]);
    terminal.write("22:15:20");
    terminal.press(&["Enter"]);
    frames += "\n=== a jump to 22:15:20\n";
    frames += &seen(&terminal, "22:15:21");
    terminal.press(&[":"]);
    terminal.write("-1m");
    terminal.press(&["Enter"]);
    at(&terminal, "22:14:22");
    terminal.press(&[":"]);
    terminal.write("22:15:05");
    terminal.press(&["Enter"]);
    frames += "\n=== a jump into a gap\n";
    frames += &seen(&terminal, "22:15:10");
    terminal.press(&["^", "\\;"]);
    terminal.write("cpu>50 name=cc1");
    terminal.press(&["Enter"]);
    frames += "\n=== cpu>50 name=cc1\n";
    frames += &seen(&terminal, "22:14:43");
    insta::assert_snapshot!(frames);
    // There is no other.
    terminal.press(&["\\;", "Enter"]);
    terminal.wait_for("no later interval has a row with cpu>50 name=cc1");
    terminal.press(&[":"]);
    terminal.write("2020-01-01");
    terminal.press(&["Enter"]);
    terminal.wait_for("2020-01-01 00:00:00 is not in the recording, which is from 2023-11-14 22:14:00 to");
    terminal.press(&[":"]);
    terminal.write("noon");
    terminal.press(&["Enter"]);
    terminal.wait_for("`noon` is no time");
    terminal.press(&["Escape"]);
    terminal.quit();
}

#[test]
fn playing_goes_on_at_its_speed_and_over_gaps() {
    let terminal = opened("replay-play", "--at '2023-11-14 22:14:50'");
    at(&terminal, "22:14:51");
    let begin = Instant::now();
    terminal.press(&["=", "=", "=", "Space"]);
    terminal.wait(|text| text.contains("playing x8") || text.contains("this is the end"));
    // 39 seconds of intervals at eight a second, and a gap that takes no time.
    let text = terminal.wait_for("this is the end");
    let elapsed = begin.elapsed();
    assert!(text.contains("2023-11-14 22:15:40 speed x8"), "{text}");
    // At the speed of life it would take 39 s.
    assert!(elapsed > Duration::from_secs(4) && elapsed < Duration::from_secs(35), "{elapsed:?}");
    terminal.press(&["^", "_", "_", "_", "Space"]);
    terminal.wait_for("playing x1");
    // A second later, or more where the machine is busy.
    terminal.wait(|text| {
        let time = text.split("2023-11-14 ").nth(1).and_then(|rest| rest.get(..8));
        time.is_some_and(|time| time >= "22:14:03")
    });
    terminal.press(&["Space"]);
    terminal.wait(|text| !text.contains("playing"));
    terminal.quit();
}

#[test]
fn filters_lengths_and_exports_work_on_a_recording() {
    let terminal = opened("replay-work", "--at '2023-11-14 22:14:42'");
    at(&terminal, "22:14:43");
    terminal.press(&["F4"]);
    terminal.write("name=cc1");
    terminal.press(&["Enter"]);
    let text = terminal.wait(|text| text.contains("[name=cc1]") && !text.contains("worker"));
    assert!(text.contains("cc1") && text.contains("70.0"), "{text}");
    terminal.press(&["e", "Enter"]);
    terminal.wait_for("bytes written to");
    let json = std::fs::read(terminal.folder().join("ptop.json")).expect("it was written");
    let json: serde_json::Value = serde_json::from_slice(&json).expect("JSON");
    assert_eq!((&json["source"], &json["boot_id"]), (&"replay".into(), &"one boot".into()));
    assert_eq!(json["processes"].as_array().map(Vec::len), Some(1));
    terminal.press(&["k"]);
    terminal.wait_for("nothing can be done to tasks of the past");
    terminal.press(&["Escape", "d", "C-u"]);
    terminal.write("5");
    terminal.press(&["Enter"]);
    let text = at(&terminal, "22:14:47");
    assert!(text.contains("5.0 s"), "{text}");
    terminal.press(&["("]);
    at(&terminal, "22:14:42");
    terminal.press(&["t"]);
    terminal.wait_for("SUM");
    terminal.quit();
}

#[test]
fn a_recording_that_is_not_there_is_a_sentence() {
    let terminal = Terminal::open("replay-none", 100, 20);
    let program = env!("CARGO_BIN_EXE_cpuledger");
    let text = terminal.ask(&format!("{program} top --replay nowhere"));
    assert!(text.contains("nowhere: there is no recording") && text.contains("END1"), "{text}");
    let text = terminal.ask(&format!("{program} top --replay nowhere --at noon"));
    assert!(text.contains("`noon` is no time") && text.contains("END2"), "{text}");
}

/// At its end a recording goes on as it is written, also in the next segment and when the first one is deleted.
#[test]
fn what_is_recorded_meanwhile_appears_at_the_end() {
    let terminal = Terminal::open("replay-follow", 100, 20);
    let folder = terminal.folder().join("recording");
    let mut writer = Writer::open(&folder, Options::default()).expect("a folder");
    (0..10).for_each(|second| writer.append(&frame(second)).expect("room"));
    terminal.start_with("env TZ=UTC", "--replay recording");
    at(&terminal, "22:14:01");
    terminal.press(&["$"]);
    at(&terminal, "22:14:10");
    writer.append(&frame(10)).expect("room");
    at(&terminal, "22:14:11");
    (11..15).for_each(|second| writer.append(&frame(second)).expect("room"));
    at(&terminal, "22:14:15");
    // Elsewhere it stays, and goes on when the end is reached.
    terminal.press(&["("]);
    at(&terminal, "22:14:14");
    writer.append(&frame(15)).expect("room");
    std::thread::sleep(Duration::from_secs(1));
    at(&terminal, "22:14:14");
    terminal.press(&[")", ")"]);
    at(&terminal, "22:14:16");
    terminal.press(&[")"]);
    terminal.wait_for("this is the last interval");
    writer.append(&frame(16)).expect("room");
    std::thread::sleep(Duration::from_secs(1));
    at(&terminal, "22:14:16");
    terminal.press(&["$"]);
    at(&terminal, "22:14:17");
    writer.close().expect("room");
    drop(writer);
    let mut writer = Writer::open(&folder, Options::default()).expect("a folder");
    writer.append(&frame(17)).expect("room");
    at(&terminal, "22:14:18");
    let mut segments: Vec<_> = std::fs::read_dir(folder.join("all"))
        .expect("a folder")
        .map(|entry| entry.expect("a name").path())
        .collect();
    segments.sort();
    std::fs::remove_file(&segments[0]).expect("it is ours");
    writer.append(&frame(18)).expect("room");
    at(&terminal, "22:14:19");
    terminal.press(&["^"]);
    at(&terminal, "22:14:18");
    // Playing goes on behind the end, too.
    terminal.press(&["=", "=", "=", "Space"]);
    terminal.wait_for("this is the end");
    writer.append(&frame(19)).expect("room");
    at(&terminal, "22:14:20");
    // Merged intervals grow.
    terminal.press(&["d", "C-u"]);
    terminal.write("4");
    terminal.press(&["Enter", "^", "$"]);
    terminal.wait_for("  3.0 s");
    writer.append(&frame(20)).expect("room");
    at(&terminal, "22:14:21");
    terminal.quit();
    writer.close().expect("room");
}

/// Without a recording the screen goes back through what it has seen.
#[test]
fn a_live_screen_goes_back_and_returns() {
    let terminal = Terminal::open("replay-live", 120, 24);
    let mut sleeper = intervals::Killed(terminal.sleeper("slumber"));
    terminal.start("--source procfs -d 0.3 --all");
    terminal.press(&["F4"]);
    terminal.write("name=slumber");
    terminal.press(&["Enter"]);
    terminal.wait_for("1/1 ");
    let day = Command::new("date").arg("+%Y-%m-%d").output().expect("date").stdout;
    let day = String::from_utf8(day).expect("digits").trim().to_owned();
    std::thread::sleep(Duration::from_secs(1));
    sleeper.0.kill().and_then(|()| sleeper.0.wait()).expect("it is ours");
    terminal.wait(|text| !text.contains("1/1 "));
    assert!(!terminal.text().contains(day.as_str()), "there is no time line now");
    terminal.press(&["^"]);
    let text = terminal.wait_for("1/1 ");
    assert!(text.contains(day.as_str()) && text.contains('['), "{text}");
    terminal.press(&["("]);
    terminal.wait_for("this is the first interval");
    terminal.press(&[")"]);
    terminal.press(&["$"]);
    terminal.wait(|text| !text.contains("1/1 ") && !text.contains(day.as_str()));
    terminal.quit();
}
