//! `top` as scripts know it: lines of shell that are common in the world, run with procps' top and with ours, and the exit
//! codes of both.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// What a line of shell prints.
enum Prints {
    /// One number between these.
    Number(f64, f64),
    /// One number, the same from both but for this part of it.
    Like(f64),
    /// The same text from both.
    Same,
    /// As many lines, the words of each within these numbers.
    Table(usize, usize, usize),
}

use Prints::{Like, Number, Same, Table};

/// `$ME` is the shell's own pid, and `sleep 98765` its child.
const LINES: [(&str, Prints); 31] = [
    ("top -bn1 | grep 'Cpu(s)' | awk '{print $2 + $4}'", Number(0.0, 100.1)),
    (
        r#"top -bn1 | grep "Cpu(s)" | sed "s/.*, *\([0-9.]*\)%* id.*/\1/" | awk '{print 100 - $1}'"#,
        Number(0.0, 100.0),
    ),
    ("top -b -n1 | grep -Po '[0-9.]+ id' | head -1 | awk '{print 100-$1}'", Number(0.0, 100.0)),
    ("top -bn2 -d.5 | grep '%Cpu' | tail -1 | awk '{print 100-$8}'", Number(0.0, 100.0)),
    (r"top -bn1 | sed -En '/^.Cpu/ s|.*ni.\s*([0-9.]+)\s+id.*|\1|p'", Number(0.0, 100.0)),
    (r"top -bn1 | awk '/Cpu\(s\)/ {print int($2)}'", Number(0.0, 100.0)),
    ("top -bn1 | sed -n 3p | cut -d, -f5 | awk '{print $1}'", Number(0.0, 100.0)),
    ("top -bn1 | awk '/MiB Mem/ {print $4}'", Same),
    ("top -bn1 | awk '/MiB Mem/ {print ($4-$6)/$4*100}'", Number(0.1, 100.0)),
    ("top -bn1 | awk '/Mem/ {print $8; exit}'", Like(0.5)),
    ("top -bn1 | awk '/^MiB Swap/ {print $3}'", Same),
    ("top -bn1 | awk '/avail Mem/ {print $9}'", Like(0.5)),
    ("top -bn1 -Eg | awk '/GiB Mem/ {print $4}'", Same),
    ("top -bn1 -E k | awk '/KiB Mem/ {print $4}'", Same),
    ("top -b -n 1 | awk '/Tasks/ {print $2}'", Like(0.4)),
    ("top -bn1 | grep zombie | head -1 | awk '{print $10}'", Number(0.0, 1e6)),
    ("top -bn1 | awk '/load average/ {print $(NF-2)+0}'", Like(0.5)),
    ("top -bn1 | head -20", Table(20, 0, 1000)),
    ("top -b -n 1 | head -n 7 | tail -1 | tr -s ' '", Same),
    ("top -bn1 | tail -n +8 | wc -l", Like(0.4)),
    ("top -bn1 | sed '1,7d' | head -n 3 | awk '{print $1, $9, $12}'", Table(3, 3, 3)),
    ("top -bn1 | awk 'NR>7 {s+=$9} END {print s+0}'", Number(0.0, 1e6)),
    ("top -bn1 -p $ME | awk 'END {print $1, $2, $12}'", Same),
    ("top -bn1 -p $ME,$CHILD | awk 'NR>7' | wc -l", Same),
    ("top -bn2 -d.2 -p 1 | awk '$1==1' | wc -l", Same),
    ("top -bn1 -o %MEM -w 200 | awk 'NR==8 {print $10}'", Number(0.0, 100.0)),
    ("top -bn1 -u $(id -un) | awk 'NR>7 {print $2}' | sort -u", Same),
    ("top -bHn1 -p $ME | awk '/^Threads/ {print $2}'", Same),
    ("top -bcn1 -w 512 -p $CHILD | grep -c 'sleep 98765'", Same),
    ("top -bn1 -1 | grep -c '^%Cpu[0-9]'", Number(1.0, 1e4)),
    ("top -bn2 -d.2 -em -p $ME | awk 'NR>7 && $12==\"sh\" {print $6}' | grep -c 'm$'", Same),
];

