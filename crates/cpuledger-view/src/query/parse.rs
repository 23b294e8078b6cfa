//! From text to a filter: no step looks back, and depth is bounded.

use std::fmt;

use regex::bytes::{Regex, RegexBuilder};

use super::condition::{Condition, Node, Operand, Operator, What};
use crate::column::{Column, TableCell, aliased, columns};
use crate::key::{Key, PROCESS_KEYS};
use crate::near::did_you_mean;
use cpuledger_model::field::{Field, Unit, Value};
use cpuledger_model::interval::{Row, Usage};
use cpuledger_model::make;
use cpuledger_model::task::Task;
use cpuledger_names::named::NameKey;

/// The longest query, in bytes.
pub const MOST_BYTES: usize = 1024;

/// Names besides keys and headers, and what they mean.
pub fn aliases() -> impl Iterator<Item = (&'static str, &'static str)> {
    aliased().into_iter().flat_map(|column| column.aliases).copied()
}

/// What is wrong with a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryError {
    /// Where: the number of characters before it.
    pub at: usize,
    /// One sentence.
    pub sentence: String,
}

impl fmt::Display for QueryError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} (at character {})", self.sentence, self.at + 1)
    }
}

impl std::error::Error for QueryError {}

/// Parentheses and negations within each other.
const MOST_DEPTH: usize = 32;

/// Memory of a compiled pattern.
const MOST_PATTERN_BYTES: usize = 1 << 20;

