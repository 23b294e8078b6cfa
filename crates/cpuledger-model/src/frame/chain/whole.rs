//! What is predicted of all rows of a column at once.

use std::ops::Range;

use crate::frame::column::{Column, Kind};
use crate::frame::table::{ABSENT, Values, raw_of_signed};

use super::bits;
use super::memory::NONE;
use super::predict::{Operand, Run, View, at};
use super::rules::{Rule, Term};

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
        each.resize(self.rows.memory.len(), 0);
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
            let goes_on = self.predict(rule.column, terms, rows.clone(), zero, own);
            match (&mut told, goes_on) {
                (None, false) => {}
                (None, true) => follow(last, own),
                (Some(told), false) => add(&told.codes[rows], &mut told.bits, base, own)?,
                (Some(told), true) => {
                    let (codes, bits) = (&told.codes[rows.clone()], told.bits);
                    if follow_and_add_at_once(last, codes, &mut told.bits, base, own) {
                        continue;
                    }
                    told.bits = bits;
                    self.predict(rule.column, terms, rows, zero, own);
                    follow_and_add(last, codes, &mut told.bits, base, own)?;
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

    /// Whether each row has a number, and that of nothing, if all codes are [`bits::EQUAL`].
    fn is_base_predicted(&self, rule: &Rule) -> bool {
        let runs = &self.rows.runs;
        let is_base = |run: &Run| rule.sums[usize::from(run.class)].is_empty();
        rule.column.kind() != Kind::Text && !runs.is_empty() && runs.iter().all(is_base)
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
        let known = |value: u64| if value == ABSENT { 0 } else { value };
        let has_absent = has_absent(into);
        if has_absent {
            into.iter_mut().for_each(|place| *place = known(*place));
        }
        for Term { is_minus, part } in others {
            let operand = self.operand(*part, of);
            if matches!(operand, Operand::Constant(0 | ABSENT)) {
                continue;
            }
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
    if are_numbers(codes) && !has_absent(each) {
        return add_numbers(codes, bits, each).then_some(());
    }
    let mut is_wrong = false;
    for (code, place) in codes.iter().zip(each) {
        *place = value(*code, *place, bits, base, &mut is_wrong);
    }
    (!is_wrong).then_some(())
}

/// Whether each row is as predicted. It looks at all of them, as that takes less time than to stop at the first that is not.
fn are_equal(codes: &[u8]) -> bool {
    codes.iter().fold(0, |all, code| all | *code) == bits::EQUAL
}

/// Likewise, whether a row has nothing.
fn has_absent(each: &[u64]) -> bool {
    each.iter().fold(false, |any, value| any | (*value == ABSENT))
}

/// Whether each code is as predicted, or of a number.
fn are_numbers(codes: &[u8]) -> bool {
    codes.iter().fold(true, |all, code| all & (*code != bits::NOTHING) & bits::is_code(*code))
}

/// Likewise, where each code is of a number and each prediction is one. Returns whether all sums are values.
fn add_numbers(codes: &[u8], bits: &mut bits::Reader<'_>, each: &mut [u64]) -> bool {
    // A copy stays in registers.
    let mut own = *bits;
    let (eights, rest) = codes.as_chunks::<8>();
    let (places, last) = each.split_at_mut(eights.len() * 8);
    for (eight, places) in eights.iter().zip(places.as_chunks_mut::<8>().0) {
        if u64::from_ne_bytes(*eight) != 0 {
            let differences = own.differences_of_any(eight);
            places.iter_mut().zip(differences).for_each(|(place, more)| *place = place.wrapping_add(more));
        }
    }
    let both = rest.iter().zip(last);
    both.for_each(|(code, place)| *place = place.wrapping_add(own.difference_of_any(*code)));
    *bits = own;
    !has_absent(each)
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
    let mut is_wrong = false;
    for (code, place) in codes.iter().zip(each) {
        last = value(*code, onward(last, *place), bits, base, &mut is_wrong);
        *place = last;
    }
    (!is_wrong).then_some(())
}

/// Likewise, with numbers that follow each other added at once. Returns whether that is possible; if not, `each` and `bits` are to be made
/// anew, and read with a look at each row.
fn follow_and_add_at_once(
    mut last: u64,
    codes: &[u8],
    bits: &mut bits::Reader<'_>,
    base: u64,
    mut each: &mut [u64],
) -> bool {
    if !codes.iter().fold(true, |all, code| all & bits::is_code(*code)) {
        return false;
    }
    let has_nothing = !are_numbers(codes);
    let (mut rest, mut is_wrong) = (codes, false);
    while let Some((_, others)) = rest.split_first() {
        // Up to the next row that has nothing.
        let next = has_nothing.then(|| others.iter().position(|code| *code == bits::NOTHING)).flatten();
        let (codes, behind) = rest.split_at(next.map_or(rest.len(), |next| next + 1));
        rest = behind;
        let (mut own, behind) = each.split_at_mut(codes.len());
        each = behind;
        let mut codes = codes.iter();
        for code in codes.by_ref() {
            let Some(place) = own.split_off_first_mut() else { break };
            last = value(*code, onward(last, *place), bits, base, &mut is_wrong);
            *place = last;
            if last != ABSENT {
                break;
            }
        }
        let (eights, rest) = codes.as_slice().as_chunks::<8>();
        let mut go_on = |place: &mut u64, difference: u64| {
            let predicted = last.wrapping_add(*place);
            last = predicted.wrapping_add(difference);
            is_wrong |= (predicted == ABSENT) | (last == ABSENT);
            *place = last;
        };
        let (places, behind) = own.split_at_mut(eights.len() * 8);
        for (eight, places) in eights.iter().zip(places.as_chunks_mut::<8>().0) {
            let is_equal = u64::from_ne_bytes(*eight) == 0;
            let differences = if is_equal { [0; 8] } else { bits.differences_of_any(eight) };
            places.iter_mut().zip(differences).for_each(|(place, difference)| go_on(place, difference));
        }
        rest.iter().zip(behind).for_each(|(code, place)| go_on(place, bits.difference_of_any(*code)));
    }
    !is_wrong
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
            let told = follow_and_add(last, &codes, &mut bits::Reader::new(&dense, 3), base, &mut each);
            prop_assert_eq!(told.map(|()| each), one_by_one(true));
            let mut each = predictions.to_vec();
            if follow_and_add_at_once(last, &codes, &mut bits::Reader::new(&dense, 3), base, &mut each) {
                prop_assert_eq!(Some(each), one_by_one(true));
            }
        }
    }
}
