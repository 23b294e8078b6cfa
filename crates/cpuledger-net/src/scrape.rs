//! What `cpuledger metrics` answers.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use tokio::sync::Mutex as Turn;
use tokio::task::spawn_blocking;

use crate::exposition::{Format, render_books, render_own};
use crate::follow::Shared;
use crate::gzip::packed;
use crate::hosts::Hosts;
use crate::listing::Lister;
use crate::scrapers::Visitor;
use crate::server::{Body, Caller, Limits, Site, accepts_gzip, bytes, text, text_of, with_type};

/// The page at `/`.
const INDEX: &str =
    "<!doctype html><title>cpuledger</title><h1>cpuledger</h1><p><a href=\"/metrics\">Metrics</a></p>\n";

/// The text of the books that was made last in each form.
#[derive(Default)]
struct Rendered {
    revision: u64,
    texts: Vec<(Format, bool, Bytes)>,
}

/// The books for scrapers.
pub struct Metrics {
    shared: Shared,
    lister: Option<Arc<Turn<Lister>>>,
    rendered: Mutex<Rendered>,
    hosts: Hosts,
}

impl Site for Metrics {
    const LIMITS: Limits =
        Limits { connections: 64, head: Duration::from_secs(90), answer: Duration::from_secs(30) };

    fn refusal(&self, request: &Request<Incoming>, checks_host: bool) -> Option<Response<Body>> {
        let is_refused = checks_host && (Hosts::is_foreign(request) || !self.hosts.are_named_by(request));
        is_refused.then(Hosts::misdirected)
    }

    async fn answer(&self, request: &Request<Incoming>, caller: Caller<'_>) -> Response<Body> {
        match request.uri().path() {
            "/metrics" => {
                self.renew().await;
                self.metrics(request, caller.peer)
            }
            "/-/healthy" => text(StatusCode::OK, "healthy\n"),
            "/" => with_type(text(StatusCode::OK, INDEX), "text/html; charset=utf-8"),
            _ => text(StatusCode::NOT_FOUND, "there is /metrics\n"),
        }
    }
}

impl Metrics {
    /// Of these books; with a listing of processes for each scrape, if they have groups of these.
    pub fn new(shared: Shared) -> Metrics {
        let has_groups = shared.books().compat().groups.is_some();
        let lister = has_groups.then(|| Arc::new(Turn::new(Lister::default())));
        Metrics { shared, lister, rendered: Mutex::default(), hosts: Hosts::of_machine() }
    }

    /// Renews the listing. One thread waits for it, however many scrapers do.
    async fn renew(&self) {
        let Some(lister) = &self.lister else { return };
        let (mut turn, shared) = (Arc::clone(lister).lock_owned().await, self.shared.clone());
        // If it fails, there is no listing.
        let _ = spawn_blocking(move || turn.renew(&shared)).await;
    }

    fn metrics(&self, request: &Request<Incoming>, peer: &str) -> Response<Body> {
        let headers = request.headers();
        let format = Format::of_accept(text_of(headers, &header::ACCEPT).unwrap_or_default());
        let is_packed = accepts_gzip(headers);
        let agent = text_of(headers, &header::USER_AGENT).unwrap_or_default();
        // Who asks for the head alone sees no values.
        let visitor = (request.method() == Method::GET).then_some(Visitor { peer, agent });
        let body = self.text(format, is_packed, visitor);
        let mut answer = bytes(body, format.content_type(), is_packed);
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
