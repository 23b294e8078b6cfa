//! What /proc says of one task or process, read here naively and apart from the code under test.

use std::collections::HashMap;
use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;

use cpuledger::{Field, Task, Value};

/// Which directory of /proc speaks of the row.
#[derive(Debug, Clone, Copy)]
pub enum Subject {
    /// A process: /proc/PID.
    Process(i32),
    /// A task: /proc/PID/task/TID.
    Task(i32, i32),
}

/// How a value of ours relates to that of /proc.
#[derive(Clone, PartialEq)]
pub enum Expected {
    /// The same number.
    Number(i128),
    /// The same once ours is divided by this and rounded down: /proc is coarser.
    Coarse(i128, i128),
    /// The same text.
    Text(Vec<u8>),
    /// /proc does not say; the reason is part of the test.
    Unsaid(&'static str),
}

impl fmt::Debug for Expected {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expected::Number(number) => number.fmt(formatter),
            Expected::Coarse(unit, number) => write!(formatter, "{number} × {unit}"),
            Expected::Text(text) => write!(formatter, "\"{}\"", text.escape_ascii()),
            Expected::Unsaid(reason) => reason.fmt(formatter),
        }
    }
}

/// Every file of a subject, read one after another.
pub struct Oracle {
    subject: Subject,
    stat: Vec<Vec<u8>>,
    status: HashMap<String, Vec<String>>,
    statm: Vec<u64>,
    io: HashMap<String, u64>,
    /// Runtime and run-queue wait of the tasks that the subject has.
    schedstat: (u64, u64),
    /// Whether every task of the process is alive, so that the sum above is all its time.
    has_dead_threads: bool,
    switches: (u64, u64),
    comm: Vec<u8>,
    cgroups: (Option<u64>, Option<u64>),
}

impl Oracle {
    /// Reads the subject; `None` once it is gone.
    pub fn read(subject: Subject) -> Option<Oracle> {
        let directory = match subject {
            Subject::Process(pid) => format!("/proc/{pid}"),
            Subject::Task(pid, tid) => format!("/proc/{pid}/task/{tid}"),
        };
        let stat = fs::read(format!("{directory}/stat")).ok()?;
        let close = stat.iter().rposition(|&byte| byte == b')')?;
        let open = stat.iter().position(|&byte| byte == b'(')?;
        let mut fields = vec![stat[..open].trim_ascii().to_vec(), stat[open + 1..close].to_vec()];
        fields.extend(stat[close + 1..].trim_ascii().split(|&byte| byte == b' ').map(<[u8]>::to_vec));
        let threads: Vec<String> = match subject {
            Subject::Task(..) => vec![directory.clone()],
            Subject::Process(pid) => fs::read_dir(format!("/proc/{pid}/task"))
                .ok()?
                .map(|entry| entry.expect("a task").path().to_string_lossy().into_owned())
                .collect(),
        };
        let mut schedstat = (0, 0);
        let mut switches = (0, 0);
        for thread in &threads {
            let numbers = numbers(&fs::read_to_string(format!("{thread}/schedstat")).ok()?);
            schedstat = (schedstat.0 + numbers[0], schedstat.1 + numbers[1]);
            let status = status(&fs::read(format!("{thread}/status")).ok()?);
            let count = |key: &str| status[key][0].parse::<u64>().expect("a count");
            switches.0 += count("voluntary_ctxt_switches");
            switches.1 += count("nonvoluntary_ctxt_switches");
        }
        let io = fs::read_to_string(format!("{directory}/io")).ok()?;
        Some(Oracle {
            subject,
            stat: fields,
            status: status(&fs::read(format!("{directory}/status")).ok()?),
            statm: numbers(&fs::read_to_string(format!("{directory}/statm")).ok()?),
            io: io
                .lines()
                .filter_map(|line| {
                    let (key, value) = line.split_once(": ")?;
                    Some((key.to_owned(), value.parse().ok()?))
                })
                .collect(),
            schedstat,
            has_dead_threads: threads.iter().any(|thread| {
                fs::read(format!("{thread}/stat")).is_ok_and(|stat| {
                    let close = stat.iter().rposition(|&byte| byte == b')').unwrap_or(0);
                    stat.get(close + 2) == Some(&b'Z')
                })
            }),
            switches,
            comm: fs::read(format!("{directory}/comm")).ok()?,
            cgroups: cgroups(&fs::read_to_string(format!("{directory}/cgroup")).ok()?),
        })
    }

