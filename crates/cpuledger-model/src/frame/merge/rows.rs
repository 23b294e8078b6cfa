//! Pairs of rows of two frames, and the columns of both together.

use std::collections::{HashMap, VecDeque};
use std::sync::LazyLock;

use crate::field_table;
use crate::frame::column::{Column, Kind, Rule};
use crate::frame::error::{Error, ErrorKind};
use crate::frame::names::Names;
use crate::frame::sections::{Frame, Section};
use crate::frame::table::{ABSENT, Table};

/// Which task or process a row is of: its tid and its start, as a table keeps them.
pub(super) type Id = (u64, u64);

/// The rows of the earlier and the later frame that are of the same.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pair {
    pub(super) earlier: Option<usize>,
    pub(super) later: Option<usize>,
    /// Whether the row of the earlier, or of the later, tells nothing but CPU time.
    pub(super) is_bare: [bool; 2],
}

impl Pair {
    /// The rows that tell more than CPU time.
    pub(super) fn details(self) -> [Option<usize>; 2] {
        let [earlier, later] = self.is_bare;
        [self.earlier.filter(|_| !earlier), self.later.filter(|_| !later)]
    }
}

/// The texts of two frames in that of both together.
pub(super) struct Texts<'a> {
    from: [&'a Names; 2],
    numbers: [Vec<u64>; 2],
    pub(super) to: Names,
}

impl<'a> Texts<'a> {
    pub(super) fn new(frames: [&'a Frame; 2]) -> Texts<'a> {
        let from = frames.map(|frame| &frame.names);
        Texts { from, numbers: from.map(|names| vec![ABSENT; names.len()]), to: Names::default() }
    }

    /// The new number of a text.
    fn number(&mut self, side: usize, raw: u64) -> u64 {
        let Some(text) = self.from[side].get(raw) else { return ABSENT };
        let number = &mut self.numbers[side][raw as usize];
        if *number == ABSENT {
            *number = self.to.intern(text).into();
        }
        *number
    }
}

/// The identity of each row of a section.
pub(super) fn ids(frame: &Frame, section: Section) -> Result<Vec<Id>, Error> {
    let table = frame.table(section);
    let id = |row| (table.raw(Column::TID, row), table.raw(Column::START_TIME_NS, row));
    let ids: Vec<Id> = (0..table.len()).map(id).collect();
    if ids.iter().any(|(tid, start)| *tid == ABSENT || *start == ABSENT) {
        return Err(Error::of_with(
            ErrorKind::NotMerged,
            format_args!(
                "section {} has a row without a tid or a start, so it cannot be merged",
                section.id()
            ),
        ));
    }
    Ok(ids)
}

/// Rows by their identity; those of the same in their order.
pub(super) struct Index(HashMap<Id, VecDeque<usize>>);

impl Index {
    pub(super) fn new(ids: &[Id]) -> Index {
        let mut rows: HashMap<Id, VecDeque<usize>> = HashMap::with_capacity(ids.len());
        for (row, id) in ids.iter().enumerate() {
            rows.entry(*id).or_default().push_back(row);
        }
        Index(rows)
    }

    /// The first row of this one that has not been taken.
    pub(super) fn take(&mut self, id: Id) -> Option<usize> {
        self.0.get_mut(&id)?.pop_front()
    }
}

/// The sum of two values; `None`: one of both is absent.
pub(super) fn sum(earlier: u64, later: u64) -> u64 {
    if earlier == ABSENT || later == ABSENT { ABSENT } else { earlier.saturating_add(later).min(ABSENT - 1) }
}

/// Columns of the parts of CPU time.
pub(super) const PARTS: [Column; 4] =
    [Column::CPU_NS, Column::SELF_NS, Column::EXITED_THREADS_NS, Column::EXITED_CHILDREN_NS];

macro_rules! booked {
    (
        $(
            $(#[$cumulative:ident])?
            $field:ident $id:literal $column:ident $member:ident: $type:ident, $unit:ident $group:ident $guard:ident $help:literal;
        )*
    ) => {
        /// What accounts have booked: a row has them too that tells nothing but CPU time, as they are inherited with that.
        pub(super) static BOOKED: LazyLock<Vec<Column>> = LazyLock::new(|| {
            let all = [$((Column::$column, stringify!($group))),*];
            let booked = all.into_iter().filter(|(_, group)| matches!(*group, "Blame" | "Disk" | "Network"));
            booked.filter_map(|(counter, _)| counter.growth()).collect()
        });
    };
}
field_table!(booked!);

/// Columns of how the time divides that a process inherits: a row has them too that tells nothing but CPU time.
pub(super) const OF_DEAD_CHILDREN: [Column; 2] =
    [Column::EXITED_CHILDREN_STOLEN_NS, Column::EXITED_CHILDREN_USER_NS];

/// Makes `out` the table of both: a row for each pair, each column by its rule. Those whose rule is [`Rule::Own`] are left absent.
pub(super) fn merge_columns(out: &mut Table, tables: [&Table; 2], pairs: &[Pair], texts: &mut Texts<'_>) {
    out.reset(pairs.len());
    for column in Column::known() {
        let values = tables.map(|table| table.values(column));
        if column.rule() == Rule::Own || values.iter().all(|values| values.is_absent()) {
            continue;
        }
        let counts_bare =
            PARTS.contains(&column) || OF_DEAD_CHILDREN.contains(&column) || BOOKED.contains(&column);
        out.fill_raw(
            column,
            pairs.iter().map(|pair| {
                let rows = if counts_bare { [pair.earlier, pair.later] } else { pair.details() };
                let raw = |side: usize| rows[side].map(|row| values[side].raw(row));
                let (side, raw) = match (raw(0), raw(1)) {
                    (None, None) => return ABSENT,
                    (Some(earlier), None) => (0, earlier),
                    (None, Some(later)) => (1, later),
                    (Some(earlier), Some(later)) => match column.rule() {
                        Rule::First => (0, earlier),
                        Rule::Last | Rule::Own => (1, later),
                        Rule::Sum => (1, sum(earlier, later)),
                        Rule::Both if earlier == ABSENT || later == ABSENT => (1, ABSENT),
                        Rule::Both => (1, earlier.min(later)),
                    },
                };
                if column.kind() == Kind::Text { texts.number(side, raw) } else { raw }
            }),
        );
    }
}
