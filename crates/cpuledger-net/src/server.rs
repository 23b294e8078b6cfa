//! HTTP: connections, and what comes before each answer.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use cpuledger_program::output::warn;
use http_body_util::{Either, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use crate::access::{Access, Answer};
use crate::events::Events;
use crate::listen::{Accepted, Listener, Stream};
use crate::patient::Patient;
use crate::web_config::WebConfig;

/// A connection that is younger than that does not make room for another: who sends a request at once has its answer long before.
const LEAST_AGE: Duration = Duration::from_secs(1);
/// How often one looks whether there is room.
const ROOM_PAUSE: Duration = Duration::from_millis(10);
/// How long a caller may take for a TLS handshake.
const HANDSHAKE: Duration = Duration::from_secs(5);
/// A head has no more bytes.
const HEAD_BYTES: usize = 16 << 10;
/// After an accept(2) that failed, for example as there are too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What an answer says: something whole, or events as they come.
pub type Body = Either<Full<Bytes>, Events>;

/// How much a server takes on.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Connections at most. Then the oldest makes room that is not kept. Each may hold a text of its own until it is sent.
    pub connections: usize,
    /// How long a caller may take for the head of a request, and a connection may wait for the next one.
    pub head: Duration,
    /// How long a caller may take nothing of its answer, which is held until then.
    pub answer: Duration,
}

/// Who asks.
#[derive(Debug, Clone, Copy)]
pub struct Caller<'a> {
    /// An address without its port, or a user.
    pub peer: &'a str,
    /// While it is set, the connection makes no room for others.
    pub is_kept: &'a Arc<AtomicBool>,
}

/// What a server says.
pub trait Site: Send + Sync + 'static {
    /// How much it takes on.
    const LIMITS: Limits;

    /// Why a request is not answered, whoever sends it; `checks_host`: a page of another site may have sent it.
    fn refusal(&self, request: &Request<Incoming>, checks_host: bool) -> Option<Response<Body>>;

    /// The answer to a request that may have one.
    fn answer(
        &self,
        request: &Request<Incoming>,
        caller: Caller<'_>,
    ) -> impl Future<Output = Response<Body>> + Send;
}

/// What all connections share.
pub struct Server<S> {
    site: S,
    access: Arc<Access>,
    config_path: Option<PathBuf>,
    config: Mutex<Arc<WebConfig>>,
    connections: Mutex<Connections>,
}

/// One that lives.
struct Connection {
    handle: AbortHandle,
    since: Instant,
    is_kept: Arc<AtomicBool>,
}

/// Those that live, oldest first.
struct Connections {
    next: u64,
    live: BTreeMap<u64, Connection>,
    /// When there was none any more.
    empty_since: Instant,
}

impl Connections {
    /// Whether there is room for one more. If there is none, the oldest that may is ended, unless it has just come.
    fn has_room(&mut self, most: usize) -> bool {
        if self.live.len() < most {
            return true;
        }
        let mut free = self.live.iter().filter(|(_, own)| !own.is_kept.load(Ordering::Relaxed));
        let oldest = free.next().filter(|(_, own)| own.since.elapsed() >= LEAST_AGE);
        let Some(number) = oldest.map(|(number, _)| *number) else { return false };
        if let Some(oldest) = self.live.remove(&number) {
            oldest.handle.abort();
        }
        true
    }

    fn add(&mut self, handle: AbortHandle, is_kept: Arc<AtomicBool>) -> u64 {
        self.next += 1;
        self.live.insert(self.next, Connection { handle, since: Instant::now(), is_kept });
        self.next
    }

    fn remove(&mut self, number: u64) {
        self.live.remove(&number);
        self.empty_since = Instant::now();
    }
}

impl<S: Site> Server<S> {
    /// Of this site, with what `--web-config` says.
    pub fn new(site: S, config_path: Option<PathBuf>, config: WebConfig) -> Server<S> {
        let connections = Connections { next: 0, live: BTreeMap::new(), empty_since: Instant::now() };
        Server {
            site,
            access: Arc::default(),
            config_path,
            config: Mutex::new(Arc::new(config)),
            connections: Mutex::new(connections),
        }
    }

