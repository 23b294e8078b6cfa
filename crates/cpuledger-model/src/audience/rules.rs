//! What an audience gets of an interval: every part of it, each with its rule. Everything is taken apart and put together by name, so a new
//! member does not compile until it has a rule here. The rule of a field is in its row of the table of fields.
//!
//! To a user that sees strangers, a rule matters only for what /proc guards. To one that does not:
//!
//! - *As it is*: facts of the machine that every user sees, and the instants of the cut.
//! - *Own*: of the rows that are shown. It does not depend on what others do.
//! - *Remainder*: CPU time of everything else. It is one number, in the row `(others)`.
//! - *Withheld*: counts and times of the whole machine's tasks. They are absent, not 0.

use crate::exit::Exit;
use crate::field::{Field, FieldSet, GUARDED};
use crate::framing::Circumstances;
use crate::interval::{Blocked, Exited, Interval, Owner, Renumbered, Row, Unattributed, Usage};
use crate::snapshot::Snapshot;
use crate::task::{Comm, Pid, Task, TaskId, Tid};

use super::{OTHERS, Seen, Strangers, Viewer};

impl Viewer {
    /// What this user gets of an interval. Sums stay the same: time that is not shown is in one row.
    pub fn restrict<'a>(&self, interval: &Interval, of: &Circumstances<'a>) -> (Interval, Circumstances<'a>) {
        let audience = Audience { viewer: *self, seen: self.seen(&interval.processes) };
        let of = circumstances(of);
        (audience.interval(interval, &of), of)
    }

    /// Whether a listing of these fields may hold what is not shown to this user: [`Viewer::restrict_listing`] changes no other one.
    pub fn restricts(&self, fields: FieldSet) -> bool {
        self.strangers == Strangers::Summed || fields.intersection(GUARDED) != FieldSet::EMPTY
    }

    /// The rows of a listing that this user gets. It has no times of an interval, so what is not shown is missing.
    pub fn restrict_listing(&self, snapshot: &Snapshot) -> Snapshot {
        let Snapshot { source, begin_ns, begin, end_ns, processes, tasks, from_procfs } = snapshot;
        let audience = Audience { viewer: *self, seen: self.seen(processes) };
        let shown = |rows: &[Task]| -> Vec<Task> {
            rows.iter().filter(|row| audience.seen.has(row.pid)).map(|row| audience.task(row)).collect()
        };
        let (processes, tasks) = (shown(processes), shown(tasks));
        Snapshot {
            source: *source,
            begin_ns: *begin_ns,
            begin: *begin,
            // How long it took tells how many there are.
            end_ns: if audience.hides() { *begin_ns } else { *end_ns },
            from_procfs: shown_tids(from_procfs, &processes, &tasks),
            processes,
            tasks,
        }
    }
}

/// Those of them that are of rows that are shown.
fn shown_tids<T: AsRef<Task>>(tids: &[Tid], processes: &[T], tasks: &[T]) -> Vec<Tid> {
    let is_shown = |tid: &Tid| processes.iter().chain(tasks).any(|row| row.as_ref().tid == *tid);
    tids.iter().copied().filter(is_shown).collect()
}

/// All as it is: they are of the machine and its clocks.
fn circumstances<'a>(of: &Circumstances<'a>) -> Circumstances<'a> {
    let Circumstances { boot_id, sequence, end, end_realtime_ns, suspended_ns } = *of;
    Circumstances { boot_id, sequence, end, end_realtime_ns, suspended_ns }
}

/// A viewer, and the processes that it is shown of an interval.
struct Audience {
    viewer: Viewer,
    seen: Seen,
}

impl Audience {
    /// Whether there is anything that it does not see.
    fn hides(&self) -> bool {
        self.viewer.strangers == Strangers::Summed
    }

    /// A count of all tasks of the machine.
    fn withheld(&self, count: Option<u64>) -> Option<u64> {
        count.filter(|_| !self.hides())
    }

