use proptest::prelude::*;

use super::*;
use cpuledger_model::States;
use cpuledger_model::counters::Counters;
use cpuledger_model::field::{Field, FieldSet};
use cpuledger_model::interval::{Row, Usage};
use cpuledger_model::make;
use cpuledger_model::task::{Comm, Pid, State, Task, Tid};
use cpuledger_names::names::Names;

fn matches_row(query: &str, task: &Task, arguments: Option<&[u8]>) -> bool {
    let usage = make!(Usage {
        cpu_ns: 500_000_000,
        self_ns: 100_000_000,
        exited_children_ns: Some(400_000_000),
        growth: Counters::of(task),
    });
    let mut users = Names::of_users();
    users.learn(0);
    let subject = Subject {
        row: &Row::new(*task, usage),
        length_ns: 1_000_000_000,
        users: &users,
        memory_total_bytes: Some(1 << 30),
        arguments,
        named: None,
    };
    Query::parse(query).unwrap_or_else(|error| panic!("{query}: {error}")).matches(&subject)
}

fn matches(query: &str) -> bool {
    let row = make!(Task {
        known: FieldSet::ALL,
        pid: Pid(77),
        tid: Tid(77),
        state: State(b'S'),
        rss_bytes: 100 << 20,
        user_ns: 5_000_000,
        comm: Comm::new(b"java (main)"),
    });
    matches_row(query, &row, Some(b"/usr/bin/java -Xmx1g"))
}

#[test]
fn what_is_asked_of_amounts_may_hold_for_others() {
    let row = make!(Task { known: FieldSet::ALL, pid: Pid(77), comm: Comm::new(b"java") });
    let row = Row::new(row, Usage::default());
    let users = Names::of_users();
    let subject = Subject {
        row: &row,
        length_ns: 1_000_000_000,
        users: &users,
        memory_total_bytes: None,
        arguments: None,
        named: None,
    };
    for (text, may) in [
        ("", true),
        ("cpu>5", true),
        ("cpu<5 user_ns>1s", true),
        ("not cpu>5", true),
        ("pid=77 cpu>5", true),
        ("pid=78 cpu>5", false),
        ("pid=78 or cpu>5", true),
        ("pid=78 or java cpu>5", true),
        ("not (pid=77 or cpu>5)", false),
        ("not (pid=77 cpu>5)", true),
        ("perl cpu>5", false),
        ("not perl mem>5", true),
    ] {
        let query = Query::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(query.may_match(&subject), may, "{text}");
        assert!(!query.matches(&subject) || may, "{text}: what matches may");
    }
}

#[test]
fn conditions_hold_or_do_not() {
    for query in [
        "",
        "  ",
        "cpu>5",
        "cpu>5 user=root comm~^java",
        "CPU>=50 cpu<=50% cpu=50",
        "x<1 or c=40",
        "self=10",
        "pid=77 tid!=78",
        "user_ns=5ms usr=0.5",
        "user_ns<=0.005s",
        "rss>=100M RES<101MiB rss=104857600 mem>9",
        "state=RS state!=DZ S=S",
        "user=0 user!=www",
        "comm=\"java (main)\"",
        r"comm~^java\s\((main|other)\)$",
        "(comm~(java|perl)|pid=1)",
        "not pid=1 !(pid=2 | pid=3)",
        "JAVA xmx",
        "\"java -X\"",
        "args~-Xmx",
        "name!~^perl",
        "pid>1 and pid<100 & cpu>0",
        "order",
    ] {
        assert_eq!(matches(query), query != "order", "{query}");
    }
    for query in
        ["cpu>50", "user=www", "comm~^perl", "pid=77 pid=78", "!java", "xmx2", "user!=root", "c>40 or pid=1"]
    {
        assert!(!matches(query), "{query}");
    }
}

#[test]
fn a_condition_on_an_unknown_value_is_false() {
    let row = make!(Task { known: FieldSet::of(&[Field::Pid, Field::Comm]) });
    for query in ["rss=0", "rss!=1", "user=0", "user!=5", "state!=R", "mem<50", "x=0", "stolen_ns<1"] {
        assert!(!matches_row(query, &row, None), "{query}");
    }
    assert!(matches_row("pid=0", &row, None));
}

/// As docs/screen.md says: `not` turns the result of a condition around, also where it is false because the value is unknown.
#[test]
fn not_of_a_condition_on_an_unknown_value_matches() {
    let row = make!(Task { known: FieldSet::of(&[Field::Pid, Field::Comm]) });
    for query in ["not rss>1M", "not rss<=1M", "!(rss>1M or rss<=1M)"] {
        assert!(matches_row(query, &row, None), "{query}");
    }
    assert!(!matches_row("rss<=1M", &row, None));
}

