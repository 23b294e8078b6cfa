//! The one table of columns of `ps`: what each is called, how wide it is, what it needs and how a cell is written.
//! Options, headers, help and sorting derive from it.
//!
//! Names, headers and widths are those of procps 4.0.2. Besides, each key of [`crate::field::FIELDS`] that is not
//! already the name of a column is one.

use crate::field::{Field, FieldSet};
use crate::render::cell;
use crate::render::row::Row;
use crate::view::sort::Key;

/// Where a cell stands in its column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// At the left edge.
    Left,
    /// At the right edge.
    Right,
    /// At the right edge of a column as wide as the largest number of a task.
    Pid,
}

/// What becomes of a cell that is wider than its column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overflow {
    /// It pushes the next column to the right.
    Push,
    /// It is cut; in the last column at the width of the screen.
    Cut,
    /// It is cut likewise, and ends in a `+`.
    Plus,
}

/// What a column needs to have been looked up besides the fields of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lookups(u16);

impl Lookups {
    /// Nothing.
    pub const NONE: Lookups = Lookups(0);
    /// Names of users.
    pub const USERS: Lookups = Lookups(1);
    /// Names of groups.
    pub const GROUPS: Lookups = Lookups(1 << 1);
    /// Names of terminals.
    pub const TERMINALS: Lookups = Lookups(1 << 2);
    /// When the machine was booted, and the time zone.
    pub const CALENDAR: Lookups = Lookups(1 << 3);
    /// How much memory there is.
    pub const MEMORY: Lookups = Lookups(1 << 4);
    /// Arguments of a process.
    pub const CMDLINE: Lookups = Lookups(1 << 5);
    /// Path of the program of a process.
    pub const EXE: Lookups = Lookups(1 << 6);
    /// Cgroups of a process.
    pub const CGROUP: Lookups = Lookups(1 << 7);
    /// Where a task waits in the kernel.
    pub const WCHAN: Lookups = Lookups(1 << 8);

    /// Both together.
    pub const fn union(self, other: Lookups) -> Lookups {
        Lookups(self.0 | other.0)
    }

    /// Whether something of `other` is in it.
    pub const fn wants(self, other: Lookups) -> bool {
        self.0 & other.0 != 0
    }
}

/// One row of the table.
#[derive(Debug)]
pub struct Column {
    /// What `-o` and `--sort` call it, each with the text above it; all mean the same.
    pub names: &'static [(&'static str, &'static str)],
    /// Its width, unless the user says another.
    pub width: usize,
    /// Where a cell stands.
    pub align: Align,
    /// What becomes of a wide cell.
    pub overflow: Overflow,
    /// Fields without which the cell is `-`.
    pub needs: FieldSet,
    /// Fields that make it better.
    pub wishes: FieldSet,
    /// What has to be looked up.
    pub lookups: Lookups,
    /// Appends the cell, unaligned.
    pub write: fn(&Row<'_>, &mut Vec<u8>),
    /// What it is sorted by.
    pub key: for<'a> fn(&Row<'a>) -> Key<'a>,
    /// One sentence for help and documentation.
    pub help: &'static str,
}

macro_rules! columns {
    ($($($name:literal $header:literal),+; $width:literal $align:ident $overflow:ident;
       [$($field:ident)*] [$($lookup:ident)*] $(wishes [$($wish:ident)*])?; $write:expr; $key:expr; $help:literal)*) => {
        /// Every column but the plain fields, by topic.
        pub static COLUMNS: &[Column] = &[$(Column {
            names: &[$(($name, $header)),+],
            width: $width,
            align: Align::$align,
            overflow: Overflow::$overflow,
            needs: FieldSet::of(&[$(Field::$field),*]),
            wishes: FieldSet::of(&[$($(Field::$wish),*)?]),
            lookups: Lookups::NONE$(.union(Lookups::$lookup))*,
            write: $write,
            key: $key,
            help: $help,
        }),*];
    };
}

/// A sort key that is a number of the task.
macro_rules! number {
    ($member:ident) => {
        |row| Key::Number(i128::from(row.task.$member))
    };
}

