//! The end that others ask for, by a signal or because the terminal is gone. It comes within a second, whatever the program
//! waits for: a full pipe, a terminal that is not read, a file that does not come.

use std::io::{self, PipeReader, Read};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::stdio::{stdin, stdout};
use rustix::time::Timespec;
use signal_hook::low_level;

/// Why the program has to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// A signal asks for it.
    Signal,
    /// The terminal is gone.
    HangUp,
}

/// What a signal means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// The end.
    End(Reason),
    /// It has to stop, which is its to do: a handler is in the place of what the signal does by itself.
    Stop,
    /// The program goes on after a stop.
    Continued,
    /// The terminal has another size.
    Resized,
}

/// What the thread that watches does to the rest of the program.
pub trait Watched: Send + 'static {
    /// Called first, on the thread that waits for signals.
    fn begin(&mut self) {}

    /// Tells it. Of several requests to end it is told the first.
    fn tell(&mut self, notice: Notice);

    /// It was asked to end and has not: takes away what it may be waiting for.
    fn unblock(&mut self) {}

    /// It will be ended now: what is still to be done and said, on a thread of its own, as standard error may be full too. The
    /// exit code, if it is not that of an end without order.
    fn last_words(self) -> Option<u8>;
}

/// What to do when it is told, and its last words.
impl<T, W> Watched for (T, W)
where
    T: FnMut() + Send + 'static,
    W: FnOnce() -> Option<u8> + Send + 'static,
{
    fn tell(&mut self, _: Notice) {
        (self.0)();
    }

    fn last_words(self) -> Option<u8> {
        (self.1)()
    }
}

/// Each of these signals asks for the end.
pub fn by<const N: usize>(signals: [i32; N]) -> [(i32, Notice); N] {
    signals.map(|signal| (signal, Notice::End(Reason::Signal)))
}

/// An orderly end takes less, unless something blocks.
const UNBLOCK_AFTER: Duration = Duration::from_millis(250);

/// From `unblock` to the last words.
const LAST_WORDS_AFTER: Duration = Duration::from_millis(400);

/// The limit of the last words: they are a few writes, but the machine may be busy.
const LAST_WORDS: Duration = Duration::from_millis(250);

const _: () =
    assert!(UNBLOCK_AFTER.as_millis() + LAST_WORDS_AFTER.as_millis() + LAST_WORDS.as_millis() < 1000);

/// The exit code of an end without order.
const EXIT_CODE: u8 = 1;

/// Starts a thread that waits for these signals and, where there is a screen, for the terminal to go away.
///
/// # Errors
/// Where there is no thread or no pipe to be had: then signals do what they do to any program.
pub fn watch(signals: &[(i32, Notice)], has_screen: bool, watched: impl Watched) -> io::Result<()> {
    let mut notices = Vec::new();
    let mut writers = Vec::new();
    for &(signal, notice) in signals {
        let (reader, writer) = io::pipe()?;
        notices.push((reader, notice));
        writers.push((signal, writer));
    }
    thread::Builder::new().name("end".into()).spawn(move || run(&mut notices, has_screen, watched))?;
    for (signal, writer) in writers {
        low_level::pipe::register(signal, writer)?;
    }
    Ok(())
}

fn run(notices: &mut [(PipeReader, Notice)], has_screen: bool, mut watched: impl Watched) {
    watched.begin();
    let reason = loop {
        match next(notices, has_screen) {
            Notice::End(reason) => break reason,
            other => watched.tell(other),
        }
    };
    watched.tell(Notice::End(reason));
    thread::sleep(UNBLOCK_AFTER);
    watched.unblock();
    thread::sleep(LAST_WORDS_AFTER);
    let (told, words) = mpsc::channel();
    let last_words = move || told.send(watched.last_words());
    let spawned = thread::Builder::new().spawn(last_words);
    let code = spawned.ok().and_then(|_| words.recv_timeout(LAST_WORDS).ok()).flatten();
    // Not exit(3), whose handlers may wait for what blocks.
    low_level::exit(code.unwrap_or(EXIT_CODE).into());
}

/// Waits for a notice.
fn next(notices: &mut [(PipeReader, Notice)], has_screen: bool) -> Notice {
    loop {
        let mut polled: Vec<PollFd<'_>> =
            notices.iter().map(|(reader, _)| PollFd::new(reader, PollFlags::IN)).collect();
        if has_screen {
            polled.extend(terminal());
        }
        match poll(&mut polled, None) {
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            // No memory; signals are looked at again soon.
            Err(_) => thread::sleep(UNBLOCK_AFTER),
        }
        let is_gone = polled[notices.len()..].iter().any(is_hung_up);
        let ready = polled.iter().take(notices.len()).position(|fd| fd.revents().contains(PollFlags::IN));
        if let Some(index) = ready {
            let (reader, notice) = &mut notices[index];
            let _ = reader.read(&mut [0; 64]);
            return *notice;
        }
        if is_gone {
            return Notice::End(Reason::HangUp);
        }
    }
}

/// Keyboard and screen; that one of them has gone is told without being asked for.
fn terminal() -> [PollFd<'static>; 2] {
    [stdin(), stdout()].map(|descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::empty()))
}

fn is_hung_up(polled: &PollFd<'_>) -> bool {
    polled.revents().intersects(PollFlags::HUP | PollFlags::ERR)
}

/// Whether the terminal is gone.
pub fn has_hung_up() -> bool {
    let mut polled = terminal();
    poll(&mut polled, Some(&Timespec::default())).is_ok() && polled.iter().any(is_hung_up)
}
