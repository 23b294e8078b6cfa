//! When a CPU came and went, by the kernel's own trace of the steps on its way.

use std::fs;
use std::path::PathBuf;

use rustix::time::{ClockId, clock_gettime};

/// CLOCK_MONOTONIC, as the trace has it.
pub fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

/// A change of the set of online CPUs.
#[derive(Debug, Clone, Copy)]
pub struct Change {
    pub is_online: bool,
    /// It was between this time
    pub after_ns: u64,
    /// and this one.
    pub before_ns: u64,
    /// When the kernel reported it, to the microsecond: the end of the step that takes the CPU down, or the first switch of one that
    /// came. Some kernels hide switches of idle tasks from their trace.
    pub event_ns: Option<u64>,
}

/// Events of CPUs on their way, in a buffer of its own, which goes with this.
pub struct Trace {
    folder: PathBuf,
    cpu: u32,
}

impl Trace {
    /// Records what becomes of this CPU; `None`: there is no tracefs.
    pub fn start(cpu: u32) -> Option<Trace> {
        let base = PathBuf::from("/sys/kernel/tracing");
        if !base.join("instances").is_dir() {
            let _ =
                std::process::Command::new("mount").args(["-t", "tracefs", "tracefs"]).arg(&base).status();
        }
        let folder = base.join(format!("instances/cpuledger-{}", std::process::id()));
        fs::create_dir(&folder).ok()?;
        let trace = Trace { folder, cpu };
        trace.set("trace_clock", "mono")?;
        trace.set("buffer_size_kb", "1024")?;
        trace.set("events/cpuhp/cpuhp_enter/enable", "1")?;
        trace.set("events/cpuhp/cpuhp_exit/enable", "1")?;
        // The first switch of a CPU that comes is one from its idle task.
        trace.set("events/sched/sched_switch/filter", &format!("prev_pid == 0 && CPU == {cpu}"))?;
        trace.set("events/sched/sched_switch/enable", "1")?;
        Some(trace)
    }

    fn set(&self, file: &str, value: &str) -> Option<()> {
        fs::write(self.folder.join(file), value).ok()
    }

    /// What has happened so far.
    pub fn changes(&self) -> Vec<Change> {
        let text = fs::read_to_string(self.folder.join("trace")).expect("a trace can be read");
        changes_in(&text, self.cpu)
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        let _ = self.set("events/enable", "0");
        let _ = fs::remove_dir(&self.folder);
    }
}

/// What the kernel has recorded of the CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    /// A step on its way begins.
    Begin,
    /// The step that takes it down begins.
    BeginOfTakedown,
    /// A step ends.
    End,
    /// It has switched from its idle task to another.
    Switch,
}

/// An event about the CPU: when, and whether that CPU itself has recorded it, which it does only while it is online.
#[derive(Debug, Clone, Copy)]
struct Event {
    what: What,
    time_ns: u64,
    is_own: bool,
}

/// A line is `  task-pid [cpu] flags seconds.microseconds: cpuhp_exit:  cpu: 0001  state: …`, or one of `sched_switch`.
fn event(line: &str, cpu: u32) -> Option<Event> {
    let (head, text) = line.split_once(": cpuhp_").or_else(|| line.split_once(": sched_switch: "))?;
    let by: u32 = head.rsplit_once('[')?.1.split_once(']')?.0.parse().ok()?;
    let what = match text.split(':').next()? {
        "enter" if text.contains("(takedown_cpu)") => What::BeginOfTakedown,
        "enter" => What::Begin,
        "exit" => What::End,
        _ => What::Switch,
    };
    let about: u32 = match what {
        What::Switch => by,
        _ => text.split_once("cpu: ")?.1.split_whitespace().next()?.parse().ok()?,
    };
    let (seconds, microseconds) = head.split_whitespace().last()?.split_once('.')?;
    let time_ns = seconds.parse::<u64>().ok()? * 1_000_000_000 + microseconds.parse::<u64>().ok()? * 1000;
    (about == cpu).then_some(Event { what, time_ns, is_own: by == cpu })
}

/// The CPU comes between the last event that another CPU records of it and its own first one. It goes between its own last event and the
/// begin of the step after the one that takes it down.
fn changes_in(text: &str, cpu: u32) -> Vec<Change> {
    let all = text.lines().filter_map(|line| event(line, cpu));
    let (switches, steps): (Vec<Event>, Vec<Event>) = all.partition(|event| event.what == What::Switch);
    let mut changes = Vec::new();
    for place in 1..steps.len() {
        let (last, this) = (&steps[place - 1], &steps[place]);
        if last.is_own == this.is_own {
            continue;
        }
        let time_of = |event: &Event| event.time_ns;
        let (event_ns, next_ns) = if this.is_own {
            let first_switch = switches.iter().map(time_of).find(|&ns| ns >= last.time_ns);
            (first_switch.filter(|&ns| ns <= this.time_ns), Some(this.time_ns))
        } else {
            let mut rest =
                steps[place..].iter().skip_while(|event| event.what != What::BeginOfTakedown).skip(1);
            (rest.next().map(time_of), rest.next().map(time_of))
        };
        // The trace has microseconds, rounded.
        let (after_ns, before_ns) = (last.time_ns - 1000, next_ns.map_or(u64::MAX, |ns| ns + 1000));
        changes.push(Change { is_online: this.is_own, after_ns, before_ns, event_ns });
    }
    changes
}

