//! Records of the kernel half as rows: what a walk has written, and what was read of a list of tasks.

use std::mem::offset_of;

use cpuledger_bpf::{Mechanism, Walked, abi};
use cpuledger_model::boottime::Boottime;
use cpuledger_model::counters::Counters;
use cpuledger_model::exit::{Birth, Death, Exit};
use cpuledger_model::field::{DELAYS, Field, FieldSet, GUARDED, Group, OF_ACCOUNTS};
use cpuledger_model::make;
use cpuledger_model::snapshot::{Request, Snapshot};
use cpuledger_model::task::{Comm, Guard, Pid, State, Task, TaskId, Tid};
use rustix::param::page_size;

use crate::source::io_access::IoAccess;

/// The counters of `struct cpuledger_activity`: it has the members of the fields of this group, by name.
macro_rules! activity {
    ({ $($field:ident $member:ident)* }) => {
        const ACTIVITY: FieldSet = FieldSet::of(&[$(Field::$field),*]);

        /// Those of which this kernel keeps no count.
        fn lacking_activity(lacks: u32) -> FieldSet {
            let bit = |offset: usize| abi::CPULEDGER_LACKS_ACTIVITY << (offset / size_of::<u64>());
            [$((Field::$field, bit(offset_of!(abi::cpuledger_activity, $member)))),*]
                .into_iter()
                .filter(|(_, bit)| lacks & bit != 0)
                .fold(FieldSet::EMPTY, |lacking, (field, _)| lacking.union(FieldSet::of(&[field])))
        }

        fn set_activity(row: &mut Task, activity: &abi::cpuledger_activity) {
            let &abi::cpuledger_activity { $($member),* } = activity;
            $(row.$member = $member;)*
        }

        fn combined_activity(
            one: &abi::cpuledger_activity,
            other: &abi::cpuledger_activity,
            with: impl Fn(u64, u64) -> u64,
        ) -> abi::cpuledger_activity {
            abi::cpuledger_activity { $($member: with(one.$member, other.$member)),* }
        }
    };
    (
        { $($found:tt)* }
        #[cumulative] $field:ident $id:literal $column:ident $member:ident: u64, $unit:ident Activity $guard:ident $help:literal;
        $($rest:tt)*
    ) => {
        activity! { { $($found)* $field $member } $($rest)* }
    };
    (
        $found:tt
        $(#[cumulative])? $field:ident $id:literal $column:ident $member:ident: $type:ident, $unit:ident $group:ident $guard:ident $help:literal;
        $($rest:tt)*
    ) => {
        activity! { $found $($rest)* }
    };
}
cpuledger_model::field_table!(activity! {});

/// What a walk tells of a process by the visit of all its threads. A counter that is missing here is shown for leaders as if it were
/// the total.
pub(super) const WALK_TOTALS: FieldSet =
    ACTIVITY.union(FieldSet::of(&[Field::Runtime, Field::User, Field::System]));
const MEMORY: FieldSet = FieldSet::of(&[Field::Vsize, Field::Rss, Field::Shared, Field::Swap, Field::Locked]);
const CGROUP: FieldSet = FieldSet::of(&[Field::CgroupId, Field::CgroupV1CpuId]);

/// Groups of fields that the kernel half reads on demand.
const GROUPS: [(Group, u32); 9] = [
    (Group::Detail, abi::CPULEDGER_READ_DETAIL),
    (Group::Credentials, abi::CPULEDGER_READ_CREDENTIALS | abi::CPULEDGER_READ_DETAIL),
    (Group::Activity, abi::CPULEDGER_READ_ACTIVITY | abi::CPULEDGER_READ_DETAIL),
    (Group::Memory, abi::CPULEDGER_READ_MEMORY),
    (Group::Resident, abi::CPULEDGER_READ_RSS),
    (Group::Cgroup, abi::CPULEDGER_READ_CGROUP),
    (Group::Name, abi::CPULEDGER_READ_KTHREAD_NAME),
    (Group::Session, abi::CPULEDGER_READ_SESSION),
    (Group::Namespace, abi::CPULEDGER_READ_NAMESPACE | abi::CPULEDGER_READ_DETAIL),
];

/// The groups of the kernel half that these fields belong to.
pub(super) fn groups(fields: FieldSet) -> u32 {
    let needed = GROUPS.into_iter().filter(|(group, _)| fields.needs(*group));
    needed.fold(0, |groups, (_, bits)| groups | bits)
}

/// The fields that programs with only these groups do not read.
pub(super) fn not_loaded(loaded: u32) -> FieldSet {
    let lacking = GROUPS.into_iter().filter(|(_, bits)| loaded & bits != *bits);
    lacking.fold(FieldSet::EMPTY, |fields, (group, _)| fields.union(FieldSet::of_group(group)))
}

/// What this kernel was built without, and what is not read at all.
pub(super) fn lacking(lacks: u32) -> FieldSet {
    [
        (abi::CPULEDGER_LACKS_CGROUP, CGROUP),
        (abi::CPULEDGER_LACKS_RSS_SUM, FieldSet::of(&[Field::Rss, Field::Shared, Field::Swap])),
    ]
    .into_iter()
    .filter(|(bit, _)| lacks & bit != 0)
    .fold(DELAYS.union(OF_ACCOUNTS).union(lacking_activity(lacks)), |unknown, (_, fields)| {
        unknown.union(fields)
    })
}

/// One task: what most listings show, and the rest where it was read.
#[derive(Clone, Copy)]
pub(super) struct Recorded<'a> {
    task: &'a abi::cpuledger_task,
    rest: Option<&'a abi::cpuledger_task_rest>,
}

