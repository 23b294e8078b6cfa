//! Frames in, a report out.

mod forget;
mod sums;

use cpuledger_model::frame::{Column, Frame, Section, Wanted};
use cpuledger_model::framing::{self, CgroupIds};
use rustc_hash::FxHashMap;

use crate::amounts::{Amounts, Booked, Counted, Off, SumOfDead};
use crate::balance::{Balance, REASONS};
use crate::deaths::{Dead, Deaths};
use crate::dimension::{Dimension, Name};
use crate::disks::DeviceSums;
use crate::groups::{Groups, Place};
use crate::instants::{Instants, TimeLine};
use crate::key::{Key, Subject, name_of};
use crate::lineage::Lineage;
use crate::names::{Comm, Names};
use crate::report::{self, Report};
use crate::table::Table;
use crate::within::{Condition, Within};

pub use sums::Sums;

/// What each report is made of.
const COLUMNS: [Column; 27] = [
    Column::TID,
    Column::PID,
    Column::START_TIME_NS,
    Column::COMM,
    Column::CPU_NS,
    Column::EXITED_CHILDREN_NS,
    Column::EXITED_THREADS_NS,
    Column::STOLEN_NS,
    Column::EXITED_CHILDREN_STOLEN_NS,
    Column::WAITING_NS,
    Column::ACCOUNTING_PPID,
    Column::ACCOUNTING_START_NS,
    Column::PROCESS_START_NS,
    Column::ENDS_PROCESS,
    Column::END_BOOTTIME_NS,
    Column::SUSPENDED_NS,
    Column::CAPACITY_NS,
    Column::ATTRIBUTED_NS,
    Column::IDLE_NS,
    Column::UNATTRIBUTED_NS,
    Column::UNIDENTIFIED_EXITS,
    Column::MISSED_EXITS,
    Column::MISSED_SWITCHES,
    Column::HIDDEN_CPU_NS,
    Column::RUNQUEUE_WAIT_NS,
    Column::MINOR_FAULTS,
    Column::MAJOR_FAULTS,
];

/// What those by cgroup are made of beside that, and those by ancestry. Those by a name of it need [`framing::NAME_COLUMNS`] too.
const OF_CGROUPS: [Column; 5] =
    [Column::CGROUP_ID, Column::CGROUP_V1_CPU_ID, Column::PATH, Column::PATH_REST, Column::UNIT];
const OF_ANCESTORS: [Column; 1] = [Column::PPID];
/// And where it is asked what the living did off the CPU.
const OFF: [Column; 6] = [
    Column::ELAPSED_NS,
    Column::BLOCKED_NS,
    Column::IO_WAIT_NS,
    Column::SLEEP_NS,
    Column::STOPPED_NS,
    Column::UNSEEN_NS,
];

/// The pid of the row of all that its reader was not shown. It is no process, whatever one is called.
const REMAINDER: i64 = 0;

/// Adds up intervals, in the order of their times.
#[derive(Debug, Clone, Default)]
pub struct Accumulator {
    tables: Vec<(Dimension, Table<Key>)>,
    lineage: Option<Lineage>,
    names: Names,
    /// What stayed of them when it began again.
    begun_bytes: usize,
    /// Paths of the cgroups of the frame that is read, by their numbers. The second is not enough: where the cpu controller is not turned on
    /// for a cgroup of version 2, it is that of one above it.
    paths: FxHashMap<CgroupIds, Comm>,
    /// Containers, pods and images of these, likewise.
    named: FxHashMap<CgroupIds, [Key; 3]>,
    /// Whether rows of that frame tell their units.
    has_units: bool,
    balance: Balance,
    /// That of each bucket of the time line.
    buckets: Vec<Balance>,
    time_line: Option<TimeLine>,
    /// From the begin of the first interval to the end of the last.
    extent: Option<Instants>,
    /// Memory for those of the frame that is read.
    deaths: Deaths,
    groups: Groups,
    within: Within,
    tells_off: bool,
    tells_counted: bool,
    /// What each disk did, if that is added up.
    devices: Option<DeviceSums>,
}

