//! The thread that reads the files of single tasks: arguments of the rows that are seen, and what the detail pane shows
//! while it is open. A file may take long (that of a task whose memory is locked), so the screen does not wait for it.

use std::fs;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use cpuledger::{Comm, Task, TaskId, Tid, clock};
use cpuledger_model::make;
use cpuledger_names::detail::Details;
use cpuledger_names::lookups::Lookups;
use cpuledger_proc::escape::escaped;
use cpuledger_proc::task::limits::parse_limits;

use super::event::Event;

/// What is to be read: not a queue, but what is wanted now. So nothing is lost however long a file takes, what is no
/// longer shown is not read, and there is never more of it than a screen has lines.
#[derive(Debug, Clone, Default)]
pub struct Requests(Arc<(Mutex<Wanted>, Condvar)>);

#[derive(Debug, Default)]
struct Wanted {
    /// Rows in sight whose arguments are not known, in their order.
    arguments: Vec<Task>,
    /// The tasks whose arguments are being read: these need not be asked for again.
    current: Option<(TaskId, Comm)>,
    /// The row of the detail pane.
    detail: Option<Task>,
    is_over: bool,
}

/// One thing to read.
#[derive(Debug)]
enum Request {
    Arguments(Task),
    Detail(Task),
}

impl Requests {
    /// From now on the arguments of these rows are wanted, and of no others.
    pub fn want_arguments(&self, rows: Vec<Task>) {
        self.change(|wanted| {
            wanted.arguments = rows;
            wanted.arguments.retain(|row| Some((row.id(), row.comm)) != wanted.current);
        });
    }

    /// From now on everything about this one is wanted, once, and about no other.
    pub fn want_detail(&self, row: Task) {
        self.change(|wanted| wanted.detail = Some(row));
    }

    /// Nothing is wanted any more.
    pub fn end(&self) {
        self.change(|wanted| wanted.is_over = true);
    }

