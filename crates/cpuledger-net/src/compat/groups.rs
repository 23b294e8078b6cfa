//! The set of process-exporter: groups of processes by its rules. CPU time and other counters come from the intervals, so that nothing that has
//! ended is missing; what there is at the moment comes from a listing of the service.

use std::collections::HashMap;
use std::sync::Arc;

use cpuledger_model::boottime::TICK_NS;
use cpuledger_model::frame::{Column, Frame, Section};
use cpuledger_report::Name;
use rustix::time::ClockId;

use super::candidate::Candidate;
use super::members::{Members, Place};
use super::procfs::{Facts, Id, Known};
use super::rules::Rules;
use super::usage::{COUNTS, Subject, Usage, Used, place_of};
use crate::labels::REST;
use crate::own::{clock_ns, realtime_ns};
use crate::series::{Series, Table};
use crate::users::{Asked, Users};

const SECOND_NS: u64 = 1_000_000_000;
/// The pid of the parent of kernel threads.
const KERNEL_THREADS: i64 = 2;

/// What there is of a group at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gauge {
    /// Processes, zombies included.
    Processes,
    /// Their threads.
    Threads,
    /// Resident memory.
    ResidentBytes,
    /// Virtual memory.
    VirtualBytes,
    /// Swapped-out memory.
    SwappedBytes,
    /// Processes whose leader is runnable.
    Running,
    /// Whose leader sleeps until a signal or an event.
    Sleeping,
    /// Whose leader waits without being interruptible.
    Waiting,
    /// Whose leader has ended.
    Zombie,
    /// All others.
    OtherState,
    /// Open files.
    OpenFiles,
}

/// How many there are.
const GAUGES: usize = Gauge::OpenFiles as usize + 1;

/// The fields of a listing, by their keys, that these are made of.
pub const LISTED: [&str; 8] =
    ["comm", "ppid", "euid", "state", "threads", "rss_bytes", "vsize_bytes", "swap_bytes"];

/// The gauges of a group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Gauges {
    sums: [u64; GAUGES],
    /// When the oldest process began, CLOCK_REALTIME in nanoseconds.
    pub oldest_ns: Option<u64>,
    /// The greatest share of the files that a process may have open, in billionths.
    pub worst_ratio: u64,
}

impl Gauges {
    /// One of them.
    pub fn get(&self, gauge: Gauge) -> u64 {
        self.sums[gauge as usize]
    }

    fn add(&mut self, more: &Gauges) {
        for (own, more) in self.sums.iter_mut().zip(more.sums) {
            *own = own.saturating_add(more);
        }
        self.oldest_ns = self.oldest_ns.into_iter().chain(more.oldest_ns).min();
        self.worst_ratio = self.worst_ratio.max(more.worst_ratio);
    }
}

/// What a listing tells of all groups.
#[derive(Debug, Clone, Default)]
pub struct Listing {
    by_group: HashMap<Arc<Name>, Gauges>,
    told: [bool; GAUGES],
    /// Whether the limits of open files could be read.
    pub tells_ratios: bool,
}

impl Listing {
    /// Whether a process has told it.
    pub fn tells(&self, gauge: Gauge) -> bool {
        self.told[gauge as usize]
    }

