use super::*;
use crate::cmd::ps::options::{Headers, ListKind};
use crate::cmd::ps::personality::Personality;
use crate::cmd::ps::plan::Plan;
use crate::values::Format;
use cpuledger::SourceKind;
use cpuledger_view::filter::Caller;
use cpuledger_view::tree::Drawing;

fn surrounding() -> Surrounding {
    let caller = Caller { euid: 0, tty_device: 0x8801 };
    Surrounding { personality: Personality::default(), caller, format: None, hides_kernel: false }
}

fn parsed(line: &str) -> Result<Options, String> {
    let arguments: Vec<&str> = line.split(' ').filter(|argument| !argument.is_empty()).collect();
    match parse(&arguments, Reading::Usual, &surrounding()) {
        (options, None) => Ok(options),
        (_, Some(sentence)) => Err(sentence),
    }
}

#[test]
fn every_style_says_the_same() {
    let numbers = Options { is_bsd: true, ..Options::default() };
    let bsd = Options { has_bsd_options: true, ..numbers.clone() };
    let all_bsd = Options { with_terminal: true, own_everywhere: true, ..bsd.clone() };
    let by_user = Options { whole_formats: vec!["OL_u"], ..all_bsd.clone() };
    let of_kind = |kind: ListKind, lists: &[&str]| {
        lists.iter().map(|&text| (kind, text.to_owned())).collect::<Vec<_>>()
    };
    let columns = |lists: &[&str]| of_kind(ListKind::Columns, lists);
    let of_format = |lists: &[&str]| of_kind(ListKind::ColumnsOrFormat, lists);
    let pids = |pids: &[i64]| pids.iter().map(|&pid| (Field::Pid, pid)).collect::<Vec<_>>();
    for (line, expected) in [
        ("", Options::default()),
        ("-e", Options { all: true, ..Options::default() }),
        ("-A", Options { all: true, ..Options::default() }),
        ("-ef", Options { all: true, full: true, ..Options::default() }),
        ("-e -f", Options { all: true, full: true, ..Options::default() }),
        ("-eF", Options { all: true, full: true, extra_full: true, ..Options::default() }),
        ("-eLf", Options { all: true, full: true, threads_lwp: true, ..Options::default() }),
        ("ax", all_bsd.clone()),
        ("aux", by_user.clone()),
        ("a u x", by_user),
        ("axw -w", Options { wide: 2, ..all_bsd.clone() }),
        ("-eo pid,comm", Options { all: true, columns: columns(&["pid,comm"]), ..Options::default() }),
        ("-eopid", Options { all: true, columns: columns(&["pid"]), ..Options::default() }),
        (
            "-o pid --format comm --format=s --format:tty",
            Options {
                columns: [columns(&["pid"]), of_format(&["comm", "s", "tty"])].concat(),
                ..Options::default()
            },
        ),
        ("--format json", Options { output: Format::Json, ..Options::default() }),
        ("axo pid=", Options { columns: columns(&["pid="]), ..all_bsd }),
        ("-p 1,2 --pid=3", Options { listed: pids(&[1, 2, 3]), ..Options::default() }),
        ("-p1", Options { listed: pids(&[1]), ..Options::default() }),
        ("1 2", Options { listed: pids(&[1, 2]), ..numbers.clone() }),
        ("-1", Options { listed: vec![(Field::Pgid, 1)], ..numbers }),
        (
            "U root h",
            Options { listed: vec![(Field::Euid, 0)], headers: Some(Headers::Never), ..bsd.clone() },
        ),
        ("-C sh -N", Options { comms: vec![b"sh".to_vec()], negated: true, ..Options::default() }),
        (
            "-t - --deselect",
            Options { listed: vec![(Field::TtyDevice, 0)], negated: true, ..Options::default() },
        ),
        ("t", Options { listed: vec![(Field::TtyDevice, 0x8801)], ..bsd.clone() }),
        ("-q 3,1", Options { quick: Some(vec![3, 1]), ..Options::default() }),
        (
            "--ppid 7 --sort -rss",
            Options { listed: vec![(Field::Ppid, 7)], sort: vec!["-rss".to_owned()], ..Options::default() },
        ),
        ("--cols 0x20", Options { width: Some(32), ..Options::default() }),
        ("--source procfs", Options { source: Some(SourceKind::Procfs), ..Options::default() }),
        ("--source=auto", Options::default()),
        ("-ely", Options { all: true, long: true, no_flags: true, ..Options::default() }),
        ("H", Options { threads_as_processes: true, ..bsd.clone() }),
        ("f -H", Options { tree: Some(Drawing::Indent), ..bsd.clone() }),
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
        ("-p", "`-p` needs a value: PIDS, such as 1,42"),
        ("-ep", "`-p` needs a value"),
        ("--pid=", "`--pid` needs a value"),
        ("--srt pid", "did you mean `--sort`"),
        ("--no-headers=1", "takes no value"),
        ("-K", "unknown option `-K`"),
        ("C", "did you mean `-C`, with a dash?"),
        ("-ax f", "did you mean `x`, without the dash?"),
        ("-", "`-` is not an option"),
        ("--", "`--` is not an option"),
        ("--cols abc", "a number above 0"),
        ("--cols 0", "a number above 0"),
        ("--source ledgre", "no source `ledgre`"),
        ("-Fo pid", "both choose the columns"),
        ("-o pid -j", "chooses every column"),
        ("-f u", "choose the columns differently"),
        ("u -c", "the priority, which this format has not"),
        ("-ey", "needs `-l`"),
        ("-LT", "show threads differently"),
        ("m H", "show threads differently"),
        ("-L f", "a tree shows processes"),
        ("m -L -o pid", "drop `-L` and `-T`"),
        ("-d x", "cannot be combined with the BSD options"),
        ("-V -e", "the only argument"),
        ("-e-f", "a dash stands between letters"),
        ("h --headers", "two options set the headers"),
        ("--sort pid k comm", "given twice"),
        ("-q 1 -p 1", "`-q` cannot be combined"),
        ("-q 1 --forest", "`-q` cannot be combined with a tree"),
        ("-q 1 -q 2", "only once"),
        ("-o pid -O comm", "for the first list"),
    ] {
        let sentence = Plan::of_line(line).expect_err(line);
        assert!(sentence.contains(part), "{line:?}: {sentence}");
    }
}

#[test]
fn what_is_wrong_as_unix_is_read_as_bsd() {
    for (unix, bsd) in [
        ("-aux", "aux"),
        ("-ax", "ax"),
        ("-auxf", "auxf"),
        ("-ef -o pid", "ef o pid"),
        ("-s", "s"),
        ("-k pid", "k pid"),
        ("-M -o pid", "m o pid"),
    ] {
        let plan = |line: &str| Plan::of_line(line).expect(line);
        let bsd = Options { has_bsd_options: false, ..plan(bsd).options };
        assert_eq!(plan(unix).options, bsd, "{unix:?}");
    }
    for bsd_before in ["u -f", "-m m", "a -x", "f -aux", "-aux f"] {
        assert!(Plan::of_line(bsd_before).is_err(), "{bsd_before:?}");
    }
    assert!(!Plan::of_line("-ef").expect("UNIX options").options.is_bsd);
}

#[test]
fn no_letter_or_name_has_two_meanings() {
    for style in [Style::Unix, Style::Bsd] {
        let mut letters: Vec<char> = FLAGS.iter().flat_map(|flag| flag.letters(style).chars()).collect();
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
}
