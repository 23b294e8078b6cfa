//! The samples of the sets that have the names of other exporters.

use super::{Page, in_braces};
use crate::books::Books;
use crate::compat::containers::{Containers, Labels};
use crate::compat::groups::{Gauges, Groups};
use crate::families::{Family, OF_CADVISOR, OF_PROCESS_EXPORTER, OfGroup};
use crate::labels::REST;
use crate::modes::Modes;

impl Page {
    /// The sets that were asked for.
    pub(super) fn of_others(&mut self, books: &Books) {
        if let Some(groups) = &books.compat().groups {
            let gauges = groups.gauges();
            for family in &OF_PROCESS_EXPORTER {
                self.family(family, |page| page.of_groups(family, groups, &gauges));
            }
        }
        if let Some(containers) = &books.compat().containers {
            for family in &OF_CADVISOR {
                self.family(family, |page| page.of_containers(family, containers));
            }
        }
    }

    fn of_groups(&mut self, family: &Family, groups: &Groups, gauges: &[(String, Gauges)]) {
        let crate::families::Kind::Group(figure) = family.kind else { return };
        match figure {
            OfGroup::Cpu => self.cpu_of_groups(family, groups),
            OfGroup::Counts(label, counts) => {
                for (name, usage, _) in groups.table.lines(&[]) {
                    for (value, count) in counts.iter().filter(|(_, count)| groups.knows(*count)) {
                        self.sample(family, &labels(&name, label, value), usage.count(*count));
                    }
                }
            }
            _ => self.gauges_of_groups(family, figure, groups, gauges),
        }
    }

    fn gauges_of_groups(
        &mut self,
        family: &Family,
        figure: OfGroup,
        groups: &Groups,
        gauges: &[(String, Gauges)],
    ) {
        let Some(listing) = groups.listing() else { return };
        for (name, own) in gauges {
            let group = labels(name, "", "");
            match figure {
                OfGroup::Gauges(label, values) => {
                    for (value, gauge) in values.iter().filter(|(_, gauge)| listing.tells(*gauge)) {
                        self.sample(family, &labels(name, label, value), own.get(*gauge).into());
                    }
                }
                OfGroup::OldestStart => {
                    own.oldest_ns.into_iter().for_each(|ns| self.sample(family, &group, ns.into()));
                }
                OfGroup::WorstRatio if listing.tells_ratios => {
                    self.sample(family, &group, own.worst_ratio.into());
                }
                _ => {}
            }
        }
    }

    /// A mode that is not told appears only if there is such time.
    fn cpu_of_groups(&mut self, family: &Family, groups: &Groups) {
        let tells_all = groups.table.lines(&[]).all(|(_, usage, _)| usage.modes.unknown_ns == 0);
        for (name, usage, created_ns) in groups.table.lines(&[]) {
            let Modes { user_ns, system_ns, unknown_ns, .. } = usage.modes;
            let untold = (!tells_all).then_some(("unknown", unknown_ns));
            for (mode, ns) in [("user", user_ns), ("system", system_ns)].into_iter().chain(untold) {
                let labels = labels(&name, "mode", mode);
                self.sample(family, &labels, ns);
                self.created(family, &labels, created_ns);
            }
        }
    }

    fn of_containers(&mut self, family: &Family, containers: &Containers) {
        let crate::families::Kind::Container(cpu, figure) = family.kind else { return };
        let table = &containers.table;
        let own = table.series(&[]).map(|(name, series)| {
            let labels = containers.labels(name).cloned().unwrap_or_default();
            (series.label.to_string(), labels, &series.totals.modes, series.created_ns)
        });
        let rest = (REST.to_owned(), Labels::default(), &table.rest().modes, table.created_ns());
        for (id, labels, modes, created_ns) in own.chain([rest]) {
            let Labels { container, image, name, namespace, pod } = &labels;
            let others =
                [("id", &id), ("image", image), ("name", name), ("namespace", namespace), ("pod", pod)];
            let others = others.into_iter().map(|(label, value)| (label, value.as_str()));
            let container = [("container", container.as_str())];
            let labels = in_braces(container.into_iter().chain(cpu.iter().copied()).chain(others));
            self.sample(family, &labels, figure(modes));
            self.created(family, &labels, created_ns);
        }
    }
}

/// Labels of a sample of a group, in their order; a label without a name is none.
fn labels(group: &str, label: &str, value: &str) -> String {
    let mut all = [("groupname", group), (label, value)];
    all.sort_unstable();
    in_braces(all.into_iter().filter(|(label, _)| !label.is_empty()))
}
