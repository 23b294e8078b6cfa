//! The screen of `cpuledger top`.
//!
//! Four threads wait, so that the one that shows does not: `feed`, the first, for the end of intervals, `reader` for the files of
//! single tasks, one for keys, and that of `end` for signals. All tell `app`, which gives `state` what has come, does to the
//! machine what `state` says is to be done, and lets `view` draw. State never draws, view never reads.

mod act;
mod action;
mod app;
mod backend;
mod choices;
pub mod config;
pub mod drawn;
mod effect;
mod event;
mod export;
mod feed;
mod file_detail;
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

pub use app::{check, run};
#[cfg(test)]
pub use config::SETTINGS;

/// The table of keys by topic, for the manual.
#[cfg(test)]
pub fn key_table() -> Vec<(&'static str, Vec<(String, String)>)> {
    let mut topics: Vec<(&'static str, Vec<(String, String)>)> = Vec::new();
    for (keys, text) in keys::help() {
        match topics.last_mut() {
            Some((_, rows)) if !keys.is_empty() => rows.push((keys, text.to_owned())),
            _ => topics.push((text, Vec::new())),
        }
    }
    topics
}

/// Headers of the view of states with what they mean, for the manual.
#[cfg(test)]
pub fn state_table() -> impl Iterator<Item = (&'static str, &'static str)> {
    cpuledger_view::shares::STATE_COLUMNS.iter().map(|column| (column.name, column.help))
}
