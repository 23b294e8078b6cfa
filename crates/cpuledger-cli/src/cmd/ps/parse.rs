//! From arguments to [`Options`]: UNIX options (`-ef`), BSD options (`aux`) and GNU options (`--sort`), mixed at will,
//! and numbers of processes at the end.

use cpuledger::Field;
use cpuledger_view::near::did_you_mean;

use super::flags::{EXAMPLES, FLAGS, Flag, Style, Takes};
use super::items;
use super::options::{Action, Options, Surrounding};

/// How letters after a dash are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// As UNIX options.
    Usual,
    /// As BSD's, as in the personality.
    Bsd,
    /// As BSD's, though it is not certain that they were meant so: then there may be no other BSD option.
    BsdAfterAll,
}

/// Reads the arguments, to the first that is wrong, of which a sentence tells.
pub fn parse(arguments: &[&str], reading: Reading, surrounding: &Surrounding) -> (Options, Option<String>) {
    let surrounding = match reading {
        Reading::BsdAfterAll => {
            &Surrounding { personality: surrounding.personality.read_as_bsd(), ..surrounding.clone() }
        }
        _ => surrounding,
    };
    let mut options = Options::of(&surrounding.personality);
    options.is_bsd |= reading != Reading::Usual;
    let mut reader = Reader { arguments, at: 0, options, surrounding };
    let outcome = reader.all(reading);
    (reader.options, outcome.err())
}

/// Whether it is letters without a dash.
fn is_bsd_option(argument: &str) -> bool {
    argument.starts_with(|first: char| first.is_ascii_alphabetic())
}

/// Where one is in the arguments.
struct Reader<'a> {
    arguments: &'a [&'a str],
    at: usize,
    options: Options,
    surrounding: &'a Surrounding,
}

impl<'a> Reader<'a> {
    fn all(&mut self, reading: Reading) -> Result<(), String> {
        while let Some(argument) = self.next() {
            let mut letters = argument.chars();
            match (letters.next(), letters.next()) {
                _ if is_bsd_option(argument) && reading == Reading::BsdAfterAll => {
                    return Err(format!("`{argument}` is a BSD option; BSD options have no dash"));
                }
                _ if is_bsd_option(argument) => {
                    self.options.has_bsd_options = true;
                    self.letters(Style::Bsd, argument)?;
                }
                (Some('0'..='9' | '+'), _) | (Some('-'), Some('0'..='9')) => {
                    self.options.is_bsd = true;
                    self.numbers(argument)?;
                }
                (Some('-'), Some('a'..='z' | 'A'..='Z')) => {
                    let style = if reading == Reading::Usual { Style::Unix } else { Style::Bsd };
                    self.letters(style, &argument[1..])?;
                }
                (Some('-'), Some('-'))
                    if letters.next().is_some_and(|letter| letter.is_ascii_alphabetic()) =>
                {
                    self.long(&argument[2..])?;
                }
                _ => return Err(format!("`{argument}` is not an option")),
            }
            if self.options.action == Action::Help {
                break;
            }
        }
        Ok(())
    }

