//! Lines of many rows, made by several threads and written by one in their order.

use std::io;
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

use cpuledger::machine::spawn_scoped;
use cpuledger::source::Families;
use cpuledger::task::Task;
use cpuledger_view::layout::Part;

use super::page::Page;

/// With fewer parts, starting threads takes longer than they save.
const LEAST_PARTS: usize = 3;
/// Maximum number of threads that make lines: one thread writes as fast as these.
const MOST_THREADS: usize = 8;
/// How many parts a thread may be ahead of the writer.
const AHEAD: usize = 2;

/// What goes between a thread and the writer: lines, and their room when they are written.
struct Lane {
    ready: Receiver<Vec<u8>>,
    rooms: Sender<Vec<u8>>,
}

/// What is done with a row that is shown.
pub type Each<'a> = &'a mut dyn FnMut(&Task, Part) -> ControlFlow<()>;

/// Adds the lines of all parts to the page. `visit` hands out the rows of a part that are shown.
///
/// # Errors
/// When they cannot be written, and when rows could not be read: they are missing.
pub fn add(
    families: &dyn Families,
    page: &mut Page,
    visit: &(dyn Fn(usize, Each<'_>) + Sync),
) -> anyhow::Result<()> {
    let parts = families.parts();
    let forks = if parts < LEAST_PARTS { None } else { forks(page) };
    let added = forks.and_then(|forks| add_in_turn(parts, forks, page, visit));
    added.unwrap_or_else(|| add_alone(parts, page, visit))?;
    Ok(families.check()?)
}

/// One for each thread that it is worth to start.
fn forks(page: &Page) -> Option<Vec<Page>> {
    let threads = thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
    if threads > 1 { (0..threads).map(|_| page.fork()).collect() } else { None }
}

fn add_alone(parts: usize, page: &mut Page, visit: &dyn Fn(usize, Each<'_>)) -> anyhow::Result<()> {
    for part in 0..parts {
        let mut outcome = Ok(());
        visit(part, &mut |row, kind| {
            outcome = page.add(row, b"", kind);
            if outcome.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        outcome?;
    }
    Ok(())
}

/// Each fork has every n-th part. `None` where no threads can be had; then nothing is written.
fn add_in_turn(
    parts: usize,
    forks: Vec<Page>,
    page: &mut Page,
    visit: &(dyn Fn(usize, Each<'_>) + Sync),
) -> Option<anyhow::Result<()>> {
    let count = forks.len();
    thread::scope(|scope| {
        // Those that were made before one could not be end when their lanes are dropped.
        let lanes: io::Result<Vec<Lane>> = forks
            .into_iter()
            .enumerate()
            .map(|(index, fork)| {
                let (lines, ready) = sync_channel(AHEAD);
                let (rooms, empty) = channel();
                let work = move || make((index..parts).step_by(count), fork, visit, &lines, &empty);
                spawn_scoped(scope, work)?;
                Ok(Lane { ready, rooms })
            })
            .collect();
        let lanes = lanes.ok()?;
        for part in 0..parts {
            let lane = &lanes[part % count];
            // It ends early only by a panic, which the scope hands on.
            let Ok(lines) = lane.ready.recv() else { break };
            if let Err(error) = page.add_lines(&lines) {
                return Some(Err(error));
            }
            // A thread that has made its last part needs no more room.
            let _ = lane.rooms.send(lines);
        }
        Some(Ok(()))
    })
}

/// Makes the lines of these parts until the receiver is gone.
fn make(
    parts: impl Iterator<Item = usize>,
    mut page: Page,
    visit: &dyn Fn(usize, Each<'_>),
    lines: &SyncSender<Vec<u8>>,
    rooms: &Receiver<Vec<u8>>,
) {
    for part in parts {
        visit(part, &mut |row, kind| {
            page.append(row, b"", kind);
            ControlFlow::Continue(())
        });
        if lines.send(page.exchange(rooms.try_recv().unwrap_or_default())).is_err() {
            return;
        }
    }
}