/// Turns records into rows: what is known is decided once a walk, not once a task.
pub(crate) struct Decoder<'a> {
    walked: Walked<'a>,
    known: FieldSet,
    page_bytes: u64,
    has_tasks: bool,
    /// Whether the names of kernel threads were read; where not, the buffers hold those of an earlier walk.
    has_names: bool,
    /// The bpf iterator visits by tid: threads are not summed and do not know the record of their process.
    by_tid: bool,
    /// What of the I/O that was read may be told; none where no I/O is wanted or all may be.
    io: Option<IoAccess>,
}

/// Sorts the rows of one or more readings, each once.
pub(crate) fn sort_rows(into: &mut Snapshot) {
    if !into.processes.is_sorted_by_key(|row| row.pid) {
        into.processes.sort_by_key(|row| row.pid);
    }
    into.processes.dedup_by_key(|row| row.pid);
    let order = |row: &Task| (row.pid, !row.is_leader());
    if !into.tasks.is_sorted_by_key(order) {
        into.tasks.sort_by_key(order);
    }
    into.tasks.dedup_by_key(|row| row.tid);
}

impl<'a> Decoder<'a> {
    pub(crate) fn new(walked: Walked<'a>, request: &Request, io: IoAccess) -> Decoder<'a> {
        let mut unknown = lacking(walked.lacks);
        for (group, _) in GROUPS {
            if !request.fields.needs(group) {
                unknown = unknown.union(FieldSet::of_group(group));
            }
        }
        let known = FieldSet::ALL.without(unknown);
        Decoder {
            known,
            io: Some(io).filter(|io| known.intersects(GUARDED) && !io.is_unlimited()),
            page_bytes: page_size() as u64,
            has_tasks: request.scope.has_tasks(),
            has_names: request.fields.needs(Group::Name),
            by_tid: walked.mechanism == Mechanism::Iterator,
            walked,
        }
    }

    pub(crate) fn decode(&self, sums: &mut Vec<abi::cpuledger_counters>, into: &mut Snapshot) {
        if self.by_tid {
            self.sum_threads(sums);
        }
        self.append(sums, into);
        sort_rows(into);
    }

    /// Appends rows. Where they are not of one reading, they are sorted once all of them are there: [`sort_rows`].
    pub(crate) fn append(&self, sums: &[abi::cpuledger_counters], into: &mut Snapshot) {
        into.processes.reserve(self.walked.processes.len());
        if self.has_tasks {
            into.tasks.reserve(self.walked.tasks.len());
        }
        for (index, process) in self.walked.processes.iter().enumerate() {
            let group = if self.by_tid { &sums[index] } else { &process.group };
            let Some(mut row) = self.process_row(process) else { continue };
            set_counters(&mut row, group);
            into.processes.push(row);
        }
        if self.has_tasks {
            self.task_rows(into);
        }
    }

    /// The record of the leader of a process, if it is that: an exec by another thread may have come in between.
    fn leader_of(&self, process: &abi::cpuledger_process) -> Option<Recorded<'a>> {
        let leader = self.recorded(process.task_index as usize)?;
        (leader.task.tid == process.pid && leader.task.pid == process.pid).then_some(leader)
    }

