//! A new look at the configuration. A thread takes it: the file, the names of users in it and the directory of a recording may be where
//! reading takes its time.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::thread;

use super::config::{Config, Origin};
use super::log::log;
use super::manager;
use super::recording::Recording;
use super::signals::Waker;

/// Looks at it when it is asked to.
pub struct Reload {
    path: Option<PathBuf>,
    /// That of the command line, which holds whatever the file says.
    interval_ns: Option<u64>,
    /// What there was when it was read last.
    origin: Origin,
    recording: Arc<Recording>,
    /// Makes the control loop look for the outcome.
    waker: Waker,
    running: Option<Receiver<anyhow::Result<(Config, Origin)>>>,
    is_asked_again: bool,
}

impl Reload {
    /// Of the configuration that was read last.
    pub fn new(
        (path, interval_ns): (Option<PathBuf>, Option<u64>),
        origin: Origin,
        recording: Arc<Recording>,
        waker: Waker,
    ) -> Reload {
        Reload { path, interval_ns, origin, recording, waker, running: None, is_asked_again: false }
    }

    /// Whether one has begun and not ended.
    pub fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Begins one, or another one when the one that runs has ended.
    pub fn ask(&mut self) {
        if self.is_running() {
            self.is_asked_again = true;
            return;
        }
        manager::reloading();
        let (sender, outcome) = sync_channel(1);
        let (path, interval_ns, origin) = (self.path.clone(), self.interval_ns, self.origin);
        let (recording, begun) = (Arc::clone(&self.recording), self.waker.try_clone());
        let look = move |mut waker: Waker| {
            let read = Config::read(path.as_deref(), Some(origin));
            let read = read.map(|(config, origin)| (config.with_interval(interval_ns), origin));
            if let Ok((config, _)) = &read {
                recording.configure(config.recording());
            }
            let _ = sender.send(read);
            waker.wake();
        };
        let begun =
            begun.and_then(|waker| thread::Builder::new().name("config".into()).spawn(move || look(waker)));
        match begun {
            Ok(_) => self.running = Some(outcome),
            Err(error) => log(&format!("goes on with its old configuration: cannot begin a thread: {error}")),
        }
    }

    /// The new configuration, if there is one. If it is wrong, the old one goes on.
    pub fn take(&mut self) -> Option<Config> {
        let outcome = match self.running.as_ref()?.try_recv() {
            Err(TryRecvError::Empty) => return None,
            Ok(outcome) => outcome,
            Err(TryRecvError::Disconnected) => Err(anyhow::anyhow!("the thread that reads it has ended")),
        };
        self.running = None;
        if std::mem::take(&mut self.is_asked_again) {
            self.ask();
        }
        match outcome {
            Ok((config, origin)) => {
                self.origin = origin;
                log("has read its configuration again");
                Some(config)
            }
            Err(error) => {
                log(&format!("goes on with its old configuration: {error:#}"));
                None
            }
        }
    }
}
