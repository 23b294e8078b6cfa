//! Rows as trees: each below its parent, if that is shown too.

use std::collections::HashMap;

use cpuledger_model::TICK_NS;
use cpuledger_model::task::{Pid, Task};

/// How a tree is drawn in front of the commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drawing {
    /// With branches: ` \_ `.
    Branches,
    /// By two blanks for each generation.
    Indent,
}

impl Drawing {
    /// In front of a child.
    fn branch(self) -> &'static [u8] {
        match self {
            Drawing::Branches => br" \_ ",
            Drawing::Indent => b"  ",
        }
    }

    /// In front of the children of a child, as wide as a branch.
    fn stem(self, has_sibling: bool) -> &'static [u8] {
        match (self, has_sibling) {
            (Drawing::Branches, true) => b" |  ",
            (Drawing::Branches, false) => b"    ",
            (Drawing::Indent, _) => b"  ",
        }
    }

    /// The places that each generation takes.
    pub fn generation(self) -> usize {
        self.branch().len()
    }
}

/// What is done with a row and what stands in front of its command.
pub type Visitor<'v, 'a, E> = &'v mut dyn FnMut(&'a Task, &[u8]) -> Result<(), E>;

/// The default order of children: by start.
pub fn sort_by_start(rows: &mut [&Task]) {
    // By the tick: so all sources give the same order.
    rows.sort_by_key(|row| (row.start_time_ns.ticks(TICK_NS), row.pid));
}

/// Puts rows in the order of trees: by parent, and the children of one in the order that they have.
pub fn sort_by_parent(rows: &mut [&Task]) {
    rows.sort_by_key(|row| row.ppid);
}

/// Hands out each row with what stands in front of its command: every tree from its root, children in the order of the
/// rows, roots from the last to the first, as procps does. No row is lost, whatever the rows say of each other.
pub fn visit<'a, E>(rows: &[&'a Task], drawing: Drawing, each: Visitor<'_, 'a, E>) -> Result<(), E> {
    let family = Family::of(rows);
    let mut walk = Walk { rows, drawing, family, is_done: vec![false; rows.len()], prefix: Vec::new() };
    for root in (0..rows.len()).rev() {
        if walk.family.parent_of(rows[root]).is_none() {
            walk.tree(root, each)?;
        }
    }
    // Processes that seem to be each other's ancestors: a pid was reused while they were read.
    for root in 0..rows.len() {
        walk.tree(root, each)?;
    }
    Ok(())
}

/// The children of each row, by index.
struct Family {
    children: HashMap<Pid, Vec<usize>>,
    pids: HashMap<Pid, usize>,
}

impl Family {
    fn of(rows: &[&Task]) -> Family {
        let mut family = Family { children: HashMap::new(), pids: HashMap::with_capacity(rows.len()) };
        for (index, row) in rows.iter().enumerate() {
            family.pids.insert(row.pid, index);
            family.children.entry(row.ppid).or_default().push(index);
        }
        family
    }

    fn parent_of(&self, row: &Task) -> Option<usize> {
        self.pids.get(&row.ppid).copied().filter(|_| row.ppid != row.pid)
    }

    fn children_of(&self, row: &Task) -> &[usize] {
        self.children.get(&row.pid).map_or(&[], Vec::as_slice)
    }
}

struct Walk<'a, 'b> {
    rows: &'b [&'a Task],
    drawing: Drawing,
    family: Family,
    is_done: Vec<bool>,
    prefix: Vec<u8>,
}

/// One generation of a family on the way to the row that is handed out.
struct Generation {
    parent: usize,
    next_child: usize,
}