    /// Both records of a task.
    fn recorded(&self, index: usize) -> Option<Recorded<'a>> {
        let Walked { tasks, rests, .. } = self.walked;
        Some(Recorded { task: tasks.get(index)?, rest: rests.get(index) })
    }

    /// Both of each task from this one on.
    fn recorded_from(&self, first: usize) -> impl Iterator<Item = Recorded<'a>> {
        (first..).map_while(|index| self.recorded(index))
    }

    /// Those of the tasks from this one on that belong to that process.
    pub(super) fn family(&self, first: usize, pid: i32) -> impl Iterator<Item = Recorded<'a>> {
        self.recorded_from(first).take_while(move |of_it| of_it.task.pid == pid)
    }

    /// The size of this number of pages in all.
    fn bytes(&self, pages: &[u64]) -> u64 {
        pages.iter().fold(0, |sum: u64, pages| sum.saturating_add(*pages)).saturating_mul(self.page_bytes)
    }

    /// What the threads of a process share, and what its leader says of it.
    pub(super) fn process_row(&self, process: &abi::cpuledger_process) -> Option<Task> {
        let leader = self.leader_of(process)?;
        let mut known = self.known;
        if process.totals_known == 0 {
            known = known.without(WALK_TOTALS);
        }
        let is_kernel_thread = process.flags & cpuledger_model::task::flags::KTHREAD != 0;
        if process.has_mm == 0 && process.threads > 1 && !is_kernel_thread {
            known = known.without(MEMORY); // the leader is dead and has let go of it; its threads have not
        }
        let mut row = make!(Task {
            known,
            pid: Pid(process.pid),
            ppid: Pid(process.ppid),
            pgid: process.pgid,
            sid: process.sid,
            tty_device: process.tty_device,
            tty_pgid: process.tty_pgid,
            threads: process.threads,
            children_user_ns: process.children_user_ns,
            children_system_ns: process.children_system_ns,
            children_minor_faults: process.children_minor_faults,
            children_major_faults: process.children_major_faults,
            vsize_bytes: self.bytes(&[process.vsize_pages]),
            rss_bytes: self.bytes(&[
                process.rss_anonymous_pages,
                process.rss_file_pages,
                process.rss_shmem_pages,
            ]),
            shared_bytes: self.bytes(&[process.rss_file_pages, process.rss_shmem_pages]),
            swap_bytes: self.bytes(&[process.swap_pages]),
            locked_bytes: self.bytes(&[process.locked_pages]),
        });
        set_identity(&mut row, &leader);
        if !known.contains(Field::State) && process.flags & cpuledger_model::task::flags::EXITING != 0 {
            // Details were not read. Its memory is gone or going, and it runs no program any more.
            row.state = State(b'Z');
            row.known = known.union(FieldSet::of(&[Field::State]));
        }
        if is_kernel_thread && self.has_names {
            row.comm = kernel_thread_name(process, &leader.task.comm);
        }
        if self.io.is_some_and(|io| !io.permits(&row)) {
            row.known = row.known.without(GUARDED);
        }
        Some(row)
    }

    fn task_rows(&self, into: &mut Snapshot) {
        // The row of the process a run of tasks belongs to, to copy what they share.
        let mut shared: Option<(i32, Task)> = None;
        for record in self.recorded_from(0) {
            let pid = record.task.pid;
            let is_open = shared.as_ref().is_some_and(|(open, _)| *open == pid);
            if !is_open {
                let process = self.process_of(record.task).and_then(|process| self.process_row(process));
                shared = process.map(|row| (pid, row));
            }
            // A thread whose leader was not seen comes and goes with an exec of another thread.
            let Some((_, shared)) = &shared else { continue };
            let mut row = *shared;
            self.set_task(&mut row, shared, &record);
            into.tasks.push(row);
        }
    }

    /// Makes a row that holds what a process shares, or another of its tasks, that of this task.
    pub(super) fn set_task(&self, row: &mut Task, shared: &Task, record: &Recorded<'_>) {
        if record.task.tid == record.task.pid {
            *row = *shared;
        } else {
            set_identity(row, record);
        }
        let may_tell_io = self.io.is_none_or(|io| shared.known.intersects(GUARDED) && io.is_own(row));
        let own = if may_tell_io { WALK_TOTALS } else { WALK_TOTALS.without(GUARDED) };
        row.known = shared.known.union(own.intersection(self.known)); // its own, not those of the process
        if !may_tell_io {
            row.known = row.known.without(GUARDED);
        }
        set_cpu_time(row, &record.task.cpu_time);
        if let Some(rest) = record.rest {
            set_activity(row, &rest.activity);
        }
    }

    /// The record of the process of a task.
    fn process_of(&self, task: &abi::cpuledger_task) -> Option<&'a abi::cpuledger_process> {
        let processes = self.walked.processes;
        let index = if self.by_tid {
            processes.binary_search_by_key(&task.pid, |process| process.pid).ok()?
        } else {
            task.process_index as usize
        };
        processes.get(index).filter(|process| process.pid == task.pid)
    }

    /// The totals of each process where the kernel half visited tasks in the order of tids.
    fn sum_threads(&self, sums: &mut Vec<abi::cpuledger_counters>) {
        let processes = self.walked.processes;
        sums.clear();
        sums.extend(processes.iter().map(|process| process.group));
        let threads = self.recorded_from(0).filter(|recorded| recorded.task.tid != recorded.task.pid);
        for Recorded { task, rest } in threads {
            let Ok(index) = processes.binary_search_by_key(&task.pid, |process| process.pid) else {
                continue;
            };
            let (cpu_time, activity) =
                (task.cpu_time, rest.map_or_else(Default::default, |rest| rest.activity));
            let thread = abi::cpuledger_counters { cpu_time, activity };
            sums[index] = combined(&sums[index], &thread, u64::saturating_add); // no record may end the program
        }
    }
}

