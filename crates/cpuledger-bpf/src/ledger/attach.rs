//! Loading and attaching the ledger.

use std::collections::HashMap;
use std::mem::offset_of;
use std::sync::atomic::Ordering;

use libbpf_rs::{Link, Object, OpenObject};

use crate::abi;
use crate::object::{self, Error};
use crate::probe;
use crate::records;

use super::clock;
use super::cut::Book;
use super::online::{self, Online};
use super::shared::Shared;
use super::{Ledger, Options};

/// The compiled `bpf/ledger.bpf.c`.
static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/ledger.bpf.o"));

/// In this order: slots that the fork hook makes have to be seen by the switch hook, or they would never end.
const HOOKS: [&str; 3] = ["on_rename", "on_switch", "on_fork"];

/// Not indispensable: without it the list of online CPUs is read at each cut.
const HOTPLUG_HOOK: &str = "on_hotplug";

/// A clock that differs by more than this is another clock: that of a time namespace.
const CLOCK_LIMIT_NS: u64 = 1_000_000_000;

impl Ledger {
    /// Loads and attaches the hooks, makes every CPU switch once, and takes the first cut: from then on all time is in the
    /// books.
    ///
    /// # Errors
    /// Without BTF, without privilege, on kernels before 5.12 (no BPF atomics), for a size outside the limits, and in a time
    /// namespace whose monotonic clock is not the kernel's.
    pub fn attach(options: Options) -> Result<Ledger, Error> {
        if !Options::possible_slots().contains(&options.slots) {
            return Err(Error::Unattachable {
                what: format!(
                    "{} slots are asked for, {} to {} are possible",
                    options.slots,
                    abi::CPULEDGER_MIN_SLOTS,
                    abi::CPULEDGER_MAX_SLOTS
                ),
            });
        }
        let cpus = records::possible_cpus()?;
        let mut object = match load(options, cpus, true) {
            // The kernel may have all but that tracepoint.
            Err(Error::Refused { .. }) if probe::has_atomics() == Some(false) => {
                return Err(Error::NoAtomics);
            }
            Err(Error::Refused { .. }) => load(options, cpus, false)?,
            loaded => loaded?,
        };
        let mut ledger = Ledger {
            control: Shared::new(&object::map_mut(&mut object, ".data.control"), 1)?,
            cpus: Shared::new(&object::map_mut(&mut object, "cpus"), cpus)?,
            slots: Shared::new(&object::map_mut(&mut object, "slots"), options.slots)?,
            rests: Shared::new(&object::map_mut(&mut object, "slot_rests"), options.slots)?,
            listed: Shared::new(&object::map_mut(&mut object, "listed"), 2 * options.slots)?,
            index: Shared::new(&object::map_mut(&mut object, "tid_index"), options.buckets())?,
            _links: Vec::new(),
            _object: object,
            options,
            online: Online::open(),
            is_watching_cpus: false,
            books: vec![Book::default(); cpus as usize],
            is_online: vec![true; cpus as usize],
            interval: u64::from(abi::CPULEDGER_FIRST_INTERVAL),
            start_ns: 0,
            published_ns: None,
            is_stuck: false,
            tasks: Vec::new(),
            cpu_times: Vec::new(),
            running: HashMap::new(),
            of_leaders: HashMap::new(),
            freed: Vec::new(),
        };
        ledger.prepare();
        let before_ns = clock::now_ns();
        ledger._links = attach_hooks(&mut ledger._object)?;
        ledger.watch_cpus();
        ledger.online.read(&mut ledger.is_online, None);
        online::visit(&ledger.is_online);
        ledger.check_clock(before_ns)?;
        ledger.close_interval(0)?;
        Ok(ledger)
    }

