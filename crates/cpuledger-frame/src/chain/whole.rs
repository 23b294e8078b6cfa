//! What is predicted of all rows of a column at once.

use std::ops::Range;

use crate::column::{Column, Kind};
use crate::table::{ABSENT, raw_of_signed};

use super::bits;
use super::memory::NONE;
use super::predict::{Operand, View, at};
use super::rules::{Rule, Term};

/// Where a column is told: a code for each row, and the bits behind them.
pub(super) struct Told<'a> {
    pub(super) codes: &'a [u8],
    pub(super) bits: bits::Reader<'a>,
}

/// What a difference from nothing is told from.
fn base_of(column: Column) -> u64 {
    if column.kind() == Kind::Signed { raw_of_signed(0) } else { 0 }
}

impl View<'_> {
    /// The values of a column, or none where all are absent. `None`: what is told is no value.
    pub(super) fn read_column(
        &self,
        rule: &Rule,
        mut told: Option<Told<'_>>,
        each: &mut Vec<u64>,
    ) -> Option<()> {
        each.clear();
        if told.is_none() && self.is_nothing_predicted(rule) {
            return Some(());
        }
        let base = base_of(rule.column);
        let zero = if told.is_some() { base } else { ABSENT };
        each.resize(self.rows.memory.len(), 0);
        let mut begin = 0;
        for run in &self.rows.runs {
            let rows = begin..run.end as usize;
            begin = rows.end;
            let terms = &rule.sums[usize::from(run.class)];
            let last = rows.start.checked_sub(1).map_or(ABSENT, |before| each[before]);
            let own = &mut each[rows.clone()];
            let goes_on = self.predict(rule.column, terms, rows.clone(), zero, own);
            match (&mut told, goes_on) {
                (None, false) => {}
                (None, true) => follow(last, own),
                (Some(told), false) => add(&told.codes[rows], &mut told.bits, base, own)?,
                (Some(told), true) => {
                    follow_and_add(last, &told.codes[rows], &mut told.bits, base, own)?;
                }
            }
        }
        Some(())
    }

    /// Whether each row is absent if nothing is told of the column.
    fn is_nothing_predicted(&self, rule: &Rule) -> bool {
        self.rows.runs.iter().all(|run| match rule.sums[usize::from(run.class)].first() {
            None => true,
            Some(first) => {
                matches!(self.operand(first.part, rule.column), Operand::Constant(ABSENT) | Operand::Last)
            }
        })
    }

    /// Puts the predictions of these rows in their places. Returns whether the value of the row before is to be added to each.
    fn predict(&self, of: Column, terms: &[Term], rows: Range<usize>, zero: u64, into: &mut [u64]) -> bool {
        let Some((first, others)) = terms.split_first() else {
            into.fill(zero);
            return false;
        };
        let operand = self.operand(first.part, of);
        let goes_on = matches!(operand, Operand::Last);
        debug_assert!(!first.is_minus, "a prediction begins with what is added");
        if goes_on {
            into.fill(0);
        } else {
            self.each(operand, &rows, into, |place, value| *place = value);
        }
        if others.is_empty() {
            return goes_on;
        }
        let mut has_absent = false;
        for place in into.iter_mut().filter(|place| **place == ABSENT) {
            (*place, has_absent) = (0, true);
        }
        for Term { is_minus, part } in others {
            let known = |value: u64| if value == ABSENT { 0 } else { value };
            let operand = self.operand(*part, of);
            if *is_minus {
                self.each(operand, &rows, into, |place, value| *place = place.wrapping_sub(known(value)));
            } else {
                self.each(operand, &rows, into, |place, value| *place = place.wrapping_add(known(value)));
            }
        }
        if has_absent {
            self.each(operand, &rows, into, |place, value| {
                if value == ABSENT {
                    *place = ABSENT;
                }
            });
        }
        goes_on
    }

    /// Takes the value of an operand for each of these rows.
    fn each(
        &self,
        operand: Operand<'_>,
        rows: &Range<usize>,
        into: &mut [u64],
        take: impl Fn(&mut u64, u64),
    ) {
        let both = into.iter_mut();
        match operand {
            Operand::Constant(value) => both.for_each(|place| take(place, value)),
            Operand::Rows(each) => {
                both.zip(&each[rows.clone()]).for_each(|(place, value)| take(place, *value));
            }
            Operand::Before(each) => {
                let before = rows.start.checked_sub(1).map_or(ABSENT, |before| each[before]);
                let values = std::iter::once(&before).chain(&each[rows.start..]);
                both.zip(values).for_each(|(place, value)| take(place, *value));
            }
            Operand::Memory(each) => {
                let places = &self.rows.memory[rows.clone()];
                both.zip(places).for_each(|(place, from)| take(place, at(each, *from)));
            }
            Operand::Owner(each) => {
                let owners = self.rows.owners.get(rows.clone()).unwrap_or_default();
                let owners = owners.iter().copied().chain(std::iter::repeat(NONE));
                both.zip(owners).for_each(|(place, from)| take(place, at(each, from)));
            }
            Operand::Lengths(each) => {
                let length_ns = self.length_ns();
                let value = |times| if times == ABSENT { length_ns } else { length_ns.wrapping_mul(times) };
                both.zip(&each[rows.clone()]).for_each(|(place, times)| take(place, value(*times)));
            }
            Operand::Last => debug_assert!(false, "only a prediction begins with the row before"),
        }
    }
}

/// The value of a row that is told.
fn value(code: u8, predicted: u64, bits: &mut bits::Reader<'_>, base: u64) -> Option<u64> {
    match code {
        bits::EQUAL => Some(predicted),
        bits::NOTHING => Some(ABSENT),
        code => {
            let from = if predicted == ABSENT { base } else { predicted };
            Some(from.wrapping_add(bits.difference(code)?)).filter(|value| *value != ABSENT)
        }
    }
}

/// Adds what is told to what is predicted.
fn add(codes: &[u8], bits: &mut bits::Reader<'_>, base: u64, each: &mut [u64]) -> Option<()> {
    let (eights, rest) = codes.as_chunks::<8>();
    for (eight, places) in eights.iter().zip(each.chunks_mut(8)) {
        if u64::from_ne_bytes(*eight) == 0 {
            continue;
        }
        for (code, place) in eight.iter().zip(places) {
            *place = value(*code, *place, bits, base)?;
        }
    }
    for (code, place) in rest.iter().zip(&mut each[eights.len() * 8..]) {
        *place = value(*code, *place, bits, base)?;
    }
    Some(())
}

/// The row before, and what is there.
fn onward(last: u64, more: u64) -> u64 {
    if last == ABSENT { ABSENT } else { last.wrapping_add(more) }
}

fn follow(mut last: u64, each: &mut [u64]) {
    for place in each {
        last = onward(last, *place);
        *place = last;
    }
}

fn follow_and_add(
    mut last: u64,
    codes: &[u8],
    bits: &mut bits::Reader<'_>,
    base: u64,
    each: &mut [u64],
) -> Option<()> {
    for (code, place) in codes.iter().zip(each) {
        last = value(*code, onward(last, *place), bits, base)?;
        *place = last;
    }
    Some(())
}

const _: () = assert!(bits::EQUAL == 0, "eight codes that are as predicted are a zero");
