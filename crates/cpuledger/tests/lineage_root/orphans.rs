//! Processes whose parent dies first.

use cpuledger::TaskId;

use super::{Scene, assert_living};
use cpuledger_load::scene::scene;

/// Of the first process of the machine.
fn inherited_by_init(scene: &Scene) -> u64 {
    let init = scene.books.held.iter().find(|(TaskId { tid, .. }, _)| tid.0 == 1);
    init.map_or(0, |(_, held)| held.exited_children_ns)
}

#[test]
fn an_orphan_goes_to_its_grandparent_root() {
    scene(|| {
        let scene = Scene::of("double-fork", 2, &["parent", "orphan"]);
        let first = scene.kin.pid();
        assert_ne!(scene.member("orphan").ppid, first, "it has another parent");
        scene.assert_inherited("parent", first);
        scene.assert_inherited("orphan", first);
        scene.assert_holds_exactly(first, &["parent", "orphan"]);
        // Other processes that die meanwhile may go to init too; the orphan's time alone would be this much.
        assert!(inherited_by_init(&scene) < scene.member("orphan").ns);
    });
}

#[test]
fn a_subreaper_that_is_not_the_ancestor_gets_nothing_root() {
    scene(|| {
        let scene = Scene::of("subreaper", 4, &["parent", "orphan"]);
        let subreaper = scene.member("subreaper").pid;
        let ancestor = scene.member("ancestor").pid;
        assert_eq!(scene.member("orphan").ppid, subreaper, "the kernel has made it the parent");
        scene.assert_inherited("parent", ancestor);
        scene.assert_inherited("orphan", ancestor);
        scene.assert_holds_exactly(ancestor, &["parent", "orphan"]);
        assert_living(&scene, "subreaper", scene.kin.pid());
        assert_living(&scene, "ancestor", subreaper);
        assert_eq!(scene.held(subreaper).exited_children_ns, 0);
    });
}

#[test]
fn a_daemon_has_an_accounting_parent_root() {
    scene(|| {
        let scene = Scene::of("daemon", 1, &[]);
        assert_ne!(scene.member("daemon").ppid, scene.kin.pid(), "it has another parent");
        assert_living(&scene, "daemon", scene.kin.pid());
    });
}
