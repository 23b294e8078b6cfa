//! Memory, page faults and I/O.

use crate::cell;
use crate::figure::Key as Figure;
use crate::sort::Key;
use cpuledger_model::field::{Field, FieldSet};
use cpuledger_names::lookups::Lookups;

use super::entry::{Align, By, Column, InTable, Lines, Listed, Overflow, TableCell, Text, TopField, total};

columns! {
    "vsz" "VSZ", "vsize" "VSZ"; 6 Right Push Process; [Vsize] [];
        (|r, c| cell::unsigned(c, r.task.vsize_bytes / 1024), by_number!(vsize_bytes));
        "Virtual memory in KiB." => Vsize {
            in_table: in_table!(4 "VIRT" right 7 rank 10 Size; "Virtual memory."),
            procps: &[total(21, "VIRT", Field::Vsize)],
            order_letter: Some('v'),
            aix: Some(('z', "vsz")),
        }
    "sz" "SZ"; 5 Right Push Process; [Vsize] [];
        (|r, c| cell::unsigned(c, r.task.vsize_bytes / r.around.machine.page_bytes), by_number!(vsize_bytes));
        "Virtual memory in pages."
    "m_size" "SIZE"; 5 Right Push Process; [Vsize] [];
        number!(vsize_bytes); "Virtual memory in bytes."
    "rss" "RSS", "rssize" "RSS", "rsz" "RSZ"; 5 Right Push Process; [Rss] [];
        (|r, c| cell::unsigned(c, r.task.rss_bytes / 1024), by_number!(rss_bytes));
        "Resident memory in KiB." => Rss {
            in_table: in_table!(5 "RES" right 6 rank 5 Size sums; "Resident memory."),
            procps: &[total(23, "RES", Field::Rss)],
            aliases: &[("rss", "resident memory in bytes")],
            order_letter: Some('r'),
        }
    "sgi_rss" "RSS"; 4 Left Push Process; [Rss] [];
        (|r, c| cell::unsigned(c, r.task.rss_bytes / 1024), by_number!(rss_bytes));
        "Resident memory in KiB, left-aligned."
    "%mem" "%MEM", "pmem" "%MEM"; 4 Right Push Process; [Rss] [MEMORY];
        (cell::memory_percent, by_number!(rss_bytes));
        "Resident memory in percent of the machine's." => Rss {
            in_table: in_table!(9 "%MEM" right 5 rank 7 MemoryShare sums; "Resident memory as a share of the machine's."),
            orders: &["MEM"],
            procps: &[total(20, "%MEM", Field::Rss)],
            aliases: &[("mem", "resident memory in percent of the machine's")],
        }
    "maj_flt" "MAJFL", "majflt" "MAJFLT", "pagein" "PAGEIN"; 6 Right Push Both; [MajorFaults] [];
        number!(major_faults); "Page faults with I/O." => MajorFaults {
            orders: &["nMaj"],
            procps: &[total(25, "nMaj", Field::MajorFaults), TopField { place: 31, name: "vMj", by: By::Growth(Field::MajorFaults) }],
            order_letter: Some('M'),
        }
    "min_flt" "MINFL", "minflt" "MINFLT"; 6 Right Push Both; [MinorFaults] [];
        number!(minor_faults); "Page faults without I/O." => MinorFaults {
            orders: &["nMin"],
            procps: &[total(26, "nMin", Field::MinorFaults), TopField { place: 32, name: "vMn", by: By::Growth(Field::MinorFaults) }],
            order_letter: Some('m'),
        }
    "rbytes" "RBYTES"; 5 Right Push Task; [ReadBytes] [];
        number!(read_bytes); "Bytes read from block devices." => ReadBytes {
            in_table: in_table!(51 "READ/s" right 7 rank 8 Rate sums; "Bytes read from block devices, per second of the interval."),
            procps: &[total(34, "ioR", Field::ReadBytes)],
        }
    "wbytes" "WBYTES"; 5 Right Push Task; [WriteBytes] [];
        number!(write_bytes); "Bytes written to block devices." => WriteBytes {
            in_table: in_table!(52 "WRITE/s" right 7 rank 8 Rate sums; "Bytes written to block devices, per second of the interval."),
            procps: &[total(35, "ioW", Field::WriteBytes)],
        }
    "wcbytes" "WCBYTES"; 5 Right Push Task; [CancelledWriteBytes] [];
        number!(cancelled_write_bytes); "Written bytes whose pages were dropped before they reached the device."
}
