//! What rows are called beside their own names: unit, container, image and pod, by the cgroups that they are in.

use std::borrow::Cow;
use std::sync::Arc;

use cpuledger_model::framing::{self, CgroupIds, CgroupNames, RowUnit};
use cpuledger_model::interval::Interval;
use cpuledger_model::kinds;
use cpuledger_model::task::{Task, TaskId};
use cpuledger_proc::task::units::{self, unit_or_slice};

use crate::cgroups::{Cgroups, NamesByCgroup, key};
use crate::systemd::{Units, UnitsOfRows};

kinds! {
    /// A name that the cgroup of a row leads to, in the order of output.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    #[non_exhaustive]
    pub enum NameKey of 2 {
        /// Unit of systemd; of what is in none, the slice.
        Unit ["unit", "systemd unit or, outside of units, the slice."],
        /// Slice of systemd.
        Slice ["slice", "systemd slice."],
        /// Name of the container.
        Container ["container", "Container."],
        /// Its id.
        ContainerId ["container_id", "Id of the container."],
        /// Its image.
        Image ["image", "Image of the container."],
        /// Its pod.
        Pod ["pod", "Pod of the container."],
        /// The namespace of that.
        Namespace ["namespace", "Kubernetes namespace of the pod."],
    }
}

impl NameKey {
    /// As in JSON, CSV, filters and options.
    pub const fn name(self) -> &'static str {
        self.texts()[0]
    }

    /// One sentence.
    pub const fn help(self) -> &'static str {
        self.texts()[1]
    }

    /// That of this name.
    pub fn by_name(name: &str) -> Option<NameKey> {
        NameKey::ALL.into_iter().find(|key| key.name() == name)
    }
}

/// Names by cgroups, and units of rows where these do not tell them.
#[derive(Debug, Clone, Default)]
pub struct Named {
    cgroups: Arc<NamesByCgroup>,
    /// `None`: the path of the cgroup tells the unit.
    units: Option<Arc<UnitsOfRows>>,
}

impl Named {
    /// These cgroups, whose paths tell the units.
    pub fn of(cgroups: NamesByCgroup) -> Named {
        Named { cgroups: Arc::new(cgroups), units: None }
    }

    /// Those of a recorded interval.
    pub fn recorded(cgroups: &[(CgroupIds, CgroupNames)], units: &[RowUnit]) -> Named {
        Named { cgroups: Arc::new(cgroups.iter().cloned().collect()), units: units_of(units) }
    }

    /// What a cgroup is called; `None`: it is not known.
    pub fn cgroup(&self, ids: &CgroupIds) -> Option<&CgroupNames> {
        self.cgroups.get(ids)
    }

    /// What the cgroup of a row is called.
    pub fn of_row(&self, row: &Task) -> Option<&CgroupNames> {
        self.cgroups.get(&key(row)?)
    }

    /// A name of a row; `None`: it has none, or it is not known.
    pub fn name(&self, row: &Task, name: NameKey) -> Option<&[u8]> {
        let known = match name {
            NameKey::Unit | NameKey::Slice => return self.systemd(row, name),
            _ => self.of_row(row)?,
        };
        Some(name_of(known, name)).filter(|name| !name.is_empty())
    }

    /// What a row is grouped by.
    pub fn group(&self, row: &Task, name: NameKey) -> Grouped<'_> {
        if matches!(name, NameKey::Unit | NameKey::Slice) {
            return self
                .systemd(row, name)
                .map_or(Grouped::Unknown, |name| Grouped::Name(Cow::Borrowed(name)));
        }
        self.of_row(row).map_or(Grouped::Unknown, |of| group_of(of, name))
    }

    /// Likewise, as JSON and CSV have it: no unit where another hierarchy tells it. A recording has such units of living processes only, and a replay
    /// shows what was shown.
    pub fn name_by_cgroup(&self, row: &Task, name: NameKey) -> Option<&[u8]> {
        let is_beside = self.units.is_some() && matches!(name, NameKey::Unit | NameKey::Slice);
        if is_beside { None } else { self.name(row, name) }
    }

    /// What the rows of a cgroup are grouped by. No unit is known where another hierarchy tells it of each row.
    pub fn group_of_cgroup(&self, ids: &CgroupIds, name: NameKey) -> Grouped<'_> {
        if let Some(of_rows) = self.units.as_ref().filter(|_| name == NameKey::Unit) {
            let unit = of_rows.get(&(Some(*ids), None)).filter(|unit| !unit.is_empty());
            return unit.map_or(Grouped::Unknown, |unit| Grouped::Name(Cow::Borrowed(unit)));
        }
        let Some(names) = self.cgroups.get(ids) else { return Grouped::Unknown };
        match name {
            NameKey::Unit => Grouped::Name(Cow::Borrowed(unit_or_slice(&names.path))),
            NameKey::Slice => Grouped::Name(Cow::Borrowed(units::slice(&names.path))),
            _ => group_of(names, name),
        }
    }

    fn systemd(&self, row: &Task, name: NameKey) -> Option<&[u8]> {
        let Some(of_rows) = &self.units else {
            let path = &*self.of_row(row)?.path;
            return Some(if name == NameKey::Unit { unit_or_slice(path) } else { units::slice(path) });
        };
        // Recordings do not have it.
        if name == NameKey::Slice {
            return None;
        }
        let id: TaskId = row.id();
        let found =
            of_rows.get(&(key(row), None)).or_else(|| of_rows.get(&(key(row), Some((id, row.comm)))))?;
        Some(found.as_slice()).filter(|unit| !unit.is_empty())
    }
}

