//! The file of process-exporter's rules, read as it is.

use std::path::Path;

use regex::Regex;
use saphyr::{LoadableYamlNode, MarkedYaml};

use super::rules::{Rule, Rules};
use super::template::Template;
use crate::config_file::{ConfigError, bytes, unknown};

/// What process-exporter's packages come with: a group for each name of a program.
const USUAL: &str = "process_names:\n- name: '{{.Comm}}'\n  cmdline: ['.+']\n";
/// The name of a group that has none.
const USUAL_NAME: &str = "{{.ExeBase}}";

/// Why a text has no rules.
#[derive(Debug)]
pub enum Fault {
    /// It is no YAML.
    NoYaml(String),
    /// A line, and what is wrong there.
    Wrong(usize, String),
}

/// Reads the file; without one there are the usual rules.
///
/// # Errors
/// When it cannot be read, or has something that is not known here.
pub fn read(path: Option<&Path>) -> Result<Rules, ConfigError> {
    let text = match path {
        Some(path) => String::from_utf8_lossy(&bytes(path)?).into_owned(),
        None => USUAL.to_owned(),
    };
    let path = path.unwrap_or(Path::new("the usual rules")).to_owned();
    parse(&text).map_err(|fault| match fault {
        Fault::NoYaml(reason) => ConfigError::NoYaml { path, reason },
        Fault::Wrong(line, reason) => ConfigError::Wrong { path, reason: format!("line {line}: {reason}") },
    })
}

/// The rules of a text.
///
/// # Errors
/// When there are none, or something is not known here.
pub fn parse(text: &str) -> Result<Rules, Fault> {
    let documents = MarkedYaml::load_from_str(text).map_err(|error| Fault::NoYaml(error.to_string()))?;
    let mut rules = Vec::new();
    let root = documents.first().map(|root| entries(root, "the file")).transpose()?;
    for (key, name, value) in root.unwrap_or_default() {
        match name.as_str() {
            "process_names" => {
                rules = sequence(value, &name)?.iter().map(rule).collect::<Result<_, _>>()?;
            }
            other => return Err(wrong(key, unknown(other, "process_names"))),
        }
    }
    if rules.is_empty() {
        return Err(Fault::Wrong(1, "there are no rules: `process_names` is a list of them".into()));
    }
    Ok(Rules::new(rules))
}

fn rule(node: &MarkedYaml<'_>) -> Result<Rule, Fault> {
    let (mut comms, mut exes, mut cmdlines) = (None, None, None);
    let mut name = Template::parse(USUAL_NAME).map_err(|reason| wrong(node, reason))?;
    for (key, word, value) in entries(node, "a rule")? {
        match word.as_str() {
            "name" => {
                let template = text(value, &word)?;
                let template = if template.is_empty() { USUAL_NAME } else { &template };
                name = Template::parse(template).map_err(|reason| wrong(value, reason))?;
            }
            "comm" => comms = texts(value, &word)?,
            "exe" => exes = texts(value, &word)?,
            "cmdline" => cmdlines = expressions(value, &word)?,
            other => return Err(wrong(key, unknown(other, "name, comm, exe and cmdline"))),
        }
    }
    if comms.is_none() && exes.is_none() && cmdlines.is_none() {
        return Err(wrong(node, "a rule needs `comm`, `exe` or `cmdline`".into()));
    }
    Ok(Rule::new(comms, exes, cmdlines, name))
}

fn wrong(node: &MarkedYaml<'_>, reason: String) -> Fault {
    Fault::Wrong(node.span.start.line(), reason)
}

/// Keys as nodes and as texts, and values. An empty value has none.
fn entries<'a, 'b>(
    node: &'a MarkedYaml<'b>,
    what: &str,
) -> Result<Vec<(&'a MarkedYaml<'b>, String, &'a MarkedYaml<'b>)>, Fault> {
    if is_empty(node) {
        return Ok(Vec::new());
    }
    let mapping = node.data.as_mapping();
    let mapping =
        mapping.ok_or_else(|| wrong(node, format!("{what} is not a mapping of names to values")))?;
    mapping.iter().map(|(key, value)| Ok((key, text(key, what)?, value))).collect()
}

fn sequence<'a, 'b>(node: &'a MarkedYaml<'b>, key: &str) -> Result<&'a [MarkedYaml<'b>], Fault> {
    if is_empty(node) {
        return Ok(&[]);
    }
    let sequence = node.data.as_sequence();
    sequence.map(Vec::as_slice).ok_or_else(|| wrong(node, format!("`{key}` is not a list")))
}

/// The texts of a list; `None`: nothing is there.
fn texts(node: &MarkedYaml<'_>, key: &str) -> Result<Option<Vec<String>>, Fault> {
    if is_empty(node) {
        return Ok(None);
    }
    sequence(node, key)?.iter().map(|own| text(own, key)).collect::<Result<_, _>>().map(Some)
}

fn expressions(node: &MarkedYaml<'_>, key: &str) -> Result<Option<Vec<Regex>>, Fault> {
    if is_empty(node) {
        return Ok(None);
    }
    let expression = |own: &MarkedYaml<'_>| {
        let source = text(own, key)?;
        Regex::new(&source).map_err(|error| {
            wrong(own, format!("`{source}` is not a regular expression: {}", reason_of(&error)))
        })
    };
    sequence(node, key)?.iter().map(expression).collect::<Result<_, _>>().map(Some)
}

/// The last line of what the parser of expressions says, which has a drawing before it.
fn reason_of(error: &regex::Error) -> String {
    let text = error.to_string();
    let last = text.lines().last().unwrap_or_default();
    last.strip_prefix("error: ").unwrap_or(last).to_owned()
}

fn is_empty(node: &MarkedYaml<'_>) -> bool {
    node.data.is_null()
}

fn text(node: &MarkedYaml<'_>, key: &str) -> Result<String, Fault> {
    let text = node.data.as_str().map(str::to_owned);
    text.ok_or_else(|| wrong(node, format!("a value of `{key}` is not text: put it in quotes")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> (usize, String) {
        match parse(text) {
            Err(Fault::Wrong(line, reason)) => (line, reason),
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        for (text, line, part) in [
            (
                "process_names:\n  - comm:\n    - sh\n    command: x\n",
                4,
                "`command` is not supported; name, comm",
            ),
            ("groups: []\n", 1, "`groups` is not supported; process_names"),
            (
                "process_names:\n- cmdline:\n  - ok\n  - '(a'\n",
                4,
                "`(a` is not a regular expression: unclosed group",
            ),
            (
                "process_names:\n- comm: [sh]\n  name: '{{.Foo}}'\n",
                3,
                "`{{.Foo}}` is not supported in a name",
            ),
            ("process_names:\n- comm: [sh]\n- name: x\n", 3, "a rule needs `comm`, `exe` or `cmdline`"),
            ("process_names:\n- comm: sh\n", 2, "`comm` is not a list"),
            ("process_names:\n- comm: [12]\n", 2, "put it in quotes"),
            ("process_names: []\n", 1, "there are no rules"),
            ("", 1, "there are no rules"),
        ] {
            let (found, reason) = fault(text);
            assert!(found == line && reason.contains(part), "{text}: {found}, {reason}");
        }
        assert!(matches!(parse("process_names:\n- comm: [sh\n"), Err(Fault::NoYaml(_))));
    }

    #[test]
    fn the_usual_rules_are_rules() {
        assert!(read(None).is_ok_and(|rules| !rules.need_cgroups() && !rules.need_users()));
    }
}
