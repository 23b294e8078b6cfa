//! The identity of a task: numbers, names, paths.

use crate::cell;
use crate::figure::Key as Figure;
use crate::sort::Key;
use cpuledger_model::field::{Field, FieldSet};
use cpuledger_names::lookups::Lookups;

use super::entry::{Align, By, Column, InTable, Lines, Listed, Overflow, TableCell, Text, TopField, total};

columns! {
    "pid" "PID", "tgid" "TGID"; 5 Pid Push Process; [Pid] [];
        number!(pid.0); "Id of the process." => Pid {
            in_table: in_table!(0 "PID" right 7 rank 0 Id; "Id of the process, or of the task where tasks are shown."),
            procps: &[total(0, "PID", Field::Tid)],
            order_letter: Some('p'),
            aix: Some(('p', "pid")),
        }
    "tid" "TID", "lwp" "LWP", "spid" "SPID"; 5 Pid Push Task; [Tid] [];
        number!(tid.0); "Id of the task." => Tid {
            orders: &["TID"],
        }
    "ppid" "PPID"; 5 Pid Push Process; [Ppid] [];
        number!(ppid.0); "Pid of the parent." => Ppid {
            in_table: in_table!(13 "PPID" right 7 rank 7 Value; "Pid of the parent."),
            procps: &[total(1, "PPID", Field::Ppid)],
            order_letter: Some('P'),
            aix: Some(('P', "ppid")),
        }
    "pgid" "PGID", "pgrp" "PGRP"; 5 Pid Push Process; [Pgid] [];
        number!(pgid); "Process group." => Pgid {
            orders: &["PGRP"],
            procps: &[total(9, "PGRP", Field::Pgid)],
            order_letter: Some('g'),
            aix: Some(('r', "pgid")),
        }
    "sid" "SID", "sess" "SESS", "session" "SESS"; 5 Pid Push Process; [Sid] [];
        number!(sid); "Session." => Sid {
            orders: &["SID"],
            procps: &[total(12, "SID", Field::Sid)],
            order_letter: Some('o'),
        }
    "tpgid" "TPGID"; 5 Pid Push Process; [TtyPgid] [];
        number!(tty_pgid); "Foreground process group of the terminal; -1: none." => TtyPgid {
            procps: &[total(11, "TPGID", Field::TtyPgid)],
            order_letter: Some('G'),
        }
    "tname" "TTY", "longtname" "TTY", "tty8" "TTY", "tt" "TT", "tty" "TT"; 8 Left Push Process; [TtyDevice] [TERMINALS];
        (cell::terminal, |r| cell::terminal_key(r));
        "Controlling terminal." => TtyDevice {
            procps: &[total(10, "TTY", Field::TtyDevice)],
            order_letter: Some('t'),
            aix: Some(('y', "tname")),
        }
    "tty4" "TTY"; 4 Left Push Process; [TtyDevice] [TERMINALS];
        (cell::short_terminal, |r| cell::terminal_key(r));
        "Controlling terminal without tty or pts/."
    "comm" "COMMAND", "ucomm" "COMMAND", "ucmd" "CMD"; 15 Left Cut Process; [Comm] [] as Comm;
        (cell::comm, |r| Key::Bytes(r.comm()));
        "Name of the task." => Comm {
            aliases: &[("name", "name of the task, as comm")],
            aix: Some(('c', "comm")),
        }
    "fname" "COMMAND"; 8 Left Cut Process; [Comm] [] as ShortComm;
        (cell::short_comm, |r| Key::Bytes(r.comm()));
        "First 8 characters of the name."
    "args" "COMMAND", "command" "COMMAND", "cmd" "CMD"; 27 Left Cut Process; [Comm State] [CMDLINE] optional [Flags] as Arguments;
        (cell::args, |_| Key::AsShown);
        "Arguments of the process; [name] if there are none or they cannot be read." => Comm {
            in_table: in_table!(11 "COMMAND" left 0 rank 0 Command sums; "Name, or arguments."),
            procps: &[TopField { place: 28, name: "COMMAND", by: By::Command }],
            aliases: &[("args", "arguments if known, else the name"), ("command", "likewise")],
            order_letter: Some('c'),
            aix: Some(('a', "args")),
        }
    "exe" "EXE"; 27 Left Cut Process; [] [EXE];
        detail!(exe); "Path of the program."
    "cgroup" "CGROUP"; 27 Left Cut Process; [] [CGROUP];
        detail!(cgroup); "Cgroups of the process."
}
