//! The text that is rendered from a walk beside the kernel's own files: each line of tasks that stand still is the same. Needs
//! root.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::{Child, Command, Stdio};

use cpuledger::source::SourceKind;
use cpuledger::source::kernel_text::{Form, Whole};
use cpuledger::source::status::{StatusTexts, StatusWalk, Wanted};
use cpuledger_load::{Sleepers, Zoo, is_emulated};
use cpuledger_model::make;
use nix::sys::ptrace;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// The files are read, then the records, then the files again: as often as tasks have moved in between.
const ATTEMPTS: u32 = 40;

/// Maximum number of differences between the file and the records of a task that stands still, before its text counts as wrong.
const DIFFERENCES: u32 = 8;

/// A task: process and tid.
type Key = (i32, i32);

/// Processes that differ from others in what status shows, asleep until this is dropped.
struct Odd(Vec<Child>);

impl Odd {
    fn start() -> Odd {
        let groups: Vec<String> = (1000..1040).map(|group| group.to_string()).collect();
        let few_groups = format!("--groups={}", groups[..32].join(","));
        let many_groups = format!("--groups={}", groups.join(","));
        let five_namespaces = ["unshare", "--pid", "--fork"].repeat(5);
        let commands: [&[&str]; 12] = [
            &["sh", "-c", "umask 0; exec sleep 1000"],
            &["sh", "-c", "umask 777; exec sleep 1000 8</dev/null 300</dev/null"],
            &["setpriv", "--no-new-privs", "--inh-caps=-all", "--bounding-set=-chown"],
            &["setpriv", "--reuid=12345", "--regid=12346", "--clear-groups"],
            &["setpriv", few_groups.as_str()],
            &["setpriv", many_groups.as_str()],
            &["taskset", "--cpu-list", "0"],
            &["prlimit", "--sigpending=77:77", "--rss=1234567:1234567"],
            &["env", "--block-signal=USR1,RTMIN", "--ignore-signal=HUP,USR2"],
            &["chrt", "--batch", "0"],
            &["unshare", "--pid", "--fork", "--mount-proc"],
            &five_namespaces,
        ];
        let mut children = Vec::new();
        for command in commands {
            let mut line: Vec<&str> = command.to_vec();
            if line[0] != "sh" {
                line.extend(["sleep", "1000"]);
            }
            let child = Command::new(line[0])
                .args(&line[1..])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap_or_else(|error| panic!("{}: {error}; install coreutils and util-linux", line[0]));
            children.push(child);
        }
        Odd(children)
    }

    /// All of them, and what they have started.
    fn tasks(&self) -> Vec<Key> {
        let mut pids: Vec<i32> = self.0.iter().map(|child| child.id().cast_signed()).collect();
        let mut index = 0;
        while let Some(pid) = pids.get(index) {
            let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
            let children = children.unwrap_or_default();
            pids.extend(children.split_whitespace().filter_map(|child| child.parse::<i32>().ok()));
            index += 1;
        }
        pids.into_iter().map(|pid| (pid, pid)).collect()
    }

    /// Waits until each is what it was made for: one that sleeps in `sleep`, or in what waits for that.
    fn settle(&self) {
        for _ in 0..2_400 {
            let leaves = self.tasks().into_iter().filter(|(pid, _)| {
                fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm == "sleep\n")
            });
            if leaves.count() == self.0.len() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        panic!("not all of {:?} are asleep", self.tasks());
    }
}

impl Drop for Odd {
    fn drop(&mut self) {
        for (pid, _) in self.tasks().into_iter().rev() {
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
        for child in &mut self.0 {
            let _ = child.wait();
        }
    }
}

fn kernel_threads() -> Vec<Key> {
    let entries = fs::read_dir("/proc").expect("procfs");
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    let is_kernel_thread = |pid: &i32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let after_name = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
        let flags = after_name.split(' ').nth(6).and_then(|flags| flags.parse::<u32>().ok());
        flags.is_some_and(|flags| flags & 0x0020_0000 != 0)
    };
    // All files of all of them are many for an emulated CPU.
    let step = if is_emulated() { 4 } else { 1 };
    pids.filter(is_kernel_thread).step_by(step).map(|pid| (pid, pid)).collect()
}