/// A folder in which ours is called `top` and `ps`.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("cpuledger-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    for link in ["top", "ps"] {
        symlink(env!("CARGO_BIN_EXE_cpuledger"), folder.join(link)).expect("a link");
    }
    folder
}

/// What a line of shell prints with the folder first in the path.
fn run(line: &str, path: &str) -> String {
    let script = format!("ME=$$; sleep 98765 & CHILD=$!; {line}; kill $CHILD");
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &script]).env("PATH", path).env("LC_ALL", "C.UTF-8");
    command.env_remove("COLUMNS").env_remove("LINES").stdin(Stdio::null()).stderr(Stdio::inherit());
    let output = command.output().expect("sh runs");
    String::from_utf8(output.stdout).expect("UTF-8").trim_end().to_owned()
}

fn number(text: &str, line: &str) -> f64 {
    text.parse().unwrap_or_else(|_| panic!("{line}: `{text}` is no number"))
}

/// Runs a line with both programs, and compares what they print.
fn compare(line: &str, prints: &Prints, usual: &str, ours_first: &str) {
    // Each shell has pids of its own: they are no difference.
    let [theirs, ours] = [usual, ours_first].map(|path| run(line, path));
    println!("{line}\n    procps: {theirs}\n    ours:   {ours}");
    match prints {
        Number(least, most) => {
            for text in [&theirs, &ours] {
                let number = number(text, line);
                assert!((*least..=*most).contains(&number), "{line}: {number}");
            }
        }
        Like(part) => {
            let [theirs, ours] = [&theirs, &ours].map(|text| number(text, line));
            let most = theirs.abs().max(ours.abs());
            assert!((theirs - ours).abs() <= most * *part + 3.0, "{line}: {theirs} and {ours}");
        }
        Same => {
            let without_pid = |text: &str| match text.split_once(' ') {
                Some((pid, rest)) if pid.parse::<u32>().is_ok() => rest.to_owned(),
                _ => text.to_owned(),
            };
            assert!(!ours.is_empty(), "{line}");
            assert_eq!(without_pid(&theirs), without_pid(&ours), "{line}");
        }
        Table(lines, least, most) => {
            for text in [&theirs, &ours] {
                assert_eq!(text.lines().count(), *lines, "{line}: {text}");
                let words = text.lines().map(|line| line.split_whitespace().count());
                assert!(words.clone().all(|words| (*least..=*most).contains(&words)), "{line}: {text}");
            }
        }
    }
}

#[test]
fn common_lines_of_shell_have_a_usable_answer_from_both() {
    let folder = folder("top-lines");
    let usual = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    let ours_first = format!("{}:{usual}", folder.display());
    // They sleep more than they run.
    std::thread::scope(|scope| {
        for lines in LINES.chunks(LINES.len().div_ceil(4)) {
            let ours_first = &ours_first;
            scope.spawn(move || {
                lines.iter().for_each(|(line, prints)| compare(line, prints, usual, ours_first))
            });
        }
    });
    std::fs::remove_dir_all(folder).expect("it is ours");
}

fn top(program: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(program);
    command.args(arguments).env_remove("COLUMNS").stdin(Stdio::null());
    command.output().unwrap_or_else(|error| panic!("{program} does not start: {error}"))
}

#[test]
fn exit_codes_are_those_of_procps() {
    let folder = folder("top-codes");
    let ours = folder.join("top").display().to_string();
    for line in [
        "-bn1 -p 1",
        "-h",
        "-V",
        "-O",
        "-bn1 -u 99999",
        "-bn1 -p 2147483",
        "-bn1 -d 0",
        "-b -n=1 -p=1",
        "-bn1 -w 3",
        "-n1",
        "-b -n 0",
        "-b -n x",
        "-bn1 -d x",
        "-bn1 -d -1",
        "-bn1 foo",
        "-bn1 -o FOO",
        "-bn1 -u no.such.user",
        "-bn1 -p x",
        "-bn1 -p 1 -u root",
        "-bn1 -e x",
        "-bn1 -E x",
        "-bn1 -w 9999",
        "-bn1 -s -d 1",
    ] {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [theirs, ours] = ["/usr/bin/top", &ours].map(|program| top(program, &words));
        assert_eq!(theirs.status.code(), ours.status.code(), "{line}");
        let sentence = String::from_utf8(ours.stderr).expect("UTF-8");
        match ours.status.code() {
            Some(0) => assert_eq!(sentence, "", "{line}"),
            _ => {
                assert!(sentence.starts_with("top: ") && sentence.lines().count() == 1, "{line}: {sentence}")
            }
        }
    }
    // There 4.0.2 ends with 0, and later ones with 1.
    for line in ["-x", "--foo"] {
        assert_eq!(top(&ours, &[line]).status.code(), Some(1), "{line}");
    }
    std::fs::remove_dir_all(folder).expect("it is ours");
}

