//! What is predicted of each value. These rules are a part of the form: others would be another form.

use std::sync::LazyLock;

use crate::frame::column::{COLUMNS, Column};
use crate::frame::sections::Section;

/// Where a part of a prediction comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// The row of the same task in an earlier frame.
    Memory(Column),
    /// The row before.
    Before(Column),
    /// Another column of the row.
    Own(Column),
    /// The row of the process.
    Owner(Column),
    /// A figure of the interval.
    Figure(Column),
    /// The length of the interval, times what the row has there.
    Lengths(Column),
    /// The length of the interval.
    Length,
}

/// A part of a prediction. What is absent counts as 0, but where it is the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Term {
    pub(super) is_minus: bool,
    pub(super) part: Part,
}

/// What a row is, which decides by what it is predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Class {
    /// An earlier frame has a row of it.
    Known = 0,
    /// None has.
    New = 1,
    /// The only task of its process.
    Sole = 2,
    /// A dead thread that was no leader.
    Thread = 3,
}

/// Number of classes.
pub(super) const CLASSES: usize = 4;

/// Terms of a prediction at most.
pub(super) const MOST_TERMS: usize = 7;

/// The predictions of a column, by class. One without terms is 0 or, where no row of the column differs, nothing.
#[derive(Debug, Clone)]
pub(super) struct Rule {
    pub(super) column: Column,
    pub(super) sums: [Vec<Term>; CLASSES],
    /// For each class, the first one with the same prediction.
    pub(super) alike: [u8; CLASSES],
    /// Whether later frames look at it.
    pub(super) is_remembered: bool,
}

/// The rules of a section, each behind those that it needs.
pub(super) fn rules(section: Section) -> &'static [Rule] {
    &RULES[section.place()]
}

/// The rule of a column.
pub(super) fn rule_of(section: Section, column: Column) -> &'static Rule {
    &rules(section)[usize::from(PLACES[section.place()][column.index()])]
}

/// The places of the rules by those of the columns.
static PLACES: LazyLock<[[u8; COLUMNS]; Section::ALL.len()]> = LazyLock::new(|| {
    Section::ALL.map(|section| {
        let mut places = [0; COLUMNS];
        for (place, rule) in (0..).zip(rules(section)) {
            places[rule.column.index()] = place;
        }
        places
    })
});

/// The section whose rows are remembered for this one.
pub(super) fn remembered(section: Section) -> Section {
    if section == Section::Exited { Section::Processes } else { section }
}

static RULES: LazyLock<[Vec<Rule>; Section::ALL.len()]> = LazyLock::new(|| {
    let mut all = Section::ALL.map(in_order);
    let mut looked_at = [[false; COLUMNS]; Section::ALL.len()];
    for (section, rules) in Section::ALL.into_iter().zip(&all) {
        for term in rules.iter().flat_map(|rule| rule.sums.iter().flatten()) {
            if let Part::Memory(column) = term.part {
                looked_at[remembered(section).place()][column.index()] = true;
            }
        }
    }
    for (rules, looked_at) in all.iter_mut().zip(&looked_at) {
        rules.iter_mut().for_each(|rule| rule.is_remembered = looked_at[rule.column.index()]);
    }
    all
});

/// By depth first.
fn in_order(section: Section) -> Vec<Rule> {
    let mut rules = Vec::new();
    let mut seen = [false; COLUMNS];
    for column in [Column::PID, Column::TID].into_iter().chain(Column::known()) {
        put(section, column, &mut seen, &mut rules);
    }
    rules
}

