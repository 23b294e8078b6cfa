//! Which rows are shown: the selections of ps as pure rules on a task.

use std::collections::BTreeSet;

use cpuledger_model::field::{Field, FieldSet, Value};
use cpuledger_model::task::{Pid, Task};

/// The caller: some selections are relative to its user and terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Caller {
    /// Effective user.
    pub euid: u32,
    /// Device number of the terminal; 0: none.
    pub tty_device: u32,
}

/// What is shown before any list adds to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Base {
    /// Nothing but what is listed.
    #[default]
    Listed,
    /// Everything: `-e`, `ax`.
    All,
    /// Of the caller, at the caller's terminal: no option at all.
    Own,
    /// Of the caller, at any terminal: BSD options without `a` and `x`.
    OwnWithTerminal,
    /// The same without session leaders: in the personality of SunOS 4, without `g`.
    OwnWithTerminalNoSessionLeaders,
    /// Of the caller: `x`.
    OwnEverywhere,
    /// The same without session leaders, likewise.
    OwnNoSessionLeaders,
    /// At any terminal: `a`.
    WithTerminal,
    /// All but session leaders: `-d`.
    NoSessionLeaders,
    /// At any terminal but session leaders: `-a`.
    WithTerminalNoSessionLeaders,
}

impl Base {
    fn fields(self) -> FieldSet {
        match self {
            Base::Listed | Base::All => FieldSet::EMPTY,
            Base::Own | Base::OwnWithTerminal => FieldSet::of(&[Field::Euid, Field::TtyDevice]),
            Base::OwnEverywhere => FieldSet::of(&[Field::Euid]),
            Base::WithTerminal => FieldSet::of(&[Field::TtyDevice]),
            Base::NoSessionLeaders => FieldSet::of(&[Field::Sid, Field::Pid]),
            Base::OwnNoSessionLeaders => FieldSet::of(&[Field::Euid, Field::Sid, Field::Pid]),
            Base::OwnWithTerminalNoSessionLeaders => {
                FieldSet::of(&[Field::Euid, Field::TtyDevice, Field::Sid, Field::Pid])
            }
            Base::WithTerminalNoSessionLeaders => FieldSet::of(&[Field::TtyDevice, Field::Sid, Field::Pid]),
        }
    }

    fn accepts(self, task: &Task, caller: &Caller) -> bool {
        // A condition on an unknown value is false, and so is its opposite.
        let knows = |field| task.known.contains(field);
        let is_own = knows(Field::Euid) && task.euid == caller.euid;
        let has_terminal = knows(Field::TtyDevice) && task.tty_device != 0;
        let knows_session = knows(Field::Sid) && knows(Field::Pid);
        let follows_in_session = knows_session && task.sid != task.pid.0;
        match self {
            Base::Listed => false,
            Base::All => true,
            Base::Own => is_own && knows(Field::TtyDevice) && task.tty_device == caller.tty_device,
            Base::OwnWithTerminal => is_own && has_terminal,
            Base::OwnWithTerminalNoSessionLeaders => is_own && has_terminal && follows_in_session,
            Base::OwnEverywhere => is_own,
            Base::OwnNoSessionLeaders => is_own && follows_in_session,
            Base::WithTerminal => has_terminal,
            Base::NoSessionLeaders => follows_in_session,
            Base::WithTerminalNoSessionLeaders => has_terminal && follows_in_session,
        }
    }
}

/// The number that a field holds. `None`: it is not known, or is no number.
fn number(field: Field, task: &Task) -> Option<i64> {
    match field.value(task) {
        Value::Signed(number) => Some(number),
        Value::Unsigned(number) => i64::try_from(number).ok(),
        Value::Absent | Value::Letter(_) | Value::Bytes(_) => None,
    }
}

/// The name of a task as far as tools keep it: `TASK_COMM_LEN` without the NUL.
const COMM_BYTES: usize = 15;

