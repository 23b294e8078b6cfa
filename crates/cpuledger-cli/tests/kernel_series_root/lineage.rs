//! The families of `lineage_root`: what each member burned by its own clock, and which process accounts for it.

use std::thread::{sleep, spawn};
use std::time::Duration;

use cpuledger_load::{Kin, Kinsman};

use crate::cuts::{Asks, Cuts};
use crate::{begin, inherited_ns};

/// Several intervals.
const CPU_MS: u64 = 60;
const INTERVAL: Duration = Duration::from_millis(20);
/// From the release of a task to its last switch.
const LAST_STEPS: Duration = Duration::from_millis(100);
/// What a member uses besides what its clock has told: a write, an exit, and an exec of this program.
const REST_NS: u64 = 200_000_000;
/// Cuts to wait for.
const MOST_CUTS: usize = 3_000;

/// A family that has burned and in which these roles have died, and the books of that time.
struct Scene {
    cuts: Cuts,
    kin: Kin,
    members: Vec<Kinsman>,
    /// What each process of the family had inherited when the books began.
    before_ns: u64,
}

impl Scene {
    fn of(kind: &str, members: usize, dying: &[&str], asks: Asks) -> Scene {
        let mut kin = Kin::start(kind, CPU_MS).expect("a family");
        let before_ns = inherited_ns(kin.pid());
        let mut cuts = Cuts::begin(asks);
        kin.begin().expect("it begins");
        let hear = spawn(move || {
            let members = kin.burned(members);
            (kin, members)
        });
        while !hear.is_finished() {
            sleep(INTERVAL);
            cuts.cut();
        }
        let (kin, members) = hear.join().expect("no panic");
        let mut scene = Scene { cuts, kin, members: members.expect("all have burned"), before_ns };
        let pids: Vec<i32> = dying.iter().map(|role| scene.member(role).pid).collect();
        for attempt in 0.. {
            scene.cuts.cut();
            if !pids.iter().any(|&pid| scene.cuts.lists(pid)) {
                break;
            }
            assert!(attempt < MOST_CUTS, "{dying:?} do not die");
            sleep(INTERVAL);
        }
        sleep(LAST_STEPS);
        scene.cuts.cut();
        scene
    }

    fn member(&self, role: &str) -> &Kinsman {
        self.members.iter().find(|member| member.role == role).expect("the role is there")
    }

    fn pid(&self, role: &str) -> i32 {
        if role == "first" { self.kin.pid() } else { self.member(role).pid }
    }

    /// The heir has what these have burned, and of each nanosecond that the kernel says that it has inherited one row told. Each of them
    /// named it, or one of these that was not waited for yet.
    fn assert_inherited(&self, heir: &str, dead: &[&str]) {
        let heir_pid = self.pid(heir);
        let children_ns = self.cuts.held(heir_pid).exited_children_ns;
        let mut pids: Vec<i32> = dead.iter().map(|role| self.pid(role)).collect();
        pids.sort_unstable();
        pids.dedup();
        let own_ns: u64 = pids
            .iter()
            .map(|&pid| {
                let held = self.cuts.held(pid);
                held.self_ns + held.exited_threads_ns + held.exited_children_ns
            })
            .sum();
        let burned_ns: u64 = dead.iter().map(|role| self.member(role).ns).sum();
        let heirs_ns = if heir == "first" { self.before_ns } else { 0 };
        let own_before_ns: u64 = pids.iter().filter_map(|pid| self.cuts.before_ns.get(pid)).sum();
        let kernel_ns = inherited_ns(heir_pid) - heirs_ns - own_before_ns;
        println!(
            "{dead:?}: {burned_ns} ns burned, {own_ns} + {children_ns} ns told, {kernel_ns} ns by the kernel"
        );
        assert_eq!(own_ns + children_ns, kernel_ns, "what rows told and what the kernel has counted");
        let limit_ns = burned_ns + REST_NS * dead.len() as u64;
        // Their clocks have what they used before the books began.
        let whole_ns = kernel_ns + own_before_ns;
        assert!((burned_ns..=limit_ns).contains(&whole_ns), "{burned_ns} ns burned, {whole_ns} ns inherited");
        for pid in pids.iter().filter(|pid| self.cuts.heirs.contains_key(pid)) {
            let heirs = &self.cuts.heirs[pid];
            let is_right = |named: &i32| *named == heir_pid || pids.contains(named);
            assert!(heirs.iter().all(is_right) && !heirs.is_empty(), "{pid} has named {heirs:?}");
        }
        // Nothing of it is with another living member, and it is not with init.
        assert!(self.cuts.held(1).exited_children_ns < burned_ns);
    }

    /// It is listed, has what it burned, has inherited nothing, and names this one.
    fn assert_living(&self, role: &str, heir: &str) {
        let member = self.member(role);
        let held = self.cuts.held(member.pid);
        assert!(self.cuts.lists(member.pid) && held.self_ns >= member.ns, "{member:?}: {held:?}");
        if let Some(named) = self.cuts.last_heir(member.pid) {
            assert_eq!(named, self.pid(heir));
        }
    }