impl Accumulator {
    /// Of nothing yet, for reports by these.
    pub fn new(dimensions: &[Dimension]) -> Accumulator {
        let has_table = |dimension: &&Dimension| **dimension != Dimension::Ancestor;
        let tables = dimensions.iter().filter(has_table).map(|dimension| (*dimension, Table::default()));
        Accumulator {
            tables: tables.collect(),
            lineage: dimensions.contains(&Dimension::Ancestor).then(Lineage::default),
            ..Accumulator::default()
        }
    }

    /// Likewise, of what meets all these conditions. Ancestry is that of all.
    #[must_use]
    pub fn within(mut self, conditions: Vec<Condition>) -> Accumulator {
        self.within = Within::new(conditions);
        self
    }

    /// Likewise, with what the living did off the CPU.
    #[must_use]
    pub fn with_states(mut self) -> Accumulator {
        self.tells_off = true;
        self
    }

    /// Likewise, with counters of the living, and how large they were.
    #[must_use]
    pub fn with_counters(mut self) -> Accumulator {
        self.tells_counted = true;
        self
    }

    /// Likewise, with what each disk did.
    #[must_use]
    pub fn with_devices(mut self) -> Accumulator {
        self.devices = Some(DeviceSums::default());
        self
    }

    /// What the reports are made of: of a frame no more has to be read.
    pub fn wanted(&self) -> Wanted {
        let mut sections = vec![Section::Processes, Section::Exited];
        // A counter counts by what it grew by.
        let mut columns: Vec<Column> =
            COLUMNS.into_iter().map(|column| column.growth().unwrap_or(column)).collect();
        columns.extend(Column::BOOKED_OF_DEAD);
        columns.extend(Column::BOOKED_OF_DEAD.into_iter().filter_map(Column::growth));
        columns.extend(REASONS.map(|(column, _)| column));
        columns.extend(framing::DISK_TOTALS);
        if self.devices.is_some() {
            sections.push(Section::Disks);
            columns.push(Column::KNOWS_DISKS);
            columns.extend(Frame::DISK_COLUMNS);
        }
        if self.has_cgroups() {
            sections.push(Section::Cgroups);
            columns.extend(OF_CGROUPS);
        }
        if self.has_names() {
            columns.extend(framing::NAME_COLUMNS);
        }
        if self.has(Dimension::User) {
            columns.push(Column::EUID);
        }
        if self.tells_off {
            columns.extend(OFF);
        }
        if self.tells_counted {
            columns.extend(Counted::COUNTERS.into_iter().filter_map(Column::growth));
            columns.push(Column::RSS_BYTES);
        }
        if self.lineage.is_some() {
            sections.push(Section::Ancestors);
            columns.extend(OF_ANCESTORS);
        }
        Wanted::of(&sections, &columns)
    }

    /// Whether parts that are merged may say less than the whole, added up in order: of ancestry a part does not know what was before it,
    /// and processes are soon more than are told apart.
    pub fn depends_on_order(&self) -> bool {
        self.lineage.is_some() || self.has(Dimension::Process)
    }

    fn has_cgroups(&self) -> bool {
        Dimension::OF_CGROUP.into_iter().any(|dimension| self.has(dimension))
    }

    fn has_names(&self) -> bool {
        let mut dimensions = self.tables.iter().map(|(own, _)| *own).chain(self.within.dimensions());
        dimensions.any(Dimension::needs_names)
    }

    fn has(&self, dimension: Dimension) -> bool {
        self.tables.iter().any(|(own, _)| *own == dimension) || self.within.has(dimension)
    }

