//! Which processes are shown: the lists of the command line, with names looked up.

use std::collections::BTreeSet;

use cpuledger::names::{gid_of, uid_of};
use cpuledger::terminal::device_of_name;
use cpuledger::view::filter::{Asker, Base, Property, Selection};

use super::format::SEPARATORS;
use super::options::{Listed, Options};

/// The selection that the options mean.
///
/// # Errors
/// A sentence that says which item of a list is wrong.
pub fn selection(options: &Options, asker: &Asker) -> Result<Selection, String> {
    let mut selection = Selection {
        base: base(options),
        only_running: options.only_running,
        negated: options.negated,
        ..Selection::default()
    };
    if options.own_terminal {
        add(&mut selection, Property::Terminal, asker.tty_device.into());
    }
    for (listed, list) in &options.lists {
        for item in list.split(SEPARATORS) {
            if item.is_empty() {
                return Err(format!("the list `{list}` has an empty item"));
            }
            add_item(&mut selection, *listed, item)?;
        }
    }
    Ok(selection)
}

fn base(options: &Options) -> Base {
    let has_lists = !options.lists.is_empty() || options.own_terminal;
    match (options.with_terminal, options.own_everywhere) {
        _ if options.all => Base::All,
        (true, true) => Base::All,
        (true, false) => Base::WithTerminal,
        (false, true) => Base::OwnEverywhere,
        (false, false) => match (options.with_terminal_no_leaders, options.no_leaders) {
            (true, true) => Base::NoDetachedSessionLeaders,
            (true, false) => Base::WithTerminalNoSessionLeaders,
            (false, true) => Base::NoSessionLeaders,
            (false, false) if has_lists => Base::Listed,
            (false, false) if options.is_bsd => Base::OwnWithTerminal,
            (false, false) => Base::Own,
        },
    }
}

fn add_item(selection: &mut Selection, listed: Listed, item: &str) -> Result<(), String> {
    let (property, number) = match listed {
        Listed::Comms => {
            selection.comms.insert(item.as_bytes().to_vec());
            return Ok(());
        }
        Listed::Pids => (Property::Pid, number(item, "process", 1)?),
        Listed::Parents => (Property::Ppid, number(item, "process", 0)?),
        Listed::Sessions => (Property::Sid, number(item, "session", 0)?),
        Listed::EffectiveUsers => (Property::Euid, user(item)?),
        Listed::RealUsers => (Property::Uid, user(item)?),
        Listed::EffectiveGroups => (Property::Egid, group(item)?),
        Listed::RealGroups => (Property::Gid, group(item)?),
        Listed::SessionsOrGroups => match item.parse::<i32>() {
            Ok(session) => (Property::Sid, session.into()),
            Err(_) => (Property::Egid, group(item)?),
        },
        Listed::Terminals => {
            let device = device_of_name(item).ok_or_else(|| format!("there is no terminal `{item}`"))?;
            (Property::Terminal, device.into())
        }
    };
    add(selection, property, number);
    Ok(())
}

fn add(selection: &mut Selection, property: Property, number: i64) {
    match selection.lists.iter_mut().find(|(listed, _)| *listed == property) {
        Some((_, numbers)) => drop(numbers.insert(number)),
        None => selection.lists.push((property, BTreeSet::from([number]))),
    }
}

fn number(item: &str, what: &str, least: i32) -> Result<i64, String> {
    match item.parse::<i32>() {
        Ok(number) if number >= least => Ok(number.into()),
        _ => Err(format!("the number of a {what} is an integer from {least}, and `{item}` is none")),
    }
}

fn user(item: &str) -> Result<i64, String> {
    uid_of(item).map(i64::from).ok_or_else(|| format!("there is no user `{item}`"))
}

fn group(item: &str) -> Result<i64, String> {
    gid_of(item).map(i64::from).ok_or_else(|| format!("there is no group `{item}`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cmd::ps::options::parse;

    const ASKER: Asker = Asker { euid: 0, tty_device: 0x8801 };

    fn selected(line: &str) -> Result<Selection, String> {
        let options = parse(line.split(' ').filter(|text| !text.is_empty())).expect(line);
        selection(&options, &ASKER)
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
            ("-ad", Base::NoDetachedSessionLeaders),
            ("-p 1", Base::Listed),
            ("1", Base::Listed),
            ("T", Base::Listed),
            ("-p 1 -a", Base::WithTerminalNoSessionLeaders),
        ] {
            assert_eq!(selected(line).expect(line).base, base, "{line:?}");
        }
    }

    #[test]
    fn lists_are_looked_up() {
        let lists = |line: &str| selected(line).expect(line).lists;
        assert_eq!(lists("-p 3,1 -p 2"), [(Property::Pid, [1, 2, 3].into())]);
        assert_eq!(
            lists("-u root,5 -U root"),
            [(Property::Euid, [0, 5].into()), (Property::Uid, [0].into())]
        );
        assert_eq!(lists("-g 7,root"), [(Property::Sid, [7].into()), (Property::Egid, [0].into())]);
        assert_eq!(lists("-t ?"), [(Property::Terminal, [0].into())]);
        assert_eq!(lists("T"), [(Property::Terminal, [0x8801].into())]);
        assert_eq!(selected("-C sh,cat").expect("a list").comms, [b"cat".to_vec(), b"sh".to_vec()].into());
    }

    #[test]
    fn wrong_items_are_named() {
        for (line, part) in [
            ("-p abc", "`abc` is none"),
            ("-p 0", "`0` is none"),
            ("-p 1,", "empty item"),
            ("-p 99999999999", "`99999999999` is none"),
            ("-u no-such-user", "no user `no-such-user`"),
            ("-G no-such-group", "no group"),
            ("-t no-such-terminal", "no terminal"),
        ] {
            let sentence = selected(line).expect_err(line);
            assert!(sentence.contains(part), "{line:?}: {sentence}");
        }
    }
}
