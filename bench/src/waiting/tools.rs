//! The tools, and how each is asked for one interval.

use super::told::{self, Read};

/// A tool.
pub struct Tool {
    /// As the table shows it.
    pub name: &'static str,
    /// Its commands, which run one after the other. Words apart by blanks; `SECONDS`, `DATA` (a file) and `SCRIPT` are replaced.
    pub lines: &'static [&'static str],
    /// What it prints when its interval begins, if that is not soon after its start.
    pub mark: Option<&'static str>,
    /// What its figures are read by.
    pub read: Read,
    /// Whether it shows what the kernel counts only with delay accounting, and so is asked without that, too.
    pub needs_delay_accounting: bool,
}

/// For bpftrace.
const SCRIPT: &str = include_str!("offcpu.bt");

const fn tool(name: &'static str, lines: &'static [&'static str], read: Read) -> Tool {
    Tool { name, lines, mark: None, read, needs_delay_accounting: false }
}

/// All of them.
pub const TOOLS: [Tool; 11] = [
    tool(
        "cpuledger top -H --source ledger",
        &["cpuledger top -b -H -n 1 -d SECONDS --format json --source ledger"],
        told::cpuledger,
    ),
    Tool {
        needs_delay_accounting: true,
        ..tool(
            "cpuledger top -H --source netlink",
            &["cpuledger top -b -H -n 1 -d SECONDS --format json --source netlink"],
            told::cpuledger,
        )
    },
    tool("top -H -b", &["top -H -b -n 2 -d SECONDS -w 512"], told::top),
    Tool { needs_delay_accounting: true, ..tool("atop -P PRC", &["atop -P PRC SECONDS 2"], told::atop) },
    Tool {
        needs_delay_accounting: true,
        ..tool("pidstat -t -u -d -w", &["pidstat -t -u -d -w SECONDS 1"], told::pidstat)
    },
    tool(
        "perf sched timehist -s --state",
        &["perf sched record -q -o DATA sleep SECONDS", "perf sched timehist -i DATA -s --state"],
        told::timehist,
    ),
    Tool {
        mark: Some("begin"),
        ..tool("bpftrace, 21 lines of our own", &["bpftrace -e SCRIPT"], told::bpftrace)
    },
    // Only the sums are wanted: with whole stacks it prints for seconds, and goes on counting meanwhile.
    tool("offcputime (libbpf-tools)", &["offcputime --perf-max-stack-depth 1 SECONDS"], told::offcputime_all),
    tool(
        "offcputime --state 0",
        &["offcputime --perf-max-stack-depth 1 --state 0 SECONDS"],
        told::offcputime_runnable,
    ),
    tool(
        "offcputime --state 2",
        &["offcputime --perf-max-stack-depth 1 --state 2 SECONDS"],
        told::offcputime_blocked,
    ),
    tool("offcputime-bpfcc", &["offcputime-bpfcc -f SECONDS"], told::offcputime_all),
];

impl Tool {
    /// The words of each command.
    pub fn commands(&self, seconds: u32) -> Vec<Vec<String>> {
        let beside = std::env::current_exe().map(|path| path.with_file_name("cpuledger")).unwrap_or_default();
        let data = beside.with_file_name("cpuledger-bench-perf.data");
        let word = |word: &str| match word {
            "cpuledger" => beside.to_string_lossy().into_owned(),
            "DATA" => data.to_string_lossy().into_owned(),
            "SCRIPT" => SCRIPT.replace("SECONDS", &seconds.to_string()),
            word => word.replace("SECONDS", &seconds.to_string()),
        };
        self.lines.iter().map(|line| line.split(' ').map(word).collect()).collect()
    }
}
