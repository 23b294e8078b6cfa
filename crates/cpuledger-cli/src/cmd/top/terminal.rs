//! The terminal that `top` may write to.

use std::io::IsTerminal;

/// Whether there is one to read from and to write to. One that has no name, or says that it can do nothing, cannot show a screen.
pub fn has_screen() -> bool {
    let can_move = std::env::var("TERM").is_ok_and(|name| !name.is_empty() && name != "dumb");
    can_move && std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

/// Places of a line of the terminal that standard output is.
pub fn terminal_width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(rustix::stdio::stdout()).ok()?;
    Some(usize::from(size.ws_col)).filter(|&width| width > 0)
}