/// Here the place of an error is in bytes.
pub(super) fn parse(text: &str) -> Result<Option<Node>, QueryError> {
    if text.len() > MOST_BYTES {
        return Err(QueryError { at: MOST_BYTES, sentence: format!("longer than {MOST_BYTES} bytes") });
    }
    let mut parser = Parser { text, at: 0, depth: 0 };
    parser.skip_blanks();
    if parser.rest().is_empty() {
        return Ok(None);
    }
    let node = parser.alternatives()?;
    if !parser.rest().is_empty() {
        return Err(parser.error("a closing parenthesis has no opening one"));
    }
    Ok(Some(node))
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn error(&self, sentence: impl Into<String>) -> QueryError {
        QueryError { at: self.at, sentence: sentence.into() }
    }

    fn skip_blanks(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    /// Takes it if it is next.
    fn take(&mut self, symbol: &str) -> bool {
        let is_next = self.rest().starts_with(symbol);
        if is_next {
            self.at += symbol.len();
        }
        is_next
    }

    /// Takes a word of the language, which ends where its letters end.
    fn take_word(&mut self, word: &str) -> bool {
        let found = self.rest().get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
        let after = self.rest().get(word.len()..).unwrap_or_default();
        let ends = after.chars().next().is_none_or(|next| next.is_whitespace() || "()".contains(next));
        let is_next = found && ends;
        if is_next {
            self.at += word.len();
        }
        is_next
    }

    fn alternatives(&mut self) -> Result<Node, QueryError> {
        let mut nodes = vec![self.conditions()?];
        while self.take("|") || self.take_word("or") {
            while self.take("|") {}
            self.skip_blanks();
            nodes.push(self.conditions()?);
        }
        Ok(if nodes.len() == 1 { nodes.swap_remove(0) } else { Node::Any(nodes) })
    }

    fn conditions(&mut self) -> Result<Node, QueryError> {
        let mut nodes = vec![self.negation()?];
        loop {
            self.skip_blanks();
            while self.take("&") || self.take_word("and") {
                self.skip_blanks();
            }
            let is_over = self.rest().is_empty() || self.rest().starts_with([')', '|']);
            if is_over || self.is_at_or() {
                break;
            }
            nodes.push(self.negation()?);
        }
        Ok(if nodes.len() == 1 { nodes.swap_remove(0) } else { Node::All(nodes) })
    }

    fn is_at_or(&mut self) -> bool {
        let at = self.at;
        let is_or = self.take_word("or");
        self.at = at;
        is_or
    }

    fn negation(&mut self) -> Result<Node, QueryError> {
        self.skip_blanks();
        self.depth += 1;
        if self.depth > MOST_DEPTH {
            return Err(self.error(format!("more than {MOST_DEPTH} parentheses within each other")));
        }
        let node = if self.take("!") || self.take_word("not") {
            Node::Not(Box::new(self.negation()?))
        } else if self.take("(") {
            self.skip_blanks();
            let node = self.alternatives()?;
            if !self.take(")") {
                return Err(self.error("a parenthesis is not closed"));
            }
            node
        } else {
            self.condition()?
        };
        self.depth -= 1;
        Ok(node)
    }

    fn condition(&mut self) -> Result<Node, QueryError> {
        let begin = self.at;
        let name_ends = |next: char| next.is_whitespace() || "=!<>~()|&\"".contains(next);
        let name = &self.rest()[..self.rest().find(name_ends).unwrap_or(self.rest().len())];
        self.at += name.len();
        let Some(operator) = self.operator() else {
            self.at = begin;
            let word = self.value(false)?;
            return Ok(Node::Word(self.pattern(&regex::escape(&word), true, begin)?));
        };
        if name.is_empty() {
            self.at = begin;
            return Err(self.error("a condition begins with a name, such as cpu, user or comm"));
        }
        let Some(what) = what(name) else {
            self.at = begin;
            let near = did_you_mean("", name, names(), &valid_names());
            return Err(self.error(format!("unknown name `{}`{near}", name.escape_debug())));
        };
        let at = self.at;
        let value = self.value(matches!(operator, Operator::Matches | Operator::Lacks))?;
        let operand = self.operand(what, operator, &value, name, at)?;
        Ok(Node::Is(Condition { what, operator, operand }))
    }

    fn operator(&mut self) -> Option<Operator> {
        const OPERATORS: [(&str, Operator); 9] = [
            ("!=", Operator::Different),
            ("!~", Operator::Lacks),
            (">=", Operator::AtLeast),
            ("<=", Operator::AtMost),
            ("==", Operator::Equal),
            ("=", Operator::Equal),
            (">", Operator::More),
            ("<", Operator::Less),
            ("~", Operator::Matches),
        ];
        OPERATORS.iter().find(|(symbol, _)| self.take(symbol)).map(|(_, operator)| *operator)
    }

    /// Up to the next blank; in quotes, up to the next quote. A pattern may have bars, and parentheses that are closed.
    fn value(&mut self, is_pattern: bool) -> Result<String, QueryError> {
        if self.take("\"") {
            let Some(length) = self.rest().find('"') else {
                return Err(self.error("a quote is not closed"));
            };
            let value = self.rest()[..length].to_owned();
            self.at += length + 1;
            return Ok(value);
        }
        let mut depth = 0usize;
        let mut is_escaped = false;
        let end = self.rest().find(|next: char| {
            let was_escaped = is_escaped;
            is_escaped = is_pattern && next == '\\' && !was_escaped;
            match next {
                next if next.is_whitespace() => true,
                _ if was_escaped => false,
                '(' if is_pattern => {
                    depth += 1;
                    false
                }
                ')' if depth > 0 => {
                    depth -= 1;
                    false
                }
                ')' => true,
                '|' | '&' => !is_pattern,
                _ => false,
            }
        });
        let value = &self.rest()[..end.unwrap_or(self.rest().len())];
        if value.is_empty() {
            return Err(self.error("a value is missing"));
        }
        self.at += value.len();
        Ok(value.to_owned())
    }

    fn operand(
        &self,
        what: What,
        operator: Operator,
        value: &str,
        name: &str,
        at: usize,
    ) -> Result<Operand, QueryError> {
        let wrong = |sentence: String| QueryError { at, sentence };
        let shown = value.escape_debug();
        let is_text = is_text(what);
        if matches!(operator, Operator::Matches | Operator::Lacks) {
            if !is_text {
                return Err(wrong(format!("{name} is not text: use =, !=, >, >=, < or <=")));
            }
            return Ok(Operand::Pattern(self.pattern(value, false, at)?));
        }
        if is_text {
            return Ok(Operand::Text(value.as_bytes().to_vec()));
        }
        if let What::Key(Key::Field(Field::State)) = what {
            if !matches!(operator, Operator::Equal | Operator::Different) {
                return Err(wrong(format!("{name} is a letter: use = or !=")));
            }
            return Ok(Operand::Letters(value.as_bytes().to_vec()));
        }
        if value.starts_with(['=', '!', '<', '>', '~']) {
            return Err(wrong("the operators are =, !=, >, >=, <, <=, ~ and !~".to_owned()));
        }
        if matches!(what, What::Share(_) | What::ElapsedShare(_) | What::MemoryShare) {
            let number = value.strip_suffix('%').unwrap_or(value).parse().ok();
            let number = number.filter(|number: &f64| number.is_finite());
            return number.map(Operand::Share).ok_or_else(|| wrong(format!("`{shown}` is not a percentage")));
        }
        number(what, value)
            .map(Operand::Number)
            .ok_or_else(|| wrong(format!("`{shown}` is not {}", number_kind(what))))
    }

    fn pattern(&self, pattern: &str, any_case: bool, at: usize) -> Result<Regex, QueryError> {
        let mut builder = RegexBuilder::new(pattern);
        let built = builder
            .case_insensitive(any_case)
            .size_limit(MOST_PATTERN_BYTES)
            .dfa_size_limit(MOST_PATTERN_BYTES);
        built.build().map_err(|error| {
            let text = error.to_string();
            let reason = text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
            QueryError { at, sentence: format!("invalid regular expression: {reason}") }
        })
    }
}

/// What a name means: an alias, a header, or a key.
fn what(name: &str) -> Option<What> {
    let is_name = |known: &str| known.eq_ignore_ascii_case(name);
    let by_alias = columns().find(|column| column.aliases.iter().any(|(alias, _)| is_name(alias)));
    let by_header = || columns().find(|column| column.in_table.as_ref().is_some_and(|of| is_name(of.header)));
    match by_alias.or_else(by_header) {
        Some(column) => of_column(column),
        None => {
            let name = name.to_ascii_lowercase();
            let named = || NameKey::by_name(&name).map(What::Named);
            Key::by_name(&name).map(What::Key).or_else(named)
        }
    }
}

/// What a condition on a column looks at: what its cells show.
fn of_column(column: &'static Column) -> Option<What> {
    let key = column.key();
    match column.in_table.as_ref().map_or(TableCell::Value, |of| of.cell) {
        TableCell::Share => key.map(What::Share),
        TableCell::ElapsedShare => key.map(What::ElapsedShare),
        TableCell::MemoryShare => Some(What::MemoryShare),
        TableCell::User => Some(What::User),
        TableCell::Command => Some(What::Arguments),
        cell => cell.name().map(What::Named).or(key.map(What::Key)),
    }
}

/// The names that conditions may have, besides headers.
fn names() -> impl Iterator<Item = &'static str> {
    let keys = PROCESS_KEYS.iter().map(|key| key.name());
    let named = NameKey::ALL.iter().map(|name| name.name());
    aliases().map(|(alias, _)| alias).chain(keys).chain(named)
}

