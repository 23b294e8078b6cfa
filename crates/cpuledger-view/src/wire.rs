//! What cgroups or units sent and received on the wire, beside what their tasks handed to sockets and took from them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use cpuledger_model::Dimension;
use cpuledger_model::field::{Field, Value};
use cpuledger_model::interval::{Interval, Row};
use cpuledger_model::wire::WireUse;
use cpuledger_proc::task::units::unit_or_slice;

use crate::group::Name;
use crate::member::{Member, known, member};
use crate::pairs::Side;

/// A cgroup or unit, or several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WireRow {
    /// Which.
    pub name: Side,
    /// Packets, and their bytes with headers.
    pub used: WireUse,
    /// Bytes that its tasks sent and received by other than Unix sockets; `None`: they are not known.
    pub payload: Option<[u64; 2]>,
}

/// What is told of each, but for its name.
pub static WIRE_ROW: [Member<WireRow>; 6] = [
    member("wire_sent_bytes", |row| Value::Unsigned(row.used.sent_bytes)),
    member("wire_sent_packets", |row| Value::Unsigned(row.used.sent_packets)),
    member("wire_received_bytes", |row| Value::Unsigned(row.used.received_bytes)),
    member("wire_received_packets", |row| Value::Unsigned(row.used.received_packets)),
    member("network_sent_bytes", |row| known(row.payload.map(|[sent, _]| sent))),
    member("network_received_bytes", |row| known(row.payload.map(|[_, received]| received))),
];

/// Those with most bytes first; `None`: no account of the wire was kept. `by`: the unit, or else the cgroup.
pub fn rows(interval: &Interval, by: Dimension) -> Option<Vec<WireRow>> {
    let wire = interval.wire.as_ref()?;
    let payload = payload(interval);
    let mut rows: BTreeMap<Side, WireRow> = BTreeMap::new();
    for cgroup in wire.iter() {
        let name = match (cgroup.id, &cgroup.path[..]) {
            (None, _) => Side::Other,
            (Some(_), b"") => Side::Tasks(Name::Unknown),
            (Some(_), path) if by == Dimension::Unit => Side::Tasks(Name::of(unit_or_slice(path))),
            (Some(_), path) => Side::Tasks(Name::of(path)),
        };
        // What is of other cgroups is not told apart among tasks.
        let of_tasks = cgroup.id.and_then(|id| Some(payload.as_ref()?.get(&id).copied().unwrap_or_default()));
        let of_nobody = || WireRow { name: name.clone(), used: WireUse::default(), payload: Some([0; 2]) };
        let row = rows.entry(name.clone()).or_insert_with(of_nobody);
        row.used.add(&cgroup.used);
        row.payload = row.payload.zip(of_tasks).map(|(sum, more)| add(sum, more));
    }
    let mut rows: Vec<WireRow> = rows.into_values().collect();
    rows.sort_by_key(|row| Reverse(row.used.bytes()));
    Some(rows)
}

/// All of them, and the payload of all tasks: of those without a cgroup, too.
pub fn sum(interval: &Interval, rows: &[WireRow]) -> WireRow {
    let mut used = WireUse::default();
    rows.iter().for_each(|row| used.add(&row.used));
    let of_tasks = interval.processes.iter().map(payload_of).fold([0; 2], add);
    let payload = interval.network.sent_bytes.map(|_| of_tasks);
    WireRow { name: Side::Tasks(Name::All), used, payload }
}

/// What the tasks of each cgroup sent and received; `None`: it is not known.
fn payload(interval: &Interval) -> Option<HashMap<u64, [u64; 2]>> {
    interval.network.sent_bytes?;
    let mut sums: HashMap<u64, [u64; 2]> = HashMap::new();
    for row in interval.processes.iter().filter(|row| row.task.known.contains(Field::CgroupId)) {
        let sum = sums.entry(row.task.cgroup_id).or_default();
        *sum = add(*sum, payload_of(row));
    }
    Some(sums)
}

fn payload_of(row: &Row) -> [u64; 2] {
    [row.usage.growth.network_sent_bytes, row.usage.growth.network_received_bytes]
}

fn add(sum: [u64; 2], more: [u64; 2]) -> [u64; 2] {
    std::array::from_fn(|place| sum[place].saturating_add(more[place]))
}

#[cfg(test)]
pub(crate) mod tests {
    use cpuledger_model::field::FieldSet;
    use cpuledger_model::interval::Usage;
    use cpuledger_model::make;
    use cpuledger_model::task::Task;
    use cpuledger_model::wire::{Wire, WireCgroup};

    use super::*;

    /// Two cgroups of a unit, one of another, one that is gone, and others; a task of the first, and one without a cgroup, which uses a Unix socket, too.
    pub(crate) fn example() -> Interval {
        let cgroup = |id, path: &str, figures| {
            make!(WireCgroup { id, path: path.as_bytes().to_vec(), used: WireUse::of(figures) })
        };
        let task = make!(Task { known: FieldSet::of(&[Field::CgroupId]), cgroup_id: 7 });
        let mut usage = make!(Usage {});
        usage.growth.network_sent_bytes = 12_000_000;
        let mut homeless = make!(Usage {});
        homeless.growth.network_sent_bytes = 400;
        homeless.growth.unix_sent_bytes = 5_000_000_000;
        let mut interval = make!(Interval {
            wire: Some(Wire::of([
                cgroup(Some(7), "/system.slice/web.service/a", [12_300_000, 8_500, 800_000, 7_000]),
                cgroup(Some(8), "/system.slice/web.service/b", [1_000, 10, 0, 0]),
                cgroup(Some(9), "/system.slice/backup.service", [0, 0, 52, 1]),
                cgroup(Some(10), "", [128, 1, 0, 0]),
                cgroup(None, "", [64, 1, 64, 1]),
            ])),
            processes: vec![Row::new(task, usage), Row::new(make!(Task {}), homeless)],
        });
        interval.network.sent_bytes = Some(5_012_000_400);
        interval.network.received_bytes = Some(0);
        interval
    }

    #[test]
    fn cgroups_of_a_unit_are_one_and_nothing_is_lost() {
        let interval = example();
        let units = rows(&interval, Dimension::Unit).expect("it is kept");
        let told: Vec<_> =
            units.iter().map(|row| (row.name.label(), row.used.sent_bytes, row.payload)).collect();
        assert_eq!(
            told,
            [
                ("web.service", 12_301_000, Some([12_000_000, 0])),
                ("(unknown)", 128, Some([0, 0])),
                ("(other cgroups)", 64, None),
                ("backup.service", 0, Some([0, 0])),
            ]
        );
        let cgroups = rows(&interval, Dimension::Cgroup).expect("it is kept");
        assert_eq!((cgroups.len(), cgroups[0].name.label()), (5, "/system.slice/web.service/a"));
        for rows in [units, cgroups] {
            let all = sum(&interval, &rows);
            assert_eq!(all.used, interval.wire.as_ref().expect("it is kept").sum());
            assert_eq!(all.payload, Some([12_000_400, 0]));
        }
        assert_eq!(rows(&Interval::default(), Dimension::Cgroup), None);
        let by_cgroup_alone = make!(Interval { wire: interval.wire.clone() });
        assert_eq!(rows(&by_cgroup_alone, Dimension::Cgroup).expect("it is kept")[0].payload, None);
    }
}
