//! Processes by the shape in which they have forked, which die in one interval: what a user can make of 10 forks, of 1,000 or of 100,000.

use cpuledger::attribution::{Attribution, Increment};
use cpuledger::{Boottime, TaskId, Tid};
use cpuledger_model::make;

/// The shape of a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Each process has one child.
    Chain,
    /// A chain, each process of which has one more child.
    Comb,
    /// All have the same parent.
    Star,
    /// Each has any of the older ones as its parent.
    Random,
    /// Two trees of the same size become one, again and again: the shape that is worst for ways that are shortened.
    Binomial,
}

impl Shape {
    pub const ALL: [Shape; 5] = [Shape::Chain, Shape::Comb, Shape::Star, Shape::Random, Shape::Binomial];

    /// The number of the parent of this one; 0 is a process that lives.
    fn parent(self, number: u64, random: &mut u64) -> u64 {
        match self {
            Shape::Chain => number - 1,
            Shape::Comb if number.is_multiple_of(2) => number - 1,
            Shape::Comb => number.saturating_sub(2),
            Shape::Star => 0,
            Shape::Random => next(random) % number,
            Shape::Binomial => number & (number - 1),
        }
    }
}

/// In which order they die.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Parents wait for their children.
    ChildrenFirst,
    ParentsFirst,
    Shuffled,
}

impl Order {
    pub const ALL: [Order; 3] = [Order::ChildrenFirst, Order::ParentsFirst, Order::Shuffled];
}

fn next(random: &mut u64) -> u64 {
    *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *random >> 33
}

/// The process that lives.
pub fn root() -> TaskId {
    id(0)
}

fn id(number: u64) -> TaskId {
    TaskId { tid: Tid(1 + number as i32), start_time_ns: Boottime::from_ns(1_000 * number) }
}

/// The deaths of this many processes, 1 ns each, in the order in which they are told.
pub fn deaths(shape: Shape, order: Order, count: u64) -> Vec<Increment> {
    let mut random = 7;
    let mut deaths: Vec<Increment> = (1..=count)
        .map(|number| {
            make!(Increment {
                parent: Some(id(shape.parent(number, &mut random))),
                cpu_ns: 1,
                has_died: true,
                process_is_dead: true,
                ..Increment::of(id(number))
            })
        })
        .collect();
    match order {
        Order::ChildrenFirst => deaths.reverse(),
        Order::ParentsFirst => {}
        Order::Shuffled => {
            for place in (1..deaths.len()).rev() {
                deaths.swap(place, (next(&mut random) % (place as u64 + 1)) as usize);
            }
        }
    }
    deaths
}

/// One that knows the process that lives.
pub fn attribution() -> Attribution {
    let mut attribution = Attribution::default();
    attribution.add(root(), TaskId::default());
    attribution
}
