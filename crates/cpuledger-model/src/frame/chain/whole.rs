//! What is predicted of all rows of a column at once.

use std::ops::Range;

use crate::frame::column::{Column, Kind};
use crate::frame::table::{ABSENT, Values, raw_of_signed};

use super::bits;
use super::memory::NONE;
use super::predict::{Operand, Run, View, at};
use super::rules::{Part, Rule, Term};

/// Where a column is told: a code for each row, and the bits behind them.
pub(super) struct CodedColumn<'a> {
    pub(super) codes: &'a [u8],
    pub(super) bits: bits::Reader<'a>,
}

/// What a difference from nothing is told from.
fn base_of(column: Column) -> u64 {
    if column.kind() == Kind::Signed { raw_of_signed(0) } else { 0 }
}

impl View<'_> {
    /// The values of a column, or one for all rows where that is soon seen. `None`: what is told is no value.
    pub(super) fn read_column(
        &self,
        rule: &Rule,
        mut told: Option<CodedColumn<'_>>,
        values: &mut Values,
    ) -> Option<()> {
        values.clear();
        let base = base_of(rule.column);
        match &told {
            None if self.is_nothing_predicted(rule) => return Some(()),
            Some(told) if self.is_base_predicted(rule) && are_equal(told.codes) => {
                values.constant = base;
                return Some(());
            }
            _ => {}
        }
        let zero = if told.is_some() { base } else { ABSENT };
        let each = &mut values.each;
        each.resize(self.rows.memory.len(), zero);
        let mut begin = 0;
        // Rows with the same prediction are read at once, whatever their classes.
        let alike = |run: &Run| rule.alike[usize::from(run.class)];
        for runs in self.rows.runs.chunk_by(|one, other| alike(one) == alike(other)) {
            let Some(run) = runs.last() else { break };
            let rows = begin..run.end as usize;
            begin = rows.end;
            let terms = &rule.sums[usize::from(run.class)];
            let last = rows.start.checked_sub(1).map_or(ABSENT, |before| each[before]);
            let own = &mut each[rows.clone()];
            // What follows the row before, and nothing else, needs no prediction of its own.
            if let ([Term { part: Part::Before(column), .. }], Some(told)) = (&**terms, &mut told)
                && *column == rule.column
            {
                go_on::<false>(last, &told.codes[rows], &mut told.bits, base, own)?;
                continue;
            }
            let goes_on = self.predict(rule.column, terms, rows.clone(), own);
            match (&mut told, goes_on) {
                (None, false) => {}
                (None, true) => follow(last, own),
                (Some(told), false) => add(&told.codes[rows], &mut told.bits, base, own)?,
                (Some(told), true) => go_on::<true>(last, &told.codes[rows], &mut told.bits, base, own)?,
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

    /// Whether each row has a number, and that of nothing, if all codes are [`bits::EQUAL`].
    fn is_base_predicted(&self, rule: &Rule) -> bool {
        let runs = &self.rows.runs;
        let is_base = |run: &Run| rule.sums[usize::from(run.class)].is_empty();
        rule.column.kind() != Kind::Text && !runs.is_empty() && runs.iter().all(is_base)
    }

    /// Puts the predictions of these rows in their places, where those without terms are already. Returns whether the value of the row before is to
    /// be added to each.
    fn predict(&self, of: Column, terms: &[Term], rows: Range<usize>, into: &mut [u64]) -> bool {
        let Some((first, others)) = terms.split_first() else { return false };
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
        let known = |value: u64| if value == ABSENT { 0 } else { value };
        let begins_absent = !goes_on && has_absent(into);
        if begins_absent {
            into.iter_mut().for_each(|place| *place = known(*place));
        }
        for Term { is_minus, part } in others {
            let operand = self.operand(*part, of);
            if matches!(operand, Operand::Constant(0 | ABSENT)) {
                continue;
            }
            // A look at all values costs less than one at each while they are added.
            let are_known = matches!(operand, Operand::Rows(each) if !has_absent(&each[rows.clone()]));
            match (*is_minus, are_known) {
                (false, true) => {
                    self.each(operand, &rows, into, |place, value| *place = place.wrapping_add(value))
                }
                (true, true) => {
                    self.each(operand, &rows, into, |place, value| *place = place.wrapping_sub(value))
                }
                (false, false) => {
                    self.each(operand, &rows, into, |place, value| *place = place.wrapping_add(known(value)));
                }
                (true, false) => {
                    self.each(operand, &rows, into, |place, value| *place = place.wrapping_sub(known(value)));
                }
            }
        }
        if begins_absent {
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
        let mut both = into.iter_mut();
        match operand {
            Operand::Constant(value) => both.for_each(|place| take(place, value)),
            Operand::Rows(each) => {
                both.zip(&each[rows.clone()]).for_each(|(place, value)| take(place, *value));
            }
            Operand::Before(each) => {
                let before = rows.start.checked_sub(1).map_or(ABSENT, |before| each[before]);
                both.next().into_iter().for_each(|place| take(place, before));
                both.zip(&each[rows.start..]).for_each(|(place, value)| take(place, *value));
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

/// The value of a row that is told, without a branch on its code: codes that follow each other are hard to guess. `is_wrong` becomes true
/// if the code or the value is none.
#[inline]
fn value(code: u8, predicted: u64, bits: &mut bits::Reader<'_>, base: u64, is_wrong: &mut bool) -> u64 {
    let difference = bits.difference_of_any(code);
    let from = if (predicted == ABSENT) & (code != bits::EQUAL) { base } else { predicted };
    let told = from.wrapping_add(difference);
    *is_wrong |= !bits::is_code(code) | ((told == ABSENT) & (code > bits::NOTHING));
    if code == bits::NOTHING { ABSENT } else { told }
}

/// Adds what is told to what is predicted.
fn add(codes: &[u8], bits: &mut bits::Reader<'_>, base: u64, each: &mut [u64]) -> Option<()> {
    // A copy stays in registers.
    let mut own = *bits;
    let mut is_wrong = false;
    let (eights, rest) = codes.as_chunks::<8>();
    let (places, last) = each.split_at_mut(eights.len() * 8);
    for (eight, places) in eights.iter().zip(places.as_chunks_mut::<8>().0) {
        let word = u64::from_ne_bytes(*eight);
        if word == 0 {
            continue;
        }
        if are_numbers(word) {
            let (mut ahead, mut all) = (own, 0);
            ahead.take_eight(eight, places, |place, more| {
                all |= *place ^ base;
                *place = place.wrapping_add(more);
                all |= *place ^ base;
            });
            if are_values(all) {
                own = ahead;
                continue;
            }
            // As it was.
            let mut again = own;
            again.take_eight(eight, places, |place, more| *place = place.wrapping_sub(more));
        }
        for (code, place) in eight.iter().zip(places) {
            *place = value(*code, *place, &mut own, base, &mut is_wrong);
        }
    }
    for (code, place) in rest.iter().zip(last) {
        *place = value(*code, *place, &mut own, base, &mut is_wrong);
    }
    *bits = own;
    (!is_wrong).then_some(())
}

/// Adds what is told to the value of the row before and, if there `IS_MORE`, to what is in its place.
fn go_on<const IS_MORE: bool>(
    mut last: u64,
    codes: &[u8],
    bits: &mut bits::Reader<'_>,
    base: u64,
    each: &mut [u64],
) -> Option<()> {
    let mut own = *bits;
    let mut is_wrong = false;
    let mut one = |last: &mut u64, bits: &mut bits::Reader<'_>, code: u8, place: &mut u64| {
        let predicted = if IS_MORE { onward(*last, *place) } else { *last };
        *last = value(code, predicted, bits, base, &mut is_wrong);
        *place = *last;
    };
    let (eights, rest) = codes.as_chunks::<8>();
    let (places, behind) = each.split_at_mut(eights.len() * 8);
    for (eight, places) in eights.iter().zip(places.as_chunks_mut::<8>().0) {
        let word = u64::from_ne_bytes(*eight);
        if !IS_MORE && word == 0 {
            *places = [last; 8];
            continue;
        }
        if last != ABSENT && are_numbers(word) {
            let (mut ahead, mut sum, mut all) = (own, last, 0);
            let mut take = |place: &mut u64, more: u64| {
                if IS_MORE {
                    sum = sum.wrapping_add(*place);
                    all |= sum ^ base;
                }
                sum = sum.wrapping_add(more);
                all |= sum ^ base;
                *place = sum;
            };
            match word {
                0 => places.iter_mut().for_each(|place| take(place, 0)),
                _ => ahead.take_eight(eight, places, take),
            }
            if are_values(all) {
                (own, last) = (ahead, sum);
                continue;
            }
            // As it was.
            let (mut again, mut before) = (own, last);
            again.take_eight(eight, places, |place, more| {
                let sum = *place;
                *place = sum.wrapping_sub(before).wrapping_sub(more);
                before = sum;
            });
        }
        for (code, place) in eight.iter().zip(places) {
            one(&mut last, &mut own, *code, place);
        }
    }
    rest.iter().zip(behind).for_each(|(code, place)| one(&mut last, &mut own, *code, place));
    *bits = own;
    (!is_wrong).then_some(())
}

/// Whether none of these can be [`ABSENT`], by all of their bits together, without the sign where there is one. Few values are as large as those
/// of which it does not know it.
#[inline]
fn are_values(all: u64) -> bool {
    all >> 62 == 0
}

/// Whether each row is as predicted. It looks at all of them, as that takes less time than to stop at the first that is not.
fn are_equal(codes: &[u8]) -> bool {
    codes.iter().fold(0, |all, code| all | *code) == bits::EQUAL
}

/// Likewise, whether a row has nothing.
fn has_absent(each: &[u64]) -> bool {
    let all = each.iter().fold(0, |all, value| all | *value);
    !are_values(all) && each.iter().fold(false, |any, value| any | (*value == ABSENT))
}

const ONES: u64 = u64::from_ne_bytes([1; 8]);

/// Whether each of eight codes is as predicted, or of a number.
#[inline]
fn are_numbers(word: u64) -> bool {
    const _: () = assert!(bits::NOTHING == 1 && bits::is_code(130) && !bits::is_code(131));
    // A byte that is 1, and one that is more than 130.
    let other = word ^ ONES;
    let nothing = other.wrapping_sub(ONES) & !other;
    let wrong = word & ((word & (0x7f * ONES)) + 0x7d * ONES);
    (nothing | wrong) & (0x80 * ONES) == 0
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

const _: () = assert!(bits::EQUAL == 0, "codes that are as predicted are zeros");

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Codes, most of which are of numbers.
    fn codes() -> impl Strategy<Value = Vec<u8>> {
        let code =
            prop_oneof![8 => Just(bits::EQUAL), 8 => 2_u8..20, 4 => 60_u8..131, 1 => Just(bits::NOTHING)];
        prop_oneof![9 => prop::collection::vec(code, 0..60), 1 => prop::collection::vec(any::<u8>(), 0..60)]
    }

    /// Predictions, most of which are values.
    fn predictions() -> impl Strategy<Value = Vec<u64>> {
        let some = prop_oneof![8 => 0_u64..9, 1 => Just(ABSENT - 1), 1 => any::<u64>()];
        let all = prop::collection::vec(some.clone(), 60);
        prop_oneof![all, prop::collection::vec(prop_oneof![9 => some, 1 => Just(ABSENT)], 60)]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4_000, ..ProptestConfig::default() })]

        #[test]
        fn a_column_is_as_its_rows_one_by_one(
            codes in codes(),
            predictions in predictions(),
            dense in prop::collection::vec(any::<u8>(), 0..500),
            last in prop_oneof![Just(ABSENT), Just(ABSENT - 3), 0_u64..9],
            base in prop_oneof![Just(0), Just(raw_of_signed(0))],
        ) {
            let predictions = &predictions[..codes.len()];
            let one_by_one = |goes_on: bool| {
                let (mut bits, mut last) = (bits::Reader::new(&dense, 3), last);
                let told: Option<Vec<u64>> = codes.iter().zip(predictions).map(|(code, predicted)| {
                    let predicted = if goes_on { onward(last, *predicted) } else { *predicted };
                    last = match *code {
                        bits::EQUAL => predicted,
                        bits::NOTHING => ABSENT,
                        code => {
                            let from = if predicted == ABSENT { base } else { predicted };
                            from.wrapping_add(bits.difference(code)?)
                        }
                    };
                    (last != ABSENT || *code <= bits::NOTHING).then_some(last)
                }).collect();
                told
            };
            let mut each = predictions.to_vec();
            let told = add(&codes, &mut bits::Reader::new(&dense, 3), base, &mut each);
            prop_assert_eq!(told.map(|()| each), one_by_one(false));
            let mut each = predictions.to_vec();
            let told = go_on::<true>(last, &codes, &mut bits::Reader::new(&dense, 3), base, &mut each);
            prop_assert_eq!(told.map(|()| each), one_by_one(true));
            let mut each = vec![0; codes.len()];
            let anew = go_on::<true>(last, &codes, &mut bits::Reader::new(&dense, 3), base, &mut each);
            let mut pure = vec![1; codes.len()];
            let told = go_on::<false>(last, &codes, &mut bits::Reader::new(&dense, 3), base, &mut pure);
            prop_assert_eq!(told.map(|()| pure), anew.map(|()| each));
        }
    }
}
