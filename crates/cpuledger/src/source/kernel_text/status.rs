//! The lines of /proc/PID/status: `proc_pid_status` of fs/proc/array.c.

use cpuledger_bpf::abi;
use cpuledger_model::task::flags;

use super::bytes::{
    Head, decimal, escaped, hexadecimal, kibibytes, list, mask, octal, short_hexadecimal, tabbed,
};
use super::dialect::{Dialect, Line, Section};
use super::parts::{Parts, name};
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

/// Appends lines of one section.
pub(super) fn write_lines(
    dialect: &Dialect,
    section: Section,
    lines: &[(Head, Line)],
    of: &Parts<'_>,
    out: &mut Vec<u8>,
) {
    // What to look at is chosen for all lines, not for each.
    match (section, of.memory, of.credentials, of.placement) {
        (Section::Memory, Some(memory), ..) => {
            each_line(lines, out, |line, out| write_memory(dialect, line, memory, of, out));
        }
        (Section::Placement, _, _, Some(placement)) => {
            each_line(lines, out, |line, out| write_placement(dialect, line, placement, out));
        }
        (Section::Identity | Section::Capabilities | Section::Signals, _, Some(credentials), _) => {
            each_line(lines, out, |line, out| write_credentials(dialect, line, credentials, of, out));
        }
        _ => {
            let has_umask = of.task.marks & abi::CPULEDGER_STATUS_HAS_UMASK != 0;
            let lines = lines.iter().filter(|(_, line)| has_umask || *line != Line::Umask);
            each_line(lines, out, |line, out| write_value(dialect, line, of, out));
        }
    }
}

fn each_line<'a>(
    lines: impl IntoIterator<Item = &'a (Head, Line)>,
    out: &mut Vec<u8>,
    mut write_value: impl FnMut(Line, &mut Vec<u8>),
) {
    for (head, line) in lines {
        head.write(out);
        write_value(*line, out);
        out.push(b'\n');
    }
}

fn write_value(dialect: &Dialect, line: Line, of: &Parts<'_>, out: &mut Vec<u8>) {
    let Parts { task, process, .. } = of;
    match line {
        Line::Name => escaped(out, name(of).as_bytes()),
        Line::Umask => octal(out, task.umask),
        Line::State => out.extend_from_slice(state(task)),
        Line::Tgid => decimal(out, process.process.pid),
        Line::NumaGroup => decimal(out, task.numa_group),
        Line::Pid => decimal(out, task.tid),
        Line::ParentPid => decimal(out, process.process.ppid),
        Line::TracerPid => decimal(out, task.tracer_pid),
        Line::FileTable => decimal(out, task.max_fds),
        Line::KernelThread => decimal(out, u8::from(process.process.flags & flags::KTHREAD != 0)),
        Line::Threads => decimal(out, process.process.threads),
        Line::PendingSignals => hexadecimal(out, task.pending_signals),
        Line::SharedPendingSignals => hexadecimal(out, process.shared_pending_signals),
        Line::BlockedSignals => hexadecimal(out, task.blocked_signals),
        Line::IgnoredSignals => hexadecimal(out, process.ignored_signals),
        Line::CaughtSignals => hexadecimal(out, process.caught_signals),
        Line::NoNewPrivileges => decimal(out, u8::from(task.atomic_flags & NO_NEW_PRIVILEGES != 0)),
        Line::Seccomp => decimal(out, task.seccomp_mode),
        Line::SeccompFilters => decimal(out, task.seccomp_filters),
        Line::StoreBypass => out.extend_from_slice(store_bypass(dialect, task.atomic_flags)),
        Line::IndirectBranch => out.extend_from_slice(indirect_branch(dialect, task.atomic_flags)),
        Line::VoluntarySwitches => decimal(out, task.voluntary_switches),
        Line::InvoluntarySwitches => decimal(out, task.involuntary_switches),
        Line::ThreadFeatures => thread_features(out, task.thread_features),
        Line::LockedThreadFeatures => thread_features(out, task.locked_thread_features),
        Line::NamespacePids => numbers(&process.namespace_pids, of, out),
        Line::NamespaceTids => numbers(&task.namespace_tids, of, out),
        Line::NamespacePgids => numbers(&process.namespace_pgids, of, out),
        Line::NamespaceSids => numbers(&process.namespace_sids, of, out),
        _ => {}
    }
}

