//! Records of a walk as rows that are handed out one at a time: no row is kept.

use std::ops::ControlFlow;

use cpuledger_bpf::{Walked, abi};

use crate::snapshot::Request;
use crate::source::records::{Decoder, set_counters};
use crate::source::{Families, FamilyVisitor, Member};

/// Tasks of a part: their lines stay in the cache of who writes them.
const PART_TASKS: usize = 2048;

/// Every process by its pid, each followed by its tasks, the leader first. Only for records of which each leader is
/// followed by its threads.
pub(super) struct RecordedFamilies<'a> {
    decoder: Decoder<'a>,
    processes: Vec<&'a abi::cpuledger_process>,
    begins: Vec<Place>,
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
    pub(super) fn new(walked: Walked<'a>, request: &Request) -> RecordedFamilies<'a> {
        let ends = walked.processes.iter().skip(1).map(|next| next.task_index as usize);
        let ends = ends.chain([walked.tasks.len()]);
        let mut sized: Vec<(&abi::cpuledger_process, usize)> = walked
            .processes
            .iter()
            .zip(ends)
            .map(|(process, end)| (process, end.saturating_sub(process.task_index as usize)))
            .collect();
        sized.sort_by_key(|(process, _)| process.pid);
        sized.dedup_by_key(|(process, _)| process.pid);
        let begins = cut(sized.iter().map(|(_, size)| *size), PART_TASKS);
        let processes = sized.into_iter().map(|(process, _)| process).collect();
        RecordedFamilies { decoder: Decoder::new(walked, request), processes, begins }
    }
}

/// Where parts of so many tasks begin in processes of these sizes.
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
        for (index, process) in self.processes.iter().enumerate().skip(begin.process) {
            let first = if index == begin.process { begin.tasks } else { 0 };
            let last = match end {
                Some(end) if index > end.process || index == end.process && end.tasks == 0 => break,
                Some(end) if index == end.process => end.tasks,
                _ => usize::MAX,
            };
            let Some(shared) = self.decoder.process_row(process) else { continue };
            // One row for all of them: copying what they share costs as much as the rest.
            let mut row = shared;
            set_counters(&mut row, &process.group);
            each(if first == 0 { Member::Process(&row) } else { Member::Rest(&row) })?;
            let members = self.decoder.family(process.task_index as usize + first, process.pid);
            for record in members.take(last - first) {
                self.decoder.set_task(&mut row, &shared, &record);
                each(Member::Task(&row))?;
            }
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