fn put(section: Section, column: Column, seen: &mut [bool; COLUMNS], rules: &mut Vec<Rule>) {
    if std::mem::replace(&mut seen[column.index()], true) {
        return;
    }
    let sums = sums(section, column);
    for term in sums.iter().flatten() {
        match term.part {
            Part::Own(other) | Part::Before(other) | Part::Lengths(other) => {
                put(section, other, seen, rules);
            }
            Part::Figure(other) if section == Section::Interval => put(section, other, seen, rules),
            _ => {}
        }
    }
    debug_assert!(sums.iter().all(|sum| sum.len() <= MOST_TERMS));
    let first = |class: usize| sums.iter().position(|sum| *sum == sums[class]).unwrap_or(class) as u8;
    let alike = std::array::from_fn(first);
    rules.push(Rule { column, sums, alike, is_remembered: false });
}

fn plus(part: Part) -> Term {
    Term { is_minus: false, part }
}

fn minus(part: Part) -> Term {
    Term { is_minus: true, part }
}

/// For each class: known, new, sole, thread.
type Sums = [Vec<Term>; CLASSES];

/// The same for all that are not told by their process.
fn same(column: Column, terms: Vec<Term>) -> Sums {
    [terms.clone(), terms.clone(), vec![plus(Part::Owner(column))], terms]
}

fn sums(section: Section, column: Column) -> Sums {
    let special = match section {
        Section::Interval => of_interval(column),
        Section::Exited => of_exited(column),
        Section::Processes | Section::Tasks => of_rows(section, column),
        _ => None,
    };
    special.or_else(|| of_any(column)).unwrap_or_else(|| {
        let before = vec![plus(Part::Before(column))];
        [vec![plus(Part::Memory(column))], before.clone(), vec![plus(Part::Owner(column))], before]
    })
}

/// Figures of an interval that say nothing of the next.
const ANEW: [Column; 40] = [
    Column::SELF_NS,
    Column::EXITED_THREADS_NS,
    Column::EXITED_CHILDREN_NS,
    Column::STOLEN_NS,
    Column::WAITING_NS,
    Column::BLOCKED_NS,
    Column::IO_WAIT_NS,
    Column::STOPPED_NS,
    Column::UNSEEN_NS,
    Column::IDLE_NS,
    Column::UNATTRIBUTED_NS,
    Column::MISSED_SWITCHES,
    Column::HIDDEN_CPU_NS,
    Column::SUSPENDED_NS,
    Column::SENT_BYTES,
    Column::RECEIVED_BYTES,
    Column::UNATTRIBUTED_SENT_BYTES,
    Column::UNATTRIBUTED_RECEIVED_BYTES,
    Column::ENDED_READS,
    Column::ENDED_READ_BYTES,
    Column::ENDED_READ_NS,
    Column::ENDED_WRITES,
    Column::ENDED_WRITTEN_BYTES,
    Column::ENDED_WRITE_NS,
    Column::UNATTRIBUTED_READ_BYTES,
    Column::UNATTRIBUTED_WRITTEN_BYTES,
    Column::WAITED_NS,
    Column::WAITED_FOR_TASKS_NS,
    Column::WAITED_FOR_NO_SLOT_NS,
    Column::WAITED_IDLE_NS,
    Column::WAITED_FOR_QUOTA_NS,
    Column::WAITED_FOR_INTERRUPTS_NS,
    Column::WAITED_STOLEN_NS,
    Column::UNATTRIBUTED_WAITED_NS,
    Column::ENDED_DISCARDS,
    Column::ENDED_DISCARDED_BYTES,
    Column::ENDED_DISCARD_NS,
    Column::QUEUE_NS,
    Column::DEVICE_NS,
    Column::ENDED_BLOCKED_NS,
];

/// Columns that tasks do not have, so that what their process has says nothing.
const OF_PROCESSES: [Column; 4] = [
    Column::EXITED_THREADS_NS,
    Column::EXITED_CHILDREN_NS,
    Column::ACCOUNTING_PPID,
    Column::ACCOUNTING_START_NS,
];

