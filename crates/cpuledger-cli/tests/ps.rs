//! How `cpuledger ps` ends: codes, sentences, closed pipes, full disks, narrow screens. With the source it chooses.

use std::fs::OpenOptions;
use std::process::{Command, Output, Stdio};

fn ps(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cpuledger"));
    command.arg("ps").args(arguments).env_remove("COLUMNS");
    command
}

fn run(arguments: &[&str]) -> Output {
    ps(arguments).output().expect("cpuledger starts")
}

fn sentence(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Our own pid is in every listing; the line of the listing's own process.
#[test]
fn this_process_is_listed() {
    let pid = std::process::id().to_string();
    let output = run(&["-p", &pid, "-o", "pid=,comm=,args="]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{}", sentence(&output));
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.trim_start().starts_with(&pid), "{text}");
}

#[test]
fn nothing_found_is_a_header_and_code_1() {
    let output = run(&["-p", "2147483647"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        String::from_utf8_lossy(&output.stdout).split_whitespace().collect::<Vec<_>>(),
        ["PID", "TTY", "TIME", "CMD"]
    );
    assert_eq!(sentence(&output), "");
}

#[test]
fn a_wrong_command_line_is_one_sentence_and_code_1() {
    for (arguments, part) in [
        (&["-p", "abc"][..], "`abc` is not a valid pid"),
        (&["-o", "nonsense"], "`cpuledger ps L` lists the columns"),
        (&["--nonsense"], "`cpuledger ps --help` lists them"),
        (&["-p", "99999999999"], "`99999999999` is not a valid pid (1 to 2147483647)"),
        (&["--pid"], "needs a value: PIDS, such as 1,42"),
        (&["foo"], "use `-C foo`"),
        (&["bash"], "use `-C bash`"),
        (&["-o", "PPID"], "; did you mean `ppid`?"),
        (&["--sort", "cpux"], "`%cpu`"),
        (
            &["--format", "cvs"],
            "neither a format (json, csv, csv-safe) nor a column; did you mean `cls` or `csv`",
        ),
        (&["--format", "xml"], "is neither a format"),
        (&["--format", "pid,xml"], "there is no column `xml`"),
        (&["-eo", "pdi"], "did you mean `pid`"),
        (&["-e", "--sort", "rsss"], "did you mean `rss`"),
        (&["--no-heders"], "did you mean `--no-headers`"),
        (&["-u", "no such user"], "there is no user `no`"),
        (&["-Fo", "pid"], "both choose the columns"),
        (&["--source", "ledgre"], "there is no source `ledgre`; ps has `service`"),
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(output.stdout.is_empty());
        let sentence = sentence(&output);
        assert!(sentence.starts_with("cpuledger: ") && sentence.contains(part), "{sentence}");
        assert_eq!(sentence.lines().count(), 1, "{sentence}");
    }
}

#[test]
fn help_and_version_need_no_source() {
    for (arguments, part) in [
        (&["--help"][..], "--no-headers"),
        (&["L"], "runqueue_wait_ns"),
        (&["--version"], env!("CARGO_PKG_VERSION")),
        (&["V"], env!("CARGO_PKG_VERSION")),
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(0));
        assert!(String::from_utf8_lossy(&output.stdout).contains(part), "{arguments:?}");
    }
}

#[test]
fn a_full_disk_is_said_and_a_closed_pipe_is_not() {
    let full = OpenOptions::new().write(true).open("/dev/full").expect("/dev/full");
    let output = ps(&["-e"]).stdout(full).output().expect("cpuledger starts");
    assert_eq!(output.status.code(), Some(1));
    assert!(
        sentence(&output).contains("cannot write to standard output: No space left"),
        "{}",
        sentence(&output)
    );

    let mut child =
        ps(&["-e"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("cpuledger starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(sentence(&output), "");
}

#[test]
fn an_output_that_was_closed_at_the_start_is_said() {
    for (arguments, code) in [("-p 1", 1), ("L", 1), ("--version", 1)] {
        let script = format!("exec \"$0\" ps {arguments} >&-");
        let output = Command::new("sh")
            .args(["-c", &script, env!("CARGO_BIN_EXE_cpuledger")])
            .output()
            .expect("sh starts");
        assert_eq!(output.status.code(), Some(code), "{arguments}: {}", sentence(&output));
        assert!(
            sentence(&output).contains("cannot write to standard output: Bad file descriptor"),
            "{}",
            sentence(&output)
        );
    }
    // A process that opens /dev/null for reading and writing, as daemons do, has an output.
    let script = r#"exec "$0" ps -p 1 1<>/dev/null"#;
    let status = Command::new("sh").args(["-c", script, env!("CARGO_BIN_EXE_cpuledger")]).status();
    assert_eq!(status.expect("sh starts").code(), Some(0));
}

#[test]
fn screens_of_any_width_are_filled_and_not_left() {
    for columns in ["1", "2", "8", "20", "80", "100000"] {
        let output = ps(&["aux"]).env("COLUMNS", columns).output().expect("cpuledger starts");
        assert_eq!(output.status.code(), Some(0), "{columns}: {}", sentence(&output));
        let width = columns.parse::<usize>().expect("a number");
        // At least the columns fit; beyond that lines end with a screen's width.
        let longest = width.max(80).next_multiple_of(width);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let too_long = text.lines().find(|line| line.chars().count() > longest);
        assert_eq!(too_long, None, "{columns}");
    }
}

/// Rows as objects or records, with the names of the columns as keys.
#[test]
fn rows_are_json_or_csv_on_demand() {
    let pid = std::process::id().to_string();
    let run = |arguments: &[&str]| {
        let output = run(&[&["-p", &pid], arguments].concat());
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", sentence(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let json = run(&["-o", "pid,tty,ni,comm,runqueue_wait_ns", "--format", "json"]);
    assert_eq!(json.lines().count(), 1, "{json}");
    assert!(json.starts_with(&format!(r#"{{"pid":{pid},"tty":""#)), "{json}");
    assert!(json.ends_with("}\n") && json.contains(r#","comm":"ps-"#), "{json}");
    let csv = run(&["-o", "pid,comm", "--format=csv"]);
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some("pid,comm"));
    assert!(lines.next().is_some_and(|line| line.starts_with(&format!("{pid},ps-"))), "{csv}");
    assert_eq!(run(&["-o", "pid", "--format=csv", "--no-headers"]), format!("{pid}\n"));
    assert_eq!(run(&["-o", "pid,ppid", "--delimiter", ";", "--no-headers"]).matches(';').count(), 1);
    assert_eq!(run(&["--format", "pid=,pid="]).split_whitespace().count(), 2);
}

#[test]
fn dates_and_signals_are_written_as_wanted() {
    let pid = std::process::id().to_string();
    let text = |arguments: &[&str]| {
        let output = run(&[&["-p", &pid], arguments].concat());
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    assert!(text(&["-o", "lstart=", "-D", "y%Y"]).starts_with("y20"));
    assert_eq!(text(&["-o", "lstart=", "--date-format=%%"]), "%");
    assert_eq!(text(&["-o", "pending=", "--signames"]), "-");
    let ignored = text(&["-o", "ignored=", "--signames"]);
    assert!(ignored.split(',').any(|name| name == "PIPE"), "the runtime ignores SIGPIPE: {ignored}");
}

#[test]
fn a_bad_format_of_the_environment_is_a_warning() {
    let pid = std::process::id().to_string();
    let output = ps(&["-p", &pid]).env("PS_FORMAT", "pid,pdi").output().expect("cpuledger starts");
    assert_eq!(output.status.code(), Some(0));
    assert!(
        sentence(&output).contains("$PS_FORMAT is not used: there is no column `pdi`"),
        "{}",
        sentence(&output)
    );
    assert!(String::from_utf8_lossy(&output.stdout).contains("TTY"));
}

#[test]
fn a_named_service_that_is_not_there_is_told() {
    let pid = std::process::id().to_string();
    let output = run(&["--socket", "/nowhere", "-p", &pid, "-o", "pid="]);
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), pid);
    assert_eq!(
        sentence(&output),
        "cpuledger: no service listens at /nowhere; this listing is not of a service\n"
    );
    assert_eq!(output.status.code(), Some(0));
}

/// Lines that a reader gets before it goes away are whole.
#[test]
fn a_reader_that_goes_away_has_whole_lines() {
    use std::io::{BufRead, BufReader};
    for arguments in
        [&["-e"][..], &["-eLf"], &["axm"], &["axf"], &["-e", "--sort", "-pid"], &["-e", "--format=json"]]
    {
        let mut child =
            ps(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("cpuledger starts");
        let mut first = String::new();
        let mut reader = BufReader::new(child.stdout.take().expect("a pipe"));
        reader.read_line(&mut first).expect("a line");
        drop(reader);
        let output = child.wait_with_output().expect("it ends");
        assert!(first.ends_with('\n') && first.len() > 1, "{arguments:?}: {first:?}");
        assert_eq!((output.status.code(), sentence(&output).as_str()), (Some(0), ""), "{arguments:?}");
    }
}
