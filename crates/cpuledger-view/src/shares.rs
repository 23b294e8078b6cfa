//! What rows did with all of their time, and its shares as they are printed: tenths of a percent that add up to 100.0.

pub mod cells;
pub mod columns;

use cpuledger_model::field::{Field, FieldSet};
use cpuledger_model::interval::Usage;

use crate::sort;

/// A part of the time that a row was alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// On a CPU, in user mode.
    User,
    /// On a CPU, in the kernel.
    System,
    /// On a CPU that executed something else: an interrupt, or another guest.
    Stolen,
    /// Runnable, without a CPU.
    Waiting,
    /// In a wait that no signal ends.
    Blocked,
    /// Until an event or a signal.
    Sleeping,
    /// By a signal, a tracer or a freezer.
    Stopped,
    /// Not known.
    Unseen,
}

/// How many parts there are.
const PARTS: usize = 8;

/// What a row did with all of its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    parts_ns: [u64; PARTS],
    /// The part of [`Part::Blocked`] in which it waited for I/O.
    pub io_wait_ns: u64,
    /// Whether its CPU time is known by mode. If not, [`Part::User`] has all of it.
    pub is_divided: bool,
}

impl Times {
    /// By what a row used; `None`: its states are not known, or it was not alive.
    pub fn of(usage: &Usage) -> Option<Times> {
        let states = usage.states?;
        let cpu_ns = usage.self_ns + usage.exited_threads_ns.unwrap_or(0);
        let growth = &usage.growth;
        let knows = |field| growth.known.contains(field);
        let is_divided = cpu_ns == 0 || (knows(Field::User) && knows(Field::System));
        let stolen_ns = usage.stolen_ns.filter(|_| is_divided).unwrap_or(0).min(cpu_ns);
        let executed_ns = cpu_ns - stolen_ns;
        // As the kernel does it: what has no tick in the kernel is user time.
        let [_, system_ns] = match growth.system_ns {
            0 => [executed_ns, 0],
            _ => apportion([growth.user_ns, growth.system_ns], executed_ns).unwrap_or_default(),
        };
        let system_ns = if is_divided { system_ns } else { 0 };
        let times = Times {
            parts_ns: [
                executed_ns - system_ns,
                system_ns,
                stolen_ns,
                states.runqueue_wait_ns,
                states.blocked_ns,
                states.sleep_ns,
                states.stopped_ns,
                states.unseen_ns,
            ],
            io_wait_ns: states.io_wait_ns,
            is_divided,
        };
        (times.elapsed_ns() > 0).then_some(times)
    }

    /// The fields that the division of CPU time is made of.
    pub const FIELDS: FieldSet = FieldSet::of(&[Field::User, Field::System]);

    /// All parts together.
    pub fn elapsed_ns(&self) -> u64 {
        self.parts_ns.iter().sum()
    }

    /// How long it wanted to go on and could not: it waited for a CPU, or was blocked.
    pub fn held_ns(&self) -> u64 {
        self.sum_ns(&[Part::Waiting, Part::Blocked])
    }

    /// These parts together.
    pub fn sum_ns(&self, parts: &[Part]) -> u64 {
        parts.iter().map(|part| self.parts_ns[*part as usize]).sum()
    }

    /// All parts as whole numbers whose sum is that of the units, in the order of [`Part`].
    pub fn in_units(&self, units: u64) -> [u64; PARTS] {
        apportion(self.parts_ns, units).unwrap_or_default()
    }
}

/// Tenths of a percent in a whole.
pub const WHOLE: u64 = 1000;