fn of_any(column: Column) -> Option<Sums> {
    use Part::{Own, Owner};
    let is_growth = Column::known().any(|counter| counter.growth() == Some(column));
    match column {
        Column::PID => {
            let before = vec![plus(Part::Before(column))];
            let memory = vec![plus(Part::Memory(column))];
            Some([memory.clone(), before.clone(), memory, before])
        }
        Column::TID => {
            let own = vec![plus(Own(Column::PID))];
            let memory = vec![plus(Part::Memory(column))];
            Some([memory.clone(), own.clone(), memory, own])
        }
        Column::NAMESPACE_TID => {
            let own = vec![plus(Own(Column::TID))];
            Some([vec![plus(Part::Memory(column))], own.clone(), vec![plus(Owner(column))], own])
        }
        Column::BLOCKED_FOR_NS => {
            Some(same(column, vec![plus(Part::Figure(Column::END_NS)), minus(Own(Column::SINCE_NS))]))
        }
        _ if is_growth || ANEW.contains(&column) => Some(same(column, Vec::new())),
        _ => None,
    }
}

fn of_interval(column: Column) -> Option<Sums> {
    use Part::{Memory, Own};
    let (start, end) = (Column::START_NS, Column::END_NS);
    // A clock goes on as CLOCK_MONOTONIC does.
    let clock = |fresh: Vec<Term>| {
        let known = vec![plus(Memory(column)), plus(Own(end)), minus(Memory(end))];
        [known, fresh, Vec::new(), Vec::new()]
    };
    let known = |terms: Vec<Term>| [terms, Vec::new(), Vec::new(), Vec::new()];
    Some(match column {
        Column::START_NS => known(vec![plus(Memory(end))]),
        Column::END_NS => {
            let known = vec![plus(Own(start)), plus(Memory(end)), minus(Memory(start))];
            [known, vec![plus(Own(start))], Vec::new(), Vec::new()]
        }
        Column::END_BOOTTIME_NS => clock(vec![plus(Own(end))]),
        Column::END_REALTIME_NS => clock(Vec::new()),
        Column::READ_BEGIN_NS => same(column, vec![plus(Own(end))]),
        Column::READ_BEGIN_BOOTTIME_NS => same(column, vec![plus(Own(Column::END_BOOTTIME_NS))]),
        Column::READ_END_NS => same(column, vec![plus(Own(Column::READ_BEGIN_NS))]),
        Column::SEQUENCE => known(vec![plus(Memory(column)), plus(Own(Column::INTERVALS))]),
        Column::CAPACITY_NS => same(column, vec![plus(Part::Lengths(Column::ONLINE_CPUS))]),
        Column::ATTRIBUTED_NS => same(
            column,
            vec![
                plus(Own(Column::CAPACITY_NS)),
                minus(Own(Column::IDLE_NS)),
                minus(Own(Column::UNATTRIBUTED_NS)),
            ],
        ),
        _ => return None,
    })
}

/// The growth of this counter.
fn counter_of(column: Column) -> Option<Column> {
    column.growth()
}

