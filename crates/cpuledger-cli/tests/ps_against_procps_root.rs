//! `cpuledger ps` against ps of procps, line by line, on tasks that the test makes: one of each kind of the zoo, which
//! needs root, and some kernel threads. A line has to be equal to what procps says before or after.

#[path = "procps/mod.rs"]
mod peer;

use std::collections::BTreeMap;
use std::process::{Command, Output};

use cpuledger_load::{Member, Zoo};
use cpuledger_proc::escape::{append_escaped, append_printable};
use cpuledger_proc::task::stat::parse_stat;

/// A timer may run a sleeping task between two listings.
const ATTEMPTS: usize = 20;

/// The listings that have to agree.
const LISTINGS: &[&str] = &[
    "-e",
    "-ef",
    "-eF",
    "-el",
    "-ely",
    "-elF",
    "-ej",
    "-ejf",
    "-ecl",
    "aux",
    "axl",
    "axj",
    "ax",
    "-eL",
    "-eLf",
    "-eT",
    "-eLl",
    "aux -L",
    "-eLo pid,tid,vsz,stat,comm",
    "axH",
    "-eo pid,ppid,user,stat,nlwp,ni,pri,tty,lstart,comm,args",
    "-eo pid,user:4,euser,ruser,suser,fuser,group,rgroup,sgroup,fgroup,uid,ruid,suid,fsuid,gid,rgid,sgid,fsgid",
    "-eo pid,pgid,sid,tpgid,sess,tname,s,f,opri,priority,pri_api,pri_bar,pri_baz,pri_foo,rtprio,sched,cls,class,thcount",
    "-eo pid,time,times,bsdtime,start,stime,bsdstart,vsz,sz,maj_flt,min_flt,wchan,fname",
    "-eo wchan:20,exe,cgroup,pid=NUMBER,args",
    "-eLo pid,tid,comm,time",
    "-eLo pid,spid,psr,cpuid,sgi_p,cuc,cuu,cp,c,pcpu,etimes,etime,fname,args:40",
];

/// Columns that change while nothing happens: the clock runs and the scheduler moves. They need not be equal, but are
/// as wide.
const VOLATILE: &[&str] = &["%CPU", "C", "CP", "%CUU", "%CUC", "ELAPSED", "PSR", "CPUID", "P", "RSS", "%MEM"];

/// What the name of the dead says in later versions of procps than 4.0.4, and ours.
const DEFUNCT: &str = " <defunct>";

