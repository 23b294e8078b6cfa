//! How long it takes to settle an interval in which many processes have died, and to find the heir of each. Time per death shall
//! not depend on the shape of forks, and on their number only by what a cache holds.

use std::collections::HashMap;
use std::hint::black_box;
use std::time::Duration;

use cpuledger::attribution::{Attribution, Increment};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use rustix::time::{ClockId, clock_gettime};

#[path = "../tests/forests/mod.rs"]
mod forests;

use forests::{Order, Shape, attribution, deaths, root};

fn settle(mut attribution: Attribution, deaths: &[Increment]) -> Attribution {
    let mut accounts = HashMap::with_hasher(Default::default());
    attribution.settle(1, deaths, &mut accounts);
    assert_eq!(accounts.len(), 1);
    for entry in deaths {
        assert_eq!(black_box(attribution.heir(entry.process)), root());
    }
    attribution.forget(1);
    attribution
}

/// CPU time, so that what else the machine does counts less.
fn cpu_time_of(deaths: &[Increment]) -> Duration {
    let attribution = attribution();
    let begin = thread_time();
    let settled = black_box(settle(attribution, deaths));
    let spent = thread_time() - begin;
    drop(settled);
    spent
}

fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn heirs(criterion: &mut Criterion) {
    for (shape, order) in Shape::ALL.into_iter().flat_map(|shape| Order::ALL.map(|order| (shape, order))) {
        let mut group = criterion.benchmark_group(format!("{shape:?} {order:?}"));
        group.sample_size(10).warm_up_time(Duration::from_millis(200));
        group.measurement_time(Duration::from_secs(1));
        for count in [1_000, 10_000, 100_000, 1_000_000] {
            let deaths = deaths(shape, order, count);
            group.throughput(Throughput::Elements(count));
            group.bench_with_input(BenchmarkId::from_parameter(count), &deaths, |bencher, deaths| {
                bencher.iter_custom(|times| (0..times).map(|_| cpu_time_of(deaths)).sum());
            });
        }
    }
}

criterion_group!(benches, heirs);
criterion_main!(benches);