/// The process whose children are the threads of the kernel.
const KERNEL_PARENT: Pid = Pid(2);

/// Which rows are shown: those of the base and those of any list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selection {
    /// What is shown besides the lists.
    pub base: Base,
    /// Numbers by the field that has one of them: `Pid` for `-p`, `TtyDevice` for `-t`.
    pub lists: Vec<(Field, BTreeSet<i64>)>,
    /// Names of tasks: `-C`.
    pub comms: BTreeSet<Vec<u8>>,
    /// Only what runs or waits for I/O: `r`.
    pub only_running: bool,
    /// Everything else instead: `-N`.
    pub negated: bool,
    /// No threads of the kernel: `$LIBPROC_HIDE_KERNEL`.
    pub hides_kernel: bool,
}

impl Selection {
    /// The fields it looks at: a source need not read others for it.
    pub fn fields(&self) -> FieldSet {
        let lists = self.lists.iter().map(|(field, _)| FieldSet::of(&[*field]));
        let mut fields = lists.fold(self.base.fields(), FieldSet::union);
        if !self.comms.is_empty() {
            fields = fields.union(FieldSet::of(&[Field::Comm]));
        }
        if self.only_running {
            fields = fields.union(FieldSet::of(&[Field::State]));
        }
        if self.hides_kernel {
            fields = fields.union(FieldSet::of(&[Field::Pid, Field::Ppid]));
        }
        fields
    }

    /// Whether the row is shown, if it is to match something else too. Negation is of both.
    pub fn accepts_if(&self, task: &Task, caller: &Caller, matches: impl FnOnce(&Task) -> bool) -> bool {
        let is_named = self.base.accepts(task, caller)
            || self
                .lists
                .iter()
                .any(|(field, numbers)| number(*field, task).is_some_and(|number| numbers.contains(&number)))
            || (task.known.contains(Field::Comm) && self.lists_comm(task.comm.as_bytes()));
        if self.hides_kernel && [task.pid, task.ppid].contains(&KERNEL_PARENT) {
            return false;
        }
        let is_running = task.known.contains(Field::State) && matches!(task.state.0, b'R' | b'D');
        (is_named && (is_running || !self.only_running) && matches(task)) != self.negated
    }

    /// Whether the row is shown.
    pub fn accepts(&self, task: &Task, caller: &Caller) -> bool {
        self.accepts_if(task, caller, |_| true)
    }

    /// The process it is about, where it is about one only.
    pub fn only_process(&self) -> Option<Pid> {
        let is_simple = self.base == Base::Listed && self.comms.is_empty() && !self.negated;
        match self.lists.as_slice() {
            [(Field::Pid, pids)] if is_simple && pids.len() == 1 => {
                pids.first().and_then(|&pid| i32::try_from(pid).ok()).map(Pid)
            }
            _ => None,
        }
    }

