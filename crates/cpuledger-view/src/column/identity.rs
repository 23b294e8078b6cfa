//! Who a task is: numbers, names, paths.

use crate::cell;
use crate::sort::Key;
use cpuledger::enrich::lookups::Lookups;
use cpuledger::field::{Field, FieldSet};

use super::entry::{Align, Column, Lines, Overflow};

columns! {
    "pid" "PID", "tgid" "TGID"; 5 Pid Push Process; [Pid] [];
        |r, c| cell::signed(c, r.task.pid.0); |r| Key::from(r.task.pid.0);
        "Id of the process."
    "tid" "TID", "lwp" "LWP", "spid" "SPID"; 5 Pid Push Task; [Tid] [];
        |r, c| cell::signed(c, r.task.tid.0); |r| Key::from(r.task.tid.0);
        "Id of the task."
    "ppid" "PPID"; 5 Pid Push Process; [Ppid] [];
        |r, c| cell::signed(c, r.task.ppid.0); |r| Key::from(r.task.ppid.0);
        "Pid of the parent."
    "pgid" "PGID", "pgrp" "PGRP"; 5 Pid Push Process; [Pgid] [];
        |r, c| cell::signed(c, r.task.pgid); number!(pgid);
        "Process group."
    "sid" "SID", "sess" "SESS", "session" "SESS"; 5 Pid Push Process; [Sid] [];
        |r, c| cell::signed(c, r.task.sid); number!(sid);
        "Session."
    "tpgid" "TPGID"; 5 Pid Push Process; [TtyPgid] [];
        |r, c| cell::signed(c, r.task.tty_pgid); number!(tty_pgid);
        "Foreground process group of the terminal; -1: none."
    "tname" "TTY", "longtname" "TTY", "tty8" "TTY", "tt" "TT", "tty" "TT"; 8 Left Push Process; [TtyDevice] [TERMINALS];
        cell::terminal; |r| cell::terminal_key(r);
        "Controlling terminal."
    "tty4" "TTY"; 4 Left Push Process; [TtyDevice] [TERMINALS];
        cell::short_terminal; |r| cell::terminal_key(r);
        "Controlling terminal without tty or pts/."
    "comm" "COMMAND", "ucomm" "COMMAND", "ucmd" "CMD"; 15 Left Cut Process; [Comm] [];
        cell::comm; |r| Key::Bytes(r.comm());
        "Name of the task."
    "fname" "COMMAND"; 8 Left Cut Process; [Comm] [];
        cell::short_comm; |r| Key::Bytes(r.comm());
        "First 8 characters of the name."
    "args" "COMMAND", "command" "COMMAND", "cmd" "CMD"; 27 Left Cut Process; [Comm State] [CMDLINE] wishes [Flags];
        cell::args; |_| Key::AsShown;
        "Arguments of the process; [name] where there are none, or none to be read."
    "exe" "EXE"; 27 Left Cut Process; [] [EXE];
        |r, c| cell::text_or_dash(r, c, r.around.details.exe(r.task)); |r| Key::Bytes(r.around.details.exe(r.task));
        "Path of the program."
    "cgroup" "CGROUP"; 27 Left Cut Process; [] [CGROUP];
        |r, c| cell::text_or_dash(r, c, r.around.details.cgroup(r.task)); |r| Key::Bytes(r.around.details.cgroup(r.task));
        "Cgroups of the process."
}