    /// Likewise, with a time line of this span, CLOCK_REALTIME, in this number of buckets.
    #[must_use]
    pub fn with_time_line(mut self, since_ns: u64, until_ns: u64, buckets: u32) -> Accumulator {
        let length_ns = until_ns.saturating_sub(since_ns).max(1);
        let bucket_ns = length_ns.div_ceil(u64::from(buckets.max(1))).max(1);
        self.time_line = Some(TimeLine { since_ns, bucket_ns, buckets: buckets.max(1) });
        self.buckets = vec![Balance::default(); buckets.max(1) as usize];
        self
    }

    /// Adds an interval.
    pub fn add(&mut self, frame: &Frame, when: Instants) {
        self.forget_names(self.names.most_bytes());
        self.names.begin();
        self.learn_beside(frame);
        let bucket = self.time_line.map(|line| {
            let middle_ns = u64::midpoint(when.start_realtime_ns, when.end_realtime_ns);
            let number = middle_ns.saturating_sub(line.since_ns) / line.bucket_ns;
            u32::try_from(number).unwrap_or(u32::MAX).min(line.buckets - 1)
        });
        let mut deaths = std::mem::take(&mut self.deaths);
        deaths.read(frame, self.lineage.is_some());
        let began_ns = began_boottime_ns(frame);
        let (mut booked_ns, mut hidden_ns) = (0_u64, 0_u64);
        for row in 0..frame.table(Section::Processes).len() {
            if frame.table(Section::Processes).get_signed(Column::PID, row) == Some(REMAINDER) {
                let cpu_ns = frame.table(Section::Processes).get(Column::CPU_NS, row);
                hidden_ns = hidden_ns.saturating_add(cpu_ns.unwrap_or_default());
                continue;
            }
            let subject = self.living(frame, row, &deaths, began_ns);
            booked_ns = booked_ns.saturating_add(subject.amounts.self_ns);
            self.put(&subject, bucket);
            if let Some(lineage) = &mut self.lineage {
                let parent = frame.table(Section::Processes).get_signed(Column::ACCOUNTING_PPID, row);
                let parent = parent.or_else(|| frame.table(Section::Processes).get_signed(Column::PPID, row));
                lineage.add(subject.id, subject.comm, parent, &subject.amounts);
            }
        }
        // What the dead used is in rows of their heirs.
        booked_ns = deaths.inherited_ns.iter().fold(booked_ns, |sum, ns| sum.saturating_add(*ns));
        self.put_dead(frame, &deaths, began_ns, bucket);
        self.end_dead(frame, &deaths, began_ns);
        self.deaths = deaths;
        let balance = Balance::of(frame, booked_ns, hidden_ns);
        self.balance.add(&balance);
        self.devices.iter_mut().for_each(|devices| devices.add_frame(frame));
        if let Some(bucket) = bucket {
            self.buckets[bucket as usize].add(&balance);
        }
        self.extend(when);
    }

    /// Takes what the frame tells beside its rows.
    fn learn_beside(&mut self, frame: &Frame) {
        self.paths.clear();
        self.named.clear();
        let units = frame.table(Section::Processes).cells(Column::UNIT);
        self.has_units = self.has(Dimension::Unit)
            && (0..frame.table(Section::Processes).len()).any(|row| units.get(row).is_some());
        if self.has_names() {
            for (ids, names) in framing::cgroups(frame) {
                let key = |own: &mut Names, name: &[u8]| match name {
                    [] if names.nameless.is_some() => Key::Unknown,
                    [] => Key::Without,
                    name => Key::Text(own.intern(name)),
                };
                let pod = names.pod_label();
                let told = [names.container_label(), &pod, &names.image];
                self.named.insert(ids, told.map(|name| key(&mut self.names, name)));
            }
        }
        if self.has_cgroups() {
            for row in 0..frame.table(Section::Cgroups).len() {
                let text = |column| frame.text_of(Section::Cgroups, column, row);
                let Some(path) = text(Column::PATH) else { continue };
                let path = match text(Column::PATH_REST) {
                    Some(rest) => self.names.intern(&[path, rest].concat()),
                    None => self.names.intern(path),
                };
                self.paths.insert(cgroup_ids(frame.table(Section::Cgroups), row), path);
            }
        }
        if let Some(lineage) = &mut self.lineage {
            let table = frame.table(Section::Ancestors);
            for row in 0..table.len() {
                let Some(pid) = table.get_signed(Column::TID, row) else { continue };
                let comm = self.names.of_row(frame, Section::Ancestors, row);
                lineage.know(pid, comm, table.get_signed(Column::PPID, row));
            }
        }
    }

