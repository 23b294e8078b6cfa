//! Files of /proc about one process: its arguments and cgroups, by which rules find its group, and its open files.
//!
//! A process may have its arguments in memory that a file system of its user has to fill, and that user may never let it. So a thread of its own
//! reads them. One that does not come back is left behind, and there are few of these.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use cpuledger_model::boottime::TICK_NS;
use cpuledger_proc::task::limits::parse_limits;
use cpuledger_proc::task::stat::parse_stat;
use cpuledger_program::output::warn;

/// A process: its pid, and its start on CLOCK_BOOTTIME in nanoseconds.
pub type Id = (i64, u64);

/// Arguments are read up to here.
const MOST_BYTES: u64 = 1 << 15;
/// Reading those of all processes of an interval takes no longer. The others are read with the next.
const LONGEST: Duration = Duration::from_millis(500);
/// That it takes too long is said so often.
const WARNS_EACH: Duration = Duration::from_secs(60);
/// How long they are waited for.
const PATIENCE: Duration = Duration::from_millis(250);
/// Threads that do not come back. Beyond these, arguments are not read until one does.
const MOST_STUCK: usize = 3;

/// What is read of a process; `None`: it cannot be read, or the process has ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// Its arguments; a kernel thread has none.
    pub argv: Option<Vec<String>>,
    /// Paths of its cgroups, if they were asked for.
    pub cgroups: Option<Vec<String>>,
}

/// Of several processes.
pub type Known = HashMap<Id, Facts>;

/// What reads. Each question waits for its answer.
#[derive(Debug)]
pub struct Files {
    wants_cgroups: bool,
    reader: Option<Reader>,
    stuck: Arc<AtomicUsize>,
    warned: Option<Instant>,
}

#[derive(Debug)]
struct Reader {
    questions: SyncSender<Id>,
    answers: Receiver<Facts>,
    /// Set once it has not answered in time.
    is_left_behind: Arc<AtomicBool>,
}

impl Files {
    /// Of this machine.
    pub fn new(wants_cgroups: bool) -> Files {
        Files { wants_cgroups, reader: None, stuck: Arc::default(), warned: None }
    }

    /// What is known of these processes. Those that there was no time for are left out.
    pub fn read(&mut self, processes: Vec<Id>) -> Known {
        let begin = Instant::now();
        let in_time = processes.into_iter().take_while(|_| begin.elapsed() < LONGEST);
        in_time.map(|id| (id, self.read_one(id))).collect()
    }

    fn read_one(&mut self, id: Id) -> Facts {
        if self.reader.is_none() && self.stuck.load(Ordering::Relaxed) < MOST_STUCK {
            let wants_cgroups = self.wants_cgroups;
            self.reader = self.start(move |id| facts(id, wants_cgroups)).ok();
        }
        let Some(reader) = &self.reader else { return Facts::default() };
        if reader.questions.send(id).is_err() {
            self.reader = None;
            return Facts::default();
        }
        reader.answers.recv_timeout(PATIENCE).unwrap_or_else(|_| {
            if self.warned.is_none_or(|warned| warned.elapsed() >= WARNS_EACH) {
                self.warned = Some(Instant::now());
                warn(&format!(
                    "the arguments of process {} cannot be read in time; its name stands for them",
                    id.0
                ));
            }
            self.leave_behind();
            Facts::default()
        })
    }

    /// The one that reads has not answered in time.
    fn leave_behind(&mut self) {
        if let Some(reader) = self.reader.take() {
            self.stuck.fetch_add(1, Ordering::Relaxed);
            reader.is_left_behind.store(true, Ordering::Release);
        }
    }

    fn start(&self, facts: impl Fn(Id) -> Facts + Send + 'static) -> io::Result<Reader> {
        let (questions, asked) = sync_channel(1);
        let (answer, answers) = sync_channel(1);
        let stuck = Arc::clone(&self.stuck);
        let is_left_behind = Arc::new(AtomicBool::new(false));
        let is_left = Arc::clone(&is_left_behind);
        thread::Builder::new().name("arguments".into()).spawn(move || {
            for id in asked {
                if answer.send(facts(id)).is_err() {
                    break;
                }
            }
            // Its answer may have come too late to be taken, and too early to be refused.
            if is_left.load(Ordering::Acquire) {
                stuck.fetch_sub(1, Ordering::Relaxed);
            }
        })?;
        Ok(Reader { questions, answers, is_left_behind })
    }
}

