//! Who may read: passwords by basic authentication.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use cpuledger_program::output::warn;
use tokio::task::spawn_blocking;

/// A hash like those of users, of no password: looking up a user who is unknown takes as long as one who is known.
const NOBODY: &str = "$2b$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy";
/// How many headers are remembered that were right.
const REMEMBERED: usize = 16;
/// How many passwords may wait to be checked.
const WAITING: usize = 8;
/// After a wrong password, the next waits this many times as long as the check took: wrong passwords take a tenth of a CPU at most.
const PAUSE: u32 = 9;
/// Between two messages about wrong passwords.
const SAID_EVERY: Duration = Duration::from_secs(60);

/// As headers have it, with or without the padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// What the check of a request says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// It may read.
    Welcome,
    /// It has no password, or a wrong one.
    Refused,
    /// Too many passwords wait to be checked.
    Busy,
}

/// Checks passwords.
#[derive(Debug, Default)]
pub struct Access {
    /// Headers that were right, for the users that were configured then.
    right: Mutex<Vec<String>>,
    /// bcrypt(3) takes long by intention, so one runs at a time.
    turn: tokio::sync::Mutex<()>,
    waiting: AtomicUsize,
    last_said: Mutex<Option<Instant>>,
}

/// Whether two texts are the same, in a time that does not depend on where they differ.
fn is_same(one: &str, other: &str) -> bool {
    one.len() == other.len()
        && one.bytes().zip(other.bytes()).fold(0, |differences, (one, other)| differences | (one ^ other))
            == 0
}

impl Access {
    /// Other users are configured.
    pub fn forget(&self) {
        if let Ok(mut right) = self.right.lock() {
            right.clear();
        }
    }

    /// Whether a request with this `Authorization` header may read.
    pub async fn check(self: &Arc<Access>, users: &BTreeMap<String, String>, header: Option<&str>) -> Answer {
        if users.is_empty() {
            return Answer::Welcome;
        }
        let Some((header, (user, password))) = header.and_then(|header| Some((header, credentials(header)?)))
        else {
            return Answer::Refused;
        };
        if self.is_remembered(header) {
            return Answer::Welcome;
        }
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= WAITING {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            return Answer::Busy;
        }
        let (hash, is_known) = match users.get(&user) {
            Some(hash) => (hash.clone(), true),
            None => (NOBODY.to_owned(), false),
        };
        let (access, header) = (Arc::clone(self), header.to_owned());
        // A task of its own: a caller that hangs up cannot cut the pause short.
        let check = tokio::spawn(async move {
            let answer = access.check_hash(hash, password).await;
            match answer && is_known {
                true => access.remember(&header),
                false => access.say(),
            }
            access.waiting.fetch_sub(1, Ordering::Relaxed);
            answer && is_known
        });
        if check.await.unwrap_or(false) { Answer::Welcome } else { Answer::Refused }
    }

    /// Whether the password is that of the hash.
    async fn check_hash(&self, hash: String, password: String) -> bool {
        let _turn = self.turn.lock().await;
        let begin = Instant::now();
        let verified = spawn_blocking(move || bcrypt::verify(password, &hash).unwrap_or(false)).await;
        let is_right = verified.unwrap_or(false);
        if !is_right {
            tokio::time::sleep(begin.elapsed() * PAUSE).await;
        }
        is_right
    }

    fn is_remembered(&self, header: &str) -> bool {
        // All are compared, so the time does not say which one is alike.
        let right = self.right.lock();
        right.is_ok_and(|right| right.iter().fold(false, |found, own| found | is_same(own, header)))
    }

    fn remember(&self, header: &str) {
        if let Ok(mut right) = self.right.lock() {
            if right.len() >= REMEMBERED {
                right.remove(0);
            }
            right.push(header.to_owned());
        }
    }

    fn say(&self) {
        let Ok(mut last) = self.last_said.lock() else { return };
        if last.is_none_or(|last| last.elapsed() >= SAID_EVERY) {
            *last = Some(Instant::now());
            warn("a request had a wrong user or password; further ones are not reported for a minute");
        }
    }
}

/// User and password of a header such as `Basic dXNlcjpwYXNz`.
fn credentials(header: &str) -> Option<(String, String)> {
    let (scheme, encoded) = header.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let text = String::from_utf8(BASE64.decode(encoded.trim()).ok()?).ok()?;
    let (user, password) = text.split_once(':')?;
    Some((user.to_owned(), password.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_has_user_and_password() {
        let right = Some(("user".to_owned(), "pa:ss".to_owned()));
        assert_eq!(credentials("Basic dXNlcjpwYTpzcw=="), right);
        assert_eq!(credentials("basic dXNlcjpwYTpzcw"), right);
        for wrong in ["", "Basic", "Bearer dXNlcjpwYTpzcw==", "Basic dXNl", "Basic $$$", "Basic /////w=="] {
            assert_eq!(credentials(wrong), None, "{wrong}");
        }
    }
}
