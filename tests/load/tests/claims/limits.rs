use cpuledger_load::RaisedLimits;

use crate::proc::{need_root, read, wait_until};

fn threads_max() -> usize {
    let text = String::from_utf8(read("/proc/sys/kernel/threads-max")).expect("text");
    text.trim().parse().expect("a number")
}

#[test]
fn threads_max_is_raised_and_restored_root() {
    need_root();
    let before = threads_max();
    let limits = RaisedLimits::for_threads(before).expect("room for as many threads again as there may be");
    assert!(threads_max() > before);
    drop(limits);
    // Another test may hold the limits for a while.
    wait_until("the old limit is restored", || threads_max() == before);
}