/// What a task says of itself.
fn set_identity(row: &mut Task, Recorded { task, rest }: &Recorded<'_>) {
    row.tid = Tid(task.tid);
    row.start_time_ns = Boottime::from_ns(task.start_time_ns);
    row.uid = task.uid;
    row.euid = task.euid;
    row.state = state_letter(task.state, task.exit_state.into());
    row.flags = task.flags;
    row.exit_signal = task.exit_signal.into();
    row.nice = task.nice.into();
    row.priority = task.priority.into();
    row.rt_priority = task.rt_priority.into();
    row.policy = task.policy.into();
    row.processor = task.processor;
    row.comm = Comm::from_c_bytes(&task.comm);
    let Some(rest) = rest else { return };
    // By name, so that the compiler asks for a new member.
    let abi::cpuledger_task_rest {
        activity: _, // set_activity
        namespace_tid,
        namespace_level: _,
        trace,
        suid,
        fsuid,
        gid,
        egid,
        sgid,
        fsgid,
        cgroup_id,
        cgroup_v1_cpu_id,
    } = **rest;
    row.guard = if row.known.contains(Field::Suid) { guard(trace.into()) } else { Guard::Unknown };
    (row.suid, row.fsuid) = (suid, fsuid);
    (row.gid, row.egid, row.sgid, row.fsgid) = (gid, egid, sgid, fsgid);
    row.namespace_tid = namespace_tid;
    (row.cgroup_id, row.cgroup_v1_cpu_id) = (cgroup_id, cgroup_v1_cpu_id);
}

