//! The screen of `cpuledger top`.
//!
//! Four threads wait, so that the one that shows does not: `feed`, the first, for the end of intervals, `reader` for the files of
//! single tasks, one for keys, and that of `end` for signals. All tell `app`, which gives `state` what has come, does to the
//! machine what `state` says is to be done, and lets `view` draw. State never draws, view never reads.
//!
//! # How it works
//!
//! Messages go one way. `tui/feed` takes intervals on a thread of its own and makes a `Frame` of each: the interval, its rows, and all that was
//! read around it (names, cgroups, /proc/stat). `tui/reader` reads the files of single tasks. Both, and the keyboard, send an `Event` to `tui/app`, which gives it to
//! `tui/state`. `tui/input` says what a key does to the state; the state makes the lines (`tui/listing`). It answers with an `Effect`, which `tui/app`
//! carries out, and a `Subscription`, which says the feed what the next intervals have to hold. `tui/view` writes the lines in sight.
//! State never draws, view never reads, so a recording can feed both.
//!
//! ```text
//! feed, reader, keyboard ── event ──► app ──► input ──► state ──► view
//!           ▲                          │                  │
//!           └─ subscription, requests ─┴─── effect ◄──────┘
//! ```
//!
//! Each type that crosses an arrow has a file of its own (`event.rs`, `effect.rs`, `subscription.rs`, `mode.rs`, `frame.rs`) that imports
//! none of those that use it.
//!
//! - **The first picture** (`first.rs`) is of files of /proc, read within 80 ms by a thread of its own. It and the thread that shows are there before
//!   the source is open, and have given up what the source needs. So a machine on which opening takes long is seen, and a key can end the program.
//! - **One rendering.** Columns are those of the registry in `crates/cpuledger-view/src/column`, which `--batch` prints; any key of JSON is a column.
//! - **States** (`shares.rs` of `cpuledger-view`, which `--by wait` prints, too) are the one exception: parts of a row's own time, not of a CPU's, as whole tenths whose sum is exact. Of a task that did
//!   not run, its row says the state, which it had all the time.
//! - **Idle-task cache** (`idle_task_cache.rs`). The ledger says what ran and what died, so a walk once a minute is enough to list all. A frame
//!   shares the walk with the previous one. Its rows are sorted once, and those that ran find their places by bisection.
//! - **Which task a signal reaches** (`act.rs`). A pidfd is opened, then the start in /proc is compared with the row. If the pid belongs to that
//!   task at the comparison, it did so at the opening too, or the descriptor is of a dead task. Before the screen acts, the procfs must show us
//!   under the pid that getpid(2) gives, and under no second one (`NSpid`). Otherwise it is that of another PID namespace.
//! - **Units** (`enrich/systemd.rs`): one place decides which hierarchy systemd uses, for `ps`, recordings and `report`. Where that is not the one
//!   that CPU time is divided by, a recording has the unit of each process.
//! - **Cgroups** (`enrich/cgroups.rs`) of rows in groups are those that CPU time is divided by. That is the hierarchy of the cpu controller if it
//!   has one of its own (cgroups 1), else the unified one. A path is read from the file of a task whose start is that of the row. It is read
//!   again after 64 frames, or after 8 if it could not be read.
//! - **The keyboard** is read by crossterm alone, which waits with poll(2) (its feature `use-dev-tty`). The event source that it has otherwise is
//!   edge-triggered and leaves unread what does not fit into 1,024 bytes, or comes with a signal. The thread blocks SIGTTIN, so that a read in the
//!   background fails instead of stopping the program.
//! - **The cursor** (`state/cursor.rs`) is an identity, and a row number only where there is none yet. A frame without that identity takes the cursor away;
//!   a change by the user gives it to the next row.
//! - **Arguments** are asked for by the state (`state/unread.rs`): of the rows in sight and, for a filter or a search, of all that it may find, 256 at a time.
//! - **Views** (`views.rs`) have a number, which is their key, and a name in the head. The head (`view/head.rs`) has three lines at any width: words have ranks,
//!   and those of the highest rank go first. What is not exact is a mark there, and sentences on the help page (`view/facts.rs`).
//! - **The dead** (`listing/dead.rs`) are below the process that inherits their time, where that has a line.
//! - **Themes** (`theme.rs`): tests compute the contrast of all text, and how the colours look without red and green.
//! - **Keys** are a table (`keys.rs`), settings another (`config.rs`); help page, manual and the parser of the file are made of them.
//! - **The terminal** is restored by a guard, by the panic hook of any thread, and before a stop.
//! - **The end** (`end.rs` of the binary, for batches too): a thread waits for signals and for the terminal to hang up, and informs the others. What does
//!   not end in 0.3 s is unblocked: the terminal's output queue is emptied, and no more is written. After 0.9 s the thread ends the process.
//! - **Ends of intervals** before their time are requests in one eventfd. The feed takes them before it looks for orders, and orders are sent
//!   before requests: so none falls between two intervals.
//! - **Time** (`timeline.rs`) is the intervals that the screen has seen (`past.rs`: encoded, within ten minutes and 32 MiB), and those of a recording. Time travel
//!   runs in 20 ms slices, so the keys stay responsive.
//! - **Files of tasks** (`reader.rs`) are read on a thread of their own, which gets what is wanted now, not what was: there is no queue that grows.

mod act;
mod app;
mod around;
mod backend;
mod choices;
pub mod config;
pub mod drawn;
mod effect;
mod event;
mod export;
mod feed;
mod first;
#[cfg(test)]
mod fixture;
mod frame;
mod history;
mod idle_task_cache;
mod input;
mod keys;
mod listing;
mod matching;
mod mode;
#[cfg(debug_assertions)]
mod on_purpose;
mod past;
mod play;
mod reader;
#[cfg(test)]
mod recorded;
mod state;
mod subscription;
mod terminal;
mod theme;
mod timeline;
mod travel;
mod victim;
mod view;
mod views;

pub use app::{check, run};
#[cfg(test)]
pub use {config::SETTINGS, keys::help as keys_and_titles};