    /// How often its tasks have left a CPU, by themselves and otherwise.
    pub fn switches(&self) -> (u64, u64) {
        self.switches
    }

    /// A field of /proc/PID/stat by its number in proc(5), from 1.
    fn stat(&self, number: usize) -> i128 {
        let text = String::from_utf8_lossy(&self.stat[number - 1]);
        text.parse().unwrap_or_else(|_| panic!("field {number} of {:?}: {text}", self.subject))
    }

    fn status_number(&self, key: &str, index: usize) -> Option<i128> {
        self.status.get(key)?.get(index)?.parse().ok()
    }

    /// A size of /proc/PID/status; a task without memory has no such line.
    fn status_bytes(&self, key: &str) -> Expected {
        Expected::Number(self.status_number(key, 0).unwrap_or(0) * 1024)
    }

    /// What /proc says about the field.
    #[expect(
        clippy::too_many_lines,
        reason = "an arm for each field, so that one that is forgotten does not compile"
    )]
    pub fn expected(&self, field: Field) -> Expected {
        use Expected::{Coarse, Number, Text, Unsaid};
        let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second() as i128;
        let page = rustix::param::page_size() as i128;
        let is_process = matches!(self.subject, Subject::Process(_));
        let status = |key: &str, index| Number(self.status_number(key, index).expect(key));
        let io = |key: &str| Number(i128::from(self.io[key]));
        match field {
            Field::Tid => Number(self.stat(1)),
            Field::Pid => status("Tgid", 0),
            Field::Ppid => Number(self.stat(4)),
            Field::Pgid => Number(self.stat(5)),
            Field::Sid => Number(self.stat(6)),
            Field::TtyDevice => Number(self.stat(7)),
            Field::TtyPgid => Number(self.stat(8)),
            Field::StartTime => Coarse(tick_ns, self.stat(22)),
            Field::Uid => status("Uid", 0),
            Field::Euid => status("Uid", 1),
            Field::Suid => status("Uid", 2),
            Field::Fsuid => status("Uid", 3),
            Field::Gid => status("Gid", 0),
            Field::Egid => status("Gid", 1),
            Field::Sgid => status("Gid", 2),
            Field::Fsgid => status("Gid", 3),
            Field::Comm => Text(self.comm[..self.comm.len() - 1].to_vec()),
            Field::State => Text(self.stat[2].clone()),
            Field::Flags => Number(self.stat(9)),
            Field::ExitSignal => Number(self.stat(38)),
            Field::Nice => Number(self.stat(19)),
            Field::Priority => Number(self.stat(18)),
            Field::RtPriority => Number(self.stat(40)),
            Field::Policy => Number(self.stat(41)),
            Field::Processor => Number(self.stat(39)),
            Field::Threads => Number(self.stat(20)),
            Field::NamespaceTid => {
                let numbers = &self.status["NSpid"];
                status("NSpid", numbers.len() - 1)
            }
            Field::Runtime if is_process && self.has_dead_threads => {
                Unsaid("dead threads are in no schedstat")
            }
            Field::Runtime => Number(i128::from(self.schedstat.0)),
            Field::User => Coarse(tick_ns, self.stat(14)),
            Field::System => Coarse(tick_ns, self.stat(15)),
            Field::ChildrenUser => Coarse(tick_ns, self.stat(16)),
            Field::ChildrenSystem => Coarse(tick_ns, self.stat(17)),
            Field::RunqueueWait => Number(i128::from(self.schedstat.1)),
            Field::BlockIoDelay | Field::SwapInDelay => Unsaid("only taskstats tell it in nanoseconds"),
            Field::NetworkSent
            | Field::NetworkSends
            | Field::NetworkReceived
            | Field::NetworkReceives
            | Field::TcpSent
            | Field::TcpSends
            | Field::TcpReceived
            | Field::TcpReceives
            | Field::UdpSent
            | Field::UdpSends
            | Field::UdpReceived
            | Field::UdpReceives
            | Field::UnixSent
            | Field::UnixSends
            | Field::UnixReceived
            | Field::UnixReceives
            | Field::DiskReads
            | Field::DiskReadBytes
            | Field::DiskReadNs
            | Field::DiskWrites
            | Field::DiskWrittenBytes
            | Field::DiskWriteNs
            | Field::DiskBlocked
            | Field::SwapBlocked
            | Field::WaitSuffered
            | Field::WaitCaused => Unsaid("only a ledger counts it, while it is asked to"),
            Field::Vsize => Number(self.stat(23)),
            Field::Rss => Number(i128::from(self.statm[1]) * page),
            Field::Shared => Number(i128::from(self.statm[2]) * page),
            Field::Swap => self.status_bytes("VmSwap"),
            Field::Locked => self.status_bytes("VmLck"),
            Field::MinorFaults => Number(self.stat(10)),
            Field::MajorFaults => Number(self.stat(12)),
            Field::ChildrenMinorFaults => Number(self.stat(11)),
            Field::ChildrenMajorFaults => Number(self.stat(13)),
            Field::VoluntarySwitches => Number(i128::from(self.switches.0)),
            Field::InvoluntarySwitches => Number(i128::from(self.switches.1)),
            Field::ReadBytes => io("read_bytes"),
            Field::WriteBytes => io("write_bytes"),
            Field::CancelledWriteBytes => io("cancelled_write_bytes"),
            Field::CgroupId => match self.cgroups.0 {
                Some(id) => Number(i128::from(id)),
                None => Unsaid("no unified hierarchy is mounted"),
            },
            Field::CgroupV1CpuId => match self.cgroups.1 {
                Some(id) => Number(i128::from(id)),
                None => Unsaid("no hierarchy of the cpu controller is mounted"),
            },
            other => panic!("say what the kernel's files have of {other:?}"),
        }
    }
}

