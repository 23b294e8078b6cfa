//! What kernels have or lack, and since when.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The first two numbers of a kernel's version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Series(pub u32, pub u32);

impl fmt::Display for Series {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

impl FromStr for Series {
    type Err = String;

    fn from_str(text: &str) -> Result<Series, String> {
        let numbers =
            text.split_once('.').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
        let (major, minor) =
            numbers.ok_or_else(|| format!("`{text}` is no series of kernels: use a form like 6.12"))?;
        Ok(Series(major, minor))
    }
}

/// Something that some of the kernels lack, and on which sources or tests depend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Feature {
    /// The kernel's own types.
    Btf,
    /// The bpf iterator over tasks.
    TaskIterator,
    /// Atomics beyond plain addition.
    Atomics,
    /// Programs that bpf(2) runs.
    SyscallPrograms,
    /// The kernel tells what the verifier paid.
    VerifierCost,
    /// RCU sections in programs.
    RcuSections,
    /// A task by its tid.
    TaskByTid,
    /// The open-coded iterator over tasks.
    OpenCodedIterator,
}

/// How it is found out whether a kernel has a feature.
enum Probe {
    /// Its BTF has this name.
    Name(&'static str),
    /// A program with it is loaded.
    Program(fn() -> Option<bool>),
}

/// One row a feature: what it is called, what it is for, the series that brought it, and how to find out.
struct Row(&'static str, &'static str, Series, Probe);

impl Feature {
    /// All, in the order in which kernels got them.
    pub const ALL: [Feature; 8] = [
        Feature::Btf,
        Feature::TaskIterator,
        Feature::Atomics,
        Feature::SyscallPrograms,
        Feature::VerifierCost,
        Feature::RcuSections,
        Feature::TaskByTid,
        Feature::OpenCodedIterator,
    ];

    const fn row(self) -> Row {
        use Probe::{Name, Program};
        match self {
            Feature::Btf => {
                Row("BTF", "all programs find the kernel's members by it", Series(5, 2), Name("task_struct"))
            }
            Feature::TaskIterator => {
                Row("bpf iterator `task`", "the walk, by reading", Series(5, 8), Name("bpf_iter__task"))
            }
            Feature::Atomics => {
                Row("BPF atomics", "the ledger", Series(5, 12), Program(cpuledger_bpf::has_atomics))
            }
            Feature::SyscallPrograms => Row(
                "programs that bpf(2) runs",
                "the walk in one call, the inspection",
                Series(5, 14),
                Name("BPF_PROG_TYPE_SYSCALL"),
            ),
            Feature::VerifierCost => Row(
                "`verified_insns`",
                "the table of what the verifier pays",
                Series(5, 16),
                Name("verified_insns"),
            ),
            Feature::RcuSections => {
                Row("`bpf_rcu_read_lock`", "the walk in one call", Series(6, 2), Name("bpf_rcu_read_lock"))
            }
            Feature::TaskByTid => Row(
                "`bpf_task_from_pid`",
                "the inspection: the ledger's detail without a walk",
                Series(6, 2),
                Name("bpf_task_from_pid"),
            ),
            Feature::OpenCodedIterator => Row(
                "open-coded iterator `bpf_iter_task`",
                "the walk in one call",
                Series(6, 7),
                Name("bpf_iter_task_new"),
            ),
        }
    }

    /// What it is called.
    pub const fn name(self) -> &'static str {
        self.row().0
    }

    /// What depends on it.
    pub const fn purpose(self) -> &'static str {
        self.row().1
    }

    /// The first series that has it.
    pub const fn since(self) -> Series {
        self.row().2
    }

    /// Whether the running kernel has it, asked of its BTF (the bytes of `/sys/kernel/btf/vmlinux`) or by trying.
    pub fn is_here(self, btf: &[u8]) -> bool {
        match self.row().3 {
            Probe::Name(name) => has_name(btf, name),
            Probe::Program(probe) => probe() == Some(true),
        }
    }
}

/// Whether this is one of the names in a BTF. In the whole of it, which is several megabytes, an emulated CPU would look for seconds.
fn has_name(btf: &[u8], name: &str) -> bool {
    names(btf).unwrap_or_default().split(|byte| *byte == 0).any(|other| other == name.as_bytes())
}

/// The names, each with a zero behind it. The length of the header stands at byte 4 of it, how far behind it the names begin at 16,
/// and their length at 20.
fn names(btf: &[u8]) -> Option<&[u8]> {
    let number = |at: usize| {
        let bytes = btf.get(at..at + 4)?.try_into().ok()?;
        Some(u32::from_ne_bytes(bytes) as usize)
    };
    let begin = number(4)?.checked_add(number(16)?)?;
    btf.get(begin..)?.get(..number(20)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_are_numbers() {
        assert!("6.12".parse::<Series>() > "6.7".parse::<Series>());
        assert_eq!("5.10".parse::<Series>().map(|series| series.to_string()), Ok("5.10".to_owned()));
        assert!("6".parse::<Series>().is_err() && "6.x".parse::<Series>().is_err());
    }

    #[test]
    fn names_are_whole() {
        let names = b"\0int\0bpf_iter_task_new\0";
        // Magic, version and flags, the length of the header, types and names. The type is four bytes.
        let header = [0x0001_eb9f, 24, 0, 4, 4, names.len() as u32, 0x0074_6e69].map(u32::to_ne_bytes);
        let btf = [header.as_flattened(), names].concat();
        assert!(has_name(&btf, "bpf_iter_task_new") && has_name(&btf, "int"));
        assert!(!has_name(&btf, "bpf_iter_task") && !has_name(&btf, "task_new"));
        assert!(!has_name(&btf[..btf.len() - 1], "int") && !has_name(b"", "int"), "a BTF that was cut off");
    }

    #[test]
    fn features_are_in_the_order_of_their_series() {
        assert!(Feature::ALL.is_sorted_by_key(|feature| feature.since()));
    }
}
