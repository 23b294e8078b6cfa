//! The file that Prometheus' own servers take as `--web.config.file`: TLS and basic authentication.
//!
//! The format is that of the exporter toolkit (<https://github.com/prometheus/exporter-toolkit/blob/master/docs/web-configuration.md>).
//! The file, the certificate and the key are read again when one of them changes.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bcrypt::HashParts;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, SupportedProtocolVersion};
use saphyr::{LoadableYamlNode, Yaml};

use crate::config_file::{ConfigError, bytes, unknown};

/// The value of `client_auth_type` by which a caller needs a certificate.
const REQUIRED: &str = "RequireAndVerifyClientCert";

/// What the file says. By default everybody may read, by plain HTTP.
#[derive(Clone, Default)]
pub struct WebConfig {
    /// TLS; `None`: plain HTTP.
    pub tls: Option<Arc<ServerConfig>>,
    /// Whether a caller needs a certificate.
    pub requires_certificate: bool,
    /// Users and bcrypt hashes of their passwords. Empty: everybody may read.
    pub users: BTreeMap<String, String>,
    files: Files,
}

/// The files that a configuration was made of, and their state before they were read.
pub type Files = Vec<(PathBuf, State)>;

/// What changes when a file is replaced or written to; `None`: it is not there.
pub type State = Option<[i64; 5]>;

fn state(path: &Path) -> State {
    let data = std::fs::metadata(path).ok()?;
    Some([data.ino() as i64, data.size() as i64, data.mtime(), data.mtime_nsec(), data.ctime_nsec()])
}

impl WebConfig {
    /// Reads the file. Also returns the files that were looked at, whether they could be used or not.
    pub fn read(path: &Path) -> (Result<WebConfig, ConfigError>, Files) {
        let mut files = vec![(path.to_owned(), state(path))];
        (WebConfig::read_noting(path, &mut files), files)
    }

    fn read_noting(path: &Path, files: &mut Files) -> Result<WebConfig, ConfigError> {
        let text = String::from_utf8_lossy(&bytes(path)?).into_owned();
        let no_yaml = |reason: String| ConfigError::NoYaml { path: path.to_owned(), reason };
        let documents = Yaml::load_from_str(&text).map_err(|error| no_yaml(error.to_string()))?;
        let wrong = |reason: String| ConfigError::Wrong { path: path.to_owned(), reason };
        let mut config = WebConfig::default();
        let root = documents.first().map(|root| entries(root, "the file")).transpose();
        for (key, value) in root.map_err(wrong)?.unwrap_or_default() {
            match key.as_str() {
                "tls_server_config" => {
                    let settings = tls_settings(value).map_err(wrong)?;
                    let settings = settings.below(path.parent().unwrap_or(Path::new(".")));
                    files.extend(settings.files().map(|file| (file.clone(), state(file))));
                    config.requires_certificate = settings.client_auth_type() == REQUIRED;
                    config.tls = Some(Arc::new(settings.server(path)?));
                }
                "basic_auth_users" => config.users = read_users(value).map_err(wrong)?,
                other => return Err(wrong(unknown(other, "tls_server_config and basic_auth_users"))),
            }
        }
        Ok(config)
    }

    /// Whether nobody reads without a password or a certificate, and nobody listens in.
    pub fn is_guarded(&self) -> bool {
        self.tls.is_some() && (self.requires_certificate || !self.users.is_empty())
    }

    /// What keeps others out here and not in `new`: a sentence about that. A file that was emptied does not open the door.
    pub fn lost_in(&self, new: &WebConfig) -> Option<&'static str> {
        if self.tls.is_some() && new.tls.is_none() {
            Some("it has no `tls_server_config` any more")
        } else if self.requires_certificate && !new.requires_certificate {
            Some("it needs no certificates of clients any more")
        } else if !self.users.is_empty() && new.users.is_empty() {
            Some("it has no `basic_auth_users` any more")
        } else {
            None
        }
    }

    /// From now on these are its files.
    pub fn watch(&mut self, files: Files) {
        self.files = files;
    }

    /// Whether one of its files is another than it was.
    pub fn has_changed(&self) -> bool {
        self.files.iter().any(|(path, old)| state(path) != *old)
    }
}

