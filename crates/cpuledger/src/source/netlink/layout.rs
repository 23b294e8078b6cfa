//! `struct taskstats` as bytes: where its members are in each version. Pure, no kernel.
//!
//! New members were added at the end, except in version 15 (Linux 6.14, b016d0873777), which put the longest and the shortest of
//! each delay behind its total. Version 16 moved them to the end and all else back (0bf2d838de1f). So the version says where a
//! member is. Each version has one size, and a message of another size is not decoded.
//!
//! A kernel with the patches of `kernel/` counts on by itself from version 17. Its versions have sizes of their own, which tell them from
//! versions that Linux may give the same number later.

pub use cpuledger_model::account::{Dead, Used};
use cpuledger_model::boottime::{Boottime, TICK_NS};
use cpuledger_model::make;
use cpuledger_model::task::Comm;

/// The oldest version that is decoded: that of Linux 2.6.32 to 4.19.
pub const OLDEST_VERSION: u16 = 8;

/// Bytes of each version from the oldest on.
pub const SIZES: [usize; 10] = [328, 344, 352, 368, 400, 416, 432, 560, 560, 688];

/// The version of Linux that the patches of `kernel/` count on from. Those for an older Linux reserve what is between, so a version of theirs
/// has one layout everywhere.
const SERIES_BASE: u16 = 17;

/// Version and bytes of what a kernel sends with more and more of the patches of `kernel/`.
pub const SERIES: [(u16, usize); 4] = [(18, 728), (19, 744), (20, 832), (21, 832)];

/// Where the members of the patches begin: behind those of Linux.
pub const SERIES_BEGIN: usize = SIZES[(SERIES_BASE - OLDEST_VERSION) as usize];

/// The one version with extremes between the members.
const VERSION_WITH_EXTREMES_BETWEEN: u16 = 15;

/// What is not decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unknown {
    /// Its version is older or newer than what is known here.
    #[error(
        "this kernel sends taskstats version {0}, but this cpuledger knows versions {OLDEST_VERSION} to {newest}; \
         use another source, or a newer cpuledger",
        newest = newest_version()
    )]
    Version(u16),
    /// It does not have the size of its version.
    #[error(
        "this kernel sends taskstats version {version} in {bytes} bytes instead of {expected}; use another source"
    )]
    Size {
        /// What it says it is.
        version: u16,
        /// What came.
        bytes: usize,
        /// What that version has.
        expected: usize,
    },
    /// There is not even a version.
    #[error("the kernel sent a message that is not taskstats; use another source")]
    Nothing,
}

/// The newest version that is decoded.
pub const fn newest_version() -> u16 {
    OLDEST_VERSION + SIZES.len() as u16 - 1
}

/// The flag of the last task of a process (`AGROUP`), since version 12.
const LAST_OF_PROCESS: u8 = 0x20;

/// Time lost to one thing, and how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Delay {
    /// How often.
    pub count: u64,
    /// How long in all.
    pub total_ns: u64,
}