    /// Adds a process of a group; its open files and how many it may have.
    pub fn add(&mut self, frame: &Frame, process: &Listed, [open, limit]: [Option<u64>; 2]) {
        let table = frame.table(Section::Processes);
        let get = |column| table.get(column, process.row);
        let state = match get(Column::STATE).and_then(|state| u8::try_from(state).ok()) {
            Some(b'R') => Gauge::Running,
            Some(b'S') => Gauge::Sleeping,
            Some(b'D') => Gauge::Waiting,
            Some(b'Z') => Gauge::Zombie,
            _ => Gauge::OtherState,
        };
        let mut own = Gauges { oldest_ns: process.start_realtime_ns, ..Gauges::default() };
        if let Some((open, limit)) = open.zip(limit.filter(|limit| *limit > 0)) {
            let ratio = u128::from(open) * u128::from(SECOND_NS) / u128::from(limit);
            own.worst_ratio = u64::try_from(ratio).unwrap_or(u64::MAX);
            self.tells_ratios = true;
        }
        for (gauge, value) in [
            (Gauge::Processes, Some(1)),
            (Gauge::Threads, get(Column::THREADS)),
            (Gauge::ResidentBytes, get(Column::RSS_BYTES)),
            (Gauge::VirtualBytes, get(Column::VSIZE_BYTES)),
            (Gauge::SwappedBytes, get(Column::SWAP_BYTES)),
            (state, Some(1)),
            (Gauge::OpenFiles, open),
        ] {
            own.sums[gauge as usize] += value.unwrap_or_default();
            self.told[gauge as usize] |= value.is_some();
        }
        self.by_group.entry(Arc::clone(&process.group)).or_default().add(&own);
    }

    /// All states are told, or none is.
    fn complete(mut self) -> Listing {
        self.told[Gauge::Processes as usize] = true;
        let states = Gauge::Running as usize..=Gauge::OtherState as usize;
        let is_any_told = self.told[states.clone()].contains(&true);
        self.told[states].fill(is_any_told);
        self
    }
}

/// A process of a listing that is in a group.
#[derive(Debug)]
pub struct Listed {
    row: usize,
    /// Its pid.
    pub pid: i64,
    start_realtime_ns: Option<u64>,
    group: Arc<Name>,
}

/// All groups.
#[derive(Debug)]
pub struct Groups {
    rules: Rules,
    /// Whether what no rule matches is where its parent is.
    with_children: bool,
    members: Members,
    /// The series.
    pub table: Table<Usage>,
    known: [bool; COUNTS.len()],
    listing: Option<Listing>,
    users: Users,
    /// CLOCK_REALTIME less CLOCK_BOOTTIME.
    boot_ns: u64,
}

impl Groups {
    /// By these rules, with at most so many series.
    pub fn new(rules: Rules, with_children: bool, limit: usize) -> Groups {
        Groups {
            rules,
            with_children,
            members: Members::default(),
            table: Table::new(limit, realtime_ns()),
            known: [false; COUNTS.len()],
            listing: None,
            users: Users::shared(),
            boot_ns: realtime_ns().saturating_sub(clock_ns(ClockId::Boottime)),
        }
    }

    /// Whether the rules need cgroups.
    pub fn need_cgroups(&self) -> bool {
        self.rules.need_cgroups()
    }

    /// Whether an interval has told it.
    pub fn knows(&self, count: Column) -> bool {
        place_of(count).is_some_and(|place| self.known[place])
    }

    /// What the last listing tells; `None`: there is none.
    pub fn listing(&self) -> Option<&Listing> {
        self.listing.as_ref()
    }

    /// The gauges of the series, each under its label, and those of all that have none.
    pub fn gauges(&self) -> Vec<(String, Gauges)> {
        let Some(listing) = &self.listing else { return Vec::new() };
        let mut rest = Gauges::default();
        let mut shown: HashMap<&Name, Gauges> =
            self.table.series(&[]).map(|(name, _)| (name, Gauges::default())).collect();
        for (name, gauges) in &listing.by_group {
            shown.get_mut(&**name).unwrap_or(&mut rest).add(gauges);
        }
        let of_series = |(name, series): (&Name, &Series<Usage>)| {
            (series.label.to_string(), shown.get(name).copied().unwrap_or_default())
        };
        let mut all: Vec<(String, Gauges)> = self.table.series(&[]).map(of_series).collect();
        if rest != Gauges::default() {
            all.push((REST.to_owned(), rest));
        }
        all
    }

    /// The living processes of a frame that have to be looked at.
    pub fn missing(&self, frame: &Frame) -> Vec<Id> {
        let rows = rows(frame).filter(|row| !self.members.knows(row.id, row.comm));
        rows.map(|row| row.id).collect()
    }

