//! Which arguments are still to be read: those in sight and, before a filter or a search looks at them, those of all rows that it may find.

use cpuledger::{Boottime, Comm, Task, TaskId};

use super::State;
use crate::tui::frame::RowRef;
use crate::tui::listing::Item;
use crate::tui::mode::{Mode, PromptKind};

/// How many are asked for at a time: more only when these are known.
const MOST_ASKED: usize = 256;

impl State {
    /// The rows whose arguments are wanted and not known, those in sight first.
    pub fn unread(&self) -> Vec<Task> {
        let Some(frame) = self.frame.as_ref().filter(|_| self.can_read_arguments()) else {
            return Vec::new();
        };
        let mut rows: Vec<Task> = Vec::new();
        let mut add = |at: RowRef| {
            let row = frame.whole(at);
            let is_asked = rows.iter().any(|asked| asked.pid == row.pid);
            if rows.len() < MOST_ASKED && !is_asked && self.arguments.is_wanted(row) {
                rows.push(*row);
            }
        };
        if self.shows_arguments() {
            let seen = self.listing.entries.iter().skip(self.top).take(usize::from(self.layout.rows.1));
            let at = |item: Item| if let Item::Row(at) = item { Some(at) } else { None };
            seen.filter_map(|entry| at(entry.item)).for_each(&mut add);
        }
        self.listing.unread.iter().copied().for_each(&mut add);
        if self.query.needs_arguments() || self.is_searching() {
            let making = self.making(frame);
            frame.all(making.kind()).filter(|&at| making.is_candidate(at)).for_each(&mut add);
        }
        rows
    }

    /// Whether the files of processes are those of the processes that are shown.
    pub(super) fn can_read_arguments(&self) -> bool {
        !self.strip.as_ref().is_some_and(|strip| strip.is_of_other_boot) && !self.arguments.is_full()
    }

    /// Whether text is searched for, and all arguments are to be known for that.
    fn is_searching(&self) -> bool {
        let is_open = matches!(&self.mode, Mode::Prompt(prompt) if prompt.kind == PromptKind::Search);
        !self.search.is_empty() && (is_open || self.seek.is_some())
    }

    /// Takes arguments that were read.
    pub fn learn(&mut self, process: TaskId, comm: Comm, read: Boottime, arguments: Option<Box<[u8]>>) {
        self.arguments.learn(process, comm, read, arguments);
        self.has_learned = true;
    }

    /// Filters by what was learned, and finds processes that are alike, after all of it that has come; whether there was any.
    pub fn settle(&mut self) -> bool {
        let has_learned = std::mem::take(&mut self.has_learned);
        if has_learned && (self.query.needs_arguments() || !self.listing.unread.is_empty()) {
            self.forget_order();
            self.list_again();
        }
        has_learned
    }
}
