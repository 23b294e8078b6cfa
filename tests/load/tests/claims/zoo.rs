//! The zoo as a whole, and what all members have in common.

use std::collections::HashSet;

use cpuledger_load::{Error, Member, Zoo};

use crate::proc::{exists, is_dead, need_root, read, stat_field, status, tids, wait_until};
use crate::sleepers::kill;

const KINDS: usize = 36;

/// All members, for a test whose name says that it needs root.
pub fn whole_zoo() -> Zoo {
    need_root();
    Zoo::start().expect("a zoo")
}

/// The member of a kind that must be there.
pub fn member<'a>(zoo: &'a Zoo, kind: &str) -> &'a Member {
    zoo.member(kind).unwrap_or_else(|| panic!("no member {kind:?}"))
}

#[test]
fn there_is_one_of_each_kind_root() {
    let zoo = whole_zoo();
    let kinds: HashSet<&str> = zoo.members().iter().map(|member| member.kind.as_str()).collect();
    let pids: HashSet<i32> = zoo.members().iter().map(|member| member.pid).collect();
    assert_eq!((zoo.members().len(), kinds.len(), pids.len()), (KINDS, KINDS, KINDS), "{kinds:?}");
}

#[test]
fn name_state_and_tids_are_as_told_root() {
    let zoo = whole_zoo();
    for member in zoo.members() {
        let Member { kind, pid, truth, .. } = member;
        let mut comm = read(&format!("/proc/{pid}/comm"));
        assert_eq!(comm.pop(), Some(b'\n'));
        assert_eq!(comm, truth.comm.0, "{kind}: {:?}", truth.comm);
        assert_eq!(stat_field(&pid.to_string(), 3), truth.state, "{kind}");
        let mut told = member.tids.clone();
        told.sort_unstable();
        assert_eq!(tids(*pid), told, "{kind}");
        assert_eq!(member.tids[0], *pid, "{kind}: the leader is the first");
    }
}

#[test]
fn the_parent_is_the_program_but_for_the_nested_one_root() {
    let zoo = whole_zoo();
    for Member { kind, pid, .. } in zoo.members() {
        let parent = match kind.as_str() {
            "pid-namespace-nested" => member(&zoo, "pid-namespace").pid,
            _ => zoo.pid(),
        };
        assert_eq!(status(*pid, "PPid"), [parent.to_string()], "{kind}");
    }
}

#[test]
fn names_are_hard_root() {
    let zoo = whole_zoo();
    let comm = |kind| &member(&zoo, kind).truth.comm.0[..];
    assert_eq!(comm("comm-spaces"), b"a b c");
    assert_eq!(comm("comm-parentheses"), b"x) R 1 (y");
    assert_eq!(comm("comm-newline"), b"two\nlines");
    assert_eq!(comm("comm-tab-backslash"), b"tab\tback\\slash");
    assert_eq!(comm("comm-not-utf8"), b"\xff\xfe");
    assert_eq!(comm("comm-escape"), b"\x1b[31mred");
    assert_eq!(comm("comm-empty"), b"");
    assert_eq!(comm("comm-15").len(), 15);
}

#[test]
fn all_are_gone_after_the_end_root() {
    let zoo = whole_zoo();
    let pids: Vec<i32> = zoo.members().iter().map(|member| member.pid).chain([zoo.pid()]).collect();
    drop(zoo);
    for pid in pids {
        assert!(!exists(pid), "{pid} is left");
    }
}

#[test]
fn a_killed_program_takes_its_members_along_root() {
    let zoo = whole_zoo();
    kill(zoo.pid());
    for member in zoo.members() {
        wait_until(&format!("{} dies with its parent", member.kind), || is_dead(member.pid));
    }
}

#[test]
fn some_kinds_need_no_privilege() {
    let zoo = Zoo::start_only(&["zombie", "comm-newline"]).expect("two members");
    let kinds: Vec<&str> = zoo.members().iter().map(|member| member.kind.as_str()).collect();
    assert_eq!(kinds, ["zombie", "comm-newline"]);
    zoo.stop().expect("a good end");
}

#[test]
fn an_unknown_kind_is_refused() {
    let Err(Error::GaveUp(sentence)) = Zoo::start_only(&["unicorn"]) else { panic!("there are unicorns") };
    assert!(sentence.contains("unicorn"), "{sentence}");
}
