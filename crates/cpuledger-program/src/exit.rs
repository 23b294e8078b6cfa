//! Exit codes: 0 done, 1 nothing matched or a partial result, 2 usage, 3 no usable source or no program of the command.

use std::io;

use cpuledger_proc::escape::append_sentence;

use crate::output;

/// Why a command ends without being done.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// Nothing matched and nothing is to be said, as ps does: exit code 1.
    #[error("")]
    Quiet,
    /// The command line is wrong: exit code 2.
    #[error("{0}")]
    Usage(String),
    /// That of `ps` is wrong: exit code 1, as in procps.
    #[error("{0}")]
    UsageOfPs(String),
    /// That of procps' `top` is wrong: exit code 1, and the name of the program, as there.
    #[error("{0}")]
    UsageOfTop(String),
    /// The command is in a program that is missing: exit code 3.
    #[error("{0}")]
    NotInstalled(String),
    /// The exit code is that of a command that was run, and nothing is to be said.
    #[error("")]
    OfCommand(u8),
}

/// Says what went wrong in one sentence on standard error and turns it into the exit code. A reader that closed the
/// pipe has what it wanted: that is success. `is_of_source` says whether an error is that no source can be used.
pub fn report(result: anyhow::Result<()>, is_of_source: fn(&anyhow::Error) -> bool) -> u8 {
    let result = result.or_else(print_if_asked_for);
    let Err(error) = result else { return 0 };
    if let Some(error) = error.downcast_ref::<clap::Error>() {
        print_usage(error);
        return error.exit_code() as u8;
    }
    if error.chain().any(is_broken_pipe) {
        return 0;
    }
    let code = match error.downcast_ref::<Failure>() {
        Some(Failure::Quiet) => return 1,
        Some(Failure::OfCommand(code)) => return *code,
        Some(Failure::Usage(_)) => 2,
        Some(Failure::NotInstalled(_)) => 3,
        None if is_of_source(&error) => 3,
        Some(Failure::UsageOfPs(_) | Failure::UsageOfTop(_)) | None => 1,
    };
    let program = match error.downcast_ref() {
        Some(Failure::UsageOfTop(_)) => "top",
        _ => "cpuledger",
    };
    output::complain(&format!("{program}: {}", sentence(&error)));
    code
}

/// What clap says of a wrong command line: in colour where that is usual, but not with controls in the words that it repeats.
fn print_usage(error: &clap::Error) {
    let has_hidden = |word: std::ffi::OsString| {
        let word = word.to_string_lossy().into_owned();
        let mut text = Vec::new();
        append_sentence(&mut text, &word);
        text != word.as_bytes()
    };
    if std::env::args_os().any(has_hidden) {
        output::complain(error.render().to_string().trim_end());
    } else {
        // As above, standard error may be closed.
        let _ = error.print();
    }
}

/// To clap, help and version are errors too: they are output like any other.
fn print_if_asked_for(error: anyhow::Error) -> anyhow::Result<()> {
    match error.downcast_ref::<clap::Error>() {
        Some(page) if !page.use_stderr() => {
            let text = page.render();
            let text = if output::has_color() { text.ansi().to_string() } else { text.to_string() };
            output::write(text.as_bytes())
        }
        _ => Err(error),
    }
}

/// The error and its causes, but for those that are already told.
pub fn sentence(error: &anyhow::Error) -> String {
    let mut sentence = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !sentence.contains(&cause) {
            sentence.push_str(": ");
            sentence.push_str(&cause);
        }
    }
    sentence
}

fn is_broken_pipe(cause: &(dyn std::error::Error + 'static)) -> bool {
    cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use anyhow::{Context, anyhow};

    #[test]
    fn a_cause_is_told_once() {
        let error = Err::<(), _>(anyhow!("it is full")).context("cannot write: it is full; empty it");
        let error = error.context("no listing").expect_err("an error");
        assert_eq!(super::sentence(&error), "no listing: cannot write: it is full; empty it");
    }
}
