//! The keys of an interval, of its dead and of its blocked tasks: one list of each for JSON and for what reads intervals from other languages. Those
//! of rows are in [`crate::key`].

use cpuledger_model::field::Value;
use cpuledger_model::interval::{Blocked, Exited, Interval};
use cpuledger_model::pairs::{CgroupIds, Party, WaitPair};
use cpuledger_model::task::Pid;
use cpuledger_model::waits::WaitTotals;
use cpuledger_model::wire::{WireCgroup, WireUse};
use cpuledger_model::{Lived, SourceKind, States};

/// A key, and its value.
#[derive(Debug)]
pub struct Member<T: 'static> {
    /// Its name: snake_case, unit last.
    pub key: &'static str,
    /// What it is of this one.
    pub value: for<'a> fn(&'a T) -> Value<'a>,
}

pub(crate) const fn member<T>(key: &'static str, value: for<'a> fn(&'a T) -> Value<'a>) -> Member<T> {
    Member { key, value }
}

pub(crate) fn known(number: Option<u64>) -> Value<'static> {
    number.map_or(Value::Absent, Value::Unsigned)
}

/// A text, if it is known.
pub(crate) fn known_bytes(text: Option<&[u8]>) -> Value<'_> {
    text.map_or(Value::Absent, Value::Bytes)
}

/// A name; empty is not known.
pub(crate) fn known_name(name: &[u8]) -> Value<'_> {
    known_bytes(Some(name).filter(|name| !name.is_empty()))
}

fn known_pid(pid: Option<Pid>) -> Value<'static> {
    pid.map_or(Value::Absent, |pid| Value::Signed(pid.0.into()))
}

/// The sums of an interval, and what they are of.
pub static TOTALS: [Member<Interval>; 7] = [
    member("start_ns", |interval| Value::Unsigned(interval.start_ns)),
    member("end_ns", |interval| Value::Unsigned(interval.end_ns)),
    member("online_cpus", |interval| Value::Unsigned(interval.online_cpus.into())),
    member("capacity_ns", |interval| Value::Unsigned(interval.capacity_ns)),
    member("attributed_ns", |interval| Value::Unsigned(interval.attributed_ns)),
    member("idle_ns", |interval| known(interval.idle_ns)),
    member("unattributed_ns", |interval| known(interval.unattributed_ns)),
];

/// I7: where a list was full, time is kept and identity lost, and it is said.
pub static LOSSES: [Member<Interval>; 22] = [
    member("blocked_tasks", |interval| known(interval.blocked.as_ref().map(|_| interval.blocked_tasks))),
    member("unidentified_exits", |interval| known(interval.exited.as_ref().and(interval.unidentified_exits))),
    // The kernel keeps switches from its hooks.
    member("missed_switches", |interval| known(interval.missed_switches.filter(|_| is_of_hooks(interval)))),
    member("hidden_cpu_ns", |interval| known(interval.hidden_cpu_ns.filter(|_| is_of_hooks(interval)))),
    member("wait_suffered_ns", |interval| known(interval.waits.suffered_ns)),
    member("unattributed_wait_suffered_ns", |interval| known(interval.waits.unattributed_suffered_ns)),
    member("ended_reads", |interval| known(interval.disk_totals.reads)),
    member("ended_read_bytes", |interval| known(interval.disk_totals.read_bytes)),
    member("ended_read_ns", |interval| known(interval.disk_totals.read_ns)),
    member("ended_writes", |interval| known(interval.disk_totals.writes)),
    member("ended_written_bytes", |interval| known(interval.disk_totals.written_bytes)),
    member("ended_write_ns", |interval| known(interval.disk_totals.write_ns)),
    member("unattributed_read_bytes", |interval| known(interval.disk_totals.unattributed_read_bytes)),
    member("unattributed_written_bytes", |interval| known(interval.disk_totals.unattributed_written_bytes)),
    member("sent_bytes", |interval| known(interval.network.sent_bytes)),
    member("received_bytes", |interval| known(interval.network.received_bytes)),
    member("unattributed_sent_bytes", |interval| known(interval.network.unattributed_sent_bytes)),
    member("unattributed_received_bytes", |interval| known(interval.network.unattributed_received_bytes)),
    member("wire_sent_bytes", |interval| on_wire(interval, |sum| sum.sent_bytes)),
    member("wire_sent_packets", |interval| on_wire(interval, |sum| sum.sent_packets)),
    member("wire_received_bytes", |interval| on_wire(interval, |sum| sum.received_bytes)),
    member("wire_received_packets", |interval| on_wire(interval, |sum| sum.received_packets)),
];

