//! For a test that runs the reader beside simulated CPUs (`machine`): there it loses its turn, and the clock is theirs.

use std::cell::Cell;

/// What the reader calls instead of the system.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turns {
    /// Before each access to a shared word.
    pub(super) access: extern "C" fn(),
    pub(super) now_ns: extern "C" fn() -> u64,
    pub(super) sleep_until: extern "C" fn(u64),
}

thread_local! {
    static TURNS: Cell<Option<Turns>> = const { Cell::new(None) };
}

/// From now on the reader of this thread takes turns; with `None` no longer. Returns what was set before.
pub(super) fn take(turns: Option<Turns>) -> Option<Turns> {
    TURNS.replace(turns)
}

pub(super) fn access() {
    if let Some(turns) = TURNS.get() {
        (turns.access)();
    }
}

pub(super) fn now_ns() -> Option<u64> {
    TURNS.get().map(|turns| (turns.now_ns)())
}

/// False: the time is that of the system.
pub(super) fn sleep_until(time_ns: u64) -> bool {
    TURNS.get().map(|turns| (turns.sleep_until)(time_ns)).is_some()
}
