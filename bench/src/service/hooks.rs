//! What forks, exits, threads and switches cost with the service, beside a ledger of this program.

use std::thread::sleep;

use cpuledger_bpf::ledger::Options;

use super::daemon::Daemon;
use crate::hooks::{INTERVAL, Latency, SUBJECTS, attached, median_of_pairs};
use crate::results::{Results, Row};
use crate::table::Table;

/// Times each work in pairs, after one pair that does not count. Which of both is first alternates.
///
/// # Errors
/// Without root, or when the service does not run.
pub fn measure(rounds: usize, results: &mut Results, table: &mut Table) -> anyhow::Result<()> {
    let latency = Latency::compile()?;
    for (name, mode, times) in SUBJECTS {
        // What both do once, after they are attached, is over then.
        let run = || {
            sleep(2 * INTERVAL);
            latency.run(mode, times)
        };
        let with_service = || {
            let _daemon = Daemon::start(INTERVAL.as_secs_f64())?;
            run()
        };
        let with_ledger = || attached(Options::default(), run);
        let (mut service, mut ledger) = (Vec::new(), Vec::new());
        for round in 0..=rounds {
            let before = (round % 2 == 1).then(with_service).transpose()?;
            let by_ledger = with_ledger()?;
            let by_service = before.map_or_else(with_service, Ok)?;
            if round > 0 {
                service.push(by_service);
                ledger.push(by_ledger);
            }
        }
        let ratio = median_of_pairs(&service, &ledger, |service, ledger| service / ledger);
        table.row([format!("{name}, beside the same with a ledger alone"), format!("{ratio:.3} times")]);
        results.add(&Row::new(&format!("{name}, service"), 0, &service))?;
        results.add(&Row::new(&format!("{name}, ledger alone"), 0, &ledger))?;
    }
    Ok(())
}
