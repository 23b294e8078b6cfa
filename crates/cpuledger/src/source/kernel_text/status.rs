//! The lines of /proc/PID/status: `proc_pid_status` of fs/proc/array.c.

use cpuledger_bpf::abi;
use cpuledger_model::task::flags;

use super::bytes::{decimal, escaped, hexadecimal, kibibytes, list, mask, octal, short_hexadecimal, tabbed};
use super::parts::Section::{
    self, Capabilities, Identity, Memory, Own, Placement, Process, Security, Signals, State, Umask,
};
use super::parts::{Parts, Write, name};
use crate::source::records::state_letter;

/// PID namespaces whose numbers a record holds.
const LEVELS: usize = abi::CPULEDGER_STATUS_LEVELS as usize;

/// `MMF_DISABLE_THP` of include/linux/mm_types.h.
const HUGE_PAGES_DISABLED: u64 = 1 << 24;

/// `PFA_*` of include/linux/sched.h.
const NO_NEW_PRIVILEGES: u64 = 1 << 0;
const STORE_BYPASS_DISABLED: u64 = 1 << 3;
const STORE_BYPASS_FORCE_DISABLED: u64 = 1 << 4;
const INDIRECT_BRANCH_DISABLED: u64 = 1 << 5;
const INDIRECT_BRANCH_FORCE_DISABLED: u64 = 1 << 6;
const STORE_BYPASS_UNTIL_EXEC: u64 = 1 << 7;

/// `ARCH_SHSTK_*` of arch/x86/include/uapi/asm/prctl.h.
const THREAD_FEATURES: [(u64, &[u8]); 2] = [(1 << 0, b"shstk "), (1 << 1, b"wrss ")];

