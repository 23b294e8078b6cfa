//! Rows below their parents, with the sums of their subtrees. No recursion: a chain may be as long as there are tasks.

use cpuledger::Pid;
use rustc_hash::FxHashMap;

use super::dead::Dead;
use super::entry::{Entry, Id, Item, Listing};
use super::making::{Making, Ranked};
use crate::tui::config::Tree;
use crate::tui::frame::{Kind, RowRef};

/// Generations whose branches are drawn; deeper ones are drawn below the last.
const MOST_DRAWN: u16 = 63;

struct Node {
    at: RowRef,
    children: Vec<u32>,
    parent: Option<u32>,
    /// It is shown, for itself or for one below it.
    is_shown: bool,
    sum_ns: u64,
}

pub(super) fn make(making: &Making<'_>, listing: &mut Listing, dead: &Dead) {
    let mut nodes = nodes(making);
    let (roots, order) = from_roots(&mut nodes);
    for &index in order.iter().rev() {
        let (sum_ns, is_shown) = (nodes[index as usize].sum_ns, nodes[index as usize].is_shown);
        if let Some(parent) = nodes[index as usize].parent {
            let parent = &mut nodes[parent as usize];
            parent.sum_ns += sum_ns;
            parent.is_shown |= is_shown;
        }
    }
    let mut next = sorted(making, &nodes, &roots);
    next.reverse();
    // Each with its depth and with those generations above it of which others follow.
    let mut stack: Vec<(u32, u16, u64)> = Vec::new();
    while let Some((index, depth, follows)) = stack.pop().or_else(|| next.pop().map(|root| (root, 0, 0))) {
        let node = &nodes[index as usize];
        let children = sorted(making, &nodes, &node.children);
        let whole = making.frame.whole(node.at);
        let has_dead = node.at.kind == Kind::Process && dead.has_below(whole.pid);
        let fold =
            (has_dead || !children.is_empty()).then(|| making.is_folded(&Id::Row(node.at.kind, whole.id())));
        listing.entries.push(Entry {
            item: Item::Row(node.at),
            depth,
            follows,
            subtree_ns: Some(node.sum_ns),
            fold,
            is_part: false,
        });
        if fold != Some(false) {
            continue;
        }
        let below = (depth + 1).min(MOST_DRAWN);
        if has_dead {
            let place = (below, follows, !children.is_empty());
            dead.push_below(making, listing, whole.pid, place, true);
        }
        for (place, &child) in children.iter().enumerate().rev() {
            let others_follow = u64::from(place + 1 < children.len());
            stack.push((child, below, follows | others_follow << (below - 1)));
        }
    }
}

fn nodes(making: &Making<'_>) -> Vec<Node> {
    let frame = making.frame;
    let kind = making.kind();
    let mut nodes: Vec<Node> = frame
        .all(kind)
        .map(|at| Node {
            at,
            children: Vec::new(),
            parent: None,
            is_shown: making.is_shown(at) && making.matches(at),
            sum_ns: frame.cpu_ns(at),
        })
        .collect();
    let mut leaders: FxHashMap<Pid, u32> = FxHashMap::default();
    for (index, node) in nodes.iter().enumerate() {
        let whole = frame.whole(node.at);
        // What has no parent names the number of the remainder, which is nothing's parent.
        if !whole.is_remainder() && (kind == Kind::Process || whole.is_leader()) {
            leaders.insert(whole.pid, index as u32);
        }
    }
    for index in 0..nodes.len() {
        let at = nodes[index].at;
        let parent = leaders.get(&parent_of(making, at)).copied().filter(|&parent| parent != index as u32);
        nodes[index].parent = parent;
        if let Some(parent) = parent {
            nodes[parent as usize].children.push(index as u32);
        }
    }
    nodes
}

fn parent_of(making: &Making<'_>, at: RowRef) -> Pid {
    let frame = making.frame;
    let whole = frame.whole(at);
    if at.kind == Kind::Task && !whole.is_leader() {
        return whole.pid;
    }
    if making.settings.tree != Tree::Accounting {
        return whole.ppid;
    }
    // Tasks have none of their own: that of the process.
    let process = if at.kind == Kind::Process { Some(at) } else { frame.process(whole.pid) };
    process.and_then(|process| frame.usage(process).accounting_parent).unwrap_or(whole.ppid)
}

/// The roots, and all nodes, parents before children. Of those that seem to be each other's ancestors one is made a root.
fn from_roots(nodes: &mut [Node]) -> (Vec<u32>, Vec<u32>) {
    let mut is_done = vec![false; nodes.len()];
    let mut order = Vec::with_capacity(nodes.len());
    let all = 0..nodes.len() as u32;
    let mut roots: Vec<u32> = all.clone().filter(|&index| nodes[index as usize].parent.is_none()).collect();
    let mut next = 0;
    for candidate in roots.clone().into_iter().chain(all) {
        if std::mem::replace(&mut is_done[candidate as usize], true) {
            continue;
        }
        if let Some(parent) = nodes[candidate as usize].parent.take() {
            nodes[parent as usize].children.retain(|&child| child != candidate);
            roots.push(candidate);
        }
        order.push(candidate);
        while let Some(&index) = order.get(next) {
            next += 1;
            for &child in &nodes[index as usize].children {
                if !std::mem::replace(&mut is_done[child as usize], true) {
                    order.push(child);
                }
            }
        }
    }
    (roots, order)
}

/// Those that are shown, in the order of rows; by CPU time that of their subtrees decides.
fn sorted(making: &Making<'_>, nodes: &[Node], indexes: &[u32]) -> Vec<u32> {
    let is_by_cpu = making.settings.order().0 == "%CPU";
    let mut ranked: Vec<(Ranked<'_>, u32)> = indexes
        .iter()
        .filter(|&&index| nodes[index as usize].is_shown)
        .map(|&index| {
            let node = &nodes[index as usize];
            let mut ranked = making.ranked(node.at);
            if is_by_cpu {
                ranked.weight = cpuledger_view::sort::Key::from(node.sum_ns);
            }
            (ranked, index)
        })
        .collect();
    ranked.sort_by(|(one, _), (other, _)| making.compare(one, other));
    ranked.into_iter().map(|(_, index)| index).collect()
}
