//! What users and cgroups of a recording are called, as far as this machine knows it.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;

use cpuledger_names::names::Names as Accounts;
use cpuledger_names::watch;
use cpuledger_proc::task::units::unit_or_slice;
use cpuledger_report::Name;
use cpuledger_view::report::Labels;

/// Cgroups that are looked at.
const MOST_CGROUPS: usize = 262_144;

/// What this machine knows.
pub struct Names {
    /// Whether the recording is of this machine: then its users are ours.
    has_users: bool,
    cgroups: HashMap<u64, Vec<u8>>,
}

impl Names {
    /// For a recording of this machine and of these boots. Numbers of cgroups are of one boot.
    pub fn of(host: Option<&str>, boots: &[String]) -> Names {
        let read =
            |path: &str| fs::read_to_string(path).map(|text| text.trim().to_owned()).unwrap_or_default();
        let has_users = host.is_none_or(|host| host == read("/proc/sys/kernel/hostname"));
        let boot = read("/proc/sys/kernel/random/boot_id");
        let cgroups = if boots.contains(&boot) { cgroups() } else { HashMap::new() };
        Names { has_users, cgroups }
    }

    /// The unit of a cgroup or, of what is in none, its slice. What has a name already is called that.
    pub fn unit(&self, name: Name) -> Name {
        let path = match &name {
            Name::Cgroup(id) => self.cgroups.get(id),
            // It was recorded.
            Name::Text(path) => Some(path),
            _ => None,
        };
        path.map(|path| unit_or_slice(path).to_vec()).map_or(name, Name::Text)
    }

    /// What these are called.
    pub fn labels<'a>(&self, names: impl Iterator<Item = &'a Name>) -> Labels {
        let mut labels = Labels::default();
        let mut accounts = Accounts::of_users();
        for name in names {
            match name {
                Name::User(uid) if self.has_users => {
                    let Ok(number) = u32::try_from(*uid) else { continue };
                    accounts.learn(number);
                    if !accounts.name(number).is_empty() {
                        labels.users.insert(*uid, accounts.name(number).to_vec());
                    }
                }
                Name::Cgroup(id) => {
                    labels.cgroups.extend(self.cgroups.get(id).map(|path| (*id, path.clone())));
                }
                _ => {}
            }
        }
        labels
    }
}

/// The paths of the cgroups that CPU time is divided by.
fn cgroups() -> HashMap<u64, Vec<u8>> {
    // It may be gone by now.
    let number = |(folder, path)| Some((fs::metadata(folder).ok()?.ino(), path));
    watch::cgroups().filter_map(number).take(MOST_CGROUPS).collect()
}
