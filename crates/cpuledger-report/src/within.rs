//! Conditions that rows have to meet: to be of a unit, of a command of that, and so on.

use rustc_hash::FxHashMap;

use crate::dimension::{Dimension, Name};
use crate::key::Key;

/// Answers that are remembered. Beyond that all are forgotten.
const MOST_ANSWERS: usize = 65_536;

/// A condition: the name of a row by this dimension has this [`Name::id`].
pub type Condition = (Dimension, String);

/// All conditions have to be met.
#[derive(Debug, Clone, Default)]
pub(crate) struct Within {
    conditions: Vec<Condition>,
    /// Whether the name of a key is the one that the condition at this place wants.
    answers: FxHashMap<(usize, Key), bool>,
    /// CPU time that was left out.
    pub(crate) outside_ns: u64,
}

impl Within {
    pub(crate) fn new(conditions: Vec<Condition>) -> Within {
        Within { conditions, ..Within::default() }
    }

    /// Whether there is any condition.
    pub(crate) fn is_narrow(&self) -> bool {
        !self.conditions.is_empty()
    }

    /// Whether one is about this.
    pub(crate) fn has(&self, dimension: Dimension) -> bool {
        self.conditions.iter().any(|(own, _)| *own == dimension)
    }

    pub(crate) fn dimensions(&self) -> impl Iterator<Item = Dimension> {
        self.conditions.iter().map(|(own, _)| *own)
    }

    /// Keys are others from now on.
    pub(crate) fn forget_answers(&mut self) {
        self.answers.clear();
    }

    /// Whether what has these keys meets them all.
    pub(crate) fn admits(&mut self, key: impl Fn(Dimension) -> Key, name: impl Fn(Key) -> Name) -> bool {
        if self.answers.len() > MOST_ANSWERS {
            self.answers.clear();
        }
        let answers = &mut self.answers;
        self.conditions.iter().enumerate().all(|(place, (dimension, id))| {
            let key = key(*dimension);
            *answers.entry((place, key)).or_insert_with(|| {
                let name = name(key);
                let name = if *dimension == Dimension::Unit { name.unit() } else { name };
                name.id() == *id
            })
        })
    }
}