fn of_rows(section: Section, column: Column) -> Option<Sums> {
    use Part::{Memory, Own, Owner};
    let is_process = section == Section::Processes;
    if !is_process && OF_PROCESSES.contains(&column) {
        return Some([const { Vec::new() }; CLASSES]);
    }
    if let Some(growth) = counter_of(column) {
        let fresh = vec![plus(Own(growth))];
        return Some([
            vec![plus(Memory(column)), plus(Own(growth))],
            fresh.clone(),
            vec![plus(Owner(column))],
            fresh,
        ]);
    }
    let growth = |counter: Column| counter.growth().unwrap_or(counter);
    let start_to_end =
        || vec![plus(Part::Figure(Column::END_BOOTTIME_NS)), minus(Own(Column::START_TIME_NS))];
    let at_start = Column::OFF_AT_START.iter().position(|own| *own == column);
    if let Some(state) = at_start {
        let known = vec![plus(Memory(Column::OFF_AT_END[state]))];
        return Some([known, Vec::new(), vec![plus(Owner(column))], Vec::new()]);
    }
    Some(match column {
        Column::CPU_NS if is_process => {
            let others = [Column::EXITED_THREADS_NS, Column::EXITED_CHILDREN_NS].map(|own| plus(Own(own)));
            same(column, [plus(Own(Column::SELF_NS))].into_iter().chain(others).collect())
        }
        Column::CPU_NS => {
            let own = vec![plus(Own(Column::SELF_NS))];
            [own.clone(), own.clone(), own.clone(), own]
        }
        Column::ELAPSED_NS => {
            let all = if is_process { Part::Lengths(Column::THREADS) } else { Part::Length };
            [vec![plus(all)], start_to_end(), vec![plus(Owner(column))], start_to_end()]
        }
        Column::SLEEP_NS => {
            let others = [
                Column::SELF_NS,
                Column::EXITED_THREADS_NS,
                Column::WAITING_NS,
                Column::BLOCKED_NS,
                Column::STOPPED_NS,
                Column::UNSEEN_NS,
            ];
            let others = others.map(|own| minus(Own(own)));
            same(column, [plus(Own(Column::ELAPSED_NS))].into_iter().chain(others).collect())
        }
        Column::ACCOUNTING_PPID => {
            let own = vec![plus(Own(Column::PPID))];
            [vec![plus(Memory(column))], own.clone(), Vec::new(), own]
        }
        _ if column == growth(Column::RUNTIME_NS) => same(column, vec![plus(Own(Column::SELF_NS))]),
        _ if column == growth(Column::SYSTEM_NS) => {
            same(column, vec![plus(Own(growth(Column::RUNTIME_NS))), minus(Own(growth(Column::USER_NS)))])
        }
        _ if column == growth(Column::RUNQUEUE_WAIT_NS) => same(column, vec![plus(Own(Column::WAITING_NS))]),
        _ => return None,
    })
}

/// What a figure of a whole life is predicted by: of most, all of it is in the interval.
const LIVES: [(Column, Column); 8] = [
    (Column::LIFE_CPU_NS, Column::CPU_NS),
    (Column::LIFE_ELAPSED_NS, Column::LIFETIME_NS),
    (Column::LIFE_WAITING_NS, Column::WAITING_NS),
    (Column::LIFE_BLOCKED_NS, Column::BLOCKED_NS),
    (Column::LIFE_IO_WAIT_NS, Column::IO_WAIT_NS),
    (Column::LIFE_SLEEP_NS, Column::SLEEP_NS),
    (Column::LIFE_STOPPED_NS, Column::STOPPED_NS),
    (Column::LIFE_UNSEEN_NS, Column::UNSEEN_NS),
];