/// Lines of sections that have to do with credentials.
fn write_credentials(
    dialect: &Dialect,
    line: Line,
    credentials: &abi::cpuledger_status_credentials,
    of: &Parts<'_>,
    out: &mut Vec<u8>,
) {
    match line {
        Line::Uids => {
            decimal(out, credentials.uid);
            [credentials.euid, credentials.suid, credentials.fsuid]
                .into_iter()
                .for_each(|uid| tabbed(out, uid));
        }
        Line::Gids => {
            decimal(out, credentials.gid);
            [credentials.egid, credentials.sgid, credentials.fsgid]
                .into_iter()
                .for_each(|gid| tabbed(out, gid));
        }
        Line::Groups => groups(out, credentials),
        Line::QueuedSignals => {
            decimal(out, credentials.queued_signals);
            out.push(b'/');
            decimal(out, of.process.queued_signals_limit);
        }
        Line::Inheritable => hexadecimal(out, credentials.inheritable),
        Line::Permitted => hexadecimal(out, credentials.permitted),
        Line::Effective => hexadecimal(out, credentials.effective),
        Line::Bounding => hexadecimal(out, credentials.bounding),
        Line::Ambient => hexadecimal(out, credentials.ambient),
        _ => write_value(dialect, line, of, out),
    }
}

fn write_placement(
    dialect: &Dialect,
    line: Line,
    placement: &abi::cpuledger_status_placement,
    out: &mut Vec<u8>,
) {
    match line {
        Line::Cpus => mask(out, &placement.cpus, dialect.cpus),
        Line::CpuList => list(out, &placement.cpus, dialect.cpus),
        Line::Nodes => mask(out, &placement.nodes, dialect.nodes),
        Line::NodeList => list(out, &placement.nodes, dialect.nodes),
        _ => {}
    }
}

fn write_memory(
    dialect: &Dialect,
    line: Line,
    memory: &abi::cpuledger_status_memory,
    of: &Parts<'_>,
    out: &mut Vec<u8>,
) {
    let resident = memory.anonymous.saturating_add(memory.file).saturating_add(memory.shmem);
    let pages = |count: u64| count.saturating_mul(dialect.page_bytes);
    let bytes = match line {
        Line::CoreDumping => return decimal(out, of.process.dumps_core),
        Line::HugePages => {
            let is_enabled = dialect.has_huge_pages && memory.flags & HUGE_PAGES_DISABLED == 0;
            return decimal(out, u8::from(is_enabled));
        }
        Line::UntagMask if memory.marks & abi::CPULEDGER_STATUS_HAS_UNTAG != 0 => {
            return short_hexadecimal(out, memory.untag_mask);
        }
        Line::UntagMask => return out.extend_from_slice(&dialect.untag_mask),
        Line::PageTables => memory.page_table_bytes,
        Line::Executable => code_bytes(memory, dialect.page_bytes).0,
        Line::Libraries => code_bytes(memory, dialect.page_bytes).1,
        Line::VirtualPeak => pages(memory.virtual_peak.max(memory.virtual_now)),
        Line::VirtualNow => pages(memory.virtual_now),
        Line::Locked => pages(memory.locked),
        Line::Pinned => pages(memory.pinned),
        Line::ResidentPeak => pages(memory.resident_peak.max(resident)),
        Line::Resident => pages(resident),
        Line::Anonymous => pages(memory.anonymous),
        Line::File => pages(memory.file),
        Line::Shmem => pages(memory.shmem),
        Line::Data => pages(memory.data),
        Line::Stack => pages(memory.stack),
        Line::Swap => pages(memory.swap),
        Line::HugetlbPages => pages(memory.hugetlb),
        _ => return,
    };
    kibibytes(out, bytes / 1024);
}

/// Pages of the program itself, in bytes, and of all other code.
pub(super) fn code_bytes(memory: &abi::cpuledger_status_memory, page_bytes: u64) -> (u64, u64) {
    let executable = memory.executable.saturating_mul(page_bytes);
    let text = text_bytes(memory, page_bytes).min(executable);
    (text, executable - text)
}

/// From the page where the program's code begins to the page where it ends.
pub(super) fn text_bytes(memory: &abi::cpuledger_status_memory, page_bytes: u64) -> u64 {
    let end = memory.code_end.checked_next_multiple_of(page_bytes).unwrap_or(0);
    end.wrapping_sub(memory.code_start / page_bytes * page_bytes)
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
fn store_bypass(dialect: &Dialect, flags: u64) -> &[u8] {
    match flags {
        _ if !dialect.store_bypass.starts_with(b"thread ") => &dialect.store_bypass,
        flags if flags & STORE_BYPASS_FORCE_DISABLED != 0 => b"thread force mitigated",
        flags if flags & STORE_BYPASS_UNTIL_EXEC != 0 => b"vulnerable", // so the kernel puts it
        flags if flags & STORE_BYPASS_DISABLED != 0 => b"thread mitigated",
        _ => b"thread vulnerable",
    }
}

fn indirect_branch(dialect: &Dialect, flags: u64) -> &[u8] {
    match flags {
        _ if !dialect.indirect_branch.starts_with(b"conditional ") => &dialect.indirect_branch,
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
