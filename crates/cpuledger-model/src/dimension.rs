//! What rows are put together by: the values of `--by`.

use crate::kinds;

// Of each its name, what its names are called in a header and of several, and what it is. Processes and ancestry come last.
kinds! {
    /// What rows are put together by.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Dimension of 4 {
        /// The name of the process.
        Command ["command", "COMMAND", "commands", "Name of the process"],
        /// The effective user.
        User ["user", "USER", "users", "Effective user"],
        /// The cgroup.
        Cgroup ["cgroup", "CGROUP", "cgroups", "Cgroup"],
        /// The unit of systemd, or the cgroup where no unit was recorded: its path says it.
        Unit ["unit", "UNIT", "units", "Unit of systemd"],
        /// The container of the cgroup.
        Container ["container", "CONTAINER", "containers", "Container"],
        /// The pod of that, with its namespace.
        Pod ["pod", "POD", "pods", "Pod of Kubernetes"],
        /// The image of that.
        Image ["image", "IMAGE", "images", "Image of the container"],
        /// The process.
        Process ["process", "PROCESS", "processes", "Process"],
        /// The names of the process and of those above it, up to the first that is known.
        Ancestor ["ancestor", "ANCESTRY", "branches", "Names of the process and of its ancestors"],
    }
}

impl Dimension {
    /// Those whose rows stand beside each other: all but ancestry.
    pub const SIDE_BY_SIDE: [Dimension; 8] = *Dimension::ALL.first_chunk().expect("there are more");

    /// Those whose names are few enough for a series each: without processes, too.
    pub const OF_SERIES: [Dimension; 7] = *Dimension::ALL.first_chunk().expect("there are more");

    /// Those that the cgroup of a row tells.
    pub const OF_CGROUP: [Dimension; 5] =
        [Dimension::Cgroup, Dimension::Unit, Dimension::Container, Dimension::Pod, Dimension::Image];

    /// As in `--by`, in JSON and in labels.
    pub const fn name(self) -> &'static str {
        self.texts()[0]
    }

    /// Above a column of its names.
    pub const fn header(self) -> &'static str {
        self.texts()[1]
    }

    /// Several of its names.
    pub const fn plural(self) -> &'static str {
        self.texts()[2]
    }

    /// What it is, for help.
    pub const fn help(self) -> &'static str {
        self.texts()[3]
    }

    /// That of this name.
    pub fn by_name(name: &str) -> Option<Dimension> {
        Dimension::ALL.into_iter().find(|own| own.name() == name)
    }

    /// Its place in [`Dimension::OF_CGROUP`].
    pub fn place_of_cgroup(self) -> Option<usize> {
        Dimension::OF_CGROUP.iter().position(|own| *own == self)
    }

    /// Whether the names of a cgroup are needed for it, and not its path alone.
    pub fn needs_names(self) -> bool {
        matches!(self, Dimension::Container | Dimension::Pod | Dimension::Image)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_a_name_of_its_own() {
        for dimension in Dimension::ALL {
            assert_eq!(Dimension::by_name(dimension.name()), Some(dimension));
        }
        assert_eq!(Dimension::by_name("COMMAND"), None);
        let [others @ .., Dimension::Process, Dimension::Ancestor] = Dimension::ALL else {
            panic!("an order")
        };
        assert_eq!(others, Dimension::OF_SERIES);
    }
}