#[test]
fn what_a_row_did_is_in_percent_of_the_time_it_was_alive() {
    let task = make!(Task { known: FieldSet::ALL, runqueue_wait_ns: 1_000_000_000 });
    let states = make!(States {
        elapsed_ns: 4_000_000_000,
        runqueue_wait_ns: 1_000_000_000,
        blocked_ns: 2_000_000_000,
    });
    let growth = Counters::of(&task);
    let usage = |states| make!(Usage { cpu_ns: 1_000_000_000, states, growth });
    let holds = |query: &str, usage: Usage| {
        let subject = Subject {
            row: &Row::new(task, usage),
            length_ns: 2_000_000_000,
            users: &Names::of_users(),
            memory_total_bytes: None,
            arguments: None,
            named: None,
        };
        Query::parse(query).unwrap_or_else(|error| panic!("{query}: {error}")).matches(&subject)
    };
    for query in ["wait=25", "%WAIT=25%", "blk=50 io=0", "%BLK=50", "slp=0", "elapsed_ns=4s", "cpu=50"] {
        assert!(holds(query, usage(Some(states))), "{query}");
    }
    // Without states: of the interval.
    assert!(holds("wait=50", usage(None)) && !holds("blk>=0 or stop>=0", usage(None)));
}

#[test]
fn what_is_wrong_is_said_in_a_sentence() {
    for (query, part) in [
        ("cpu>", "missing"),
        ("cpu>five", "percentage"),
        ("cpu>nan", "percentage"),
        ("pid=x", "number"),
        ("cpux>5", "did you mean `cpu`"),
        ("foo>5", "`foo`; use cpu, "),
        ("foo>5", "user, "),
        ("cpu>>5", "the operators are"),
        ("rss>10Q", "K, M, G or T"),
        ("runtime_ns>5d", "ms, s or min"),
        ("comm~[", "regular expression"),
        ("comm~*", "regular expression"),
        ("(pid=1", "not closed"),
        ("pid=1)", "no opening"),
        ("\"abc", "quote"),
        (">5", "name"),
        ("pid~5", "not text"),
        ("state>R", "letter"),
        ("a |", "missing"),
        ("a or", "missing"),
        ("(not)", "missing"),
        ("\u{1b}[2J=5", "name `\\u{1b}[2J`"),
        ("()", "missing"),
    ] {
        let error = Query::parse(query).expect_err(query);
        assert!(error.to_string().contains(part), "{query}: {error}");
        assert!(!error.to_string().contains('\n') && error.at <= query.len(), "{query}: {error}");
    }
    assert_eq!(Query::parse("ü pid=ä").expect_err("no number").at, 6);
    assert!(Query::parse(&"(".repeat(MOST_BYTES)).is_err());
    assert!(Query::parse(&"!".repeat(MOST_BYTES)).is_err());
    assert!(Query::parse(&"a".repeat(MOST_BYTES + 1)).is_err());
    assert!(Query::parse("comm~(a{1000}){1000}").is_err());
}

#[test]
fn the_fields_it_needs_are_told() {
    let query = Query::parse("cpu>5 rss>1M or not (user=root wait>3)").expect("a query");
    assert_eq!(query.fields(), FieldSet::of(&[Field::Rss, Field::Euid, Field::RunqueueWait]));
    assert!(Query::parse(" ").expect("a query").is_empty());
}

#[test]
fn every_alias_is_a_name() {
    for (alias, _) in aliases() {
        let query = format!("{alias}=1");
        assert!(Query::parse(&query).is_ok(), "{query}");
    }
}

proptest! {
    #[test]
    fn any_text_is_taken_or_refused(text in r#"[ a-c()!|&"=<>~^\\0-9.%ü]{0,40}|\PC{0,60}"#) {
        if let Err(error) = Query::parse(&text) {
            prop_assert!(error.at <= text.chars().count());
        }
    }

    #[test]
    fn names_operators_and_values_of_any_kind_do_not_panic(
        name in "cpu|user|comm|state|rss|pid|args|start_time_ns|x",
        operator in "=|!=|>|>=|<|<=|~|!~",
        value in "[-+0-9a-zA-Z.%^$]{0,12}",
    ) {
        let row = make!(Task { known: FieldSet::ALL });
        if Query::parse(&format!("{name}{operator}{value}")).is_ok() {
            matches_row(&format!("{name}{operator}{value}"), &row, None);
        }
    }
}