/// Every line that can be rendered, by its name.
pub(super) const LINES: &[(&str, Section, Write)] = &[
    ("Name", Own, |of, out| escaped(out, name(of).as_bytes())),
    ("Umask", Umask, |of, out| octal(out, of.task.umask)),
    ("State", State, |of, out| out.extend_from_slice(state(of.task))),
    ("Tgid", State, |of, out| decimal(out, of.process.process.pid)),
    ("Ngid", State, |of, out| decimal(out, of.task.numa_group)),
    ("Pid", Own, |of, out| decimal(out, of.task.tid)),
    ("PPid", Identity, |of, out| decimal(out, of.process.process.ppid)),
    ("TracerPid", Identity, |of, out| decimal(out, of.task.tracer_pid)),
    ("Uid", Identity, |Parts { credentials: of, .. }, out| ids(out, [of.uid, of.euid, of.suid, of.fsuid])),
    ("Gid", Identity, |Parts { credentials: of, .. }, out| ids(out, [of.gid, of.egid, of.sgid, of.fsgid])),
    ("FDSize", Identity, |of, out| decimal(out, of.task.max_fds)),
    ("Groups", Identity, |of, out| groups(out, of.credentials)),
    ("NStgid", Identity, |of, out| numbers(&of.process.namespace_pids, of, out)),
    ("NSpid", Own, |of, out| numbers(&of.task.namespace_tids, of, out)),
    ("NSpgid", Process, |of, out| numbers(&of.process.namespace_pgids, of, out)),
    ("NSsid", Process, |of, out| numbers(&of.process.namespace_sids, of, out)),
    ("Kthread", Process, |of, out| decimal(out, u8::from(of.process.process.flags & flags::KTHREAD != 0))),
    ("VmPeak", Memory, |of, out| pages(of, of.memory.virtual_peak.max(of.memory.virtual_now), out)),
    ("VmSize", Memory, |of, out| pages(of, of.memory.virtual_now, out)),
    ("VmLck", Memory, |of, out| pages(of, of.memory.locked, out)),
    ("VmPin", Memory, |of, out| pages(of, of.memory.pinned, out)),
    ("VmHWM", Memory, |of, out| pages(of, of.memory.resident_peak.max(resident(of)), out)),
    ("VmRSS", Memory, |of, out| pages(of, resident(of), out)),
    ("RssAnon", Memory, |of, out| pages(of, of.memory.anonymous, out)),
    ("RssFile", Memory, |of, out| pages(of, of.memory.file, out)),
    ("RssShmem", Memory, |of, out| pages(of, of.memory.shmem, out)),
    ("VmData", Memory, |of, out| pages(of, of.memory.data, out)),
    ("VmStk", Memory, |of, out| pages(of, of.memory.stack, out)),
    ("VmExe", Memory, |of, out| kibibytes(out, code_bytes(of).0 / 1024)),
    ("VmLib", Memory, |of, out| kibibytes(out, code_bytes(of).1 / 1024)),
    ("VmPTE", Memory, |of, out| kibibytes(out, of.memory.page_table_bytes / 1024)),
    ("VmSwap", Memory, |of, out| pages(of, of.memory.swap, out)),
    ("HugetlbPages", Memory, |of, out| pages(of, of.memory.hugetlb, out)),
    ("CoreDumping", Memory, |of, out| decimal(out, of.process.dumps_core)),
    ("THP_enabled", Memory, |of, out| {
        let is_enabled = of.dialect.has_huge_pages && of.memory.flags & HUGE_PAGES_DISABLED == 0;
        decimal(out, u8::from(is_enabled));
    }),
    ("untag_mask", Memory, |of, out| match of.memory.marks & abi::CPULEDGER_STATUS_HAS_UNTAG {
        0 => out.extend_from_slice(&of.dialect.untag_mask),
        _ => short_hexadecimal(out, of.memory.untag_mask),
    }),
    ("Threads", Signals, |of, out| decimal(out, of.process.process.threads)),
    ("SigQ", Signals, |of, out| {
        decimal(out, of.credentials.queued_signals);
        out.push(b'/');
        decimal(out, of.process.queued_signals_limit);
    }),
    ("SigPnd", Signals, |of, out| hexadecimal(out, of.task.pending_signals)),
    ("ShdPnd", Signals, |of, out| hexadecimal(out, of.process.shared_pending_signals)),
    ("SigBlk", Signals, |of, out| hexadecimal(out, of.task.blocked_signals)),
    ("SigIgn", Signals, |of, out| hexadecimal(out, of.process.ignored_signals)),
    ("SigCgt", Signals, |of, out| hexadecimal(out, of.process.caught_signals)),
    ("CapInh", Capabilities, |of, out| hexadecimal(out, of.credentials.inheritable)),
    ("CapPrm", Capabilities, |of, out| hexadecimal(out, of.credentials.permitted)),
    ("CapEff", Capabilities, |of, out| hexadecimal(out, of.credentials.effective)),
    ("CapBnd", Capabilities, |of, out| hexadecimal(out, of.credentials.bounding)),
    ("CapAmb", Capabilities, |of, out| hexadecimal(out, of.credentials.ambient)),
    ("NoNewPrivs", Security, |of, out| decimal(out, u8::from(of.task.atomic_flags & NO_NEW_PRIVILEGES != 0))),
    ("Seccomp", Security, |of, out| decimal(out, of.task.seccomp_mode)),
    ("Seccomp_filters", Security, |of, out| decimal(out, of.task.seccomp_filters)),
    ("Speculation_Store_Bypass", Security, |of, out| out.extend_from_slice(store_bypass(of))),
    ("SpeculationIndirectBranch", Security, |of, out| out.extend_from_slice(indirect_branch(of))),
    ("Cpus_allowed", Placement, |of, out| mask(out, &of.placement.cpus, of.dialect.cpus)),
    ("Cpus_allowed_list", Placement, |of, out| list(out, &of.placement.cpus, of.dialect.cpus)),
    ("Mems_allowed", Placement, |of, out| mask(out, &of.placement.nodes, of.dialect.nodes)),
    ("Mems_allowed_list", Placement, |of, out| list(out, &of.placement.nodes, of.dialect.nodes)),
    ("voluntary_ctxt_switches", Own, |of, out| decimal(out, of.task.voluntary_switches)),
    ("nonvoluntary_ctxt_switches", Own, |of, out| decimal(out, of.task.involuntary_switches)),
    ("x86_Thread_features", Own, |of, out| thread_features(out, of.task.thread_features)),
    ("x86_Thread_features_locked", Own, |of, out| thread_features(out, of.task.locked_thread_features)),
];

