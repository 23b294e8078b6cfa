//! The columns of each table: attributes of rows, keys of dictionaries, and fields of Arrow schemas. They are the keys of JSON.

use std::sync::LazyLock;

use cpuledger_model::field::{FIELDS, Field, FieldSet, Value};
use cpuledger_model::interval::{Blocked, Exited, Row};
use cpuledger_model::make;
use cpuledger_model::task::Task;
use cpuledger_names::named::NameKey;
use cpuledger_view::key::{Key, PROCESS_KEYS, TASK_KEYS};
use cpuledger_view::member::{BLOCKED, EXITED, FOR_IO, Member};
use pyo3::pyfunction;
use rustc_hash::FxHashMap;

/// Which rows a table has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Section {
    Processes,
    Tasks,
    Exited,
    Blocked,
    ListedProcesses,
    ListedTasks,
}

impl Section {
    const ALL: [Section; 6] = [
        Section::Processes,
        Section::Tasks,
        Section::Exited,
        Section::Blocked,
        Section::ListedProcesses,
        Section::ListedTasks,
    ];

    /// The table of an interval that is called so.
    pub(crate) fn by_name(name: &str) -> Option<Section> {
        Section::ALL[..4].iter().copied().find(|section| section.name() == name)
    }

    /// What the attribute of an interval, or the function that lists, is called.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Section::Processes | Section::ListedProcesses => "processes",
            Section::Tasks | Section::ListedTasks => "tasks",
            Section::Exited => "exited",
            Section::Blocked => "blocked",
        }
    }

    /// Its columns, in the order of JSON.
    pub(crate) fn columns(self) -> &'static [Column] {
        &TABLES[self as usize].columns
    }

    /// The column of that name.
    pub(crate) fn column(self, name: &str) -> Option<&'static Column> {
        let table = &TABLES[self as usize];
        table.places.get(name).map(|place| &table.columns[*place])
    }
}

/// What the values of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Number,
    Text,
    Flag,
}

impl Kind {
    /// The type of its values in Python.
    pub(crate) fn python_name(self) -> &'static str {
        match self {
            Kind::Number => "int",
            Kind::Text => "str",
            Kind::Flag => "bool",
        }
    }
}

/// Where they come from.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Origin {
    /// Begin and end of the interval or of the listing.
    Start,
    End,
    Key(Key),
    Field(Field),
    Exited(&'static Member<Exited>),
    Blocked(&'static Member<Blocked>),
    ForIo,
    /// What the cgroup of the row is called.
    Name(NameKey),
}

/// A column.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) origin: Origin,
}

impl Column {
    /// Whether it has numbers of cgroups, which may be any: others are less than 2^62.
    pub(crate) fn is_of_cgroup(&self) -> bool {
        matches!(self.origin, Origin::Key(Key::Field(Field::CgroupId | Field::CgroupV1CpuId)))
    }

    /// One sentence; empty where docs/json.md alone has one.
    pub(crate) fn help(&self) -> &'static str {
        match self.origin {
            Origin::Key(key) => key.help(),
            Origin::Field(field) => field.info().help,
            Origin::Name(name) => name.help(),
            Origin::Start | Origin::End | Origin::Exited(_) | Origin::Blocked(_) | Origin::ForIo => "",
        }
    }
}

/// The interval of a row, in tables of several.
pub(crate) static TIMES: [Column; 2] = [
    Column { name: "start_ns", kind: Kind::Number, origin: Origin::Start },
    Column { name: "end_ns", kind: Kind::Number, origin: Origin::End },
];

struct Columns {
    columns: Vec<Column>,
    places: FxHashMap<&'static str, usize>,
}

static TABLES: LazyLock<[Columns; 6]> = LazyLock::new(|| {
    Section::ALL.map(|section| {
        let columns = columns(section);
        let places = columns.iter().enumerate().map(|(place, column)| (column.name, place)).collect();
        Columns { columns, places }
    })
});

fn columns(section: Section) -> Vec<Column> {
    let names =
        NameKey::ALL.map(|name| Column { name: name.name(), kind: Kind::Text, origin: Origin::Name(name) });
    let mut columns: Vec<Column> = match section {
        Section::Processes => PROCESS_KEYS.iter().copied().map(of_key).collect(),
        Section::Tasks => TASK_KEYS.iter().copied().map(of_key).collect(),
        Section::Exited => EXITED.iter().map(of_exited).collect(),
        Section::Blocked => BLOCKED.iter().map(of_blocked).collect(),
        Section::ListedProcesses | Section::ListedTasks => {
            FIELDS.iter().map(|info| of_field(info.field)).collect()
        }
    };
    match section {
        Section::Blocked => columns.push(Column { name: FOR_IO, kind: Kind::Flag, origin: Origin::ForIo }),
        _ => columns.extend(names),
    }
    columns
}

/// A task of which all is known.
fn known() -> Task {
    make!(Task { known: FieldSet::ALL })
}

/// What values of this kind are. What is absent here is a part of an interval: a number.
fn kind_of(value: Value<'_>) -> Kind {
    match value {
        Value::Letter(_) | Value::Bytes(_) => Kind::Text,
        Value::Absent | Value::Unsigned(_) | Value::Signed(_) => Kind::Number,
    }
}

fn of_key(key: Key) -> Column {
    let row = Row::new(known(), Default::default());
    Column { name: key.name(), kind: kind_of(key.value(&row)), origin: Origin::Key(key) }
}

fn of_field(field: Field) -> Column {
    Column { name: field.info().key, kind: kind_of(field.value(&known())), origin: Origin::Field(field) }
}

fn of_exited(member: &'static Member<Exited>) -> Column {
    let kind = kind_of((member.value)(&Exited::default()));
    Column { name: member.key, kind, origin: Origin::Exited(member) }
}

fn of_blocked(member: &'static Member<Blocked>) -> Column {
    let kind = kind_of((member.value)(&Blocked::default()));
    Column { name: member.key, kind, origin: Origin::Blocked(member) }
}

/// The name, the kind and the sentence of a column.
type Told = (&'static str, &'static str, &'static str);

/// The columns of rows, for the type stubs: each kind of row with its own.
#[pyfunction]
pub(crate) fn columns_of_rows() -> Vec<(&'static str, Vec<Told>)> {
    let columns = |section: Section| {
        let told = |column: &Column| (column.name, column.kind.python_name(), column.help());
        section.columns().iter().map(told).collect()
    };
    let rows = [
        ("ProcessRow", Section::Processes),
        ("TaskRow", Section::Tasks),
        ("ExitedRow", Section::Exited),
        ("BlockedRow", Section::Blocked),
        ("ListedRow", Section::ListedProcesses),
    ];
    rows.map(|(name, section)| (name, columns(section))).to_vec()
}
