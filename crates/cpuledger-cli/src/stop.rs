//! Signals that end an interval before its time.

use std::io::{self, Read as _};
use std::thread;
use std::time::{Duration, Instant};

pub use cpuledger::stop::{Stop, Waker};
use cpuledger_program::end;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::low_level;

/// The exit code when a signal ends what a signal has asked for.
const SECOND_SIGNAL: i32 = 1;

/// What asks for the end may send several signals: timeout(1) sends one to the process and one to its group.
const ONE_REQUEST: Duration = Duration::from_secs(1);

/// From now on SIGINT and SIGTERM end the interval, and the program within a second. To be called when the source is
/// open, as there is a second thread then. Where there is none to be had, signals end the program at once.
pub fn wake_on_signals(waker: Waker) {
    let last_words = || {
        let sentence = "the last interval is missing or incomplete: it could not be written within a second of the signal";
        cpuledger_program::output::warn(sentence);
        None
    };
    let _ = end::watch(&end::by([SIGINT, SIGTERM]), false, (move || waker.wake(), last_words));
}

/// From now on the first SIGINT or SIGTERM ends the interval, and the program takes the time that it needs to end. One that comes a second
/// later or more ends it at once. To be called as [`wake_on_signals`].
///
/// # Errors
/// Where there is no thread or no pipe to be had.
pub fn wake_on_first_signal(waker: Waker) -> io::Result<()> {
    let (mut reader, writer) = io::pipe()?;
    let wait = move || {
        let mut first = None;
        while reader.read_exact(&mut [0]).is_ok() {
            match first {
                None => waker.wake(),
                Some(first) if Instant::now() > first + ONE_REQUEST => low_level::exit(SECOND_SIGNAL),
                Some(_) => {}
            }
            first.get_or_insert_with(Instant::now);
        }
    };
    thread::Builder::new().name("signals".into()).spawn(wait)?;
    for signal in [SIGINT, SIGTERM] {
        low_level::pipe::register(signal, writer.try_clone()?)?;
    }
    Ok(())
}
