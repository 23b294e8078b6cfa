#![doc = include_str!("../README.md")]

pub mod books;
pub mod explore;
pub mod fold;
pub mod hook;
mod mutation;
pub mod off;
pub mod play;
pub mod reader;
pub mod scenario;
pub mod segment;
pub mod slots;
pub mod words;
pub mod world;

pub use mutation::Mutation;
