//! A member in a PID namespace, and one in a namespace within that.

use anyhow::{Context, Result, ensure};

use super::life::{self, Ending, Kind, Life};
use crate::cmd::sys;

pub(super) const KINDS: &[Kind] = &[Kind {
    in_pid_namespace: true,
    // Itself, and the nested one, which has no other parent.
    members: 2,
    ..Kind::needing_root("pid-namespace", first_of_namespace)
}];

const NESTED: Kind =
    Kind { in_pid_namespace: true, ..Kind::needing_root("pid-namespace-nested", first_of_nested_namespace) };

/// A namespace's first process is 1, its next one 2.
const FIRST: i32 = 1;
const SECOND: i32 = 2;

fn first_of_namespace(life: &mut Life) -> Result<Ending> {
    let nested =
        sys::fork_in_pid_namespace(|| life::begin(&NESTED, life.tell, None)).context("make a namespace")?;
    ensure!(nested.as_raw_pid() == SECOND, "the nested member has the pid {} here", nested.as_raw_pid());
    life.member.truth.namespace_pids = vec![FIRST];
    Ok(Ending::Sleep)
}

fn first_of_nested_namespace(life: &mut Life) -> Result<Ending> {
    life.member.truth.namespace_pids = vec![SECOND, FIRST];
    Ok(Ending::Sleep)
}