    /// The interval. How long it took to read the rows tells how many there are, so to one that does not see them it is the cut.
    fn interval(&self, interval: &Interval, of: &Circumstances<'_>) -> Interval {
        let Interval {
            source,
            is_replayed,
            begin,
            start_ns,
            end_ns,
            online_cpus,
            capacity_ns,
            attributed_ns,
            idle_ns,
            unattributed_ns,
            unattributed_by,
            read_begin_ns,
            read_begin,
            read_end_ns,
            processes,
            tasks,
            listed_tasks,
            from_procfs,
            exited,
            blocked,
            blocked_tasks,
            blocked_without_row,
            unidentified_exits,
            renumbered,
            missed_exits,
            missed_switches,
            hidden_cpu_ns,
            // Of all tasks.
            waits: _,
            pairs: _,
            network: _,
            wire: _,
            disk_totals: _,
            disks: _,
            off_fault_ns: _,
            // It has what is withheld.
            frame: _,
        } = interval;
        let (unattributed_by, without_slot_ns) = self.unattributed(unattributed_by);
        let blocked = blocked.as_deref().map(|all| self.blocked(all));
        let (processes, tasks) = (self.processes(processes, without_slot_ns), self.tasks(tasks));
        Interval {
            // As it is.
            source: *source,
            is_replayed: *is_replayed,
            begin: *begin,
            start_ns: *start_ns,
            end_ns: *end_ns,
            online_cpus: *online_cpus,
            capacity_ns: *capacity_ns,
            idle_ns: *idle_ns,
            read_begin_ns: if self.hides() { *end_ns } else { *read_begin_ns },
            read_begin: if self.hides() { of.end.unwrap_or_default() } else { *read_begin },
            read_end_ns: if self.hides() { *end_ns } else { *read_end_ns },
            // Own, and the remainder.
            attributed_ns: attributed_ns + without_slot_ns,
            unattributed_ns: unattributed_ns.map(|ns| ns.saturating_sub(without_slot_ns)),
            unattributed_by,
            from_procfs: shown_tids(from_procfs, &processes, &tasks),
            processes,
            tasks,
            // Own.
            exited: exited.as_deref().map(|all| all.iter().filter_map(|one| self.exited(one)).collect()),
            blocked_tasks: self.blocked_tasks(blocked.as_deref(), *blocked_tasks),
            blocked,
            blocked_without_row: if self.hides() { 0 } else { *blocked_without_row },
            renumbered: renumbered.iter().filter_map(|one| self.renumbered(one)).collect(),
            // Withheld.
            unidentified_exits: self.withheld(*unidentified_exits),
            missed_switches: self.withheld(*missed_switches),
            hidden_cpu_ns: self.withheld(*hidden_cpu_ns),
            listed_tasks: listed_tasks.filter(|_| !self.hides()),
            // The ledger has none of these.
            missed_exits: if self.hides() { 0 } else { *missed_exits },
            ..self.of_accounts(interval)
        }
    }

    /// How many tasks were blocked: of those that are shown, where others are hidden.
    fn blocked_tasks(&self, shown: Option<&[Blocked]>, all: u64) -> u64 {
        if self.hides() { shown.map_or(0, |shown| shown.len() as u64) } else { all }
    }

    /// What accounts say of all tasks, and what is for tests, where others are not hidden; and no frame. The wire of a cgroup would tell what its tasks
    /// send, which is withheld of each.
    fn of_accounts(&self, interval: &Interval) -> Interval {
        if self.hides() {
            return Interval::default();
        }
        let Interval { waits, pairs, network, disk_totals, disks, off_fault_ns, .. } = interval;
        let (waits, network, disk_totals, off_fault_ns) = (*waits, *network, *disk_totals, *off_fault_ns);
        let (pairs, disks) = (pairs.clone(), disks.clone());
        Interval { waits, pairs, network, disk_totals, disks, off_fault_ns, ..Interval::default() }
    }

    /// Time of CPUs that have no books is as it is. That of tasks without a slot is of the remainder, and returned: nothing tells whose it was.
    fn unattributed(&self, by: &Unattributed) -> (Unattributed, u64) {
        let Unattributed { no_slot_ns, forgotten_task_ns, uncovered_cpu_ns, not_attached_ns } = *by;
        if !self.hides() {
            return (*by, 0);
        }
        let of_cpus = Unattributed { no_slot_ns: 0, forgotten_task_ns: 0, uncovered_cpu_ns, not_attached_ns };
        (of_cpus, no_slot_ns + forgotten_task_ns)
    }

    /// The processes that are shown, after the row of the remainder: that has the time of the others, and this.
    fn processes(&self, rows: &[Row], without_slot_ns: u64) -> Vec<Row> {
        let mut shown = Vec::new();
        let mut others_ns = without_slot_ns;
        if self.hides() {
            shown.push(Row::new(row_of_others(), Usage::default()));
        }
        for row in rows {
            if self.viewer.sees(&row.task) {
                shown.push(self.row(row));
            } else {
                others_ns += row.usage.cpu_ns;
            }
        }
        if self.hides() {
            shown[0].usage = usage_of_others(others_ns);
        }
        shown
    }

    /// The tasks that are shown. Without books by task there are none.
    fn tasks(&self, rows: &[Row]) -> Vec<Row> {
        rows.iter().filter(|row| self.seen.has(row.task.pid)).map(|row| self.row(row)).collect()
    }

    fn row(&self, row: &Row) -> Row {
        Row::new(self.task(&row.task), self.usage(&row.task, &row.usage))
    }

