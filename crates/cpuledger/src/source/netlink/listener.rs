//! Reports of exits: each task that dies sends its last figures to every socket that is registered for the CPU it dies on.

use cpuledger_client::clock;
use cpuledger_model::boottime::Boottime;

use crate::machine;

use super::layout::{self, Taskstats};
use super::message::{self, Body, Message, Request};
use super::socket::{Failure, Received, Socket};

/// Sockets at most: where there are more CPUs, each has several of them.
const MOST_SOCKETS: usize = 32;

/// Memory of the kernel for reports that wait to be read, over all sockets: some 25,000 of them.
pub const WAITING_BYTES: usize = 32 << 20;

/// Receives in a row from one socket at most, so that a storm cannot keep us here.
const MOST_RECEIVES: usize = 1 << 12;

/// A task that died, as it said so.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Report {
    /// Its last figures.
    pub figures: Taskstats,
    /// Where it was the last of several threads, those of its process.
    pub process: Option<Taskstats>,
    /// CLOCK_MONOTONIC before which it had not been sent.
    pub after_ns: u64,
    /// CLOCK_MONOTONIC when it was read.
    pub read_ns: u64,
    /// The same instant by the clock of starts and ends.
    pub read: Boottime,
}

/// The sockets, one for each CPU or group of CPUs.
pub struct Listener {
    shards: Vec<Shard>,
    missed: u64,
    taken: u64,
}

/// One socket and the CPUs it has registered for.
struct Shard {
    socket: Socket,
    gap: Gap,
    /// When it was last known to be empty, CLOCK_MONOTONIC.
    empty_ns: u64,
}

impl Listener {
    /// Registers for all CPUs that this machine can ever have, with this number of bytes for waiting reports.
    pub fn register(waiting_bytes: usize) -> Result<Listener, Failure> {
        let cpus = machine::possible_cpus();
        let groups = groups(&cpus, MOST_SOCKETS);
        let bytes = waiting_bytes / groups.len().max(1);
        let shards = groups.iter().map(|cpus| Shard::register(cpus, bytes)).collect::<Result<_, _>>()?;
        Ok(Listener { shards, missed: 0, taken: 0 })
    }

    /// Hands out the reports that wait.
    pub fn read(&mut self, mut each: impl FnMut(Report)) -> Result<(), Failure> {
        for shard in &mut self.shards {
            self.missed += shard.read(&mut each)?;
        }
        Ok(())
    }

    /// Reports that were dropped since the last call, because a socket was full.
    pub fn take_missed(&mut self) -> u64 {
        let taken = std::mem::replace(&mut self.taken, self.missed);
        self.missed - taken
    }

    /// Reports that were dropped so far.
    pub fn missed(&self) -> u64 {
        self.missed
    }
}

impl Shard {
    fn register(cpus: &[u32], waiting_bytes: usize) -> Result<Shard, Failure> {
        let mut socket = Socket::open()?;
        // The kernel counts twice what it is told.
        socket.set_receive_bytes(waiting_bytes / 2);
        let mut list: Vec<u8> = Vec::new();
        for cpu in cpus {
            if !list.is_empty() {
                list.push(b',');
            }
            list.extend_from_slice(itoa::Buffer::new().format(*cpu).as_bytes());
        }
        list.push(0);
        let request = Request {
            family: socket.family(),
            flags: message::ACKNOWLEDGE,
            sequence: 0,
            command: message::GET,
            attribute: message::ATTR_REGISTER,
            payload: &list,
        };
        socket.ask(&request)?;
        let mut shard = Shard {
            socket,
            gap: Gap { is_one_cpu: cpus.len() == 1, ..Gap::default() },
            empty_ns: machine::monotonic_ns(),
        };
        let mut outcome = None;
        // Reports may come before the answer; those are not wanted yet.
        shard.socket.receive_all(|message| {
            if let Body::Outcome(errno) = message.body {
                outcome = Some(errno);
            }
        })?;
        match outcome {
            Some(0) => Ok(shard),
            Some(errno) => Err(Failure::Errno(nix::errno::Errno::from_raw(errno))),
            None => Err(Failure::Errno(nix::errno::Errno::ENOMSG)),
        }
    }

    /// Hands out what waits; returns how many reports are known to be missing.
    fn read(&mut self, each: &mut impl FnMut(Report)) -> Result<u64, Failure> {
        let mut missed = 0;
        let mut refused = Ok(());
        for _ in 0..MOST_RECEIVES {
            let before_ns = machine::monotonic_ns();
            let after_ns = self.empty_ns;
            let received = self.socket.receive(|message| {
                let Message { sequence, body: Body::Figures(figures) } = message else { return };
                let Some(bytes) = figures.task else { return };
                missed += self.gap.arrived(sequence);
                let decoded = layout::decode(bytes).and_then(|task| {
                    let process = figures.process.map(|bytes| layout::decode_beside(bytes, task.version));
                    Ok((task, process.transpose()?))
                });
                match decoded {
                    Ok((figures, process)) => {
                        let (read_ns, read) = (machine::monotonic_ns(), clock::boottime());
                        each(Report { figures, process, after_ns, read_ns, read });
                    }
                    Err(unknown) => refused = Err(Failure::Unknown(unknown)),
                }
            })?;
            match received {
                Received::Some(_) => {}
                Received::Overrun => missed += self.gap.overrun(),
                Received::Nothing => {
                    self.gap.emptied();
                    self.empty_ns = before_ns;
                    break;
                }
            }
        }
        refused.map(|()| missed)
    }
}

