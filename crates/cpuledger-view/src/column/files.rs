//! What only files of /proc tell: signals, addresses, namespaces, I/O calls, groups, cgroups.

use crate::cell;
use crate::file_figures as figures;
use crate::sort::Key;
use cpuledger_model::field::{Field, FieldSet};
use cpuledger_names::detail::files::Namespace;
use cpuledger_names::lookups::Lookups;
use cpuledger_names::named::NameKey;

use super::entry::{Align, Column, InTable, Lines, Listed, Overflow, TableCell, Text};

/// A cell and a sort key that are a number which may be unknown.
macro_rules! shown {
    ($figure:ident) => {
        |row, cell| cell::number_or_dash(cell, figures::$figure(row))
    };
    (hexadecimal $figure:ident) => {
        |row, cell| cell::hexadecimal_or_dash(cell, figures::$figure(row))
    };
    (namespace $namespace:ident) => {
        |row, cell| cell::number_or_dash(cell, figures::namespace(row, Namespace::$namespace))
    };
    (text $detail:ident) => {
        |row, cell| cell::text_or_dash(row, cell, row.around.details.$detail(row.task))
    };
}

macro_rules! sorted {
    ($figure:ident) => {
        |row| Key::of_option(figures::$figure(row))
    };
    (namespace $namespace:ident) => {
        |row| Key::of_option(figures::namespace(row, Namespace::$namespace))
    };
    (text $detail:ident) => {
        |row| Key::Bytes(row.around.details.$detail(row.task))
    };
}

