//! Exit codes: 0 done, 1 nothing matched or a partial result, 2 usage, 3 no usable source.

use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;

/// Why a command ends without being done.
#[derive(Debug)]
pub enum Failure {
    /// Nothing matched and nothing is to be said, as ps does: exit code 1.
    Quiet,
    /// The command line is wrong: exit code 2.
    Usage(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Usage(sentence) => formatter.write_str(sentence),
            Failure::Quiet => Ok(()),
        }
    }
}

impl std::error::Error for Failure {}

/// Says what went wrong in one sentence on standard error and turns it into the exit code. A reader that closed the
/// pipe has what it wanted: that is success.
pub fn report(result: anyhow::Result<()>) -> ExitCode {
    let Err(error) = result else { return ExitCode::SUCCESS };
    if let Some(error) = error.downcast_ref::<clap::Error>() {
        let _ = error.print();
        return ExitCode::from(error.exit_code() as u8);
    }
    if error.chain().any(is_broken_pipe) {
        return ExitCode::SUCCESS;
    }
    let code = match error.downcast_ref::<Failure>() {
        Some(Failure::Quiet) => return ExitCode::from(1),
        Some(Failure::Usage(_)) => 2,
        None if error.downcast_ref::<cpuledger::Error>().is_some() => 3,
        None => 1,
    };
    // Standard error may be closed too; then the exit code has to say it.
    let _ = writeln!(io::stderr(), "cpuledger: {error:#}");
    ExitCode::from(code)
}

fn is_broken_pipe(cause: &(dyn std::error::Error + 'static)) -> bool {
    cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