/// Units of recorded rows; `None`: the cgroups tell them.
fn units_of(units: &[RowUnit]) -> Option<Arc<UnitsOfRows>> {
    let one = |row: &RowUnit| {
        let cgroup = Some(row.cgroup).filter(|ids| *ids != (None, None));
        ((cgroup, Some((row.task, row.comm))), row.unit.clone())
    };
    (!units.is_empty()).then(|| Arc::new(units.iter().map(one).collect()))
}

/// What a row is put with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Grouped<'a> {
    /// Those of this name.
    Name(Cow<'a, [u8]>),
    /// Those that have none: they are in no container, or in none with a pod.
    None,
    /// Those of which it is not known.
    Unknown,
}

/// What a cgroup is put with. A container without a name goes by its id, and its image and pod are not known. A pod has its namespace before it.
pub fn group_of(names: &CgroupNames, name: NameKey) -> Grouped<'_> {
    let name = match name {
        NameKey::Container => Cow::Borrowed(names.container_label()),
        NameKey::Pod => names.pod_label(),
        _ => Cow::Borrowed(name_of(names, name)),
    };
    match &*name {
        [] if names.nameless.is_some() => Grouped::Unknown,
        [] => Grouped::None,
        _ => Grouped::Name(name),
    }
}

fn name_of(names: &CgroupNames, name: NameKey) -> &[u8] {
    match name {
        NameKey::Unit => unit_or_slice(&names.path),
        NameKey::Slice => units::slice(&names.path),
        NameKey::Container => &names.container,
        NameKey::ContainerId => &names.container_id,
        NameKey::Image => &names.image,
        NameKey::Pod => &names.pod,
        NameKey::Namespace => &names.namespace,
    }
}

/// Looks up names, each once for all rows of a cgroup.
#[derive(Debug)]
pub struct Namer {
    cgroups: Cgroups,
    units: Units,
    /// Units of the rows of a recorded interval, if it has them.
    recorded: Option<Option<Arc<UnitsOfRows>>>,
}

impl Default for Namer {
    fn default() -> Namer {
        Namer { cgroups: Cgroups::default(), units: Units::new(), recorded: None }
    }
}

impl Namer {
    /// Names of the living and of the dead of this machine: cgroups are looked at when they are made.
    pub fn watched() -> Namer {
        Namer { cgroups: Cgroups::watched(), ..Namer::default() }
    }

    /// Looks up the names of a cgroup that a task has died in, unless they are known.
    pub fn learn_of_dead(&mut self, cgroup: CgroupIds) {
        self.cgroups.learn_of_dead(cgroup);
    }

    /// Takes what a frame tells of its cgroups, but for names that are known here already.
    pub fn take_told(&mut self, told: Vec<(CgroupIds, CgroupNames)>) {
        self.cgroups.take_told(told);
    }

    /// The next frame begins.
    pub fn begin(&mut self) {
        self.cgroups.begin();
        self.units.begin();
    }

    /// Looks up the names of a row, unless they are known.
    pub fn learn(&mut self, row: &Task) {
        self.cgroups.learn(row);
        self.units.unit(row);
    }

    /// Looks up the names of all rows of an interval, those of the dead, too.
    pub fn learn_interval(&mut self, interval: &Interval) {
        if let Some(frame) = &interval.frame {
            self.take_told(framing::cgroups(frame));
        }
        interval.processes.iter().chain(&interval.tasks).for_each(|row| self.learn(&row.task));
        for exited in interval.exited.iter().flatten() {
            self.learn_of_dead((exited.exit.cgroup_id, exited.exit.cgroup_v1_cpu_id));
        }
    }

