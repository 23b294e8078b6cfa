//! What `doctor` prints of facts that are always the same.

use std::time::Duration;

use cpuledger::support::{Attempt, LedgerAttempt, Mechanism, names};
use cpuledger_model::make;

use super::*;
use cpuledger_load::Transcript;

/// All sources, usable or not.
pub fn report(usable: bool) -> Report {
    let attempt = make!(Attempt {
        open_ns: 30_000_000,
        snapshot_ns: 31_000,
        processes: 77,
        tasks: 79,
        mechanism: Mechanism::OneCall,
    });
    let ledger = make!(LedgerAttempt {
        attach_ns: 25_000_000,
        interval_ns: 20_000_123,
        imbalance_ns: 0,
        slots: 16_384,
        locked_bytes: 5 << 20,
        walks_for_detail: false,
    });
    let fact = |name, holds| Fact { name, holds };
    let source = |source| {
        make!(SourceReport {
            source,
            usable,
            reason: format!("a reason of {source}"),
            remedy: (!usable).then(|| "run cpuledger as root".to_owned()),
            facts: vec![
                fact(names::BTF, Some(true)),
                fact(names::CAP_BPF, Some(usable)),
                fact(names::LOCKDOWN_PERMITS_READING, None),
            ],
            sees: "what it sees",
            misses: "what it misses",
            needs: cpuledger::support::privilege::needs(source),
            hidden_pids: if usable { vec![1, 7] } else { Vec::new() },
            attempt: (usable && source != SourceKind::Ledger).then_some(attempt),
            ledger: (usable && source == SourceKind::Ledger).then_some(ledger),
            unbalanced_intervals: None,
            log: if usable { Vec::new() } else { vec!["R1 is bad".to_owned(), "R2 too".to_owned()] },
        })
    };
    let activity = make!(Activity { switches_per_s: 1_250, forks_per_s: 4, tasks: 96, online_cpus: 2 });
    let costs = usable.then(|| Costs::estimate(activity, Duration::from_secs(2), false));
    make!(Report {
        machine: make!(MachineFacts {
            kernel_release: "6.18.1".to_owned(),
            architecture: "x86_64".to_owned(),
            online_cpus: 2,
            tasks: usable.then_some(96),
            pid_max: Some(4_194_304),
        }),
        auto: costs.as_ref().map(Costs::choice),
        costs,
        sources: SourceKind::ALL.map(source).into(),
        accounts: vec![make!(AccountReport {
            account: "network",
            possible: usable,
            reason: "a reason of network".to_owned(),
            kept_by_service: usable.then_some(true),
        })],
    })
}

#[test]
fn reports_are_recorded() {
    let mut transcript = Transcript::default();
    for usable in [true, false] {
        let report = report(usable);
        let nameless = if usable { [(Nameless::OfUser, 1)].into() } else { [(Nameless::Denied, 2)].into() };
        let machine = make!(Survey { cgroups: 40, containers: 3, nameless });
        let nameless = [(Nameless::Denied, 1)].into();
        let service = usable.then_some(make!(Survey { cgroups: 4, containers: 2, nameless }));
        let names = Names { machine, service };
        let what = if usable { "all sources usable" } else { "no source usable" };
        for (format, kind) in [("text", Format::Text), ("json", Format::Json)] {
            let text = printed((&report, &names), kind, false).expect("it can be printed");
            transcript.add(&format!("doctor --format {format}   # {what}"), text.as_bytes());
        }
        let coloured = printed((&report, &names), Format::Text, true).expect("it can be printed");
        transcript.add(
            &format!("doctor   # {what}, on a terminal"),
            coloured.escape_debug().to_string().as_bytes(),
        );
    }
    transcript.assert_recorded("doctor");
}
