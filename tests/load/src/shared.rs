//! What tests of one program have in common because it is dear to make.

use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

/// Made by the first test that wants it, then lent to one after another. What a test had when it failed is not lent again.
#[derive(Debug, Default)]
pub struct Shared<T>(Mutex<Option<T>>);

/// It, for as long as a test needs it.
#[derive(Debug)]
pub struct Lent<'a, T>(MutexGuard<'a, Option<T>>);

impl<T> Shared<T> {
    /// One that has yet to be made.
    pub const fn new() -> Shared<T> {
        Shared(Mutex::new(None))
    }

    /// Lends it, once no other test has it.
    pub fn lend(&self, make: impl FnOnce() -> T) -> Lent<'_, T> {
        let mut place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        place.get_or_insert_with(make);
        Lent(place)
    }

    /// Lends another, made when the last one is gone.
    pub fn lend_new(&self, make: impl FnOnce() -> T) -> Lent<'_, T> {
        let mut place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *place = None;
        *place = Some(make());
        Lent(place)
    }
}

impl<T> Deref for Lent<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_ref().expect("it was made before it was lent")
    }
}

impl<T> DerefMut for Lent<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.as_mut().expect("it was made before it was lent")
    }
}

impl<T> Drop for Lent<'_, T> {
    fn drop(&mut self) {
        if thread::panicking() {
            *self.0 = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    #[test]
    fn it_is_made_once_and_anew_after_a_failure() {
        static SHARED: Shared<Vec<u32>> = Shared::new();
        let add = |number| {
            let mut lent = SHARED.lend(Vec::new);
            lent.push(number);
            lent.clone()
        };
        assert_eq!((add(1), add(2)), (vec![1], vec![1, 2]));
        let failed = catch_unwind(|| {
            let _lent = SHARED.lend(|| unreachable!("it is there"));
            panic!("as tests do");
        });
        assert!(failed.is_err());
        assert_eq!(add(3), [3]);
        assert!(SHARED.lend_new(Vec::new).is_empty());
    }
}