/// One `struct taskstats`. A member that came with a later version than the oldest is `None` before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Taskstats {
    /// Which layout it had.
    pub version: u16,
    /// As wait(2) returns it; 0 while it lives.
    pub exit_code: u32,
    /// `ac_flag` of acct(5).
    pub flags: u8,
    /// Nice value.
    pub nice: i8,
    /// Runnable without a CPU.
    pub run_queue: Delay,
    /// Waiting for block I/O.
    pub block_io: Delay,
    /// Waiting for a page to be swapped in.
    pub swap_in: Delay,
    /// Reclaiming memory.
    pub reclaim: Delay,
    /// Waiting for pages that had just been evicted; since version 9.
    pub thrashing: Option<Delay>,
    /// Compacting memory; since version 11.
    pub compaction: Option<Delay>,
    /// Copying write-protected pages; since version 13.
    pub write_protect: Option<Delay>,
    /// Interrupted; since version 14.
    pub interrupts: Option<Delay>,
    /// `cpu_run_real_total`: user and system time in whole ticks, unless the kernel accounts precisely.
    pub ticks_ns: u64,
    /// `cpu_run_virtual_total`: the scheduler's runtime.
    pub runtime_ns: u64,
    /// Its name.
    pub comm: Comm,
    /// Scheduling policy.
    pub policy: u8,
    /// Real user.
    pub uid: u32,
    /// Real group.
    pub gid: u32,
    /// `ac_pid`: the tid.
    pub tid: u32,
    /// Process of the parent.
    pub ppid: u32,
    /// Time since its start by CLOCK_MONOTONIC, in microseconds; of a process the sum over its living threads.
    pub elapsed_us: u64,
    /// User time in whole ticks, in microseconds.
    pub user_us: u64,
    /// System time likewise.
    pub system_us: u64,
    /// Page faults without I/O.
    pub minor_faults: u64,
    /// Page faults with I/O.
    pub major_faults: u64,
    /// Whether it has had memory of its own, and has it: neither a kernel thread nor a zombie does. In a kernel with `CONFIG_TASK_XACCT`.
    pub has_memory: bool,
    /// From block devices, in whole KiB.
    pub read_bytes: u64,
    /// To block devices, likewise.
    pub write_bytes: u64,
    /// Written and dropped in time, likewise.
    pub cancelled_write_bytes: u64,
    /// Context switches because it waited.
    pub voluntary_switches: u64,
    /// Context switches because it was preempted.
    pub involuntary_switches: u64,
    /// `ac_tgid`: its process; since version 12.
    pub pid: Option<u32>,
    /// As `elapsed_us`, of the leader of its process; since version 12.
    pub leader_elapsed_us: Option<u64>,
    /// What a kernel with the patches of `kernel/series` tells besides.
    pub exact: Option<Exact>,
}

/// In nanoseconds, of a task, or of a process with its dead threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Exact {
    /// Start by CLOCK_MONOTONIC.
    pub start_monotonic_ns: u64,
    /// Start by CLOCK_BOOTTIME. After an exec by another thread it is that of the old leader.
    pub start_ns: u64,
    /// What it used; the stolen time is 0 where the kernel does not tell it.
    pub used: Used,
    /// Of its process, where the kernel tells it.
    pub dead: Option<Dead>,
}

impl Exact {
    /// The start as /proc shows it, in whole ticks.
    pub fn start_in_ticks(&self) -> Boottime {
        Boottime::from_ns(self.start_ns / TICK_NS * TICK_NS)
    }
}

impl Taskstats {
    /// In a report of a death: whether its process has died with it; `None` where it is not told.
    pub fn is_last_of_process(&self) -> Option<bool> {
        self.pid.map(|_| self.flags & LAST_OF_PROCESS != 0)
    }

    /// Whether the kernel has counted any delay. Of a task that was made while delay accounting was off it never does, and tells 0 of each.
    pub fn has_counted_delays(&self) -> bool {
        let Taskstats { block_io, swap_in, reclaim, .. } = self;
        let since = [self.thrashing, self.compaction, self.write_protect, self.interrupts];
        let all = [*block_io, *swap_in, *reclaim].into_iter().chain(since.into_iter().flatten());
        { all }.any(|delay| delay.count > 0)
    }
}

/// Numbers at offsets of a struct whose size has been checked.
struct Members<'a>(&'a [u8]);

impl Members<'_> {
    fn bytes<const N: usize>(&self, offset: usize) -> [u8; N] {
        // All offsets lie within the smallest size that has them; a slip would show as zeros in the tests, not as a panic.
        let found = self.0.get(offset..offset + N).and_then(|bytes| bytes.try_into().ok());
        debug_assert!(found.is_some(), "{offset} is within the struct");
        found.unwrap_or([0; N])
    }

    fn u32(&self, offset: usize) -> u32 {
        u32::from_ne_bytes(self.bytes(offset))
    }

    fn u64(&self, offset: usize) -> u64 {
        u64::from_ne_bytes(self.bytes(offset))
    }

    fn delay(&self, offset: usize) -> Delay {
        Delay { count: self.u64(offset), total_ns: self.u64(offset + 8) }
    }
}

/// Decodes what a kernel of this machine sent.
///
/// # Errors
/// When version or size is not one that is known.
pub fn decode(bytes: &[u8]) -> Result<Taskstats, Unknown> {
    decode_as(bytes, version_of(bytes)?)
}

