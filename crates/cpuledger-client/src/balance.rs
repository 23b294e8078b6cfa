//! Whether the books balance of the intervals that leave the library. It is looked at in release builds, too: an error is counted, and there is a
//! sentence about it for the caller's log. The interval is given out all the same, and output says what does not add up.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use cpuledger_model::interval::Interval;

static FAULTS: AtomicU64 = AtomicU64::new(0);
static SENTENCE: Mutex<Option<String>> = Mutex::new(None);

/// How many intervals of this process did not balance: 0.
pub fn faults() -> u64 {
    FAULTS.load(Ordering::Relaxed)
}

/// What is to be said of those that did not, once: of the first, the tenth, the hundredth, and so on.
pub fn take_sentence() -> Option<String> {
    SENTENCE.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// Looks at an interval that is given out.
pub fn check(interval: &Interval) {
    let Some(fault) = interval.fault() else { return };
    let count = FAULTS.fetch_add(1, Ordering::Relaxed) + 1;
    if count == 10_u64.pow(count.ilog10()) {
        let source = interval.source_name();
        let sentence = format!(
            "the books of an interval of the source {source} do not balance, which is an error of cpuledger: {fault} \
             (intervals like this so far: {count})"
        );
        *SENTENCE.lock().unwrap_or_else(PoisonError::into_inner) = Some(sentence);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cpuledger_model::interval::{Fault, Row, Unattributed, Usage};
    use cpuledger_model::make;
    use cpuledger_model::task::Task;

    /// One CPU, all of whose 100 ns are booked.
    fn books() -> Interval {
        make!(Interval {
            capacity_ns: 100,
            attributed_ns: 60,
            idle_ns: Some(30),
            unattributed_ns: Some(10),
            unattributed_by: make!(Unattributed { no_slot_ns: 7, uncovered_cpu_ns: 3 }),
            processes: vec![Row::new(Task::default(), make!(Usage { cpu_ns: 60 }))],
        })
    }

    #[test]
    fn what_does_not_add_up_is_found() {
        assert_eq!(books().fault(), None);
        assert_eq!(
            make!(Interval {
                idle_ns: None,
                unattributed_ns: None,
                unattributed_by: Unattributed::default(),
                ..books()
            })
            .fault(),
            None
        );
        let wrong = [
            (make!(Interval { idle_ns: Some(29), ..books() }), Fault::Balance(1)),
            (
                make!(Interval { capacity_ns: u64::MAX, idle_ns: Some(u64::MAX - 69), ..books() }),
                Fault::Balance(-1),
            ),
            (make!(Interval { processes: Vec::new(), ..books() }), Fault::Processes(60)),
            (make!(Interval { unattributed_by: Unattributed::default(), ..books() }), Fault::Reasons(10)),
            (make!(Interval { idle_ns: None, ..books() }), Fault::HalfTold),
        ];
        for (interval, fault) in wrong {
            assert_eq!(interval.fault(), Some(fault), "{interval:?}");
        }
    }

    /// The only test of this crate that counts any.
    #[test]
    fn a_fault_is_counted_and_rarely_told() {
        check(&books());
        assert_eq!((faults(), take_sentence()), (0, None));
        let wrong = make!(Interval { idle_ns: Some(29), ..books() });
        let told = (0..100).filter_map(|_| {
            check(&wrong);
            take_sentence()
        });
        let told: Vec<String> = told.collect();
        assert_eq!((faults(), told.len()), (100, 3));
        assert!(told[1].contains("1 ns more") && told[1].ends_with("so far: 10)"), "{}", told[1]);
    }
}