    fn change(&self, change: impl FnOnce(&mut Wanted)) {
        change(&mut self.lock());
        self.0.1.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, Wanted> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for something to read, after the last has been told; `None` at the end.
    fn next(&self) -> Option<Request> {
        let mut wanted = self.lock();
        wanted.current = None;
        loop {
            if wanted.is_over {
                return None;
            }
            // The pane is what the user looks at.
            if let Some(row) = wanted.detail.take() {
                return Some(Request::Detail(row));
            }
            if !wanted.arguments.is_empty() {
                let row = wanted.arguments.remove(0);
                wanted.current = Some((row.id(), row.comm));
                return Some(Request::Arguments(row));
            }
            wanted = self.0.1.wait(wanted).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Reads until the end, or until the receiver is gone.
pub fn run(requests: &Requests, events: &Sender<Event>) {
    run_with(requests, events, |request| match request {
        Request::Arguments(row) => arguments(&row),
        Request::Detail(row) => detail(&row),
    });
}

fn run_with(requests: &Requests, events: &Sender<Event>, read: impl Fn(Request) -> Event) {
    while let Some(request) = requests.next() {
        if events.send(read(request)).is_err() {
            return;
        }
    }
}

/// Limits that are worth a word.
const LIMITS: [&str; 5] =
    ["Max open files", "Max processes", "Max locked memory", "Max address space", "Max stack size"];

/// Maximum length of remembered arguments: no screen is wider.
const MOST_ARGUMENT_BYTES: usize = 4096;

fn bounded(arguments: &[u8]) -> &[u8] {
    &arguments[..arguments.len().min(MOST_ARGUMENT_BYTES)]
}

/// Those of its process.
fn arguments(row: &Task) -> Event {
    let leader = make!(Task { tid: Tid(row.pid.0), ..*row });
    let mut details = Details::default();
    let read = clock::boottime();
    details.learn(&leader, false, Lookups::CMDLINE);
    let arguments = details.cmdline(&leader).map(|arguments| bounded(arguments).into());
    Event::Arguments { process: leader.id(), comm: row.comm, read, arguments }
}

/// What the files of a task say; `-` where that could not be read.
fn detail(row: &Task) -> Event {
    let is_task = !row.is_leader();
    let mut details = Details::default();
    let wanted = Lookups::CMDLINE
        .union(Lookups::EXE)
        .union(Lookups::CGROUP)
        .union(Lookups::IO)
        .union(Lookups::OOM)
        .union(Lookups::OPEN_FILES);
    details.learn(row, is_task, wanted);
    let files = details.files(row, is_task);
    let calls = files.and_then(|files| files.io.as_deref());
    let directory = format!("/proc/{}/task/{}", row.pid, row.tid);
    let limits = parse_limits(&fs::read_to_string(format!("{directory}/limits")).unwrap_or_default());
    let limits = limits.iter().filter(|[name, ..]| LIMITS.contains(&name.as_str()));
    let limits: Vec<String> =
        limits.map(|[name, soft, hard]| format!("{} {soft}/{hard}", &name[4..])).collect();
    let link = fs::read_link(format!("{directory}/cwd")).unwrap_or_default();
    let calls = calls.map(|io| {
        let [read, reads, written, writes] = [io.read_chars, io.read_calls, io.write_chars, io.write_calls];
        format!("{read} bytes by {reads} reads, {written} by {writes} writes, since the start")
    });
    let dash = |text: String| if text.is_empty() { "-".to_owned() } else { text };
    let score = |score: Option<i32>| dash(score.map(|score| score.to_string()).unwrap_or_default());
    let [score, adjustment] =
        files.map_or([None; 2], |files| [files.oom_score, files.oom_adjustment]).map(score);
    let open_files = files.and_then(|files| files.open_files).map(|count| count.to_string());
    let lines = [
        ("command", String::from_utf8_lossy(details.command_line(row)).into_owned()),
        ("program", escaped(details.exe(row))),
        ("directory", escaped(link.as_os_str().as_encoded_bytes())),
        ("cgroup", escaped(details.cgroup(row))),
        ("open files", open_files.unwrap_or_default()),
        ("limits", limits.join(", ")),
        ("asked for", calls.unwrap_or_default()),
        ("out of memory", format!("score {score}, adjustment {adjustment}")),
    ];
    Event::Detail(row.id(), lines.map(|(label, text)| (label, dash(text))).to_vec())
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::mpsc::{self, Receiver};
    use std::thread;
    use std::time::Duration;

    use cpuledger::Pid;

    use super::*;

    fn row(pid: i32) -> Task {
        make!(Task { pid: Pid(pid), tid: Tid(pid) })
    }

    #[test]
    fn this_process_has_arguments_a_program_files_and_limits() {
        let pid = std::process::id() as i32;
        let Event::Detail(id, lines) = detail(&row(pid)) else { panic!("its files") };
        let text = |wanted: &str| &*lines.iter().find(|(label, _)| *label == wanted).expect("a line").1;
        let program = std::env::current_exe().expect("a program");
        assert_eq!((id.tid, text("program")), (Tid(pid), program.to_str().expect("UTF-8")));
        assert!(text("command").len() > 1 && text("open files").parse::<u64>().expect("a number") > 2);
        let mut limits = text("limits").split(", ");
        let files = limits.find_map(|limit| limit.strip_prefix("open files ")).expect("a limit");
        let soft = files.split('/').next().expect("split gives one");
        assert!(soft.parse::<u64>().is_ok() || soft == "unlimited");
        let Event::Arguments { process, arguments, .. } = arguments(&row(pid)) else { panic!("arguments") };
        assert_eq!(process.tid, Tid(pid));
        assert!(arguments.is_some_and(|arguments| !arguments.is_empty()));
    }

    /// A file of a slow machine.
    fn read_slowly(request: Request) -> Event {
        thread::sleep(Duration::from_millis(2));
        match request {
            Request::Arguments(row) => {
                let arguments = Some(b"read".as_slice().into());
                Event::Arguments { process: row.id(), comm: row.comm, read: clock::boottime(), arguments }
            }
            Request::Detail(row) => Event::Detail(row.id(), Vec::new()),
        }
    }

    /// What the screen knows, and how often it was told.
    #[derive(Default)]
    struct Known {
        arguments: HashMap<i32, u32>,
        details: Vec<i32>,
    }

    impl Known {
        fn take(&mut self, events: &Receiver<Event>) {
            // The screen draws when something has come, or a key was pressed.
            let first = events.recv_timeout(Duration::from_millis(1));
            for event in first.into_iter().chain(events.try_iter()) {
                match event {
                    Event::Arguments { process, .. } => {
                        *self.arguments.entry(process.tid.0).or_default() += 1
                    }
                    Event::Detail(id, _) => self.details.push(id.tid.0),
                    _ => panic!("nothing else reports"),
                }
            }
        }
    }

    #[test]
    fn slow_files_lose_no_row_in_sight() {
        let (told, events) = mpsc::channel();
        let requests = Requests::default();
        thread::scope(|scope| {
            scope.spawn(|| run_with(&requests, &told, read_slowly));
            let mut known = Known::default();
            for page in 0..8 {
                // The user turns a page while the last is still being read, and looks at the details of one row.
                for step in 0.. {
                    let first = page * 40 + if step < 5 { 0 } else { 10 };
                    let unread = (first..first + 30).filter(|pid| !known.arguments.contains_key(pid));
                    let unread: Vec<Task> = unread.map(row).collect();
                    if unread.is_empty() {
                        break;
                    }
                    requests.want_arguments(unread);
                    if step % 3 == 0 {
                        requests.want_detail(row(page * 1000 + step));
                    }
                    known.take(&events);
                    assert!(step < 10_000, "{} rows of page {page}", known.arguments.len());
                }
            }
            requests.want_arguments(Vec::new());
            requests.want_detail(row(99_999));
            while known.details.last() != Some(&99_999) {
                known.take(&events);
            }
            assert!(known.arguments.values().all(|&times| times <= 2), "{:?}", known.arguments);
            requests.end();
        });
    }
}
