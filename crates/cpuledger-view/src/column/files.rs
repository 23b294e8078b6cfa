//! What only files of /proc tell: signals, addresses, namespaces, I/O calls, groups, cgroups.

use crate::cell;
use crate::file_figures as figures;
use crate::sort::Key;
use cpuledger_model::field::{Field, FieldSet};
use cpuledger_names::detail::files::Namespace;
use cpuledger_names::lookups::Lookups;
use cpuledger_names::named::NameKey;
use cpuledger_names::row::Row;

use super::entry::{Align, Column, InTable, Lines, Listed, Overflow, TableCell, Text};

/// A cell and a sort key that are a number which may be unknown.
macro_rules! shown {
    (|$row:ident| $value:expr) => {
        shown!(number_or_dash | $row | $value)
    };
    (hexadecimal |$row:ident| $value:expr) => {
        shown!(hexadecimal_or_dash | $row | $value)
    };
    (namespace $namespace:ident) => {
        shown!(|r| r.files()?.namespace(Namespace::$namespace))
    };
    ($write:ident |$row:ident| $value:expr) => {
        (
            |row, cell| cell::$write(cell, figure(row, |$row| $value)),
            |row| Key::of_option(figure(row, |$row| $value)),
        )
    };
}

fn figure<T>(row: &Row<'_>, figure: fn(&Row<'_>) -> Option<T>) -> Option<T> {
    figure(row)
}

