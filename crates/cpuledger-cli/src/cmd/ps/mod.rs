//! `cpuledger ps`: tasks once, as procps prints them. Arguments → plan → one snapshot → lines.

mod flags;
mod format;
pub(crate) mod help;
mod info;
mod items;
mod listing;
mod macros;
mod matcher;
mod number;
mod options;
mod order;
mod page;
mod parallel;
mod parse;
mod personality;
mod plan;
#[cfg(test)]
mod recorded;
mod screen;
mod selection;
mod specifiers;
mod survivors;

use std::ffi::OsString;

use cpuledger::source::service::{listens, name_socket};
use cpuledger_names::terminal::own_device;
use cpuledger_program::exit::Failure;
use cpuledger_program::output;
use cpuledger_view::filter::Caller;

pub(crate) use options::Surrounding;
use options::{Action, Options};
pub(crate) use personality::Personality;
pub(crate) use plan::Plan;

/// Runs `ps` with these options.
///
/// # Errors
/// Bad options, no source, nothing matched.
pub fn run(arguments: &[OsString]) -> anyhow::Result<()> {
    let arguments: Vec<&str> = arguments.iter().map(|argument| utf8(argument)).collect::<Result<_, _>>()?;
    let surrounding = surrounding();
    let plan = Plan::of(&arguments, &surrounding).map_err(Failure::UsageOfPs)?;
    if let Some(warning) = &plan.warning {
        output::warn(warning);
    }
    plan.options.socket.as_deref().into_iter().for_each(name_socket);
    match plan.options.action {
        Action::Help => output::write(help::options(&plan.options.help_section).as_bytes()),
        Action::Columns => output::write(help::columns().as_bytes()),
        Action::Info => output::write(info::text(&surrounding, &plan.options).as_bytes()),
        Action::Version => {
            output::write(concat!("cpuledger ps ", env!("CARGO_PKG_VERSION"), "\n").as_bytes())
        }
        Action::List => {
            warn_of_socket(&plan.options);
            listing::list(&plan)
        }
    }
}

/// Says that no service is there where one was named, as the listing then comes from elsewhere.
fn warn_of_socket(options: &Options) {
    if let Some(socket) = options.socket.as_deref().filter(|_| options.source.is_none() && !listens()) {
        output::warn(&format!(
            "no service listens at {}; this listing is not of a service",
            socket.display()
        ));
    }
}

fn utf8(argument: &OsString) -> Result<&str, Failure> {
    let not_utf8 = || Failure::UsageOfPs(format!("the argument {argument:?} is not UTF-8"));
    argument.to_str().ok_or_else(not_utf8)
}

fn surrounding() -> Surrounding {
    let variable = |name: &str| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
    Surrounding {
        personality: Personality::of(&variable),
        caller: Caller { euid: rustix::process::geteuid().as_raw(), tty_device: own_device() },
        format: variable("PS_FORMAT").filter(|format| !format.is_empty()),
        hides_kernel: variable("LIBPROC_HIDE_KERNEL").is_some(),
    }
}

/// What `--help` prints, for the manual.
#[cfg(test)]
pub fn help_page() -> String {
    help::options("")
}