    /// The shared records as the programs expect them; all else is zero.
    fn prepare(&self) {
        let set = |offset, value: u64| self.control.word(0, offset).store(value, Ordering::Relaxed);
        let free = u64::from(self.options.slots - abi::CPULEDGER_SLOT_FIRST);
        set(offset_of!(abi::cpuledger_control, fresh), u64::from(abi::CPULEDGER_SLOT_FIRST));
        set(offset_of!(abi::cpuledger_control, free_count), free);
        let half = |offset| self.control.half(0, offset);
        half(offset_of!(abi::cpuledger_control, slots)).store(self.options.slots, Ordering::Relaxed);
        half(offset_of!(abi::cpuledger_control, bucket_mask))
            .store(self.options.buckets() - 1, Ordering::Relaxed);
        half(offset_of!(abi::cpuledger_control, low_slots))
            .store(self.options.low_slots(), Ordering::Relaxed);
        half(offset_of!(abi::cpuledger_control, slots_of_leaders))
            .store(self.options.slots / abi::CPULEDGER_LEADER_SLOTS_SHARE, Ordering::Relaxed);
        for cpu in 0..self.books.len() as u32 {
            let run = self.cpus.word(cpu, offset_of!(abi::cpuledger_cpu, run));
            run.store(u64::from(abi::CPULEDGER_RUN_OUT), Ordering::Relaxed);
        }
        set(offset_of!(abi::cpuledger_control, interval), self.interval);
    }

    /// Attaches the hook that counts changes of the set of online CPUs, if it is loaded and the kernel takes it.
    fn watch_cpus(&mut self) {
        let hook = self._object.progs_mut().find(|program| program.name() == HOTPLUG_HOOK);
        let link = hook.and_then(|hook| hook.attach().ok());
        self.is_watching_cpus = link.is_some();
        self._links.extend(link);
    }

    /// Compares the clock of the hooks with ours: what they have seen lies between `before_ns` and now, however long this
    /// thread was held up meanwhile.
    fn check_clock(&self, before_ns: u64) -> Result<(), Error> {
        let possible = before_ns.saturating_sub(CLOCK_LIMIT_NS)..=clock::now_ns() + CLOCK_LIMIT_NS;
        for cpu in 0..self.books.len() as u32 {
            let entered = self.cpus.word(cpu, offset_of!(abi::cpuledger_cpu, entered_ns));
            let entered = entered.load(Ordering::Acquire);
            if entered != 0 && !possible.contains(&entered) {
                return Err(Error::Unattachable {
                    what: "the monotonic clock of this time namespace is not the kernel's".to_owned(),
                });
            }
        }
        Ok(())
    }
}

/// Loads the hooks, with or without the one that counts changes of the set of online CPUs.
fn load(options: Options, cpus: u32, watches_cpus: bool) -> Result<Object, Error> {
    object::load("cpuledger_ledger", OBJECT, |open| {
        resize(open, "cpus", cpus);
        resize(open, "slots", options.slots);
        resize(open, "slot_rests", options.slots);
        resize(open, "listed", 2 * options.slots);
        resize(open, "tid_index", options.buckets());
        for mut program in open.progs_mut().filter(|program| program.name() == HOTPLUG_HOOK) {
            program.set_autoload(watches_cpus);
        }
        Ok(())
    })
}

/// Sets the number of entries of a map that is not created yet; its name is a constant of this crate.
fn resize(open: &mut OpenObject, name: &str, entries: u32) {
    let mut map =
        open.maps_mut().find(|map| map.name() == name).expect("the embedded object defines this map");
    map.set_max_entries(entries).expect("a map that is not created yet takes any size");
}

fn attach_hooks(object: &mut Object) -> Result<Vec<Link>, Error> {
    HOOKS
        .iter()
        .map(|name| {
            let program = object.progs_mut().find(|program| program.name() == *name);
            program
                .expect("the embedded object defines it")
                .attach()
                .map_err(|error| Error::from_libbpf(&format!("to attach the hook `{name}`"), &error))
        })
        .collect()
}