/// `__ptrace_may_access` (kernel/ptrace.c) and `cap_ptrace_access_check` (security/commoncap.c), for a tracer without capabilities in the
/// initial user namespace that has the users and groups of the task. The maker of a user namespace has all capabilities in it.
fn guard(trace: u32) -> Guard {
    let is = |bit| trace & bit != 0;
    let hinders = if is(abi::CPULEDGER_TRACE_OUTSIDE) {
        abi::CPULEDGER_TRACE_OF_OTHER
    } else {
        abi::CPULEDGER_TRACE_CAPABLE
    };
    if is(hinders | abi::CPULEDGER_TRACE_GUARDED) { Guard::Guarded } else { Guard::Open }
}

/// The cumulative figures of a task or of a process.
pub(super) fn set_counters(row: &mut Task, counters: &abi::cpuledger_counters) {
    set_cpu_time(row, &counters.cpu_time);
    set_activity(row, &counters.activity);
}

fn set_cpu_time(row: &mut Task, cpu_time: &abi::cpuledger_cpu_time) {
    let (user_ns, system_ns) = scaled_cpu_time(cpu_time);
    row.runtime_ns = cpu_time.runtime_ns;
    row.user_ns = user_ns;
    row.system_ns = system_ns;
}

/// The figures of a task by themselves: all are known that a task has.
pub(super) fn counters_of(counters: &abi::cpuledger_counters) -> Counters {
    let mut row = make!(Task { known: WALK_TOTALS });
    set_counters(&mut row, counters);
    Counters::of(&row)
}

/// Of a task that used nothing: what programs read is known to be 0.
pub(super) fn nothing_used() -> Counters {
    make!(Counters { known: Counters::FIELDS.without(DELAYS).without(OF_ACCOUNTS), ..Counters::ZERO })
}

/// Both, counter by counter; what /proc has shown of a process stays that of `one`.
pub(super) fn combined(
    one: &abi::cpuledger_counters,
    other: &abi::cpuledger_counters,
    with: impl Fn(u64, u64) -> u64,
) -> abi::cpuledger_counters {
    let (time, by) = (&one.cpu_time, &other.cpu_time);
    let cpu_time = abi::cpuledger_cpu_time {
        runtime_ns: with(time.runtime_ns, by.runtime_ns),
        tick_user_ns: with(time.tick_user_ns, by.tick_user_ns),
        tick_system_ns: with(time.tick_system_ns, by.tick_system_ns),
        shown_user_ns: time.shown_user_ns,
        shown_system_ns: time.shown_system_ns,
    };
    abi::cpuledger_counters { cpu_time, activity: combined_activity(&one.activity, &other.activity, with) }
}

/// User and system time as the kernel shows them: `cputime_adjust` of kernel/sched/cputime.c. The exact runtime is
/// divided in the proportion of the sampled ticks, and neither part falls below what the kernel has shown before.
pub(crate) fn scaled_cpu_time(cpu_time: &abi::cpuledger_cpu_time) -> (u64, u64) {
    let runtime = cpu_time.runtime_ns;
    let (user, system) = (cpu_time.tick_user_ns, cpu_time.tick_system_ns);
    let (shown_user, shown_system) = (cpu_time.shown_user_ns, cpu_time.shown_system_ns);
    if shown_user.saturating_add(shown_system) >= runtime {
        return (shown_user, shown_system);
    }
    let scaled_system = if system == 0 {
        0
    } else if user == 0 {
        runtime
    } else {
        let total = u128::from(user) + u128::from(system);
        (u128::from(system) * u128::from(runtime) / total).min(u128::from(runtime)) as u64
    };
    let system = scaled_system.max(shown_system);
    let user = runtime - system;
    if user < shown_user { (shown_user, runtime - shown_user) } else { (user, system) }
}