fn file(form: Form, whole: Whole, (pid, tid): Key) -> Option<Vec<u8>> {
    let path = match whole {
        Whole::Process => format!("/proc/{pid}/{form}"),
        Whole::Task => format!("/proc/{pid}/task/{tid}/{form}"),
    };
    fs::read(path).ok()
}

/// The rendered texts of these tasks; none of one that the records cannot hold.
fn rendered(walk: &mut StatusWalk, form: Form, whole: Whole, keys: &BTreeSet<Key>) -> BTreeMap<Key, Vec<u8>> {
    let (records, mut texts) = walk.snapshot(form, whole).expect("a walk");
    let mut rendered = BTreeMap::new();
    for (index, task) in records.tasks.iter().enumerate() {
        let key = (task.pid, task.tid);
        if !keys.contains(&key) || (whole == Whole::Process && task.pid != task.tid) {
            continue;
        }
        let mut text = Vec::new();
        let written = texts.write(index, form, whole, &mut text);
        assert_eq!(written == cpuledger::source::kernel_text::Written::AskKernel, text.is_empty());
        assert_eq!(rendered.insert(key, text), None, "{key:?} is there twice");
    }
    rendered
}

/// Lines of the kernel that are not in ours, and the other way round.
fn difference(form: Form, kernel: &[u8], ours: &[u8]) -> Vec<String> {
    let lines = |text: &[u8]| -> BTreeSet<String> {
        let text = text.escape_ascii().to_string();
        match form {
            Form::Status => text.split("\\n").map(str::to_owned).collect(),
            _ => text.split(' ').enumerate().map(|(place, word)| format!("{place}: {word}")).collect(),
        }
    };
    let (kernel, ours) = (lines(kernel), lines(ours));
    let lacking = kernel.difference(&ours).map(|line| format!("kernel {line}"));
    lacking.chain(ours.difference(&kernel).map(|line| format!("ours {line}"))).collect()
}

