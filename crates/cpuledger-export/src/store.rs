//! Stores of objects: Amazon S3 and what speaks like it, and WebDAV servers. An object has its name when all of it is there, so that nobody
//! ever reads a part of one.

use std::error::Error as Cause;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use object_store::aws::AmazonS3Builder;
use object_store::http::HttpBuilder;
use object_store::path::Path;
use object_store::{
    ClientOptions, Error as StoreError, ObjectStore, ObjectStoreExt, PutPayload, RetryConfig,
};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use tokio::runtime::Runtime;

use crate::destination::Destination;
use crate::error::Error;
use crate::file_name::UNFINISHED;

/// The variable of the environment that says whether what is not encrypted may be used; others have it, too.
const ALLOW_HTTP: &str = "AWS_ALLOW_HTTP";

/// The variable that has what a WebDAV server wants to see in `Authorization`.
const HTTP_AUTHORIZATION: &str = "CPULEDGER_HTTP_AUTHORIZATION";

/// What is sent at once. S3 takes at most 10,000 parts of an object, which are 78 GiB then.
const PART_BYTES: usize = 8 << 20;

/// WebDAV takes a file at once, so that it is in memory.
const MOST_DAV_BYTES: u64 = 256 << 20;

/// A name is connected to in this time, and a part sent in the other.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const TIMEOUT: Duration = Duration::from_secs(300);

/// A request is tried again for this time, with pauses that grow.
const RETRY_TIMEOUT: Duration = Duration::from_secs(30);
const MOST_RETRIES: usize = 5;

/// A store, and the prefix that names begin with.
#[derive(Debug)]
pub(crate) struct Store {
    name: String,
    store: Arc<dyn ObjectStore>,
    prefix: String,
    dav: Option<Dav>,
    runtime: Runtime,
}

/// What the common interface of stores has not: a name that is given to what is there.
#[derive(Debug)]
struct Dav {
    client: reqwest::Client,
    url: reqwest::Url,
    /// One file at a time is in memory. Whether the folder of the address was made.
    is_made: Mutex<bool>,
}

