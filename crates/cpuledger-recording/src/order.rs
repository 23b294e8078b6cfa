//! The order of a recording: its boots as they were recorded, and in each of them CLOCK_MONOTONIC. Of each time it has the finest tier that
//! has it, and no time twice.

use std::collections::HashMap;

use crate::boots::{Boot, boots_of, in_order};
use crate::extent::Extent;
use crate::part::Part;

/// Records of a segment, one behind the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub(crate) part: usize,
    pub(crate) from: usize,
    /// The first that does not belong to it; `usize::MAX`: all of the segment do, and those that are to come.
    pub(crate) to: usize,
    /// Which of the boots of the order.
    pub(crate) boot: usize,
}

/// From when to when a boot was recorded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Recorded {
    pub(crate) extent: Extent,
    /// How long before the end of the recording it ends.
    pub(crate) age_ns: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Order {
    pub(crate) stretches: Vec<Stretch>,
    /// `None`: a boot without a record.
    pub(crate) boots: Vec<Option<Recorded>>,
}

/// A record of a tier.
#[derive(Debug, Clone, Copy)]
struct Piece {
    part: usize,
    record: usize,
    start_ns: u64,
    end_ns: u64,
    /// Up to there its tier has no hole.
    whole_until_ns: u64,
}

impl Order {
    /// Of the segments of some tiers. Those of a tier are in the order in which they were written.
    pub(crate) fn of(parts: &mut [Part], tiers: usize) -> Order {
        // The segments of each boot in each tier.
        let mut segments: HashMap<Boot, Vec<Vec<usize>>> = HashMap::new();
        let mut boots: Vec<Vec<(Boot, u64)>> = Vec::with_capacity(tiers);
        for tier in 0..tiers {
            let own: Vec<usize> = (0..parts.len()).filter(|part| parts[*part].tier == tier).collect();
            let extents: Vec<_> = own.iter().map(|part| parts[*part].extent()).collect();
            let header = |part: &usize| parts[*part].segment.header();
            let ids = own.iter().map(|part| header(part).map(|header| &header.boot_id[..]));
            let named = boots_of(&ids.zip(extents.iter().copied()).collect::<Vec<_>>());
            let begins = extents.iter().map(|extent| extent.map_or(0, |extent| extent.start_realtime_ns));
            for (boot, part) in named.iter().zip(own) {
                segments.entry(boot.clone()).or_insert_with(|| vec![Vec::new(); tiers])[tier].push(part);
            }
            boots.push(named.into_iter().zip(begins).collect());
        }
        let mut order = Order::default();
        for (number, boot) in in_order(&boots).iter().enumerate() {
            let tiers = &segments[boot];
            let extents = tiers.iter().flatten().filter_map(|part| parts[*part].extent());
            let extent = extents.reduce(Extent::with);
            order.boots.push(extent.map(|extent| Recorded { extent, age_ns: 0 }));
            order.add(parts, tiers, number);
        }
        order.set_ages();
        order
    }

    fn add(&mut self, parts: &mut [Part], tiers: &[Vec<usize>], boot: usize) {
        let mut with_segments = tiers.iter().filter(|tier| !tier.is_empty());
        if let (Some(only), None) = (with_segments.next(), with_segments.next()) {
            let whole = |part: &usize| Stretch { part: *part, from: 0, to: usize::MAX, boot };
            return self.stretches.extend(only.iter().map(whole));
        }
        let tiers: Vec<Vec<Piece>> = tiers.iter().map(|own| pieces(parts, own)).collect();
        for piece in finest(&tiers) {
            let Piece { part, record, .. } = piece;
            match self.stretches.last_mut() {
                Some(last) if (last.part, last.to, last.boot) == (part, record, boot) => last.to += 1,
                _ => self.stretches.push(Stretch { part, from: record, to: record + 1, boot }),
            }
        }
    }

    fn set_ages(&mut self) {
        let mut age_ns = 0_u64;
        let mut behind: Option<Extent> = None;
        for boot in self.boots.iter_mut().rev().flatten() {
            if let Some(behind) = &behind {
                let off_ns = boot.extent.off_ns(behind);
                age_ns = age_ns.saturating_add(behind.length_ns()).saturating_add(off_ns);
            }
            boot.age_ns = age_ns;
            behind = Some(boot.extent);
        }
    }
}

