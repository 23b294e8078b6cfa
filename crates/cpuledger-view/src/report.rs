//! What a span of recorded intervals says, as text, JSON, CSV or a page of HTML.

pub mod csv;
mod document;
pub mod html;
pub mod json;
pub mod text;

pub use document::{About, BY, By, Comparison, Document, Labels};
