//! Whose a task is: users and groups.

use crate::cell;
use crate::figure::Key as Figure;
use crate::sort::Key;
use cpuledger_model::field::{Field, FieldSet};
use cpuledger_names::lookups::Lookups;

use super::entry::{Align, By, Column, InTable, Lines, Listed, Overflow, TableCell, Text, TopField, total};

columns! {
    "user" "USER", "uname" "USER", "euser" "EUSER", "uid_hack" "UID"; 8 Left Plus Both; [Euid] [USERS] as NameOf("euid");
        (|r, c| cell::user(r, c, r.task.euid), |_| Key::AsShown);
        "Effective user." => Euid {
            in_table: in_table!(1 "USER" left 8 rank 4 User; "Effective user."),
            procps: &[TopField { place: 3, name: "USER", by: By::User(Field::Euid) }],
            aliases: &[("user", "name or number of the effective user")],
            order_letter: Some('u'),
            aix: Some(('U', "user")),
        }
    "ruser" "RUSER"; 8 Left Plus Both; [Uid] [USERS] as NameOf("ruid");
        (|r, c| cell::user(r, c, r.task.uid), |_| Key::AsShown);
        "Real user." => Uid {
            procps: &[TopField { place: 5, name: "RUSER", by: By::User(Field::Uid) }],
            aix: Some(('u', "ruser")),
        }
    "suser" "SUSER", "svuser" "SVUSER"; 8 Left Plus Both; [Suid] [USERS] as NameOf("suid");
        (|r, c| cell::user(r, c, r.task.suid), |_| Key::AsShown);
        "Saved user." => Suid {
            procps: &[TopField { place: 7, name: "SUSER", by: By::User(Field::Suid) }],
        }
    "fuser" "FUSER", "fsuser" "FSUSER"; 8 Left Plus Both; [Fsuid] [USERS] as NameOf("fuid");
        (|r, c| cell::user(r, c, r.task.fsuid), |_| Key::AsShown);
        "File-system user."
    "group" "GROUP", "egroup" "EGROUP"; 8 Left Plus Both; [Egid] [GROUPS] as NameOf("egid");
        (|r, c| cell::group(r, c, r.task.egid), |_| Key::AsShown);
        "Effective group." => {
            aix: Some(('G', "group")),
        }
    "rgroup" "RGROUP"; 8 Left Plus Both; [Gid] [GROUPS] as NameOf("rgid");
        (|r, c| cell::group(r, c, r.task.gid), |_| Key::AsShown);
        "Real group." => {
            aix: Some(('g', "rgroup")),
        }
    "sgroup" "SGROUP", "svgroup" "SVGROUP"; 8 Left Plus Both; [Sgid] [GROUPS] as NameOf("sgid");
        (|r, c| cell::group(r, c, r.task.sgid), |_| Key::AsShown);
        "Saved group."
    "fgroup" "FGROUP", "fsgroup" "FSGROUP"; 8 Left Plus Both; [Fsgid] [GROUPS] as NameOf("fgid");
        (|r, c| cell::group(r, c, r.task.fsgid), |_| Key::AsShown);
        "File-system group."
    "uid" "UID", "euid" "EUID"; 5 Right Push Both; [Euid] [];
        number!(euid); "Number of the effective user." => Euid {
            orders: &["UID"],
            procps: &[total(2, "UID", Field::Euid)],
            order_letter: Some('U'),
        }
    "ruid" "RUID"; 5 Right Push Both; [Uid] [];
        number!(uid); "Number of the real user." => Uid {
            procps: &[total(4, "RUID", Field::Uid)],
        }
    "suid" "SUID", "svuid" "SVUID"; 5 Right Push Both; [Suid] [];
        number!(suid); "Number of the saved user." => Suid {
            procps: &[total(6, "SUID", Field::Suid)],
        }
    "fuid" "FUID", "fsuid" "FSUID"; 5 Right Push Both; [Fsuid] [];
        number!(fsuid); "Number of the file-system user."
    "gid" "GID", "egid" "EGID"; 5 Right Push Both; [Egid] [];
        number!(egid); "Number of the effective group." => Egid {
            procps: &[total(8, "GID", Field::Egid)],
        }
    "rgid" "RGID"; 5 Right Push Both; [Gid] [];
        number!(gid); "Number of the real group."
    "sgid" "SGID", "svgid" "SVGID"; 5 Right Push Both; [Sgid] [];
        number!(sgid); "Number of the saved group."
    "fgid" "FGID", "fsgid" "FSGID"; 5 Right Push Both; [Fsgid] [];
        number!(fsgid); "Number of the file-system group."
}