fn pieces(parts: &mut [Part], own: &[usize]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for &part in own {
        let entries = parts[part].entries().iter().enumerate();
        pieces.extend(entries.map(|(record, entry)| Piece {
            part,
            record,
            start_ns: entry.start_ns,
            end_ns: entry.end_ns,
            whole_until_ns: entry.end_ns,
        }));
    }
    pieces.sort_by_key(|piece| piece.start_ns);
    for place in (1..pieces.len()).rev() {
        let behind = pieces[place];
        if pieces[place - 1].end_ns == behind.start_ns {
            pieces[place - 1].whole_until_ns = behind.whole_until_ns;
        }
    }
    pieces
}

/// The records of a boot, each time once, of tiers of which the finest is the first. A longer interval is taken where the shorter ones do
/// not have all of it.
fn finest(tiers: &[Vec<Piece>]) -> Vec<Piece> {
    let mut next = vec![0; tiers.len()];
    let mut taken: Vec<Piece> = Vec::new();
    let mut end_ns = 0;
    loop {
        for (tier, next) in tiers.iter().zip(&mut next) {
            while tier.get(*next).is_some_and(|piece| piece.start_ns < end_ns) {
                *next += 1;
            }
        }
        let heads = tiers.iter().zip(&next).enumerate();
        let heads = heads.filter_map(|(tier, (pieces, next))| Some((tier, *pieces.get(*next)?)));
        let heads: Vec<(usize, Piece)> = heads.collect();
        let Some(start_ns) = heads.iter().map(|(_, piece)| piece.start_ns).min() else { return taken };
        // The coarsest that no finer one has all of; the finest, if there is none.
        let mut first: Option<(usize, Piece)> = None;
        let mut whole_until_ns = 0;
        for (tier, piece) in heads.into_iter().filter(|(_, piece)| piece.start_ns == start_ns) {
            if first.is_none() || piece.end_ns > whole_until_ns {
                first = Some((tier, piece));
            }
            whole_until_ns = whole_until_ns.max(piece.whole_until_ns);
        }
        let Some((tier, piece)) = first else { return taken };
        next[tier] += 1;
        end_ns = end_ns.max(piece.end_ns);
        taken.push(piece);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Intervals of a tier, each of this length, from and to these times.
    fn tier(part: usize, length: u64, spans: &[(u64, u64)]) -> Vec<Piece> {
        let mut pieces: Vec<Piece> = Vec::new();
        for &(from, to) in spans {
            let starts = (from..to).step_by(length as usize);
            pieces.extend(starts.map(|start_ns| Piece {
                part,
                record: 0,
                start_ns,
                end_ns: (start_ns + length).min(to),
                whole_until_ns: to,
            }));
        }
        pieces
    }

    /// Which tier has which time.
    fn taken(tiers: &[Vec<Piece>]) -> Vec<(usize, u64, u64)> {
        let mut all: Vec<(usize, u64, u64)> = Vec::new();
        for piece in finest(tiers) {
            match all.last_mut() {
                Some(last) if (last.0, last.2) == (piece.part, piece.start_ns) => last.2 = piece.end_ns,
                _ => all.push((piece.part, piece.start_ns, piece.end_ns)),
            }
        }
        all
    }

    #[test]
    fn each_time_is_of_the_finest_tier_that_has_all_of_it() {
        for (seconds, minutes, expected) in [
            // One tier after the other, in both orders.
            (&[(0, 10)][..], &[(10, 70)][..], &[(0, 0, 10), (1, 10, 70)][..]),
            (&[(70, 80)], &[(10, 70)], &[(1, 10, 70), (0, 70, 80)]),
            // The finer one begins within a minute, and ends in one.
            (&[(90, 300)], &[(0, 300)], &[(1, 0, 120), (0, 120, 300)]),
            (&[(0, 200)], &[(0, 300)], &[(0, 0, 180), (1, 180, 300)]),
            // It has a hole.
            (&[(0, 65), (66, 300)], &[(0, 300)], &[(0, 0, 60), (1, 60, 120), (0, 120, 300)]),
            // All of it, and nothing.
            (&[(0, 300)], &[(0, 300)], &[(0, 0, 300)]),
            (&[], &[(0, 300)], &[(1, 0, 300)]),
            // The longer ones are no sums of the shorter ones: no time is counted twice.
            (&[(30, 40)], &[(0, 60)], &[(1, 0, 60)]),
            (&[(50, 70)], &[(0, 120)], &[(1, 0, 120)]),
        ] {
            let tiers = [tier(0, 1, seconds), tier(1, 60, minutes)];
            assert_eq!(taken(&tiers), expected, "{seconds:?} and {minutes:?}");
        }
        let three = [tier(0, 1, &[(60, 130)]), tier(1, 10, &[(50, 200)]), tier(2, 60, &[(0, 240)])];
        assert_eq!(taken(&three), [(2, 0, 60), (0, 60, 130), (1, 130, 180), (2, 180, 240)]);
    }
}