    fn assert_inherited_nothing(&self, role: &str) {
        assert_eq!(self.cuts.held(self.pid(role)).exited_children_ns, 0, "{role}");
    }
}

fn child_is_inherited(kind: &str) {
    let Some(_alone) = begin() else { return };
    for asks in [Asks::All, Asks::Ran] {
        let scene = Scene::of(kind, 1, &["child"], asks);
        scene.assert_inherited("first", &["child"]);
        if let Some(own) = scene.cuts.last_heir(scene.kin.pid()) {
            assert_eq!(own, std::process::id().cast_signed(), "the family is ours");
        }
    }
}

#[test]
fn a_child_of_a_parent_that_ignores_sigchld_root() {
    child_is_inherited("sigchld-ignored");
}

#[test]
fn a_child_of_a_parent_that_keeps_no_zombies_root() {
    child_is_inherited("no-cld-wait");
}

#[test]
fn a_child_that_borrowed_the_memory_root() {
    child_is_inherited("vfork");
}

#[test]
fn a_child_that_existed_before_root() {
    child_is_inherited("before");
}

#[test]
fn a_child_made_for_the_parent_root() {
    let Some(_alone) = begin() else { return };
    for asks in [Asks::All, Asks::Ran] {
        let scene = Scene::of("clone-parent", 2, &["sibling"], asks);
        scene.assert_inherited("first", &["sibling"]);
        scene.assert_living("maker", "first");
        scene.assert_inherited_nothing("maker");
    }
}

#[test]
fn an_orphan_goes_to_its_grandparent_root() {
    let Some(_alone) = begin() else { return };
    for asks in [Asks::All, Asks::Ran] {
        let scene = Scene::of("double-fork", 2, &["parent", "orphan"], asks);
        assert_ne!(scene.member("orphan").ppid, scene.kin.pid(), "it has another parent");
        scene.assert_inherited("first", &["parent", "orphan"]);
    }
}

#[test]
fn a_subreaper_that_is_not_the_ancestor_gets_nothing_root() {
    let Some(_alone) = begin() else { return };
    for asks in [Asks::All, Asks::Ran] {
        let scene = Scene::of("subreaper", 4, &["parent"], asks);
        assert_eq!(scene.member("orphan").ppid, scene.pid("subreaper"), "the kernel has made it the parent");
        scene.assert_inherited("ancestor", &["parent"]);
        // The subreaper does not wait for it: it has its time as a zombie.
        scene.assert_living("orphan", "ancestor");
        scene.assert_living("subreaper", "first");
        scene.assert_living("ancestor", "subreaper");
        scene.assert_inherited_nothing("subreaper");
    }
}

#[test]
fn a_daemon_has_an_accounting_parent_root() {
    let Some(_alone) = begin() else { return };
    for asks in [Asks::All, Asks::Ran] {
        let scene = Scene::of("daemon", 1, &[], asks);
        assert_ne!(scene.member("daemon").ppid, scene.kin.pid(), "it has another parent");
        scene.assert_living("daemon", "first");
    }
}

#[test]
fn a_leader_that_ends_first_root() {
    let Some(_alone) = begin() else { return };
    for asks in [Asks::All, Asks::Ran] {
        let scene = Scene::of("leader-first", 2, &["leader", "thread"], asks);
        scene.assert_inherited("first", &["leader", "thread"]);
    }
}

/// The thread goes on under the number of the leader. Its clock has what it used before, too.
#[test]
fn a_thread_that_is_not_the_leader_execs_root() {
    let Some(_alone) = begin() else { return };
    for asks in [Asks::All, Asks::Ran] {
        let scene = Scene::of("exec-by-thread", 3, &["leader", "after-exec"], asks);
        assert_ne!(scene.member("before-exec").tid, scene.member("after-exec").tid);
        assert_eq!(scene.member("leader").tid, scene.member("after-exec").tid);
        scene.assert_inherited("first", &["leader", "after-exec"]);
    }
}

/// Three processes of one pid, which live one after the other.
#[test]
fn a_pid_that_is_used_again_root() {
    let Some(_alone) = begin() else { return };
    for asks in [Asks::All, Asks::Ran] {
        let scene = Scene::of("pid-reuse", 3, &[], asks);
        let burned_ns: u64 = scene.members.iter().map(|member| member.ns).sum();
        let held = scene.cuts.held(scene.members[0].pid);
        let told_ns = held.self_ns + scene.cuts.held(scene.kin.pid()).exited_children_ns;
        assert!(
            (burned_ns..=burned_ns + 3 * REST_NS).contains(&told_ns),
            "{burned_ns} ns burned, {told_ns} ns told"
        );
        assert_eq!(told_ns, inherited_ns(scene.kin.pid()) - scene.before_ns);
    }
}
