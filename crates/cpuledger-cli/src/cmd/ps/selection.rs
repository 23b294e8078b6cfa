//! Which processes are shown: the lists of the command line and the simple options together.

use std::collections::BTreeSet;

use cpuledger_view::filter::{Base, Selection};

use super::options::Options;
use super::personality::Personality;

/// The selection that the options mean.
///
/// # Errors
/// A sentence that says which options do not go together.
pub fn selection(options: &Options, personality: &Personality) -> Result<Selection, String> {
    let mut selection = Selection {
        base: base(options, personality)?,
        comms: options.comms.iter().cloned().collect(),
        only_running: options.only_running,
        negated: options.negated,
        ..Selection::default()
    };
    for &(field, number) in &options.listed {
        match selection.lists.iter_mut().find(|(listed, _)| *listed == field) {
            Some((_, numbers)) => drop(numbers.insert(number)),
            None => selection.lists.push((field, BTreeSet::from([number]))),
        }
    }
    Ok(selection)
}

fn base(options: &Options, personality: &Personality) -> Result<Base, String> {
    let unix = (options.with_terminal_no_leaders, options.no_leaders);
    let bsd = (options.with_terminal, options.own_everywhere);
    let has_unix = unix != (false, false);
    if has_unix && (bsd != (false, false) || options.with_leaders) {
        return Err("`-a` and `-d` cannot be combined with the BSD options `a`, `x` and `g`; drop one kind"
            .to_owned());
    }
    let needs_g = personality.needs_g && !options.with_leaders;
    let is_simple = has_unix || bsd != (false, false) || options.with_leaders;
    Ok(match (unix, bsd) {
        _ if options.all || options.quick.is_some() => Base::All,
        ((true, false), _) => Base::WithTerminalNoSessionLeaders,
        ((_, true), _) => Base::NoSessionLeaders,
        (_, (true, true)) if needs_g => Base::NoSessionLeaders,
        (_, (true, true)) => Base::All,
        (_, (true, false)) if needs_g => Base::WithTerminalNoSessionLeaders,
        (_, (true, false)) => Base::WithTerminal,
        (_, (false, true)) if needs_g => Base::OwnNoSessionLeaders,
        (_, (false, true)) => Base::OwnEverywhere,
        _ if options.has_lists() && !is_simple => Base::Listed,
        _ if !options.filter.is_empty() && !is_simple => Base::All,
        _ if options.is_bsd && needs_g => Base::OwnWithTerminalNoSessionLeaders,
        _ if options.is_bsd || is_simple => Base::OwnWithTerminal,
        _ => Base::Own,
    })
}

#[cfg(test)]
mod tests {
    use cpuledger::Field;

    use super::*;
    use crate::cmd::ps::plan::Plan;

    fn selected(line: &str) -> Result<Selection, String> {
        Plan::of_line(line).map(|plan| plan.selection)
    }

    #[test]
    fn options_have_the_base_of_procps() {
        for (line, base) in [
            ("", Base::Own),
            ("-f", Base::Own),
            ("u", Base::OwnWithTerminal),
            ("x", Base::OwnEverywhere),
            ("a", Base::WithTerminal),
            ("ax", Base::All),
            ("-e", Base::All),
            ("-a", Base::WithTerminalNoSessionLeaders),
            ("-d", Base::NoSessionLeaders),
            ("-ad", Base::NoSessionLeaders),
            ("-p 1", Base::Listed),
            ("1", Base::Listed),
            ("T", Base::Listed),
            ("-p 1 -a", Base::WithTerminalNoSessionLeaders),
            ("-p 1 g", Base::OwnWithTerminal),
            ("--filter cpu>5", Base::All),
            ("u --filter cpu>5", Base::All),
            ("x --filter cpu>5", Base::OwnEverywhere),
            ("-p 1 --filter cpu>5", Base::Listed),
        ] {
            assert_eq!(selected(line).expect(line).base, base, "{line:?}");
        }
    }

    #[test]
    fn lists_are_looked_up() {
        let lists = |line: &str| selected(line).expect(line).lists;
        assert_eq!(lists("-p 3,1 -p 2"), [(Field::Pid, [1, 2, 3].into())]);
        assert_eq!(lists("-u root,5 -U root"), [(Field::Euid, [0, 5].into()), (Field::Uid, [0].into())]);
        assert_eq!(lists("--ppid 0,7"), [(Field::Ppid, [0, 7].into())]);
        assert_eq!(lists("-g 7,0x9"), [(Field::Sid, [7, 9].into())]);
        assert_eq!(lists("-g 7,root"), [(Field::Egid, [0, 7].into())]);
        assert_eq!(lists("-t ?"), [(Field::TtyDevice, [0].into())]);
        assert_eq!(lists("T"), [(Field::TtyDevice, [0x8801].into())]);
        assert_eq!(
            lists("7 -8 +9"),
            [(Field::Pid, [7].into()), (Field::Pgid, [8].into()), (Field::Sid, [9].into())]
        );
        assert_eq!(selected("-C sh,cat").expect("a list").comms, [b"cat".to_vec(), b"sh".to_vec()].into());
    }

    #[test]
    fn wrong_items_are_named() {
        for (line, part) in [
            ("-p abc", "`abc` is not a valid pid (1 to 2147483647)"),
            ("-p 0", "`0` is not"),
            ("-p 1,", "empty item"),
            ("-s 99999999999", "`99999999999` is not a valid session id"),
            ("-u no-such-user", "no user `no-such-user`"),
            ("-G no-such-group", "no group"),
            ("-t no-such-terminal", "no terminal"),
            ("7 x", "not `x`"),
            ("7 -x", "not `-x`"),
            ("7,8", "not `7,8`"),
            ("+", "not `+`"),
            ("-a x", "cannot be combined with the BSD options"),
            ("--filter cpu>x", "`--filter`: `x` is not a percentage"),
            ("--filter foo>5", "unknown name `foo`; use cpu, "),
            ("--filter cpu>5 --filter=pid>1", "only once"),
        ] {
            let sentence = selected(line).expect_err(line);
            assert!(sentence.contains(part), "{line:?}: {sentence}");
        }
    }
}
