//! A handle: a feed of intervals, and the sentence of the last error.

use std::ffi::{CStr, CString, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use cpuledger_client::{Client, Next};
use cpuledger_model::framing::Circumstances;
use cpuledger_model::interval::Interval;
use cpuledger_model::snapshot::{Request, Snapshot};

use crate::failure::{CPULEDGER_EINTERNAL, Failure};

/// Where the intervals of a handle come from. That of a source of this process stays with the thread that has opened it.
pub trait Feed {
    /// Waits for the next interval, for `timeout` at most; `None`: as long as it takes.
    ///
    /// # Errors
    /// When the source fails.
    fn next_within(&mut self, timeout: Option<Duration>) -> Result<Next, Failure>;

    /// Ends the running interval now.
    ///
    /// # Errors
    /// When the source fails.
    fn cut(&mut self) -> Result<Next, Failure>;

    /// The last interval.
    fn interval(&self) -> &Interval;

    /// What is known of it besides.
    fn circumstances(&self) -> &Circumstances<'static>;

    /// What the user should know, though nothing has failed.
    fn notice(&mut self) -> Option<String>;

    /// Lists what exists.
    ///
    /// # Errors
    /// When the source has no listings, or does not list.
    fn listing(&mut self, request: &Request, into: &mut Snapshot) -> Result<(), Failure>;
}

// Handles of it may be passed to another thread.
const _: fn() = || {
    fn is_send<T: Send>() {}
    is_send::<Client>();
};

impl Feed for Client {
    fn next_within(&mut self, timeout: Option<Duration>) -> Result<Next, Failure> {
        Ok(Client::next_within(self, timeout)?)
    }

    fn cut(&mut self) -> Result<Next, Failure> {
        Ok(Client::cut(self)?)
    }

    fn interval(&self) -> &Interval {
        Client::interval(self)
    }

    fn circumstances(&self) -> &Circumstances<'static> {
        Client::circumstances(self)
    }

    fn notice(&mut self) -> Option<String> {
        self.ended().map(|ended| format!("the service is gone ({ended}); looking for it"))
    }

    fn listing(&mut self, request: &Request, into: &mut Snapshot) -> Result<(), Failure> {
        Ok(Client::listing(self, request, into)?)
    }
}

/// A handle. One thread at a time uses it; threads may use different handles at the same time.
pub struct cpuledger {
    source: Result<Source, Failure>,
    message: CString,
}

/// What an open handle has.
pub(crate) struct Source {
    pub(crate) feed: Box<dyn Feed>,
    pub(crate) listed: Snapshot,
}

impl cpuledger {
    /// The sentence of the last error or notice; empty where there is none.
    pub(crate) fn message(&self) -> &CStr {
        &self.message
    }
}

/// A sentence as C has it. It has no NUL.
pub(crate) fn sentence(text: &str) -> CString {
    CString::new(text.replace('\0', "")).unwrap_or_default()
}

/// Calls what may fail, or panic.
pub(crate) fn caught<T>(call: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|_| {
        let message = "an error of libcpuledger, which its panic message on standard error describes";
        Err(Failure { code: CPULEDGER_EINTERNAL, message: message.to_owned() })
    })
}

/// Opens a feed, and stores a handle of it: where that fails, too, so that there is a message.
///
/// # Safety
/// `handle` is NULL, or leads to room for a pointer.
pub unsafe fn open_feed(
    handle: *mut *mut cpuledger,
    open: impl FnOnce() -> Result<Box<dyn Feed>, Failure>,
) -> c_int {
    if handle.is_null() {
        return crate::CPULEDGER_EINVAL;
    }
    let opened = caught(open);
    let (code, message) = match &opened {
        Ok(_) => (0, CString::default()),
        Err(failure) => (failure.code, sentence(&failure.message)),
    };
    let source = opened.map(|feed| Source { feed, listed: Snapshot::default() });
    // SAFETY: the caller says so.
    unsafe { handle.write(Box::into_raw(Box::new(cpuledger { source, message }))) };
    code
}

/// Calls what uses a handle, and keeps the sentence of an error.
///
/// # Safety
/// `handle` is NULL, or one that [`open_feed`] has stored, that is not closed, and that no other thread uses.
pub(crate) unsafe fn with_source(
    handle: *mut cpuledger,
    call: impl FnOnce(&mut Source) -> Result<c_int, Failure>,
) -> c_int {
    // SAFETY: the caller says so.
    let Some(handle) = (unsafe { handle.as_mut() }) else { return crate::CPULEDGER_EINVAL };
    let called = match &mut handle.source {
        Ok(source) => caught(|| call(source)),
        // It could not be opened, or has failed for good.
        Err(failure) => Err(failure.clone()),
    };
    match called {
        Ok(code) => {
            let notice = handle.source.as_mut().ok().and_then(|source| source.feed.notice());
            handle.message = notice.map_or_else(CString::default, |notice| sentence(&notice));
            code
        }
        Err(failure) => {
            handle.message = sentence(&failure.message);
            if failure.code == CPULEDGER_EINTERNAL {
                handle.source = Err(failure.clone());
            }
            failure.code
        }
    }
}
