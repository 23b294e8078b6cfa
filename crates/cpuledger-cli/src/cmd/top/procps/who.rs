//! Whose rows are shown.

use cpuledger::{Field, Task};

/// The processes that were asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Who {
    /// All of them.
    #[default]
    All,
    /// These; where threads are shown, all of theirs.
    Pids(Vec<i32>),
    /// Those of a user.
    User {
        /// Its number.
        uid: u32,
        /// Its real, saved or filesystem user will do too.
        is_any: bool,
        /// Those of all others.
        is_negated: bool,
    },
}

const CLASH: &str = "conflicting process selections (U/p/u)";

impl Who {
    /// Adds a list of processes; 0 is this one.
    pub fn add_pids(&mut self, list: &str, own_pid: i32) -> Result<(), String> {
        let mut pids = match std::mem::replace(self, Who::All) {
            Who::All => Vec::new(),
            Who::Pids(pids) => pids,
            Who::User { .. } => return Err(CLASH.to_owned()),
        };
        for word in list.strip_suffix(',').unwrap_or(list).split(',') {
            let is_number = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
            let pid = word.parse().ok().filter(|_| is_number).ok_or_else(|| format!("bad pid '{word}'"))?;
            pids.push(if pid == 0 { own_pid } else { pid });
        }
        pids.sort_unstable();
        pids.dedup();
        *self = Who::Pids(pids);
        Ok(())
    }

    /// Sets the user.
    pub fn set_user(
        &mut self,
        text: &str,
        is_any: bool,
        uid_of: &dyn Fn(&str) -> Option<u32>,
    ) -> Result<(), String> {
        if *self != Who::All {
            return Err(CLASH.to_owned());
        }
        let (is_negated, name) = match text.strip_prefix('!') {
            Some(name) => (true, name),
            None => (false, text),
        };
        let uid = uid_of(name).ok_or("Invalid user")?;
        *self = Who::User { uid, is_any, is_negated };
        Ok(())
    }

    /// Whether a row is shown; what is not known is no user's.
    pub fn wants(&self, row: &Task) -> bool {
        match self {
            Who::All => true,
            Who::Pids(pids) => pids.contains(&row.pid.0) || pids.contains(&row.tid.0),
            Who::User { uid, is_any, is_negated } => {
                let is = |field, number: u32| row.known.contains(field) && number == *uid;
                let others =
                    is(Field::Uid, row.uid) || is(Field::Suid, row.suid) || is(Field::Fsuid, row.fsuid);
                (is(Field::Euid, row.euid) || *is_any && others) != *is_negated
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use cpuledger::{FieldSet, Pid, Tid};
    use cpuledger_model::make;

    use super::*;

    #[test]
    fn rows_are_those_of_the_user_or_of_the_others() {
        let row = make!(Task { known: FieldSet::ALL, euid: 0, uid: 7, suid: 8, fsuid: 9 });
        let wants = |text: &str, is_any| {
            let mut who = Who::All;
            who.set_user(text, is_any, &|name| name.parse().ok()).expect("a user");
            who.wants(&row)
        };
        assert!(wants("0", false) && !wants("7", false) && wants("!7", false) && !wants("!0", false));
        assert!(wants("7", true) && wants("9", true) && !wants("!8", true) && wants("!6", true));
    }

    #[test]
    fn pids_are_those_of_processes_and_threads() {
        let mut who = Who::All;
        who.add_pids("3,3,0", 12).expect("numbers");
        who.add_pids("5,", 12).expect("numbers");
        assert_eq!(who, Who::Pids(vec![3, 5, 12]));
        let thread = make!(Task { pid: Pid(5), tid: Tid(6) });
        assert!(who.wants(&thread) && !who.wants(&make!(Task { pid: Pid(6), tid: Tid(6), ..thread })));
    }
}