    /// Its unit, or the cgroup whose path says it.
    fn unit(&mut self, frame: &Frame, row: usize) -> Key {
        match frame.text_of(Section::Processes, Column::UNIT, row) {
            Some([]) => Key::Unknown,
            Some(unit) => Key::Text(self.names.intern(unit)),
            None => self.of_cgroup(cgroup_ids(frame.table(Section::Processes), row), Dimension::Cgroup),
        }
    }

    /// What a row of processes is put with by this dimension, which its cgroup tells.
    fn of_row(&mut self, frame: &Frame, row: usize, dimension: Dimension) -> Key {
        match dimension {
            Dimension::Unit => self.unit(frame, row),
            _ => self.of_cgroup(cgroup_ids(frame.table(Section::Processes), row), dimension),
        }
    }

    /// What a cgroup is put with. The path of it tells the unit.
    fn of_cgroup(&self, ids: CgroupIds, dimension: Dimension) -> Key {
        let named = |place: usize| self.named.get(&ids).map_or(Key::Unknown, |keys| keys[place]);
        match dimension {
            Dimension::Container => named(0),
            Dimension::Pod => named(1),
            Dimension::Image => named(2),
            _ => {
                let number = ids.1.or(ids.0).map_or(Key::Unknown, Key::Cgroup);
                self.paths.get(&ids).map_or(number, |path| Key::Text(*path))
            }
        }
    }

    /// What a cgroup of the frame that was added last is called, by a dimension that a cgroup tells.
    pub fn name_of_cgroup(&self, ids: CgroupIds, by: Dimension) -> Name {
        match by {
            // The path of its cgroup does not say it.
            Dimension::Unit if self.has_units => Name::Unknown,
            Dimension::Unit => name_of(&self.names, self.of_cgroup(ids, by)).unit(),
            _ => name_of(&self.names, self.of_cgroup(ids, by)),
        }
    }

    fn put(&mut self, subject: &Subject, bucket: Option<u32>) {
        let names = &self.names;
        if !self.within.admits(|dimension| subject.key(dimension), |key| name_of(names, key)) {
            self.within.outside_ns = self.within.outside_ns.saturating_add(subject.amounts.self_ns);
            return;
        }
        for (dimension, table) in &mut self.tables {
            table.add(subject.key(*dimension), &subject.amounts, bucket);
        }
    }