/// Divides units among parts by their weight. Each has its quotient rounded down, and those with the largest remainders have one more, so
/// that the sum is exact; `None`: all weigh nothing.
pub fn apportion<const COUNT: usize>(weights: [u64; COUNT], units: u64) -> Option<[u64; COUNT]> {
    let total: u128 = weights.iter().map(|&weight| u128::from(weight)).sum();
    if total == 0 {
        return None;
    }
    let products = weights.map(|weight| u128::from(weight) * u128::from(units));
    let mut shares = products.map(|product| (product / total) as u64);
    let missing = units - shares.iter().sum::<u64>();
    let mut order: [usize; COUNT] = std::array::from_fn(|index| index);
    order.sort_by_key(|&index| std::cmp::Reverse(products[index] % total));
    // Each remainder is less than one unit, so there are fewer missing than parts.
    order.iter().take(missing as usize).for_each(|&index| shares[index] += 1);
    Some(shares)
}

/// What stands in a column of states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateCell {
    /// The share of these parts.
    Share(&'static [Part]),
    /// The share of I/O, which is in that of [`Part::Blocked`] too.
    Io,
    /// How long it was held up, in percent of the interval.
    Held,
    /// All parts as a bar.
    Bar,
}

/// A column of states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateColumn {
    /// Its header.
    pub name: &'static str,
    /// What stands in it.
    pub cell: StateCell,
    /// Its width.
    pub width: usize,
    /// One sentence.
    pub help: &'static str,
}

const fn column(name: &'static str, cell: StateCell, width: usize, help: &'static str) -> StateColumn {
    StateColumn { name, cell, width, help }
}

/// The column by which those come first that were held up for the longest.
pub const MOST_HELD: &str = "%HELD";

/// The width of a share.
const SHARE_WIDTH: usize = 5;

const fn share(name: &'static str, parts: &'static [Part], help: &'static str) -> StateColumn {
    column(name, StateCell::Share(parts), SHARE_WIDTH, help)
}

/// Every column of states, from left to right. The last two stand for others where there is little room.
pub static STATE_COLUMNS: [StateColumn; 13] = [
    column(MOST_HELD, StateCell::Held, 6, "WAIT and BLK in percent of the interval, of all its threads."),
    share("USR", &[Part::User], "On a CPU, in user mode."),
    share("SYS", &[Part::System], "On a CPU, in the kernel."),
    share("STL", &[Part::Stolen], "On a CPU, while an interrupt or another guest ran instead."),
    share("WAIT", &[Part::Waiting], "Waiting for a CPU."),
    share("BLK", &[Part::Blocked], "Blocked: waiting for I/O or a lock of the kernel."),
    column("(IO)", StateCell::Io, 7, "The part of BLK in which it waited for I/O; it is in BLK too."),
    share("SLP", &[Part::Sleeping], "Sleeping until an event or a signal."),
    share("STOP", &[Part::Stopped], "Stopped by a signal, a tracer or a freezer."),
    share("?", &[Part::Unseen], "Not known: it had not run since the ledger was attached."),
    column("STATES", StateCell::Bar, 20, "All states as one bar."),
    share("CPU", &[Part::User, Part::System, Part::Stolen], "USR, SYS and STL."),
    share("REST", &[Part::Sleeping, Part::Stopped, Part::Unseen], "SLP, STOP and ?."),
];

impl StateColumn {
    /// The column with this header.
    pub fn by_name(name: &str) -> Option<&'static StateColumn> {
        STATE_COLUMNS.iter().find(|column| column.name.eq_ignore_ascii_case(name))
    }

    /// Whether rows can be sorted by it.
    pub fn has_order(&self) -> bool {
        self.cell != StateCell::Bar
    }

    /// What a row is sorted by: what is printed, before it is rounded.
    pub fn weigh(&self, usage: &Usage) -> sort::Key<'static> {
        const BILLION: u128 = 1_000_000_000;
        let Some(times) = Times::of(usage) else { return sort::Key::Absent };
        let share = |part_ns: u64| u128::from(part_ns) * BILLION / u128::from(times.elapsed_ns());
        sort::Key::of_option(Some(match self.cell {
            StateCell::Held => i128::from(times.held_ns()),
            StateCell::Io => share(times.io_wait_ns) as i128,
            StateCell::Share(parts) => share(times.sum_ns(parts)) as i128,
            StateCell::Bar => return sort::Key::Absent,
        }))
    }
}