/// The lines above the rows are where procps has them, but for the one that it leaves blank.
#[test]
fn the_head_has_the_lines_of_procps() {
    let cpuledger = env!("CARGO_BIN_EXE_cpuledger");
    let arguments = ["top", "--procps", "--source", "procfs", "-b", "-n", "2", "-d", "0.1", "-w", "512"];
    let [theirs, ours] = [top("/usr/bin/top", &arguments[4..]), top(cpuledger, &arguments)];
    let [theirs, ours] = [theirs, ours].map(|output| String::from_utf8(output.stdout).expect("UTF-8"));
    let shape = |text: &str| -> Vec<String> {
        let heads =
            text.lines().take(7).chain(text.split("\n\ntop -").nth(1).expect("a second").lines().take(7));
        heads
            .map(|line| {
                // Words with their punctuation, and whether there is a number.
                let words = line.split_whitespace().map(|word| {
                    let is_number = word.starts_with(|first: char| first.is_ascii_digit());
                    if is_number {
                        "0"
                    } else {
                        word.trim_start_matches(|first: char| first.is_ascii_digit())
                    }
                });
                words.collect::<Vec<_>>().join(" ")
            })
            .collect()
    };
    let [theirs, ours] = [shape(&theirs), shape(&ours)];
    for (index, (theirs, ours)) in theirs.iter().zip(&ours).enumerate() {
        match index % 7 {
            // The uptime has other words from one minute to the next, and `0 user` is `0 users` in later versions.
            0 => assert_eq!(theirs.contains("load average:"), ours.contains("load average:"), "{ours}"),
            // `100.0` leaves no blank before it.
            2 => assert!(ours.starts_with("%Cpu(s):"), "{ours}"),
            5 => assert!(theirs.is_empty() && ours.starts_with("Balance: "), "{ours}"),
            _ => assert_eq!(theirs, ours),
        }
    }
}

/// What looks for the blank line finds it where that is asked for.
#[test]
fn the_balance_can_be_left_blank() {
    let lines = |value: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cpuledger"));
        command.args(["top", "--procps", "-bn1", "-p", "0"]).env("CPULEDGER_NO_BALANCE", value);
        let text = command.stdin(Stdio::null()).output().expect("cpuledger runs").stdout;
        String::from_utf8(text).expect("UTF-8").lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let [with, without] = [lines(""), lines("1")];
    assert_eq!((with.len(), without.len()), (8, 8), "{with:?} {without:?}");
    assert!(with[5].starts_with("Balance: ") && without[5].is_empty(), "{with:?} {without:?}");
}

#[test]
fn the_first_iteration_comes_at_once() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cpuledger"));
    command.args(["top", "--procps", "-b", "-d", "3600"]).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("cpuledger runs");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let head: Vec<String> = lines.by_ref().take(8).map(|line| line.expect("UTF-8")).collect();
    // It would end in an hour.
    child.kill().expect("it is our child");
    child.wait().expect("it is our child");
    assert!(head[0].starts_with("top - ") && head[6].trim_start().starts_with("PID USER"), "{head:?}");
}

#[test]
fn links_are_the_commands_they_are_named_after() {
    let folder = folder("links");
    let version = |name: &str| {
        let output = Command::new(folder.join(name)).arg("-V").output().expect("the link runs");
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    assert!(version("top").starts_with("top from cpuledger "), "{}", version("top"));
    assert!(version("ps").starts_with("cpuledger ps "), "{}", version("ps"));
    std::fs::remove_dir_all(folder).expect("it is ours");
    let output = top(env!("CARGO_BIN_EXE_cpuledger"), &["-v", "top", "--procps"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}
