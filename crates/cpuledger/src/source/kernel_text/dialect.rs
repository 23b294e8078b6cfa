//! Which lines the running kernel prints in /proc/PID/status, in which order and how wide: read from that of this process,
//! as kernels and configurations differ.

use std::fs;
use std::path::Path;

use cpuledger_proc::{cpu_list, entries};
use rustix::param::{clock_ticks_per_second, page_size};
use rustix::thread::CapabilitySet;

use super::bytes::Head;
use super::parts::Dialect;
use super::status::LINES;
use crate::error::Error;

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
            match known.and_then(|(name, section, write)| Some((Head::of(name)?, *section, *write))) {
                Some(line) => {
                    dialect.lines.push(line);
                    dialect.learn(name, value.trim_ascii());
                }
                None => dialect.left_out.push(String::from_utf8_lossy(name).into_owned()),
            }
        }
        dialect
    }

    fn learn(&mut self, name: &[u8], value: &[u8]) {
        let digits = || value.iter().filter(|byte| **byte != b',').count() as u32;
        match name {
            b"Cpus_allowed" => self.cpus = digits() * 4,
            b"Mems_allowed" => self.nodes = digits() * 4,
            b"Speculation_Store_Bypass" => self.store_bypass = value.to_vec(),
            b"SpeculationIndirectBranch" => self.indirect_branch = value.to_vec(),
            b"untag_mask" => self.untag_mask = value.to_vec(),
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
        for (index, (name, ..)) in LINES.iter().enumerate() {
            let rest = &LINES[index + 1..];
            assert!(rest.iter().all(|(other, ..)| other != name), "{name}");
        }
    }
}
