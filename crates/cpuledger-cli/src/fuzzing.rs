//! Entry points for the fuzz targets in `fuzz/`. No part of the interface.

use std::hint::black_box;
use std::path::Path;

use cpuledger_view::filter::Caller;

use crate::cmd::ps::{Personality, Plan, Surrounding, help};
use crate::cmd::{report, top};
use crate::tui::{config, drawn};

/// Reads the arguments of ps in the personality that the first one names, and makes the plan of a listing.
///
/// # Errors
/// What is wrong with them, in a sentence.
pub fn plan_of_ps(arguments: &[&str]) -> Result<(), String> {
    let (name, arguments) = arguments.split_first().ok_or("no argument")?;
    let variable = |variable: &str| (variable == "PS_PERSONALITY").then(|| (*name).to_owned());
    let surrounding = Surrounding {
        personality: Personality::of(&variable),
        caller: Caller { euid: 0, tty_device: 0x8801 },
        format: arguments.first().map(|format| (*format).to_owned()),
        hides_kernel: false,
    };
    let plan = Plan::of(arguments, &surrounding)?;
    black_box(help::options(&plan.options.help_section));
    Ok(())
}

/// Reads the text of the screen's configuration file. What was understood is written and read again.
///
/// # Errors
/// Why it is no configuration, in a sentence.
///
/// # Panics
/// If what is read is not what was written.
pub fn config(text: &str) -> Result<Vec<String>, String> {
    let (settings, warnings) = config::read(text).map_err(|error| error.to_string())?;
    let written = config::write(&settings);
    let (read, complaints) = config::read(&written).expect("what is written is TOML");
    assert_eq!((&read, complaints), (&settings, Vec::new()), "{written}");
    assert_eq!(config::write(&read), written);
    Ok(warnings)
}

/// All that `top --batch`, the screen and `report` show of a recording, in each format. What cannot be shown is an error, and an answer.
pub fn shown(path: &Path) -> Vec<Vec<u8>> {
    let mut shown = Vec::new();
    for format in ["text", "json", "csv", "csv-safe"] {
        for (by, delay) in [
            (None, None),
            (Some("wait"), None),
            (Some("wait,cgroup"), None),
            (Some("device"), None),
            (None, Some("60")),
        ] {
            let arguments = top::Arguments {
                batch: true,
                threads: delay.is_none(),
                format: Some(format.into()),
                by: by.filter(|_| format == "text").map(str::to_owned),
                delay: delay.map(str::to_owned),
                replay: Some(path.to_owned()),
                ..top::Arguments::default()
            };
            shown.extend(top::printed(&arguments));
        }
    }
    for by in ["command", "user", "cgroup", "process", "ancestor", "unit"] {
        for format in ["text", "json", "csv", "csv-safe", "html"] {
            shown.extend(report::made(path, by, format));
        }
    }
    for format in ["text", "json", "csv", "csv-safe"] {
        shown.extend(report::made(path, "device", format));
    }
    let screen = top::Arguments { replay: Some(path.to_owned()), ..top::Arguments::default() };
    shown.extend(drawn::drawn(&screen).into_iter().flatten().map(String::into_bytes));
    shown
}