impl Store {
    /// Speaks with nobody yet. `None`: it is a directory.
    pub(crate) fn open(destination: &Destination) -> Result<Option<Store>, Error> {
        let name = destination.to_string();
        let failed = |sentence: String| Error::Store { store: name.clone(), sentence };
        // It is there already if another store was opened.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let (store, prefix, dav): (Arc<dyn ObjectStore>, _, _) = match destination {
            Destination::Folder(_) => return Ok(None),
            Destination::S3 { bucket, prefix } => {
                let store = s3(bucket).map_err(|error| failed(sentence_of(&error)))?;
                (store, prefix.clone(), None)
            }
            Destination::WebDav(url) => {
                let (store, dav) = Dav::open(url).map_err(failed)?;
                (store, String::new(), Some(dav))
            }
        };
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.map_err(|error| Error::Store {
            store: name.clone(),
            sentence: format!("no thread can be had for it: {error}"),
        })?;
        Ok(Some(Store { name, store, prefix, dav, runtime }))
    }

    /// As the command line has it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    fn failed(&self) -> impl FnOnce(StoreError) -> Error {
        |error| Error::Store { store: self.name.clone(), sentence: sentence_of(&error) }
    }

    fn path(&self, name: &str) -> Result<Path, Error> {
        let whole = if self.prefix.is_empty() { name.to_owned() } else { format!("{}/{name}", self.prefix) };
        Path::parse(whole).map_err(StoreError::from).map_err(self.failed())
    }

    /// The names of the objects in a folder, and not in those below it; none, if there is no such folder.
    pub(crate) fn names_in(&self, folder: &str) -> Result<Vec<String>, Error> {
        let path = self.path(folder)?;
        let found = self.runtime.block_on(self.store.list_with_delimiter(Some(&path)));
        let found = match found {
            Err(StoreError::NotFound { .. }) if self.dav.is_some() => return Ok(Vec::new()),
            found => found.map_err(self.failed())?,
        };
        Ok(found.objects.iter().filter_map(|object| object.location.filename().map(str::to_owned)).collect())
    }

    /// Removes an object, if it is there.
    pub(crate) fn remove(&self, name: &str) -> Result<(), Error> {
        let path = self.path(name)?;
        match self.runtime.block_on(self.store.delete(&path)) {
            Err(StoreError::NotFound { .. }) => Ok(()),
            done => done.map_err(self.failed()),
        }
    }

    /// Makes an object of a file, and removes others just before it gets its name.
    pub(crate) fn put(
        &self,
        file: &mut File,
        name: &str,
        instead: &[String],
        is_stopped: impl Fn() -> bool,
    ) -> Result<(), Error> {
        let io = |error: std::io::Error| Error::Store {
            store: self.name.clone(),
            sentence: format!("the unfinished file cannot be read: {error}"),
        };
        let bytes = file.seek(SeekFrom::End(0)).map_err(io)?;
        file.rewind().map_err(io)?;
        if let Some(dav) = &self.dav {
            return self.put_dav(dav, file, name, instead);
        }
        let path = self.path(name)?;
        if bytes <= PART_BYTES as u64 {
            let mut whole = Vec::new();
            file.read_to_end(&mut whole).map_err(io)?;
            instead.iter().try_for_each(|name| self.remove(name))?;
            let put = self.store.put(&path, PutPayload::from(whole));
            return self.runtime.block_on(put).map(drop).map_err(self.failed());
        }
        let mut upload = self.runtime.block_on(self.store.put_multipart(&path)).map_err(self.failed())?;
        let mut send = || -> Result<(), Error> {
            loop {
                if is_stopped() {
                    return Err(Error::Stopped);
                }
                let mut part = Vec::new();
                (&*file).take(PART_BYTES as u64).read_to_end(&mut part).map_err(io)?;
                if part.is_empty() {
                    break;
                }
                self.runtime.block_on(upload.put_part(part.into())).map_err(self.failed())?;
            }
            instead.iter().try_for_each(|name| self.remove(name))?;
            self.runtime.block_on(upload.complete()).map(drop).map_err(self.failed())
        };
        let sent = send();
        if sent.is_err() {
            // Parts that stay are in no listing of objects, and the error is said.
            let _ = self.runtime.block_on(upload.abort());
        }
        sent
    }

    /// Under a hidden name first, as such a server shows what it has of a file.
    fn put_dav(&self, dav: &Dav, file: &mut File, name: &str, instead: &[String]) -> Result<(), Error> {
        let failed = |sentence: String| Error::Store { store: self.name.clone(), sentence };
        let mut is_made = dav.is_made.lock().unwrap_or_else(PoisonError::into_inner);
        if !std::mem::replace(&mut *is_made, true) {
            self.runtime.block_on(dav.make()).map_err(failed)?;
        }
        let mut whole = Vec::new();
        let read = file.take(MOST_DAV_BYTES + 1).read_to_end(&mut whole);
        read.map_err(|error| failed(format!("the unfinished file cannot be read: {error}")))?;
        if whole.len() as u64 > MOST_DAV_BYTES {
            return Err(failed(format!(
                "{name} has more than {MOST_DAV_BYTES} bytes: use s3:// for such files"
            )));
        }
        let (folder, own) = name.rsplit_once('/').unwrap_or(("", name));
        let hidden = format!("{folder}/{}{own}", UNFINISHED);
        let path = self.path(&hidden)?;
        self.runtime.block_on(self.store.put(&path, PutPayload::from(whole))).map_err(self.failed())?;
        instead.iter().try_for_each(|name| self.remove(name))?;
        self.runtime.block_on(dav.give_name(&hidden, name)).map_err(failed)
    }
}

fn is_set(variable: &str) -> bool {
    std::env::var(variable).is_ok_and(|value| matches!(&*value.to_ascii_lowercase(), "true" | "1"))
}

fn options() -> ClientOptions {
    ClientOptions::new()
        .with_connect_timeout(CONNECT_TIMEOUT)
        .with_timeout(TIMEOUT)
        .with_allow_http(is_set(ALLOW_HTTP))
        .with_user_agent(HeaderValue::from_static(concat!("cpuledger/", env!("CARGO_PKG_VERSION"))))
}

fn retries() -> RetryConfig {
    RetryConfig { max_retries: MOST_RETRIES, retry_timeout: RETRY_TIMEOUT, ..RetryConfig::default() }
}

fn s3(bucket: &str) -> Result<Arc<dyn ObjectStore>, StoreError> {
    let builder = AmazonS3Builder::from_env().with_bucket_name(bucket);
    let builder = builder.with_client_options(options()).with_retry(retries());
    Ok(Arc::new(builder.build()?))
}

