//! The head: the lines of procps and, where it leaves one blank, the balance.

use cpuledger::host_statistics::{CpuStates, Memory};
use cpuledger::interval::{Interval, TaskCounts};
use cpuledger::machine::Load;
use cpuledger_view::interval::balance::{Shares, append_capacity, append_percent};
use cpuledger_view::interval::column::text_of;

/// What the head shows, read before.
#[derive(Debug, Default)]
pub struct Head<'a> {
    /// The local time of day, `12:00:01`.
    pub time_of_day: String,
    /// Time since the boot.
    pub uptime_seconds: u64,
    /// Users who are logged in.
    pub users: usize,
    /// Load averages.
    pub load: Option<Load>,
    /// Threads are shown.
    pub has_threads: bool,
    /// What there is.
    pub counts: TaskCounts,
    /// What each of these CPUs did, or all of them together: `None`.
    pub cpus: Vec<(Option<u32>, CpuStates)>,
    /// Memory and swap.
    pub memory: Option<Memory>,
    /// Their unit, as a power of 1024 from KiB on.
    pub scale: usize,
    /// The line of the balance is left blank, as in procps.
    pub has_blank_line: bool,
    /// The books; `None`: it is the first iteration.
    pub interval: Option<&'a Interval>,
}

impl Head<'_> {
    /// Appends the lines, none longer than `width`.
    pub fn append(&self, text: &mut Vec<u8>, width: usize) {
        let mut say = |line: String| {
            let end = line.char_indices().nth(width).map_or(line.len(), |(end, _)| end);
            text.extend_from_slice(&line.as_bytes()[..end]);
            text.push(b'\n');
        };
        say(self.first());
        say(self.tasks());
        for (cpu, states) in &self.cpus {
            say(cpu_line(*cpu, states));
        }
        for line in self.memory.iter().flat_map(|memory| memory_lines(memory, self.scale)) {
            say(line);
        }
        say(match self.interval {
            _ if self.has_blank_line => String::new(),
            Some(interval) => balance(interval),
            None => FIRST.to_owned(),
        });
    }

    fn first(&self) -> String {
        let load = self.load.as_ref().map_or_else(|| "-, -, -".to_owned(), |load| load.averages.join(", "));
        let users = if self.users == 1 { "user" } else { "users" };
        format!(
            "top - {} up {}, {:>2} {users},  load average: {load}",
            self.time_of_day,
            uptime(self.uptime_seconds),
            self.users
        )
    }

    fn tasks(&self) -> String {
        let TaskCounts { total, running, stopped, dead, .. } = self.counts;
        let sleeping = total - running - stopped - dead;
        let what = if self.has_threads { "Threads" } else { "Tasks" };
        format!(
            "{what}: {total:>3} total, {running:>3} running, {sleeping:>3} sleeping, {stopped:>3} stopped, {dead:>3} zombie"
        )
    }
}

/// What stands for the balance before there is an interval. No word of it is one that scripts look for in the head.
const FIRST: &str = "Balance: from the second iteration on; figures of this one are since each began";

/// What was attributed, what was not, and of how much.
fn balance(interval: &Interval) -> String {
    let length_ns = interval.length_ns();
    let percent = |share: u64| text_of(|text| append_percent(text, share));
    let shares = Shares::of(interval);
    let attributed = percent(shares.attributed);
    let whole = text_of(|text| append_capacity(text, interval));
    let seconds = format!("{}.{:03} s", length_ns / 1_000_000_000, length_ns / 1_000_000 % 1000);
    let source = interval.source.name();
    match (shares.rest, interval.unattributed_ns) {
        (Some([idle, unattributed]), Some(unattributed_ns)) => format!(
            "Balance: attributed {attributed} + idle {} + unattributed {} = {whole} of {seconds}, {source}; {unattributed_ns} ns unattributed",
            percent(idle),
            percent(unattributed)
        ),
        _ => {
            format!("Balance: attributed {attributed} of {whole} in {seconds}, {source}; idle time not seen")
        }
    }
}

/// `3 days,  4:05` or `5 min`, as uptime(1).
fn uptime(seconds: u64) -> String {
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
    let clock = if hours > 0 { format!("{hours:>2}:{minutes:02}") } else { format!("{minutes} min") };
    match days {
        0 => clock,
        1 => format!("1 day, {clock}"),
        _ => format!("{days} days, {clock}"),
    }
}

fn cpu_line(cpu: Option<u32>, states: &CpuStates) -> String {
    let CpuStates { user, nice, system, idle, waiting, irq, softirq, steal } = *states;
    let whole: u64 = [user, nice, system, idle, waiting, irq, softirq, steal].iter().sum();
    let name = cpu.map_or_else(|| "(s)".to_owned(), |cpu| cpu.to_string());
    let mut line = format!("%Cpu{name:<3}:");
    let parts = [
        (user, "us,"),
        (system, "sy,"),
        (nice, "ni,"),
        (idle, "id,"),
        (waiting, "wa,"),
        (irq, "hi,"),
        (softirq, "si,"),
        (steal, "st "),
    ];
    for (part, name) in parts {
        let tenths = (part * 2000 + whole).checked_div(2 * whole).unwrap_or(0);
        line.push_str(&format!("{:>3}.{} {name}", tenths / 10, tenths % 10));
    }
    line
}

