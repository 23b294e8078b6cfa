use super::*;

fn parsed(line: &str) -> Result<Options, String> {
    parse(line.split(' ').filter(|argument| !argument.is_empty()))
}

fn list(listed: Listed, text: &str) -> (Listed, String) {
    (listed, text.to_owned())
}

#[test]
fn every_style_says_the_same() {
    let bsd = Options { is_bsd: true, ..Options::default() };
    let all_bsd = Options { with_terminal: true, own_everywhere: true, ..bsd.clone() };
    let by_user = Options { bsd_format: Some(BsdFormat::User), ..all_bsd.clone() };
    let columns = |lists: &[&str]| lists.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
    for (line, expected) in [
        ("", Options::default()),
        ("-e", Options { all: true, ..Options::default() }),
        ("-A", Options { all: true, ..Options::default() }),
        ("-ef", Options { all: true, full: true, ..Options::default() }),
        ("-e -f", Options { all: true, full: true, ..Options::default() }),
        ("-eF", Options { all: true, full: true, extra_full: true, ..Options::default() }),
        ("-eLf", Options { all: true, full: true, threads: Threads::WithLwp, ..Options::default() }),
        ("ax", all_bsd.clone()),
        ("aux", by_user.clone()),
        ("-aux", by_user.clone()),
        ("a u x", by_user),
        ("axw -w", Options { wide: 2, ..all_bsd.clone() }),
        ("-eo pid,comm", Options { all: true, columns: columns(&["pid,comm"]), ..Options::default() }),
        ("-eopid", Options { all: true, columns: columns(&["pid"]), ..Options::default() }),
        (
            "-o pid --format comm --format=s",
            Options { columns: columns(&["pid", "comm", "s"]), ..Options::default() },
        ),
        ("axo pid=", Options { columns: columns(&["pid="]), ..all_bsd }),
        (
            "-p 1,2 --pid=3",
            Options { lists: vec![list(Listed::Pids, "1,2"), list(Listed::Pids, "3")], ..Options::default() },
        ),
        ("-p1", Options { lists: vec![list(Listed::Pids, "1")], ..Options::default() }),
        ("1 2", Options { lists: vec![list(Listed::Pids, "1"), list(Listed::Pids, "2")], ..bsd.clone() }),
        (
            "U root h",
            Options { lists: vec![list(Listed::EffectiveUsers, "root")], no_headers: true, ..bsd.clone() },
        ),
        ("-C sh -N", Options { lists: vec![list(Listed::Comms, "sh")], negated: true, ..Options::default() }),
        (
            "-t - --deselect",
            Options { lists: vec![list(Listed::Terminals, "-")], negated: true, ..Options::default() },
        ),
        (
            "--ppid 7 --sort -rss",
            Options {
                lists: vec![list(Listed::Parents, "7")],
                sort: columns(&["-rss"]),
                ..Options::default()
            },
        ),
        ("--cols 20 --no-headers", Options { width: Some(20), no_headers: true, ..Options::default() }),
        ("--source procfs", Options { source: Some(SourceKind::Procfs), ..Options::default() }),
        ("--source=auto", Options::default()),
        ("-ely", Options { all: true, long: true, no_flags: true, ..Options::default() }),
        ("H", Options { threads: Threads::AsProcesses, ..bsd.clone() }),
        ("L", Options { action: Action::Columns, ..bsd }),
        ("--version", Options { action: Action::Version, ..Options::default() }),
        ("-ef --help", Options { action: Action::Help, all: true, full: true, ..Options::default() }),
    ] {
        assert_eq!(parsed(line), Ok(expected), "{line:?}");
    }
}

#[test]
fn what_is_wrong_is_said() {
    for (line, part) in [
        ("-p", "`-p` needs a value"),
        ("-ep", "`-p` needs a value"),
        ("--pid=", "`--pid` needs a value"),
        ("--srt pid", "did you mean `--sort`"),
        ("--no-headers=1", "takes no value"),
        ("-H", "`-H` of procps is not there yet"),
        ("axf", "`f` of procps is not there yet"),
        ("-e --forest", "`--forest` of procps is not there yet"),
        ("--headers", "`--headers` of procps is not there yet"),
        ("-K", "there is no option `-K`"),
        ("C", "with a dash, `-C`"),
        ("-", "an option is missing"),
        ("--cols abc", "a number above 0"),
        ("--cols 0", "a number above 0"),
        ("--source ledgre", "no source `ledgre`"),
        ("-fo pid", "both choose the columns"),
        ("-f u", "a UNIX and a BSD option"),
        ("-ey", "`-y` changes `-l`"),
        ("-LT", "show threads differently"),
        ("-a x", "select differently"),
    ] {
        let sentence = parsed(line).expect_err(line);
        assert!(sentence.contains(part), "{line:?}: {sentence}");
    }
}

#[test]
fn no_letter_or_name_has_two_meanings() {
    for style in [Style::Unix, Style::Bsd] {
        let mut letters: Vec<char> = FLAGS.iter().flat_map(|flag| flag.letters(style).chars()).collect();
        let not_there = if style == Style::Unix { NOT_THERE_UNIX } else { NOT_THERE_BSD };
        assert!(letters.iter().all(|letter| !not_there.contains(*letter)));
        let count = letters.len();
        letters.sort_unstable();
        letters.dedup();
        assert_eq!(letters.len(), count);
    }
    let mut names: Vec<&str> = FLAGS.iter().flat_map(|flag| flag.long.iter().copied()).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
    assert!(names.iter().all(|name| !NOT_THERE_LONG.contains(name)));
}
