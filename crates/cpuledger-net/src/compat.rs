//! Sets of metrics under the names that other exporters have for them.

mod candidate;
pub mod containers;
pub mod groups;
pub mod members;
pub mod procfs;
pub mod rules;
pub mod rules_file;
pub mod template;
pub mod usage;

use cpuledger_model::frame::{Column, Frame, Section, Wanted};
use cpuledger_model::framing;

use crate::modes;
use crate::series::Settle;
use containers::Containers;
use groups::Groups;
use procfs::Known;
use usage::COUNTS;

/// The sets that were asked for.
#[derive(Debug, Default)]
pub struct Compat {
    /// That of process-exporter.
    pub groups: Option<Groups>,
    /// That of cAdvisor.
    pub containers: Option<Containers>,
}

impl Compat {
    /// What is needed of a frame; `None`: nothing.
    pub fn wanted(&self) -> Option<Wanted> {
        let mut columns = [&modes::COLUMNS[..], &usage::COLUMNS].concat();
        let mut sections = vec![Section::Processes, Section::Exited];
        if self.groups.is_some() {
            columns.extend(COUNTS.into_iter().filter_map(Column::growth));
        }
        if self.containers.is_some() {
            sections.push(Section::Cgroups);
            columns.extend(containers::COLUMNS);
            columns.extend(framing::NAME_COLUMNS);
        }
        (self.groups.is_some() || self.containers.is_some()).then(|| Wanted::of(&sections, &columns))
    }

    /// Adds an interval; `known` is what was read of processes.
    pub fn add(&mut self, frame: &Frame, known: &Known) {
        if self.groups.is_none() && self.containers.is_none() {
            return;
        }
        let subjects = usage::of(frame);
        if let Some(groups) = &mut self.groups {
            groups.add(frame, known, &subjects);
        }
        if let Some(containers) = &mut self.containers {
            containers.add(frame, &subjects);
        }
    }

    /// The tables of these.
    pub fn tables(&mut self) -> impl Iterator<Item = &mut dyn Settle> {
        let groups = self.groups.iter_mut().map(|groups| &mut groups.table as &mut dyn Settle);
        groups.chain(self.containers.iter_mut().map(|containers| &mut containers.table as &mut dyn Settle))
    }
}
