//! One module a command.

pub mod doctor;
mod external;
pub mod filter;
pub mod ps;
pub mod record;
pub mod report;
pub mod run;
pub mod serve;
pub mod status;
pub mod top;

use std::ffi::OsString;

use clap::Parser;
use cpuledger_program::output;

use crate::cli::{Cli, Command, Ptop};

/// Runs the command that the arguments ask for; the first is the name of the program.
///
/// # Errors
/// Whatever ended the command; `exit::report` turns it into a sentence and a code.
pub fn run(arguments: Vec<OsString>) -> anyhow::Result<()> {
    // Options of ps are its own, down to `-v`: they do not pass through clap.
    if arguments.get(1).is_some_and(|name| name == "ps") {
        return ps::run(&arguments[2..]);
    }
    if arguments.get(1).is_some_and(|name| name == run::launch::LAUNCHER) {
        return run::launch::launch(&arguments[2..]);
    }
    // So are those of procps' top.
    if arguments.get(1).is_some_and(|name| name == "top")
        && arguments[2..].iter().any(|word| word == "--procps")
    {
        return run_as_top(&arguments[1..]);
    }
    if arguments.len() == 3 && arguments[1] == "help" && arguments[2] == "ps" {
        return ps::run(&["--help".into()]);
    }
    match &arguments[..] {
        [_, help, word] if help == "help" && external::program_of(word).is_some() => {
            return external::become_program(word, &["--help".into()]);
        }
        [_, word, rest @ ..] if external::program_of(word).is_some() => {
            return external::become_program(word, rest);
        }
        _ => {}
    }
    let cli = Cli::try_parse_from(arguments)?;
    let result = match cli.command {
        Command::Top(arguments) => top::run(&arguments),
        Command::Record(arguments) => record::run(arguments),
        Command::Serve(arguments) => serve::run(&arguments),
        Command::Run(arguments) => run::run(&arguments),
        Command::Report(arguments) => report::run(&arguments),
        Command::Ps { arguments } => ps::run(&arguments),
        Command::Export(of) => external::become_program("export", &of.arguments),
        Command::Metrics(of) => external::become_program("metrics", &of.arguments),
        Command::Push(of) => external::become_program("push", &of.arguments),
        Command::Mcp(of) => external::become_program("mcp", &of.arguments),
        Command::Web(of) => external::become_program("web", &of.arguments),
        Command::Status(arguments) => status::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
    };
    if cli.verbose {
        say_more(&result);
    }
    result
}

/// Runs `top` as `ptop`, whose options are those of `top` alone.
///
/// # Errors
/// As `run`.
pub fn run_as_ptop(arguments: Vec<OsString>) -> anyhow::Result<()> {
    let ptop = Ptop::try_parse_from(arguments)?;
    let result = top::run(&ptop.top);
    if ptop.verbose {
        say_more(&result);
    }
    result
}

/// Runs `top` as procps' top; the first argument is the name of the program.
///
/// # Errors
/// As `run`.
pub fn run_as_top(arguments: &[OsString]) -> anyhow::Result<()> {
    match top::procps::run(arguments.get(1..).unwrap_or_default())? {
        Some(of_screen) => top::run(&of_screen),
        None => Ok(()),
    }
}

/// What the verifier said.
fn say_more(result: &anyhow::Result<()>) {
    let error = result.as_ref().err().and_then(|error| error.downcast_ref::<cpuledger::Error>());
    for line in error.map_or(&[][..], cpuledger::Error::log) {
        output::complain(line);
    }
}
