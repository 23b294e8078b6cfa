//! Rows of what ran.

use cpuledger_model::counters::Counters;
use cpuledger_model::field::{Field, FieldSet};
use cpuledger_model::interval::{Divided, Division, Interval, Row, Usage};
use cpuledger_model::make;
use cpuledger_model::snapshot::{Scope, Snapshot};
use cpuledger_model::task::Task;

use crate::attribution::difference::kernel_accounts::{Share, Shown};
use crate::error::Error;
use crate::source::interface::Wanted;
use crate::source::io_access::IoAccess;
use crate::source::netlink::census::Process;
use crate::source::netlink::cut::Cut;
use crate::source::netlink::identity::Window;
use crate::source::netlink::layout::{Exact, Taskstats, Used};
use crate::source::netlink::rows::{Query, of_several, task_of, times};
use crate::source::netlink::socket::BATCH;
use crate::source::netlink::{Netlink, ask_at_once, open};

use super::AccountBooks;

/// What of a process is summed over its tasks whenever there are several.
const OF_SUMS: FieldSet = FieldSet::of(&[Field::Runtime, Field::User, Field::System]);

impl AccountBooks {
    /// Remembers what rows would have shown at the first cut.
    pub(super) fn note_first(&mut self, cut: &Cut) {
        let abilities = self.netlink.abilities;
        for figures in &cut.records {
            let (tid, pid) = (figures.tid.cast_signed(), figures.pid.unwrap_or_default().cast_signed());
            let Some(task) = self.accounts.task_mut(tid) else { continue };
            let times = times(figures.runtime_ns, figures, (0, 0));
            let process = Process::gone(pid, figures.uid, figures.gid);
            let life = (Default::default(), false);
            let counters = Counters::of(&task_of(abilities, tid, process, figures, life, times));
            task.shown = Shown { times, counters };
        }
    }

    /// Adds the rows of an interval that ended with this cut.
    pub(super) fn make_rows(
        &mut self,
        cut: &Cut,
        window: Window,
        wanted: &Wanted<'_>,
        into: &mut Interval,
    ) -> Result<(), Error> {
        let shares = std::mem::take(&mut self.shares);
        let shown: Vec<&Share> =
            shares.iter().filter(|share| share.parts.total_ns() > 0 || wanted.has(share.pid)).collect();
        let leaders = self.missing_leaders(cut, &shown)?;
        let access = IoAccess::of_caller();
        let mut tasks = Vec::new();
        for (share, leader) in shown.into_iter().zip(leaders) {
            let records = cut.records.get(share.told.clone()).unwrap_or_default();
            let first = records.first().copied().unwrap_or_default();
            let own = records.iter().find(|record| record.tid.cast_signed() == share.pid).copied();
            let leader = own.or(leader).unwrap_or(first);
            let census = &self.netlink.census;
            let process =
                census.process(share.pid).unwrap_or(Process::gone(share.pid, leader.uid, leader.gid));
            tasks.clear();
            tasks.extend(records.iter().map(|record| self.task_row(process, record, window)));
            let mut row = self.process_row(share, process, leader, window);
            access.hold_back(std::slice::from_mut(&mut row), &mut tasks);
            into.attributed_ns += share.parts.total_ns();
            let growth = self.add_tasks(share, &tasks, into);
            into.processes.push(Row::new(row, self.usage(share, &row, growth)));
        }
        self.shares = shares;
        self.add_idle(wanted, into)
    }

    /// Figures of the leaders of processes that ran, of those that did not run themselves.
    fn missing_leaders(&mut self, cut: &Cut, shares: &[&Share]) -> Result<Vec<Option<Taskstats>>, Error> {
        let mut leaders = vec![None; shares.len()];
        let has_leader = |share: &Share| {
            let records = cut.records.get(share.told.clone()).unwrap_or_default();
            records.iter().any(|record| record.tid.cast_signed() == share.pid)
        };
        let missing: Vec<usize> = (0..shares.len()).filter(|&index| !has_leader(shares[index])).collect();
        for batch in missing.chunks(BATCH) {
            let queries: Vec<Query> = batch.iter().map(|&index| Query::Thread(shares[index].pid)).collect();
            let mut answers = vec![None; batch.len()];
            ask_at_once(&mut self.netlink.socket, &queries, &mut answers).map_err(open::failed)?;
            for (&index, answer) in batch.iter().zip(answers) {
                leaders[index] = answer;
            }
        }
        Ok(leaders)
    }

    fn task_row(&mut self, process: Process, figures: &Taskstats, window: Window) -> Task {
        let tid = figures.tid.cast_signed();
        let before = self.accounts.task_mut(tid).map_or((0, 0), |task| task.shown.times);
        let times = times(figures.runtime_ns, figures, before);
        self.row(tid, process, figures, window, times)
    }