fn of_exited(column: Column) -> Option<Sums> {
    use Part::{Before, Memory, Own};
    if let Some((_, by)) = LIVES.iter().find(|(life, _)| *life == column) {
        return Some(same(column, vec![plus(Own(*by))]));
    }
    let before = || vec![plus(Before(column))];
    let anew = [Column::CPU_NS, Column::SLEEP_NS, Column::EXIT_CODE];
    Some(match column {
        Column::START_TIME_NS => {
            // The dead are in the order of their ends.
            let start = Column::START_TIME_NS;
            let lifetime = Column::LIFETIME_NS;
            let fresh = vec![plus(Before(start)), plus(Before(lifetime)), minus(Own(lifetime))];
            [vec![plus(Memory(start))], fresh.clone(), Vec::new(), fresh]
        }
        Column::PROCESS_START_NS => {
            let own = vec![plus(Own(Column::START_TIME_NS))];
            [own.clone(), own, Vec::new(), before()]
        }
        Column::ELAPSED_NS => {
            let parts = [
                Column::CPU_NS,
                Column::WAITING_NS,
                Column::BLOCKED_NS,
                Column::SLEEP_NS,
                Column::STOPPED_NS,
                Column::UNSEEN_NS,
            ];
            same(column, parts.map(|own| plus(Own(own))).to_vec())
        }
        Column::LIFETIME_NS => same(column, vec![plus(Own(Column::ELAPSED_NS))]),
        Column::RUNTIME_NS => {
            let own = vec![plus(Own(Column::CPU_NS))];
            [vec![plus(Memory(column)), plus(Own(Column::CPU_NS))], own.clone(), Vec::new(), own]
        }
        Column::ACCOUNTING_PPID | Column::ACCOUNTING_START_NS | Column::ENDS_PROCESS => {
            [before(), before(), Vec::new(), before()]
        }
        _ if anew.contains(&column) => same(column, Vec::new()),
        _ if Column::OFF_AT_START.contains(&column) => same(column, Vec::new()),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_column_has_a_rule_behind_those_that_it_needs() {
        for section in Section::ALL {
            let mut known = Vec::new();
            for rule in rules(section) {
                for term in rule.sums.iter().flatten() {
                    if let Part::Own(other) | Part::Lengths(other) = term.part {
                        assert!(known.contains(&other), "{section:?}: {:?} by {other:?}", rule.column);
                    }
                    if let Part::Before(other) = term.part {
                        assert!(other == rule.column || known.contains(&other), "{section:?}: {other:?}");
                    }
                }
                known.push(rule.column);
            }
            assert_eq!(known.len(), Column::known().count(), "{section:?}");
        }
    }

    /// One prediction, as docs/format/rules.txt has it.
    fn told(terms: &[Term]) -> String {
        let one = |term: &Term| {
            let sign = if term.is_minus { '-' } else { '+' };
            let (part, column) = match term.part {
                Part::Memory(column) => ("memory", Some(column)),
                Part::Before(column) => ("before", Some(column)),
                Part::Own(column) => ("own", Some(column)),
                Part::Owner(column) => ("owner", Some(column)),
                Part::Figure(column) => ("figure", Some(column)),
                Part::Lengths(column) => ("lengths", Some(column)),
                Part::Length => ("length", None),
            };
            column.map_or_else(|| format!("{sign}{part}"), |column| format!("{sign}{part}.{}", column.name()))
        };
        let text: String = terms.iter().map(one).collect();
        text.strip_prefix('+').map_or_else(|| "0".to_owned(), str::to_owned)
    }

    fn line(section: &str, column: Column, sums: &Sums) -> String {
        let [known, new, sole, thread] = sums.each_ref().map(|sum| told(sum));
        format!("{section} {} known={known} new={new} sole={sole} thread={thread}\n", column.name())
    }

    /// The whole table, without what goes without saying.
    fn table() -> String {
        let head = "# What is predicted of each value of a recording: docs/format/recording.md says how this is read.\n\
            # CPULEDGER_WRITE_DOCS=1 cargo test -p cpuledger-model --lib rules writes it.\n";
        let mut text = head.to_owned();
        for column in Column::known() {
            if let Some(sums) = of_any(column) {
                text += &line("any", column, &sums);
            }
        }
        for section in Section::ALL {
            let name = format!("{section:?}").to_lowercase();
            for rule in rules(section) {
                let before = vec![plus(Part::Before(rule.column))];
                let owner = vec![plus(Part::Owner(rule.column))];
                let usual = of_any(rule.column).unwrap_or_else(|| {
                    [vec![plus(Part::Memory(rule.column))], before.clone(), owner, before]
                });
                if rule.sums.each_ref().map(|sum| told(sum)) != usual.each_ref().map(|sum| told(sum)) {
                    text += &line(&name, rule.column, &rule.sums);
                }
            }
        }
        text
    }

    #[test]
    fn the_document_has_every_rule() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/format/rules.txt");
        let table = table();
        if std::env::var_os("CPULEDGER_WRITE_DOCS").is_some() {
            std::fs::write(path, table).expect("the file");
            return;
        }
        assert!(
            std::fs::read_to_string(path).expect("the file") == table,
            "other rules: that is another version"
        );
    }
}