    fn next(&mut self) -> Option<&'a str> {
        let next = self.arguments.get(self.at).copied();
        self.at += usize::from(next.is_some());
        next
    }

    /// Whether there is one argument, besides those of the source.
    fn is_alone(&self) -> bool {
        let mut count = 0;
        let mut rest = self.arguments.iter();
        while let Some(argument) = rest.next() {
            match *argument {
                "--source" | "--socket" => drop(rest.next()),
                argument if argument.starts_with("--source=") || argument.starts_with("--socket=") => {}
                _ => count += 1,
            }
        }
        count == 1
    }

    fn letters(&mut self, style: Style, letters: &str) -> Result<(), String> {
        self.options.is_bsd |= style == Style::Bsd;
        for (index, letter) in letters.char_indices() {
            let name = style.spell(letter);
            let Some(flag) = FLAGS.iter().find(|flag| flag.letters(style).contains(letter)) else {
                return Err(unknown_letter(&name, style, letter) + &may_be_name(style, letters));
            };
            let attached = &letters[index + letter.len_utf8()..];
            match flag.takes {
                Takes::Nothing => (flag.apply)(&mut self.options, "", self.surrounding)?,
                Takes::NothingAlone if self.is_alone() && index == 0 && attached.is_empty() => {
                    (flag.apply)(&mut self.options, "", self.surrounding)?;
                }
                Takes::NothingAlone => return Err(not_alone(&name)),
                Takes::Value(_) | Takes::Optional(_) => {
                    if style == Style::Bsd && !attached.is_empty() {
                        self.options.word_with_value = Some(letters.to_owned());
                    }
                    let value = if attached.is_empty() { self.next() } else { Some(attached) };
                    return self.apply(flag, &name, value);
                }
            }
        }
        Ok(())
    }

    fn long(&mut self, text: &str) -> Result<(), String> {
        let (name, attached) = match text.split_once(['=', ':']) {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        let spelled = format!("--{name}");
        let Some(flag) = FLAGS.iter().find(|flag| flag.long.contains(&name)) else {
            let known = FLAGS.iter().flat_map(|flag| flag.long.iter().copied());
            return Err(format!(
                "there is no option `{spelled}`{}",
                did_you_mean("--", name, known, "`cpuledger ps --help` lists them")
            ));
        };
        match (flag.takes, attached) {
            (Takes::Value(_) | Takes::Optional(_), _) => {
                let value = attached.or_else(|| self.next());
                self.apply(flag, &spelled, value)
            }
            (Takes::NothingAlone, _) if !self.is_alone() || attached.is_some() => Err(not_alone(&spelled)),
            (_, Some(value)) => Err(format!("`{spelled}` takes no value, but `{value}` was given")),
            (_, None) => (flag.apply)(&mut self.options, "", self.surrounding),
        }
    }

    fn apply(&mut self, flag: &Flag, name: &str, value: Option<&str>) -> Result<(), String> {
        match (flag.takes, value) {
            (Takes::Value(what), None | Some("")) | (Takes::Optional(what), Some("")) => {
                Err(format!("`{name}` needs {}", needed(what)))
            }
            _ => (flag.apply)(&mut self.options, value.unwrap_or_default(), self.surrounding),
        }
    }

    /// Processes, process groups after `-` and sessions after `+`, to the end.
    fn numbers(&mut self, first: &str) -> Result<(), String> {
        let mut next = Some(first);
        while let Some(text) = next {
            let (field, what, digits) = match text.split_at_checked(1) {
                Some(("-", digits)) => (Field::Pgid, "process group id", digits),
                Some(("+", digits)) => (Field::Sid, "session id", digits),
                _ => (Field::Pid, "pid", text),
            };
            let is_number = digits.starts_with(|first: char| first.is_ascii_digit());
            let number = if is_number { items::positive(digits, what) } else { Err(String::new()) };
            let number = number.map_err(|_| {
                format!("only process ids can follow a process id, not `{text}`; options come first")
            })?;
            self.options.listed.push((field, number.into()));
            next = self.next();
        }
        Ok(())
    }
}

/// Words without a dash are not names, as some expect.
fn may_be_name(style: Style, word: &str) -> String {
    match style {
        Style::Bsd if word.len() > 2 => format!("; to select processes by name, use `-C {word}`"),
        _ => String::new(),
    }
}

/// The value that is missing, with an example.
fn needed(value: &str) -> String {
    match EXAMPLES.iter().find(|(name, _)| *name == value) {
        Some((_, example)) => format!("a value: {value}, such as {example}"),
        None => format!("a value: {value}"),
    }
}

fn not_alone(name: &str) -> String {
    format!("`{name}` must be the only argument")
}

fn unknown_letter(name: &str, style: Style, letter: char) -> String {
    if letter == '-' {
        return "a dash stands between letters; put a space before it".to_owned();
    }
    let (other, there) = match style {
        Style::Unix => (Style::Bsd, "without a dash"),
        Style::Bsd => (Style::Unix, "with a dash"),
    };
    if FLAGS.iter().any(|flag| flag.letters(other).contains(letter)) {
        return format!("unknown option `{name}`; did you mean `{}`, {there}?", other.spell(letter));
    }
    format!("unknown option `{name}`; `cpuledger ps --help` lists the options")
}

#[cfg(test)]
mod tests;