/// Least and most time that the CPU can have been offline between `start_ns` and `end_ns`; it is online at the begin of the trace.
pub fn offline_ns(changes: &[Change], start_ns: u64, end_ns: u64, now_ns: u64) -> (u64, u64) {
    let overlap = |from: u64, to: u64| to.min(end_ns).saturating_sub(from.max(start_ns));
    let (mut least, mut most) = (0, 0);
    for (place, down) in changes.iter().enumerate().filter(|(_, change)| !change.is_online) {
        let up = changes.get(place + 1);
        let (up_after, up_before) = up.map_or((now_ns, now_ns), |up| (up.after_ns, up.before_ns));
        least += overlap(down.before_ns, up_after);
        most += overlap(down.after_ns, up_before);
    }
    (least, most)
}

/// The time that the CPU was offline between `start_ns` and `end_ns`, from event to event. `None`: it neither came nor went for sure, or
/// the trace does not have the event.
pub fn offline_between_events_ns(changes: &[Change], start_ns: u64, end_ns: u64) -> Option<u64> {
    let mut within = changes.iter().filter(|change| change.before_ns > start_ns && change.after_ns < end_ns);
    let first = within.next()?;
    let mut events = vec![];
    for change in std::iter::once(first).chain(within) {
        let event_ns = change.event_ns.filter(|ns| (start_ns..end_ns).contains(ns))?;
        events.push((event_ns, change.is_online));
    }
    events.push((end_ns, !events[events.len() - 1].1));
    let mut offline_ns = 0;
    let mut since_ns = start_ns;
    for (event_ns, is_online) in events {
        // Until then it was what it is not any more.
        offline_ns += if is_online { event_ns - since_ns } else { 0 };
        since_ns = event_ns;
    }
    Some(offline_ns)
}

#[test]
fn changes_are_found_between_events() {
    let line = |by: u32, time: &str, event: &str| format!("  sh-12  [{by:03}] ..... {time}: {event}\n");
    let text = [
        line(1, "10.000001", "cpuhp_enter: cpu: 0001 target:   0 step: 200 (a)"),
        line(1, "10.000002", "cpuhp_exit:  cpu: 0001  state: 200 step: 200 ret: 0"),
        line(0, "10.000009", "cpuhp_exit:  cpu: 0001  state: 144 step: 236 ret: 0"),
        line(0, "10.000010", "cpuhp_enter: cpu: 0001 target:   0 step: 144 (takedown_cpu)"),
        line(0, "10.000020", "cpuhp_exit:  cpu: 0001  state: 144 step: 144 ret: 0"),
        line(0, "10.000021", "cpuhp_enter: cpu: 0001 target:   0 step: 80 (b)"),
        line(0, "10.000040", "cpuhp_enter: cpu: 0002 target:   0 step: 80 (b)"),
        line(0, "11.000000", "cpuhp_enter: cpu: 0001 target: 237 step: 83 (bringup_cpu)"),
        line(
            0,
            "11.000050",
            "sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=a next_pid=7",
        ),
        line(
            1,
            "11.000100",
            "sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=c next_pid=20",
        ),
        line(1, "11.000110", "cpuhp_enter: cpu: 0001 target: 237 step: 146 (c)"),
    ];
    let changes = changes_in(&text.concat(), 1);
    let told: Vec<_> =
        changes.iter().map(|change| (change.is_online, change.after_ns, change.before_ns)).collect();
    assert_eq!(told, [(false, 10_000_001_000, 10_000_022_000), (true, 10_999_999_000, 11_000_111_000)]);
    let events: Vec<_> = changes.iter().map(|change| change.event_ns).collect();
    assert_eq!(events, [Some(10_000_020_000), Some(11_000_100_000)]);
    let second = 1_000_000_000;
    assert_eq!(offline_ns(&changes, 10 * second, 12 * second, 13 * second), (999_977_000, 1_000_110_000));
    assert_eq!(offline_ns(&changes, 12 * second, 13 * second, 13 * second), (0, 0));
    let offline_between = |start_ns, end_ns| offline_between_events_ns(&changes, start_ns, end_ns);
    assert_eq!(offline_between(10 * second, 12 * second), Some(1_000_080_000));
    assert_eq!(offline_between(10 * second, 10 * second + 500_000_000), Some(499_980_000));
    assert_eq!(offline_between(12 * second, 13 * second), None);
}
