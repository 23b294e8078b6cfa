//! Accounts that readers ask the service for: who may, how long they are kept, and what others see then. Needs root.

mod service;

use std::process::Command;
use std::time::{Duration, Instant};

use cpuledger_load::scene::alone;
use cpuledger_load::{become_user, not_run};
use cpuledger_model::frame::{Column, Frame};
use cpuledger_model::make;
use cpuledger_service::client::{Client, ClientError};
use cpuledger_service::ring::{Next, Reader};
use cpuledger_service::varlink::{Refusal, Subscribe};
use service::{Service, TIMEOUT};

/// A user without privileges.
const USER: u32 = 40_000_311;

fn client(service: &Service) -> Client {
    Client::connect(&service.socket(), TIMEOUT).expect("it listens")
}

fn asking_for(accounts: &[&str]) -> Subscribe {
    let accounts = accounts.iter().map(|name| (*name).to_owned()).collect();
    make!(Subscribe { accounts: Some(accounts) })
}

/// Acts in a thread that belongs to that user.
fn as_user<T: Send>(act: impl FnOnce() -> T + Send) -> T {
    let as_it = || {
        become_user(USER).expect("root may");
        act()
    };
    std::thread::scope(|scope| scope.spawn(as_it).join().expect("it does not panic"))
}

/// Waits for a frame that knows what sockets have sent, or that does not.
fn wait_until(reader: &mut Reader, knows: bool) {
    let begin = Instant::now();
    loop {
        assert!(begin.elapsed() < TIMEOUT, "all frames {}", if knows { "lack it" } else { "have it" });
        assert!(!matches!(reader.wait(TIMEOUT).expect("a futex"), Next::TimedOut));
        let mut bytes = Vec::new();
        let Some(_) = reader.copy(&mut bytes).expect("a frame") else { continue };
        let frame = Frame::decode(&bytes).expect("a frame");
        if frame.figure(Column::SENT_BYTES).is_some() == knows {
            return;
        }
    }
}

#[test]
fn an_account_is_kept_as_long_as_a_reader_asks_for_it_root() {
    let _alone = alone();
    let service = Service::start("");
    let mut other = client(&service);
    let (_, mut reader) = other.subscribe(&Subscribe::default()).expect("root may");
    wait_until(&mut reader, false);
    let mut asker = client(&service);
    let subscription = match asker.subscribe(&asking_for(&["network"])) {
        Err(ClientError::Refused(Refusal::Unavailable { sentence })) => return not_run(&sentence),
        subscribed => subscribed.expect("root may").0,
    };
    assert_eq!(subscription.accounts, ["network"]);
    wait_until(&mut reader, true);
    assert_eq!(other.info().expect("it answers").accounts, ["network"], "others see it, too");
    // A second reader keeps it when the first has gone.
    let mut second = client(&service);
    second.subscribe(&asking_for(&["network"])).expect("root may");
    drop(asker);
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(other.info().expect("it answers").accounts, ["network"]);
    drop(second);
    wait_until(&mut reader, false);
    assert!(other.info().expect("it answers").accounts.is_empty());
}

#[test]
fn the_configuration_says_what_a_user_may_ask_for_root() {
    let _alone = alone();
    let service = Service::start("[ledger]\naccounts_of_readers = [\"network\"]\n");
    let denied = as_user(|| {
        let mut client = client(&service);
        assert_eq!(client.info().expect("it answers").possible_accounts, ["network"]);
        client.subscribe(&asking_for(&["network", "disk"])).expect_err("it may not")
    });
    let sentence = denied.to_string();
    assert!(sentence.contains("ask for disk") && sentence.contains("accounts_of_readers"), "{sentence}");
    let unknown = client(&service).subscribe(&asking_for(&["net"])).expect_err("there is none");
    assert!(matches!(unknown, ClientError::Refused(Refusal::NoSuchAccount { account }) if account == "net"));
    let all = client(&service).info().expect("it answers").possible_accounts;
    assert!(all.contains(&"disk".to_owned()), "root may ask for all: {all:?}");
}

#[test]
fn top_asks_the_service_and_says_why_it_may_not_root() {
    let _alone = alone();
    let service = Service::start("");
    let top = |user: Option<u32>, options: [&str; 2]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cpuledger"));
        command.args(["top", "-b", "-n", "3", "-d", "0.2", "--format", "json", "--source", "service"]);
        command.args(options).arg("--socket").arg(service.socket());
        if let Some(uid) = user {
            std::os::unix::process::CommandExt::uid(&mut command, uid);
        }
        let output = command.output().expect("it starts");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let (code, _, said) = top(Some(USER), ["--with", "network"]);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("does not let user"), "{said}");
    let (code, printed, said) = top(None, ["--with", "network"]);
    if said.contains("tracepoint") {
        return not_run(&said);
    }
    assert_eq!(code, Some(0), "{said}");
    let last: serde_json::Value = serde_json::from_str(printed.lines().last().expect("lines")).expect("JSON");
    assert!(last["sent_bytes"].is_u64() && last["processes"][0]["tcp_sends"].is_u64(), "{last}");
    assert!(last["ended_reads"].is_null() && last["processes"][0]["disk_reads"].is_null());
    // Each disk that has ended a request, by its name, and they are the sum.
    let (code, printed, said) = top(None, ["--by", "device"]);
    if said.contains("tracepoint") {
        return not_run(&said);
    }
    assert_eq!(code, Some(0), "{said}");
    let last: serde_json::Value = serde_json::from_str(printed.lines().last().expect("lines")).expect("JSON");
    let devices = last["devices"].as_array().expect("it is kept");
    let known = std::fs::read_to_string("/proc/diskstats").expect("procfs");
    for device in devices {
        let name = device["name"].as_str().expect("it has a name");
        assert!(known.lines().any(|line| line.split_whitespace().nth(2) == Some(name)), "{name}: {known}");
        assert_eq!(device["is_sum"], false, "{device}");
    }
    let sum: u64 = devices.iter().map(|device| device["reads"].as_u64().expect("known")).sum();
    assert_eq!(Some(sum), last["ended_reads"].as_u64(), "{last}");
}
