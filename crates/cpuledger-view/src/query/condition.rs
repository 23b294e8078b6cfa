//! What a filter asks of a row, and whether it holds.

use std::cmp::Ordering;

use regex::bytes::Regex;

use crate::figure::{OF_NAME, alive_ns};
use crate::group::GROUP_KEYS;
use crate::key::Key;
use cpuledger_model::field::{Field, FieldSet, Value};
use cpuledger_model::interval::Row;
use cpuledger_names::named::{NameKey, Named};
use cpuledger_names::names::Names;

/// What is asked whether it matches.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The row.
    pub row: &'a Row,
    /// Length of the interval.
    pub length_ns: u64,
    /// Names of users.
    pub users: &'a Names,
    /// Memory of the machine; `None`: not known.
    pub memory_total_bytes: Option<u64>,
    /// Arguments as they are shown, where they are known.
    pub arguments: Option<&'a [u8]>,
    /// What cgroups are called, where that was looked up.
    pub named: Option<&'a Named>,
}

/// A filter as it was read: what must hold, or may.
#[derive(Debug, Clone)]
pub(super) enum Node {
    All(Vec<Node>),
    Any(Vec<Node>),
    Not(Box<Node>),
    Is(Condition),
    Word(Regex),
}

/// What must hold of one figure.
#[derive(Debug, Clone)]
pub(super) struct Condition {
    pub(super) what: What,
    pub(super) operator: Operator,
    pub(super) operand: Operand,
}

/// What a condition looks at.
#[derive(Debug, Clone, Copy)]
pub(super) enum What {
    /// A key, as it is.
    Key(Key),
    /// A key of nanoseconds in percent of the interval.
    Share(Key),
    /// A key of nanoseconds in percent of the time that the row was alive.
    ElapsedShare(Key),
    /// Resident memory in percent.
    MemoryShare,
    /// The effective user.
    User,
    /// Arguments, else the name.
    Arguments,
    /// What the cgroup is called.
    Named(NameKey),
}

