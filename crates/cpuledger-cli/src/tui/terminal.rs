//! The terminal while it is ours, and its state before: restored at the end, at a stop and at a panic of any thread.

use std::io::{self, BufWriter, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use cpuledger_program::colors::Colors;
use cpuledger_program::end;
use crossterm::event::{self, DisableMouseCapture, EnableMouseCapture, Event};
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use crossterm::{cursor, execute, queue, style};
use nix::sys::signal::{SigSet, Signal};
use ratatui_core::buffer::Buffer;
use ratatui_core::terminal::Terminal;
use rustix::io::Errno;
use rustix::process::getpgrp;
use rustix::stdio::stdout;
use rustix::termios::{OptionalActions, QueueSelector, tcflush, tcgetattr, tcgetpgrp, tcsetattr};

use super::backend::ColoredBackend;

/// Whether it is ours now.
static IS_OURS: AtomicBool = AtomicBool::new(false);

/// Whether all of it has been given back.
static IS_RESTORED: AtomicBool = AtomicBool::new(false);

/// Whether it is not read, so that nothing more is written to it.
static IS_UNREAD: AtomicBool = AtomicBool::new(false);

/// How long what is typed for another program is let alone.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// How much is collected before it is written.
const BUFFER_BYTES: usize = 64 * 1024;

/// The most that one call writes: less than any terminal has room for when its queue is empty (a pseudo terminal: 8 KiB), so
/// that a call which waits returns when the queue is emptied.
const PIECE_BYTES: usize = 1024;

/// Standard output while it is ours. What is written at other times is dropped.
struct Output;

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if IS_UNREAD.load(Ordering::SeqCst) || !IS_OURS.load(Ordering::SeqCst) {
            return Ok(bytes.len());
        }
        Ok(rustix::io::write(stdout(), &bytes[..bytes.len().min(PIECE_BYTES)])?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The terminal, in our mode until it is dropped.
pub struct Screen {
    terminal: Terminal<ColoredBackend<BufWriter<Output>>>,
    has_mouse: bool,
    is_away: bool,
}

impl Screen {
    /// Takes the terminal.
    ///
    /// # Errors
    /// When it is none, or refuses.
    pub fn enter(has_mouse: bool, colors: Colors) -> io::Result<Screen> {
        restore_at_panic();
        let writer = BufWriter::with_capacity(BUFFER_BYTES, Output);
        let backend = ColoredBackend::new(writer, colors);
        let mut screen = Screen { terminal: Terminal::new(backend)?, has_mouse, is_away: false };
        screen.take()?;
        Ok(screen)
    }

    /// Takes it, or takes it again, unless the terminal is another program's now: then it is left alone, as to touch it would stop
    /// us, and it is to be tried again.
    ///
    /// # Errors
    /// As [`Screen::enter`].
    pub fn take(&mut self) -> io::Result<()> {
        self.is_away = is_in_background();
        IS_RESTORED.store(self.is_away, Ordering::SeqCst);
        IS_OURS.store(!self.is_away, Ordering::SeqCst);
        if self.is_away {
            return Ok(());
        }
        // Where we were stopped without a chance to give it back, it may have been in other modes since.
        disable_raw_mode()?;
        enable_raw_mode()?;
        execute!(Output, EnterAlternateScreen, cursor::Hide)?;
        if self.has_mouse {
            execute!(Output, EnableMouseCapture)?;
        }
        self.forget()
    }

    /// Whether the terminal is another program's, so that nothing can be drawn.
    pub fn is_away(&self) -> bool {
        self.is_away
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
        if end::has_hung_up() {
            // To ask for its size would start tput(1).
            return Err(Errno::IO.into());
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

/// Gives it back, once; whether all of that was already done. A terminal whose foreground is another program's is left to that
/// one: to touch it would stop us.
pub fn restore() -> bool {
    if !IS_OURS.swap(false, Ordering::SeqCst) {
        return IS_RESTORED.load(Ordering::SeqCst);
    }
    if !is_in_background() {
        give_back();
    }
    IS_RESTORED.store(true, Ordering::SeqCst);
    false
}

fn give_back() {
    // Where it is gone, there is nothing to restore. The modes come first, as they do not wait for output.
    let _ = disable_raw_mode();
    let mut bytes = Vec::new();
    let _ = queue!(bytes, DisableMouseCapture, style::ResetColor, LeaveAlternateScreen, cursor::Show);
    let _ = rustix::io::write(stdout(), &bytes);
}

/// Ends all waiting for a terminal that is not read: output that it has not taken is dropped, and so is the rest. Then there is
/// room for what [`restore`] writes.
pub fn unblock() {
    IS_UNREAD.store(true, Ordering::SeqCst);
    if !is_in_background() {
        let _ = tcflush(stdout(), QueueSelector::OFlush);
        // Linux wakes no writer for an empty queue, but for modes that are set, be they the same.
        let _ = disable_raw_mode();
        let _ = tcgetattr(stdout()).and_then(|modes| tcsetattr(stdout(), OptionalActions::Now, &modes));
    }
}

/// Gives `take` all that is typed, until it wants no more or the terminal is gone. crossterm both waits and reads. Only it knows what it has
/// read and not yet returned.
///
/// What is typed while another program has the terminal is that one's. A read fails then, as the signal that would stop us is
/// blocked in this thread.
pub fn read_input(mut take: impl FnMut(Event) -> bool) {
    let mut stops = SigSet::empty();
    stops.add(Signal::SIGTTIN);
    // Only a set that is none would be refused.
    let _ = stops.thread_block();
    loop {
        match event::read() {
            Ok(event) => {
                if !take(event) {
                    return;
                }
            }
            Err(_) if end::has_hung_up() => return,
            Err(_) => thread::sleep(LOOK_AGAIN),
        }
    }
}

/// Whether the terminal is another program's.
pub fn is_in_background() -> bool {
    tcgetpgrp(stdout()).is_ok_and(|foreground| foreground != getpgrp())
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
