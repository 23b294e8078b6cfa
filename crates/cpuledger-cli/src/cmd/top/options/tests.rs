use clap::Parser;

use cpuledger::Account;
use cpuledger_recording::When;

use super::*;

#[derive(Debug, Parser)]
struct Line {
    #[command(flatten)]
    arguments: Arguments,
}

fn parse(line: &str) -> Result<Options, Failure> {
    let line = Line::try_parse_from(std::iter::once("top").chain(line.split_whitespace()));
    Options::parse(&line.expect("clap takes it").arguments, false)
}

#[test]
fn what_hands_know_is_taken() {
    let options = parse("-b -n 3 -d .5 -H -p 1,2 -p 3 -u root -o -%CPU -c").expect("it is good");
    assert_eq!((options.iterations, options.delay_ns), (Some(3), 500_000_000));
    assert!(options.has_threads && options.has_arguments && options.order.ascending);
    assert_eq!((options.pids, options.euids), (vec![1, 2, 3], vec![0]));
    let options = parse("--interval 2 -u root,7 -u 8").expect("it is good");
    assert_eq!((options.delay_ns, options.euids), (2_000_000_000, vec![0, 7, 8]));
    let options = parse("-bHn1 -d1").expect("it is good");
    assert_eq!((options.iterations, options.delay_ns), (Some(1), 1_000_000_000));
    assert_eq!(parse("-b").expect("it is good").iterations, None);
    assert_eq!(parse("").expect("it is good").iterations, Some(2));
}

#[test]
fn all_of_a_recording_is_shown_as_it_was_recorded() {
    let options = parse("--replay DIR --since @1700000000 --until @1700000060").expect("it is good");
    assert_eq!((options.iterations, options.delay_ns), (None, 0));
    let asked = options.replay.expect("it is asked for");
    assert_eq!(
        (asked.span.since, asked.span.until),
        (When::Realtime(1_700_000_000_000_000_000), When::Realtime(1_700_000_060_000_000_000))
    );
    let options = parse("--replay DIR -n 5 -d 10 --at -10m").expect("it is good");
    assert_eq!((options.iterations, options.delay_ns), (Some(5), 10_000_000_000));
    assert!(options.replay.is_some_and(|asked| asked.at.is_some()));
}

#[test]
fn what_is_shown_is_one_group_states_or_both() {
    let by = |line: &str| parse(line).expect("it is good").by;
    assert_eq!(by(""), By::default());
    assert_eq!(by("--by wait"), By { has_states: true, ..By::default() });
    assert_eq!(by("--by parts"), By { has_parts: true, ..By::default() });
    assert_eq!(
        by("--by cgroup,wait"),
        By { has_states: true, group: Some(Dimension::Cgroup), ..By::default() }
    );
    assert_eq!(by("--by user --source walk"), By { group: Some(Dimension::User), ..By::default() });
    let order = |line: &str| parse(line).expect("it is good").order.by;
    assert!(matches!(order("--by wait"), Order::State(column) if column.name == "%HELD"));
    assert!(matches!(order("--by wait --format csv"), Order::Key(key) if key.name() == "runqueue_wait_ns"));
    assert!(matches!(order("--by wait -o pid"), Order::Key(key) if key.name() == "pid"));
    for line in ["--by wait -o %HELD", "--by wait,user -o %held", "--by wait -o %HELD --format json"] {
        assert!(matches!(order(line), Order::State(column) if column.name == "%HELD"), "{line}");
    }
    assert!(matches!(order("--by user"), Order::Key(key) if key.name() == "cpu_ns"));
}

#[test]
fn every_name_that_is_offered_is_taken() {
    for name in names_of_by() {
        assert!(parse(&format!("--by {name}")).is_ok(), "{name}");
    }
    assert_eq!(names_of_by().count(), 7 + 2 * Dimension::ALL.len() + Dimension::OF_CGROUP.len());
}

#[test]
fn who_made_whom_wait_is_an_account_that_is_asked_for_with_it() {
    let options = parse("--by blame,unit --format json").expect("it is good");
    assert_eq!(options.by.pairs(), Some(Dimension::Unit));
    assert_eq!(options.size.accounts, Accounts::of(&[Account::Pairs]));
    assert_eq!(parse("-b --by blame").expect("it is good").by.pairs(), Some(Dimension::Cgroup));
    for (line, part) in [
        ("-b --by blame,user", "cgroup, unit, container, pod or image"),
        ("-b --by blame,wait", "stands alone"),
        ("-b --by blame --format csv", "text and json"),
        ("-b --by blame --source walk", "needs the ledger"),
    ] {
        let refused = parse(line).expect_err(line).to_string();
        assert!(refused.contains(part), "{line}: {refused}");
    }
}