impl What {
    /// Whether rows that are put together have a sum of it.
    fn is_amount(self) -> bool {
        match self {
            What::Share(_) | What::ElapsedShare(_) | What::MemoryShare => true,
            What::Key(key) => GROUP_KEYS.iter().any(|of_sums| of_sums.name() == key.name()),
            What::User | What::Arguments | What::Named(_) => false,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Equal,
    Different,
    More,
    AtLeast,
    Less,
    AtMost,
    Matches,
    Lacks,
}

#[derive(Debug, Clone)]
pub(super) enum Operand {
    Number(i128),
    Share(f64),
    Letters(Vec<u8>),
    Text(Vec<u8>),
    Pattern(Regex),
}

impl Node {
    pub(super) fn holds(&self, subject: &Subject<'_>) -> bool {
        match self {
            Node::All(nodes) => nodes.iter().all(|node| node.holds(subject)),
            Node::Any(nodes) => nodes.iter().any(|node| node.holds(subject)),
            Node::Not(node) => !node.holds(subject),
            Node::Is(condition) => condition.holds(subject).unwrap_or(false),
            Node::Word(word) => {
                word.is_match(subject.row.task.comm.as_bytes())
                    || subject.arguments.is_some_and(|arguments| word.is_match(arguments))
            }
        }
    }

    /// Whether that may be the result for some amounts of the row: true for holding.
    pub(super) fn may_be(&self, result: bool, subject: &Subject<'_>) -> bool {
        let may_be = |node: &Node| node.may_be(result, subject);
        match (self, result) {
            (Node::All(nodes), true) | (Node::Any(nodes), false) => nodes.iter().all(may_be),
            (Node::All(nodes), false) | (Node::Any(nodes), true) => nodes.iter().any(may_be),
            (Node::Not(node), _) => node.may_be(!result, subject),
            (Node::Is(condition), _) if condition.what.is_amount() => true,
            (Node::Is(_) | Node::Word(_), _) => self.holds(subject) == result,
        }
    }

    /// Whether any condition looks at such a thing.
    pub(super) fn looks_at(&self, is_such: fn(What) -> bool) -> bool {
        match self {
            Node::All(nodes) | Node::Any(nodes) => nodes.iter().any(|node| node.looks_at(is_such)),
            Node::Not(node) => node.looks_at(is_such),
            Node::Is(condition) => is_such(condition.what),
            Node::Word(_) => is_such(What::Arguments),
        }
    }

    pub(super) fn fields(&self) -> FieldSet {
        match self {
            Node::All(nodes) | Node::Any(nodes) => {
                nodes.iter().fold(FieldSet::EMPTY, |all, node| all.union(node.fields()))
            }
            Node::Not(node) => node.fields(),
            Node::Is(condition) => match condition.what {
                What::Key(key) | What::Share(key) | What::ElapsedShare(key) => match key {
                    Key::Field(field) => FieldSet::of(&[field]),
                    Key::Part(_) => FieldSet::EMPTY,
                },
                What::MemoryShare => FieldSet::of(&[Field::Rss]),
                What::User => FieldSet::of(&[Field::Euid]),
                What::Arguments => FieldSet::of(&[Field::Comm]),
                What::Named(_) => OF_NAME,
            },
            Node::Word(_) => FieldSet::of(&[Field::Comm]),
        }
    }
}

impl Condition {
    /// `None`: it is not known.
    fn holds(&self, subject: &Subject<'_>) -> Option<bool> {
        match self.what {
            What::Key(key) => self.holds_for(key.value(subject.row)),
            What::Share(key) => self.holds_for_share(key, subject, subject.length_ns),
            What::ElapsedShare(key) => {
                self.holds_for_share(key, subject, alive_ns(&subject.row.usage, subject.length_ns))
            }
            What::MemoryShare => {
                let Value::Unsigned(bytes) = Field::Rss.value(&subject.row.task) else { return None };
                self.compare_share(bytes as f64 * 100.0 / subject.memory_total_bytes?.max(1) as f64)
            }
            What::User => {
                let Value::Unsigned(uid) = Field::Euid.value(&subject.row.task) else { return None };
                let number = uid.to_string();
                let name = subject.users.name(uid as u32);
                let is = |text: &[u8]| self.holds_for_text(text);
                // Either way of writing a user will do; none of them must, where it shall be another.
                if matches!(self.operator, Operator::Different | Operator::Lacks) {
                    Some(is(name)? && is(number.as_bytes())?)
                } else {
                    Some(!name.is_empty() && is(name)? || is(number.as_bytes())?)
                }
            }
            What::Named(name) => self.holds_for_text(subject.named?.name(&subject.row.task, name)?),
            What::Arguments => {
                self.holds_for_text(subject.arguments.unwrap_or_else(|| subject.row.task.comm.as_bytes()))
            }
        }
    }

    fn holds_for(&self, value: Value<'_>) -> Option<bool> {
        match (value, &self.operand) {
            (Value::Absent, _) => None,
            (Value::Unsigned(value), Operand::Number(number)) => self.compare(i128::from(value).cmp(number)),
            (Value::Signed(value), Operand::Number(number)) => self.compare(i128::from(value).cmp(number)),
            (Value::Letter(letter), Operand::Letters(letters)) => {
                Some(letters.contains(&letter) == (self.operator == Operator::Equal))
            }
            (Value::Bytes(bytes), _) => self.holds_for_text(bytes),
            _ => None,
        }
    }

    fn holds_for_share(&self, key: Key, subject: &Subject<'_>, whole_ns: u64) -> Option<bool> {
        let Value::Unsigned(ns) = key.value(subject.row) else { return None };
        self.compare_share(ns as f64 * 100.0 / whole_ns.max(1) as f64)
    }

    fn holds_for_text(&self, text: &[u8]) -> Option<bool> {
        match &self.operand {
            Operand::Text(wanted) => self.compare(text.cmp(wanted)),
            Operand::Pattern(pattern) => Some(pattern.is_match(text) == (self.operator == Operator::Matches)),
            _ => None,
        }
    }

    fn compare_share(&self, share: f64) -> Option<bool> {
        let Operand::Share(wanted) = self.operand else { return None };
        self.compare(share.partial_cmp(&wanted)?)
    }

    fn compare(&self, order: Ordering) -> Option<bool> {
        Some(match self.operator {
            Operator::Equal => order.is_eq(),
            Operator::Different => order.is_ne(),
            Operator::More => order.is_gt(),
            Operator::AtLeast => order.is_ge(),
            Operator::Less => order.is_lt(),
            Operator::AtMost => order.is_le(),
            Operator::Matches | Operator::Lacks => return None,
        })
    }
}
