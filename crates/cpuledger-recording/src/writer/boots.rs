//! How old a segment is, by the order of the recording. A calendar that is wrong for a moment does not make anything old.

use crate::extent::Extent;

/// When a segment ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct End {
    boot: usize,
    /// CLOCK_MONOTONIC.
    end_ns: u64,
}

/// The boots of a tier, in the order in which they were recorded.
#[derive(Debug, Default)]
pub(super) struct Boots(Vec<(Vec<u8>, Extent)>);

impl Boots {
    /// Takes what comes behind all that was taken before. `id` is that of the boot, where it is known.
    pub(super) fn take(&mut self, id: Option<&[u8]>, extent: Extent) -> End {
        let goes_on = |last: &Extent| extent.start_ns >= last.end_ns;
        let is_same = self.0.last().is_some_and(|(own, last)| match id {
            Some(id) if !id.is_empty() => own == id,
            Some(_) => own.is_empty() && goes_on(last),
            None => goes_on(last),
        });
        match self.0.last_mut().filter(|_| is_same) {
            Some((_, own)) => *own = own.with(extent),
            None => self.0.push((id.unwrap_or_default().to_vec(), extent)),
        }
        End { boot: self.0.len() - 1, end_ns: extent.end_ns }
    }

    /// When a record ends that was taken.
    pub(super) fn end_of(&self, id: &[u8], end_ns: u64) -> Option<End> {
        let boot = self.0.iter().rposition(|(own, extent)| own == id && extent.end_ns >= end_ns)?;
        Some(End { boot, end_ns })
    }

    /// How long before the end of what was taken that is. Of the time between two boots counts what the calendar says, if it was not set
    /// back, but not more than was recorded since: there a wrong clock could make everything old at once.
    pub(super) fn age_ns(&self, of: End) -> u64 {
        let Some((_, own)) = self.0.get(of.boot) else { return 0 };
        let (mut age_ns, mut before) = (own.end_ns.saturating_sub(of.end_ns), own);
        for (_, boot) in &self.0[of.boot + 1..] {
            let recorded_ns = boot.length_ns();
            let off_ns = before.off_ns(boot).min(recorded_ns);
            age_ns = age_ns.saturating_add(off_ns).saturating_add(recorded_ns);
            before = boot;
        }
        age_ns
    }
}
