//! The terminal while it is ours, and its state before: restored at the end, at a stop and at a panic of any thread.

use std::io::{self, BufWriter, Stdout, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::event::{DisableMouseCapture, EnableMouseCapture};
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use crossterm::{cursor, execute, style};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::buffer::Buffer;

/// Whether it is ours now.
static IS_OURS: AtomicBool = AtomicBool::new(false);

/// So much is written at once.
const BUFFER_BYTES: usize = 64 * 1024;

/// The terminal, in our mode until it is dropped.
pub struct Screen {
    terminal: Terminal<CrosstermBackend<BufWriter<Stdout>>>,
    has_mouse: bool,
}

impl Screen {
    /// Takes the terminal.
    ///
    /// # Errors
    /// When it is none, or refuses.
    pub fn enter(has_mouse: bool) -> io::Result<Screen> {
        restore_at_panic();
        let writer = BufWriter::with_capacity(BUFFER_BYTES, io::stdout());
        let backend = CrosstermBackend::new(writer);
        let mut screen = Screen { terminal: Terminal::new(backend)?, has_mouse };
        screen.take()?;
        Ok(screen)
    }

    /// Takes it, or takes it again.
    ///
    /// # Errors
    /// As [`Screen::enter`].
    pub fn take(&mut self) -> io::Result<()> {
        IS_OURS.store(true, Ordering::SeqCst);
        enable_raw_mode()?;
        execute!(io::stdout(), EnterAlternateScreen, cursor::Hide)?;
        if self.has_mouse {
            execute!(io::stdout(), EnableMouseCapture)?;
        }
        self.forget()
    }

    /// Gives it back for a while.
    pub fn leave(&mut self) {
        restore();
    }

    /// The next drawing writes everything.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub fn forget(&mut self) -> io::Result<()> {
        // Not `clear`, which asks the terminal where the cursor is, and the keyboard thread would get the answer.
        let size = self.terminal.size()?;
        self.terminal.resize(size.into())
    }

    /// Draws; `draw` fills an empty buffer and tells where the cursor is.
    ///
    /// # Errors
    /// When the terminal is gone, or a thread has panicked and has given it back.
    pub fn draw(&mut self, draw: impl FnOnce(&mut Buffer) -> Option<(u16, u16)>) -> io::Result<()> {
        if !IS_OURS.load(Ordering::SeqCst) {
            return Err(io::Error::other("a part of this program has failed"));
        }
        let drawn = self.terminal.draw(|frame| {
            if let Some(position) = draw(frame.buffer_mut()) {
                frame.set_cursor_position(position);
            }
        });
        drawn?;
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Gives it back, once.
fn restore() {
    if IS_OURS.swap(false, Ordering::SeqCst) {
        // Where it is gone, there is nothing to restore.
        let _ = execute!(
            io::stdout(),
            DisableMouseCapture,
            style::ResetColor,
            LeaveAlternateScreen,
            cursor::Show
        );
        let _ = disable_raw_mode();
        let _ = io::stdout().flush();
    }
}

/// Before a panic tells its reason it gives the terminal back.
fn restore_at_panic() {
    static IS_SET: AtomicBool = AtomicBool::new(false);
    if !IS_SET.swap(true, Ordering::SeqCst) {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |reason| {
            restore();
            usual(reason);
        }));
    }
}
