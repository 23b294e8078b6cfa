//! How other crates make a struct that may get more members: a row in a test, an interval in a tool.

/// Makes a struct of the members that are named. The others have their defaults, or are those of a base.
///
/// The structs of this crate grow, so they are `#[non_exhaustive]`, and a struct literal compiles in this crate alone. With the name of this
/// macro before it, the literal compiles in every crate, and goes on to compile when there are more members.
///
/// ```
/// use cpuledger_model::{Pid, Row, Task, Tid, Usage, make};
///
/// let (pid, cpu_ns) = (Pid(7), 1_000);
/// let task = make!(Task { pid, tid: Tid(7), uid: 1000 });
/// let usage = make!(Usage { cpu_ns, self_ns: cpu_ns });
///
/// let other = make!(Task { pid: Pid(8), ..task });
/// assert_eq!((other.pid.0, other.uid), (8, 1000));
/// assert_eq!(Row::new(task, usage).usage.exited_threads_ns, None);
/// ```
///
/// The base comes first, and each member in its turn: unlike in a struct literal, a base that is moved cannot be used by a member.
#[macro_export]
macro_rules! make {
    ($type:path { $($member:ident $(: $value:expr)?),* $(,)? }) => {
        $crate::make!($type { $($member $(: $value)?,)* ..<$type as ::core::default::Default>::default() })
    };
    ($type:path { $($member:ident $(: $value:expr)?,)* ..$base:expr }) => {{
        let mut made: $type = $base;
        $(made.$member = $crate::make!(@value $member $($value)?);)*
        made
    }};
    (@value $member:ident) => { $member };
    (@value $member:ident $value:expr) => { $value };
}

#[cfg(test)]
mod tests {
    use crate::task::{Pid, Tid};
    use crate::{Interval, Row, Task};

    #[test]
    fn it_sets_what_is_named_and_keeps_the_rest() {
        let pid = Pid(2);
        let base = make!(Task { pid, tid: Tid(1), uid: 3 });
        let other = make!(Task { tid: Tid(4), ..base });
        assert_eq!((base.pid, base.tid, base.uid, base.gid), (Pid(2), Tid(1), 3, 0));
        assert_eq!((other.pid, other.tid, other.uid, other.gid), (Pid(2), Tid(4), 3, 0));
    }

    #[test]
    fn a_member_may_be_made_likewise() {
        let made =
            make!(Interval { end_ns: 5, processes: vec![make!(Row { task: make!(Task { uid: 6 }) })] });
        assert_eq!((made.end_ns, made.processes[0].task.uid), (5, 6));
    }
}
