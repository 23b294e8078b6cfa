use cpuledger_load::{Did, FileOnDisk, States, StatesPlan, not_run};

const MS: u64 = 300;

fn play(plan: &StatesPlan, tasks: usize) -> (i32, Vec<Did>) {
    let mut states = States::start(plan).expect("tasks that wait to begin");
    states.be_seen().expect("they are there");
    states.begin().expect("they are there");
    let did = (0..tasks).map(|_| states.did().expect("it says what it did")).collect();
    (states.pid(), did)
}

#[test]
fn two_threads_fight_for_a_mutex() {
    let plan = StatesPlan { kind: "mutex", ms: MS, ..StatesPlan::default() };
    let (pid, mut did) = play(&plan, 2);
    did.sort_by_key(|did| did.tid);
    assert_eq!(did[0].tid, pid, "the leader is one of them");
    for did in did {
        assert!(did.end_ns - did.begin_ns >= MS * 1_000_000, "{did:?}");
        // One of two cannot have it all the time.
        assert!(did.off_ns > 0 && did.switches > 0, "{did:?}");
    }
}

#[test]
fn a_cold_file_is_waited_for() {
    let Some(file) = FileOnDisk::new(8 << 20).expect("a file on a disk") else {
        return not_run("no folder that it may use is on a disk");
    };
    let (path, other) = (file.path().to_owned(), FileOnDisk::new(1).expect("a file").expect("a disk"));
    assert_ne!(path, other.path(), "each is a file of its own");
    let plan = StatesPlan { kind: "cold", ms: MS, file: Some(path), ..StatesPlan::default() };
    let (pid, did) = play(&plan, 1);
    assert_eq!(did[0].tid, pid);
    assert!(did[0].off_ns > 0 && did[0].switches > 0, "{did:?}");
}
