//! The thread that reads the ring of the service, for as long as the program runs.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{io, thread};

use cpuledger_model::frame::Frame;
use cpuledger_program::output::warn;
use cpuledger_service::client::{Client, ClientError, socket_path};
use cpuledger_service::ring::{Next, Reader, RingError};
use cpuledger_service::varlink::Subscribe;

use crate::books::Books;
use crate::own::Own;

/// How long a call to the service may take: one that is being restarted answers when it is back.
const ANSWER: Duration = Duration::from_secs(5);
/// How long a frame is waited for before the connection is looked at.
const PATIENCE: Duration = Duration::from_secs(2);
/// Between two attempts to connect: doubled each time, up to the second.
const PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(5)];

/// What the threads of the program share.
#[derive(Clone)]
pub struct Shared {
    books: Arc<Mutex<Books>>,
    /// What the program says of itself.
    pub own: Arc<Own>,
}

impl Shared {
    /// Of these books.
    pub fn new(books: Books) -> Shared {
        Shared { books: Arc::new(Mutex::new(books)), own: Arc::new(Own::new()) }
    }

    /// The books. No thread leaves them half-written: a panic of the one that writes ends the program.
    pub fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection to the service, and its ring.
pub struct Connection {
    client: Client,
    reader: Reader,
    /// Which rows it shows.
    pub audience: String,
}

impl Connection {
    /// The ring.
    pub fn reader(&mut self) -> &mut Reader {
        &mut self.reader
    }
}

/// Connects to the service.
///
/// # Errors
/// When there is none, or it is not to be believed, or refuses a ring.
pub fn connect() -> Result<Connection, ClientError> {
    let path = socket_path();
    let mut client = Client::connect(&path, ANSWER)?;
    client.check_owner(&path)?;
    let (subscription, reader) = client.subscribe(&Subscribe { interval_ns: None, audience: None })?;
    Ok(Connection { client, reader, audience: subscription.audience })
}

/// Starts the thread. It connects again whenever the service has ended.
///
/// # Errors
/// Where there is no thread to be had.
pub fn start(connection: Connection, shared: Shared) -> io::Result<()> {
    let run = move || {
        let _end = EndIfPanics;
        follow(connection, &shared);
    };
    thread::Builder::new().name("ring".into()).spawn(run).map(drop)
}

/// Without this thread the figures would stand still, so the program ends, and its manager starts it again.
struct EndIfPanics;

impl Drop for EndIfPanics {
    fn drop(&mut self) {
        if thread::panicking() {
            std::process::abort();
        }
    }
}

/// Why there are no more frames of a ring.
enum End {
    /// The service has another ring for this reader.
    Moved,
    /// The service has ended: a reason.
    Ended(String),
}

fn follow(mut connection: Connection, shared: &Shared) {
    loop {
        shared.own.set_connected(true);
        shared.books().set_service(connection.client.process());
        let reason = match read(&mut connection, shared) {
            End::Moved => None,
            End::Ended(reason) => Some(reason),
        };
        if let Some(reason) = &reason {
            shared.own.set_connected(false);
            warn(&format!("the service has ended ({reason}); its time is unattributed until it is back"));
        }
        connection = connect_again();
        // The next ring begins with the frames of this one.
        connection.reader.resume_at(1);
        if reason.is_some() {
            warn("the service is back");
        }
    }
}

fn connect_again() -> Connection {
    let [mut pause, longest] = PAUSES;
    loop {
        match connect() {
            Ok(connection) => return connection,
            Err(_) => thread::sleep(pause),
        }
        pause = (pause * 2).min(longest);
    }
}

/// Reads frames until there are no more.
fn read(connection: &mut Connection, shared: &Shared) -> End {
    let wanted = shared.books().wanted().clone();
    let (mut bytes, mut frame) = (Vec::new(), Frame::new());
    let mut has_warned = false;
    loop {
        match connection.reader.wait(PATIENCE) {
            Ok(Next::Frame) => {}
            Ok(Next::Moved) => return End::Moved,
            Ok(Next::TimedOut) if connection.client.is_connected() => continue,
            Ok(Next::TimedOut) => return End::Ended("it has closed the connection".into()),
            Err(error) => return End::Ended(error.to_string()),
        }
        match connection.reader.copy(&mut bytes) {
            Ok(Some(_)) => {}
            // It is missing then: the next one shows the gap.
            Ok(None) | Err(RingError::Damaged { .. }) => continue,
            Err(error) => return End::Ended(error.to_string()),
        }
        match frame.decode_wanted_from(&bytes, &wanted) {
            Ok(()) => shared.books().add(&frame),
            Err(error) if !has_warned => {
                has_warned = true;
                warn(&format!("intervals of the service cannot be read: {error}; they count as gaps"));
            }
            Err(_) => {}
        }
    }
}
