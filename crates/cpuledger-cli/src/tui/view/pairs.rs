//! Who made whom wait, above the table of blame.

use cpuledger_model::Dimension;
use cpuledger_view::interval::column::append_decimals;
use cpuledger_view::layout;
use cpuledger_view::pairs::{NamedPair, by_name};

use crate::tui::state::State;
use crate::tui::views::View;

/// The pairs that are told at most.
const MOST: usize = 4;

/// The longest pairs of the interval in words, as many as there is room for. `None`: they are not kept, nobody waited, or another view is shown.
pub(super) fn longest(state: &State, width: u16) -> Option<String> {
    let frame = state.frame.as_ref().filter(|_| state.account == Some(View::Blame))?;
    let by = state.settings.group.filter(|group| Dimension::OF_CGROUP.contains(group));
    let by = by.unwrap_or(Dimension::Cgroup);
    let mut text = String::new();
    for pair in by_name(frame.interval.pairs.as_ref()?, by, &frame.around.named).iter().take(MOST) {
        let words = words(pair);
        let separator = if text.is_empty() { "" } else { "; " };
        let needed = layout::width(text.as_bytes()) + separator.len() + layout::width(words.as_bytes());
        if !text.is_empty() && needed > usize::from(width) {
            break;
        }
        text = text + separator + &words;
    }
    (!text.is_empty()).then_some(text)
}

fn words(NamedPair { by, of, ns }: &NamedPair) -> String {
    let mut time = Vec::new();
    append_decimals(&mut time, ns / 100_000, 1);
    format!("{} made {} wait {} ms", by.label(), of.label(), String::from_utf8_lossy(&time))
}