/// The end of a sentence about a name that is near none: the short names, and where the others are.
fn valid_names() -> String {
    let short: Vec<&str> = aliases().map(|(alias, _)| alias).collect();
    format!("use {}, a column header or a JSON key (man/ptop.1 lists all)", short.join(", "))
}

fn is_text(what: What) -> bool {
    match what {
        What::User | What::Arguments | What::Named(_) => true,
        What::Share(_) | What::ElapsedShare(_) | What::MemoryShare => false,
        // The kind of a value is the same for every row.
        What::Key(key) => {
            let task = make!(Task { known: cpuledger_model::field::FieldSet::ALL });
            matches!(key.value(&Row::new(task, Usage::default())), Value::Bytes(_))
        }
    }
}

/// What a number of that key looks like.
fn number_kind(what: What) -> &'static str {
    match unit(what) {
        Unit::Nanoseconds => "a time: a number of nanoseconds, or one with ns, us, ms, s or min",
        Unit::Bytes => "a size: a number of bytes, or one with K, M, G or T",
        Unit::Count | Unit::None => "a number",
    }
}

fn unit(what: What) -> Unit {
    if let What::Key(key) = what { key.unit() } else { Unit::None }
}

/// A number with the unit that suits the key.
fn number(what: What, value: &str) -> Option<i128> {
    const TIMES: [(&str, f64); 5] = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("min", 6e10), ("s", 1e9)];
    const SIZES: [(&str, f64); 4] = [
        ("k", 1024.0),
        ("m", 1024.0 * 1024.0),
        ("g", 1024.0 * 1024.0 * 1024.0),
        ("t", 1024.0 * 1024.0 * 1024.0 * 1024.0),
    ];
    if let Ok(number) = value.parse() {
        return Some(number);
    }
    let unit = unit(what);
    let lower = value.to_ascii_lowercase();
    let units: &[(&str, f64)] = match unit {
        Unit::Nanoseconds => &TIMES,
        Unit::Bytes => &SIZES,
        Unit::Count | Unit::None => &[],
    };
    let lower = if unit == Unit::Bytes { lower.trim_end_matches("ib").trim_end_matches('b') } else { &lower };
    let scaled = units.iter().find_map(|(suffix, scale)| {
        let number: f64 = lower.strip_suffix(suffix)?.parse().ok()?;
        Some(number * scale)
    });
    scaled.or_else(|| lower.parse().ok()).filter(|number| number.is_finite()).map(|number| number as i128)
}
