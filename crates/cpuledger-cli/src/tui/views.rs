//! The views of the screen: each has a number, which is its key, and a name in the head.

use cpuledger::field::Value;
use cpuledger::interval::Row;
use cpuledger::{Account, Accounts, Field};

/// What the screen shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// Processes, or tasks.
    Processes,
    /// Where all of their time went.
    States,
    /// Rows put together, by cgroup first.
    Groups,
    /// Who made whom wait.
    Blame,
    /// Reads and writes of each disk.
    Disks,
    /// Bytes and packets of each process.
    Network,
    /// Intervals of the past.
    History,
}

impl View {
    /// In the order of their numbers.
    pub const ALL: [View; 7] =
        [View::Processes, View::States, View::Groups, View::Blame, View::Disks, View::Network, View::History];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            View::Processes => "Processes",
            View::States => "States",
            View::Groups => "Cgroups",
            View::Blame => "Blame",
            View::Disks => "Disks",
            View::Network => "Network",
            View::History => "History",
        }
    }

    /// The same where there is less room.
    pub fn short_name(self) -> &'static str {
        match self {
            View::Processes => "Procs",
            View::Groups => "Cgrps",
            View::Network => "Net",
            View::History => "Past",
            View::States | View::Blame | View::Disks => self.name(),
        }
    }

    /// The account that it shows, and what that says; `None`: it needs none.
    pub fn account(self) -> Option<(Account, &'static str)> {
        match self {
            View::Blame => Some((Account::Blame, "who made whom wait for a CPU, to the nanosecond")),
            View::Disks => Some((Account::Disk, "what disks read and write for each process")),
            View::Network => Some((Account::Network, "what each process sends and receives")),
            View::Processes | View::States | View::Groups | View::History => None,
        }
    }

    /// Whether nothing happened to a row of what the view is about, as far as all of that is known.
    pub fn is_quiet(self, row: &Row) -> bool {
        let (fields, others): (&[Field], &[Field]) = match self {
            // Of the dead, only the bytes of disks are known.
            View::Disks => (
                &[Field::DiskReadBytes, Field::DiskWrittenBytes],
                &[Field::DiskReads, Field::DiskWrites, Field::ReadBytes, Field::WriteBytes],
            ),
            View::Network => {
                (&[Field::NetworkSent, Field::NetworkReceived, Field::UnixSent, Field::UnixReceived], &[])
            }
            _ => return false,
        };
        // As it is printed.
        let waited_for_io = row
            .usage
            .states
            .is_some_and(|states| states.io_wait_ns > 0 && states.io_wait_ns >= states.elapsed_ns / 1000);
        fields.iter().all(|field| row.value(*field) == Value::Unsigned(0))
            && others.iter().all(|field| matches!(row.value(*field), Value::Unsigned(0) | Value::Absent))
            && !(self == View::Disks && waited_for_io)
    }

    /// Accounts that say more of the same, where the source grants them.
    pub fn also(self) -> Accounts {
        if self == View::Blame { Accounts::of(&[Account::Pairs]) } else { Accounts::NONE }
    }

    /// What the columns of an account say, in parts of which the first are the most needed.
    pub fn legend(self) -> &'static [&'static str] {
        match self {
            View::Blame => &[
                "CAUSED: others waited while it ran",
                "SUFFERED: it waited for a CPU",
                "100: one waits all the time",
            ],
            View::Disks => {
                &["D.READ D.WRITE: bytes a second of disks for it", "READ/s WRITE/s: what it asked for"]
            }
            View::Network => {
                &["SENT RECV: bytes a second of all sockets but Unix", "U.SENT U.RECV: of Unix sockets"]
            }
            View::Processes | View::States | View::Groups | View::History => &[],
        }
    }

    /// The columns of an account, and the one that rows are sorted by.
    pub fn columns(self) -> (&'static [&'static str], &'static str) {
        match self {
            View::Blame => {
                (&["PID", "USER", "S", "%CPU", "CAUSED", "SUFFERED", "%WAIT", "TIME+", "COMMAND"], "CAUSED")
            }
            View::Disks => (
                &[
                    "PID", "USER", "S", "%CPU", "D.READ", "D.WRITE", "READ/s", "WRITE/s", "%BLK", "%DISK",
                    "TIME+", "COMMAND",
                ],
                "D.WRITE",
            ),
            _ => (
                &["PID", "USER", "S", "%CPU", "SENT", "RECV", "U.SENT", "U.RECV", "TIME+", "COMMAND"],
                "SENT",
            ),
        }
    }
}