    /// A row that is shown. A thread may have other users than its leader.
    fn task(&self, row: &Task) -> Task {
        let known = if self.viewer.may_read(row) { row.known } else { row.known.without(GUARDED) };
        Task { known, ..*row }
    }

    /// What a row that is shown has used. What it inherits of its dead descendants is its own, of whatever user they were.
    fn usage(&self, row: &Task, usage: &Usage) -> Usage {
        let Usage {
            cpu_ns,
            self_ns,
            exited_threads_ns,
            exited_children_ns,
            stolen_ns,
            exited_children_stolen_ns,
            division,
            states,
            off_at_start,
            off_at_end,
            accounting_parent,
            growth,
            is_unseen,
        } = *usage;
        let is_parent = |heir: Pid| row.known.contains(Field::Ppid) && row.ppid == heir;
        Usage {
            cpu_ns,
            self_ns,
            exited_threads_ns,
            exited_children_ns,
            stolen_ns,
            exited_children_stolen_ns,
            division,
            states,
            off_at_start,
            off_at_end,
            accounting_parent: accounting_parent
                .filter(|heir| !self.hides() || is_parent(*heir) || self.seen.has(*heir)),
            growth: if self.viewer.may_read(row) { growth } else { growth.without(GUARDED) },
            is_unseen,
        }
    }

    /// Whether a task that is no more was one of this user, as far as that is known. The process may have been another user's when it was.
    fn owned(&self, process: TaskId, uid: u32, euid: Option<u32>) -> bool {
        let is_own = [Some(uid), euid] == [Some(self.viewer.uid); 2];
        !self.hides() || is_own && self.seen.has_process(process)
    }

    fn exited(&self, exited: &Exited) -> Option<Exited> {
        let Exited {
            exit:
                Exit {
                    task,
                    process,
                    ppid,
                    comm,
                    uid,
                    euid,
                    exit_code: _,
                    runtime_ns,
                    lifetime_ns,
                    cgroup_id,
                    cgroup_v1_cpu_id,
                },
            cpu_ns,
            states,
            off_at_start,
            lived,
            accounting_parent,
            accounting_start,
            ends_process,
            booked,
        } = *exited;
        if !self.owned(process, uid, euid) {
            return None;
        }
        let heir = accounting_parent.zip(accounting_start).filter(|(heir, start)| {
            !self.hides() || self.seen.has_process(TaskId { tid: Tid(heir.0), start_time_ns: *start })
        });
        // /proc shows the exit code to a tracer. Of the dead, not all is known that decides which user that is.
        let exit = Exit {
            task,
            process,
            ppid,
            comm,
            uid,
            euid,
            exit_code: None,
            runtime_ns,
            lifetime_ns,
            cgroup_id,
            cgroup_v1_cpu_id,
        };
        Some(Exited {
            exit,
            cpu_ns,
            states,
            off_at_start,
            lived,
            accounting_parent: if self.hides() { heir.map(|(heir, _)| heir) } else { accounting_parent },
            accounting_start: if self.hides() { heir.map(|(_, start)| start) } else { accounting_start },
            ends_process,
            // Likewise.
            booked: booked.open(),
        })
    }

    fn blocked(&self, all: &[Blocked]) -> Vec<Blocked> {
        let shown = |blocked: &&Blocked| !self.hides() || self.seen.has_process(blocked.process);
        let as_it_is = |blocked: &Blocked| {
            let Blocked { task, process, comm, euid, since_ns, blocked_for_ns, for_io } = *blocked;
            Blocked { task, process, comm, euid, since_ns, blocked_for_ns, for_io }
        };
        all.iter().filter(shown).map(as_it_is).collect()
    }

    fn renumbered(&self, renumbered: &Renumbered) -> Option<Renumbered> {
        let Renumbered { task, owner } = *renumbered;
        let is_own = |Owner { process, uid, euid }: Owner| self.owned(process, uid, Some(euid));
        (!self.hides() || owner.is_some_and(is_own)).then_some(Renumbered { task, owner })
    }
}

/// The row of all that is not shown.
fn row_of_others() -> Task {
    Task {
        known: FieldSet::of(&[Field::Tid, Field::Pid, Field::Comm]),
        tid: Tid(Pid::REMAINDER.0),
        pid: Pid::REMAINDER,
        comm: Comm::new(OTHERS),
        ..Task::default()
    }
}

/// Its CPU time. It tells neither of how many tasks that is, nor whether they live.
fn usage_of_others(cpu_ns: u64) -> Usage {
    Usage {
        cpu_ns,
        self_ns: cpu_ns,
        exited_threads_ns: Some(0),
        exited_children_ns: Some(0),
        ..Usage::default()
    }
}