impl<'a> Walk<'a, '_> {
    /// One tree, without recursion: a chain may be as long as there are processes.
    fn tree<E>(&mut self, root: usize, each: Visitor<'_, 'a, E>) -> Result<(), E> {
        if std::mem::replace(&mut self.is_done[root], true) {
            return Ok(());
        }
        self.prefix.clear();
        each(self.rows[root], b"")?;
        let mut line = vec![Generation { parent: root, next_child: 0 }];
        while let Some(generation) = line.last_mut() {
            let children = self.family.children_of(self.rows[generation.parent]);
            let Some(&child) = children.get(generation.next_child) else {
                line.pop();
                self.prefix.truncate(self.prefix.len().saturating_sub(self.drawing.generation()));
                continue;
            };
            generation.next_child += 1;
            let has_sibling = generation.next_child < children.len();
            if std::mem::replace(&mut self.is_done[child], true) {
                continue;
            }
            let length = self.prefix.len();
            self.prefix.extend_from_slice(self.drawing.branch());
            each(self.rows[child], &self.prefix)?;
            self.prefix.truncate(length);
            self.prefix.extend_from_slice(self.drawing.stem(has_sibling));
            line.push(Generation { parent: child, next_child: 0 });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use cpuledger_model::make;

    use super::*;

    fn drawn(family: &[(i32, i32)], drawing: Drawing) -> Vec<String> {
        let tasks: Vec<Task> =
            family.iter().map(|&(pid, ppid)| make!(Task { pid: Pid(pid), ppid: Pid(ppid) })).collect();
        let rows: Vec<&Task> = tasks.iter().collect();
        let mut lines = Vec::new();
        let mut each = |row: &Task, prefix: &[u8]| -> Result<(), Infallible> {
            lines.push(format!("{}{}", String::from_utf8_lossy(prefix), row.pid));
            Ok(())
        };
        let Ok(()) = visit(&rows, drawing, &mut each);
        lines
    }

    #[test]
    fn children_stand_below_their_parents() {
        let family = [(1, 0), (2, 1), (3, 1), (4, 2), (5, 2), (6, 9)];
        assert_eq!(
            drawn(&family, Drawing::Branches),
            ["6", "1", r" \_ 2", r" |   \_ 4", r" |   \_ 5", r" \_ 3"]
        );
        assert_eq!(drawn(&family, Drawing::Indent), ["6", "1", "  2", "    4", "    5", "  3"]);
    }

    #[test]
    fn no_row_is_lost_or_shown_twice() {
        assert_eq!(drawn(&[(1, 1), (2, 1)], Drawing::Branches), ["1", r" \_ 2"]);
        assert_eq!(drawn(&[(1, 2), (2, 1)], Drawing::Indent), ["1", "  2"]);
        assert_eq!(drawn(&[], Drawing::Indent), [""; 0]);
        let chain: Vec<(i32, i32)> = (1..=20_000).map(|pid| (pid, pid - 1)).collect();
        assert_eq!(drawn(&chain[..50], Drawing::Indent).len(), 50);
        let mut count = 0;
        let tasks: Vec<Task> =
            chain.iter().map(|&(pid, ppid)| make!(Task { pid: Pid(pid), ppid: Pid(ppid) })).collect();
        let rows: Vec<&Task> = tasks.iter().rev().collect();
        let Ok(()) = visit(&rows, Drawing::Indent, &mut |_, _| -> Result<(), Infallible> {
            count += 1;
            Ok(())
        });
        assert_eq!(count, chain.len());
    }

    #[test]
    fn without_an_order_children_are_sorted_by_start() {
        let task = |pid, ppid, start_ns| {
            make!(Task {
                pid: Pid(pid),
                ppid: Pid(ppid),
                start_time_ns: cpuledger_model::Boottime::from_ns(start_ns),
            })
        };
        let tasks = [task(1, 9, 0), task(2, 1, 30_000_000), task(3, 1, 10_000_001), task(4, 1, 10_000_000)];
        let mut rows: Vec<&Task> = tasks.iter().collect();
        sort_by_start(&mut rows);
        sort_by_parent(&mut rows);
        assert_eq!(rows.iter().map(|row| row.pid.0).collect::<Vec<_>>(), [3, 4, 2, 1]);
    }
}
