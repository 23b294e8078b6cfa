//! Where the values of a column are: in the frame of an interval, column by column, or in its rows.

use cpuledger_model::field::Field;
use cpuledger_model::frame::{self, Cells, Numbers, Table};
use cpuledger_model::framing::column_shown;
use cpuledger_model::interval::{Divided, Division};
use cpuledger_names::named::NameKey;
use cpuledger_view::key::Key;

use crate::books::Books;
use crate::columns::{Column, Origin, Section};

/// The values of a column of a part.
pub(crate) enum Found<'a> {
    /// Numbers.
    Numbers(Numbers<'a>),
    /// Numbers of texts of the frame.
    Texts(&'a frame::Frame, Cells<'a>),
    /// Letters.
    Letters(Cells<'a>),
    /// A name of the cgroup of each row, which has these numbers.
    Names(NameKey, [Cells<'a>; 2]),
    /// A part of CPU time, divided: see [`Shares`].
    Shares(Shares<'a>, ShareKey),
    /// They are with the rows alone.
    Rows,
}

/// One of the nine: which part, and which share of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ShareKey {
    part: usize,
    pub(crate) share: Share,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Share {
    User,
    System,
    Stolen,
}

/// What the states of a row are read from, and their names in rows. All are known, or none is.
const STATES: [(&str, frame::Column); 7] = [
    ("elapsed_ns", frame::Column::ELAPSED_NS),
    ("", frame::Column::WAITING_NS),
    ("blocked_ns", frame::Column::BLOCKED_NS),
    ("io_wait_ns", frame::Column::IO_WAIT_NS),
    ("sleep_ns", frame::Column::SLEEP_NS),
    ("stopped_ns", frame::Column::STOPPED_NS),
    ("unseen_ns", frame::Column::UNSEEN_NS),
];

/// Finds the values of a column of all rows.
pub(crate) fn find<'a>(books: &'a Books, section: Section, column: &Column) -> Found<'a> {
    let of_all = |ns: u64| Found::Numbers(Numbers::Same(Some(i64::try_from(ns).unwrap_or(i64::MAX))));
    match column.origin {
        Origin::Start => return of_all(books.times_ns()[0]),
        Origin::End => return of_all(books.times_ns()[1]),
        _ => {}
    }
    let in_frame = match section {
        Section::Processes => frame::Section::Processes,
        Section::Tasks => frame::Section::Tasks,
        _ => return Found::Rows,
    };
    let Some(frame) = books.frame() else { return Found::Rows };
    let table = frame.table(in_frame);
    if Some(table.len()) != books.len(section) {
        return Found::Rows;
    }
    match column.origin {
        Origin::Key(Key::Field(field)) => field_of(frame, table, field),
        Origin::Key(Key::Part(part)) => part_of(table, part.key),
        Origin::Name(name) => {
            let ids = [frame::Column::CGROUP_ID, frame::Column::CGROUP_V1_CPU_ID];
            Found::Names(name, ids.map(|id| table.cells(id)))
        }
        _ => Found::Rows,
    }
}

/// Whether a flag is set in no row.
fn is_nowhere(table: &Table, flag: frame::Column) -> bool {
    matches!(table.numbers(flag), Numbers::Same(None | Some(0)))
}

fn field_of<'a>(frame: &'a frame::Frame, table: &'a Table, field: Field) -> Found<'a> {
    let column = column_shown(field);
    match field {
        Field::Comm => Found::Texts(frame, table.cells(column)),
        Field::State => Found::Letters(table.cells(column)),
        Field::StartTime if !is_nowhere(table, frame::Column::HIDES_START) => Found::Rows,
        _ => Found::Numbers(table.numbers(column)),
    }
}

fn part_of<'a>(table: &'a Table, key: &str) -> Found<'a> {
    use frame::Column as Of;
    let column = match key {
        "cpu_ns" | "self_ns" => {
            let column = if key == "cpu_ns" { Of::CPU_NS } else { Of::SELF_NS };
            let is_known = table.is_whole(column) && is_nowhere(table, Of::IS_UNSEEN);
            return if is_known { Found::Numbers(table.numbers(column)) } else { Found::Rows };
        }
        "exited_threads_ns" => Of::EXITED_THREADS_NS,
        "exited_children_ns" => Of::EXITED_CHILDREN_NS,
        "stolen_ns" => Of::STOLEN_NS,
        "exited_children_stolen_ns" => Of::EXITED_CHILDREN_STOLEN_NS,
        "accounting_ppid" => Of::ACCOUNTING_PPID,
        _ => match STATES.iter().find(|(name, _)| *name == key) {
            Some((_, column)) => return state_of(table, *column),
            None => return share_of(table, key),
        },
    };
    Found::Numbers(table.numbers(column))
}

fn state_of(table: &Table, column: frame::Column) -> Found<'_> {
    if STATES.iter().all(|(_, column)| table.is_whole(*column)) {
        return Found::Numbers(table.numbers(column));
    }
    match STATES.iter().any(|(_, column)| !table.has(*column)) {
        true => Found::Numbers(Numbers::Same(None)),
        false => Found::Rows,
    }
}

