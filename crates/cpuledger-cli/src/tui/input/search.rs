//! The search for a line of the table.

use crate::tui::frame::RowRef;
use crate::tui::listing::Item;
use crate::tui::mode::{Mode, PromptKind};
use crate::tui::state::State;

impl State {
    /// Finds what is searched for from that line on, then from the beginning. Where it is in no line, but arguments are still being
    /// read, the search goes on when they are known.
    pub fn search_from(&mut self, from: usize) {
        self.seek = None;
        if self.search.is_empty() {
            return;
        }
        let count = self.listing.entries.len();
        let wanted = self.search.to_lowercase();
        let found =
            (0..count).map(|step| (from + step) % count.max(1)).find(|&index| self.has_text(index, &wanted));
        if let Some(index) = found {
            self.select(index);
            return self.unfold_to(&wanted);
        }
        self.seek = Some(from);
        if self.unread().is_empty() {
            self.seek = None;
            self.complain(format!("no row has `{}` in its name or arguments", self.search));
        }
    }

    /// Where the number of one process is searched for among those that share a line, it is listed, and has the cursor.
    fn unfold_to(&mut self, wanted: &str) {
        let (Some(frame), Some(Item::Alike(sum))) = (&self.frame, self.entry().map(|entry| entry.item))
        else {
            return;
        };
        let is_wanted = |at: &&RowRef| frame.whole(**at).tid.0.to_string() == wanted;
        let rows = self.listing.alike(sum).filter(|alike| alike.is_folded);
        let found = rows.and_then(|alike| alike.rows.iter().find(is_wanted).copied());
        let Some(found) = found else { return };
        self.fold(false);
        let place = self.listing.entries.iter().position(|entry| entry.item == Item::Row(found));
        if let Some(place) = place {
            self.select(place);
        }
    }

    /// Searches from where the line to fill in was opened, and says there what is not found.
    pub(super) fn search_in_prompt(&mut self, from: usize) {
        self.search_from(from);
        let nothing = self.message.take().map(|message| message.text);
        if let Mode::Prompt(prompt) = &mut self.mode {
            prompt.error = nothing;
        }
    }

    /// Arguments were read: a search that waits for them goes on.
    pub fn search_on(&mut self) {
        let Some(from) = self.seek else { return };
        match &self.mode {
            Mode::Prompt(prompt) if prompt.kind == PromptKind::Search => self.search_in_prompt(from),
            _ => self.search_from(from),
        }
    }

    fn has_text(&self, index: usize, wanted: &str) -> bool {
        let Some(frame) = &self.frame else { return false };
        let item = self.listing.entries[index].item;
        let has = |bytes: &[u8]| String::from_utf8_lossy(bytes).to_lowercase().contains(wanted);
        let has_dead = |index: usize| has(frame.exited()[index].exit.comm.as_bytes());
        let has_number = |at: RowRef| frame.whole(at).tid.0.to_string() == wanted;
        let has_words = |at: RowRef| {
            let row = frame.whole(at);
            has(row.comm.as_bytes()) || self.arguments.text_of(row).is_some_and(|arguments| has(&arguments))
        };
        match item {
            Item::Row(at) => has_words(at) || has_number(at),
            Item::Alike(sum) => self.listing.alike(sum).is_some_and(|alike| {
                let folded = alike.rows.iter().filter(|_| alike.is_folded);
                has_words(alike.rows[0]) || folded.copied().any(has_number)
            }),
            Item::Group(sum) | Item::ExitedName(sum) => {
                has(self.listing.sums[sum as usize].name.label().as_bytes())
                    || self
                        .listing
                        .others(sum)
                        .is_some_and(|others| others.members.iter().any(|&index| has_dead(index)))
            }
            Item::Exited(index) => has_dead(index as usize),
        }
    }
}