    fn living(&mut self, frame: &Frame, row: usize, deaths: &Deaths, began_ns: Option<u64>) -> Subject {
        let (unidentified_ns, inherited_ns) = (deaths.unidentified_ns[row], deaths.inherited_ns[row]);
        let table = frame.table(Section::Processes);
        let get = |column| table.get(column, row);
        let grown = |column: Column| column.growth().and_then(get);
        let start = get(Column::START_TIME_NS);
        let cpu_ns = get(Column::CPU_NS).unwrap_or_default();
        let of_children_ns = get(Column::EXITED_CHILDREN_NS).unwrap_or_default();
        let living_ns = cpu_ns.saturating_sub(of_children_ns);
        let amounts = Amounts {
            self_ns: living_ns.saturating_add(unidentified_ns.min(cpu_ns)),
            exited_threads_ns: get(Column::EXITED_THREADS_NS).unwrap_or_default().min(living_ns),
            ended_ns: unidentified_ns.min(cpu_ns),
            unidentified_ns,
            inherited_ns,
            runqueue_wait_ns: get(Column::WAITING_NS).or_else(|| grown(Column::RUNQUEUE_WAIT_NS)),
            stolen_ns: get(Column::STOLEN_NS),
            inherited_stolen_ns: get(Column::EXITED_CHILDREN_STOLEN_NS),
            minor_faults: grown(Column::MINOR_FAULTS),
            major_faults: grown(Column::MAJOR_FAULTS),
            booked: std::array::from_fn(|place| {
                let booked = grown(Column::BOOKED_OF_DEAD[place])?;
                Some(booked.saturating_sub(deaths.inherited_booked[row][place].unwrap_or_default()))
            }),
            births: is_birth(start, began_ns),
            deaths: 0,
            off: if self.tells_off { off_of(table, row) } else { Off::default() },
            counted: if self.tells_counted { counted_of(table, row) } else { Counted::default() },
        };
        let pid = table.get_signed(Column::PID, row).or_else(|| table.get_signed(Column::TID, row));
        let of_cgroup = self.of_cgroups(|own, dimension| own.of_row(frame, row, dimension));
        Subject {
            id: (pid.unwrap_or_default(), start.unwrap_or_default()),
            comm: self.names.of_row(frame, Section::Processes, row),
            euid: get(Column::EUID),
            of_cgroup,
            amounts,
        }
    }

    /// By each dimension that a cgroup tells, what a row is put with.
    fn of_cgroups(
        &mut self,
        mut of: impl FnMut(&mut Accumulator, Dimension) -> Key,
    ) -> [Key; Dimension::OF_CGROUP.len()] {
        Dimension::OF_CGROUP
            .map(|dimension| if self.has(dimension) { of(self, dimension) } else { Key::Unknown })
    }

    /// Puts those of the dead into the tables that meet the conditions: each is looked at.
    fn put_each_dead(&mut self, frame: &Frame, deaths: &Deaths, began_ns: Option<u64>, bucket: Option<u32>) {
        let table = frame.table(Section::Exited);
        for dead in deaths.iter() {
            let record = dead.record as usize;
            let (ids, heir) = (cgroup_ids(table, record), deaths.heir_row(dead));
            let of_cgroup = self.of_cgroups(|own, dimension| {
                let tells_cgroups = dimension != Dimension::Unit || !own.has_units;
                match heir {
                    _ if tells_cgroups && ids != (None, None) => own.of_cgroup(ids, dimension),
                    Some(row) => own.of_row(frame, row, dimension),
                    None => Key::Unknown,
                }
            });
            let comm = self.names.of_row(frame, Section::Exited, record);
            let (euid, (sum, booked)) = (table.get(Column::EUID, record), of_dead(deaths, dead, began_ns));
            let amounts = sum.amounts(booked);
            self.put(&Subject { id: dead.id, comm, euid, of_cgroup, amounts }, bucket);
        }
    }

    /// Puts the dead into the tables.
    fn put_dead(&mut self, frame: &Frame, deaths: &Deaths, began_ns: Option<u64>, bucket: Option<u32>) {
        if self.within.is_narrow() {
            return self.put_each_dead(frame, deaths, began_ns, bucket);
        }
        let (mut tables, mut groups) = (std::mem::take(&mut self.tables), std::mem::take(&mut self.groups));
        for (dimension, table) in &mut tables {
            match dimension {
                Dimension::Command => {
                    for (number, sum) in groups.by_name(frame, deaths, began_ns) {
                        let comm = number.map_or(Comm::UNKNOWN, |number| self.names.of_text(frame, number));
                        let key = if comm == Comm::UNKNOWN { Key::Unknown } else { Key::Command(comm) };
                        table.add(key, &sum, bucket);
                    }
                }
                Dimension::User => {
                    for (user, sum) in groups.by_user(frame, deaths, began_ns) {
                        table.add(user.map_or(Key::Unknown, Key::User), &sum, bucket);
                    }
                }
                Dimension::Process | Dimension::Ancestor => {
                    for dead in deaths.iter() {
                        let comm = self.names.of_row(frame, Section::Exited, dead.record as usize);
                        table.add_dead(Key::Process(dead.id, comm), of_dead(deaths, dead, began_ns), bucket);
                    }
                }
                of_cgroup => {
                    // Where rows tell their units, the numbers of cgroups do not.
                    let tells_cgroups = *of_cgroup != Dimension::Unit || !self.has_units;
                    for (place, sum) in groups.by_cgroup(frame, (deaths, tells_cgroups), began_ns) {
                        let key = match place {
                            Place::Heir(None) => Key::Unknown,
                            Place::Heir(Some(row)) => self.of_row(frame, row, *of_cgroup),
                            Place::Cgroup(ids) => self.of_cgroup(ids, *of_cgroup),
                        };
                        table.add(key, &sum, bucket);
                    }
                }
            }
        }
        (self.tables, self.groups) = (tables, groups);
    }

