//! `without-bpf`: runs a program under a seccomp filter that refuses bpf(2), as containers do.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::{Context, Result, bail};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};

/// Run a program that the kernel refuses bpf(2)
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The number of the error that it gets: 1 is EPERM, 38 is ENOSYS
    #[arg(long, value_name = "N", default_value_t = 1)]
    errno: u32,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

/// Runs the command: becomes the program.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let refused = BTreeMap::from([(libc::SYS_bpf, Vec::new())]);
    let architecture = std::env::consts::ARCH.try_into().context("this architecture has no filters")?;
    let filter = SeccompFilter::new(
        refused,
        SeccompAction::Allow,
        SeccompAction::Errno(arguments.errno),
        architecture,
    )?;
    let program: BpfProgram = filter.try_into().context("compile the filter")?;
    seccompiler::apply_filter(&program).context("install the filter")?;
    let Some((name, rest)) = arguments.command.split_first() else { bail!("no program is named") };
    Err(Command::new(name).args(rest).exec()).with_context(|| format!("run {}", name.display()))
}