fn facts(id: Id, wants_cgroups: bool) -> Facts {
    let (pid, start_ns) = id;
    let argv = read(&format!("/proc/{pid}/cmdline")).map(|bytes| arguments(&bytes));
    let cgroups = wants_cgroups.then(|| read(&format!("/proc/{pid}/cgroup")));
    // If it is still the one that was meant, it was that before.
    let stat = read(&format!("/proc/{pid}/stat")).unwrap_or_default();
    let start_ticks = parse_stat(&stat).map(|stat| stat.start_ticks);
    if start_ticks != Some(start_ns / TICK_NS) {
        return Facts::default();
    }
    Facts { argv, cgroups: cgroups.flatten().map(|bytes| cgroup_paths(&bytes)) }
}

fn read(path: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Those of a `cmdline`. Nothing but NULs are no arguments, as for process-exporter.
fn arguments(bytes: &[u8]) -> Vec<String> {
    let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    if end == 0 {
        return Vec::new();
    }
    bytes[..end]
        .split(|byte| *byte == 0)
        .map(|argument| String::from_utf8_lossy(argument).into_owned())
        .collect()
}

/// Those of a `cgroup`: lines of a number, controllers and a path.
fn cgroup_paths(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    text.lines().filter_map(|line| line.splitn(3, ':').nth(2)).map(str::to_owned).collect()
}

/// Whether /proc shows the processes of others.
pub fn shows_others() -> bool {
    fs::metadata("/proc/1/stat").is_ok()
}

/// Open files of a process and how many it may have; each `None`: this is not to be read.
pub fn descriptors(pid: i64) -> [Option<u64>; 2] {
    let folder = format!("/proc/{pid}/fd");
    // Since Linux 6.2 the directory has that size, and needs no right. Before, it has none.
    let open = match fs::metadata(&folder) {
        Ok(data) if data.len() > 0 => Some(data.len()),
        _ => fs::read_dir(&folder).ok().map(|entries| entries.count() as u64),
    };
    let limits = read(&format!("/proc/{pid}/limits")).unwrap_or_default();
    let limit =
        parse_limits(&String::from_utf8_lossy(&limits)).into_iter().find_map(|[name, soft, _]| {
            match (&*name, &*soft) {
                ("Max open files", "unlimited") => Some(u64::MAX),
                ("Max open files", soft) => soft.parse().ok(),
                _ => None,
            }
        });
    [open, limit]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_those_of_process_exporter() {
        assert_eq!(arguments(b"a\0b c\0\0"), ["a", "b c"]);
        assert_eq!(arguments(b"a\0\0c\0"), ["a", "", "c"]);
        assert!(arguments(b"").is_empty() && arguments(b"\0\0").is_empty());
        assert_eq!(cgroup_paths(b"4:cpu,cpuacct:/a:b\n0::/c\n"), ["/a:b", "/c"]);
    }

    #[test]
    fn a_process_has_its_arguments_and_another_with_its_pid_has_not() {
        let stat = fs::read("/proc/self/stat").expect("a file");
        let stat = parse_stat(&stat).expect("it is one");
        let id = (i64::from(stat.tid), stat.start_ticks * TICK_NS + 1);
        let mut files = Files::new(true);
        let other = (id.0, id.1 + TICK_NS);
        let known = files.read(vec![id, other]);
        let expected: Vec<String> = std::env::args().collect();
        assert_eq!(known[&id].argv.as_ref(), Some(&expected));
        assert!(known[&id].cgroups.as_ref().is_some_and(|paths| !paths.is_empty()));
        assert_eq!(known[&other], Facts::default());
        let [open, limit] = descriptors(id.0);
        assert!(open > Some(2) && limit > open, "{open:?} of {limit:?}");
    }

    #[test]
    fn one_that_was_left_behind_is_not_stuck_once_it_has_answered() {
        let mut files = Files::new(false);
        for takes in [Duration::ZERO, Duration::from_millis(200)] {
            let (tell, told) = sync_channel(1);
            let slow = move |_| {
                thread::sleep(takes);
                let _ = tell.send(());
                Facts::default()
            };
            let reader = files.start(slow).expect("a thread");
            reader.questions.send((1, 1)).expect("it listens");
            if takes.is_zero() {
                told.recv().expect("it answers");
                // Until the answer is where nobody will take it.
                thread::sleep(Duration::from_millis(50));
            }
            files.reader = Some(reader);
            files.leave_behind();
            let begin = Instant::now();
            while files.stuck.load(Ordering::Relaxed) > 0 {
                assert!(begin.elapsed() < Duration::from_secs(20), "{takes:?}");
                thread::sleep(Duration::from_millis(1));
            }
        }
    }
}
