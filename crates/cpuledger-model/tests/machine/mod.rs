//! A machine whose tasks run, rest, fork and die, and the frame of any interval of it: the truth that merges are compared with.

use std::collections::BTreeMap;

use cpuledger_model::frame::{Column, Frame, Section};
use proptest::prelude::*;

/// What a task may do: run, or rest in one of the six states of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Does {
    Runs,
    Waits,
    Rests(u8),
}

/// Something that happens; tasks are taken by their number among the living.
#[derive(Debug, Clone, Copy)]
pub enum Event {
    /// The task runs for this time, and then rests in this state.
    Run(usize, u64, u8),
    /// The task runs for this time, and forks: a process, or a thread of its own.
    Fork(usize, u64, bool),
    /// The task runs for this time, and dies.
    Exit(usize, u64),
    /// The task and all others of its process die.
    ExitProcess(usize, u64),
    /// No task runs.
    Idle(u64),
}

/// Any event.
fn event() -> impl Strategy<Value = Event> {
    let (task, ns) = (0usize..64, 1u64..1000);
    prop_oneof![
        8 => (task.clone(), ns.clone(), any::<u8>()).prop_map(|(task, ns, state)| Event::Run(task, ns, state)),
        3 => (task.clone(), ns.clone(), any::<bool>()).prop_map(|(task, ns, is_process)| Event::Fork(task, ns, is_process)),
        2 => (task.clone(), ns.clone()).prop_map(|(task, ns)| Event::Exit(task, ns)),
        1 => (task, ns.clone()).prop_map(|(task, ns)| Event::ExitProcess(task, ns)),
        2 => ns.prop_map(Event::Idle),
    ]
}

/// Any events; the number says whether a cut follows: see [`intervals`].
pub fn events() -> impl Strategy<Value = Vec<(Event, u8)>> {
    prop::collection::vec((event(), 0u8..6), 1..80)
}

/// What happened, and the frames between the cuts: after an event with 1 or 2, and this long into an event with 0.
pub fn intervals(events: Vec<(Event, u8)>, lag_ns: u64) -> (Machine, Vec<Frame>) {
    let mut machine = Machine::new();
    let mut cuts = vec![machine.now_ns];
    for (event, cuts_after) in events {
        let before_ns = machine.now_ns;
        machine.act(event);
        let cut_ns = if cuts_after == 0 { before_ns + lag_ns } else { machine.now_ns };
        if cuts_after < 3 && cut_ns > *cuts.last().expect("one") && cut_ns <= machine.now_ns {
            cuts.push(cut_ns);
        }
    }
    machine.act(Event::Run(0, 1, 1));
    cuts.push(machine.now_ns);
    let frames = cuts.windows(2).map(|cut| machine.frame(cut[0], cut[1])).collect();
    (machine, frames)
}

#[derive(Debug, Clone)]
struct Task {
    tid: i64,
    process: usize,
    start_ns: u64,
    end_ns: Option<u64>,
    /// Since when it does what.
    does: Vec<(u64, Does)>,
}

#[derive(Debug, Clone)]
struct Process {
    pid: i64,
    start_ns: u64,
    end_ns: Option<u64>,
    parent: usize,
}

/// All that ever was.
#[derive(Debug, Clone)]
pub struct Machine {
    pub now_ns: u64,
    tasks: Vec<Task>,
    processes: Vec<Process>,
}

/// Figures of a life: by state (waits, sleeps, blocked, for I/O, stopped, unseen), on a CPU, and alive.
#[derive(Debug, Clone, Copy, Default)]
struct Spent {
    rested_ns: [u64; 6],
    ran_ns: u64,
    alive_ns: u64,
}

impl Spent {
    fn add(&mut self, other: &Spent) {
        for (own, more) in self.rested_ns.iter_mut().zip(other.rested_ns) {
            *own += more;
        }
        self.ran_ns += other.ran_ns;
        self.alive_ns += other.alive_ns;
    }
}

