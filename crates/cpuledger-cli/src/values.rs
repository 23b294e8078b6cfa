//! Values of options that are some names: completions offer them.

use std::ffi::OsStr;
use std::str::FromStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command, Error};
use cpuledger::{Account, SourceKind};
use cpuledger_view::csv::Cells;

/// Parses as another parser does, which says what is wrong with other values; and knows the names.
#[derive(Debug, Clone)]
pub struct Named<P> {
    names: Vec<&'static str>,
    parser: P,
}

/// A text that should be one of these names.
pub fn named(names: impl IntoIterator<Item = &'static str>) -> Named<StringValueParser> {
    named_for(names, StringValueParser::new())
}

/// The same with a parser of its own.
pub fn named_for<P: TypedValueParser>(names: impl IntoIterator<Item = &'static str>, parser: P) -> Named<P> {
    Named { names: names.into_iter().collect(), parser }
}

impl<P: TypedValueParser> TypedValueParser for Named<P> {
    type Value = P::Value;

    fn parse_ref(&self, command: &Command, argument: Option<&Arg>, value: &OsStr) -> Result<P::Value, Error> {
        self.parser.parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.names.iter().copied().map(PossibleValue::new)))
    }
}

/// The sources, and the choice among them.
pub fn sources() -> impl Iterator<Item = &'static str> {
    std::iter::once("auto").chain(SourceKind::ALL.into_iter().map(SourceKind::name))
}

/// One of these; `None`: the best.
///
/// # Errors
/// A sentence, if it is none of them.
pub fn source_named(name: &str) -> Result<Option<SourceKind>, String> {
    if name == "auto" {
        return Ok(None);
    }
    SourceKind::from_str(name).map(Some).map_err(|error| error.to_string())
}

/// What a ledger may keep besides CPU time.
pub fn accounts() -> impl Iterator<Item = &'static str> {
    Account::ALL.into_iter().map(Account::name)
}

/// How rows are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Format {
    /// Lines for people.
    #[default]
    Text,
    /// One object a line.
    Json,
    /// One row a line, below a header.
    Csv(Cells),
}

/// Those that have to be asked for.
pub const FORMATS: [(&str, Format); 3] =
    [("json", Format::Json), ("csv", Format::Csv(Cells::Plain)), ("csv-safe", Format::Csv(Cells::Inert))];

/// The themes of the screen.
pub const THEMES: [&str; 8] = ["auto", "16", "256", "true", "light", "dark", "contrast", "mono"];