columns! {
    // Signals.
    "pending" "PENDING", "sig" "PENDING", "sig_pend" "SIGNAL"; 9 Signals Push Both; [] [STATUS];
        shown!(hexadecimal pending); sorted!(pending);
        "Pending signals of the process; on a thread's line (except the main thread's), of that thread."
    "tsig" "PENDING"; 9 Signals Push Both; [] [STATUS];
        shown!(hexadecimal task_pending); sorted!(task_pending);
        "Pending signals of the task alone."
    "blocked" "BLOCKED", "sigmask" "BLOCKED", "sig_block" "BLOCKED"; 9 Signals Push Task; [] [STATUS];
        shown!(hexadecimal blocked); sorted!(blocked);
        "Signals that are blocked."
    "ignored" "IGNORED", "sigignore" "IGNORED", "sig_ignore" "IGNORED"; 9 Signals Push Task; [] [STATUS];
        shown!(hexadecimal ignored); sorted!(ignored);
        "Signals that are ignored."
    "caught" "CAUGHT", "sigcatch" "CAUGHT", "sig_catch" "CATCHED"; 9 Signals Push Task; [] [STATUS];
        shown!(hexadecimal caught); sorted!(caught);
        "Signals that have a handler."

    // Sizes and addresses.
    "size" "SIZE"; 5 Right Push Process; [Vsize] [STATUS];
        shown!(swappable_kib); number!(vsize_bytes);
        "KiB that would go to swap if all private memory was written to." => {
            order_letter: Some('s'),
        }
    "trs" "TRS", "trss" "TRSS", "tsiz" "TSIZ"; 4 Right Push Process; [Vsize] [ADDRESSES];
        shown!(code_kib); number!(vsize_bytes);
        "KiB of code."
    "m_trs" "TRS"; 5 Right Push Process; [Vsize] [ADDRESSES];
        shown!(code_kib); number!(vsize_bytes);
        "KiB of code."
    "drs" "DRS", "m_drs" "DRS"; 5 Right Push Process; [Vsize] [ADDRESSES];
        shown!(data_kib); number!(vsize_bytes);
        "KiB of virtual memory without the code."
    "dsiz" "DSIZ"; 4 Right Push Process; [Vsize] [ADDRESSES];
        shown!(data_kib); number!(vsize_bytes);
        "KiB of virtual memory without the code."
    "lim" "LIM"; 5 Right Push Both; [] [ADDRESSES];
        cell::resident_limit; sorted!(resident_limit_bytes);
        "RSS limit in KiB; xx: unlimited."
    "stackp" "STACKP", "start_stack" "STACKP"; 16 Right Push Process; [] [ADDRESSES];
        shown!(hexadecimal stack_begin); sorted!(stack_begin);
        "Address where the main stack begins."
    "esp" "ESP"; 16 Right Push Task; [] [ADDRESSES];
        shown!(hexadecimal stack_pointer); sorted!(stack_pointer);
        "Stack pointer; the kernel shows it only while the process exits."
    "eip" "EIP"; 16 Right Push Task; [] [ADDRESSES];
        shown!(hexadecimal instruction_pointer); sorted!(instruction_pointer);
        "Instruction pointer; the kernel shows it only while the process exits."
    "pss" "PSS"; 5 Right Push Process; [Vsize] [SHARES];
        shown!(proportional_kib); sorted!(proportional_kib);
        "KiB of resident memory, each page divided by the number of processes that map it."
    "uss" "USS"; 5 Right Push Process; [Vsize] [SHARES];
        shown!(unique_kib); sorted!(unique_kib);
        "KiB of resident memory that no other process maps."
    "htprv" "HTPRV"; 5 Right Push Process; [Vsize] [SHARES];
        shown!(huge_private_kib); sorted!(huge_private_kib);
        "KiB of hugetlbfs that no other process maps."
    "htshr" "HTSHR"; 5 Right Push Process; [Vsize] [SHARES];
        shown!(huge_shared_kib); sorted!(huge_shared_kib);
        "KiB of hugetlbfs that others map too."
    "numa" "NUMA"; 4 Right Push Both; [Processor] [NODES];
        shown!(node); sorted!(node);
        "NUMA node of the CPU it ran on last."
    "oom" "OOM"; 4 Right Push Task; [] [OOM];
        shown!(oom_score); sorted!(oom_score);
        "OOM score: how likely it is to be killed when memory runs out, 0 to 2000."
    "oomadj" "OOMADJ"; 5 Right Push Task; [] [OOM];
        shown!(oom_adjustment); sorted!(oom_adjustment);
        "What is added to the OOM score, -1000 to 1000."

    // I/O.
    "rchars" "RCHARS"; 5 Right Push Task; [] [IO];
        shown!(read_chars); sorted!(read_chars);
        "Bytes asked for by read(2) and the like."
    "wchars" "WCHARS"; 5 Right Push Task; [] [IO];
        shown!(write_chars); sorted!(write_chars);
        "Bytes given to write(2) and the like."
    "rops" "ROPS"; 5 Right Push Task; [] [IO];
        shown!(read_calls); sorted!(read_calls);
        "Calls of read(2) and the like."
    "wops" "WOPS"; 5 Right Push Task; [] [IO];
        shown!(write_calls); sorted!(write_calls);
        "Calls of write(2) and the like."
    "fds" "FDS"; 3 Right Push Process; [] [OPEN_FILES];
        shown!(open_files); sorted!(open_files);
        "Open files."

    // Namespaces.
    "cgroupns" "CGROUPNS"; 10 Right Push Both; [] [NAMESPACES];
        shown!(namespace Cgroup); sorted!(namespace Cgroup);
        "Inode number of the cgroup namespace."
    "ipcns" "IPCNS"; 10 Right Push Both; [] [NAMESPACES];
        shown!(namespace Ipc); sorted!(namespace Ipc);
        "Inode number of the IPC namespace."
    "mntns" "MNTNS"; 10 Right Push Both; [] [NAMESPACES];
        shown!(namespace Mnt); sorted!(namespace Mnt);
        "Inode number of the mount namespace."
    "netns" "NETNS"; 10 Right Push Both; [] [NAMESPACES];
        shown!(namespace Net); sorted!(namespace Net);
        "Inode number of the network namespace."
    "pidns" "PIDNS"; 10 Right Push Both; [] [NAMESPACES];
        shown!(namespace Pid); sorted!(namespace Pid);
        "Inode number of the PID namespace."
    "timens" "TIMENS"; 10 Right Push Both; [] [NAMESPACES];
        shown!(namespace Time); sorted!(namespace Time);
        "Inode number of the time namespace."
    "userns" "USERNS"; 10 Right Push Both; [] [NAMESPACES];
        shown!(namespace User); sorted!(namespace User);
        "Inode number of the user namespace."
    "utsns" "UTSNS"; 10 Right Push Both; [] [NAMESPACES];
        shown!(namespace Uts); sorted!(namespace Uts);
        "Inode number of the UTS namespace."

    // What manages it.
    "supgid" "SUPGID"; 20 Left Cut Process; [] [STATUS];
        cell::supplementary_gids; |_| Key::AsShown;
        "Numbers of the supplementary groups."
    "supgrp" "SUPGRP"; 40 Left Cut Process; [] [STATUS GROUPS SUPPLEMENTARY];
        cell::supplementary_groups; |_| Key::AsShown;
        "Supplementary groups."
    "pcap" "PCAP"; 16 Right Push Task; [] [STATUS];
        shown!(hexadecimal permitted); sorted!(permitted);
        "Capabilities that it may use, as bits."
    "luid" "LUID"; 5 Right Push Both; [] [LOGIN];
        shown!(login_uid); sorted!(login_uid);
        "Number of the user who logged in."
    "label" "LABEL", "context" "CONTEXT", "zone" "ZONE"; 31 Left Push Both; [] [LABEL];
        |r, c| cell::text_or_dash(r, c, figures::label(r)); |r| Key::Bytes(figures::label(r));
        "Security label."
    "environ" "ENVIRONMENT"; 31 Left Cut Process; [] [ENVIRONMENT];
        cell::environment; |_| Key::Absent;
        "Environment of the process."
    "ag_id" "AGID"; 5 Right Push Both; [] [AUTOGROUP];
        shown!(autogroup); sorted!(autogroup);
        "Autogroup of the scheduler."
    "ag_nice" "AGNI"; 4 Right Push Both; [] [AUTOGROUP];
        shown!(autogroup_nice); sorted!(autogroup_nice);
        "Nice value of the autogroup."
    "cgname" "CGNAME"; 27 Left Cut Process; [] [CGROUP];
        shown!(text cgroup_names); sorted!(text cgroup_names);
        "Cgroup paths of the process, starting at the first named hierarchy."
    "lxc" "LXC"; 8 Left Push Both; [] [CGROUP];
        shown!(text lxc); sorted!(text lxc);
        "LXC container."
    "docker" "DOCKER"; 12 Left Push Both; [] [CGROUP];
        shown!(text docker); sorted!(text docker);
        "Docker container."
    "unit" "UNIT"; 31 Left Push Both; [] [CGROUP SYSTEMD];
        shown!(text unit); sorted!(text unit);
        "systemd unit." => {
            in_table: in_table!(39 "UNIT" left 20 rank 9 Name(Unit); "systemd unit or, outside of units, the slice."),
        }
    "container" "CONTAINER"; 20 Left Push Both; [] [CGROUP CONTAINERS];
        shown!(text container); sorted!(text container);
        "Container, by the name that its runtime has for it, or the first 12 digits of its id." => {
            in_table: in_table!(40 "CONTAINER" left 16 rank 9 Name(Container); "Container, by its name or the first 12 digits of its id."),
        }
    "container_id" "CONTAINER ID"; 64 Left Push Both; [] [CGROUP CONTAINERS];
        shown!(text container_id); sorted!(text container_id);
        "Id of the container."
    "image" "IMAGE"; 31 Left Push Both; [] [CGROUP CONTAINERS];
        shown!(text image); sorted!(text image);
        "Image of the container." => {
            in_table: in_table!(41 "IMAGE" left 24 rank 10 Name(Image); "Image of the container."),
        }
    "pod" "POD"; 20 Left Push Both; [] [CGROUP CONTAINERS];
        shown!(text pod); sorted!(text pod);
        "Pod of the container." => {
            in_table: in_table!(42 "POD" left 20 rank 9 Name(Pod); "Pod of the container."),
        }
    "namespace" "NAMESPACE"; 16 Left Push Both; [] [CGROUP CONTAINERS];
        shown!(text namespace); sorted!(text namespace);
        "Kubernetes namespace of the pod."
    "uunit" "UUNIT"; 31 Left Push Both; [] [CGROUP SYSTEMD];
        shown!(text user_unit); sorted!(text user_unit);
        "Unit of the user's systemd instance."
    "slice" "SLICE"; 31 Left Push Both; [] [CGROUP SYSTEMD];
        shown!(text slice); sorted!(text slice);
        "systemd slice."
    "lsession" "SESSION"; 11 Left Push Both; [] [CGROUP SYSTEMD];
        shown!(text session); sorted!(text session);
        "systemd login session."
    "seat" "SEAT"; 11 Left Push Both; [] [CGROUP SYSTEMD REGISTERED];
        shown!(text seat); sorted!(text seat);
        "Seat of its systemd login session."
    "machine" "MACHINE"; 31 Left Push Both; [] [CGROUP SYSTEMD REGISTERED];
        shown!(text machine); sorted!(text machine);
        "Virtual machine or container that systemd knows."
    "ouid" "OWNER"; 5 Left Push Both; [] [CGROUP SYSTEMD];
        |r, c| cell::number_or_dash(c, r.around.details.owner(r.task)); |r| Key::of_option(r.around.details.owner(r.task));
        "Uid of the owner of its systemd slice."
}