/// The letter of /proc/PID/stat: `task_state_index` of include/linux/sched.h.
pub(crate) fn state_letter(state: u32, exit_state: u32) -> State {
    const REPORTED: u32 = 0x7f;
    const IDLE: u32 = 0x402; // TASK_UNINTERRUPTIBLE | TASK_NOLOAD
    const LOCK_OR_FROZEN: u32 = 0x1000 | 0x8000; // TASK_RTLOCK_WAIT, TASK_FROZEN: shown as uninterruptible
    const LETTERS: &[u8; 9] = b"RSDTtXZPI";
    let mut reported = (state | exit_state) & REPORTED;
    if state & IDLE == IDLE {
        reported = REPORTED + 1;
    }
    if state & LOCK_OR_FROZEN != 0 {
        reported = 2;
    }
    State(LETTERS[(u32::BITS - reported.leading_zeros()) as usize])
}

/// The name /proc shows: `proc_task_name` of fs/proc/array.c. Of a worker it is followed by what it works on, and that of
/// a rescuer has the name of its workqueue in full (Linux 6.11, 2a1b02bcba78).
pub(crate) fn kernel_thread_name(process: &abi::cpuledger_process, comm: &[u8]) -> Comm {
    const RESCUER: &[u8] = b"kworker/R-";
    let comm = Comm::from_c_bytes(comm);
    let long = Comm::from_c_bytes(&process.name);
    if process.flags & cpuledger_model::task::flags::WORKQUEUE_WORKER == 0 {
        return if long.as_bytes().is_empty() { comm } else { long };
    }
    let is_rescuer = comm.as_bytes().starts_with(RESCUER) && !long.as_bytes().is_empty();
    let (prefix, id) = if is_rescuer { (RESCUER, long) } else { (&b""[..], comm) };
    let description = Comm::from_c_bytes(&process.worker_description);
    if process.is_worker == 0 || description.as_bytes().is_empty() {
        return concatenated([prefix, id.as_bytes(), b"", b""]);
    }
    let sign: &[u8] = if process.worker_is_busy != 0 { b"+" } else { b"-" };
    concatenated([prefix, id.as_bytes(), sign, description.as_bytes()])
}

/// The parts one after another, as far as they fit.
fn concatenated(parts: [&[u8]; 4]) -> Comm {
    let mut name = [0u8; Comm::MAX_BYTES];
    let mut length = 0;
    for part in parts {
        let fits = part.len().min(name.len() - length);
        name[length..length + fits].copy_from_slice(&part[..fits]);
        length += fits;
    }
    Comm::new(&name[..length])
}

pub(crate) fn decode_birth(record: &abi::cpuledger_birth) -> Birth {
    make!(Birth {
        process: TaskId::new(record.pid, record.start_time_ns),
        parent: TaskId::new(record.parent_pid, record.parent_start_time_ns),
    })
}

/// The cgroups of a dead task, as those of a row: that of the cpu controller is known where the other one is.
pub(crate) fn of_dead(cgroup_id: u64, cgroup_v1_cpu_id: u64) -> (Option<u64>, Option<u64>) {
    if cgroup_id == 0 { (None, None) } else { (Some(cgroup_id), Some(cgroup_v1_cpu_id)) }
}

pub(crate) fn decode_death(record: &abi::cpuledger_exit) -> Death {
    let (cgroup_id, cgroup_v1_cpu_id) = of_dead(record.cgroup_id, record.cgroup_v1_cpu_id);
    let exit = make!(Exit {
        task: TaskId::new(record.tid, record.start_time_ns),
        process: TaskId::new(record.pid, record.process_start_time_ns),
        ppid: Pid(record.ppid),
        comm: Comm::from_c_bytes(&record.comm),
        uid: record.uid,
        euid: Some(record.euid),
        exit_code: Some(record.exit_code),
        runtime_ns: record.runtime_ns,
        lifetime_ns: record.lifetime_ns,
        cgroup_id,
        cgroup_v1_cpu_id,
    });
    make!(Death { exit, at: Boottime::from_ns(record.end_time_ns) })
}
