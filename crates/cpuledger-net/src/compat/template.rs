//! Names of groups as process-exporter's rules have them: what is used of Go's templates there, and no more.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use jiff::Timestamp;

use super::candidate::Candidate;

/// What an action may be.
const KNOWN: &str =
    ".Comm, .ExeBase, .ExeFull, .Username, .PID, .StartTime, .Matches.NAME, .Cgroups and `index .Cgroups N`";
/// What Go prints for a name without a match.
const NO_VALUE: &str = "<no value>";

/// A part of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Comm,
    ExeBase,
    ExeFull,
    Username,
    Pid,
    StartTime,
    Match(String),
    Cgroups,
    Cgroup(usize),
}

/// The template of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template(Vec<Part>);

impl Template {
    /// Reads one.
    ///
    /// # Errors
    /// When it has an action that is not known here: a reason.
    pub fn parse(text: &str) -> Result<Template, String> {
        let (mut parts, mut rest, mut trims) = (Vec::new(), text, false);
        let push = |parts: &mut Vec<Part>, text: &str| {
            if !text.is_empty() {
                parts.push(Part::Text(text.to_owned()));
            }
        };
        loop {
            let Some((before, after)) = rest.split_once("{{") else {
                push(&mut parts, if trims { rest.trim_start() } else { rest });
                return Ok(Template(parts));
            };
            let (action, behind) = after
                .split_once("}}")
                .ok_or_else(|| format!("`{{{{{after}` has no end: `}}}}` is missing"))?;
            let before = if trims { before.trim_start() } else { before };
            // A minus takes the blanks away that are beside the action.
            let (trimmed, action) = match action.strip_prefix('-').filter(|rest| rest.starts_with(' ')) {
                Some(action) => (before.trim_end(), action),
                None => (before, action),
            };
            let (is_trimming, action) = match action.strip_suffix('-').filter(|rest| rest.ends_with(' ')) {
                Some(action) => (true, action),
                None => (false, action),
            };
            push(&mut parts, trimmed);
            parts.push(part(action.trim())?);
            (rest, trims) = (behind, is_trimming);
        }
    }

    /// Whether names of users are needed for it.
    pub fn needs_users(&self) -> bool {
        self.0.contains(&Part::Username)
    }

    /// Whether cgroups are.
    pub fn needs_cgroups(&self) -> bool {
        self.0.iter().any(|part| matches!(part, Part::Cgroups | Part::Cgroup(_)))
    }

    /// Whether the arguments are, for what expressions have found in them.
    pub fn needs_matches(&self) -> bool {
        self.0.iter().any(|part| matches!(part, Part::Match(_)))
    }

    /// The name of a process.
    pub fn name(&self, process: &Candidate<'_>, matches: &BTreeMap<String, String>) -> String {
        let mut name = String::new();
        let cgroups = process.cgroups.unwrap_or_default();
        for part in &self.0 {
            let _ = match part {
                Part::Text(text) => name.write_str(text),
                Part::Comm => name.write_str(process.comm),
                Part::ExeBase => name.write_str(base(process.program())),
                Part::ExeFull => name.write_str(process.program()),
                Part::Username => name.write_str(process.user),
                Part::Pid => write!(name, "{}", process.pid),
                Part::StartTime => name.write_str(&start_time(process.start_realtime_ns)),
                Part::Match(key) => name.write_str(matches.get(key).map_or(NO_VALUE, String::as_str)),
                Part::Cgroups => write!(name, "[{}]", cgroups.join(" ")),
                Part::Cgroup(place) => name.write_str(cgroups.get(*place).map_or("", String::as_str)),
            };
        }
        name
    }
}

