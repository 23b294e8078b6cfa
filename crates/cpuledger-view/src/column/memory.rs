//! Memory, page faults and I/O.

use crate::cell;
use crate::sort::Key;
use cpuledger::enrich::lookups::Lookups;
use cpuledger::field::{Field, FieldSet};

use super::entry::{Align, Column, Lines, Overflow};

columns! {
    "vsz" "VSZ", "vsize" "VSZ"; 6 Right Push Process; [Vsize] [];
        |r, c| cell::unsigned(c, r.task.vsize_bytes / 1024); number!(vsize_bytes);
        "Virtual memory in KiB."
    "sz" "SZ"; 5 Right Push Process; [Vsize] [];
        |r, c| cell::unsigned(c, r.task.vsize_bytes / r.around.machine.page_bytes); number!(vsize_bytes);
        "Virtual memory in pages."
    "m_size" "SIZE"; 5 Right Push Process; [Vsize] [];
        |r, c| cell::unsigned(c, r.task.vsize_bytes); number!(vsize_bytes);
        "Virtual memory in bytes."
    "rss" "RSS", "rssize" "RSS", "rsz" "RSZ"; 5 Right Push Process; [Rss] [];
        |r, c| cell::unsigned(c, r.task.rss_bytes / 1024); number!(rss_bytes);
        "Resident memory in KiB."
    "sgi_rss" "RSS"; 4 Left Push Process; [Rss] [];
        |r, c| cell::unsigned(c, r.task.rss_bytes / 1024); number!(rss_bytes);
        "Resident memory in KiB, at the left."
    "%mem" "%MEM", "pmem" "%MEM"; 4 Right Push Process; [Rss] [MEMORY];
        cell::memory_percent; number!(rss_bytes);
        "Resident memory in percent of the machine's."
    "maj_flt" "MAJFL", "majflt" "MAJFLT", "pagein" "PAGEIN"; 6 Right Push Both; [MajorFaults] [];
        |r, c| cell::unsigned(c, r.task.major_faults); number!(major_faults);
        "Page faults with I/O."
    "min_flt" "MINFL", "minflt" "MINFLT"; 6 Right Push Both; [MinorFaults] [];
        |r, c| cell::unsigned(c, r.task.minor_faults); number!(minor_faults);
        "Page faults without I/O."
    "rbytes" "RBYTES"; 5 Right Push Task; [ReadBytes] [];
        |r, c| cell::unsigned(c, r.task.read_bytes); number!(read_bytes);
        "Bytes read from block devices."
    "wbytes" "WBYTES"; 5 Right Push Task; [WriteBytes] [];
        |r, c| cell::unsigned(c, r.task.write_bytes); number!(write_bytes);
        "Bytes written to block devices."
    "wcbytes" "WCBYTES"; 5 Right Push Task; [CancelledWriteBytes] [];
        |r, c| cell::unsigned(c, r.task.cancelled_write_bytes); number!(cancelled_write_bytes);
        "Written bytes whose pages were dropped before they reached the device."
}
