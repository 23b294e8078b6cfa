//! The thread that reads the files of single tasks: arguments of the rows that are seen, and what the detail pane shows
//! while it is open. A file may take long (that of a task whose memory is locked), so nobody waits for it.

use std::fs;
use std::sync::mpsc::{Receiver, Sender};

use cpuledger::detail::Details;
use cpuledger::render::column::Lookups;
use cpuledger::render::escape::append_escaped;
use cpuledger::{Comm, Task, TaskId, Tid};

use super::app::Event;

/// What is to be read.
#[derive(Debug)]
pub enum Wish {
    /// Arguments of these processes or tasks.
    Arguments(Vec<Task>),
    /// Everything about one.
    Detail(Box<Task>),
}

/// What the files of a task say; a member is empty where that could not be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileDetail {
    /// Of which task.
    pub id: TaskId,
    /// Arguments.
    pub command_line: String,
    /// The program.
    pub program: String,
    /// Cgroups.
    pub cgroup: String,
    /// The working directory.
    pub directory: String,
    /// Open files.
    pub open_files: Option<u64>,
    /// How many bytes were asked for by read(2) and given to write(2), and how many calls there were of each.
    pub calls: Option<[u64; 4]>,
    /// Score and adjustment of the out-of-memory killer.
    pub oom: [Option<i32>; 2],
    /// Names, soft and hard limits.
    pub limits: Vec<[String; 3]>,
}

/// Reads until nobody wishes or listens.
pub fn run(wishes: &Receiver<Wish>, events: &Sender<Event>) {
    while let Ok(mut wish) = wishes.recv() {
        // Of several that wait, the last detail is the one that is shown.
        while let (Wish::Detail(_), Ok(next)) = (&wish, wishes.try_recv()) {
            if let Wish::Arguments(rows) = next {
                let _ = events.send(Event::Arguments(arguments(&rows)));
            } else {
                wish = next;
            }
        }
        let event = match wish {
            Wish::Arguments(rows) => Event::Arguments(arguments(&rows)),
            Wish::Detail(row) => Event::Detail(Box::new(detail(&row))),
        };
        if events.send(event).is_err() {
            return;
        }
    }
}

/// As much of the arguments as is remembered: nobody's screen is wider.
const MOST_ARGUMENT_BYTES: usize = 4096;

fn bounded(arguments: &[u8]) -> &[u8] {
    &arguments[..arguments.len().min(MOST_ARGUMENT_BYTES)]
}

/// By process.
fn arguments(rows: &[Task]) -> Vec<(TaskId, Comm, Box<[u8]>)> {
    let mut details = Details::default();
    let mut read = Vec::with_capacity(rows.len());
    for row in rows {
        // The arguments are those of the process.
        let leader = Task { tid: Tid(row.pid.0), ..*row };
        details.learn(&leader, false, Lookups::CMDLINE);
        read.push((leader.id(), row.comm, bounded(details.cmdline(&leader).unwrap_or_default()).into()));
    }
    read
}

fn detail(row: &Task) -> FileDetail {
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
    let limits = fs::read_to_string(format!("{directory}/limits")).unwrap_or_default();
    let link = fs::read_link(format!("{directory}/cwd")).unwrap_or_default();
    FileDetail {
        id: row.id(),
        command_line: String::from_utf8_lossy(details.command_line(row)).into_owned(),
        program: escaped(details.exe(row)),
        cgroup: escaped(details.cgroup(row)),
        directory: escaped(link.as_os_str().as_encoded_bytes()),
        open_files: files.and_then(|files| files.open_files),
        calls: calls.map(|io| [io.read_chars, io.read_calls, io.write_chars, io.write_calls]),
        oom: files.map_or([None; 2], |files| [files.oom_score, files.oom_adjustment]),
        limits: parse_limits(&limits),
    }
}

fn escaped(bytes: &[u8]) -> String {
    let mut text = Vec::new();
    append_escaped(&mut text, bytes);
    String::from_utf8_lossy(&text).into_owned()
}

/// Lines of columns that stand at fixed places: name, soft limit, hard limit, unit.
fn parse_limits(text: &str) -> Vec<[String; 3]> {
    let lines = text.lines().skip(1);
    let column = |line: &str, from: usize, to: usize| {
        line.get(from..to.min(line.len())).unwrap_or_default().trim().to_owned()
    };
    lines.map(|line| [column(line, 0, 26), column(line, 26, 47), column(line, 47, 68)]).collect()
}

#[cfg(test)]
mod tests {
    use cpuledger::Pid;

    use super::*;

    #[test]
    fn this_process_has_arguments_a_program_files_and_limits() {
        let pid = std::process::id() as i32;
        let row = Task { pid: Pid(pid), tid: Tid(pid), ..Task::default() };
        let detail = detail(&row);
        let program = std::env::current_exe().expect("a program");
        assert_eq!(detail.program, program.to_str().expect("UTF-8"));
        assert!(!detail.command_line.is_empty() && detail.open_files.is_some_and(|files| files > 2));
        let files = detail.limits.iter().find(|[name, ..]| name == "Max open files").expect("a limit");
        assert!(files[1].parse::<u64>().is_ok() || files[1] == "unlimited");
        assert_eq!(arguments(&[row])[0].0.tid, Tid(pid));
    }
}
