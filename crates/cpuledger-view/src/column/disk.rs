//! What disks did for a task, while an account of that is kept.

use cpuledger_model::field::Field;

use super::entry::{Column, InTable, TableCell};
use crate::figure::Key as Figure;

/// Reads first.
pub(super) static COLUMNS: &[Column] = &[
    Column {
        figure: Some(Figure::Field(Field::DiskReadBytes)),
        in_table: in_table!(47 "D.READ" right 6 rank 7 Rate sums; "KiB a second that disks have read for it (--with disk)."),
        ..Column::NOWHERE
    },
    Column {
        figure: Some(Figure::Field(Field::DiskWrittenBytes)),
        in_table: in_table!(48 "D.WRITE" right 7 rank 7 Rate sums; "KiB a second that disks have written for it (--with disk)."),
        ..Column::NOWHERE
    },
    Column {
        figure: Some(Figure::Field(Field::DiskBlocked)),
        in_table: in_table!(54 "%DISK" right 5 rank 7 ElapsedShare sums; "Share of its time alive in which it waited for its own requests at disks: part of %IO (--with disk)."),
        ..Column::NOWHERE
    },
    Column {
        figure: Some(Figure::Field(Field::SwapBlocked)),
        in_table: in_table!(55 "%SWAPIN" right 7 rank 7 ElapsedShare sums; "Share of its time alive in which it waited for swapped pages: part of %DISK (--with disk)."),
        ..Column::NOWHERE
    },
];
