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

use std::time::Duration;

use cpuledger_model::frame::{Column, Frame, Section, Wanted};
use cpuledger_model::framing;

use crate::modes;
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

    /// The counters begin with the first interval.
    pub fn begin_at(&mut self, when_ns: u64) {
        self.groups.iter_mut().for_each(|groups| groups.begin_at(when_ns));
        self.containers.iter_mut().for_each(|containers| containers.begin_at(when_ns));
    }

    /// Chooses who has a series from now on.
    pub fn settle(&mut self, passed: Duration, created_ns: u64, is_amid_round: bool) {
        self.groups.iter_mut().for_each(|groups| groups.settle(passed, created_ns, is_amid_round));
        self.containers
            .iter_mut()
            .for_each(|containers| containers.settle(passed, created_ns, is_amid_round));
    }

    /// All scrapers have been here. Returns whether a series has left.
    pub fn seen_by_all(&mut self) -> bool {
        let groups = self.groups.as_mut().is_some_and(|groups| groups.table_mut().seen_by_all());
        let containers = self.containers.as_mut();
        containers.is_some_and(|containers| containers.table_mut().seen_by_all()) | groups
    }
}