/// Decodes the report on a process that stands beside that on its last task, which is of this version. The kernel left the version of the
/// former at 0 until 2026 ("taskstats: set version in TGID exit notifications", which stable kernels got, too).
///
/// # Errors
/// When version or size is not one that is known.
pub fn decode_beside(bytes: &[u8], version: u16) -> Result<Taskstats, Unknown> {
    match version_of(bytes)? {
        0 => decode_as(bytes, version),
        own => decode_as(bytes, own),
    }
}

fn version_of(bytes: &[u8]) -> Result<u16, Unknown> {
    bytes.first_chunk().copied().map(u16::from_ne_bytes).ok_or(Unknown::Nothing)
}

fn decode_as(bytes: &[u8], version: u16) -> Result<Taskstats, Unknown> {
    if SERIES.contains(&(version, bytes.len())) {
        let members = Members(bytes);
        let exact = Some(decode_exact(version, &members));
        return Ok(Taskstats { version, exact, ..decode_members(SERIES_BASE, &members) });
    }
    let index = version.checked_sub(OLDEST_VERSION).ok_or(Unknown::Version(version))?;
    let expected = *SIZES.get(usize::from(index)).ok_or(Unknown::Version(version))?;
    if bytes.len() != expected {
        return Err(Unknown::Size { version, bytes: bytes.len(), expected });
    }
    Ok(decode_members(version, &Members(bytes)))
}

fn decode_exact(version: u16, members: &Members<'_>) -> Exact {
    let u64 = |offset: usize| members.u64(SERIES_BEGIN + offset);
    let has_taken = version > SERIES[0].0;
    let has_dead = version > SERIES[1].0;
    let used = |offset: usize| {
        make!(Used {
            runtime_ns: u64(offset),
            user_ns: u64(offset + 8),
            system_ns: u64(offset + 16),
            // By interrupts and by the hypervisor.
            stolen_ns: if has_taken { u64(offset + 24) + u64(offset + 32) } else { 0 },
        })
    };
    let dead = || {
        make!(Dead {
            accounting_parent: members.u32(SERIES_BEGIN + 56),
            threads: used(64),
            children: used(104)
        })
    };
    Exact { start_monotonic_ns: u64(0), start_ns: u64(8), used: used(16), dead: has_dead.then(dead) }
}

fn decode_members(version: u16, members: &Members<'_>) -> Taskstats {
    // What lies before a member in version 15 and not in the others: 16 bytes for each delay.
    let gap = |delays: usize| if version == VERSION_WITH_EXTREMES_BETWEEN { 16 * delays } else { 0 };
    let since = |first: u16| version >= first;
    let basic = gap(3);
    Taskstats {
        version,
        exit_code: members.u32(4),
        flags: members.bytes::<1>(8)[0],
        nice: members.bytes::<1>(9)[0].cast_signed(),
        run_queue: members.delay(16),
        block_io: members.delay(32 + gap(1)),
        swap_in: members.delay(48 + gap(2)),
        ticks_ns: members.u64(64 + basic),
        runtime_ns: members.u64(72 + basic),
        comm: Comm::from_c_bytes(&members.bytes::<32>(80 + basic)),
        policy: members.bytes::<1>(112 + basic)[0],
        uid: members.u32(120 + basic),
        gid: members.u32(124 + basic),
        tid: members.u32(128 + basic),
        ppid: members.u32(132 + basic),
        elapsed_us: members.u64(144 + basic),
        user_us: members.u64(152 + basic),
        system_us: members.u64(160 + basic),
        minor_faults: members.u64(168 + basic),
        major_faults: members.u64(176 + basic),
        has_memory: members.u64(208 + basic) > 0,
        read_bytes: members.u64(248 + basic),
        write_bytes: members.u64(256 + basic),
        cancelled_write_bytes: members.u64(264 + basic),
        voluntary_switches: members.u64(272 + basic),
        involuntary_switches: members.u64(280 + basic),
        reclaim: members.delay(312 + basic),
        thrashing: since(9).then(|| members.delay(328 + gap(4))),
        compaction: since(11).then(|| members.delay(352 + gap(5))),
        pid: since(12).then(|| members.u32(368 + gap(6))),
        leader_elapsed_us: since(12).then(|| members.u64(376 + gap(6))),
        write_protect: since(13).then(|| members.delay(400 + gap(6))),
        interrupts: since(14).then(|| members.delay(416 + gap(7))),
        exact: None,
    }
}
