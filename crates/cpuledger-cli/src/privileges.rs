//! What this process may do: not more than its source and its user need, from when the source is open. The screen, which is there before,
//! may do what its user needs.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use anyhow::Context;
use cpuledger::clock::thread_cpu_ns;
use cpuledger::support::{facts, privilege};
use cpuledger::{SourceKind, machine};
use cpuledger_names::watch::Watch;
use cpuledger_proc::task::stat::parse_stat;
use cpuledger_program::exit::Failure;
use cpuledger_program::setuid;
use rustix::process::{Gid, Resource, Rlimit, Uid, geteuid, getrlimit, setpriority_process, setrlimit};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_keep_capabilities, set_no_new_privs,
    set_thread_groups, set_thread_res_gid, set_thread_res_uid,
};

/// What kill and renice of an administrator take.
const OF_AN_ADMINISTRATOR: CapabilitySet = CapabilitySet::KILL.union(CapabilitySet::SYS_NICE);

/// A binary with the setuid bit would show everything to every user, and kill for them.
///
/// # Errors
/// If this is one.
pub fn refuse_setuid() -> Result<(), Failure> {
    if !setuid::is_set() {
        return Ok(());
    }
    let file = facts::own_file();
    Err(Failure::Usage(format!(
        "the program must not be setuid or setgid; remove the bit, and use sudo or file capabilities: \
         setcap cap_bpf,cap_perfmon=ep {file}"
    )))
}

/// Lets this thread, and those that it starts, run before all others of its session and its cgroup, where this user may: beside hundreds of
/// runnable threads a picture of the machine would come seconds late. Returns false if somebody has chosen the priority of this thread, which
/// then stays.
pub fn come_first() -> bool {
    const MOST_URGENT: i32 = -20;
    let is_ordinary = is_ordinary();
    if is_ordinary {
        let _ = setpriority_process(None, MOST_URGENT);
    }
    is_ordinary
}

/// Lets this thread, and none that it starts, close intervals in time: before all that share the CPUs or, where it may not, before all others
/// of its session and its cgroup. A thread that prints too gives that up with [`KeptTime`].
pub fn keep_time() {
    if come_first() {
        // Where it is refused, that has to do.
        let _ = machine::come_in_real_time(false);
    }
}

/// Does this in real time, with all threads that it starts: it takes a bounded time.
pub fn in_real_time<R>(does: impl FnOnce() -> R) -> R {
    let is_in_real_time = machine::come_in_real_time(true).is_ok();
    let result = does();
    if is_in_real_time {
        let _ = machine::share_cpus(true);
    }
    result
}

/// Lets this thread share the CPUs again, if it was started [`in_real_time`]: else somebody has chosen its priority.
pub fn hurry_no_more(hurries: bool) {
    if hurries {
        let _ = machine::share_cpus(true);
    }
}

/// Gives this thread an ordinary nice value again: another process closes the intervals that it shows.
pub fn stand_back() {
    let _ = setpriority_process(None, 0);
}

/// That a thread of this process may begin to run in real time after it has given up its privileges.
#[derive(Debug)]
pub struct MayKeepTime {
    /// The limit of real-time priorities as it was.
    before: Rlimit,
}

impl MayKeepTime {
    /// Raises that limit, where it may.
    pub fn allow() -> MayKeepTime {
        let before = getrlimit(Resource::Rtprio);
        let at_least_one = |limit: Option<u64>| limit.map(|limit| limit.max(1));
        let raised = Rlimit { current: at_least_one(before.current), maximum: at_least_one(before.maximum) };
        let _ = setrlimit(Resource::Rtprio, raised);
        MayKeepTime { before }
    }

    /// Lets this thread run in real time from now on, and no other begin to; `None`: it is refused.
    pub fn begin(self) -> Option<KeptTime> {
        let kept = machine::come_in_real_time(false);
        drop(self);
        kept.ok().map(|()| KeptTime { used_ns: thread_cpu_ns(), length_ns: 0 })
    }
}

impl Drop for MayKeepTime {
    fn drop(&mut self) {
        let Rlimit { current, maximum } = self.before;
        let _ = setrlimit(Resource::Rtprio, Rlimit { current, maximum });
    }
}

/// That this thread runs in real time, until its intervals take too much: any user can make many rows.
#[derive(Debug)]
pub struct KeptTime {
    /// CPU time of the thread when that was looked at last.
    used_ns: u64,
    /// The length of all intervals since.
    length_ns: u64,
}

impl KeptTime {
    /// Goes on after an interval of this length, if this thread had a CPU for less than half of it; else the thread shares the CPUs again. One that
    /// a key has cut short counts together with the next.
    pub fn go_on(mut self, length_ns: u64, is_cut_short: bool) -> Option<KeptTime> {
        self.length_ns += length_ns;
        if is_cut_short {
            return Some(self);
        }
        let used_ns = thread_cpu_ns();
        if used_ns - self.used_ns <= self.length_ns / 2 {
            return Some(KeptTime { used_ns, length_ns: 0 });
        }
        let _ = machine::share_cpus(false);
        None
    }
}

/// Whether nobody has chosen another priority for this thread, by nice(1), chrt(1) or a unit.
fn is_ordinary() -> bool {
    let stat = std::fs::read("/proc/thread-self/stat").unwrap_or_default();
    // Where that cannot be read, nothing says so.
    parse_stat(&stat).is_none_or(|stat| (stat.nice, stat.policy) == (0, 0))
}