    /// For how long nobody has been connected.
    pub fn idle(&self) -> Duration {
        let connections = self.lock_connections();
        if connections.live.is_empty() { connections.empty_since.elapsed() } else { Duration::ZERO }
    }

    /// Takes connections for ever.
    pub async fn run(self: Arc<Server<S>>, listener: Listener) {
        loop {
            while !self.lock_connections().has_room(S::LIMITS.connections) {
                sleep(ROOM_PAUSE).await;
            }
            let accepted = match listener.accept().await {
                Ok(accepted) => accepted,
                Err(_) => {
                    sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            };
            let server = Arc::clone(&self);
            let (number, told) = tokio::sync::oneshot::channel();
            let is_kept = Arc::new(AtomicBool::new(false));
            let kept = Arc::clone(&is_kept);
            let task = tokio::spawn(async move {
                Arc::clone(&server).serve(accepted, kept).await;
                if let Ok(number) = told.await {
                    server.lock_connections().remove(number);
                }
            });
            let place = self.lock_connections().add(task.abort_handle(), is_kept);
            // The task ends only after it has its number.
            let _ = number.send(place);
        }
    }

    fn lock_connections(&self) -> std::sync::MutexGuard<'_, Connections> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The configuration, read again if its files have changed. One that is wrong, or lets more read than before, leaves the old one in force.
    fn config(&self) -> Arc<WebConfig> {
        let mut config = self.config.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(path) = &self.config_path
            && config.has_changed()
        {
            let (read, files) = WebConfig::read(path);
            let read = read.map_err(|error| error.to_string()).and_then(|new| match config.lost_in(&new) {
                Some(loss) => Err(format!("{}: {loss}, which takes a restart", path.display())),
                None => Ok(new),
            });
            let mut new = read.unwrap_or_else(|reason| {
                warn(&format!("{reason}; the configuration from before stays in force"));
                WebConfig::clone(&config)
            });
            new.watch(files);
            *config = Arc::new(new);
        }
        Arc::clone(&config)
    }

    async fn serve(self: Arc<Server<S>>, accepted: Accepted, is_kept: Arc<AtomicBool>) {
        let Accepted { stream, peer, checks_host } = accepted;
        let stream = Patient::new(stream, S::LIMITS.answer);
        let config = self.config();
        match &config.tls {
            Some(tls) => {
                let acceptor = TlsAcceptor::from(Arc::clone(tls));
                if let Ok(Ok(stream)) = timeout(HANDSHAKE, acceptor.accept(stream)).await {
                    self.speak(stream, peer, checks_host, is_kept).await;
                }
            }
            None => self.speak(stream, peer, checks_host, is_kept).await,
        }
    }

    async fn speak(
        self: Arc<Server<S>>,
        stream: impl Stream + 'static,
        peer: String,
        checks_host: bool,
        is_kept: Arc<AtomicBool>,
    ) {
        let service = service_fn(|request| {
            let (server, peer, is_kept) = (Arc::clone(&self), peer.clone(), Arc::clone(&is_kept));
            async move {
                let caller = Caller { peer: &peer, is_kept: &is_kept };
                Ok::<_, std::convert::Infallible>(server.answer(&request, caller, checks_host).await)
            }
        });
        // What goes wrong with a connection concerns nobody but the caller, who sees it end.
        let _ = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(S::LIMITS.head)
            .max_buf_size(HEAD_BYTES)
            .serve_connection(TokioIo::new(stream), service)
            .await;
    }

    async fn answer(
        &self,
        request: &Request<Incoming>,
        caller: Caller<'_>,
        checks_host: bool,
    ) -> Response<Body> {
        if let Some(refusal) = self.site.refusal(request, checks_host) {
            return refusal;
        }
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            let mut answer = text(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD are allowed\n");
            answer.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
            return answer;
        }
        let config = self.config();
        let authorization = text_of(request.headers(), &header::AUTHORIZATION);
        match self.access.check(&config.users, authorization, caller.peer).await {
            Answer::Welcome => self.site.answer(request, caller).await,
            Answer::Busy => text(StatusCode::TOO_MANY_REQUESTS, "a password is being checked\n"),
            Answer::Refused => {
                let mut answer = text(StatusCode::UNAUTHORIZED, "a user and a password are needed\n");
                let challenge = HeaderValue::from_static("Basic realm=\"cpuledger\", charset=\"UTF-8\"");
                answer.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
                answer
            }
        }
    }
}

/// Whether a header says that its sender takes gzip.
pub fn accepts_gzip(headers: &HeaderMap) -> bool {
    text_of(headers, &header::ACCEPT_ENCODING).is_some_and(has_gzip)
}

fn has_gzip(header: &str) -> bool {
    header.split(',').any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        let is_gzip = matches!(parts.next(), Some("gzip" | "x-gzip" | "*"));
        is_gzip && !parts.any(|part| matches!(part, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"))
    })
}

/// The text of a header.
pub fn text_of<'a>(headers: &'a HeaderMap, name: &header::HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// An answer of one sentence.
pub fn text(status: StatusCode, words: impl Into<Bytes>) -> Response<Body> {
    let mut answer = bytes(words, "text/plain; charset=utf-8", false);
    *answer.status_mut() = status;
    answer
}

/// The same answer as this type of content, which nobody keeps or guesses at.
pub fn with_type(mut answer: Response<Body>, kind: &'static str) -> Response<Body> {
    let headers = answer.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}

/// An answer of bytes of this type, which are packed if it says so.
pub fn bytes(bytes: impl Into<Bytes>, kind: &'static str, is_packed: bool) -> Response<Body> {
    let mut answer = with_type(Response::new(Either::Left(Full::new(bytes.into()))), kind);
    if is_packed {
        answer.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    answer
}

#[cfg(test)]
mod tests {
    use tokio::net::UnixStream;
    use tokio::task::JoinHandle;

    use super::*;

    /// Answers with more than a connection holds.
    struct Long;

    const LONG: usize = 1 << 20;

    impl Site for Long {
        const LIMITS: Limits =
            Limits { connections: 4, head: Duration::from_secs(60), answer: Duration::from_secs(1) };

        fn refusal(&self, _: &Request<Incoming>, _: bool) -> Option<Response<Body>> {
            None
        }

        async fn answer(&self, _: &Request<Incoming>, _: Caller<'_>) -> Response<Body> {
            text(StatusCode::OK, vec![b'x'; LONG])
        }
    }

    /// A connection that is served, after a request.
    async fn asked() -> (UnixStream, JoinHandle<()>) {
        let (own, other) = UnixStream::pair().expect("sockets");
        let server = Arc::new(Server::new(Long, None, WebConfig::default()));
        let accepted = Accepted { stream: Box::new(other), peer: String::new(), checks_host: false };
        let served = tokio::spawn(server.serve(accepted, Arc::default()));
        own.try_write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").expect("it is taken");
        (own, served)
    }

    fn block_on(what: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(what);
    }

    #[test]
    fn an_answer_that_nobody_reads_is_not_held() {
        block_on(async {
            let (own, served) = asked().await;
            let begin = Instant::now();
            timeout(Duration::from_secs(20), served).await.expect("it ends").expect("no panic");
            assert!(begin.elapsed() >= Long::LIMITS.answer);
            drop(own);
        });
    }

    #[test]
    fn one_that_is_read_slowly_arrives() {
        block_on(async {
            let (own, served) = asked().await;
            let (mut read, mut some) = (0, vec![0; 1 << 16]);
            while read < LONG {
                // In all, that takes longer than the server waits for one who takes nothing.
                sleep(Long::LIMITS.answer / 8).await;
                own.readable().await.expect("it is open");
                match own.try_read(&mut some) {
                    Ok(0) => panic!("it has ended after {read} bytes"),
                    Ok(bytes) => read += bytes,
                    Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock),
                }
            }
            served.abort();
        });
    }

    #[test]
    fn gzip_is_for_those_who_ask_for_it() {
        for (header, expected) in [
            ("gzip", true),
            ("deflate, gzip;q=0.5", true),
            ("*", true),
            ("", false),
            ("identity", false),
            ("gzip;q=0", false),
            ("br, gzip; q=0.0", false),
        ] {
            assert_eq!(has_gzip(header), expected, "{header}");
        }
    }
}
