//! The cursor stays with what the user has put it on, wherever that goes, so that no key reaches another task than the one that was seen.

use cpuledger::{TaskId, Tid};
use cpuledger_proc::escape::escaped;

use cpuledger_view::group::Name;

use super::State;
use crate::tui::frame::{Frame, Kind, RowRef};
use crate::tui::listing::{Entry, Followed, Id, Item};

impl State {
    /// Puts the cursor on a line, to stay with what it shows.
    pub fn select(&mut self, index: usize) {
        self.selected = index;
        self.stay();
        self.clamp();
    }

    /// Leaves the cursor where it is, whatever comes there.
    pub fn unfollow(&mut self) {
        (self.followed, self.is_lost) = (None, false);
    }

    /// Goes to the first line, and stays there.
    pub fn go_first(&mut self) {
        self.selected = 0;
        self.unfollow();
        self.clamp();
    }

    /// From now on the cursor stays with what it is on.
    pub fn stay(&mut self) {
        self.is_lost = false;
        self.followed = self.entry().and_then(|entry| {
            let name = self.name(entry)?;
            Some(Followed { id: self.id(entry)?, name })
        });
    }

    /// Rows become those of tasks, or of processes: the cursor goes from a process to its first thread, and from a thread to its process.
    pub fn change_kind(&mut self, kind: Kind) {
        let Some(frame) = self.frame.as_ref().filter(|_| self.followed.is_some()) else { return };
        let process = self.row().and_then(|(_, row)| frame.process(row.pid));
        let Some(process) = process.map(|at| frame.whole(at)) else { return };
        let id = TaskId { tid: Tid(process.pid.0), ..process.id() };
        let name = format!("{} ({})", process.pid, escaped(process.comm.as_bytes()));
        self.followed = Some(Followed { id: Id::Row(kind, id), name });
        // The frame that has these rows may still have to come.
        self.is_lost = true;
    }

    /// Whether the cursor is on this line.
    pub fn has_cursor(&self, index: usize) -> bool {
        index == self.selected && !self.is_lost
    }

    /// Moves the cursor to where its row is now.
    pub fn find_cursor(&mut self) {
        let found = self.followed.as_ref().map(|followed| self.find(&followed.id));
        self.is_lost = found == Some(None);
        if let Some(Some(index)) = found {
            self.selected = index;
        }
    }

    /// The line of an identity.
    fn find(&self, id: &Id) -> Option<usize> {
        if let Id::Row(kind, task) = id {
            let at = self.frame.as_ref()?.find(*kind, *task)?;
            return self.listing.entries.iter().position(|entry| entry.item == Item::Row(at));
        }
        self.listing.entries.iter().position(|entry| self.id(entry).as_ref() == Some(id))
    }

    /// The identity of a line.
    pub fn id(&self, entry: &Entry) -> Option<Id> {
        let frame = self.frame.as_ref()?;
        Some(match entry.item {
            Item::Row(at) => Id::Row(at.kind, frame.whole(at).id()),
            Item::Group(index) => Id::Group(self.sum_name(index)?.clone()),
            Item::ExitedName(index) => {
                let heir = self.listing.heir(index).map(|heir| heir.pid);
                Id::ExitedName(heir, self.sum_name(index)?.clone())
            }
            Item::Exited(index) => Id::Exited(frame.exited().get(index as usize)?.exit.task),
            Item::Alike(index) => Id::Alike(self.listing.alike(index)?.of.clone()),
        })
    }

    fn name(&self, entry: &Entry) -> Option<String> {
        let frame = self.frame.as_ref()?;
        Some(match entry.item {
            Item::Row(at) => named(frame, at),
            Item::Group(index) | Item::ExitedName(index) | Item::Alike(index) => {
                self.sum_name(index)?.label().to_owned()
            }
            Item::Exited(index) => {
                let exit = &frame.exited().get(index as usize)?.exit;
                format!("{} ({})", exit.task.tid, escaped(exit.comm.as_bytes()))
            }
        })
    }

    fn sum_name(&self, index: u32) -> Option<&Name> {
        self.listing.sums.get(index as usize).map(|sum| &sum.name)
    }
}

fn named(frame: &Frame, at: RowRef) -> String {
    let row = frame.whole(at);
    let number = if at.kind == Kind::Task { row.tid.0 } else { row.pid.0 };
    format!("{number} ({})", escaped(row.comm.as_bytes()))
}
