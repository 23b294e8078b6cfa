//! The time line: neighbours of the interval that is shown, and how much of the machine was used in them.

use super::super::travel::Cell;
use super::Timeline;

/// Neighbours on each side of the interval that is shown.
const MOST_BESIDE: usize = 120;

impl Timeline {
    /// Where the interval that is shown is among the cells.
    pub(super) fn position(&self) -> Option<usize> {
        let here = self.here.as_ref()?.point;
        self.cells.iter().position(|(point, _)| *point == here)
    }

    /// The side of the cells that lacks one.
    pub(super) fn lacks_cells(&self) -> Option<usize> {
        self.here.as_ref()?;
        let Some(position) = self.position() else { return (!self.is_whole[0]).then_some(0) };
        let beside = [position, self.cells.len() - 1 - position];
        let lacks = |side: usize| beside[side] < MOST_BESIDE && !self.is_whole[side];
        // The nearer one first.
        let order = if beside[0] <= beside[1] { [0, 1] } else { [1, 0] };
        order.into_iter().find(|&side| lacks(side))
    }

    pub(super) fn add_cell(&mut self, side: usize) -> anyhow::Result<()> {
        let end = if side == 0 { self.cells.front() } else { self.cells.back() };
        let point = match end.map(|(point, _)| *point) {
            None => self.here.as_ref().map(|here| here.point),
            Some(point) if side == 0 => self.before(point)?,
            Some(point) => self.behind(point)?,
        };
        let Some(point) = point else {
            self.is_whole[side] = true;
            return Ok(());
        };
        let cell = self.glance(point)?.map_or(Cell::Gap, |(_, _, cell)| cell);
        if side == 0 {
            self.cells.push_front((point, cell))
        } else {
            self.cells.push_back((point, cell))
        }
        // Those that are far away are read again when they are near.
        if self.cells.len() > 4 * MOST_BESIDE {
            if side == 0 {
                self.cells.pop_back()
            } else {
                self.cells.pop_front()
            };
        }
        Ok(())
    }
}