    /// The dead become parts of what inherits from them.
    fn end_dead(&mut self, frame: &Frame, deaths: &Deaths, began_ns: Option<u64>) {
        let Some(lineage) = &mut self.lineage else { return };
        for (place, dead) in deaths.iter().enumerate() {
            let parent = deaths.parent(place).map(|parent| (parent.id.0, Some(parent.id.1)));
            let heir = parent.or_else(|| deaths.heir(dead));
            let comm = self.names.of_row(frame, Section::Exited, dead.record as usize);
            lineage.end((dead.id, comm), heir, of_dead(deaths, dead, began_ns));
        }
    }

    fn extend(&mut self, when: Instants) {
        let own = self.extent.get_or_insert(when);
        own.start_realtime_ns = own.start_realtime_ns.min(when.start_realtime_ns);
        own.end_realtime_ns = own.end_realtime_ns.max(when.end_realtime_ns);
    }

    /// Adds what came after, for the same dimensions and the same time line.
    pub fn merge(&mut self, later: Accumulator) {
        let comms = self.names.take(&later.names);
        for ((_, own), (_, more)) in self.tables.iter_mut().zip(&later.tables) {
            own.merge(more, |key| key.renumbered(&comms));
        }
        if let (Some(own), Some(more)) = (&mut self.lineage, later.lineage) {
            own.merge(more, &comms);
        }
        self.balance.add(&later.balance);
        self.devices.iter_mut().zip(&later.devices).for_each(|(own, more)| own.add(more));
        for (own, more) in self.buckets.iter_mut().zip(&later.buckets) {
            own.add(more);
        }
        self.within.outside_ns = self.within.outside_ns.saturating_add(later.within.outside_ns);
        later.extent.into_iter().for_each(|extent| self.extend(extent));
        self.forget_names(self.names.most_bytes());
    }

    /// Forgets all that was added, but for who descends from whom: what is added next is a span of its own.
    pub fn begin_again(&mut self) {
        self.tables.iter_mut().for_each(|(_, table)| *table = Table::default());
        self.lineage.iter_mut().for_each(Lineage::forget_amounts);
        self.within.outside_ns = 0;
        self.balance = Balance::default();
        self.devices.iter_mut().for_each(|devices| *devices = DeviceSums::default());
        self.buckets.iter_mut().for_each(|bucket| *bucket = Balance::default());
        self.extent = None;
        if self.forget_names(2 * self.begun_bytes) {
            self.begun_bytes = self.names.bytes();
        }
    }

    /// Number of intervals.
    pub fn intervals(&self) -> u64 {
        self.balance.intervals
    }

    /// From the begin of the first interval to the end of the last; `None`: there was none.
    pub fn extent(&self) -> Option<Instants> {
        self.extent
    }

    /// The names with the most time, at most `top`, and the rest as one.
    pub fn report(&self, by: Dimension, top: usize) -> Report {
        self.report_named(by, top, |name| name)
    }