columns! {
    // Who it is.
    "pid" "PID", "tgid" "TGID"; 5 Pid Push; [Pid] [];
        |r, c| cell::signed(c, r.task.pid.0); |r| Key::from(r.task.pid.0);
        "Number of the process."
    "tid" "TID", "lwp" "LWP", "spid" "SPID"; 5 Pid Push; [Tid] [];
        |r, c| cell::signed(c, r.task.tid.0); |r| Key::from(r.task.tid.0);
        "Number of the task."
    "ppid" "PPID"; 5 Pid Push; [Ppid] [];
        |r, c| cell::signed(c, r.task.ppid.0); |r| Key::from(r.task.ppid.0);
        "Process of the parent."
    "pgid" "PGID", "pgrp" "PGRP"; 5 Pid Push; [Pgid] [];
        |r, c| cell::signed(c, r.task.pgid); number!(pgid);
        "Process group."
    "sid" "SID", "sess" "SESS", "session" "SESS"; 5 Pid Push; [Sid] [];
        |r, c| cell::signed(c, r.task.sid); number!(sid);
        "Session."
    "tpgid" "TPGID"; 5 Pid Push; [TtyPgid] [];
        |r, c| cell::signed(c, r.task.tty_pgid); number!(tty_pgid);
        "Foreground process group of the terminal; -1: none."
    "tname" "TTY", "longtname" "TTY", "tty8" "TTY", "tt" "TT", "tty" "TT"; 8 Left Push; [TtyDevice] [TERMINALS];
        cell::terminal; number!(tty_device);
        "Controlling terminal."
    "comm" "COMMAND", "ucomm" "COMMAND", "ucmd" "CMD"; 15 Left Cut; [Comm] [];
        cell::comm; |r| Key::Bytes(r.comm());
        "Name of the task."
    "fname" "COMMAND"; 8 Left Push; [Comm] [];
        cell::short_comm; |r| Key::Bytes(r.comm());
        "First 8 characters of the name."
    "args" "COMMAND", "command" "COMMAND", "cmd" "CMD"; 27 Left Cut; [Comm State] [CMDLINE] wishes [Flags];
        cell::args; |r| Key::Bytes(r.cmdline_or_comm());
        "Arguments of the process; [name] where there are none."
    "exe" "EXE"; 27 Left Cut; [] [EXE];
        |r, c| cell::text_or_dash(c, r.around.details.exe(r.task)); |r| Key::Bytes(r.around.details.exe(r.task));
        "Path of the program."
    "cgroup" "CGROUP"; 27 Left Cut; [] [CGROUP];
        |r, c| cell::text_or_dash(c, r.around.details.cgroup(r.task)); |r| Key::Bytes(r.around.details.cgroup(r.task));
        "Cgroups of the process."

    // Whose it is.
    "user" "USER", "uname" "USER", "euser" "EUSER", "uid_hack" "UID"; 8 Left Plus; [Euid] [USERS];
        |r, c| cell::user(r, c, r.task.euid); |r| Key::Bytes(r.user(r.task.euid));
        "Effective user."
    "ruser" "RUSER"; 8 Left Plus; [Uid] [USERS];
        |r, c| cell::user(r, c, r.task.uid); |r| Key::Bytes(r.user(r.task.uid));
        "Real user."
    "suser" "SUSER", "svuser" "SVUSER"; 8 Left Plus; [Suid] [USERS];
        |r, c| cell::user(r, c, r.task.suid); |r| Key::Bytes(r.user(r.task.suid));
        "Saved user."
    "fuser" "FUSER", "fsuser" "FSUSER"; 8 Left Plus; [Fsuid] [USERS];
        |r, c| cell::user(r, c, r.task.fsuid); |r| Key::Bytes(r.user(r.task.fsuid));
        "File-system user."
    "group" "GROUP", "egroup" "EGROUP"; 8 Left Plus; [Egid] [GROUPS];
        |r, c| cell::group(r, c, r.task.egid); |r| Key::Bytes(r.group(r.task.egid));
        "Effective group."
    "rgroup" "RGROUP"; 8 Left Plus; [Gid] [GROUPS];
        |r, c| cell::group(r, c, r.task.gid); |r| Key::Bytes(r.group(r.task.gid));
        "Real group."
    "sgroup" "SGROUP", "svgroup" "SVGROUP"; 8 Left Plus; [Sgid] [GROUPS];
        |r, c| cell::group(r, c, r.task.sgid); |r| Key::Bytes(r.group(r.task.sgid));
        "Saved group."
    "fgroup" "FGROUP", "fsgroup" "FSGROUP"; 8 Left Plus; [Fsgid] [GROUPS];
        |r, c| cell::group(r, c, r.task.fsgid); |r| Key::Bytes(r.group(r.task.fsgid));
        "File-system group."
    "uid" "UID", "euid" "EUID"; 5 Right Push; [Euid] [];
        |r, c| cell::unsigned(c, r.task.euid); number!(euid);
        "Number of the effective user."
    "ruid" "RUID"; 5 Right Push; [Uid] [];
        |r, c| cell::unsigned(c, r.task.uid); number!(uid);
        "Number of the real user."
    "suid" "SUID", "svuid" "SVUID"; 5 Right Push; [Suid] [];
        |r, c| cell::unsigned(c, r.task.suid); number!(suid);
        "Number of the saved user."
    "fuid" "FUID", "fsuid" "FSUID"; 5 Right Push; [Fsuid] [];
        |r, c| cell::unsigned(c, r.task.fsuid); number!(fsuid);
        "Number of the file-system user."
    "gid" "GID", "egid" "EGID"; 5 Right Push; [Egid] [];
        |r, c| cell::unsigned(c, r.task.egid); number!(egid);
        "Number of the effective group."
    "rgid" "RGID"; 5 Right Push; [Gid] [];
        |r, c| cell::unsigned(c, r.task.gid); number!(gid);
        "Number of the real group."
    "sgid" "SGID", "svgid" "SVGID"; 5 Right Push; [Sgid] [];
        |r, c| cell::unsigned(c, r.task.sgid); number!(sgid);
        "Number of the saved group."
    "fgid" "FGID", "fsgid" "FSGID"; 5 Right Push; [Fsgid] [];
        |r, c| cell::unsigned(c, r.task.fsgid); number!(fsgid);
        "Number of the file-system group."

    // What it is doing.
    "stat" "STAT"; 4 Left Push; [State Nice Sid Threads Pgid TtyPgid] [] wishes [Locked];
        cell::stat; |r| Key::from(r.task.state.0);
        "State; < N nice, L locked memory, s session leader, l threads, + foreground."
    "s" "S", "state" "S"; 1 Left Push; [State] [];
        |r, c| c.push(r.task.state.0); |r| Key::from(r.task.state.0);
        "State letter."
    "f" "F", "flag" "F", "flags" "F"; 1 Right Push; [Flags] [];
        |r, c| cell::unsigned(c, r.task.flags >> 6 & 7); number!(flags);
        "1: forked without exec, 4: used the privileges of root."
    "wchan" "WCHAN", "wname" "WCHAN"; 6 Left Cut; [] [WCHAN];
        |r, c| cell::text_or_dash(c, r.around.details.wchan(r.task)); |r| Key::Bytes(r.around.details.wchan(r.task));
        "Where it waits in the kernel."
    "addr_1" "ADDR"; 1 Left Push; [] [];
        |_, c| c.push(b'-'); |_| Key::Number(0);
        "Kept for the layout of -l: always -."
    "nlwp" "NLWP"; 4 Right Push; [Threads] [];
        |r, c| cell::unsigned(c, r.task.threads); number!(threads);
        "Threads of the process."
    "thcount" "THCNT"; 5 Right Push; [Threads] [];
        |r, c| cell::unsigned(c, r.task.threads); number!(threads);
        "Threads of the process."

    // How it is scheduled.
    "ni" "NI", "nice" "NI"; 3 Right Push; [Nice Policy] [];
        cell::nice; number!(nice);
        "Nice value; - where the policy has none."
    "pri" "PRI"; 3 Right Push; [Priority] [];
        |r, c| cell::signed(c, 39 - r.task.priority); |r| Key::from(39 - r.task.priority);
        "Priority; higher is more urgent."
    "priority" "PRI"; 3 Right Push; [Priority] [];
        |r, c| cell::signed(c, r.task.priority); number!(priority);
        "Priority as in /proc/PID/stat."
    "opri" "PRI", "intpri" "PRI"; 3 Right Push; [Priority] [];
        |r, c| cell::signed(c, 60 + r.task.priority); number!(priority);
        "Priority as -l shows it; lower is more urgent."
    "pri_foo" "FOO"; 3 Right Push; [Priority] [];
        |r, c| cell::signed(c, r.task.priority - 20); number!(priority);
        "Priority as nice values of sleeping tasks."
    "pri_bar" "BAR"; 3 Right Push; [Priority] [];
        |r, c| cell::signed(c, r.task.priority + 1); number!(priority);
        "Priority, real-time below 0."
    "pri_baz" "BAZ"; 3 Right Push; [Priority] [];
        |r, c| cell::signed(c, r.task.priority + 100); number!(priority);
        "Priority of the kernel's own scale."
    "pri_api" "API"; 3 Right Push; [Priority] [];
        |r, c| cell::signed(c, -1 - r.task.priority); |r| Key::from(-1 - r.task.priority);
        "Priority as the real-time calls count it."
    "rtprio" "RTPRIO"; 6 Right Push; [Policy RtPriority] [];
        cell::real_time_priority; number!(rt_priority);
        "Real-time priority."
    "sched" "SCH"; 3 Right Push; [Policy] [];
        |r, c| cell::unsigned(c, r.task.policy); number!(policy);
        "Number of the scheduling policy."
    "cls" "CLS"; 3 Right Push; [Policy] [];
        cell::class; number!(policy);
        "Scheduling policy: TS FF RR B IDL DLN."
    "class" "CLS", "policy" "POL"; 3 Left Push; [Policy] [];
        cell::class; number!(policy);
        "Scheduling policy, at the left."
    "psr" "PSR", "lastcpu" "C"; 3 Right Push; [Processor] [];
        |r, c| cell::unsigned(c, r.task.processor); number!(processor);
        "CPU it ran on last."
    "cpuid" "CPUID"; 5 Right Push; [Processor] [];
        |r, c| cell::unsigned(c, r.task.processor); number!(processor);
        "CPU it ran on last."
    "sgi_p" "P"; 1 Right Push; [State Processor] [];
        cell::running_on; number!(processor);
        "CPU it runs on; * where it does not."

    // CPU time.
    "time" "TIME", "atime" "TIME", "cputime" "TIME"; 8 Right Push; [User System] [];
        cell::time; |r| Key::from(r.cpu_seconds());
        "CPU time, [days-]hh:mm:ss."
    "times" "TIME", "cputimes" "TIME"; 8 Right Push; [User System] [];
        |r, c| cell::unsigned(c, r.cpu_seconds()); |r| Key::from(r.cpu_seconds());
        "CPU time in seconds."
    "bsdtime" "TIME"; 6 Right Push; [User System] [];
        cell::bsd_time; |r| Key::from(r.cpu_ticks());
        "CPU time, minutes:seconds."
    "%cpu" "%CPU", "pcpu" "%CPU"; 4 Right Push; [User System StartTime] [];
        cell::cpu_percent; |r| Key::from(r.cpu_per_mille());
        "CPU time in percent of the time since the start."
    "c" "C", "util" "C"; 2 Right Push; [User System StartTime] [];
        cell::cpu_whole_percent; |r| Key::from(r.cpu_per_mille());
        "The same, whole, at most 99."
    "cp" "CP"; 3 Right Push; [User System StartTime] [];
        cell::cpu_per_mille; |r| Key::from(r.cpu_per_mille());
        "The same in tenths of a percent, at most 999."
    "cuu" "%CUU"; 6 Right Push; [User System StartTime] [];
        |r, c| cell::utilization(r, c, r.cpu_ticks()); |r| Key::from(r.cpu_per_mille());
        "The same with three decimals, below 100."
    "cuc" "%CUC"; 7 Right Push; [User System ChildrenUser ChildrenSystem StartTime] [];
        |r, c| cell::utilization(r, c, r.cpu_ticks_with_children()); |r| Key::from(r.cpu_ticks_with_children());
        "The same with waited-for children."

    // When it was started.
    "lstart" "STARTED"; 24 Right Push; [StartTime] [CALENDAR];
        cell::long_start; number!(start_time_ns);
        "When it was started, in full."
    "start" "STARTED"; 8 Right Push; [StartTime] [CALENDAR];
        cell::start; number!(start_time_ns);
        "When it was started: hh:mm:ss, or month and day."
    "stime" "STIME", "start_time" "START"; 5 Right Push; [StartTime] [CALENDAR];
        cell::start_day_or_time; number!(start_time_ns);
        "When it was started: hh:mm, month and day, or year."
    "bsdstart" "START"; 6 Right Push; [StartTime] [CALENDAR];
        cell::bsd_start; number!(start_time_ns);
        "When it was started: hh:mm, or month and day."
    "etime" "ELAPSED"; 11 Right Push; [StartTime] [];
        cell::elapsed; |r| Key::from(r.elapsed_seconds());
        "Time since the start, [[days-]hh:]mm:ss."
    "etimes" "ELAPSED"; 7 Right Push; [StartTime] [];
        |r, c| cell::unsigned(c, r.elapsed_seconds()); |r| Key::from(r.elapsed_seconds());
        "Time since the start in seconds."

    // Memory and I/O.
    "vsz" "VSZ", "vsize" "VSZ"; 6 Right Push; [Vsize] [];
        |r, c| cell::unsigned(c, r.task.vsize_bytes / 1024); number!(vsize_bytes);
        "Virtual memory in KiB."
    "sz" "SZ"; 5 Right Push; [Vsize] [];
        |r, c| cell::unsigned(c, r.task.vsize_bytes / r.around.machine.page_bytes); number!(vsize_bytes);
        "Virtual memory in pages."
    "m_size" "SIZE"; 5 Right Push; [Vsize] [];
        |r, c| cell::unsigned(c, r.task.vsize_bytes); number!(vsize_bytes);
        "Virtual memory in bytes."
    "rss" "RSS", "rssize" "RSS", "rsz" "RSZ"; 5 Right Push; [Rss] [];
        |r, c| cell::unsigned(c, r.task.rss_bytes / 1024); number!(rss_bytes);
        "Resident memory in KiB."
    "%mem" "%MEM", "pmem" "%MEM"; 4 Right Push; [Rss] [MEMORY];
        cell::memory_percent; number!(rss_bytes);
        "Resident memory in percent of the machine's."
    "maj_flt" "MAJFL", "majflt" "MAJFLT", "pagein" "PAGEIN"; 6 Right Push; [MajorFaults] [];
        |r, c| cell::unsigned(c, r.task.major_faults); number!(major_faults);
        "Page faults with I/O."
    "min_flt" "MINFL", "minflt" "MINFLT"; 6 Right Push; [MinorFaults] [];
        |r, c| cell::unsigned(c, r.task.minor_faults); number!(minor_faults);
        "Page faults without I/O."
    "rbytes" "RBYTES"; 5 Right Push; [ReadBytes] [];
        |r, c| cell::unsigned(c, r.task.read_bytes); number!(read_bytes);
        "Bytes read from block devices."
    "wbytes" "WBYTES"; 5 Right Push; [WriteBytes] [];
        |r, c| cell::unsigned(c, r.task.write_bytes); number!(write_bytes);
        "Bytes written to block devices."
    "wcbytes" "WCBYTES"; 5 Right Push; [CancelledWriteBytes] [];
        |r, c| cell::unsigned(c, r.task.cancelled_write_bytes); number!(cancelled_write_bytes);
        "Written bytes whose pages were dropped in time."
}

impl Column {
    /// The column of that name, and its header.
    pub fn by_name(name: &str) -> Option<(&'static Column, &'static str)> {
        COLUMNS.iter().find_map(|column| {
            let (_, header) = column.names.iter().find(|(alias, _)| *alias == name)?;
            Some((column, *header))
        })
    }

    /// What a source should give for it.
    pub fn fields(&self) -> FieldSet {
        self.needs.union(self.wishes)
    }
}
