//! Names of users. A thread of its own asks the name service: where a server has the names, an answer may take seconds, or never come.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::unistd::{Uid, User};

/// How long a name is waited for; then the user goes by its number.
const PATIENCE: Duration = Duration::from_secs(5);
/// After that time a name is asked for again, and the old answer holds meanwhile: a user may have been added.
const GOOD_FOR: Duration = Duration::from_secs(600);
/// Users that are remembered. Beyond that all are forgotten, and asked for again.
const MOST_USERS: usize = 1 << 14;
/// Users that wait to be asked for. One beyond that goes by its number, and is asked for later.
const MOST_WAITING: usize = 1 << 10;

/// What asks the name service. It may block for ever.
type Ask = fn(u32) -> Option<String>;

/// The name of a user, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// It is being asked for.
    Waits,
    /// It has none, or it was waited for too long.
    None,
    /// This one.
    Name(String),
}

#[derive(Debug)]
struct Known {
    asked: Instant,
    /// `None`: there was no answer yet.
    answer: Option<Option<String>>,
}

type Answers = Arc<Mutex<HashMap<u32, Known>>>;

/// Names by number, for all that share it.
#[derive(Debug, Clone)]
pub struct Users {
    known: Answers,
    questions: SyncSender<u32>,
}

impl Users {
    /// Those of this machine.
    pub fn shared() -> Users {
        static SHARED: OnceLock<Users> = OnceLock::new();
        SHARED.get_or_init(|| Users::asking(user_name)).clone()
    }

    /// Those that this function finds. Its thread ends with the last that may ask.
    pub fn asking(ask: Ask) -> Users {
        let (questions, asked) = sync_channel(MOST_WAITING);
        let known = Answers::default();
        let answers = Arc::clone(&known);
        // Without a thread, nobody takes questions, and users go by their numbers.
        let _ = thread::Builder::new().name("users".into()).spawn(move || answer(&asked, &answers, ask));
        Users { known, questions }
    }

    /// The name of a user. It returns at once, and asks for the name if that is not known.
    pub fn name(&self, uid: u32) -> Asked {
        let now = Instant::now();
        let mut known = lock(&self.known);
        if known.len() >= MOST_USERS && !known.contains_key(&uid) {
            known.clear();
        }
        let one = match known.entry(uid) {
            Entry::Occupied(place) => place.into_mut(),
            Entry::Vacant(place) => {
                let _ = self.questions.try_send(uid);
                place.insert(Known { asked: now, answer: None })
            }
        };
        let waited = now.saturating_duration_since(one.asked);
        if waited >= GOOD_FOR && self.questions.try_send(uid).is_ok() {
            one.asked = now;
        }
        match &one.answer {
            Some(Some(name)) => Asked::Name(name.clone()),
            Some(None) => Asked::None,
            None if waited >= PATIENCE => Asked::None,
            None => Asked::Waits,
        }
    }
}

/// Answers questions, as long as somebody may have one.
fn answer(questions: &Receiver<u32>, known: &Answers, ask: Ask) {
    for uid in questions {
        let answer = ask(uid);
        if let Some(one) = lock(known).get_mut(&uid) {
            one.answer = Some(answer);
        }
    }
}

fn lock(known: &Answers) -> MutexGuard<'_, HashMap<u32, Known>> {
    known.lock().unwrap_or_else(PoisonError::into_inner)
}

fn user_name(uid: u32) -> Option<String> {
    User::from_uid(Uid::from_raw(uid)).ok().flatten().map(|user| user.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asks until there is an answer.
    fn wait(users: &Users, uid: u32) -> Asked {
        loop {
            match users.name(uid) {
                Asked::Waits => thread::sleep(Duration::from_millis(1)),
                answer => return answer,
            }
        }
    }

    #[test]
    fn a_name_is_there_when_it_was_asked_for() {
        let users = Users::asking(|uid| (uid == 7).then(|| "ann".to_owned()));
        assert_eq!(users.name(7), Asked::Waits);
        assert_eq!((wait(&users, 7), wait(&users, 8)), (Asked::Name("ann".to_owned()), Asked::None));
        assert_eq!(users.name(7), Asked::Name("ann".to_owned()), "it is remembered");
    }

    /// A server of names that does not answer.
    fn never(_: u32) -> Option<String> {
        loop {
            thread::park();
        }
    }

    #[test]
    fn a_server_that_never_answers_holds_nobody_up_and_takes_no_memory() {
        let users = Users::asking(never);
        let begin = Instant::now();
        for uid in 0..3 * MOST_USERS as u32 {
            assert_eq!(users.name(uid), Asked::Waits);
        }
        assert!(begin.elapsed() < PATIENCE, "{:?} for questions that do not wait", begin.elapsed());
        assert!(lock(&users.known).len() <= MOST_USERS);
        let last = 3 * MOST_USERS as u32 - 1;
        assert_eq!(wait(&users, last), Asked::None, "it goes by its number");
    }

    #[test]
    fn an_old_answer_holds_until_there_is_a_new_one() {
        let users = Users::asking(|_| Some("new".to_owned()));
        let long_ago = Instant::now().checked_sub(GOOD_FOR).expect("the machine runs for longer");
        let old = Known { asked: long_ago, answer: Some(Some("old".to_owned())) };
        lock(&users.known).insert(7, old);
        assert_eq!(users.name(7), Asked::Name("old".to_owned()));
        while users.name(7) != Asked::Name("new".to_owned()) {
            thread::sleep(Duration::from_millis(1));
        }
    }
}