    /// Adds what processes used in an interval; `known` is what was read of those that have to be looked at.
    pub fn add(&mut self, frame: &Frame, known: &Known, subjects: &[Subject<'_>]) {
        self.members.begin();
        self.place_all(frame, known);
        for subject in subjects {
            let id = (subject.pid, subject.start_ns);
            let place = if subject.lives { self.members.place(id) } else { self.place_of_dead(subject) };
            self.count(&place, &subject.used);
        }
        self.table.trim();
    }

    fn count(&mut self, place: &Place, used: &Used) {
        match place {
            Place::Group(Some(group)) => self.table.add(group, used),
            Place::Waits => self.table.add_rest(used),
            Place::Group(None) | Place::Unmatched => return,
        }
        for (known, count) in self.known.iter_mut().zip(used.counts) {
            *known |= count.is_some();
        }
    }

    /// Finds where each process of a frame belongs, those that are above others in the same frame included.
    fn place_all(&mut self, frame: &Frame, known: &Known) {
        let mut unmatched = Vec::new();
        for row in rows(frame) {
            if self.members.knows(row.id, row.comm) {
                self.members.see(row.id.0);
                continue;
            }
            // What was not read is looked at the next time.
            let place = known.get(&row.id).map(|facts| self.place(row.id, row.comm, row.euid, facts));
            let place = place.unwrap_or(Place::Waits);
            if place == Place::Unmatched {
                unmatched.push(row.id.0);
            }
            self.members.put(row.id, row.comm, row.ppid, place);
        }
        for pid in unmatched {
            self.members.inherited(pid);
        }
    }

    /// Where a process belongs by the rules alone.
    fn place(&self, (pid, start_ns): Id, comm: &[u8], euid: Option<u64>, facts: &Facts) -> Place {
        let asked = euid.and_then(|uid| u32::try_from(uid).ok()).filter(|_| self.rules.need_users());
        let (user, waits) = match asked.map(|uid| (uid, self.users.name(uid))) {
            Some((_, Asked::Name(name))) => (name, false),
            Some((uid, Asked::None)) => (uid.to_string(), false),
            Some((_, Asked::Waits)) => (String::new(), true),
            None => (String::new(), false),
        };
        // As /proc has both: whole seconds, and ticks.
        let boot_ns = self.boot_ns - self.boot_ns % SECOND_NS;
        let candidate = Candidate {
            pid,
            comm: &String::from_utf8_lossy(comm),
            argv: facts.argv.as_deref(),
            cgroups: facts.cgroups.as_deref(),
            user: &user,
            start_realtime_ns: boot_ns.saturating_add(start_ns - start_ns % TICK_NS),
        };
        match self.rules.group(&candidate) {
            Some(_) if waits => Place::Waits,
            Some(name) => Place::Group(Some(Arc::new(Name::Text(name.into_bytes())))),
            None if self.with_children => Place::Unmatched,
            None => Place::Group(None),
        }
    }

    /// Where a process was that died, with the name that it had in the end.
    fn place_of_dead(&mut self, subject: &Subject<'_>) -> Place {
        let id = (subject.pid, subject.start_ns);
        if self.members.knows(id, subject.comm) {
            self.members.end(id);
            return self.members.place(id);
        }
        // A copy of its parent that runs no other program has the arguments of that.
        if self.members.is_called(subject.ppid, subject.comm) {
            return self.members.inherited(subject.ppid);
        }
        // Kernel threads have no arguments. Of others, nobody has read them.
        let argv = (subject.ppid == KERNEL_THREADS).then(Vec::new);
        match self.place(id, subject.comm, subject.euid, &Facts { argv, cgroups: None }) {
            Place::Unmatched => match self.members.inherited(subject.ppid) {
                Place::Group(None) => self.members.inherited(subject.heir),
                place => place,
            },
            place => place,
        }
    }

    /// A listing is being asked for. Returns its number.
    pub fn begin_listing(&mut self) -> u64 {
        self.members.begin()
    }

    /// The processes of this listing that are in groups.
    pub fn list(&mut self, frame: &Frame, known: &Known, begun: u64) -> Vec<Listed> {
        self.place_all(frame, known);
        self.members.forget(begun);
        let (members, boot_ns) = (&mut self.members, self.boot_ns);
        let one = |row: Row<'_>| match members.place(row.id) {
            Place::Group(Some(group)) => Some(Listed {
                row: row.row,
                pid: row.id.0,
                start_realtime_ns: row.tells_start.then_some(boot_ns.saturating_add(row.id.1)),
                group,
            }),
            _ => None,
        };
        rows(frame).filter_map(one).collect()
    }