/// A row with what it spent and how its tasks rested.
#[derive(Debug, Clone, Copy, Default)]
struct Row {
    spent: Spent,
    at_start: [u64; 6],
    at_end: [u64; 6],
}

impl Row {
    fn add(&mut self, other: &Row) {
        self.spent.add(&other.spent);
        for (own, more) in self.at_start.iter_mut().zip(other.at_start) {
            *own += more;
        }
        for (own, more) in self.at_end.iter_mut().zip(other.at_end) {
            *own += more;
        }
    }

    /// `is_dead`: it rests no more at the end.
    fn tell(&self, frame: &mut Frame, section: Section, row: usize, is_dead: bool) {
        let [waits, sleeps, blocked, io, stopped, unseen] = self.spent.rested_ns;
        let table = frame.table_mut(section);
        for (column, value) in [
            (Column::ELAPSED_NS, self.spent.alive_ns),
            (Column::WAITING_NS, waits),
            (Column::SLEEP_NS, sleeps),
            (Column::BLOCKED_NS, blocked + io),
            (Column::IO_WAIT_NS, io),
            (Column::STOPPED_NS, stopped),
            (Column::UNSEEN_NS, unseen),
        ] {
            table.set(column, row, Some(value));
        }
        for (columns, counts) in [(Column::OFF_AT_START, self.at_start), (Column::OFF_AT_END, self.at_end)] {
            for (column, count) in columns.into_iter().zip(counts) {
                if columns == Column::OFF_AT_START || !is_dead {
                    table.set(column, row, Some(count));
                }
            }
        }
        if section != Section::Exited
            && let Some(growth) = Column::RUNQUEUE_WAIT_NS.growth()
        {
            table.set(growth, row, Some(waits));
        }
    }
}

impl Machine {
    /// When it begins.
    pub const BEGIN_NS: u64 = 1000;

    /// With init, which has one task.
    fn new() -> Machine {
        let mut machine = Machine { now_ns: Machine::BEGIN_NS, tasks: Vec::new(), processes: Vec::new() };
        machine.fork(0, true);
        machine
    }

    fn fork(&mut self, process: usize, is_process: bool) {
        let tid = self.tasks.len() as i64 + 1;
        let process = if is_process {
            let (pid, start_ns) = (tid, self.now_ns);
            self.processes.push(Process { pid, start_ns, end_ns: None, parent: process });
            self.processes.len() - 1
        } else {
            process
        };
        let does = vec![(self.now_ns, Does::Waits)];
        self.tasks.push(Task { tid, process, start_ns: self.now_ns, end_ns: None, does });
    }

    fn living(&self, nth: usize) -> usize {
        let living: Vec<usize> =
            (0..self.tasks.len()).filter(|&task| self.tasks[task].end_ns.is_none()).collect();
        living[nth % living.len()]
    }

    fn run(&mut self, task: usize, ns: u64) {
        self.tasks[task].does.push((self.now_ns, Does::Runs));
        self.now_ns += ns;
    }

    fn rest(&mut self, task: usize, does: Does) {
        let now_ns = self.now_ns;
        self.tasks[task].does.push((now_ns, does));
    }

    fn end(&mut self, task: usize) {
        self.now_ns += 1;
        let process = self.tasks[task].process;
        self.tasks[task].end_ns = Some(self.now_ns);
        if !self.tasks.iter().any(|other| other.process == process && other.end_ns.is_none()) {
            self.processes[process].end_ns = Some(self.now_ns);
        }
    }

    /// Lets it happen. The last task of init does not die.
    pub fn act(&mut self, event: Event) {
        match event {
            Event::Run(nth, ns, state) => {
                let task = self.living(nth);
                self.run(task, ns);
                self.rest(task, Does::Rests(state % 6));
            }
            Event::Fork(nth, ns, is_process) => {
                let task = self.living(nth);
                self.run(task, ns);
                self.fork(self.tasks[task].process, is_process);
                self.rest(task, Does::Waits);
            }
            Event::Exit(nth, ns) => {
                let task = self.living(nth);
                self.run(task, ns);
                self.exit(&[task]);
            }
            Event::ExitProcess(nth, ns) => {
                let task = self.living(nth);
                let process = self.tasks[task].process;
                self.run(task, ns);
                let is_of =
                    |task: &usize| self.tasks[*task].process == process && self.tasks[*task].end_ns.is_none();
                let all: Vec<usize> = (0..self.tasks.len()).filter(is_of).collect();
                self.rest(task, Does::Waits);
                self.exit(&all);
            }
            Event::Idle(ns) => self.now_ns += ns,
        }
    }

