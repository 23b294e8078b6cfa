//! HTTP: connections, requests and answers.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use cpuledger_program::output::warn;
use http_body_util::Full;
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
use crate::exposition::{Format, render_books, render_own};
use crate::follow::Shared;
use crate::gzip::packed;
use crate::hosts::Hosts;
use crate::listen::{Accepted, Listener, Stream};
use crate::scrapers::Visitor;
use crate::web_config::WebConfig;

/// How many connections there are at most. Then the oldest makes room, if it is older than that: who sends a request at once has its answer long
/// before. Each may hold a text of its own until it is sent.
const MOST_CONNECTIONS: usize = 64;
const LEAST_AGE: Duration = Duration::from_secs(1);
/// How often one looks whether there is room.
const ROOM_PAUSE: Duration = Duration::from_millis(10);
/// How long a caller may take for a TLS handshake, and how long for the head of a request.
const HANDSHAKE: Duration = Duration::from_secs(5);
const HEAD_TIMEOUT: Duration = Duration::from_secs(90);
/// A head has no more bytes.
const HEAD_BYTES: usize = 16 << 10;
/// After an accept(2) that failed, for example as there are too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The page at `/`.
const INDEX: &str =
    "<!doctype html><title>cpuledger</title><h1>cpuledger</h1><p><a href=\"/metrics\">Metrics</a></p>\n";

type Body = Full<Bytes>;

/// The text of the books that was made last in each form.
#[derive(Default)]
struct Rendered {
    revision: u64,
    texts: Vec<(Format, bool, Bytes)>,
}

/// What all connections share.
pub struct Server {
    shared: Shared,
    rendered: Mutex<Rendered>,
    access: Arc<Access>,
    hosts: Hosts,
    config_path: Option<PathBuf>,
    config: Mutex<Arc<WebConfig>>,
    connections: Mutex<Connections>,
}

/// Those that live, oldest first.
#[derive(Default)]
struct Connections {
    next: u64,
    live: BTreeMap<u64, (AbortHandle, Instant)>,
}

impl Connections {
    /// Whether there is room for one more. If there is none, the oldest is ended, unless it has just come.
    fn has_room(&mut self) -> bool {
        let is_full = self.live.len() >= MOST_CONNECTIONS;
        if let Some(oldest) = self.live.first_entry().filter(|_| is_full)
            && oldest.get().1.elapsed() >= LEAST_AGE
        {
            oldest.remove().0.abort();
            return true;
        }
        !is_full
    }

    fn add(&mut self, handle: AbortHandle) -> u64 {
        self.next += 1;
        self.live.insert(self.next, (handle, Instant::now()));
        self.next
    }
}

impl Server {
    /// Of these books, with what `--web-config` says.
    pub fn new(shared: Shared, config_path: Option<PathBuf>, config: WebConfig) -> Server {
        Server {
            shared,
            rendered: Mutex::default(),
            access: Arc::default(),
            hosts: Hosts::of_machine(),
            config_path,
            config: Mutex::new(Arc::new(config)),
            connections: Mutex::default(),
        }
    }

    /// Takes connections for ever.
    pub async fn run(self: Arc<Server>, listener: Listener) {
        loop {
            while !self.lock_connections().has_room() {
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
            let task = tokio::spawn(async move {
                Arc::clone(&server).serve(accepted).await;
                if let Ok(number) = told.await {
                    server.lock_connections().live.remove(&number);
                }
            });
            let place = self.lock_connections().add(task.abort_handle());
            // The task ends only after it has its number.
            let _ = number.send(place);
        }
    }

    fn lock_connections(&self) -> std::sync::MutexGuard<'_, Connections> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The configuration, read again if its files have changed. One that is wrong leaves the old one in force.
    fn config(&self) -> Arc<WebConfig> {
        let mut config = self.config.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(path) = &self.config_path
            && config.has_changed()
        {
            let (read, files) = WebConfig::read(path);
            let mut new = read.unwrap_or_else(|error| {
                warn(&format!("{error}; the configuration from before stays in force"));
                WebConfig::clone(&config)
            });
            new.watch(files);
            *config = Arc::new(new);
        }
        Arc::clone(&config)
    }

    async fn serve(self: Arc<Server>, accepted: Accepted) {
        let Accepted { stream, peer, checks_host } = accepted;
        let config = self.config();
        match &config.tls {
            Some(tls) => {
                let acceptor = TlsAcceptor::from(Arc::clone(tls));
                if let Ok(Ok(stream)) = timeout(HANDSHAKE, acceptor.accept(stream)).await {
                    self.speak(stream, peer, checks_host).await;
                }
            }
            None => self.speak(stream, peer, checks_host).await,
        }
    }

    async fn speak(self: Arc<Server>, stream: impl Stream + 'static, peer: String, checks_host: bool) {
        let service = service_fn(|request| {
            let (server, peer) = (Arc::clone(&self), peer.clone());
            async move { Ok::<_, std::convert::Infallible>(server.answer(&request, &peer, checks_host).await) }
        });
        // What goes wrong with a connection concerns nobody but the caller, who sees it end.
        let _ = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIMEOUT)
            .max_buf_size(HEAD_BYTES)
            .serve_connection(TokioIo::new(stream), service)
            .await;
    }