columns! {
    // Signals.
    "pending" "PENDING", "sig" "PENDING", "sig_pend" "SIGNAL"; 9 Signals Push Both; [] [STATUS];
        shown!(hexadecimal |r| figures::pending(r)); "Pending signals of the process; on a thread's line (except the main thread's), of that thread."
    "tsig" "PENDING"; 9 Signals Push Both; [] [STATUS];
        shown!(hexadecimal |r| figures::status(r)?.pending); "Pending signals of the task alone."
    "blocked" "BLOCKED", "sigmask" "BLOCKED", "sig_block" "BLOCKED"; 9 Signals Push Task; [] [STATUS];
        shown!(hexadecimal |r| figures::status(r)?.blocked); "Signals that are blocked."
    "ignored" "IGNORED", "sigignore" "IGNORED", "sig_ignore" "IGNORED"; 9 Signals Push Task; [] [STATUS];
        shown!(hexadecimal |r| figures::status(r)?.ignored); "Signals that are ignored."
    "caught" "CAUGHT", "sigcatch" "CAUGHT", "sig_catch" "CATCHED"; 9 Signals Push Task; [] [STATUS];
        shown!(hexadecimal |r| figures::status(r)?.caught); "Signals that have a handler."

    // Sizes and addresses.
    "size" "SIZE"; 5 Right Push Process; [Vsize] [STATUS];
        (|r, c| cell::number_or_dash(c, figures::swappable_kib(r)), by_number!(vsize_bytes));
        "KiB that would go to swap if all private memory was written to." => {
            order_letter: Some('s'),
        }
    "trs" "TRS", "trss" "TRSS", "tsiz" "TSIZ"; 4 Right Push Process; [Vsize] [ADDRESSES];
        (|r, c| cell::number_or_dash(c, figures::code_kib(r)), by_number!(vsize_bytes));
        "KiB of code."
    "m_trs" "TRS"; 5 Right Push Process; [Vsize] [ADDRESSES];
        (|r, c| cell::number_or_dash(c, figures::code_kib(r)), by_number!(vsize_bytes));
        "KiB of code."
    "drs" "DRS", "m_drs" "DRS"; 5 Right Push Process; [Vsize] [ADDRESSES];
        (|r, c| cell::number_or_dash(c, figures::data_kib(r)), by_number!(vsize_bytes));
        "KiB of virtual memory without the code."
    "dsiz" "DSIZ"; 4 Right Push Process; [Vsize] [ADDRESSES];
        (|r, c| cell::number_or_dash(c, figures::data_kib(r)), by_number!(vsize_bytes));
        "KiB of virtual memory without the code."
    "lim" "LIM"; 5 Right Push Both; [] [ADDRESSES];
        (cell::resident_limit, |r| Key::of_option(figures::resident_limit_bytes(r)));
        "RSS limit in KiB; xx: unlimited."
    "stackp" "STACKP", "start_stack" "STACKP"; 16 Right Push Process; [] [ADDRESSES];
        shown!(hexadecimal |r| figures::address(figures::addresses(r)?.stack_begin)); "Address where the main stack begins."
    "esp" "ESP"; 16 Right Push Task; [] [ADDRESSES];
        shown!(hexadecimal |r| figures::address(figures::addresses(r)?.stack_pointer)); "Stack pointer; the kernel shows it only while the process exits."
    "eip" "EIP"; 16 Right Push Task; [] [ADDRESSES];
        shown!(hexadecimal |r| figures::address(figures::addresses(r)?.instruction_pointer)); "Instruction pointer; the kernel shows it only while the process exits."
    "pss" "PSS"; 5 Right Push Process; [Vsize] [SHARES];
        shown!(|r| Some(figures::shares(r)?.proportional_kib)); "KiB of resident memory, each page divided by the number of processes that map it."
    "uss" "USS"; 5 Right Push Process; [Vsize] [SHARES];
        shown!(|r| Some(figures::shares(r)?.unique_kib)); "KiB of resident memory that no other process maps."
    "htprv" "HTPRV"; 5 Right Push Process; [Vsize] [SHARES];
        shown!(|r| Some(figures::shares(r)?.huge_private_kib)); "KiB of hugetlbfs that no other process maps."
    "htshr" "HTSHR"; 5 Right Push Process; [Vsize] [SHARES];
        shown!(|r| Some(figures::shares(r)?.huge_shared_kib)); "KiB of hugetlbfs that others map too."
    "numa" "NUMA"; 4 Right Push Both; [Processor] [NODES];
        shown!(|r| r.around.machine.node(r.task.processor)); "NUMA node of the CPU it ran on last."
    "oom" "OOM"; 4 Right Push Task; [] [OOM];
        shown!(|r| r.files()?.oom_score); "OOM score: how likely it is to be killed when memory runs out, 0 to 2000."
    "oomadj" "OOMADJ"; 5 Right Push Task; [] [OOM];
        shown!(|r| r.files()?.oom_adjustment); "What is added to the OOM score, -1000 to 1000."

    // I/O.
    "rchars" "RCHARS"; 5 Right Push Task; [] [IO];
        shown!(|r| Some(figures::io(r)?.read_chars)); "Bytes asked for by read(2) and the like."
    "wchars" "WCHARS"; 5 Right Push Task; [] [IO];
        shown!(|r| Some(figures::io(r)?.write_chars)); "Bytes given to write(2) and the like."
    "rops" "ROPS"; 5 Right Push Task; [] [IO];
        shown!(|r| Some(figures::io(r)?.read_calls)); "Calls of read(2) and the like."
    "wops" "WOPS"; 5 Right Push Task; [] [IO];
        shown!(|r| Some(figures::io(r)?.write_calls)); "Calls of write(2) and the like."
    "fds" "FDS"; 3 Right Push Process; [] [OPEN_FILES];
        shown!(|r| r.files()?.open_files); "Open files."

    // Namespaces.
    "cgroupns" "CGROUPNS"; 10 Right Push Both; [] [NAMESPACES];
        shown!(namespace Cgroup); "Inode number of the cgroup namespace."
    "ipcns" "IPCNS"; 10 Right Push Both; [] [NAMESPACES];
        shown!(namespace Ipc); "Inode number of the IPC namespace."
    "mntns" "MNTNS"; 10 Right Push Both; [] [NAMESPACES];
        shown!(namespace Mnt); "Inode number of the mount namespace."
    "netns" "NETNS"; 10 Right Push Both; [] [NAMESPACES];
        shown!(namespace Net); "Inode number of the network namespace."
    "pidns" "PIDNS"; 10 Right Push Both; [] [NAMESPACES];
        shown!(namespace Pid); "Inode number of the PID namespace."
    "timens" "TIMENS"; 10 Right Push Both; [] [NAMESPACES];
        shown!(namespace Time); "Inode number of the time namespace."
    "userns" "USERNS"; 10 Right Push Both; [] [NAMESPACES];
        shown!(namespace User); "Inode number of the user namespace."
    "utsns" "UTSNS"; 10 Right Push Both; [] [NAMESPACES];
        shown!(namespace Uts); "Inode number of the UTS namespace."

    // What manages it.
    "supgid" "SUPGID"; 20 Left Cut Process; [] [STATUS];
        (cell::supplementary_gids, |_| Key::AsShown);
        "Numbers of the supplementary groups."
    "supgrp" "SUPGRP"; 40 Left Cut Process; [] [STATUS GROUPS SUPPLEMENTARY];
        (cell::supplementary_groups, |_| Key::AsShown);
        "Supplementary groups."
    "pcap" "PCAP"; 16 Right Push Task; [] [STATUS];
        shown!(hexadecimal |r| figures::status(r)?.permitted); "Capabilities that it may use, as bits."
    "luid" "LUID"; 5 Right Push Both; [] [LOGIN];
        shown!(|r| r.files()?.login_uid); "Number of the user who logged in."
    "label" "LABEL", "context" "CONTEXT", "zone" "ZONE"; 31 Left Push Both; [] [LABEL];
        (|r, c| cell::text_or_dash(r, c, figures::label(r)), |r| Key::Bytes(figures::label(r)));
        "Security label."
    "environ" "ENVIRONMENT"; 31 Left Cut Process; [] [ENVIRONMENT];
        (cell::environment, |_| Key::Absent);
        "Environment of the process."
    "ag_id" "AGID"; 5 Right Push Both; [] [AUTOGROUP];
        shown!(|r| Some(r.files()?.autogroup?.0)); "Autogroup of the scheduler."
    "ag_nice" "AGNI"; 4 Right Push Both; [] [AUTOGROUP];
        shown!(|r| Some(r.files()?.autogroup?.1)); "Nice value of the autogroup."
    "cgname" "CGNAME"; 27 Left Cut Process; [] [CGROUP];
        detail!(cgroup_names); "Cgroup paths of the process, starting at the first named hierarchy."
    "lxc" "LXC"; 8 Left Push Both; [] [CGROUP];
        detail!(lxc); "LXC container."
    "docker" "DOCKER"; 12 Left Push Both; [] [CGROUP];
        detail!(docker); "Docker container."
    "unit" "UNIT"; 31 Left Push Both; [] [CGROUP SYSTEMD];
        detail!(unit); "systemd unit." => {
            in_table: in_table!(39 "UNIT" left 20 rank 9 Name(Unit); "systemd unit or, outside of units, the slice."),
        }
    "container" "CONTAINER"; 20 Left Push Both; [] [CGROUP CONTAINERS];
        detail!(container); "Container, by the name that its runtime has for it, or the first 12 digits of its id." => {
            in_table: in_table!(40 "CONTAINER" left 16 rank 9 Name(Container); "Container, by its name or the first 12 digits of its id."),
        }
    "container_id" "CONTAINER ID"; 64 Left Push Both; [] [CGROUP CONTAINERS];
        detail!(container_id); "Id of the container."
    "image" "IMAGE"; 31 Left Push Both; [] [CGROUP CONTAINERS];
        detail!(image); "Image of the container." => {
            in_table: in_table!(41 "IMAGE" left 24 rank 10 Name(Image); "Image of the container."),
        }
    "pod" "POD"; 20 Left Push Both; [] [CGROUP CONTAINERS];
        detail!(pod); "Pod of the container." => {
            in_table: in_table!(42 "POD" left 20 rank 9 Name(Pod); "Pod of the container."),
        }
    "namespace" "NAMESPACE"; 16 Left Push Both; [] [CGROUP CONTAINERS];
        detail!(namespace); "Kubernetes namespace of the pod."
    "uunit" "UUNIT"; 31 Left Push Both; [] [CGROUP SYSTEMD];
        detail!(user_unit); "Unit of the user's systemd instance."
    "slice" "SLICE"; 31 Left Push Both; [] [CGROUP SYSTEMD];
        detail!(slice); "systemd slice."
    "lsession" "SESSION"; 11 Left Push Both; [] [CGROUP SYSTEMD];
        detail!(session); "systemd login session."
    "seat" "SEAT"; 11 Left Push Both; [] [CGROUP SYSTEMD REGISTERED];
        detail!(seat); "Seat of its systemd login session."
    "machine" "MACHINE"; 31 Left Push Both; [] [CGROUP SYSTEMD REGISTERED];
        detail!(machine); "Virtual machine or container that systemd knows."
    "ouid" "OWNER"; 5 Left Push Both; [] [CGROUP SYSTEMD];
        (|r, c| cell::number_or_dash(c, r.around.details.owner(r.task)), |r| Key::of_option(r.around.details.owner(r.task)));
        "Uid of the owner of its systemd slice."
}