/// The entries of a mapping. An empty value has none.
fn entries<'a>(node: &'a Yaml<'a>, what: &str) -> Result<Vec<(String, &'a Yaml<'a>)>, String> {
    if node.is_null() {
        return Ok(Vec::new());
    }
    let mapping = node.as_mapping().ok_or_else(|| format!("{what} is not a mapping of names to values"))?;
    let text = |key: &Yaml<'_>| {
        key.as_str().map(str::to_owned).ok_or_else(|| format!("a name in {what} is not text"))
    };
    mapping.iter().map(|(key, value)| Ok((text(key)?, value))).collect()
}

fn text(key: &str, value: &Yaml<'_>) -> Result<String, String> {
    value.as_str().map(str::to_owned).ok_or_else(|| format!("the value of `{key}` is not text"))
}

fn read_users(node: &Yaml<'_>) -> Result<BTreeMap<String, String>, String> {
    let mut users = BTreeMap::new();
    for (user, hash) in entries(node, "basic_auth_users")? {
        let hash = text(&user, hash)?;
        // Not the hash itself: the sentence may get into a log.
        hash.parse::<HashParts>().map_err(|_| format!("the password of `{user}` is not a bcrypt hash"))?;
        users.insert(user, hash);
    }
    Ok(users)
}

/// What `tls_server_config` says.
#[derive(Debug, Default)]
struct TlsSettings {
    cert_file: PathBuf,
    key_file: PathBuf,
    client_ca_file: Option<PathBuf>,
    client_auth_type: Option<String>,
    min_version: Option<String>,
}

fn tls_settings(node: &Yaml<'_>) -> Result<TlsSettings, String> {
    let mut settings = TlsSettings::default();
    for (key, value) in entries(node, "tls_server_config")? {
        let value = text(&key, value)?;
        match key.as_str() {
            "cert_file" => settings.cert_file = value.into(),
            "key_file" => settings.key_file = value.into(),
            "client_ca_file" => settings.client_ca_file = Some(value.into()),
            "client_auth_type" => settings.client_auth_type = Some(value),
            "min_version" => settings.min_version = Some(value),
            other => {
                let known = "cert_file, key_file, client_ca_file, client_auth_type and min_version";
                return Err(unknown(other, known));
            }
        }
    }
    for (key, path) in [("cert_file", &settings.cert_file), ("key_file", &settings.key_file)] {
        if path.as_os_str().is_empty() {
            return Err(format!("tls_server_config needs `{key}`"));
        }
    }
    // As the exporter toolkit has it: without a type, nobody would be asked for a certificate of these.
    if settings.client_ca_file.is_some() && matches!(settings.client_auth_type(), "" | "NoClientCert") {
        return Err(format!("client_ca_file needs `client_auth_type`, such as {REQUIRED}"));
    }
    Ok(settings)
}

impl TlsSettings {
    fn client_auth_type(&self) -> &str {
        self.client_auth_type.as_deref().unwrap_or_default()
    }

    /// Relative paths start where the file is.
    fn below(mut self, folder: &Path) -> TlsSettings {
        for path in [&mut self.cert_file, &mut self.key_file].into_iter().chain(&mut self.client_ca_file) {
            *path = folder.join(&*path);
        }
        self
    }

    fn files(&self) -> impl Iterator<Item = &PathBuf> {
        [&self.cert_file, &self.key_file].into_iter().chain(&self.client_ca_file)
    }