/// Compares until all of `must` were seen to stand still. Returns the tasks that were rendered, and those that were only copied.
fn compare(
    walk: &mut StatusWalk,
    form: Form,
    whole: Whole,
    must: &BTreeSet<Key>,
    may: &[Key],
) -> (usize, Vec<Key>) {
    let mut waiting: BTreeSet<Key> = must.iter().chain(may).copied().collect();
    let (mut rendered_tasks, mut copied, mut differing) = (0, Vec::new(), BTreeMap::new());
    for _ in 0..ATTEMPTS {
        let before: BTreeMap<Key, Option<Vec<u8>>> =
            waiting.iter().map(|key| (*key, file(form, whole, *key))).collect();
        let ours = rendered(walk, form, whole, &waiting);
        for (key, before) in before {
            let Some(kernel) = before.filter(|before| file(form, whole, key).as_ref() == Some(before)) else {
                continue;
            };
            let Some(ours) = ours.get(&key) else { continue };
            let difference = difference(form, &kernel, ours);
            if !ours.is_empty() && !difference.is_empty() {
                // It may have run between the two readings and been the same again: not every time.
                let times = differing.entry(key).or_insert(0);
                *times += 1;
                assert!(*times < DIFFERENCES, "{form} of {key:?}: {difference:#?}");
                continue;
            }
            waiting.remove(&key);
            if ours.is_empty() {
                copied.push(key);
                continue;
            }
            assert!(kernel == *ours, "{form} of {key:?}: the order of lines");
            rendered_tasks += 1;
        }
        if waiting.is_disjoint(must) {
            return (rendered_tasks, copied);
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let moved: Vec<_> = waiting.intersection(must).collect();
    panic!("{form}: these never stood still, or were not walked over: {moved:?}");
}

#[test]
fn texts_of_tasks_that_stand_still_are_those_of_the_kernel_root() {
    let zoo = Zoo::start().expect("the zoo; it needs root");
    let sleepers = Sleepers::start(if is_emulated() { 30 } else { 600 }, 3).expect("sleepers");
    let odd = Odd::start();
    odd.settle();
    let signalled = Pid::from_raw(odd.0[8].id().cast_signed());
    kill(signalled, Signal::SIGUSR1).expect("it is ours");
    let traced = Pid::from_raw(odd.0[0].id().cast_signed());
    ptrace::seize(traced, ptrace::Options::empty()).expect("it is ours");

    let mut must: BTreeSet<Key> = odd.tasks().into_iter().collect();
    for member in zoo.members() {
        must.extend(member.tids.iter().map(|tid| (member.pid, *tid)));
    }
    for process in sleepers.processes() {
        let tids = fs::read_dir(format!("/proc/{}/task", process.pid)).expect("it sleeps");
        let tids = tids.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
        must.extend(tids.map(|tid| (process.pid, tid)));
    }
    let kernel_threads = kernel_threads();
    let mut walk = StatusWalk::open().expect("the walk; it needs root and Linux 6.7");
    let left_out = walk.dialect().left_out();
    assert!(left_out.is_empty(), "lines of this kernel are not rendered: {left_out:?}");

    for form in Form::ALL {
        let (rendered, copied) = compare(&mut walk, form, Whole::Task, &must, &kernel_threads);
        println!("{form}: {rendered} rendered, {copied:?} left to the kernel");
        // Two are too deep in PID namespaces, and one has too many groups, which only status shows.
        assert_eq!(copied.len(), if form == Form::Status { 3 } else { 2 });
        assert!(rendered + copied.len() >= must.len() + kernel_threads.len() / 2);
        let leaders = must.iter().copied().filter(|(pid, tid)| pid == tid).collect();
        let (rendered, _) = compare(&mut walk, form, Whole::Process, &leaders, &kernel_threads);
        assert!(rendered + 3 >= leaders.len() + kernel_threads.len() / 2);
    }
    let status = file(Form::Status, Whole::Process, (traced.as_raw(), 0)).expect("it is there");
    let is_traced = !String::from_utf8_lossy(&status).contains("TracerPid:\t0\n");
    let status = file(Form::Status, Whole::Process, (signalled.as_raw(), 0)).expect("it is there");
    let is_signalled = String::from_utf8_lossy(&status).contains("ShdPnd:\t0000000000000200");
    assert!(is_traced && is_signalled, "the odd ones are not odd");
}

/// Both sources write the same for tasks that stand still, the copied and the rendered, in the same order.
#[test]
fn both_sources_write_the_same_root() {
    let sleepers = Sleepers::start(40, 2).expect("sleepers");
    let odd = Odd::start();
    odd.settle();
    let mut pids: Vec<i32> = sleepers.processes().iter().map(|process| process.pid).collect();
    pids.extend(odd.0.iter().map(|child| child.id().cast_signed()));
    pids.push(i32::MAX);
    let sources = [SourceKind::Walk, SourceKind::Procfs].map(|kind| {
        let wanted =
            make!(Wanted { form: Form::Stat, whole: Whole::Task, pids: Some(&pids), is_numbered: false });
        let source = StatusTexts::open(Some(kind), &wanted).expect("the source; walk needs root");
        assert_eq!(source.kind(), kind);
        source
    });
    let [mut walk, mut procfs] = sources;
    for form in Form::ALL {
        for whole in [Whole::Process, Whole::Task] {
            let wanted = make!(Wanted { form, whole, pids: Some(&pids), is_numbered: form == Form::Statm });
            let text = |source: &mut StatusTexts| {
                let mut out = Vec::new();
                let missing = source
                    .write(&wanted, &mut out, &mut |_| std::ops::ControlFlow::Continue(()))
                    .expect("it is written");
                assert_eq!(missing, vec![i32::MAX]);
                String::from_utf8_lossy(&out).into_owned()
            };
            // Sleepers may not be asleep yet, and what their user has queued is the doing of others.
            let is_same = (0..ATTEMPTS).any(|_| text(&mut walk) == text(&mut procfs));
            assert!(is_same, "{form} {whole:?}: {} and {}", text(&mut walk), text(&mut procfs));
        }
    }
}
