//! Where the tables of an export go.

use std::fmt;
use std::path::PathBuf;

/// A directory, or the address of a store of objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// A directory of this machine.
    Folder(PathBuf),
    /// `s3://BUCKET/PREFIX`: Amazon S3, or what speaks like it.
    S3 {
        /// The bucket.
        bucket: String,
        /// What names of objects begin with, without a slash at either end; it may be empty.
        prefix: String,
    },
    /// `https://HOST/PATH`: a WebDAV server.
    WebDav(String),
}

impl Destination {
    /// What a text of the command line means: what has no scheme is a directory.
    ///
    /// # Errors
    /// One sentence, where a scheme or an address is of no use.
    pub fn parse(text: &str) -> Result<Destination, String> {
        let Some((scheme, rest)) = text.split_once("://") else {
            return Ok(Destination::Folder(text.into()));
        };
        let rest = rest.trim_end_matches('/');
        let authority = rest.split('/').next().unwrap_or_default();
        if authority.is_empty() {
            return Err(format!(
                "`{text}` has no bucket or host: write s3://BUCKET/PREFIX or https://HOST/PATH"
            ));
        }
        if authority.contains('@') {
            return Err(
                "an address must not have a password, which all users of this machine could see: docs/export.md \
                 says which variables have it"
                    .to_owned(),
            );
        }
        if rest.contains(['?', '#']) || rest.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Err(format!("`{text}` is no plain path: write it without `//`, `.`, `..`, `?` and `#`"));
        }
        match scheme {
            "s3" => {
                let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
                Ok(Destination::S3 { bucket: bucket.to_owned(), prefix: prefix.to_owned() })
            }
            "http" | "https" => Ok(Destination::WebDav(format!("{scheme}://{rest}"))),
            _ => Err(format!("`{scheme}://` is unknown: use s3://, https:// or a directory")),
        }
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Destination::Folder(path) => write!(to, "{}", path.display()),
            Destination::S3 { bucket, prefix } if prefix.is_empty() => write!(to, "s3://{bucket}"),
            Destination::S3 { bucket, prefix } => write!(to, "s3://{bucket}/{prefix}"),
            Destination::WebDav(url) => write!(to, "{url}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_a_directory_unless_it_has_a_scheme() {
        let shown = |text: &str| Destination::parse(text).map(|destination| destination.to_string());
        for text in ["tables", "/srv/s3", "a:b", "s3://bucket", "s3://bucket/a/b", "https://host:8080/fleet"]
        {
            assert_eq!(shown(text).as_deref(), Ok(text));
        }
        assert_eq!(shown("s3://bucket/a/").as_deref(), Ok("s3://bucket/a"));
        for (text, word) in [
            ("ftp://host/a", "unknown"),
            ("s3:///a", "bucket"),
            ("https://me:secret@host/a", "password"),
            ("s3://bucket/../other", "plain"),
            ("s3://bucket//a", "plain"),
            ("https://host/a?b", "plain"),
        ] {
            let sentence = shown(text).expect_err(text);
            assert!(sentence.contains(word) && !sentence.contains("secret"), "{sentence}");
        }
    }
}