    /// Likewise, but of all names those of which `weigh` says most. So branches stand alone, and none is left out for those above it.
    pub fn report_ranked(
        &self,
        (by, top): (Dimension, usize),
        weigh: impl Fn(&Amounts) -> Option<u64>,
        named: impl Fn(Name) -> Name,
    ) -> Report {
        let mut report = self.report_named(by, usize::MAX, named);
        report.rank(top, weigh);
        report
    }

    /// Likewise, with names that others stand for: rows of the same name are one.
    pub fn report_named(&self, by: Dimension, top: usize, named: impl Fn(Name) -> Name) -> Report {
        let mut report = Report {
            rows: Vec::new(),
            other: Amounts::default(),
            other_names: 0,
            outside_ns: self.within.outside_ns,
            balance: self.balance,
            extent: self.extent,
            time_line: self.time_line,
            buckets: self.buckets.clone(),
            devices: self.devices.clone(),
        };
        report.devices.iter_mut().for_each(|devices| devices.disks.keep(top));
        match by {
            Dimension::Ancestor => {
                let mut names = self.names.clone();
                let tree = self.lineage.as_ref().map(|lineage| lineage.tree(&mut names));
                report::flatten(&mut report, &tree.unwrap_or_default(), &names, top);
                report.outside_ns = 0;
            }
            _ => {
                let table = self.tables.iter().find(|(own, _)| *own == by);
                if let Some((_, table)) = table {
                    let lines =
                        table.lines.iter().map(|(key, line)| (named(name_of(&self.names, *key)), line));
                    report.take(lines, top);
                    report.add_rest(&table.rest.tally.amounts(), table.rest_keys);
                }
            }
        }
        // Whether what is not shown meets conditions is not known.
        let hidden = if self.within.is_narrow() && by != Dimension::Ancestor {
            &mut report.outside_ns
        } else {
            &mut report.other.self_ns
        };
        *hidden = hidden.saturating_add(self.balance.hidden_ns);
        report
    }
}

/// What one of the dead has used, and what accounts have booked to it.
fn of_dead<'a>(deaths: &'a Deaths, dead: &Dead, began_ns: Option<u64>) -> (SumOfDead, Option<&'a Booked>) {
    (SumOfDead::of(dead.used, dead.births(began_ns)), deaths.booked(dead))
}

/// What a row did off the CPU.
fn off_of(table: &cpuledger_model::frame::Table, row: usize) -> Off {
    let [elapsed_ns, blocked_ns, io_wait_ns, sleep_ns, stopped_ns, unseen_ns] =
        OFF.map(|column| table.get(column, row));
    Off { elapsed_ns, blocked_ns, io_wait_ns, sleep_ns, stopped_ns, unseen_ns }
}

/// What is counted of a row besides.
fn counted_of(table: &cpuledger_model::frame::Table, row: usize) -> Counted {
    let grown = |column: Column| column.growth().and_then(|column| table.get(column, row));
    Counted { counters: Counted::COUNTERS.map(grown), rss_peak_bytes: table.get(Column::RSS_BYTES, row) }
}

/// The numbers of a row.
fn cgroup_ids(table: &cpuledger_model::frame::Table, row: usize) -> CgroupIds {
    (table.get(Column::CGROUP_ID, row), table.get(Column::CGROUP_V1_CPU_ID, row))
}

/// Begin of the interval by the clock of starts.
fn began_boottime_ns(frame: &Frame) -> Option<u64> {
    let slept_ns = frame.figure(Column::SUSPENDED_NS).unwrap_or_default();
    let awake_ns = frame.figure(Column::END_BOOTTIME_NS)?.checked_sub(frame.length_ns()?)?;
    Some(awake_ns.saturating_sub(slept_ns))
}

fn is_birth(start: Option<u64>, began_ns: Option<u64>) -> u64 {
    u64::from(start.zip(began_ns).is_some_and(|(start, began_ns)| start >= began_ns))
}
