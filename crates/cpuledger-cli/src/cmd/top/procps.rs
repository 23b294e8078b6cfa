//! `top` as scripts know it from procps: its options, its head, its columns and its exit codes, with figures of ours. What
//! differs is in docs/top.md.
//!
//! `cmd/top/procps` is procps' top. It has a table of options with a parser by the rules of getopt_long(3), a head made of what was read (`head`,
//! pure), and a table of rows (`table`, pure). `batch` reads: the first iteration is a listing, as `ps` takes it, and the others are the intervals
//! of `collect`. The screen gets the options that mean the same. All printed names and sentences go through `escape`, and `invisible`
//! says which characters that concerns.

mod batch;
mod entry;
mod fields;
mod head;
pub mod options;
#[cfg(test)]
mod recorded;
mod table;
mod who;

use std::ffi::OsString;

use cpuledger::source::service::name_socket;
use cpuledger_program::exit::Failure;
use cpuledger_program::output;

use super::options::Arguments;
use super::terminal::has_screen;
use options::{Action, LEAST_DELAY_NS, Options};
use who::Who;

/// Runs `top` with these words of the command line, without the name of the program. Where they ask for the screen, its options
/// are returned.
///
/// # Errors
/// Bad options, no source, or nowhere to write.
pub fn run(words: &[OsString]) -> anyhow::Result<Option<Arguments>> {
    let words: Vec<&str> = words.iter().map(utf8).collect::<Result<_, _>>()?;
    let own_pid = rustix::process::getpid().as_raw_pid();
    match options::parse(&words, own_pid).map_err(Failure::UsageOfTop)? {
        Action::Help => output::write(options::help().as_bytes())?,
        Action::Version => {
            output::write(concat!("top from cpuledger ", env!("CARGO_PKG_VERSION"), "\n").as_bytes())?;
        }
        Action::Fields => {
            let names: Vec<&str> = fields::fields().map(|(name, _)| name).collect();
            output::write((names.join("\n") + "\n").as_bytes())?;
        }
        Action::Run(options) if options.is_batch => {
            options.socket.as_deref().into_iter().for_each(name_socket);
            batch::run(&options)?;
        }
        Action::Run(_) if !has_screen() => {
            return Err(Failure::UsageOfTop("failed tty get".to_owned()).into());
        }
        Action::Run(options) => return Ok(Some(arguments(&options).map_err(Failure::UsageOfTop)?)),
    }
    Ok(None)
}

fn utf8(word: &OsString) -> Result<&str, Failure> {
    word.to_str().ok_or_else(|| Failure::UsageOfTop(format!("the argument {word:?} is not UTF-8")))
}

/// The options of the screen that mean the same. How text is written is of no use there.
fn arguments(options: &Options) -> Result<Arguments, String> {
    if options.is_secure {
        return Err("the screen has no secure mode; use -b".to_owned());
    }
    let (pid, user) = match &options.who {
        Who::All => (Vec::new(), Vec::new()),
        Who::Pids(pids) => (pids.iter().map(ToString::to_string).collect(), Vec::new()),
        Who::User { uid, is_any: false, is_negated: false } => (Vec::new(), vec![uid.to_string()]),
        Who::User { .. } => {
            return Err("the screen knows neither -U nor !USER; use -b, or set a filter on the screen (F4)"
                .to_owned());
        }
    };
    Ok(Arguments {
        iterations: options.iterations.map(|iterations| iterations.to_string()),
        delay: options.delay_ns.map(|delay_ns| (delay_ns.max(LEAST_DELAY_NS) as f64 / 1e9).to_string()),
        threads: options.has_threads,
        pid,
        user,
        sort: options.sort.as_ref().map(|_| fields::of_screen(options.by, options.is_ascending)),
        idle: options.hides_idle,
        all: !options.hides_idle,
        command_line: options.has_arguments,
        source: options.source.map(|source| source.name().to_owned()),
        socket: options.socket.clone(),
        ..Arguments::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::config::sort_name;

    fn of_screen(line: &str) -> Result<Arguments, String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match options::parse(&words, 1) {
            Ok(Action::Run(options)) => arguments(&options),
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn the_screen_gets_what_means_the_same() {
        let given = of_screen("-d0 -n 3 -Hc -p 1,2 -o -%MEM").expect("it is good");
        assert_eq!((given.delay.as_deref(), given.iterations.as_deref()), (Some("0.01"), Some("3")));
        assert!(given.threads && given.command_line && given.all && !given.idle);
        assert_eq!((given.pid.join(","), given.sort.as_deref()), ("1,2".to_owned(), Some("-%MEM")));
        for (sort, expected) in [
            ("+nTH", "nTH"),
            ("vMj", "major_faults"),
            ("ELAPSED", "-start_time_ns"),
            ("-ELAPSED", "start_time_ns"),
        ] {
            let given = of_screen(&format!("-o {sort}")).expect("it is good");
            assert_eq!(given.sort.as_deref(), Some(expected), "{sort}");
        }
        assert_eq!(of_screen("-u 7 -i").expect("it is good").user, ["7"]);
        for line in ["-s", "-U root", "-u !root"] {
            assert!(of_screen(line).is_err_and(|sentence| sentence.contains("-b")), "{line}");
        }
    }

    /// What -o takes here, the screen takes as well.
    #[test]
    fn the_screen_sorts_by_every_field() {
        for (name, _) in fields::fields() {
            let sort = of_screen(&format!("-o {name}")).expect("it is good").sort.expect("an order");
            assert!(sort_name(sort.trim_start_matches('-')).is_some(), "{name}: {sort}");
        }
    }
}
