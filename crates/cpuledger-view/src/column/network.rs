//! What a task sends and receives by sockets, while an account of that is kept.

use cpuledger_model::field::Field;

use super::entry::{Column, InTable, TableCell};
use crate::figure::Key as Figure;

/// What goes over the network first.
pub(super) static COLUMNS: &[Column] = &[
    Column {
        figure: Some(Figure::Field(Field::NetworkSent)),
        in_table: in_table!(43 "SENT" right 6 rank 3 Rate sums; "KiB a second that it sent by all sockets but Unix sockets (--with network)."),
        aliases: &[("sent", "bytes sent by TCP, UDP and other network sockets")],
        ..Column::NOWHERE
    },
    Column {
        figure: Some(Figure::Field(Field::NetworkReceived)),
        in_table: in_table!(44 "RECV" right 6 rank 3 Rate sums; "KiB a second that it received, likewise."),
        orders: &["RECEIVED"],
        aliases: &[("recv", "bytes received by TCP, UDP and other network sockets")],
        ..Column::NOWHERE
    },
    Column {
        figure: Some(Figure::Field(Field::UnixSent)),
        in_table: in_table!(45 "U.SENT" right 6 rank 8 Rate sums; "KiB a second that it sent by Unix sockets (--with network)."),
        ..Column::NOWHERE
    },
    Column {
        figure: Some(Figure::Field(Field::UnixReceived)),
        in_table: in_table!(46 "U.RECV" right 6 rank 8 Rate sums; "KiB a second that it received by Unix sockets."),
        ..Column::NOWHERE
    },
];
