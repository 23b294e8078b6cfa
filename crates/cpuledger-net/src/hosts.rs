//! Which names a request may call this server by, if only this machine can reach it.
//!
//! A page of another site can have its name point at 127.0.0.1 and then read what a local server answers. Its requests still carry its name.

use std::net::IpAddr;

use hyper::header::{HOST, HeaderName, ORIGIN};
use hyper::{Request, Response, StatusCode};

use crate::server::{Body, text};

/// A browser says with this header where a request comes from.
const SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// And with these, what it is to become.
const MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const DESTINATION: HeaderName = HeaderName::from_static("sec-fetch-dest");

/// What is no text is no name of this machine either.
fn header<T>(request: &Request<T>, name: HeaderName) -> Option<&str> {
    request.headers().get(name).map(|value| value.to_str().unwrap_or("?"))
}

fn host_of<T>(request: &Request<T>) -> Option<&str> {
    request.uri().authority().map(|authority| authority.as_str()).or_else(|| header(request, HOST))
}

/// The names of the machine.
#[derive(Debug)]
pub struct Hosts(String);

impl Hosts {
    /// As the kernel has it.
    pub fn of_machine() -> Hosts {
        Hosts(rustix::system::uname().nodename().to_string_lossy().into_owned())
    }

    /// Whether a request names this machine. Old clients name no host, and browsers always do.
    pub fn are_named_by<T>(&self, request: &Request<T>) -> bool {
        host_of(request).is_none_or(|named| self.is_own(named))
    }

    /// Whether a request comes from a page of another site.
    pub fn is_foreign<T>(request: &Request<T>) -> bool {
        header(request, SITE).is_some_and(|site| site == "cross-site" || site == "same-site")
    }

    /// Whether a request comes from a page that this server has not sent.
    pub fn has_other_origin<T>(request: &Request<T>) -> bool {
        let origin =
            header(request, ORIGIN).map(|origin| origin.split_once("://").map_or("?", |(_, host)| host));
        origin.is_some_and(|origin| host_of(request).is_none_or(|host| !host.eq_ignore_ascii_case(origin)))
    }

    /// Whether a browser goes there as a page, as by a link.
    pub fn is_visit<T>(request: &Request<T>) -> bool {
        header(request, MODE) == Some("navigate") && header(request, DESTINATION) == Some("document")
    }

    /// What a request hears that does not name this machine.
    pub fn misdirected() -> Response<Body> {
        text(
            StatusCode::MISDIRECTED_REQUEST,
            "this server answers by the name of its machine, localhost or an address\n",
        )
    }

    fn is_own(&self, named: &str) -> bool {
        let (host, port) = match named.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((address, port)) => (address, port.strip_prefix(':')),
            None => named.rsplit_once(':').map_or((named, None), |(host, port)| (host, Some(port))),
        };
        let is_port =
            port.is_none_or(|port| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()));
        let is_name = host.eq_ignore_ascii_case("localhost") || host.eq_ignore_ascii_case(&self.0);
        is_port && (is_name || host.parse::<IpAddr>().is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_the_machine_are_answered() {
        let hosts = Hosts("web1".into());
        for own in [
            "localhost",
            "localhost:10911",
            "LOCALHOST:1",
            "127.0.0.1",
            "127.0.0.1:80",
            "[::1]:80",
            "[::1]",
            "web1:1",
        ] {
            assert!(hosts.is_own(own), "{own}");
        }
        for foreign in [
            "evil.example",
            "evil.example:10911",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "web1:",
            "",
            "[::1",
        ] {
            assert!(!hosts.is_own(foreign), "{foreign}");
        }
    }
}