    fn process_row(&mut self, share: &Share, process: Process, leader: Taskstats, window: Window) -> Task {
        let exact = leader.exact.map(|exact| Exact { used: share.total, ..exact });
        let figures = Taskstats { runtime_ns: share.total.runtime_ns, exact, ..leader };
        let before = self.accounts.process_mut(share.pid).map_or((0, 0), |process| process.shown_times);
        let times = times(figures.runtime_ns, &figures, before);
        let mut row = self.row(share.pid, process, &figures, window, times);
        if !share.is_one_task || process.threads > 1 {
            of_several(&mut row);
        }
        row
    }

    fn row(
        &mut self,
        tid: i32,
        process: Process,
        figures: &Taskstats,
        window: Window,
        times: (u64, u64),
    ) -> Task {
        let Netlink { known, abilities, .. } = &mut self.netlink;
        let exact = figures.exact.map(|exact| exact.start_in_ticks());
        let known = known.find(tid, figures.elapsed_us, window, || exact);
        let start = exact.unwrap_or(known.start);
        task_of(*abilities, tid, process, figures, (start, known.is_dead), times)
    }

    /// Adds rows of tasks. Returns what the counters of the leader grew by.
    fn add_tasks(&mut self, share: &Share, tasks: &[Task], into: &mut Interval) -> Counters {
        let mut of_leader = Counters::default();
        let (told, grown) = (&self.told[share.told.clone()], &self.grown[share.told.clone()]);
        for ((told, grown), row) in told.iter().zip(grown).zip(tasks) {
            let Some(task) = self.accounts.task_mut(told.tid) else { continue };
            let counters = Counters::of(row);
            let is_fresh = task.shown.counters.known == FieldSet::EMPTY;
            let before = if is_fresh { Counters::ZERO } else { task.shown.counters };
            let growth = counters.since(&before);
            task.shown = Shown { times: (row.user_ns, row.system_ns), counters };
            if told.tid == told.pid {
                of_leader = growth;
            }
            let divided = divided(grown.cpu_ns(), grown);
            let usage = make!(Usage {
                cpu_ns: grown.cpu_ns(),
                self_ns: grown.cpu_ns(),
                stolen_ns: Some(divided.stolen_ns),
                division: make!(Division { self_user_ns: Some(divided.user_ns) }),
                growth,
            });
            into.tasks.push(Row::new(*row, usage));
        }
        of_leader
    }

    fn usage(&mut self, share: &Share, row: &Task, of_leader: Counters) -> Usage {
        let Share { parts, own, threads, children, accounting_parent, .. } = share;
        let self_part = divided(parts.self_ns, own);
        let of_threads = divided(parts.exited_threads_ns, threads);
        let of_children = divided(parts.exited_children_ns, children);
        let now = (row.user_ns, row.system_ns);
        let mut before = now;
        if let Some(process) = self.accounts.process_mut(share.pid) {
            before = std::mem::replace(&mut process.shown_times, now);
        }
        let known = Counters::of(row).known;
        let of_leader = if share.is_one_task { of_leader } else { Counters::default() };
        let growth = make!(Counters {
            known: known.intersection(of_leader.known.union(OF_SUMS)),
            runtime_ns: own.runtime_ns.wrapping_add(threads.runtime_ns),
            user_ns: now.0.saturating_sub(before.0),
            system_ns: now.1.saturating_sub(before.1),
            ..of_leader
        });
        make!(Usage {
            cpu_ns: parts.total_ns(),
            self_ns: parts.self_ns,
            exited_threads_ns: Some(parts.exited_threads_ns),
            exited_children_ns: Some(parts.exited_children_ns),
            stolen_ns: Some(self_part.stolen_ns + of_threads.stolen_ns),
            exited_children_stolen_ns: Some(of_children.stolen_ns),
            division: make!(Division {
                self_user_ns: Some(self_part.user_ns),
                exited_threads_user_ns: Some(of_threads.user_ns),
                exited_threads_stolen_ns: Some(of_threads.stolen_ns),
                exited_children_user_ns: Some(of_children.user_ns),
            }),
            accounting_parent: *accounting_parent,
            growth,
        })
    }

    /// Adds rows of the wanted processes that did not run.
    fn add_idle(&mut self, wanted: &Wanted<'_>, into: &mut Interval) -> Result<(), Error> {
        let mut is_added = false;
        for pid in wanted.pids {
            if into.processes.iter().any(|row| row.task.pid == *pid) {
                continue;
            }
            self.idle.clear();
            self.netlink.ask_each(Scope::Process(*pid), &mut self.idle)?;
            let Snapshot { processes, tasks, .. } = &mut self.idle;
            IoAccess::of_caller().hold_back(processes, tasks);
            let idle = |row: &Task| Row::new(*row, Usage::of_idle_in_ledger(row.known, false));
            into.processes.extend(processes.iter().map(idle));
            into.tasks.extend(tasks.iter().map(idle));
            is_added = true;
        }
        if is_added {
            into.processes.sort_by_key(|row| row.task.pid);
            into.tasks.sort_by_key(|row| (row.task.pid, row.task.tid.0 != row.task.pid.0, row.task.tid));
        }
        Ok(())
    }
}

fn divided(part_ns: u64, growth: &Used) -> Divided {
    Divided::by_counts(part_ns, growth.stolen_ns, growth.user_ns, growth.system_ns)
}
