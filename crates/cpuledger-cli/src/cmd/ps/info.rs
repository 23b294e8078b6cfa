//! `ps --info`: what was found out about habits and screen.

use super::options::{Options, Surrounding};
use super::screen;

/// The text of `--info`.
pub fn text(surrounding: &Surrounding, options: &Options) -> String {
    let formats = surrounding.personality.formats;
    let mut text = String::new();
    for (name, format) in [
        ("BSD j", Some(formats.bsd_jobs)),
        ("BSD l", Some(formats.bsd_long)),
        ("BSD s", Some(formats.bsd_signals)),
        ("BSD u", Some(formats.bsd_user)),
        ("BSD v", Some(formats.bsd_memory)),
        ("SysV -f", formats.full),
        ("SysV -fl", formats.full_long),
        ("SysV -j", formats.jobs),
        ("SysV -l", formats.long),
    ] {
        text += &format!("{name:8} {}\n", format.unwrap_or("(none)"));
    }
    let width = screen::width(options).map_or("any".to_owned(), |width| width.to_string());
    text += &format!(
        "\ncpuledger version {}\nscreen_cols={width} screen_rows={}\nEUID={} TTY={:#x} page_size={}\n",
        env!("CARGO_PKG_VERSION"),
        screen::height(options),
        surrounding.caller.euid,
        surrounding.caller.tty_device,
        rustix::param::page_size(),
    );
    text
}
