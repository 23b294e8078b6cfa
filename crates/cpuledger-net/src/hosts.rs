//! Which names a request may call this server by, if only this machine can reach it.
//!
//! A page of another site can have its name point at 127.0.0.1 and then read what a local server answers. Its requests still carry its name.

use std::net::IpAddr;

use hyper::Request;
use hyper::header::{HOST, HeaderName};

/// A browser says with this header where a request comes from.
const SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The names of the machine.
#[derive(Debug)]
pub struct Hosts(String);

impl Hosts {
    /// As the kernel has it.
    pub fn of_machine() -> Hosts {
        Hosts(rustix::system::uname().nodename().to_string_lossy().into_owned())
    }

    /// Whether a request names this machine, and comes from no page of another site.
    pub fn has<T>(&self, request: &Request<T>) -> bool {
        // What is no text is no name of this machine either.
        let header = |name| request.headers().get(name).map(|value| value.to_str().unwrap_or("?"));
        let is_foreign = header(SITE).is_some_and(|site| site == "cross-site" || site == "same-site");
        // Old clients name no host, and browsers always do.
        let named = request.uri().authority().map(|authority| authority.as_str()).or_else(|| header(HOST));
        !is_foreign && named.is_none_or(|named| self.is_own(named))
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
