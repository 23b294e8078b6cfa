//! Children whose parent does not ask for them, or has made them otherwise than by fork(2).

use super::{Scene, assert_living, books, new_books};
use cpuledger_load::scene::scene;

/// The child is inherited by the first process. Where they are to be older than the books, these know them only from a list.
fn child_is_inherited(kind: &str, is_older: bool) {
    let scene = Scene::in_books(kind, 1, &["child"], if is_older { new_books } else { books });
    let first = scene.kin.pid();
    scene.assert_inherited("child", first);
    scene.assert_holds_exactly(first, &["child"]);
    assert_eq!(scene.books.heirs[&scene.books.process(first)], std::process::id() as i32);
}

/// The kernel adds the time of such a child to no process.
#[test]
fn a_child_of_a_parent_that_ignores_sigchld_root() {
    scene(|| {
        child_is_inherited("sigchld-ignored", false);
    });
}

#[test]
fn a_child_of_a_parent_that_keeps_no_zombies_root() {
    scene(|| {
        child_is_inherited("no-cld-wait", false);
    });
}

#[test]
fn a_child_that_borrowed_the_memory_root() {
    scene(|| {
        child_is_inherited("vfork", false);
    });
}

#[test]
fn a_child_that_existed_before_root() {
    scene(|| {
        child_is_inherited("before", true);
    });
}

/// The maker is no parent: its own parent is.
#[test]
fn a_child_made_for_the_parent_root() {
    scene(|| {
        let scene = Scene::of("clone-parent", 2, &["sibling"]);
        let first = scene.kin.pid();
        scene.assert_inherited("sibling", first);
        scene.assert_holds_exactly(first, &["sibling"]);
        let maker = assert_living(&scene, "maker", first);
        assert_eq!(scene.books.held[&maker].exited_children_ns, 0);
    });
}
