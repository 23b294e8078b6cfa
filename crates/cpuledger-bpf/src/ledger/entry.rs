//! Bringing CPUs into the books at once, without a switch and without a thread of ours there. A timer of perf(1) on each online CPU
//! runs the program `on_entry` in the context of the task that has it, even of a real-time task that never yields.

use std::collections::BTreeMap;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd};

use libbpf_rs::{Link, Object, libbpf_sys};

const ENTRY_PROGRAM: &str = "on_entry";

/// How long after its start the timer fires, and how often until the CPU is in the books.
const PERIOD_NS: u64 = 100_000;

/// The timers of the CPUs that are not in the books yet. Where the kernel gives none (no CONFIG_PERF_EVENTS, a seccomp filter), a CPU
/// comes into the books at its first switch.
#[derive(Default)]
pub(super) struct Entry {
    timers: BTreeMap<u32, Link>,
}

impl Entry {
    /// Starts a timer on each of these CPUs.
    pub(super) fn open(object: &mut Object, cpus: impl Iterator<Item = u32>) -> Entry {
        let Some(program) = object.progs_mut().find(|program| program.name() == ENTRY_PROGRAM) else {
            return Entry::default();
        };
        let timer = |cpu| {
            let timer = open_timer(cpu)?;
            let link = program.attach_perf_event(timer.as_raw_fd()).ok()?;
            // The link closes it.
            let _ = timer.into_raw_fd();
            Some((cpu, link))
        };
        Entry { timers: cpus.filter_map(timer).collect() }
    }

    /// Stops the timer of a CPU, if it has one.
    pub(super) fn close(&mut self, cpu: u32) {
        if !self.timers.is_empty() {
            self.timers.remove(&cpu);
        }
    }

    /// The CPUs that have a timer.
    pub(super) fn cpus(&self) -> impl Iterator<Item = u32> {
        self.timers.keys().copied()
    }
}

/// A timer on a CPU, in whatever task has it; `None` where the kernel gives none.
fn open_timer(cpu: u32) -> Option<OwnedFd> {
    let mut attributes = libbpf_sys::perf_event_attr {
        type_: libbpf_sys::PERF_TYPE_SOFTWARE,
        size: size_of::<libbpf_sys::perf_event_attr>() as u32,
        config: libbpf_sys::PERF_COUNT_SW_CPU_CLOCK.into(),
        ..Default::default()
    };
    attributes.__bindgen_anon_1.sample_period = PERIOD_NS;
    attributes.set_disabled(1); // until the program is attached
    let every_task: libc::pid_t = -1;
    let no_group: libc::c_int = -1;
    // SAFETY: the attributes are of the size that they say, and outlive the call, which keeps nothing of them.
    let descriptor = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            &raw const attributes,
            every_task,
            cpu as libc::c_int,
            no_group,
            libbpf_sys::PERF_FLAG_FD_CLOEXEC,
        )
    };
    let descriptor = i32::try_from(descriptor).ok().filter(|descriptor| *descriptor >= 0)?;
    // SAFETY: the kernel has just given us this descriptor, and nothing else owns it.
    Some(unsafe { OwnedFd::from_raw_fd(descriptor) })
}