fn share_of<'a>(table: &'a Table, key: &str) -> Found<'a> {
    let of_part = ["self_", "exited_threads_", "exited_children_"].iter().enumerate();
    let found = of_part.filter_map(|(part, prefix)| Some((part, key.strip_prefix(prefix)?))).next();
    let Some((part, rest)) = found else { return Found::Rows };
    let share = match rest {
        "user_ns" => Share::User,
        "system_ns" => Share::System,
        "stolen_ns" => Share::Stolen,
        _ => return Found::Rows,
    };
    if !is_nowhere(table, frame::Column::IS_UNSEEN) || !table.is_whole(frame::Column::SELF_NS) {
        return Found::Rows;
    }
    let shares = Shares::of(table);
    match shares.is_nothing(table, part) {
        true => Found::Numbers(Numbers::Same(Some(0))),
        false => Found::Shares(shares, ShareKey { part, share }),
    }
}

/// The columns that the parts of CPU time are divided by.
pub(crate) struct Shares<'a> {
    rows: usize,
    parts_ns: [Cells<'a>; 3],
    stolen_ns: Cells<'a>,
    exited_children_stolen_ns: Cells<'a>,
    self_user_ns: Cells<'a>,
    exited_threads_user_ns: Cells<'a>,
    exited_threads_stolen_ns: Cells<'a>,
    exited_children_user_ns: Cells<'a>,
}

impl<'a> Shares<'a> {
    fn of(table: &'a Table) -> Shares<'a> {
        use frame::Column as Of;
        Shares {
            rows: table.len(),
            parts_ns: [Of::SELF_NS, Of::EXITED_THREADS_NS, Of::EXITED_CHILDREN_NS].map(|of| table.cells(of)),
            stolen_ns: table.cells(Of::STOLEN_NS),
            exited_children_stolen_ns: table.cells(Of::EXITED_CHILDREN_STOLEN_NS),
            self_user_ns: table.cells(Of::SELF_USER_NS),
            exited_threads_user_ns: table.cells(Of::EXITED_THREADS_USER_NS),
            exited_threads_stolen_ns: table.cells(Of::EXITED_THREADS_STOLEN_NS),
            exited_children_user_ns: table.cells(Of::EXITED_CHILDREN_USER_NS),
        }
    }

    /// Whether each row has nothing of a part, and how it divides is known: then all shares are 0.
    fn is_nothing(&self, table: &Table, part: usize) -> bool {
        use frame::Column as Of;
        let [of_part, user, stolen] = [
            [Of::SELF_NS, Of::SELF_USER_NS, Of::STOLEN_NS],
            [Of::EXITED_THREADS_NS, Of::EXITED_THREADS_USER_NS, Of::EXITED_THREADS_STOLEN_NS],
            [Of::EXITED_CHILDREN_NS, Of::EXITED_CHILDREN_USER_NS, Of::EXITED_CHILDREN_STOLEN_NS],
        ][part];
        matches!(table.numbers(of_part), Numbers::Same(Some(0)))
            && table.is_whole(user)
            && table.is_whole(stolen)
    }

    /// Calls `push` with the share of each row.
    pub(crate) fn each(&self, key: ShareKey, push: impl FnMut(Option<i64>)) {
        match key.share {
            Share::User => self.each_of(key.part, |divided| divided.user_ns, push),
            Share::System => self.each_of(key.part, |divided| divided.system_ns, push),
            Share::Stolen => self.each_of(key.part, |divided| divided.stolen_ns, push),
        }
    }

    fn each_of(&self, part: usize, share: impl Fn(Divided) -> u64, push: impl FnMut(Option<i64>)) {
        let push = push_share(share, push);
        match part {
            0 => self.each_by(
                |row, of| {
                    of.self_user_ns = self.self_user_ns.get(row);
                    of.exited_threads_stolen_ns = self.exited_threads_stolen_ns.get(row);
                    [self.stolen_ns.get(row), None]
                },
                0,
                push,
            ),
            1 => self.each_by(
                |row, of| {
                    of.exited_threads_user_ns = self.exited_threads_user_ns.get(row);
                    of.exited_threads_stolen_ns = self.exited_threads_stolen_ns.get(row);
                    [self.stolen_ns.get(row), None]
                },
                1,
                push,
            ),
            _ => self.each_by(
                |row, of| {
                    of.exited_children_user_ns = self.exited_children_user_ns.get(row);
                    [None, self.exited_children_stolen_ns.get(row)]
                },
                2,
                push,
            ),
        }
    }

    /// Divides a part of each row: `fill` puts what it is divided by, and returns what was stolen of the first two parts and of the third.
    #[inline]
    fn each_by(
        &self,
        fill: impl Fn(usize, &mut Division) -> [Option<u64>; 2],
        part: usize,
        mut push: impl FnMut(Option<Divided>),
    ) {
        for row in 0..self.rows {
            let mut division = Division::default();
            let [stolen_ns, exited_children_stolen_ns] = fill(row, &mut division);
            let mut parts_ns = [None; 3];
            parts_ns[part] = self.parts_ns[part].get(row);
            push(division.of_parts(parts_ns, stolen_ns, exited_children_stolen_ns)[part]);
        }
    }
}

fn push_share(
    share: impl Fn(Divided) -> u64,
    mut push: impl FnMut(Option<i64>),
) -> impl FnMut(Option<Divided>) {
    move |divided| push(divided.map(|divided| i64::try_from(share(divided)).unwrap_or(i64::MAX)))
}
