//! The language of filters, on the screen and in `--filter`: `cpu>5 user=www comm~^java`.
//!
//! Conditions stand side by side and must all hold; `or` (or `|`) joins alternatives, `not` (or `!`) negates, parentheses
//! group. A condition is `NAME OPERATOR VALUE`, or a word that is looked for in names and arguments, whatever its case.
//!
//! - Names are the keys of JSON, headers of columns, and [`aliases`].
//! - Operators are `=`, `!=`, `>`, `>=`, `<`, `<=`, `~` (matches the regular expression) and `!~`.
//! - Times are nanoseconds, or have a unit (`5ms`, `2s`); sizes are bytes, or have one (`10M`); `cpu` and its parts are in percent
//!   of one CPU. What holds blanks stands in quotes.
//!
//! A condition on an unknown value is false; `not` makes it true.

mod condition;
mod parse;

use cpuledger_model::field::FieldSet;

pub use condition::Subject;
use condition::{Node, What};
pub use parse::{MOST_BYTES, QueryError, aliases};

/// A filter. The usual one is empty: everything matches.
#[derive(Debug, Clone, Default)]
pub struct Query {
    text: String,
    /// `None`: everything matches.
    root: Option<Node>,
}

impl Query {
    /// Reads a query. Nothing but blanks matches everything.
    ///
    /// # Errors
    /// One sentence about the first thing that is wrong, and where.
    pub fn parse(text: &str) -> Result<Query, QueryError> {
        let root = parse::parse(text).map_err(|error| {
            let before = text.char_indices().take_while(|(index, _)| *index < error.at).count();
            QueryError { at: before, ..error }
        })?;
        Ok(Query { text: text.to_owned(), root })
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether everything matches.
    pub fn is_empty(&self) -> bool {
        self.root.is_none()
    }

    /// Whether the row matches.
    pub fn matches(&self, subject: &Subject<'_>) -> bool {
        self.root.as_ref().is_none_or(|root| root.holds(subject))
    }

    /// Whether the row matches if it used other amounts: all that is asked of amounts may hold then.
    pub fn may_match(&self, subject: &Subject<'_>) -> bool {
        self.root.as_ref().is_none_or(|root| root.may_be(true, subject))
    }

    /// Whether it looks at arguments, which are to be read first.
    pub fn needs_arguments(&self) -> bool {
        self.looks_at(|what| matches!(what, What::Arguments))
    }

    /// Whether it looks at names of cgroups, likewise.
    pub fn needs_names(&self) -> bool {
        self.looks_at(|what| matches!(what, What::Named(_)))
    }

    fn looks_at(&self, is_such: fn(What) -> bool) -> bool {
        self.root.as_ref().is_some_and(|root| root.looks_at(is_such))
    }

    /// The fields it looks at.
    pub fn fields(&self) -> FieldSet {
        self.root.as_ref().map_or(FieldSet::EMPTY, Node::fields)
    }
}

/// Those of the same text are the same.
impl PartialEq for Query {
    fn eq(&self, other: &Query) -> bool {
        self.text == other.text
    }
}

impl Eq for Query {}

#[cfg(test)]
mod tests;
