//! Files of others that have the name of a segment: they are neither read, nor renamed, nor deleted.

mod frames;

use std::fs;
use std::os::unix::fs::symlink;
use std::time::Duration;

use cpuledger_model::make;
use cpuledger_recording::{Options, Recording, Tier, Writer};
use frames::{Machine, frames_of};

#[test]
fn what_is_no_segment_is_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let machine = Machine::new(5, 3).seconds(70);
    let tiers = vec![Tier::new(Duration::ZERO, Some(Duration::from_secs(3600)))];
    let options = make!(Options { segment_length: Duration::from_secs(1), tiers });
    let mut writer = Writer::open(folder.path(), options.clone()).expect("a writer");
    machine.iter().take(65).for_each(|frame| writer.append(frame).expect("written"));
    writer.close().expect("closed");
    drop(writer);
    let tier = folder.path().join("all");
    let own = fs::read(tier.join("0000000000000000.seg")).expect("a segment");
    let text = b"my notes of the year, which are longer than the header of a segment\n".repeat(9);
    for name in ["0000000000000400.seg", "0000000000000401.open", "0000000000000402.cut"] {
        fs::write(tier.join(name), &text).expect("a file");
    }
    fs::create_dir(tier.join("0000000000000500.seg")).expect("a directory");
    symlink("/dev/zero", tier.join("0000000000000501.seg")).expect("a link");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        tier.join("0000000000000502.seg"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .expect("a pipe");
    // Begun now, and without a record: a writer was killed at once.
    fs::write(tier.join("0000000000000600.seg"), &own[..256]).expect("a file");
    let names = || {
        let mut names: Vec<_> = fs::read_dir(&tier)
            .expect("a folder")
            .map(|entry| entry.expect("an entry").file_name())
            .collect();
        names.sort();
        names
    };
    let before = names();
    let mut recording = Recording::open(folder.path()).expect("a recording");
    assert!(frames_of(&mut recording) == machine[..65]);
    let foreign: Vec<_> = recording.foreign().iter().filter_map(|path| path.file_stem()?.to_str()).collect();
    let numbers = ["400", "401", "402", "500", "501", "502"].map(|number| format!("{number:0>16}"));
    assert_eq!(foreign, numbers);
    let mut writer = Writer::open(folder.path(), options.clone()).expect("a writer");
    machine[65..].iter().for_each(|frame| writer.append(frame).expect("written"));
    writer.close().expect("closed");
    drop(writer);
    assert!(before.iter().all(|name| names().contains(name)), "{:?}", names());
    // What is too much goes, and what is another's stays.
    let mut writer =
        Writer::open(folder.path(), make!(Options { most_bytes: Some(0), ..options })).expect("a writer");
    writer.append(&Machine::new(6, 3).second()).expect("written");
    for name in ["0000000000000400.seg", "0000000000000401.open", "0000000000000402.cut"] {
        assert_eq!(fs::read(tier.join(name)).expect("it is there"), text);
    }
    assert!(!tier.join("0000000000000000.seg").exists() && !tier.join("0000000000000600.seg").exists());
}
