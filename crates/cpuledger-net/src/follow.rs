//! The thread that reads the ring of the service, for as long as the program runs.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{io, thread};

use cpuledger_model::accounts::Accounts;
use cpuledger_model::frame::{Frame, Wanted};
use cpuledger_model::make;
use cpuledger_program::output::warn;
use cpuledger_service::client::{Client, ClientError, socket_path};
use cpuledger_service::ring::{Next, Reader, RingError};
use cpuledger_service::varlink::Subscribe;

use crate::books::Books;
use crate::compat::procfs::{Files, Known};
use crate::own::Own;

/// How long a call to the service may take: one that is being restarted answers when it is back.
const ANSWER: Duration = Duration::from_secs(5);
/// How long a frame is waited for before the connection is looked at.
const PATIENCE: Duration = Duration::from_secs(2);
/// Between two attempts to connect: doubled each time, up to the second.
const PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(5)];

/// What is done with the intervals of the service.
pub trait Sink: Send + 'static {
    /// A ring begins, of the service with this process.
    fn begin(&self, service: Option<i32>);

    /// The service has ended: a reason.
    fn end(&self, reason: &str);

    /// Returns when intervals are wanted; `true`: none were for a while, and only the last one and those that come are.
    fn wait(&mut self) -> bool;

    /// What of the next interval is wanted.
    fn wanted(&self) -> Wanted;

    /// What the service shall keep besides CPU time from now on, as far as this reader may ask for it.
    fn accounts(&self) -> Accounts {
        Accounts::NONE
    }

    /// An interval.
    fn add(&mut self, frame: &Frame);
}

impl Sink for Shared {
    fn begin(&self, service: Option<i32>) {
        self.own.set_connected(true);
        self.books().set_service(service);
    }

    fn end(&self, reason: &str) {
        self.own.set_connected(false);
        warn(&format!("the service has ended ({reason}); its time is unattributed until it is back"));
    }

    fn wait(&mut self) -> bool {
        false
    }

    fn wanted(&self) -> Wanted {
        self.books().wanted().clone()
    }

    fn add(&mut self, frame: &Frame) {
        let known = self.read_files(frame);
        self.books().add_knowing(frame, &known);
    }
}

/// What the threads of the program share.
#[derive(Clone)]
pub struct Shared {
    books: Arc<Mutex<Books>>,
    /// What reads files of /proc, for groups of processes.
    files: Option<Arc<Mutex<Files>>>,
    /// What the program says of itself.
    pub own: Arc<Own>,
}

impl Shared {
    /// Of these books; what reads files of processes, if it is needed.
    pub fn new(books: Books, files: Option<Files>) -> Shared {
        let files = files.map(|files| Arc::new(Mutex::new(files)));
        Shared { books: Arc::new(Mutex::new(books)), files, own: Arc::new(Own::new()) }
    }

    /// Reads what the groups need of processes of a frame that they do not know. The books are free meanwhile.
    pub fn read_files(&self, frame: &Frame) -> Known {
        let Some(files) = &self.files else { return Known::new() };
        let missing = self.books().compat().groups.as_ref().map(|groups| groups.missing(frame));
        files.lock().unwrap_or_else(PoisonError::into_inner).read(missing.unwrap_or_default())
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
    /// What the service was last to keep for this reader.
    accounts: Accounts,
}

impl Connection {
    /// The ring.
    pub fn reader(&mut self) -> &mut Reader {
        &mut self.reader
    }

    /// Asks for these accounts and no others, if that is new. Those that this reader may not ask for are left out: their figures stay absent.
    fn ask_for(&mut self, accounts: Accounts) -> Result<(), ClientError> {
        if std::mem::replace(&mut self.accounts, accounts) == accounts {
            return Ok(());
        }
        let possible = self.client.info()?.possible_accounts;
        let may_ask = |name: &String| possible.contains(name);
        let names = accounts.iter().map(|account| account.name().to_owned()).filter(may_ask).collect();
        // The ring stays the one that is read: it says so itself once there is another.
        self.client.subscribe(&make!(Subscribe { accounts: Some(names) })).map(drop)
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
    let (subscription, reader) = client.subscribe(&Subscribe::default())?;
    Ok(Connection { client, reader, audience: subscription.audience, accounts: Accounts::NONE })
}

/// Starts the thread. It connects again whenever the service has ended.
///
/// # Errors
/// Where there is no thread to be had.
pub fn start(connection: Connection, mut sink: impl Sink) -> io::Result<()> {
    let run = move || {
        let _end = EndIfPanics;
        follow(connection, &mut sink);
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

fn follow(mut connection: Connection, sink: &mut impl Sink) {
    loop {
        sink.begin(connection.client.process());
        let reason = read(&mut connection, sink);
        if let Some(reason) = &reason {
            sink.end(reason);
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

/// Reads frames until there are no more. Returns why the service has ended; `None`: it has another ring for this reader.
fn read(connection: &mut Connection, sink: &mut impl Sink) -> Option<String> {
    let (mut bytes, mut frame) = (Vec::new(), Frame::new());
    let mut has_warned = false;
    loop {
        // Before the wait: nothing is kept for nobody. Where it is refused, figures stay absent; that the service has ended is seen below.
        let _ = connection.ask_for(sink.accounts());
        let copied = if sink.wait() {
            connection.reader.latest(&mut bytes)
        } else {
            match connection.reader.wait(PATIENCE) {
                Ok(Next::Frame) => {}
                Ok(Next::Moved) => return None,
                Ok(Next::TimedOut) if connection.client.is_connected() => continue,
                Ok(Next::TimedOut) => return Some("it has closed the connection".into()),
                Err(error) => return Some(error.to_string()),
            }
            connection.reader.copy(&mut bytes)
        };
        match copied {
            Ok(Some(_)) => {}
            // It is missing then: the next one shows the gap.
            Ok(None) | Err(RingError::Damaged { .. }) => continue,
            Err(error) => return Some(error.to_string()),
        }
        match frame.decode_wanted_from(&bytes, &sink.wanted()) {
            Ok(()) => sink.add(&frame),
            Err(error) if !has_warned => {
                has_warned = true;
                warn(&format!("intervals of the service cannot be read: {error}; they count as gaps"));
            }
            Err(_) => {}
        }
    }
}