fn on_wire(interval: &Interval, figure: fn(&WireUse) -> u64) -> Value<'static> {
    known(interval.wire.as_ref().map(|wire| figure(&wire.sum())))
}

/// What is told of a cgroup, or of all others.
pub static WIRE: [Member<WireCgroup>; 6] = [
    member("cgroup_id", |cgroup| known(cgroup.id)),
    member(
        "cgroup",
        |cgroup| {
            if cgroup.path.is_empty() { Value::Absent } else { Value::Bytes(&cgroup.path) }
        },
    ),
    member("wire_sent_bytes", |cgroup| Value::Unsigned(cgroup.used.sent_bytes)),
    member("wire_sent_packets", |cgroup| Value::Unsigned(cgroup.used.sent_packets)),
    member("wire_received_bytes", |cgroup| Value::Unsigned(cgroup.used.received_bytes)),
    member("wire_received_packets", |cgroup| Value::Unsigned(cgroup.used.received_packets)),
];

/// Because of what tasks waited for a CPU.
pub static WAIT_CAUSES: [Member<WaitTotals>; 6] = [
    member("tasks_ns", |waits| known(waits.tasks_ns)),
    member("no_slot_ns", |waits| known(waits.no_slot_ns)),
    member("idle_ns", |waits| known(waits.idle_ns)),
    member("quota_ns", |waits| known(waits.quota_ns)),
    member("interrupts_ns", |waits| known(waits.interrupts_ns)),
    member("stolen_ns", |waits| known(waits.stolen_ns)),
];

/// How long one cgroup made another one wait.
pub static WAIT_PAIRS: [Member<WaitPair>; 6] = [
    member("by_cause", |pair| known_bytes(pair.by.cause().map(str::as_bytes))),
    member("by_cgroup_id", |pair| known(ids(pair.by).0)),
    member("by_cgroup_v1_cpu_id", |pair| known(ids(pair.by).1)),
    member("cgroup_id", |pair| known(ids(pair.of).0)),
    member("cgroup_v1_cpu_id", |pair| known(ids(pair.of).1)),
    member("wait_ns", |pair| Value::Unsigned(pair.ns)),
];

fn ids(party: Party) -> CgroupIds {
    if let Party::Cgroup(ids) = party { ids } else { (None, None) }
}

/// Keys of how many requests took how long.
pub const DISK_TIMES: [&str; 2] = ["reads_by_time", "writes_by_time"];

/// Reports of deaths that were not read in time.
pub static MISSED_EXITS: [Member<Interval>; 1] = [member("missed_exits", |interval| {
    let is_told = interval.source == SourceKind::Netlink && interval.exited.is_some();
    known(is_told.then_some(interval.missed_exits))
})];

fn is_of_hooks(interval: &Interval) -> bool {
    matches!(interval.source, SourceKind::Service | SourceKind::Ledger)
}

fn part(exited: &Exited, part: fn(&States) -> u64) -> Value<'static> {
    known(exited.states.as_ref().map(part))
}

fn lived(exited: &Exited, part: fn(&Lived) -> u64) -> Value<'static> {
    known(exited.lived.as_ref().map(part))
}