    /// What the last listing tells, until there is another one; `None`: there could be none.
    pub fn set_listing(&mut self, listing: Option<Listing>) {
        self.listing = listing.map(Listing::complete);
    }

    /// Groups that have processes have a series, whether these use time or not; others have one as long as there is room.
    pub fn keep(&mut self) {
        let names = self.listing.iter().flat_map(|listing| listing.by_group.keys());
        names.for_each(|name| self.table.keep(name));
        self.table.keep_if_there_is_room();
    }
}

/// A living process of a frame.
struct Row<'a> {
    row: usize,
    id: Id,
    comm: &'a [u8],
    ppid: i64,
    euid: Option<u64>,
    tells_start: bool,
}

/// Those that this user is shown. Pid 0 has what it is not.
fn rows(frame: &Frame) -> impl Iterator<Item = Row<'_>> {
    let table = frame.table(Section::Processes);
    (0..table.len()).filter_map(move |row| {
        let pid = table.get_signed(Column::PID, row).filter(|pid| *pid > 0)?;
        Some(Row {
            row,
            id: (pid, table.get(Column::START_TIME_NS, row).unwrap_or_default()),
            comm: frame.text_of(Section::Processes, Column::COMM, row).unwrap_or_default(),
            ppid: table.get_signed(Column::PPID, row).unwrap_or_default(),
            euid: table.get(Column::EUID, row),
            tells_start: table.get(Column::HIDES_START, row) != Some(1),
        })
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::compat::rules_file::parse;
    use crate::compat::usage;
    use crate::modes::Modes;
    use crate::series::Settle as _;

    const MS: u64 = 1_000_000;

    /// A frame with these processes: pid, parent, name, and CPU time in ms.
    fn living(rows: &[(i64, i64, &str, u64)]) -> Frame {
        let mut frame = Frame::new();
        frame.table_mut(Section::Processes).reset(rows.len());
        for (row, (pid, ppid, comm, ms)) in rows.iter().enumerate() {
            let comm = frame.intern(comm.as_bytes());
            let table = frame.table_mut(Section::Processes);
            table.set_signed(Column::PID, row, Some(*pid));
            table.set_signed(Column::PPID, row, Some(*ppid));
            for (column, value) in [
                (Column::START_TIME_NS, pid.unsigned_abs()),
                (Column::COMM, comm),
                (Column::CPU_NS, ms * MS),
                (Column::EXITED_CHILDREN_NS, 0),
                (Column::SELF_USER_NS, ms * MS),
                (Column::EXITED_THREADS_USER_NS, 0),
                (Column::STOLEN_NS, 0),
                (Column::THREADS, 2),
                (Column::STATE, u64::from(b'S')),
            ] {
                table.set(column, row, Some(value));
            }
        }
        frame
    }

    /// Their arguments are their names.
    fn known(frame: &Frame) -> Known {
        let facts = |row: Row<'_>| {
            let argv = vec![String::from_utf8_lossy(row.comm).into_owned()];
            (row.id, Facts { argv: Some(argv), cgroups: None })
        };
        rows(frame).map(facts).collect()
    }

    fn add(groups: &mut Groups, frame: &Frame) {
        groups.add(frame, &known(frame), &usage::of(frame));
    }

    /// User time in ms by group, and of the rest.
    fn told(groups: &Groups) -> (Vec<(String, u128)>, u128) {
        let ms = |modes: &Modes| modes.user_ns / u128::from(MS);
        let own = groups.table.series(&[]).map(|(_, own)| (own.label.to_string(), ms(&own.totals.modes)));
        (own.collect(), ms(&groups.table.rest().modes))
    }

    fn list(groups: &mut Groups, frame: &Frame) {
        let begun = groups.begin_listing();
        let mut listing = Listing::default();
        for process in groups.list(frame, &known(frame), begun) {
            listing.add(frame, &process, [Some(3), Some(12)]);
        }
        groups.set_listing(Some(listing));
    }

    fn scrape(groups: &mut Groups) {
        groups.table.age(Duration::from_secs(1));
        groups.keep();
        groups.table.rank(0, false);
        groups.table.seen_by_all(1);
    }

    #[test]
    fn groups_have_their_children_and_what_is_there_at_the_moment() {
        let rules = parse("process_names:\n- comm: [web]\n- comm: [asleep]\n").expect("rules");
        let mut groups = Groups::new(rules, true, 8);
        let all = living(&[(1, 0, "init", 0), (9, 8, "worker", 0), (8, 1, "web", 0), (7, 1, "asleep", 0)]);
        for _ in 0..3 {
            list(&mut groups, &all);
            scrape(&mut groups);
        }
        add(&mut groups, &living(&[(9, 8, "worker", 5), (8, 1, "web", 3), (1, 0, "init", 100)]));
        assert_eq!(told(&groups), (vec![("asleep".to_owned(), 0), ("web".to_owned(), 8)], 0));
        let gauges: HashMap<String, Gauges> = groups.gauges().into_iter().collect();
        let web = gauges["web"];
        assert_eq!(
            [Gauge::Processes, Gauge::Threads, Gauge::Sleeping, Gauge::OpenFiles].map(|own| web.get(own)),
            [2, 4, 2, 6]
        );
        assert_eq!(
            (web.worst_ratio, gauges["asleep"].get(Gauge::Processes), gauges.len()),
            (SECOND_NS / 4, 1, 2)
        );
        // All have ended: the counters stay, and there are no processes.
        list(&mut groups, &living(&[(1, 0, "init", 0)]));
        scrape(&mut groups);
        assert_eq!(told(&groups).0[1], ("web".to_owned(), 8));
        assert_eq!(groups.gauges()[1].1, Gauges::default());
        // With another name, it is another program.
        add(&mut groups, &living(&[(7, 1, "web", 4), (6, 1, "asleep", 2)]));
        assert_eq!(told(&groups), (vec![("asleep".to_owned(), 2), ("web".to_owned(), 12)], 0));
    }

    #[test]
    fn what_has_no_series_is_in_the_rest_and_what_was_not_read_is_read_later() {
        let rules = parse("process_names:\n- {name: '{{.Comm}}', cmdline: ['.+']}\n").expect("rules");
        let mut groups = Groups::new(rules, false, 1);
        let frame = living(&[(5, 1, "a", 30), (6, 1, "b", 20)]);
        groups.add(&frame, &Known::new(), &usage::of(&frame));
        assert_eq!((told(&groups), groups.missing(&frame).len()), ((vec![], 50), 2));
        for _ in 0..3 {
            add(&mut groups, &frame);
            scrape(&mut groups);
        }
        add(&mut groups, &frame);
        let (own, rest) = told(&groups);
        assert_eq!((own.iter().map(|(_, ms)| ms).sum::<u128>() + rest, own.len()), (250, 1));
        assert!(groups.missing(&frame).is_empty());
        list(&mut groups, &frame);
        let counts: Vec<u64> = groups.gauges().iter().map(|(_, own)| own.get(Gauge::Processes)).collect();
        assert_eq!(counts, [1, 1]);
    }
}
