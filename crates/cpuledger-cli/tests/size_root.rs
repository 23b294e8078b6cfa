//! How much memory a reader of the ledger holds. Needs root.

use std::fs;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The resident memory of mappings of this name, in KiB.
fn resident_kib(smaps: &str, name: &str) -> u64 {
    let (mut is_wanted, mut sum) = (false, 0);
    for line in smaps.lines() {
        let mut words = line.split_whitespace();
        match words.next() {
            Some("Rss:") if is_wanted => {
                sum += words.next().and_then(|number| number.parse::<u64>().ok()).expect("a size");
            }
            Some(range) if !range.ends_with(':') => is_wanted = line.ends_with(name),
            _ => {}
        }
    }
    sum
}

/// The ledger's arrays are 15 MiB, and the kernel counts what is mapped of them as memory of the process. Only what is in use is.
#[test]
fn what_the_ledger_does_not_use_is_not_mapped_root() {
    let arguments = ["top", "--batch", "--iterations", "1", "--delay", "30", "--source", "ledger"];
    let mut top = Command::new(env!("CARGO_BIN_EXE_cpuledger"))
        .args(arguments)
        .stdout(Stdio::null())
        .spawn()
        .expect("the program is there");
    let smaps = format!("/proc/{}/smaps", top.id());
    let limit = Instant::now() + Duration::from_secs(120);
    let kib = loop {
        let kib = resident_kib(&fs::read_to_string(&smaps).expect("it runs"), "anon_inode:bpf-map");
        if kib > 0 || Instant::now() > limit {
            break kib;
        }
        sleep(Duration::from_millis(50));
    };
    // Until it has taken its first cut, and mapped what that needs.
    sleep(Duration::from_secs(1));
    let mapped = resident_kib(&fs::read_to_string(&smaps).expect("it runs"), "anon_inode:bpf-map");
    top.kill().and_then(|()| top.wait()).expect("it ends");
    println!("{kib} KiB of maps at first, {mapped} KiB in the first interval");
    assert!(mapped > 0, "it has not attached in two minutes");
    assert!(mapped < 8 * 1024, "{mapped} KiB of maps are mapped");
}

#[test]
fn sizes_of_mappings_are_read() {
    let smaps = "7f00-7f10 rw-s 0 00:0e 9 anon_inode:bpf-map\nSize: 64 kB\nRss: 48 kB\nPss: 48 kB\n\
                 7f10-7f20 rw-p 0 00:00 0 [heap]\nRss: 12 kB\n7f20-7f30 r--s 0 00:0e 9 anon_inode:bpf-map\nRss: 4 kB\n";
    assert_eq!(resident_kib(smaps, "anon_inode:bpf-map"), 52);
}