/// What is told of a task that died, but for the names of its cgroup.
pub static EXITED: [Member<Exited>; 37] = [
    member("pid", |exited| Value::Signed(exited.exit.process.tid.0.into())),
    member("tid", |exited| Value::Signed(exited.exit.task.tid.0.into())),
    member("ppid", |exited| known_pid(exited.exit.known_ppid())),
    member("accounting_ppid", |exited| known_pid(exited.accounting_parent)),
    member("comm", |exited| Value::Bytes(exited.exit.comm.as_bytes())),
    member("cpu_ns", |exited| Value::Unsigned(exited.cpu_ns)),
    member("runtime_ns", |exited| Value::Unsigned(exited.exit.runtime_ns)),
    member("lifetime_ns", |exited| Value::Unsigned(exited.exit.lifetime_ns)),
    member("exit_code", |exited| {
        exited.exit.exit_code.map_or(Value::Absent, |code| Value::Signed(code.into()))
    }),
    member("uid", |exited| Value::Unsigned(exited.exit.uid.into())),
    member("euid", |exited| known(exited.exit.euid.map(u64::from))),
    member("start_time_ns", |exited| Value::Unsigned(exited.exit.task.start_time_ns.ns())),
    member("runqueue_wait_ns", |exited| part(exited, |states| states.runqueue_wait_ns)),
    member("blocked_ns", |exited| part(exited, |states| states.blocked_ns)),
    member("io_wait_ns", |exited| part(exited, |states| states.io_wait_ns)),
    member("sleep_ns", |exited| part(exited, |states| states.sleep_ns)),
    member("stopped_ns", |exited| part(exited, |states| states.stopped_ns)),
    member("unseen_ns", |exited| part(exited, |states| states.unseen_ns)),
    member("elapsed_ns", |exited| part(exited, |states| states.elapsed_ns)),
    member("life_cpu_ns", |exited| lived(exited, |lived| lived.cpu_ns)),
    member("life_runqueue_wait_ns", |exited| lived(exited, |lived| lived.states.runqueue_wait_ns)),
    member("life_blocked_ns", |exited| lived(exited, |lived| lived.states.blocked_ns)),
    member("life_io_wait_ns", |exited| lived(exited, |lived| lived.states.io_wait_ns)),
    member("life_sleep_ns", |exited| lived(exited, |lived| lived.states.sleep_ns)),
    member("life_stopped_ns", |exited| lived(exited, |lived| lived.states.stopped_ns)),
    member("life_unseen_ns", |exited| lived(exited, |lived| lived.states.unseen_ns)),
    member("life_elapsed_ns", |exited| lived(exited, |lived| lived.states.elapsed_ns)),
    member("cgroup_id", |exited| known(exited.exit.cgroup_id)),
    member("cgroup_v1_cpu_id", |exited| known(exited.exit.cgroup_v1_cpu_id)),
    member("wait_suffered_ns", |exited| known(exited.booked.wait_suffered_ns)),
    member("wait_caused_ns", |exited| known(exited.booked.wait_caused_ns)),
    member("network_sent_bytes", |exited| known(exited.booked.network_sent_bytes)),
    member("network_received_bytes", |exited| known(exited.booked.network_received_bytes)),
    member("unix_sent_bytes", |exited| known(exited.booked.unix_sent_bytes)),
    member("unix_received_bytes", |exited| known(exited.booked.unix_received_bytes)),
    member("disk_read_bytes", |exited| known(exited.booked.disk_read_bytes)),
    member("disk_written_bytes", |exited| known(exited.booked.disk_written_bytes)),
];

/// What is told of a task that was blocked all the time, but for [`FOR_IO`].
pub static BLOCKED: [Member<Blocked>; 7] = [
    member("pid", |blocked| Value::Signed(blocked.process.tid.0.into())),
    member("tid", |blocked| Value::Signed(blocked.task.tid.0.into())),
    member("comm", |blocked| Value::Bytes(blocked.comm.as_bytes())),
    member("euid", |blocked| known(blocked.euid.map(u64::from))),
    member("start_time_ns", |blocked| Value::Unsigned(blocked.task.start_time_ns.ns())),
    member("since_ns", |blocked| known(blocked.since_ns)),
    member("blocked_for_ns", |blocked| Value::Unsigned(blocked.blocked_for_ns)),
];

/// The key of whether a blocked task waits for I/O: true or false.
pub const FOR_IO: &str = "for_io";
