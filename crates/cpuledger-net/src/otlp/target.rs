//! Where to send, by options and by the variables that OpenTelemetry's specification names.

use std::borrow::Cow;
use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, ensure};
use cpuledger_program::exit::Failure;
use cpuledger_program::push::Arguments;
use percent_encoding::percent_decode_str;
use ureq::http::{HeaderName, HeaderValue, Uri};
use ureq::tls::{Certificate, PemItem, parse_pem};

use crate::otlp::messages::KeyValue;

/// Where nothing else is said.
const USUAL: &str = "http://localhost:4318";
const PATH: &str = "/v1/metrics";
/// How long a request may take, answer included.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Certificates are read up to this size.
const CERTIFICATES_BYTES: u64 = 16 << 20;

/// A receiver.
pub struct Target {
    /// Its address, with the path.
    pub uri: Uri,
    /// Of each request.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// The authorities that its certificate may be of. Empty: it has none.
    pub certificates: Vec<Certificate<'static>>,
    /// How long a request may take.
    pub timeout: Duration,
}

/// Without what may be a password.
impl fmt::Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = self.uri.host().unwrap_or_default();
        write!(formatter, "{}://{host}", self.uri.scheme_str().unwrap_or_default())?;
        if let Some(port) = self.uri.port() {
            write!(formatter, ":{port}")?;
        }
        formatter.write_str(self.uri.path())
    }
}

impl Target {
    /// What options name, else variables.
    ///
    /// # Errors
    /// When one of them is wrong, or no authority is known for https.
    pub fn of(arguments: &Arguments, variable: impl Fn(&str) -> Option<String>) -> anyhow::Result<Target> {
        let variable =
            |name: &str| variable(&format!("OTEL_EXPORTER_OTLP_{name}")).filter(|value| !value.is_empty());
        let whole = variable("METRICS_ENDPOINT").filter(|_| arguments.otlp.is_none());
        let base = arguments.otlp.clone().or_else(|| variable("ENDPOINT"));
        let uri = uri_of(whole, &base.unwrap_or_else(|| USUAL.to_owned()))?;
        let mut headers: Vec<(HeaderName, HeaderValue)> = Vec::new();
        let mut put = |(name, value): (HeaderName, HeaderValue)| {
            headers.retain(|(own, _)| *own != name);
            headers.push((name, value));
        };
        for name in ["HEADERS", "METRICS_HEADERS"] {
            for pair in pairs(&variable(name).unwrap_or_default()) {
                let header = pair.and_then(|(name, value)| header(name, &value));
                // The value may be a password.
                put(header.ok_or_else(|| {
                    usage(format!("OTEL_EXPORTER_OTLP_{name}: write NAME=VALUE,NAME=VALUE"))
                })?);
            }
        }
        for (place, text) in arguments.headers.iter().enumerate() {
            let header = text.split_once(':').and_then(|(name, value)| header(name, value));
            put(header
                .ok_or_else(|| usage(format!("--header: number {} is not `NAME: VALUE`", place + 1)))?);
        }
        let timeout = match variable("METRICS_TIMEOUT").or_else(|| variable("TIMEOUT")) {
            None => TIMEOUT,
            Some(text) => {
                let milliseconds =
                    text.parse().ok().filter(|milliseconds| (1..=600_000).contains(milliseconds));
                Duration::from_millis(milliseconds.ok_or_else(|| {
                    usage(format!(
                        "OTEL_EXPORTER_OTLP_TIMEOUT: `{text}` is no number of milliseconds up to 600000"
                    ))
                })?)
            }
        };
        let named = variable("METRICS_CERTIFICATE").or_else(|| variable("CERTIFICATE")).map(PathBuf::from);
        let certificates = match uri.scheme_str() {
            Some("https") => certificates(arguments.certificate.clone().or(named))?,
            _ => Vec::new(),
        };
        Ok(Target { uri, headers, certificates, timeout })
    }

    /// Whether others on the way can read the headers.
    pub fn shows_headers(&self) -> bool {
        let host = self.uri.host().unwrap_or_default().trim_matches(['[', ']']);
        let is_local = host == "localhost"
            || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
        self.uri.scheme_str() == Some("http") && !is_local && !self.headers.is_empty()
    }
}

fn usage(sentence: String) -> anyhow::Error {
    Failure::Usage(sentence).into()
}

/// `whole` is used as it is; to `base` the path is added.
fn uri_of(whole: Option<String>, base: &str) -> anyhow::Result<Uri> {
    let text = whole.unwrap_or_else(|| match base.trim_end_matches('/') {
        base if base.ends_with(PATH) => base.to_owned(),
        base => format!("{base}{PATH}"),
    });
    let uri: Option<Uri> = text.parse().ok();
    let uri = uri.filter(|uri| matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some());
    uri.ok_or_else(|| usage(format!("`{base}` is no URL of http or https, such as {USUAL}")))
}

fn header(name: &str, value: &str) -> Option<(HeaderName, HeaderValue)> {
    let mut value = HeaderValue::from_str(value.trim()).ok()?;
    value.set_sensitive(true);
    Some((name.trim().parse().ok()?, value))
}

/// Those of `NAME=VALUE,NAME=VALUE`, without the escapes of a URL; `None`: that one has no `=`.
fn pairs(list: &str) -> impl Iterator<Item = Option<(&str, Cow<'_, str>)>> {
    list.split(',').filter(|pair| !pair.trim().is_empty()).map(|pair| {
        let (name, value) = pair.split_once('=')?;
        Some((name.trim(), percent_decode_str(value.trim()).decode_utf8_lossy()))
    })
}

