//! Which group a process is in: the rules of process-exporter's `process_names`. The first that matches decides.

use std::collections::{BTreeMap, HashMap, HashSet};

use regex::Regex;

use super::candidate::Candidate;
use super::template::{Template, base};

/// The longest name that the kernel keeps of a program.
const LONGEST_COMM: usize = 15;
/// Expressions that match whatever arguments a program has.
const MATCHING_ALL: [&str; 6] = [".+", ".*", ".", "", "^.+$", "^.*$"];

/// A rule: all that it has must match.
#[derive(Debug, Clone)]
pub struct Rule {
    comms: Option<HashSet<String>>,
    /// By the last part of a path: the path, if all of it must match.
    exes: Option<HashMap<String, Option<String>>>,
    cmdlines: Option<Vec<Regex>>,
    name: Template,
}

impl Rule {
    /// Of names, of programs, and of expressions that all match the arguments.
    pub fn new(
        comms: Option<Vec<String>>,
        exes: Option<Vec<String>>,
        cmdlines: Option<Vec<Regex>>,
        name: Template,
    ) -> Rule {
        let exe = |path: String| match path.contains('/') {
            true => (base(&path).to_owned(), Some(path)),
            false => (path, None),
        };
        Rule {
            comms: comms.map(|comms| comms.into_iter().collect()),
            exes: exes.map(|exes| exes.into_iter().map(exe).collect()),
            cmdlines,
            name,
        }
    }

    fn group(&self, process: &Candidate<'_>) -> Option<String> {
        if self.comms.as_ref().is_some_and(|comms| !comms.contains(process.comm)) {
            return None;
        }
        let mut matches = BTreeMap::new();
        match process.argv {
            Some(argv) => {
                if !self.exes.as_ref().is_none_or(|exes| has_program(exes, argv)) {
                    return None;
                }
                let line = argv.join(" ");
                for expression in self.cmdlines.iter().flatten() {
                    find(expression, &line, &mut matches)?;
                }
            }
            None if !self.matches_without_arguments(process) => return None,
            None => {}
        }
        Some(self.name.name(process, &matches))
    }

    /// Whether it matches one that has ended before its arguments could be read: its name stands for its program, and expressions that do
    /// not match all arguments match none.
    fn matches_without_arguments(&self, process: &Candidate<'_>) -> bool {
        let is_all = |expression: &Regex| MATCHING_ALL.contains(&expression.as_str());
        let may_be = |exe: &String| {
            exe.as_bytes().get(..LONGEST_COMM).unwrap_or(exe.as_bytes()) == process.comm.as_bytes()
        };
        self.exes.as_ref().is_none_or(|exes| exes.keys().any(may_be))
            && self.cmdlines.iter().flatten().all(is_all)
            && !self.name.needs_matches()
            && (process.cgroups.is_some() || !self.name.needs_cgroups())
    }
}

/// Adds what an expression finds; `None`: it does not match.
fn find(expression: &Regex, line: &str, matches: &mut BTreeMap<String, String>) -> Option<()> {
    if expression.captures_len() == 1 {
        return expression.is_match(line).then_some(());
    }
    let found = expression.captures(line)?;
    for name in expression.capture_names().flatten() {
        let text = found.name(name).map_or("", |found| found.as_str());
        matches.insert(name.to_owned(), text.to_owned());
    }
    Some(())
}

fn has_program(exes: &HashMap<String, Option<String>>, argv: &[String]) -> bool {
    let Some(program) = argv.first() else { return false };
    exes.get(base(program)).is_some_and(|path| path.as_ref().is_none_or(|path| path == program))
}

/// All rules, in the order of the file.
#[derive(Debug, Clone)]
pub struct Rules(Vec<Rule>);

impl Rules {
    /// These.
    pub fn new(rules: Vec<Rule>) -> Rules {
        Rules(rules)
    }

    /// The group of a process; `None`: no rule matches.
    pub fn group(&self, process: &Candidate<'_>) -> Option<String> {
        self.0.iter().find_map(|rule| rule.group(process))
    }

