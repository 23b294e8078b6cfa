//! Pids that are used again within an interval.

use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use super::{CPU_MS, Kin, Scene, assert_burned, assert_living, books};
use cpuledger_load::scene::scene;

/// From the moment its parent has waited for it to the last switch of a process.
const LAST_STEPS: Duration = Duration::from_millis(100);
/// How often that may take longer, because the machine is busy.
const ATTEMPTS: usize = 10;

/// Three processes of one pid that live and die in one interval are three.
#[test]
fn one_pid_three_times_in_one_interval_root() {
    scene(|| {
        let is_told = (0..ATTEMPTS).any(|_| one_pid_three_times());
        assert!(is_told, "one of them dies late each time");
    });
}

/// Whether all three died in the interval.
fn one_pid_three_times() -> bool {
    let mut kin = Kin::start("pid-reuse", CPU_MS).expect("a family");
    let mut books = books();
    kin.begin().expect("it begins");
    let members = kin.burned(3).expect("all have burned");
    let pid = members[0].pid;
    while Path::new(&format!("/proc/{pid}")).exists() {
        sleep(Duration::from_millis(1));
    }
    sleep(LAST_STEPS);
    books.close(0);
    assert!(members.iter().all(|member| member.pid == pid), "{members:?}");
    if books.exits_of(pid).len() < 3 {
        books.close(LAST_STEPS.as_nanos() as u64);
        assert!(books.exits_of(pid).len() <= 3, "{:?}", books.exits_of(pid));
        return false;
    }
    let exits = books.exits_of(pid);
    assert_eq!(exits.len(), 3, "{exits:?}");
    for (member, exited) in members.iter().zip(&exits) {
        assert_burned(&books, member, exited);
        assert_eq!(exited.cpu_ns, books.tasks[&exited.exit.task], "it lived in this interval only");
        assert_eq!(exited.accounting_parent.map(|pid| pid.0), Some(kin.pid()));
    }
    assert!(exits.windows(2).all(|pair| pair[0].exit.task.start_time_ns < pair[1].exit.task.start_time_ns));
    let sum: u64 = exits.iter().map(|exited| exited.cpu_ns).sum();
    assert_eq!(books.held[&books.process(kin.pid())].exited_children_ns, sum);
    true
}

/// The heir is the process that had the pid at the fork, not the one that has it now.
#[test]
fn a_namesake_of_the_dead_parent_inherits_nothing_root() {
    scene(|| {
        let scene = Scene::of("pid-reuse-by-stranger", 4, &["orphan"]);
        let first = scene.kin.pid();
        let (parent, namesake) = (scene.member("parent"), scene.member("namesake"));
        assert_eq!(parent.pid, namesake.pid);
        let exits = scene.books.exits_of(parent.tid);
        assert_eq!(exits.len(), 1, "the namesake is alive");
        assert_burned(&scene.books, parent, exits[0]);
        assert_eq!(exits[0].accounting_parent.map(|pid| pid.0), Some(first));
        scene.assert_inherited("orphan", first);
        scene.assert_holds_exactly(first, &["parent", "orphan"]);
        let rows: Vec<_> = scene.books.held.iter().filter(|(id, _)| id.tid.0 == namesake.pid).collect();
        assert!(rows.iter().all(|(_, held)| held.exited_children_ns == 0), "{rows:?}");
        assert_living(&scene, "stranger", first);
        let living = rows.iter().map(|(id, _)| **id).max().expect("the namesake ran");
        assert_eq!(scene.books.heirs[&living], scene.member("stranger").pid);
    });
}
