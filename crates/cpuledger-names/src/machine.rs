//! The machine at one instant, as rows are read by it: clocks, calendar, memory, page size.

use crate::now;
use std::cell::Cell;
use std::fs;

use cpuledger_model::boottime::Boottime;
use cpuledger_proc::machine::meminfo::parse_memory;
use cpuledger_proc::machine::stat;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use rustc_hash::FxHashMap;
use rustix::param::page_size;
use rustix::time::{ClockId, clock_gettime};

use super::lookups::Lookups;

/// Facts of the machine at one instant.
#[derive(Debug)]
pub struct Machine {
    /// Since the boot.
    pub uptime: Boottime,
    /// Seconds since 1970.
    pub now_seconds: i64,
    /// `btime` of /proc/stat: seconds since 1970 at the boot. Read where the calendar is wanted.
    pub boot_time_seconds: i64,
    /// The local time zone, likewise.
    pub zone: TimeZone,
    /// Memory of the machine, read where it is wanted; `None`: not known.
    pub memory_total_bytes: Option<u64>,
    /// Size of a page.
    pub page_bytes: u64,
    /// The node of memory of each CPU that was asked for.
    nodes: FxHashMap<u32, Option<u32>>,
    /// By the calendar, what was asked for last: now, and any other instant, which is the same for many threads.
    last_local: [Cell<Option<(i64, DateTime)>>; 2],
}

impl Machine {
    /// The clocks now; the rest not looked up.
    pub fn now() -> Machine {
        Machine {
            uptime: now::boottime(),
            now_seconds: clock_gettime(ClockId::Realtime).tv_sec,
            boot_time_seconds: 0,
            zone: TimeZone::UTC,
            memory_total_bytes: None,
            page_bytes: page_size() as u64,
            nodes: FxHashMap::default(),
            last_local: [const { Cell::new(None) }; 2],
        }
    }

    /// The same instant, and nothing looked up yet.
    pub fn fork(&self) -> Machine {
        Machine { uptime: self.uptime, now_seconds: self.now_seconds, ..Machine::now() }
    }

    /// Reads what is wanted and not there yet.
    pub fn look_up(&mut self, wanted: Lookups) {
        if wanted.wants(Lookups::CALENDAR) && self.boot_time_seconds == 0 {
            self.zone = local_zone();
            self.last_local.iter().for_each(|place| place.set(None));
            self.boot_time_seconds = fs::read_to_string("/proc/stat")
                .ok()
                .and_then(|text| stat::boot_time_seconds(&text))
                .map_or(self.now_seconds - self.uptime.ticks(1_000_000_000) as i64, |btime| btime as i64);
        }
        if wanted.wants(Lookups::MEMORY) && self.memory_total_bytes.is_none() {
            let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
            self.memory_total_bytes = parse_memory(&text).map(|memory| memory.total);
        }
    }

    /// Finds the node of memory of a CPU that is not known yet.
    pub fn learn_node(&mut self, cpu: u32) {
        self.nodes.entry(cpu).or_insert_with(|| {
            // One of its entries is a link to the node.
            let mut entries = fs::read_dir(format!("/sys/devices/system/cpu/cpu{cpu}")).ok()?.flatten();
            entries.find_map(|entry| entry.file_name().to_str()?.strip_prefix("node")?.parse().ok())
        });
    }

    /// The node of memory of a CPU; `None`: not known.
    pub fn node(&self, cpu: u32) -> Option<u32> {
        self.nodes.get(&cpu).copied().flatten()
    }

    /// That instant by the local calendar.
    pub fn local(&self, seconds: i64) -> DateTime {
        let place = &self.last_local[usize::from(seconds == self.now_seconds)];
        if let Some((last, date)) = place.get()
            && last == seconds
        {
            return date;
        }
        let timestamp = Timestamp::UNIX_EPOCH.saturating_add(SignedDuration::from_secs(seconds));
        let date = self.zone.to_datetime(timestamp.unwrap_or(Timestamp::UNIX_EPOCH));
        place.set(Some((seconds, date)));
        date
    }
}

/// The local time zone. By its file, where no variable names it: to look for its name in all zones takes a millisecond.
fn local_zone() -> TimeZone {
    let of_file = || TimeZone::tzif("Local", &fs::read("/etc/localtime").ok()?).ok();
    let is_named = std::env::var_os("TZ").is_some();
    if is_named { None } else { of_file() }.unwrap_or_else(TimeZone::system)
}