    fn server(&self, config: &Path) -> Result<ServerConfig, ConfigError> {
        let wrong = |reason: String| ConfigError::Wrong { path: config.to_owned(), reason };
        let versions = self.versions().map_err(wrong)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(versions)
            .map_err(|error| wrong(error.to_string()))?;
        let builder = match self.client_authorities()? {
            Some((authorities, is_required)) => {
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(authorities), provider);
                let verifier = if is_required { verifier } else { verifier.allow_unauthenticated() };
                let verifier = verifier.build().map_err(|error| wrong(format!("client_ca_file: {error}")))?;
                builder.with_client_cert_verifier(verifier)
            }
            None => builder.with_no_client_auth(),
        };
        let certificates = certificates(&self.cert_file)?;
        let pem = bytes(&self.key_file)?;
        let key = PrivateKeyDer::from_pem_slice(&pem).map_err(|error| {
            wrong(format!("{} has no private key in PEM: {error}", self.key_file.display()))
        })?;
        builder
            .with_single_cert(certificates, key)
            .map_err(|error| wrong(format!("certificate and key do not go together: {error}")))
    }

    fn versions(&self) -> Result<&'static [&'static SupportedProtocolVersion], String> {
        static NEWEST: [&SupportedProtocolVersion; 1] = [&rustls::version::TLS13];
        match self.min_version.as_deref() {
            None | Some("TLS12") => Ok(rustls::ALL_VERSIONS),
            Some("TLS13") => Ok(&NEWEST),
            Some(other) => Err(format!("min_version is `{other}`; TLS12 and TLS13 are supported")),
        }
    }

    /// Whose certificates clients may show, and whether they have to.
    fn client_authorities(&self) -> Result<Option<(RootCertStore, bool)>, ConfigError> {
        let wrong = |path: &Path, reason: String| ConfigError::Wrong { path: path.to_owned(), reason };
        let is_required = match self.client_auth_type() {
            "" | "NoClientCert" => return Ok(None),
            REQUIRED => true,
            "VerifyClientCertIfGiven" => false,
            other => {
                let known = "NoClientCert, VerifyClientCertIfGiven and RequireAndVerifyClientCert";
                return Err(wrong(
                    &self.cert_file,
                    format!("client_auth_type is `{other}`; {known} are supported"),
                ));
            }
        };
        let Some(path) = &self.client_ca_file else {
            return Err(wrong(&self.cert_file, "client_auth_type needs `client_ca_file`".into()));
        };
        let mut store = RootCertStore::empty();
        for certificate in certificates(path)? {
            store.add(certificate).map_err(|error| wrong(path, error.to_string()))?;
        }
        Ok(Some((store, is_required)))
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, ConfigError> {
    let wrong = |reason: String| ConfigError::Wrong { path: path.to_owned(), reason };
    let pem = bytes(path)?;
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    let all = all.map_err(|error| wrong(format!("it has no certificate in PEM: {error}")))?;
    if all.is_empty() { Err(wrong("it has no certificate in PEM".into())) } else { Ok(all) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::server::ResolvesServerCertUsingSni;

    #[test]
    fn authorities_without_a_type_are_refused() {
        let refusal = |more: &str| {
            let text = format!("cert_file: a\nkey_file: b\n{more}");
            tls_settings(&Yaml::load_from_str(&text).expect("YAML")[0]).err()
        };
        for wrong in ["", "client_auth_type: NoClientCert\n", "client_auth_type: ''\n"] {
            let sentence = refusal(&format!("{wrong}client_ca_file: ca.pem\n")).expect("it is wrong");
            assert!(sentence.contains("client_ca_file needs `client_auth_type`"), "{sentence}");
        }
        assert_eq!(refusal("client_auth_type: NoClientCert\n"), None);
        assert_eq!(refusal(&format!("client_auth_type: {REQUIRED}\nclient_ca_file: ca.pem\n")), None);
    }

    #[test]
    fn what_keeps_others_out_is_not_lost() {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("they are there")
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(ResolvesServerCertUsingSni::new()));
        let users = BTreeMap::from([("me".to_owned(), "hash".to_owned())]);
        let open = WebConfig::default();
        let full =
            WebConfig { tls: Some(Arc::new(tls)), requires_certificate: true, users, files: Files::new() };
        assert_eq!((full.lost_in(&full), open.lost_in(&open), open.lost_in(&full)), (None, None, None));
        for (less, word) in [
            (open.clone(), "`tls_server_config`"),
            (WebConfig { tls: None, ..full.clone() }, "`tls_server_config`"),
            (WebConfig { requires_certificate: false, ..full.clone() }, "certificates of clients"),
            (WebConfig { users: BTreeMap::new(), ..full.clone() }, "`basic_auth_users`"),
        ] {
            assert!(full.lost_in(&less).is_some_and(|sentence| sentence.contains(word)), "{word}");
        }
    }
}
