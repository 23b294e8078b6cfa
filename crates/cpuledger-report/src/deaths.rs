//! The dead of a frame under their own names: the frame has their time with their heirs.

use cpuledger_frame::{Column, Frame, Section};
use rustc_hash::FxHashMap;

/// A process: its pid and its start.
pub(crate) type Id = (i64, u64);

/// A process that died in the interval.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dead {
    /// Which.
    pub(crate) id: Id,
    /// A record of it in the section of the dead, that of its leader if there is one.
    pub(crate) record: usize,
    /// The process that inherits its time, and lives.
    pub(crate) heir: Option<(i64, Option<u64>)>,
    /// The row of that.
    pub(crate) heir_row: Option<usize>,
    /// The kernel's parent of it, which died behind it in the same interval.
    pub(crate) parent: Option<usize>,
    /// CPU time that its heir has of it.
    pub(crate) cpu_ns: u64,
    /// What it waited for a CPU.
    pub(crate) waiting_ns: Option<u64>,
}

/// The dead of a frame, in the order of their ends, and what is left of what their heirs have inherited.
#[derive(Debug, Default)]
pub(crate) struct Deaths {
    pub(crate) dead: Vec<Dead>,
    /// For each row of processes: what it inherits from the dead that have no record.
    pub(crate) unidentified_ns: Vec<u64>,
}

struct Found {
    dead: Dead,
    ends: bool,
    ppid: Option<i64>,
}

impl Deaths {
    pub(crate) fn of(frame: &Frame) -> Deaths {
        let processes = frame.table(Section::Processes);
        let inherited = |row| processes.get(Column::EXITED_CHILDREN_NS, row).unwrap_or_default();
        let unidentified_ns: Vec<u64> = (0..processes.len()).map(inherited).collect();
        let mut deaths = Deaths { dead: Vec::new(), unidentified_ns };
        if frame.table(Section::Exited).is_empty() {
            return deaths;
        }
        let rows = Rows::of(frame);
        let found = find(frame, &rows);
        let heirs: FxHashMap<Id, Option<(i64, Option<u64>)>> =
            found.iter().map(|found| (found.dead.id, found.dead.heir)).collect();
        let by_pid: FxHashMap<i64, usize> =
            found.iter().enumerate().map(|(place, found)| (found.dead.id.0, place)).collect();
        for (place, Found { dead, ppid, .. }) in found.iter().enumerate() {
            let heir = living_heir(dead.heir, &heirs, &by_pid, &found);
            let heir_row = heir.and_then(|(pid, start)| rows.row(pid, start));
            // What the heir does not have of it is not in the sum of the frame.
            let left_ns = heir_row.map_or(0, |row| deaths.unidentified_ns[row]);
            let cpu_ns = dead.cpu_ns.min(left_ns);
            if let Some(row) = heir_row {
                deaths.unidentified_ns[row] -= cpu_ns;
            }
            let parent = ppid.and_then(|ppid| by_pid.get(&ppid).copied()).filter(|parent| *parent > place);
            deaths.dead.push(Dead { heir, heir_row, parent, cpu_ns, ..*dead });
        }
        deaths
    }
}

/// The rows of processes by pid.
struct Rows {
    by_pid: FxHashMap<i64, (usize, Option<u64>)>,
}

impl Rows {
    fn of(frame: &Frame) -> Rows {
        let table = frame.table(Section::Processes);
        let one = |row| {
            let pid = table.get_signed(Column::PID, row).or_else(|| table.get_signed(Column::TID, row))?;
            Some((pid, (row, table.get(Column::START_TIME_NS, row))))
        };
        Rows { by_pid: (0..table.len()).filter_map(one).collect() }
    }

    fn row(&self, pid: i64, start: Option<u64>) -> Option<usize> {
        let (row, own) = self.by_pid.get(&pid)?;
        (start.is_none() || own.is_none() || start == *own).then_some(*row)
    }
}

/// The processes that died, by the ends of the last of their threads.
fn find(frame: &Frame, rows: &Rows) -> Vec<Found> {
    let table = frame.table(Section::Exited);
    let mut found: FxHashMap<Id, Found> = FxHashMap::default();
    let mut ends: Vec<Id> = Vec::new();
    for record in 0..table.len() {
        let signed = |column| table.get_signed(column, record);
        let Some(pid) = signed(Column::PID) else { continue };
        let start = table.get(Column::PROCESS_START_NS, record);
        let id = (pid, start.unwrap_or_default());
        let (cpu_ns, waiting_ns) =
            (table.get(Column::CPU_NS, record).unwrap_or_default(), table.get(Column::WAITING_NS, record));
        let own = found.entry(id).or_insert_with(|| Found {
            dead: Dead { id, record, heir: None, heir_row: None, parent: None, cpu_ns: 0, waiting_ns: None },
            ends: false,
            ppid: None,
        });
        own.dead.cpu_ns = own.dead.cpu_ns.saturating_add(cpu_ns);
        own.dead.waiting_ns = match (own.dead.waiting_ns, waiting_ns) {
            (Some(one), Some(other)) => Some(one.saturating_add(other)),
            (one, other) => one.or(other),
        };
        if signed(Column::TID) == Some(pid) {
            own.dead.record = record;
        }
        let is_end = match table.get(Column::ENDS_PROCESS, record) {
            Some(ends) => ends != 0,
            // Where the source does not tell it, a process without a row has died.
            None => rows.row(pid, start).is_none(),
        };
        if is_end {
            own.dead.heir = signed(Column::ACCOUNTING_PPID)
                .map(|heir| (heir, table.get(Column::ACCOUNTING_START_NS, record)));
            own.ppid = signed(Column::PPID).filter(|ppid| *ppid > 0 && *ppid != pid);
            if !std::mem::replace(&mut own.ends, true) {
                ends.push(id);
            }
        }
    }
    ends.into_iter().filter_map(|id| found.remove(&id)).collect()
}

/// The first above that lives.
fn living_heir(
    heir: Option<(i64, Option<u64>)>,
    heirs: &FxHashMap<Id, Option<(i64, Option<u64>)>>,
    by_pid: &FxHashMap<i64, usize>,
    found: &[Found],
) -> Option<(i64, Option<u64>)> {
    let mut heir = heir?;
    // As many steps as there are dead would be a circle.
    for _ in 0..=heirs.len() {
        let (pid, start) = heir;
        let next = match start {
            Some(start) => heirs.get(&(pid, start)),
            None => by_pid.get(&pid).map(|place| &found[*place].dead.heir),
        };
        match next {
            None => return Some(heir),
            Some(next) => heir = (*next)?,
        }
    }
    None
}
