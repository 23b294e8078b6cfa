//! Who may read: passwords by basic authentication.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use bcrypt::HashParts;
use cpuledger_program::output::warn;
use tokio::task::spawn_blocking;

/// How many headers are remembered that were right.
const REMEMBERED: usize = 16;
/// How many passwords may wait to be checked, of all callers. Each address has one.
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
    /// A password of that address is being checked, or too many are.
    Busy,
}

/// A header that was right.
#[derive(Debug)]
struct Right {
    user: String,
    /// The user's hash at that time: with another one the header is wrong.
    hash: String,
    header: String,
}

/// Checks passwords.
#[derive(Debug, Default)]
pub struct Access {
    right: Mutex<Vec<Right>>,
    /// bcrypt(3) takes long by intention, so one runs at a time.
    turn: tokio::sync::Mutex<()>,
    /// Addresses whose passwords are being checked.
    waiting: Mutex<Vec<String>>,
    last_said: Mutex<Option<Instant>>,
}

/// Whether two texts are the same, in a time that does not depend on where they differ.
fn is_same(one: &str, other: &str) -> bool {
    one.len() == other.len()
        && one.bytes().zip(other.bytes()).fold(0, |differences, (one, other)| differences | (one ^ other))
            == 0
}

impl Access {
    /// Whether a request from this address with this `Authorization` header may read.
    pub async fn check(
        self: &Arc<Access>,
        users: &BTreeMap<String, String>,
        header: Option<&str>,
        peer: &str,
    ) -> Answer {
        if users.is_empty() {
            return Answer::Welcome;
        }
        let Some((header, (user, password))) = header.and_then(|header| Some((header, credentials(header)?)))
        else {
            return Answer::Refused;
        };
        if self.is_remembered(users, header) {
            return Answer::Welcome;
        }
        // For a user who is unknown another's password is checked, so that it takes as long, and the answer does not count.
        let known = users.get(&user);
        let Some(hash) = known.or_else(|| users.values().max_by_key(|hash| cost(hash))).cloned() else {
            return Answer::Refused;
        };
        if !self.wait(peer) {
            return Answer::Busy;
        }
        let (access, header, peer) = (Arc::clone(self), header.to_owned(), peer.to_owned());
        let is_known = known.is_some();
        // A task of its own: a caller that hangs up cannot cut the pause short.
        let check = tokio::spawn(async move {
            let is_right = access.check_hash(hash.clone(), password, is_known).await;
            match is_right {
                true => access.remember(Right { user, hash, header }),
                false => access.say(&peer),
            }
            lock(&access.waiting).retain(|own| *own != peer);
            is_right
        });
        if check.await.unwrap_or(false) { Answer::Welcome } else { Answer::Refused }
    }

    /// Whether there is room for a check of this address, which has it from now on.
    fn wait(&self, peer: &str) -> bool {
        let mut waiting = lock(&self.waiting);
        let has_room = waiting.len() < WAITING && waiting.iter().all(|own| own != peer);
        if has_room {
            waiting.push(peer.to_owned());
        }
        has_room
    }

    /// Whether the password is that of the hash, and the user is known.
    async fn check_hash(&self, hash: String, password: String, is_known: bool) -> bool {
        let _turn = self.turn.lock().await;
        let begin = Instant::now();
        let verified = spawn_blocking(move || bcrypt::verify(password, &hash).unwrap_or(false)).await;
        let is_right = verified.unwrap_or(false) && is_known;
        if !is_right {
            tokio::time::sleep(begin.elapsed() * PAUSE).await;
        }
        is_right
    }

    fn is_remembered(&self, users: &BTreeMap<String, String>, header: &str) -> bool {
        // All are compared, so the time does not say which one is alike.
        lock(&self.right).iter().fold(false, |found, right| {
            let is_valid = users.get(&right.user) == Some(&right.hash);
            found | (is_same(&right.header, header) & is_valid)
        })
    }

    fn remember(&self, own: Right) {
        let mut right = lock(&self.right);
        right.retain(|known| known.user != own.user);
        if right.len() >= REMEMBERED {
            right.remove(0);
        }
        right.push(own);
    }

    fn say(&self, peer: &str) {
        let mut last = lock(&self.last_said);
        if last.is_none_or(|last| last.elapsed() >= SAID_EVERY) {
            *last = Some(Instant::now());
            warn(&format!(
                "a request from {peer} had a wrong user or password; further ones are not reported for a minute"
            ));
        }
    }
}

/// What is in the lock is whole, whatever became of who had it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The cost of a hash: two to that power is the work of a check.
fn cost(hash: &str) -> u32 {
    hash.parse::<HashParts>().map_or(0, |parts| parts.get_cost())
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
