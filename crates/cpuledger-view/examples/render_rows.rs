//! What rendering costs: `cargo run --release --example render_rows`.

use std::time::Instant;

use cpuledger::enrich::row::{Row, Surroundings};
use cpuledger::task::{Comm, Pid, State, Tid};
use cpuledger::{FieldSet, Task};
use cpuledger_view::layout::{Chosen, Layout};

const ROWS: i32 = 100_000;

fn main() {
    let task = |index: i32| Task {
        known: FieldSet::ALL,
        tid: Tid(1_000_000 + index),
        pid: Pid(1_000_000),
        user_ns: index as u64 * 1_000_000_000,
        comm: Comm::new(b"worker"),
        state: State(b'S'),
        ..Task::default()
    };
    let tasks: Vec<Task> = (0..ROWS).map(task).collect();
    let around = Surroundings::now();
    let mut out = Vec::new();
    for names in
        ["pid tid comm time", "pid tid comm time", "user pid %cpu vsz rss tname stat stime time comm"]
    {
        let columns = names.split(' ').filter_map(Chosen::by_name).collect();
        let mut layout = Layout::new(columns, None);
        out.clear();
        let begin = Instant::now();
        for task in &tasks {
            layout.write_line(&Row { task, around: &around }.into(), &mut out);
        }
        println!("{ROWS} rows of {names}: {:?}, {} bytes", begin.elapsed(), out.len());
    }
}