/// How many reports an overrun has cost. Each CPU numbers its reports, so the hole in the numbers around an overrun tells. A task
/// that is moved while it reports brings a number of another CPU; so a jump counts only once the number after it has come.
/// Until then, and where several CPUs share a socket, an overrun counts as one.
#[derive(Debug, Default, Clone, Copy)]
struct Gap {
    is_one_cpu: bool,
    /// The number of the last report.
    last: Option<u32>,
    /// A number that did not follow.
    jump: Option<u32>,
    state: State,
    /// What overruns have been counted as, to be set off against the hole.
    ahead: u64,
}

/// Where we are with an overrun.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    /// There is none.
    #[default]
    Whole,
    /// It was told, and what had waited is being read.
    Overrun,
    /// All that had waited was read: what comes next comes after the hole.
    Emptied,
}

impl Gap {
    /// A hole that large is none.
    const IMPLAUSIBLE: u32 = 1 << 24;

    /// Takes note of an overrun; returns how many reports that is at least.
    fn overrun(&mut self) -> u64 {
        self.state = State::Overrun;
        self.ahead += 1;
        1
    }

    /// Takes note that the socket is empty.
    fn emptied(&mut self) {
        if self.state == State::Overrun {
            self.state = State::Emptied;
        }
    }

    /// Takes note of a report; returns how many more than those already counted are known to be missing before it.
    fn arrived(&mut self, sequence: u32) -> u64 {
        let follows = |number: Option<u32>| number.is_some_and(|number| number.wrapping_add(1) == sequence);
        let hole = match (self.last, self.jump) {
            (None, _) => 0,
            (Some(_), _) if follows(self.last) => 0,
            (Some(last), Some(jump)) if follows(self.jump) => jump.wrapping_sub(last).wrapping_sub(1),
            _ => {
                self.jump = Some(sequence);
                return 0;
            }
        };
        (self.last, self.jump) = (Some(sequence), None);
        let mut missing = 0;
        if self.state != State::Whole && self.is_one_cpu && hole < Gap::IMPLAUSIBLE {
            missing = u64::from(hole).saturating_sub(self.ahead);
            self.ahead = self.ahead.saturating_sub(hole.into());
        }
        if self.state == State::Emptied {
            (self.state, self.ahead) = (State::Whole, 0);
        }
        missing
    }
}

/// The CPUs in a limited number of groups.
fn groups(cpus: &[u32], most: usize) -> Vec<&[u32]> {
    cpus.chunks(cpus.len().div_ceil(most).max(1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cpu_is_in_one_group() {
        let cpus: Vec<u32> = (0..100).collect();
        let groups = groups(&cpus, 32);
        assert!(groups.len() <= 32 && groups.iter().all(|group| group.len() <= 4));
        assert_eq!(groups.concat(), cpus);
        assert_eq!(super::groups(&[0, 1], 32), [[0], [1]]);
    }

    fn gap() -> Gap {
        Gap { is_one_cpu: true, ..Gap::default() }
    }

    #[test]
    fn a_hole_after_an_overrun_counts_the_lost() {
        let mut gap = gap();
        assert_eq!([5, 6, 7].map(|sequence| gap.arrived(sequence)), [0; 3]);
        assert_eq!(gap.overrun(), 1);
        assert_eq!([8, 9].map(|sequence| gap.arrived(sequence)), [0; 2], "those that had waited");
        gap.emptied();
        assert_eq!(gap.arrived(15), 0, "it may be a number of another CPU");
        assert_eq!(gap.arrived(16), 4, "10 to 14, one of which was counted at once");
        assert_eq!([20, 21].map(|sequence| gap.arrived(sequence)), [0; 2], "without an overrun none is lost");
    }

    #[test]
    fn numbers_of_another_cpu_are_no_holes() {
        let mut gap = gap();
        assert_eq!([5, 900, 6, 3, 7].map(|sequence| gap.arrived(sequence)), [0; 5]);
        gap.overrun();
        // A number that went to another socket leaves a hole too.
        assert_eq!([8, 901, 9, 11, 12].map(|sequence| gap.arrived(sequence)), [0; 5]);
        gap.emptied();
        assert_eq!([40, 902, 41].map(|sequence| gap.arrived(sequence)), [0; 3]);
        assert_eq!([42, 43].map(|sequence| gap.arrived(sequence)).iter().sum::<u64>(), 28, "13 to 40");
    }

    #[test]
    fn two_overruns_have_one_hole_each_and_numbers_go_round() {
        let mut gap = gap();
        gap.arrived(u32::MAX - 1);
        assert_eq!(gap.overrun() + gap.overrun(), 2);
        gap.emptied();
        assert_eq!(gap.arrived(2) + gap.arrived(3), 1, "MAX, 0 and 1");
        gap.overrun();
        gap.emptied();
        assert_eq!(gap.arrived(7) + gap.arrived(8), 2, "4, 5 and 6, one of which was counted");
    }

    #[test]
    fn an_overrun_of_a_shared_socket_counts_as_one() {
        let mut gap = Gap { last: Some(5), ..Gap::default() };
        let missed = gap.overrun();
        gap.emptied();
        assert_eq!(missed + gap.arrived(1_000) + gap.arrived(1_001), 1);
    }
}
