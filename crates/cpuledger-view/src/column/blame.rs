//! Who made others wait for a CPU, and who waited, while an account of that is kept.

use cpuledger_model::field::Field;

use super::entry::{Column, InTable, TableCell};
use crate::figure::Key as Figure;

/// Those that made others wait first.
pub(super) static COLUMNS: &[Column] = &[
    Column {
        figure: Some(Figure::Field(Field::WaitCaused)),
        in_table: in_table!(49 "CAUSED" right 7 rank 3 Share sums; "Time that others waited for the CPU that it had, in percent of the interval: 200 is two that waited all the time (--with blame)."),
        orders: &["CAUSED"],
        aliases: &[("caused", "time that others waited for the CPU that it had")],
        ..Column::NOWHERE
    },
    Column {
        figure: Some(Figure::Field(Field::WaitSuffered)),
        in_table: in_table!(50 "SUFFERED" right 8 rank 3 Share sums; "Time that it waited for a CPU, in percent of the interval: 200 is two that waited all the time (--with blame)."),
        orders: &["SUFFERED"],
        aliases: &[("suffered", "time that it waited for a CPU, as blame has it")],
        ..Column::NOWHERE
    },
];
