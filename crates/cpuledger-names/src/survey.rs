//! How many containers of this machine have names, and why others have none.

use std::collections::BTreeMap;

use cpuledger_model::framing::{CgroupNames, Nameless};

use crate::containers::Containers;
use crate::watch::cgroups;

/// Cgroups that are looked at.
const MOST_CGROUPS: usize = 16_384;

/// What the names of cgroups are like.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Survey {
    /// Cgroups that were looked at.
    pub cgroups: usize,
    /// Containers among them, each once.
    pub containers: usize,
    /// Containers without a name, by reason.
    pub nameless: BTreeMap<Nameless, usize>,
}

impl Survey {
    /// That of this machine.
    pub fn take() -> Survey {
        let mut containers = Containers::default();
        Survey::of(cgroups().take(MOST_CGROUPS).map(|(_, path)| containers.names(&path)))
    }

    /// That of these cgroups.
    pub fn of(cgroups: impl Iterator<Item = CgroupNames>) -> Survey {
        let mut survey = Survey::default();
        let mut found = BTreeMap::new();
        for names in cgroups {
            survey.cgroups += 1;
            if !names.container_label().is_empty() || names.nameless.is_some() {
                let id = if names.container_id.is_empty() { names.path } else { names.container_id };
                found.entry(id).or_insert(names.nameless);
            }
        }
        survey.containers = found.len();
        found.into_values().flatten().for_each(|why| *survey.nameless.entry(why).or_default() += 1);
        survey
    }

    /// In a sentence: `40 cgroups; 2 of 3 containers have names; 1 has none, because …`.
    pub fn sentence(&self) -> String {
        match (self.cgroups, self.containers) {
            (0, _) => "no cgroups are mounted that CPU time could be divided by".to_owned(),
            (cgroups, 0) => format!("{cgroups} cgroups, none of a container"),
            (cgroups, _) => format!("{cgroups} cgroups; {}", self.of_containers()),
        }
    }

    /// The part of that which is about containers.
    pub fn of_containers(&self) -> String {
        let nameless: usize = self.nameless.values().sum();
        let mut sentence =
            format!("{} of {} containers have names", self.containers - nameless, self.containers);
        for (why, count) in &self.nameless {
            let verb = if *count == 1 { "has" } else { "have" };
            sentence.push_str(&format!("; {count} {verb} none, because {}", why.words()));
        }
        sentence
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_says_why_names_are_missing() {
        let nameless = [(Nameless::Denied, 1), (Nameless::OfUser, 2)].into_iter().collect();
        let survey = Survey { cgroups: 40, containers: 5, nameless };
        let sentence = survey.sentence();
        assert!(
            sentence.starts_with("40 cgroups; 2 of 5 containers have names; 1 has none, because the state")
        );
        assert!(sentence.contains("; 2 have none, because a user's own runtime"), "{sentence}");
        assert_eq!(Survey { cgroups: 3, ..Survey::default() }.sentence(), "3 cgroups, none of a container");
        assert!(Survey::default().sentence().starts_with("no cgroups"));
    }
}