/// Those of a file, or those of the machine.
fn certificates(file: Option<PathBuf>) -> anyhow::Result<Vec<Certificate<'static>>> {
    let Some(path) = file else {
        let found = rustls_native_certs::load_native_certs().certs;
        ensure!(
            !found.is_empty(),
            "this machine has no certificates of authorities: install ca-certificates, or name them with --certificate"
        );
        return Ok(found.iter().map(|one| Certificate::from_der(one).to_owned()).collect());
    };
    let about = fs::metadata(&path).with_context(|| format!("cannot read {}", path.display()))?;
    ensure!(about.len() <= CERTIFICATES_BYTES, "{} is too long for certificates", path.display());
    let text = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let found: Vec<_> = parse_pem(&text)
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            _ => None,
        })
        .collect();
    ensure!(!found.is_empty(), "{} has no certificate in PEM", path.display());
    Ok(found)
}

/// This machine as a resource. `OTEL_RESOURCE_ATTRIBUTES` adds to it and replaces.
///
/// # Errors
/// When that variable is wrong.
pub fn resource(variable: impl Fn(&str) -> Option<String>) -> anyhow::Result<Vec<KeyValue>> {
    let host = rustix::system::uname();
    let mut named = vec![
        ("service.name".to_owned(), "cpuledger".to_owned()),
        ("service.version".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
        ("host.name".to_owned(), host.nodename().to_string_lossy().into_owned()),
        ("os.type".to_owned(), "linux".to_owned()),
    ];
    let list = variable("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default();
    let service = variable("OTEL_SERVICE_NAME").filter(|name| !name.is_empty());
    let service = service.map(|name| Some(("service.name", name.into())));
    for pair in pairs(&list).chain(service) {
        let wrong = || usage("OTEL_RESOURCE_ATTRIBUTES: write NAME=VALUE,NAME=VALUE".to_owned());
        let (name, value) = pair.ok_or_else(wrong)?;
        named.retain(|(own, _)| own != name);
        named.push((name.to_owned(), value.into_owned()));
    }
    Ok(named.into_iter().map(|(key, value)| KeyValue::text(&key, value)).collect())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn target(options: &[&str], variables: &[(&str, &str)]) -> anyhow::Result<Target> {
        let line = Line::try_parse_from([&["push"], options].concat())?;
        let find =
            |name: &str| variables.iter().find(|(own, _)| *own == name).map(|(_, value)| (*value).to_owned());
        Target::of(&line.arguments, find)
    }

    #[test]
    fn options_come_before_variables_and_the_path_is_added_once() {
        const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
        const WHOLE: &str = "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT";
        for (options, variables, expected) in [
            (&[][..], &[][..], "http://localhost:4318/v1/metrics"),
            (&["--otlp", "http://a:1/"], &[(ENDPOINT, "http://b")], "http://a:1/v1/metrics"),
            (&["--otlp", "http://a/v1/metrics"], &[(WHOLE, "http://b/x")], "http://a/v1/metrics"),
            (&["--otlp", "http://a/api/v1/otlp"], &[], "http://a/api/v1/otlp/v1/metrics"),
            (&[], &[(ENDPOINT, "http://b/")], "http://b/v1/metrics"),
            (&[], &[(ENDPOINT, "http://b"), (WHOLE, "http://c/x")], "http://c/x"),
            (&[], &[(ENDPOINT, "")], "http://localhost:4318/v1/metrics"),
        ] {
            let found = target(options, variables).map(|target| target.uri.to_string());
            assert_eq!(found.ok().as_deref(), Some(expected), "{options:?} {variables:?}");
        }
        for wrong in ["localhost:4318", "ftp://a", "http://", "", "http://a b"] {
            assert!(target(&["--otlp", wrong], &[]).is_err(), "{wrong}");
        }
    }

    #[test]
    fn headers_are_decoded_and_secrets_are_not_repeated() {
        let variables = [("OTEL_EXPORTER_OTLP_HEADERS", "a=1,Authorization=Basic%20x%3D%3D , b=2")];
        let found = target(&["--header", "B: 3"], &variables).expect("they are right").headers;
        let texts: Vec<_> =
            found.iter().map(|(name, value)| format!("{name}: {}", value.to_str().expect("text"))).collect();
        assert_eq!(texts, ["a: 1", "authorization: Basic x==", "b: 3"]);
        for (options, variables) in [
            (&["--header", "secret"][..], &[][..]),
            (&["--header", "na me: secret"], &[]),
            (&["--header", "a: secret\n"], &[("OTEL_EXPORTER_OTLP_HEADERS", "secret")]),
        ] {
            let error = target(options, variables).err().expect("it is wrong").to_string();
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn headers_in_the_clear_are_noticed() {
        let shows =
            |url: &str| target(&["--otlp", url, "--header", "a: b"], &[]).expect("right").shows_headers();
        assert!(shows("http://example.org"));
        assert!(!shows("http://[::1]:4318") && !shows("http://127.0.0.1:1") && !shows("http://localhost"));
    }

    #[test]
    fn attributes_of_the_resource_are_replaced() {
        let found = resource(|name| match name {
            "OTEL_RESOURCE_ATTRIBUTES" => Some("host.name=other,a=b%2Cc".to_owned()),
            "OTEL_SERVICE_NAME" => Some("books".to_owned()),
            _ => None,
        });
        let found = found.expect("it is right");
        assert_eq!(found.iter().filter(|own| own.key == "host.name").count(), 1);
        for expected in [("host.name", "other"), ("a", "b,c"), ("service.name", "books")] {
            assert!(found.contains(&KeyValue::text(expected.0, expected.1)), "{found:?}");
        }
    }
}