impl Dav {
    fn open(url: &str) -> Result<(Arc<dyn ObjectStore>, Dav), String> {
        if url.starts_with("http://") && !is_set(ALLOW_HTTP) {
            return Err(format!("it is not encrypted: use https://, or set {ALLOW_HTTP}=true"));
        }
        let mut headers = HeaderMap::new();
        if let Ok(text) = std::env::var(HTTP_AUTHORIZATION) {
            let mut value = HeaderValue::from_str(&text)
                .map_err(|_| format!("{HTTP_AUTHORIZATION} has characters that no header may have"))?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        let client = reqwest::Client::builder()
            .default_headers(headers.clone())
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(TIMEOUT)
            .redirect(reqwest::redirect::Policy::none());
        let client = client.build().map_err(|error| error.to_string())?;
        let parsed = reqwest::Url::parse(url).map_err(|error| error.to_string())?;
        let builder = HttpBuilder::new().with_url(url).with_retry(retries());
        let builder = builder.with_client_options(options().with_default_headers(headers));
        let store = builder.build().map_err(|error| sentence_of(&error))?;
        Ok((Arc::new(store), Dav { client, url: parsed, is_made: Mutex::new(false) }))
    }

    fn url(&self, name: &str) -> reqwest::Url {
        let mut url = self.url.clone();
        // An http address has segments.
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(name.split('/'));
        }
        url
    }

    /// Makes the folder of the address. If that is refused, it may be there.
    async fn make(&self) -> Result<(), String> {
        let method = reqwest::Method::from_bytes(b"MKCOL").map_err(|error| error.to_string())?;
        let answer = self.client.request(method, self.url.clone()).send().await;
        answer.map(drop).map_err(|error| unreachable_by(&deepest(&error)))
    }

    /// Gives an object its name, in the place of what has it.
    async fn give_name(&self, hidden: &str, name: &str) -> Result<(), String> {
        let method = reqwest::Method::from_bytes(b"MOVE").map_err(|error| error.to_string())?;
        let request = self.client.request(method, self.url(hidden));
        let request = request.header("Destination", self.url(name).as_str()).header("Overwrite", "T");
        let answer = request.send().await.map_err(|error| unreachable_by(&deepest(&error)))?;
        match answer.status() {
            status if status.is_success() => Ok(()),
            status => {
                Err(format!("it does not rename {hidden} ({status}): it has to be a WebDAV server with MOVE"))
            }
        }
    }
}

/// What the last of a row of causes says, as one short line: a server may have written it.
fn deepest(error: &dyn Cause) -> String {
    const SHOWN: usize = 300;
    let mut last = error;
    while let Some(cause) = last.source() {
        last = cause;
    }
    let text = last.to_string();
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).take(SHOWN).collect()
}

fn unreachable_by(why: &str) -> String {
    format!(
        "it cannot be reached ({why}): check the network, the address and AWS_ENDPOINT_URL; the same command goes on from there"
    )
}

/// The code that S3 gives in the text of an answer, such as `NoSuchBucket`.
fn code_of(text: &str) -> Option<&str> {
    let after = &text[text.find("<Code>")? + "<Code>".len()..];
    Some(&after[..after.find('<')?]).filter(|code| code.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

/// What went wrong and what helps.
fn sentence_of(error: &StoreError) -> String {
    let (text, last) = (error.to_string(), deepest(error));
    let code = code_of(&text);
    let with_code = code.map_or(String::new(), |code| format!(" ({code})"));
    // Of a listing, the status is in the text only.
    let has_status = |status: &str| last.contains(&format!("status code: {status}"));
    let of_rights = "s3:ListBucket, s3:PutObject, s3:DeleteObject and s3:AbortMultipartUpload";
    match (error, code) {
        (_, Some("NoSuchBucket")) => {
            "there is no such bucket: make it, or check its name, AWS_REGION and AWS_ENDPOINT_URL".to_owned()
        }
        (_, Some("InvalidAccessKeyId" | "SignatureDoesNotMatch" | "ExpiredToken")) => {
            format!("it does not take the credentials{with_code}: check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN")
        }
        _ if matches!(error, StoreError::PermissionDenied { .. }) || has_status("403") => {
            format!("it refuses access{with_code}: below the prefix, {of_rights} are needed; for WebDAV, {HTTP_AUTHORIZATION}")
        }
        _ if matches!(error, StoreError::Unauthenticated { .. }) || has_status("401") => {
            format!("it wants credentials{with_code}: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; for WebDAV, {HTTP_AUTHORIZATION}")
        }
        _ if text.contains("/latest/api/token") || text.contains("/latest/meta-data") => {
            "there are no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give this machine a role".to_owned()
        }
        _ if last.contains("URL scheme is not allowed") => {
            format!("its address is not encrypted: use https:// in AWS_ENDPOINT_URL, or set {ALLOW_HTTP}=true")
        }
        (StoreError::Generic { .. }, None) if !has_status("") => unreachable_by(&last),
        _ => format!("it answers with an error{with_code}: {last}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_of_an_answer_is_found_in_its_text() {
        assert_eq!(code_of("404: <Error><Code>NoSuchBucket</Code><Message>x"), Some("NoSuchBucket"));
        for text in ["", "<Code>", "<Code>a b</Code>", "<Code>\u{1b}[2J</Code>"] {
            assert_eq!(code_of(text), None, "{text}");
        }
    }
}
