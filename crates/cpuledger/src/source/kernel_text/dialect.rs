//! Which lines the running kernel prints in /proc/PID/status, in which order and how wide: read from that of this process,
//! as kernels and configurations differ.

use std::fs;
use std::path::Path;

use cpuledger_proc::{cpu_list, entries};
use rustix::param::{clock_ticks_per_second, page_size};
use rustix::thread::CapabilitySet;

use super::bytes::Head;
use crate::error::Error;

/// Lines that change together: their text is kept from one task to the next, but for those of the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    /// The task's own numbers.
    Own,
    State,
    Identity,
    Process,
    Memory,
    Signals,
    Capabilities,
    Security,
    Placement,
}

macro_rules! lines {
    ($($name:literal $line:ident $section:ident;)*) => {
        /// One line of /proc/PID/status.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Line {
            $($line,)*
        }

        /// Every line that can be rendered, by its name.
        const LINES: &[(&str, Line, Section)] = &[$(($name, Line::$line, Section::$section)),*];
    };
}

lines! {
    "Name" Name Own;
    "Umask" Umask State;
    "State" State State;
    "Tgid" Tgid State;
    "Ngid" NumaGroup State;
    "Pid" Pid Own;
    "PPid" ParentPid Identity;
    "TracerPid" TracerPid Identity;
    "Uid" Uids Identity;
    "Gid" Gids Identity;
    "FDSize" FileTable Identity;
    "Groups" Groups Identity;
    "NStgid" NamespacePids Identity;
    "NSpid" NamespaceTids Own;
    "NSpgid" NamespacePgids Process;
    "NSsid" NamespaceSids Process;
    "Kthread" KernelThread Process;
    "VmPeak" VirtualPeak Memory;
    "VmSize" VirtualNow Memory;
    "VmLck" Locked Memory;
    "VmPin" Pinned Memory;
    "VmHWM" ResidentPeak Memory;
    "VmRSS" Resident Memory;
    "RssAnon" Anonymous Memory;
    "RssFile" File Memory;
    "RssShmem" Shmem Memory;
    "VmData" Data Memory;
    "VmStk" Stack Memory;
    "VmExe" Executable Memory;
    "VmLib" Libraries Memory;
    "VmPTE" PageTables Memory;
    "VmSwap" Swap Memory;
    "HugetlbPages" HugetlbPages Memory;
    "CoreDumping" CoreDumping Memory;
    "THP_enabled" HugePages Memory;
    "untag_mask" UntagMask Memory;
    "Threads" Threads Signals;
    "SigQ" QueuedSignals Signals;
    "SigPnd" PendingSignals Signals;
    "ShdPnd" SharedPendingSignals Signals;
    "SigBlk" BlockedSignals Signals;
    "SigIgn" IgnoredSignals Signals;
    "SigCgt" CaughtSignals Signals;
    "CapInh" Inheritable Capabilities;
    "CapPrm" Permitted Capabilities;
    "CapEff" Effective Capabilities;
    "CapBnd" Bounding Capabilities;
    "CapAmb" Ambient Capabilities;
    "NoNewPrivs" NoNewPrivileges Security;
    "Seccomp" Seccomp Security;
    "Seccomp_filters" SeccompFilters Security;
    "Speculation_Store_Bypass" StoreBypass Security;
    "SpeculationIndirectBranch" IndirectBranch Security;
    "Cpus_allowed" Cpus Placement;
    "Cpus_allowed_list" CpuList Placement;
    "Mems_allowed" Nodes Placement;
    "Mems_allowed_list" NodeList Placement;
    "voluntary_ctxt_switches" VoluntarySwitches Own;
    "nonvoluntary_ctxt_switches" InvoluntarySwitches Own;
    "x86_Thread_features" ThreadFeatures Own;
    "x86_Thread_features_locked" LockedThreadFeatures Own;
}

