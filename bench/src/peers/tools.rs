//! The questions, and how each tool is asked.

use super::load::Load;
use super::read::{self, Told};

/// What is asked of tools, and the load that has the answer.
pub struct Question {
    /// Its table.
    pub table: &'static str,
    pub caption: &'static str,
    /// Of the load: its name, and the header of its column.
    pub names: &'static [(&'static str, &'static str)],
    pub load: fn() -> anyhow::Result<Load>,
    pub tools: &'static [Tool],
}

/// A tool.
pub struct Tool {
    /// As the table shows it; its words are the command. `SECONDS` is replaced.
    pub name: &'static str,
    /// A second command, of what the first has written to `DATA`.
    pub second: Option<&'static str>,
    pub read: fn(&str) -> anyhow::Result<Told>,
}

const fn tool(name: &'static str, read: fn(&str) -> anyhow::Result<Told>) -> Tool {
    Tool { name, second: None, read }
}

/// What a tool has to show: two seconds before the load, the load, and some more.
const SECONDS: &str = "10";

/// All of them.
pub const QUESTIONS: [Question; 3] = [
    Question {
        table: "peers-disk",
        caption: "Which process reads the disk: one reads 128 MiB in blocks of 4 KiB with O_DIRECT, 100 others read 1 MiB each and end after some ms.",
        names: &[("long_reader", "long reader"), ("short_reader", "100 short readers")],
        load: Load::disk,
        tools: &[
            tool("cpuledger top --with disk --source ledger -b -n SECONDS -d 1 --format json", read::disk),
            tool("iotop-c -b -k -d 1 -n SECONDS", read::iotop),
            tool("pidstat -d 1 SECONDS", read::pidstat),
            tool("biosnoop SECONDS", read::biosnoop),
            tool("biolatency SECONDS 1", read::nothing),
        ],
    },
    Question {
        table: "peers-network",
        caption: "Which process sends: one sends 80 MB by TCP on loopback, 50 others send 1 MB each and end after some ms.",
        names: &[("long_sender", "long sender"), ("short_sender", "50 short senders")],
        load: Load::network,
        tools: &[
            tool("cpuledger top --with network --source ledger -b -n SECONDS -d 1 --format json", read::sent),
            tool("nethogs -a -t -v 2 -d 1 -c SECONDS lo", read::nethogs),
            tool("netatop", read::nothing),
        ],
    },
    Question {
        table: "peers-wait",
        caption: "Who waits for a CPU, and because of whom: on one CPU for 3 s a victim, a busy loop and a nice one. Of the victim, what it waited; of the loops, what others waited while they ran, by the kernel's schedstat.",
        names: &[
            ("victim", "victim waited"),
            ("spinner", "loop caused"),
            ("nice_spinner", "nice loop caused"),
        ],
        load: Load::wait,
        tools: &[
            tool("cpuledger top --with blame --source ledger -b -n SECONDS -d 1 --format json", read::blame),
            tool("timeout --preserve-status -s INT SECONDS runqslower -P 1", read::runqslower),
            Tool {
                second: Some("perf sched timehist -i DATA -s --state"),
                ..tool("perf sched record -q -o DATA sleep SECONDS", read::timehist)
            },
        ],
    },
];

impl Tool {
    /// Its program.
    pub fn program(&self) -> &'static str {
        let mut words = self
            .name
            .split(' ')
            .skip_while(|word| ["timeout", "--preserve-status", "-s", "INT", "SECONDS"].contains(word));
        words.next().unwrap_or_default()
    }

    /// The words of its commands, which run one after the other.
    pub fn commands(&self) -> Vec<Vec<String>> {
        let beside = std::env::current_exe().map(|path| path.with_file_name("cpuledger")).unwrap_or_default();
        let data = beside.with_file_name("cpuledger-bench-peers.data");
        let word = |word: &str| match word {
            "cpuledger" => beside.to_string_lossy().into_owned(),
            "DATA" => data.to_string_lossy().into_owned(),
            "SECONDS" => SECONDS.to_owned(),
            word => word.to_owned(),
        };
        [Some(self.name), self.second]
            .into_iter()
            .flatten()
            .map(|line| line.split(' ').map(word).collect())
            .collect()
    }
}
