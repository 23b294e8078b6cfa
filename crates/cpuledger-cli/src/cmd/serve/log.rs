//! The journal: a line for each thing that an operator would ask about. A thread writes the lines, so a journal that is full or stopped keeps
//! neither readers nor intervals waiting.

use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use cpuledger_proc::escape::append_sentence;

/// Lines that wait for the journal. What comes while as many wait is left out.
const WAITING: usize = 256;
/// How long the end waits for the journal.
const LONGEST_END: Duration = Duration::from_millis(500);

/// Lines about readers at once, and the time after which one more may follow.
const LINES: u32 = 20;
const PER_LINE: Duration = Duration::from_secs(3);

/// What waits for the journal.
enum Order {
    Line(String),
    /// All lines before it are written.
    Mark(SyncSender<()>),
}

/// The way to the thread.
struct Queue {
    orders: SyncSender<Order>,
    /// Until the thread takes it.
    waiting: Mutex<Option<Receiver<Order>>>,
    left_out: AtomicU64,
}

static QUEUE: LazyLock<Queue> = LazyLock::new(|| {
    let (orders, waiting) = sync_channel(WAITING);
    Queue { orders, waiting: Mutex::new(Some(waiting)), left_out: AtomicU64::new(0) }
});

impl Queue {
    fn take(&self) -> Option<Receiver<Order>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Writes a line for the journal, as soon as that takes it.
pub fn log(sentence: &str) {
    if QUEUE.orders.try_send(Order::Line(sentence.to_owned())).is_err() {
        QUEUE.left_out.fetch_add(1, Ordering::Relaxed);
    }
}

/// Writes the last lines when it is dropped.
pub struct Journal;

impl Journal {
    /// Starts the thread. Lines from before have waited for it: the process may have had one thread only.
    ///
    /// # Errors
    /// When there is no thread to be had.
    pub fn start(&self) -> std::io::Result<()> {
        let Some(waiting) = QUEUE.take() else { return Ok(()) };
        thread::Builder::new().name("journal".into()).spawn(move || waiting.iter().for_each(write)).map(drop)
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        match QUEUE.take() {
            Some(waiting) => waiting.try_iter().for_each(write),
            None => {
                let (mark, written) = sync_channel(1);
                // If the queue is full, the journal takes nothing.
                if QUEUE.orders.try_send(Order::Mark(mark)).is_ok() {
                    let _ = written.recv_timeout(LONGEST_END);
                }
            }
        }
    }
}

/// Writes to standard error, which may be closed, and waits until that is done.
fn write(order: Order) {
    let sentence = match order {
        Order::Line(sentence) => sentence,
        Order::Mark(written) => {
            let _ = written.try_send(());
            return;
        }
    };
    let left_out = QUEUE.left_out.swap(0, Ordering::Relaxed);
    let mut text = Vec::new();
    // A line is a sentence, whatever a path in it holds.
    append_sentence(&mut text, &format!("cpuledger: {sentence}").replace('\n', r"\n"));
    text.push(b'\n');
    let _ = std::io::stderr().write_all(&text);
    if left_out > 0 {
        let _ =
            writeln!(std::io::stderr(), "cpuledger: {left_out} lines were left out: the journal was full");
    }
}

/// Writes a line about something that a reader has done. There may be any number of these, and the journal has limits of its own.
pub fn log_of_reader(sentence: &str) {
    static LIMIT: Mutex<Limit> = Mutex::new(Limit { used: 0, since: None, left_out: 0 });
    let allowed = LIMIT.lock().unwrap_or_else(PoisonError::into_inner).allow(Instant::now());
    match allowed {
        Some(0) => log(sentence),
        Some(left_out) => log(&format!("{sentence} ({left_out} lines like this were left out)")),
        None => {}
    }
}

/// How many lines may follow.
#[derive(Debug)]
struct Limit {
    used: u32,
    /// When the number that was used was last made smaller.
    since: Option<Instant>,
    left_out: u64,
}

impl Limit {
    /// Whether a line may be written now, and how many were left out before it.
    fn allow(&mut self, now: Instant) -> Option<u64> {
        let since = *self.since.get_or_insert(now);
        let periods = now.saturating_duration_since(since).as_secs() / PER_LINE.as_secs();
        if periods > 0 {
            self.used = self.used.saturating_sub(u32::try_from(periods).unwrap_or(u32::MAX));
            self.since = Some(now);
        }
        if self.used >= LINES {
            self.left_out += 1;
            return None;
        }
        self.used += 1;
        Some(std::mem::take(&mut self.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_lines_ends_and_is_told() {
        let mut limit = Limit { used: 0, since: None, left_out: 0 };
        let now = Instant::now();
        let written = (0..1000).filter(|_| limit.allow(now).is_some()).count();
        assert_eq!(written, LINES as usize);
        assert_eq!(limit.allow(now + PER_LINE), Some(1000 - u64::from(LINES)));
        assert_eq!(limit.allow(now + PER_LINE), None);
    }
}
