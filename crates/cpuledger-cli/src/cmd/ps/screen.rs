//! How wide a line may be.

use std::io::IsTerminal;

use rustix::stdio::{stderr, stdin, stdout};
use rustix::termios::tcgetwinsize;

use super::options::Options;

/// Where no terminal tells.
const USUAL_WIDTH: usize = 80;
/// What one `w` widens to.
const WIDE: usize = 132;

/// The places of a line; `None`: any number. As procps: any number unless the output is a terminal, whose width then
/// counts; but COLUMNS and `--cols` count in any case, and `w` widens.
pub fn width(options: &Options) -> Option<usize> {
    let screen = std::io::stdout().is_terminal().then(terminal_width);
    let columns = std::env::var("COLUMNS").ok();
    chosen_width(screen, columns.as_deref(), options)
}

fn chosen_width(screen: Option<usize>, columns: Option<&str>, options: &Options) -> Option<usize> {
    let columns = columns.and_then(|text| text.parse().ok()).filter(|&width| width > 0);
    let width = options.width.or(columns).or(screen)?;
    match options.wide {
        0 => Some(width),
        1 => Some(width.max(WIDE)),
        _ => None,
    }
}

fn terminal_width() -> usize {
    [stdout(), stderr(), stdin()]
        .into_iter()
        .filter_map(|descriptor| tcgetwinsize(descriptor).ok())
        .map(|size| usize::from(size.ws_col))
        .find(|&width| width > 0)
        .unwrap_or(USUAL_WIDTH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_statement_counts() {
        let options = |width, wide| Options { width, wide, ..Options::default() };
        assert_eq!(chosen_width(None, None, &options(None, 0)), None);
        assert_eq!(chosen_width(Some(80), None, &options(None, 0)), Some(80));
        assert_eq!(chosen_width(Some(80), Some("20"), &options(None, 0)), Some(20));
        assert_eq!(chosen_width(None, Some("20"), &options(None, 0)), Some(20));
        assert_eq!(chosen_width(Some(80), Some("x"), &options(None, 0)), Some(80));
        assert_eq!(chosen_width(Some(80), Some("20"), &options(Some(30), 0)), Some(30));
        assert_eq!(chosen_width(Some(80), None, &options(None, 1)), Some(132));
        assert_eq!(chosen_width(Some(200), None, &options(None, 1)), Some(200));
        assert_eq!(chosen_width(Some(80), None, &options(None, 2)), None);
    }
}
