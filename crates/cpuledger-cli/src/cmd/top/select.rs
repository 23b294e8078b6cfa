//! Which rows of an interval are shown, sorted as the options ask.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use cpuledger::interval::{Blocked, Interval, Row};
use cpuledger::source::Exit;
use cpuledger::{Field, Task};
use cpuledger_model::Dimension;
use cpuledger_names::named::Named;
use cpuledger_view::group::{Known, Name, Sum, blocked_row, exited_row, name_of};
use cpuledger_view::key::{Beside, Shown};
use cpuledger_view::sort;

use super::options::Options;
use crate::cmd::filter::Filter;

/// The rows to be shown; memory is reused.
#[derive(Debug, Default)]
pub struct Selection {
    processes: Vec<usize>,
    tasks: Vec<usize>,
    exited: Vec<usize>,
    blocked: Vec<usize>,
    /// Whether any row so far was one that the options ask for, idle or not.
    pub has_matched: bool,
}

impl Selection {
    /// Chooses and sorts.
    pub fn select(&mut self, options: &Options, interval: &Interval, filter: &Filter<'_>) {
        let matches = |row: &Row| filter.matches(row, interval.length_ns());
        self.has_matched |= is_unlimited(options);
        self.has_matched |= choose(&mut self.processes, options, &interval.processes, &matches);
        self.tasks.clear();
        if options.has_threads {
            self.has_matched |= choose(&mut self.tasks, options, &interval.tasks, &matches);
        }
        let is_filtered = !filter.query.is_empty();
        self.exited.clear();
        for (index, exited) in interval.exited.iter().flatten().enumerate() {
            if is_wanted_exit(options, &exited.exit) && (!is_filtered || matches(&exited_row(exited))) {
                self.exited.push(index);
            }
        }
        self.blocked.clear();
        for (index, blocked) in interval.blocked.iter().flatten().enumerate() {
            if is_wanted_blocked(options, blocked) && (!is_filtered || matches(&blocked_row(blocked))) {
                self.blocked.push(index);
            }
        }
        self.has_matched |= !self.exited.is_empty() || !self.blocked.is_empty();
    }

    /// Puts the rows together that were chosen, and sorts the sums.
    pub fn groups(
        &self,
        options: &Options,
        interval: &Interval,
        (dimension, known): (Dimension, &Known<'_>),
    ) -> Vec<Sum> {
        let (indexes, rows) = if options.has_threads {
            (&self.tasks, &interval.tasks)
        } else {
            (&self.processes, &interval.processes)
        };
        let mut sums: BTreeMap<Name, Sum> = BTreeMap::new();
        for &index in indexes {
            let name = name_of(dimension, &rows[index].task, known);
            let sum = sums.entry(name).or_insert_with_key(|name| Sum::new(name.clone()));
            sum.add(&rows[index]);
        }
        let mut groups: Vec<Sum> = sums.into_values().collect();
        let weigh = |sum: &Sum| options.order.by.weigh_number(&sum.total);
        // Those that are equal stay in the order of their names.
        groups.sort_by(|one, other| {
            let order = weigh(one).cmp(&weigh(other));
            if options.order.ascending { order } else { order.reverse() }
        });
        groups
    }

    /// Whether nothing is shown, because what the options ask for did not run.
    pub fn is_limited_to_idle(&self, options: &Options) -> bool {
        let is_empty = self.processes.is_empty() && self.tasks.is_empty() && self.exited.is_empty();
        is_empty && !is_unlimited(options) && !options.shows_idle
    }

    /// With the interval it was made of.
    pub fn shown<'a>(
        &'a self,
        options: &Options,
        interval: &'a Interval,
        (boot_id, named): (Option<&'a str>, Option<&'a Named>),
    ) -> Shown<'a> {
        Shown {
            interval,
            processes: &self.processes,
            tasks: options.has_threads.then_some(&*self.tasks),
            exited: &self.exited,
            blocked: &self.blocked,
            boot_id,
            named,
            beside: Beside::default(),
        }
    }
}

fn is_unlimited(options: &Options) -> bool {
    options.pids.is_empty() && options.euids.is_empty() && options.query.is_empty()
}

/// Whether the options ask for it; what is not known matches none.
pub fn is_wanted(options: &Options, row: &Task) -> bool {
    let is_listed = |field, number| row.known.contains(field) && options.pids.contains(&number);
    (options.pids.is_empty() || is_listed(Field::Pid, row.pid.0) || is_listed(Field::Tid, row.tid.0))
        && (options.euids.is_empty() || row.known.contains(Field::Euid) && options.euids.contains(&row.euid))
}

/// Whether the options ask for one that died: with -p, those too whose time may be with one of the wanted.
pub fn is_wanted_exit(options: &Options, exit: &Exit) -> bool {
    is_wanted_one(options, &[exit.task.tid.0, exit.process.tid.0, exit.ppid.0], exit.euid)
}

/// Whether the options ask for one that is blocked.
pub fn is_wanted_blocked(options: &Options, blocked: &Blocked) -> bool {
    is_wanted_one(options, &[blocked.task.tid.0, blocked.process.tid.0], blocked.euid)
}

/// Whether the options ask for one of these numbers, and for that user.
fn is_wanted_one(options: &Options, numbers: &[i32], euid: Option<u32>) -> bool {
    let is_wanted = options.pids.is_empty() || numbers.iter().any(|number| options.pids.contains(number));
    is_wanted && (options.euids.is_empty() || euid.is_some_and(|uid| options.euids.contains(&uid)))
}

/// Tells whether any row is wanted, shown or idle.
fn choose(chosen: &mut Vec<usize>, options: &Options, rows: &[Row], matches: &dyn Fn(&Row) -> bool) -> bool {
    let mut has_matched = false;
    let mut weighed: Vec<(sort::Key<'_>, usize)> = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        if !is_wanted(options, &row.task) || !matches(row) {
            continue;
        }
        has_matched = true;
        if options.shows_idle || row.usage.ran_or_waited() {
            weighed.push((options.order.by.weigh(row), index));
        }
    }
    weighed.sort_by(|(one, one_index), (other, other_index)| {
        let order = if options.order.ascending { one.cmp(other) } else { other.cmp(one) };
        let number = |index: usize| (rows[index].task.pid, rows[index].task.tid);
        order.then_with(|| -> Ordering { number(*one_index).cmp(&number(*other_index)) })
    });
    chosen.clear();
    chosen.extend(weighed.iter().map(|(_, index)| index));
    has_matched
}