fn output(program: &str, arguments: &[&str]) -> Output {
    // `C.UTF-8` lets procps show what is not ASCII.
    Command::new(program)
        .args(arguments)
        .env("LC_ALL", "C.UTF-8")
        .env_remove("COLUMNS")
        .env_remove("PS_FORMAT")
        .output()
        .unwrap_or_else(|error| panic!("{program} does not start: {error}"))
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn procps(arguments: &[&str]) -> Output {
    output(&peer::program(), arguments)
}

fn ours(source: &str, arguments: &[&str]) -> Output {
    let all: Vec<&str> = ["ps", "--source", source].iter().chain(arguments).copied().collect();
    output(env!("CARGO_BIN_EXE_cpuledger"), &all)
}

/// What of a listing is compared: the header, and by pid the lines, in their order.
#[derive(Debug, PartialEq, Eq)]
struct Listing {
    header: String,
    lines: BTreeMap<i32, Vec<String>>,
}

impl Listing {
    fn new(text: &str, pids: &[i32], dead: &[i32]) -> Listing {
        let mut lines = text.lines();
        let header = lines.next().unwrap_or_default().to_owned();
        let place = header
            .split_whitespace()
            .position(|word| word == "PID" || word == "NUMBER")
            .unwrap_or_else(|| panic!("no PID in {header:?}"));
        let mut listing = Listing { header, lines: BTreeMap::new() };
        for line in lines {
            let pid = line.split_whitespace().nth(place).and_then(|word| word.parse().ok());
            if let Some(pid) = pid.filter(|pid| pids.contains(pid)) {
                let mut line = mask(&listing.header, line);
                if dead.contains(&pid) {
                    // Whole, or cut at the end of its column.
                    line = line
                        .split_whitespace()
                        .filter(|word| !word.starts_with('<'))
                        .collect::<Vec<_>>()
                        .join(" ");
                }
                listing.lines.entry(pid).or_default().push(line);
            }
        }
        listing
    }
}

/// The line with volatile cells blanked out; they stand at the right edge of their column.
fn mask(header: &str, line: &str) -> String {
    let ranges = |text: &str| -> Vec<(usize, usize)> {
        let mut ranges = Vec::new();
        let mut begin = 0;
        for word in text.split_whitespace() {
            let start = begin + text[begin..].find(word).expect("a word of the text");
            ranges.push((begin, start + word.len()));
            begin = start + word.len();
        }
        ranges
    };
    let mut masked = line.as_bytes().to_vec();
    for (word, (from, to)) in header.split_whitespace().zip(ranges(line)) {
        if VOLATILE.contains(&word) {
            masked[from..to].fill(b'~');
        }
    }
    String::from_utf8_lossy(&masked).into_owned()
}

/// Whether all versions of procps show the name and the arguments alike: not where they replace something, or there is
/// nothing but blanks.
fn is_plain(member: &Member) -> bool {
    let is_plain = |bytes: &[u8]| bytes.iter().all(|&byte| (b' '..=b'~').contains(&byte));
    let cmdline = std::fs::read(format!("/proc/{}/cmdline", member.pid)).unwrap_or_default();
    let is_blank = !cmdline.is_empty() && cmdline.iter().all(|&byte| byte == 0);
    let cmdline = cmdline.strip_suffix(b"\0").unwrap_or(&cmdline).to_vec();
    let arguments: Vec<u8> = cmdline.into_iter().map(|byte| if byte == 0 { b' ' } else { byte }).collect();
    is_plain(&member.truth.comm.0) && is_plain(&arguments) && !is_blank && !member.truth.comm.0.is_empty()
}

/// Kernel threads whose names do not follow what they work on, and whose CPU time is not within two ticks of a whole second: the kernel rounds that
/// of a process and of its only thread apart, and only one of both may have reached the second.
fn kernel_threads() -> Vec<i32> {
    let listed = text(&procps(&["--ppid", "2", "-o", "pid=,comm="]));
    let steady = |line: &&str| !line.contains("kworker/") || line.contains("kworker/R");
    let pids = listed.lines().filter(steady).filter_map(|line| line.split_whitespace().next()?.parse().ok());
    let is_between = |pid: &i32| {
        let stat = std::fs::read(format!("/proc/{pid}/stat")).unwrap_or_default();
        let ticks = parse_stat(&stat).map_or(0, |stat| stat.user_ticks + stat.system_ticks);
        ticks < 98 || (3..98).contains(&(ticks % 100))
    };
    pids.filter(is_between).collect()
}

fn compare(source: &str) {
    let zoo = Zoo::start().expect("the zoo starts; it needs root");
    let (plain, odd): (Vec<&Member>, Vec<&Member>) =
        zoo.members().iter().partition(|member| is_plain(member));
    let kernel = kernel_threads();
    let mut pids: Vec<i32> = plain.iter().map(|member| member.pid).chain(kernel.iter().copied()).collect();
    pids.push(zoo.pid());
    assert!(
        plain.len() >= 15 && kernel.len() >= 5,
        "{} plain members, {} kernel threads",
        plain.len(),
        kernel.len()
    );
    let dead = zoo.members().iter().filter(|member| member.truth.state == "Z");
    let dead: Vec<i32> = dead.map(|member| member.pid).collect();
    assert!(dead.len() >= 2, "a zombie, and a process whose leader is dead: {dead:?}");
    for listing in LISTINGS {
        agree(source, listing, &pids, &dead);
    }
    let odd: Vec<i32> = odd.iter().map(|member| member.pid).collect();
    assert!(odd.len() >= 5, "{} odd members", odd.len());
    agree(source, "-eo pid,ppid,user,stat,nlwp,ni,pri,tty,lstart", &odd, &dead);
    for member in zoo.members() {
        names_are_as_in_procps_and_exact_in_json(source, member);
    }
}

fn agree(source: &str, listing: &str, pids: &[i32], dead: &[i32]) {
    let arguments: Vec<&str> = listing.split(' ').collect();
    let mut difference = String::new();
    for _ in 0..ATTEMPTS {
        let before = Listing::new(&text(&procps(&arguments)), pids, dead);
        let ours = Listing::new(&text(&ours(source, &arguments)), pids, dead);
        let after = Listing::new(&text(&procps(&arguments)), pids, dead);
        assert_eq!(ours.header, before.header, "`ps {listing}`");
        assert!(!before.lines.is_empty(), "`ps {listing}` of procps lists none of {pids:?}");
        difference.clear();
        for pid in before.lines.keys().filter(|pid| after.lines.contains_key(pid)) {
            let (before, ours, after) = (&before.lines[pid], ours.lines.get(pid), &after.lines[pid]);
            if ours != Some(before) && ours != Some(after) {
                difference += &format!("procps: {before:#?}\nours:   {ours:#?}\n");
            }
        }
        if difference.is_empty() {
            return;
        }
    }
    panic!("`ps {listing}` from {source} differs:\n{difference}");
}

fn names_are_as_in_procps_and_exact_in_json(source: &str, member: &Member) {
    let comm = &member.truth.comm.0;
    let escaped = |append: fn(&mut Vec<u8>, &[u8])| {
        let mut expected = Vec::new();
        append(&mut expected, comm);
        String::from_utf8(expected).expect("escaped")
    };
    let pid = member.pid.to_string();
    let listed = text(&ours(source, &["-p", &pid, "-o", "comm="]));
    let mark = if member.truth.state == "Z" { DEFUNCT } else { "" };
    let shown = listed.strip_suffix('\n').expect("one line");
    assert_eq!(shown, escaped(append_printable) + mark, "{}", member.kind);
    let theirs = text(&procps(&["-p", &pid, "-o", "comm="]));
    if str::from_utf8(comm).is_ok() && mark.is_empty() {
        assert_eq!(listed, theirs, "{}", member.kind);
    }
    let json = text(&ours(source, &["-p", &pid, "--format", "json", "-o", "comm,vsz"]));
    let row: serde_json::Value = serde_json::from_str(&json).expect("an object");
    assert_eq!(row["comm"], escaped(append_escaped), "{}", member.kind);
    assert_eq!(row["vsz"].is_null(), member.kind == "leader-exited", "unknown is not zero in JSON: {json}");
}

#[test]
fn walk_agrees_with_procps_root() {
    compare("walk");
}

#[test]
fn procfs_agrees_with_procps_root() {
    compare("procfs");
}

#[test]
fn selections_agree_with_procps_root() {
    let zoo = Zoo::start_only(&["sleeper", "threads", "users", "terminal", "session", "comm-spaces"])
        .expect("the zoo starts; it needs root");
    let member = |kind: &str| zoo.member(kind).unwrap_or_else(|| panic!("no {kind}"));
    let uid = member("users").truth.uids.expect("users have uids")[1].to_string();
    let pids: Vec<i32> = zoo.members().iter().map(|member| member.pid).collect();
    let listed = pids.iter().map(i32::to_string).collect::<Vec<_>>().join(",");
    let terminal = member("terminal").truth.terminal.clone().expect("a terminal");
    let parent = zoo.pid().to_string();
    let session = member("session").pid.to_string();
    let columns = "pid,ppid,user,stat,tty,comm";
    for arguments in [
        vec!["-p", &listed, "-o", columns],
        vec!["--ppid", &parent, "-o", columns],
        vec!["-u", &uid, "-o", columns],
        vec!["-t", &terminal, "-o", columns],
        vec!["-s", &session, "-o", columns],
        vec!["-C", "a b c", "-o", columns],
        vec!["-L", "-p", &listed, "-o", columns],
        vec!["-p", &listed, "-o", columns, "--sort", "-pid"],
        vec!["-p", &listed, "-o", columns, "--sort", "user,-pid"],
        vec!["-p", &listed, "--no-headers"],
        vec!["-p", &listed, "-o", "pid=,comm=NAME OF IT"],
        vec!["-a", "-o", columns],
        vec!["-d", "-o", columns],
        vec!["a", "-o", columns],
        vec!["x", "-o", columns],
        vec!["-N", "-u", "0", "-o", columns],
    ] {
        let lines = |output: &Output| -> Vec<String> {
            let text = text(output);
            let ours = |line: &&str| pids.iter().any(|pid| line.contains(&format!(" {pid} ")));
            text.lines().filter(ours).map(str::to_owned).collect()
        };
        for source in ["walk", "procfs"] {
            assert_eq!(
                lines(&ours(source, &arguments)),
                lines(&procps(&arguments)),
                "{source} {arguments:?}"
            );
        }
    }
}

#[test]
fn widths_agree_with_procps_root() {
    let zoo = Zoo::start_only(&["sleeper", "threads"]).expect("the zoo starts");
    let pid = zoo.members()[0].pid.to_string();
    for arguments in [vec!["-f"], vec!["-F"], vec!["u"], vec!["-o", "args,pid"], vec!["-o", "pid,wchan,args"]]
    {
        for columns in ["1", "7", "20", "40", "79", "200"] {
            let arguments: Vec<&str> =
                arguments.iter().copied().chain(["-p", &pid, "--cols", columns]).collect();
            let mask_all = |output: &Output| -> Vec<String> {
                let text = text(output);
                let header = text.lines().next().unwrap_or_default().to_owned();
                text.lines().map(|line| mask(&header, line)).collect()
            };
            assert_eq!(mask_all(&ours("walk", &arguments)), mask_all(&procps(&arguments)), "{arguments:?}");
        }
    }
}