fn ids(out: &mut Vec<u8>, [first, others @ ..]: [u32; 4]) {
    decimal(out, first);
    others.into_iter().for_each(|id| tabbed(out, id));
}

/// The size of this number of pages.
fn pages(of: &Parts<'_>, count: u64, out: &mut Vec<u8>) {
    kibibytes(out, count.saturating_mul(of.dialect.page_bytes) / 1024);
}

/// Pages in memory.
fn resident(of: &Parts<'_>) -> u64 {
    of.memory.anonymous.saturating_add(of.memory.file).saturating_add(of.memory.shmem)
}

/// Pages of the program itself, in bytes, and of all other code.
fn code_bytes(of: &Parts<'_>) -> (u64, u64) {
    let executable = of.memory.executable.saturating_mul(of.dialect.page_bytes);
    let text = text_bytes(of).min(executable);
    (text, executable - text)
}

/// From the page where the program's code begins to the page where it ends.
pub(super) fn text_bytes(of: &Parts<'_>) -> u64 {
    let page_bytes = of.dialect.page_bytes;
    let end = of.memory.code_end.checked_next_multiple_of(page_bytes).unwrap_or(0);
    end.wrapping_sub(of.memory.code_start / page_bytes * page_bytes)
}

fn numbers(numbers: &[i32; LEVELS], of: &Parts<'_>, out: &mut Vec<u8>) {
    decimal(out, numbers[0]);
    let levels = of.task.namespace_level as usize;
    numbers.iter().skip(1).take(levels).for_each(|number| tabbed(out, *number));
}

/// Each group is followed by a blank; where there is none there is a blank, too.
fn groups(out: &mut Vec<u8>, credentials: &abi::cpuledger_status_credentials) {
    let count = credentials.group_count as usize;
    for group in credentials.groups.iter().take(count) {
        decimal(out, *group);
        out.push(b' ');
    }
    if count == 0 {
        out.push(b' ');
    }
}

fn state(task: &abi::cpuledger_status_task) -> &'static [u8] {
    match state_letter(task.state, task.exit_state).0 {
        b'R' => b"R (running)",
        b'S' => b"S (sleeping)",
        b'D' => b"D (disk sleep)",
        b'T' => b"T (stopped)",
        b't' => b"t (tracing stop)",
        b'X' => b"X (dead)",
        b'Z' => b"Z (zombie)",
        b'P' => b"P (parked)",
        _ => b"I (idle)",
    }
}

/// Where each task has its choice, what this process has there begins so; else it is the same for all.
fn store_bypass<'a>(of: &Parts<'a>) -> &'a [u8] {
    match of.task.atomic_flags {
        _ if !of.dialect.store_bypass.starts_with(b"thread ") => &of.dialect.store_bypass,
        flags if flags & STORE_BYPASS_FORCE_DISABLED != 0 => b"thread force mitigated",
        flags if flags & STORE_BYPASS_UNTIL_EXEC != 0 => b"vulnerable", // so the kernel puts it
        flags if flags & STORE_BYPASS_DISABLED != 0 => b"thread mitigated",
        _ => b"thread vulnerable",
    }
}

fn indirect_branch<'a>(of: &Parts<'a>) -> &'a [u8] {
    match of.task.atomic_flags {
        _ if !of.dialect.indirect_branch.starts_with(b"conditional ") => &of.dialect.indirect_branch,
        flags if flags & INDIRECT_BRANCH_FORCE_DISABLED != 0 => b"conditional force disabled",
        flags if flags & INDIRECT_BRANCH_DISABLED != 0 => b"conditional disabled",
        _ => b"conditional enabled",
    }
}

fn thread_features(out: &mut Vec<u8>, features: u64) {
    for (bit, name) in THREAD_FEATURES {
        if features & bit != 0 {
            out.extend_from_slice(name);
        }
    }
}
