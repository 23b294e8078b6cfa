//! Reads what surrounds an interval, so that the view does not have to.

use cpuledger::host_statistics::HostStatistics;
use cpuledger::{Interval, Task, clock, machine};
use cpuledger_names::lookups::Lookups;
use cpuledger_names::named::Namer;
use cpuledger_names::names::Names;
use cpuledger_names::row::Surroundings;

use super::frame::{Around, Frame};
use super::past::learn_users;

/// What was read last, and names that are known.
pub struct AroundReader {
    statistics: HostStatistics,
    /// Names of users.
    users: Names,
    around: Surroundings,
    namer: Namer,
    boot_id: Option<String>,
}

impl AroundReader {
    /// From when these statistics were read; where there are none, nothing is told of CPUs. Cgroups get their names from that one.
    pub fn new(statistics: HostStatistics, namer: Namer) -> AroundReader {
        let mut around = Surroundings::now();
        around.machine.look_up(Lookups::CALENDAR);
        AroundReader { statistics, users: Names::of_users(), around, namer, boot_id: machine::boot_id() }
    }

    /// Learns what rows beside the next interval are called; their cgroups, too, if those are wanted.
    pub fn learn<'a>(&mut self, rows: impl Iterator<Item = &'a Task>, has_cgroups: bool) {
        for row in rows {
            self.users.learn(row.euid);
            if has_cgroups {
                self.namer.learn(row);
            }
        }
    }

    /// Makes what is shown of an interval that has just ended.
    pub fn frame(&mut self, interval: Interval, has_cgroups: bool) -> Frame {
        self.namer.begin();
        self.users.begin();
        let statistics = HostStatistics::read();
        let born = self.statistics.forks.and_then(|before| statistics.forks?.checked_sub(before));
        let cpus = statistics.shares_since(&self.statistics);
        self.statistics.clone_from(&statistics);
        learn_users(&mut self.users, &interval);
        if has_cgroups {
            self.namer.learn_interval(&interval);
        }
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
        let local = self.around.machine.local(now.tv_sec);
        // It ended a moment ago.
        let age_ns = machine::monotonic_ns().saturating_sub(interval.end_ns);
        let end_realtime_ns = (now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64).saturating_sub(age_ns);
        let around = Around {
            statistics,
            cpus,
            born,
            named: self.namer.named(),
            time_of_day: local.strftime("%H:%M:%S").to_string(),
            end_realtime_ns,
            uptime: clock::boottime(),
            boot_id: self.boot_id.clone(),
            unread: 0,
        };
        Frame::of(interval, around, self.users.clone())
    }
}