#[cfg(test)]
mod tests {
    use cpuledger_model::States;
    use cpuledger_model::counters::Counters;
    use cpuledger_model::make;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn shares_add_up_and_are_less_than_a_unit_off(
            parts in any::<[u64; PARTS]>(), few in proptest::array::uniform8(0u64..3), units in 0u64..100_000
        ) {
            for weights in [parts, few] {
                let total: u128 = weights.iter().map(|&weight| u128::from(weight)).sum();
                let Some(shares) = apportion(weights, WHOLE) else {
                    prop_assert_eq!(total, 0);
                    continue;
                };
                prop_assert_eq!(shares.iter().sum::<u64>(), WHOLE);
                for (&weight, &share) in weights.iter().zip(&shares) {
                    let exact = weight as f64 * WHOLE as f64 / total as f64;
                    prop_assert!((share as f64 - exact).abs() < 1.0 + 1e-6, "{} {}", share, exact);
                    prop_assert!(weight > 0 || share == 0, "nothing stays nothing");
                }
                let any = apportion(weights, units).expect("it weighs something");
                prop_assert_eq!(any.iter().sum::<u64>(), units);
            }
        }

        #[test]
        fn parts_are_all_of_the_time_whatever_ticks_say(
            own in 0u64..1 << 50, threads in 0u64..1 << 50, stolen in proptest::option::of(0u64..1 << 51),
            user in 0u64..1 << 50, system in 0u64..1 << 50, off in proptest::array::uniform5(0u64..1 << 50)
        ) {
            let states = make!(States {
                runqueue_wait_ns: off[0], blocked_ns: off[1], io_wait_ns: off[1] / 3,
                sleep_ns: off[2], stopped_ns: off[3], unseen_ns: off[4], elapsed_ns: 0,
            });
            for known in [Counters::FIELDS, FieldSet::EMPTY] {
                let usage = make!(Usage {
                    self_ns: own, exited_threads_ns: Some(threads), stolen_ns: stolen, states: Some(states),
                    growth: make!(Counters { known, user_ns: user, system_ns: system }) });
                let Some(times) = Times::of(&usage) else {
                    prop_assert_eq!(own + threads + states.off_ns(), 0);
                    continue;
                };
                prop_assert_eq!(times.elapsed_ns(), own + threads + states.off_ns());
                prop_assert_eq!(times.sum_ns(&[Part::User, Part::System, Part::Stolen]), own + threads);
                prop_assert_eq!(times.in_units(WHOLE).iter().sum::<u64>(), WHOLE);
            }
        }
    }

    #[test]
    fn cpu_time_is_divided_by_the_modes_and_less_what_was_stolen() {
        let growth = make!(Counters { known: Counters::FIELDS, user_ns: 30, system_ns: 10 });
        let states = Some(make!(States { elapsed_ns: 1000, sleep_ns: 600 }));
        let usage = make!(Usage { self_ns: 400, stolen_ns: Some(40), states, growth });
        let times = Times::of(&usage).expect("states are known");
        assert_eq!(times.in_units(WHOLE), [270, 90, 40, 0, 0, 600, 0, 0]);
        let usage = make!(Usage { growth: Counters::default(), ..usage });
        let times = Times::of(&usage).expect("states are known");
        assert_eq!((times.in_units(WHOLE)[0], times.is_divided), (400, false), "of the dead");
        assert_eq!(Times::of(&make!(Usage { states: None, ..usage })), None);
    }

    #[test]
    fn the_largest_remainders_are_rounded_up() {
        assert_eq!(apportion([1, 1, 1], 1000), Some([334, 333, 333]));
        assert_eq!(apportion([0, 0], 1000), None);
        assert_eq!(apportion([u64::MAX, u64::MAX, 1], 1000), Some([500, 500, 0]));
    }

    #[test]
    fn headers_differ() {
        for column in &STATE_COLUMNS {
            assert_eq!(StateColumn::by_name(column.name), Some(column));
        }
    }
}
