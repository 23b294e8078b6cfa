//! `cpuledger web`: the page, the intervals as they come, and spans of the past.

pub mod ask;
mod history;
pub mod live;

use std::path::PathBuf;
use std::time::Duration;

use cpuledger_page::{PAGE, POLICY};
use cpuledger_program::exit::sentence;
use http_body_util::Either;
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use serde_json::json;

use crate::events::Events;
use crate::gzip::packed;
use crate::hosts::Hosts;
use crate::read::NoIntervalYet;
use crate::server::{Body, Caller, Limits, Site, accepts_gzip, bytes, text, with_type};
use ask::{Ask, ask};
use history::History;
use live::{Live, MOST_VISITORS};

/// What every answer says to browsers: nothing of another site reads, frames or opens it.
const HEADERS: [(HeaderName, &str); 5] = [
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-embedder-policy"), "require-corp"),
];

const JSON: &str = "application/json";

/// The books for browsers.
pub struct Page {
    live: Live,
    history: History,
    hosts: Hosts,
    host: String,
    audience: String,
    packed: Bytes,
    policy: HeaderValue,
}

impl Page {
    /// Of these intervals and this recording; `audience` is what the service shows.
    pub fn new(live: Live, recording: Option<PathBuf>, audience: String) -> Page {
        let policy = format!(
            "default-src 'none'; {POLICY}; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; \
             frame-ancestors 'none'; require-trusted-types-for 'script'"
        );
        Page {
            live,
            history: History::new(recording),
            hosts: Hosts::of_machine(),
            host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
            audience,
            packed: packed(PAGE.as_bytes()).into(),
            policy: HeaderValue::try_from(policy).unwrap_or(HeaderValue::from_static("default-src 'none'")),
        }
    }

    fn page(&self, request: &Request<Incoming>) -> Response<Body> {
        let is_packed = accepts_gzip(request.headers());
        let body = if is_packed { self.packed.clone() } else { Bytes::from_static(PAGE.as_bytes()) };
        let mut answer = bytes(body, "text/html; charset=utf-8", is_packed);
        answer.headers_mut().insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
        answer
    }

    fn about(&self) -> Response<Body> {
        let about = json!({
            "host": self.host,
            "audience": self.audience,
            "version": env!("CARGO_PKG_VERSION"),
            "dimensions": ask::names(),
        });
        bytes(about.to_string(), JSON, false)
    }

    fn live(&self, request: &Request<Incoming>, ask: &Ask, caller: Caller<'_>) -> Response<Body> {
        if request.method() == Method::HEAD {
            return bytes("", "text/event-stream", false);
        }
        match self.live.visit(&ask.view, caller.is_kept) {
            Ok(receiver) => {
                let events = Events::new(receiver, caller.is_kept.clone());
                with_type(Response::new(Either::Right(events)), "text/event-stream")
            }
            Err(live::Full::Visitors) => text(
                StatusCode::SERVICE_UNAVAILABLE,
                format!("{MOST_VISITORS} visitors are here; come back when one has left\n"),
            ),
            Err(live::Full::Views) => text(
                StatusCode::SERVICE_UNAVAILABLE,
                "visitors look at too many different things; show what others look at, or come back later\n",
            ),
        }
    }

    async fn history(&self, request: &Request<Incoming>, ask: Ask) -> Response<Body> {
        match self.history.sheet(ask).await {
            Some(Ok(sheet)) => {
                let is_packed = accepts_gzip(request.headers());
                let sheet = if is_packed { packed(sheet.as_bytes()) } else { sheet.into_bytes() };
                self.history.unread(sheet).map_or_else(busy, |sheet| bytes(sheet, JSON, is_packed))
            }
            // A browser would write an error into its console for what is over in a second.
            Some(Err(error)) if error.is::<NoIntervalYet>() => text(StatusCode::NO_CONTENT, ""),
            Some(Err(error)) => text(StatusCode::NOT_FOUND, sentence(&error) + "\n"),
            None => busy(),
        }
    }
}

impl Site for Page {
    const LIMITS: Limits = Limits {
        connections: MOST_VISITORS + 64,
        head: Duration::from_secs(15),
        answer: Duration::from_secs(30),
    };

    fn refusal(&self, request: &Request<Incoming>, checks_host: bool) -> Option<Response<Body>> {
        if checks_host && !self.hosts.are_named_by(request) {
            return Some(Hosts::misdirected());
        }
        // A link on another site may lead to the page, and nothing of another site reads more.
        let is_link = request.uri().path() == "/" && Hosts::is_visit(request);
        let is_refused = Hosts::has_other_origin(request) || (Hosts::is_foreign(request) && !is_link);
        is_refused.then(|| text(StatusCode::FORBIDDEN, "pages of other sites read nothing here\n"))
    }

    async fn answer(&self, request: &Request<Incoming>, caller: Caller<'_>) -> Response<Body> {
        let asked = || ask(request.uri().query().unwrap_or_default());
        let wrong = |error: anyhow::Error| text(StatusCode::BAD_REQUEST, sentence(&error) + "\n");
        let mut answer = match request.uri().path() {
            "/" => self.page(request),
            "/about" => self.about(),
            "/live" => asked().map_or_else(wrong, |ask| self.live(request, &ask, caller)),
            "/history" => match asked() {
                Ok(ask) => self.history(request, ask).await,
                Err(error) => wrong(error),
            },
            "/-/healthy" => text(StatusCode::OK, "healthy\n"),
            _ => text(StatusCode::NOT_FOUND, "there is only the page at /\n"),
        };
        let headers = answer.headers_mut();
        headers.insert(header::CONTENT_SECURITY_POLICY, self.policy.clone());
        for (name, value) in HEADERS {
            headers.insert(name, HeaderValue::from_static(value));
        }
        answer
    }
}

/// The answer to a question for which there is no room.
fn busy() -> Response<Body> {
    text(StatusCode::SERVICE_UNAVAILABLE, "too many questions wait for an answer; ask again in a second\n")
}
