//! Which process accounts for which, on the real kernel: where every nanosecond of an odd family went. Needs root.
//!
//! In each interval `Books` checks that x and c hold exactly what the exited records of all processes say. These tests check that
//! the records name the right heir, and hold what the members burned by their own clocks.

#[path = "../books/mod.rs"]
mod books;
mod exec;
mod machine;
mod orphans;
mod pids;
mod reaping;

use books::Books;
use cpuledger::TaskId;
use cpuledger::interval::Exited;
use cpuledger_load::{Kin, Kinsman, Lent, Shared, is_emulated};

const INTERVAL_NS: u64 = 10_000_000;
/// Several intervals, even if the reader is held up: what burns after a death does so in another interval.
const CPU_MS: u64 = 60;
/// What a task uses after its last word: a write and an exit; much when the host is busy.
const REST_NS: u64 = 10_000_000;
const EMULATED_REST_NS: u64 = 1_000_000_000;
/// Maximum number of intervals to wait for a death after the last message.
const INTERVALS_LIMIT: u64 = 500;

/// Most scenes need no books of their own.
static BOOKS: Shared<Books> = Shared::new();

/// Books that begin now, lent by the scene before. They are new ones if a switch was hidden in their time, because its effects do
/// not belong to this scene.
fn books() -> Lent<'static, Books> {
    let mut books = BOOKS.lend(Books::open);
    if books.missed_switches > 0 {
        drop(books);
        return new_books();
    }
    books.close(0);
    books.forget();
    books
}

/// Books that know processes from before them only by a list. The next scenes get them too.
fn new_books() -> Lent<'static, Books> {
    BOOKS.lend_new(Books::open)
}

/// A family that has burned, and the books of that time.
struct Scene {
    books: Lent<'static, Books>,
    kin: Kin,
    members: Vec<Kinsman>,
}

/// What is done with a family before the books begin, and after.
fn play(kind: &str, members: usize, books: fn() -> Lent<'static, Books>) -> Scene {
    let mut kin = Kin::start(kind, CPU_MS).expect("a family");
    let mut books = books();
    kin.begin().expect("it begins");
    let hear = std::thread::spawn(move || {
        let members = kin.burned(members);
        (kin, members)
    });
    books.close_until(INTERVAL_NS, |_| hear.is_finished());
    let (kin, members) = hear.join().expect("no panic");
    let members = members.expect("all have burned");
    Scene { books, kin, members }
}

impl Scene {
    /// As [`play`], and waits until the members of these roles are dead, then opens and closes one more interval.
    fn of(kind: &str, members: usize, dying: &[&str]) -> Scene {
        Scene::in_books(kind, members, dying, books)
    }

    /// The same, in these books.
    fn in_books(kind: &str, members: usize, dying: &[&str], books: fn() -> Lent<'static, Books>) -> Scene {
        let mut scene = play(kind, members, books);
        let tids: Vec<i32> = dying.iter().map(|role| scene.member(role).tid).collect();
        let expected = |tid: i32| tids.iter().filter(|other| **other == tid).count();
        let limit = scene.books.intervals + INTERVALS_LIMIT;
        scene.books.close_until(INTERVAL_NS, |books| {
            assert!(books.intervals < limit, "no record of {tids:?}");
            tids.iter().all(|&tid| books.exits_of(tid).len() >= expected(tid))
        });
        for &tid in &tids {
            assert_eq!(scene.books.exits_of(tid).len(), expected(tid), "one record for each death");
        }
        scene
    }

    fn member(&self, role: &str) -> &Kinsman {
        let mut found = self.members.iter().filter(|member| member.role == role);
        let member = found.next().unwrap_or_else(|| panic!("no member is {role}: {:?}", self.members));
        assert_eq!(found.next(), None, "one {role}");
        member
    }

    /// The record of a member that has died; of several with one tid the first.
    fn exit(&self, role: &str) -> &Exited {
        let exits = self.books.exits_of(self.member(role).tid);
        exits.first().unwrap_or_else(|| panic!("{role} has not died"))
    }

    fn held(&self, pid: i32) -> books::Held {
        self.books.held.get(&self.books.process(pid)).copied().unwrap_or_default()
    }

    /// A dead member's own clock against its record, and the heir.
    fn assert_inherited(&self, role: &str, heir: i32) {
        let exited = *self.exit(role);
        assert_burned(&self.books, self.member(role), &exited);
        assert_eq!(exited.accounting_parent.map(|pid| pid.0), Some(heir), "{role} is inherited by {heir}");
        assert_eq!(exited.exit.ppid.0, self.member(role).ppid, "its parent is who it said");
    }

    /// What those of these roles had in the interval in which they died is with this process, and nothing else is.
    fn assert_holds_exactly(&self, pid: i32, roles: &[&str]) {
        let sum: u64 = roles.iter().map(|role| self.exit(role).cpu_ns).sum();
        assert_eq!(self.held(pid).exited_children_ns, sum, "c of {pid} is the last time of {roles:?}");
        assert!(sum > 0);
    }
}

/// The most that a task uses after its last word, and the least share of the scheduler's time that is booked. An emulated CPU
/// takes its time, to the end of a life as between the reading of two clocks at a switch.
fn tolerances() -> (u64, f64) {
    if is_emulated() { (EMULATED_REST_NS, 0.5) } else { (REST_NS, 0.99) }
}

/// All that a task had on a CPU is at least what its clock said, and its runtime is what the clock said and the rest.
fn assert_burned(books: &Books, member: &Kinsman, exited: &Exited) {
    let booked_ns = books.tasks[&exited.exit.task];
    let runtime_ns = exited.exit.runtime_ns;
    println!("{}: {} ns burned, {runtime_ns} ns runtime, {booked_ns} ns booked", member.role, member.ns);
    let (rest_ns, share) = tolerances();
    assert!((member.ns..=member.ns + rest_ns).contains(&runtime_ns), "{member:?}: {runtime_ns} ns");
    // The two clocks differ by parts per million, and the scheduler's is read a little before a switch.
    assert!(booked_ns as f64 >= runtime_ns as f64 * share, "{member:?}: {booked_ns} of {runtime_ns} ns");
}

/// A process that is still there.
fn assert_living(scene: &Scene, role: &str, heir: i32) -> TaskId {
    let member = scene.member(role);
    let id = scene.books.process(member.pid);
    let held = scene.books.held[&id];
    assert!(held.self_ns as f64 >= member.ns as f64 * tolerances().1, "{member:?}: {held:?}");
    assert_eq!(scene.books.heirs[&id], heir, "the row of {role} names its accounting parent");
    id
}