    fn exit(&mut self, tasks: &[usize]) {
        for &task in tasks {
            let is_init = self.tasks[task].process == 0;
            let alone =
                self.tasks.iter().filter(|other| other.process == 0 && other.end_ns.is_none()).count() == 1;
            if is_init && alone {
                // It rests as before, unless it was the one that ran.
                if self.tasks[task].does.last().is_some_and(|(_, does)| *does == Does::Runs) {
                    self.rest(task, Does::Rests(1));
                }
                continue;
            }
            // A task dies on a CPU.
            if self.tasks[task].does.last().is_some_and(|(_, does)| *does != Does::Runs) {
                self.run(task, 1);
            }
            self.end(task);
        }
    }

    fn row(&self, task: &Task, start_ns: u64, end_ns: u64) -> Row {
        let mut row = Row::default();
        let died_ns = task.end_ns.unwrap_or(u64::MAX);
        for (place, &(since_ns, does)) in task.does.iter().enumerate() {
            let until_ns = task.does.get(place + 1).map_or(died_ns, |(next_ns, _)| *next_ns);
            let (from_ns, to_ns) = (since_ns.max(start_ns), until_ns.min(end_ns));
            let ns = to_ns.saturating_sub(from_ns);
            // Where a task begins to run just then, it counts how it rested.
            let next_runs = task.does.get(place + 1).is_some_and(|(_, next)| *next == Does::Runs);
            let is_at =
                |at_ns: u64| since_ns <= at_ns && (at_ns < until_ns || (at_ns == until_ns && next_runs));
            row.spent.alive_ns += ns;
            let state = match does {
                Does::Runs => {
                    row.spent.ran_ns += ns;
                    continue;
                }
                Does::Waits => 0,
                Does::Rests(state) => usize::from(state),
            };
            row.spent.rested_ns[state] += ns;
            row.at_start[state] += u64::from(is_at(start_ns));
            row.at_end[state] += u64::from(is_at(end_ns));
        }
        row
    }

    /// The first process above this one that lives then.
    fn heir(&self, process: usize, at_ns: u64) -> usize {
        let mut heir = self.processes[process].parent;
        while self.processes[heir].end_ns.is_some_and(|end_ns| end_ns <= at_ns) {
            heir = self.processes[heir].parent;
        }
        heir
    }