#[test]
fn what_disks_did_is_an_account_that_is_asked_for_with_it() {
    let options = parse("-b --by device").expect("it is good");
    assert!(options.by.has_devices);
    assert_eq!(options.size.accounts, Accounts::of(&[Account::Disk]));
    let with_more = parse("--by device --with network --format json").expect("it is good");
    assert_eq!(with_more.size.accounts, Accounts::of(&[Account::Disk, Account::Network]));
    for (line, part) in [
        ("-b --by device,unit", "stands alone"),
        ("-b --by device,wait", "stands alone"),
        ("-b --by blame,device", "stands alone"),
        ("-b --by parts,device", "stands alone"),
        ("-b --by device --format csv", "text and json"),
        ("-b --by device --source procfs", "needs the ledger"),
    ] {
        let refused = parse(line).expect_err(line).to_string();
        assert!(refused.contains(part), "{line}: {refused}");
    }
}

#[test]
fn what_cgroups_do_on_the_wire_is_an_account_that_is_asked_for_with_it() {
    let options = parse("--by network,unit --format json").expect("it is good");
    assert_eq!(options.by.wire(), Some(Dimension::Unit));
    assert_eq!(options.size.accounts, Accounts::of(&[Account::Network]));
    assert_eq!(parse("-b --by network").expect("it is good").by.wire(), Some(Dimension::Cgroup));
    for (line, part) in [
        ("-b --by network,user", "cgroup or unit"),
        ("-b --by network,device", "stands alone"),
        ("-b --by network --format csv", "text and json"),
        ("-b --by network --source walk", "needs the ledger"),
    ] {
        let refused = parse(line).expect_err(line).to_string();
        assert!(refused.contains(part), "{line}: {refused}");
    }
}

#[test]
fn accounts_are_asked_for_by_name() {
    let accounts = |line: &str| parse(line).expect("it is good").size.accounts;
    assert_eq!(accounts(""), Accounts::NONE);
    assert_eq!(accounts("--with network"), Accounts::of(&[Account::Network]));
    assert_eq!(accounts("--with disk,blame --slots 1000"), Accounts::of(&[Account::Blame, Account::Disk]));
}

#[test]
fn bad_values_are_named_in_a_sentence() {
    for (line, part) in [
        ("-d 0", "`0`"),
        ("-d abc", "`abc`"),
        ("-d -1", "`-1`"),
        ("-d nan", "`nan`"),
        ("-d inf", "`inf`"),
        ("-d 1e10", "to 4000000000"),
        ("-u root,no.such.user", "`no.such.user`"),
        ("-d 0.009", "`0.009`"),
        ("-n -1", "`-1`"),
        ("-n 0", "`0`"),
        ("-p 1,x", "`x`"),
        ("-p -4", "`-4`"),
        ("-u no.such.user", "`no.such.user`"),
        ("-o cpu_n", "did you mean `cpu_ns`?"),
        ("-o %CP", "did you mean `%CPU`?"),
        ("-o %HELD", "cannot sort by `%HELD`"),
        ("--by wait -o STATES", "cannot sort by `STATES`"),
        ("--format xml", "json"),
        ("--source magic", "`ledger`"),
        ("--slots 0", "`0`"),
        ("--slots many", "`many`"),
        ("--slots -1", "`-1`"),
        ("--slots 1000 --source walk", "--source ledger"),
        ("-i --all", "--all"),
        ("-c --format json", "-c"),
        ("-c --format csv", "-c"),
        ("--by waits", "`waits`"),
        ("--by user,command", "one of"),
        ("--by cgroup --format csv", "text and json"),
        ("-b --columns pid,colour", "the columns are PID, USER, "),
        ("-b --columns pdi", "did you mean `PID`"),
        ("-b --columns history", "`history` is unknown"),
        ("-b --columns pid --format json", "--columns is for the rows of text"),
        ("-b --columns pid --by unit", "without --by"),
        ("--json-keys host", "needs --format json"),
        ("--format json --json-keys hosts", "there are realtime, host, user and cgroup"),
        ("--filter cpu>x", "--filter: `x` is not a percentage"),
        ("--by wait --source walk", "needs the ledger"),
        ("--by parts --source walk", "needs the ledger"),
        ("--by parts,user", "stands alone"),
        ("--with net", "there is no account `net`"),
        ("--with network --source procfs", "needs the ledger"),
        ("--replay DIR --with network", "--with is for this machine"),
        ("--at 03:12", "needs --replay"),
        ("--until 03:12", "needs --replay"),
        ("--replay DIR --at noon", "--at: `noon` is no time"),
        ("--replay DIR --since 03:12 --at 03:12", "drop one"),
        ("--replay DIR --since 03:12 --until 03:12", "later time"),
        ("--replay DIR --source walk", "--source is for this machine"),
        ("--replay DIR --slots 1000", "--slots is for this machine"),
        ("--replay DIR -d 0", "`0`"),
    ] {
        let failure = parse(line).expect_err(line);
        assert!(matches!(&failure, Failure::Usage(sentence) if sentence.contains(part)), "{line}: {failure}");
    }
}
