//! Names that are accepted and always shown as `-`: no source knows them, or procps shows `-` too.

use crate::file_figures as figures;
use crate::sort::Key;
use cpuledger_model::field::{Field, FieldSet};
use cpuledger_names::lookups::Lookups;

use super::entry::{Align, Column, Dash, Lines, Listed, Overflow, Text};

/// Rows of columns by why they are empty; the letter of `O`; after `=>` what those are sorted by that have an order all the same.
macro_rules! dashes {
    ($($dash:ident: $help:literal { $($($name:literal $header:literal),+; $width:literal $align:ident
        $(letter $letter:literal)? $(=> [$($field:ident)*] [$($lookup:ident)*] $key:expr)?;)* })*) => {
        pub(super) static COLUMNS: &[Column] = &[$($(Column { listed: Some(Listed {
            names: &[$(($name, $header)),+],
            width: $width,
            align: Align::$align,
            overflow: Overflow::Push,
            lines: Lines::Both,
            text: Text::Usual,
            dash: Some(Dash::$dash),
            needs: FieldSet::of(&[$($(Field::$field),*)?]),
            optional: FieldSet::EMPTY,
            lookups: Lookups::NONE$($(.union(Lookups::$lookup))*)?,
            shown: (|_, cell| cell.push(b'-'), dashes!(@key $($key)?)),
            help: $help,
        }), $(order_letter: Some($letter),)? ..Column::NOWHERE },)*)*];
    };
    (@key $key:expr) => { $key };
    (@key) => { |_| Key::Absent };
}

dashes! {
    NotKnown: "Names of the capabilities that it may use: the column pcap has them as bits." {
        "pcaps" "PCAPS"; 16 Right;
    }
    NotKnown: "Sample text with which procps tests its own layout." {
        "_left" "LLLLLLLL"; 8 Left;
        "_left2" "L2L2L2L2"; 8 Left;
        "_right" "RRRRRRRRRRR"; 11 Right;
        "_right2" "R2R2R2R2R2R"; 11 Right;
        "_unlimited" "U"; 16 Left;
        "_unlimited2" "U2"; 16 Left;
    }
    NotShown: "Kept for the layout of -l: always -." {
        "addr_1" "ADDR"; 1 Left;
    }
    NotShown: "Something to sort by, which procps does not show." {
        "cutime" "-"; 1 Right letter 'j' => [User ChildrenUser] [] |row| Key::from(row.ticks(row.task.user_ns) + row.ticks(row.task.children_user_ns));
        "utime" "UTIME"; 6 Right letter 'k' => [User] [] |row| Key::from(row.ticks(row.task.user_ns));
        "cmin_flt" "-"; 1 Right letter 'n' => [ChildrenMinorFaults] [] by_number!(children_minor_faults);
        "cmaj_flt" "-"; 1 Right letter 'N' => [ChildrenMajorFaults] [] by_number!(children_major_faults);
        "resident" "RES", "m_resident" "RES"; 5 Right letter 'R' => [Rss] [] by_number!(rss_bytes);
        "share" "-"; 1 Right letter 'S' => [Shared] [] by_number!(shared_bytes);
        "m_share" "SHRD"; 5 Right => [Shared] [] by_number!(shared_bytes);
        "vm_lock" "LCK"; 3 Right => [Locked] [] by_number!(locked_bytes);
        "vm_data" "DATA"; 5 Right => [] [STATUS] |row| Key::of_option(figures::private_kib(row));
        "vm_stack" "STACK"; 5 Right => [] [STATUS] |row| Key::of_option(figures::stack_kib(row));
        "start_code" "S_CODE"; 16 Right => [] [ADDRESSES] |row| Key::of_option(figures::addresses(row).map(|of| of.code_begin));
        "end_code" "E_CODE"; 16 Right => [] [ADDRESSES] |row| Key::of_option(figures::addresses(row).map(|of| of.code_end));
    }
    NotShown: "A name that procps takes for the sake of others: always -." {
        "acflag" "ACFLG"; 5 Right;
        "addr" "ADDR"; 4 Right;
        "alarm" "ALARM"; 5 Right;
        "argc" "ARGC"; 4 Right;
        "bnd" "BND"; 1 Right;
        "cnswap" "-"; 1 Right;
        "ctid" "CTID"; 5 Right;
        "cursig" "CURSIG"; 6 Right;
        "cwd" "CWD"; 3 Left;
        "emul" "EMUL"; 13 Left;
        "inblk" "INBLK"; 5 Right;
        "inblock" "INBLK"; 5 Right;
        "jid" "JID"; 1 Right;
        "jobc" "JOBC"; 4 Right;
        "ktrace" "KTRACE"; 8 Right;
        "ktracep" "KTRACEP"; 8 Right;
        "login" "LOGNAME"; 8 Left;
        "logname" "LOGNAME"; 8 Left;
        "luser" "LUSER"; 8 Left;
        "m_dt" "DT"; 4 Right;
        "m_lrs" "LRS"; 5 Right;
        "m_swap" "SWAP"; 5 Right;
        "msgrcv" "MSGRCV"; 6 Right;
        "msgsnd" "MSGSND"; 6 Right;
        "mwchan" "MWCHAN"; 6 Left;
        "nivcsw" "IVCSW"; 5 Right;
        "nsignals" "NSIGS"; 5 Right;
        "nsigs" "NSIGS"; 5 Right;
        "nswap" "NSWAP"; 5 Right;
        "nvcsw" "VCSW"; 5 Right;
        "osz" "SZ"; 2 Right;
        "nwchan" "WCHAN"; 6 Right;
        "oublk" "OUBLK"; 5 Right;
        "oublock" "OUBLK"; 5 Right;
        "p_ru" "P_RU"; 6 Right;
        "paddr" "PADDR"; 6 Right;
        "poip" "-"; 1 Right;
        "prmgrp" "PRMGRP"; 12 Right;
        "prmid" "PRMID"; 12 Right;
        "project" "PROJECT"; 12 Left;
        "projid" "PROJID"; 5 Right;
        "pset" "PSET"; 4 Right;
        "psxpri" "PPR"; 3 Right;
        "re" "RE"; 3 Right;
        "rlink" "RLINK"; 8 Right;
        "scnt" "SCNT"; 4 Right;
        "scount" "SC"; 4 Right;
        "sl" "SL"; 3 Right;
        "status" "STATUS"; 6 Right;
        "systime" "SYSTEM"; 6 Right;
        "taskid" "TASKID"; 6 Pid;
        "tdev" "TDEV"; 4 Right;
        "timeout" "TMOUT"; 5 Right;
        "tmout" "TMOUT"; 5 Right;
        "tsess" "TSESS"; 5 Pid;
        "tsession" "TSESS"; 5 Pid;
        "tsid" "TSID"; 5 Pid;
        "u_procp" "UPROCP"; 6 Right;
        "umask" "UMASK"; 5 Right;
        "upr" "UPR"; 3 Right;
        "uprocp" "UPROCP"; 8 Right;
        "usertime" "USER"; 4 Right;
        "usrpri" "UPR"; 3 Right;
        "vm_exe" "EXE"; 5 Right;
        "vm_lib" "LIB"; 5 Right;
        "xstat" "XSTAT"; 5 Right;
        "zoneid" "ZONEID"; 31 Right;
    }
}
