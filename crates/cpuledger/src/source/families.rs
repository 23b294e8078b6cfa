//! Records of a walk as rows that are handed out one at a time: no row is kept.

use std::ops::{ControlFlow, Range};

use cpuledger_bpf::{Walked, abi};
use cpuledger_client::families::{Families, FamilyVisitor, Member, PART_TASKS};
use cpuledger_model::snapshot::{Request, Snapshot};
use cpuledger_model::task::Task;

use crate::source::io_access::IoAccess;
use crate::source::records::{Decoder, set_counters};

/// Every process by its pid, each followed by its tasks, the leader first. Only for records of which each leader is
/// followed by its threads.
pub(super) struct RecordedFamilies<'a> {
    decoder: Decoder<'a>,
    processes: Vec<Family<'a>>,
    begins: Vec<Place>,
}

/// One process.
struct Family<'a> {
    pid: i32,
    process: Process<'a>,
    /// How many of its tasks were recorded.
    recorded: usize,
    /// Those that were not.
    unseen: &'a [Task],
}

/// Where it is told of.
enum Process<'a> {
    Recorded(&'a abi::cpuledger_process),
    Unseen(&'a Task),
}

/// Where a part begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    /// In the list of processes.
    process: usize,
    /// How many of its tasks come before.
    tasks: usize,
}

impl<'a> RecordedFamilies<'a> {
    /// Of the records of a walk, and of rows of those that it did not see, sorted by pid.
    pub(super) fn new(walked: Walked<'a>, request: &Request, unseen: &'a Snapshot) -> RecordedFamilies<'a> {
        let tasks_of = |pid: i32| {
            let begin = unseen.tasks.partition_point(|row| row.pid.0 < pid);
            &unseen.tasks[begin..begin + unseen.tasks[begin..].partition_point(|row| row.pid.0 == pid)]
        };
        let ends = walked.processes.iter().skip(1).map(|next| next.task_index as usize);
        let ends = ends.chain([walked.tasks.len()]);
        let recorded = walked.processes.iter().zip(ends).map(|(process, end)| Family {
            pid: process.pid,
            process: Process::Recorded(process),
            recorded: end.saturating_sub(process.task_index as usize),
            unseen: tasks_of(process.pid),
        });
        let told = unseen.processes.iter().map(|row| Family {
            pid: row.pid.0,
            process: Process::Unseen(row),
            recorded: 0,
            unseen: tasks_of(row.pid.0),
        });
        let mut processes: Vec<Family<'a>> = recorded.chain(told).collect();
        processes.sort_by_key(|family| family.pid);
        processes.dedup_by_key(|family| family.pid);
        let begins = cut(processes.iter().map(|family| family.recorded + family.unseen.len()), PART_TASKS);
        RecordedFamilies { decoder: Decoder::new(walked, request, IoAccess::of_caller()), processes, begins }
    }

    /// The process and those of its tasks that have these places among them.
    fn visit_family(
        &self,
        family: &Family<'_>,
        places: Range<usize>,
        each: FamilyVisitor<'_>,
    ) -> ControlFlow<()> {
        let is_first = places.start == 0;
        let open = |row| if is_first { Member::Process(row) } else { Member::Rest(row) };
        let unseen = family.unseen.iter().skip(places.start.saturating_sub(family.recorded));
        let unseen = unseen.take(places.end.saturating_sub(places.start.max(family.recorded)));
        match family.process {
            Process::Unseen(row) => each(open(row))?,
            Process::Recorded(process) => {
                let Some(shared) = self.decoder.process_row(process) else {
                    return ControlFlow::Continue(());
                };
                // One row for all of them: copying what they share costs as much as the rest.
                let mut row = shared;
                set_counters(&mut row, &process.group);
                each(open(&row))?;
                let members = self.decoder.family(process.task_index as usize + places.start, process.pid);
                for record in members.take(places.end.min(family.recorded).saturating_sub(places.start)) {
                    self.decoder.set_task(&mut row, &shared, &record);
                    each(Member::Task(&row))?;
                }
            }
        }
        unseen.map(Member::Task).try_for_each(each)
    }
}

/// Where parts of this number of tasks begin in processes of these sizes.
fn cut(sizes: impl Iterator<Item = usize>, part: usize) -> Vec<Place> {
    let mut begins = vec![Place { process: 0, tasks: 0 }];
    let mut room = part;
    for (process, size) in sizes.enumerate() {
        let mut tasks = 0;
        while size - tasks > room {
            tasks += room;
            begins.push(Place { process, tasks });
            room = part;
        }
        room -= size - tasks;
    }
    begins
}

impl Families for RecordedFamilies<'_> {
    fn parts(&self) -> usize {
        self.begins.len()
    }

    fn visit(&self, part: usize, each: FamilyVisitor<'_>) -> ControlFlow<()> {
        let begin = self.begins[part];
        let end = self.begins.get(part + 1);
        for (index, family) in self.processes.iter().enumerate().skip(begin.process) {
            let first = if index == begin.process { begin.tasks } else { 0 };
            let last = match end {
                Some(end) if index > end.process || index == end.process && end.tasks == 0 => break,
                Some(end) if index == end.process => end.tasks,
                _ => usize::MAX,
            };
            self.visit_family(family, first..last, each)?;
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_cut_within_processes() {
        let place = |process, tasks| Place { process, tasks };
        assert_eq!(cut([].into_iter(), 4), [place(0, 0)]);
        assert_eq!(cut([1, 2, 1].into_iter(), 4), [place(0, 0)]);
        assert_eq!(cut([1, 9, 3].into_iter(), 4), [place(0, 0), place(1, 3), place(1, 7), place(2, 2)]);
        assert_eq!(cut([4, 3].into_iter(), 4), [place(0, 0), place(1, 0)]);
    }
}