    /// A name given in full finds the task whose name the kernel has cut.
    fn lists_comm(&self, comm: &[u8]) -> bool {
        self.comms.contains(comm)
            || comm.len() == COMM_BYTES && self.comms.iter().any(|listed| listed.starts_with(comm))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cpuledger_model::make;
    use cpuledger_model::task::{Comm, State, Tid};

    const CALLER: Caller = Caller { euid: 1000, tty_device: 0x8801 };

    fn task(pid: i32, euid: u32, tty_device: u32, sid: i32) -> Task {
        make!(Task { known: FieldSet::ALL, pid: Pid(pid), tid: Tid(pid), euid, tty_device, sid })
    }

    #[test]
    fn bases_select_as_procps() {
        let leader = task(1, 0, 0, 1);
        let daemon = task(2, 1000, 0, 1);
        let shell = task(3, 1000, 0x8801, 3);
        let child = task(4, 1000, 0x8801, 3);
        let foreign = task(5, 0, 0x8802, 9);
        let tasks = [leader, daemon, shell, child, foreign];
        for (base, shown) in [
            (Base::Listed, &[][..]),
            (Base::All, &[1, 2, 3, 4, 5]),
            (Base::Own, &[3, 4]),
            (Base::OwnWithTerminal, &[3, 4]),
            (Base::OwnWithTerminalNoSessionLeaders, &[4]),
            (Base::OwnEverywhere, &[2, 3, 4]),
            (Base::OwnNoSessionLeaders, &[2, 4]),
            (Base::WithTerminal, &[3, 4, 5]),
            (Base::NoSessionLeaders, &[2, 4, 5]),
            (Base::WithTerminalNoSessionLeaders, &[4, 5]),
        ] {
            let accepted = tasks.iter().filter(|task| base.accepts(task, &CALLER)).map(|task| task.pid.0);
            assert_eq!(accepted.collect::<Vec<_>>(), shown, "{base:?}");
        }
    }

    #[test]
    fn lists_add_to_each_other_and_negation_is_last() {
        let mut selection = Selection {
            lists: vec![(Field::Pid, [1, 2].into()), (Field::Euid, [7].into())],
            ..Selection::default()
        };
        let tasks = [task(1, 0, 0, 0), task(3, 7, 0, 0), task(4, 0, 0, 0)];
        let accepts = |selection: &Selection| tasks.map(|task| selection.accepts(&task, &CALLER));
        assert_eq!(accepts(&selection), [true, true, false]);
        selection.negated = true;
        assert_eq!(accepts(&selection), [false, false, true]);
        selection = Selection { base: Base::All, only_running: true, ..Selection::default() };
        assert_eq!(accepts(&selection), [false; 3]);
        let running = make!(Task { known: FieldSet::ALL, state: State(b'R') });
        assert!(selection.accepts(&running, &CALLER));
    }

    #[test]
    fn what_is_not_known_is_selected_by_nothing_but_all() {
        let nothing = Task::default();
        let unknown = |selection: Selection| !selection.accepts(&nothing, &Caller { euid: 0, tty_device: 0 });
        for base in [
            Base::Own,
            Base::OwnWithTerminal,
            Base::OwnWithTerminalNoSessionLeaders,
            Base::OwnEverywhere,
            Base::OwnNoSessionLeaders,
            Base::WithTerminal,
            Base::NoSessionLeaders,
            Base::WithTerminalNoSessionLeaders,
        ] {
            assert!(unknown(Selection { base, ..Selection::default() }), "{base:?}");
        }
        for field in [Field::Ppid, Field::Euid, Field::Gid, Field::Sid, Field::Pgid, Field::TtyDevice] {
            let lists = vec![(field, [0].into())];
            assert!(unknown(Selection { lists, ..Selection::default() }), "{field:?}");
        }
        assert!(!unknown(Selection { base: Base::All, ..Selection::default() }));
    }

    #[test]
    fn names_match_whole_or_as_the_kernel_cuts_them() {
        let selection = Selection {
            comms: [b"averyverylongcommand".to_vec(), b"sh".to_vec()].into(),
            ..Selection::default()
        };
        let accepts = |comm: &[u8]| {
            selection.accepts(&make!(Task { known: FieldSet::ALL, comm: Comm::new(comm) }), &CALLER)
        };
        assert!(accepts(b"averyverylongco") && accepts(b"sh") && accepts(b"averyverylongcommand"));
        assert!(!accepts(b"averyvery") && !accepts(b"shell") && !accepts(b""));
    }

    #[test]
    fn one_process_is_recognised() {
        let one = Selection { lists: vec![(Field::Pid, [7].into())], ..Selection::default() };
        assert_eq!(one.only_process(), Some(Pid(7)));
        assert_eq!(Selection { negated: true, ..one.clone() }.only_process(), None);
        assert_eq!(Selection { base: Base::All, ..one }.only_process(), None);
    }
}
