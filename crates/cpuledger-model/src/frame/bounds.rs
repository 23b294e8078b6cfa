//! How large figures may be, so that their sums are numbers: a frame is made by others.
//!
//! Sums over rows are less than 2^60. So sixteen of them fit into 64 bits: the states of a task, the parts of the capacity.

use crate::frame::column::{Column, Kind, Rule, STATES};
use crate::frame::error::{Error, ErrorKind};
use crate::frame::sections::{Frame, Section};
use crate::frame::table::{ABSENT, Table, Values};

/// A figure is less: CLOCK_REALTIME until the year 2116.
const MOST: u64 = 1 << 62;

/// The sum over all rows of what a row has of an interval is less: 36 years of task time.
const MOST_SUM: u64 = 1 << 60;

/// Numbers of the kernel that are no amounts.
const IDS: [Column; 2] = [Column::CGROUP_ID, Column::CGROUP_V1_CPU_ID];

impl Frame {
    /// Checks that each figure is below 2^62, and that sums are below 2^60: those over the rows of a section of what they have of the
    /// interval. Then sums of a few of them do not overflow. A frame of others is checked before it is shown or added up.
    ///
    /// # Errors
    /// When one is not, or the interval ends before it begins.
    pub fn check_figures(&self) -> Result<(), Error> {
        for section in Section::ALL {
            self.check_section(section)?;
        }
        let figure = |column| self.figure(column).unwrap_or(0);
        let (start_ns, end_ns) = (figure(Column::START_NS), figure(Column::END_NS));
        let length_ns =
            end_ns.checked_sub(start_ns).ok_or(Error::new("the interval ends before it begins"))?;
        for count in [Column::BLOCKED_WITHOUT_ROW, Column::BLOCKED_TASKS, Column::ONLINE_CPUS] {
            if u128::from(figure(count)) * u128::from(length_ns) >= MOST_SUM.into() {
                return Err(too_large(Section::Interval, count));
            }
        }
        Ok(())
    }

    fn check_section(&self, section: Section) -> Result<(), Error> {
        let table = self.table(section);
        if table.is_empty() {
            return Ok(());
        }
        let most_added = MOST_SUM / table.len() as u64;
        for column in table.touched() {
            if column.kind() != Kind::Unsigned || IDS.contains(&column) {
                continue;
            }
            let Values { constant, each } = table.values(column);
            let each = if each.is_empty() { std::slice::from_ref(constant) } else { each.as_slice() };
            // What a row has of an interval: what merges add up, and what its task did.
            let is_added = column.rule() == Rule::Sum || STATES.contains(&column);
            let most = if is_added { most_added } else { MOST };
            // None is greater than all of their bits together. One more makes 0 of what is absent.
            if each.iter().fold(0, |bits, raw| bits | raw.wrapping_add(1)) >= most
                && !are_small(each, table.len() / each.len(), is_added)
            {
                return Err(too_large(section, column));
            }
        }
        Ok(())
    }
}

/// Checks that a section may have as many rows.
pub(crate) fn check_rows(section: Section, table: &Table) -> Result<(), Error> {
    let most = section.most_records();
    if table.len() <= most as usize {
        return Ok(());
    }
    Err(Error::of_with(
        ErrorKind::TooLarge,
        format_args!("section {} has more than {most} rows", section.id()),
    ))
}

/// Whether that holds of these values, one by one.
fn are_small(each: &[u64], times: usize, is_added: bool) -> bool {
    let mut sum = 0;
    each.iter().filter(|raw| **raw != ABSENT).all(|raw| {
        sum += u128::from(*raw) * times as u128;
        *raw < MOST && (!is_added || sum < MOST_SUM.into())
    })
}

fn too_large(section: Section, column: Column) -> Error {
    Error::with(format_args!("section {} has values of {} that are too large", section.id(), column.name()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(rows: usize) -> Frame {
        let mut frame = Frame::new();
        frame.set_figure(Column::START_NS, Some(10));
        frame.set_figure(Column::END_NS, Some(20));
        frame.table_mut(Section::Processes).reset(rows);
        frame
    }

    #[test]
    fn a_sum_that_would_overflow_is_found() {
        for (column, rows, value, is_right) in [
            (Column::CPU_NS, 2, MOST_SUM / 2 - 1, true),
            (Column::CPU_NS, 2, MOST_SUM / 2, false),
            (Column::SLEEP_NS, 16, 1 << 60, false),
            (Column::RSS_BYTES, 16, 1 << 60, true),
            (Column::START_TIME_NS, 3, MOST - 1, true),
            (Column::START_TIME_NS, 3, MOST, false),
            (Column::CGROUP_ID, 3, u64::MAX - 1, true),
        ] {
            let mut frame = frame(rows);
            frame.table_mut(Section::Processes).fill(column, (0..rows).map(|_| Some(value)));
            assert_eq!(frame.check_figures().is_ok(), is_right, "{column:?}: {rows} of {value}");
        }
    }

    #[test]
    fn an_interval_that_ends_before_it_begins_is_found() {
        let mut wrong = frame(1);
        assert!(wrong.check_figures().is_ok());
        wrong.set_figure(Column::END_NS, Some(9));
        assert!(wrong.check_figures().is_err());
        let mut many = frame(1);
        many.set_figure(Column::BLOCKED_WITHOUT_ROW, Some(MOST_SUM / 10 + 1));
        assert!(many.check_figures().is_err());
    }
}