    /// The frame of an interval.
    pub fn frame(&self, start_ns: u64, end_ns: u64) -> Frame {
        let mut frame = Frame::new();
        let has_died = |end: Option<u64>| end.is_some_and(|at_ns| at_ns <= end_ns);
        // Born by then, and alive when it began.
        let is_of =
            |task: &&Task| task.start_ns <= end_ns && task.end_ns.is_none_or(|at_ns| at_ns > start_ns);
        let tasks: Vec<(&Task, Row)> =
            self.tasks.iter().filter(is_of).map(|task| (task, self.row(task, start_ns, end_ns))).collect();
        let (mut rows, mut parts) = (BTreeMap::<usize, Row>::new(), BTreeMap::<usize, [u64; 3]>::new());
        for (task, row) in &tasks {
            let ns = row.spent.ran_ns;
            if has_died(self.processes[task.process].end_ns) {
                parts.entry(self.heir(task.process, end_ns)).or_default()[2] += ns;
            } else {
                let place = usize::from(has_died(task.end_ns));
                parts.entry(task.process).or_default()[place] += ns;
                rows.entry(task.process).or_default().add(row);
            }
        }
        parts.retain(|_, parts| parts.iter().sum::<u64>() > 0);
        self.tell_processes(&mut frame, &rows, &parts, end_ns);
        let ran: Vec<_> =
            tasks.iter().filter(|(task, row)| !has_died(task.end_ns) && row.spent.ran_ns > 0).collect();
        let mut ran: Vec<(&Task, Row)> = ran.into_iter().map(|(task, row)| (*task, *row)).collect();
        ran.sort_by_key(|(task, _)| {
            let pid = self.processes[task.process].pid;
            (pid, task.tid != pid, task.tid)
        });
        self.tell_tasks(&mut frame, Section::Tasks, &ran, end_ns);
        let mut dead: Vec<_> = tasks.into_iter().filter(|(task, _)| has_died(task.end_ns)).collect();
        dead.sort_by_key(|(task, _)| task.end_ns);
        self.tell_tasks(&mut frame, Section::Exited, &dead, end_ns);
        let attributed_ns = parts.values().flatten().sum::<u64>();
        for (column, value) in [
            (Column::START_NS, start_ns),
            (Column::END_NS, end_ns),
            (Column::END_BOOTTIME_NS, end_ns),
            (Column::ATTRIBUTED_NS, attributed_ns),
            (Column::CAPACITY_NS, end_ns - start_ns),
            (Column::IDLE_NS, end_ns - start_ns - attributed_ns),
            (Column::KNOWS_EXITS, 1),
        ] {
            frame.set_figure(column, Some(value));
        }
        frame
    }

    fn tell_processes(
        &self,
        frame: &mut Frame,
        rows: &BTreeMap<usize, Row>,
        parts: &BTreeMap<usize, [u64; 3]>,
        end_ns: u64,
    ) {
        frame.table_mut(Section::Processes).reset(parts.len());
        for (row, (process, parts)) in parts.iter().enumerate() {
            let Process { pid, start_ns, .. } = self.processes[*process];
            let heir = &self.processes[self.heir(*process, end_ns)];
            let table = frame.table_mut(Section::Processes);
            table.set_signed(Column::TID, row, Some(pid));
            table.set_signed(Column::PID, row, Some(pid));
            table.set(Column::START_TIME_NS, row, Some(start_ns));
            if heir.pid != pid {
                table.set_signed(Column::ACCOUNTING_PPID, row, Some(heir.pid));
                table.set(Column::ACCOUNTING_START_NS, row, Some(heir.start_ns));
            }
            let [self_ns, of_threads, of_children] = *parts;
            table.set(Column::CPU_NS, row, Some(parts.iter().sum()));
            table.set(Column::SELF_NS, row, Some(self_ns));
            table.set(Column::EXITED_THREADS_NS, row, Some(of_threads));
            table.set(Column::EXITED_CHILDREN_NS, row, Some(of_children));
            if let Some(told) = rows.get(process) {
                told.tell(frame, Section::Processes, row, false);
            }
        }
    }

    fn tell_tasks(&self, frame: &mut Frame, section: Section, tasks: &[(&Task, Row)], end_ns: u64) {
        frame.table_mut(section).reset(tasks.len());
        for (row, (task, told)) in tasks.iter().enumerate() {
            let process = &self.processes[task.process];
            let table = frame.table_mut(section);
            table.set_signed(Column::TID, row, Some(task.tid));
            table.set_signed(Column::PID, row, Some(process.pid));
            table.set(Column::START_TIME_NS, row, Some(task.start_ns));
            table.set(Column::CPU_NS, row, Some(told.spent.ran_ns));
            if section == Section::Exited {
                let heir = &self.processes[self.heir(task.process, end_ns)];
                table.set(Column::PROCESS_START_NS, row, Some(process.start_ns));
                table.set(Column::ENDS_PROCESS, row, Some((process.end_ns == task.end_ns).into()));
                table.set_signed(Column::ACCOUNTING_PPID, row, Some(heir.pid));
                table.set(Column::ACCOUNTING_START_NS, row, Some(heir.start_ns));
            }
            told.tell(frame, section, row, section == Section::Exited);
        }
    }
}