/// Allows itself as many open files as it may have: BPF objects are files. Returns how many those are.
pub fn raise_open_files() -> usize {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current != maximum {
        // Where it is refused, what is there has to do.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    }
    getrlimit(Resource::Nofile).current.and_then(|files| usize::try_from(files).ok()).unwrap_or(usize::MAX)
}

/// Allows itself this many open files, which root may do beyond the limit that it was given.
pub fn allow_open_files(files: u64) {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let at_least = |limit: Option<u64>| limit.map(|limit| limit.max(files));
    // Where it is refused, what is there has to do.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: at_least(current), maximum: at_least(maximum) });
}

/// Gives up everything except what the open source still needs, and what the user may do anyway. After sudo, the process belongs to
/// the caller again; root keeps what killing and renicing take. The kernel keeps privileges by thread: each that begins before the source is
/// open calls it, too, as it needs nothing of [`SourceKind::Service`].
///
/// # Errors
/// When the kernel refuses; then it must not go on.
pub fn give_up(kind: SourceKind) -> anyhow::Result<()> {
    let caller = if geteuid().is_root() { sudo_caller() } else { None };
    let of_user = if caller.is_none() { OF_AN_ADMINISTRATOR } else { CapabilitySet::empty() };
    give_up_all_but(needed(kind) | of_user, caller).context("cannot give up privileges")
}

/// The same for a service. It belongs to the user that it was started as, and reads for others what they may see. Each thread that there is by
/// then calls it.
///
/// # Errors
/// As [`give_up`].
pub fn give_up_as_service(kind: SourceKind) -> anyhow::Result<()> {
    give_up_all_but(needed(kind) | CapabilitySet::SYS_PTRACE, None).context("cannot give up privileges")
}

/// Begins to look at cgroups, before root gives up its privileges. After sudo, the thread of that belongs to the caller, too, and alone keeps
/// the right to read files of root: the state of containers. It comes before others: a container may live shortly.
pub fn watch_names() {
    if geteuid().is_root() {
        let caller = sudo_caller();
        watch_names_as(caller, || {
            come_first();
        });
    }
}

/// The same for a service, which stays the user that it was started as. One that is not root has that right only if its unit grants it.
pub fn watch_names_as_service() {
    watch_names_as(None, || ());
}

fn watch_names_as(caller: Option<(Uid, Gid)>, prepare: impl FnOnce() + Send + 'static) {
    // Root owns the state of its containers.
    let is_root = geteuid().is_root() && caller.is_none();
    let kept = if is_root { CapabilitySet::empty() } else { CapabilitySet::DAC_READ_SEARCH };
    Watch::begin_with(move || {
        prepare();
        give_up_all_but(kept, caller).is_ok()
    });
}

/// The same for a recording in this directory. It belongs to the user that the program was started as. Root keeps the right to write
/// to what another user owns, if the directory does.
///
/// # Errors
/// As [`give_up`].
pub fn give_up_as_recorder(kind: SourceKind, folder: &Path) -> anyhow::Result<()> {
    let is_own = std::fs::metadata(folder).is_ok_and(|folder| folder.uid() == geteuid().as_raw());
    let more = if is_own { CapabilitySet::empty() } else { CapabilitySet::DAC_OVERRIDE };
    give_up_all_but(needed(kind) | more, None).context("cannot give up privileges")
}

/// What a source needs after it is open.
fn needed(kind: SourceKind) -> CapabilitySet {
    let mut needed = privilege::kept(kind);
    if facts::procfs_hides() {
        needed |= CapabilitySet::SYS_PTRACE; // names and arguments come from /proc
    }
    needed
}

/// Gives up all capabilities of this thread but these, of which it keeps those that it has. It belongs to that user from then on.
fn give_up_all_but(kept: CapabilitySet, caller: Option<(Uid, Gid)>) -> anyhow::Result<()> {
    // A process that was root until now is not limited by what it gives up.
    cpuledger::caller::caller();
    let has = capabilities(None)?.permitted;
    let kept = kept & has;
    // No program that this one might be made to execute gets anything back.
    set_no_new_privs(true)?;
    for capability in (has - kept).iter() {
        // Takes CAP_SETPCAP: a process without it cannot get more than it has.
        let _ = remove_capability_from_bounding_set(capability);
    }
    if let Some((uid, gid)) = caller {
        set_keep_capabilities(true)?;
        set_thread_groups(&[gid])?;
        set_thread_res_gid(gid, gid, gid)?;
        set_thread_res_uid(uid, uid, uid)?;
        set_keep_capabilities(false)?;
    }
    // Kernels before 4.3 have none.
    let _ = clear_ambient_capability_set();
    set_capabilities(
        None,
        CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() },
    )?;
    Ok(())
}

/// The user who called sudo, if it was not root.
fn sudo_caller() -> Option<(Uid, Gid)> {
    let number = |name: &str| std::env::var(name).ok()?.parse::<u32>().ok().filter(|&id| id != u32::MAX);
    let (uid, gid) = (number("SUDO_UID")?, number("SUDO_GID")?);
    (uid != 0).then(|| (Uid::from_raw(uid), Gid::from_raw(gid)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_time_ends_once_an_interval_takes_more_than_half_of_its_length() {
        let kept = KeptTime { used_ns: thread_cpu_ns(), length_ns: 0 };
        let kept = kept.go_on(3_600_000_000_000, false).expect("less than half an hour");
        while thread_cpu_ns() == kept.used_ns {}
        let kept = kept.go_on(1, true).expect("a key has cut it short");
        assert!(kept.go_on(1, false).is_none());
    }
}