fn part(action: &str) -> Result<Part, String> {
    let unknown = || format!("`{{{{{action}}}}}` is not supported in a name; {KNOWN} are");
    let words: Vec<&str> = action.split_whitespace().collect();
    match words[..] {
        [".Comm"] => Ok(Part::Comm),
        [".ExeBase"] => Ok(Part::ExeBase),
        [".ExeFull"] => Ok(Part::ExeFull),
        [".Username"] => Ok(Part::Username),
        [".PID"] => Ok(Part::Pid),
        [".StartTime"] => Ok(Part::StartTime),
        [".Cgroups"] => Ok(Part::Cgroups),
        ["index", ".Cgroups", place] => place.parse().map(Part::Cgroup).map_err(|_| unknown()),
        ["index", ".Matches", key] => {
            let key = key.strip_prefix('"').and_then(|key| key.strip_suffix('"'));
            key.map(|key| Part::Match(key.to_owned())).ok_or_else(unknown)
        }
        [word] => match word.strip_prefix(".Matches.") {
            Some(key) if !key.is_empty() && !key.contains('.') => Ok(Part::Match(key.to_owned())),
            _ => Err(unknown()),
        },
        _ => Err(unknown()),
    }
}

/// The last part of a path, as Go's `filepath.Base` has it.
pub fn base(path: &str) -> &str {
    match path.trim_end_matches('/') {
        "" if path.is_empty() => ".",
        "" => "/",
        path => path.rsplit('/').next().unwrap_or(path),
    }
}

/// An instant as Go prints it.
fn start_time(ns: u64) -> String {
    let Ok(when) = Timestamp::from_nanosecond(i128::from(ns)) else { return String::new() };
    let text = when.strftime("%Y-%m-%d %H:%M:%S").to_string();
    let part = format!("{:09}", ns % 1_000_000_000);
    match part.trim_end_matches('0') {
        "" => format!("{text} +0000 UTC"),
        part => format!("{text}.{part} +0000 UTC"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(template: &str) -> String {
        let argv = ["/usr/bin/postgres".to_owned(), "-D".to_owned()];
        let cgroups = ["/a.slice".to_owned(), "/b".to_owned()];
        let process = Candidate {
            pid: 23,
            comm: "postgres",
            argv: Some(&argv),
            cgroups: Some(&cgroups),
            user: "ann",
            start_realtime_ns: 1_700_000_000_130_000_000,
        };
        let matches = BTreeMap::from([("Path".to_owned(), "pg".to_owned())]);
        Template::parse(template).expect("it is one").name(&process, &matches)
    }

    #[test]
    fn names_are_those_of_go() {
        for (template, expected) in [
            ("{{.ExeBase}}:{{.Matches.Path}}", "postgres:pg"),
            ("{{ .ExeFull }}@{{.Username}}", "/usr/bin/postgres@ann"),
            ("{{.Comm}} {{- .PID -}} x", "postgres23x"),
            ("{{.Matches.Other}}", "<no value>"),
            ("{{index .Matches \"Path\"}}", "pg"),
            ("{{.Cgroups}}|{{index .Cgroups 1}}|{{index .Cgroups 7}}", "[/a.slice /b]|/b|"),
            ("{{.StartTime}}", "2023-11-14 22:13:20.13 +0000 UTC"),
            ("plain", "plain"),
        ] {
            assert_eq!(name(template), expected, "{template}");
        }
    }

    #[test]
    fn what_is_not_known_is_refused() {
        for template in ["{{.Other}}", "{{if .Comm}}a{{end}}", "{{.Comm", "{{.Comm | printf \"%q\"}}", "{{}}"]
        {
            assert!(Template::parse(template).is_err(), "{template}");
        }
    }

    #[test]
    fn the_last_part_of_a_path_is_that_of_go() {
        for (path, expected) in [
            ("/bin/ksh", "ksh"),
            ("sh", "sh"),
            ("", "."),
            ("///", "/"),
            ("/a/b//", "b"),
            ("nginx: x", "nginx: x"),
        ] {
            assert_eq!(base(path), expected, "{path}");
        }
    }
}
