//! The search for a line of the table.

use crate::tui::listing::Item;
use crate::tui::state::State;

impl State {
    /// Finds what is searched for from that line on, then from the beginning.
    pub(super) fn search_from(&mut self, from: usize) {
        if self.search.is_empty() {
            return;
        }
        let count = self.listing.entries.len();
        let wanted = self.search.to_lowercase();
        let found =
            (0..count).map(|step| (from + step) % count.max(1)).find(|&index| self.has_text(index, &wanted));
        match found {
            Some(index) => {
                self.selected = index;
                // What was found stays selected until the selection is moved.
                self.followed = self.entry().and_then(|entry| self.id(entry));
                self.clamp();
            }
            None => self.complain(format!("no row has `{}` in its name or arguments", self.search)),
        }
    }

    fn has_text(&self, index: usize, wanted: &str) -> bool {
        let Some(frame) = &self.frame else { return false };
        let item = self.listing.entries[index].item;
        let has = |bytes: &[u8]| String::from_utf8_lossy(bytes).to_lowercase().contains(wanted);
        match item {
            Item::Row(at) => {
                let row = frame.whole(at);
                has(row.comm.as_bytes())
                    || row.tid.0.to_string() == wanted
                    || self.arguments.of(row).is_some_and(|arguments| {
                        let blanks: Vec<u8> =
                            arguments.iter().map(|&byte| if byte == 0 { b' ' } else { byte }).collect();
                        has(&blanks)
                    })
            }
            Item::Group(sum) | Item::ExitedName(sum) => has(self.listing.sums[sum as usize].name.as_bytes()),
            Item::Exited(index) => has(frame.exited()[index as usize].exit.comm.as_bytes()),
        }
    }
}