/// Our value in the terms of the oracle.
pub fn observed(field: Field, row: &Task, expected: &Expected) -> Option<Expected> {
    let number = match field.value(row) {
        Value::Absent => return None,
        Value::Unsigned(number) => i128::from(number),
        Value::Signed(number) => i128::from(number),
        Value::Letter(letter) => return Some(Expected::Text(vec![letter])),
        Value::Bytes(bytes) => return Some(Expected::Text(bytes.to_vec())),
    };
    Some(match expected {
        Expected::Coarse(unit, _) => Expected::Coarse(*unit, number.div_euclid(*unit)),
        _ => Expected::Number(number),
    })
}

fn numbers(text: &str) -> Vec<u64> {
    text.split_ascii_whitespace().map(|word| word.parse().expect("a number")).collect()
}

fn status(bytes: &[u8]) -> HashMap<String, Vec<String>> {
    String::from_utf8_lossy(bytes)
        .lines()
        .filter_map(|line| {
            let (key, value) = line.split_once(':')?;
            Some((key.to_owned(), value.split_ascii_whitespace().map(str::to_owned).collect()))
        })
        .collect()
}

/// Inode numbers of the unified cgroup and of that of the cpu controller, by the mounts of this machine.
fn cgroups(text: &str) -> (Option<u64>, Option<u64>) {
    let mounts = fs::read_to_string("/proc/self/mounts").expect("mounts");
    let inode = |path: &str, wanted: &dyn Fn(&str, &str) -> bool| {
        mounts.lines().find_map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            wanted(words[2], words[3]).then(|| fs::metadata(format!("{}{path}", words[1])).ok())?
        })
    };
    let mut found = (None, None);
    for line in text.lines() {
        let parts: Vec<&str> = line.splitn(3, ':').collect();
        if parts[0] == "0" {
            found.0 = inode(parts[2], &|kind, _| kind == "cgroup2").map(|metadata| metadata.ino());
        } else if parts[1].split(',').any(|controller| controller == "cpu") {
            found.1 = inode(parts[2], &|kind, options| {
                kind == "cgroup" && options.split(',').any(|option| option == "cpu")
            })
            .map(|metadata| metadata.ino());
        }
    }
    (found.0, found.1.or(found.0))
}
