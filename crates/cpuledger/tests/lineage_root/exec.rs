//! Processes whose threads and leader part.

use super::{Scene, assert_burned};
use cpuledger_load::scene::scene;

/// While its thread lives the process does, and keeps the time of its leader as that of an exited thread.
#[test]
fn a_leader_that_ends_first_root() {
    scene(|| {
        let scene = Scene::of("leader-first", 2, &["leader", "thread"]);
        let first = scene.kin.pid();
        let leader = scene.member("leader");
        for role in ["leader", "thread"] {
            assert_burned(&scene.books, scene.member(role), scene.exit(role));
            assert_eq!(scene.exit(role).accounting_parent.map(|pid| pid.0), Some(first));
            assert_eq!(scene.exit(role).exit.process.tid.0, leader.pid);
        }
        let held = scene.held(leader.pid);
        assert_eq!(
            held.exited_threads_ns,
            scene.exit("leader").cpu_ns,
            "x of the process is its leader's last time"
        );
        assert_eq!(held.exited_children_ns, 0);
        // It burned for longer than an interval after the leader's death: in its own name.
        scene.assert_holds_exactly(first, &["thread"]);
    });
}

/// One process before and after, whose thread has the leader's tid now; the old leader is an exited thread of it.
#[test]
fn a_thread_that_is_not_the_leader_execs_root() {
    scene(|| {
        let scene = Scene::of("exec-by-thread", 3, &["leader", "after-exec"]);
        let (leader, before, after) =
            (scene.member("leader"), scene.member("before-exec"), scene.member("after-exec"));
        assert_eq!(
            (leader.tid, after.tid, after.pid, before.pid),
            (leader.pid, leader.tid, leader.pid, leader.pid)
        );
        assert_ne!(before.tid, leader.tid);
        let exits = scene.books.exits_of(leader.tid);
        assert_eq!(exits[0].exit.task, exits[1].exit.task, "both are (pid, start time) of the process");
        let (old, new) = match exits[0].exit.runtime_ns < exits[1].exit.runtime_ns {
            true => (exits[0], exits[1]),
            false => (exits[1], exits[0]),
        };
        assert!((leader.ns..after.ns).contains(&old.exit.runtime_ns), "the old leader's own time");
        assert!(new.exit.runtime_ns >= after.ns, "the thread's time goes on through the exec");
        assert!(scene.books.exits_of(before.tid).is_empty(), "its old tid has not died, but was given up");

        let first = scene.kin.pid();
        let held = scene.held(leader.pid);
        assert_eq!(held.exited_threads_ns, old.cpu_ns, "x is the old leader");
        assert_eq!(held.exited_children_ns, 0);
        assert_eq!(new.accounting_parent.map(|pid| pid.0), Some(first));
        assert_eq!(scene.held(first).exited_children_ns, new.cpu_ns, "c of the parent is its last time");
        // Its own clock: before and after the exec, and the old leader.
        let (told_ns, burned_ns) = (held.cpu_ns() + new.cpu_ns, leader.ns + after.ns);
        println!("{told_ns} ns booked, {burned_ns} ns burned");
        assert!(told_ns as f64 >= burned_ns as f64 * 0.99);
    });
}