    /// Whether names of users are needed.
    pub fn need_users(&self) -> bool {
        self.0.iter().any(|rule| rule.name.needs_users())
    }

    /// Whether cgroups are needed.
    pub fn need_cgroups(&self) -> bool {
        self.0.iter().any(|rule| rule.name.needs_cgroups())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compat::rules_file::parse;

    /// The group of a process with this name and these arguments.
    fn group(rules: &str, comm: &str, argv: Option<&[&str]>) -> Option<String> {
        let argv: Option<Vec<String>> =
            argv.map(|argv| argv.iter().map(|argument| (*argument).to_owned()).collect());
        let candidate = Candidate {
            pid: 23,
            comm,
            argv: argv.as_deref(),
            cgroups: None,
            user: "ann",
            start_realtime_ns: 0,
        };
        parse(rules).expect("rules").group(&candidate)
    }

    /// What process-exporter's own tests check.
    #[test]
    fn programs_are_matched_by_their_base_or_their_path() {
        let rules = "process_names:\n  - exe: \n    - bash\n  - exe: \n    - sh\n  - exe: \n    - /bin/ksh\n";
        let of = |comm, argv0: &str| group(rules, comm, Some(&[argv0]));
        assert_eq!(of("bash", "/bin/bash").as_deref(), Some("bash"));
        assert_eq!(of("sh", "sh").as_deref(), Some("sh"));
        assert_eq!(of("ksh", "/bin/ksh").as_deref(), Some("ksh"));
        assert_eq!(of("ksh", "/usr/bin/ksh"), None);
        assert_eq!(group(rules, "bash", Some(&[])), None, "a kernel thread has no arguments");
    }

    #[test]
    fn templates_take_what_expressions_find() {
        let rules = r#"
process_names:
  - exe:
    - postmaster
    cmdline:
    - "-D\\s+.+?(?P<Path>[^/]+)(?:$|\\s)"
    name: "{{.ExeBase}}:{{.Matches.Path}}"
  - exe:
    - prometheus
    name: "{{.ExeFull}}:{{.PID}}"
  - {comm: [cat], name: "{{.StartTime}}"}
"#;
        let argv = ["/usr/bin/postmaster", "-D", "/data/pg"];
        assert_eq!(group(rules, "postmaster", Some(&argv)).as_deref(), Some("postmaster:pg"));
        assert_eq!(group(rules, "postmaster", Some(&argv[..1])), None);
        let argv = ["/usr/local/bin/prometheus"];
        assert_eq!(group(rules, "prometheus", Some(&argv)).as_deref(), Some("/usr/local/bin/prometheus:23"));
        let cat = group(rules, "cat", Some(&["/bin/cat"]));
        assert_eq!(cat.as_deref(), Some("1970-01-01 00:00:00 +0000 UTC"));
    }

    #[test]
    fn the_first_rule_wins_and_all_expressions_must_match() {
        let rules = "process_names:\n- {name: ab, cmdline: [a, b]}\n- {name: a, cmdline: [a]}\n";
        let of = |argument| group(rules, "x", Some(&["x", argument]));
        assert_eq!([of("ba"), of("ca"), of("cb")], [Some("ab".to_owned()), Some("a".to_owned()), None]);
    }

    #[test]
    fn what_has_ended_is_matched_by_its_name() {
        let rules = "process_names:\n- {name: special, cmdline: [java]}\n- exe: [/usr/bin/averyveryverylongname]\n\
                     - {comm: [cc1], name: compiler}\n- {name: '{{.Comm}}', cmdline: ['.+']}\n";
        let of = |comm| group(rules, comm, None);
        assert_eq!(of("java").as_deref(), Some("java"));
        assert_eq!(of("averyveryverylo").as_deref(), Some("averyveryverylo"));
        assert_eq!(of("cc1").as_deref(), Some("compiler"));
        let found = "process_names:\n- {name: '{{.Matches.a}}', cmdline: ['.+']}\n- {name: '{{.Cgroups}}', cmdline: ['.+']}\n";
        assert_eq!(group(found, "a", None), None);
    }
}