    async fn answer(&self, request: &Request<Incoming>, peer: &str, checks_host: bool) -> Response<Body> {
        if checks_host && !self.hosts.has(request) {
            return text(
                StatusCode::MISDIRECTED_REQUEST,
                "this server answers by the name of its machine, localhost or an address\n",
            );
        }
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            let mut answer = text(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD are allowed\n");
            answer.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
            return answer;
        }
        let config = self.config();
        let authorization = text_of(request.headers(), &header::AUTHORIZATION);
        match self.access.check(&config.users, authorization, peer).await {
            Answer::Welcome => {}
            Answer::Busy => {
                return text(StatusCode::TOO_MANY_REQUESTS, "a password is being checked\n");
            }
            Answer::Refused => {
                let mut answer = text(StatusCode::UNAUTHORIZED, "a user and a password are needed\n");
                let challenge = HeaderValue::from_static("Basic realm=\"cpuledger\", charset=\"UTF-8\"");
                answer.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
                return answer;
            }
        }
        match request.uri().path() {
            "/metrics" => self.metrics(request, peer),
            "/-/healthy" => text(StatusCode::OK, "healthy\n"),
            "/" => with_type(text(StatusCode::OK, INDEX), "text/html; charset=utf-8"),
            _ => text(StatusCode::NOT_FOUND, "there is /metrics\n"),
        }
    }

    fn metrics(&self, request: &Request<Incoming>, peer: &str) -> Response<Body> {
        let headers = request.headers();
        let format = Format::of_accept(text_of(headers, &header::ACCEPT).unwrap_or_default());
        let accepted = text_of(headers, &header::ACCEPT_ENCODING).unwrap_or_default();
        let is_packed = accepts_gzip(accepted);
        let agent = text_of(headers, &header::USER_AGENT).unwrap_or_default();
        // Who asks for the head alone sees no values.
        let visitor = (request.method() == Method::GET).then_some(Visitor { peer, agent });
        let body = self.text(format, is_packed, visitor);
        let mut answer = with_type(Response::new(Full::new(body)), format.content_type());
        if is_packed {
            answer.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        answer.headers_mut().insert(header::VARY, HeaderValue::from_static("Accept, Accept-Encoding"));
        answer
    }

    /// The text for a scraper. That of the books is made once for all that come between two intervals.
    fn text(&self, format: Format, is_packed: bool, visitor: Option<Visitor<'_>>) -> Bytes {
        let now = Instant::now();
        let mut books = self.shared.books();
        books.settle(now);
        if visitor.is_some() {
            self.shared.own.add_scrape();
        }
        let form = |text: String| if is_packed { packed(text.as_bytes()) } else { text.into_bytes() };
        let mut rendered = self.rendered.lock().unwrap_or_else(PoisonError::into_inner);
        if rendered.revision != books.revision() {
            *rendered = Rendered { revision: books.revision(), texts: Vec::new() };
        }
        let known = rendered.texts.iter().find(|(own, packed, _)| (*own, *packed) == (format, is_packed));
        let of_books = match known {
            Some((_, _, text)) => text.clone(),
            None => {
                let text = Bytes::from(form(render_books(&books, format)));
                rendered.texts.push((format, is_packed, text.clone()));
                text
            }
        };
        // Two packed texts, one behind the other, are one packed text.
        let own = form(render_own(&books, &self.shared.own, format));
        visitor.into_iter().for_each(|visitor| books.visit(visitor, now));
        [&of_books[..], &own].concat().into()
    }
}

fn accepts_gzip(header: &str) -> bool {
    header.split(',').any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        let is_gzip = matches!(parts.next(), Some("gzip" | "x-gzip" | "*"));
        is_gzip && !parts.any(|part| matches!(part, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"))
    })
}

fn text_of<'a>(headers: &'a HeaderMap, name: &header::HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

fn text(status: StatusCode, words: &'static str) -> Response<Body> {
    let mut answer = Response::new(Full::new(Bytes::from_static(words.as_bytes())));
    *answer.status_mut() = status;
    with_type(answer, "text/plain; charset=utf-8")
}

fn with_type(mut answer: Response<Body>, kind: &'static str) -> Response<Body> {
    let headers = answer.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert_eq!(accepts_gzip(header), expected, "{header}");
        }
    }
}