    /// Takes what was recorded, in the place of all else: numbers may be of another boot.
    pub fn take_recorded(&mut self, cgroups: &[(CgroupIds, CgroupNames)], units: &[RowUnit]) {
        self.cgroups.take_recorded(cgroups);
        self.recorded = Some(units_of(units));
    }

    /// What is known by now.
    pub fn named(&self) -> Named {
        let units = match &self.recorded {
            Some(recorded) => recorded.clone(),
            None => self.units.units(),
        };
        Named { cgroups: self.cgroups.named(), units }
    }

    /// The cgroups among them.
    pub fn cgroups(&self) -> Arc<NamesByCgroup> {
        self.cgroups.named()
    }

    /// The unit or slice of a row, where its cgroup does not tell it; `None`: it does.
    pub fn unit_beside(&mut self, row: &Task) -> Option<&[u8]> {
        self.units.unit(row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cpuledger_model::field::{Field, FieldSet};
    use cpuledger_model::framing::Nameless;
    use cpuledger_model::make;
    use cpuledger_model::task::{Comm, Tid};

    fn row(number: u64) -> Task {
        let known = FieldSet::of(&[Field::CgroupId]);
        make!(Task { known, tid: Tid(number as i32), cgroup_id: number, comm: Comm::new(b"work") })
    }

    #[test]
    fn a_container_without_a_name_goes_by_its_id() {
        let id = "6e14acd5d53af25b7e81e956059cc98f2c865add891f1d7d30dbf4ab9acd55f7";
        let names = |id: &str, nameless| {
            make!(CgroupNames {
                container_id: id.as_bytes().to_vec(),
                nameless,
                ..CgroupNames::of_path(b"/x")
            })
        };
        for (id, group) in [
            (id.to_owned(), "6e14acd5d53a"),
            (format!("1000:{id}"), "1000:6e14acd5d53a"),
            ("job".to_owned(), "job"),
        ] {
            let names = names(&id, Some(Nameless::Denied));
            assert_eq!(group_of(&names, NameKey::Container), Grouped::Name(group.as_bytes().into()));
            assert_eq!(group_of(&names, NameKey::Image), Grouped::Unknown);
        }
        assert_eq!(group_of(&names("", None), NameKey::Container), Grouped::None);
        assert_eq!(group_of(&names("", Some(Nameless::OtherCgroup)), NameKey::Container), Grouped::Unknown);
    }

    #[test]
    fn pods_of_two_namespaces_are_two_whatever_they_are_called() {
        let pod = |namespace: &str| {
            make!(CgroupNames {
                pod: b"shop".to_vec(),
                namespace: namespace.into(),
                ..CgroupNames::of_path(b"/x")
            })
        };
        for (namespace, group) in [("prod", "prod/shop"), ("test", "test/shop"), ("", "shop")] {
            assert_eq!(group_of(&pod(namespace), NameKey::Pod), Grouped::Name(group.as_bytes().into()));
        }
    }

    #[test]
    fn units_are_those_of_paths_or_of_rows() {
        let path = CgroupNames::of_path(b"/system.slice/a.service/x");
        let named = Named::of([((Some(1), None), path.clone())].into_iter().collect());
        let both = |named: &Named, number| {
            [NameKey::Unit, NameKey::Slice].map(|key| {
                named.name(&row(number), key).map(|name| String::from_utf8_lossy(name).into_owned())
            })
        };
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(both(&named, 1), [text("a.service"), text("system.slice")]);
        assert_eq!(both(&named, 2), [None, None]);
        assert_eq!(named.group(&row(2), NameKey::Unit), Grouped::Unknown);
        assert_eq!(named.group(&row(1), NameKey::Container), Grouped::None);
        let mut namer = Namer::default();
        let unit = b"b.service".to_vec();
        let unit = make!(RowUnit { cgroup: (Some(1), None), task: row(1).id(), comm: row(1).comm, unit });
        namer.take_recorded(&[((Some(1), None), path.clone())], &[unit]);
        assert_eq!(both(&namer.named(), 1), [text("b.service"), None]);
        namer.take_recorded(&[((Some(1), None), path)], &[]);
        assert_eq!(both(&namer.named(), 1), [text("a.service"), text("system.slice")]);
    }
}
