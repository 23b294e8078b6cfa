//! Types of members, each as a value of a frame.

use crate::frame::{Column, Frame, NewColumn, Section, Table};

use crate::boottime::Boottime;
use crate::interval::Begin;
use crate::source_kind::SourceKind;
use crate::task::{Comm, Pid, State, Tid};

use super::error::FrameError;

/// A member that is a column of a frame.
pub(super) trait Figure: Sized {
    /// Whether every value of the column is one of this type.
    const IS_ANY: bool;

    /// Puts the values of all rows.
    fn fill(frame: &mut Frame, section: Section, column: Column, values: impl Iterator<Item = Option<Self>>);

    /// The value of a row; `None`: it is absent.
    fn get(frame: &Frame, section: Section, column: Column, row: usize) -> Result<Option<Self>, FrameError>;

    /// Checks the values of all rows.
    fn check(frame: &Frame, section: Section, column: Column) -> Result<(), FrameError> {
        if Self::IS_ANY {
            return Ok(());
        }
        let rows = frame.table(section).len();
        let checked = if frame.table(section).is_uniform(column) { rows.min(1) } else { rows };
        (0..checked).try_for_each(|row| Self::get(frame, section, column, row).map(drop))
    }
}

/// A member whose column is made row by row.
pub(super) trait Append: Sized {
    /// Appends it to its column; `None`: it is absent. A text goes into the frame.
    fn append(of: Option<Self>, column: &mut NewColumn, frame: &mut Frame);
}

fn in_range<Number, T>(column: Column, number: Number) -> Result<T, FrameError>
where
    T: TryFrom<Number>,
{
    T::try_from(number).map_err(|_| FrameError::OutOfRange { column: column.name() })
}

macro_rules! figures {
    ($get:ident $fill:ident $push:ident $number:ty; $($type:ty: |$member:ident| $to:expr, |$raw:ident: $via:ty| $from:expr;)*) => {
        $(impl Figure for $type {
            const IS_ANY: bool = size_of::<$via>() == size_of::<$number>();

            fn fill(
                frame: &mut Frame,
                section: Section,
                column: Column,
                values: impl Iterator<Item = Option<$type>>,
            ) {
                frame.table_mut(section).$fill(column, values.map(|value| value.map(|$member| $to)));
            }

            fn get(
                frame: &Frame,
                section: Section,
                column: Column,
                row: usize,
            ) -> Result<Option<$type>, FrameError> {
                let Some(number) = Table::$get(frame.table(section), column, row) else { return Ok(None) };
                let $raw: $via = in_range::<$number, $via>(column, number)?;
                Ok(Some($from))
            }
        }

        impl Append for $type {
            fn append(of: Option<$type>, column: &mut NewColumn, _: &mut Frame) {
                column.$push(of.map(|$member| $to));
            }
        })*
    };
}

figures! {
    get fill push u64;
    u64: |number| number, |raw: u64| raw;
    u32: |number| number.into(), |raw: u32| raw;
    bool: |is_so| is_so.into(), |raw: u64| raw != 0;
    Boottime: |instant| instant.ns(), |raw: u64| Boottime::from_ns(raw);
    State: |state| state.0.into(), |raw: u8| State(raw);
    Begin: |begin| (begin == Begin::Boot).into(), |raw: u64| if raw == 0 { Begin::Cut } else { Begin::Boot };
}

figures! {
    get_signed fill_signed push_signed i64;
    i32: |number| number.into(), |raw: i32| raw;
    Tid: |tid| tid.0.into(), |raw: i32| Tid(raw);
    Pid: |pid| pid.0.into(), |raw: i32| Pid(raw);
}

impl Figure for Comm {
    const IS_ANY: bool = true;

    fn fill(frame: &mut Frame, section: Section, column: Column, values: impl Iterator<Item = Option<Comm>>) {
        for (row, comm) in values.enumerate() {
            let number = comm.map(|comm| frame.intern(comm.as_bytes()));
            frame.table_mut(section).set(column, row, number);
        }
    }

    fn get(frame: &Frame, section: Section, column: Column, row: usize) -> Result<Option<Comm>, FrameError> {
        Ok(frame.text_of(section, column, row).map(Comm::new))
    }
}

impl Append for Comm {
    fn append(of: Option<Comm>, column: &mut NewColumn, frame: &mut Frame) {
        column.push(of.map(|comm| frame.intern(comm.as_bytes())));
    }
}

impl Figure for SourceKind {
    const IS_ANY: bool = false;

    fn fill(
        frame: &mut Frame,
        section: Section,
        column: Column,
        values: impl Iterator<Item = Option<SourceKind>>,
    ) {
        for (row, source) in values.enumerate() {
            let number = source.map(|source| frame.intern(source.name().as_bytes()));
            frame.table_mut(section).set(column, row, number);
        }
    }

    fn get(
        frame: &Frame,
        section: Section,
        column: Column,
        row: usize,
    ) -> Result<Option<SourceKind>, FrameError> {
        let Some(name) = frame.text_of(section, column, row) else { return Ok(None) };
        let kind = SourceKind::ALL.into_iter().find(|kind| kind.name().as_bytes() == name);
        kind.map(Some).ok_or(FrameError::UnknownSource)
    }
}

/// What may be absent by itself.
impl<T: Figure> Figure for Option<T> {
    const IS_ANY: bool = T::IS_ANY;

    fn fill(
        frame: &mut Frame,
        section: Section,
        column: Column,
        values: impl Iterator<Item = Option<Option<T>>>,
    ) {
        T::fill(frame, section, column, values.map(Option::flatten));
    }

    fn get(
        frame: &Frame,
        section: Section,
        column: Column,
        row: usize,
    ) -> Result<Option<Option<T>>, FrameError> {
        T::get(frame, section, column, row).map(Some)
    }
}
