//! The line of /proc/PID/stat and of statm: `do_task_stat` and `proc_pid_statm` of fs/proc/array.c.

use super::bytes::{decimal, spaced};
use super::parts::{Parts, name};
use super::status::text_bytes;
use crate::source::records::{scaled_cpu_time, state_letter};

/// `SIGNAL_STOP_STOPPED` and `SIGNAL_GROUP_EXIT` of include/linux/sched/signal.h: the process has an exit code of its own.
const HAS_GROUP_EXIT_CODE: u32 = 1 << 0 | 1 << 2;

/// Signals that stat shows: without the real-time ones.
const OLD_SIGNALS: u64 = 0x7fff_ffff;

/// The line of a task, or of its process.
pub(super) fn write_stat(of: &Parts<'_>, is_process: bool, out: &mut Vec<u8>) {
    let (task, process, memory) = (of.task, &of.process.process, of.memory);
    decimal(out, task.tid);
    out.extend_from_slice(b" (");
    out.extend_from_slice(name(of).as_bytes());
    out.extend_from_slice(b") ");
    out.push(state_letter(task.state, task.exit_state).0);
    for number in
        [process.ppid, process.pgid, process.sid, process.tty_device.cast_signed(), process.tty_pgid]
    {
        spaced(out, number);
    }
    spaced(out, task.flags);
    write_times(of, is_process, out);
    for number in [task.priority, task.nice, process.threads.cast_signed(), 0] {
        spaced(out, number);
    }
    spaced(out, task.start_time_ns / of.dialect.ns_per_tick);
    spaced(out, memory.virtual_now.saturating_mul(of.dialect.page_bytes));
    spaced(out, memory.resident_coarse);
    spaced(out, of.process.resident_limit);
    let addresses = match of.has_memory && !of.dialect.sees_addresses {
        true => [1, 1, 0],
        false => [memory.code_start, memory.code_end, memory.stack_start],
    };
    addresses.into_iter().for_each(|address| spaced(out, address));
    out.extend_from_slice(b" 0 0"); // the kernel shows the registers of tasks alone that are dumping core
    write_signals(of, is_process, out);
    write_end(of, is_process, out);
    out.push(b'\n');
}

fn write_times(of: &Parts<'_>, is_process: bool, out: &mut Vec<u8>) {
    let process = &of.process.process;
    let (group, task) = (&process.group, of.task);
    let (cpu_time, minor_faults, major_faults) = match is_process {
        true => (&group.cpu_time, group.activity.minor_faults, group.activity.major_faults),
        false => (&task.cpu_time, task.minor_faults, task.major_faults),
    };
    let (user_ns, system_ns) = scaled_cpu_time(cpu_time);
    for faults in [minor_faults, process.children_minor_faults, major_faults, process.children_major_faults] {
        spaced(out, faults);
    }
    for ns in [user_ns, system_ns, process.children_user_ns, process.children_system_ns] {
        spaced(out, ns / of.dialect.ns_per_tick);
    }
}

fn write_signals(of: &Parts<'_>, is_process: bool, out: &mut Vec<u8>) {
    let (task, process) = (of.task, of.process);
    for signals in
        [task.pending_signals, task.blocked_signals, process.ignored_signals, process.caught_signals]
    {
        spaced(out, signals & OLD_SIGNALS);
    }
    let is_one_task = !is_process || process.process.threads < 2;
    spaced(out, u8::from(of.dialect.sees_addresses && is_one_task && task.state != 0));
    out.extend_from_slice(b" 0 0");
}

fn write_end(of: &Parts<'_>, is_process: bool, out: &mut Vec<u8>) {
    let (task, process, memory) = (of.task, of.process, of.memory);
    spaced(out, task.exit_signal);
    for number in [task.processor, task.rt_priority, task.policy] {
        spaced(out, number);
    }
    let guest_ns = if is_process { process.guest_ns } else { task.guest_ns };
    for ns in [task.block_delay_ns, guest_ns, process.children_guest_ns] {
        spaced(out, ns / of.dialect.ns_per_tick);
    }
    for address in [
        memory.data_start,
        memory.data_end,
        memory.heap_start,
        memory.arguments_start,
        memory.arguments_end,
        memory.environment_start,
        memory.environment_end,
    ] {
        spaced(out, if of.dialect.sees_addresses { address } else { 0 });
    }
    spaced(
        out,
        match of.dialect.sees_addresses {
            true if is_process && process.signal_flags & HAS_GROUP_EXIT_CODE != 0 => process.group_exit_code,
            true => task.exit_code,
            false => 0,
        },
    );
}

/// Pages: size, resident, shared, text, 0, data, 0.
pub(super) fn write_statm(of: &Parts<'_>, out: &mut Vec<u8>) {
    let memory = of.memory;
    let shared = memory.file.saturating_add(memory.shmem);
    decimal(out, memory.virtual_now);
    spaced(out, shared.saturating_add(memory.anonymous));
    spaced(out, shared);
    spaced(out, text_bytes(of) / of.dialect.page_bytes);
    out.extend_from_slice(b" 0");
    spaced(out, memory.data.saturating_add(memory.stack));
    out.extend_from_slice(b" 0\n");
}
