//! `--filter`: a row is asked as one of an interval that lasts from its start until now. So shares are those of the whole life, as in `%CPU`.

use std::sync::{Mutex, PoisonError};

use cpuledger::interval::{Row, Usage};
use cpuledger::task::Task;
use cpuledger::{Field, FieldSet};
use cpuledger_model::counters::Counters;
use cpuledger_model::make;
use cpuledger_names::named::Namer;
use cpuledger_names::row::Surroundings;
use cpuledger_view::query::Query;

use crate::cmd::filter::{Filter, lookups};

/// What CPU time and its shares are made of.
const OF_SHARES: FieldSet = FieldSet::of(&[
    Field::Tid,
    Field::Pid,
    Field::StartTime,
    Field::Comm,
    Field::User,
    Field::System,
    Field::Runtime,
]);

/// The fields that are needed of a row.
pub fn fields(query: &Query) -> FieldSet {
    if query.is_empty() { FieldSet::EMPTY } else { query.fields().union(OF_SHARES) }
}

/// Which rows match. Threads that make lines share what was looked up.
pub struct Matcher<'a> {
    query: &'a Query,
    known: Mutex<Known>,
}

/// What was looked up.
struct Known {
    around: Surroundings,
    namer: Namer,
}

impl<'a> Matcher<'a> {
    /// Nothing is looked up yet.
    pub fn new(query: &'a Query) -> Matcher<'a> {
        Matcher { query, known: Mutex::new(Known { around: Surroundings::now(), namer: Namer::default() }) }
    }

    /// Whether the row matches.
    pub fn matches(&self, task: &Task) -> bool {
        if self.query.is_empty() {
            return true;
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let Known { around, namer } = &mut *known;
        around.look_up(&[task], lookups(self.query, true));
        if self.query.needs_names() {
            namer.learn(task);
        }
        let length_ns = around.machine.uptime.ns().saturating_sub(task.start_time_ns.ns());
        let named = namer.named();
        let filter = Filter { query: self.query, around, named: &named };
        filter.matches(&row_of_life(task), length_ns)
    }

    /// Changes what was looked up.
    #[cfg(test)]
    pub fn settle(&self, settle: impl Fn(&mut Surroundings)) {
        settle(&mut self.known.lock().unwrap_or_else(PoisonError::into_inner).around);
    }
}

/// The row of an interval in which it has done all that it ever did.
fn row_of_life(task: &Task) -> Row {
    let cpu_ns = task.lifetime_cpu_ns().unwrap_or_default();
    Row::new(*task, make!(Usage { cpu_ns, self_ns: cpu_ns, growth: Counters::of(task) }))
}
