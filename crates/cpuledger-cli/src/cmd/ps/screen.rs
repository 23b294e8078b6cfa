//! How wide a line and how long a page may be.

use std::io::IsTerminal;

use rustix::fs::{Mode, OFlags, open};
use rustix::stdio::{stderr, stdin, stdout};
use rustix::termios::{Winsize, tcgetwinsize};

use super::number;
use super::options::Options;

/// Where no terminal tells.
const USUAL_WIDTH: usize = 80;
const USUAL_HEIGHT: usize = 24;
/// What one `w` widens to.
const WIDE: usize = 132;
/// From this width on, COLUMNS and LINES are not believed.
const TOO_LARGE: i64 = 128 * 1024;

/// The places of a line; `None`: any number. As procps: any number unless the output is a terminal, whose width then
/// counts; but COLUMNS and `--cols` count in any case, and `w` widens.
pub fn width(options: &Options) -> Option<usize> {
    let screen =
        std::io::stdout().is_terminal().then(|| of_terminal().map_or(USUAL_WIDTH, |(width, _)| width));
    chosen_width(screen, of_environment("COLUMNS"), options)
}

/// The lines of a page.
pub fn height(options: &Options) -> usize {
    let screen = || of_terminal().map_or(USUAL_HEIGHT, |(_, height)| height);
    options.height.or_else(|| of_environment("LINES")).unwrap_or_else(screen)
}

fn chosen_width(screen: Option<usize>, columns: Option<usize>, options: &Options) -> Option<usize> {
    let width = options.width.or(columns).or(screen)?;
    match options.wide {
        0 => Some(width),
        1 => Some(width.max(WIDE)),
        _ => None,
    }
}

fn of_environment(name: &str) -> Option<usize> {
    plausible(&std::env::var(name).ok()?)
}

fn plausible(text: &str) -> Option<usize> {
    let number = number::parse(text).filter(|&number| number > 0 && number < TOO_LARGE)?;
    usize::try_from(number).ok()
}

/// Width and height of the first of these terminals that has both; then of that which controls this process.
fn of_terminal() -> Option<(usize, usize)> {
    let standard =
        [stdout(), stderr(), stdin()].into_iter().find_map(|descriptor| sides(tcgetwinsize(descriptor)));
    standard.or_else(|| {
        let flags = OFlags::RDONLY | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        sides(tcgetwinsize(open("/dev/tty", flags, Mode::empty()).ok()?))
    })
}

/// A terminal that was told only one of them has neither.
fn sides(size: rustix::io::Result<Winsize>) -> Option<(usize, usize)> {
    let Winsize { ws_col, ws_row, .. } = size.ok()?;
    (ws_col > 0 && ws_row > 0).then_some((ws_col.into(), ws_row.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_statement_counts() {
        let options = |width, wide| Options { width, wide, ..Options::default() };
        assert_eq!(chosen_width(None, None, &options(None, 0)), None);
        assert_eq!(chosen_width(Some(80), None, &options(None, 0)), Some(80));
        assert_eq!(chosen_width(Some(80), Some(20), &options(None, 0)), Some(20));
        assert_eq!(chosen_width(None, Some(20), &options(None, 0)), Some(20));
        assert_eq!(chosen_width(Some(80), Some(20), &options(Some(30), 0)), Some(30));
        assert_eq!(chosen_width(Some(80), None, &options(None, 1)), Some(132));
        assert_eq!(chosen_width(Some(200), None, &options(None, 1)), Some(200));
        assert_eq!(chosen_width(Some(80), None, &options(None, 2)), None);
    }

    #[test]
    fn a_terminal_has_both_sides_or_none() {
        let size = |ws_col, ws_row| Ok(Winsize { ws_col, ws_row, ws_xpixel: 0, ws_ypixel: 0 });
        assert_eq!(sides(size(40, 10)), Some((40, 10)));
        for none in [size(40, 0), size(0, 10), size(0, 0), Err(rustix::io::Errno::NOTTY)] {
            assert_eq!(sides(none), None);
        }
    }

    #[test]
    fn the_environment_is_believed_within_bounds() {
        assert_eq!((plausible("20"), plausible("0x20")), (Some(20), Some(32)));
        for text in ["", "x", "20x", "0", "-5", "131072"] {
            assert_eq!(plausible(text), None, "{text:?}");
        }
    }
}
