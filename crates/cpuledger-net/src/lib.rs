//! The books for the network: an unprivileged reader of the service, whose faults can never touch the ledger.
//!
//! A thread (`follow`) copies each interval from the ring of the service and adds it to the books (`books`). There each nanosecond goes to one
//! series of each dimension (`series`). When somebody scrapes, the books are settled and printed (`exposition`), and sent (`server`). A push
//! does the same from time to time (`push`), and keeps what is not sent yet in a queue (`otlp`). Questions of
//! programs are answered from the ring or a recording (`mcp`), and so are browsers (`web`).
#![forbid(unsafe_code)]

mod access;
mod books;
pub mod command;
mod compat;
mod config_file;
mod events;
mod exposition;
pub mod families;
mod follow;
mod gzip;
mod hosts;
mod labels;
mod listen;
mod listing;
mod mcp;
mod modes;
pub mod otlp;
mod own;
mod pairs;
mod patient;
mod processes;
mod push;
mod read;
mod samples;
mod scrape;
mod scrapers;
mod series;
mod server;
mod totals;
mod users;
mod web;
mod web_config;