fn memory_lines(memory: &Memory, scale: usize) -> [String; 2] {
    let cell = |bytes: u64| {
        let tenths = (u128::from(bytes) * 10 + (1u128 << (10 * scale + 9))) >> (10 * (scale + 1));
        // KiB are whole.
        let text = if scale == 0 {
            format!("{} ", bytes >> 10)
        } else {
            format!("{}.{} ", tenths / 10, tenths % 10)
        };
        // What does not fit ends in a plus, as there.
        if text.len() > 9 { format!("{}+", &text[..8]) } else { format!("{text:>9}") }
    };
    let unit = char::from(b"KMGTPE"[scale.min(5)]);
    let Memory { total, free, available, cache, swap_total, swap_free } = *memory;
    [
        format!(
            "{unit}iB Mem : {}total, {}free, {}used, {}buff/cache     ",
            cell(total),
            cell(free),
            cell(total.saturating_sub(available)),
            cell(cache)
        ),
        format!(
            "{unit}iB Swap: {}total, {}free, {}used. {}avail Mem ",
            cell(swap_total),
            cell(swap_free),
            cell(swap_total.saturating_sub(swap_free)),
            cell(available)
        ),
    ]
}

#[cfg(test)]
mod tests {
    use cpuledger::SourceKind;
    use cpuledger_model::make;

    use super::*;

    #[test]
    fn one_user_is_one_and_the_balance_can_be_left_out() {
        let mut text = Vec::new();
        Head { users: 1, has_blank_line: true, ..Head::default() }.append(&mut text, 80);
        assert_eq!(
            String::from_utf8_lossy(&text),
            "top -  up 0 min,  1 user,  load average: -, -, -\n\
             Tasks:   0 total,   0 running,   0 sleeping,   0 stopped,   0 zombie\n\n"
        );
    }

    #[test]
    fn a_cpu_may_have_done_one_thing_or_nothing() {
        let line = |idle| cpu_line(Some(12), &CpuStates { idle, ..CpuStates::default() });
        let expected = "%Cpu12 :  0.0 us,  0.0 sy,  0.0 ni,100.0 id,  0.0 wa,  0.0 hi,  0.0 si,  0.0 st ";
        assert_eq!((line(7), line(0)), (expected.to_owned(), expected.replace("100", "  0")));
    }

    #[test]
    fn the_balance_of_procfs_has_no_idle_time() {
        let interval = make!(Interval {
            source: SourceKind::Procfs,
            start_ns: 1_000_000_000,
            end_ns: 4_000_000_000,
            online_cpus: 2,
            capacity_ns: 6_000_000_000,
            attributed_ns: 370_350_000,
        });
        assert_eq!(
            balance(&interval),
            "Balance: attributed 12.345% of 200% in 3.000 s, procfs; idle time not seen"
        );
    }

    /// Scripts find lines and figures by these; only the line that has always had them may match.
    #[test]
    fn the_balance_matches_no_pattern_of_scripts() {
        let interval = make!(Interval { idle_ns: Some(1), unattributed_ns: Some(0), online_cpus: 1 });
        let walked = make!(Interval { idle_ns: None });
        for line in [FIRST.to_owned(), balance(&interval), balance(&walked)] {
            for pattern in [
                "Cpu", "CPU", "cpu", "Mem", "Swap", "Tasks", "Threads", "load", "users", "zombie", "KiB",
                "MiB", "PID",
            ] {
                assert!(!line.contains(pattern), "{pattern}: {line}");
            }
            // `12.3 id`, as expressions find it.
            let words: Vec<&str> = line.split(' ').collect();
            let is_figure = |word: &str| word.trim_end_matches([',', '%']).parse::<f64>().is_ok();
            for pair in words.windows(2).filter(|pair| is_figure(pair[0])) {
                assert!(
                    !["us", "sy", "ni", "id", "wa", "hi", "si", "st"]
                        .iter()
                        .any(|name| pair[1].starts_with(name)),
                    "{line}"
                );
            }
        }
    }

    #[test]
    fn large_memory_ends_in_a_plus() {
        let memory = Memory { total: 2_063_931 << 20, ..Memory::default() };
        assert!(memory_lines(&memory, 1)[0].starts_with("MiB Mem : 2063931.+total,"), "{memory:?}");
    }

    #[test]
    fn uptimes_are_those_of_uptime() {
        let texts = [300, 3900, 90_000, 2 * 86_400 + 10 * 3600 + 60].map(uptime);
        assert_eq!(texts, ["5 min", " 1:05", "1 day,  1:00", "2 days, 10:01"]);
    }
}