/// What this kernel prints, and what of it is the same for all tasks.
#[derive(Debug, Clone, Default)]
pub struct Dialect {
    /// Its lines in their order.
    pub(super) lines: Vec<(Head, Line, Section)>,
    left_out: Vec<String>,
    /// CPUs that this kernel has numbers for.
    pub(super) cpus: u32,
    /// Memory nodes, likewise.
    pub(super) nodes: u32,
    /// What this process has there: the same for all, or for each its own choice.
    pub(super) store_bypass: Vec<u8>,
    pub(super) indirect_branch: Vec<u8>,
    pub(super) untag_mask: Vec<u8>,
    /// Whether the kernel has transparent huge pages at all.
    pub(super) has_huge_pages: bool,
    /// Whether addresses of other processes are this one's to know.
    pub(super) sees_addresses: bool,
    pub(super) page_bytes: u64,
    pub(super) ns_per_tick: u64,
}

impl Dialect {
    /// That of the running kernel.
    ///
    /// # Errors
    /// Without /proc.
    pub fn of_this_kernel() -> Result<Dialect, Error> {
        let read =
            |path: &str| fs::read(path).map_err(|source| Error::Procfs { path: path.to_owned(), source });
        let mut dialect = Dialect::parse(&read("/proc/self/status")?);
        let possible = fs::read_to_string("/sys/devices/system/cpu/possible");
        if let Some(highest) = possible.ok().as_deref().and_then(cpu_list::highest) {
            // The digits tell it to within three.
            let cpus = highest + 1;
            dialect.cpus = if cpus.next_multiple_of(4) == dialect.cpus { cpus } else { dialect.cpus };
        }
        dialect.has_huge_pages = Path::new("/sys/kernel/mm/transparent_hugepage").exists();
        dialect.sees_addresses = rustix::thread::capabilities(None)
            .is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_PTRACE));
        dialect.page_bytes = page_size() as u64;
        dialect.ns_per_tick = 1_000_000_000 / clock_ticks_per_second().max(1);
        Ok(dialect)
    }

    /// From the text of a process with memory; the rest as on a common machine.
    pub fn parse(text: &[u8]) -> Dialect {
        let mut dialect = Dialect {
            has_huge_pages: true,
            sees_addresses: true,
            page_bytes: 4096,
            ns_per_tick: 10_000_000,
            ..Dialect::default()
        };
        for (name, value) in entries(text) {
            let known = LINES.iter().find(|(known, ..)| known.as_bytes() == name);
            match known.and_then(|(name, line, section)| Some((Head::of(name)?, *line, *section))) {
                Some((head, line, section)) => {
                    dialect.lines.push((head, line, section));
                    dialect.learn(line, value.trim_ascii());
                }
                None => dialect.left_out.push(String::from_utf8_lossy(name).into_owned()),
            }
        }
        dialect
    }

    fn learn(&mut self, line: Line, value: &[u8]) {
        let digits = || value.iter().filter(|byte| **byte != b',').count() as u32;
        match line {
            Line::Cpus => self.cpus = digits() * 4,
            Line::Nodes => self.nodes = digits() * 4,
            Line::StoreBypass => self.store_bypass = value.to_vec(),
            Line::IndirectBranch => self.indirect_branch = value.to_vec(),
            Line::UntagMask => self.untag_mask = value.to_vec(),
            _ => {}
        }
    }

    /// Lines that the running kernel prints and this version does not know: they are left out.
    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_named_and_left_out() {
        let dialect =
            Dialect::parse(b"Name:\ta: b\nBrandNew:\t7\nCpus_allowed:\t7,00000000\nMems_allowed:\t1\n");
        assert_eq!(dialect.left_out(), ["BrandNew"]);
        assert_eq!(dialect.lines.len(), 3);
        assert_eq!((dialect.cpus, dialect.nodes), (36, 4));
    }

    #[test]
    fn every_line_is_in_the_table_once() {
        for (index, (name, line, _)) in LINES.iter().enumerate() {
            let rest = &LINES[index + 1..];
            assert!(rest.iter().all(|(other, also, _)| other != name && also != line), "{name}");
        }
    }
}
